"""The start of mode ``paper``: the table of a problem, and CART's tree."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from solver.engine.tree_constraints import TreeConstraints
from solver.limits import Limits
from solver.problem.problem import Problem
from solver.quantbnb.classification.greedy import greedy_tree
from solver.quantbnb.paper.engine import PaperEngine
from solver.quantbnb.paper.state import tabulate_classes, tabulate_squares
from solver.trees.tree import Shape


def begin(
    problem: Problem,
    cost_scale: Any,
    constraints: TreeConstraints,
    limits: Limits,
    bound: str,
    pieces: int,
) -> PaperEngine:
    """The paper's search of a problem with ordered or binary features, from CART's best tree.

    ``bound`` is one of :data:`solver.quantbnb.paper.state.BOUNDS`, ``pieces`` the paper's s.
    InputError if costs would not be exact.
    """
    began = time.perf_counter()

    def out_of_time() -> bool:
        return limits.seconds is not None and time.perf_counter() - began > limits.seconds

    initial_tree: Shape | None = None
    if problem.values is None:
        table = tabulate_classes(problem.codes, problem.counts)
        initial_tree = greedy_tree(problem, cost_scale, constraints, out_of_time)
    else:
        table = tabulate_squares(problem.codes, problem.counts[:, 0], problem.values)
    return PaperEngine(
        table,
        problem.arities.astype(np.int64),
        cost_scale,
        min(constraints.depth, max(len(table.weights) - 1, 0)),
        constraints.min_leaf,
        bound,
        pieces,
        initial_tree=initial_tree,
        room=limits.bytes,
    )
