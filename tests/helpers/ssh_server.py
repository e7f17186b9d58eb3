"""SSH servers for tests: several ports of this machine that pass for several machines."""

from __future__ import annotations

import getpass
import os
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil

from tests.helpers import PATIENCE, ROOT, wait_until
from tests.helpers.drivers import FAULTY
from tests.helpers.ports import free_port, listens


def missing() -> str | None:
    """Why there can be no server here."""
    if find("sshd") is None or shutil.which("ssh-keygen") is None:
        return "needs openssh-server (as root: .ci/install_servers)"
    return None


def find(program: str) -> str | None:
    return shutil.which(program, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")


class Servers:
    """As many machines as asked for, one key that opens them all, and who they are."""

    def __init__(self, folder: Path, machines: int) -> None:
        self.folder = folder
        self.key = folder / "id_ed25519"
        self.stranger = folder / "id_stranger"
        self.known_hosts = folder / "known_hosts"
        for path in (self.key, self.stranger):
            keygen(path)
        (folder / "authorized_keys").write_text((folder / "id_ed25519.pub").read_text())
        self.ports = [free_port() for _ in range(machines)]
        self.processes: dict[int, subprocess.Popen[bytes]] = {}
        known = []
        for port in self.ports:
            keygen(folder / f"host_{port}")
            public = (folder / f"host_{port}.pub").read_text().split()
            known.append(f"[127.0.0.1]:{port} {public[0]} {public[1]}\n")
            self.start(port)
        self.known_hosts.write_text("".join(known))

    def start(self, port: int) -> None:
        if os.getuid() == 0:
            Path("/run/sshd").mkdir(exist_ok=True)
        config = self.folder / f"sshd_{port}.conf"
        faulty = {**FAULTY, "TREESWEEP_TEST_SCRATCH": self.folder}
        preload = " ".join(f'"{name}={value}"' for name, value in faulty.items())
        config.write_text(
            f"Port {port}\nListenAddress 127.0.0.1\nHostKey {self.folder}/host_{port}\n"
            f"AuthorizedKeysFile {self.folder}/authorized_keys\nPidFile none\nUsePAM no\n"
            "StrictModes no\nPasswordAuthentication no\nPermitRootLogin prohibit-password\n"
            # Workers of tests have the misbehaving solvers at hand.
            f"SetEnv PYTHONPATH={ROOT} {preload}\n"
        )
        program = find("sshd")
        assert program is not None
        with (self.folder / f"sshd_{port}.log").open("ab") as log:
            self.processes[port] = subprocess.Popen(
                [program, "-D", "-e", "-f", str(config)], stdout=log, stderr=log
            )
        wait_until(lambda: listens(port), lambda: self.log(port))

    def log(self, port: int) -> str:
        return (self.folder / f"sshd_{port}.log").read_text()

    def close(self) -> None:
        for port in self.processes:
            self.stop(port)

    def stop(self, port: int) -> None:
        """The machine is switched off, with all that runs there."""
        process = self.processes[port]
        everyone = [*psutil.Process(process.pid).children(recursive=True), process]
        for one in everyone:
            with suppress(psutil.NoSuchProcess):
                one.kill()
        psutil.wait_procs(everyone, timeout=PATIENCE)

    def config(self, **more: Any) -> dict[str, Any]:
        """What a ``cluster.yaml`` says of them."""
        return {
            "kind": "ssh",
            "hosts": [{"host": "127.0.0.1", "port": port} for port in self.ports],
            "username": getpass.getuser(),
            "keys": [str(self.key)],
            "known_hosts": str(self.known_hosts),
            "workers": 1,
            "listen": "127.0.0.1",
            "listen_scheduler": "127.0.0.1",
            **more,
        }


def keygen(path: Path) -> None:
    command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "test", "-f", str(path)]
    subprocess.run(command, check=True)
