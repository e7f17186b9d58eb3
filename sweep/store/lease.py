"""The lease: only one driver at a time may write to a store. A dead driver loses it.

It needs a storage where every write is visible at once: a local disk, a shared one, or S3. It
needs no locks and does not compare the clocks of machines.

Each driver has a unique token and writes these files to ``.drivers``:

* ``TOKEN.claim`` names the driver. It is written once. The driver removes it at its end; another
  driver removes it if this one is dead. A driver without its claim has lost the lease.
* ``TOKEN.held`` grants the claim. A driver writes it when it sees no other claim. If two drivers
  look at the same time, each sees the other's claim, and the smaller token wins.
* ``TOKEN.beat`` is the heartbeat, written every second.
"""

from __future__ import annotations

import json
import os
import socket
import threading
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from typing import Any

from solver.errors import InputError
from sweep.filesystem import Folder, StorageError
from sweep.store.process_identity import began, machine

FOLDER = ".drivers"

BEAT = 1.0
"""Seconds between two heartbeats."""

STALE = 30.0
"""A driver on another machine is dead if its heartbeat stays the same for this many seconds."""

_LOOK = 0.25
_GLANCE = 3 * BEAT
_LAST = "driver.json"


class LostLeaseError(InputError):
    """This driver's claim is gone: another driver took over, or the folder was removed."""


@dataclass(frozen=True)
class Heartbeat:
    """The heartbeat of a driver.

    ``updated`` is only shown, as the clock may be wrong. ``numbers`` are the fields of
    :class:`sweep.events.Progress`.
    """

    pid: int
    host: str
    updated: float
    numbers: dict[str, Any]

    @property
    def name(self) -> str:
        """Who it is, for messages."""
        return f"process {self.pid} on {self.host}"


@dataclass(frozen=True)
class LeaseClaim:
    """A driver that asks for the lease or has it."""

    token: str
    pid: int
    host: str
    machine: str
    began: str | None
    held: bool = field(default=False, compare=False)

    @property
    def name(self) -> str:
        """Who it is, for messages."""
        return f"process {self.pid} on {self.host}"

    @property
    def is_near(self) -> bool:
        """Whether the driver runs on this machine."""
        return self.machine == machine()

    @property
    def is_alive(self) -> bool:
        """Whether the driver is a living process of this machine."""
        return self.is_near and self.began is not None and began(self.pid) == self.began


class Lease:
    """The right to write to a store, and a thread that sends heartbeats.

    ``tell`` is called with a message if the lease takes long to get.
    """

    def __init__(self, folder: Folder, tell: Callable[[str], None] = lambda text: None) -> None:
        self.folder = folder
        self.token = uuid.uuid4().hex
        self.taken_over = False
        """Whether the previous driver may still be writing."""
        self._tell = tell
        self._numbers: dict[str, Any] = {}
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    def acquire(self) -> None:
        """Take the lease. Raises InputError if another driver has it or takes it."""
        pid = os.getpid()
        own = LeaseClaim(self.token, pid, socket.gethostname(), machine(), began(pid))
        try:
            self.folder.write(_file(self.token, "claim"), _json(asdict(own)))
            self._thread = threading.Thread(target=self._go_on_beating, daemon=True)
            self._thread.start()
            self._contend()
            self.folder.write(_file(self.token, "held"), b"")
            self.check()  # another driver may just have declared this one dead
            self._clean_up()
        except BaseException:
            self._stop()
            with suppress(StorageError):
                _withdraw(self.folder, self.token)
            raise

    def _contend(self) -> None:
        """Wait until no other claim is left. Raise if its driver lives."""
        monitor = _Watch(self.folder)
        told: set[str] = set()
        while True:
            others = [claim for claim in claims(self.folder) if claim.token != self.token]
            for claim in others:
                if claim.is_near and not claim.is_alive:
                    _withdraw(self.folder, claim.token)
                elif (claim.held or claim.token < self.token) and monitor.is_alive(claim):
                    raise InputError(
                        f"another treesweep ({claim.name}) is working on {self.folder}; wait for "
                        "it or stop it"
                    )
                elif monitor.still_for(claim) > STALE:
                    self.taken_over |= claim.held
                    _withdraw(self.folder, claim.token)
                elif claim.held and claim.token not in told:
                    told.add(claim.token)
                    self._tell(
                        f"{claim.name} was working on {self.folder}; waiting for up to {STALE:.0f} "
                        "seconds to see whether it still does"
                    )
            if not others:
                return
            time.sleep(_LOOK)

    def _clean_up(self) -> None:
        """Remove the files of drivers without a claim."""
        names = [name for name, _ in self.folder.names(FOLDER)]
        tokens = {claim.token for claim in claims(self.folder)}  # read later: claims come first
        for name in names:
            if name.removeprefix(f"{FOLDER}/").partition(".")[0] not in tokens:
                self.folder.remove(name)
        # Younger ones may be of a driver that is just writing its claim.
        self.folder.remove_leftovers(FOLDER, STALE)

    def beat(self, numbers: dict[str, Any]) -> None:
        """Set the progress for the next heartbeat."""
        self._numbers = numbers

    def _go_on_beating(self) -> None:
        count = 0
        while True:
            count += 1
            with suppress(InputError):  # the storage may be full or not answer
                if not self._has_claim:  # a write would create a removed folder again
                    return
                content = asdict(self._heartbeat()) | {"beat": count}
                self.folder.write(_file(self.token, "beat"), _json(content), durable=False)
            if self._ended.wait(BEAT):
                return

    def _heartbeat(self) -> Heartbeat:
        return Heartbeat(os.getpid(), socket.gethostname(), time.time(), self._numbers)

    def check(self) -> None:
        """Call before each write. Raises LostLeaseError if the lease is lost."""
        if not self._has_claim:
            raise LostLeaseError(f"{self._loss()}; this one ends and writes nothing more")

    @property
    def _has_claim(self) -> bool:
        return self.folder.exists(_file(self.token, "claim"))

    def _loss(self) -> str:
        """Why the claim is gone."""
        last = read_heartbeat(self.folder)
        others = [claim.name for claim in claims(self.folder)]
        ours = os.getpid(), socket.gethostname()
        if others:
            return (
                f"another treesweep ({others[0]}) has taken over {self.folder}, because nothing "
                f"was heard of this one for {STALE:.0f} seconds"
            )
        if last is not None and (last.pid, last.host) != ours:
            return (
                f"another treesweep ({last.name}) has written {self.folder}: it has taken over and "
                "ended, or its folder was put in the place of this one"
            )
        if not self.folder.names():
            return (
                f"{self.folder} is gone: it was removed or renamed while this sweep ran; resume "
                "the sweep where it is now, or run it again"
            )
        return f"somebody has removed this driver's claim from {self.folder}/{FOLDER}"

    def release(self) -> None:
        """Give the lease back."""
        if self._thread is None:
            return
        self._stop()
        with suppress(InputError):
            if self._has_claim:
                self.folder.write(_LAST, _json(asdict(self._heartbeat())), durable=False)
            _withdraw(self.folder, self.token)

    def _stop(self) -> None:
        self._ended.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None


class _Watch:
    """Watches the heartbeats of other drivers by this process's clock."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._seen: dict[str, tuple[bytes, float]] = {}
        self._moved: set[str] = set()

    def is_alive(self, claim: LeaseClaim) -> bool:
        """Whether a driver is certainly alive."""
        return claim.is_alive or (self.still_for(claim) == 0 and claim.token in self._moved)

    def still_for(self, claim: LeaseClaim) -> float:
        """Seconds since a heartbeat changed."""
        beat, now = _beat(self._folder, claim.token), time.monotonic()
        before = self._seen.get(claim.token)
        if before is None or before[0] != beat:
            if before is not None:
                self._moved.add(claim.token)
            self._seen[claim.token] = beat, now
            return 0.0
        return now - before[1]


def _file(token: str, kind: str) -> str:
    return f"{FOLDER}/{token}.{kind}"


def _json(content: dict[str, Any]) -> bytes:
    return json.dumps(content, indent=1).encode()


def _beat(folder: Folder, token: str) -> bytes:
    try:
        return folder.read(_file(token, "beat"))
    except FileNotFoundError:
        return b""


def _withdraw(folder: Folder, token: str) -> None:
    for kind in ("claim", "held", "beat"):  # without the claim the others mean nothing
        folder.remove(_file(token, kind))


def claims(folder: Folder) -> list[LeaseClaim]:
    """All claims to a store's lease, of dead drivers too."""
    names = {name for name, _ in folder.names(FOLDER)}
    found = []
    for name in sorted(names):
        token, _, kind = name.removeprefix(f"{FOLDER}/").partition(".")
        if kind != "claim":
            continue
        try:
            content = json.loads(folder.read(name))
            claim = LeaseClaim(**{**content, "token": token, "held": _file(token, "held") in names})
        except FileNotFoundError:
            continue
        except (ValueError, TypeError):
            held = _file(token, "held") in names
            claim = LeaseClaim(token, 0, "a machine that is not known", "", None, held)
        found.append(claim)
    return found


def read_heartbeat(folder: Folder) -> Heartbeat | None:
    """The last heartbeat of a store's driver."""
    tokens = [claim.token for claim in claims(folder) if claim.held]
    found = [_read_heartbeat(folder, _file(token, "beat")) for token in tokens]
    known = [beat for beat in found if beat is not None]
    return max(known, key=lambda beat: beat.updated, default=_read_heartbeat(folder, _LAST))


def _read_heartbeat(folder: Folder, name: str) -> Heartbeat | None:
    try:
        content = json.loads(folder.read(name))
        pid, updated = int(content["pid"]), float(content["updated"])
        return Heartbeat(pid, str(content["host"]), updated, dict(content["numbers"]))
    except (FileNotFoundError, ValueError, TypeError, KeyError):
        return None


def is_live(folder: Folder) -> bool:
    """Whether a driver is at work. A driver on another machine is watched for 3 s."""
    monitor = _Watch(folder)
    deadline = time.monotonic() + _GLANCE
    while True:
        far = False
        for claim in claims(folder):
            if claim.held and monitor.is_alive(claim):
                return True
            far |= claim.held and not claim.is_near
        if not far or time.monotonic() > deadline:
            return False
        time.sleep(_LOOK)
