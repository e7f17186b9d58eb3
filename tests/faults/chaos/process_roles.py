"""What each process of a sweep does. Each is a fork of one that has imported everything.

Otherwise workers would be starting most of the time.
"""

from __future__ import annotations

import asyncio
import faulthandler
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import dask
import pyarrow as pa
from distributed import Scheduler, Worker

from solver.errors import InputError
from sweep.clusters import Address, Local
from sweep.events import Progress, Silent
from sweep.graph.engine import resume_sweep, run_sweep
from sweep.spec.spec import load_spec
from sweep.store import lease
from sweep.store.store import MANIFEST

STALE = 2.0
"""Seconds after which a driver that was stopped is taken for dead; 30 outside of this."""

CHECKPOINT_SECONDS = 0.3

_SETTINGS = {
    "distributed.comm.timeouts.connect": "2s",
    "distributed.scheduler.idle-timeout": None,
    "distributed.worker.profile.enabled": False,
}


class Journal(Silent):
    """Writes what happens to a file."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def _say(self, *words: Any) -> None:
        text = " ".join(str(word) for word in words).replace("\n", " ")
        os.write(self._file, f"{time.monotonic():.3f} {text}\n".encode())

    def finished(self, rows: pa.RecordBatch) -> None:
        for key, status in zip(rows["key"], rows["status"], strict=True):
            self._say("finished", key, status)

    def progress(self, progress: Progress) -> None:
        self._say("progress", progress.done, progress.running, progress.workers)

    def note(self, text: str) -> None:
        self._say("note", text)

    def stopped(self, why: str, error: object = "") -> None:
        """The last line."""
        self._say("ended", why, error)


def drive(spec: Path, out: Path, where: str, elsewhere: bool, journal: Path, log: Path) -> None:
    """Run or resume the sweep, on a cluster at an address or on a local one."""
    _redirect(log)
    os.setsid()
    faulthandler.register(signal.SIGUSR1)  # says in the log what a driver that is stuck is at
    lease.STALE = STALE
    if elsewhere:
        lease.machine = lambda: "elsewhere"
    tell = Journal(journal)
    settings = {"distributed.comm.timeouts.connect": "2s"}
    cluster = (
        Address(kind="address", address=where, insecure=True, dask=settings, worker_timeout=20)
        if where
        else Local(workers=2)
    )
    code = 2
    try:
        if (out / MANIFEST).exists():
            outcome = resume_sweep(
                out, cluster, listener=tell, checkpoint_seconds=CHECKPOINT_SECONDS
            )
        else:
            outcome = run_sweep(
                load_spec(spec),
                out,
                cluster,
                listener=tell,
                checkpoint_seconds=CHECKPOINT_SECONDS,
            )
        code = outcome.exit_code
        tell.stopped("code", code)
    except InputError as error:
        tell.stopped("refused", error)
    except KeyboardInterrupt:
        code = 130
    sys.stdout.flush()
    sys.exit(code)


def schedule(address: Path, log: Path) -> None:
    """A scheduler; it writes where it is to a file."""
    _redirect(log)
    dask.config.set(_SETTINGS)

    async def run() -> None:
        async with Scheduler(host="127.0.0.1", port=0, dashboard=False) as scheduler:
            beside = address.with_suffix(".new")
            beside.write_text(scheduler.address)
            beside.rename(address)
            await scheduler.finished()

    asyncio.run(run())


def work(address: str, folder: Path, log: Path) -> None:
    """A worker without a nanny: another one is started when it dies."""
    _redirect(log)
    dask.config.set(_SETTINGS)

    async def run() -> None:
        terms: dict[str, Any] = {"nthreads": 1, "local_directory": str(folder), "dashboard": False}
        async with Worker(address, host="127.0.0.1", memory_limit=0, **terms) as worker:
            await worker.finished()

    asyncio.run(run())


def _redirect(log: Path) -> None:
    to = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for number in (1, 2):
        os.dup2(to, number)
