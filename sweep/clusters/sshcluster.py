"""Starting a scheduler and workers through SSH connections, and starting them again."""

from __future__ import annotations

import asyncio
import copy
import json
import time
from abc import ABC, abstractmethod
from collections import deque
from contextlib import ExitStack, suppress
from typing import Any

import asyncssh
from distributed import Client, Scheduler, Security, SpecCluster
from distributed.core import Status
from distributed.deploy.spec import ProcessInterface

from solver.errors import InputError
from sweep.clusters.run_keys import security_in_memory
from sweep.clusters.ssh import Host, Ssh
from sweep.clusters.ssh_node import BEAT_SECONDS

_KEEPALIVE = {"keepalive_interval": 30, "keepalive_count_max": 10}
_END_SECONDS = 8.0
_SHORTEST_PAUSE = 5.0
_LONGEST_PAUSE = 300.0
_TAIL_LINES = 20


class Node(ProcessInterface, ABC):
    """A program on a machine, at the other end of an SSH connection."""

    def __init__(self, config: Ssh, host: Host, security: Security) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._config, self._host, self._security = config, host, security
        self._connection: Any = None
        self._process: Any = None
        self._watching: list[asyncio.Task[None]] = []
        self._tail: deque[str] = deque(maxlen=_TAIL_LINES)

    @property
    def is_lost(self) -> bool:
        """Whether it has ended without being told to."""
        return bool(self.status == Status.running and self._process.is_closing())

    async def start(self) -> None:
        """Log in, give the order, and wait until it is done.

        Raises
        ------
        InputError
            Naming the host and what went wrong there.
        """
        try:
            await asyncio.wait_for(self._start(), self._config.start_timeout)
        except BaseException as error:
            self.status = Status.failed
            self._end()
            if not isinstance(error, TimeoutError):
                raise
            raise InputError(
                f"host {self._host.host}: nothing was started within "
                f"{self._config.start_timeout:g} s{self._last_words()}"
            ) from None

    async def _start(self) -> None:
        self._connection = await connect(self._config, self._host)
        try:
            self._process = await self._connection.create_process(
                self._config.command(self._host), encoding="utf-8", errors="replace"
            )
            self._watching.append(asyncio.create_task(self._read_errors()))
            self._process.stdin.write(json.dumps(self._order()) + "\n")
            self._take(await self._answer())
        except (OSError, asyncssh.Error) as error:
            raise InputError(f"host {self._host.host}: {_one_line(error)}") from None
        self._watching += [
            asyncio.create_task(self._beat()),
            asyncio.create_task(self._read_on()),
        ]
        self.status = Status.running

    @abstractmethod
    def _order(self) -> dict[str, Any]:
        """What the program is to do."""

    def _take(self, answer: dict[str, Any]) -> None:
        """Use what the program says when it is ready."""

    async def _answer(self) -> dict[str, Any]:
        async for line in self._process.stdout:
            try:
                found = json.loads(line)["treesweep"]
            except (ValueError, TypeError, KeyError):
                continue  # what a login shell prints
            if "error" in found:
                raise InputError(f"host {self._host.host}: {found['error']}")
            return dict(found)
        await self._process.wait_closed()
        raise InputError(
            f"host {self._host.host}: {self._config.command(self._host)!r} ended"
            f"{self._last_words()}; install treesweep there, or name the Python that has it "
            "under 'python'"
        )

    def _last_words(self) -> str:
        lines = [line for line in self._tail if line]
        return f" ({lines[-1][:200]})" if lines else ""

    async def _read_errors(self) -> None:
        async for line in self._process.stderr:
            self._tail.append(" ".join(line.split()))

    async def _read_on(self) -> None:
        async for _ in self._process.stdout:
            pass

    async def _beat(self) -> None:
        with suppress(OSError, asyncssh.Error):
            while not self._process.is_closing():
                self._process.stdin.write("\n")
                await asyncio.sleep(BEAT_SECONDS)

    async def close(self) -> None:
        """Let the program end by itself, and hang up."""
        if self._process is not None and not self._process.is_closing():
            with suppress(OSError, asyncssh.Error, TimeoutError):
                self._process.stdin.write_eof()
                await asyncio.wait_for(self._process.wait_closed(), _END_SECONDS)
        self._end()
        self.status = Status.closed
        self._event_finished.set()

    def _end(self) -> None:
        for task in self._watching:
            task.cancel()
        if self._connection is not None:
            self._connection.close()


class SchedulerNode(Node):
    """A scheduler on a machine, reached through the SSH connection."""

    def _order(self) -> dict[str, Any]:
        order = self._config.order("scheduler", self._host)
        order |= {"role": "scheduler", "listen": self._config.listen_scheduler}
        return order | {"security": pems(self._security)}

    def _take(self, answer: dict[str, Any]) -> None:
        self.address = answer["address"]

    async def _start(self) -> None:
        await super()._start()
        if self._config.tunnel:
            host, port = str(self.address).removeprefix("tls://").rsplit(":", 1)
            tunnel = await self._connection.forward_local_port(
                "127.0.0.1", 0, host.strip("[]"), int(port)
            )
            self.external_address = f"tls://127.0.0.1:{tunnel.get_port()}"


class WorkersNode(Node):
    """The workers of a machine."""

    def __init__(
        self, scheduler: str, config: Ssh, host: Host, security: Security, name: str
    ) -> None:
        super().__init__(config, host, security)
        self._scheduler, self.name = scheduler, name

    def again(self) -> WorkersNode:
        """Another one, to take its place."""
        return WorkersNode(self._scheduler, self._config, self._host, self._security, self.name)

    def _order(self) -> dict[str, Any]:
        order = self._config.order(self.name, self._host)
        return order | {"scheduler": self._scheduler, "security": pems(self._security)}


class SshCluster(SpecCluster):
    """A scheduler, and a :class:`WorkersNode` for each host."""

    def __init__(self, config: Ssh) -> None:
        self._mending: asyncio.Future[None] | None = None
        self._notes: deque[str] = deque()
        # When to try again what is lost, and how long to wait if that fails too.
        self._retry: dict[str, tuple[float, float]] = {}
        security = security_in_memory()
        named = config.named_hosts
        if config.scheduler == "first":
            first = next(iter(named.values()))
            scheduler: dict[str, Any] = {
                "cls": SchedulerNode,
                "options": {"config": config, "host": first, "security": security},
            }
        else:
            scheduler = {"cls": Scheduler, "options": _scheduler_here(config, security)}
        workers = {
            name: {
                "cls": WorkersNode,
                "options": {"config": config, "host": host, "security": security},
            }
            for name, host in named.items()
        }
        super().__init__(  # type: ignore[no-untyped-call]
            workers, scheduler, security=security, name="treesweep-ssh"
        )

    def mend(self) -> list[str]:
        """Start what has ended again, without waiting for it; and say so."""
        lost = [name for name, node in list(self.workers.items()) if node.is_lost]
        for name in lost:
            if name not in self._retry:
                self._retry[name] = 0.0, _SHORTEST_PAUSE
                self._notes.append(f"the workers on {name} have ended; starting them again")
        assert self.loop is not None
        self.loop.add_callback(self._mend, lost)
        notes = []
        while self._notes:
            notes.append(self._notes.popleft())
        return notes

    async def _mend(self, lost: list[str]) -> None:
        if self._mending is None or self._mending.done():
            self._mending = asyncio.ensure_future(self._replace(lost))

    async def _close(self) -> None:
        if self._mending is not None and not self._mending.done():
            self._mending.cancel()
            await asyncio.wait([self._mending])
        await super()._close()  # type: ignore[no-untyped-call]

    async def _replace(self, lost: list[str]) -> None:
        for name in lost:
            due, pause = self._retry[name]
            if time.monotonic() < due:
                continue
            old = self.workers[name]
            fresh = old.again()
            self._created.add(fresh)
            try:
                await fresh
            except InputError as error:
                self._notes.append(str(error))
                self._retry[name] = time.monotonic() + pause, min(2 * pause, _LONGEST_PAUSE)
            else:
                await old.close()
                self.workers[name] = fresh
                del self._retry[name]


def open_ssh(config: Ssh, stack: ExitStack) -> Client:
    """Start everything; the stack ends it."""
    try:
        cluster = stack.enter_context(SshCluster(config))
    except RuntimeError as error:
        cause = error.__cause__
        if isinstance(cause, InputError):
            raise cause from None
        raise InputError(f"the cluster did not start: {_one_line(error)}") from None
    client: Client = stack.enter_context(Client(cluster, set_as_default=False))
    return client


async def connect(config: Ssh, host: Host) -> Any:
    """Log in to a host.

    Raises
    ------
    InputError
        Naming the host and what to do.
    """
    port, user = config.login(host)
    options: dict[str, Any] = {
        "login_timeout": config.connect_timeout,
        "connect_timeout": config.connect_timeout,
        # Nobody is there to be asked, and no file holds a password.
        "preferred_auth": ("publickey", "gssapi-with-mic"),
        **_KEEPALIVE,
    }
    if port is not None:
        options["port"] = port
    if user is not None:
        options["username"] = user
    if config.keys:
        options |= {"client_keys": config.keys, "agent_path": None}
    if not config.check_host_keys:
        options["known_hosts"] = None
    elif config.known_hosts is not None:
        options["known_hosts"] = config.known_hosts
    try:
        return await asyncssh.connect(host.host, **options)
    except asyncssh.HostKeyNotVerifiable as error:
        remedy = (
            "its host key is not the one known here, or not known yet; log in once with ssh "
            f"and compare the fingerprint ({_one_line(error)})"
        )
    except asyncssh.PermissionDenied:
        remedy = "no key was accepted; put yours into its ~/.ssh/authorized_keys, or name another"
    except (asyncssh.KeyEncryptionError, asyncssh.KeyImportError) as error:
        remedy = f"cannot read a key ({_one_line(error)}); add it to ssh-agent: ssh-add FILE"
    except (OSError, asyncssh.Error, TimeoutError) as error:
        remedy = f"cannot connect within {config.connect_timeout:g} s ({_one_line(error)})"
    where = host.host if port is None else f"{host.host}:{port}"
    raise InputError(f"host {where}: {remedy}")


def reach_hosts(config: Ssh) -> None:
    """Log in to each host once, and leave."""

    async def one(host: Host) -> None:
        connection = await connect(config, host)
        connection.close()

    async def all_of_them() -> None:
        await asyncio.gather(*(one(host) for host in config.hosts))

    asyncio.run(all_of_them())


def pems(security: Security) -> dict[str, str]:
    """A temporary certificate and its key, as they are sent to a node."""
    fields = ("ca_file", "scheduler_cert", "scheduler_key", "worker_cert", "worker_key")
    return {f"tls_{name}": getattr(security, f"tls_{name}") for name in fields}


def _scheduler_here(config: Ssh, security: Security) -> dict[str, Any]:
    options = {
        "port": 0,
        "protocol": "tls://",
        "security": copy.copy(security),
        "dashboard": False,
        "dashboard_address": "127.0.0.1:0",
    }
    if config.listen_scheduler is not None:
        options["host"] = config.listen_scheduler
    elif config.interface is not None:
        options["interface"] = config.interface
    return options


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__
