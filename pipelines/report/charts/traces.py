"""Execution traces: what a search knew and held at every moment, runs on top of each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pipelines.report.analysis.ablations import Execution
from pipelines.report.charts.axes import new_figure, plain_decades
from pipelines.report.charts.palette import COLOURS, FAINT, Dash
from pipelines.report.data.columns import Floats

MOST_RUNS = 12
"""Of more runs no two lines could be told apart."""

_MORE_COLOURS = ("#B8860B", "#9AA4B0", "#7F3B08", "#00441B")

_HELD: tuple[tuple[str, str, Dash], ...] = (
    ("queue", "queue", "solid"),
    ("trees", "tree cache", (0, (5, 2))),
    ("leaves", "leaf cache", (0, (1, 1.5))),
)


def trace_colours(labels: Sequence[str]) -> dict[str, str]:
    """A colour for each run."""
    palette = (*COLOURS, *_MORE_COLOURS)
    return {label: palette[i % len(palette)] for i, label in enumerate(labels)}


def trace_chart(runs: Mapping[str, Execution]) -> Figure:
    """Objective (line) and lower bound (dashes) against time, a star where the optimum was found;
    beside it the trees evaluated, and what queue and caches held.

    Parameters
    ----------
    runs : mapping of str to Execution
        By what the legend calls them, :data:`MOST_RUNS` at most.
    """
    figure = new_figure(10, 4.8)
    grid = figure.add_gridspec(2, 2, width_ratios=(1.25, 1))
    known = figure.add_subplot(grid[:, 0])
    work = figure.add_subplot(grid[0, 1], sharex=known)
    held = figure.add_subplot(grid[1, 1], sharex=known)
    colours = trace_colours([*runs])
    first = _first_moment(runs)
    for label, run in runs.items():
        _knowledge(known, run, first, colours[label], label)
        _line(work, run, first, "evaluated", colours[label], "solid")
        for name, _, dash in _HELD:
            _line(held, run, first, name, colours[label], dash)
    known.set_title("Objective (line) and lower bound (dashes); ★ optimum found")
    work.set_title("Trees evaluated")
    held.set_title("Queue and caches")
    for axes in (work, held):
        _log_if_wide(axes)
    known.set_xscale("log")
    plain_decades(known.xaxis)
    work.tick_params(labelbottom=False)
    for axes in (known, held):
        axes.set_xlabel("seconds of search (log scale)")
    for name, words, dash in _HELD:
        if any(run.trace[name].notna().any() for run in runs.values()):
            held.plot([], [], color=FAINT, linestyle=dash, label=words)
    if held.get_legend_handles_labels()[0]:
        held.legend(
            loc="upper left", handlelength=2.2, frameon=True, framealpha=0.85, edgecolor="none"
        )
    if len(runs) > 1:
        figure.legend(
            *known.get_legend_handles_labels(), loc="outside lower center",
            ncols=min(len(runs), 4), handlelength=2.0,
        )  # fmt: skip
    return figure


def _first_moment(runs: Mapping[str, Execution]) -> float:
    """Where a logarithmic axis begins: the first moment above 0 of any run."""
    seconds = np.concatenate([run.trace["seconds"].to_numpy(float) for run in runs.values()])
    above = seconds[seconds > 0]
    return float(above.min()) if len(above) else 1e-3


def _moments(run: Execution, first: float) -> Floats:
    return np.asarray(np.maximum(run.trace["seconds"].to_numpy(float), first))


def _knowledge(axes: Axes, run: Execution, first: float, colour: str, label: str) -> None:
    x = _moments(run, first)
    objective = run.trace["objective"].to_numpy(float)
    bound = run.trace["lower_bound"].to_numpy(float)
    axes.step(x, objective, where="post", color=colour, label=label)
    axes.step(x, bound, where="post", color=colour, linestyle=(0, (4, 2)), linewidth=1.1)
    best = objective[np.isfinite(objective)]
    if len(best) and np.isfinite(run.seconds_to_optimum):
        when = max(run.seconds_to_optimum, first)
        axes.plot(
            [when], best[-1:], "*", color=colour, markersize=13, markeredgecolor="white",
            markeredgewidth=0.8, zorder=5, clip_on=False,
        )  # fmt: skip


def _line(axes: Axes, run: Execution, first: float, name: str, colour: str, dash: Dash) -> None:
    values = run.trace[name].to_numpy(float)
    there = np.isfinite(values)
    if there.any():
        axes.plot(_moments(run, first)[there], values[there], color=colour, linestyle=dash)


def _log_if_wide(axes: Axes) -> None:
    """A logarithmic axis where the counts span more than a factor of 20."""
    lines = [np.asarray(line.get_ydata(), float) for line in axes.lines]
    values = np.concatenate([np.zeros(0), *lines])
    above = values[values > 0]
    if len(above) and above.max() / above.min() > 20:
        axes.set_yscale("log")
        plain_decades(axes.yaxis)
    elif len(above):
        axes.set_ylim(0, 1.08 * float(above.max()))
