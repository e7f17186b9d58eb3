"""One driver a store: a lease that a dead driver does not keep.

It works on any storage that shows what was written to whoever asks then: on a local disk, on a
shared one, on objects. No locks are needed, and no clock of another machine is read.

Each driver has files of its own in ``.drivers``, by a token that nobody else has:

* ``TOKEN.claim`` says who it is. It is written once, and taken away by its driver, or by another
  one that has found it dead. A driver without its claim has no lease.
* ``TOKEN.held`` says that the claim is granted. A driver writes it once it has looked and found no
  other claim. Of two that look at the same time, each sees the other's; the one with the smaller
  token stays.
* ``TOKEN.beat`` is written anew every second. Whoever watches it sees whether the driver lives.
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
"""Seconds between two signs of life."""

STALE = 30.0
"""A driver on another machine whose beat has not moved for so many seconds, while it was watched,
is taken for dead."""

_LOOK = 0.25
_GLANCE = 3 * BEAT
_LAST = "driver.json"


class LostLeaseError(InputError):
    """A driver has its claim no more: another one took it for dead, or its folder is gone."""


@dataclass(frozen=True)
class Life:
    """What a driver says of itself, about once a second.

    ``updated`` is for people: its clock may be wrong. ``numbers`` are those of
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
class Claim:
    """Who asks for the lease, or has it."""

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
        """Whether it can be seen from here if the process lives."""
        return self.machine == machine()

    @property
    def is_alive(self) -> bool:
        """Whether the process is seen to live."""
        return self.is_near and self.began is not None and began(self.pid) == self.began


class Lease:
    """The right to write to a store, and a thread that shows that its driver lives.

    Parameters
    ----------
    folder : Folder
        The store's.
    tell : callable, optional
        Told why it takes long.
    """

    def __init__(self, folder: Folder, tell: Callable[[str], None] = lambda text: None) -> None:
        self.folder = folder
        self.token = uuid.uuid4().hex
        self.taken_over = False
        """Whether the driver before may, for all that is known, be writing something yet."""
        self._tell = tell
        self._numbers: dict[str, Any] = {}
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    def acquire(self) -> None:
        """Take the lease.

        Raises InputError if another process has it, or takes it at the same time.
        """
        own = Claim(self.token, os.getpid(), socket.gethostname(), machine(), began(os.getpid()))
        try:
            self.folder.write(_file(self.token, "claim"), _json(asdict(own)))
            self._thread = threading.Thread(target=self._go_on_beating, daemon=True)
            self._thread.start()
            self._contend()
            self.folder.write(_file(self.token, "held"), b"")
            self.check()  # somebody may have given up on this process just now
            self._clean_up()
        except BaseException:
            self._stop()
            with suppress(StorageError):
                _withdraw(self.folder, self.token)
            raise

    def _contend(self) -> None:
        """Wait until no other claim is left; refuse if one will not go."""
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
        """Remove what drivers without a claim have left."""
        names = [name for name, _ in self.folder.names(FOLDER)]
        tokens = {claim.token for claim in claims(self.folder)}  # afterwards: claims come first
        for name in names:
            if name.removeprefix(f"{FOLDER}/").partition(".")[0] not in tokens:
                self.folder.remove(name)

    def beat(self, numbers: dict[str, Any]) -> None:
        """Say how far the driver is; it is written soon."""
        self._numbers = numbers

    def _go_on_beating(self) -> None:
        count = 0
        while True:
            count += 1
            with suppress(InputError):  # the storage may be full, or not answer for a while
                if not self._has_claim:  # to write to a folder that is gone would make it again
                    return
                content = asdict(self._life()) | {"beat": count}
                self.folder.write(_file(self.token, "beat"), _json(content), durable=False)
            if self._ended.wait(BEAT):
                return

    def _life(self) -> Life:
        return Life(os.getpid(), socket.gethostname(), time.time(), self._numbers)

    def check(self) -> None:
        """Make sure that the lease is still there, before something is written.

        Raises LostLeaseError if it is not. Raises StorageError if it cannot be told.
        """
        if not self._has_claim:
            raise LostLeaseError(f"{self._loss()}; this one ends and writes nothing more")

    @property
    def _has_claim(self) -> bool:
        return self.folder.exists(_file(self.token, "claim"))

    def _loss(self) -> str:
        """What has become of the claim."""
        life = read_life(self.folder)
        others = [claim.name for claim in claims(self.folder)]
        if life is not None and (life.pid, life.host) != (os.getpid(), socket.gethostname()):
            others.append(life.name)
        if others:
            return (
                f"another treesweep ({others[0]}) has taken over {self.folder}, because nothing "
                f"was heard of this one for {STALE:.0f} seconds"
            )
        if not self.folder.names():
            return (
                f"{self.folder} is gone: it was removed or renamed while this sweep ran; resume "
                "the sweep where it is now, or run it again"
            )
        return f"somebody has removed this driver's claim from {self.folder}/{FOLDER}"

    def release(self) -> None:
        """Let others have it."""
        if self._thread is None:
            return
        self._stop()
        with suppress(InputError):
            if self._has_claim:
                self.folder.write(_LAST, _json(asdict(self._life())), durable=False)
            _withdraw(self.folder, self.token)

    def _stop(self) -> None:
        self._ended.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None


class _Watch:
    """Watches the beats of other drivers, by this process's own clock."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._seen: dict[str, tuple[bytes, float]] = {}
        self._moved: set[str] = set()

    def is_alive(self, claim: Claim) -> bool:
        """Whether a driver is known to live."""
        return claim.is_alive or (self.still_for(claim) == 0 and claim.token in self._moved)

    def still_for(self, claim: Claim) -> float:
        """Seconds for which a beat has not moved."""
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
    for kind in ("claim", "held", "beat"):  # the claim first: without it the others mean nothing
        folder.remove(_file(token, kind))


def claims(folder: Folder) -> list[Claim]:
    """All claims to a store's lease; those whose drivers are dead, too."""
    names = {name for name, _ in folder.names(FOLDER)}
    found = []
    for name in sorted(names):
        token, _, kind = name.removeprefix(f"{FOLDER}/").partition(".")
        if kind != "claim":
            continue
        try:
            content = json.loads(folder.read(name))
            claim = Claim(**{**content, "token": token, "held": _file(token, "held") in names})
        except FileNotFoundError:
            continue
        except (ValueError, TypeError):
            held = _file(token, "held") in names
            claim = Claim(token, 0, "a machine that is not known", "", None, held)
        found.append(claim)
    return found


def read_life(folder: Folder) -> Life | None:
    """The last sign of life of a store's driver."""
    tokens = [claim.token for claim in claims(folder) if claim.held]
    lives = [_read_life(folder, _file(token, "beat")) for token in tokens]
    known = [life for life in lives if life is not None]
    return max(known, key=lambda life: life.updated, default=_read_life(folder, _LAST))


def _read_life(folder: Folder, name: str) -> Life | None:
    try:
        content = json.loads(folder.read(name))
        numbers = dict(content["numbers"])
        return Life(int(content["pid"]), str(content["host"]), float(content["updated"]), numbers)
    except (FileNotFoundError, ValueError, TypeError, KeyError):
        return None


def is_live(folder: Folder) -> bool:
    """Whether a driver is working on a store.

    One on another machine is watched for up to three seconds.
    """
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
