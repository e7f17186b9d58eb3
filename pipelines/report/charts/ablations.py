"""The charts of ablations: ratios as bars, and execution traces."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pipelines.report.analysis.ablations import Execution, OptionSet, ratio
from pipelines.report.charts.style import (
    COLOURS,
    FAINT,
    INK,
    Dash,
    legend_below,
    log_if_wide,
    new_figure,
    plain_decades,
)
from pipelines.report.data import formatting
from pipelines.report.data.group_statistics import Floats


def ratio_chart(sets: Sequence[OptionSet], measures: Sequence[tuple[str, str]]) -> Figure | None:
    """A panel a measure, a bar an option set, on logarithmic axes; None if there is no ratio.

    The first option set has no bar: the others are compared with it. ``measures`` are keys of
    :attr:`OptionSet.measures` with the titles of the panels.
    """
    first, others = sets[0], sets[1:]
    found = {
        name: [ratio(own, first, name) for own in others] for name, _ in measures
    }  # fmt: skip
    drawn = [
        (name, words) for name, words in measures
        if any(math.isfinite(factor) and factor > 0 for _, factor in found[name])
    ]  # fmt: skip
    if not drawn:
        return None
    figure = new_figure(10, 1.0 + 0.3 * len(others))
    panels = figure.subplots(1, len(drawn), sharey=True, squeeze=False)[0]
    for axes, (name, words), colour in zip(panels, drawn, COLOURS, strict=False):
        _bars(axes, found[name], colour)
        axes.set_title(words)
    panels[0].set_yticks(range(len(others)), [own.variant.label for own in others])
    panels[0].set_ylim(len(others) - 0.4, -0.6)
    for axes in panels:
        axes.grid(visible=False, axis="y")
        axes.tick_params(axis="y", length=0, labelcolor=INK)
        axes.set_xlabel(f"times “{first.variant.label}” (log scale)")
    return figure


def _bars(axes: Axes, found: Sequence[tuple[str, float]], colour: str) -> None:
    factors = np.array([factor if factor > 0 else np.nan for _, factor in found])
    logs = np.log10(factors)
    known = np.isfinite(logs)
    low, high = min(0.0, logs[known].min()), max(0.0, logs[known].max())
    axes.set_xscale("log")
    for place, (sign, _) in enumerate(found):
        if known[place]:
            axes.barh(
                place, factors[place] - 1, left=1, height=0.62, color=colour,
                alpha=0.45 if sign else 0.9, hatch="///" if sign else None, edgecolor="white",
            )  # fmt: skip
    axes.axvline(1, color=FAINT, linewidth=1)
    # Room for the figures at the ends of the bars.
    room = 0.22 * max(high - low, 0.3)
    axes.set_xlim(10 ** (low - (room if low < 0 else 0.05)), 10 ** (high + room))
    for place, (sign, factor) in enumerate(found):
        inside = known[place] and logs[place] < 0
        axes.annotate(
            f"{sign}{formatting.ratio(factor)}×" if known[place] else formatting.NONE,
            (factors[place] if known[place] else 1, place),
            xytext=(-4 if inside else 4, 0),
            textcoords="offset points",
            ha="right" if inside else "left",
            va="center",
            fontsize=8.5,
        )
    plain_decades(axes.xaxis)


MOST_RUNS = 12
"""More lines could not be distinguished."""

_MORE_COLOURS = ("#B8860B", "#9AA4B0", "#7F3B08", "#00441B")

_HELD: tuple[tuple[str, str, Dash], ...] = (
    ("queue", "queue", "solid"),
    ("trees", "tree cache", (0, (5, 2))),
    ("leaves", "leaf cache", (0, (1, 1.5))),
)


def trace_chart(runs: Mapping[str, Execution]) -> Figure:
    """The traces of at most :data:`MOST_RUNS` runs, by their names in the legend: objective (line)
    and lower bound (dashes) against time, with a star where the optimum was found; trees evaluated;
    sizes of queue and caches."""
    figure = new_figure(10, 4.8)
    grid = figure.add_gridspec(2, 2, width_ratios=(1.25, 1))
    known = figure.add_subplot(grid[:, 0])
    work = figure.add_subplot(grid[0, 1], sharex=known)
    held = figure.add_subplot(grid[1, 1], sharex=known)
    colours = dict(zip(runs, (*COLOURS, *_MORE_COLOURS), strict=False))
    first = _first_moment(runs)
    for label, run in runs.items():
        _knowledge(known, run, first, colours[label], label)
        _trace_line(work, run, first, "evaluated", colours[label], "solid")
        for name, _, dash in _HELD:
            _trace_line(held, run, first, name, colours[label], dash)
    known.set_title("Objective (line) and lower bound (dashes); ★ optimum found")
    work.set_title("Trees evaluated")
    held.set_title("Queue and caches")
    for axes in (work, held):
        counts = [np.asarray(line.get_ydata(), float) for line in axes.lines]
        log_if_wide(axes, np.concatenate([np.zeros(0), *counts]), factor=20)
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
        legend_below(figure, *known.get_legend_handles_labels(), 4, handlelength=2.0)
    return figure


def _first_moment(runs: Mapping[str, Execution]) -> float:
    """The start of the logarithmic axis: the first moment above 0 of any run."""
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


def _trace_line(
    axes: Axes, run: Execution, first: float, name: str, colour: str, dash: Dash
) -> None:
    values = run.trace[name].to_numpy(float)
    there = np.isfinite(values)
    if there.any():
        axes.plot(_moments(run, first)[there], values[there], color=colour, linestyle=dash)
