"""The charts of good trees: how many along λ, what they read, and how they spread in quality."""

from __future__ import annotations

import numpy as np
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from pipelines.report.analysis.good_trees import GoodTrees, SetInFull
from pipelines.report.charts.style import COLOURS, DASHES, new_figure, plain_decades
from pipelines.report.charts.svg_charts import Line, Panel

MOST_COLUMNS = 6
"""The largest number of columns with a line of their own."""


def set_panels(own: GoodTrees) -> list[Panel]:
    """The size of the set, disagreement, and the columns that trees read, along λ."""
    # Of a set that a limit has cut short only some trees are counted.
    sizes = [_middle(at.trees) if at.trees and not at.cut else np.nan for at in own.points]
    panels = []
    if not np.isnan(sizes).all():
        panels.append(Panel("good trees", [_line(own, sizes, 0)], log=True))
    known = [at.summary for at in own.points]
    if not any(known):
        return panels
    ambiguity = [np.nan if one is None else float(one.ambiguity) for one in known]
    discrepancy = [np.nan if one is None else float(one.discrepancy) for one in known]
    panels.append(
        Panel("rows that good trees dispute", [
            _line(own, ambiguity, 1, "by any good tree (ambiguity)"),
            _line(own, discrepancy, 3, "most by one tree (discrepancy)"),
        ], percent=True)
    )  # fmt: skip
    shares = [
        {} if one is None else dict(zip(one.columns["column"], one.columns["share"], strict=True))
        for one in known
    ]
    most: dict[str, float] = {}
    for found in shares:
        for name, share in found.items():
            most[name] = max(most.get(name, 0.0), share)
    names = sorted((name for name in most if most[name]), key=lambda name: -most[name])
    lines = [
        _line(own, [found.get(name, np.nan) for found in shares], i, str(name))
        for i, name in enumerate(names[:MOST_COLUMNS])
    ]
    return [*panels, Panel("trees that read a column", lines, percent=True)] if lines else panels


def _line(own: GoodTrees, values: list[float], which: int, name: str = "") -> Line:
    lams = np.array([at.lam for at in own.points])
    dash = DASHES[which % len(DASHES)] if name else "solid"
    return Line(lams, np.array(values), COLOURS[which % len(COLOURS)], name, dash)


def _middle(trees: tuple[int, ...]) -> float:
    """The median, the lower one of two."""
    return float(sorted(trees)[(len(trees) - 1) // 2])


def size_chart(full: SetInFull) -> Figure:
    """How many good trees have which errors and splits."""
    cells = full.found.histogram
    splits = np.array([cell.splits for cell in cells])
    errors = np.array([cell.errors for cell in cells])
    low, high = int(splits.min()), int(splits.max())
    figure = new_figure(10, 1.3 + 0.32 * (high - low + 1))
    axes = figure.subplots()
    width = max(1, -(-int(np.ptp(errors) + 1) // 120))
    first = int(errors.min())
    grid = np.full((high - low + 1, int(np.ptp(errors)) // width + 1), np.nan)
    for cell in cells:
        at = cell.splits - low, (cell.errors - first) // width
        grid[at] = np.nansum([grid[at], float(cell.trees)])
    edges = first - 0.5 + width * np.arange(grid.shape[1] + 1)
    most = max(float(np.nanmax(grid)), 10.0)
    drawn = axes.pcolormesh(
        edges, np.arange(low, high + 2) - 0.5, np.ma.masked_invalid(grid),
        norm=LogNorm(1, most), cmap="Blues", edgecolors="white", linewidth=0.5,
    )  # fmt: skip
    axes.plot([errors[0]], [splits[0]], "*", color="#D55E00", markersize=11, label="the best")
    axes.set_xlabel("training rows that a tree gets wrong")
    axes.set_ylabel("splits")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_yticks(range(low, high + 1, 1 + (high - low) // 12))
    axes.grid(visible=False)
    axes.legend(loc="upper right")
    bar = figure.colorbar(drawn, ax=axes, pad=0.01)
    plain_decades(bar.ax.yaxis)
    bar.set_label("trees")
    return figure
