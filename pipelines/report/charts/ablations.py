"""Bars of an ablation: how many times what the first option set took the others take."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pipelines.report.analysis.ablations import OptionSet, ratio
from pipelines.report.charts.axes import new_figure, plain_decades
from pipelines.report.charts.palette import COLOURS, FAINT, INK
from pipelines.report.data import formats


def ratio_chart(sets: Sequence[OptionSet], measures: Sequence[tuple[str, str]]) -> Figure | None:
    """A panel a measure, a bar an option set, on logarithmic axes; None if there is no ratio.

    Parameters
    ----------
    sets : sequence of OptionSet
        The first one is what the others are compared with; it has no bar.
    measures : sequence of (str, str)
        Names in :attr:`OptionSet.measures`, and what the panels call them.
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
            f"{sign}{formats.ratio(factor)}×" if known[place] else formats.NONE,
            (factors[place] if known[place] else 1, place),
            xytext=(-4 if inside else 4, 0),
            textcoords="offset points",
            ha="right" if inside else "left",
            va="center",
            fontsize=8.5,
        )
    plain_decades(axes.xaxis)
