"""All dichotomies of points by hyperplanes, against asking every subset."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from solver.errors import InputError
from solver.kernels.packed_rows import packed, unpacked
from solver.proper import hyperplane_sides
from solver.proper.dichotomies import Cuts, Dichotomies, spanning
from tests.naive_geometry import dichotomies

Points = list[tuple[int, ...]]


def find(points: Points, slice_: int = 1000) -> Dichotomies:
    coordinates = np.empty((len(points), len(points[0])), dtype=object)
    coordinates[:] = points
    found = Dichotomies(coordinates)
    while not found.ended:
        if not found.step(slice_):
            assert found.grow(None)
    return found


def cover(n: int, d: int) -> int:
    """How many dichotomies n points in general position have, but for the trivial one."""
    return sum(math.comb(n - 1, k) for k in range(d + 1)) - 1


@pytest.mark.parametrize(
    "n, d", [(2, 1), (9, 1), (3, 2), (40, 2), (15, 3), (9, 4), (10, 5), (5, 7)]
)
def test_points_in_general_position(n: int, d: int) -> None:
    random = np.random.default_rng(n)
    points = [tuple(map(int, row)) for row in random.integers(-(10**6), 10**6, (n, d))]
    assert len(find(points).masks) == cover(n, d)


@pytest.mark.parametrize("d, functions", [(1, 4), (2, 14), (3, 104), (4, 1882)])
def test_corners_of_the_cube(d: int, functions: int) -> None:
    """The known numbers of linear threshold functions (OEIS A000609)."""
    assert 2 * len(find(list(product((0, 1), repeat=d))).masks) + 2 == functions


@st.composite
def point_sets(draw: st.DrawFn) -> Points:
    d = draw(st.integers(1, 4))
    largest = draw(st.sampled_from([1, 2, 3, 50, 10**30, 10**400]))
    numbers = st.integers(0, largest) | st.integers(0, 3)
    return draw(st.lists(st.tuples(*[numbers] * d), min_size=2, max_size=7, unique=True))


@settings(max_examples=300, deadline=None)
@given(points=point_sets(), slice_=st.sampled_from([1, 3, 1000]))
def test_any_points(points: Points, slice_: int) -> None:
    """Collinear points, grids, points in a flat, and coordinates beyond 64 bits, or all floats."""
    everything = (1 << len(points)) - 1
    masks = [int.from_bytes(mask.tobytes(), "little") for mask in find(points, slice_).masks]
    assert all(mask & 1 == 0 and mask for mask in masks)
    assert len(set(masks)) == len(masks)
    ways = set(dichotomies(points, "hyperplane")) - {0, everything}
    assert {*masks, *(everything ^ mask for mask in masks)} == {
        *ways,
        *(everything ^ w for w in ways),
    }


def test_what_is_known_comes_first() -> None:
    points = [(0, 0), (5, 1), (2, 7), (3, 3)]
    known = packed(np.array([False, True, False, False]))[None]
    coordinates: NDArray[np.object_] = np.array(points, dtype=object)
    found = Dichotomies(coordinates, known)
    while not found.ended and (found.step(10) or found.grow(None)):
        pass
    assert found.masks[0] == known[0]
    assert len(found.masks) == len(find(points).masks)


def test_near_a_hyperplane_floats_do_not_decide() -> None:
    """Three points so nearly on a line that floats cannot tell, parted from a fourth."""
    big = 2**60
    for off, parts in ((0, 5), (1, 6), (-1, 6)):
        points = [(0, 0), (big, big), (2 * big, 2 * big + off), (-big, 3 * big)]
        assert len(find(points).masks) == parts


def test_exact_sides_agree_with_the_kernel() -> None:
    random = np.random.default_rng(0)
    points: NDArray[np.object_] = random.integers(-50, 50, (12, 3)).astype(object)
    found = Dichotomies(points)
    assert not found.step(1)  # no room is taken before a limit could be told
    assert found.grow(None)
    assert found.step(1)
    chosen = np.arange(3)
    own = hyperplane_sides.exact_sides(found.coordinates, chosen)
    assert own[:3] == [0, 0, 0]
    assert found.walk.side.tolist() in (own, [-side for side in own])


def test_no_room() -> None:
    points: NDArray[np.object_] = (
        np.random.default_rng(1).integers(0, 10**6, (60, 2)).astype(object)
    )
    found = Dichotomies(points)
    while not found.ended and (found.step(50) or found.grow(1000)):
        pass
    assert not found.ended
    assert 0 < found.bytes <= 1000


def test_too_many_dimensions() -> None:
    with pytest.raises(InputError, match="in 16 dimensions are too many"):
        Dichotomies(np.eye(17, dtype=int).astype(object))


def test_points_in_a_flat_keep_as_many_columns() -> None:
    flat: NDArray[np.object_] = np.array([[0, 0, 5], [1, 2, 5], [2, 4, 5], [1, 0, 5]], dtype=object)
    assert spanning(flat).shape == (4, 2)
    mask = np.array([True, False, True])
    assert unpacked(packed(mask), 3).tolist() == mask.tolist()


def test_what_defines_a_hyperplane_is_on_it_without_a_proof(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of points with many digits Python is asked for none: else it took a hundred times as long."""
    asked: list[object] = []
    exact = hyperplane_sides.exact_sides
    monkeypatch.setattr(
        hyperplane_sides, "exact_sides", lambda *args: asked.append(args) or exact(*args)
    )
    random = np.random.default_rng(2)
    points = [tuple(map(int, row)) for row in random.integers(0, 2**62, (20, 3))]
    assert len(find(points).masks) == cover(20, 3)
    assert not asked


def test_too_many_turns_to_keep(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hyperplane_sides, "MOST_TURNS", 5)
    random = np.random.default_rng(3)
    points = [tuple(map(int, row)) for row in random.integers(0, 100, (12, 3))]
    assert len(find(points).masks) == cover(12, 3)


def test_cuts_one_by_one() -> None:
    codes = np.array([[0, 1, 2], [1, 1, 0], [2, 1, 0], [1, 1, 2]], np.int32)
    found = Cuts(codes)
    while not found.ended and (found.step(1) or found.grow(None)):
        pass
    assert found.masks[:, 0].tolist() == [0b1110, 0b0100, 0b0110]
    assert found.done == 3  # a column of one code has none
    full = Cuts(np.arange(10**5, dtype=np.int32)[:, None])
    while full.step(100) or full.grow(10**6):
        assert not full.ended
    assert full.bytes <= 10**6
