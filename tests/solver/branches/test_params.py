"""Every idea of the full search can be switched off, and none changes the answer."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import solver
from solver.branches.params import OPTIONS
from tests.helpers.random_examples import examples
from tests.helpers.strategies import Table, cost_scale, structural_limits, tables

OTHER: dict[str, Any] = {
    name: not option.default
    if isinstance(option.default, bool)
    else {"slack": 0, "memo": "literals"}.get(name, "paper")
    for name, option in OPTIONS.items()
}
"""For each option a value that is not its default."""


def check(table: Table, data: st.DataObject, options: dict[str, Any]) -> None:
    """The search agrees with the oracle, in objective and in number of splits."""
    lam, limits = data.draw(cost_scale(sum(table.weights))), data.draw(structural_limits())
    best = table.optimum(lam, limits)
    solution = solver.solve(table.problem(), lam, limits=limits, **options)
    assert solution.status == "optimal"
    assert solution.lower_bound == solution.objective == best.objective
    if lam > 0:
        assert solution.splits == best.splits


@pytest.mark.parametrize("name", OPTIONS)
@settings(max_examples=examples(40), deadline=None)
@given(table=tables(), data=st.data())
def test_without_one_idea(name: str, table: Table, data: st.DataObject) -> None:
    check(table, data, {name: OTHER[name]})


@settings(max_examples=examples(200), deadline=None)
@given(table=tables(), data=st.data())
def test_with_any_settings(table: Table, data: st.DataObject) -> None:
    chosen = data.draw(st.sets(st.sampled_from(sorted(OPTIONS))))
    slack = data.draw(st.sampled_from([0, 0.25, 1, 3.5, 1e9]))
    check(table, data, {**{name: OTHER[name] for name in chosen}, "slack": slack})


@settings(max_examples=examples(100), deadline=None)
@given(table=tables(max_rows=40, max_features=7, max_arity=2, max_classes=2), data=st.data())
def test_binary_features_as_they_are(table: Table, data: st.DataObject) -> None:
    check(table, data, {})
