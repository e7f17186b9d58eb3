"""Start a scheduler and workers through SSH connections, and restart lost workers."""

from __future__ import annotations

import asyncio
import copy
import json
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import asyncssh
from distributed import Scheduler, Security, SpecCluster, Status
from distributed.deploy.spec import ProcessInterface

from solver.errors import InputError, one_line
from sweep.clusters.ssh_node import HEARTBEAT_SECONDS
from sweep.clusters.tls import security_in_memory

_OPTIONS = {
    "keepalive_interval": 30,
    "keepalive_count_max": 10,
    # A password would need a user who is asked for it, or a file that holds it.
    "preferred_auth": ("publickey", "gssapi-with-mic"),
}
_END_SECONDS = 8.0
_SHORTEST_PAUSE = 5.0
_LONGEST_PAUSE = 300.0
_TAIL_LINES = 20


@dataclass(frozen=True)
class Program:
    """A program to run on a host."""

    host: str  # its name or address
    login: Mapping[str, Any]  # arguments of asyncssh.connect
    command: str  # starts the program
    order: Mapping[str, Any]  # the input of the program, without scheduler's address and TLS keys
    start_timeout: float  # seconds until the program must be ready


class Node(ProcessInterface, ABC):
    """A program that runs on a host, at the other end of an SSH connection."""

    def __init__(self, program: Program, security: Security) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._program, self._security = program, security
        self._connection: Any = None
        self._process: Any = None
        self._watching: list[asyncio.Task[None]] = []
        self._tail: deque[str] = deque(maxlen=_TAIL_LINES)

    @property
    def is_lost(self) -> bool:
        """Whether the program has ended unasked."""
        return bool(self.status == Status.running and self._process.is_closing())

    async def start(self) -> None:
        """Log in, start the program, and wait until it is ready.

        Raises InputError with the host and what went wrong there.
        """
        try:
            await asyncio.wait_for(self._start(), self._program.start_timeout)
        except BaseException as error:
            self.status = Status.failed
            self._end()
            if not isinstance(error, TimeoutError):
                raise
            raise InputError(
                f"host {self._program.host}: nothing was started within "
                f"{self._program.start_timeout:g} s{self._last_error()}"
            ) from None

    async def _start(self) -> None:
        self._connection = await connect(self._program.host, self._program.login)
        try:
            self._process = await self._connection.create_process(
                self._program.command, encoding="utf-8", errors="replace"
            )
            self._watching.append(asyncio.create_task(self._read_errors()))
            self._process.stdin.write(json.dumps(self._order()) + "\n")
            self._take(await self._answer())
        except (OSError, asyncssh.Error) as error:
            raise InputError(f"host {self._program.host}: {one_line(error, 200)}") from None
        self._watching += [
            asyncio.create_task(self._send_heartbeats()),
            asyncio.create_task(self._read_on()),
        ]
        self.status = Status.running

    @abstractmethod
    def _order(self) -> dict[str, Any]:
        """What the program is told."""

    def _take(self, answer: dict[str, Any]) -> None:
        """Use the program's answer when it is ready."""

    async def _answer(self) -> dict[str, Any]:
        async for line in self._process.stdout:
            try:
                found = json.loads(line)["treesweep"]
            except (ValueError, TypeError, KeyError):
                continue  # a login shell printed this
            if "error" in found:
                raise InputError(f"host {self._program.host}: {found['error']}")
            return dict(found)
        await self._process.wait_closed()
        raise InputError(
            f"host {self._program.host}: {self._program.command!r} ended"
            f"{self._last_error()}; install treesweep there, or name the Python that has it "
            "under 'python'"
        )

    def _last_error(self) -> str:
        lines = [line for line in self._tail if line]
        return f" ({lines[-1][:200]})" if lines else ""

    async def _read_errors(self) -> None:
        async for line in self._process.stderr:
            self._tail.append(one_line(line))

    async def _read_on(self) -> None:
        async for _ in self._process.stdout:
            pass

    async def _send_heartbeats(self) -> None:
        with suppress(OSError, asyncssh.Error):
            while not self._process.is_closing():
                self._process.stdin.write("\n")
                await asyncio.sleep(HEARTBEAT_SECONDS)

    async def close(self) -> None:
        """Let the program end by itself, then close the connection."""
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
    """A scheduler on a host. With a tunnel it is reached through the SSH connection."""

    def __init__(self, program: Program, security: Security, tunnel: bool) -> None:
        super().__init__(program, security)
        self._tunnel = tunnel

    def _order(self) -> dict[str, Any]:
        return {**self._program.order, "security": pems(self._security)}

    def _take(self, answer: dict[str, Any]) -> None:
        self.address = answer["address"]

    async def _start(self) -> None:
        await super()._start()
        if self._tunnel:
            host, port = str(self.address).removeprefix("tls://").rsplit(":", 1)
            tunnel = await self._connection.forward_local_port(
                "127.0.0.1", 0, host.strip("[]"), int(port)
            )
            self.external_address = f"tls://127.0.0.1:{tunnel.get_port()}"


class WorkersNode(Node):
    """The workers of a host."""

    def __init__(self, scheduler: str, program: Program, security: Security, name: str) -> None:
        super().__init__(program, security)
        self._scheduler, self.name = scheduler, name

    def replacement(self) -> WorkersNode:
        """A new node that takes the place of this one."""
        return WorkersNode(self._scheduler, self._program, self._security, self.name)

    def _order(self) -> dict[str, Any]:
        keys = pems(self._security)
        return {**self._program.order, "scheduler": self._scheduler, "security": keys}


class SshCluster(SpecCluster):
    """A scheduler, and a :class:`WorkersNode` for each host.

    ``hosts`` has the program of each host by its unique name. ``scheduler`` is a program, or the
    listening address (arguments) of a scheduler in this process. With ``tunnel`` a scheduler on a
    host is reached through the SSH connection.
    """

    def __init__(
        self, hosts: Mapping[str, Program], scheduler: Program | Mapping[str, Any], tunnel: bool
    ) -> None:
        self._replacing: asyncio.Future[None] | None = None
        self._notes: deque[str] = deque()
        # By host: when to restart lost workers, and how long to wait if that fails.
        self._retry: dict[str, tuple[float, float]] = {}
        security = security_in_memory()
        if isinstance(scheduler, Program):
            cls: type = SchedulerNode
            options = {"program": scheduler, "security": security, "tunnel": tunnel}
        else:
            cls = Scheduler
            options = {
                **scheduler,
                "port": 0,
                "protocol": "tls://",
                "security": copy.copy(security),
                "dashboard_address": "127.0.0.1:0",
            }
        workers = {
            name: {"cls": WorkersNode, "options": {"program": program, "security": security}}
            for name, program in hosts.items()
        }
        super().__init__(  # type: ignore[no-untyped-call]
            workers, {"cls": cls, "options": options}, security=security, name="treesweep-ssh"
        )

    def restart_lost(self) -> list[str]:
        """Restart lost workers in the background. Return messages for the user."""
        lost = [name for name, node in list(self.workers.items()) if node.is_lost]
        for name in lost:
            if name not in self._retry:
                self._retry[name] = 0.0, _SHORTEST_PAUSE
                self._notes.append(f"the workers on {name} have ended; starting them again")
        assert self.loop is not None
        self.loop.add_callback(self._start_replacing, lost)
        notes = []
        while self._notes:
            notes.append(self._notes.popleft())
        return notes

    async def _start_replacing(self, lost: list[str]) -> None:
        if self._replacing is None or self._replacing.done():
            self._replacing = asyncio.ensure_future(self._replace(lost))

    async def _close(self) -> None:
        if self._replacing is not None and not self._replacing.done():
            self._replacing.cancel()
            await asyncio.wait([self._replacing])
        await super()._close()  # type: ignore[no-untyped-call]

    async def _replace(self, lost: list[str]) -> None:
        for name in lost:
            due, pause = self._retry[name]
            if time.monotonic() < due:
                continue
            old = self.workers[name]
            fresh = old.replacement()
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


async def connect(host: str, login: Mapping[str, Any]) -> Any:
    """Log in to a host. Raises InputError with the host and the remedy."""
    try:
        return await asyncssh.connect(host, **login, **_OPTIONS)
    except asyncssh.HostKeyNotVerifiable as error:
        remedy = (
            "its host key is not the one known here, or not known yet; log in once with ssh "
            f"and compare the fingerprint ({one_line(error, 200)})"
        )
    except asyncssh.PermissionDenied:
        remedy = "no key was accepted; put yours into its ~/.ssh/authorized_keys, or name another"
    except (asyncssh.KeyEncryptionError, asyncssh.KeyImportError) as error:
        remedy = f"cannot read a key ({one_line(error, 200)}); add it to ssh-agent: ssh-add FILE"
    except (OSError, asyncssh.Error, TimeoutError) as error:
        remedy = f"cannot connect within {login['connect_timeout']:g} s ({one_line(error, 200)})"
    where = f"{host}:{login['port']}" if "port" in login else host
    raise InputError(f"host {where}: {remedy}")


def reach_hosts(logins: Iterable[tuple[str, Mapping[str, Any]]]) -> None:
    """Log in to each host once, and log out."""

    async def reach(host: str, login: Mapping[str, Any]) -> None:
        (await connect(host, login)).close()

    async def reach_all() -> None:
        await asyncio.gather(*(reach(*one) for one in logins))

    asyncio.run(reach_all())


def pems(security: Security) -> dict[str, str]:
    """The certificates and keys of a run, as they are sent to a node."""
    fields = ("ca_file", "scheduler_cert", "scheduler_key", "worker_cert", "worker_key")
    return {f"tls_{name}": getattr(security, f"tls_{name}") for name in fields}
