"""Sends datasets that only the driver sees to the machines of the workers, once to each.

Workers ask (:mod:`sweep.worker.dataset_cache`); a thread of the driver packs the table once and
sends it to one worker of the machine, a piece at a time, with calls that Dask's scheduler passes
on: no table is ever whole in a message.
"""

from __future__ import annotations

import hashlib
import queue
import shutil
import tempfile
import threading
import uuid
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from distributed import Client
from distributed.comm.addressing import get_address_host

from solver.errors import InputError, one_line
from sweep.datasets import DatasetRef, load_dataset
from sweep.datasets.arrow_serialization import pack
from sweep.worker import dataset_cache
from sweep.worker.transfer_files import CHUNK


@dataclass(frozen=True)
class _Packed:
    path: Path
    sha256: str


class Shipper:
    """A thread of the driver that sends tables, one piece of one table at a time.

    Parameters
    ----------
    client : Client
    references : mapping
        How the driver reads the datasets of the sweep, by the digest of their content.
    """

    def __init__(self, client: Client, references: Mapping[str, DatasetRef]) -> None:
        self._client, self._references = client, dict(references)
        self._orders: queue.SimpleQueue[tuple[str, str]] = queue.SimpleQueue()
        self._notes: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._under_way: set[tuple[str, str]] = set()
        self._packed: dict[str, _Packed] = {}
        self._folder: Path | None = None
        self._thread: threading.Thread | None = None
        self._told: set[str] = set()
        self._closed = False

    def asked(self, digest: str, address: str) -> None:
        """A worker asks for a table; nothing is done if it is on its way to that machine."""
        order = digest, get_address_host(address)
        with self._lock:
            if self._closed or order in self._under_way:
                return
            self._under_way.add(order)
            if self._thread is None:
                # A daemon: a worker that does not answer must not keep the driver from ending.
                self._thread = threading.Thread(target=self._loop, daemon=True)
                self._thread.start()
        self._orders.put((digest, address))

    def notes(self) -> list[str]:
        """What is worth a line."""
        found = []
        while not self._notes.empty():
            found.append(self._notes.get())
        return found

    def close(self) -> None:
        """Send no more."""
        with self._lock:
            self._closed = True
            if self._folder is not None:
                shutil.rmtree(self._folder, ignore_errors=True)

    def _loop(self) -> None:
        while True:
            digest, address = self._orders.get()
            try:
                if not self._closed:
                    self._send(digest, address)
            except Exception as error:  # the worker is gone, or its disk is full; it asks again
                why = one_line(f"{type(error).__name__}: {error}", 160)
                self._note(f"a dataset was not sent to {address}: {why}")
            finally:
                with self._lock:
                    self._under_way.discard((digest, get_address_host(address)))

    def _ask(self, address: str, function: Callable[..., Any], *arguments: Any) -> Any:
        return self._client.run(function, *arguments, workers=[address])[address]

    def _send(self, digest: str, address: str) -> None:
        if self._ask(address, dataset_cache.has_table, digest):
            return
        reference = self._references[digest]
        try:
            packed = self._pack(digest, reference)
        except Exception as error:  # the file is gone, the disk is full: it will not come
            why = str(error)
            if not isinstance(error, InputError):
                what = one_line(f"{type(error).__name__}: {error}", 160)
                why = f"dataset {reference.name!r} cannot be packed for the workers: {what}"
            self._ask(address, dataset_cache.refuse_table, digest, why)
            return
        token = uuid.uuid4().hex
        size = 0
        try:
            with packed.path.open("rb") as file:
                while (data := file.read(CHUNK)) and not self._closed:
                    self._ask(address, dataset_cache.take_piece, digest, token, size, data)
                    size += len(data)
            done = self._ask(address, dataset_cache.finish_table, digest, token, packed.sha256)
        except Exception:
            with suppress(Exception):
                self._ask(address, dataset_cache.discard_table, digest, token)
            raise
        if done:
            host = get_address_host(address)
            self._note(f"dataset {reference.name!r} was sent to {host} ({size:,} bytes)")

    def _note(self, line: str) -> None:
        if line not in self._told and not self._closed:
            self._told.add(line)
            self._notes.put(line)

    def _pack(self, digest: str, reference: DatasetRef) -> _Packed:
        """The table's file, made at its first use.

        Raises
        ------
        InputError
            If it cannot be packed, or is not the one that was planned with.
        """
        if digest not in self._packed:
            dataset = load_dataset(reference)
            if dataset.digest != digest:
                raise InputError(
                    f"dataset {reference.name!r} has changed since the sweep was planned; run the "
                    "sweep again"
                )
            path = self._make_folder() / f"{digest}.arrow"
            pack(dataset, path)
            with path.open("rb") as file:
                sha256 = hashlib.file_digest(file, "sha256").hexdigest()
            self._packed[digest] = _Packed(path, sha256)
        return self._packed[digest]

    def _make_folder(self) -> Path:
        with self._lock:
            if self._folder is None:
                self._folder = Path(tempfile.mkdtemp(prefix="treesweep-"))  # mode 700
            return self._folder
