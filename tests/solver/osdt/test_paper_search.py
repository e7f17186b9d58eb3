"""Mode ``paper`` against the oracle, and its counts against the plainest enumeration."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import solver
from solver import InputError, Limits, Problem
from solver.monitor import Monitor
from solver.osdt.scheduling_policies import POLICIES
from solver.osdt.solver import Osdt, OsdtSearch
from tests.helpers.strategies import Table, binary_tables, cost_scale, structural_limits

LAM = Fraction(1, 20)
BOUNDS = ("lookahead", "support", "incremental_accuracy", "accuracy", "permutation")
EVERYTHING_OFF = dict.fromkeys((*BOUNDS, "hierarchical", "equivalent_points"), False)


@settings(max_examples=150, deadline=None)
@given(table=binary_tables(max_rows=10, max_features=3), data=st.data())
def test_any_bounds_and_any_policy(table: Table, data: st.DataObject) -> None:
    lam, limits = data.draw(cost_scale(sum(table.weights))), data.draw(structural_limits())
    switches = {name: data.draw(st.booleans(), label=name) for name in (*BOUNDS, "hierarchical")}
    policy = data.draw(st.sampled_from(POLICIES))
    best = table.optimum(lam, limits)
    found = solver.solve(
        table.problem(), lam, "osdt", limits, mode="paper", policy=policy, **switches
    )
    assert found.status == "optimal"
    assert found.lower_bound == found.objective == best.objective
    if lam > 0:
        assert found.splits == best.splits


def trees_below(open_: Sequence[frozenset[int]], features: int) -> int:
    """The trees and choices of leaves to be split that come of a tree, by listing them all.

    A leaf is the set of its features: without bounds and without a cache nothing else matters.
    """
    number = 0
    for chosen in product(*(set(range(features)) - leaf for leaf in open_)):
        new = [leaf | {f} for leaf, f in zip(open_, chosen, strict=True) for _ in range(2)]
        for choice in product((False, True), repeat=len(new)):
            next_ = [leaf for leaf, split in zip(new, choice, strict=True) if split]
            if next_ and all(len(leaf) < features for leaf in next_):
                number += 1 + trees_below(next_, features)
    return number


@pytest.mark.parametrize("features", [1, 2, 3])
def test_without_bounds_it_evaluates_every_tree_with_every_choice(features: int) -> None:
    codes = np.array(list(product((0, 1), repeat=features)))
    problem = Problem.from_codes(codes, codes.sum(axis=1) % 2)
    found = solver.solve(problem, "1/1000", "osdt", mode="paper", **EVERYTHING_OFF)
    assert found.status == "optimal"
    assert found.splits == 2**features - 1
    # The tree of one leaf is to be split, too.
    assert found.extra["trees_evaluated"] == 1 + trees_below([frozenset()], features)
    assert not any(found.extra["pruned"].values())


@pytest.fixture(scope="module")
def noisy() -> Problem:
    generator = np.random.default_rng(7)
    codes = generator.integers(0, 2, (60, 6))
    return Problem.from_codes(codes, (codes[:, :3].sum(1) + generator.integers(0, 2, 60)) % 2)


def test_trees_of_equal_leaves_are_evaluated_once(noisy: Problem) -> None:
    with_cache, without = (
        solver.solve(noisy, LAM, "osdt", mode="paper", permutation=on) for on in (True, False)
    )
    assert with_cache.objective == without.objective
    assert with_cache.extra["trees_evaluated"] < without.extra["trees_evaluated"]
    assert with_cache.extra["pruned"]["permutation"] > 0 == without.extra["pruned"]["permutation"]


def test_slices_do_not_change_the_search(noisy: Problem) -> None:
    options = Osdt(mode="paper").settings
    whole, sliced = (OsdtSearch(noisy, LAM, Limits(), options, None) for _ in range(2))
    sliced._iterations_of_slice = lambda iterations: 7  # type: ignore[method-assign]
    for search in (whole, sliced):
        assert search.run(Monitor()) == "optimal"
    assert whole.engine.iterations == sliced.engine.iterations
    assert whole.engine.evaluated == sliced.engine.evaluated
    assert whole.tree() == sliced.tree()


def test_a_limit_of_nodes_ends_it_at_that_tree_with_a_valid_bound(noisy: Problem) -> None:
    best = solver.solve(noisy, LAM)
    for nodes in (1, 50, 700):
        found = solver.solve(noisy, LAM, "osdt", Limits(nodes=nodes), mode="paper")
        assert (found.status, found.nodes) == ("node_limit", nodes)
        assert found.lower_bound <= best.objective <= found.objective


def test_at_the_limit_on_memory_it_keeps_its_tree_and_a_valid_bound(noisy: Problem) -> None:
    best = solver.solve(noisy, "1/200")
    found = solver.solve(noisy, "1/200", "osdt", Limits(bytes=1_000_000), mode="paper")
    assert found.status == "memory_limit"
    assert found.peak_bytes <= 1_000_000
    assert found.lower_bound <= best.objective <= found.objective


@pytest.mark.parametrize("name", ["similar_support", "dominance", "two_steps"])
def test_bounds_that_are_not_in_the_algorithm_are_refused(name: str) -> None:
    given_: dict[str, Any] = {name: not Osdt.options[name].default}
    with pytest.raises(InputError, match=f"option {name} = .* belongs to mode full"):
        Osdt(mode="paper", **given_)


def test_it_does_not_go_on_from_a_state(noisy: Problem) -> None:
    with pytest.raises(InputError, match="cannot go on from a state"):
        solver.solve(noisy, LAM, "osdt", mode="paper", state={"used": np.zeros(1)})
