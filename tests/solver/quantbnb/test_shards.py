"""Quant-BnB in shards: the proof of the whole, by ranges of the thresholds at the root."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import solver
from solver import Limits, Problem, Status, UnsupportedError
from solver.engine.driver import cost_scale_of
from solver.engine.tree_constraints import TreeConstraints
from solver.kernels.constants import FULL, PROVEN, Ints
from solver.kernels.jit import is_compiled
from solver.monitor import Monitor, Snapshot
from solver.objective.exact_objective import INFINITE
from solver.quantbnb import QuantBnB
from solver.quantbnb.classification import engine as engine_module
from solver.quantbnb.classification import state
from solver.quantbnb.classification.root_thresholds import (
    CODE,
    EACH,
    FEATURE,
    LEAST,
    NOWHERE,
    begin_anew,
    cut_intervals,
    give_way,
    is_cut,
    pack,
    record_length,
    unpack,
)
from solver.quantbnb.classification.shard_engine import QuantShardEngine
from solver.quantbnb.classification.state import AT, CHILD, PHASE, PICK, POINTS
from solver.quantbnb.regression.shard_engine import SquaresShardEngine
from solver.search_shards import FOUND, Shard, merge
from solver.solution import Solution
from solver.trees.tree import shape_of
from tests.helpers.random_examples import examples
from tests.helpers.shard_party import solve_together
from tests.naive import least_numeric_cost
from tests.solver.million.shards_in_turn import slices_of_one_step, solve_in_turn

DIGITS = st.integers(2, 30)
Place = tuple[int, int]


@pytest.fixture(scope="module", autouse=True)
def compiled() -> None:
    """Kernels are compiled by one thread."""
    QuantBnB.warm_up()


def test_kernels_of_shards_are_compiled_with_the_others() -> None:
    assert all(map(is_compiled, (cut_intervals, begin_anew, give_way)))


def numbers(rows: int, features: int, seed: int, most: int = 30) -> Problem:
    """Classes that depend on two of the numbers, with noise and weights."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, most, (rows, features))
    noise = rng.random(rows) < 0.1
    labels = ((codes[:, 0] > most // 3) ^ (codes[:, -1] > most // 2)).astype(int) ^ noise
    return Problem.from_codes(codes, labels, weights=rng.integers(1, 4, rows), ordered=True)


def targets(rows: int, features: int, seed: int, most: int = 30) -> Problem:
    """Numbers that depend on two of the features, with noise and weights."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, most, (rows, features))
    numbers = codes[:, 0] * (codes[:, -1] > most // 2) + rng.normal(size=rows)
    weights = rng.integers(1, 4, rows)
    return Problem.from_codes(codes, numbers, weights=weights, task="regression", ordered=True)


def squares_engine(problem: Problem, shard: Shard) -> SquaresShardEngine:
    assert problem.values is not None
    parts = problem.codes, problem.arities, problem.counts[:, 0], problem.values, 3
    return SquaresShardEngine(*parts, shard=shard)


def engine_of(problem: Problem, shard: Shard, depth: int = 3) -> QuantShardEngine:
    lam = Fraction(1, 200)
    cost_scale = cost_scale_of(problem, lam, len(problem.codes) - 1)
    constraints = TreeConstraints.of(problem, lam, Limits(depth=depth))
    parts = problem.codes, problem.counts, problem.arities, cost_scale, constraints
    return QuantShardEngine(*parts, shard=shard)


def answer(solution: Solution) -> tuple[Any, ...]:
    return solution.objective, solution.lower_bound, solution.status, solution.splits


def solve_drawn(
    data: st.DataObject, make: Callable[..., Problem], unit: Fraction
) -> tuple[Problem, Fraction, Solution, Solution]:
    """A problem, λ, and the solutions of the undivided search and of shards."""
    rows, features = data.draw(st.integers(1, 60)), data.draw(st.integers(1, 4))
    problem = make(rows, features, data.draw(st.integers(0, 10**6)), data.draw(st.integers(1, 30)))
    lam = data.draw(st.integers(0, 10)) * unit
    smallest = data.draw(st.sampled_from([None, 2, 5, 40]))
    splits = data.draw(st.sampled_from([None, 1, 2, 3, 4, 6])) if make is numbers else None
    limits = Limits(depth=data.draw(st.integers(0, 4)), splits=splits, min_leaf_size=smallest)
    whole = solver.solve(problem, lam, "quantbnb", limits)
    number, in_turns = data.draw(st.integers(1, 9)), data.draw(st.booleans())
    merged = merge(solve_together(QuantBnB(), problem, lam, limits, number, in_turns))
    return problem, lam, whole, merged


@settings(max_examples=examples(60), deadline=None)
@given(data=st.data())
def test_shards_prove_what_the_undivided_search_proves(data: st.DataObject) -> None:
    _, lam, whole, merged = solve_drawn(data, numbers, Fraction(1, 200))
    if lam > 0:
        assert answer(merged) == answer(whole)
    else:  # free splits: the undivided search ends at the first tree without avoidable errors
        assert answer(merged)[:3] == answer(whole)[:3]
        assert merged.splits <= whole.splits


@settings(max_examples=examples(60), deadline=None)
@given(data=st.data())
def test_shards_of_a_regression_prove_what_the_undivided_search_proves(
    data: st.DataObject,
) -> None:
    problem, _, whole, merged = solve_drawn(data, targets, Fraction(1, 20))
    assert merged.status is whole.status is Status.OPTIMAL
    assert abs(merged.objective - whole.objective) <= problem.tolerance
    assert merged.lower_bound is not None
    assert merged.lower_bound <= min(merged.objective, whole.objective)


def test_shards_that_hear_nothing_prove_the_same() -> None:
    problem, limits = numbers(80, 3, 5), Limits(depth=3)
    whole = QuantBnB().solve(problem, Fraction(1, 100), limits)
    parts = [
        QuantBnB().part(Shard(i, 4)).solve(problem, Fraction(1, 100), limits) for i in range(4)
    ]
    assert answer(merge(parts)) == answer(whole)
    assert any(part.lower_bound > whole.objective for part in parts if part.lower_bound)
    assert all(part.extra[FOUND] for part in parts)


@pytest.mark.parametrize("number", [1, 2, 3, 8, 50])
def test_each_threshold_belongs_to_one_shard(number: int) -> None:
    problem = numbers(60, 3, 1)
    seen: list[list[int]] = [[] for _ in problem.arities]
    for index in range(number):
        own = engine_of(problem, Shard(index, number)).levels.own[0]
        for codes, arity, (first, last) in zip(seen, problem.arities, own.tolist(), strict=True):
            last = arity - 1 if last == INFINITE else last
            codes += range(max(first, 1), last + 1)
    assert [sorted(codes) for codes in seen] == [[*range(1, a)] for a in problem.arities]


def test_a_shard_looks_for_nothing_that_costs_as_much_as_a_given_tree() -> None:
    problem, lam, limits = numbers(300, 4, 2), Fraction(1, 200), Limits(depth=3)
    best = QuantBnB().solve(problem, lam, limits)
    for index in range(3):
        own = QuantBnB().part(Shard(index, 3))
        alone = own.solve(problem, lam, limits)
        told = own.solve(problem, lam, limits, initial_tree=best.tree)
        assert told.iterations <= alone.iterations
        assert (told.objective, told.lower_bound) == (best.objective, best.objective)
        assert shape_of(told.tree) == shape_of(best.tree)
        assert told.extra[FOUND] is False


def test_work_is_divided() -> None:
    problem, lam, limits = numbers(600, 4, 3, most=200), Fraction(1, 1000), Limits(depth=3)
    whole = QuantBnB().solve(problem, lam, limits)
    parts = solve_together(QuantBnB(), problem, lam, limits, 4, in_turns=True)
    assert max(part.iterations for part in parts) < whole.iterations / 2
    assert sum(part.iterations for part in parts) < 2 * whole.iterations


def go_on(engine: QuantShardEngine, iterations: int) -> None:
    """Let a search go on for so many slices of one threshold."""
    for _ in range(iterations):
        if engine.step(1, -1) == FULL:
            engine.grow(None)
    engine.propagate_bounds()


def told_by(engine: QuantShardEngine) -> Ints:
    """The thresholds that a shard tells, as (thresholds, numbers)."""
    message = engine.learned()
    if not message:
        return np.zeros((0, record_length(len(engine.arities))), np.int64)
    return unpack(message, len(engine.arities))[2]


def places_of(told: Ints) -> list[tuple[int, int]]:
    """Feature and code of thresholds."""
    return [(int(feature), int(code)) for feature, code in told[:, [FEATURE, CODE]]]


def least_cost(engine: QuantShardEngine, problem: Problem, rows: Ints, depth: int) -> int:
    """Of all trees on some rows, by the plain search."""
    at, classes = np.nonzero(problem.counts[rows])
    x, weights = problem.codes[rows][at].tolist(), problem.counts[rows][at, classes].tolist()
    scale = engine.cost_scale
    return least_numeric_cost(x, classes.tolist(), weights, depth, scale.error, scale.split)


@settings(max_examples=examples(25), deadline=None)
@given(data=st.data())
def test_what_is_told_of_a_threshold_bounds_the_trees_of_both_sides(data: st.DataObject) -> None:
    rows, features = data.draw(st.integers(2, 25)), data.draw(st.integers(1, 3))
    problem = numbers(rows, features, data.draw(st.integers(0, 10**6)), 12)
    depth, shard = data.draw(st.integers(2, 3)), Shard(0, data.draw(st.integers(1, 2)))
    engine = engine_of(problem, shard, depth)
    go_on(engine, data.draw(st.integers(0, 40)))
    first = told_by(engine)
    go_on(engine, data.draw(st.integers(0, 40)))
    told = np.concatenate([first, told_by(engine)])
    assert len(set(places_of(told))) == len(told)
    features = len(engine.arities)  # a constant one is left out
    for (feature, code), record in zip(places_of(told), told, strict=True):
        is_left = problem.codes[:, feature] < code
        for side, part in enumerate((np.flatnonzero(is_left), np.flatnonzero(~is_left))):
            counts = problem.counts[part].sum(axis=0)
            leaf = engine.cost_scale.error * int(counts.sum() - counts.max())
            best = least_cost(engine, problem, part, depth - 1)
            by_feature = record[EACH + side * features : EACH + (side + 1) * features]
            assert record[LEAST + side] <= best
            assert min(leaf, int(by_feature.min())) <= best


def test_a_shard_that_is_done_evaluates_the_thresholds_of_others() -> None:
    problem = numbers(400, 4, 3, most=100)
    alone, first, other = (engine_of(problem, Shard(i, 2)) for i in (1, 0, 1))
    for engine in (alone, first):
        while engine.lower_bound < engine.upper_bound:
            go_on(engine, 64)
    own, bound = first.iterations, first.lower_bound
    while first.help(64) != PROVEN:
        first.propagate_bounds()
        assert first.lower_bound == bound
    assert first.iterations > own
    other.learn(first.learned())
    other.use(first.upper_bound, problem.grow(first.shape()), True)
    while not is_cut(other.levels):  # it looks for a tree of less depth
        go_on(other, 1)
    opened = other.iterations
    while other.lower_bound < other.upper_bound:
        go_on(other, 1)
    assert other.iterations - opened < (alone.iterations - opened) / 20
    assert other.upper_bound == min(alone.upper_bound, first.upper_bound)
    assert first.help(64) == PROVEN


def begun(problem: Problem, shard: Shard, steps: int = 1) -> tuple[QuantShardEngine, Place]:
    """A shard that is at a threshold at the root, and where it is."""
    engine = engine_of(problem, shard)
    while not is_cut(engine.levels):
        go_on(engine, 1)
    go_on(engine, steps)
    _, place, _ = unpack(engine.learned(), len(engine.arities))
    assert place != NOWHERE
    return engine, place


def end(engine: QuantShardEngine) -> int:
    """Search to the end and help; the cost of the best tree."""
    while engine.lower_bound < engine.upper_bound:
        go_on(engine, 64)
    while engine.help(64) != PROVEN:
        pass
    return engine.upper_bound


def place_of(engine: QuantShardEngine) -> Place:
    """Feature and code of the threshold at the root that a shard is at."""
    frame = engine.levels.frame[0]
    return int(frame[state.FEATURE]), int(engine.levels.code[0, frame[AT]])


def test_shards_begin_with_different_thresholds() -> None:
    problem = numbers(400, 4, 3, most=100)
    assert len({begun(problem, Shard(i, 4))[1] for i in range(4)}) == 4


def test_a_shard_gives_way_to_an_earlier_one_at_the_same_threshold() -> None:
    problem = numbers(400, 4, 3, most=100)
    alone, place = begun(problem, Shard(1, 3))
    for other, gives_way in ((2, False), (0, True)):
        engine, _ = begun(problem, Shard(1, 3))
        engine.learn(pack(other, place, []))
        assert (engine.levels.frame[0, PHASE] == PICK) == gives_way
        go_on(engine, 1)
        assert (place_of(engine) != place) == gives_way
        assert place not in places_of(told_by(engine))
        assert end(engine) == end(alone)


@settings(max_examples=examples(25), deadline=None)
@given(data=st.data())
def test_where_shards_say_they_are_proves_nothing(data: st.DataObject) -> None:
    """They may have died, or what they say is late: the thresholds are evaluated all the same."""
    problem = numbers(
        data.draw(st.integers(5, 60)), 3, data.draw(st.integers(0, 10**6)), data.draw(DIGITS)
    )
    whole = end(engine_of(problem, Shard(0, 1)))
    number = data.draw(st.integers(2, 4))
    costs = []
    for index in range(number):
        engine = engine_of(problem, Shard(index, number))
        while engine.lower_bound < engine.upper_bound:
            go_on(engine, data.draw(st.integers(1, 30)))
            feature = data.draw(st.integers(0, len(engine.arities) - 1))
            code = data.draw(st.integers(1, max(engine.arities[feature] - 1, 1)))
            place = data.draw(st.sampled_from([place_of(engine), (feature, code), NOWHERE]))
            engine.learn(pack(data.draw(st.integers(0, 9)), place, []))
        own = engine.upper_bound
        assert own <= engine.lower_bound
        costs.append(own)
        if index == 0:
            assert end(engine) == whole
    assert min(costs) == whole


def test_a_shard_whose_search_a_better_tree_ends_gives_up_its_threshold_to_help() -> None:
    """Else what it finds out of that threshold would be taken for that of another one."""
    problem = numbers(400, 4, 3, most=100)
    engine, _ = begun(problem, Shard(0, 2), 60)
    while engine.top[0] == 0:
        go_on(engine, 1)
    engine.use(engine.lower_bound, problem.grow(engine.shape()), True)
    engine.propagate_bounds()
    assert engine.lower_bound >= engine.upper_bound
    for _ in range(20):
        engine.help(1)
        assert engine.top[0] == 0 or engine.levels.frame[0, PHASE] == CHILD


def test_what_was_told_is_kept_when_the_arrays_grow(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = numbers(400, 4, 3, most=100)
    first = engine_of(problem, Shard(0, 2))
    while first.lower_bound < first.upper_bound:
        go_on(first, 64)
    told = told_by(first)
    monkeypatch.setattr(engine_module, "_POINTS", 4)
    other = engine_of(problem, Shard(1, 2))
    other.learn(pack(0, NOWHERE, [told]))
    while not is_cut(other.levels):
        go_on(other, 1)
    go_on(other, 20)
    levels = other.levels
    cut = np.column_stack([levels.column[0], levels.code[0]])[2 : levels.frame[0, POINTS]]
    assert set(places_of(told)) <= set(map(tuple, cut.tolist()))
    assert set(places_of(told)).isdisjoint(places_of(told_by(other)))


def test_an_undivided_search_that_may_be_divided_goes_on_from_its_state() -> None:
    problem, lam, limits = numbers(300, 4, 2), Fraction(1, 300), Limits(depth=3)
    own, states = QuantBnB().part(Shard(0, 1)), list[Snapshot]()
    assert own.resumes
    whole = own.solve(problem, lam, limits)
    few = Limits(depth=3, nodes=200)
    begun = own.solve(problem, lam, few, monitor=Monitor(snapshot=states.append))
    state = states[-1].state
    assert state is not None
    again = own.solve(problem, lam, limits, initial_tree=begun.tree, state=state())
    assert answer(again) == answer(whole) == answer(QuantBnB().solve(problem, lam, limits))
    assert again.iterations == whole.iterations > begun.iterations
    assert shape_of(again.tree) == shape_of(whole.tree)


def test_what_may_be_divided_while_it_runs() -> None:
    lam, limits = Fraction(1, 100), Limits(depth=3)
    assert QuantBnB().divides(lam, limits)
    assert not QuantBnB().divides(lam, limits, "regression")
    assert not QuantBnB().divides(lam, Limits(depth=3, min_leaf_size=2))
    assert not QuantBnB().divides(lam, Limits(depth=3, splits=6))
    assert not QuantBnB(mode="paper").divides(lam, limits)


def test_trees_are_told_in_the_features_of_the_problem() -> None:
    """Thresholds that are features are merged into ordered ones within the search."""
    rng = np.random.default_rng(4)
    column = rng.integers(0, 12, (90, 2))
    codes = np.column_stack([column[:, [f]] > np.arange(11) for f in range(2)]).astype(int)
    problem = Problem.from_codes(codes, (column[:, 0] > 3) ^ (column[:, 1] > 7))
    lam, limits = Fraction(1, 100), Limits(depth=2)
    merged = merge(solve_together(QuantBnB(), problem, lam, limits, 3, in_turns=False))
    assert answer(merged) == answer(QuantBnB().solve(problem, lam, limits))


@pytest.mark.parametrize("number", [1, 2, 3, 8, 50])
def test_each_cut_of_a_regression_belongs_to_one_shard(number: int) -> None:
    problem = targets(60, 3, 1)
    seen: list[list[int]] = [[] for _ in problem.arities]
    for index in range(number):
        own = squares_engine(problem, Shard(index, number)).levels.own[0]
        for places, column, (first, last) in zip(seen, problem.codes.T, own.tolist(), strict=True):
            cuts = np.cumsum(np.bincount(column))[:-1]
            places += cuts[(first <= cuts) & (cuts <= last)].tolist()
    every = [np.cumsum(np.bincount(column))[:-1].tolist() for column in problem.codes.T]
    assert [sorted(places) for places in seen] == every


@pytest.mark.parametrize("number", [2, 4])
def test_the_work_of_a_regression_is_divided(number: int) -> None:
    problem, lam, limits = targets(600, 4, 3, most=200), Fraction(1, 100), Limits(depth=3)
    whole = QuantBnB().solve(problem, lam, limits)

    def solve(index: int, monitor: Monitor) -> Solution:
        return QuantBnB().part(Shard(index, number)).solve(problem, lam, limits, monitor=monitor)

    with slices_of_one_step():
        parts = solve_in_turn(number, Random(1), solve)
    assert max(part.iterations for part in parts) < 0.7 * whole.iterations
    assert sum(part.iterations for part in parts) < 1.4 * whole.iterations
    for index, part in enumerate(parts):
        own = QuantBnB().part(Shard(index, number))
        told = own.solve(problem, lam, limits, initial_tree=whole.tree)
        assert told.iterations <= part.iterations
        assert abs(told.objective - whole.objective) <= problem.tolerance


@pytest.mark.parametrize("problem", [numbers(200, 4, 6), targets(300, 4, 6, most=100)])
def test_a_limit_that_ends_a_shard_leaves_a_true_bound(problem: Problem) -> None:
    lam = Fraction(1, 300)
    best = QuantBnB().solve(problem, lam, Limits(depth=3))
    for nodes in (1, 5, 20, 60):
        limits = Limits(depth=3, nodes=nodes)
        parts = [QuantBnB().part(Shard(i, 3)).solve(problem, lam, limits) for i in range(3)]
        merged = merge(parts)
        assert merged.lower_bound is not None
        assert merged.lower_bound <= best.objective <= merged.objective + problem.tolerance
        assert merged.status in (Status.NODE_LIMIT, Status.OPTIMAL)


def test_the_published_search_has_no_shards() -> None:
    with pytest.raises(UnsupportedError, match="take mode fast"):
        QuantBnB(mode="paper").part(Shard(0, 2))
    assert QuantBnB().resumes
    assert not QuantBnB().part(Shard(0, 2)).resumes
