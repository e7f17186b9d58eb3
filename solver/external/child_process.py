"""Run a job of an external solver in a child process, under hard limits of time and memory."""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from solver.errors import PeerError, one_line
from solver.external.job_messages import Answer, AnswerError, Job
from solver.solution import Status

CHILD = Path(__file__).with_name("child_script.py")

GRACE = 2.0
"""Seconds beyond its limit after which a search is killed: solvers look at their clocks seldom."""

GRACE_SHARE = 0.25
"""The same as a share of the limit, if that is longer: GOSDT hands over its tree for seconds."""

START_SECONDS = 120.0
"""Seconds that a solver may take to be loaded."""

FREE_SHARE = 0.9
"""Without a limit of memory, a search may take this share of what is free."""

_POLL = 0.02
_LONGEST = 2**26
_LAST_WORDS = 2000
_ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS"), "1"
)


@dataclass(frozen=True)
class Outcome:
    """How a child ended.

    Parameters
    ----------
    answer : Answer or None
        None if the search was ended from here.
    status : Status or None
        Why it was ended from here; None if it ended by itself.
    seconds : float
        From the begin of the search.
    peak_bytes : int
        Largest memory of the process above that before the search, as far as it was seen.
    note : str
        What a user should know.
    """

    answer: Answer | None
    status: Status | None
    seconds: float
    peak_bytes: int
    note: str = ""


def run(module: str, name: str, job: Job, stop: Callable[[], bool]) -> Outcome:
    """Run ``module.name.fit(job)`` in a child.

    Raises PeerError if the child dies, or what it writes is no answer.
    """
    reading, writing = os.pipe()
    try:
        child = subprocess.Popen(
            [sys.executable, "-P", str(CHILD), str(writing)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            pass_fds=(writing,),
            start_new_session=True,
            env={**os.environ, **_ONE_THREAD},
        )
    except BaseException:
        os.close(reading)
        raise
    finally:
        os.close(writing)
    try:
        return _Watch(child, reading, job).follow(_message(module, name, job), stop)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()
        os.close(reading)


def _message(module: str, name: str, job: Job) -> bytes:
    head = {"path": sys.path, "module": module, "name": name}
    return json.dumps(head).encode() + b"\n" + job.to_bytes()


class _Watch:
    """A child and what it has written so far."""

    def __init__(self, child: subprocess.Popen[bytes], reading: int, job: Job) -> None:
        self.child, self.job = child, job
        self.process = psutil.Process(child.pid)
        self.reading = reading
        self.text, self.words = bytearray(), bytearray()
        self.since = time.monotonic()
        self.begun: float | None = None
        self.base = self.peak = 0
        free = psutil.virtual_memory().available
        limit = job.limits.bytes
        self.most_bytes = int(FREE_SHARE * free) if limit is None else limit

    def follow(self, message: bytes, stop: Callable[[], bool]) -> Outcome:
        """Wait for the answer."""
        assert self.child.stderr is not None
        feeder = threading.Thread(target=self._feed, args=(message,), daemon=True)
        feeder.start()
        with selectors.DefaultSelector() as selector:
            selector.register(self.reading, selectors.EVENT_READ, self.text)
            selector.register(self.child.stderr, selectors.EVENT_READ, self.words)
            while self.reading in selector.get_map():
                if stop():
                    return self._ended(Status.STOPPED, "")
                for key, _ in selector.select(_POLL):
                    self._read(selector, key)
                if outcome := self._heard() or self._beyond():
                    return outcome
            self._read_words(selector)
        self.child.wait()
        raise PeerError(self._death())

    def _feed(self, message: bytes) -> None:
        assert self.child.stdin is not None
        with suppress(BrokenPipeError), self.child.stdin as pipe:
            pipe.write(message)

    def _read(self, selector: selectors.BaseSelector, key: selectors.SelectorKey) -> None:
        block = os.read(key.fd, 2**16)
        if not block:
            selector.unregister(key.fileobj)
        key.data.extend(block)
        if key.data is self.words:
            del self.words[:-_LAST_WORDS]
        elif len(self.text) > _LONGEST:
            raise PeerError(f"it answers with more than {_LONGEST} bytes")

    def _read_words(self, selector: selectors.BaseSelector) -> None:
        deadline = time.monotonic() + 1
        while selector.get_map() and time.monotonic() < deadline:
            for key, _ in selector.select(_POLL):
                self._read(selector, key)

    def _heard(self) -> Outcome | None:
        while b"\n" in self.text:
            line, _, rest = bytes(self.text).partition(b"\n")
            self.text[:] = rest
            event = self._parse(line)
            if event.get("event") == "begun" and self.begun is None:
                self.begun = time.monotonic()
                self.base = self._memory()
            elif event.get("event") == "answer" and self.begun is not None:
                try:
                    answer = Answer.from_dict(event.get("answer"))
                    seconds = float(event["seconds"])
                except (AnswerError, KeyError, TypeError, ValueError) as error:
                    raise PeerError(f"its answer makes no sense: {one_line(error)}") from None
                return Outcome(answer, None, seconds, self._grown())
            else:
                raise PeerError(f"it writes {line[:80]!r} where its answer should be")
        return None

    def _parse(self, line: bytes) -> dict[str, Any]:
        try:
            event = json.loads(line)
        except ValueError:
            event = None
        if not isinstance(event, dict):
            raise PeerError(f"it writes {line[:80]!r} where its answer should be")
        return event

    def _beyond(self) -> Outcome | None:
        """Look at the limits."""
        now, seconds = time.monotonic(), self.job.limits.seconds
        if self.begun is None:
            if now - self.since > START_SECONDS:
                raise PeerError(f"it was not loaded within {START_SECONDS:.0f} s")
            return None
        used = self._grown()
        if used > self.most_bytes:
            note = f"killed at {used} bytes: the limit is {self.most_bytes}"
            return self._ended(Status.MEMORY_LIMIT, note)
        if seconds is not None and now - self.begun > seconds + max(GRACE, GRACE_SHARE * seconds):
            note = (
                f"killed after {now - self.begun:.1f} s: it did not keep its limit of {seconds} s"
            )
            return self._ended(Status.TIME_LIMIT, note)
        return None

    def _ended(self, status: Status, note: str) -> Outcome:
        began = time.monotonic() if self.begun is None else self.begun
        return Outcome(None, status, time.monotonic() - began, self._grown(), note)

    def _memory(self) -> int:
        with suppress(psutil.Error):
            self.peak = max(self.peak, self.process.memory_info().rss)
        return self.peak

    def _grown(self) -> int:
        return 0 if self.begun is None else max(0, self._memory() - self.base)

    def _death(self) -> str:
        code = self.child.returncode
        words = self.words.decode(errors="replace").strip().splitlines()
        last = f": {words[-1].strip()}" if words else ""
        if code < 0:
            return f"it died of signal {signal.Signals(-code).name}{last}"
        return f"it ended with exit code {code} and without an answer{last}"
