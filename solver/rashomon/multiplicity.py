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
from solver.rashomon.graph import EXPANDED_NODES, Graph
from solver.rashomon.subproblems import Space

Ways = Mapping[int, int]
"""A cost, and in how many ways it comes about."""


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
        self._budget, self._price = int(graph.budget[0]), int(space.split)
        self._costs: dict[int, dict[int, int]] = {}

    @cached_property
    def of_points(self) -> NDArray[np.object_]:
        """How many trees predict each class for each row of the problem: (rows, classes)."""
        table = np.zeros((len(self._problem.codes), self._problem.n_classes), dtype=object)
        for node, number in self._ends(None):
            table[self._points(node), self._class_of(node)] += number
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
            counts[self._class_of(node)] += number
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
        """By the cost of a node's trees, the largest weight of rows that one predicts otherwise."""
        leaf, highest = int(self._space.memo.leaf[node]), int(self._graph.budget[node])
        found: dict[int, int] = {}
        if leaf <= highest:
            points = self._points(node)
            found[leaf] = int(weights[points[classes[points] != self._class_of(node)]].sum())
        for split in self._trees.splits_of(node):
            below = {self._price: 0}
            for child in _nodes(split):
                joined: dict[int, int] = {}
                for cost, weight in below.items():
                    for more, others in best[child].items():
                        if cost + more <= highest:
                            value = max(joined.get(cost + more, 0), weight + others)
                            joined[cost + more] = value
                below = joined
            for cost, weight in below.items():
                found[cost] = max(found.get(cost, 0), weight)
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
            leaf = int(self._space.memo.leaf[node])
            number = sum(n for cost, n in ways.items() if cost + leaf <= self._budget)
            for split in self._trees.splits_of(node):
                copies = self._trees.copies[split.feature]
                begun = {cost + self._price: copies * n for cost, n in ways.items()}
                taken = _nodes(split) if codes is None else _taken(split, codes)
                for child in taken:
                    others = [other for other in _nodes(split) if other != child]
                    into = outside.setdefault(child, {})
                    spare = self._budget - min(self._costs_of(child))
                    for cost, n in self._joined(begun, others, spare).items():
                        into[cost] = into.get(cost, 0) + n
                if not taken:  # no row of the problem is there: the leaf predicts as its parent
                    number += sum(self._joined(begun, _nodes(split), self._budget).values())
            if number:
                yield node, number

    def _joined(self, ways: Ways, nodes: Sequence[int], highest: int) -> Ways:
        """Ways together with the trees of some nodes, up to a cost."""
        spare = highest - sum(min(self._costs_of(node)) for node in nodes)
        for node in nodes:
            spare += min(self._costs_of(node))
            joined: dict[int, int] = {}
            for cost, number in ways.items():
                for more, trees in self._costs_of(node).items():
                    if cost + more > spare:
                        break
                    joined[cost + more] = joined.get(cost + more, 0) + number * trees
            ways = joined
        return ways

    def _costs_of(self, node: int) -> dict[int, int]:
        """How many trees of a node have which cost, the cheapest first."""
        if node not in self._costs:
            found: dict[int, int] = {}
            for (cost, _), number in self._trees.cells_of(node).items():
                found[cost] = found.get(cost, 0) + number
            self._costs[node] = found
        return self._costs[node]

    def _points(self, node: int) -> Ints:
        bits = self._space.memo.sets[node].view(np.uint8)
        return np.flatnonzero(np.unpackbits(bits, bitorder="little"))

    def _class_of(self, node: int) -> int:
        """The majority class, the first one in a tie."""
        return int(self._problem.counts[self._points(node)].sum(axis=0).argmax())


def _nodes(split: Split) -> list[int]:
    return [child for child in split.children if child is not None]


def _taken(split: Split, codes: Sequence[int]) -> list[int]:
    """The child that a row goes to; none if no row of the problem goes there."""
    code = codes[split.feature]
    child = split.children[code] if code >= 0 else None
    return [] if child is None else [child]
