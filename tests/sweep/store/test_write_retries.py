"""Tests of sweep/store/write_retries.py: stores that are full, or do not answer, for a while."""

from __future__ import annotations

import os
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from sweep.filesystem import StorageError
from sweep.rows.result_rows import Checkpoint, as_finished
from sweep.store import store as stores
from sweep.store import write_retries
from sweep.store.read_results import read_results
from sweep.store.write_retries import RetryingWriter
from tests.helpers import PATIENCE

Rows = list[dict[str, Any]]


@pytest.fixture
def tmpfs(tmp_path: Path) -> Iterator[Path]:
    """A disk of one MiB."""
    place = tmp_path / "disk"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(place)]
    if os.geteuid() != 0 or subprocess.run(command, capture_output=True).returncode != 0:
        pytest.skip("only root can mount a small disk")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


class Desk:
    """A store, someone who writes to it again and again, and what is told."""

    def __init__(self, store: stores.Store, rows: Rows) -> None:
        self.store, self.rows = store, rows
        self.told: list[str] = []
        self.writer = RetryingWriter(store, self.told.append)

    def add(self, number: int) -> None:
        self.store.add(as_finished([self.rows[number]]))


def wait_until_written(desk: Desk) -> None:
    deadline = time.monotonic() + PATIENCE
    while desk.store.n_waiting:
        desk.writer.write()
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write_retries, "PAUSE", 0.2)
    monkeypatch.setattr(stores, "FLUSH_SECONDS", 0.0)


@pytest.mark.faults
@pytest.mark.usefixtures("hurried")
def test_a_disk_that_is_full_and_then_has_room(
    tmpfs: Path, rowmaker: Any, small_rows: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    with stores.create(tmpfs / "out", rowmaker.small_sweep(), print) as store:
        desk = Desk(store, small_rows)
        desk.add(0)
        desk.writer.write()
        assert (store.n_waiting, desk.told) == (0, [])
        rubbish = tmpfs / "rubbish"
        with pytest.raises(OSError, match="No space left"), rubbish.open("wb") as file:
            while True:
                file.write(b"x" * 4096)
                file.flush()
        for number in range(1, 8):
            desk.add(number)
            desk.writer.write()
            time.sleep(0.1)
        assert store.n_waiting == 7
        (line,) = desk.told
        assert line.startswith(f"cannot write to {tmpfs / 'out'} now (No space left on device)")
        assert not desk.writer.is_full
        monkeypatch.setattr(write_retries, "MOST_WAITING", 100)
        assert desk.writer.is_full
        desk.writer.keep(Checkpoint("a", "{}", "1/2", "1/4", 1.0, 2))
        state = store.states.incoming("token")
        desk.writer.keep_state("0f" * 32, state, 3)
        assert len(desk.told) == 3
        assert len(read_results(tmpfs / "out", every_run=True)) == 1
        rubbish.unlink()
        wait_until_written(desk)
        assert desk.told[-1].endswith("can be written to again; nothing was lost")
        assert not desk.writer.is_full
        assert desk.writer.finish(lambda: False)
    assert len(read_results(tmpfs / "out", every_run=True)) == 8
    assert not list((tmpfs / "out").rglob("*.tmp"))


@pytest.mark.usefixtures("hurried")
def test_whoever_has_had_enough_is_told_what_is_lost(
    tmp_path: Path, rowmaker: Any, small_rows: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, os.strerror(28))

    with stores.create(tmp_path / "out", rowmaker.small_sweep(), print) as store:
        desk = Desk(store, small_rows)
        asked: list[bool] = []
        for number in range(3):
            desk.add(number)
        with monkeypatch.context() as patch:
            patch.setattr("sweep.filesystem.disk._sync", full)
            assert not desk.writer.finish(lambda: len(asked) > 5 or asked.append(True) or False)
        assert store.n_waiting == 0
        assert desk.told[-1].startswith("3 finished tasks are not stored: No space left on device;")
    assert len(read_results(tmp_path / "out", every_run=True)) == 0


class Relay:
    """A way to a server that can be cut and mended."""

    def __init__(self, port: int) -> None:
        self._port, self.broken = port, False
        self._open: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):  # it was closed
            while True:
                near, _ = self._listener.accept()
                if self.broken:
                    near.close()
                    continue
                far = socket.create_connection(("127.0.0.1", self._port))
                self._open += [near, far]
                for pair in ((near, far), (far, near)):
                    threading.Thread(target=self._pass_on, args=pair, daemon=True).start()

    def _pass_on(self, source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                sink.sendall(data)
        for end in (source, sink):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def cut(self) -> None:
        """Let nothing through, also nothing that is on its way."""
        self.broken = True
        for end in self._open:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self.cut()
        self._listener.close()


@pytest.mark.faults
@pytest.mark.usefixtures("hurried")
def test_a_store_of_objects_that_is_out_of_order_for_a_while(
    bucket: str,
    s3_server: str,
    rowmaker: Any,
    small_rows: Rows,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    relay = Relay(int(s3_server.rpartition(":")[2]))
    monkeypatch.setenv("AWS_ENDPOINT_URL", relay.address)
    place = f"{bucket}/out"
    try:
        with stores.create(place, rowmaker.small_sweep(), print) as store:
            desk = Desk(store, small_rows)
            desk.add(0)
            desk.writer.write()
            assert (store.n_waiting, desk.told) == (0, [])
            relay.cut()
            desk.add(1)
            desk.writer.write()
            assert store.n_waiting == 1
            (line,) = desk.told
            assert line.startswith(f"cannot write to {place} now (")
            with pytest.raises(StorageError, match="cannot read"):
                store.lease.check()
            relay.broken = False
            wait_until_written(desk)
            store.lease.check()
        assert len(read_results(place, every_run=True)) == 2
    finally:
        relay.close()
