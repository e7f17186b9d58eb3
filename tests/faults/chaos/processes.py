"""The processes of a sweep, from outside: starting, finding and ending them."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import psutil

from tests.faults.chaos import process_roles
from tests.helpers import ROOT
from tests.helpers.drivers import fork_servers

N_WORKERS = 2
_START_SECONDS = 300.0  # on a machine that does other work, too


class Processes:
    """A driver, and a scheduler with workers that may outlive it.

    Parameters
    ----------
    folder : Path
        For logs and workers.
    spec, out : Path
        The sweep's file and its folder.
    """

    def __init__(self, folder: Path, spec: Path, out: Path) -> None:
        self.folder, self.spec, self.out = folder, spec, out
        self.log, self.journal = folder / "log", folder / "journal-0"
        self._n_drivers = 0
        os.environ["PYTHONPATH"] = str(ROOT)
        # Processes that are killed leave semaphores behind; those that clean up after them say so.
        os.environ["PYTHONWARNINGS"] = "ignore:resource_tracker:UserWarning"
        multiprocessing.get_context("forkserver").set_forkserver_preload(
            ["sweep.worker.fork_server_garbage", "tests.faults.chaos.preload"]
        )
        self._everyone: list[psutil.Process] = []
        self.driver: BaseProcess | None = None
        self.is_local = False
        self.scheduler: BaseProcess | None = None
        self.workers: list[BaseProcess] = []

    def start(
        self, role: Callable[..., None], *arguments: Any, method: str = "forkserver"
    ) -> BaseProcess:
        """Start a process of a role; the log is added to its arguments."""
        context: Any = multiprocessing.get_context(method)
        process: BaseProcess = context.Process(target=role, args=(*arguments, self.log))
        process.start()
        assert process.pid is not None
        with suppress(psutil.NoSuchProcess):
            self._everyone.append(psutil.Process(process.pid))
        return process

    # The cluster that runs already

    def mend(self) -> None:
        """See to it that there are a scheduler and workers, as whoever runs a cluster would."""
        address = self.folder / "address"
        if self.scheduler is None or not self.scheduler.is_alive():
            for worker in self.workers:
                _kill(worker)
            self.workers = []
            address.unlink(missing_ok=True)
            self.scheduler = self.start(process_roles.schedule, address)
            _wait(address.exists, "the scheduler does not start")
        self.workers = [worker for worker in self.workers if worker.is_alive()]
        while len(self.workers) < N_WORKERS:
            where = address.read_text()
            self.workers.append(self.start(process_roles.work, where, self.folder / "dask"))

    # The driver

    def start_driver(self, is_local: bool, elsewhere: bool = False) -> BaseProcess:
        """Run or resume the sweep; returns at once.

        Parameters
        ----------
        is_local : bool
            Whether it starts workers itself.
        elsewhere : bool
            Whether it takes itself for one on another machine, which cannot see the processes of
            this one.
        """
        self.is_local = is_local
        where = "" if is_local else (self.folder / "address").read_text()
        self._n_drivers += 1
        self.journal = self.folder / f"journal-{self._n_drivers}"
        self.journal.touch()
        # A driver that was forked would fork its workers from the server that it came from itself.
        method = "spawn" if is_local else "forkserver"
        self.driver = self.start(
            process_roles.drive, self.spec, self.out, where, elsewhere, self.journal, method=method
        )
        return self.driver

    @property
    def is_running(self) -> bool:
        """Whether the driver lives."""
        return self.driver is not None and self.driver.is_alive()

    def is_busy(self) -> bool:
        """Whether the driver has handed tasks to workers and told so."""
        for line in reversed(self.told()):
            words = line.split()
            if words[1] == "ended":
                return False
            if words[1] == "progress":
                return int(words[3]) > 0
        return False

    def told(self) -> list[str]:
        """What the driver has told so far."""
        lines = self.journal.read_text(errors="replace").split("\n")
        return [line for line in lines[:-1] if len(line.split()) > 1]

    def n_finished(self) -> int:
        """Rows that the driver has had from workers."""
        return sum(line.split()[1] == "finished" for line in self.told())

    def workers_at_work(self) -> list[int]:
        """Process ids of the driver's workers."""
        if not self.is_local:
            return [w.pid for w in self.workers if w.is_alive() and w.pid]
        found: list[int] = []
        for server in self.fork_servers():
            with suppress(psutil.Error):
                for worker in server.children():
                    found.append(worker.pid)
                    self._everyone.append(worker)
        return found

    def fork_servers(self) -> list[psutil.Process]:
        """The processes that the driver's local workers are forked from."""
        return fork_servers(self.driver.pid) if self.driver is not None and self.is_local else []

    def wait_for_driver(self, seconds: float) -> int:
        """Its exit code.

        Raises
        ------
        TimeoutError
            If it does not end.
        """
        assert self.driver is not None
        self.driver.join(seconds)
        if self.driver.exitcode is None:
            raise TimeoutError(f"the driver has not ended for {seconds:.0f} s")
        return self.driver.exitcode

    def close(self) -> None:
        """End everything."""
        for process in self._everyone:
            with suppress(psutil.Error):
                for child in [*process.children(recursive=True), process]:
                    child.kill()
        psutil.wait_procs(self._everyone, timeout=10)


def send(pid: int, number: int) -> bool:
    """Send a signal; whether somebody got it."""
    try:
        if psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
            return False
        os.kill(pid, number)
    except (ProcessLookupError, psutil.NoSuchProcess):
        return False
    return True


def _kill(process: BaseProcess) -> None:
    if process.pid is not None and process.is_alive():
        send(process.pid, signal.SIGKILL)
        process.join(10)


def _wait(ready: Callable[[], bool], complaint: str) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while not ready():
        if time.monotonic() > deadline:
            raise TimeoutError(complaint)
        time.sleep(0.02)
