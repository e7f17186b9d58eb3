"""What a folder of files promises, on whatever storage it is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from solver.errors import InputError


class StorageError(InputError):
    """The storage does not do what is asked now; it may later.

    Parameters
    ----------
    what : str
        What cannot be done, and where.
    remedy : str
        What a person can do about it.
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
    """Files by name, ``/`` between the parts of a name.

    A reader finds a file as it was or as it is, never half of it, whatever happens to whoever
    writes. What was written is there for all who ask from then on. Nothing else is assumed: no
    locks, no renaming, no writing only if something is there or not.

    Every method raises :class:`StorageError` if the storage cannot be reached, and
    those that write raise :class:`UnwritableError` if it does not take what it is given.

    Attributes
    ----------
    place : str
        What :func:`sweep.filesystem.open_folder` makes the same folder of.
    """

    place: str

    def __str__(self) -> str:
        return self.place

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.place!r})"

    def where(self, name: str) -> str:
        """A file's place, for messages."""
        return f"{self.place.rstrip('/')}/{name}"

    @abstractmethod
    def make(self) -> None:
        """Make the folder, if it is not there yet."""

    @abstractmethod
    def is_there(self) -> bool:
        """Whether the folder is there."""

    @abstractmethod
    def read(self, name: str) -> bytes:
        """A file's content. Raises FileNotFoundError if it is not there."""

    @abstractmethod
    def open(self, name: str) -> pa.NativeFile:
        """A file that is never replaced, to read from anywhere in it; errors as :meth:`read`."""

    @abstractmethod
    def size(self, name: str) -> int:
        """A file's bytes; errors as :meth:`read`."""

    @abstractmethod
    def exists(self, name: str) -> bool:
        """Whether there is such a file."""

    @abstractmethod
    def names(self, under: str = "") -> list[Entry]:
        """The files directly in a subfolder, by name; none if it is not there. What is being
        written does not show."""

    @abstractmethod
    def folders(self, under: str = "") -> list[str]:
        """The names of the folders directly in a subfolder."""

    @abstractmethod
    def write(self, name: str, data: bytes | pa.Buffer, durable: bool = True) -> None:
        """Write a file, in place of what is there.

        Parameters
        ----------
        durable : bool
            Whether it must survive a power cut once this returns.
        """

    @abstractmethod
    def create(self, name: str, durable: bool = True) -> AbstractContextManager[Path]:
        """A local path to write a large file to; it is stored when the context is left without an
        error, in place of what is there."""

    @abstractmethod
    def stage(self, name: str) -> Path:
        """A local path for what is written bit by bit, and may be :meth:`adopt`-ed as a file of
        this name or beside it."""

    @abstractmethod
    def adopt(self, path: Path, name: str) -> None:
        """Store what is at a local path, which is gone then."""

    @abstractmethod
    def remove(self, name: str) -> None:
        """Remove a file, if it is there."""

    @abstractmethod
    def remove_folder(self, name: str) -> None:
        """Remove a subfolder and all in it, if it is there; as far as possible."""

    @abstractmethod
    def remove_leftovers(self, under: str = "") -> None:
        """Remove what a crash has left half written in a subfolder."""

    @abstractmethod
    def copy(self, old: str, new: str) -> None:
        """Store a file under a second name as well, which takes no second copy where it can be
        avoided; errors as :meth:`read`."""

    @abstractmethod
    def point(self, name: str, target: str) -> None:
        """Let a name stand for a subfolder, from one moment to the next.

        If there is a subfolder of that very name, what is in it is moved to the new one.
        """

    @abstractmethod
    def pointed(self, name: str) -> str | None:
        """The subfolder that a name stands for, which may be one of that very name; None if it is
        not there."""
