"""The states that a sweep's folder keeps, of searches that can go on: ``states/KEY.parquet``."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from solver.errors import InputError
from sweep import files
from sweep.rows import Checkpoint
from sweep.statefile import check_identity, read_about

FOLDER = "states"

KEPT = 16 * 2**30
"""Bytes that the states of runs that a limit ended may take together."""


def state_sizes(root: Path) -> dict[str, int]:
    """Bytes of each state file of a store, by the task's key, while it is written to or not."""
    found: dict[str, int] = {}
    for path in (root / FOLDER).glob("*.parquet"):
        with suppress(FileNotFoundError):  # it was removed meanwhile
            found[path.stem] = path.stat().st_size
    return found


class Held(NamedTuple):
    """A state that a search can go on from."""

    key: str
    path: Path
    size: int
    reached: Checkpoint


class States:
    """The states of a store; its driver's alone.

    Parameters
    ----------
    root : Path
        The store's folder.
    """

    def __init__(self, root: Path) -> None:
        self.folder = root / FOLDER
        for leftover in self.folder.glob(".*.tmp"):
            leftover.unlink(missing_ok=True)
        self._sizes = state_sizes(root)
        self._damaged: list[str] = []

    def __contains__(self, key: str) -> bool:
        return key in self._sizes

    def __bool__(self) -> bool:
        return bool(self._sizes)

    def path(self, key: str) -> Path:
        """Where the state of a task is."""
        return self.folder / f"{key}.parquet"

    def incoming(self, token: str) -> Path:
        """Where a state is put until :meth:`adopt`."""
        self.folder.mkdir(exist_ok=True)
        return self.folder / f".{token}.{os.getpid()}.tmp"

    def adopt(self, key: str, path: Path, iterations: int) -> bool:
        """Keep a whole, synced file as the state of a task, unless the one there is further."""
        held = self._reached(key)
        if held is not None and held.iterations > iterations:
            path.unlink(missing_ok=True)
            return False
        size = path.stat().st_size
        os.replace(path, self.path(key))
        files.sync(self.folder)
        self._sizes[key] = size
        return True

    def held(self, key: str, identity: Mapping[str, str]) -> Held | None:
        """The state of a task; None if there is none, or none that is of use: see :meth:`notes`."""
        if key not in self._sizes:
            return None
        path = self.path(key)
        try:
            about = read_about(path)
            check_identity(path, about, identity)
            return Held(key, path, self._sizes[key], Checkpoint(**about.reached))
        except (FileNotFoundError, InputError, TypeError) as error:
            self._damaged.append(f"a search begins again from its best tree: {error}")
            self.drop(key)
            return None

    def _reached(self, key: str) -> Checkpoint | None:
        if key not in self._sizes:
            return None
        try:
            return Checkpoint(**read_about(self.path(key)).reached)
        except (FileNotFoundError, InputError, TypeError):
            return None

    def notes(self) -> list[str]:
        """What was found damaged since the last time this was asked."""
        found, self._damaged = self._damaged, []
        return found

    def drop(self, key: str) -> None:
        """Remove the state of a task, if there is one."""
        if self._sizes.pop(key, None) is not None:
            self.path(key).unlink(missing_ok=True)

    def drop_all_but(self, is_kept: Callable[[str], bool]) -> None:
        """Remove what a driver that was killed has left."""
        for key in [key for key in self._sizes if not is_kept(key)]:
            self.drop(key)

    def size_of(self, is_counted: Callable[[str], bool]) -> int:
        """Bytes that the states of some tasks take."""
        return sum(size for key, size in self._sizes.items() if is_counted(key))
