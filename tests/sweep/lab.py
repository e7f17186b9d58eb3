"""A scheduler and workers as separate machines have them: processes of Dask's own commands."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from distributed import Client

from sweep.clusters import Address

ROOT = Path(__file__).parents[2]


class Lab:
    """Processes of Dask's own commands; with ``certificates`` (a folder) they speak TLS.

    It is to be closed.
    """

    def __init__(self, folder: Path, certificates: Path | None = None) -> None:
        self.folder, self.certificates = folder, certificates
        self.processes: list[subprocess.Popen[bytes]] = []
        scheduler = self._start(
            "scheduler", "scheduler", "--port", "0", "--host", "127.0.0.1",
            *self.tls(certificates), "--dashboard-address", "127.0.0.1:0",
        )  # fmt: skip
        self.address = self._wait("scheduler", r"at:\s+((?:tcp|tls)://127\.0\.0\.1:\d+)", scheduler)

    @staticmethod
    def tls(certificates: Path | None, name: str = "node") -> list[str]:
        """The options of Dask's commands that name certificates."""
        if certificates is None:
            return []
        files = {"ca-file": "ca.pem", "cert": f"{name}.pem", "key": f"{name}.key"}
        return [f"--tls-{option}={certificates / file}" for option, file in files.items()]

    def worker(
        self,
        name: str,
        *,
        host: str = "127.0.0.1",
        environment: Mapping[str, str] | None = None,
        wrap: Sequence[str] = (),
        certificates: Path | None = None,
        join: bool = True,
    ) -> subprocess.Popen[bytes]:
        """Start a worker of one thread; with ``join`` wait until it has joined."""
        process = self._start(
            name, "worker", self.address, "--nthreads", "1", "--host", host, "--name", name,
            *self.tls(certificates or self.certificates), "--dashboard-address", "127.0.0.1:0",
            "--local-directory", str(self.folder / f"scratch-{name}"),
            environment=environment, wrap=wrap,
        )  # fmt: skip
        if join:
            self._wait(name, r"Registered to:\s+(\S+)", process)
        return process

    def log(self, name: str) -> str:
        """What a process has written."""
        return (self.folder / f"{name}.log").read_text()

    def config(self, certificates: Path | None = None, **more: Any) -> Address:
        """What ``cluster.yaml`` would hold."""
        certificates = certificates or self.certificates
        if certificates is None:
            return Address(kind="address", address=self.address, insecure=True, **more)
        files = {"ca_file": "ca.pem", "cert": "client.pem", "key": "client.key"}
        security = {key: str(certificates / file) for key, file in files.items()}
        return Address(kind="address", address=self.address, security=security, **more)  # type: ignore[arg-type]

    def _start(
        self,
        name: str,
        *command: str,
        environment: Mapping[str, str] | None = None,
        wrap: Sequence[str] = (),
    ) -> subprocess.Popen[bytes]:
        with (self.folder / f"{name}.log").open("ab") as to:
            process = subprocess.Popen(
                [*wrap, sys.executable, "-m", "dask", *command],
                stdin=subprocess.DEVNULL,
                stdout=to,
                stderr=to,
                env={**os.environ, "PYTHONPATH": str(ROOT), **(environment or {})},
                cwd=self.folder,
                start_new_session=True,  # a nanny and its worker are ended together
            )
        self.processes.append(process)
        return process

    def _wait(self, name: str, pattern: str, process: subprocess.Popen[bytes]) -> str:
        deadline = time.monotonic() + 60
        while not (found := re.search(pattern, self.log(name))):
            assert time.monotonic() < deadline, self.log(name)
            assert process.poll() is None, self.log(name)
            time.sleep(0.1)
        return found[1]

    def close(self) -> None:
        """End all processes."""
        for process in self.processes:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def wait_until(condition: Callable[[], bool], seconds: float = 30.0) -> None:
    """Wait for a condition."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def n_workers(client: Client) -> int:
    """Workers that a client sees."""
    return len(client.scheduler_info(n_workers=-1)["workers"])
