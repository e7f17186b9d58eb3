"""Start a sweep's driver on the machine of a worker, so that this machine may sleep."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from distributed import Client, Worker

from pipelines.background.detached_driver import find_driver, last_line, log_for, start_driver
from solver.errors import InputError, one_line
from sweep.clusters.base import connected_workers
from sweep.datasets import cache_directory
from sweep.filesystem import StorageError, is_remote, open_folder

_POLL = 0.5

_started: dict[int, subprocess.Popen[bytes]] = {}
"""The drivers that were started on this worker."""


@dataclass(frozen=True)
class Launched:
    """A driver on the machine of the worker at ``address``, with its log there."""

    address: str
    host: str
    pid: int
    log: str


def find_starter(client: Client, place: str, files: Sequence[str]) -> str:
    """The address of the worker that can start the driver of a sweep with datasets in ``files``.

    Raises InputError if there is no worker, or if it cannot reach the folder or a file. Nothing is
    left behind in either case.
    """
    workers = connected_workers(client)
    if not workers:
        raise InputError(
            "the cluster has no worker that could start the driver; start a worker, then submit "
            "the sweep again"
        )
    address = min(workers)
    with _probe(place) as probe:
        answers = client.run(refusal_here, place, probe, list(files), workers=[address])
    if answers[address] is not None:
        raise InputError(f"worker {address} cannot start the driver: {answers[address]}")
    return address


@contextmanager
def _probe(place: str) -> Iterator[str]:
    """A new file in a folder, and in the end neither the file nor folders that it needed."""
    folder, name = open_folder(place), f".probe-{uuid.uuid4().hex}"
    path = Path(place)
    new = [] if is_remote(place) else [p for p in (path, *path.parents) if not p.exists()]
    try:
        folder.make()
        folder.write(name, name.encode())
        yield name
    finally:
        with suppress(StorageError):  # the first error matters more
            folder.remove(name)
        for made in new:
            with suppress(OSError):  # others may have begun to use it
                made.rmdir()


def launch(client: Client, address: str, place: str, name: str) -> Launched:
    """Have the worker at an address start the driver of the sweep ``name``.

    Raises InputError if it cannot.
    """
    answer = client.run(start_here, place, name, workers=[address])[address]
    if "refused" in answer:
        raise InputError(f"worker {address} cannot start the driver: {answer['refused']}")
    return Launched(address, **answer)


def await_launched(client: Client, launched: Launched, place: str, timeout: float) -> int | None:
    """As :func:`pipelines.background.detached_driver.await_driver`, for a driver on a worker."""
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        code, line = client.run(look_here, launched.pid, launched.log, workers=[launched.address])[
            launched.address
        ]
        if code is not None:
            if code not in (0, 1):
                raise InputError(
                    f"the driver has ended: {line} ({launched.log} on {launched.host})"
                )
            return int(code)
        if find_driver(place) is not None:
            return None
        time.sleep(_POLL)
    return None


def refusal_here(place: str, probe: str, files: list[str], dask_worker: Worker) -> str | None:
    """Why no driver can be started, if so. Runs on the worker."""
    try:
        found = open_folder(place).read(probe)
    except (OSError, InputError):
        found = b""
    if found != probe.encode():
        return f"{place} is another folder there; choose one on a shared disk, or s3://"
    missing = [file for file in files if not Path(file).exists()]
    if missing:
        return f"there is no file {missing[0]!r} there; put it on a shared disk"
    try:
        _cluster_of(dask_worker)
    except InputError as error:
        return str(error)
    return None


def start_here(place: str, name: str, dask_worker: Worker) -> dict[str, Any]:
    """Start the driver, or give the reason as ``refused``. Runs on the worker."""
    try:
        config = _cluster_file(dask_worker)
        log = log_for(place, name)
        process = start_driver(["resume", place, "--cluster", str(config)], log)
    except (OSError, InputError) as error:
        return {"refused": one_line(error, 200)}
    _started[process.pid] = process
    return {"host": socket.gethostname(), "pid": process.pid, "log": str(log)}


def look_here(pid: int, log: str) -> tuple[int | None, str]:
    """The exit code of a driver and the last line of its log. Runs on the worker."""
    process = _started.get(pid)
    code = -1 if process is None else process.poll()
    return code, "" if code is None else last_line(Path(log))


def _cluster_file(worker: Worker) -> Path:
    """A ``cluster.yaml`` of the worker's scheduler. Raises as :func:`_cluster_of`."""
    config = _cluster_of(worker)
    drivers = cache_directory() / "drivers"
    drivers.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = Path(tempfile.mkdtemp(dir=drivers)) / "cluster.yaml"  # mode 700
    path.write_text(json.dumps(config))
    return path


def _cluster_of(worker: Worker) -> dict[str, Any]:
    """The content of a ``cluster.yaml`` of the worker's scheduler, with the worker's TLS files.

    Raises InputError if the worker's certificates are not in files.
    """
    config: dict[str, Any] = {"kind": "address", "address": worker.scheduler.address}
    if not config["address"].startswith("tls://"):
        return {**config, "insecure": True}
    own: Any = worker.security
    files = {"ca_file": own.tls_ca_file, "cert": own.tls_worker_cert, "key": own.tls_worker_key}
    if any(not file or "\n" in file for file in files.values()):
        raise InputError("its certificates are in memory only; start workers with --tls-cert")
    return {**config, "security": {name: os.path.abspath(file) for name, file in files.items()}}
