"""OSDT: every bound can be switched off, every policy taken, and the optimum stays the same."""

import dataclasses
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import solver
from solver import InputError, Limits, Problem
from solver.monitor import Monitor
from solver.objective.exact_objective import CostScale
from solver.osdt.engine import BOUNDS
from solver.osdt.scheduling_policies import POLICIES
from solver.osdt.solver import Osdt, OsdtSearch
from tests.helpers.random_examples import examples
from tests.helpers.strategies import Table, binary_tables, cost_scale, structural_limits

SMALL = {"max_rows": 10, "max_features": 3}


def check(table: Table, data: st.DataObject, options: dict[str, Any]) -> None:
    """The search agrees with the oracle, in objective and in number of splits."""
    lam, limits = data.draw(cost_scale(sum(table.weights))), data.draw(structural_limits())
    best = table.optimum(lam, limits)
    found = solver.solve(table.problem(), lam, "osdt", limits, **options)
    assert found.status == "optimal"
    assert found.lower_bound == found.objective == best.objective
    if lam > 0:
        assert found.splits == best.splits


@settings(max_examples=examples(300), deadline=None)
@given(table=binary_tables(max_rows=14, max_features=5), data=st.data())
def test_all_bounds_together(table: Table, data: st.DataObject) -> None:
    check(table, data, {})


@pytest.mark.parametrize("bound", BOUNDS)
@settings(max_examples=examples(40), deadline=None)
@given(table=binary_tables(**SMALL), data=st.data())
def test_without_one_bound(bound: str, table: Table, data: st.DataObject) -> None:
    check(table, data, {bound: not Osdt.options[bound].default})


@settings(max_examples=examples(300), deadline=None)
@given(table=binary_tables(**SMALL), data=st.data())
def test_any_bounds_and_any_policy(table: Table, data: st.DataObject) -> None:
    switches = {name: data.draw(st.booleans(), label=name) for name in BOUNDS}
    policy = data.draw(st.sampled_from(POLICIES))
    warm = data.draw(st.sampled_from(["none", "cart"]))
    check(table, data, {**switches, "policy": policy, "warm_start": warm})


@settings(max_examples=examples(100), deadline=None)
@given(table=binary_tables(max_rows=40, max_features=7), data=st.data())
def test_it_agrees_with_branches(table: Table, data: st.DataObject) -> None:
    lam, limits = data.draw(cost_scale(sum(table.weights))), data.draw(structural_limits())
    similar = data.draw(st.booleans())
    problem = table.problem()
    mine = solver.solve(problem, lam, "osdt", limits, similar_support=similar)
    other = solver.solve(problem, lam, "branches", limits)
    assert mine.status == other.status == "optimal"
    assert (mine.objective, mine.lower_bound) == (other.objective, other.lower_bound)


@pytest.fixture(scope="module")
def hard() -> Problem:
    """Thousands of trees at this λ, many of them equally good."""
    return _noisy(60, 6, 2)


@pytest.fixture(scope="module")
def harder() -> Problem:
    """Millions of trees at a small λ."""
    return _noisy(120, 8, 3)


def _noisy(rows: int, features: int, classes: int) -> Problem:
    generator = np.random.default_rng(7)
    codes = generator.integers(0, 2, (rows, features))
    target = codes[:, :3].sum(axis=1) + generator.integers(0, 2, rows)
    return Problem.from_codes(codes, target % classes)


LAM = Fraction(1, 60)
CHOICES: list[dict[str, Any]] = [
    {},
    {"dominance": False},
    {"dominance": False, "two_steps": False, "policy": "lower_bound"},
    {"permutation": False, "policy": "depth_first"},
    {"policy": "gini", "similar_support": True},
]


def test_slices_do_not_change_the_search(hard: Problem) -> None:
    for choice in CHOICES:
        options = Osdt(**choice).settings
        whole, sliced = (OsdtSearch(hard, LAM, Limits(), options, None) for _ in range(2))
        sliced._iterations_of_slice = lambda iterations: 7  # type: ignore[method-assign]
        for search in (whole, sliced):
            assert search.run(Monitor()) == "optimal"
        assert whole.engine.space.trees.used.tolist() == sliced.engine.space.trees.used.tolist()
        assert whole.tree() == sliced.tree()


@pytest.mark.parametrize("choice", CHOICES, ids=str)
def test_a_tree_to_begin_with_bounds_the_search_and_does_not_change_the_answer(
    hard: Problem, choice: dict[str, Any]
) -> None:
    alone = solver.solve(hard, LAM, "osdt", **choice)
    assert alone.status == "optimal"
    seen: list[Any] = []
    solver.solve(hard, LAM, "osdt", monitor=Monitor(snapshot=seen.append, interval=0.0), **choice)
    again = solver.solve(hard, LAM, "osdt", initial_tree=alone.tree, **choice)
    assert again.tree == alone.tree
    assert again.extra["trees_evaluated"] <= alone.extra["trees_evaluated"]
    assert seen
    for snapshot in seen:
        assert snapshot.lower_bound <= alone.objective <= snapshot.objective
        assert (
            solver.solve(hard, LAM, "osdt", initial_tree=snapshot.tree, **choice).tree == alone.tree
        )


@pytest.mark.parametrize("choice", CHOICES, ids=str)
@pytest.mark.parametrize(
    "limits", [Limits(), Limits(depth=4), Limits(splits=6), Limits(min_leaf_size=3)], ids=str
)
def test_a_search_goes_on_from_its_state_as_if_it_had_not_stopped(
    hard: Problem, limits: Limits, choice: dict[str, Any]
) -> None:
    whole = solver.solve(hard, LAM, "osdt", limits, **choice)
    assert whole.status == "optimal"
    last: list[Any] = []
    state = None
    for stop in range(1, 30):
        part = solver.solve(
            hard,
            LAM,
            "osdt",
            dataclasses.replace(limits, nodes=stop * whole.nodes // 5),
            monitor=Monitor(snapshot=last.append, interval=1e9),
            state=state,
            **choice,
        )
        if part.status == "optimal":
            break
        assert part.status == "node_limit"
        state = {name: array.copy() for name, array in last[-1].state().items()}
    assert stop > 4
    assert part.tree == whole.tree
    assert (part.iterations, part.nodes) == (whole.iterations, whole.nodes)
    for name in ("trees_evaluated", "trees_evaluated_to_optimum", "pruned"):
        assert part.extra[name] == whole.extra[name]


def test_a_state_of_another_search_is_refused(hard: Problem) -> None:
    last: list[Any] = []
    monitor = Monitor(snapshot=last.append, interval=1e9)
    solver.solve(hard, LAM, "osdt", Limits(nodes=100), monitor=monitor)
    state = last[-1].state()
    with pytest.raises(InputError, match="another λ, options or limits"):
        solver.solve(hard, LAM, "osdt", state=state, policy="gini")
    with pytest.raises(InputError, match="another problem"):
        solver.solve(Problem.from_codes([[0], [1]], [0, 1]), LAM, "osdt", state=state)
    with pytest.raises(InputError, match="'used' does not fit"):
        solver.solve(hard, LAM, "osdt", state={**state, "used": np.zeros(3)})


def test_the_limit_on_nodes_ends_it_at_the_same_tree_everywhere(hard: Problem) -> None:
    found = [solver.solve(hard, LAM, "osdt", Limits(nodes=700)) for _ in range(3)]
    assert {one.status.value for one in found} == {"node_limit"}
    assert len({(one.nodes, one.iterations, one.lower_bound) for one in found}) == 1
    # A tree that is split adds its children to the cache, at most four for each feature.
    assert 700 <= found[0].nodes < 700 + 4 * hard.n_features


@pytest.mark.parametrize("choice", CHOICES, ids=str)
def test_at_the_limit_on_memory_it_keeps_its_tree_and_a_valid_bound(
    harder: Problem, choice: dict[str, Any]
) -> None:
    best = solver.solve(harder, Fraction(1, 400), "branches")
    found = solver.solve(harder, Fraction(1, 400), "osdt", Limits(bytes=4_000_000), **choice)
    assert found.status == "memory_limit"
    assert found.peak_bytes <= 4_000_000
    assert found.lower_bound <= best.objective <= found.objective


def test_both_objectives_are_reported(hard: Problem) -> None:
    found = solver.solve(hard, LAM, "osdt")
    loss = Fraction(found.errors, found.total_weight)
    assert Fraction(found.extra["objective_splits"]) == loss + LAM * found.tree.splits
    assert Fraction(found.extra["objective_leaves"]) == loss + LAM * found.tree.leaves
    assert found.objective == Fraction(found.extra["objective_leaves"]) - LAM


def test_carts_tree_is_the_first_incumbent() -> None:
    generator = np.random.default_rng(3)
    codes = generator.integers(0, 2, (200, 7))
    target = (codes[:, 0] | codes[:, 1]) ^ (generator.random(200) < 0.2)
    problem = Problem.from_codes(codes, target)
    cold = solver.solve(problem, LAM, "osdt")
    warm = solver.solve(problem, LAM, "osdt", warm_start="cart")
    cart = solver.solve(problem, LAM, "cart")
    assert cold.trace[0].objective == float(Fraction(problem.leaf_errors, problem.total_weight))
    assert warm.trace[0].objective == float(cart.objective) < cold.trace[0].objective
    assert warm.tree == cold.tree
    assert warm.extra["trees_evaluated"] < cold.extra["trees_evaluated"]


def test_the_trace_tells_of_queue_caches_and_bounds(hard: Problem) -> None:
    found = solver.solve(hard, LAM, "osdt")
    trace, pruned = found.extra["trace"], found.extra["pruned"]
    assert set(pruned) == set(BOUNDS)
    first, last = trace[0], trace[-1]
    assert (first["evaluated"], first["trees"], first["queue"]) == (1, 1, 1)
    assert last["evaluated"] == found.extra["trees_evaluated"]
    assert (last["trees"], last["pruned"]) == (found.nodes, sum(pruned.values()))
    assert last["objective"] == last["lower_bound"] == float(found.objective)
    for before, after in pairwise(trace):
        assert before["seconds"] <= after["seconds"]
        assert before["lower_bound"] <= after["lower_bound"]
        assert before["objective"] >= after["objective"]
        assert before["evaluated"] <= after["evaluated"]
    assert 0 < found.extra["seconds_to_optimum"] <= found.seconds
    assert 0 < found.extra["trees_evaluated_to_optimum"] <= found.extra["trees_evaluated"]
    for name in ("hierarchical", "support", "accuracy", "permutation", "equivalent_points"):
        assert pruned[name] > 0, name


def test_a_bound_that_is_off_prunes_nothing(hard: Problem) -> None:
    for bound in BOUNDS:
        # Without Theorem 1 there is no end to it.
        limits = Limits(nodes=2000) if bound == "hierarchical" else None
        found = solver.solve(hard, LAM, "osdt", limits, **{bound: False})
        assert found.extra["pruned"][bound] == 0, bound


@pytest.mark.parametrize("word", [10**9, 2**40])
def test_large_weights(word: int) -> None:
    codes = [[0, 0], [0, 1], [1, 0], [1, 1]]
    problem = Problem.from_codes(codes, [0, 1, 1, 0], weights=[word, word + 1, word, word - 1])
    lam = Fraction(1, 100)
    found = solver.solve(problem, lam, "osdt")
    assert found.objective == solver.solve(problem, lam).objective == 3 * lam


def test_a_thousand_rows_of_their_own() -> None:
    """More rows than fit into a few words; every leaf is a bit vector of all of them."""
    generator = np.random.default_rng(1)
    codes = generator.integers(0, 2, (3000, 14))
    problem = Problem.from_codes(codes, codes[:, 0] ^ codes[:, 1] ^ (generator.random(3000) < 0.1))
    found = solver.solve(problem, Fraction(1, 50), "osdt")
    assert found.status == "optimal"
    assert found.objective == solver.solve(problem, Fraction(1, 50)).objective


def test_prices_are_those_of_branches(hard: Problem) -> None:
    """Two solvers that minimise the same integers can be compared to the last unit."""
    prices_ = CostScale.build(LAM, hard.total_weight, hard.leaf_errors, len(hard.codes) - 1)
    search = OsdtSearch(hard, LAM, Limits(), Osdt().settings, None)
    assert search.cost_scale == prices_


@pytest.mark.parametrize("policy", POLICIES)
def test_similar_support_knows_little_of_a_leaf_whose_splits_were_too_dear(policy: str) -> None:
    """Such a leaf is never split again, but what it would cost split is not infinite."""
    rows = ["011100", "100000", "010000", "000111", "010110", "111011", "010100", "110100"]
    problem = Problem.from_codes(
        [[int(code) for code in row] for row in rows],
        [0, 0, 0, 1, 0, 1, 1, 0],
        weights=[10, 1, 10, 10, 20, 10, 15, 1],
    )
    limits = Limits(depth=4)
    best = solver.solve(problem, "0.01", "branches", limits)
    found = solver.solve(problem, "0.01", "osdt", limits, similar_support=True, policy=policy)
    assert found.status == best.status == "optimal"
    assert found.objective == found.lower_bound == best.objective


def test_when_bounds_are_looked_at_does_not_end_the_search() -> None:
    problem = Problem.from_codes([[0, 0], [0, 1], [1, 0]], [0, 1, 1])
    whole, sliced = (
        OsdtSearch(problem, Fraction(1, 10), Limits(), Osdt().settings, None) for _ in range(2)
    )
    sliced._iterations_of_slice = lambda iterations: 1  # type: ignore[method-assign]
    for search in (whole, sliced):
        assert search.run(Monitor()) == "optimal"
    assert whole.engine.iterations == sliced.engine.iterations


def test_similar_support_has_nothing_to_move_before_two_steps_are_known() -> None:
    """The bounds of one step differ between two features by no more than the rows that they part
    differently weigh; a bound of two steps may say more."""
    raised = {True: 0, False: 0}
    for seed in range(50):
        generator = np.random.default_rng(seed)
        codes = generator.integers(0, 2, (60, 6))
        codes[:, 1] = codes[:, 0] ^ (generator.random(60) < 0.05)
        target = (codes[:, 0] + codes[:, 2] + codes[:, 3]) % 2 ^ (generator.random(60) < 0.15)
        problem = Problem.from_codes(codes, target)
        for two_steps in raised:
            found = solver.solve(
                problem, "0.02", "osdt", similar_support=True, two_steps=two_steps, support=False
            )
            raised[two_steps] += found.extra["pruned"]["similar_support"]
    assert raised[True] > 10
    assert raised[False] == 0
