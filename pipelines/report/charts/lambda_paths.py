"""The charts of λ-paths: exact paths as lines, runs at single λ as points."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from pipelines.report.analysis.lambda_paths import LambdaPath
from pipelines.report.charts.legend_places import LegendLayout
from pipelines.report.charts.style import (
    CHOSEN,
    FAINT,
    GRID,
    OPEN,
    OPEN_LINE,
    PERCENT,
    PROVEN,
    TEST,
    Dash,
    LambdaAxis,
    new_figure,
)
from pipelines.report.data import formatting, metrics

_SAMPLES = 24
"""Points of a line in λ, which is curved on a logarithmic axis."""

_FADE = 16
"""Pieces of the last step, which fades out."""

_REACH = 1.6
"""The last step has no end. It is drawn up to this many times its start."""

_MANY_BREAKPOINTS = 60


class Span(NamedTuple):
    """An interval of a path's table as it is drawn, from the smallest λ up."""

    start: float
    end: float
    row: Any
    last: bool

    def lams(self) -> NDArray[np.float64]:
        """λ within, evenly spread over the axis."""
        if self.start <= 0:
            return np.array([self.start, self.end])
        return np.geomspace(self.start, self.end, _SAMPLES)


def spans(path: LambdaPath, high: float) -> list[Span]:
    """The intervals of an exact path; the last one ends at the end of the chart."""
    rows: list[Any] = list(path.table[path.table["runs"] > 0].itertuples(index=False))[::-1]
    return [
        Span(float(row.lam), min(float(row.lam_end), high), row, row is rows[-1]) for row in rows
    ]


def lambda_axis(paths: Sequence[LambdaPath]) -> LambdaAxis:
    """An axis for exact paths and what is drawn on top of them."""
    tables = [path.table[path.table["runs"] > 0] for path in paths]
    lams = [float(lam) for table in tables for lam in table["lam"]]
    positive = [lam for lam in lams if lam > 0] or [1.0]
    if len(positive) < len(lams):
        lams.append(min(positive) / 4)
    return LambdaAxis([*lams, _REACH * max(positive)], log=True)


def exact_chart(path: LambdaPath, others: Sequence[LambdaPath], colours: dict[str, str]) -> Figure:
    """Objective, loss and size of the tree of an exact path over all λ from λ_min up.

    The paths of other solvers on the same dataset and encoding are drawn on top, as points where
    they were run at single λ.
    """
    axis = lambda_axis([path, *others])
    drawn = spans(path, axis.high)
    colour = colours[path.solver]
    layout = LegendLayout()
    figure = new_figure(10, 7.4, layout)
    tested = metrics.is_tested(path.table)
    heights = (1, 1.3, 0.7) if tested else (1.25, 1, 0.8)
    panels = figure.subplots(3, 1, sharex=True, height_ratios=heights)
    for axes in panels:
        axis.prepare(axes)
        axes.set_xlim(right=axis.place([axis.high])[0])
        axes.grid(visible=False, axis="x")
        _shade(axes, path, drawn, axis, named=axes is panels[0])
        axes.set_xlabel("")
    low = formatting.lam_from(path.lam_min)
    panels[-1].set_xlabel(f"λ, price of a split (log scale), from λ_min = {low} up")
    _objective(panels[0], path, drawn, axis, colour)
    _loss(panels[1], path, drawn, axis, colour)
    _size(panels[2], drawn, axis, colour)
    for other in others:
        _on_top(panels, other, axis, colours[other.solver])
    for axes in panels:
        _mark_choices(axes, path, drawn, axis)
        if axes.get_legend_handles_labels()[0]:
            layout.add_legend(axes, handlelength=1.6, labelspacing=0.25, framealpha=0.9,
                              frameon=True, edgecolor="none")  # fmt: skip
    _name_choices(panels[1] if path.minimum else panels[0], path, drawn, axis)
    return figure


def _shade(
    axes: Axes, path: LambdaPath, drawn: Sequence[Span], axis: LambdaAxis, *, named: bool
) -> None:
    """Colours what is proven, and draws the breakpoints."""
    styles: dict[bool, dict[str, Any]] = {
        True: {"facecolor": PROVEN, "label": "proven: no tree is better"},
        False: {
            "facecolor": OPEN,
            "edgecolor": OPEN_LINE,
            "hatch": "///",
            "label": "open: between the line and its bound",
        },
    }
    for span in drawn if path.proves else ():
        x0, x1 = axis.place([span.start, span.end])
        look = styles[_is_proven(span)]
        shade = Rectangle((x0, 0), x1 - x0, 1, transform=axes.get_xaxis_transform(), linewidth=0,
                          zorder=0, **look | ({} if named else {"label": None}))  # fmt: skip
        axes.add_artist(shade)  # add_patch and axvspan take long to find that no limit changes
        look["label"] = None
    if 1 < len(drawn) <= _MANY_BREAKPOINTS:
        x = _with_gaps([[at, at] for at in axis.place([span.start for span in drawn[1:]])])
        axes.plot(x, _with_gaps([[0, 1]] * (len(drawn) - 1)), linewidth=1, zorder=0.5,
                  color="white" if path.proves else GRID, solid_capstyle="projecting",
                  transform=axes.get_xaxis_transform(), scalex=False, scaley=False)  # fmt: skip


def _with_gaps(pieces: Sequence[Sequence[float] | NDArray[np.float64]]) -> NDArray[np.float64]:
    """Pieces of a line in one array: an artist for each would take most of the time of a chart."""
    return np.concatenate([np.append(piece, np.nan) for piece in pieces])[:-1]


def _is_proven(span: Span) -> bool:
    return bool(span.row.optimal == span.row.runs)


def _draw_pieces(
    axes: Axes, pieces: Sequence[tuple[NDArray[np.float64], NDArray[np.float64]]], colour: str,
    dash: Dash, width: float, label: str | None,
) -> None:  # fmt: skip
    """The pieces of a line, the last of which fades to the right."""
    look: dict[str, Any] = {"color": colour, "linewidth": width, "linestyle": dash}
    *whole, (x, y) = pieces
    if whole:
        xs, ys = zip(*whole, strict=True)
        axes.plot(_with_gaps(xs), _with_gaps(ys), solid_capstyle="butt", **look)
    fine = np.linspace(x[0], x[-1], _FADE + 1)
    points = np.column_stack([fine, np.interp(fine, x, y)])
    look["color"] = [to_rgba(colour, alpha) for alpha in np.linspace(1, 0.08, _FADE)]
    steps = np.stack([points[:-1], points[1:]], axis=1)
    axes.add_collection(LineCollection(list(steps), capstyle="butt", **look))
    if label:
        axes.plot([], [], **look | {"color": colour}, label=label)


def draw_objective(
    axes: Axes, drawn: Sequence[Span], axis: LambdaAxis, colour: str, *, dash: Dash = "solid",
    width: float = 1.8, label: str | None = None,
) -> None:  # fmt: skip
    """The objective over λ: mean loss + λ · mean splits, a line on each interval."""
    pieces = []
    for span in drawn:
        lams = span.lams()
        pieces.append((axis.place(lams.tolist()), span.row.loss + lams * span.row.splits))
    _draw_pieces(axes, pieces, colour, dash, width, label)


def draw_steps(
    axes: Axes, drawn: Sequence[Span], axis: LambdaAxis, values: Sequence[float], colour: str, *,
    dash: Dash = "solid", width: float = 1.8, label: str | None = None,
) -> None:  # fmt: skip
    """A line with steps: one value an interval."""
    ends = [axis.place([span.start, span.end]) for span in drawn]
    if len(drawn) > 1:
        x = _with_gaps([[at, at] for at, _ in ends[1:]])
        y = _with_gaps([[before, after] for before, after in pairwise(values)])
        axes.plot(x, y, color=colour, linewidth=width / 2, alpha=0.7)
    pieces = [(x, np.array([y, y])) for x, y in zip(ends, values, strict=True)]
    _draw_pieces(axes, pieces, colour, dash, width, label)


def _objective(
    axes: Axes, path: LambdaPath, drawn: Sequence[Span], axis: LambdaAxis, colour: str
) -> None:
    folds = " (training, mean over folds)" if len(path.exact_paths) > 1 else " (training)"
    exact = all(map(_is_proven, drawn))
    axes.set_title(("Optimal objective" if exact else "Objective") + folds)
    draw_objective(axes, drawn, axis, colour, label=path.solver)
    if path.proves and not exact:
        _envelope(axes, path, drawn, axis)


def _envelope(axes: Axes, path: LambdaPath, drawn: Sequence[Span], axis: LambdaAxis) -> None:
    """The proven lower bound where the optimum is open."""
    named = False
    for span in drawn:
        if _is_proven(span):
            continue
        kinks = {float(lam) for one in path.exact_paths for lam in one.points}
        inside = {lam for lam in kinks if span.start < lam < span.end}
        lams = sorted({*span.lams().tolist(), *inside})
        low = np.array([_mean_bound(path, lam) for lam in lams])
        x = axis.place(lams)
        high = span.row.loss + np.array(lams) * span.row.splits
        axes.fill_between(x, low, high, color="white", alpha=0.75, linewidth=0, zorder=1)
        axes.plot(x, low, color=FAINT, linewidth=1.4, linestyle=(0, (4, 1.5)),
                  label=None if named else "proven lower bound")  # fmt: skip
        named = True


def _mean_bound(path: LambdaPath, lam: float) -> float:
    bounds = [one.bound_at(Fraction(lam)) for one in path.exact_paths]
    known = [float(bound) for bound in bounds if bound is not None]
    return sum(known) / len(known) if len(known) == len(bounds) else float("nan")


class _Losses(NamedTuple):
    """Loss on training and on held-out rows, and the standard error of the second."""

    train: float
    test: float
    error: float


def _losses(row: Any) -> _Losses:
    """Shares of rows; of regression roots of mean squared errors."""
    if row.task == metrics.REGRESSION:
        error = row.test_error / (2 * row.test_rmse) if row.test_rmse else 0.0
        return _Losses(row.train_rmse, row.test_rmse, error)
    return _Losses(row.loss, 1 - row.test_accuracy, row.test_error)


def _loss(
    axes: Axes, path: LambdaPath, drawn: Sequence[Span], axis: LambdaAxis, colour: str
) -> None:
    losses = [_losses(span.row) for span in drawn]
    tested = any(pd.notna(loss.test) for loss in losses)
    spread = any(pd.notna(span.row.test_error) for span in drawn)
    name = "train" if tested else None
    draw_steps(axes, drawn, axis, [loss.train for loss in losses], colour, label=name)
    numbers = metrics.is_regression(path.table)
    what = "share of the rows that the tree gets wrong"
    title = "Root mean squared error, in the unit of the target" if numbers else f"Loss: {what}"
    axes.set_title(title + (" (held-out rows: mean ± standard error over folds)" if spread else ""))
    if not numbers:
        axes.yaxis.set_major_formatter(PERCENT)
    if not tested:
        return
    draw_steps(axes, drawn, axis, [loss.test for loss in losses], TEST, label="held-out")
    if spread:
        ends = _with_gaps([axis.place([span.start, span.end]) for span in drawn])
        mean = _with_gaps([[loss.test] * 2 for loss in losses])
        error = _with_gaps([[np.nan_to_num(loss.error)] * 2 for loss in losses])
        axes.fill_between(ends, mean - error, mean + error, color=TEST, alpha=0.13, linewidth=0)


def _size(axes: Axes, drawn: Sequence[Span], axis: LambdaAxis, colour: str) -> None:
    splits = [span.row.splits for span in drawn]
    draw_steps(axes, drawn, axis, [s.row.depth for s in drawn], FAINT, label="depth", width=1.2)
    draw_steps(axes, drawn, axis, splits, colour, label="splits")
    runs = max(span.row.runs for span in drawn)
    axes.set_title("Size of the tree" + (" (mean over folds)" if runs > 1 else ""))
    axes.set_ylim(-0.04 * max(*splits, 1), 1.08 * max(*splits, 1))
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))


def _on_top(panels: Sequence[Axes], other: LambdaPath, axis: LambdaAxis, colour: str) -> None:
    """Another solver: points of a grid, or its own path as a thin line."""
    if other.exact_paths:
        drawn = spans(other, axis.high)
        draw_objective(panels[0], drawn, axis, colour, width=1.0, label=other.solver)
        loss = [_losses(span.row).train for span in drawn]
        draw_steps(panels[1], drawn, axis, loss, colour, width=1.0)
        draw_steps(panels[2], drawn, axis, [s.row.splits for s in drawn], colour, width=1.0)
        return
    table = other.table[other.table["runs"] > 0]
    x = axis.place(table["lam"].tolist())
    proven = (table["optimal"] == table["runs"]).to_numpy(bool)
    column = "train_rmse" if metrics.is_regression(table) else "loss"
    for axes, name in zip(panels, ("objective", column, "splits"), strict=True):
        y = table[name].to_numpy(float)
        for part, face in ((proven, colour), (~proven, "white")):
            axes.plot(x[part], y[part], "o", color=colour, markerfacecolor=face, markersize=4.5,
                      markeredgewidth=1.2, zorder=3)  # fmt: skip
    words = "at single λ" if proven.all() else "at single λ (hollow: not proven)"
    face = colour if proven.any() else "white"
    panels[0].plot([], [], "o", color=colour, markerfacecolor=face, markersize=4.5,
                   label=f"{other.solver} {words}")  # fmt: skip


def _choices(path: LambdaPath) -> list[tuple[str, str, Dash]]:
    """Name, key and line style of the λ or intervals that validation picks."""
    if path.minimum is not None and path.minimum == path.one_se:
        return [("best mean = one-SE rule", path.minimum, "solid")]
    pairs: list[tuple[str, str | None, Dash]] = [
        ("best mean", path.minimum, (0, (4, 2))),
        ("one-SE rule", path.one_se, "solid"),
    ]
    return [(name, key, dash) for name, key, dash in pairs if key is not None]


def _mark_choices(axes: Axes, path: LambdaPath, drawn: Sequence[Span], axis: LambdaAxis) -> None:
    for _, key, dash in _choices(path):
        span = next(s for s in drawn if s.row.lam_key == key)
        x0, x1 = axis.place([span.start, span.end])
        axes.axvspan(x0, x1, facecolor=CHOSEN, alpha=0.13, linewidth=0, zorder=0.7)
        for x in (x0, x1):
            axes.axvline(x, color=CHOSEN, linewidth=1.0, linestyle=dash, zorder=0.8)


def _name_choices(axes: Axes, path: LambdaPath, drawn: Sequence[Span], axis: LambdaAxis) -> None:
    low, high = axes.get_xlim()
    for row, (name, key, _) in enumerate(_choices(path)):
        span = next(s for s in drawn if s.row.lam_key == key)
        x0, x1 = axis.place([span.start, span.end])
        left = ((x0 + x1) / 2 - low) / (high - low) < 0.55
        at = (x1 if left else x0, 0.95 - 0.13 * row)
        _name(axes, f"{name}: λ = {span.row.lam_text}", at, 6 if left else -6, va="top")


def _name(axes: Axes, text: str, at: tuple[float, float], offset: int, **look: Any) -> None:
    """Names a choice at a λ and a height (a share of the panel), ``offset`` points to the right."""
    axes.annotate(
        text,
        at,
        xycoords=("data", "axes fraction"),
        xytext=(offset, 0),
        textcoords="offset points",
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.0, "alpha": 0.85},
        ha="left" if offset > 0 else "right",
        fontsize=8.5,
        color=CHOSEN,
        **look,
    )
