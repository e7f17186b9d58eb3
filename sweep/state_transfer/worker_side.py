"""The state files of a worker on their way to or from the driver.

The driver may be on another machine, without a folder in common. It asks for a file a chunk at a
time, or sends one so, with calls that Dask's scheduler passes on: no state is ever whole in the
memory of scheduler, driver or a message, and the driver sets the pace.
"""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from distributed import Worker

CHUNK = 8 * 2**20
"""Bytes of a chunk."""

CHUNK_TIMEOUT = 600.0
"""Seconds that a search waits for the next chunk of the state that it is to go on from."""

_POLL = 0.5


class WorkerFiles:
    """A worker's state files, by the tokens that driver and worker call them.

    Parameters
    ----------
    folder : Path, optional
        Until :meth:`open` names the worker's own.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder or Path(tempfile.gettempdir())
        self._run: str | None = None
        self._news = threading.Condition()
        self._arrived: dict[str, bool] = {}
        self._heard: dict[str, float] = {}

    def open(self, worker: Worker, run: str) -> None:
        """Use the worker's own folder, and throw away what earlier runs have left there."""
        with self._news:
            if self._run == run:
                return
            self._folder = Path(worker.local_directory) / "treesweep-states"
            self._folder.mkdir(parents=True, exist_ok=True)
            for leftover in self._folder.iterdir():
                leftover.unlink(missing_ok=True)
            self._run = run

    def path(self, token: str) -> Path:
        """Where a file is, or will be."""
        return self._folder / token

    def read(self, token: str, offset: int) -> bytes | None:
        """A chunk of a file; None if the file is gone."""
        try:
            with self.path(token).open("rb") as file:
                file.seek(offset)
                return file.read(CHUNK)
        except OSError:
            return None

    def discard(self, token: str) -> None:
        """Remove a file, if it is there."""
        with suppress(OSError):
            self.path(token).unlink(missing_ok=True)

    def take(self, token: str, offset: int, data: bytes, total: int) -> bool:
        """Take a chunk of a file that comes from the driver; False if that is of no use."""
        try:
            with self.path(token).open("wb" if offset == 0 else "r+b") as file:
                file.seek(offset)
                file.write(data)
        except OSError:
            self.refuse(token)
            return False
        with self._news:
            self._heard[token] = time.monotonic()
            if offset + len(data) == total:
                self._arrived[token] = True
                self._news.notify_all()
        return True

    def refuse(self, token: str) -> None:
        """Say that a file will not come."""
        with self._news:
            self._arrived[token] = False
            self._news.notify_all()

    def wait_for(self, token: str, is_stopped: Callable[[], bool]) -> Path | None:
        """Wait for a file from the driver; None if it does not come."""
        began = time.monotonic()
        with self._news:
            while token not in self._arrived and not is_stopped():
                if time.monotonic() - max(began, self._heard.get(token, began)) > CHUNK_TIMEOUT:
                    break
                self._news.wait(_POLL)
            self._heard.pop(token, None)
            return self.path(token) if self._arrived.pop(token, False) else None


STATE_FILES = WorkerFiles()


def read_chunk(token: str, offset: int) -> bytes | None:
    """:meth:`WorkerFiles.read`, called on the worker by the driver."""
    return STATE_FILES.read(token, offset)


def take_chunk(
    run: str, token: str, offset: int, data: bytes, total: int, dask_worker: Worker
) -> bool:
    """:meth:`WorkerFiles.take`, called by the driver, maybe before the first search."""
    STATE_FILES.open(dask_worker, run)
    return STATE_FILES.take(token, offset, data, total)


def discard(token: str) -> None:
    """:meth:`WorkerFiles.discard`, called on the worker by the driver."""
    STATE_FILES.discard(token)


def refuse(token: str) -> None:
    """:meth:`WorkerFiles.refuse`, called on the worker by the driver."""
    STATE_FILES.refuse(token)
