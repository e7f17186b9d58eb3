"""What a worker does once an optimum is proven: find all good trees, if they are asked for."""

from __future__ import annotations

import traceback
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from solver.limits import Limits
from solver.monitor import Monitor
from solver.problem.problem import Problem
from solver.solution import Solution, Status
from sweep.rows.result_rows import Cell
from sweep.rows.schema import RASHOMON_CONTENT
from sweep.spec.requested_outputs import asked_rashomon
from sweep.store.rashomon_files import relative_path, to_bytes
from sweep.worker.checkpointing import Keeper


@dataclass(frozen=True)
class GoodTrees:
    """The good trees on their way to the store, or why there are none.

    Parameters
    ----------
    status : Status
        That of the run: a limit may have ended the search for them, or the run was stopped.
    content : bytes or None
        The file.
    trees : int
        How many there are.
    within : Fraction
        The tolerance within which they all are counted; a limit may leave less than was asked for.
    seconds : float
        What it took.
    why : str or None
        There are none.
    """

    status: Status
    content: bytes | None = None
    trees: int = 0
    within: Fraction = Fraction(0)
    seconds: float = 0.0
    why: str | None = None

    def columns(self, key: str) -> dict[str, Any]:
        """The columns of the row, and the file's content."""
        if self.content is None:
            return {} if self.why is None else {"error": self.why}
        return {
            "rashomon": relative_path(key),
            "rashomon_bytes": len(self.content),
            "rashomon_trees": str(self.trees),
            "rashomon_within": str(self.within),
            "rashomon_seconds": self.seconds,
            RASHOMON_CONTENT: self.content,
        }


def find_good_trees(
    problem: Problem, solution: Solution, cell: Cell, keeper: Keeper
) -> GoodTrees | None:
    """The good trees of a task; None if none are asked for or its optimum is not proven.

    The limits of the task hold for both searches together. A limit leaves the set of a smaller
    tolerance, or none. What goes wrong here must not lose the optimum: it is told instead.
    """
    asked = asked_rashomon(cell.options)
    if asked is None or solution.status is not Status.OPTIMAL:
        return None
    # A driver imports this module, and needs no kernels.
    from solver.rashomon.build_graph import LimitError
    from solver.rashomon.find_set import rashomon_set

    monitor = Monitor(stop=keeper.monitor().stop)  # there is no state to be kept
    try:
        found = rashomon_set(
            problem, cell.lam, asked["within"], asked["unit"], limits=Limits(**cell.limits),
            monitor=monitor, optimum=solution, anytime=True,
        )  # fmt: skip
        seconds = max(0.0, found.seconds - solution.seconds)
        return GoodTrees(found.status, to_bytes(found), found.n_trees, found.within, seconds)
    except LimitError as error:
        return GoodTrees(error.status)
    except Exception as error:
        if monitor.stop():
            return GoodTrees(Status.STOPPED)
        keeper.note(f"its good trees are not counted: {type(error).__name__}: {error}")
        return GoodTrees(solution.status, why=f"there are no good trees: {traceback.format_exc()}")
