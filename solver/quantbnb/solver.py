"""Quant-BnB as a solver: its options, and how its search begins."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from solver.base import NO_OPTIONS, Capabilities, Solver
from solver.engine.driver import Engine, Search
from solver.engine.growable_arrays import within_memory
from solver.engine.tree_constraints import TreeConstraints
from solver.errors import InputError, StateError, UnsupportedError
from solver.kernels.constants import Ints
from solver.lambda_series import Series, Solve
from solver.limits import Limits
from solver.monitor import Monitor
from solver.objective.exact_objective import CostScale
from solver.options import Option
from solver.problem.problem import Problem
from solver.quantbnb.classification.carried_bounds import CARRIED, Archive
from solver.quantbnb.classification.engine import QuantEngine
from solver.quantbnb.classification.greedy import GREEDY
from solver.quantbnb.classification.path_engine import QuantPathEngine
from solver.quantbnb.classification.shard_engine import QuantShardEngine
from solver.quantbnb.lookahead_trees import LookaheadTrees
from solver.quantbnb.merge_threshold_features import Columns
from solver.quantbnb.paper.initial_state import begin
from solver.quantbnb.paper.state import BOUNDS
from solver.quantbnb.regression.engine import SquaresEngine
from solver.quantbnb.regression.greedy import GREEDY_SQUARES
from solver.quantbnb.regression.shard_engine import SquaresShardEngine
from solver.search_shards import FOUND, Shard
from solver.solution import Solution
from solver.trees.tree import TaskType, Tree, shape_of
from solver.verify.scorer import ScoreOnce


class QuantBnB(Solver):
    """Quant-BnB: optimal trees of limited depth on numbers as they are.

    Branch and bound over intervals of the thresholds of every feature: the smallest parts bound the
    cost of the parts of all thresholds in an interval. Mode ``fast`` goes beyond the paper. It cuts
    intervals where it pays, one inside another for every level of the tree; it finds the last two
    levels by sweeps over sorted columns; and a known threshold bounds its neighbours. Mode
    ``paper`` is the published algorithm, for comparison, with its four lower bounds; beyond depth 3
    it takes very long.

    It needs a limit on depth: time and memory grow steeply with it. Mode ``fast`` takes a limit on
    splits, too, in classification.

    Among optimal trees it returns one of the fewest splits. The order of the search decides which,
    and is the same on every machine. Of the cuts of a node that separate its rows alike it takes
    the middle one. At λ = 0 splits are free, so the first tree without avoidable errors ends the
    search.

    Notes
    -----
    ``nodes`` and ``iterations``, and the limit on the former, count evaluated thresholds: the
    cost of the best stumps of both parts of a split, or a bound that is good enough. In regression,
    another search (:mod:`solver.quantbnb.regression.best_first_search`), they count batches of up
    to eight cuts.

    Its arrays take features² · rows · 2 bytes, or 4 with more than 32 766 different values of a
    feature; those of regression features · rows · 8 bytes for every level but the last. Without a
    limit of bytes they take at most half of the machine's memory.

    In mode ``paper`` nodes are boxes of trees, iterations the evaluated cuts and terms of lower
    bounds, and ``extra`` counts ``boxes``, ``stumps`` (the L1(I, f) computed), ``rows`` (read for
    them) and ``alive`` (boxes at each iteration of Algorithm 1).

    References
    ----------
    Mazumder, Meng, Wang, "Quant-BnB: A Scalable Branch-and-Bound Method for Optimal Decision Trees
    with Continuous Features", ICML 2022.
    """

    name: ClassVar[str] = "quantbnb"
    version: ClassVar[str] = "3"
    summary: ClassVar[str] = "optimal trees of limited depth on continuous features (Quant-BnB)"
    capabilities: ClassVar[Capabilities] = Capabilities(
        features=frozenset({"binary", "continuous"}),
        limits=frozenset({"depth", "splits", "min_leaf_size"}),
        needs=frozenset({"depth"}),
        tasks=frozenset({"classification", "regression"}),
        resumes=True,
        shards=True,
    )
    options: ClassVar[Mapping[str, Option]] = {
        "mode": Option(
            "fast",
            "fast: with improvements beyond the paper; paper: the published algorithm",
            ("fast", "paper"),
            in_contract=False,
        ),
        "bound": Option(
            "w1",
            "mode paper: lower bound of Section 3.2 of the paper: w0, w1, w2 or l2",
            BOUNDS,
            mode="paper",
            in_contract=False,
        ),
        "pieces": Option(
            3,
            "mode paper: into how many parts an interval is cut (s in the paper)",
            kind=int,
            minimum=2,
            mode="paper",
            in_contract=False,
        ),
    }

    @classmethod
    def check_task(
        cls,
        feature_kind: str,
        n_classes: int | None,
        limits: Limits,
        task: TaskType = "classification",
        options: Mapping[str, Any] = NO_OPTIONS,
    ) -> None:
        """See the base class; only mode ``fast`` for classes honours a limit on splits."""
        super().check_task(feature_kind, n_classes, limits, task, options)
        is_paper = options.get("mode") == "paper"
        if limits.splits is not None and (is_paper or task == "regression"):
            where = "mode paper" if is_paper else "regression"
            raise UnsupportedError(
                f"solver {cls.name!r} cannot honour the limit 'splits' in {where}"
            )

    def _solve(
        self,
        problem: Problem,
        lam: Fraction,
        limits: Limits,
        initial_tree: Tree | None,
        monitor: Monitor,
        state: Mapping[str, NDArray[Any]] | None,
    ) -> Solution:
        def make(problem: Problem, cost_scale: Any, constraints: TreeConstraints) -> Engine:
            if self.settings["mode"] == "paper":
                bound, pieces = self.settings["bound"], self.settings["pieces"]
                return begin(problem, cost_scale, constraints, limits, bound, pieces)
            if problem.values is not None:
                squares = (
                    problem.codes, problem.arities, problem.counts[:, 0], problem.values,
                    constraints.depth, cost_scale.split, constraints.min_leaf, cost_scale.slack,
                )  # fmt: skip
                if self.shard is not None and self.is_divided:
                    return SquaresShardEngine(*squares, shard=self.shard)
                return SquaresEngine(*squares, lambda: problem.digest, state)
            return self._engine(problem, cost_scale, constraints, state, limits.bytes)

        limits = within_memory(limits)
        greedy = GREEDY if problem.values is None else GREEDY_SQUARES
        columns = self._columns(problem)
        if self.settings["mode"] == "fast":
            greedy = greedy._replace(improve=LookaheadTrees)
        search = Search(columns.problem, lam, limits, make, greedy)
        if initial_tree is not None:
            search.offer(self._regrown(columns, initial_tree))
        status = search.run(columns.monitor(monitor))
        solution = search.solution(status, self.name, self.version)
        if self.is_divided:
            solution.extra[FOUND] = search.found
        return replace(solution, tree=columns.outwards(solution.tree))

    def _columns(self, problem: Problem) -> Columns:
        return Columns.of(problem)

    def _regrown(self, columns: Columns, initial_tree: Tree) -> Tree:
        """A tree from elsewhere with the counts of the ordered problem."""
        return columns.problem.grow(shape_of(columns.inwards(initial_tree)))

    def _engine(
        self,
        problem: Problem,
        cost_scale: CostScale,
        constraints: TreeConstraints,
        state: Mapping[str, NDArray[Any]] | None,
        room: int | None,
    ) -> QuantEngine:
        """The engine of mode ``fast`` for classes; ``room`` is the limit on memory."""
        parts = _parts(problem, cost_scale, constraints)
        if self.shard is None:
            return QuantEngine(*parts, state)
        begun = None if self.is_divided else state
        return QuantShardEngine(*parts, begun, shard=self.shard, most_bytes=room)

    def part(self, shard: Shard) -> Self:
        """See the base class; mode ``paper`` has no shards."""
        if self.settings["mode"] == "paper":
            raise UnsupportedError(
                f"solver {self.name!r} cannot do a solve in parts in mode paper; take mode fast"
            )
        return super().part(shard)

    @property
    def resumes(self) -> bool:
        """See the base class; a shard begins again, with what other shards know."""
        return super().resumes and not self.is_divided

    def divides(self, lam: Fraction, limits: Limits, task: TaskType = "classification") -> bool:
        """See the base class; mode ``fast`` does, of classes, if no limit but depth is given."""
        is_free = (limits.min_leaf_size or 0) <= 1 and limits.splits is None
        return task == "classification" and self.settings["mode"] == "fast" and is_free

    def series(self, problem: Problem) -> Solve:
        """See :meth:`solver.base.Solver.series`: mode ``fast`` carries bounds of thresholds at the
        root, of classes, from one λ to the next."""
        if self.settings["mode"] == "paper" or problem.values is not None:
            return Series(self, problem)
        return _CarryingSeries(_Carrying(**self.settings), problem)

    @classmethod
    def warm_up(cls) -> None:
        """Compile the kernels on tiny problems."""
        limits = Limits(depth=2)
        problem = Problem.from_codes([[0], [1], [2]], [0, 1, 0], ordered=True)
        cls().solve(problem, Fraction(1, 20), limits)
        cls().part(Shard(0, 2)).solve(problem, Fraction(1, 20), limits)
        cls().series(problem)(Fraction(1, 20), limits)
        cls(mode="paper").solve(problem, Fraction(1, 20), limits)
        problem = Problem.from_codes(
            [[0], [1], [2]], [0.0, 1.0, 3.0], task="regression", ordered=True
        )
        cls().solve(problem, Fraction(1, 20), limits)


def _parts(
    problem: Problem, cost_scale: CostScale, constraints: TreeConstraints
) -> tuple[
    NDArray[np.int32], Ints, NDArray[np.int32], CostScale, TreeConstraints, Callable[[], str]
]:
    """What every engine of classes is made of."""
    rows = problem.codes, problem.counts, problem.arities
    return *rows, cost_scale, constraints, lambda: problem.digest


class _Carrying(QuantBnB):
    """Solves one problem of classes at one λ after another."""

    archive: Archive | None = None
    engine: QuantPathEngine | None = None
    carries: bool = True

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.scorer = ScoreOnce()
        self.columns: tuple[Problem, Columns] | None = None

    def _columns(self, problem: Problem) -> Columns:
        if self.columns is None or self.columns[0] is not problem:
            self.columns = problem, Columns.of(problem)
            self.archive, self.engine = None, None
        return self.columns[1]

    def _regrown(self, columns: Columns, initial_tree: Tree) -> Tree:
        return columns.inwards(initial_tree)  # it came out of this series

    def restore(self, problem: Problem, state: Mapping[str, NDArray[Any]]) -> None:
        """Go on with the bounds in a state."""
        self._archive(self._columns(problem).problem).restore(state)

    def _archive(self, problem: Problem) -> Archive:
        if self.archive is None:
            self.archive = Archive(len(problem.arities), problem.digest)
        return self.archive

    def _engine(
        self,
        problem: Problem,
        cost_scale: CostScale,
        constraints: TreeConstraints,
        state: Mapping[str, NDArray[Any]] | None,
        room: int | None,
    ) -> QuantEngine:
        if not self.carries:
            self.archive, self.engine = None, None
            return super()._engine(problem, cost_scale, constraints, state, room)
        parts, archive = _parts(problem, cost_scale, constraints), self._archive(problem)
        engine = QuantPathEngine(*parts, state, archive=archive, last=self.engine)
        if room is not None and engine.bytes > room:
            engine.forget()
        self.engine = engine
        return engine

    def _solve(self, problem: Problem, lam: Fraction, limits: Limits, *others: Any) -> Solution:
        self.carries = limits.splits is None
        found = super()._solve(problem, lam, limits, *others)
        if self.engine is not None:
            self.engine.keep()
        return found


class _CarryingSeries(Series):
    """A series that knows bounds of thresholds from one λ to the next."""

    solver: _Carrying

    def carries(self, limits: Limits) -> bool:
        """Of classes, in mode ``fast``, without a limit on splits."""
        return limits.splits is None

    def state(self) -> dict[str, NDArray[Any]] | None:
        """The bounds."""
        archive = self.solver.archive
        return super().state() if archive is None else archive.state()

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """See :meth:`solver.lambda_series.Series.restore`."""
        known = {name: array for name, array in state.items() if name.startswith(CARRIED)}
        if known:
            try:
                self.solver.restore(self.problem, known)
            except (InputError, TypeError, ValueError) as error:
                raise StateError(f"the path cannot go on from its state: {error}") from None
        super().restore({name: array for name, array in state.items() if name not in known})
