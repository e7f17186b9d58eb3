"""One driver a store: a lock that a dead driver does not hold, and a sign of life to read."""

from __future__ import annotations

import fcntl
import json
import os
import socket
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

from solver.errors import InputError
from sweep import files

_LOCK, _LIFE = ".lock", "driver.json"

_TRIES = 5

STALE = 30.0
"""A driver on another machine that has not been heard of for so long is taken for dead."""


@dataclass(frozen=True)
class Life:
    """What a driver says of itself, about once a second.

    ``numbers`` are those of :class:`sweep.events.Progress`.
    """

    pid: int
    host: str
    updated: float
    numbers: dict[str, Any]

    @property
    def name(self) -> str:
        """Who it is, for messages."""
        return f"process {self.pid} on {self.host}"


class DriverLock:
    """The right to write to a store. The operating system frees it when the process ends."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._file: IO[str] | None = None

    def acquire(self) -> None:
        """Take the lock.

        Raises
        ------
        InputError
            If another process has it.
        """
        file = open(self.root / _LOCK, "a+")  # noqa: SIM115  it stays open as long as it is locked
        for attempt in range(_TRIES):
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError:
                if attempt < _TRIES - 1:  # perhaps somebody only asks whether there is a driver
                    time.sleep(0.05)
        else:
            file.close()
            life = read_life(self.root)
            by = f" ({life.name})" if life else ""
            raise InputError(
                f"another treesweep{by} is working on {self.root}; wait for it or stop it"
            )
        self._file = file
        self.beat({})

    def beat(self, numbers: dict[str, Any]) -> None:
        """Leave a sign of life."""
        life = Life(os.getpid(), socket.gethostname(), time.time(), numbers)
        files.write_json(self.root / _LIFE, asdict(life), durable=False)

    def release(self) -> None:
        """Let others have it."""
        if self._file is not None:
            self._file.close()
            self._file = None


def read_life(root: Path) -> Life | None:
    """The last sign of life of a store's driver."""
    try:
        return Life(**json.loads((root / _LIFE).read_text()))
    except (OSError, ValueError, TypeError):
        return None


def is_live(root: Path) -> bool:
    """Whether a driver is working on a store."""
    try:
        with open(root / _LOCK) as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except OSError:
                return True
    except OSError:
        return False
    life = read_life(root)
    # A lock may not reach across machines; a sign of life does.
    elsewhere = life is not None and life.host != socket.gethostname()
    return bool(
        elsewhere and life and time.time() - life.updated < STALE and life.numbers.get("active")
    )
