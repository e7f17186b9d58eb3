"""Legends are where Matplotlib puts them."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from pipelines.report.charts.legend_places import LegendLayout
from pipelines.report.charts.style import new_figure


def _draw(axes: Axes, seed: int) -> None:
    """Lines, an area, rectangles and a text; some charts leave a corner free, others nothing."""
    random = np.random.default_rng(seed)
    pieces = int(random.integers(1, 60))
    starts = random.normal(size=(pieces, 2)) * random.uniform(0.1, 1, size=2)
    ends = starts + random.normal(scale=0.3, size=(pieces, 2))
    for (x0, y0), (x1, y1) in zip(starts, ends, strict=True):
        axes.plot([x0, x1], [y0, y1], color="black")
    axes.plot([], [], label="seed")
    axes.plot(starts[:, 0], ends[:, 1], "o")
    if seed % 3:
        x = np.linspace(-1, 1, 7)
        axes.fill_between(x, random.normal(size=7), 1.5)
        axes.axvspan(-0.5, random.uniform(0, 1))
        axes.axvline(random.uniform(-1, 1))
    if seed % 2:
        axes.annotate("a text", (0.7, 0.8), xycoords=("data", "axes fraction"))
    axes.set_xlim(-2, 2)
    axes.set_ylim(-2, random.uniform(0.2, 2))


def _place(figure: Figure) -> list[tuple[float, ...]]:
    FigureCanvasSVG(figure)
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    extents = []
    for axes in figure.axes:
        legend = axes.get_legend()
        assert legend is not None
        extents.append(tuple(legend.get_window_extent().extents))
    return extents


@pytest.mark.parametrize("seed", range(12))
def test_legends_are_where_matplotlib_puts_them(seed: int) -> None:
    layout = LegendLayout()
    figure, other = new_figure(6, 5, layout), new_figure(6, 5)
    for panel, axes in enumerate(figure.subplots(2, 1)):
        _draw(axes, 2 * seed + panel)
        layout.add_legend(axes)
    for panel, axes in enumerate(other.subplots(2, 1)):
        _draw(axes, 2 * seed + panel)
        axes.legend(loc="best")
    np.testing.assert_allclose(_place(figure), _place(other))


def test_pieces_of_one_line_count_as_lines() -> None:
    places = []
    for whole in (False, True):
        layout = LegendLayout()
        figure = new_figure(6, 5, layout)
        axes = figure.subplots()
        random = np.random.default_rng(1)
        x, y = np.sort(random.uniform(size=(40, 2))), random.uniform(0.3, 1, size=(40, 2))
        if whole:
            half = 20
            gap = np.full((half, 1), np.nan)
            axes.plot(np.hstack([x[:half], gap]).ravel(), np.hstack([y[:half], gap]).ravel())
            axes.add_collection(LineCollection(list(np.stack([x[half:], y[half:]], axis=2))))
        else:
            for one, two in zip(x, y, strict=True):
                axes.plot(one, two)
        axes.set_xlim(0, 1)
        axes.set_ylim(0, 1)
        axes.plot([], [], label="a line")
        layout.add_legend(axes)
        places.append(_place(figure))
    np.testing.assert_allclose(places[0], places[1])


def test_a_chart_without_anything_has_its_legend_in_the_first_place() -> None:
    layout = LegendLayout()
    figure = new_figure(6, 5, layout)
    axes = figure.subplots()
    handle = axes.plot([], [], label="nothing")
    layout.add_legend(axes, handles=handle)
    ((_, _, right, top),) = _place(figure)
    box = axes.get_window_extent()
    assert box.x1 - 12 < right < box.x1
    assert box.y1 - 12 < top < box.y1
