"""Who asks the searches of a worker to stop: the driver, a later run, or the worker's end.

Ctrl-C in the terminal of a local cluster is the driver's to answer, see :class:`LocalWorker`.
"""

from __future__ import annotations

import hashlib
import signal
import threading
import uuid
from contextlib import suppress

from distributed import Worker, WorkerPlugin

LEAVING = "leaving"
"""The kind of the event by which a worker tells that its time is about to end."""

_stopped: set[str] = set()
_given_up: set[tuple[str, str]] = set()
_parts: dict[tuple[str, str], int] = {}
_latest: dict[str, str] = {}
_leaving = threading.Event()


def request_stop(run: str) -> None:
    """Tell all running and coming solves of a run to stop; called on the worker by the driver."""
    _stopped.add(run)


def give_up(run: str, key: str) -> None:
    """Tell all running shards of a task to stop: one has failed; called on the worker by the
    driver."""
    _given_up.add((run, key))


def is_given_up(run: str, key: str) -> bool:
    """Whether a shard of this task has failed."""
    return (run, key) in _given_up


def divide(run: str, key: str, number: int) -> None:
    """Tell what runs of a task to stop: it is divided into so many shards from now on; called on
    the worker by the driver."""
    _parts[run, key] = max(number, _parts.get((run, key), 1))  # messages may overtake others


def is_divided(run: str, key: str, number: int) -> bool:
    """Whether this task was divided into more shards than these, of which there are so many."""
    return _parts.get((run, key), 1) > number


def name_run(store: str) -> str:
    """A name that no other run has, and that tells the runs of one store from others."""
    return f"treesweep-{hashlib.sha256(store.encode()).hexdigest()[:12]}-{uuid.uuid4().hex[:12]}"


def take_over(run: str) -> None:
    """Stop all other runs of the same store: their driver is gone, or it would have the lease, and
    their searches may have hours to go. Called on the worker by the driver."""
    _latest[_store_of(run)] = run


def _store_of(run: str) -> str:
    return run.rpartition("-")[0]


def request_leave() -> None:
    """Tell all running and coming solves of all runs to stop: this worker is about to end."""
    _leaving.set()


def is_leaving() -> bool:
    """Whether this worker is about to end."""
    return _leaving.is_set()


def is_over(run: str) -> bool:
    """Whether the driver asked a run to stop, or was followed by another one."""
    return _latest.get(_store_of(run), run) != run or run in _stopped


def is_stopped(run: str) -> bool:
    """Whether searches of a run must stop: the run is over, or this worker is about to end."""
    return is_over(run) or is_leaving()


class LocalWorker(WorkerPlugin):
    """Workers of a local cluster leave Ctrl-C to the driver, whose terminal they share."""

    name = "treesweep-local"

    def setup(self, worker: Worker) -> None:
        """Called in every worker when it starts."""
        with suppress(ValueError):  # not in the main thread: then it gets no signals either
            signal.signal(signal.SIGINT, signal.SIG_IGN)
