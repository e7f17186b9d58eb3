"""What a worker process keeps beside its tasks: the stop flag and the guard of its memory."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import psutil
from distributed import Worker, WorkerPlugin

SLACK = 256 * 2**20
"""Bytes that a process may grow by beyond a task's limit and a quarter of it."""

_POLL = 0.05
_LAST_WORDS = 0.3

_stopped: set[str] = set()


def request_stop(run: str) -> None:
    """Tell all running and coming solves of a run to stop; called on the worker by the driver."""
    _stopped.add(run)


def is_stopped(run: str) -> bool:
    """Whether the driver asked a run to stop."""
    return run in _stopped


class LocalWorker(WorkerPlugin):
    """Workers of a local cluster leave Ctrl-C to the driver, whose terminal they share."""

    name = "treesweep-local"

    def setup(self, worker: Worker) -> None:
        """Called in every worker when it starts."""
        with suppress(ValueError):  # not in the main thread: then it gets no signals either
            signal.signal(signal.SIGINT, signal.SIG_IGN)


class MemoryGuard:
    """Ends the process when a task makes it grow far beyond the task's memory limit.

    Solvers keep to their limit themselves; this is for those that do not. A thread compares the
    resident memory with what it was when the task began.
    """

    def __init__(self) -> None:
        self._process = psutil.Process()
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._ceiling: int | None = None
        self._start = 0
        self._report: Callable[[int], None] = lambda used: None
        self._thread: threading.Thread | None = None

    @contextmanager
    def limit(self, limit: int | None, report: Callable[[int], None]) -> Iterator[None]:
        """Guard what happens inside.

        Parameters
        ----------
        limit : int or None
            Bytes; None guards nothing.
        report : callable
            Called with the bytes used, before the process ends.
        """
        if limit is None:
            yield
            return
        with self._lock:
            self._start = self._process.memory_info().rss
            self._report = report
            self._ceiling = self._start + limit + limit // 4 + SLACK
        if self._thread is None:
            self._thread = threading.Thread(target=self._watch, name="memory-guard", daemon=True)
            self._thread.start()
        self._wake.set()
        try:
            yield
        finally:
            with self._lock:
                self._ceiling = None
                self._wake.clear()

    def _watch(self) -> None:
        while True:
            self._wake.wait()
            with self._lock:
                used = self._process.memory_info().rss
                over = self._ceiling is not None and used > self._ceiling
            if over:
                self._report(used - self._start)
                time.sleep(_LAST_WORDS)  # for the report to leave
                os._exit(1)
            time.sleep(_POLL)


GUARD = MemoryGuard()
