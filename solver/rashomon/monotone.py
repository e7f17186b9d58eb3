"""Good trees whose prediction for a class never falls as a column grows.

Two rows are compared if they differ in this column only, and if each of their values is one of the
training rows', or lies between the same thresholds as one. If a tree predicts the class for the row
of the smaller value, it must do so for the other one. A missing value is smaller than all others.

Whether a tree is such follows from its parts: those below a split must be such, and a split on the
column must not lead smaller values to the class and larger ones to another where the other columns
allow both. So trees are put together of parts that satisfy the wish, each part once for a
subproblem and the values that reach it. Parts below a split on the column are tried pair by pair.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from solver.errors import InputError, UnsupportedError, unknown_name
from solver.features.node_tests import CategoryTest, NodeTest, ThresholdTest
from solver.problem.problem import Problem
from solver.rashomon.duplicate_features import TableFeature
from solver.rashomon.enumerate_trees import GoodTrees, Pair, Split
from solver.trees.tree import Shape

MOST_TRIED = 2_000_000
"""Pairs of parts that are tried before the search for a tree is given up."""

Box = tuple[int, ...]
"""For each column the values that it may have: a bit for each, the smallest first."""


class Leaf(NamedTuple):
    """The rows that a leaf takes, and the class that it predicts."""

    box: Box
    predicted: int


class Part(NamedTuple):
    """A tree of a subproblem; leaves that take no row are left out."""

    shape: Shape
    leaves: tuple[Leaf, ...]


class Rule(NamedTuple):
    """A column, by its place in a box, and the class whose prediction never falls as it grows."""

    column: int
    predicted: int

    def allows(self, some: Part, others: Part) -> bool:
        """Whether two parts may be below the same split."""
        return not any(self._falls(a, b) or self._falls(b, a) for a in some.leaves
                       for b in others.leaves)  # fmt: skip

    def _falls(self, low: Leaf, high: Leaf) -> bool:
        """Whether rows of the first leaf lose the class as they grow into the second one."""
        if low.predicted != self.predicted or high.predicted == self.predicted:
            return False
        smallest, largest = low.box[self.column], high.box[self.column]
        return (smallest & -smallest).bit_length() < largest.bit_length() and all(
            a & b
            for place, (a, b) in enumerate(zip(low.box, high.box, strict=True))
            if place != self.column
        )


class Values:
    """The values of all columns that features tell apart.

    Parameters
    ----------
    problem : Problem
    features : sequence of TableFeature

    Raises
    ------
    UnsupportedError
        If a feature reads several columns.
    """

    def __init__(self, problem: Problem, features: Sequence[TableFeature]) -> None:
        self._problem = problem
        self._of: dict[str, list[TableFeature]] = {}
        for feature in features:
            if len(feature.columns) != 1:
                raise UnsupportedError(
                    f"monotone trees are found for features of one column, not for {feature.name}"
                )
            self._of.setdefault(feature.columns[0], []).append(feature)
        self.columns = [*self._of]
        self._cells = [self._cells_of(column) for column in self.columns]

    def _cells_of(self, column: str) -> list[tuple[int, ...]]:
        """The codes of a column's features that some row has together."""
        codes = [
            np.array(feature.codes)[self._problem.codes[:, feature.place]]
            for feature in self._of[column]
        ]
        return [*map(tuple, np.unique(np.stack(codes, axis=1), axis=0).tolist())]

    def order(self, column: str) -> int:
        """Sort the values of a column, and return its place.

        Raises UnsupportedError if its values have no order, or are not known.
        """
        place, tests = self.columns.index(column), [f.full_test for f in self._of[column]]
        self._cells[place].sort(key=lambda cell: _value(column, tests, cell))
        return place

    @property
    def everything(self) -> Box:
        """All values."""
        return tuple((1 << len(cells)) - 1 for cells in self._cells)

    def branches(self, feature: TableFeature) -> tuple[int, tuple[int, ...]]:
        """The place of a feature's column, and its values that take each branch."""
        column = self.columns.index(feature.columns[0])
        at, cells = self._of[feature.columns[0]].index(feature), self._cells[column]
        return column, tuple(
            sum(1 << place for place, cell in enumerate(cells) if cell[at] == code)
            for code in range(feature.full_test.arity)
        )


def _value(column: str, tests: Sequence[NodeTest], cell: Sequence[int]) -> float:
    """A number that is larger for larger values of a column."""
    named = [
        test.groups[code]
        for test, code in zip(tests, cell, strict=True)
        if isinstance(test, CategoryTest) and len(test.groups[code]) == 1
    ]
    if (None,) in named:
        return float("-inf")
    if any(isinstance(test, ThresholdTest) for test in tests):
        passed = zip(tests, cell, strict=True)
        return sum(code for test, code in passed if isinstance(test, ThresholdTest))
    for (value,) in named:
        if not isinstance(value, str | None):
            return float(value)
        raise UnsupportedError(f"the values of column {column!r} are text and have no order")
    raise UnsupportedError(
        f"some values of column {column!r} have no feature of their own, so none are ordered; "
        "the encodings 'onehot' and 'categorical' give each value one, 'thresholds' orders numbers"
    )


class MonotoneTrees:
    """Reads monotone trees out of a graph. Of features that separate all rows alike each is tried.

    Parameters
    ----------
    trees : GoodTrees
        All trees.
    features : mapping of int to TableFeature
        Those that trees may ask, by their numbers.
    values : Values
    rules : sequence of Rule
    """

    def __init__(
        self,
        trees: GoodTrees,
        features: Mapping[int, TableFeature],
        values: Values,
        rules: Sequence[Rule],
    ) -> None:
        self._trees, self._rules, self._everything = trees, rules, values.everything
        self._questions: dict[int, list[_Question]] = {}
        for number, feature in features.items():
            column, masks = values.branches(feature)
            own = _Question(number, feature, column, masks)
            self._questions.setdefault(feature.place, []).append(own)
        self._parts: dict[tuple[int, Box, Pair], _Repeated] = {}
        self._tried = 0

    def shapes(
        self, roots: Collection[int] | None, first: Callable[[Pair], int]
    ) -> Iterator[tuple[Pair, Shape]]:
        """All such trees, or those with one of these features at the root, see
        :meth:`GoodTrees.shapes`.

        Raises
        ------
        InputError
            If too many parts of trees had to be tried.
        """
        for pair in sorted(self._trees.cells_of(0), key=first):
            for part in self._make(0, self._everything, pair, roots):
                yield pair, part.shape

    def _of_node(self, node: int, box: Box, pair: Pair) -> Iterator[Part]:
        key = node, box, pair
        if key not in self._parts:
            self._parts[key] = _Repeated(self._make(node, box, pair, None))
        return iter(self._parts[key])

    def _make(
        self, node: int, box: Box, pair: Pair, roots: Collection[int] | None
    ) -> Iterator[Part]:
        """The parts of a subproblem with a cost and splits; of the features at its root one."""
        if pair[1] == 0:
            if roots is None:
                yield self._leaf(node, box)
            return
        for split in self._trees.splits_of(node):
            for question in self._questions.get(split.feature, ()):
                if roots is None or question.number in roots:
                    yield from self._splits(node, box, split, question, self._trees.below(pair))

    def _splits(
        self, node: int, box: Box, split: Split, question: _Question, pair: Pair
    ) -> Iterator[Part]:
        """The parts whose first split is this one."""
        _, feature, place, masks = question
        boxes = [(*box[:place], box[place] & mask, *box[place + 1 :]) for mask in masks]
        rules = [rule for rule in self._rules if rule.column == place]
        nodes: list[int | None] = [None] * len(boxes)
        for code, child in zip(feature.codes, split.children, strict=True):
            if code >= 0:
                nodes[code] = child
        for parts in self._together(node, [*zip(nodes, boxes, strict=True)], pair, rules, ()):
            leaves = tuple(leaf for part in parts for leaf in part.leaves)
            yield Part((feature.test, tuple(part.shape for part in parts)), leaves)

    def _together(
        self,
        parent: int,
        children: Sequence[tuple[int | None, Box]],
        pair: Pair,
        rules: Sequence[Rule],
        others: tuple[Part, ...],
    ) -> Iterator[tuple[Part, ...]]:
        """Parts of some children with a cost and splits together, after those of others."""
        if not children:
            yield others
            return
        (node, box), *rest = children
        nodes = tuple(child for child, _ in rest if child is not None)
        if node is None:  # no row is there: it predicts as its parent
            part = self._leaf(parent, box)
            if self._fits(part, others, rules):
                yield from self._together(parent, rest, pair, rules, (*others, part))
            return
        for taken, left in self._trees.ways((node, *nodes), pair):
            for part in self._of_node(node, box, taken):
                if self._fits(part, others, rules):
                    yield from self._together(parent, rest, left, rules, (*others, part))

    def _fits(self, part: Part, others: Sequence[Part], rules: Sequence[Rule]) -> bool:
        """Whether a part may be below the same split as others."""
        if rules and others:
            self._tried += len(others)
            if self._tried > MOST_TRIED:
                raise InputError(
                    f"whether there is such a monotone tree is not decided after {MOST_TRIED} "
                    "pairs of subtrees; take a smaller tolerance, or a limit on depth or splits"
                )
        return all(rule.allows(other, part) for rule in rules for other in others)

    def _leaf(self, node: int, box: Box) -> Part:
        """A leaf that predicts the majority class of a subproblem."""
        return Part(-1, (Leaf(box, self._trees.class_of(node)),) if all(box) else ())


class _Question(NamedTuple):
    """A feature that trees may ask, the place of its column, and the values of its branches."""

    number: int
    feature: TableFeature
    column: int
    masks: tuple[int, ...]


class _Repeated:
    """An iterator whose items can be read several times, and are made when they are needed."""

    def __init__(self, items: Iterator[Part]) -> None:
        self._items, self._made = items, list[Part]()

    def __iter__(self) -> Iterator[Part]:
        at = 0
        while True:
            if at == len(self._made):
                item = next(self._items, None)
                if item is None:
                    return
                self._made.append(item)
            yield self._made[at]
            at += 1


def rules_of(problem: Problem, values: Values, wished: Mapping[str, object]) -> list[Rule]:
    """The rules of a wish: for each column the label of a class.

    A column that no feature reads, such as a constant one, needs none.

    Raises
    ------
    InputError
        If a column or a class is unknown.
    UnsupportedError
        If the values of a column have no order.
    """
    rules = []
    for column, label in wished.items():
        if column not in problem.columns:
            raise InputError(unknown_name(column, problem.columns, "column"))
        if label not in problem.classes:
            raise InputError(unknown_name(label, map(str, problem.classes), "class"))
        if column in values.columns:
            rules.append(Rule(values.order(column), problem.classes.index(label)))
    return rules
