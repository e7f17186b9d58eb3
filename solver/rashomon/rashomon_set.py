"""All trees whose objective is close to the optimum: how many, which, and with which features."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import islice
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd

from solver.argument_checks import check_arguments
from solver.branches.solver import Branches
from solver.errors import ClaimError, InputError, UnsupportedError
from solver.kernels.constants import Ints
from solver.limits import Limits
from solver.monitor import Monitor
from solver.objective.exact_objective import as_lambda, objective
from solver.problem.problem import Problem
from solver.rashomon.enumerate_trees import GoodTrees
from solver.rashomon.exact_counts import ExactCounts
from solver.rashomon.graph import EDGES, EXPANDED_NODES
from solver.rashomon.multiplicity import Multiplicity, Predictions
from solver.rashomon.search import LimitError, Prices, Search
from solver.rashomon.stored_graph import StoredGraph, restored, stored_graph
from solver.rashomon.tree_filters import Wishes
from solver.solution import Solution, Status, share_of
from solver.trees.tree import Tree
from solver.trees.tree_table import to_timbertrek, tree_table

UNITS = ("relative", "objective", "lam")

SHARES = (Fraction(0), Fraction(1, 8), Fraction(1, 4), Fraction(1, 2))
"""The shares of a tolerance whose sets are found first, so that a limit leaves one of them."""

ORDERS = ("objective", "splits", "errors")
"""Which good trees are first."""


class Cell(NamedTuple):
    """The good trees of equal errors and splits."""

    errors: int
    splits: int
    trees: int


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


class Question(NamedTuple):
    """Which trees are good: those within a tolerance of the optimum at a λ."""

    lam: Fraction
    within: Fraction
    unit: str

    @classmethod
    def of(cls, lam: Any, within: Any, unit: str) -> Question:
        """Raises InputError if an argument is wrong."""
        price = as_lambda(lam)
        if unit not in UNITS:
            raise InputError(f"unit = {unit!r} is none of {', '.join(UNITS)}")
        try:
            return cls(price, as_lambda(within), unit)
        except InputError:
            text = f"within = {within!r} must be a number of 0 or more, e.g. 0.05"
            raise InputError(text) from None

    def most(self, optimum: Fraction) -> Fraction:
        """The largest objective of a good tree."""
        slack = {"relative": optimum, "objective": Fraction(1), "lam": self.lam}[self.unit]
        return optimum + self.within * slack


class RashomonSet:
    """All trees whose objective at a λ is within a tolerance of the optimum.

    Trees are counted by their tests. No split of them leaves all its rows in one child. A leaf
    predicts a majority class and counts once, however its classes tie. Features that separate the
    rows alike count as different ones.

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
        ``optimal``, or the limit that ended a search before all good trees were found. The set then
        holds all trees within ``within``, which is less than ``asked``.
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
    ) -> RashomonSet:
        """The set whose :attr:`graph` was stored.

        Raises InputError if it is no graph of this problem.
        """
        prices, monitor = Prices.of(question.lam, problem.total_weight), Monitor()
        budget = int(question.most(optimum) * prices.error * problem.total_weight)
        space, graph = restored(problem, prices.error, prices.split, budget, stored)
        counts = ExactCounts(space, graph, copies(problem), lambda: None)
        return cls(problem, question, optimum, counts, seconds, monitor)

    @property
    def complete(self) -> bool:
        """Whether all good trees that were asked for are there; else :attr:`n_trees` is the number
        of those that are certain."""
        return self.status is Status.OPTIMAL

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
        """How many good trees have which errors and splits, the best first."""
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
        order: Literal["objective", "splits", "errors"] = "objective",
    ) -> Iterator[Tree]:
        """The good trees one after the other, the best first.

        Of features that separate all rows alike, trees use the first that they may.

        Parameters
        ----------
        without : collection of str
            Columns or features that no tree may use.
        root : str, optional
            The column or feature that each tree asks first.
        order : {"objective", "splits", "errors"}
            Which trees are first: the best, the smallest or the most accurate ones. Those that are
            equal in it are ordered by their objectives.

        Raises
        ------
        InputError
            If a name is unknown.
        """
        if order not in ORDERS:
            raise InputError(f"order = {order!r} is none of {', '.join(ORDERS)}")
        first = {"objective": lambda _: 0, "splits": lambda pair: pair[1],
                 "errors": lambda pair: self._size(*pair)[0]}[order]  # fmt: skip
        return map(self.problem.grow, self._wishes.trees(_names(without), root, first))

    def best(
        self,
        *,
        without: Collection[str] = (),
        root: str | None = None,
        max_columns: int | None = None,
    ) -> Tree | None:
        """The best of :meth:`trees` that reads at most N columns; None if no good tree does.

        Raises
        ------
        InputError
            If a name is unknown, or ``max_columns`` is negative.
        """
        if max_columns is not None and not _is_count(max_columns):
            raise InputError(f"max_columns = {max_columns!r} must be 0 or more")
        shape = self._wishes.best(_names(without), root, max_columns)
        return None if shape is None else self.problem.grow(shape)

    def sample(self, n: int, seed: int = 0) -> list[Tree]:
        """Good trees drawn at random, each equally likely, with replacement.

        Raises InputError if ``n`` is no number of trees, or ``seed`` no whole number.
        """
        if not _is_count(n) or not isinstance(seed, (int, np.integer)):
            raise InputError(f"n = {n!r} and seed = {seed!r} must be whole numbers, n 0 or more")
        chance = random.Random(int(seed))
        return [self.problem.grow(self._trees.draw(chance)) for _ in range(n)]

    def to_frame(self, n: int = 1000) -> pd.DataFrame:
        """The ``n`` best trees as a table, see :func:`solver.trees.tree_table.tree_table`."""
        return tree_table(islice(self.trees(), n), self.problem.total_weight, self.lam)

    def to_timbertrek(self, n: int = 1000) -> dict[str, Any]:
        """The ``n`` best trees for TimberTrek; to be written as JSON, or passed to its
        ``visualize``.

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
        Where features separate all rows of the problem alike, trees ask the first one: for a new
        row on which they differ, that one decides.
        """
        counts = self._predictions
        table = counts.of_points if frame is None else counts.of_rows(frame)
        index = getattr(frame, "index", None)
        return pd.DataFrame(table, index=index, columns=[*self.problem.classes])

    @cached_property
    def multiplicity(self) -> Multiplicity:
        """How far good trees disagree with the best one on the rows of the problem."""
        codes, best = self.problem.codes, next(self._trees.shapes())
        classes = np.zeros(len(codes), np.int64)
        pending = [(best, np.arange(len(codes)))]
        while pending:
            shape, rows = pending.pop()
            if isinstance(shape, tuple):
                taken = self.problem.branch_codes(shape[0])[rows]
                pending += [(child, rows[taken == c]) for c, child in enumerate(shape[1])]
            elif len(rows):
                classes[rows] = self.problem.counts[rows].sum(axis=0).argmax()
        return self._predictions.multiplicity(classes)

    def feature_shares(
        self, by: Literal["feature", "column"] = "feature", lam: Any = None
    ) -> pd.DataFrame:
        """How many good trees use each feature, have it at the root, and what it costs without.

        Parameters
        ----------
        by : {"feature", "column"}
            Features of the problem, such as ``age<=40``, or raw columns, with all their features.
        lam : str, int, float or Fraction, optional
            A larger λ, as for :meth:`at`; by default the one of the set.

        Returns
        -------
        DataFrame
            Columns ``feature`` (or ``column``), ``trees``, ``share``, ``root_trees``,
            ``root_share``, ``best_without`` and ``best_without_exact``, by falling share. A feature
            of share 1 is in every good tree; one of share 0 is in none. ``best_without`` is the
            least objective of a good tree without the feature, missing if there is none.

        Raises
        ------
        InputError
            If ``by`` is neither, or for λ as :meth:`at`.
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


def _names(given: Collection[str]) -> Collection[str]:
    """Names, of which a single one may be given as it is."""
    if not isinstance(given, Collection):
        raise InputError(f"without = {given!r} must name columns or features, e.g. ['age']")
    return [given] if isinstance(given, str) else given


def _is_count(value: object) -> bool:
    return isinstance(value, (int, np.integer)) and int(value) >= 0


def _records(shares: pd.DataFrame) -> list[dict[str, Any]]:
    """Rows as plain data; what is missing is None."""
    filled = shares.astype(object).where(shares.notna(), None)
    return [dict(zip(shares.columns, row, strict=True)) for row in filled.to_numpy().tolist()]


ENDLESS = "at λ = 0 good trees may have any size; give a limit on depth"
"""Why there is no set at λ = 0 without such a limit."""


def check_support(task: str, ordered: bool, limits: Limits) -> None:
    """Raise UnsupportedError if good trees of such a problem cannot be counted."""
    if task == "regression":
        raise UnsupportedError("good trees are counted for classification, not for regression")
    if ordered:
        raise UnsupportedError(
            "good trees are counted for binary and categorical features; encode numbers with "
            "'thresholds', 'quantiles' or 'mdlp'"
        )
    if limits.splits is not None:
        raise UnsupportedError(
            "good trees are not counted under a limit on splits; limit the depth"
        )


def rashomon_set(
    problem: Problem,
    lam_min: Any,
    within: Any = "0.05",
    unit: str = "relative",
    *,
    limits: Limits | None = None,
    monitor: Monitor | None = None,
    optimum: Solution | None = None,
    anytime: bool = False,
) -> RashomonSet:
    """Find all trees that are nearly as good as the best one.

    Parameters
    ----------
    problem : Problem
        Of classification, with binary or categorical features.
    lam_min : str, int, float or Fraction
        λ, the price of a split.
    within : str, int, float or Fraction
        How much worse than the optimum a good tree may be.
    unit : {"relative", "objective", "lam"}
        What ``within`` is: a share of the optimal objective, a difference of objectives, or so many
        λ.
    limits : Limits, optional
        Of seconds, bytes, nodes (subproblems), depth and the size of leaves.
    monitor : Monitor, optional
        Asked between slices whether to stop, and told how far the search is, without its state.
    optimum : Solution, optional
        An optimal tree at this λ and under these limits, if it is known; else it is searched for.
        Its seconds count towards the limit.
    anytime : bool
        What a limit of seconds, bytes or nodes does. By default it is an error. With ``anytime``
        smaller tolerances are searched first, 0, an eighth, a quarter and half of ``within``, and
        the set is that of the largest one whose search has ended: all its trees are certain. See
        :attr:`RashomonSet.status`. It is an error if not even all optimal trees were found.

    Raises
    ------
    InputError
        If an argument is wrong, or a limit is reached before all good trees are found.
    UnsupportedError
        For regression, ordered features, and a limit on splits.

    Examples
    --------
    >>> import treesweep
    >>> problem = treesweep.Problem.from_codes([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 0, 0, 1])
    >>> good = treesweep.rashomon_set(problem, "0.05", within="0.1")
    >>> print(treesweep.export_text(next(iter(good.trees()))))
    x0 = 0: 0 (2 rows)
    x0 = 1
    |   x1 = 0: 0 (1 row)
    |   x1 = 1: 1 (1 row)
    """
    check_arguments(problem, limits, monitor)
    question, limits = Question.of(lam_min, within, unit), limits or Limits()
    given = getattr(optimum, "status", None), getattr(optimum, "lam", None)
    if optimum is not None and given != (Status.OPTIMAL, question.lam):
        raise InputError(f"optimum must be an optimal solution at λ = {question.lam}; leave it out")
    monitor = monitor or Monitor()
    check_support(problem.task, bool(problem.ordered), limits)
    if problem.weight_error:
        raise InputError(
            "the weights have too many digits to count good trees exactly; write them with fewer"
        )
    if question.lam == 0 and limits.depth is None:
        raise InputError(ENDLESS)
    best = optimum or _optimum(problem, question.lam, limits, monitor)
    search = Search(problem, question.lam, limits, monitor, best)
    kept: tuple[Question, StoredGraph] | None = None
    try:
        for share in SHARES if anytime else ():
            smaller = question._replace(within=question.within * share)
            search.expand(smaller.most(best.objective))
            kept = smaller, stored_graph(search.graph)
        search.expand(question.most(best.objective))
        counts = ExactCounts(search.space, search.graph, copies(problem), search.check_limits)
    except LimitError as error:
        if kept is None:
            raise
        found = RashomonSet.of_graph(problem, kept[0], best.objective, kept[1], search.seconds)
        found.status, found.asked = error.status, question.within
        return found
    return RashomonSet(problem, question, best.objective, counts, search.seconds, monitor)


def warm_up() -> None:
    """Compile all kernels, or load what was compiled before."""
    rashomon_set(Problem.from_codes([(0,), (1,)], [0, 1]), "0.1")


def _optimum(problem: Problem, lam: Fraction, limits: Limits, monitor: Monitor) -> Solution:
    """One optimal tree.

    Raises
    ------
    LimitError
        If a limit is reached before it is proven.
    """
    found = Branches().solve(problem, lam, limits, monitor=replace(monitor, peers=None))
    if found.status is not Status.OPTIMAL:
        raise LimitError(
            found.status,
            f"the optimum is not proven: the search ended with {found.status}; raise the limit, or "
            "take a larger λ or a limit on depth",
        )
    return found


def copies(problem: Problem) -> Ints:
    """How many features of the table each feature of the problem stands for."""
    merged = list(problem.preparation.duplicate.values())
    return np.array([1 + merged.count(test.name) for test in problem.tests], np.int64)
