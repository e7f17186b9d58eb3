"""BRANCHES as a solver: its options, and the choice of the engine."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from solver.base import Capabilities, Solver
from solver.branches.certify import certify
from solver.branches.engine import ThresholdEngine
from solver.branches.paper.engine import PaperEngine
from solver.branches.params import OPTIONS
from solver.branches.shard_engine import ShardEngine
from solver.engine.driver import Engine, Search
from solver.engine.greedy import GREEDY
from solver.engine.rollouts import Rollouts
from solver.engine.tree_constraints import TreeConstraints
from solver.errors import InputError, StateError, UnsupportedError
from solver.lambda_series import Series, Solve
from solver.limits import Limits
from solver.monitor import Monitor
from solver.objective.exact_objective import CostScale
from solver.options import Option
from solver.problem.problem import Problem
from solver.search_shards import FOUND, Shard
from solver.solution import Solution
from solver.trees.tree import TaskType, Tree, shape_of
from solver.verify.certificate import Certificate, Claim
from solver.verify.scorer import ScoreOnce


class Branches(Solver):
    """BRANCHES: dynamic programming over branches with purification bounds.

    Mode ``paper`` is the published best-first algorithm. Mode ``full`` goes depth-first with
    thresholds and more bounds, and identifies branches by their rows; each of its ideas is an
    option.

    Among optimal trees it returns one of the fewest splits. The order of the search decides which,
    and is the same on every machine. At λ = 0 splits are free, so the first tree without avoidable
    errors ends the search.

    References
    ----------
    Chaouki, Read, Bifet, "BRANCHES: A Fast Dynamic Programming and Branch & Bound Algorithm for
    Optimal Decision Trees", Algorithm 1, Propositions 4.1 and 4.2, Theorem 4.3.
    """

    name: ClassVar[str] = "branches"
    version: ClassVar[str] = "16"
    certifies: ClassVar[bool] = True
    summary: ClassVar[str] = "optimal sparse trees by dynamic programming over branches (BRANCHES)"
    capabilities: ClassVar[Capabilities] = Capabilities(
        features=frozenset({"binary", "categorical"}),
        limits=frozenset({"depth", "splits", "min_leaf_size"}),
        resumes=True,
        shards=True,
    )
    options: ClassVar[Mapping[str, Option]] = {
        "mode": Option(
            "full",
            "full: mostly depth-first, with all bounds below; paper: the published search",
            ("full", "paper"),
        ),
        **{name: replace(option, mode="full") for name, option in OPTIONS.items()},
    }

    @classmethod
    def check_options(cls, options: Mapping[str, Any]) -> dict[str, Any]:
        """As every solver's; and the slack is finite."""
        settings = super().check_options(options)
        if not math.isfinite(settings["slack"]):
            raise InputError(
                f"option slack = {settings['slack']} of solver {cls.name!r} must be a finite number"
            )
        settings["slack"] = float(settings["slack"])  # 4 and 4.0 are the same task
        return settings

    def _solve(
        self,
        problem: Problem,
        lam: Fraction,
        limits: Limits,
        initial_tree: Tree | None,
        monitor: Monitor,
        state: Mapping[str, NDArray[Any]] | None,
    ) -> Solution:
        def make(problem: Problem, cost_scale: CostScale, constraints: TreeConstraints) -> Engine:
            if self.settings["mode"] == "paper":
                return PaperEngine(problem, cost_scale, constraints)
            return self._engine(problem, cost_scale, constraints, state, limits.bytes)

        search = Search(problem, lam, limits, make, GREEDY._replace(improve=Rollouts))
        if initial_tree is not None:
            search.offer(self._regrown(problem, initial_tree))
        status = search.run(monitor)
        solution = search.solution(status, self.name, self.version)
        if self.is_divided:
            solution.extra[FOUND] = search.found
        return solution

    def part(self, shard: Shard) -> Self:
        """See the base class; mode ``paper`` has no shards."""
        if self.settings["mode"] == "paper":
            raise UnsupportedError(
                f"solver {self.name!r} cannot do a solve in parts in mode paper; take mode full"
            )
        return super().part(shard)

    @property
    def resumes(self) -> bool:
        """See the base class; a shard begins again, with the bounds that other shards tell."""
        return super().resumes and not self.is_divided

    def divides(self, lam: Fraction, limits: Limits, task: TaskType = "classification") -> bool:
        """See the base class; mode ``full`` does, where :class:`ShardEngine` deals features out."""
        return self.settings["mode"] == "full" and lam > 0 and limits.splits is None

    def _regrown(self, problem: Problem, initial_tree: Tree) -> Tree:
        """A tree from elsewhere with this problem's counts."""
        return problem.grow(shape_of(initial_tree))

    def _engine(
        self,
        problem: Problem,
        cost_scale: CostScale,
        constraints: TreeConstraints,
        state: Mapping[str, NDArray[Any]] | None,
        room: int | None,
    ) -> ThresholdEngine:
        if self.shard is not None:
            shard = self.shard
            return ShardEngine(problem, cost_scale, constraints, self.settings, shard, room, state)
        return ThresholdEngine(problem, cost_scale, constraints, self.settings, state)

    def certify(
        self,
        problem: Problem,
        claims: Sequence[Claim],
        limits: Limits | None = None,
        monitor: Monitor | None = None,
    ) -> Certificate:
        """Prove again what a search has proven, and write the proof.

        The proof uses all bounds of mode ``full`` but ``row_duals`` and ``subset_bounds``, which a
        checker cannot follow, whatever the options; see :func:`solver.branches.certify.certify` for
        limits and errors.
        """
        settings = self.check_options({"row_duals": False, "subset_bounds": False})
        return certify(problem, claims, limits or Limits(), settings, monitor or Monitor())

    def series(self, problem: Problem) -> Solve:
        """See :meth:`solver.base.Solver.series`: mode ``full`` carries bounds and trees of all
        branches from one λ to the next."""
        return _CarryingSeries(_Carrying(**self.settings), problem)

    @classmethod
    def warm_up(cls) -> None:
        """Compile the kernels of both modes, and of proofs, on a problem of four rows."""
        problem = Problem.from_codes([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 0, 0, 1])
        lam = Fraction(1, 20)
        for options in ({}, {"mode": "paper"}):
            cls(**options).solve(problem, lam)
        cls().part(Shard(0, 2)).solve(problem, lam)
        cls().certify(problem, [Claim(lam, 0, 2)])
        series = cls().series(problem)
        for price in (lam, 2 * lam):
            series(price, Limits())
        constraints = TreeConstraints.of(problem, lam, Limits())
        cost_scale = CostScale.build(lam, 4, problem.leaf_errors, 3)
        ThresholdEngine(problem, cost_scale, constraints, cls().settings).compile_late()
        Rollouts(problem, cost_scale, constraints)


class _Carrying(Branches):
    """Continues with one engine from λ to λ."""

    last: ThresholdEngine | None = None

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.scorer = ScoreOnce()

    def _regrown(self, problem: Problem, initial_tree: Tree) -> Tree:
        return initial_tree  # it came out of this series

    def _engine(
        self,
        problem: Problem,
        cost_scale: CostScale,
        constraints: TreeConstraints,
        state: Mapping[str, NDArray[Any]] | None,
        room: int | None,
    ) -> ThresholdEngine:
        last = self.last
        if last is not None and last.problem is problem and last.constraints == constraints:
            if room is None or last.bytes_repriced() <= room:
                last.reprice(cost_scale, constraints)
                return last
        engine = super()._engine(problem, cost_scale, constraints, state, room)
        if constraints.budgets == 1:
            self.last = engine
        return engine


class _CarryingSeries(Series):
    """A series whose engine continues from λ to λ."""

    solver: _Carrying

    def carries(self, limits: Limits) -> bool:
        """In mode ``full``; a limit on splits makes it depend on λ."""
        return self.solver.resumes

    def descends(self, limits: Limits) -> bool:
        """In mode ``full``, where bounds are carried: not with a limit on splits."""
        return self.solver.resumes and limits.splits is None

    def state(self) -> dict[str, NDArray[Any]] | None:
        """The engine, with its cost scale and constraints."""
        engine = self.solver.last
        if engine is None:
            return super().state()
        cost_scale = engine.cost_scale
        return {
            _LAM: np.array(str(cost_scale.lam)),
            _COST_SCALE: np.array([cost_scale.tie, cost_scale.error, cost_scale.split], np.int64),
            _CONSTRAINTS: np.array(engine.constraints, np.int64),
            **engine.state(),
        }

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """See :meth:`solver.lambda_series.Series.restore`."""
        if not {_LAM, _COST_SCALE, _CONSTRAINTS} <= set(state):
            super().restore(state)
            return
        own, problem = dict(state), self.problem
        try:
            lam = Fraction(str(own.pop(_LAM)))
            cost_scale = CostScale(lam, problem.total_weight, *own.pop(_COST_SCALE).tolist())
            constraints = TreeConstraints(*own.pop(_CONSTRAINTS).tolist())
            self.solver.last = ThresholdEngine(
                problem, cost_scale, constraints, self.solver.settings, own
            )
        except (InputError, TypeError, ValueError) as error:
            raise StateError(f"the path cannot go on from its state: {error}") from None


_LAM, _COST_SCALE, _CONSTRAINTS = "lam", "cost_scale", "constraints"
