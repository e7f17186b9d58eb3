"""The states of unfinished searches in a sweep's folder: ``states/KEY.npz``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import pyarrow as pa

from solver.errors import InputError
from sweep.filesystem import Folder, StorageError
from sweep.rows.result_rows import Checkpoint
from sweep.store.search_state_format import check_identity, read_about

FOLDER = "states"
_SUFFIX = ".npz"

KEPT = 16 * 2**30
"""The most bytes of all states of runs that a limit ended."""


def state_name(key: str) -> str:
    """The path of a task's state in the store's folder."""
    return f"{FOLDER}/{key}{_SUFFIX}"


def state_sizes(folder: Folder) -> dict[str, int]:
    """The bytes of a store's state files by the task's key, while it is written to or not."""
    found = ((PurePosixPath(name), size) for name, size in folder.names(FOLDER))
    return {name.stem: size for name, size in found if name.suffix == _SUFFIX}


class Held(NamedTuple):
    """A state that a search can resume from; ``open`` opens its file."""

    key: str
    open: Callable[[], pa.NativeFile]
    size: int
    reached: Checkpoint


class States:
    """The states of a store, for its driver."""

    def __init__(self, folder: Folder) -> None:
        self.folder = folder
        folder.remove_leftovers(FOLDER)
        self._sizes = state_sizes(folder)
        self._damaged: list[str] = []

    def __contains__(self, key: str) -> bool:
        return key in self._sizes

    def __bool__(self) -> bool:
        return bool(self._sizes)

    def incoming(self, token: str) -> Path:
        """A local path for a state until :meth:`adopt`."""
        return self.folder.stage(f"{FOLDER}/{token}")

    def adopt(self, key: str, path: Path, iterations: int) -> bool:
        """Store a file as the state of a task, unless the stored one is further."""
        held = self._reached(key)
        if held is not None and held.iterations > iterations:
            path.unlink(missing_ok=True)
            return False
        size = path.stat().st_size
        self.folder.adopt(path, state_name(key))
        self._sizes[key] = size
        return True

    def held(self, key: str, identity: Mapping[str, str]) -> Held | None:
        """The state of a task; None if there is none, or a useless one, see :meth:`notes`."""
        if key not in self._sizes:
            return None
        name = state_name(key)
        where = self.folder.where(name)
        try:
            with self.folder.open(name) as file:
                about = read_about(file, where)
            check_identity(where, about, identity)
            reached = Checkpoint(**about.reached)
            return Held(key, partial(self.folder.open, name), self._sizes[key], reached)
        except StorageError:
            return None
        except (FileNotFoundError, InputError, TypeError) as error:
            self._damaged.append(f"a search begins again from its best tree: {error}")
            self.drop(key)
            return None

    def _reached(self, key: str) -> Checkpoint | None:
        if key not in self._sizes:
            return None
        try:
            with self.folder.open(state_name(key)) as file:
                return Checkpoint(**read_about(file, key).reached)
        except (FileNotFoundError, InputError, TypeError):
            return None

    def notes(self) -> list[str]:
        """New messages about damaged states."""
        found, self._damaged = self._damaged, []
        return found

    def drop(self, key: str) -> None:
        """Remove the state of a task."""
        if self._sizes.pop(key, None) is not None:
            with suppress(StorageError):  # the next driver removes it
                self.folder.remove(state_name(key))

    def drop_all_but(self, is_kept: Callable[[str], bool]) -> None:
        """Remove states that a killed driver has left."""
        for key in [key for key in self._sizes if not is_kept(key)]:
            self.drop(key)

    def size_of(self, is_counted: Callable[[str], bool]) -> int:
        """The bytes of the states of some tasks."""
        return sum(size for key, size in self._sizes.items() if is_counted(key))
