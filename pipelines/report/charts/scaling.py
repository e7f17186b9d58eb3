"""Search time, and iterations, against the size of a table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from pipelines.report.analysis.scaling import FEATURES, ROWS, Scaling
from pipelines.report.charts.style import (
    encoding_dashes,
    legend_below,
    log_if_wide,
    new_figure,
    plain_decades,
)

MOST_LINES = 12
"""The largest number of lines in a panel: those that took longest."""

_SHADES = (1.0, 0.62, 0.38)
_WIDE = 8


def scaling_chart(scaling: Scaling, colours: dict[str, str], encodings: tuple[str, ...]) -> Figure:
    """Panels for sizes in rows and in features: search times above, iterations below."""
    points = scaling.points
    axes_names = [name for name in (ROWS, FEATURES) if (points["axis"] == name).any()]
    measures = [name for name in ("seconds", "iterations") if (points[name] > 0).any()]
    figure = new_figure(10 if len(axes_names) > 1 else 5.6, 0.6 + 2.8 * len(measures))
    grid = figure.subplots(len(measures), len(axes_names), squeeze=False, sharex="col")
    for row, measure in zip(grid, measures, strict=True):
        for axes, name in zip(row, axes_names, strict=True):
            own = points[points["axis"] == name]
            _panel(axes, own, name, measure, colours, encodings)
    for axes, name in zip(grid[-1], axes_names, strict=True):
        axes.set_xlabel("rows of the table" if name == ROWS else "features that part the rows")
    named = {
        label: handle
        for axes in grid.flat
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    legend_below(figure, [*named.values()], [*named], 3, handlelength=2.4)
    return figure


def _panel(
    axes: Axes,
    points: pd.DataFrame,
    name: str,
    measure: str,
    colours: dict[str, str],
    encodings: tuple[str, ...],
) -> None:
    dashes = encoding_dashes(encodings)
    shades: dict[Any, float] = {}
    for label, line in _longest(points, name):
        shown = line[line[measure] > 0]
        if shown.empty:
            continue
        first = shown.iloc[0]
        colour = colours[str(first["solver_label"])]
        other = (first["encoding_label"], first["solver_label"])
        shade = _SHADES[int(shades.setdefault(other, 0)) % len(_SHADES)]
        shades[other] += 1
        x, y = shown["size"].to_numpy(float), shown[measure].to_numpy(float)
        axes.plot(x, y, color=colour, alpha=shade, linestyle=dashes[other[0]])
        proven = shown["proven"].to_numpy(bool)
        for part, face in ((proven, colour), (~proven, "white")):
            axes.plot(x[part], y[part], "o", color=colour, alpha=shade, markerfacecolor=face)
        axes.plot([], [], "o", color=colour, alpha=shade, linestyle=dashes[other[0]], label=label)
    axes.set_title(
        f"{'Search time (seconds)' if measure == 'seconds' else 'Iterations'} against {name}"
    )
    there = points[points[measure] > 0]
    if len(there):
        _scale(axes, there["size"], there[measure], name)


def _scale(axes: Axes, sizes: pd.Series[Any], values: pd.Series[Any], name: str) -> None:
    if name == ROWS and sizes.max() > _WIDE * sizes.min():
        axes.set_xscale("log")
        plain_decades(axes.xaxis)
    else:
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    log_if_wide(axes, values.to_numpy(float), _WIDE, room=1.12)


def _longest(points: pd.DataFrame, name: str) -> Iterator[tuple[str, pd.DataFrame]]:
    """The lines of a panel with their labels."""
    told = ["encoding_label", "solver_label", "lam_text", "beside"]
    words = {"lam_text": "λ = {}", "beside": "{:g} " + (FEATURES if name == ROWS else ROWS)}
    varying = [column for column in told if points[column].nunique() > 1]
    lines = points.groupby(told, sort=False)
    taken = lines["seconds"].sum().nlargest(MOST_LINES).index
    for key, line in lines:
        if key in taken:
            names = dict(zip(told, key, strict=True))
            shown = [words.get(c, "{}").format(names[c]) for c in varying or ["solver_label"]]
            yield ", ".join(shown), line
