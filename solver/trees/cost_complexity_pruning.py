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
            yield Pruned(below[0], splits[0], tree, tuple(alive))
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
            below[i] = sum([below[child] for child in nodes[i].children])
            splits[i] = 1 + sum([splits[child] for child in nodes[i].children])
    return below, splits


def _cut(nodes: tuple[Node, ...], alive: list[bool], at: int) -> None:
    """Make a leaf of a node."""
    pending = [at]
    for i in pending:
        if alive[i]:
            alive[i] = False
            pending += nodes[i].children
