"""A driver in a process of its own, and what tests do to it and ask of it."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from threading import Thread
from typing import IO, Any

import pandas as pd
import psutil
import pytest

from sweep.store.read_results import read_results
from tests.helpers import PATIENCE, environment, wait_until
from tests.helpers.forked_treesweep import send_request, start_server

FAULTY = {"DASK_DISTRIBUTED__WORKER__PRELOAD": "['tests.helpers.faulty_solvers']"}
"""For the environment: workers know the solvers that misbehave."""

GATE = "passes"
"""Such a file holds searches in their middle, see :meth:`Drive.hold`."""

VARYING = [
    "seconds", "compile_seconds", "peak_bytes", "host", "worker", "attempt", "started", "finished",
    "trace", "extra", "versions", "git_revision", "rashomon_seconds",
]  # fmt: skip


class Driver:
    """The process of a driver. Threads read what it says, so that no line is lost.

    It is forked from one that has imported all that a driver needs, which takes a second and a half
    of a core. That one starts by itself is tested with ``treesweep submit`` and ``run``.
    """

    def __init__(self, arguments: list[str], environment: dict[str, str], folder: Path) -> None:
        request = {"arguments": arguments, "folder": str(folder), "environment": environment,
                   "group": None}  # fmt: skip
        pipes = [os.pipe(), os.pipe()]
        with open(os.devnull) as nothing:
            streams = [nothing.fileno(), *(write for _, write in pipes)]
            self._connection = send_request(_server(), request, streams)
        for _, write in pipes:
            os.close(write)
        self._answers = self._connection.makefile("r")
        self.pid = int(self._answers.readline())
        self.args, self.returncode = arguments, None
        self.said: list[str] = []
        self._errors: list[str] = []
        self._heard = 0
        lines = (self.said, self._errors)
        self._readers = [
            Thread(target=_read, args=(os.fdopen(read), into), daemon=True)
            for (read, _), into in zip(pipes, lines, strict=True)
        ]
        for reader in self._readers:
            reader.start()

    returncode: int | None

    def poll(self) -> int | None:
        """Its exit code, if it has ended; the number of a signal that ended it is negative."""
        with suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end; its exit code."""
        if self.returncode is None:
            if not select.select([self._connection], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(self.args, timeout or 0)
            self.returncode = int(self._answers.readline())
            self._answers.close()
            self._connection.close()
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send a signal, unless it has ended."""
        if self.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def wait_for(self, wanted: Callable[[str], object]) -> None:
        """Wait for a line that comes after the one that was waited for before."""
        deadline = time.monotonic() + PATIENCE
        while True:
            ended = not self._readers[0].is_alive()
            while self._heard < len(self.said):
                self._heard += 1
                if wanted(self.said[self._heard - 1]):
                    return
            told = "".join(self.said[-50:] + self._errors)
            assert not ended, f"the driver ended early: {told}"
            assert time.monotonic() < deadline, f"nothing came: {told}"
            time.sleep(0.02)

    def communicate(self, input: str | None = None, timeout: float | None = None) -> Any:
        """Wait for its end; all that it has said, and what it said of errors."""
        timeout = PATIENCE if timeout is None else timeout
        deadline = time.monotonic() + timeout
        for reader in self._readers:
            reader.join(max(0.0, deadline - time.monotonic()))
            if reader.is_alive():
                raise subprocess.TimeoutExpired(self.args, timeout)
        self.wait(max(1.0, deadline - time.monotonic()))
        return "".join(self.said), "".join(self._errors)


@cache
def _server() -> str:
    """Where the process listens that drivers are forked from; it ends with this one."""
    command = ["-m", "tests.helpers.driver_process", "--serve"]
    return start_server(command, environment(**FAULTY))


def _read(stream: IO[str], lines: list[str]) -> None:
    with stream:
        for line in stream:
            lines.append(line)


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
    def start(self, command: str, spec: str | None = None) -> Iterator[Driver]:
        path = self.folder / "spec.yaml"
        if spec is not None:
            path.write_text(spec)
        terms = [self.out, self.workers, self.checkpoint, self.largest_state, self.grace]
        arguments = [command, str(path), *map(str, terms)]
        # It begins a session, so that Ctrl-C can be sent to all of it, as a terminal does.
        process = Driver(arguments, self.environment, self.folder)
        try:
            yield process
        finally:
            left = children(process)
            if process.poll() is None:
                process.kill()
            process.wait()
            psutil.wait_procs(left, timeout=60)

    def finish(self, command: str, spec: str | None = None) -> dict[str, int]:
        """Run to the end; the outcome and the exit code."""
        with self.start(command, spec) as process:
            try:
                out, err = process.communicate()
            except subprocess.TimeoutExpired:
                kill(children(process))
                process.kill()
                out, err = process.communicate(timeout=20)
                pytest.fail(f"not ended after {PATIENCE:g} s\n{out[-2000:]}\n{err[-8000:]}")
        assert "\noutcome " in f"\n{out}", err
        return {**outcome_of(out), "code": process.returncode}

    def hold(self, passes: int = 0) -> None:
        """Let so many searches that take steps go on past their middle, and let all others wait.

        How many have gone on counts from the first call.
        """
        new = self.folder / "passes.new"
        new.write_text(str(passes))
        new.replace(self.folder / GATE)

    def release(self) -> None:
        """Let all searches go on."""
        (self.folder / GATE).unlink()

    def wait_until_held(self, number: int = 2) -> dict[int, str]:
        """Wait until as many as may have gone on, and so many others wait: see :meth:`held`."""
        passes = int((self.folder / GATE).read_text())
        found: dict[int, str] = {}

        def all_are() -> bool:
            taken = len([*self.folder.glob("pass-*")])  # first: who takes one is held no more
            nonlocal found
            found = self.held()
            return taken >= passes and len(found) >= number

        wait_until(all_are, lambda: sorted(path.name for path in self.folder.iterdir()))
        return found

    def held(self) -> dict[int, str]:
        """The searches that wait, by the PIDs of their workers."""
        found = {}
        for path in self.folder.glob("held-*"):
            pid = int(path.name.removeprefix("held-"))
            with suppress(FileNotFoundError, psutil.NoSuchProcess):
                process = psutil.Process(pid)
                is_alive = process.status() != psutil.STATUS_ZOMBIE
                if is_alive and process.create_time() < path.stat().st_mtime + 1:
                    found[pid] = path.read_text()
        return found

    def rows(self) -> pd.DataFrame:
        frame = read_results(self.out)
        assert not frame["key"].duplicated().any()
        return frame


def outcome_of(out: str) -> dict[str, int]:
    """What a driver says at its end."""
    lines = [line for line in out.splitlines() if line.startswith("outcome ")]
    found: dict[str, int] = json.loads(lines[-1].removeprefix("outcome "))
    return found


def children(process: Driver) -> list[psutil.Process]:
    try:
        return psutil.Process(process.pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []


def kill(processes: Iterable[psutil.Process]) -> None:
    """Kill processes. Some may end by themselves when others do."""
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.kill()


def workers(process: Driver) -> list[psutil.Process]:
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


def wait_for_done(process: Driver, done: int) -> None:
    """Wait until it says anew that N tasks are done and others run."""

    def is_told(line: str) -> bool:
        words = line.split()
        return words[0] == "progress" and int(words[1]) >= done and int(words[2]) > 0

    process.wait_for(is_told)


def wait_for_note(process: Driver, words: str) -> None:
    """Wait until it says this anew."""
    process.wait_for(lambda line: words in line)


def alike(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.drop(columns=VARYING).sort_values("key", ignore_index=True)


STEPS = """
name: steps
datasets: [monks-1, monks-2]
encodings: [onehot]
lambdas: {from: 0.3, to: 0.1, count: 5}
solvers: [calm, {solver: stepper, options: {steps: 12}}]
"""
"""Of 20 tasks, of which ten can be held. Each of these takes longer than a batch of tasks may: what
has gone on is done, however many tasks travel together."""

LONG = """
name: long
datasets: [monks-1]
encodings: [onehot]
lambdas: [0.4, 0.3]
solvers: [{solver: stepper, options: {steps: 2}}, calm]
limits: {seconds: 1000}
"""
