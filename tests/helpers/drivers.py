"""A driver in a process of its own, and what tests do to it and ask of it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pandas as pd
import psutil
import pytest

from sweep.store.read_results import read_results
from tests.helpers import environment

FAULTY = {"DASK_DISTRIBUTED__WORKER__PRELOAD": "['tests.helpers.faulty_solvers']"}
"""For the environment: workers know the solvers that misbehave."""

VARYING = [
    "seconds", "compile_seconds", "peak_bytes", "host", "worker", "attempt", "started", "finished",
    "trace", "extra", "versions", "git_revision", "rashomon_seconds",
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
        self.environment = environment(**FAULTY, TREESWEEP_TEST_SCRATCH=str(folder))

    @contextmanager
    def start(self, command: str, spec: str | None = None) -> Iterator[subprocess.Popen[str]]:
        path = self.folder / "spec.yaml"
        if spec is not None:
            path.write_text(spec)
        terms = [self.out, self.workers, self.checkpoint, self.largest_state, self.grace]
        arguments = [command, str(path), *map(str, terms)]
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.helpers.driver_process", *arguments],
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

    def finish(self, command: str, spec: str | None = None, timeout: float = 300) -> dict[str, int]:
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
    """The worker processes of a driver with workers of its own."""
    return [worker for server in fork_servers(process.pid) for worker in server.children()]


def fork_servers(pid: int) -> list[psutil.Process]:
    """The processes that workers of this driver are forked from: one, if it has workers."""
    found = []
    with suppress(psutil.Error):
        for child in psutil.Process(pid).children():
            with suppress(psutil.Error):
                if "multiprocessing.forkserver" in " ".join(child.cmdline()):
                    found.append(child)
    return found


def wait_for_done(process: subprocess.Popen[str], done: int) -> None:
    """Read the driver's lines until N tasks are done."""
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


def alike(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.drop(columns=VARYING).sort_values("key", ignore_index=True)


STEPS = """
name: steps
datasets: [monks-1, monks-2]
encodings: [onehot]
lambdas: {from: 0.3, to: 0.1, count: 10}
solvers: [calm, {solver: stepper, options: {steps: 8}}]
"""

MANY = STEPS.replace("count: 10", "count: 20").replace("steps: 8", "steps: 14")

LONG = """
name: long
datasets: [monks-1]
encodings: [onehot]
lambdas: [0.4, 0.3]
solvers: [{solver: stepper, options: {steps: 60}}, calm]
limits: {seconds: 60}
"""
