"""A driver in a process of its own, and what tests do to it and ask of it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import MappingProxyType

import pandas as pd
import psutil
import pytest

from sweep.store.results import read_results

HERE = Path(__file__).parent
ROOT = HERE.parent.parent

VARYING = [
    "seconds", "compile_seconds", "peak_bytes", "host", "worker", "attempt", "started", "finished",
    "trace", "extra", "versions", "git_revision",
]  # fmt: skip

TOGETHER = {"TREESWEEP_TEST_TOGETHER": "2"}
"""For the environment: a ``counter`` begins to count when the other one is there as well."""


class Drive:
    """A driver in a process of its own."""

    def __init__(
        self,
        folder: Path,
        workers: int | str = 2,
        checkpoint: float = 30.0,
        largest_state: int = 2**29,
        grace: float = 30.0,
    ) -> None:
        self.folder, self.workers, self.checkpoint = folder, workers, checkpoint
        self.largest_state, self.grace = largest_state, grace
        self.out = folder / "out"
        self.environment = {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "DASK_DISTRIBUTED__WORKER__PRELOAD": f"['{HERE / 'faulty.py'}']",
            "TREESWEEP_TEST_SCRATCH": str(folder),
        }

    @contextmanager
    def start(self, command: str, spec: str | None = None) -> Iterator[subprocess.Popen[str]]:
        path = self.folder / "spec.yaml"
        if spec is not None:
            path.write_text(spec)
        terms = [self.out, self.workers, self.checkpoint, self.largest_state, self.grace]
        arguments = [command, str(path), *map(str, terms)]
        process = subprocess.Popen(
            [sys.executable, str(HERE / "drive.py"), *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=self.environment,
            cwd=self.folder,
            start_new_session=True,  # so that Ctrl-C can be sent to all of it, as a terminal does
        )
        try:
            yield process
        finally:
            left = children(process)
            if process.poll() is None:
                process.kill()
            process.wait()
            psutil.wait_procs(left, timeout=20)

    def finish(self, command: str, spec: str | None = None, timeout: float = 120) -> dict[str, int]:
        """Run to the end; the outcome and the exit code."""
        with self.start(command, spec) as process:
            try:
                out, err = process.communicate(timeout=timeout)
            except subprocess.TimeoutExpired:
                for each in (*children(process), process):
                    each.kill()
                out, err = process.communicate(timeout=20)
                pytest.fail(f"not ended after {timeout:g} s\n{out[-2000:]}\n{err[-8000:]}")
        lines = [line for line in out.splitlines() if line.startswith("outcome ")]
        assert lines, err
        return {**json.loads(lines[-1].removeprefix("outcome ")), "code": process.returncode}

    def rows(self) -> pd.DataFrame:
        frame = read_results(self.out)
        assert not frame["key"].duplicated().any()
        return frame


def children(process: subprocess.Popen[str]) -> list[psutil.Process]:
    try:
        return psutil.Process(process.pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []


def workers(process: subprocess.Popen[str]) -> list[psutil.Process]:
    return [c for c in children(process) if "spawn_main" in " ".join(c.cmdline())]


def wait_for_done(process: subprocess.Popen[str], done: int) -> None:
    """Read the driver's lines until so many tasks are done."""
    assert process.stdout is not None
    for line in process.stdout:
        words = line.split()
        if words[0] == "progress" and int(words[1]) >= done and int(words[2]):
            return
    raise AssertionError(
        "the driver ended early: " + (process.stderr.read() if process.stderr else "")
    )


def wait_for_note(process: subprocess.Popen[str], words: str) -> None:
    """Read the driver's lines until it says something."""
    assert process.stdout is not None
    told = []
    for line in process.stdout:
        told.append(line)
        if words in line:
            return
    raise AssertionError("".join(told))


def wait_until(condition: Callable[[], bool]) -> None:
    """Wait for a condition, whatever else the machine is at."""
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def alike(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.drop(columns=VARYING).sort_values("key", ignore_index=True)


class Processes:
    """A scheduler and two workers that have joined it, each a process of Dask's own commands.

    Parameters
    ----------
    folder : Path
    host : str
        Where they listen.
    before : sequence of str
        What comes before each command.
    settings : mapping
        More for the environment.
    """

    def __init__(
        self,
        folder: Path,
        host: str = "127.0.0.1",
        before: Sequence[str] = (),
        settings: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.folder, self.log = folder, folder / "dask.log"
        self._host, self._before = host, before
        self.log.touch()
        self.environment = {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "DASK_DISTRIBUTED__WORKER__PRELOAD": f"['{HERE / 'faulty.py'}']",
            **settings,
        }
        self.scheduler = self._start("scheduler", "--host", host, "--port", "0")
        deadline = time.monotonic() + 60
        while not (found := re.search(rf"(tcp://{host}:\d+)", self.log.read_text())):
            assert time.monotonic() < deadline, self.log.read_text()
            assert self.scheduler.poll() is None, self.log.read_text()
            time.sleep(0.1)
        self.address = found[1]
        self.workers = [self.start_worker(), self.start_worker()]
        while self.log.read_text().count("Registered to:") < len(self.workers):
            assert time.monotonic() < deadline, self.log.read_text()
            time.sleep(0.1)

    def start_worker(self) -> subprocess.Popen[bytes]:
        return self._start("worker", self.address, "--nthreads", "1", "--host", self._host)

    def _start(self, *command: str) -> subprocess.Popen[bytes]:
        with self.log.open("ab") as to:
            return subprocess.Popen(
                [*self._before, sys.executable, "-m", "dask", *command, "--no-dashboard"],
                stdout=to,
                stderr=to,
                env=self.environment,
                cwd=self.folder,
                start_new_session=True,  # a nanny and its worker are ended together
            )

    def close(self) -> None:
        """End all processes."""
        for process in [*self.workers, self.scheduler]:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


STEPS = """
name: steps
datasets: [monks-1, monks-2]
encodings: [onehot]
lambdas: {from: 0.3, to: 0.1, count: 10}
solvers: [cart, {solver: stepper, options: {steps: 8}}]
"""

MANY = STEPS.replace("count: 10", "count: 20").replace("steps: 8", "steps: 14")

LONG = """
name: long
datasets: [monks-1]
encodings: [onehot]
lambdas: [0.4, 0.3]
solvers: [{solver: stepper, options: {steps: 60}}, cart]
limits: {seconds: 60}
"""
