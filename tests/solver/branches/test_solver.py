"""BRANCHES: what its own contract adds to that of every solver."""

import dataclasses
from fractions import Fraction

import numpy as np
import pytest

import solver
from solver.branches.engine import ThresholdEngine
from solver.branches.solver import Branches
from solver.engine.driver import Search
from solver.engine.greedy import GREEDY
from solver.limits import Limits
from solver.monitor import Monitor
from solver.problem.problem import Problem
from solver.trees.tree import shape_of
from solver.verify.scorer import score
from tests import naive


@pytest.fixture(scope="module")
def hard() -> Problem:
    """Random labels: thousands of iterations at a small λ."""
    generator = np.random.default_rng(7)
    codes = generator.integers(0, 2, (200, 10))
    return Problem.from_codes(codes, (codes[:, :4].sum(axis=1) + generator.integers(0, 2, 200)) % 3)


def test_slices_do_not_change_the_search(hard):
    options = Branches().settings
    searches = [
        Search(hard, Fraction(1, 60), Limits(), lambda *a: ThresholdEngine(*a, options), GREEDY)
        for _ in range(2)
    ]
    searches[1]._iterations_of_slice = lambda iterations: 7
    for search in searches:
        assert search.run(Monitor()) == "optimal"
    whole, sliced = searches
    assert whole.engine.memo.used.tolist() == sliced.engine.memo.used.tolist()
    assert shape_of(whole.tree()) == shape_of(sliced.tree())


def test_an_incumbent_changes_nothing_but_the_anytime_answer(hard):
    lam = Fraction(1, 60)
    alone = solver.solve(hard, lam)
    assert alone.status == "optimal"
    seen = []
    solver.solve(hard, lam, monitor=Monitor(snapshot=seen.append, interval=0.0))
    again = solver.solve(hard, lam, initial_tree=alone.tree)
    assert again.tree == alone.tree
    assert again.iterations == alone.iterations
    for snapshot in seen:
        assert snapshot.lower_bound <= alone.objective <= snapshot.objective
        assert solver.solve(hard, lam, initial_tree=snapshot.tree).tree == alone.tree


def test_a_stopped_search_starts_again_from_its_incumbent(hard):
    lam = Fraction(1, 400)
    first = solver.solve(hard, lam, limits=Limits(nodes=2000))
    assert first.status == "node_limit"
    second = solver.solve(hard, lam, limits=Limits(nodes=1), initial_tree=first.tree)
    assert second.objective <= first.objective


def copy_of_state(snapshot):
    return {name: array.copy() for name, array in snapshot.state().items()}


@pytest.mark.parametrize(
    "limits", [Limits(), Limits(depth=4), Limits(splits=6), Limits(min_leaf_size=3)], ids=str
)
def test_a_search_goes_on_from_its_state_as_if_it_had_not_stopped(hard, limits):
    lam, last = Fraction(1, 100), []
    whole = solver.solve(hard, lam, limits=limits)
    assert whole.status == "optimal"
    state, iterations, bound = None, 0, Fraction(0)
    for stop in range(1, 30):
        nodes = stop * whole.nodes // 5
        monitor = Monitor(snapshot=last.append, interval=1e9)
        part = solver.solve(
            hard, lam, limits=dataclasses.replace(limits, nodes=nodes), monitor=monitor, state=state
        )
        assert part.iterations >= iterations
        assert part.lower_bound >= bound
        iterations, bound = part.iterations, part.lower_bound
        if part.status == "optimal":
            break
        state = copy_of_state(last[-1])
    assert part.iterations == whole.iterations
    assert part.nodes == whole.nodes
    assert part.tree == whole.tree
    assert part.lower_bound == whole.objective


def test_a_state_of_another_search_is_refused(hard):
    last = []
    monitor = Monitor(snapshot=last.append, interval=1e9)
    solver.solve(hard, Fraction(1, 300), limits=Limits(nodes=50), monitor=monitor)
    state = copy_of_state(last[-1])
    with pytest.raises(solver.InputError, match="another λ"):
        solver.solve(hard, Fraction(1, 200), state=state)
    with pytest.raises(solver.InputError, match="another λ, options or limits"):
        solver.solve(hard, Fraction(1, 300), state=state, similar_support=False)
    other = Problem.from_codes([[0, 1], [1, 0], [1, 1]], [0, 1, 1])
    with pytest.raises(solver.InputError, match="another problem"):
        solver.solve(other, Fraction(1, 300), state=state)
    with pytest.raises(solver.InputError, match="cannot go on"):
        solver.solve(hard, Fraction(1, 300), state=state, mode="paper")
    with pytest.raises(solver.InputError, match="does not fit"):
        solver.solve(hard, Fraction(1, 300), state={**state, "live": state["live"][:, :2]})
    short = {name: array for name, array in state.items() if name != "live"}
    with pytest.raises(solver.InputError, match="another solver"):
        solver.solve(hard, Fraction(1, 300), state=short)


def test_slack_is_a_finite_number():
    assert Branches(slack=4).settings == Branches().settings
    for slack in (float("inf"), float("nan"), -1, "much", True):
        with pytest.raises(solver.InputError, match="slack"):
            Branches(slack=slack)


def test_options_of_mode_full_are_refused_in_mode_paper(hard):
    with pytest.raises(solver.InputError, match="belongs to mode full"):
        solver.solve(hard, Fraction(1, 60), mode="paper", pairs=False)


def test_an_incumbent_beyond_the_limits_is_not_used(hard):
    deep = solver.solve(hard, Fraction(1, 200), limits=Limits(nodes=2000)).tree
    assert deep.depth > 2
    shallow = solver.solve(hard, Fraction(1, 200), limits=Limits(depth=2), initial_tree=deep)
    assert shallow.depth <= 2
    assert shallow.status == "optimal"


def test_no_search_at_lambda_zero_once_a_perfect_tree_is_known(hard):
    solution = solver.solve(hard, 0)
    assert solution.status == "optimal"
    assert solution.errors == hard.unavoidable_errors
    assert solution.gap == 0


def test_memory_limit_ends_the_search_with_a_bound(hard):
    solution = solver.solve(hard, Fraction(1, 1000), limits=Limits(bytes=2**20))
    assert solution.status == "memory_limit"
    assert solution.peak_bytes <= 2**20
    assert 0 < solution.lower_bound < solution.objective


@pytest.mark.parametrize("mode", ["full", "paper"])
def test_a_lambda_beyond_64_bits_is_exact(hard, mode):
    short, more = Fraction(1, 60), Fraction(1, 3**40)
    few, many = (solver.solve(hard, lam, mode=mode) for lam in (short, short + more))
    assert many.status == "optimal"
    assert many.objective == many.loss + (short + more) * many.splits
    # λ has grown by less than any two trees differ by.
    assert (many.errors, many.splits) == (few.errors, few.splits)


def test_modes_differ_in_work_and_agree_in_the_answer(hard):
    lam = Fraction(1, 60)
    ours, papers = (solver.solve(hard, lam, mode=mode) for mode in ("full", "paper"))
    assert ours.objective == papers.objective
    assert ours.splits == papers.splits
    assert ours.nodes < papers.nodes


@pytest.mark.parametrize("splits", [1, 2, 4])
def test_a_limit_on_splits_is_a_limit_on_the_tree(hard, splits):
    free = solver.solve(hard, Fraction(1, 100), limits=Limits(depth=3))
    bound = solver.solve(hard, Fraction(1, 100), limits=Limits(depth=3, splits=splits))
    assert free.splits > splits >= bound.splits
    assert bound.status == "optimal"
    assert bound.objective > free.objective


def test_a_chain_of_a_thousand_splits_can_be_an_incumbent():
    problem = Problem.from_codes(np.eye(1200, dtype=int), np.arange(1200) % 2)
    chain = solver.solve(problem, 0, "cart").tree
    assert chain.depth > 500
    solution = solver.solve(problem, "0.0001", initial_tree=chain, limits=Limits(nodes=2))
    assert solution.objective <= Fraction(chain.splits, 10_000)


@pytest.mark.parametrize("seed", [605, 716, *range(150)])
def test_small_leaves_of_multiway_splits(seed):
    """A part that is too small in a branch may be empty in its child: the split is then allowed."""
    generator = np.random.default_rng(seed)
    n, q, arity, k = (int(generator.integers(*ends)) for ends in ((6, 22), (2, 4), (2, 5), (2, 4)))
    codes, target = generator.integers(0, arity, (n, q)), generator.integers(0, k, n)
    problem = Problem.from_codes(codes, target, classes=range(k))
    lam = Fraction(int(generator.integers(1, 6)), 100)
    limits = Limits(
        min_leaf_size=int(generator.integers(1, 5)),
        splits=[None, 1, 2, 3][generator.integers(0, 4)],
        depth=[None, 2, 3][generator.integers(0, 3)],
    )
    best = naive.optimum(
        problem.codes.tolist(),
        problem.counts.tolist(),
        problem.arities.tolist(),
        lam,
        depth=limits.depth,
        splits=limits.splits,
        min_leaf_size=limits.min_leaf_size,
    )
    solution = solver.solve(problem, lam, limits=limits)
    assert (solution.objective, solution.splits) == (best.objective, best.splits)


def noisy(seed: int) -> Problem:
    generator = np.random.default_rng(seed)
    codes = generator.integers(0, 2, (80, 6))
    return Problem.from_codes(codes, (codes[:, :3].sum(axis=1) + generator.integers(0, 2, 80)) % 2)


@pytest.mark.parametrize("seed", [0, 1, 15, 17, 19, 21])
def test_the_clock_does_not_choose_the_trees_of_a_path(monkeypatch, seed):
    problem, lam = noisy(seed), Fraction(1, 200)
    # A greedy tree is made when a search takes long: never here, then in every search.
    monkeypatch.setattr("solver.engine.driver._next_budget", lambda done, _: 4 * max(done, 1))
    monkeypatch.setattr("solver.engine.driver._SLICE_SECONDS", 1e9)
    path = solver.regularization_path(problem, lam)
    monkeypatch.setattr("solver.engine.driver._SLICE_SECONDS", -1.0)
    late = solver.regularization_path(problem, lam)
    assert (late.steps, late.iterations) == (path.steps, path.iterations)


@pytest.mark.parametrize("seed", [0, 1, 15, 17, 19, 21])
def test_watching_a_path_does_not_change_it(monkeypatch, seed):
    problem, lam, seen = noisy(seed), Fraction(1, 200), []
    path = solver.regularization_path(problem, lam)
    monkeypatch.setattr("solver.engine.driver._next_budget", lambda done, seconds: 5)
    monitor = Monitor(snapshot=seen.append, interval=0.0)
    watched = solver.regularization_path(problem, lam, monitor=monitor)
    assert (watched.steps, watched.iterations) == (path.steps, path.iterations)
    assert len(seen) > path.solves
    for snapshot in seen:
        best = path.objective_at(snapshot.lam)
        assert snapshot.lower_bound <= best <= snapshot.objective
        assert snapshot.objective == score(problem, snapshot.tree, snapshot.lam).objective


def test_a_path_ends_in_time_where_trees_have_to_be_found_again(monkeypatch):
    """However long that would take: a tree that is at hand will do."""
    asked = []
    find_again = ThresholdEngine.find_again

    def slow(engine, late):
        asked.append(engine.lower_bound < engine.upper_bound)
        find_again(engine, lambda: True)

    monkeypatch.setattr(ThresholdEngine, "find_again", slow)
    generator = np.random.default_rng(3)
    problem = Problem.from_codes(generator.integers(0, 2, (400, 14)), generator.integers(0, 2, 400))
    for seconds in (0.6, 1.5, 4.0):  # on a busy machine the first search may take all of it
        limits = Limits(seconds=seconds)
        path = solver.regularization_path(problem, Fraction(1, 500), limits=limits)
        assert path.status == "time_limit"
        if any(asked):
            break
    assert any(asked)
    for step in path.steps:
        assert score(problem, step.tree, step.start).errors == step.errors
        assert path.lower_bound_at(step.start) <= path.objective_at(step.start)
