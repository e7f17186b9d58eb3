"""The driver's transfers of state files, from workers to its store and back."""

from __future__ import annotations

import os
import queue
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from distributed import Client

from solver.errors import one_line
from sweep.state_transfer import worker_side

_Item = TypeVar("_Item")


@dataclass(frozen=True)
class Transfer:
    """A state file on its way.

    Parameters
    ----------
    key : str
        The task's.
    token : str
        What the worker calls the file.
    address : str
        The worker.
    size : int
        Bytes of the file.
    iterations : int
        How far the search was.
    path : Path, optional
        Where the driver puts what it fetches, until the store adopts it.
    source : callable, optional
        Opens what the driver delivers.
    """

    key: str
    token: str
    address: str
    size: int
    iterations: int
    path: Path = Path()
    source: Callable[[], Any] | None = None


class Transfers:
    """Two threads of the driver that transfer state files, one for each direction, by chunks.

    Parameters
    ----------
    client : Client
    run : str
        The run's name.
    """

    def __init__(self, client: Client, run: str) -> None:
        self._client, self._run = client, run
        self._here: queue.SimpleQueue[Transfer] = queue.SimpleQueue()
        self._notes: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._coming: Counter[str] = Counter()
        self._closed = False
        self._in: queue.SimpleQueue[Transfer] = queue.SimpleQueue()
        self._out: queue.SimpleQueue[Transfer] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []

    @property
    def coming(self) -> set[str]:
        """The workers whose files are on their way here, or have come and nobody took them yet."""
        with self._lock:
            return {address for address, files in self._coming.items() if files}

    def fetch(self, transfer: Transfer) -> None:
        """Bring a file here."""
        with self._lock:
            self._coming[transfer.address] += 1
        self._start()
        self._in.put(transfer)

    def deliver(self, transfer: Transfer) -> None:
        """Bring a file to a worker; if that fails, the worker is told."""
        self._start()
        self._out.put(transfer)

    def arrivals(self) -> list[Transfer]:
        """Files that have come; their ``path`` is the taker's."""
        found = _drain(self._here)
        for transfer in found:
            self._took(transfer)
        return found

    def notes(self) -> list[str]:
        """What is worth a line."""
        return _drain(self._notes)

    def close(self) -> None:
        """Carry no more."""
        self._closed = True

    def _took(self, transfer: Transfer) -> None:
        with self._lock:
            self._coming[transfer.address] -= 1

    def _start(self) -> None:
        # Daemons: a worker that does not answer must not keep the driver from ending.
        if not self._threads:
            for pending, work in ((self._in, self._fetch), (self._out, self._deliver)):
                thread = threading.Thread(target=self._loop, args=(pending, work), daemon=True)
                thread.start()
                self._threads.append(thread)

    def _loop(self, pending: queue.SimpleQueue[Transfer], work: Callable[[Transfer], None]) -> None:
        while True:
            work(pending.get())

    def _ask(self, transfer: Transfer, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function on the transfer's worker.

        Raises
        ------
        LookupError
            If the worker is gone.
        """
        answer = self._client.run(function, *arguments, workers=[transfer.address])
        return answer[transfer.address]

    def _fetch(self, transfer: Transfer) -> None:
        try:
            if not self._closed and self._receive(transfer):
                self._here.put(transfer)
                return
        except Exception as error:  # the worker is gone, or the disk is full
            why = one_line(f"{type(error).__name__}: {error}", 160)
            self._notes.put(f"the state of a search was not kept: {why}")
        transfer.path.unlink(missing_ok=True)
        self._took(transfer)

    def _receive(self, transfer: Transfer) -> bool:
        try:
            with transfer.path.open("wb") as file:
                while file.tell() < transfer.size:
                    data = self._ask(transfer, worker_side.read_chunk, transfer.token, file.tell())
                    if not data or self._closed:
                        return False  # it was of a search that has ended since
                    file.write(data)
                file.flush()
                os.fsync(file.fileno())
            return True
        finally:
            with suppress(Exception):
                self._ask(transfer, worker_side.discard, transfer.token)

    def _deliver(self, transfer: Transfer) -> None:
        try:
            assert transfer.source is not None
            with transfer.source() as file:
                total = file.size()
                while (offset := file.tell()) < total:
                    data = file.read(worker_side.CHUNK)
                    given = (self._run, transfer.token, offset, data, total)
                    if self._closed or not self._ask(transfer, worker_side.take_chunk, *given):
                        return
        except Exception as error:
            why = one_line(f"{type(error).__name__}: {error}", 160)
            self._notes.put(f"a search does not go on from its state: {why}")
            with suppress(Exception):
                self._ask(transfer, worker_side.refuse, transfer.token)


def _drain(source: queue.SimpleQueue[_Item]) -> list[_Item]:
    found = []
    while not source.empty():
        found.append(source.get())
    return found
