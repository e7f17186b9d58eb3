"""The contract of a folder of files, on any storage."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from solver.errors import InputError


class StorageError(InputError):
    """The storage cannot do now what it is asked. It may later.

    Parameters
    ----------
    what : str
        What cannot be done, and where.
    remedy : str
        What the user can do about it.
    """

    def __init__(self, what: str, why: str, remedy: str = "") -> None:
        super().__init__(f"{what}: {why}" + (f"; {remedy}" if remedy else ""))
        self.why = why


class UnwritableError(StorageError):
    """Something cannot be written."""


class Entry(NamedTuple):
    """A file of a folder: its name from there, and its bytes."""

    name: str
    size: int


class Folder(ABC):
    """Files by name, with ``/`` between the parts of a name.

    Writes are atomic: a reader sees the old file or the new one, even if the writer dies. Once a
    write returns, everybody sees it. Nothing else is assumed: no locks, no renaming, no
    conditional writes.

    Every method raises :class:`StorageError` if the storage cannot be reached. Methods that write
    raise :class:`UnwritableError` if the storage refuses.
    """

    place: str
    """The argument with which :func:`sweep.filesystem.open_folder` opens the same folder."""

    def __str__(self) -> str:
        return self.place

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.place!r})"

    def where(self, name: str) -> str:
        """The full path of a file, for messages."""
        return f"{self.place.rstrip('/')}/{name}"

    @abstractmethod
    def make(self) -> None:
        """Create the folder if it does not exist."""

    @abstractmethod
    def is_there(self) -> bool:
        """Whether the folder exists."""

    @abstractmethod
    def read(self, name: str) -> bytes:
        """The content of a file. Raises FileNotFoundError if there is none."""

    @abstractmethod
    def open(self, name: str) -> pa.NativeFile:
        """Open a file that is never replaced, for random access. Raises as :meth:`read`."""

    @abstractmethod
    def size(self, name: str) -> int:
        """The size of a file in bytes. Raises as :meth:`read`."""

    @abstractmethod
    def exists(self, name: str) -> bool:
        """Whether there is such a file."""

    @abstractmethod
    def names(self, under: str = "") -> list[Entry]:
        """The finished files directly in a subfolder, sorted; none if it is missing."""

    @abstractmethod
    def folders(self, under: str = "") -> list[str]:
        """The folders directly in a subfolder, sorted."""

    @abstractmethod
    def write(self, name: str, data: bytes | pa.Buffer, durable: bool = True) -> None:
        """Write or replace a file. If ``durable``, it survives a power cut once this returns."""

    @abstractmethod
    def create(self, name: str, durable: bool = True) -> AbstractContextManager[Path]:
        """A local path for a large file, which is stored when the context ends without error."""

    @abstractmethod
    def stage(self, name: str) -> Path:
        """A local path for a file that is written bit by bit, until :meth:`adopt` stores it."""

    @abstractmethod
    def adopt(self, path: Path, name: str) -> None:
        """Move a local file into the folder."""

    @abstractmethod
    def remove(self, name: str) -> None:
        """Remove a file if it exists."""

    @abstractmethod
    def remove_folder(self, name: str) -> None:
        """Remove a subfolder with its content, as far as possible."""

    @abstractmethod
    def remove_leftovers(self, under: str = "", age: float = 0.0) -> None:
        """Remove the unfinished files of a crash from a subfolder, if they are ``age`` seconds
        old."""

    @abstractmethod
    def copy(self, old: str, new: str) -> None:
        """Give a file a second name, by a link where that is possible. Raises as :meth:`read`."""

    @abstractmethod
    def point(self, name: str, target: str) -> None:
        """Make a name point to a subfolder, atomically.

        If there is a real subfolder of that name, its content moves to the new one.
        """

    @abstractmethod
    def pointed(self, name: str) -> str | None:
        """The subfolder that a name points to, or a real one of that name; None without either."""
