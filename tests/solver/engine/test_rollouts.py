"""Rollouts find good trees that keep the limits, in the same order on all machines."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from solver.branches.engine import ThresholdEngine
from solver.branches.solver import Branches
from solver.engine import driver, rollouts
from solver.engine.greedy import greedy_tree
from solver.engine.rollouts import Rollouts
from solver.engine.tree_constraints import TreeConstraints, keeps_limits
from solver.limits import Limits
from solver.monitor import Monitor, Snapshot
from solver.objective.exact_objective import CostScale
from solver.problem.problem import Problem
from solver.solution import Solution, Status
from solver.trees.tree import Tree
from tests import naive

NOW = 10**15  # more work than all stages of these problems


def search(problem: Problem, lam: Fraction, limits: Limits) -> tuple[Rollouts, CostScale]:
    scale = CostScale.build(lam, problem.total_weight, problem.leaf_errors, len(problem.codes))
    return Rollouts(problem, scale, TreeConstraints.of(problem, lam, limits)), scale


def noise(seed: int, rows: int = 60, features: int = 6, most: int = 3) -> Problem:
    generator = np.random.default_rng(seed)
    codes = generator.integers(0, generator.integers(2, most + 1, features), (rows, features))
    target = (codes[:, 0] + codes[:, 1] * codes[:, 2] + generator.integers(0, 2, rows)) % 3
    return Problem.from_codes(codes, target, weights=generator.integers(1, 4, rows))


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    lam=st.integers(10, 100).map(lambda price: Fraction(1, price)),
    limits=st.sampled_from([Limits(), Limits(depth=3), Limits(min_leaf_size=4), Limits(depth=0)]),
)
@example(seed=1, lam=Fraction(0), limits=Limits(depth=3))
@example(seed=2, lam=Fraction(0), limits=Limits(depth=3, min_leaf_size=4))
def test_its_trees_keep_the_limits_and_cost_what_it_says(
    seed: int, lam: Fraction, limits: Limits
) -> None:
    problem = noise(seed)
    found, scale = search(problem, lam, limits)
    known, work = math.inf, 0
    while found.work >= work:
        work += 1000
        if found.improve(work, lambda: False):
            cost, shape = found.best
            tree = problem.grow(shape)
            assert scale.cost(tree.errors, tree.splits) == cost < known
            assert keeps_limits(tree, limits)
            known = cost
    constraints = TreeConstraints.of(problem, lam, limits)
    greedy = problem.grow(greedy_tree(problem, scale, constraints, lambda: False))
    assert known <= scale.cost(greedy.errors, greedy.splits)
    exact = Branches().solve(problem, lam, limits)
    assert exact.status is Status.OPTIMAL
    # At λ = 0 the first tree without avoidable errors ends the search.
    splits = exact.tree.splits if lam > 0 else 0
    assert known >= scale.cost(exact.tree.errors, splits)


def test_it_sees_splits_that_gain_nothing_alone() -> None:
    """The parity of three features among eight: a greedy tree begins with any of them."""
    codes = np.random.default_rng(1).integers(0, 2, (300, 8))
    problem, lam = (
        Problem.from_codes(codes, codes[:, 2] ^ codes[:, 5] ^ codes[:, 7]),
        Fraction(1, 90),
    )
    found, scale = search(problem, lam, Limits())
    greedy = problem.grow(
        greedy_tree(problem, scale, TreeConstraints.of(problem, lam, Limits()), lambda: False)
    )
    found.improve(NOW, lambda: False)
    assert scale.cost(greedy.errors, greedy.splits) > found.best[0] == 7 * scale.split


@pytest.mark.parametrize("seed", range(5))
def test_it_finds_the_optimum_of_small_problems(seed: int) -> None:
    problem, lam = noise(seed, rows=25, features=4), Fraction(1, 30)
    found, scale = search(problem, lam, Limits())
    found.improve(NOW, lambda: False)
    exact = naive.optimum(
        problem.codes.tolist(), problem.counts.tolist(), problem.arities.tolist(), lam
    )
    tree = problem.grow(exact.shape)
    assert found.best[0] == scale.cost(tree.errors, tree.splits)


def test_pieces_of_work_find_the_same_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    problem, lam = noise(3, rows=200, features=12), Fraction(1, 80)
    at_once, pieces, short = (search(problem, lam, Limits())[0] for _ in range(3))
    for work in range(0, 10**6, 999):
        pieces.improve(work, lambda: False)
    at_once.improve(pieces.work, lambda: False)
    assert (at_once.best, at_once.work) == (pieces.best, pieces.work)
    monkeypatch.setattr(rollouts, "_MOST_KEPT", 2000)  # whatever is forgotten is found again
    while short.improve(NOW, lambda: False):
        pass
    at_once.improve(NOW, lambda: False)
    assert short.best == at_once.best
    assert short.work > at_once.work


def test_it_stops_when_time_is_up() -> None:
    found, _ = search(noise(3), Fraction(1, 80), Limits())
    assert not found.improve(NOW, lambda: True)
    assert found.work == 0


def test_it_leaves_limited_splits_alone() -> None:
    found, _ = search(noise(3), Fraction(1, 50), Limits(splits=3))
    assert not found.improve(NOW, lambda: False)
    assert found.bytes == 0


def hard() -> Problem:
    """What most of nine features of thirty say, with noise."""
    generator = np.random.default_rng(5)
    codes = generator.integers(0, 2, (800, 30))
    most, noise = codes[:, :9].sum(axis=1) > 4, generator.random(800) < 0.1
    return Problem.from_codes(codes, most ^ noise)


def stopped(limits: Limits, lam: Fraction = Fraction(1, 400)) -> tuple[Fraction, Tree]:
    solution = Branches().solve(hard(), lam, limits)
    assert solution.status is Status.NODE_LIMIT
    return solution.objective, solution.tree


LIMITED = pytest.mark.parametrize(
    ("lam", "depth", "nodes"), [(Fraction(1, 400), None, 10_000), (Fraction(0), 7, 30_000)]
)


@LIMITED
def test_a_limit_on_nodes_gives_the_same_tree_on_slow_and_fast_machines(
    lam: Fraction, depth: int | None, nodes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = Limits(depth=depth, nodes=nodes)
    usual = stopped(limits, lam)
    monkeypatch.setattr(driver, "_SLICE_SECONDS", 0.001)
    assert stopped(limits, lam) == usual
    monkeypatch.setattr(driver, "_SLICE_SECONDS", 10.0)
    assert stopped(limits, lam) == usual


@LIMITED
def test_a_search_that_is_stopped_has_a_better_tree_with_them(
    lam: Fraction, depth: int | None, nodes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = Limits(depth=depth, nodes=nodes)
    usual = stopped(limits, lam)
    monkeypatch.setattr(Rollouts, "improve", lambda *_: False)
    assert usual[0] < stopped(limits, lam)[0]


def test_short_searches_without_a_price_of_splits_do_without_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A tree may end such a search; on a slow machine it would be another one."""
    monkeypatch.setattr(driver, "_SLICE_SECONDS", -1.0)
    used: list[Rollouts] = []
    monkeypatch.setattr(Rollouts, "improve", lambda self, *_: bool(used.append(self)))
    Branches().solve(noise(3), Fraction(0), Limits(depth=3))
    assert not used
    Branches().solve(noise(3), Fraction(1, 80), Limits(depth=3))
    assert used


def test_it_does_not_exceed_a_limit_on_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(rollouts, "_MOST_KEPT", 2**40)
    monkeypatch.setattr(Rollouts, "_search", lambda *arguments: asked.append(arguments))
    solution = Branches().solve(hard(), Fraction(1, 400), Limits(nodes=10_000, bytes=2**30))
    assert (asked, solution.status) == ([], Status.NODE_LIMIT)
    assert solution.peak_bytes < 2**30


def test_it_leaves_memory_to_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver, "_SLICE_SECONDS", 0.0)
    closed: list[int] = []
    close = Rollouts.close
    monkeypatch.setattr(Rollouts, "close", lambda self: (closed.append(self.bytes), close(self)))
    alone = Branches().solve(hard(), Fraction(1, 400), Limits(nodes=2_000))
    limits = Limits(seconds=20, bytes=alone.peak_bytes + 2**24)
    solution = Branches().solve(hard(), Fraction(1, 400), limits)
    assert solution.status is Status.MEMORY_LIMIT
    assert limits.bytes is not None
    assert solution.peak_bytes <= limits.bytes
    assert closed[0] > 0


def test_it_takes_no_memory_that_it_may_not_have() -> None:
    problem, lam = noise(3), Fraction(1, 80)
    scale = CostScale.build(lam, problem.total_weight, problem.leaf_errors, len(problem.codes))
    constraints = TreeConstraints.of(problem, lam, Limits())
    room = Rollouts(problem, scale, constraints).most_bytes
    for more, works in [(2**12, True), (-(2**16), False)]:
        found = Rollouts(problem, scale, constraints, room + more)
        assert (found.bytes > 0, found.improve(NOW, lambda: False)) == (works, works)


def test_a_search_at_its_limit_of_nodes_can_be_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is left of the work of rollouts can take long after a resume."""
    improve = Rollouts.improve
    stops: list[bool] = []

    def stop_then(self: Rollouts, work: int, is_over: Callable[[], bool]) -> bool:
        stops.append(True)
        return improve(self, work, is_over)

    monkeypatch.setattr(driver, "_SLICE_SECONDS", 10.0)
    usual = stopped(Limits(nodes=10_000))
    monkeypatch.setattr(Rollouts, "improve", stop_then)
    snapshots: list[Snapshot] = []
    monitor = Monitor(stop=lambda: bool(stops), snapshot=snapshots.append)
    limits = Limits(nodes=10_000)
    solution = Branches().solve(hard(), Fraction(1, 400), limits, monitor=monitor)
    assert solution.status is Status.STOPPED
    monkeypatch.setattr(Rollouts, "improve", improve)
    state = snapshots[-1].state()
    resumed = Branches().solve(hard(), Fraction(1, 400), limits, state=state)
    assert (resumed.status, resumed.objective, resumed.tree) == (Status.NODE_LIMIT, *usual)


def many_codes(rows: int, features: int, codes: int, classes: int) -> Problem:
    generator = np.random.default_rng(3)
    return Problem.from_codes(
        generator.integers(0, codes, (rows, features)), generator.integers(0, classes, rows)
    )


@pytest.mark.parametrize("shape", [(3000, 60, 100, 300), (3000, 20, 1000, 3), (600, 9000, 2, 300)])
def test_it_works_in_small_steps(shape: tuple[int, int, int, int]) -> None:
    """However many codes and classes there are: between two steps a search looks at its limits."""
    found, _ = search(many_codes(*shape), Fraction(1, 10**5), Limits())
    steps, most = 0, 0
    while found.work < 2**29 and steps < 50:
        before, steps = found.work, steps + 1
        found.improve(before + 1, lambda: False)
        most = max(most, found.work - before)
    assert 0 < most < 2**26


def test_trees_of_many_codes_have_room() -> None:
    """A split has more children than there is room for splits below all of them."""
    problem, lam = many_codes(3000, 20, 100, 30), Fraction(1, 10**6)
    found, scale = search(problem, lam, Limits())
    for work in range(0, 2**26, 2**22):
        if found.improve(work, lambda: False):
            cost, shape = found.best
            tree = problem.grow(shape)
            assert scale.cost(tree.errors, tree.splits) == cost
    assert found.best[0] < scale.cost(problem.leaf_errors, 0)


def test_a_limit_of_time_may_end_what_follows_a_limit_on_nodes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Then the clock chose the tree, and the status says so."""
    problem, limits = noise(3, rows=300, features=10), Limits(nodes=50)
    assert Branches().solve(problem, Fraction(1, 300), limits).status is Status.NODE_LIMIT
    monkeypatch.setattr(driver.Search, "_out_of_time", lambda search: bool(search.rollouts))
    monkeypatch.setattr(driver, "_SLICE_SECONDS", 1e9)
    assert Branches().solve(problem, Fraction(1, 300), limits).status is Status.TIME_LIMIT


@pytest.mark.parametrize("nodes", [None, 150])
def test_the_speed_of_the_machine_does_not_choose_a_tree_of_free_splits(
    nodes: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At λ = 0 a tree that is found beside the search ends it at the same iteration everywhere."""
    work = property(lambda engine: 10**5 * max(engine.iterations - 10, 0))
    monkeypatch.setattr(ThresholdEngine, "rollout_work", work)
    for seed in range(30):
        problem = without_noise(seed)
        whole, slow = (solve_at_speed(problem, nodes, speed) for speed in (10**9, 1))
        assert (slow.tree, slow.status, slow.nodes) == (whole.tree, whole.status, whole.nodes)
        states = list[dict[str, Any]]()
        part = solve_at_speed(problem, nodes, 1, monitor=stop_after(20 * seed, states))
        if part.status is Status.STOPPED:
            again = solve_at_speed(problem, nodes, 10**9, state=states[0])
            assert (again.tree, again.nodes) == (whole.tree, whole.nodes)


def without_noise(seed: int) -> Problem:
    generator = np.random.default_rng(seed)
    codes = generator.integers(0, 2, (120, 9))
    _, rows = np.unique(codes, axis=0, return_inverse=True)
    return Problem.from_codes(codes, generator.integers(0, 2, 120)[rows])


def stop_after(looks: int, states: list[dict[str, Any]]) -> Monitor:
    """Stop a search when it has looked so often whether to stop, and keep its last state."""
    left = itertools.count(looks, -1)

    def keep(snapshot: Snapshot) -> None:
        assert snapshot.state is not None
        states[:] = [{name: np.array(array) for name, array in snapshot.state().items()}]

    return Monitor(lambda: next(left) <= 0, snapshot=keep, interval=math.inf)


def test_the_speed_of_the_machine_does_not_choose_whether_there_is_room(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The same node limit gives the same tree, where memory is limited, too."""
    monkeypatch.setattr(rollouts, "_MOST_KEPT", 10**4)
    work = property(lambda engine: 10**4 * engine.iterations)
    monkeypatch.setattr(ThresholdEngine, "rollout_work", work)
    most = [*range(10**5, 4 * 10**5, 10**4)]
    for seed in range(30):
        problem, lam = noise(seed, features=8), Fraction(1, 1000)
        limits = Limits(nodes=5, depth=5, bytes=most[seed])
        slow, fast = (at_speed(problem, lam, limits, speed) for speed in (1, 10**9))
        assert (slow.tree, slow.status, slow.nodes) == (fast.tree, fast.status, fast.nodes)


def solve_at_speed(problem: Problem, nodes: int | None, iterations: int, **given: Any) -> Solution:
    """Solve with free splits, see :func:`at_speed`."""
    return at_speed(problem, Fraction(0), Limits(nodes=nodes, depth=7), iterations, **given)


def at_speed(
    problem: Problem, lam: Fraction, limits: Limits, iterations: int, **given: Any
) -> Solution:
    """Solve on a machine that does so many iterations in a slice, and is slow if it does one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(driver, "_next_budget", lambda done, seconds: iterations)
        patch.setattr(driver, "_SLICE_SECONDS", 0.0 if iterations == 1 else math.inf)
        return Branches().solve(problem, lam, limits, **given)
