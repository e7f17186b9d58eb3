"""A search of BRANCHES step by step, and an oracle for what its memo says of every branch."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from solver import Limits, Problem
from solver.branches.engine import ThresholdEngine
from solver.branches.kernels.state import NODES
from solver.branches.params import OPTIONS
from solver.engine.tree_constraints import TreeConstraints
from solver.kernels.constants import FULL, PROVEN
from solver.lambda_series import Solve
from solver.objective.exact_objective import INFINITE, CostScale
from tests import naive
from tests.helpers.strategies import Table

DEFAULTS: dict[str, Any] = {name: option.default for name, option in OPTIONS.items()}


def engine_of(
    problem: Problem, lam: Fraction, limits: Limits, options: Mapping[str, Any]
) -> ThresholdEngine:
    """The engine of a search that has not begun."""
    scale = CostScale.build(lam, problem.total_weight, problem.leaf_errors, len(problem.codes) - 1)
    constraints = TreeConstraints.of(problem, lam, limits)
    return ThresholdEngine(problem, scale, constraints, {**DEFAULTS, **options})


def finish(engine: ThresholdEngine) -> ThresholdEngine:
    """Search to the end."""
    while (outcome := engine.step(10**6, -1)) != PROVEN:
        assert outcome != FULL or engine.grow(None)
    return engine


def check_solve(
    solve: Solve, table: Table, lam: Fraction, limits: Limits, nodes: int | None
) -> None:
    """Solve at one λ of a series, under a limit of nodes or none: the answer is the oracle's."""
    best = table.optimum(lam, limits)
    found = solve(lam, dataclasses.replace(limits, nodes=nodes))
    assert found.lower_bound is not None
    assert found.lower_bound <= best.objective <= found.objective
    if nodes is None:
        assert found.lower_bound == found.objective == best.objective
        assert found.splits == best.splits or lam == 0  # where splits are free


def rows_of(engine: ThresholdEngine, node: int) -> list[int]:
    """The rows of the problem that obey the literals of a node."""
    memo, values = engine.memo, engine.table.values
    start, count = memo.node_literals[node]
    inside = np.ones(len(engine.problem.codes), bool)
    for literal in memo.literals[start : start + count]:
        feature = int(np.searchsorted(values, literal, side="right")) - 1
        inside &= engine.problem.codes[:, feature] == literal - values[feature]
    return np.flatnonzero(inside).tolist()


def least_cost(
    engine: ThresholdEngine, rows: list[int], depth: int | None, splits: int | None
) -> int:
    """The cost of the best tree for some rows: the oracle looks at all trees."""
    problem, part = engine.problem, engine.problem.counts[rows]
    weight, price = int(part.sum()), engine.cost_scale.lam * engine.problem.total_weight
    best = naive.optimum(
        problem.codes[rows].tolist(),
        part.tolist(),
        problem.arities.tolist(),
        price / weight,
        depth=depth,
        splits=splits,
    )
    errors = best.objective * weight - price * best.splits
    assert errors.denominator == 1
    return engine.cost_scale.cost(int(errors), best.splits)


def fewest_errors(engine: ThresholdEngine, rows: list[int], splits: int) -> int:
    """The errors of the best tree of at most so many splits for some rows, in units of the table:
    the oracle looks at all trees."""
    problem, part = engine.problem, engine.problem.counts[rows]
    codes, arities = problem.codes[rows].tolist(), problem.arities.tolist()
    best = naive.optimum(codes, part.tolist(), arities, Fraction(0), splits=splits)
    return int(best.objective * int(part.sum()) / engine.unit)


def check_bounds(engine: ThresholdEngine, nodes: int = 40) -> None:
    """Compare the bounds of the first so many branches with the oracle, for every number of
    splits; and the fewest errors as a leaf and with one split, which other λ use."""
    seen = dict[Any, int]()
    for node in range(min(int(engine.memo.used[NODES]), nodes)):
        rows, level = rows_of(engine, node), int(engine.memo.node_literals[node, 1])
        depth = None if engine.params.depth >= INFINITE else engine.params.depth - level
        for b in range(engine.params.budgets):
            splits = None if engine.params.budgets == 1 else b
            key = tuple(rows), depth, splits
            if key not in seen:
                seen[key] = least_cost(engine, rows, depth, splits)
            assert engine.memo.node_lower[node, b] <= seen[key] <= engine.memo.node_upper[node, b]
        as_leaf, with_split = engine.memo.node_errors[node]
        assert as_leaf == fewest_errors(engine, rows, 0)
        assert with_split <= fewest_errors(engine, rows, 1)
