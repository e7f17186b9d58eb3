"""What ends a worker process: guards of the memory and the time that a task takes."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import psutil

SLACK = 256 * 2**20
"""Bytes that a process may grow by beyond a task's limit and a quarter of it."""

TIMEOUT_FACTOR = 1.5
"""A search may take this many times its limit of seconds, and the run's grace."""

MEMORY_EXIT = 70
"""The exit code of a process that the guard of memory ended."""

TIME_EXIT = 71
"""The exit code of a process that the guard of time ended."""

_POLL = 0.05
_STRIDE = 0.25


class MemoryGuard:
    """Ends the process when a task makes it grow far beyond the task's memory limit.

    Solvers keep to their limit themselves; this is for those that do not. A thread compares the
    resident memory with what it was when the task began.
    """

    def __init__(self) -> None:
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
            Called with the bytes used; the process ends when it returns.
        """
        if limit is None:
            yield
            return
        with self._lock:
            self._start = _used()
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
                used = _used()
                over = self._ceiling is not None and used > self._ceiling
            if over:
                try:
                    self._report(used - self._start)
                finally:
                    os._exit(MEMORY_EXIT)
            time.sleep(_POLL)


def _used() -> int:
    """Bytes of memory that this process has, which may have been forked from another one."""
    used: int = psutil.Process().memory_info().rss
    return used


GUARD = MemoryGuard()


class TimeGuard:
    """Ends the process when a search is far beyond its limit of seconds.

    Solvers keep to their limit themselves; this is for one that hangs. A thread adds up the time,
    so a solver that also holds the interpreter's lock is left to Dask's ``worker-ttl``.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._search = 0
        self._most: float | None = None
        self._report: Callable[[float], None] = lambda ran: None
        self._thread: threading.Thread | None = None

    @contextmanager
    def limit(
        self, seconds: float | None, grace: float, report: Callable[[float], None]
    ) -> Iterator[None]:
        """Guard what happens inside.

        Parameters
        ----------
        seconds : float or None
            The search's limit; None guards nothing.
        grace : float
            Seconds beyond :data:`TIMEOUT_FACTOR` times the limit.
        report : callable
            Called with the seconds that it took; the process ends when it returns.
        """
        if seconds is None:
            yield
            return
        with self._lock:
            self._search += 1
            self._most, self._report = TIMEOUT_FACTOR * seconds + grace, report
        if self._thread is None:
            self._thread = threading.Thread(target=self._watch, name="time-guard", daemon=True)
            self._thread.start()
        try:
            yield
        finally:
            with self._lock:
                self._most = None

    def _watch(self) -> None:
        search, ran, last = 0, 0.0, time.monotonic()
        while True:
            time.sleep(_STRIDE)
            now = time.monotonic()
            with self._lock:
                ran = 0.0 if search != self._search else ran
                ran += min(now - last, 2 * _STRIDE)  # a process that is stopped does not run
                search, last = self._search, now
                over = self._most is not None and ran > self._most
            if over:
                try:
                    self._report(ran)
                finally:
                    os._exit(TIME_EXIT)


TIME_GUARD = TimeGuard()
