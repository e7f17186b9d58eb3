"""Good trees that somebody wishes for: without a column, with a root of choice, of few columns."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Iterator
from functools import cached_property

from solver.errors import InputError, unknown_name
from solver.kernels.constants import Ints
from solver.problem.problem import Problem
from solver.rashomon.exact_counts import ExactCounts
from solver.rashomon.good_trees import GoodTrees
from solver.rashomon.graph import EDGES
from solver.trees.tree import Shape


class Wishes:
    """Selects trees of a graph.

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
    def features(self) -> dict[str, list[int]]:
        """For each feature of the table, the feature of the problem that stands for it."""
        first = {test.name: place for place, test in enumerate(self._problem.tests)}
        copies = self._problem.preparation.duplicate
        found = {}
        for name, place in first.items():
            found[name] = [place]
            found.update({copy: [place] for copy, of in copies.items() if of == name})
        return found

    @cached_property
    def columns(self) -> dict[str, list[int]]:
        """For each raw column, the features of the problem that stand for features that read it.

        One that stands for several of them is there several times.
        """
        reads = dict(self._problem.preparation.duplicate_columns)
        reads |= {test.name: test.columns for test in self._problem.tests}
        found: dict[str, list[int]] = {}
        for name, places in self.features.items():
            for column in reads[name]:
                found.setdefault(column, []).extend(places)
        return found

    def count_without(self, places: Collection[int]) -> ExactCounts:
        """The trees if each of these features stood for one feature less of the table."""
        return self._fewer(places)[0]

    def trees(self, without: Collection[str], root: str | None) -> Iterator[Shape]:
        """The trees without some columns or features, and with one at the root; the best first."""
        return self._select(self._barred(without)).shapes(self._roots(root))

    def best(
        self, without: Collection[str], root: str | None, most_columns: int | None
    ) -> Shape | None:
        """The best of these trees that reads at most so many columns; None if there is none.

        The best tree of all is taken if it reads few enough. Else it reads a column that the
        wanted tree does not read: each is left out in turn, the cheapest trees first.
        """
        roots, begin = self._roots(root), frozenset(self._barred(without))
        waiting: list[tuple[int, int, frozenset[int], Shape]] = []
        seen = {begin}

        def enter(barred: frozenset[int]) -> None:
            trees = self._select(barred)
            shape = next(trees.shapes(roots), None)
            if shape is not None:
                heapq.heappush(waiting, (trees.cost(shape), len(seen), barred, shape))

        enter(begin)
        while waiting:
            *_, barred, shape = heapq.heappop(waiting)
            read = self._columns_of(shape)
            if most_columns is None or len(read) <= most_columns:
                return shape
            for column in sorted(read):
                fewer = barred | self._barred([column])
                if fewer not in seen:
                    seen.add(fewer)
                    enter(fewer)
        return None

    def _columns_of(self, shape: Shape) -> set[str]:
        """The columns that a tree reads."""
        if not isinstance(shape, tuple):
            return set()
        feature, children = shape
        assert isinstance(feature, int)  # ordered features have no good trees
        below = (self._columns_of(child) for child in children)
        return {*self._problem.tests[feature].columns}.union(*below)

    def _barred(self, names: Collection[str]) -> set[int]:
        """The features that are such, or read such a column. Raises InputError if unknown."""
        for name in names:
            self._check_name(name)
        return {
            place
            for place, test in enumerate(self._problem.tests)
            if not {test.name, *test.columns}.isdisjoint(names)
        }

    def _roots(self, name: str | None) -> set[int] | None:
        if name is None:
            return None
        self._check_name(name)
        return {*self.features.get(name, []), *self._barred([name])}

    def _check_name(self, name: str) -> None:
        known = self.columns | self.features
        if name not in known:
            raise InputError(unknown_name(name, known, "column or feature"))

    def _select(self, barred: Collection[int]) -> GoodTrees:
        """The trees without some features of the problem."""
        every = [place for place in barred for _ in range(int(self._copies[place]))]
        counts, allowed = self._fewer(every) if every else (self._counts, self._copies)
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
                counts = ExactCounts(counts.space, counts.graph, allowed, self._check)
            self._known[key] = counts, allowed
        return self._known[key]
