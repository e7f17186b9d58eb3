"""A scheduler and workers as separate machines have them: processes of Dask's own commands."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from distributed import Client, Worker

from sweep.clusters import Address
from sweep.clusters.worker_retirement import retire
from sweep.events import Silent
from tests.helpers import environment, wait_until

CAN_HIDE = (
    os.geteuid() == 0
    and shutil.which("unshare") is not None
    and subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode == 0
)
"""Whether a folder can be hidden from a process."""


def hidden(folder: Path) -> list[str]:
    """Words before a command that make a folder empty for it."""
    return ["unshare", "-m", "sh", "-c", f'mount -t tmpfs none {folder} && exec "$@"', "sh"]


class Lab:
    """A scheduler and the workers that are started for it. It must be closed.

    Parameters
    ----------
    folder : Path
        For logs and scratch files.
    certificates : Path, optional
        A folder; all processes speak TLS.
    host : str
        Where all listen.
    wrap : sequence of str
        What comes before each command.
    settings : mapping, optional
        More for the environment of all processes.
    """

    def __init__(
        self,
        folder: Path,
        certificates: Path | None = None,
        *,
        host: str = "127.0.0.1",
        wrap: Sequence[str] = (),
        settings: Mapping[str, str] | None = None,
    ) -> None:
        self.folder, self.certificates = folder, certificates
        self.host, self.wrap, self.settings = host, wrap, settings or {}
        self.processes: list[subprocess.Popen[bytes]] = []
        self.scheduler = self._start(
            "scheduler", "scheduler", "--port", "0", "--host", host,
            *self.tls(certificates), "--dashboard-address", f"{host}:0", wrap=wrap,
        )  # fmt: skip
        pattern = rf"at:\s+((?:tcp|tls)://{re.escape(host)}:\d+)"
        self.address = self._wait("scheduler", pattern, self.scheduler)

    @property
    def workers(self) -> list[subprocess.Popen[bytes]]:
        """All workers that were started, in order."""
        return self.processes[1:]

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
        host: str | None = None,
        environment: Mapping[str, str] | None = None,
        wrap: Sequence[str] | None = None,
        certificates: Path | None = None,
        join: bool = True,
    ) -> subprocess.Popen[bytes]:
        """Start a worker of one thread; with ``join`` wait until it has joined."""
        process = self._start(
            name, "worker", self.address, "--nthreads", "1", "--host", host or self.host,
            *self.tls(certificates or self.certificates), "--dashboard-address", f"{self.host}:0",
            "--local-directory", str(self.folder / f"scratch-{name}"), "--name", name,
            more=environment, wrap=self.wrap if wrap is None else wrap,
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
        wrap: Sequence[str],
        more: Mapping[str, str] | None = None,
    ) -> subprocess.Popen[bytes]:
        with (self.folder / f"{name}.log").open("ab") as to:
            process = subprocess.Popen(
                [*wrap, sys.executable, "-m", "dask", *command],
                stdin=subprocess.DEVNULL,
                stdout=to,
                stderr=to,
                # As docs/guides/faults.md tells whoever starts a scheduler for treesweep.
                env=environment(DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES="0")
                | {**self.settings, **(more or {})},
                cwd=self.folder,
                start_new_session=True,  # a nanny and its worker are ended together
            )
        self.processes.append(process)
        return process

    def _wait(self, name: str, pattern: str, process: subprocess.Popen[bytes]) -> str:
        def is_told() -> bool:
            assert process.poll() is None, self.log(name)
            return re.search(pattern, self.log(name)) is not None

        wait_until(is_told, lambda: self.log(name))
        return re.findall(pattern, self.log(name))[0]

    def close(self) -> None:
        """End all processes."""
        for process in self.processes:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


class Notes(Silent):
    """Keeps what a sweep says that is worth a line."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def note(self, text: str) -> None:
        self.lines.append(text)


def n_workers(client: Client) -> int:
    """Workers that a client sees."""
    return len(client.scheduler_info(n_workers=-1)["workers"])


def leave(dask_worker: Worker) -> None:
    """What a worker's timer does shortly before its job ends; Dask calls it on the worker."""
    dask_worker.io_loop.add_callback(retire, dask_worker)
