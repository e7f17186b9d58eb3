"""The trees of a Rashomon set: one after the other, at random, and by their roots."""

from __future__ import annotations

import random
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from solver.kernels.constants import Ints
from solver.problem.problem import Problem
from solver.rashomon.exact_counts import ExactCounts
from solver.rashomon.kernels.expand_graph import EDGES, EXPANDED_NODES, Graph
from solver.rashomon.kernels.state import Space
from solver.trees.tree import Shape

Pair = tuple[int, int]
"""A cost, and a number of splits."""


class Split(NamedTuple):
    """A split of the graph; ``children`` are nodes, None where no row is."""

    feature: int
    children: tuple[int | None, ...]


class GoodTrees:
    """Reads trees out of a graph."""

    def __init__(
        self, problem: Problem, space: Space, graph: Graph, counts: ExactCounts, copies: Ints
    ) -> None:
        self._problem, self._space, self._graph = problem, space, graph
        self._counts, self.copies = counts, copies.tolist()
        self._cells: dict[int, dict[Pair, int]] = {}
        self._ways: dict[tuple[tuple[int, ...], Pair], int] = {}

    @cached_property
    def features(self) -> set[int]:
        """The features of all splits."""
        return set(self._graph.feature[: self._graph.used[EDGES]].tolist())

    @cached_property
    def _place(self) -> dict[int, int]:
        """The place of each node in the order of the graph."""
        order = self._graph.order[: self._graph.used[EXPANDED_NODES]].tolist()
        return {node: place for place, node in enumerate(order)}

    def splits_of(self, node: int) -> Iterator[Split]:
        place, graph = self._place[node], self._graph
        first = int(graph.ends[place - 1]) if place else 0
        for edge in range(first, int(graph.ends[place])):
            feature, at = int(graph.feature[edge]), int(graph.first_child[edge])
            if not self.copies[feature]:
                continue
            arity = int(self._problem.arities[feature])
            children = graph.children[at : at + arity].tolist()
            yield Split(feature, tuple(None if c < 0 else c for c in children))

    def cells_of(self, node: int) -> dict[Pair, int]:
        """How many trees of a node have which cost and splits, the cheapest first."""
        if node not in self._cells:
            first, end = self._counts.cells_of(node)
            costs = self._counts.cells.cost[first:end].tolist()
            splits = self._counts.cells.splits[first:end].tolist()
            numbers = map(self._counts.number, range(first, end))
            self._cells[node] = dict(zip(zip(costs, splits, strict=True), numbers, strict=True))
        return self._cells[node]

    def points_of(self, node: int) -> Ints:
        """The rows of the problem that are in a node."""
        bits = self._space.memo.sets[node].view(np.uint8)
        return np.flatnonzero(np.unpackbits(bits, bitorder="little"))

    def class_of(self, node: int) -> int:
        """The majority class of a node, the first one in a tie."""
        return int(self._problem.counts[self.points_of(node)].sum(axis=0).argmax())

    def _rest(self, pair: Pair, taken: Pair) -> Pair:
        return pair[0] - taken[0], pair[1] - taken[1]

    def below(self, pair: Pair) -> Pair:
        """What is left to the children of a split."""
        return pair[0] - int(self._space.split), pair[1] - 1

    def _number(self, nodes: tuple[int, ...], pair: Pair) -> int:
        """In how many ways trees of some nodes have a cost and splits together."""
        if len(nodes) == 1:
            return self.cells_of(nodes[0]).get(pair, 0)
        key = nodes, pair
        if key not in self._ways:
            self._ways[key] = sum(
                number * self._number(nodes[1:], self._rest(pair, taken))
                for taken, number in self.cells_of(nodes[0]).items()
                if taken[0] <= pair[0] and taken[1] <= pair[1]
            )
        return self._ways[key]

    def ways(self, nodes: tuple[int, ...], pair: Pair) -> Iterator[tuple[Pair, Pair]]:
        """What the first of some nodes may take of a cost and splits, and what the others have
        left."""
        if len(nodes) == 1:
            if pair in self.cells_of(nodes[0]):
                yield pair, (0, 0)
            return
        for taken in self.cells_of(nodes[0]):
            rest = self._rest(pair, taken)
            if rest[0] >= 0 and rest[1] >= 0 and self._number(nodes[1:], rest):
                yield taken, rest

    def shapes(
        self,
        roots: Collection[int] | None = None,
        first: Callable[[Pair], int] = lambda pair: 0,
    ) -> Iterator[tuple[Pair, Shape]]:
        """All trees with their costs and splits, or those with one of these features at the root.

        Those come first whose cost and splits ``first`` gives the least number, of these the best.
        """
        for pair in sorted(self.cells_of(0), key=first):
            for shape in self._of_node(0, pair, roots):
                yield pair, shape

    def _of_node(
        self, node: int, pair: Pair, features: Collection[int] | None = None
    ) -> Iterator[Shape]:
        """Trees with this cost and splits; their first split has one of the features, if given."""
        if pair[1] == 0:
            if features is None:
                yield -1
            return
        for split in self.splits_of(node):
            if features is not None and split.feature not in features:
                continue
            nodes = tuple(c for c in split.children if c is not None)
            for shapes in self._of_nodes(nodes, self.below(pair)):
                yield _shape(split, shapes)

    def _of_nodes(self, nodes: tuple[int, ...], pair: Pair) -> Iterator[tuple[Shape, ...]]:
        """Trees of some nodes with a cost and splits together."""
        if not self._number(nodes, pair):
            return
        if len(nodes) == 1:
            for shape in self._of_node(nodes[0], pair):
                yield (shape,)
            return
        for taken, rest in self.ways(nodes, pair):
            for shape in self._of_node(nodes[0], taken):
                for others in self._of_nodes(nodes[1:], rest):
                    yield (shape, *others)

    def draw(self, chance: random.Random) -> Shape:
        """A tree, each equally likely."""
        cells = self.cells_of(0)
        at = chance.randrange(sum(cells.values()))
        ends = list(accumulate(cells.values()))
        return self._draw_node(0, list(cells)[bisect_right(ends, at)], chance)

    def _draw_node(self, node: int, pair: Pair, chance: random.Random) -> Shape:
        if pair[1] == 0:
            return -1
        below, at = self.below(pair), chance.randrange(self.cells_of(node)[pair])
        for split in self.splits_of(node):
            nodes = tuple(c for c in split.children if c is not None)
            at -= self.copies[split.feature] * self._number(nodes, below)
            if at < 0:
                return _shape(split, self._draw_nodes(nodes, below, chance))
        raise AssertionError("the splits of a node have fewer trees than the node")

    def _draw_nodes(
        self, nodes: tuple[int, ...], pair: Pair, chance: random.Random
    ) -> tuple[Shape, ...]:
        if len(nodes) == 1:
            return (self._draw_node(nodes[0], pair, chance),)
        at = chance.randrange(self._number(nodes, pair))
        for taken, number in self.cells_of(nodes[0]).items():
            rest = self._rest(pair, taken)
            if rest[0] >= 0 and rest[1] >= 0:
                at -= number * self._number(nodes[1:], rest)
                if at < 0:
                    shape = self._draw_node(nodes[0], taken, chance)
                    return (shape, *self._draw_nodes(nodes[1:], rest, chance))
        raise AssertionError("the cells of a node have fewer trees than its split")

    def root_features(self) -> dict[int, dict[Pair, int]]:
        """For each feature, how many trees with it at the root have which cost and splits."""
        found: dict[int, dict[Pair, int]] = {}
        for split in self.splits_of(0):
            nodes, copies = tuple(c for c in split.children if c is not None), self.copies
            numbers = {pair: self._number(nodes, self.below(pair)) for pair in self.cells_of(0)}
            found[split.feature] = {p: copies[split.feature] * n for p, n in numbers.items() if n}
        return found


def _shape(split: Split, shapes: tuple[Shape, ...]) -> Shape:
    """A split with these trees below it; children without rows are leaves."""
    below = iter(shapes)
    return split.feature, tuple(-1 if c is None else next(below) for c in split.children)
