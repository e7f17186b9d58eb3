"""How many good trees predict which class for a row, and how far good trees disagree.

A tree takes each row to one leaf. Trees are counted by what is outside of a subproblem: how many
ways there are to complete a tree around it, by their cost. Nothing is enumerated.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from solver.features.to_pandas import as_frame
from solver.kernels.constants import Ints
from solver.problem.problem import Problem
from solver.rashomon.enumerate_trees import GoodTrees, Split
from solver.rashomon.kernels.expand_graph import EXPANDED_NODES, Graph
from solver.rashomon.kernels.state import Space

Ways = Mapping[int, int]
"""A size, and in how many ways it comes about.

A size is a cost. Under a limit on splits it is a multiple of the cost, and below that the splits.
"""


class Multiplicity(NamedTuple):
    """How far good trees disagree with one of them, as shares of the training weight.

    Marx, Calmon and Ustun, *Predictive Multiplicity in Classification*, ICML 2020.

    Parameters
    ----------
    ambiguity : Fraction
        Rows for which some good tree predicts another class.
    discrepancy : Fraction
        The most rows for which one good tree predicts another class.
    """

    ambiguity: Fraction
    discrepancy: Fraction


class Predictions:
    """Counts predictions of the trees of a graph."""

    def __init__(self, problem: Problem, space: Space, graph: Graph, trees: GoodTrees) -> None:
        self._problem, self._space, self._graph, self._trees = problem, space, graph, trees
        self._order: list[int] = graph.order[: graph.used[EXPANDED_NODES]].tolist()
        self._most_splits = int(space.most_splits)
        limited = self._most_splits < len(problem.codes)
        self._scale = len(problem.codes) if limited else 1
        self._price = self._size(int(space.split), 1)
        self._sizes: dict[int, dict[int, int]] = {}

    def _size(self, cost: int, splits: int) -> int:
        return cost * self._scale + (splits if self._scale > 1 else 0)

    def _highest(self, cost: int) -> int:
        """The largest size of a cost."""
        return (cost + 1) * self._scale - 1

    def _fits(self, size: int) -> bool:
        """Whether a tree has as few splits as a good one; 0 are counted without a limit."""
        return size % self._scale <= self._most_splits

    @property
    def _most(self) -> int:
        """The largest size of a good tree."""
        return self._highest(int(self._graph.budget[0]))

    @cached_property
    def of_points(self) -> NDArray[np.object_]:
        """How many trees predict each class for each row of the problem: (rows, classes)."""
        table = np.zeros((len(self._problem.codes), self._problem.n_classes), dtype=object)
        for node, number in self._ends(None):
            table[self._trees.points_of(node), self._trees.class_of(node)] += number
        return table

    def of_rows(self, frame: pd.DataFrame) -> NDArray[np.object_]:
        """The same for raw rows, also such as no row of the problem is like."""
        frame = as_frame(frame)
        codes = np.zeros((len(frame), self._problem.n_features), np.int64)
        for feature in self._trees.features:
            stump = self._problem.grow((feature, (-1,) * int(self._problem.arities[feature])))
            codes[:, feature] = stump.apply(frame) - 1  # -1: it knows no branch for the row
        asked = sorted(self._trees.features)
        known = {tuple(c): place for place, c in enumerate(self._problem.codes[:, asked].tolist())}
        found: dict[tuple[int, ...], NDArray[np.object_]] = {}
        for row in map(tuple, np.unique(codes, axis=0).tolist()):
            place = known.get(tuple(row[feature] for feature in asked))
            found[row] = self._of_codes(row) if place is None else self.of_points[place]
        table = np.zeros((len(frame), self._problem.n_classes), dtype=object)
        for place, row in enumerate(map(tuple, codes.tolist())):
            table[place] = found[row]
        return table

    def _of_codes(self, codes: Sequence[int]) -> NDArray[np.object_]:
        counts = np.zeros(self._problem.n_classes, dtype=object)
        for node, number in self._ends(codes):
            counts[self._trees.class_of(node)] += number
        return counts

    def multiplicity(self, classes: Ints) -> Multiplicity:
        """How far trees disagree with these predictions for the rows of the problem."""
        weights, places = self._problem.counts.sum(axis=1), np.arange(len(classes))
        agreeing = self.of_points[places, classes]
        ambiguous = int(weights[agreeing != self.of_points.sum(axis=1)].sum())
        best: dict[int, dict[int, int]] = {}
        for node in reversed(self._order):
            best[node] = self._most_disagreement(node, classes, weights, best)
        total = self._problem.total_weight
        return Multiplicity(Fraction(ambiguous, total), Fraction(max(best[0].values()), total))

    def _most_disagreement(
        self, node: int, classes: Ints, weights: Ints, best: Mapping[int, Mapping[int, int]]
    ) -> dict[int, int]:
        """By the size of a node's trees, the largest weight of rows that one predicts otherwise."""
        leaf = self._size(int(self._space.memo.leaf[node]), 0)
        highest = self._highest(int(self._graph.budget[node]))
        found: dict[int, int] = {}
        if leaf <= highest:
            points = self._trees.points_of(node)
            found[leaf] = int(weights[points[classes[points] != self._trees.class_of(node)]].sum())
        for split in self._trees.splits_of(node):
            below = {self._price: 0}
            for child in _nodes(split):
                joined: dict[int, int] = {}
                for size, weight in below.items():
                    for more, others in best[child].items():
                        if size + more <= highest and self._fits(size + more):
                            value = max(joined.get(size + more, 0), weight + others)
                            joined[size + more] = value
                below = joined
            for size, weight in below.items():
                found[size] = max(found.get(size, 0), weight)
        return found

    def _ends(self, codes: Sequence[int] | None) -> Iterator[tuple[int, int]]:
        """The nodes whose class trees predict, and how many trees do so there.

        Parameters
        ----------
        codes : sequence of int, optional
            Only where a row with these codes ends; −1 is a code without a branch. By default where
            any row of the problem ends.
        """
        outside: dict[int, dict[int, int]] = {0: {0: 1}}
        for node in self._order:
            ways = outside.pop(node, None)
            if ways is None:
                continue
            leaf = self._size(int(self._space.memo.leaf[node]), 0)
            number = sum(n for size, n in ways.items() if size + leaf <= self._most)
            for split in self._trees.splits_of(node):
                copies = self._trees.copies[split.feature]
                begun = {
                    size + self._price: copies * n
                    for size, n in ways.items() if self._fits(size + self._price)
                }  # fmt: skip
                taken = _nodes(split) if codes is None else _taken(split, codes)
                for child in taken:
                    others = [other for other in _nodes(split) if other != child]
                    into = outside.setdefault(child, {})
                    spare = self._most - min(self._sizes_of(child))
                    for size, n in self._joined(begun, others, spare).items():
                        into[size] = into.get(size, 0) + n
                if not taken:  # no row of the problem is there: the leaf predicts as its parent
                    number += sum(self._joined(begun, _nodes(split), self._most).values())
            if number:
                yield node, number

    def _joined(self, ways: Ways, nodes: Sequence[int], highest: int) -> Ways:
        """Ways together with the trees of some nodes, up to a size."""
        spare = highest - sum(min(self._sizes_of(node)) for node in nodes)
        for node in nodes:
            spare += min(self._sizes_of(node))
            joined: dict[int, int] = {}
            for size, number in ways.items():
                for more, trees in self._sizes_of(node).items():
                    if size + more > spare:
                        break
                    if self._fits(size + more):
                        joined[size + more] = joined.get(size + more, 0) + number * trees
            ways = joined
        return ways

    def _sizes_of(self, node: int) -> dict[int, int]:
        """How many trees of a node have which size, the cheapest first."""
        if node not in self._sizes:
            found: dict[int, int] = {}
            for pair, number in self._trees.cells_of(node).items():
                size = self._size(*pair)
                found[size] = found.get(size, 0) + number
            self._sizes[node] = found
        return self._sizes[node]


def _nodes(split: Split) -> list[int]:
    return [child for child in split.children if child is not None]


def _taken(split: Split, codes: Sequence[int]) -> list[int]:
    """The child that a row goes to; none if no row of the problem goes there."""
    code = codes[split.feature]
    child = split.children[code] if code >= 0 else None
    return [] if child is None else [child]
