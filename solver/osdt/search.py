"""Runs OSDT from its first array to its solution, and reports on the search."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from numpy.typing import NDArray

from solver.engine.driver import Search
from solver.engine.greedy import GREEDY
from solver.engine.growable_arrays import within_memory
from solver.engine.tree_constraints import TreeConstraints
from solver.limits import Limits
from solver.monitor import Monitor
from solver.objective.exact_objective import CostScale
from solver.osdt.engine import OsdtEngine
from solver.osdt.paper_search import PaperEngine
from solver.problem.problem import Problem
from solver.solution import Solution, Status

_LONGEST_TRACE = 512
_RATIO = 1.1  # of the times of two neighbouring points of the trace between which nothing changed


class OsdtSearch(Search):
    """One search; ``settings`` are the options of :class:`solver.osdt.Osdt`.

    Without a limit of bytes the arrays take at most half of the machine's memory: the caches grow
    by gigabytes a minute.
    """

    engine: OsdtEngine | PaperEngine

    def __init__(
        self,
        problem: Problem,
        lam: Fraction,
        limits: Limits,
        settings: Mapping[str, Any],
        state: Mapping[str, NDArray[Any]] | None,
    ) -> None:
        def make(
            problem: Problem, cost_scale: CostScale, constraints: TreeConstraints
        ) -> OsdtEngine | PaperEngine:
            if settings["mode"] == "paper":
                return PaperEngine(problem, cost_scale, constraints, limits, settings)
            return OsdtEngine(problem, cost_scale, constraints, limits, settings, state)

        super().__init__(problem, lam, within_memory(limits), make, GREEDY)
        self.settings = settings
        self.measures: list[dict[str, float]] = []

    def run(self, monitor: Monitor) -> Status:
        """Search until the optimum is proven or a limit is met."""
        self._record()
        return super().run(monitor)

    def _record(self) -> None:
        super()._record()
        point, measures = self.trace[-1], self.measures
        known = [point.objective, point.lower_bound]
        if (
            measures
            and known == [measures[-1]["objective"], measures[-1]["lower_bound"]]
            and self.seconds < _RATIO * measures[-1]["seconds"]
        ):
            return
        measures.append(
            {
                "seconds": self.seconds,
                "objective": point.objective,
                "lower_bound": float(point.lower_bound or 0),
                **self.engine.measure(),
            }
        )
        if len(measures) > _LONGEST_TRACE:
            del measures[1:-1:2]

    def solution(self, status: Status, name: str, version: str) -> Solution:
        """The answer; ``extra`` tells of the search, see :class:`solver.osdt.Osdt`."""
        found = super().solution(status, name, version)
        final = float(found.objective)
        reached = next(point.seconds for point in self.trace if point.objective == final)
        found.extra.update(
            objective_splits=str(found.objective),
            objective_leaves=str(found.objective + self.lam),
            trees_evaluated=self.engine.evaluated,
            trees_evaluated_to_optimum=self.engine.evaluated_to_best,
            seconds_to_optimum=reached,
            pruned=self.engine.pruned,
            trace=self.measures,
        )
        return found
