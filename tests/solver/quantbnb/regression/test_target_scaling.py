"""Targets as whole numbers: sums are exact in any order, and errors within what is stated."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from solver.quantbnb.regression.stumps import leaf_of
from solver.quantbnb.regression.target_scaling import Targets, new_targets
from tests.naive import least_squares_cost


def leaf_error(
    targets: Targets, y: NDArray[np.float64], weights: NDArray[np.int64], rows: NDArray[np.int64]
) -> Fraction:
    """How far the computed squared error of some rows is from the exact one."""
    computed = Fraction(leaf_of(targets.sums[rows])) / Fraction(4) ** targets.exponent
    exact, _ = least_squares_cost([[0.0]] * len(rows), y[rows].tolist(), weights[rows].tolist(), 0)
    return abs(computed - exact)


@settings(max_examples=150, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    n=st.integers(1, 60),
    outputs=st.integers(1, 3),
    scale=st.sampled_from([1.0, 1e-3, 1e80, 1e-80]),
    offset=st.sampled_from([0.0, 1.0, 1e6, -1e12]),
    heaviest=st.sampled_from([1, 7, 10**6, 2**46]),
)
def test_errors_of_all_leaves_together_are_within_what_is_stated(
    seed: int, n: int, outputs: int, scale: float, offset: float, heaviest: int
) -> None:
    rng = np.random.default_rng(seed)
    y = (rng.standard_cauchy((n, outputs)) + offset) * scale
    weights = rng.integers(1, heaviest + 1, n)
    targets = new_targets(y, weights)
    leaves = np.array_split(rng.permutation(n), int(rng.integers(1, n + 1)))
    errors = sum(leaf_error(targets, y, weights, rows) for rows in leaves)
    assert errors <= Fraction(targets.error) / Fraction(4) ** targets.exponent


@pytest.mark.parametrize("outputs", [1, 3])
def test_sums_do_not_depend_on_their_order(outputs: int) -> None:
    rng = np.random.default_rng(outputs)
    y, weights = rng.normal(size=(5000, outputs)) * 1e7 + 3e9, rng.integers(1, 50, 5000)
    sums = new_targets(y, weights).sums[:, :-1]  # the last column is what the grid leaves
    forwards = sums.cumsum(axis=0)[-1]
    for _ in range(20):
        assert (sums[rng.permutation(5000)].cumsum(axis=0)[-1] == forwards).all()


def test_small_whole_targets_are_exact() -> None:
    rng = np.random.default_rng(0)
    y, weights = rng.integers(0, 9, (300, 1)).astype(float), np.ones(300, np.int64)
    y[0] += (300 * 4 - y.sum()) % 300  # a whole mean
    targets = new_targets(y, weights)
    assert targets.error < 1e-12 * leaf_of(targets.sums)
    assert leaf_error(targets, y, weights, np.arange(300)) == 0


def test_constant_targets_have_no_error() -> None:
    targets = new_targets(np.full((4, 2), 0.1), np.array([1, 2, 3, 4]))
    assert targets.error == 0
    assert leaf_of(targets.sums) == 0
