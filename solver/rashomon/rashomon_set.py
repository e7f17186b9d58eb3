"""All trees whose objective is close to the optimum: how many, which, and with which features."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import islice
from typing import Any, Literal

import numpy as np
import pandas as pd

from solver.errors import ClaimError, InputError
from solver.kernels.constants import Ints
from solver.monitor import Monitor
from solver.objective.exact_objective import as_lambda, objective
from solver.problem.problem import Problem
from solver.rashomon.build_graph import Prices
from solver.rashomon.enumerate_trees import GoodTrees
from solver.rashomon.exact_counts import ExactCounts
from solver.rashomon.kernels.expand_graph import EDGES, EXPANDED_NODES
from solver.rashomon.multiplicity import Multiplicity, Predictions
from solver.rashomon.question import Cell, Question
from solver.rashomon.stored_graph import StoredGraph, restored, stored_graph
from solver.rashomon.tree_filters import Wish, Wishes
from solver.solution import Status, share_of
from solver.trees.export_many_trees import to_timbertrek, tree_table
from solver.trees.tree import Tree

ORDERS = ("objective", "splits", "errors")
"""Which good trees are first."""


@dataclass(frozen=True)
class GoodAt:
    """The good trees at one λ.

    Parameters
    ----------
    lam, optimum, most : Fraction
        The price of a split, the least objective, and the largest one of a good tree.
    histogram : tuple of Cell
        The best cell first.
    """

    lam: Fraction
    optimum: Fraction
    most: Fraction
    histogram: tuple[Cell, ...]

    @property
    def n_trees(self) -> int:
        """How many trees are good."""
        return sum(cell.trees for cell in self.histogram)


class RashomonSet:
    """All trees whose objective at a λ is within a tolerance of the optimum.

    Two trees differ if their tests differ. No split of a good tree leaves all its rows in one
    child. A leaf predicts a majority class; if classes tie, the tree still counts once. Features
    that separate the rows in the same way count as different features.

    Attributes
    ----------
    problem : Problem
    lam : Fraction
        The price of a split.
    optimum : Fraction
        The least objective.
    most : Fraction
        The largest objective that a good tree may have.
    subproblems, splits : int
        Size of the graph that holds all good trees.
    seconds : float
        Of the search, without compilation.
    status : Status
        ``optimal``, or the limit that ended the search before all good trees were found. In the
        latter case the set is complete for the tolerance ``within``, which is smaller than
        ``asked``.
    within : Fraction
        The tolerance for which the set is complete.
    asked : Fraction
        The tolerance that was asked for.

    Examples
    --------
    >>> import treesweep
    >>> problem = treesweep.Problem.from_codes([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 0, 0, 1])
    >>> good = treesweep.rashomon_set(problem, "0.05", within="0.5")
    >>> good.n_trees, str(good.optimum), str(good.most)
    (4, '1/10', '3/20')
    """

    def __init__(
        self,
        problem: Problem,
        question: Question,
        optimum: Fraction,
        counts: ExactCounts,
        seconds: float,
        monitor: Monitor,
    ) -> None:
        self.status, self.asked = Status.OPTIMAL, question.within
        self.problem, self.optimum, self.seconds = problem, optimum, seconds
        self.lam, self.within, self.unit = question
        self.most = question.most(optimum)
        self._question, self._prices = question, Prices.of(question.lam, problem.total_weight)
        self._space, self._graph, self._counts = counts.space, counts.graph, counts
        self._allowed = copies(problem)
        self._monitor = monitor
        self._trees = GoodTrees(problem, self._space, self._graph, counts, self._allowed)
        self._wishes = Wishes(problem, counts, self._allowed, self._check_stop)
        self._predictions = Predictions(problem, self._space, self._graph, self._trees)
        self.subproblems = int(self._graph.used[EXPANDED_NODES])
        self.splits = int(self._graph.used[EDGES])
        cheapest = min((self._objective(cell) for cell in self.histogram), default=None)
        if cheapest != optimum:
            raise ClaimError("two searches disagree on the optimum; please report this problem")

    @classmethod
    def of_graph(
        cls,
        problem: Problem,
        question: Question,
        optimum: Fraction,
        stored: StoredGraph,
        seconds: float,
        most_splits: int | None = None,
    ) -> RashomonSet:
        """Restore a set from its stored :attr:`graph`.

        ``most_splits`` is the limit on splits that the search had. Raises InputError if the graph
        does not belong to this problem.
        """
        counts = counted_trees(problem, question, optimum, stored, most_splits, lambda: None)
        return cls(problem, question, optimum, counts, seconds, Monitor())

    @property
    def complete(self) -> bool:
        """Whether the set has all good trees that were asked for. If not, it has all trees of a
        smaller tolerance, and :attr:`n_trees` is their number."""
        return self.within == self.asked

    @property
    def graph(self) -> StoredGraph:
        """The graph that holds all good trees."""
        return stored_graph(self._graph)

    def _objective(self, cell: Cell, lam: Fraction | None = None) -> Fraction:
        price = self.lam if lam is None else lam
        return objective(cell.errors, cell.splits, self.problem.total_weight, price)

    def objective_of(self, tree: Tree) -> Fraction:
        """The exact objective of a tree of the set."""
        return self._objective(Cell(int(tree.errors), tree.splits, 1))

    @property
    def n_trees(self) -> int:
        """How many trees are good."""
        return self._counts.total

    def __len__(self) -> int:
        return self.n_trees

    @cached_property
    def histogram(self) -> tuple[Cell, ...]:
        """Tuples (errors, splits, trees): how many good trees have these errors and splits. The
        tuples with the least objective come first."""
        return tuple(Cell(*pair, trees) for pair, trees in self._by_size(self._counts).items())

    def _by_size(self, counts: ExactCounts) -> dict[tuple[int, int], int]:
        """How many of some trees have which errors and splits, the cheapest first."""
        first, end = counts.cells_of(0)
        cells = zip(counts.cells.cost[first:end], counts.cells.splits[first:end], strict=True)
        pairs = [self._size(int(cost), int(splits)) for cost, splits in cells]
        return dict(zip(pairs, map(counts.number, range(first, end)), strict=True))

    def _size(self, cost: int, splits: int) -> tuple[int, int]:
        """The errors and splits of a tree that costs so much."""
        return (cost - splits * self._prices.split) // self._prices.error, splits

    def at(self, lam: Any) -> GoodAt:
        """The good trees at a larger λ, without another search.

        Raises
        ------
        InputError
            If λ is smaller, or some good tree at that λ is not among those that were counted.
        """
        price = as_lambda(lam)
        if price < self.lam:
            raise InputError(f"λ = {price} is below {self.lam}, where the set begins")
        known = {(cell.errors, cell.splits): cell.trees for cell in self.histogram}
        known[int(self.problem.leaf_errors), 0] = 1
        costs = {pair: objective(*pair, self.problem.total_weight, price) for pair in known}
        optimum = min(costs.values())
        most = self._question._replace(lam=price).most(optimum)
        # A tree that was not counted has a split, so it costs more than this.
        if most > self.most + (price - self.lam):
            raise InputError(
                f"not all good trees at λ = {price} were counted at {self.lam}; begin there, or "
                "take a larger tolerance"
            )
        good = sorted((costs[pair], pair) for pair in known if costs[pair] <= most)
        cells = tuple(Cell(*pair, known[pair]) for _, pair in good)
        return GoodAt(price, optimum, most, cells)

    def trees(
        self,
        *,
        without: Collection[str] = (),
        root: str | None = None,
        monotone: Mapping[str, Any] | None = None,
        order: Literal["objective", "splits", "errors"] = "objective",
    ) -> Iterator[Tree]:
        """The good trees one after the other, the best first.

        :attr:`n_trees` counts features that separate all rows in the same way as different ones.
        Here a tree is not repeated for each of them: it uses the first one that is allowed. With
        ``monotone`` there is a tree for each of them.

        Parameters
        ----------
        without : collection of str
            Columns or features that no tree may use.
        root : str, optional
            The column or feature that the root of each tree tests.
        monotone : mapping, optional
            Maps a column to the label of a class. As the column grows, the prediction may change to
            this class, but not from this class to another one. See the notes.
        order : {"objective", "splits", "errors"}
            Which trees come first: the best, the smallest or the most accurate ones. Ties are
            ordered by the objective.

        Raises
        ------
        InputError
            If a name is unknown. With ``monotone`` also if the search gives up, because it has
            tried two million pairs of subtrees and found no further tree.
        UnsupportedError
            If a column of ``monotone`` has no order.

        Notes
        -----
        Take two rows that differ only in the column. If a monotone tree predicts the class for the
        row with the smaller value, it also predicts the class for the other row. This holds for
        values that occur in the training rows. It also holds for any other value that is on the
        same side of every threshold as one of them. A missing value is smaller than all others.
        """
        if order not in ORDERS:
            raise InputError(f"order = {order!r} is none of {', '.join(ORDERS)}")
        first = {"objective": lambda _: 0, "splits": lambda pair: pair[1],
                 "errors": lambda pair: self._size(*pair)[0]}[order]  # fmt: skip
        return map(self.problem.grow, self._wishes.trees(_wish(without, root, monotone), first))

    def best(
        self,
        *,
        without: Collection[str] = (),
        root: str | None = None,
        monotone: Mapping[str, Any] | None = None,
        max_columns: int | None = None,
    ) -> Tree | None:
        """The best tree of :meth:`trees` that reads at most ``max_columns`` columns, or None.

        Raises
        ------
        InputError
            If a name is unknown, ``max_columns`` is negative, or for monotone trees as in
            :meth:`trees`.
        """
        if max_columns is not None and not _is_count(max_columns):
            raise InputError(f"max_columns = {max_columns!r} must be 0 or more")
        shape = self._wishes.best(_wish(without, root, monotone), max_columns)
        return None if shape is None else self.problem.grow(shape)

    def sample(self, n: int, seed: int = 0) -> list[Tree]:
        """Good trees drawn at random, each equally likely, with replacement.

        Raises InputError if ``n`` or ``seed`` is not a whole number, or ``n`` is negative.
        """
        if not _is_count(n) or not isinstance(seed, (int, np.integer)):
            raise InputError(f"n = {n!r} and seed = {seed!r} must be whole numbers, n 0 or more")
        chance = random.Random(int(seed))
        return [self.problem.grow(self._trees.draw(chance)) for _ in range(n)]

    def to_frame(self, n: int = 1000) -> pd.DataFrame:
        """The ``n`` best trees in a table: :func:`solver.trees.export_many_trees.tree_table`."""
        return tree_table(islice(self.trees(), n), self.problem.total_weight, self.lam)

    def to_timbertrek(self, n: int = 1000) -> dict[str, Any]:
        """The ``n`` best trees for TimberTrek, a browser of good trees. Write the result as JSON,
        or pass it to ``timbertrek.visualize``.

        Raises
        ------
        UnsupportedError
            If there are more than two classes, or a feature with more than two values.
        """
        return to_timbertrek(islice(self.trees(), n), self.problem.total_weight, self.lam)

    def predictions(self, frame: pd.DataFrame | None = None) -> pd.DataFrame:
        """How many good trees predict each class for each row.

        Parameters
        ----------
        frame : DataFrame, optional
            Raw rows; by default the distinct rows of the problem, in its order.

        Returns
        -------
        DataFrame
            A column of whole numbers for each class; they add up to :attr:`n_trees` in every row.

        Notes
        -----
        If several features separate all rows of the problem in the same way, trees use the first
        one. For a new row on which these features differ, the first one decides.
        """
        counts = self._predictions
        table = counts.of_points if frame is None else counts.of_rows(frame)
        index = getattr(frame, "index", None)
        return pd.DataFrame(table, index=index, columns=[*self.problem.classes])

    @cached_property
    def multiplicity(self) -> Multiplicity:
        """How far good trees disagree with the best tree on the rows of the problem. ``ambiguity``
        is the share of the training weight for which some good tree predicts another class;
        ``discrepancy`` is the largest such share for a single good tree."""
        codes, (_, best) = self.problem.codes, next(self._trees.shapes())
        classes = np.zeros(len(codes), np.int64)
        pending = [(best, np.arange(len(codes)))]
        while pending:
            shape, rows = pending.pop()
            if isinstance(shape, tuple):
                taken = self.problem.branch_codes(shape[0], rows)
                pending += [(child, rows[taken == c]) for c, child in enumerate(shape[1])]
            elif len(rows):
                classes[rows] = self.problem.counts[rows].sum(axis=0).argmax()
        return self._predictions.multiplicity(classes)

    def feature_shares(
        self, by: Literal["feature", "column"] = "feature", lam: Any = None
    ) -> pd.DataFrame:
        """How many good trees use each feature or begin with it, and the best objective without it.

        Parameters
        ----------
        by : {"feature", "column"}
            Features of the problem, such as ``age<=40``, or raw columns, with all their features.
        lam : str, int, float or Fraction, optional
            A larger λ, as for :meth:`at`; by default the λ of the set.

        Returns
        -------
        DataFrame
            Columns ``feature`` (or ``column``), ``trees``, ``share``, ``root_trees``,
            ``root_share``, ``best_without`` and ``best_without_exact``, the largest share first. A
            feature of share 1 is in every good tree; one of share 0 is in none. ``best_without`` is
            the least objective of a good tree without the feature. It is missing if there is no
            such tree.

        Raises
        ------
        InputError
            If ``by`` is another word, or λ cannot be used, see :meth:`at`.
        """
        if by not in ("feature", "column"):
            raise InputError(f"by = {by!r} is none of feature, column")
        good = self.at(self.lam if lam is None else lam)
        costs = {cell[:2]: self._objective(cell, good.lam) for cell in good.histogram}
        groups = self._wishes.features if by == "feature" else self._wishes.columns
        roots, rows = self._trees.root_features(), []
        for name, places in groups.items():
            fewer = self._by_size(self._wishes.count_without(places))
            fewer |= {(errors, 0): 1 for errors, splits in costs if splits == 0}
            without = sum(fewer.get(pair, 0) for pair in costs)
            users, least = (
                good.n_trees - without,
                min((costs[p] for p in fewer if p in costs), default=None),
            )
            at_root = sum(
                number // int(self._allowed[place])
                for place in places
                for pair, number in roots.get(place, {}).items()
                if self._size(*pair) in costs
            )
            share, root_share = (share_of(part, good.n_trees) for part in (users, at_root))
            shares = users, share, at_root, root_share
            exact = (float("nan"), None) if least is None else (float(least), str(least))
            rows.append((name, *shares, *exact))
        columns = [by, "trees", "share", "root_trees", "root_share"]
        frame = pd.DataFrame(rows, columns=[*columns, "best_without", "best_without_exact"])
        return frame.sort_values("share", ascending=False, kind="stable", ignore_index=True)

    def to_dict(self) -> dict[str, Any]:
        """The set as plain data, without its trees."""
        return {
            "lam": str(self.lam),
            "within": str(self.within),
            "within_asked": str(self.asked),
            "unit": self.unit,
            "status": self.status.value,
            "optimum": float(self.optimum),
            "optimum_exact": str(self.optimum),
            "most": float(self.most),
            "most_exact": str(self.most),
            "n_trees": self.n_trees,
            "subproblems": self.subproblems,
            "splits": self.splits,
            "seconds": self.seconds,
            "histogram": [cell._asdict() for cell in self.histogram],
            "features": _records(self.feature_shares()),
            "columns": _records(self.feature_shares(by="column")),
            "ambiguity_exact": str(self.multiplicity.ambiguity),
            "discrepancy_exact": str(self.multiplicity.discrepancy),
        }

    def _check_stop(self) -> None:
        if self._monitor.stop():
            raise InputError("the count of good trees was stopped before its end")

    def __repr__(self) -> str:
        return (
            f"<RashomonSet: {self.n_trees} trees with an objective of at most "
            f"{float(self.most):.6g} at λ = {self.lam}; the optimum is {float(self.optimum):.6g}>"
        )


def _wish(without: Collection[str], root: str | None, monotone: Mapping[str, Any] | None) -> Wish:
    """A wish; of names a single one may be given as it is."""
    if not isinstance(without, Collection):
        raise InputError(f"without = {without!r} must name columns or features, e.g. ['age']")
    if not isinstance(monotone, Mapping | None):
        raise InputError(
            f"monotone = {monotone!r} must give a class for each column, e.g. {{'age': 'ill'}}"
        )
    return Wish([without] if isinstance(without, str) else without, root, monotone or {})


def _is_count(value: object) -> bool:
    return isinstance(value, (int, np.integer)) and int(value) >= 0


def _records(shares: pd.DataFrame) -> list[dict[str, Any]]:
    """Rows as plain data; what is missing is None."""
    filled = shares.astype(object).where(shares.notna(), None)
    return [dict(zip(shares.columns, row, strict=True)) for row in filled.to_numpy().tolist()]


def copies(problem: Problem) -> Ints:
    """How many features of the table each feature of the problem stands for."""
    merged = list(problem.preparation.duplicate.values())
    return np.array([1 + merged.count(test.name) for test in problem.tests], np.int64)


def counted_trees(
    problem: Problem,
    question: Question,
    optimum: Fraction,
    stored: StoredGraph,
    most_splits: int | None,
    check: Callable[[], None],
    most_bytes: int | None = None,
) -> ExactCounts:
    """The trees of a graph."""
    prices = Prices.of(question.lam, problem.total_weight)
    budget = prices.budget(question.most(optimum))
    space, graph = restored(problem, prices.error, prices.split, budget, stored, most_splits)
    return ExactCounts(space, graph, copies(problem), check, most_bytes)
