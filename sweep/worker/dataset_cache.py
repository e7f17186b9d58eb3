"""Tables that a worker cannot read itself: sent by the driver, kept once a machine.

The driver may be a laptop with files that no worker sees. A worker that finds no dataset of the
right content where the sweep's file says it is asks the driver, who sends it in pieces, see
:mod:`sweep.graph.dataset_transfer`. All workers of a machine share what has come, also in later
sweeps.
"""

from __future__ import annotations

import hashlib
import os
import stat
import threading
import time
from contextlib import suppress
from pathlib import Path

from distributed import Worker

from solver.errors import InputError
from sweep.datasets import Dataset, DatasetRef, cache_directory, load_dataset
from sweep.datasets.arrow_serialization import unpack
from sweep.worker.process import is_stopped

KEPT_DAYS = 30.0
"""A table that nobody has read for so long is removed when the next one comes."""

PATIENCE = 600.0
"""Seconds without news from the driver after which a worker gives up waiting for a table."""

_ASK = 5.0
_POLL = 0.1
_DAY = 86_400.0


class TableCache:
    """The tables that were sent to this machine, each a file named by the digest of its content."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._heard: dict[str, float] = {}
        self._refused: dict[str, str] = {}
        self._folder: Path | None = None

    def folder(self, worker: Worker) -> Path:
        """A folder of this user's alone: the cache directory's, or else the worker's own."""
        with self._lock:
            if self._folder is None:
                common = cache_directory() / "tables"
                own = Path(worker.local_directory) / "treesweep-tables"
                self._folder = next((f for f in (common, own) if _is_private(f)), own)
            return self._folder

    def path(self, worker: Worker, digest: str) -> Path:
        """Where a table is, or will be."""
        return self.folder(worker) / f"{digest}.arrow"

    def read(self, worker: Worker, reference: DatasetRef, digest: str) -> Dataset | None:
        """A table that was sent; None if it is not there. A damaged file is removed."""
        path = self.path(worker, digest)
        try:
            dataset = unpack(path, reference.name)
        except FileNotFoundError:
            return None
        except InputError:
            dataset = None
        if dataset is None or dataset.digest != digest:
            path.unlink(missing_ok=True)
            return None
        with suppress(OSError):
            os.utime(path)
        return dataset

    def wait_for(self, worker: Worker, reference: DatasetRef, digest: str, run: str) -> bool:
        """Ask the driver for a table and wait for it; False if the run was stopped.

        Raises
        ------
        InputError
            If the driver cannot send it, or does not answer for long.
        """
        path = self.path(worker, digest)
        began, asked = time.monotonic(), -_ASK
        self._refused.pop(digest, None)
        while not path.exists():
            if is_stopped(run):
                return False
            now = time.monotonic()
            # Asked again and again: the worker that the table was sent to may have died.
            if now - asked >= _ASK:
                asked = now
                question = {"kind": "table", "digest": digest, "address": worker.address}
                worker.log_event(run, question)
            if digest in self._refused:
                raise InputError(self._refused[digest])
            if now - max(began, self._heard.get(digest, began)) > PATIENCE:
                raise InputError(
                    f"dataset {reference.name!r} was not sent by the driver in {PATIENCE:g} s; "
                    "put its file where the workers find it under the same path"
                )
            time.sleep(_POLL)
        return True

    # Called on the worker by the driver

    def take(self, worker: Worker, digest: str, token: str, offset: int, data: bytes) -> None:
        """Take a piece of a table.

        Raises
        ------
        OSError
            If it cannot be written.
        """
        path = self._beside(worker, digest, token)
        if offset == 0:
            self._make_room(path.parent)
        flags = os.O_WRONLY | os.O_CREAT | (os.O_EXCL if offset == 0 else 0)
        with os.fdopen(os.open(path, flags, 0o600), "wb") as file:
            file.seek(offset)
            file.write(data)
        self._heard[digest] = time.monotonic()

    def finish(self, worker: Worker, digest: str, token: str, sha256: str) -> bool:
        """Put a table in its place, if all of it has come as it was sent."""
        path = self._beside(worker, digest, token)
        try:
            with path.open("rb") as file:
                if hashlib.file_digest(file, "sha256").hexdigest() != sha256:
                    return False
                os.fsync(file.fileno())
            os.replace(path, self.path(worker, digest))
        finally:
            path.unlink(missing_ok=True)
        return True

    def refuse(self, digest: str, why: str) -> None:
        """Say that a table will not come."""
        self._refused[digest] = why

    def discard(self, worker: Worker, digest: str, token: str) -> None:
        """Remove what has come of a table."""
        with suppress(OSError):
            self._beside(worker, digest, token).unlink(missing_ok=True)

    def _beside(self, worker: Worker, digest: str, token: str) -> Path:
        return self.folder(worker) / f".{digest}.{token}.part"

    def _make_room(self, folder: Path) -> None:
        """Remove tables that nobody has read for long, and what dead workers left unfinished."""
        now = time.time()
        for path in folder.iterdir():
            days = KEPT_DAYS if path.suffix == ".arrow" else 1.0
            with suppress(OSError):
                if now - path.stat().st_mtime > days * _DAY:
                    path.unlink()


TABLES = TableCache()


def load_or_ask(reference: DatasetRef, digest: str, run: str, worker: Worker) -> Dataset | None:
    """A dataset of this content: from where it should be, from the cache, or from the driver.

    Tables of OpenML are not fetched by workers: many would, and few are given the network.

    Returns
    -------
    Dataset or None
        None if the run was stopped before it came.

    Raises
    ------
    InputError
        If it is not to be had.
    """
    if not reference.is_fetched:
        with suppress(InputError):
            dataset = load_dataset(reference)
            if dataset.digest == digest:
                return dataset
    for _ in range(2):  # what has come may be damaged, or be removed by somebody
        found = TABLES.read(worker, reference, digest)
        if found is not None:
            return found
        if not TABLES.wait_for(worker, reference, digest, run):
            return None
    found = TABLES.read(worker, reference, digest)
    if found is None:
        raise InputError(
            f"dataset {reference.name!r} was sent to {worker.address} and is damaged in "
            f"{TABLES.folder(worker)}; see whether its disk is full or broken"
        )
    return found


def _is_private(folder: Path) -> bool:
    """Whether a folder is there, or can be made, and only this user can write to it."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = folder.lstat()
    except OSError:
        return False
    ours = stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid()
    return ours and not found.st_mode & 0o077 and os.access(folder, os.W_OK | os.X_OK)


def has_table(digest: str, dask_worker: Worker) -> bool:
    """Whether a table is there; called on the worker by the driver, as all that follow."""
    return TABLES.path(dask_worker, digest).exists()


def take_piece(digest: str, token: str, offset: int, data: bytes, dask_worker: Worker) -> None:
    """:meth:`TableCache.take`."""
    TABLES.take(dask_worker, digest, token, offset, data)


def finish_table(digest: str, token: str, sha256: str, dask_worker: Worker) -> bool:
    """:meth:`TableCache.finish`."""
    return TABLES.finish(dask_worker, digest, token, sha256)


def refuse_table(digest: str, why: str) -> None:
    """:meth:`TableCache.refuse`."""
    TABLES.refuse(digest, why)


def discard_table(digest: str, token: str, dask_worker: Worker) -> None:
    """:meth:`TableCache.discard`."""
    TABLES.discard(dask_worker, digest, token)
