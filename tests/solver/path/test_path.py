"""The λ-path against the envelope of all trees, also when it was not finished."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import solver
from solver import InputError, Limits, Path, Problem, Status, UnsupportedError, get_solver
from solver.lambda_series import Solve
from solver.monitor import Monitor, Snapshot
from solver.path.path_search import find_path
from solver.verify.scorer import score
from tests import naive
from tests.helpers.random_examples import examples
from tests.helpers.strategies import Table, binary_tables, cost_scale, structural_limits, tables

XOR = Table(((0, 0), (0, 1), (1, 0), (1, 1)), (0, 1, 1, 0), (1, 1, 1, 1), (2, 2), 2)
NO_LIMITS = Limits()

quick = settings(
    max_examples=200, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
)
thorough = settings(
    max_examples=examples(250),
    deadline=None,
    suppress_health_check=list(HealthCheck),
)


def every_tree(table: Table, limits: Limits = NO_LIMITS) -> dict[int, int]:
    """The oracle's trees: splits → least errors."""
    return naive.least_errors(
        table.codes,
        table.counts,
        table.arities,
        depth=limits.depth,
        splits=limits.splits,
        min_leaf_size=limits.min_leaf_size,
    )


def least(trees: dict[int, int], weight: int, lam: Fraction) -> Fraction:
    return min(Fraction(errors, weight) + lam * splits for splits, errors in trees.items())


def check_path(problem: Problem, path: Path, limits: Limits = NO_LIMITS) -> None:
    """What holds for every path, whatever its status."""
    assert path.steps[0].start == path.lam_min
    assert path.steps[-1].end is None
    assert path.steps[-1].splits == 0
    for step, after in pairwise(path.steps):
        assert step.start < after.start == step.end
        assert step.splits > after.splits
        meets = Fraction(after.errors - step.errors, step.splits - after.splits)
        assert after.start == meets / path.total_weight
    for step in path.steps:
        points = score(problem, step.tree, step.start)
        assert (points.errors, points.splits) == (step.errors, step.splits)
        assert path.step_at(step.start) is step
        assert path.objective_at(step.start) == points.objective
        assert limits.depth is None or step.tree.depth <= limits.depth
        assert limits.splits is None or step.splits <= limits.splits
        bound = path.lower_bound_at(step.start)
        assert bound is None or bound <= points.objective
        if step.proven:
            assert bound == points.objective
    assert (path.status is Status.OPTIMAL) == all(step.proven for step in path.steps)
    lams = [point.lam for point in path.points]
    assert lams == sorted(set(lams))
    assert lams[0] == path.lam_min


def check_brackets(path: Path, trees: dict[int, int]) -> None:
    """The true optimum lies between the bounds, and on what is called proven.

    All three are straight between these λ, so that it holds everywhere.
    """
    true = naive.path(trees, path.total_weight, path.lam_min)
    lams = {*path.lams, *(point.lam for point in path.points), *(step.lam for step in true)}
    for lam in {*lams, max(lams) + 1}:
        optimum, reached = least(trees, path.total_weight, lam), path.objective_at(lam)
        bound = path.lower_bound_at(lam)
        assert bound is None or bound <= optimum
        assert optimum <= reached
        assert not path.step_at(lam).proven or optimum == reached
        solution = path.solution_at(lam)
        assert (solution.objective, solution.errors) == (reached, path.step_at(lam).errors)
        assert solution.lower_bound is None or solution.lower_bound <= optimum
        assert (solution.status is Status.OPTIMAL) == (solution.lower_bound == reached)


def check_against_oracle(table: Table, lam_min: Fraction, limits: Limits, **options: Any) -> None:
    """The path is the envelope of all trees, with its breakpoints."""
    problem, trees = table.problem(), every_tree(table, limits)
    path = solver.regularization_path(problem, lam_min, limits=limits, **options)
    assert path.status is Status.OPTIMAL
    check_path(problem, path, limits)
    found = [naive.Stretch(step.start, step.errors, step.splits) for step in path.steps]
    assert found == naive.path(trees, path.total_weight, lam_min)
    check_brackets(path, trees)


def lam_mins(table: Table) -> st.SearchStrategy[Fraction]:
    """CostScale, and 0 often: from there the whole path is seen."""
    return st.one_of(st.just(Fraction(0)), cost_scale(sum(table.weights)))


@quick
@given(data=st.data())
def test_is_the_envelope_of_all_trees(data: st.DataObject) -> None:
    table = data.draw(st.one_of(tables(), binary_tables()))
    check_against_oracle(table, data.draw(lam_mins(table)), NO_LIMITS)


@quick
@given(data=st.data())
def test_is_the_envelope_of_the_trees_within_limits(data: st.DataObject) -> None:
    table = data.draw(st.one_of(tables(), binary_tables()))
    check_against_oracle(table, data.draw(lam_mins(table)), data.draw(structural_limits()))


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["full", "paper"])
@thorough
@given(data=st.data())
def test_is_the_envelope_of_all_trees_thoroughly(mode: str, data: st.DataObject) -> None:
    table = data.draw(st.one_of(tables(), binary_tables()))
    limits = data.draw(st.one_of(st.just(NO_LIMITS), structural_limits()))
    check_against_oracle(table, data.draw(lam_mins(table)), limits, mode=mode)


@quick
@given(data=st.data())
def test_brackets_the_true_path_when_a_limit_ends_it(data: st.DataObject) -> None:
    table = data.draw(st.one_of(tables(), binary_tables()))
    limits = replace(data.draw(structural_limits()), nodes=data.draw(st.integers(0, 12)))
    problem, lam_min = table.problem(), data.draw(lam_mins(table))
    path = solver.regularization_path(problem, lam_min, limits=limits)
    check_path(problem, path, limits)
    check_brackets(path, every_tree(table, limits))
    assert path.status in (Status.OPTIMAL, Status.NODE_LIMIT)


@quick
@given(data=st.data())
def test_brackets_the_true_path_when_stopped(data: st.DataObject) -> None:
    table = data.draw(st.one_of(tables(), binary_tables()))
    problem, lam_min = table.problem(), data.draw(lam_mins(table))
    left = data.draw(st.integers(0, 12))

    def stop() -> bool:
        nonlocal left
        left -= 1
        return left < 0

    path = solver.regularization_path(problem, lam_min, monitor=Monitor(stop=stop))
    check_path(problem, path)
    check_brackets(path, every_tree(table))
    assert path.status in (Status.OPTIMAL, Status.STOPPED)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(data=st.data())
def test_no_time_at_all_still_gives_bounds(data: st.DataObject) -> None:
    table = data.draw(binary_tables())
    problem, lam_min = table.problem(), data.draw(lam_mins(table))
    path = solver.regularization_path(problem, lam_min, limits=Limits(seconds=0))
    check_path(problem, path)
    check_brackets(path, every_tree(table))
    assert path.solves == 1
    assert path.status in (Status.OPTIMAL, Status.TIME_LIMIT)


@quick
@given(data=st.data())
def test_a_heuristic_proves_nothing(data: st.DataObject) -> None:
    table = data.draw(binary_tables())
    problem, lam_min = table.problem(), data.draw(lam_mins(table))
    path = solver.regularization_path(problem, lam_min, "cart")
    assert path.status is Status.HEURISTIC
    assert not any(step.proven for step in path.steps)
    assert path.lower_bound_at(path.lam_min) is None
    assert path.solution_at(path.lam_min).status is Status.HEURISTIC
    check_path(problem, path)
    check_brackets(path, every_tree(table))


def test_exclusive_or() -> None:
    path = solver.regularization_path(XOR.problem(), 0)
    assert (path.lams, path.splits) == ((0, Fraction(1, 6)), (3, 0))
    assert path.losses == (0, Fraction(1, 2))
    assert [tree.splits for tree in path.trees] == [3, 0]
    data = path.to_dict()
    assert [step["lam_end_exact"] for step in data["steps"]] == ["1/6", None]
    assert data["points"][0] == {"lam_exact": "0", "lower_bound_exact": "0"}
    with pytest.raises(ValueError, match="begins at λ = 1/100, not at 1/200"):
        solver.regularization_path(XOR.problem(), 0.01).step_at(Fraction(1, 200))


def test_begins_at_zero_with_the_smallest_of_the_best_trees() -> None:
    # The first column alone tells the classes apart; a search at λ = 0 may use others as well.
    rng = np.random.RandomState(3)
    codes = rng.randint(0, 2, (200, 8))
    path = solver.regularization_path(Problem.from_codes(codes, codes[:, 5]), 0)
    assert path.splits == (1, 0)
    assert path.status is Status.OPTIMAL


@pytest.mark.parametrize(
    "codes, target",
    [([[0, 1]], [0]), ([[0], [1]], [1, 1]), ([[0], [0]], [0, 1]), ([[], []], [0, 1])],
    ids=["one row", "one class", "nothing to split", "no feature"],
)
@pytest.mark.parametrize("lam_min", ["0", "0.25", "7"])
def test_a_path_of_one_step(codes: list[list[int]], target: list[int], lam_min: str) -> None:
    path = solver.regularization_path(Problem.from_codes(codes, target), lam_min)
    assert path.splits == (0,)
    assert path.lams == (Fraction(lam_min),)
    assert path.status is Status.OPTIMAL
    assert path.steps[0].proven


def test_above_every_breakpoint_one_solve_is_enough() -> None:
    path = solver.regularization_path(XOR.problem(), "1/2")
    assert (path.splits, path.solves, path.status) == ((0,), 1, Status.OPTIMAL)
    # At the breakpoint itself the tree of fewer splits is the answer.
    assert solver.regularization_path(XOR.problem(), "1/6").splits == (0,)


def test_fractional_weights_keep_their_unit() -> None:
    codes, target = [[0, 0], [0, 1], [1, 0], [1, 1]] * 2, [0, 1, 1, 0, 0, 1, 1, 1]
    weights = [0.5, 1, 0.25, 1, 1, 0.5, 2, 0.75]
    halves = Problem.from_codes(codes, target, weights=weights)
    whole = Problem.from_codes(codes, target, weights=[int(4 * w) for w in weights])
    limits = [Limits(min_leaf_size=1), Limits(min_leaf_size=4)]
    some, others = (
        solver.regularization_path(p, 0, limits=limit)
        for p, limit in zip((halves, whole), limits, strict=True)
    )
    assert (some.lams, some.losses, some.splits) == (others.lams, others.losses, others.splits)
    assert len(some.steps) > 2


def large_problem(rows: int = 300, features: int = 8) -> Problem:
    """Interactions and noise, so that the path has many steps."""
    rng = np.random.RandomState(0)
    codes = rng.randint(0, 2, (rows, features))
    target = (codes[:, 0] & codes[:, 1]) ^ (codes[:, 2] | codes[:, 3] & codes[:, 4])
    noisy = rng.rand(rows) < 0.15
    target[noisy] = rng.randint(0, 2, int(noisy.sum()))
    return Problem.from_codes(codes, target)


class Counting:
    """A solver's series that remembers where it was asked to solve."""

    def __init__(self, problem: Problem) -> None:
        self.inner = get_solver("branches")().series(problem)
        self.lams: list[Fraction] = []

    def __call__(self, lam: Fraction, *args: Any, **kwargs: Any) -> solver.Solution:
        self.lams.append(lam)
        return self.inner(lam, *args, **kwargs)


def test_no_breakpoint_is_solved_twice_and_few_solves_are_enough() -> None:
    problem = large_problem()
    series = Counting(problem)
    path = find_path(problem, Fraction(1, 1000), series)
    assert path.status is Status.OPTIMAL
    assert len(series.lams) == len(set(series.lams)) == path.solves
    # Each solve proves a corner or finds a tree.
    assert path.solves <= 2 * len(path.steps)
    assert len(path.steps) > 5
    assert sum(point.lam in path.lams for point in path.points) >= len(path.steps) - 1


def test_a_limit_of_nodes_gives_the_same_path_everywhere_and_more_nodes_no_worse_one() -> None:
    problem = large_problem()
    paths = [
        solver.regularization_path(problem, "0.001", limits=Limits(nodes=nodes))
        for nodes in (5, 5, 50, 10**6)
    ]
    assert paths[0].steps == paths[1].steps
    assert paths[0].points == paths[1].points
    assert paths[0].status is Status.NODE_LIMIT
    assert paths[-1].status is Status.OPTIMAL
    for path in paths:
        check_path(problem, path)
        for lam in paths[-1].lams:
            assert path.objective_at(lam) >= paths[-1].objective_at(lam)
            bound = path.lower_bound_at(lam)
            assert bound is not None
            assert bound <= paths[-1].objective_at(lam)


@pytest.mark.usefixtures("counted_time")
def test_a_limit_of_time_is_that_of_the_whole_path() -> None:
    problem = large_problem(rows=20000, features=16)
    path = solver.regularization_path(problem, "0.00005", limits=Limits(seconds=20))
    check_path(problem, path)
    assert path.status is Status.TIME_LIMIT
    assert path.seconds < 21
    assert path.solves > 1


def limited_at(solve: Solve, lams: set[Fraction]) -> Solve:
    """A series that finds its limit of time at the first solve at each of these λ."""
    left = set(lams)

    def again(lam: Fraction, *args: Any, **kwargs: Any) -> solver.Solution:
        solution = solve(lam, *args, **kwargs)
        if lam not in left:
            return solution
        left.remove(lam)
        bound = solution.objective / 2
        return replace(solution, status=Status.TIME_LIMIT, lower_bound=bound)

    return again


def test_goes_on_where_time_was_short_once_all_corners_had_their_share() -> None:
    problem = large_problem()
    engine = get_solver("branches")()
    whole = find_path(problem, Fraction(1, 1000), engine.series(problem))
    series = Counting(problem)
    solve = limited_at(series, {Fraction(1, 1000)})
    path = find_path(problem, Fraction(1, 1000), solve, Limits(seconds=60))
    assert path.status is Status.OPTIMAL
    assert [(s.start, s.errors) for s in path.steps] == [(s.start, s.errors) for s in whole.steps]
    assert series.lams[0] == series.lams[-1] == Fraction(1, 1000)
    # Without a limit of ours there is no more time to give.
    once = find_path(problem, Fraction(1, 1000), limited_at(series, {Fraction(1, 1000)}))
    assert once.status is Status.TIME_LIMIT
    assert [step.proven for step in once.steps] == [False] + [True] * (len(once.steps) - 1)


def refusing(solve: Solve, refused: Callable[[Fraction], bool]) -> Solve:
    """A series whose integers are too short for some λ."""

    def again(lam: Fraction, *args: Any, **kwargs: Any) -> solver.Solution:
        if refused(lam):
            raise InputError(f"λ = {lam} needs integers beyond 64 bits")
        return solve(lam, *args, **kwargs)

    return again


def test_breakpoints_of_too_many_digits_are_proven_from_both_sides() -> None:
    rng = np.random.RandomState(1)
    codes = rng.randint(0, 2, (300, 6))
    target = (codes[:, 0] & codes[:, 1]) | (codes[:, 2] & (rng.rand(300) < 0.7))
    # A weight of 10¹⁰ in all, as in a census: the breakpoints' denominators are as large.
    problem = Problem.from_codes(codes, target, weights=rng.randint(1, 6 * 10**7, 300))
    series = refusing(get_solver("branches")().series(problem), lambda lam: lam.denominator > 10**6)
    path = find_path(problem, Fraction(1, 1000), series)
    assert path.status is Status.OPTIMAL
    assert path.lams == solver.regularization_path(problem, "0.001").lams  # solved there
    assert len(path.steps) > 3
    check_path(problem, path)
    assert max(lam.denominator for lam in path.lams) > 10**9
    for step in path.steps[:-1]:
        assert step.end is not None
        middle = ((step.start + step.end) / 2).limit_denominator(1000)
        assert solver.solve(problem, middle).objective == path.objective_at(middle)


def test_what_neighbours_do_not_settle_is_not_called_proven() -> None:
    problem = large_problem()
    series = get_solver("branches")().series(problem)
    path = find_path(
        problem,
        Fraction(1, 1000),
        refusing(series, lambda lam: lam.denominator > 50 and lam != Fraction(1, 1000)),
    )
    assert path.status is Status.STOPPED
    check_path(problem, path)
    with pytest.raises(InputError, match="64 bits"):
        find_path(problem, Fraction(1, 1000), refusing(series, lambda lam: True))


def test_snapshots_name_the_lambda() -> None:
    problem = large_problem(rows=2000)
    solver.regularization_path(XOR.problem(), "0.001")  # Compiles, which is no time of a search.
    seen: list[Snapshot] = []
    monitor = Monitor(snapshot=seen.append, interval=0)
    path = solver.regularization_path(problem, "0.001", monitor=monitor)
    assert path.status is Status.OPTIMAL
    solved = {snapshot.lam for snapshot in seen}
    assert solved <= {point.lam for point in path.points}
    assert len(solved) == path.solves
    assert all(a.seconds <= b.seconds for a, b in pairwise(seen))
    for snapshot in seen:
        assert snapshot.lam is not None
        assert snapshot.state is not None
        assert snapshot.lower_bound <= path.objective_at(snapshot.lam) <= snapshot.objective
        assert score(problem, snapshot.tree, snapshot.lam).objective == snapshot.objective


def test_bad_input_is_refused() -> None:
    problem = XOR.problem()
    with pytest.raises(InputError, match="λ = -1 is negative"):
        solver.regularization_path(problem, -1)
    with pytest.raises(InputError, match="no solver 'magic'"):
        solver.regularization_path(problem, 0, "magic")
    with pytest.raises(InputError, match="has no option 'speed'"):
        solver.regularization_path(problem, 0, speed=9)
    with pytest.raises(UnsupportedError, match="limit 'splits'"):
        solver.regularization_path(problem, 0, "tao", Limits(splits=2))
