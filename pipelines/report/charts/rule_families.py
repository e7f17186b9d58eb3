"""The charts of rule families: accuracy against splits, and decision regions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from pipelines.report.analysis.decision_regions import Plane, Regions, find_mistakes, find_regions
from pipelines.report.analysis.rule_families import FamilySet, FamilyTree
from pipelines.report.charts.style import (
    COLOURS,
    FAINT,
    INK,
    MARKS,
    PERCENT,
    legend_below,
    new_figure,
)
from pipelines.report.data import formatting
from solver.solution import Status
from solver.trees.export import CLASS_COLOURS, CLASS_FILLS
from solver.trees.tree_view import shorten


def family_chart(found: FamilySet) -> Figure:
    """Accuracy against splits, a line a family: on training rows and, if any, on held-out rows."""
    points = found.points
    tested = bool(points["test_accuracy"].notna().any())
    figure = new_figure(10 if tested else 5.6, 3.2)
    panels = figure.subplots(1, 2 if tested else 1, squeeze=False, sharey=True)[0]
    _panel(panels[0], found, "train_accuracy", "Training accuracy against splits")
    if tested:
        _panel(panels[1], found, "test_accuracy", "Held-out accuracy against splits")
    panels[0].yaxis.set_major_formatter(PERCENT)
    handles, labels = panels[0].get_legend_handles_labels()
    legend_below(figure, handles, labels, 5)
    return figure


def _panel(axes: Axes, found: FamilySet, column: str, title: str) -> None:
    for i, (family, line) in enumerate(found.points.groupby("family", sort=False)):
        x, y = line["splits"].to_numpy(float), line[column].to_numpy(float)
        proven = (line["proven"] == line["runs"]).to_numpy(bool)
        colour, mark = COLOURS[i % len(COLOURS)], MARKS[i % len(MARKS)]
        axes.plot(x, y, color=colour, linewidth=1.0, alpha=0.45)
        for part, face in ((proven, colour), (~proven, "white")):
            axes.plot(x[part], y[part], mark, color=colour, markerfacecolor=face)
        axes.plot([], [], mark, linestyle="-", color=colour, label=str(family))
        if column == "test_accuracy" and np.isfinite(line["test_error"].to_numpy(float)).any():
            spread = line["test_error"].fillna(0).to_numpy(float)
            axes.errorbar(x, y, spread, fmt="none", ecolor=colour, elinewidth=0.8, alpha=0.5)
    axes.set_title(title)
    axes.set_xlabel("splits (mean over folds)")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))


MOST_ROWS = 600
"""The largest number of rows drawn, evenly chosen; and of wrongly predicted rows drawn."""

_ACROSS, _PANEL, _TALL = 4, 2.5, 2.45
"""The largest number of panels in a line; their size in inches."""

_FEW = 150
"""With more rows, marks are smaller."""

_LONGEST = 30
_REACH, _NEAR = 0.09, 0.4
"""Equal rows are spread over this share of the panel, and of the distance to the next place."""

_GOLDEN = np.pi * (3 - np.sqrt(5))


def region_chart(found: FamilySet, lines: Sequence[Sequence[FamilyTree]], plane: Plane) -> Figure:
    """The regions of some trees in a plane, a line of panels for each size of tree."""
    lines = _fill_rows(lines)
    across = max(len(line) for line in lines)
    figure = new_figure(_PANEL * max(across, 2), _TALL * len(lines) + 0.5)
    grid = figure.subplots(len(lines), across, squeeze=False, sharex=True, sharey=True)
    for row, line in zip(grid, lines, strict=True):
        for axes, shown in zip(row, line, strict=False):
            _draw(axes, find_regions(shown.tree, plane), plane)
            _mark_rows(axes, found, shown, plane)
            _caption(axes, shown)
        for axes in row[len(line) :]:
            axes.set_axis_off()
        row[0].set_ylabel(shorten(plane.columns[1], _LONGEST))
    for place in range(across):
        last = max(i for i, line in enumerate(lines) if len(line) > place)
        grid[last][place].set_xlabel(shorten(plane.columns[0], _LONGEST))
        grid[last][place].xaxis.set_tick_params(labelbottom=True)
    handles = _legend(found, [shown for line in lines for shown in line])
    labels = [str(handle.get_label()) for handle in handles]
    legend_below(figure, handles, labels, 6, handlelength=1.2)
    return figure


def _fill_rows(lines: Sequence[Sequence[FamilyTree]]) -> list[list[FamilyTree]]:
    """The lines, with long ones broken and short neighbours joined."""
    rows: list[list[FamilyTree]] = []
    for line in lines:
        for start in range(0, len(line), _ACROSS):
            part = [*line[start : start + _ACROSS]]
            if rows and len(rows[-1]) + len(part) <= _ACROSS:
                rows[-1] += part
            else:
                rows.append(part)
    return rows


def _draw(axes: Axes, regions: Regions, plane: Plane) -> None:
    fills = np.array([to_rgb(colour) for colour in CLASS_FILLS])
    (left, right), (low, high) = plane.spans
    axes.imshow(
        fills[regions.classes % len(fills)], origin="lower", extent=(left, right, low, high),
        aspect="auto", interpolation="none",
    )  # fmt: skip
    for height in regions.heights:
        known = height[np.isfinite(height)]  # none if the tree does not reach the split
        if len(known) and known.min() < 0 < known.max():
            axes.contour(
                regions.across, regions.up, height, levels=[0.0], colors=[FAINT], linewidths=0.8
            )
    axes.grid(visible=False)
    axes.xaxis.set_major_locator(MaxNLocator(4))
    axes.yaxis.set_major_locator(MaxNLocator(4))
    axes.tick_params(labelsize=8)


def _mark_rows(axes: Axes, found: FamilySet, shown: FamilyTree, plane: Plane) -> None:
    rows = found.rows
    if rows is None:
        return
    wrong = find_mistakes(shown.tree, rows)
    drawn = _drawn(wrong)
    features, target = rows.features.iloc[drawn], rows.target[drawn]
    wrong, held_out = wrong[drawn], rows.held_out[drawn]
    x, y = (
        shown.tree.columns[name].read(features[name])
        if name in shown.tree.columns
        else features[name].to_numpy(np.float64, na_value=np.nan)
        for name in plane.columns
    )
    x, y = spread_out(x, y, target, plane)
    size = float(np.clip(np.sqrt(_FEW / max(len(drawn), 1)), 0.55, 1.0))
    place = {label: i for i, label in enumerate(shown.tree.classes)}
    for code, label in enumerate(rows.labels):
        number = place.get(label, code)
        colour = CLASS_COLOURS[number % len(CLASS_COLOURS)]
        for hollow in (False, True):
            own = (target == code) & (held_out == hollow)
            axes.plot(
                x[own], y[own], MARKS[number % len(MARKS)], color=colour, markersize=3.4 * size,
                markerfacecolor="white" if hollow else colour, markeredgewidth=0.8 * size,
                alpha=0.85,
            )  # fmt: skip
    axes.plot(x[wrong], y[wrong], "x", color=INK, markersize=5 * size, markeredgewidth=size)
    axes.set_xlim(plane.spans[0])
    axes.set_ylim(plane.spans[1])


def _drawn(wrong: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Which rows are drawn."""
    parts = (np.arange(len(wrong)), np.flatnonzero(wrong))
    return np.unique(
        np.concatenate([part[:: max(1, -(-len(part) // MOST_ROWS))] for part in parts])
    )


def spread_out(
    x: NDArray[np.float64], y: NDArray[np.float64], target: NDArray[np.int64], plane: Plane
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Spread equal rows around their place in a sunflower pattern, class by class. They stay nearer
    to it than to any other place."""
    order = np.lexsort((target, y, x))
    new = np.ones(len(x), bool)
    new[1:] = (np.diff(x[order]) != 0) | (np.diff(y[order]) != 0)
    number = np.arange(len(x)) - np.maximum.accumulate(np.where(new, np.arange(len(x)), 0))
    most = int(number.max(initial=0))
    if not most:
        return x, y
    radius, angle = np.sqrt(number / most), number * _GOLDEN
    moved = []
    for values, span, turn in zip((x, y), plane.spans, (np.cos, np.sin), strict=True):
        gaps = np.diff(np.unique(values[np.isfinite(values)]))
        reach = min([_REACH * (span.high - span.low), *(_NEAR * gaps[gaps > 0])])
        result = values.astype(np.float64)
        result[order] += reach * radius * turn(angle)
        moved.append(result)
    return moved[0], moved[1]


def _caption(axes: Axes, shown: FamilyTree) -> None:
    tested = "" if shown.test_accuracy is None else (
        f", {formatting.percent(shown.test_accuracy)} held-out"
    )  # fmt: skip
    size = formatting.plural(shown.size, "split")
    title = axes.set_title(f"{shorten(shown.family, _LONGEST)}, {size}", fontsize=9, pad=16)
    words = f"{formatting.percent(shown.train_accuracy)} right{tested}; {proof_words(shown.status)}"
    below = axes.text(
        0, 1.02, words, transform=axes.transAxes, fontsize=7.4, color=FAINT, va="bottom"
    )
    for text in (title, below):
        # Only the title counts in the layout: panels are not as wide as their words.
        text.set_in_layout(text is title)


def proof_words(status: str) -> str:
    """The status of a tree in words: ``proven``, ``not proven``, ``heuristic``."""
    if status == Status.OPTIMAL.value:
        return "proven"
    return "heuristic" if status == Status.HEURISTIC.value else "not proven"


def _legend(found: FamilySet, trees: Sequence[FamilyTree]) -> list[Line2D]:
    classes = trees[0].tree.classes
    handles = [
        Line2D([], [], marker=MARKS[i % len(MARKS)], color=CLASS_COLOURS[i % len(CLASS_COLOURS)],
               linestyle="none", markersize=5, label=shorten(str(label), _LONGEST))
        for i, label in enumerate(classes)
    ]  # fmt: skip
    if found.rows is None:
        return handles
    if found.rows.held_out.any():
        handles.append(
            Line2D([], [], marker="o", color=FAINT, markerfacecolor="white", linestyle="none",
                   markersize=5, label="hollow: held out")
        )  # fmt: skip
    return [
        *handles,
        Line2D([], [], marker="x", color=INK, linestyle="none", markersize=6, label="wrong"),
    ]
