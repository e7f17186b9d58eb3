"""The subtrees of a tree that are best for some λ: minimal cost-complexity pruning, exactly."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from solver.objective.exact_objective import Errors
from solver.trees.tree import Node, Shape, Tree, shape_of


class Pruned(NamedTuple):
    """A tree of which branches were cut back to leaves."""

    errors: Errors
    splits: int
    shape: Shape


def prunings(tree: Tree) -> Iterator[Pruned]:
    """Weakest-link pruning: every pruned tree that is the best of all for some λ.

    The largest comes first: the tree itself without splits that gain nothing. The last is the leaf.

    References
    ----------
    Breiman, Friedman, Olshen, Stone, "Classification and Regression Trees" (1984), chapter 3.
    """
    nodes = tree.nodes
    errors = [node.errors for node in nodes]
    alive = [not node.is_leaf for node in nodes]
    while True:
        below, splits = _sum_up(nodes, errors, alive)
        # What a branch gains, as gained / splits.
        gained: Errors = 0
        by = 1
        weakest: list[int] = []
        for i, kept in enumerate(alive):
            gain = errors[i] - below[i]
            if not kept or (weakest and gain * by > gained * splits[i]):
                continue
            if not weakest or gain * by < gained * splits[i]:
                gained, by, weakest = gain, splits[i], []
            weakest.append(i)
        if gained > 0 or not weakest:
            yield Pruned(below[0], splits[0], shape_of(tree, alive))
        if not weakest:
            return
        for i in weakest:
            _cut(nodes, alive, i)


def _sum_up(
    nodes: tuple[Node, ...], errors: list[Errors], alive: list[bool]
) -> tuple[list[Errors], list[int]]:
    """Errors and splits of the subtree at every node."""
    below, splits = list(errors), [0] * len(nodes)
    for i in reversed(range(len(nodes))):  # children come after their parents
        if alive[i]:
            below[i] = sum(below[child] for child in nodes[i].children)
            splits[i] = 1 + sum(splits[child] for child in nodes[i].children)
    return below, splits


def _cut(nodes: tuple[Node, ...], alive: list[bool], at: int) -> None:
    """Make a leaf of a node."""
    pending = [at]
    for i in pending:
        if alive[i]:
            alive[i] = False
            pending += nodes[i].children
