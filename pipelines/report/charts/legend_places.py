"""Legends where they cover the least, as Matplotlib's ``loc="best"`` puts them.

Matplotlib searches for the place in each pass of a layout and in each drawing, one line after the
other. In a chart of a thousand pieces of lines that takes longer than all the rest. Here the place
is searched for once, when the layout is known, among all pieces together.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.legend import Legend
from matplotlib.patches import Rectangle
from matplotlib.transforms import Bbox

from pipelines.report.data.group_statistics import Floats

_PLACES = (
    (1, 2, 2), (2, 0, 2), (3, 0, 0), (4, 2, 0), (5, 2, 1), (6, 0, 1), (8, 1, 0), (9, 1, 2),
    (10, 1, 1),
)  # fmt: skip
"""Matplotlib's number, column and row of each place; of equally good ones the first is taken."""


class LegendLayout(ConstrainedLayoutEngine):
    """Constrained layout, which then puts legends where they cover the least."""

    def __init__(self) -> None:
        super().__init__()
        self._legends: list[Legend] = []

    def add_legend(self, axes: Axes, **look: Any) -> None:
        """Give a chart a legend."""
        self._legends.append(axes.legend(loc="upper right", **look))

    def execute(self, fig: Figure) -> None:
        """Lay the figure out."""
        super().execute(fig)
        for legend in self._legends:
            _place(legend)


def _place(legend: Legend) -> None:
    axes = legend.axes
    assert axes is not None
    obstacles = Obstacles(axes)
    legend.set_loc("lower left")
    low = legend.get_window_extent()
    legend.set_loc("upper right")
    high = legend.get_window_extent()
    lefts = (low.x0, (low.x0 + high.x0) / 2, high.x0)
    bottoms = (low.y0, (low.y0 + high.y0) / 2, high.y0)
    least = None
    for number, column, row in _PLACES:
        box = Bbox.from_bounds(lefts[column], bottoms[row], low.width, low.height)
        covered = obstacles.covered_by(box)
        if least is None or covered < least:
            least = covered
            legend.set_loc(number)


class Obstacles:
    """What a legend should not cover: pieces of lines, ends of pieces, rectangles and texts."""

    def __init__(self, axes: Axes) -> None:
        shapes = list(_shapes(axes))
        points = np.concatenate(shapes) if shapes else np.empty((0, 2))
        shape = np.repeat(np.arange(len(shapes)), [len(one) for one in shapes])
        gap = np.isnan(points[:, 0]) | np.isnan(points[:, 1])
        # A line may have gaps; what lies between two of them is a piece.
        piece = np.cumsum(gap | np.diff(shape, prepend=0).astype(bool))
        joined = (piece[1:] == piece[:-1]) & ~gap[1:] & ~gap[:-1]
        self._points = points[~gap]
        self._starts, self._ends = points[:-1][joined], points[1:][joined]
        self._pieces = piece[1:][joined]
        self._boxes = [
            patch.get_bbox().transformed(patch.get_data_transform())
            for patch in axes.patches
            if isinstance(patch, Rectangle)
        ] + [text.get_window_extent() for text in axes.texts]

    def covered_by(self, box: Bbox) -> int:
        """How many of them a box covers, wholly or in part."""
        crossed = np.unique(self._pieces[_crosses(self._starts, self._ends, box)])
        boxes = box.count_overlaps(self._boxes) if self._boxes else 0
        return int(box.count_contains(self._points) + len(crossed) + boxes)


def _shapes(axes: Axes) -> Iterator[Floats]:
    """The points of lines and areas, in the pixels of the drawing."""
    for line in axes.lines:
        yield np.asarray(line.get_transform().transform_path(line.get_path()).vertices)
    for collection in axes.collections:
        transform = collection.get_transform()
        for path in collection.get_paths():
            yield np.asarray(transform.transform_path(path).vertices)


def _crosses(starts: Floats, ends: Floats, box: Bbox) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Which segments have a point within a box (separating axes: its two and the segment's)."""
    size = np.array([box.width, box.height])
    middle = np.array([box.x0 + box.x1, box.y0 + box.y1]) / 2
    along = starts - ends
    near = np.abs(starts + ends - 2 * middle) < np.abs(along) + size
    away = starts - middle
    cross = 2 * np.abs(away[:, 0] * along[:, 1] - away[:, 1] * along[:, 0])
    reach = size[0] * np.abs(along[:, 1]) + size[1] * np.abs(along[:, 0])
    return np.asarray(near[:, 0] & near[:, 1] & (cross < reach), bool)
