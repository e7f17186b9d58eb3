"""Handing jobs in to SLURM, and letting others follow those that have ended."""

from __future__ import annotations

import asyncio
import re
import subprocess
import tempfile
import time
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from dask_jobqueue.slurm import SLURMCluster, SLURMJob
from distributed import Security
from distributed.core import Status

from solver.errors import InputError, one_line

_ASK_SECONDS = 30.0
_LOOK_SECONDS = 10.0
_YOUNG_SECONDS = 60.0
_MOST_FAILURES = 3
_LOG_BYTES = 20_000
_ADDRESS = "tls://SCHEDULER:PORT"


def ask(*command: str) -> str:
    """What a command of SLURM says.

    Raises
    ------
    InputError
        If there is no such command, or it does not work.
    """
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_ASK_SECONDS, check=True
        )
    except FileNotFoundError:
        raise InputError(
            f"there is no {command[0]} here: run this on a machine that hands jobs in to SLURM"
        ) from None
    except subprocess.TimeoutExpired:
        raise InputError(f"SLURM does not answer: {command[0]} took {_ASK_SECONDS:g} s") from None
    except subprocess.CalledProcessError as error:
        why = one_line(error.stderr or error.stdout or "", 200)
        raise InputError(f"SLURM does not work here: {command[0]}: {why}") from None
    return done.stdout


class JobsCluster(SLURMCluster):
    """As many jobs as there is work for, each in the place of one that has ended.

    Parameters
    ----------
    target : callable
        How many jobs there should be when N tasks are left.
    seconds : float
        The wall time of a job.
    security : Security
        The keys of this run.
    host : str, optional
        The address that the scheduler listens on.
    options : mapping
        What ``SLURMCluster`` takes for a job.
    """

    def __init__(
        self,
        target: Callable[[int], int],
        seconds: float,
        security: Security,
        host: str | None,
        options: Mapping[str, Any],
    ) -> None:
        self._target, self._seconds = target, seconds
        self._logs = Path(options["log_directory"])
        self._notes: deque[str] = deque()
        self._began: dict[Any, float] = {}
        self._seen: set[Any] = set()
        self._failures = 0
        self._error: InputError | None = None
        self._looking: asyncio.Future[None] | None = None
        self._looked = -_LOOK_SECONDS
        self._complaint = ""
        self._idle: set[Any] = set()
        scheduler = {"dashboard": False, "dashboard_address": "127.0.0.1:0", "port": 0}
        if host is not None:
            scheduler["host"] = host
        super().__init__(
            security=security,
            scheduler_options=scheduler,
            silence_logs=False,
            name="treesweep",
            **options,
        )

    def new_worker_spec(self) -> dict[Any, Any]:
        """A job of a name that no job has had: the scheduler may still know the old workers."""
        self._i += 1
        name = f"{self._name}-{self._i}"
        self._began[name] = time.monotonic()
        return {name: self.new_spec}

    def mend(self, tasks: int) -> list[str]:
        """Look after the jobs, without waiting for it; and say what came of it before.

        Raises
        ------
        InputError
            If jobs end again and again before a worker of theirs has come.
        """
        if self._error is not None:
            raise self._error
        assert self.loop is not None
        self.loop.add_callback(self._look, tasks)
        notes = []
        while self._notes:
            notes.append(self._notes.popleft())
        return notes

    async def _look(self, tasks: int) -> None:
        now = time.monotonic()
        if now - self._looked < _LOOK_SECONDS or not (
            self._looking is None or self._looking.done()
        ):
            return
        self._looked = now
        self._looking = asyncio.ensure_future(self._tend(tasks))

    async def _tend(self, tasks: int) -> None:
        try:
            listed = await asyncio.to_thread(ask, "squeue", "--noheader", "--me", "--format=%A")
            self._count(set(listed.split()))
            surplus = len(self.worker_spec) - self._target(tasks)
            if self._error is None and surplus < 0:
                await self.submit(-surplus)
            await self._let_go(surplus)
            self._complaint = ""
        except (InputError, RuntimeError, OSError, ValueError) as error:
            # SLURM may be down for a while; the jobs go on.
            complaint = f"SLURM takes no job: {brief(error)}"
            if complaint != self._complaint:
                self._notes.append(complaint)
            self._complaint = complaint

    def _count(self, there: set[str]) -> None:
        """Which jobs have worked, and which have ended."""
        for worker in list(self.scheduler_info["workers"].values()):
            self._seen.add(self._job_of(worker["name"]))
        for name in set(self.worker_spec) - set(self.workers):
            self._forget(name)  # Dask has cancelled it, because its workers were gone
        for name, job in list(self.workers.items()):
            if job.job_id and job.job_id not in there:
                self._bury(name)

    async def _let_go(self, surplus: int) -> None:
        """Cancel jobs that nobody needs any more: those that wait, and those idle for two looks."""
        assert self.scheduler is not None  # it is in this process
        known = list(self.scheduler.workers.values())
        busy = {self._job_of(worker.name) for worker in known if worker.processing}
        before, self._idle = self._idle, self.worker_spec.keys() - busy
        spare = sorted(self._idle & before, key=lambda name: name in self._seen)
        for name in spare[: max(0, surplus)]:
            job = self.workers[name]
            self._forget(name)
            await job.close()
            self._notes.append(f"job {job.job_id} has no work left and is cancelled")

    def _bury(self, name: Any) -> None:
        """A job has ended; was it one that never worked?"""
        job = self.workers[name]
        self._forget(name)
        lived = time.monotonic() - self._began.pop(name, 0.0)
        if name in self._seen or lived > self._seconds - _YOUNG_SECONDS:
            self._failures = 0
            self._notes.append(f"job {job.job_id} has ended")
            return
        self._failures += 1
        why = last_words(self._logs, job.job_id)
        self._notes.append(f"job {job.job_id} ended before a worker of it had come{why}")
        if self._failures >= _MOST_FAILURES:
            self._error = InputError(
                f"{self._failures} jobs ended before a worker of theirs had come{why}; the logs "
                f"are in {self._logs}"
            )

    def _job_of(self, worker: Any) -> Any:
        """The job's name in a worker's: workers of one job are numbered."""
        name = str(worker)
        return name if name in self.worker_spec else name.rpartition("-")[0]

    async def submit(self, number: int) -> None:
        for _ in range(number):
            self.worker_spec.update(self.new_worker_spec())
        try:
            await self._correct_state()  # type: ignore[no-untyped-call]
        except BaseException:
            # What was not taken is no job; it is tried again at the next look.
            for name, job in list(self.workers.items()):
                if not job.job_id:
                    self._forget(name)
            raise

    def _forget(self, name: Any) -> None:
        self.worker_spec.pop(name, None)
        job = self.workers.pop(name, None)
        if job is not None:
            job.status = Status.closed

    async def _close(self) -> None:
        if self._looking is not None and not self._looking.done():
            self._looking.cancel()
            await asyncio.wait([self._looking])
        await super()._close()  # type: ignore[no-untyped-call]


def shown_script(folder: Path, options: Mapping[str, Any]) -> str:
    """The script of a job, with placeholders for what is known only when it is submitted.

    Parameters
    ----------
    folder : Path
        What stands for the folder of a run.
    options : mapping
        What ``SLURMCluster`` takes for a job.
    """
    keys = folder / "keys"
    security = Security(
        tls_ca_file=str(keys / "ca.pem"),
        tls_worker_cert=str(keys / "node.pem"),
        tls_worker_key=str(keys / "node.key"),
    )
    with tempfile.TemporaryDirectory() as place:  # jobqueue makes the folder of the logs
        job = SLURMJob(  # type: ignore[no-untyped-call]
            _ADDRESS,
            name="treesweep-N",
            protocol="tls://",
            security=security,
            **{**options, "log_directory": place},
        )
        script = str(job.job_script())  # type: ignore[no-untyped-call]
        return script.replace(place, options["log_directory"])


def last_words(logs: Path, job: str) -> str:
    """What stands at the end of a job's log, in brackets; nothing if there is none."""
    for path in sorted(logs.glob(f"*-{job}.err")):
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - _LOG_BYTES))
            lines = file.read().decode(errors="replace").split("\n")
        told = [line for line in lines if line.strip()]
        if told:
            return f" ({one_line(told[-1], 200)})"
    return ""


def brief(error: BaseException) -> str:
    """What a command of SLURM complained of, or the message of the error."""
    found = re.search(r"stderr:\s*(.+)", str(error))
    return one_line(found[1] if found else error, 200)
