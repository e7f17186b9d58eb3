"""Exact arithmetic: λ, prices, weights."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from solver import InputError
from solver.objective.exact_objective import CostScale, as_lambda, objective


@pytest.mark.parametrize(
    "value, expected",
    [
        ("0.01", Fraction(1, 100)),
        ("1/958", Fraction(1, 958)),
        ("1e-3", Fraction(1, 1000)),
        (0.1, Fraction(1, 10)),
        (np.float64(0.05), Fraction(1, 20)),
        (np.float32(0.05), Fraction(1, 20)),
        (np.int64(2), Fraction(2)),
        (0, Fraction(0)),
        (Fraction(3, 7), Fraction(3, 7)),
        (Decimal("0.010"), Fraction(1, 100)),
        (Decimal("1E-3"), Fraction(1, 1000)),
    ],
)
def test_lambda_is_read_exactly(value: object, expected: Fraction) -> None:
    assert as_lambda(value) == expected


@pytest.mark.parametrize(
    "value", ["abc", "", None, True, "nan", float("nan"), float("inf"), "1/0", Decimal("NaN")]
)
def test_lambda_that_is_no_number(value: object) -> None:
    with pytest.raises(InputError, match="is not a number; write a decimal"):
        as_lambda(value)


@pytest.mark.parametrize("value", [-1, "-0.01", -0.5])
def test_negative_lambda(value: object) -> None:
    with pytest.raises(InputError, match="is negative"):
        as_lambda(value)


lams = st.fractions(0, 2, max_denominator=10**4)


@given(lams, st.integers(1, 10**4), st.data())
def test_costs_order_trees_by_objective_then_splits(
    lam: Fraction, weight: int, data: st.DataObject
) -> None:
    leaf_errors = data.draw(st.integers(0, weight))
    most = data.draw(st.integers(0, 200))
    cost_scale = CostScale.build(lam, weight, leaf_errors, most)
    tree = st.tuples(st.integers(0, weight), st.integers(0, cost_scale.tie - 1))
    (e1, s1), (e2, s2) = data.draw(tree), data.draw(tree)
    by_cost = cost_scale.cost(e1, s1) < cost_scale.cost(e2, s2)
    first = objective(e1, s1, weight, lam), s1
    second = objective(e2, s2, weight, lam), s2
    assert by_cost == (first < second)


@given(lams, st.integers(1, 10**4), st.data())
def test_lower_bound_of_a_cost_is_the_objective(
    lam: Fraction, weight: int, data: st.DataObject
) -> None:
    cost_scale = CostScale.build(lam, weight, data.draw(st.integers(0, weight)), 50)
    errors = data.draw(st.integers(0, weight))
    splits = data.draw(st.integers(0, cost_scale.tie - 1))
    cost, exact = cost_scale.cost(errors, splits), objective(errors, splits, weight, lam)
    assert cost_scale.lower_bound(cost) == exact
    # A smaller proven cost proves less, never more.
    assert cost_scale.lower_bound(cost - data.draw(st.integers(0, cost))) <= exact


def test_prices_exceed_the_splits_that_can_pay() -> None:
    # 10 errors at λ·W = 2 each: more than 5 splits never pay, so M = 6 orders all that matter.
    cost_scale = CostScale.build(Fraction(1, 50), 100, 10, 1000)
    assert cost_scale.tie == 6
    assert cost_scale.split == 100 * 6 + 1
    assert cost_scale.error == 50 * 6


def test_prices_refuse_to_overflow() -> None:
    with pytest.raises(InputError, match="beyond 64 bits; write λ with fewer digits"):
        CostScale.build(Fraction(1, 1000), 2**52, 2**51, 1000)
    CostScale.build(Fraction("0.01"), 10**12, 10**12, 1000)


@given(
    st.decimals("0.00001", 2, places=17).map(Fraction),
    st.integers(1, 10**6),
    st.integers(0, 300),
    st.data(),
)
def test_a_lambda_of_many_digits_orders_trees_exactly(
    lam: Fraction, weight: int, most: int, data: st.DataObject
) -> None:
    leaf_errors = data.draw(st.integers(0, weight))
    cost_scale = CostScale.build(lam, weight, leaf_errors, most)
    splits = st.integers(0, cost_scale.tie - 1)
    s1, s2 = data.draw(splits), data.draw(splits)
    e1 = data.draw(st.integers(0, weight))
    # The second tree costs about as much, by λ.
    near = e1 + int(lam * weight * (s1 - s2)) + data.draw(st.integers(-1, 1))
    e2 = min(max(near, 0), weight)
    first = objective(e1, s1, weight, lam), s1
    second = objective(e2, s2, weight, lam), s2
    assert (cost_scale.cost(e1, s1) < cost_scale.cost(e2, s2)) == (first < second)
    assert cost_scale.reached(cost_scale.cost(e1, s1)) == first[0]
    # What is proven never says too much, and trees of more splits cannot pay.
    assert (
        cost_scale.lower_bound(min(cost_scale.cost(e1, s1), cost_scale.cost(e2, s2)))
        <= min(first, second)[0]
    )
    if cost_scale.tie <= most:
        assert cost_scale.cost(0, cost_scale.tie) > cost_scale.cost(leaf_errors, 0)


@pytest.mark.parametrize("text", ["1e999999999", "1e-999999999", "1E+0500", "0." + "1" * 200])
def test_a_lambda_of_endless_digits_is_refused_at_once(text):
    with pytest.raises(InputError, match="too many digits"):
        as_lambda(text)


def test_a_small_exponent_is_fine():
    assert as_lambda("1e-04") == Fraction(1, 10_000)
