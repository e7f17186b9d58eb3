"""Workers on machines that are reached by SSH: the model, and the commands it runs there."""

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
from sweep.spec.python_spec import FromPython
from sweep.spec.yaml_reader import problem


class Host(FromPython):
    """A machine, with the settings that differ from those of the other machines."""

    host: HostName  #: its name or address, or an alias in ~/.ssh/config
    port: int | None = Field(default=None, ge=1, le=65535)  #: port of its SSH server
    username: Word | None = None  #: user who logs in
    python: PythonPath | None = None  #: path of a Python with treesweep on this host
    workers: int | None = Field(default=None, ge=1, le=4096)  #: number of worker processes
    listen: HostName | None = None  #: the address that its workers listen on


class Ssh(Cluster):
    """Workers on machines that are reached by SSH. They talk TLS, with keys made for each run.

    Examples
    --------
    >>> import treesweep
    >>> cluster = treesweep.Ssh(hosts=["lab1", "lab2"], workers=4)
    >>> [host.host for host in cluster.hosts]
    ['lab1', 'lab2']
    """

    kind: Literal["ssh"] = "ssh"
    hosts: list[Host] = Field(min_length=1)  #: names, or mappings with settings for this host only
    # For all hosts that do not set them. By default this Python's path and a worker for each core.
    username: Word | None = None  #: user who logs in; by default as ``ssh`` does
    port: int | None = Field(default=None, ge=1, le=65535)  #: port of the SSH servers
    python: PythonPath | None = None  #: path of Python on the hosts; default: as on this machine
    workers: int | None = Field(default=None, ge=1, le=4096)  #: per host; default: one per core
    listen: HostName | None = None  #: address that workers listen on; by default all
    scheduler: Literal["first", "here"] = "first"
    """Where the scheduler runs: on the first host; or here, in this process, which the hosts must
    then be able to reach."""
    listen_scheduler: HostName | None = None  #: address of the scheduler; by default all
    interface: Word | None = None  #: network interface of the workers, e.g. ``ib0``
    tunnel: bool = True
    """Connect to a scheduler on the first host through SSH, so that no port of that host has to be
    open to this machine."""
    keys: list[PrivateKey] = Field(default_factory=list)
    """Files of private keys, of mode 600. By default the keys that ``ssh`` uses, and those of its
    agent."""
    known_hosts: str | None = None  #: file with the hosts' keys; by default that of ``ssh``
    check_host_keys: bool = True  #: with ``false`` any host is trusted
    memory_limit: Memory = None
    """Memory of each worker: bytes, or e.g. ``4GiB``; by default an equal share."""
    local_directory: SafePath | None = None  #: folder for temporary files of workers
    connect_timeout: float = Field(default=15.0, gt=0)  #: seconds to wait for SSH
    start_timeout: float = Field(default=120.0, gt=0)  #: seconds to wait for scheduler and workers

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
        """The hosts by unique names: a host may be in the list more than once."""
        named: dict[str, Host] = {}
        for host in self.hosts:
            name, n = host.host, 2
            while name in named:
                name, n = f"{host.host}.{n}", n + 1
            named[name] = host
        return named

    def login(self, host: Host) -> tuple[int | None, str | None]:
        """Port and user. None leaves it to the configuration of ``ssh``."""
        return host.port or self.port, host.username or self.username

    def command(self, host: Host) -> str:
        """The command that is run on a host."""
        # Without quotes, so that the host's shell replaces ~: a PythonPath needs none.
        python = host.python or self.python or shlex.quote(sys.executable)
        return f"exec {python} -P -m sweep.clusters.ssh_node"

    def order(self, name: str, host: Host) -> dict[str, Any]:
        """What a host's workers are told, except the scheduler's address and the TLS keys."""
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
        """The arguments of ``asyncssh.connect`` for a host."""
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
        """Log in to all hosts, and start the scheduler and the workers."""
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

    def dashboard(self, client: Client) -> str | None:
        """None if the scheduler runs on another machine, where nobody could open the page."""
        return super().dashboard(client) if self.scheduler == "here" else None

    def reach(self) -> None:
        """Log in to all hosts."""
        with needs("asyncssh", "ssh"):
            from sweep.clusters.ssh_cluster import reach_hosts

        reach_hosts((host.host, self.options(host)) for host in self.hosts)

    def maintain(self, client: Client, workers: int, tasks: int) -> list[str]:
        """Restart the workers of hosts whose program has ended."""
        from sweep.clusters.ssh_cluster import SshCluster

        return client.cluster.restart_lost() if isinstance(client.cluster, SshCluster) else []

    def dry_run(self) -> str:
        """Show the commands, as calls of ``ssh``."""
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
