"""The subtrees of a tree that are best for some λ: minimal cost-complexity pruning, exactly."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import NamedTuple

from solver.features.oblique_tests import SurfaceTest
from solver.objective.exact_objective import Errors
from solver.trees.tree import Node, Tree, columns_read


class Pruned(NamedTuple):
    """A tree whose branches are cut back to leaves.

    ``kept`` says of each node of the tree ``whole`` whether it stays a split.
    """

    errors: Errors
    splits: int
    whole: Tree
    kept: Sequence[bool]

    def tree(self) -> Tree:
        """The pruned tree itself, as its shape would grow; no row is needed."""
        nodes, tests = self.whole.nodes, self.whole.tests
        stays = [True] * len(nodes)
        for i, node in enumerate(nodes):  # children come after their parents
            for child in node.children:
                stays[child] = stays[i] and self.kept[i]
        asked = [node.feature for node, kept in zip(nodes, self.kept, strict=True) if kept]
        numbers = {feature: feature for feature in asked if feature is not None}
        # Tests that are no features have the numbers from some number on, in the order of nodes.
        others = sorted(f for f, test in tests.items() if isinstance(test, SurfaceTest))
        if others:
            numbers |= dict(zip((f for f in numbers if f in others), others, strict=False))
        place = list(accumulate(stays, initial=0))
        left = {numbers[feature]: tests[feature] for feature in numbers}
        own = [
            node
            if node.feature is None
            else Node(
                node.counts,
                node.prediction,
                numbers[node.feature] if kept else None,
                tuple([place[child] for child in node.children]) if kept else (),
                node.value,
                node.squared_error,
            )
            for node, kept, stay in zip(nodes, self.kept, stays, strict=True)
            if stay
        ]
        columns = columns_read(self.whole.columns, left.values())
        return replace(self.whole, nodes=tuple(own), tests=left, columns=columns)


def prunings(tree: Tree) -> Iterator[Pruned]:
    """Weakest-link pruning: every pruned tree that is the best of all for some λ.

    The largest comes first: the tree itself without splits that gain nothing. The last is the leaf.

    References
    ----------
    Breiman, Friedman, Olshen, Stone, "Classification and Regression Trees" (1984), chapter 3.
    """
    nodes = tree.nodes
    splits, gains, parents = _sum_up(nodes)
    alive = [not node.is_leaf for node in nodes]
    left = [i for i, kept in enumerate(alive) if kept]
    root = nodes[0].errors
    while True:
        # What a branch gains, as gained / splits.
        gained: Errors = 0
        by = 1
        weakest: list[int] = []
        for i in left:
            more, less = gains[i] * by, gained * splits[i]
            if weakest and more > less:
                continue
            if not weakest or more < less:
                gained, by, weakest = gains[i], splits[i], []
            weakest.append(i)
        if gained > 0 or not weakest:
            yield Pruned(root - gains[0], splits[0], tree, tuple(alive))
        if not weakest:
            return
        for i in weakest:
            if alive[i]:
                _cut(nodes, alive, i)
                _take_off(i, splits, gains, parents)
        left = [i for i in left if alive[i]]


def _sum_up(nodes: tuple[Node, ...]) -> tuple[list[int], list[Errors], list[int]]:
    """Of the branch at every node: its splits, the errors that they spare, and the parent, −1 of
    the root."""
    splits, parents = [0] * len(nodes), [-1] * len(nodes)
    gains: list[Errors] = [0] * len(nodes)
    below = [node.errors for node in nodes]
    for i in reversed(range(len(nodes))):  # children come after their parents
        if not nodes[i].is_leaf:
            splits[i], gains[i] = 1, below[i]
            for child in nodes[i].children:
                splits[i] += splits[child]
                gains[i] -= below[child]
                parents[child] = i
            below[i] -= gains[i]
    return splits, gains, parents


def _cut(nodes: tuple[Node, ...], alive: list[bool], at: int) -> None:
    """Make a leaf of a node."""
    pending = [at]
    for i in pending:
        if alive[i]:
            alive[i] = False
            pending += nodes[i].children


def _take_off(at: int, splits: list[int], gains: list[Errors], parents: list[int]) -> None:
    """Let no node count the splits of a branch that is a leaf now, nor what they spare."""
    fewer, less, i = splits[at], gains[at], at
    while i >= 0:
        splits[i] -= fewer
        gains[i] -= less
        i = parents[i]
