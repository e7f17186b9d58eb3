"""Machines that are reached by SSH: the model, and what is started on them."""

from __future__ import annotations

import shlex
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Literal

from distributed import Client
from pydantic import Field, field_validator

from solver.errors import InputError, one_line
from solver.features.number_format import count
from sweep.clusters.base import Cluster, needs
from sweep.clusters.validators import HostName, Memory, PrivateKey, PythonPath, SafePath, Word
from sweep.spec.yaml_reader import Strict, problem


class Host(Strict):
    """A machine, and what differs on it from the others.

    Parameters
    ----------
    host : str
        Its name or address, or an alias in ``~/.ssh/config``.
    port, username : optional
        Where and as whom to log in.
    python : str, optional
        The Python that treesweep is installed for there.
    workers : int, optional
        Worker processes.
    listen : str, optional
        The address that its workers listen on.
    """

    host: HostName
    port: int | None = Field(default=None, ge=1, le=65535)
    username: Word | None = None
    python: PythonPath | None = None
    workers: int | None = Field(default=None, ge=1, le=4096)
    listen: HostName | None = None


class Ssh(Cluster):
    """Workers on machines that are reached by SSH, joined by TLS with keys made for this one run.

    Parameters
    ----------
    hosts : list of Host
        In a file a name alone will do.
    username, port, python, workers, listen : optional
        For all hosts that say nothing else; ``python`` is by default the path of this Python,
        ``workers`` one a core.
    scheduler : str
        ``first`` host, reached through its SSH connection, or ``here``.
    listen_scheduler : str, optional
        The address that the scheduler listens on; by default all of its machine's.
    interface : str, optional
        The network interface that workers listen on, e.g. ``ib0``.
    tunnel : bool
        Whether a scheduler on the first host is reached through the SSH connection.
    keys : list of str
        Files of private keys; by default those of ``ssh`` itself, and its agent.
    known_hosts : str, optional
        By default that of ``ssh`` itself.
    check_host_keys : bool
        False trusts whatever answers.
    memory_limit : int, optional
        Bytes of each worker.
    local_directory : str, optional
        Where workers put their temporary files.
    connect_timeout, start_timeout : float
        Seconds for the SSH connection, and for what is started through it.
    """

    kind: Literal["ssh"]
    hosts: list[Host] = Field(min_length=1)
    username: Word | None = None
    port: int | None = Field(default=None, ge=1, le=65535)
    python: PythonPath | None = None
    workers: int | None = Field(default=None, ge=1, le=4096)
    listen: HostName | None = None
    scheduler: Literal["first", "here"] = "first"
    listen_scheduler: HostName | None = None
    interface: Word | None = None
    tunnel: bool = True
    keys: list[PrivateKey] = Field(default_factory=list)
    known_hosts: str | None = None
    check_host_keys: bool = True
    memory_limit: Memory = None
    local_directory: SafePath | None = None
    connect_timeout: float = Field(default=15.0, gt=0)
    start_timeout: float = Field(default=120.0, gt=0)

    @field_validator("hosts", mode="before")
    @classmethod
    def _names(cls, value: Any) -> Any:
        if not isinstance(value, list):
            return value
        return [{"host": one} if isinstance(one, str) else one for one in value]

    @field_validator("known_hosts")
    @classmethod
    def _is_there(cls, value: str | None) -> str | None:
        if value is None:
            return None
        path = Path(value).expanduser()
        if not path.is_file():
            raise problem(f"there is no file {value!r}")
        return str(path)

    @property
    def named_hosts(self) -> dict[str, Host]:
        """The hosts, each by a name that no other has: one may stand in the list twice."""
        named: dict[str, Host] = {}
        for host in self.hosts:
            name, n = host.host, 2
            while name in named:
                name, n = f"{host.host}.{n}", n + 1
            named[name] = host
        return named

    def login(self, host: Host) -> tuple[int | None, str | None]:
        """Port and user, None where ``ssh``'s own configuration decides."""
        return host.port or self.port, host.username or self.username

    def command(self, host: Host) -> str:
        """What is run on a host."""
        python = host.python or self.python or sys.executable
        return f"exec {shlex.quote(python)} -P -m sweep.clusters.ssh_node"

    def order(self, name: str, host: Host) -> dict[str, Any]:
        """What workers on a host are told, but for the scheduler's address and the keys."""
        return {
            "role": "workers",
            "name": name,
            "workers": host.workers or self.workers,
            "listen": host.listen or self.listen,
            "interface": self.interface,
            "memory_limit": self.memory_limit,
            "local_directory": self.local_directory,
            "settings": self.settings(),
        }

    def options(self, host: Host) -> dict[str, Any]:
        """What ``asyncssh.connect`` takes for a host."""
        port, user = self.login(host)
        options: dict[str, Any] = {"port": port, "username": user, "known_hosts": self.known_hosts}
        options = {name: value for name, value in options.items() if value is not None}
        if not self.check_host_keys:
            options["known_hosts"] = None
        if self.keys:
            options |= {"client_keys": self.keys, "agent_path": None}
        seconds = self.connect_timeout
        return options | {"login_timeout": seconds, "connect_timeout": seconds}

    def open(self, stack: ExitStack) -> Client:
        """Log in everywhere, and start the scheduler and the workers."""
        with needs("asyncssh", "ssh"):
            from sweep.clusters.ssh_cluster import Program, SshCluster

        def program(name: str, host: Host, **more: Any) -> Program:
            order = {**self.order(name, host), **more}
            return Program(
                host.host, self.options(host), self.command(host), order, self.start_timeout
            )

        named = self.named_hosts
        scheduler: Program | dict[str, Any] = {}
        if self.scheduler == "first":
            first = next(iter(named.values()))
            scheduler = program("scheduler", first, role="scheduler", listen=self.listen_scheduler)
        elif self.listen_scheduler is not None:
            scheduler = {"host": self.listen_scheduler}
        elif self.interface is not None:
            scheduler = {"interface": self.interface}
        hosts = {name: program(name, host) for name, host in named.items()}
        try:
            cluster = stack.enter_context(SshCluster(hosts, scheduler, self.tunnel))
        except RuntimeError as error:
            cause = error.__cause__
            if isinstance(cause, InputError):
                raise cause from None
            raise InputError(f"the cluster did not start: {one_line(error, 200)}") from None
        client: Client = stack.enter_context(Client(cluster, set_as_default=False))
        return client

    def reach(self) -> None:
        """Log in everywhere."""
        with needs("asyncssh", "ssh"):
            from sweep.clusters.ssh_cluster import reach_hosts

        reach_hosts((host.host, self.options(host)) for host in self.hosts)

    def keep(self, client: Client, workers: int, tasks: int) -> list[str]:
        """Start what has ended on a host again."""
        from sweep.clusters.ssh_cluster import SshCluster

        return client.cluster.mend() if isinstance(client.cluster, SshCluster) else []

    def dry_run(self) -> str:
        """The commands, as ``ssh`` would be called."""
        named = self.named_hosts
        first = next(iter(named.values()))
        lines = [self._shown(first, "the scheduler")] if self.scheduler == "first" else []
        if not lines:
            lines.append("the scheduler runs in this process")
        for host in named.values():
            number = host.workers or self.workers
            what = "a worker a core" if number is None else count(number, "worker")
            lines.append(self._shown(host, what))
        if not self.check_host_keys:
            lines.append("host keys are NOT checked")
        lines.append(
            "scheduler and workers talk TLS; certificate and key are made for each run and go "
            "through the SSH connections"
        )
        return "\n".join(lines)

    def _shown(self, host: Host, what: str) -> str:
        port, user = self.login(host)
        at = f"{user}@{host.host}" if user else host.host
        options = f" -p {port}" if port else ""
        options += "".join(f" -i {shlex.quote(key)}" for key in self.keys)
        if self.known_hosts:
            options += f" -o UserKnownHostsFile={shlex.quote(self.known_hosts)}"
        return f"ssh{options} {at} {shlex.quote(self.command(host))}    # {what}"
