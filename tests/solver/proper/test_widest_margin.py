"""The widest margin between two sets of points."""

from __future__ import annotations

from fractions import Fraction
from math import sqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solver.proper.widest_margin import Margin, weighted, widest_margin

FLOATS, INTS = np.float64, np.dtype(object)


def widest(above: Any, below: Any, kind: Any) -> Margin:
    clouds = [
        [np.array(column, dtype=kind) for column in zip(*points, strict=True)]
        for points in (above, below)
    ]
    return widest_margin(*clouds)


@pytest.mark.parametrize("kind", [FLOATS, INTS])
@pytest.mark.parametrize(
    "above, below, normal",
    [
        ([(3,)], [(1,)], [2]),  # two points
        ([(0, 2), (5, 2)], [(2, 0), (9, -1)], [0, 2]),  # an edge and a vertex
        ([(2, 0), (0, 2)], [(0, 0)], [1, 1]),  # a vertex and the middle of an edge
        ([(4, 0), (0, 2)], [(0, 0)], [0.8, 1.6]),  # and another point of one
        ([(3, 4, 0), (3, 4, 9)], [(0, 0, 2), (0, 0, 3)], [3, 4, 0]),  # two edges
        ([(2, 0)], [(0, 0), (0, 0), (0, 1)], [2, 0]),  # a point twice
    ],
)
def test_normals_that_are_known(above: Any, below: Any, normal: list[float], kind: Any) -> None:
    found = widest(above, below, kind)
    assert [float(x) for x in found.normal] == pytest.approx(normal)
    assert float(found.gap) == pytest.approx(sum(x * x for x in normal))


@pytest.mark.parametrize(
    "above, below",
    [
        ([(0, 0), (2, 2)], [(1, 1)]),  # between
        ([(0, 0), (1, 1)], [(0, 1), (1, 0)]),  # across
        ([(0, 0), (5, 1)], [(7, 3), (0, 0)]),  # at one place
    ],
)
def test_what_no_plane_parts(above: Any, below: Any) -> None:
    assert widest(above, below, INTS).gap == 0
    assert widest(above, below, FLOATS).gap < 1e-12


@given(st.integers(1, 4), st.integers(0, 2**32 - 1))
@settings(max_examples=60, deadline=None)
def test_no_margin_is_wider(dimensions: int, seed: int) -> None:
    """Of the optimum: the corral lies on the two planes, and all else beyond them."""
    rng = np.random.RandomState(seed)
    points = rng.randint(-9, 10, (rng.randint(2, 30), dimensions))
    sums = points @ rng.randint(-5, 6, dimensions)
    sides = sums > np.median(sums)
    if not sides.any():
        return
    above, below = points[sides].tolist(), points[~sides].tolist()
    exact, floats = widest(above, below, INTS), widest(above, below, FLOATS)
    assert exact.gap == sum(x * x for x in exact.normal) > 0
    high = weighted(exact.normal, [np.array(c, object) for c in zip(*above, strict=True)])
    low = weighted(exact.normal, [np.array(c, object) for c in zip(*below, strict=True)])
    assert min(high) - max(low) == exact.gap
    assert all((high[i], low[j]) == (min(high), max(low)) for i, j in exact.corral)
    assert [float(x) for x in exact.normal] == pytest.approx(floats.normal, rel=1e-4, abs=1e-4)
    length = sqrt(sum(x * x for x in floats.normal))
    assert floats.gap / length == pytest.approx(sqrt(exact.gap))


def test_a_margin_too_thin_for_floats() -> None:
    thin = Fraction(1, 10**30)
    above, below = [(1, thin), (1, 1)], [(0, 0), (2, 0)]
    assert widest(above, below, INTS).normal == [0, thin]
    assert widest(above, below, INTS).gap == thin**2
