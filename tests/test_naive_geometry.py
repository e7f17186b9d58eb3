"""The naive geometry against counts from textbooks, and against linear programs."""

from fractions import Fraction
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from tests.naive_geometry import best_cost, circuits, dichotomies, lift


def moment_curve(n, dimensions):
    """Points of which no D + 1 lie in a hyperplane."""
    return [tuple(t**power for power in range(1, dimensions + 1)) for t in range(n)]


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6, 7])
def test_a_plane_in_general_position(n):
    points = [(t, t * t) for t in range(n)]
    assert len(dichotomies(points, "hyperplane")) + 1 == comb(n, 2) + 1


def test_general_position_does_not_have_to_be_convex():
    points = [(0, 0), (10, 1), (3, 9), (4, 4), (5, 3), (2, 7)]
    assert len(dichotomies(points, "hyperplane")) == comb(6, 2)


@pytest.mark.parametrize("n, dimensions", [(3, 1), (6, 1), (5, 3), (7, 3), (6, 4), (7, 4), (4, 5)])
def test_covers_count(n, dimensions):
    """Cover (1965): Σ C(n − 1, i) for i ≤ D unordered ones with the trivial one."""
    points = moment_curve(n, dimensions)
    counted = sum(comb(n - 1, i) for i in range(dimensions + 1))
    assert len(dichotomies(points, "hyperplane")) + 1 == counted


def test_points_on_a_line_are_cut_in_order():
    points = [(t, 2 * t, 5) for t in (3, 0, 1, 2)]
    assert dichotomies(points, "hyperplane") == {0b0010, 0b0110, 0b1110}


def test_points_at_one_place_never_part():
    points = [(0, 0), (1, 2), (1, 2), (1, 2)]
    for family in ("axis", "hyperplane", "polynomial", "mixed"):
        assert dichotomies(points, family) == {0b1110}
    assert not dichotomies([(1, 2)] * 3, "mixed")


def test_xor_needs_a_curve():
    xor = [(0, 0), (1, 1), (0, 1), (1, 0)]
    assert 0b1100 not in dichotomies(xor, "hyperplane")
    assert 0b1100 in dichotomies(xor, "polynomial")
    # The only circuit of a square: its diagonals meet.
    assert [set(parts) for parts in circuits(xor)] == [{0b0011, 0b1100}]


def test_a_grid_of_nine():
    """The ways to part an n × n grid by a line, with the trivial one: 7, 29 (OEIS A114043)."""
    for n, ways in ((2, 7), (3, 29)):
        grid = [(x, y) for x in range(n) for y in range(n)]
        assert len(dichotomies(grid, "hyperplane")) + 1 == ways
    assert len(dichotomies(grid, "axis")) == 4


def test_the_families_contain_each_other():
    points = [(0, 0), (1, 2), (2, 4), (2, 1), (0, 3), (1, 1)]
    axis, plane, curve = (dichotomies(points, f) for f in ("axis", "hyperplane", "polynomial"))
    assert axis < plane < curve == dichotomies(points, "mixed")
    assert dichotomies(points, "polynomial", 1) == plane


def test_terms_of_degree_two():
    assert lift((2, 3), 2) == (2, 3, 4, 6, 9)


points_in_a_grid = st.integers(1, 3).flatmap(
    lambda d: st.lists(st.tuples(*[st.integers(0, 2)] * d), min_size=1, max_size=6)
)


@settings(deadline=None, max_examples=40)
@given(points_in_a_grid)
def test_against_a_linear_program(points):
    """w·p + t ≥ 1 on one side and ≤ −1 on the other; small integers leave no doubt to floats."""
    found = dichotomies(points, "hyperplane")
    for side in range(2, 1 << len(points), 2):
        signs = np.array([1 if side >> row & 1 else -1 for row in range(len(points))])
        vectors = np.column_stack([np.ones(len(points)), np.array(points)])
        program = linprog(
            np.zeros(vectors.shape[1]),
            A_ub=-signs[:, None] * vectors,
            b_ub=-np.ones(len(points)),
            bounds=(None, None),
        )
        assert (side in found) == (program.status == 0)


def test_the_best_tree_of_xor():
    xor = [(0, 0), (1, 1), (0, 1), (1, 0)]
    counts = [(1, 0), (1, 0), (0, 1), (0, 1)]
    assert best_cost(xor, counts, 0, 3, family="axis") == (0, 3, 0)
    assert best_cost(xor, counts, 0, 3, family="hyperplane") == (0, 2, 0)
    assert best_cost(xor, counts, 0, 3, family="polynomial") == (0, 1, 0)
    assert best_cost(xor, counts, 0, 3, depth=1, family="hyperplane") == (1, 1, 1)
    assert best_cost(xor, counts, 0, 3, min_leaf=2, family="hyperplane") == (2, 0, 2)
    assert best_cost(xor, counts, Fraction(1, 2), 3, family="axis") == (Fraction(3, 2), 3, 0)
    assert best_cost(xor, counts, 1, 3, family="hyperplane") == (2, 0, 2)
