"""How many runs are proven within a time, and how far trees are from the best."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pipelines.report.charts.style import (
    FAINT,
    PERCENT,
    encoding_dashes,
    legend_below,
    new_figure,
    plain_decades,
)
from pipelines.report.data.group_statistics import Floats

_STEPS = 2000
"""The largest number of steps of a profile that are drawn."""

_TALL = 3
"""A legend of more lines is below the chart."""


def profile_chart(
    times: pd.DataFrame,
    excess: pd.DataFrame,
    colours: dict[str, str],
    encodings: tuple[str, ...],
) -> Figure:
    """Two profiles: the share of runs proven within a time, and the share of runs this close to the
    best objective, from :func:`pipelines.report.analysis.rankings.proof_times` and
    :func:`pipelines.report.analysis.rankings.add_excess`."""
    figure = new_figure(10, 3.6)
    left, right = figure.subplots(1, 2)
    dashes = encoding_dashes(encodings)
    apart = times.groupby(["encoding", "solver"]).ngroups <= 8
    by = ["encoding", "solver"] if apart else ["solver"]
    last = times["seconds"].max()
    for cell, group in times.groupby(by, sort=False):
        names = [str(name) for name in cell]
        dash = dashes[names[0]] if apart else "solid"
        done = np.sort(group["seconds"].dropna().to_numpy(float))
        steps = np.arange(1, len(done) + 1) / len(group)
        x = np.concatenate([done, [last]]) if len(done) else np.array([last])
        y = np.concatenate([steps, steps[-1:]]) if len(done) else np.array([0.0])
        x, y = _fewer(x, y)
        left.step(
            np.maximum(x, 1e-6), y, where="post", color=colours[names[-1]], linestyle=dash,
            label=", ".join(names),
        )  # fmt: skip
    left.set_title("Share of runs proven optimal within a time")
    left.set_xlabel("seconds of search (log scale)")
    if times["seconds"].notna().any():
        left.set_xscale("log")
        plain_decades(left.xaxis)
    left.set_ylim(0, 1.03)
    left.yaxis.set_major_formatter(PERCENT)
    _excess(right, excess, colours)
    _add_legends(figure, left, right)
    return figure


def _fewer(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Evenly chosen steps of a rising line; the error is at most 1 / :data:`_STEPS`."""
    if len(x) <= _STEPS:
        return x, y
    kept = np.unique(np.linspace(0, len(x) - 1, _STEPS).astype(int))
    return x[kept], y[kept]


def _add_legends(figure: Figure, left: Axes, right: Axes) -> None:
    """A short legend is in its chart; long ones are one legend below both."""
    below: dict[str, Artist] = {}
    for axes in (left, right):
        handles, labels = axes.get_legend_handles_labels()
        if len(handles) > _TALL:
            below |= dict(zip(labels, handles, strict=True))
        elif handles:
            axes.legend(loc="best", handlelength=2.4)
    if below:
        legend_below(figure, [*below.values()], [*below], 3, handlelength=2.4)


def _excess(axes: Axes, excess: pd.DataFrame, colours: dict[str, str]) -> None:
    axes.set_title("Share of runs this close to the best objective")
    axes.set_xlabel("objective above the best known one")
    compared = excess[excess["solvers"] > 1]
    last = float(compared["share"].max()) if len(compared) else 0.0
    for solver, group in compared.groupby("solver_label", sort=False):
        values = np.sort(group["share"].to_numpy(float))
        y = np.arange(1, len(values) + 1) / len(values)
        x, y = np.append(values, max(last, 1e-9) * 1.02), np.append(y, 1.0)
        # The line starts on the axis: the share of runs that are equal to the best.
        x, y = np.insert(x, 0, 0.0), np.insert(y, 0, 0.0)
        x, y = _fewer(x, y)
        axes.step(x, y, where="post", color=colours[str(solver)], label=str(solver), clip_on=False)
    if len(compared):
        axes.set_xlim(left=0)
        if not last:  # all are equal to the best
            axes.set_xticks([0])
    else:
        axes.text(0.5, 0.5, "no two solvers on the same problem", ha="center", va="center",
                  color=FAINT, transform=axes.transAxes)  # fmt: skip
    axes.set_ylim(0, 1.03)
    axes.yaxis.set_major_formatter(PERCENT)
