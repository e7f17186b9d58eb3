"""Squared errors as whole numbers: never less than the exact ones, and not much more."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from solver.engine.driver import cost_scale_of
from solver.errors import InputError
from solver.kernels.constants import Words
from solver.kernels.jit import kernel
from solver.kernels.packed_rows import packed
from solver.problem.problem import Problem
from solver.proper.squared_costs import SquaredCosts
from solver.proper.squared_stumps import far_between, far_of, squared_error, sum_rows
from solver.proper.state import Squares
from tests.naive import least_squares_cost


def costs_of(problem: Problem, splits: int = 3) -> SquaredCosts:
    return SquaredCosts(problem, cost_scale_of(problem, Fraction(0), splits), splits)


@st.composite
def problems(draw: st.DrawFn, outputs: int = 2, most: float = 3.0) -> Problem:
    """Targets of any size; weights up to 10^most."""
    n, m = draw(st.integers(2, 40)), draw(st.integers(1, outputs))
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    values = random.normal(size=(n, m)) + random.choice([0, 1e6, -3.5])
    if draw(st.booleans()):
        values = np.rint(values)
    values *= draw(st.sampled_from([1.0, 1e-40, 1e60]))
    codes = random.integers(0, draw(st.sampled_from([3, 50])), (n, 2))
    power = draw(st.sampled_from([0.0, most]))
    weights = [math.ceil(weight) for weight in 10 ** random.uniform(0, power, n)]
    names = [f"y{i}" for i in range(m)]
    try:
        return Problem.from_codes(
            codes, values, weights=weights, task="regression", ordered=True, target_name=names
        )
    except InputError as error:  # one row of two has nearly all of the weight
        if "differs in its last digits only" not in str(error):
            raise
        reject()


@kernel
def _leaf(rows: Squares, region: Words, inside: np.ndarray) -> int:
    sum_rows(rows, region, inside)
    return squared_error(rows, inside)


@settings(max_examples=100, deadline=None)
@given(problem=problems(most=14.0), seed=st.integers(0, 2**32))
def test_a_leaf_costs_its_squared_error(problem: Problem, seed: int) -> None:
    random = np.random.default_rng(seed)
    costs = costs_of(problem)
    scale = Fraction(2) ** costs.exponent
    inside = np.zeros(costs.rows.columns, np.int64)
    slack = problem.tolerance * problem.total_weight / 2
    for share in (0.1, 0.5, 1.0):
        held = random.random(len(costs.first)) <= share
        held[0] = True
        rows = np.flatnonzero(held[costs._group])
        exact = _exact(problem, rows)
        cost = _leaf(costs.rows, packed(held), inside) * scale
        assert abs(cost - exact) <= Fraction(7, 10) * slack
        assert inside[0] == problem.counts[rows, 0].sum()
    assert abs(costs.leaf * scale - Fraction(problem.leaf_errors)) <= slack
    assert costs.outwards(costs.inwards(float(problem.leaf_errors))) == pytest.approx(
        float(problem.leaf_errors), rel=1e-14
    )


def _exact(problem: Problem, rows: np.ndarray) -> Fraction:
    """The squared error of some rows around their mean, not rounded."""
    assert problem.values is not None
    weights = [int(w) for w in problem.counts[rows, 0]]
    error = Fraction(0)
    for column in problem.values[rows].T:
        numbers = [Fraction(value) for value in column.tolist()]
        pairs = [*zip(weights, numbers, strict=True)]
        mean = sum(w * y for w, y in pairs) / sum(weights)
        error += sum(w * (y - mean) ** 2 for w, y in pairs)
    return error


@kernel
def _far(rows: Squares, one: Words, other: Words, inside: np.ndarray) -> tuple[int, int]:
    sum_rows(rows, one, inside)
    return far_of(rows, inside), far_between(rows, one, other)


@settings(max_examples=60, deadline=None)
@given(problem=problems(), seed=st.integers(0, 2**32))
def test_no_mean_of_targets_is_farther_from_a_row(problem: Problem, seed: int) -> None:
    random = np.random.default_rng(seed)
    costs = costs_of(problem)
    assert problem.values is not None
    spans = np.maximum(
        problem.values - problem.values.min(axis=0), problem.values.max(axis=0) - problem.values
    )
    worst = (spans**2).sum(axis=1) * problem.counts[:, 0]
    held = random.random((2, len(costs.first))) < 0.5
    inside = np.zeros(costs.rows.columns, np.int64)
    of_one, between = _far(costs.rows, packed(held[0]), packed(held[1]), inside)
    unit = costs.outwards(1) * 2.0**costs.rows.shift
    for found, rows in ((of_one, held[0]), (between, held[0] ^ held[1])):
        least = worst[rows[costs._group]].sum()
        assert least * (1 - 1e-9) <= found * unit <= least * (1 + 1e-9) + 9 * len(rows) * unit


@settings(max_examples=60, deadline=None)
@given(problem=problems(outputs=1), splits=st.integers(1, 3))
def test_groups_of_targets_cost_less_than_any_tree(problem: Problem, splits: int) -> None:
    """With a feature that equals the target they are the best tree's leaves, so no more."""
    assert problem.values is not None
    values = problem.values.tolist()[:9]
    weights = problem.counts[:9, 0].tolist()
    ranks = np.unique(problem.values[:9, 0], return_inverse=True)[1]
    if ranks.max() == 0:
        return
    own = Problem.from_codes(
        ranks[:, None], values, weights=weights, task="regression", ordered=True, target_name=["y"]
    )
    costs = costs_of(own, splits)
    least = Fraction(costs.least(splits)) * Fraction(2) ** costs.exponent
    slack = own.tolerance * own.total_weight / 2
    depths = {1: 1, 2: 2, 3: 3}
    best, used = least_squares_cost(ranks[:, None].tolist(), values, weights, depths[splits])
    if used <= splits:  # not more leaves than groups
        assert least <= best + slack
    best_of_all, _ = least_squares_cost(ranks[:, None].tolist(), values, weights, 1)
    if splits == 1:
        assert abs(least - best_of_all) <= 2 * slack


def test_uneven_weights_are_refused_only_with_many_light_rows() -> None:
    random = np.random.default_rng(0)
    for rows, refused in ((3, False), (300, False), (6000, True)):
        problem = Problem.from_codes(
            [[row] for row in range(rows)], random.normal(size=rows),
            weights=[2**51, 2**51, *[1] * (rows - 2)], task="regression", ordered=True,
        )  # fmt: skip
        if refused:
            with pytest.raises(InputError, match="their weights too uneven"):
                costs_of(problem)
        else:
            assert costs_of(problem).split > 0


def test_a_tree_without_a_split_is_never_refused() -> None:
    random = np.random.default_rng(0)
    weights = [2**51, 2**51, *[1] * 5998]
    problem = Problem.from_codes(
        [[0]] * 6000, random.normal(size=6000), weights=weights, task="regression", ordered=True
    )
    cost = costs_of(problem).outwards(costs_of(problem).leaf)
    assert cost == pytest.approx(float(problem.leaf_errors), rel=1e-14)
