"""What a worker was at when it died.

Each worker process notes the cell that it begins in a few bytes of a mapped file, which outlives
the process whatever ends it. Another worker of the same machine can read them then. So one cell is
suspected of having killed the worker, not all that were handed to it.
"""

from __future__ import annotations

import mmap
import os
import shutil
import struct
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from distributed import Worker

_FORMAT = struct.Struct("<qq")


class Record(NamedTuple):
    """The last cell that a worker began: the bundle's number and the cell's place in it."""

    bundle: int
    place: int


class BlackBox:
    """Notes what this process is at."""

    def __init__(self) -> None:
        self._path: Path | None = None
        self._map: mmap.mmap | None = None

    def open(self, worker: Worker, run: str) -> None:
        """Note what follows in the file of this worker and this run."""
        path = _path(worker, run, worker.address)
        if path == self._path:
            return
        self.close()
        path.parent.mkdir(mode=0o700, exist_ok=True)
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            os.write(handle, _FORMAT.pack(-1, -1))
            self._map = mmap.mmap(handle, _FORMAT.size)
        finally:
            os.close(handle)
        self._path = path

    def note(self, bundle: int, place: int) -> None:
        """A cell begins."""
        if self._map is not None:
            _FORMAT.pack_into(self._map, 0, bundle, place)

    def close(self) -> None:
        """Remove the file: the run has ended, or the process works for another one."""
        if self._path is not None:
            with suppress(OSError):
                self._path.unlink(missing_ok=True)
                self._path.parent.rmdir()
            self._path = self._map = None


BLACK_BOX = BlackBox()


def read_record(run: str, address: str, dask_worker: Worker | None = None) -> Record | None:
    """What a dead worker was at; called on another worker of its machine.

    Parameters
    ----------
    dask_worker : Worker
        The worker that this is called on, by Dask.

    Returns
    -------
    Record or None
        None if it has left nothing here.
    """
    assert dask_worker is not None
    try:
        return Record(*_FORMAT.unpack(_path(dask_worker, run, address).read_bytes()))
    except (OSError, struct.error):
        return None


def forget_run(run: str, dask_worker: Worker | None = None) -> None:
    """Remove what a run has noted on this machine; called on its workers when it ends.

    Parameters
    ----------
    dask_worker : Worker
        The worker that this is called on, by Dask.
    """
    assert dask_worker is not None
    BLACK_BOX.close()
    shutil.rmtree(_path(dask_worker, run, "").parent, ignore_errors=True)


def _path(worker: Worker, run: str, address: str) -> Path:
    # Not in the worker's own folder: Dask removes those of dead workers.
    name = "".join(c if c.isalnum() else "-" for c in address)
    return Path(worker.local_directory).parent / run / f"at-{name}"
