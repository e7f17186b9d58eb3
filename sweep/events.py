"""What the engine tells whoever watches it. It knows nothing of terminals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from sweep.plan.plan import Plan


@dataclass(frozen=True)
class Progress:
    """How far a sweep is.

    Parameters
    ----------
    active : bool
        Whether the driver is at work.
    total : int
        Tasks of the plan.
    answered : int
        Tasks that the store had answered before this run began.
    done : int
        Tasks answered, these included.
    failed : int
        Tasks of this run that ended in an error or killed their worker.
    running : int
        Tasks handed to workers.
    seconds : float
        Since this run began.
    rate : float
        Tasks a second, in this run.
    eta : float or None
        Seconds to the end if the rate stays; None if not known yet.
    worst_gap : float or None
        Largest gap among this run's rows and running searches.
    memory : int
        Bytes that the workers use.
    shards_done, shards : int
        Of the tasks in shards that workers are at: shards that are finished, and all.
    """

    active: bool
    total: int
    answered: int
    done: int
    failed: int
    running: int
    seconds: float
    rate: float
    eta: float | None
    worst_gap: float | None
    workers: int
    memory: int
    shards_done: int = 0
    shards: int = 0


@dataclass(frozen=True)
class Outcome:
    """How a run of a sweep ended.

    Parameters
    ----------
    total : int
        Tasks of the plan.
    answered : int
        Tasks that were answered before.
    ran : int
        Rows that were written.
    failed : int
        Of these, errors and kills.
    impossible : int
        Cells that cannot be run.
    """

    total: int
    answered: int
    ran: int
    failed: int
    impossible: int
    interrupted: bool
    seconds: float

    @property
    def exit_code(self) -> int:
        """0 done, 1 some tasks failed, 130 interrupted."""
        if self.interrupted:
            return 130
        return 1 if self.failed else 0


class Listener(Protocol):
    """What a display implements. All methods are called by the thread that runs the sweep."""

    def planned(self, plan: Plan, remaining: int) -> None:
        """The plan is made; so many of its tasks are to be run."""

    def finished(self, rows: pa.RecordBatch) -> None:
        """Rows are finished, well or not; the columns are those of the schema."""

    def progress(self, progress: Progress) -> None:
        """Called about twice a second."""

    def note(self, text: str) -> None:
        """Something worth a line: a worker was lost, a task is run again, …"""

    def ended(self, outcome: Outcome) -> None:
        """All is written."""

    def aborted(self) -> None:
        """The process ends now; put the terminal right. Called in a signal handler."""


class Silent:
    """A listener that shows nothing; a base for those that show little."""

    def planned(self, plan: Plan, remaining: int) -> None:
        """Nothing."""

    def finished(self, rows: pa.RecordBatch) -> None:
        """Nothing."""

    def progress(self, progress: Progress) -> None:
        """Nothing."""

    def note(self, text: str) -> None:
        """Nothing."""

    def ended(self, outcome: Outcome) -> None:
        """Nothing."""

    def aborted(self) -> None:
        """Nothing."""
