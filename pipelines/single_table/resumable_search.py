"""Keep an unfinished search in a file, and resume it from there."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from dataclasses import asdict
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solver.base import Solver
from solver.errors import InputError
from solver.limits import Limits
from solver.monitor import Monitor, Snapshot
from solver.problem.problem import Problem
from solver.solution import Solution, Status
from solver.trees.tree import Tree
from sweep.plan.task_keys import canonical, question_limits
from sweep.rows.result_rows import Checkpoint, checkpoint_at, initial_tree, resumed
from sweep.store.search_state_format import read_state, size_of, write_state
from sweep.worker.state_pace import Pace

KEEP_SECONDS = 30.0
"""Seconds between two writes of a state, or longer if writing takes long."""

_TOLD_SECONDS = 0.5


def search_identity(
    problem: Problem, lam: Fraction, solver: Solver, limits: Limits
) -> dict[str, str]:
    """Identifies a search: only its own states are of use. Budgets are not part of it."""
    return {
        "data": _digest(problem),
        "encoding": problem.encoding,
        "λ": str(lam),
        "solver": solver.name,
        "solver version": solver.version,
        "solver options": canonical(solver.settings),
        "limits": question_limits(limits.to_dict()),
    }


def _digest(problem: Problem) -> str:
    found = hashlib.sha256(repr((problem.tests, problem.classes, problem.codes.shape)).encode())
    targets = () if problem.values is None else (problem.values,)
    for array in (problem.codes, problem.counts, problem.arities, *targets):
        found.update(np.ascontiguousarray(array).data)
    return found.hexdigest()


class StateFile:
    """The file of the search with an identity (:func:`search_identity`); read if it exists.

    Raises InputError if the file is damaged, or the state of another search.
    """

    def __init__(self, path: Path, identity: dict[str, str]) -> None:
        self.path, self._identity = path, identity
        self._state: dict[str, NDArray[Any]] | None = None
        self._checkpoint: Checkpoint | None = None
        self._last: Snapshot | None = None
        self._pace, self._kept = Pace(), 0.0
        self.complaint: str | None = None
        try:
            self._state, about = read_state(path, identity)
            self._checkpoint = Checkpoint(**about.reached)
        except FileNotFoundError:
            return
        except TypeError:
            raise InputError(f"{path} is damaged: it does not say what was reached") from None

    def tree(self) -> Tree | None:
        """The best tree so far."""
        return initial_tree(self._checkpoint)

    def take_state(self) -> dict[str, NDArray[Any]] | None:
        """The state to resume from. Only once, so that the search has the only copy."""
        state, self._state = self._state, None
        return state

    def monitor(
        self, stop: Callable[[], bool], follow: Callable[[Snapshot], None] | None
    ) -> Monitor:
        """A monitor that writes states; snapshots also go to ``follow``."""

        def snapshot(seen: Snapshot) -> None:
            if follow is not None:
                follow(seen)
            self._last = seen
            if seen.state is None or seen.seconds - self._kept < KEEP_SECONDS:
                return
            if not self._pace.may_allow(seen.seconds):
                return
            state = seen.state()
            if self._pace.allows(size_of(state), seen.seconds):
                self._kept = seen.seconds
                self._write(seen)

        return Monitor(stop, snapshot, _TOLD_SECONDS)

    def end(self, solution: Solution) -> Solution:
        """Write the state of a search without a proof; remove it after a proof.

        Returns the solution with the effort and bound of earlier calls added.
        """
        last = self._last
        whole = resumed(solution, self._checkpoint, from_state=True)
        if whole.status is Status.OPTIMAL:
            self.path.unlink(missing_ok=True)
        elif last is None or last.iterations != solution.iterations or last.state is None:
            self.complaint = f"solver {solution.solver!r} gave no state to write to {self.path}"
        else:
            self._write(last)
        return whole

    def _write(self, seen: Snapshot) -> None:
        assert seen.state is not None
        began = time.perf_counter()
        state = seen.state()
        reached = checkpoint_at(seen, "", self._checkpoint, from_state=True)
        try:
            write_state(self.path, state, self._identity, asdict(reached))
            self.complaint = None
        except InputError as error:  # a full disk must not lose the solution
            self.complaint = str(error)
        self._pace.wrote(size_of(state), time.perf_counter() - began)
