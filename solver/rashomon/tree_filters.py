"""Good trees that somebody wishes for: without a column, with a root of choice, of few columns,
monotone."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cached_property
from typing import NamedTuple

from solver.errors import InputError, unknown_name
from solver.features.node_tests import NodeTest
from solver.kernels.constants import Ints
from solver.problem.problem import Problem
from solver.rashomon.duplicate_features import TableFeature, table_features
from solver.rashomon.enumerate_trees import GoodTrees, Pair
from solver.rashomon.exact_counts import ExactCounts
from solver.rashomon.kernels.expand_graph import EDGES
from solver.rashomon.monotone import MonotoneTrees, Values, rules_of
from solver.trees.tree import Shape


class Wish(NamedTuple):
    """Which trees somebody wishes for.

    Parameters
    ----------
    without : collection of str
        Columns or features that a tree must not use.
    root : str or None
        The column or feature at its root.
    monotone : mapping
        The label of the class whose prediction never falls as a column grows, by column.
    """

    without: Collection[str]
    root: str | None
    monotone: Mapping[str, object]


class Wishes:
    """Selects trees of a graph.

    Of features of the table that separate all rows alike a tree asks the first that it may ask.

    Parameters
    ----------
    problem : Problem
    counts : ExactCounts
        Of the trees of the graph.
    copies : array of int, shape (features,)
        How many features of the table each feature of the problem stands for.
    check : callable
        Called between slices of a count; raises what ends it.
    """

    def __init__(
        self, problem: Problem, counts: ExactCounts, copies: Ints, check: Callable[[], None]
    ) -> None:
        self._problem, self._counts = problem, counts
        self._copies, self._check = copies, check
        self._known: dict[tuple[int, ...], tuple[ExactCounts, Ints]] = {}

    @cached_property
    def _table(self) -> list[TableFeature]:
        return table_features(self._problem)

    @cached_property
    def features(self) -> dict[str, list[int]]:
        """For each feature of the table, the feature of the problem that stands for it."""
        return {feature.name: [feature.place] for feature in self._table}

    @cached_property
    def columns(self) -> dict[str, list[int]]:
        """For each raw column, the features of the problem that stand for features that read it.

        One that stands for several of them is there several times.
        """
        found: dict[str, list[int]] = {}
        for feature in self._table:
            for column in feature.columns:
                found.setdefault(column, []).append(feature.place)
        return found

    def count_without(self, places: Collection[int]) -> ExactCounts:
        """The trees if each of these features stood for one feature less of the table."""
        return self._fewer(places)[0]

    def trees(self, wish: Wish, first: Callable[[Pair], int]) -> Iterator[Shape]:
        """The trees that satisfy a wish: those first whose cost and splits ``first`` gives the
        least number, and of these the best."""
        barred, roots = self._named(wish.without), self._roots(wish.root)
        return (shape for _, shape in self._pairs(barred, roots, wish.monotone, first))

    def best(self, wish: Wish, most_columns: int | None) -> Shape | None:
        """The best of these trees that reads at most N columns; None if there is none.

        The best tree of all is taken if it reads few enough. Else it reads a column that the
        wanted tree does not read: each is left out in turn, the cheapest trees first.
        """
        roots, begin = self._roots(wish.root), frozenset(self._named(wish.without))
        waiting: list[tuple[int, int, frozenset[int], Shape]] = []
        seen = {begin}

        def enter(barred: frozenset[int]) -> None:
            for (cost, _), shape in self._pairs(barred, roots, wish.monotone, lambda pair: 0):
                heapq.heappush(waiting, (cost, len(seen), barred, shape))
                return

        enter(begin)
        while waiting:
            *_, barred, shape = heapq.heappop(waiting)
            read = self._columns_of(shape)
            if most_columns is None or len(read) <= most_columns:
                return shape
            for column in sorted(read):
                fewer = barred | self._named([column])
                if fewer not in seen:
                    seen.add(fewer)
                    enter(fewer)
        return None

    def _pairs(
        self,
        barred: Collection[int],
        roots: set[int] | None,
        monotone: Mapping[str, object],
        first: Callable[[Pair], int],
    ) -> Iterator[tuple[Pair, Shape]]:
        """Trees with their costs and splits."""
        trees = self._select(barred)
        if monotone:
            values = Values(self._problem, self._table)
            rules = rules_of(self._problem, values, monotone)
            if rules:
                allowed = {i: f for i, f in enumerate(self._table) if i not in barred}
                return MonotoneTrees(trees, allowed, values, rules).shapes(roots, first)
        return (
            (pair, self._asking(shape, barred, roots))
            for pair, shape in trees.shapes(self._places(roots, barred), first)
        )

    def _columns_of(self, shape: Shape) -> set[str]:
        """The columns that a tree reads."""
        if not isinstance(shape, tuple):
            return set()
        asked, children = shape
        test = asked if isinstance(asked, NodeTest) else self._problem.tests[asked]
        below = (self._columns_of(child) for child in children)
        return {*test.columns}.union(*below)

    def _asking(self, shape: Shape, barred: Collection[int], roots: set[int] | None) -> Shape:
        """The tree with features of the table that it may ask."""
        allowed = {f.place: f for i, f in reversed([*enumerate(self._table)]) if i not in barred}

        def rewrite(
            shape: Shape, allowed: Mapping[int, TableFeature], below: Mapping[int, TableFeature]
        ) -> Shape:
            if not isinstance(shape, tuple):
                return shape
            place, children = shape
            assert isinstance(place, int)
            return allowed[place].split(tuple(rewrite(c, below, below) for c in children))

        if roots is None:
            return rewrite(shape, allowed, allowed)
        first = [self._table[i] for i in sorted(roots - {*barred}, reverse=True)]
        return rewrite(shape, {f.place: f for f in first}, allowed)

    def _named(self, names: Collection[str]) -> set[int]:
        """The features of the table that are such, or read such a column.

        There is none for a constant one, which no tree asks. Raises InputError if a name is
        unknown.
        """
        constant = self._problem.preparation.constant
        known = dict.fromkeys((*self._problem.columns, *self.features, *constant))
        for name in names:
            if name not in known:
                raise InputError(unknown_name(name, known, "column or feature"))
            read = {i for i, feature in enumerate(self._table) if name in feature.columns}
            tests = {i for i, feature in enumerate(self._table) if name == feature.name}
            if read and tests and read != tests:
                raise InputError(
                    f"{name!r} is a column, and a feature of another one", "rename the column"
                )
        return {
            number
            for number, feature in enumerate(self._table)
            if not {feature.name, *feature.columns}.isdisjoint(names)
        }

    def _roots(self, name: str | None) -> set[int] | None:
        return None if name is None else self._named([name])

    def _places(self, roots: set[int] | None, barred: Collection[int]) -> set[int] | None:
        """The features of the problem that may be at the root; None for all."""
        return None if roots is None else {self._table[i].place for i in roots - {*barred}}

    def _select(self, barred: Collection[int]) -> GoodTrees:
        """The trees without some features of the table."""
        counts, allowed = self._fewer([self._table[number].place for number in barred])
        return GoodTrees(self._problem, counts.space, counts.graph, counts, allowed)

    def _fewer(self, places: Collection[int]) -> tuple[ExactCounts, Ints]:
        key = tuple(sorted(places))
        if key not in self._known:
            allowed = self._copies.copy()
            for place in key:
                allowed[place] -= 1
            counts = self._counts
            used = {*counts.graph.feature[: counts.graph.used[EDGES]].tolist()}
            if not used.isdisjoint(key):
                counts = ExactCounts(
                    counts.space, counts.graph, allowed, self._check, counts.most_bytes
                )
            self._known[key] = counts, allowed
        return self._known[key]
