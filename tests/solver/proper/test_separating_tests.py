"""Tests that separate rows as a partition demands."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from solver.errors import InputError
from solver.features.oblique_tests import HyperplaneTest, PolynomialTest, SurfaceTest
from solver.problem.problem import Problem
from solver.proper.integer_points import Points
from solver.proper.separating_tests import shape_of_partition
from solver.trees.tree import Tree
from tests import naive_geometry

SCALES = [1.0, 1e-9, 1e12, 1e-150, 0.1]


def problem_of(points: Any, *, weights: Any = None) -> Problem:
    """A problem whose rows are the distinct points in their order."""
    frame = pd.DataFrame(np.asarray(points, float)).add_prefix("x")
    frame["y"] = np.arange(len(frame)) % 2
    return Problem.from_table(frame, "y", "continuous", weights=weights)


def numbers_of(problem: Problem) -> NDArray[np.float64]:
    return np.column_stack([problem.numbers(axis.scale.column) for axis in problem.axes])


def mask_of(sides: Any) -> int:
    return sum(1 << row for row, side in enumerate(sides) if side)


def part(problem: Problem, sides: Any, rules: str, degree: int = 2) -> Any:
    """The test of one split, proven on every row."""
    shape = shape_of_partition(problem, (mask_of(sides), (-1, -1)), rules, degree)
    assert isinstance(shape, tuple)
    branches = problem.branch_codes(shape[0]).astype(bool)
    assert np.array_equal(branches, np.asarray(sides, bool)) or np.array_equal(
        ~branches, np.asarray(sides, bool)
    )
    return problem.tests[shape[0]] if isinstance(shape[0], int) else shape[0]


@st.composite
def few_points(draw: Any) -> NDArray[np.float64]:
    """Grids, lines, decimals and scales that may be degenerate; no point twice."""
    dimensions = draw(st.integers(1, 3))
    rows = draw(st.lists(st.tuples(*[st.integers(0, 3)] * dimensions), min_size=2, max_size=6))
    points = np.unique(np.array(rows, float), axis=0)
    match draw(st.sampled_from(["grid", "line", "decimals", "dates", "scales"])):
        case "line":
            points = np.outer(points[:, 0], [1.0, -2.0, 3.0][:dimensions]) + 0.5
            points = np.unique(points, axis=0)
        case "decimals":
            points = points * 0.1  # 0.30000000000000004 is another number than 0.3
        case "dates":
            points = 1.6e9 + 86400 * points
        case "scales":
            points = points * [draw(st.sampled_from(SCALES)) for _ in range(dimensions)]
    return points


@given(few_points(), st.sampled_from(naive_geometry.FAMILIES), st.sampled_from([1, 2, 2, 3]))
@settings(max_examples=120, deadline=None)
def test_all_ways_to_part_a_few_points(
    points: NDArray[np.float64], rules: str, degree: int
) -> None:
    if len(points) < 2:
        return
    problem = problem_of(points)
    places = Points.of(problem).coordinates.tolist()
    ways = naive_geometry.dichotomies(places, rules, degree)
    for mask in range(2, 1 << len(places), 2):
        sides = [bool(mask >> row & 1) for row in range(len(places))]
        if mask in ways:
            try:
                part(problem, sides, rules, degree)
            except InputError:  # points a few last bits from a line, or squares of 1e-150
                spread = np.ptp(points, axis=0)
                assert rules != "axis"
                assert spread[spread > 0].min() < 1e-100 or not (points % 0.5 == 0).all()
        elif (points % 0.5 == 0).all():  # of others the last bits may happen to be parted
            with pytest.raises(ValueError, match="no test of the family"):
                part(problem, sides, rules, degree)


@given(st.integers(1, 4), st.integers(1, 3), st.integers(0, 2**32 - 1))
@settings(max_examples=100, deadline=None)
def test_many_points(dimensions: int, degree: int, seed: int) -> None:
    rng = np.random.RandomState(seed)
    points = rng.randn(rng.randint(2, 150), dimensions)
    terms = Points(("",) * dimensions, np.empty((0, dimensions), object)).powers(degree)
    lifted = np.column_stack([(points**term).prod(axis=1) for term in terms])
    sums = lifted @ rng.randn(len(terms))
    above = sums > np.quantile(sums, rng.rand())
    if above.all() or not above.any():
        return
    if seed % 3 == 0:
        points = points * rng.choice(SCALES[:3], dimensions)
    wanted = dict(zip(map(tuple, points.tolist()), above.tolist(), strict=True))
    problem = problem_of(points)
    sides = [wanted[tuple(row)] for row in numbers_of(problem).tolist()]
    rules = "hyperplane" if degree == 1 else "polynomial" if seed % 2 else "mixed"
    test = part(problem, sides, rules, degree)
    if isinstance(test, SurfaceTest):
        assert test.weights[0] > 0
        assert 0.0 not in test.weights
        assert max(sum(term) for term in test.powers) <= degree


@pytest.mark.parametrize("rules", naive_geometry.FAMILIES)
def test_nodes_part_the_rows_that_reach_them(rules: str) -> None:
    grid = [(x, y) for x in range(4) for y in range(4)]
    problem = problem_of(grid)
    x, y = problem.numbers("x0"), problem.numbers("x1")
    # Bits of rows that do not get to a node are noise.
    below, above = mask_of((y > 1) | (x < 2)), mask_of((y < 1) ^ (x < 2))
    shape = shape_of_partition(
        problem, (mask_of(x < 2), ((below, (-1, -1)), (above, (-1, -1)))), rules
    )
    leaves = ends(problem, problem.grow(shape))
    regions = 2 * (x < 2) + np.where(x < 2, (y < 1) ^ (x < 2), y > 1)
    assert len(set(zip(leaves, regions.tolist(), strict=True))) == 4 == len(set(leaves))


def ends(problem: Problem, tree: Tree) -> list[int]:
    """The node at which every row of a problem ends."""
    return tree.apply(pd.DataFrame(numbers_of(problem), columns=["x0", "x1"])).tolist()


def test_cuts() -> None:
    problem = problem_of(list(enumerate([5, 4, 3, 2, 1, 0, 6, 7, 8])))
    codes = problem.codes
    # Rows 0, 1 | 7, 8 of the first column: of the cuts 1 to 6 the fourth is in the middle.
    inner = mask_of(codes[:, 0] >= 7)
    outer = mask_of((codes[:, 0] <= 1) | (codes[:, 0] >= 7))
    shape = shape_of_partition(problem, (outer, (-1, (inner, (-1, -1)))), "mixed", 2)
    assert isinstance(shape, tuple)
    below, above = shape[1]
    split = above if isinstance(above, tuple) else below
    assert isinstance(split, tuple)
    assert problem.locate_cut(split[0]) == (0, (1 + 7 - 1) // 2)  # type: ignore[arg-type]
    only = shape_of_partition(problem, (mask_of(codes[:, 1] > 3), (-1, -1)), "axis")
    assert isinstance(only, tuple)
    assert problem.locate_cut(only[0]) == (1, 3)  # type: ignore[arg-type]
    other = shape_of_partition(problem, (mask_of(codes[:, 1] <= 3), (7, -1)), "axis")  # type: ignore[arg-type]
    assert isinstance(other, tuple)
    assert other[0] == only[0]


def test_the_sides_may_be_exchanged() -> None:
    problem = problem_of([(0, 0), (1, 0), (0, 1), (5, 5)])
    right = np.isin(np.arange(4), np.flatnonzero(problem.numbers("x0") == 5))
    inner = mask_of(problem.numbers("x1") > 0.5)
    for rules in ("axis", "hyperplane"):
        one = shape_of_partition(problem, (mask_of(right), ((inner, (-1, -1)), -1)), rules)
        other = shape_of_partition(problem, (mask_of(~right), (-1, (inner, (-1, -1)))), rules)
        assert one == other


def words(problem: Problem, sides: Any, rules: str, degree: int = 2) -> str:
    return str(part(problem, sides, rules, degree).describe(1))


def test_few_digits() -> None:
    square = problem_of([(0, 0), (0, 1), (1, 0), (1, 1)])
    x, y = square.numbers("x0"), square.numbers("x1")
    assert words(square, x + y > 1, "hyperplane") == "x0 + x1 > 1.5"
    assert words(square, x + y > 0, "hyperplane") == "x0 + x1 > 0.5"
    assert words(square, y == 1, "hyperplane") == "x1 > 0.5"  # a weight of 0 is left out
    assert words(square, x > y, "hyperplane") == "x0 − x1 > 0.5"
    assert words(square, x == y, "polynomial") == "x0 + x1 − 2·x0·x1 > 0.5"
    assert words(square, x == y, "mixed") == "x0 + x1 − 2·x0·x1 > 0.5"
    assert words(square, x + y > 1, "mixed") == "x0 + x1 > 1.5"
    assert words(square, x == 1, "mixed") == "x0 > 0.5"


def test_dates_and_large_numbers() -> None:
    days = pd.to_datetime(["2024-01-01", "2024-01-02", "2024-01-05", "2024-01-09"])
    frame = pd.DataFrame({"day": days, "price": [1e12, 1.1e12, 1e12, 1.1e12], "y": [0, 1, 0, 1]})
    problem = Problem.from_table(frame, "y", "continuous")
    sides = problem.numbers("day") + problem.numbers("price") / 1e6 > 1704067200 + 1.3e6
    test = part(problem, sides, "hyperplane")
    ends = problem.grow((test, (-1, -1))).apply(frame.drop(columns="y"))
    assert sorted(np.bincount(ends)[1:]) == sorted(np.bincount(problem.branch_codes(test)))


@pytest.mark.parametrize("rules", ["hyperplane", "polynomial", "mixed"])
def test_fewer_points_than_dimensions(rules: str) -> None:
    problem = problem_of([(0, 0, 1, 7), (1, 2, 2, 7), (2, 4, 3, 7), (3, 6, 4, 7)])  # on a line
    part(problem, [True, False, False, False], rules)
    part(problem, [False, False, True, True], rules)
    if rules != "hyperplane":
        assert isinstance(part(problem, [True, False, False, True], rules), PolynomialTest)
    with pytest.raises(ValueError, match="no test of the family"):
        part(problem, [True, False, True, False], rules)


def test_margins_beyond_floats_are_found_exactly() -> None:
    # So little above the line through the others that no sum of floats sees it but this one.
    problem = problem_of([(0, 0), (2, 0), (1, 1e-13), (1, 1)])
    test = part(problem, problem.numbers("x1") > 0, "hyperplane")
    assert isinstance(test, HyperplaneTest)
    assert test.columns == ("x1",)
    assert 0.25e-13 <= test.threshold <= 0.75e-13


def test_what_doubles_cannot_hold() -> None:
    problem = problem_of([(1e200, 0), (2e200, 0), (3e200, 0), (2e200, 1)])
    part(problem, problem.numbers("x0") > 1e200, "hyperplane")
    inner = problem.numbers("x0") == 2e200  # whose square is infinite
    with pytest.raises(InputError, match=r"'x0', 'x1' whose weights .* round these columns"):
        part(problem, inner & (problem.numbers("x1") == 0), "polynomial")


def test_rows_without_a_number_go_with_the_most() -> None:
    points = [(0.0, 0.0), (0.0, 1.0), (1.0, 0.0), (1.0, 1.0)]
    for weights, most in [([1, 1, 1, 9], 1), ([9, 1, 1, 1], 0)]:
        problem = problem_of(points, weights=weights)
        sides = problem.numbers("x0") + problem.numbers("x1") > 1.5
        assert part(problem, sides, "hyperplane").missing == most


def test_what_cannot_be_asked() -> None:
    problem = problem_of([(0, 0), (1, 1)])
    for mask in (0, 3):
        with pytest.raises(ValueError, match="has no rows"):
            shape_of_partition(problem, (mask, (-1, -1)), "axis")
    assert shape_of_partition(problem, -1, "axis") == -1
