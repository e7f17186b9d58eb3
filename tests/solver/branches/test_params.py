"""Every idea of the full search can be switched off, and none changes the answer."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

import solver
from solver.branches import params
from solver.branches.kernels.state import HUGE
from solver.branches.params import OPTIONS
from tests.helpers.random_examples import examples
from tests.helpers.strategies import Table, cost_scale, structural_limits, tables
from tests.naive import optimum

OTHER: dict[str, Any] = {
    name: not option.default
    if isinstance(option.default, bool)
    else {"slack": 0, "memo": "literals"}.get(name, "paper")
    for name, option in OPTIONS.items()
}
"""For each option a value that is not its default."""


def check(table: Table, data: st.DataObject, *choices: dict[str, Any]) -> None:
    """The search with each choice of options agrees with the oracle, also in splits."""
    lam, limits = data.draw(cost_scale(sum(table.weights))), data.draw(structural_limits())
    best = table.optimum(lam, limits)
    for options in choices:
        note(f"options: {options}")
        solution = solver.solve(table.problem(), lam, limits=limits, **options)
        assert solution.status == "optimal"
        assert solution.lower_bound == solution.objective == best.objective
        if lam > 0:
            assert solution.splits == best.splits


@settings(max_examples=examples(40), deadline=None)
@given(table=tables(), data=st.data())
def test_without_one_idea(table: Table, data: st.DataObject) -> None:
    check(table, data, *({name: OTHER[name]} for name in OPTIONS))


@settings(max_examples=examples(200), deadline=None)
@given(table=tables(), data=st.data())
def test_with_any_settings(table: Table, data: st.DataObject) -> None:
    chosen = data.draw(st.sets(st.sampled_from(sorted(OPTIONS))))
    slack = data.draw(st.sampled_from([0, 0.25, 1, 3.5, 1e9]))
    check(table, data, {**{name: OTHER[name] for name in chosen}, "slack": slack})


@pytest.fixture
def long_from_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every search has the root's own slack, as the long ones have."""
    monkeypatch.setattr(params, "_LONG_SEARCH", 0)


@pytest.mark.usefixtures("long_from_the_start")
@settings(
    max_examples=examples(100),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(table=tables(), data=st.data())
def test_a_root_with_a_slack_of_its_own(table: Table, data: st.DataObject) -> None:
    check(table, data, {"slack": data.draw(st.sampled_from([0, 4, 100]))})


def test_less_slack_at_the_root_raises_the_bound_of_a_search_cut_short(
    request: pytest.FixtureRequest,
) -> None:
    rng = np.random.default_rng(7)
    problem = solver.Problem.from_codes(rng.integers(0, 2, (120, 24)), rng.integers(0, 2, 120))
    limits = solver.Limits(nodes=1_000)
    before = solver.solve(problem, "0.01", limits=limits, row_duals=False)
    request.getfixturevalue("long_from_the_start")
    after = solver.solve(problem, "0.01", limits=limits, row_duals=False)
    assert before.status == after.status == "node_limit"
    assert before.lower_bound < after.lower_bound <= after.objective


@settings(max_examples=examples(100), deadline=None)
@given(table=tables(max_rows=40, max_features=7, max_arity=2, max_classes=2), data=st.data())
def test_binary_features_as_they_are(table: Table, data: st.DataObject) -> None:
    check(table, data, {})


@pytest.mark.parametrize("more", [-1, 0, 2**32])
def test_weights_about_the_most_that_vectors_hold(more: int) -> None:
    rng, total = np.random.default_rng(3), HUGE + more
    codes, labels = rng.integers(0, 2, (24, 5)), rng.integers(0, 3, 24)
    weights = [2 * (total // 50) + i for i in range(23)]
    weights.append(total - sum(weights))  # coprime: the first two differ by 1
    problem = solver.Problem.from_codes(codes, labels, weights=weights)
    counts = [
        [w if k == label else 0 for k in range(3)] for w, label in zip(weights, labels, strict=True)
    ]
    best = optimum(codes.tolist(), counts, [2] * 5, Fraction(1, 40))
    solution = solver.solve(problem, Fraction(1, 40))
    assert solution.lower_bound == solution.objective == best.objective
    assert solution.splits == best.splits > 2
