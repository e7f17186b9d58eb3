"""Small sets of points for hypothesis: grids, lines, general position, one to three dimensions."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

Point = tuple[int, ...]


@st.composite
def point_sets(draw: Any, most: int = 6, dimensions: int = 3) -> list[Point]:
    """Distinct points, often in degenerate position."""
    d = draw(st.integers(1, dimensions))
    widest = draw(st.sampled_from([1, 2, 4, 40]))
    point = st.tuples(*[st.integers(0, widest)] * d)
    return draw(st.lists(point, min_size=1, max_size=most, unique=True))
