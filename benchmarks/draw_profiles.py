"""The performance profile and the number of proofs over time, as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from benchmarks.compare_rows import Cell, Result, cactus, profile
from benchmarks.peers import ADAPTERS

# Okabe and Ito's colours, which colour-blind readers can tell apart.
COLOURS = {
    "branches": "#0072B2",
    "paper": "#56B4E9",
    "gosdt": "#D55E00",
    "streed": "#009E73",
    "streed-told": "#CC79A7",
    "cart": "#999999",
}
DASHES = {"paper": (4, 2), "streed-told": (4, 2)}


def _steps(
    axes: Axes, solver: str, points: Sequence[tuple[float, float]], left: float, right: float
) -> None:
    """A curve that rises at each point and goes on to the right edge."""
    xs = [left, *(x for x, _ in points), right]
    ys = [0.0, *(y for _, y in points)]
    dashes = DASHES.get(solver)
    axes.step(
        xs,
        [*ys, ys[-1]],
        where="post",
        color=COLOURS[solver],
        linewidth=2.4 if solver == "branches" else 1.6,
        label=ADAPTERS[solver].label,
        linestyle=(0, dashes) if dashes else "-",
        zorder=3 if solver == "branches" else 2,
    )


def draw(cells: dict[Cell, dict[str, Result]], solvers: Sequence[str], stem: Path) -> None:
    """Write ``stem.png`` and ``stem.svg``.

    Parameters
    ----------
    cells : dict
        Those that all solvers could be asked, see :func:`benchmarks.compare_rows.by_cell`.
    """
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.4), constrained_layout=True)
    ratios, times = profile(cells, solvers), cactus(cells, solvers)
    farthest = 1.5 * max((points[-1][0] for points in ratios.values() if points), default=10.0)
    ends = [point[0] for points in times.values() for point in points] or [1.0]
    for solver in solvers:
        # τ begins at 1, where a curve already has the share of cells that its solver is best on.
        _steps(left, solver, ratios[solver], 1.0, farthest)
        _steps(right, solver, times[solver], min(ends) / 1.5, max(ends) * 1.5)
    left.set(
        xscale="log",
        xlim=(1, farthest),
        ylim=(0, 1.03),
        xlabel="τ: times the time of the fastest solver",
        ylabel="share of problems proven within τ",
        title=f"Performance profile, {len(cells)} problems",
    )
    right.set(
        xscale="log",
        xlim=(min(ends) / 1.5, max(ends) * 1.5),
        ylim=(0, 1.03 * max(len(cells), 1)),
        xlabel="seconds a problem",
        ylabel="problems proven",
        title="Proofs over time",
    )
    for axes in (left, right):
        axes.grid(True, which="major", color="#dddddd", linewidth=0.6)
        axes.spines[["top", "right"]].set_visible(False)
    handles, labels = left.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
    for suffix in ("png", "svg"):
        figure.savefig(stem.with_suffix(f".{suffix}"), dpi=150)
    plt.close(figure)
