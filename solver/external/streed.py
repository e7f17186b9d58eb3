"""STreeD (van der Linden, de Weerdt, Demirović 2023)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any, ClassVar

from numpy.typing import NDArray

from solver.base import Capabilities
from solver.branches import Branches
from solver.external.base import ExternalSolver, version_of
from solver.external.job_messages import FINISHED, TIMED_OUT, Answer, Job, Splits
from solver.limits import Limits
from solver.monitor import Monitor
from solver.options import Option
from solver.problem.problem import Problem
from solver.solution import Solution, Status
from solver.trees.tree import Tree

GREATEST_DEPTH = 20

_FOREVER = 1e7


class Streed(ExternalSolver):
    """STreeD with the task ``cost-complex-accuracy``, which prices splits as we do.

    It needs a limit of depth, at most 20. Where ``told``, the limit is the depth of an optimal tree
    if BRANCHES finds one within half the limit of time, which is not counted.

    References
    ----------
    van der Linden, de Weerdt, Demirović (2023), Necessary and Sufficient Conditions for Optimal
    Decision Trees using Dynamic Programming.
    """

    name: ClassVar[str] = "streed"
    package: ClassVar[str] = "pystreed"
    module: ClassVar[str] = "pystreed"
    version: ClassVar[str] = version_of("pystreed")
    summary: ClassVar[str] = "STreeD, the authors' C++ program, depth ≤ 20; its claims are unproven"
    capabilities: ClassVar[Capabilities] = Capabilities(
        features=frozenset({"binary"}),
        limits=frozenset({"depth", "splits", "min_leaf_size"}),
        needs=frozenset({"depth"}),
        proves=False,
        greatest_depth=GREATEST_DEPTH,
    )

    options: ClassVar[Mapping[str, Option]] = {
        "told": Option(
            False,
            "limit the depth to that of a known optimal tree, for a comparison of times",
            kind=bool,
        )
    }

    def _solve(
        self,
        problem: Problem,
        lam: Fraction,
        limits: Limits,
        initial_tree: Tree | None,
        monitor: Monitor,
        state: Mapping[str, NDArray[Any]] | None,
    ) -> Solution:
        if self.settings["told"]:
            half = None if limits.seconds is None else limits.seconds / 2
            own = replace(limits, seconds=half)
            best = Branches().solve(problem, lam, own, monitor=Monitor(stop=monitor.stop))
            if best.status is Status.OPTIMAL:
                limits = replace(limits, depth=max(1, best.tree.depth))
        return super()._solve(problem, lam, limits, initial_tree, monitor, state)

    @classmethod
    def fit(cls, job: Job) -> Answer:
        """See the base class."""
        pystreed = cls.load()

        seconds = job.limits.seconds
        model = pystreed.STreeDClassifier(
            optimization_task="cost-complex-accuracy",
            cost_complexity=min(float(job.lam), 1.0),  # more is refused, and no split pays
            max_depth=job.limits.depth,
            min_leaf_node_size=job.least_rows,
            max_num_nodes=job.limits.splits,
            time_limit=_FOREVER if seconds is None else seconds,
        )
        model.fit(job.codes, job.labels)
        if not model.is_fitted():
            return Answer(-1, TIMED_OUT)
        result = model.fit_result
        is_optimal = bool(result.is_optimal())
        return Answer(
            tree=_read(model.get_tree()),
            status=FINISHED if is_optimal else TIMED_OUT,
            optimal=is_optimal,
        )


def _read(node: Any) -> Splits:
    if node.is_leaf_node():
        return -1
    # Its left child takes the rows whose feature is 0.
    return [int(node.feature), _read(node.left_child), _read(node.right_child)]
