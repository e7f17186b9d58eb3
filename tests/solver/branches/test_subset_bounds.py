"""Bounds from branches that were left before: they hold, save work, and change no answer."""

import dataclasses
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import solver
from solver import Limits, Monitor, Problem, get_solver
from solver.branches import params
from solver.branches.engine import ThresholdEngine
from solver.branches.kernels import stack_frame
from solver.branches.kernels.state import BLOCKS, FRAMES
from solver.branches.solver import Branches
from solver.kernels.constants import FULL, PROVEN
from solver.objective.exact_objective import INFINITE
from solver.search_shards import Shard, merge
from solver.verify.certificate import Claim
from solver.verify.certificate_checker import check
from tests.helpers.branches_memo import (
    DEFAULTS,
    check_bounds,
    check_solve,
    engine_of,
    finish,
    least_cost,
    rows_of,
)
from tests.helpers.random_examples import examples
from tests.helpers.shard_party import solve_together
from tests.helpers.strategies import Table, cost_scale, structural_limits, tables

WEAK = {"pairs": False, "similar_support": False, "support": False, "equivalent_points": False}
"""Without these, branches are seldom closed by counting alone: there is more to compare."""

larger = tables(max_rows=32, max_features=6, max_arity=3, max_classes=3)
binary = tables(max_rows=40, max_features=7, max_arity=2, max_classes=2)
few_blocks = st.sampled_from([1, 2, 256])
options = st.sampled_from(
    [{}, {}, WEAK, {"memo": "literals", "pairs": False}, {"slack": 0}, {"incumbent": False, **WEAK}]
)


def limited(monkeypatch: pytest.MonkeyPatch, blocks: int) -> None:
    """Compare from the first iteration on, with room for so many blocks of branches."""
    monkeypatch.setattr(params, "_MOST_BLOCKS", blocks)
    monkeypatch.setattr(params, "_RECENT_FROM", 0)


@settings(max_examples=examples(60), deadline=None)
@given(table=larger | binary, data=st.data())
def test_all_bounds_of_the_memo_hold(table: Table, data: st.DataObject) -> None:
    """Those of every branch that was entered, for every number of splits."""
    problem, lam = table.problem(), data.draw(cost_scale(sum(table.weights)))
    limits = dataclasses.replace(data.draw(structural_limits()), min_leaf_size=None)
    with pytest.MonkeyPatch.context() as patch:
        limited(patch, data.draw(few_blocks))
        engine = finish(engine_of(problem, lam, limits, data.draw(options)))
    check_bounds(engine)


def child_bounds(engine: ThresholdEngine, d: int) -> Iterator[tuple[list[int], int, NDArray[Any]]]:
    """Rows, conditions and lower bounds of the children of an open frame."""
    stack, values, codes = engine.stack, engine.table.values, engine.problem.codes
    rows = rows_of(engine, int(stack.head[d, stack_frame.NODE]))
    for feature in stack.live[d, : stack.head[d, stack_frame.N_LIVE]].tolist():
        for value in range(values[feature], values[feature + 1]):
            inside = [row for row in rows if codes[row, feature] == value - values[feature]]
            if inside:
                yield inside, d + 1, stack.child_lower[d, value]


@settings(max_examples=examples(40), deadline=None)
@given(table=binary, data=st.data())
def test_all_bounds_of_the_frames_children_hold(table: Table, data: st.DataObject) -> None:
    """Also of children that are not entered, in frames that have inherited bounds."""
    problem, lam = table.problem(), data.draw(cost_scale(sum(table.weights)))
    limits = dataclasses.replace(data.draw(structural_limits()), min_leaf_size=None)
    seen = dict[Any, int]()
    with pytest.MonkeyPatch.context() as patch:
        limited(patch, 256)
        engine = engine_of(problem, lam, limits, data.draw(options))
        for _ in range(12):
            if engine.step(1, -1) == FULL:
                engine.grow(None)
            for d in range(1, int(engine.memo.used[FRAMES])):
                if engine.stack.head[d, stack_frame.N_CANDIDATES] < 0:
                    continue
                for rows, level, lower in child_bounds(engine, d):
                    depth = None
                    if engine.params.depth < INFINITE:
                        depth = engine.params.depth - level
                    for b in range(engine.params.budgets):
                        splits = None if engine.params.budgets == 1 else b
                        key = tuple(rows), depth, splits
                        if key not in seen:
                            seen[key] = least_cost(engine, rows, depth, splits)
                        assert lower[b] <= seen[key]


@settings(max_examples=examples(150), deadline=None)
@given(table=larger | binary, data=st.data())
def test_the_answer_is_the_oracle_s(table: Table, data: st.DataObject) -> None:
    lam, limits = data.draw(cost_scale(sum(table.weights))), data.draw(structural_limits())
    best = table.optimum(lam, limits)
    with pytest.MonkeyPatch.context() as patch:
        limited(patch, data.draw(few_blocks))
        found = solver.solve(table.problem(), lam, limits=limits, **data.draw(options))
    assert found.status == "optimal"
    assert found.lower_bound == found.objective == best.objective
    if lam > 0:
        assert found.splits == best.splits


@settings(max_examples=examples(80), deadline=None)
@given(table=larger | binary, data=st.data())
def test_a_path_is_the_oracle_s(table: Table, data: st.DataObject) -> None:
    """Up and down in λ, with searches that a limit ends between them."""
    problem = table.problem()
    limits = dataclasses.replace(data.draw(structural_limits()), splits=None)
    with pytest.MonkeyPatch.context() as patch:
        limited(patch, data.draw(few_blocks))
        solve = get_solver("branches")(**data.draw(options)).series(problem)
        for lam in data.draw(st.lists(cost_scale(sum(table.weights)), min_size=2, max_size=5)):
            check_solve(solve, table, lam, limits, data.draw(st.none() | st.integers(1, 20)))


@settings(max_examples=examples(40), deadline=None)
@given(table=larger | binary, data=st.data())
def test_shards_are_the_oracle_s(table: Table, data: st.DataObject) -> None:
    problem, lam = table.problem(), data.draw(cost_scale(sum(table.weights)))
    limits = dataclasses.replace(data.draw(structural_limits()), min_leaf_size=None)
    number, settings_ = data.draw(st.integers(2, 4)), data.draw(options)
    best = table.optimum(lam, limits)
    with pytest.MonkeyPatch.context() as patch:
        limited(patch, data.draw(few_blocks))
        if data.draw(st.booleans()):
            parts = solve_together(
                Branches(**settings_), problem, lam, limits, number, data.draw(st.booleans())
            )
        else:
            search = Branches(**settings_)
            parts = [
                search.part(Shard(i, number)).solve(problem, lam, limits) for i in range(number)
            ]
    merged = merge(parts)
    assert merged.lower_bound == merged.objective == best.objective
    if lam > 0 and limits.splits is None:  # one tree, whatever is known and by whom
        own = Branches(**settings_, subset_bounds=False)
        others = solve_together(own, problem, lam, limits, 2, False)
        assert merged.tree == merge(others).tree


@settings(max_examples=examples(60), deadline=None)
@given(table=larger | binary, data=st.data())
def test_a_state_goes_on_as_if_the_search_had_not_stopped(
    table: Table, data: st.DataObject
) -> None:
    problem, lam = table.problem(), data.draw(cost_scale(sum(table.weights)))
    limits, chosen, last = data.draw(structural_limits()), data.draw(options), list[Any]()
    with pytest.MonkeyPatch.context() as patch:
        limited(patch, data.draw(few_blocks))
        whole = engine_of(problem, lam, limits, chosen)
        engine = engine_of(problem, lam, limits, chosen)
        finish(whole)
        while (outcome := engine.step(data.draw(st.integers(1, 9)), -1)) != PROVEN:
            assert outcome != FULL or engine.grow(None)
            last = {name: array.copy() for name, array in engine.state().items()}
            engine = ThresholdEngine(
                problem, engine.cost_scale, engine.constraints, DEFAULTS | chosen, last
            )
    assert engine.memo.used.tolist() == whole.memo.used.tolist()
    assert engine.recent.effort.tolist() == whole.recent.effort.tolist()
    assert engine.lower_bound == whole.lower_bound == whole.upper_bound


@settings(max_examples=examples(20), deadline=None)
@given(table=binary, data=st.data())
def test_certificates_do_without(table: Table, data: st.DataObject) -> None:
    problem, lam = table.problem(), data.draw(cost_scale(sum(table.weights)))
    found = solver.solve(problem, lam)
    made = get_solver("branches")().certify(problem, [Claim(lam, found.errors, found.splits)])
    proven = check(problem.codes, problem.arities, problem.counts, made.columns(), made.meta)
    assert proven == {lam: found.objective}


@pytest.fixture(scope="module")
def hard() -> Problem:
    """Labels that are nearly random: thousands of iterations at a small λ."""
    generator = np.random.default_rng(7)
    codes = generator.integers(0, 2, (200, 12))
    return Problem.from_codes(codes, (codes[:, :4].sum(axis=1) + generator.integers(0, 2, 200)) % 3)


def test_they_save_iterations(hard: Problem, monkeypatch: pytest.MonkeyPatch) -> None:
    limited(monkeypatch, 256)
    with_, without = (solver.solve(hard, "1/100", subset_bounds=on) for on in (True, False))
    assert (with_.objective, with_.splits) == (without.objective, without.splits)
    assert with_.iterations < without.iterations


def test_short_searches_do_without(hard: Problem) -> None:
    with_, without = (solver.solve(hard, "1/20", subset_bounds=on) for on in (True, False))
    assert with_.iterations == without.iterations < params._RECENT_FROM
    assert (with_.nodes, with_.tree) == (without.nodes, without.tree)


def test_blocks_are_cleared_when_there_are_no_more(
    hard: Problem, monkeypatch: pytest.MonkeyPatch
) -> None:
    limited(monkeypatch, 3)
    engine = finish(engine_of(hard, Fraction(1, 100), Limits(), {}))
    assert engine.recent.effort[BLOCKS] > 3
    assert len(engine.recent.recent_node) <= 4
    without = solver.solve(hard, "1/100", subset_bounds=False)
    assert Fraction(engine.lower_bound, 1) == engine.upper_bound
    errors = (without.objective - without.splits * Fraction(1, 100)) * hard.total_weight
    assert engine.upper_bound == engine.cost_scale.cost(int(errors), without.splits)


@pytest.mark.parametrize("size", [1, 2, 20])
def test_a_least_size_of_leaves_switches_them_off(hard: Problem, size: int) -> None:
    """The leaves of a tree for other rows may be too small."""
    engine = engine_of(hard, Fraction(1, 100), Limits(min_leaf_size=size), {})
    assert (engine.params.recent > 0) == (size <= 1)
    limits = Limits(min_leaf_size=size, depth=3)
    on, off = (
        solver.solve(hard, "1/100", limits=limits, subset_bounds=chosen) for chosen in (True, False)
    )
    assert on.objective == off.objective
    assert (on.iterations == off.iterations) or size <= 1


def test_a_node_limit_counts_branches_that_need_no_opening(
    hard: Problem, monkeypatch: pytest.MonkeyPatch
) -> None:
    limited(monkeypatch, 256)
    for nodes in (10, 100, 400):
        found = solver.solve(hard, "1/100", limits=Limits(nodes=nodes))
        assert found.nodes <= nodes


def limited_by_nodes(problem: Problem, longest: int) -> tuple[int, int, int]:
    """Bounds and nodes of a search that 20 nodes end, in slices of at most so many steps."""
    engine = engine_of(problem, Fraction(1, 30), Limits(depth=4), {})
    while engine.nodes < 20 and engine.lower_bound < engine.upper_bound:
        if engine.step(min(longest, 20 - engine.nodes), -1) == FULL:
            engine.grow(None)
        engine.propagate_bounds()
    return engine.upper_bound, engine.lower_bound, engine.nodes


@pytest.mark.parametrize("first", [0, 2048])
def test_a_node_limit_ends_all_slices_with_the_same_bounds(
    monkeypatch: pytest.MonkeyPatch, first: int
) -> None:
    """Slices end by the clock, which must not choose the answer."""
    limited(monkeypatch, 256)
    monkeypatch.setattr(params, "_RECENT_FROM", first)
    for seed in range(200):
        generator = np.random.default_rng(seed)
        codes, labels = generator.integers(0, 2, (40, 7)), generator.integers(0, 2, 40)
        problem = Problem.from_codes(codes, labels, weights=generator.integers(1, 5, 40))
        assert limited_by_nodes(problem, 1) == limited_by_nodes(problem, 1000), seed


def test_watching_does_not_change_the_search(
    hard: Problem, monkeypatch: pytest.MonkeyPatch
) -> None:
    limited(monkeypatch, 256)
    alone, seen = solver.solve(hard, "1/100"), list[Any]()
    watched = solver.solve(hard, "1/100", monitor=Monitor(snapshot=seen.append, interval=0.0))
    assert (watched.iterations, watched.nodes, watched.tree) == (
        alone.iterations,
        alone.nodes,
        alone.tree,
    )


def test_branches_do_not_raise_each_other_by_one_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Found at random: without slack two branches took turns, a cost of 1 each."""
    limited(monkeypatch, 1)
    codes = [[0, 0, 0, 1], [0, 0, 1, 1], [0, 1, 1, 1], [0, 1, 1, 1], [1, 0, 1, 1], [1, 1, 1, 0]]
    problem = Problem.from_codes(codes, [0, 0, 0, 1, 1, 1], weights=[1, 1, 997, 997, 1, 871667])
    off = dict.fromkeys(("duplicates", "two_splits", "incumbent", "class_counts"), False)
    found = solver.solve(problem, "1/436832", slack=0, limits=Limits(seconds=20), **WEAK, **off)
    assert found.status is solver.Status.OPTIMAL
    assert found.iterations < 1000
