"""Row weights as whole numbers: exact where they fit, else rounded by a stated error."""

from __future__ import annotations

import math
from collections import UserList
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import solver
from solver import InputError, Limits, Problem
from solver.objective.integer_weights import LARGEST_ERROR, round_weights, whole_weights
from tests import naive


def test_weights_keep_their_proportions() -> None:
    assert whole_weights([1, 2, 0]).whole.tolist() == [1, 2, 0]
    assert whole_weights([True, False]).whole.tolist() == [1, 0]
    assert whole_weights([0.5, 1, 0.25]).whole.tolist() == [2, 4, 1]
    assert whole_weights(np.array([0.1, 0.3], dtype=np.float32)).whole.tolist() == [1, 3]
    assert whole_weights([2.0, 4.0]).whole.tolist() == [2, 4]
    assert whole_weights([10.0**20, 3 * 10.0**20, 0]).whole.tolist() == [1, 3, 0]
    assert whole_weights(np.array([2**63, 2**62], np.uint64)).whole.tolist() == [2, 1]


@given(st.lists(st.decimals(0, 1000, places=3), min_size=1).filter(any))
def test_decimal_weights_are_exact(weights: list[Decimal]) -> None:
    found = whole_weights([float(w) for w in weights])
    assert found.error == 0
    assert [Fraction(w) / found.scale for w in found.whole.tolist()] == list(map(Fraction, weights))


sizes = st.floats(1e-9, 1e9)


@given(
    st.lists(st.one_of(sizes, st.just(0.0), st.just(20 / 3)), min_size=1, max_size=8).filter(any)
)
def test_rounded_weights_say_how_far_they_are_off(weights: list[float]) -> None:
    found = whole_weights(weights)
    exact, whole = [Fraction(repr(w)) for w in weights], found.whole.tolist()
    assert [w > 0 for w in whole] == [w > 0 for w in weights]
    off = [Fraction(w, sum(whole)) - e / sum(exact) for w, e in zip(whole, exact, strict=True)]
    # Of all sets of rows the one with all that grew is the furthest off.
    assert sum(o for o in off if o > 0) <= found.error < Fraction(1, 10**14)
    assert sum(whole) < 2**53


@pytest.mark.parametrize(
    "weights",
    [
        [2**53 + 1, 2**53, 0.5],
        (2**53 + 1, 2**53, 0.5),
        UserList([2**53 + 1, 2**53, 0.5]),
        np.array([2**53 + 1, 2**53]),
        [2**70, 2**70 + 1],
        [Decimal("0.1"), 0.2, Fraction(1, 3), True],
        pd.Series([2**62 + 1, 1], dtype="Int64"),
    ],
)
def test_weights_are_read_as_they_are_written(weights: Any) -> None:
    found = whole_weights(weights)
    exact = [Fraction(str(w + 0)) for w in weights]
    shares = [Fraction(w, sum(found.whole.tolist())) for w in found.whole.tolist()]
    off = [abs(a - b / sum(exact)) for a, b in zip(shares, exact, strict=True)]
    assert max(off) <= found.error
    if found.error == 0:
        assert shares == [w / sum(exact) for w in exact]


def test_bounds_hold_for_the_weights_as_they_were_given() -> None:
    table = pd.DataFrame({"a": ["q", "q"], "c": ["u", "u"], "y": ["b", "a"]})
    weights = [1e9, 0.9961248825248108]
    problem = Problem.from_table(table, "y", weights=weights)
    exact = [Fraction(repr(w)) for w in weights]
    found = solver.solve(problem, "0.9")
    assert found.status == "optimal"
    assert problem.weight_error > 0
    assert found.lower_bound is not None
    assert found.lower_bound <= exact[1] / sum(exact) <= found.lower_bound + found.tolerance
    at = solver.regularization_path(problem, "0.5").solution_at(Fraction(9, 10))
    assert at.lower_bound is not None
    assert at.lower_bound <= exact[1] / sum(exact)


def test_rounding_is_the_exact_error() -> None:
    rounded, error = round_weights([1, 1, 1], [1, 1, 1], 10)
    assert (rounded, error) == ([3, 3, 3], 0)
    rounded, error = round_weights([1, 2], [1, 1], 10)
    assert (rounded, error) == ([3, 7], Fraction(1, 30))  # 3/10 is 1/30 below 1/3


@pytest.mark.parametrize(
    "weights, message",
    [
        ([1, -1], "negative"),
        ([0, 0], "all weights are zero"),
        ([1.0, float("nan")], "missing or infinite"),
        ([1.0, float("inf")], "missing or infinite"),
        (["a"], "must be numbers, one for each row"),
        ([[1, 2]], "must be numbers, one for each row"),
        (np.ma.array([1, 2], mask=[0, 1]), "values are masked"),
    ],
)
def test_bad_weights(weights: list[Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        whole_weights(weights)


def make_problem(weights: list[float]) -> Problem:
    table = pd.DataFrame({"a": [1, 2, 3, 4, 5, 6], "y": list("xyxyxy")})
    return Problem.from_table(table, "y", "thresholds", weights=weights)


def make_large(n: int) -> Problem:
    """Numbers of two classes at random, with weights of sixteen digits."""
    rng = np.random.RandomState(0)
    weights, target = rng.uniform(0.1, 1, n), rng.randint(0, 2, n)
    return Problem.from_codes(np.arange(n)[:, None], target, weights=weights, ordered=True)


def test_weights_that_do_not_fit_beside_lambda_are_rounded_within_a_stated_error() -> None:
    problem, lam = make_large(600), Fraction("0.00001234567890123")
    small = problem.fitted(lam)
    assert problem.fitted(lam, 2) is problem  # fewer splits need fewer digits
    assert small.total_weight < problem.total_weight / 100
    assert 0 < problem.weight_error < small.weight_error < LARGEST_ERROR
    assert small.tolerance == 2 * small.weight_error
    unit = small.weight_scale / problem.weight_scale
    assert float(unit) == pytest.approx(small.total_weight / problem.total_weight)
    assert small.fitted(lam) is small


def test_weights_that_cannot_be_exact_enough_are_refused() -> None:
    with pytest.raises(InputError, match=r"can only be counted to within .*; write the weights"):
        make_large(50_000).fitted(Fraction("1e-12"))


def test_a_smallest_leaf_needs_exact_weights() -> None:
    problem = make_problem([1e9, 1e-9, 1 / 3, 1, 1, 1])
    assert problem.weight_error > 0
    with pytest.raises(InputError, match="to tell whether a leaf has min_leaf_size"):
        solver.solve(problem, "0.01", limits=Limits(min_leaf_size=2))
    assert solver.solve(problem, "0.01", limits=Limits(min_leaf_size=0)).status == "optimal"


def test_a_smallest_leaf_may_be_a_decimal() -> None:
    problem = make_problem([0.5] * 6)
    leaf_of_two = solver.solve(problem, "0.001", limits=Limits(min_leaf_size=0.75))
    leaf_of_one = solver.solve(problem, "0.001", limits=Limits(min_leaf_size=0.5))
    assert (leaf_of_one.splits, leaf_of_two.splits) == (5, 1)


lams = st.one_of(
    st.decimals("0.0001", 1, places=17).map(str),
    st.sampled_from(["0.1", "1/3", repr(0.1 + 0.2), "0.01234567890123", "0"]),
)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 1), st.integers(0, 1), st.integers(0, 1), st.integers(0, 2)),
        min_size=2,
        max_size=7,
    ),
    lams,
    st.sampled_from(["branches", "osdt", "quantbnb"]),
    st.none() | st.integers(0, 3),
    st.data(),
)
def test_optimal_is_the_optimum_of_the_given_weights(
    rows: list[tuple[int, ...]], lam: str, name: str, depth: int | None, data: st.DataObject
) -> None:
    size = st.one_of(sizes, st.sampled_from([20 / 3, 1 / 7, 0.1, 1.0, 1e9, 1e-9]))
    weights = data.draw(st.lists(size, min_size=len(rows), max_size=len(rows)))
    codes, target = [row[:3] for row in rows], [row[3] for row in rows]
    depth = 3 if name == "quantbnb" and depth is None else depth
    problem = Problem.from_codes(codes, target, weights=weights, arities=[2] * 3, classes=(0, 1, 2))
    found = solver.solve(problem, lam, name, Limits(depth=depth))
    exact = [Fraction(repr(w)) for w in weights]
    scale = math.lcm(*(weight.denominator for weight in exact))
    pairs = zip(exact, target, strict=True)
    counts = [[int(w * scale) * (label == c) for c in range(3)] for w, label in pairs]
    best = naive.optimum(codes, counts, [2] * 3, Fraction(lam), depth=depth)
    assert found.status == "optimal"
    assert abs(found.objective - best.objective) <= found.tolerance / 2
    path = solver.regularization_path(problem, lam, name, Limits(depth=depth))
    at = path.solution_at(Fraction(lam))
    assert path.status == at.status == "optimal"
    assert abs(at.objective - best.objective) <= path.tolerance / 2


def test_all_digits_of_decimals_count():
    found = whole_weights([Decimal("1.00000000000000000000000000000000001"), Decimal(1)])
    assert found.error > 0
    close = whole_weights(
        [Decimal("0.00000000000000000000000000000000011"), Decimal("1e-34"), True]
    )
    assert close.error > 0


@pytest.mark.parametrize("kind", [list, tuple, lambda w: np.array(w, dtype=object)])
@pytest.mark.parametrize("weight", [10**400, Fraction(10**400), Decimal("1e400")])
def test_a_weight_beyond_all_floats_is_refused_as_such(kind, weight):
    for other in (1, 1.5):
        with pytest.raises(InputError, match="a weight is beyond all floats"):
            whole_weights(kind([weight, other]))
