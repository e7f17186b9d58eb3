"""The events of a sweep, for displays and other listeners."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

    from sweep.plan.plan import Plan


@dataclass(frozen=True)
class Progress:
    """The progress of a sweep."""

    active: bool  #: whether the driver is at work
    total: int  #: tasks of the plan
    answered: int  #: tasks that had an answer before this run
    done: int  #: all tasks with an answer
    failed: int  #: tasks of this run that ended in an error or killed their worker
    running: int  #: tasks on workers
    seconds: float  #: duration of this run so far
    rate: float  #: tasks per second in this run
    eta: float | None  #: estimated seconds to the end, if known
    worst_gap: float | None  #: largest gap among this run's rows and running searches
    workers: int
    memory: int  #: bytes in use by the workers
    shards_done: int = 0  #: finished shards of running tasks
    shards: int = 0  #: all shards of running tasks
    dashboard: str | None = None  #: the address of Dask's dashboard


@dataclass(frozen=True)
class Outcome:
    """How a run of a sweep ended.

    Examples
    --------
    >>> import treesweep
    >>> outcome = treesweep.resume_sweep("results/first", progress=False).outcome
    >>> outcome.total, outcome.failed, outcome.exit_code
    (8, 0, 0)
    """

    total: int  #: tasks of the plan
    answered: int  #: tasks that had a result before
    ran: int  #: tasks that were run
    failed: int  #: tasks that were run and failed
    limited: int  #: tasks that were run and hit a limit of time, memory or nodes
    impossible: int  #: combinations that their solver or encoding cannot do
    interrupted: bool
    seconds: float

    @property
    def exit_code(self) -> int:
        """0 done, 1 some tasks failed, 130 interrupted."""
        if self.interrupted:
            return 130
        return 1 if self.failed else 0


class Listener:
    """The base of displays: it ignores all events. The thread that runs the sweep calls it."""

    def planned(self, plan: Plan, remaining: int) -> None:
        """The plan is made; ``remaining`` tasks must run."""

    def finished(self, rows: pa.RecordBatch) -> None:
        """Rows are finished, in the schema of the store; some may be failures."""

    def progress(self, progress: Progress) -> None:
        """Called about twice a second."""

    def note(self, text: str) -> None:
        """A message: a worker was lost, a task runs again, …"""

    def ended(self, outcome: Outcome) -> None:
        """All rows are written."""

    def aborted(self) -> None:
        """The process ends now: restore the terminal. Called in a signal handler."""


class Silent(Listener):
    """A listener that ignores all events."""
