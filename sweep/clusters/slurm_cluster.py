"""Jobs of SLURM that come and go with the work."""

from __future__ import annotations

import asyncio
import re
import subprocess
import tempfile
import time
from collections import deque
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from dask_jobqueue.slurm import SLURMCluster, SLURMJob
from distributed import Adaptive, Security, Status
from distributed.scheduler import WorkerState

from solver.errors import InputError, one_line

_ASK_SECONDS = 30.0
_UPDATE_SECONDS = 10.0
_YOUNG_SECONDS = 60.0
_ADAPT_SECONDS = 2.0
_IDLE_COUNT = 5
_MOST_FAILURES = 3
_LOG_BYTES = 20_000
_ADDRESS = "tls://SCHEDULER:PORT"


def ask(*command: str) -> str:
    """Run a command of SLURM and return its output.

    Raises InputError if the command is missing or fails.
    """
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_ASK_SECONDS, check=True
        )
    except FileNotFoundError:
        raise InputError(
            f"there is no {command[0]} here: run this on a machine that submits jobs to SLURM"
        ) from None
    except subprocess.TimeoutExpired:
        raise InputError(f"SLURM does not answer: {command[0]} took {_ASK_SECONDS:g} s") from None
    except subprocess.CalledProcessError as error:
        why = one_line(error.stderr or error.stdout or "", 200)
        raise InputError(f"SLURM does not work here: {command[0]}: {why}") from None
    return done.stdout


class _WholeJobs(Adaptive):
    """Asks for all workers of a job or for none of them."""

    cluster: JobsCluster

    async def target(self) -> int:
        """Round the workers that Dask wants up to whole jobs."""
        wanted: int = await super().target()  # type: ignore[no-untyped-call]
        return -(-wanted // self.cluster.processes) * self.cluster.processes


class _Job(SLURMJob):
    async def close(self) -> None:
        """Cancel the job and say so: a cluster that closes asserts it of all jobs in memory."""
        await super().close()  # type: ignore[no-untyped-call]
        self.status = Status.closed


class JobsCluster(SLURMCluster):
    """Workers in jobs, which come and go with the work.

    Dask's ``Adaptive`` decides how many there are. It does not notice jobs that SLURM refuses, and
    those that end before they have a worker; this class makes it ask for others.

    ``seconds`` is the wall time of a job, ``host`` the address of the scheduler, ``options`` are
    arguments of ``SLURMCluster``.
    """

    job_cls = _Job

    def __init__(
        self, seconds: float, security: Security, host: str | None, options: Mapping[str, Any]
    ) -> None:
        self.processes: int = options["processes"]
        self._seconds = seconds
        self._logs = Path(options["log_directory"])
        self._notes: deque[str] = deque()
        self._began: dict[Any, float] = {}
        self._seen: set[Any] = set()
        self._failures, self._why = 0, ""
        self._error: InputError | None = None
        self._updating: asyncio.Future[None] | None = None
        self._updated = -_UPDATE_SECONDS
        self._complaint = ""
        scheduler = {"dashboard_address": "127.0.0.1:0", "port": 0}
        if host is not None:
            scheduler["host"] = host
        super().__init__(
            security=security,
            scheduler_options=scheduler,
            silence_logs=False,
            name="treesweep",
            **options,
        )

    def follow_work(self, minimum: int, maximum: int) -> None:
        """Submit and cancel jobs as there is work for them, from now on."""
        self.adapt(
            Adaptive=_WholeJobs,
            minimum_jobs=minimum,
            maximum_jobs=maximum,
            interval=_ADAPT_SECONDS,
            wait_count=_IDLE_COUNT,
            worker_key=_job_of if self.processes > 1 else None,
        )

    def new_worker_spec(self) -> dict[Any, Any]:
        """Give each job a new name: the scheduler may still know the workers of old jobs."""
        self._i += 1
        name = f"{self._name}-{self._i}"
        self._began[name] = time.monotonic()
        return {name: self.new_spec}

    def watch(self) -> list[str]:
        """Look in the background for jobs that have ended. Return messages about earlier looks.

        Raises InputError if three jobs in a row end before a worker of theirs has connected.
        """
        if self._error is not None:
            raise self._error
        assert self.loop is not None
        self.loop.add_callback(self._start_update)
        notes = []
        while self._notes:
            notes.append(self._notes.popleft())
        return notes

    async def _start_update(self) -> None:
        now = time.monotonic()
        if now - self._updated < _UPDATE_SECONDS or not (
            self._updating is None or self._updating.done()
        ):
            return
        self._updated = now
        self._updating = asyncio.ensure_future(self._update())

    async def _update(self) -> None:
        # A job that is submitted after the question is not in the answer, and has not ended.
        asked = {name: job.job_id for name, job in self.workers.items() if job.job_id}
        try:
            listed = await asyncio.to_thread(ask, "squeue", "--noheader", "--me", "--format=%A")
            there = set(listed.split())
            async with self._lock:  # else jobs that are being submitted would seem to be gone
                self._note_ended([name for name, job in asked.items() if job not in there])
        except InputError as error:
            self._complain(error)

    def _complain(self, error: Exception) -> None:
        """Note that SLURM does not do what it is asked, once. It may be down for a while."""
        complaint = f"SLURM takes no job: {brief(error)}"
        if complaint != self._complaint:
            self._notes.append(complaint)
        self._complaint = complaint

    def _note_ended(self, ended: Iterable[Any]) -> None:
        """Record which jobs have ended."""
        for name in set(self.worker_spec) - set(self.workers):
            self._forget(name)  # Dask cancelled the job because its workers were gone
        for name in ended:
            if name in self.workers:
                self._record_end(name)

    def _update_worker_status(self, op: str, msg: Any) -> None:
        """Record which jobs have had a worker; the scheduler tells of each that comes or goes."""
        for worker in msg["workers"].values() if op == "add" else ():
            name = str(worker["name"])  # a job numbers its workers by a suffix
            self._seen.add(name if self.processes == 1 else name.rpartition("-")[0])
        super()._update_worker_status(op, msg)  # type: ignore[no-untyped-call]

    def _record_end(self, name: Any) -> None:
        """Record that a job has ended. Count it as a failure if it never had a worker."""
        job = self.workers[name]
        self._forget(name)
        lived = time.monotonic() - self._began.pop(name, 0.0)
        if name in self._seen or lived > self._seconds - _YOUNG_SECONDS:
            self._failures, self._why = 0, ""
            self._notes.append(f"job {job.job_id} has ended")
            return
        self._failures += 1
        why = last_log_line(self._logs, job.job_id)
        self._why = why or self._why  # on a busy machine the log may come after the end
        self._notes.append(f"job {job.job_id} ended before a worker of it had come{why}")
        if self._failures >= _MOST_FAILURES:
            self._error = InputError(
                f"{self._failures} jobs ended before a worker of theirs had come{self._why}; the "
                f"logs are in {self._logs}"
            )

    async def scale(self, n: int) -> None:  # type: ignore[override]
        """Have jobs for ``n`` workers; Dask calls this."""
        lacking = -(-n // self.processes) - len(self.worker_spec)
        if lacking < 0:
            super().scale(n)  # type: ignore[no-untyped-call]
            return
        try:
            await self.submit(lacking)
            self._complaint = ""
        except (RuntimeError, OSError, ValueError) as error:
            self._complain(error)

    async def scale_down(self, workers: Iterable[Any]) -> None:
        """Cancel the jobs of some workers; ``Adaptive`` calls this."""
        jobs = dict(self.workers)
        await super().scale_down(workers)  # type: ignore[no-untyped-call]
        for name in jobs.keys() - self.worker_spec.keys():
            self._notes.append(f"job {jobs[name].job_id} has no work left and is cancelled")

    async def submit(self, number: int) -> None:
        for _ in range(number):
            self.worker_spec.update(self.new_worker_spec())
        try:
            await self._correct_state()  # type: ignore[no-untyped-call]
        except BaseException:
            # Forget jobs that SLURM refused, so that Adaptive asks for others.
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
        if self._updating is not None and not self._updating.done():
            self._updating.cancel()
            await asyncio.wait([self._updating])
        if self.status is Status.running:
            if self._adaptive is not None:
                self._adaptive.stop()
            await self.scale(0)
            await self._correct_state()  # type: ignore[no-untyped-call]
            # Dask forgets a job whose worker has gone, cancels it aside, and does not wait for it.
            for job in [*self._created]:
                if job.status is Status.running:
                    await job.close()
        await super()._close()  # type: ignore[no-untyped-call]


def _job_of(worker: WorkerState) -> str:
    """The job of a worker, if jobs have several."""
    return str(worker.name).rpartition("-")[0]


def shown_script(folder: Path, options: Mapping[str, Any]) -> str:
    """The script of a job, with placeholders for the folder and what only submission decides."""
    keys = folder / "keys"
    security = Security(
        tls_ca_file=str(keys / "ca.pem"),
        tls_worker_cert=str(keys / "node.pem"),
        tls_worker_key=str(keys / "node.key"),
    )
    with tempfile.TemporaryDirectory() as place:  # jobqueue makes the log folder
        job = SLURMJob(  # type: ignore[no-untyped-call]
            _ADDRESS,
            name="treesweep-N",
            protocol="tls://",
            security=security,
            **{**options, "log_directory": place},
        )
        script = str(job.job_script())  # type: ignore[no-untyped-call]
        return script.replace(place, options["log_directory"])


def last_log_line(logs: Path, job: str) -> str:
    """The last line of a job's log in brackets; empty if there is none."""
    for path in sorted(logs.glob(f"*-{job}.err")):
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - _LOG_BYTES))
            lines = file.read().decode(errors="replace").split("\n")
        told = [line for line in lines if line.strip()]
        if told:
            return f" ({one_line(told[-1], 200)})"
    return ""


def brief(error: BaseException) -> str:
    """What a command of SLURM wrote to stderr, else the message of the error."""
    found = re.search(r"stderr:\s*(.+)", str(error))
    return one_line(found[1] if found else error, 200)
