"""Writing to a store that for a while has no room, or does not answer."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from solver.features.number_format import count
from solver.search_shards import Shard
from sweep.filesystem import StorageError
from sweep.rows.result_rows import Checkpoint, Finished
from sweep.store.store import Store

PAUSE = 3.0
"""Seconds until a write that failed is tried again."""

MOST_WAITING = 128 * 2**20
"""Bytes of finished rows that may wait in memory; beyond, no more work is handed out."""

_STEP = 0.1


class RetryingWriter:
    """Writes what a driver has, and waits where that cannot be done now.

    Nothing that was paid for may be lost because a disk is full or a network is cut: rows wait in
    memory, and are written once that works again.

    Parameters
    ----------
    store : Store
    tell : callable
        Told what is worth a line, once each time.
    """

    def __init__(self, store: Store, tell: Callable[[str], None]) -> None:
        self._store, self._tell = store, tell
        self._next = 0.0
        self._why: str | None = None
        self._complaints: set[str] = set()

    @property
    def is_full(self) -> bool:
        """Whether so much waits that nothing new should be begun."""
        return self._why is not None and self._store.waiting_bytes > MOST_WAITING

    def write(self) -> None:
        """Write rows that have waited long enough, if that is possible now."""
        if time.monotonic() >= self._next:
            self._try(self._store.maybe_flush)

    def check_lease(self) -> None:
        """Make sure that the store is still this driver's, also while there is nothing to write.

        Raises
        ------
        LostLeaseError
            If it is not.
        """
        with suppress(StorageError):  # it cannot be told now
            self._store.lease.check()

    def finish(self, is_stopped: Callable[[], bool]) -> bool:
        """Write all rows, however long it takes.

        Parameters
        ----------
        is_stopped : callable
            Whether somebody has had enough. What is not stored is given up then.

        Returns
        -------
        bool
            Whether all are written.
        """
        while not self._try(self._store.flush):
            if is_stopped():
                number = self._store.drop_waiting()
                self._tell(
                    f"{count(number, 'finished task')} {'is' if number == 1 else 'are'} not "
                    f"stored: {self._why}; they will be computed "
                    "again"
                )
                return False
            self._sleep(is_stopped)
        return True

    def _sleep(self, is_stopped: Callable[[], bool]) -> None:
        while time.monotonic() < self._next and not is_stopped():
            time.sleep(_STEP)

    def _try(self, write: Callable[[], None]) -> bool:
        waiting = self._store.n_waiting
        try:
            write()
        except StorageError as error:
            self._next = time.monotonic() + PAUSE
            if self._why is None:
                self._tell(
                    f"cannot write to {self._store.folder} now ({error.why}); finished tasks wait "
                    "in memory. Make room, or mend what is wrong: it goes on by itself"
                )
            self._why = error.why
            return False
        if self._why is not None and self._store.n_waiting < waiting:
            self._why = None
            self._tell(f"{self._store.folder} can be written to again; nothing was lost")
        return True

    def keep(self, checkpoint: Checkpoint) -> None:
        """Keep what a running search has reached; without room it is not kept."""
        try:
            self._store.save_checkpoint(checkpoint)
        except StorageError as error:
            self._complain(f"what running searches have reached is not kept: {error.why}")

    def keep_state(self, key: str, path: Path, iterations: int) -> None:
        """Keep the state of a search; without room it is not kept."""
        try:
            why = self._store.save_state(key, path, iterations)
        except (StorageError, OSError) as error:  # also that what came is gone again
            with suppress(OSError):
                path.unlink(missing_ok=True)
            why = f"the state of a search is not kept: {getattr(error, 'why', error)}"
        if why is not None:
            self._complain(why)

    def keep_shard(self, key: str, shard: Shard, finished: Finished) -> None:
        """Keep a finished shard of a task of which others are not; without room it is not kept."""
        try:
            self._store.save_shard(key, shard, finished)
        except StorageError as error:
            self._complain(f"finished shards are not kept: {error.why}")

    def _complain(self, text: str) -> None:
        if text not in self._complaints:
            self._complaints.add(text)
            self._tell(text)
