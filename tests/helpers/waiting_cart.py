"""CART that waits until all workers have come to it, so that each of them does a task; for tests.

Which worker is ready first, and whether it does all tasks before the next one is, is up to how busy
the machine is. Workers load this module through Dask's own setting ``distributed.worker.preload``.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from solver.baselines.cart import Cart
from solver.catalogue import SOLVERS
from solver.limits import Limits
from solver.monitor import Monitor
from solver.problem.problem import Problem
from solver.solution import Solution
from solver.trees.tree import Tree

PLACE = "TREESWEEP_TEST_MEETING"
"""Names a folder for the marks of those who have come."""

NUMBER = "TREESWEEP_TEST_MEETING_OF"
"""Says how many workers are to come. There must be more tasks than all but one of them can hold:
two each, as long as none is done."""

CLASS = "TREESWEEP_TEST_MEETING_AT"
"""Only searches of tables with this class wait, if it is given."""

TIMEOUT = 400.0


def meeting(folder: Path, number: int, at: str | None = None) -> dict[str, str]:
    """The environment of workers that are to meet."""
    folder.mkdir(exist_ok=True)
    return {
        "DASK_DISTRIBUTED__WORKER__PRELOAD": f"['{__name__}']",
        PLACE: str(folder),
        NUMBER: str(number),
        **({} if at is None else {CLASS: at}),
    }


def meet() -> None:
    """Wait until so many workers have come here.

    Raises
    ------
    TimeoutError
        If they do not come.
    """
    place = os.environ.get(PLACE)
    if place is None:
        return
    Path(place, str(os.getpid())).touch()
    deadline = time.monotonic() + TIMEOUT
    while len(os.listdir(place)) < int(os.environ[NUMBER]):
        if time.monotonic() > deadline:
            raise TimeoutError(f"only these have come: {os.listdir(place)}")
        time.sleep(0.05)


class Meeter(Cart):
    """CART by its name, version and answers."""

    def _solve(
        self,
        problem: Problem,
        lam: Fraction,
        limits: Limits,
        initial_tree: Tree | None,
        monitor: Monitor,
        state: Mapping[str, NDArray[Any]] | None,
    ) -> Solution:
        if os.environ.get(CLASS) in (None, *problem.classes):
            meet()
        return super()._solve(problem, lam, limits, initial_tree, monitor, state)


def dask_setup(worker: Any) -> None:
    """Called by Dask in each worker."""
    SOLVERS[Cart.name] = Meeter
