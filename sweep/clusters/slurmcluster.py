"""Handing jobs in to SLURM, and letting others follow those that have ended."""

from __future__ import annotations

import asyncio
import re
import shutil
import subprocess
import tempfile
import time
from collections import deque
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import yaml
from dask_jobqueue.slurm import SLURMCluster, SLURMJob
from distributed import Client, Security
from distributed.core import Status

from solver.errors import InputError
from sweep.clusters.dask_settings import nest
from sweep.clusters.retirement import LeaveInTime
from sweep.clusters.run_keys import security_in
from sweep.clusters.slurm import Slurm

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
        why = " ".join((error.stderr or error.stdout or "").split())[:200]
        raise InputError(f"SLURM does not work here: {command[0]}: {why}") from None
    return done.stdout


class JobsCluster(SLURMCluster):
    """As many jobs as there is work for, each in the place of one that has ended."""

    def __init__(self, config: Slurm, folder: Path, security: Security) -> None:
        self._config, self._folder = config, folder
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
        if config.listen is not None:
            scheduler["host"] = config.listen
        super().__init__(
            security=security,
            scheduler_options=scheduler,
            silence_logs=False,
            name="treesweep",
            **config.job_options(folder),
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
            surplus = len(self.worker_spec) - self._config.target(tasks)
            if self._error is None and surplus < 0:
                await self._hand_in(-surplus)
            await self._let_go(surplus)
            self._complaint = ""
        except (InputError, RuntimeError, OSError, ValueError) as error:
            # SLURM may be down for a while; the jobs go on.
            complaint = f"SLURM takes no job: {_brief(error)}"
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
        if name in self._seen or lived > self._config.seconds - _YOUNG_SECONDS:
            self._failures = 0
            self._notes.append(f"job {job.job_id} has ended")
            return
        self._failures += 1
        why = last_words(self._folder / "logs", job.job_id)
        self._notes.append(f"job {job.job_id} ended before a worker of it had come{why}")
        if self._failures >= _MOST_FAILURES:
            self._error = InputError(
                f"{self._failures} jobs ended before a worker of theirs had come{why}; the logs "
                f"are in {self._folder / 'logs'}"
            )

    def _job_of(self, worker: Any) -> Any:
        """The job's name in a worker's: workers of one job are numbered."""
        name = str(worker)
        return name if name in self.worker_spec else name.rpartition("-")[0]

    async def _hand_in(self, number: int) -> None:
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


def open_slurm(config: Slurm, stack: ExitStack) -> Client:
    """Start the scheduler and hand in jobs; the stack cancels them."""
    folder = _make_folder(config)
    stack.callback(_tidy, folder)
    security = security_in(folder / "keys")
    settings = folder / "dask.yaml"
    settings.write_text(yaml.safe_dump(nest(config.settings())))
    try:
        cluster = stack.enter_context(JobsCluster(config, folder, security))
    except (RuntimeError, OSError, ValueError) as error:
        raise InputError(f"the scheduler did not start: {_brief(error)}") from None
    try:
        cluster.sync(cluster._hand_in, max(1, config.jobs.minimum))
    except (RuntimeError, OSError, ValueError) as error:
        raise InputError(f"SLURM takes no job: {_brief(error)}") from None
    client: Client = stack.enter_context(Client(cluster, set_as_default=False))
    client.register_plugin(LeaveInTime(config.notice))
    return client


def shown_script(config: Slurm) -> str:
    """The script of a job, with placeholders for what is known only when it is handed in."""
    options = config.job_options(config.directory / "RUN")
    folder = options.pop("log_directory")
    keys = config.directory / "RUN" / "keys"
    security = Security(
        tls_ca_file=str(keys / "ca.pem"),
        tls_worker_cert=str(keys / "node.pem"),
        tls_worker_key=str(keys / "node.key"),
    )
    with tempfile.TemporaryDirectory() as place:  # jobqueue makes the folder of the logs
        job = SLURMJob(  # type: ignore[no-untyped-call]
            _ADDRESS,
            name="treesweep-N",
            log_directory=place,
            protocol="tls://",
            security=security,
            **options,
        )
        script = str(job.job_script())  # type: ignore[no-untyped-call]
        return script.replace(place, folder)


def last_words(logs: Path, job: str) -> str:
    """What stands at the end of a job's log, in brackets; nothing if there is none."""
    for path in sorted(logs.glob(f"*-{job}.err")):
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - _LOG_BYTES))
            lines = file.read().decode(errors="replace").split("\n")
        told = [" ".join(line.split()) for line in lines if line.strip()]
        if told:
            return f" ({told[-1][:200]})"
    return ""


def _make_folder(config: Slurm) -> Path:
    try:
        config.directory.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix="run-", dir=config.directory))  # mode 700
    except OSError as error:
        raise InputError(
            f"cannot write to shared_directory {config.directory}: {error.strerror}"
        ) from None
    return folder


def _tidy(folder: Path) -> None:
    """Remove the keys, and all but the logs."""
    shutil.rmtree(folder / "keys", ignore_errors=True)
    (folder / "dask.yaml").unlink(missing_ok=True)
    logs = folder / "logs"
    if not any(path.stat().st_size for path in logs.glob("*")):
        shutil.rmtree(folder, ignore_errors=True)


def _brief(error: BaseException) -> str:
    found = re.search(r"stderr:\s*(.+)", str(error))
    text = found[1] if found else str(error)
    return " ".join(text.split())[:200] or type(error).__name__
