"""The trees that a search may choose from."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from solver.limits import Limits
from solver.objective.exact_objective import INFINITE
from solver.problem.problem import Problem
from solver.trees.tree import Tree


class TreeConstraints(NamedTuple):
    """Limits on the tree, as the engines use them.

    Parameters
    ----------
    budgets : int
        Number of split budgets with bounds of their own: 1 without a limit on splits, else
        limit + 1. Entry ``b`` bounds the trees of at most ``b`` splits.
    depth : int
        Longest path.
    min_leaf : int
        Smallest weight of a leaf with rows.
    max_arity : int
        Most children of a split, at least 2.
    """

    budgets: int
    depth: int
    min_leaf: int
    max_arity: int

    @classmethod
    def of(cls, problem: Problem, lam: Fraction, limits: Limits) -> TreeConstraints:
        """The constraints of a search."""
        splits, depth = limits.splits, limits.depth
        # No optimal tree has that many splits, so a looser limit is none.
        bounded = splits is not None and splits < most_splits(problem, lam)
        if splits == 0:
            depth = 0
        return cls(
            budgets=splits + 1 if splits and bounded else 1,
            depth=INFINITE if depth is None else depth,
            min_leaf=max(int(limits.min_leaf_size or 0), 1),
            max_arity=problem.max_arity,
        )


def most_splits(problem: Problem, lam: Fraction) -> int:
    """Splits that no optimal tree exceeds: it would cost more than the tree without a split."""
    if lam == 0:
        return len(problem.codes) - 1
    return min(len(problem.codes) - 1, int(problem.leaf_errors / (lam * problem.total_weight)))


def keeps_limits(tree: Tree, limits: Limits) -> bool:
    """Whether a tree keeps the structural limits; leaves without rows may be of any size."""
    if limits.depth is not None and tree.depth > limits.depth:
        return False
    if limits.splits is not None and tree.splits > limits.splits:
        return False
    smallest = limits.min_leaf_size
    if smallest is None or tree.splits == 0:
        return True
    sizes = (sum(node.counts) for node in tree.nodes if node.is_leaf)
    return all(not 0 < size < smallest for size in sizes)
