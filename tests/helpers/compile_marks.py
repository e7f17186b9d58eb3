"""A solver whose kernel is compiled in no time, which leaves marks of when it was; for tests only.

Workers load this module through Dask's own setting ``distributed.worker.preload``.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar

from numba import njit
from numpy.typing import NDArray

from solver.base import Capabilities, Solver
from solver.catalogue import SOLVERS
from solver.limits import Limits
from solver.monitor import Monitor
from solver.objective.exact_objective import objective
from solver.problem.problem import Problem
from solver.solution import Solution, Status
from solver.trees.tree import Tree
from tests.helpers.waiting_cart import meet

MARKS = "TREESWEEP_TEST_MARKS"
"""Names a folder for the marks of a worker."""


@njit(cache=True)
def kernel(n: int) -> int:
    """Twice n."""
    return 2 * n


class Warmer(Solver):
    """Gives the tree without a split."""

    name: ClassVar[str] = "warmer"
    version: ClassVar[str] = "1"
    summary: ClassVar[str] = "for tests"
    capabilities: ClassVar[Capabilities] = Capabilities(
        frozenset({"binary", "categorical"}), proves=False
    )

    @classmethod
    def warm_up(cls) -> None:
        """Compile the kernel slowly enough for others to come in between."""
        time.sleep(0.5)
        kernel(1)
        _mark("warmed")

    def _solve(
        self,
        problem: Problem,
        lam: Fraction,
        limits: Limits,
        initial_tree: Tree | None,
        monitor: Monitor,
        state: Mapping[str, NDArray[Any]] | None,
    ) -> Solution:
        kernel(1)
        compiled = sum(kernel.stats.cache_misses.values())
        _mark("compiled" if compiled else "loaded")
        meet()
        tree = problem.grow(-1)
        return Solution(
            tree=tree,
            status=Status.HEURISTIC,
            lam=lam,
            objective=objective(tree.errors, 0, problem.total_weight, lam),
            lower_bound=None,
            errors=tree.errors,
            total_weight=problem.total_weight,
            seconds=0.05,
            solver=self.name,
            version=self.version,
        )


def _mark(name: str) -> None:
    folder = os.environ.get(MARKS)
    if folder:
        Path(folder, f"{name}-{os.getpid()}").touch()


def dask_setup(worker: Any) -> None:
    """Called by Dask in each worker."""
    SOLVERS.setdefault(Warmer.name, Warmer)
