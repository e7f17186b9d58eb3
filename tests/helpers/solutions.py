"""What holds for the solutions of every solver."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from solver.base import Solver
from solver.catalogue import get_solver
from solver.limits import Limits
from solver.problem.problem import Problem
from solver.solution import Solution, Status
from solver.trees.tree import Tree
from solver.verify.scorer import score
from tests.helpers.strategies import Table


def check_solution(problem: Problem, solution: Solution, lam: Fraction, limits: Limits) -> None:
    """What holds for every answer of every solver, whatever its status."""
    points = score(problem, solution.tree, lam)
    assert (points.errors, points.splits) == (solution.errors, solution.splits)
    assert points.objective == solution.objective == solution.loss + lam * solution.splits
    assert solution.tree.errors == solution.errors
    assert solution.total_weight == problem.total_weight
    assert solution.lam == lam
    assert Tree.from_json(solution.tree.to_json()) == solution.tree
    assert solution.status.has_tree
    check_limits(solution.tree, limits)
    if solution.lower_bound is None:
        # Without a bound: a heuristic, which a limit of time or a stop may have cut.
        assert solution.status in (Status.HEURISTIC, Status.TIME_LIMIT, Status.STOPPED)
        if solution.status is not Status.HEURISTIC:
            assert not get_solver(solution.solver).capabilities.proves
        assert solution.gap is None
    else:
        assert 0 <= solution.lower_bound <= solution.objective
        assert (solution.status is Status.OPTIMAL) == (solution.gap == 0)
    for before, after in zip(solution.trace, solution.trace[1:], strict=False):
        assert before.seconds <= after.seconds
        assert before.objective >= after.objective
        if before.lower_bound is not None and after.lower_bound is not None:
            assert before.lower_bound <= after.lower_bound
    if solution.trace:
        assert solution.trace[-1].objective == pytest.approx(float(solution.objective))


def check_limits(tree: Tree, limits: Limits) -> None:
    """The tree keeps the structural limits."""
    assert limits.depth is None or tree.depth <= limits.depth
    assert limits.splits is None or tree.splits <= limits.splits
    if limits.min_leaf_size is not None and tree.splits:
        sizes = [sum(node.counts) for node in tree.nodes if node.is_leaf]
        assert all(size == 0 or size >= limits.min_leaf_size for size in sizes)


def check_against_oracle(
    kind: type[Solver], options: dict[str, Any], table: Table, lam: Fraction, limits: Limits
) -> None:
    """A solver that proves finds the oracle's optimum, one that does not is no better."""
    problem = table.problem()
    solution = kind(**options).solve(problem, lam, limits)
    check_solution(problem, solution, lam, limits)
    best = table.optimum(lam, limits)
    assert solution.objective >= best.objective
    if kind.capabilities.proves:
        assert solution.status is Status.OPTIMAL
        assert solution.objective == solution.lower_bound == best.objective
        if lam > 0:
            assert solution.splits == best.splits
