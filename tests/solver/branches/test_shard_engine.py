"""BRANCHES in shards: the proof of the whole, and the same tree for any number of shards."""

from __future__ import annotations

import itertools
import json
import zlib
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solver.branches import engine as branches_engine
from solver.branches import params
from solver.branches.engine import ThresholdEngine
from solver.branches.kernels import stack_frame
from solver.branches.kernels.lp_dual_bounds import tell_duals
from solver.branches.kernels.shard_bound_exchange import absorb
from solver.branches.kernels.state import DUE, NODES, SEARCH, WORK
from solver.branches.shard_engine import _IMPROVING, ShardEngine
from solver.branches.solver import Branches
from solver.engine import driver
from solver.engine.tree_constraints import TreeConstraints
from solver.errors import InputError, UnsupportedError
from solver.kernels.constants import FULL, PROVEN, RUNNING
from solver.kernels.simd import LANES
from solver.limits import Limits
from solver.monitor import Monitor, News, Peers, Snapshot
from solver.objective.exact_objective import INFINITE, CostScale
from solver.problem.problem import Problem
from solver.search_shards import FOUND, Shard, merge
from solver.solution import Solution, Status
from solver.trees.tree import Shape, shape_of
from solver.verify.scorer import score
from tests.helpers.random_examples import examples
from tests.helpers.shard_party import Party, solve_and_divide, solve_together
from tests.solver.million.shards_in_turn import slices_of_one_step

_NONE = Fraction(10**9), 0


@pytest.fixture(scope="module", autouse=True)
def compiled() -> None:
    """Kernels are compiled by one thread."""
    Branches.warm_up()


def first_tree(problem: Problem, lam: Fraction, limits: Limits) -> Shape:
    """The optimal tree of fewest splits whose features come first in preorder, by trying all."""
    counts, codes = problem.counts, problem.codes
    price, known = lam * problem.total_weight, dict[Any, Any]()

    def best(rows: tuple[int, ...], depth: int) -> tuple[tuple[Fraction, int], Shape]:
        if (rows, depth) in known:
            return known[rows, depth]  # type: ignore[no-any-return]
        held = counts[[*rows]].sum(axis=0) if rows else np.zeros(1, np.int64)
        small = 0 < held.sum() < (limits.min_leaf_size or 0) and len(rows) < len(codes)
        cost = _NONE if small else (Fraction(int(held.sum() - held.max())), 0)
        shape: Shape = -1
        for feature in range(problem.n_features if limits.depth is None or depth else 0):
            parts = [
                tuple(row for row in rows if codes[row, feature] == code)
                for code in range(problem.arities[feature])
            ]
            if sum(map(bool, parts)) < 2:
                continue
            below = [best(part, depth - 1) for part in parts]
            total = price + sum(c[0] for c, _ in below), 1 + sum(c[1] for c, _ in below)
            if total < cost:
                cost, shape = total, (feature, tuple(made for _, made in below))
        known[rows, depth] = cost, shape
        return cost, shape

    return best(tuple(range(len(codes))), -1 if limits.depth is None else limits.depth)[1]


@st.composite
def problems(draw: st.DrawFn, rows: int = 14, features: int = 5) -> Problem:
    """Two to four codes a feature, duplicates among them; weights, contradictions."""
    n, d = draw(st.integers(4, rows)), draw(st.integers(1, features))
    most = draw(st.sampled_from([1, 1, 2, 3]))
    codes = draw(
        st.lists(st.lists(st.integers(0, most), min_size=d, max_size=d), min_size=n, max_size=n)
    )
    labels = draw(st.lists(st.integers(0, draw(st.integers(1, 3))), min_size=n, max_size=n))
    labels[:2] = [0, 1]
    weights = draw(st.none() | st.lists(st.integers(1, 4), min_size=n, max_size=n))
    return Problem.from_codes(codes, labels, weights=weights)


lams = st.sampled_from(
    [Fraction(1, 1000), Fraction(1, 60), Fraction(1, 17), Fraction(1, 14), Fraction(1, 8)]
)
limit_sets = st.builds(
    Limits,
    depth=st.sampled_from([None, None, 0, 1, 2, 3]),
    min_leaf_size=st.sampled_from([None, None, 2, 3]),
)
numbers = st.sampled_from([1, 2, 3, 8])
options = st.sampled_from(
    [
        {}, {}, {"memo": "literals"}, {"pairs": False}, {"support": False}, {"duplicates": False},
        {"row_duals": True}, {"equivalent_points": False}, {"incumbent": False, "slack": 0},
    ]
)  # fmt: skip


def alone(
    own: Branches, problem: Problem, lam: Fraction, limits: Limits, number: int, hand_over: bool
) -> list[Solution]:
    """Shards that do not hear of each other, the last one first if trees are handed over."""
    parts, best = list[Solution](), None
    for index in reversed(range(number)) if hand_over else range(number):
        part = own.part(Shard(index, number)).solve(problem, lam, limits, initial_tree=best)
        parts.append(part)
        if hand_over and (best is None or part.objective < score(problem, best, lam).objective):
            best = part.tree
    return parts[::-1] if hand_over else parts


def agrees(
    parts: list[Solution], own: Branches, problem: Problem, lam: Fraction, limits: Limits
) -> None:
    whole, merged = own.solve(problem, lam, limits), merge(parts)
    assert whole.status is merged.status is Status.OPTIMAL
    assert (merged.objective, merged.splits) == (whole.objective, whole.splits)
    assert merged.lower_bound == whole.lower_bound
    assert shape_of(merged.tree) == first_tree(problem, lam, limits)
    assert FOUND not in whole.extra


def check_alone(*case: Any) -> None:
    problem, lam, limits, number, hand_over, chosen = case
    own = Branches(**chosen)
    agrees(alone(own, problem, lam, limits, number, hand_over), own, problem, lam, limits)


def check_together(*case: Any) -> None:
    problem, lam, limits, number, in_turns, chosen = case
    own = Branches(**chosen)
    agrees(solve_together(own, problem, lam, limits, number, in_turns), own, problem, lam, limits)


def check_divided(*case: Any) -> None:
    problem, lam, limits, number, in_turns, chosen = case
    own = Branches(**chosen)
    stages = [(1, 3 * number), (number, 2)] if in_turns else [(1, number - 2)]
    parts = solve_and_divide(own, problem, lam, limits, [*stages, (2 * number, 0)])
    agrees(parts, own, problem, lam, limits)


@pytest.mark.parametrize("check", [check_alone, check_together, check_divided])
@settings(max_examples=60, deadline=None)
@given(case=st.tuples(problems(), lams, limit_sets, numbers, st.booleans(), options))
def test_parts_are_the_whole(check: Callable[..., None], case: Any) -> None:
    check(*case)


def test_a_tree_that_was_only_offered_is_not_the_part_s_own() -> None:
    """The first part has no feature; its greedy tree costs least, but is not the first one."""
    own, lam = Branches(pairs=False, two_splits=False, incumbent=False), Fraction(1, 60)
    for seed in range(30):
        codes = np.random.default_rng(seed).integers(0, 2, (12, 2))
        problem = Problem.from_codes(codes, codes[:, 0] & codes[:, 1])
        with slices_of_one_step():
            parts = alone(own, problem, lam, Limits(), 3, hand_over=False)
        assert shape_of(merge(parts).tree) == first_tree(problem, lam, Limits())


@pytest.mark.slow
@pytest.mark.parametrize("check", [check_alone, check_together, check_divided])
@settings(max_examples=examples(200), deadline=None)
@given(case=st.tuples(problems(30, 7), lams, limit_sets, numbers, st.booleans(), options))
def test_parts_are_the_whole_on_hundreds(check: Callable[..., None], case: Any) -> None:
    check(*case)


@settings(max_examples=60, deadline=None)
@given(problems(), lams | st.just(Fraction(0)), st.integers(0, 4), limit_sets, numbers)
def test_what_is_not_divided_is_done_by_the_first_part(
    problem: Problem, lam: Fraction, splits: int, limits: Limits, number: int
) -> None:
    """Under a limit on splits that matters, and at λ = 0."""
    own = Branches()
    limits = Limits(depth=limits.depth, min_leaf_size=limits.min_leaf_size, splits=splits)
    whole = own.solve(problem, lam, limits)
    merged = merge(alone(own, problem, lam, limits, number, False))
    assert (merged.objective, merged.splits) == (whole.objective, whole.splits)
    assert (merged.status, merged.lower_bound) == (whole.status, whole.lower_bound)


@pytest.fixture(scope="module")
def hard() -> Problem:
    """Labels with noise: thousands of iterations."""
    draw = np.random.default_rng(7)
    codes = draw.integers(0, 2, (300, 14))
    return Problem.from_codes(codes, (codes[:, :4].sum(axis=1) + draw.integers(0, 2, 300)) % 3)


def test_what_a_divided_search_has_proven_is_not_proven_again(hard: Problem) -> None:
    own, lam = Branches(), Fraction(1, 120)
    whole = own.part(Shard(0, 1)).solve(hard, lam)
    merged = merge(solve_and_divide(own, hard, lam, Limits(), [(1, whole.iterations // 2), (2, 0)]))
    assert merged.objective == whole.objective
    assert shape_of(merged.tree) == shape_of(whole.tree)
    assert merged.iterations < 0.75 * whole.iterations


def test_a_search_that_may_be_divided_goes_on_from_its_state(hard: Problem) -> None:
    own, lam, states = Branches().part(Shard(0, 1)), Fraction(1, 120), list[Any]()
    whole, steps = own.solve(hard, lam), itertools.count()

    def keep(seen: Snapshot) -> None:
        assert seen.state is not None
        states.append({name: np.array(array) for name, array in seen.state().items()})

    monitor = Monitor(lambda: next(steps) > 20, keep)
    stopped = own.solve(hard, lam, monitor=monitor)
    assert stopped.status is Status.STOPPED
    again = own.solve(hard, lam, initial_tree=stopped.tree, state=states[-1])
    assert (again.status, again.tree) == (Status.OPTIMAL, whole.tree)
    assert 0 < stopped.iterations < again.iterations < 1.1 * whole.iterations
    with pytest.raises(InputError, match="cannot go on from a state"):
        Branches().part(Shard(0, 2)).solve(hard, lam, state=states[-1])


def test_parts_that_hear_of_each_other_share_the_work(hard: Problem) -> None:
    own, lam, party = Branches(), Fraction(1, 120), Party(2)
    whole = own.solve(hard, lam)
    parts = [own.part(Shard(i, 2)).solve(hard, lam, monitor=party.monitor(i)) for i in range(2)]
    apart = alone(own, hard, lam, Limits(), 2, hand_over=False)
    shapes = {str(shape_of(merge(found).tree)) for found in (parts, apart)}
    assert len(shapes) == 1
    assert merge(parts).objective == whole.objective
    # One after the other: the first one has helped, and the other one only looks for ties.
    assert parts[1].iterations < 0.2 * whole.iterations
    assert merge(parts).iterations < 1.2 * whole.iterations < merge(apart).iterations


def test_a_part_ends_when_it_hears_what_is_left_of_the_proof(hard: Problem) -> None:
    first, second = (engine_of(hard, Fraction(1, 120), Shard(i, 2)) for i in range(2))
    while first.iterations < 200:
        assert first.step(16, -1) != FULL or first.grow(None)
    assert first.stack.head[0, stack_frame.CURRENT] >= 0
    while second.lower_bound < second.upper_bound:
        assert second.step(64, -1) != FULL or second.grow(None)
    while second.help(64) != PROVEN:
        pass
    first.use(second.upper_bound, hard.grow(second.shape()), True)
    assert first.lower_bound < first.upper_bound
    first.learn(second.learned())
    assert first.lower_bound == first.upper_bound
    iterations = first.iterations
    while first.help(64) != PROVEN:
        pass
    assert first.iterations == iterations


def test_a_part_whose_given_tree_is_optimal_at_once_still_looks_for_the_first_one() -> None:
    """Three classes need two splits, so the root's first bound proves the given tree."""
    problem, lam = Problem.from_codes([[0, 0], [0, 1], [1, 1]], [0, 1, 2]), Fraction(1, 20)
    own = Branches(pairs=False)  # pairs would show the first part's tree to the second one
    second = own.part(Shard(1, 2)).solve(problem, lam)
    first = own.part(Shard(0, 2)).solve(problem, lam, initial_tree=second.tree)
    assert second.tree.nodes[0].feature == 1
    assert shape_of(merge([first, second]).tree) == first_tree(problem, lam, Limits())
    assert first.tree.nodes[0].feature == 0


@pytest.mark.parametrize(("lam", "which"), [(Fraction(0), 0), (Fraction(1, 120), 1)])
def test_the_first_shard_looks_for_good_trees_if_it_searches_alone(
    hard: Problem, lam: Fraction, which: int
) -> None:
    """At λ = 0 the features are not dealt out; else the last one does."""
    engines = [engine_of(hard, lam, Shard(i, 2)) for i in range(2)]
    for engine in engines:
        engine.program.status[SEARCH] = 2**30
    assert engines[which].rollout_work > 0
    assert engines[1 - which].rollout_work == 0


@settings(max_examples=60, deadline=None)
@given(
    problem=problems(),
    lam=lams,
    limits=limit_sets,
    number=st.integers(2, 8),
    together=st.booleans(),
)
def test_duals_that_are_told_change_no_answer(
    problem: Problem, lam: Fraction, limits: Limits, number: int, together: bool
) -> None:
    """The first part improves them from the first iteration on."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ShardEngine, "_head_start", 2**14)
        patch.setattr(ShardEngine, "_sooner", 2**25)
        check = check_together if together else check_alone
        check(problem, lam, limits, number, False, {})


def engine_of(problem: Problem, lam: Fraction, shard: Shard) -> ShardEngine:
    """A shard that has opened the root."""
    scale = CostScale.build(lam, problem.total_weight, problem.leaf_errors, len(problem.codes) - 1)
    constraints = TreeConstraints.of(problem, lam, Limits())
    engine = ShardEngine(problem, scale, constraints, Branches().settings, shard, None)
    while engine.iterations == 0 and engine.step(1, -1) == FULL:
        engine.grow(None)
    return engine


def duals_of(engine: ShardEngine) -> list[int]:
    """The row duals of the root, in the order of the table."""
    duals = np.zeros(len(engine.table.labels), np.int64)
    tell_duals(engine.space, duals)
    return list(duals.tolist())


def test_parts_share_one_linear_program(hard: Problem) -> None:
    lam = Fraction(1, 120)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ShardEngine, "_head_start", 2**14)
        patch.setattr(ShardEngine, "_sooner", 2**25)
        first, second = (engine_of(hard, lam, Shard(i, 2)) for i in range(2))
        assert first.program.status[DUE] < second.program.status[DUE]
        while first.program.status[WORK] == 0 or sum(duals_of(first)) == 0:
            assert first.step(64, -1) != FULL or first.grow(None)
    due = int(second.program.status[DUE])
    assert sum(duals_of(second)) == 0
    second.learn(first.learned())
    assert duals_of(second) == duals_of(first)
    assert second.program.status[DUE] == INFINITE or second.program.status[DUE] >= due
    assert second.learned() == b""  # they are not told back


def test_the_first_of_many_parts_reads_no_branches_while_it_is_at_the_duals(hard: Problem) -> None:
    first, other = (engine_of(hard, Fraction(1, 120), Shard(i, 3)) for i in range(2))
    while other.iterations < 512:
        assert other.step(64, -1) != FULL or other.grow(None)
    told, status, before = other.learned(), first.program.status, first.memo.used[NODES]
    status[WORK], own = 2 * status[SEARCH], status[WORK]
    first.learn(told)
    assert first.memo.used[NODES] == before
    assert first.stack.split_lower[0].max() == other.stack.split_lower[0].max()
    status[WORK] = own
    first.learn(told)
    assert first.memo.used[NODES] > before


def test_a_part_leaves_the_linear_program_to_the_first_for_long(hard: Problem) -> None:
    engine = engine_of(hard, Fraction(1, 120), Shard(1, 2))
    status = engine.program.status
    begun = int(status[SEARCH])
    status[DUE] = 2 * begun
    engine.learn(zlib.compress(np.array([_IMPROVING, 0, 0], np.int64).tobytes()))
    while status[SEARCH] < 16 * begun:
        assert engine.step(1, -1) != FULL or engine.grow(None)
    assert status[WORK] == 0
    while status[SEARCH] <= 64 * begun:  # nothing more was heard
        assert engine.step(1, -1) != FULL or engine.grow(None)
    assert status[WORK] > 0


def test_a_part_that_is_proven_leaves_nothing_to_help_with(hard: Problem) -> None:
    """Also where the bound of a split does not follow from those of the branches that are told."""
    first, second = (engine_of(hard, Fraction(1, 120), Shard(i, 2)) for i in range(2))
    early = first.learned()
    for engine in first, second:
        while engine.lower_bound < engine.upper_bound:
            assert engine.step(64, -1) != FULL or engine.grow(None)
        engine.use(min(first.upper_bound, second.upper_bound), hard.grow(first.shape()), True)
    assert second.known_bound < second.upper_bound
    for news in first.learned(), early:  # news that comes late takes nothing back
        second.learn(news)
        assert second.known_bound >= second.upper_bound
    done = second.iterations
    assert second.help(10) == PROVEN
    assert second.iterations == done


def test_a_part_that_helps_ends_the_linear_program_of_the_first(hard: Problem) -> None:
    first, second = (engine_of(hard, Fraction(1, 120), Shard(i, 2)) for i in range(2))
    while second.lower_bound < second.upper_bound:
        assert second.step(64, -1) != FULL or second.grow(None)
    first.learn(second.learned())
    assert first.program.status[DUE] < INFINITE
    assert second.help(1) == RUNNING
    before = int(second.program.status[WORK])
    first.learn(second.learned())
    assert first.program.status[DUE] == INFINITE
    assert second.help(1000) == RUNNING
    assert second.program.status[WORK] == before


@pytest.mark.parametrize("index", [0, 1])
def test_the_linear_program_knows_the_best_tree_of_all_parts(
    hard: Problem, index: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine, seen = engine_of(hard, Fraction(1, 120), Shard(index, 2)), list[int]()
    monkeypatch.setattr(ThresholdEngine, "compile_late", lambda self: None)
    monkeypatch.setattr(
        branches_engine, "raise_duals", lambda space, lower, upper: seen.append(upper)
    )
    engine.program.status[DUE] = 0
    own, cost = engine.upper_bound, 5 * int(engine.cost_scale.split)
    assert cost < own
    assert engine.step(1, -1) != FULL or engine.grow(None)
    engine.use(cost, hard.grow(-1), True)
    assert engine.step(1, -1) != FULL or engine.grow(None)
    assert seen[0] > cost == seen[-1] == engine.upper_bound


def test_branches_that_are_told_are_kept_with_their_rows(
    hard: Problem, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(params, "_RECENT_FROM", 0)
    first, second = (engine_of(hard, Fraction(1, 120), Shard(i, 2)) for i in range(2))
    while first.iterations < 512:
        assert first.step(64, -1) != FULL or first.grow(None)
    assert not second.recent.recent_node.any()
    second.learn(first.learned())
    memo, table = second.memo, second.table
    kept = np.argwhere(second.recent.recent_node > 0)
    assert len(kept) > 0
    for block, lane in kept:
        node = second.recent.recent_node[block, lane] - 1
        start, count = memo.node_literals[node]
        rows = np.ones(len(table.labels), bool)
        for value in memo.literals[start : start + count]:
            feature = np.searchsorted(table.values, value, side="right") - 1
            codes = hard.codes[table.sources, feature]
            rows &= codes == value - table.values[feature]
        words = second.recent.recent_rows[block].reshape(-1, LANES)[:, lane]
        bits = np.unpackbits(np.ascontiguousarray(words).view(np.uint8), bitorder="little")
        assert bits[: len(rows)].astype(bool).tolist() == rows.tolist()
        assert second.recent.recent_weight[block, lane] == table.weights[rows].sum()
        assert second.recent.recent_lower[block, lane] == -memo.node_lower[node, 0]
        assert memo.node_rows[node] == rows.sum()


def hear(engine: ShardEngine, record: list[int]) -> None:
    """Let a shard absorb one record."""
    told = np.array(record, np.int64)
    while absorb(engine.space, engine._told, told, 0) == 0:
        assert engine.grow(None)


def test_what_is_told_of_a_branch_goes_to_it_and_not_to_one_of_the_same_hash(hard: Problem) -> None:
    engine = engine_of(hard, Fraction(1, 120), Shard(0, 2))
    while engine.iterations < 512:
        assert engine.step(64, -1) != FULL or engine.grow(None)
    for node in range(1, 200):
        memo, before = engine.memo, int(engine.memo.used[NODES])
        start, count = memo.node_literals[node].tolist()
        literals, low = memo.literals[start : start + count].tolist(), int(memo.node_lower[node, 0])
        head = [int(memo.node_rows[node]), int(memo.node_hash[node].view(np.int64))]
        hear(engine, [2 * count, low + 1, *head, *literals[::-1]])
        assert engine.memo.used[NODES] == before
        assert engine.memo.node_lower[node, 0] == low + 1
        # The other side of the branch's last split has other rows.
        hear(engine, [2 * count, low + 2, *head, *literals[:-1], literals[-1] ^ 1])
        assert engine.memo.used[NODES] == before + 1
        assert engine.memo.node_lower[[node, before], 0].tolist() == [low + 1, low + 2]


def test_a_part_that_hears_nothing_improves_duals_itself(hard: Problem) -> None:
    engine = engine_of(hard, Fraction(1, 120), Shard(1, 2))
    engine.program.status[DUE] = 2**16
    while engine.iterations < 512:
        assert engine.step(64, -1) != FULL or engine.grow(None)
    assert engine.program.status[WORK] > 0


def test_a_part_ends_at_a_limit_with_its_own_proof(hard: Problem) -> None:
    part, told = Branches().part(Shard(0, 2)), list[News]()
    monitor = Monitor(lambda: len(told) > 1, peers=Peers(told.append, list))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(driver, "_NEWS_SECONDS", float("inf"))  # it tells when its own part is done
        found = part.solve(hard, Fraction(1, 30), monitor=monitor)
    again = part.solve(hard, Fraction(1, 30))
    assert found.status is Status.OPTIMAL
    assert found.lower_bound == again.lower_bound


@pytest.mark.parametrize("limits", [Limits(nodes=50), Limits(bytes=1), Limits(seconds=0)], ids=str)
def test_parts_that_meet_a_limit(hard: Problem, limits: Limits) -> None:
    parts = [Branches().part(Shard(i, 3)).solve(hard, Fraction(1, 60), limits) for i in range(3)]
    merged, whole = merge(parts), Branches().solve(hard, Fraction(1, 60))
    assert merged.status in (Status.NODE_LIMIT, Status.MEMORY_LIMIT, Status.TIME_LIMIT)
    assert merged.lower_bound is not None
    assert merged.lower_bound <= whole.objective <= merged.objective
    assert all(limits.nodes is None or part.nodes <= limits.nodes for part in parts)


def test_the_extra_of_a_part_that_meets_a_limit_can_be_stored(hard: Problem) -> None:
    """It has to be plain: a row holds it as JSON."""
    own, lam = Branches(), Fraction(1, 120)
    given = own.solve(hard, lam, Limits(nodes=50)).tree
    part = own.part(Shard(0, 2)).solve(hard, lam, Limits(nodes=40), initial_tree=given)
    assert part.status is Status.NODE_LIMIT
    assert json.loads(json.dumps(part.extra))[FOUND] is part.extra[FOUND]


def test_bounds_that_do_not_fit_into_memory_are_dropped(hard: Problem) -> None:
    own, lam, party = Branches(), Fraction(1, 60), Party(2)
    first, second = (own.part(Shard(index, 2)) for index in range(2))
    least = second.solve(hard, lam, Limits(nodes=1)).peak_bytes
    first.solve(hard, lam, monitor=party.monitor(0))
    few = Limits(bytes=least + 1000)
    found = second.solve(hard, lam, few, monitor=party.monitor(1))
    assert found.status in (Status.OPTIMAL, Status.MEMORY_LIMIT)
    assert found.lower_bound is not None
    assert found.lower_bound <= found.objective


def test_mode_paper_has_no_parts() -> None:
    with pytest.raises(UnsupportedError, match="mode paper"):
        Branches(mode="paper").part(Shard(0, 2))


def test_a_long_chain_of_splits_is_found_again() -> None:
    """No recursion: each split cuts off one row."""
    codes = np.triu(np.ones((25, 24), np.int64))
    problem = Problem.from_codes(codes, [i % 2 for i in range(25)])
    lam = Fraction(1, 10**6)
    merged = merge(alone(Branches(), problem, lam, Limits(), 2, hand_over=False))
    whole = Branches().solve(problem, lam)
    assert (merged.objective, merged.splits) == (whole.objective, whole.splits)
