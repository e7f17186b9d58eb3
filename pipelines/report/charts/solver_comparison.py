"""Solvers on equal problems: performance profiles, objective against time, mean ranks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pipelines.report.analysis.solvers.anytime import Curve
from pipelines.report.analysis.solvers.mean_ranks import MeanRanks
from pipelines.report.analysis.solvers.solver_comparison import (
    Instance,
    Problems,
    solving,
    virtual_best,
)
from pipelines.report.charts.style import FAINT, INK, PERCENT, new_figure, plain_decades

_FASTEST = 1e-4
"""Seconds that a shorter search counts as: ratios of shorter times say nothing."""


def profile_and_anytime_chart(
    problems: Problems, curves: Sequence[Curve], colours: dict[str, str]
) -> Figure | None:
    """A row for each kind of features: at the left the share of problems that a solver solves
    within a factor of the fastest one's time, at the right its :class:`Curve`; None of neither."""
    told = {kind: solving(found) for kind, found in problems.items()}
    kinds = [
        kind
        for kind, names in told.items()
        if len(names) > 1 or any(curve.kind == kind for curve in curves)
    ]
    if not kinds:
        return None
    figure = new_figure(10, 3.4 * len(kinds))
    for kind, (left, right) in zip(
        kinds, figure.subplots(len(kinds), 2, squeeze=False), strict=True
    ):
        _profile(left, kind, problems[kind], told[kind], colours)
        _anytime(right, kind, [curve for curve in curves if curve.kind == kind], colours)
    return figure


def _profile(
    axes: Axes,
    kind: str,
    found: Sequence[Sequence[Instance]],
    names: Sequence[str],
    colours: dict[str, str],
) -> None:
    axes.set_title(f"{kind}: share solved within a factor of the fastest")
    axes.set_xlabel("search time by that of the fastest solver (log scale)")
    common = [one for one in found if {*names} <= {i.solver for i in one}]
    factors = {name: factors_of(common, name, names) for name in names}
    last = max((max(own, default=1.0) for own in factors.values()), default=1.0)
    for name, own in factors.items():
        share = np.arange(1, len(own) + 1) / max(len(common), 1)
        x, y = [1.0, *own, 1.1 * last], [0.0, *share, share[-1] if len(own) else 0.0]
        axes.step(x, y, where="post", color=colours[name], label=name)
    axes.set_xscale("log")
    axes.set_xlim(1, 1.1 * last if last > 1 else 2)
    plain_decades(axes.xaxis)
    _share_axis(axes)


def factors_of(
    common: Sequence[Sequence[Instance]], solver: str, proving: Sequence[str]
) -> list[float]:
    """How many times the fastest one's time a solver took for each problem that it has solved."""
    factors = []
    for one in common:
        own = next(i for i in one if i.solver == solver)
        if own.is_solved:
            best = max(virtual_best(one, proving), _FASTEST)
            factors.append(max(own.seconds, _FASTEST) / best)
    return sorted(factors)


def _anytime(axes: Axes, kind: str, curves: Sequence[Curve], colours: dict[str, str]) -> None:
    axes.set_title(f"{kind}: objective against time")
    if not curves:
        axes.set_axis_off()
        return
    axes.set_xlabel("seconds of search (log scale)")
    axes.set_ylabel("left of the way to the best tree")
    last = max(float(curve.seconds[-1]) for curve in curves)
    for curve in curves:
        x = np.append(np.maximum(curve.seconds, _FASTEST), max(1.1 * last, 2 * _FASTEST))
        y = np.append(curve.share, curve.share[-1])
        axes.step(x, y, where="post", color=colours[curve.solver], label=curve.solver)
    axes.set_xscale("log")
    plain_decades(axes.xaxis)
    _share_axis(axes)


def _share_axis(axes: Axes) -> None:
    axes.set_ylim(0, 1.03)
    axes.yaxis.set_major_formatter(PERCENT)
    axes.legend(loc="best", handlelength=2.4)


def rank_chart(found: Sequence[MeanRanks], colours: dict[str, str]) -> Figure:
    """A critical-difference diagram for each measure: solvers at their mean ranks, with a bar over
    those that are not told apart."""
    heights = [1.1 + 0.22 * len(one.ranks) for one in found]
    figure = new_figure(10, sum(heights))
    grid = figure.subplots(len(found), 1, squeeze=False, height_ratios=heights)
    for one, axes in zip(found, grid[:, 0], strict=True):
        _ranks(axes, one, colours)
    return figure


def _ranks(axes: Axes, found: MeanRanks, colours: dict[str, str]) -> None:
    bars, number = found.alike, len(found.ranks)
    axes.set_title(
        f"{found.kind}, {found.measure}: mean ranks on {found.datasets} datasets "
        f"(Friedman p = {found.p:.2g}, critical difference {found.difference:.2f})"
    )
    for line, (name, rank) in enumerate(found.ranks.items()):
        y = -1.0 - line
        axes.plot([rank, rank, number + 0.1], [0, y, y], color=colours[name], linewidth=1.2)
        axes.text(number + 0.15, y, f"{name}  {rank:.2f}", va="center", color=INK)
    for line, (first, last) in enumerate(bars):
        y = 0.35 + 0.45 * line
        axes.plot([found.ranks[first] - 0.03, found.ranks[last] + 0.03], [y, y], color=INK,
                  linewidth=3.5, solid_capstyle="butt")  # fmt: skip
    axes.axhline(0, color=FAINT, linewidth=1, xmax=(number - 0.9) / (number + 0.4))
    axes.set_xlim(0.9, number + 1.3)
    axes.set_ylim(-number - 0.6, 0.6 + 0.45 * len(bars))
    axes.set_xticks(range(1, number + 1))
    axes.yaxis.set_visible(False)
    axes.spines["left"].set_visible(False)
    axes.grid(False)
