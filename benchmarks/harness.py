"""One solve in a process of its own: pinned to a core, with hard limits on time and memory."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import psutil

ROOT = Path(__file__).resolve().parents[1]
_POOLS = ("OMP", "OPENBLAS", "MKL", "NUMBA", "NUMEXPR")
ONE_THREAD = {f"{pool}_NUM_THREADS": "1" for pool in _POOLS}
SETUP_SECONDS = 600.0
"""For imports, compilation and reading, which are not timed."""
_POLL = 0.02


@dataclass(frozen=True)
class Job:
    """One solve.

    Parameters
    ----------
    solver : str
        Name of an adapter.
    seconds : float
        The solver's own limit; it is killed some seconds later, see :meth:`deadline`.
    memory : int
        Bytes of the process at which it is killed.
    depth : int or None
        Limit on the depth.
    """

    file: Path
    target: str | None
    encoding: str
    lam: Fraction
    solver: str
    seconds: float
    memory: int
    depth: int | None

    def deadline(self) -> float:
        """Seconds after the fit began at which the process is killed."""
        return self.seconds + max(10.0, 0.5 * self.seconds)


def choose_core(asked: int | None) -> int:
    """The core for the solves; this process leaves it if there is another one."""
    allowed = sorted(os.sched_getaffinity(0))
    core = allowed[-1] if asked is None else asked
    if core not in allowed:
        raise ValueError(f"core {core} is none of {allowed}, on which this process may run")
    others = set(allowed) - {core}
    if others:
        os.sched_setaffinity(0, others)
    return core


@contextmanager
def interruptible() -> Iterator[None]:
    """Let SIGTERM end the run as Ctrl-C does, so that no child stays behind."""

    def stop(number: int, frame: Any) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def run(job: Job, core: int) -> dict[str, Any]:
    """Solve and wait.

    Returns
    -------
    dict
        ``status`` and the other fields that :mod:`benchmarks.timed_process` sends; a process that
        had to be killed or died has a status, the seconds of its fit, its peak and an ``error``.
    """
    reading, writing = os.pipe()
    with tempfile.TemporaryFile("w+", errors="replace") as complaints:
        child = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.timed_process"],
            cwd=ROOT,
            env={**os.environ, **ONE_THREAD},
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=complaints,
            pass_fds=(writing,),
            text=True,
        )
        os.close(writing)
        try:
            os.sched_setaffinity(child.pid, {core})
            _send(child, job, writing)
            answer = _follow(job, child, reading)
        finally:
            os.close(reading)
            child.kill()
            child.wait()
        if answer["status"] == "error" and not answer["error"]:
            complaints.seek(0)
            last = complaints.read().strip().splitlines()[-1:]
            answer["error"] = f"exit code {child.returncode}: {' '.join(last)}"
    return answer


def _send(child: subprocess.Popen[str], job: Job, answers: int) -> None:
    assert child.stdin is not None
    request = {
        "file": str(job.file.resolve()),
        "target": job.target,
        "encoding": job.encoding,
        "lam": str(job.lam),
        "solver": job.solver,
        "seconds": job.seconds,
        "memory": job.memory,
        "depth": job.depth,
        "answers": answers,
        "parent": os.getpid(),
    }
    with child.stdin as stdin:
        stdin.write(json.dumps(request))


def _follow(job: Job, child: subprocess.Popen[str], reading: int) -> dict[str, Any]:
    """Read events until the last one, a limit, or the end of the process."""
    process = psutil.Process(child.pid)
    text, peak = b"", 0
    phase, began, limit = "setup", time.perf_counter(), SETUP_SECONDS

    def ended(status: str, error: str) -> dict[str, Any]:
        spent = time.perf_counter() - began if phase == "fit" else None
        return {"status": status, "error": error, "seconds": spent, "peak_bytes": peak}

    while True:
        ready, _, _ = select.select([reading], [], [], _POLL)
        if ready:
            part = os.read(reading, 1 << 20)
            if not part:
                child.wait()
                return ended("error", "")
            text += part
            while b"\n" in text:
                line, text = text.split(b"\n", 1)
                event = json.loads(line)
                if event["event"] != "fit":
                    return {**ended(event["status"], event.get("error", "")), **event}
                phase, began, limit = "fit", time.perf_counter(), job.deadline()
        try:
            peak = max(peak, process.memory_info().rss)
        except psutil.Error:
            continue  # It has just ended; what it said is still to be read.
        if peak > job.memory:
            return ended("memory_limit", f"killed at {peak} bytes")
        if time.perf_counter() - began > limit:
            status = "time_limit" if phase == "fit" else "error"
            return ended(status, f"killed after {limit:g} s of {phase}")
