"""The file format of a search's state: numpy's ``.npz`` with a header, without pickles.

Each array is a member ``NAME.npy``. The first member, ``about.json``, is a JSON object with
``version`` (of this format), ``identity`` (which search may use the state), ``reached`` (its
progress, see :class:`sweep.rows.result_rows.Checkpoint`) and ``arrays`` (their names, in order).
The archive has a checksum of each member.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple
from zipfile import ZIP_DEFLATED, ZipFile

import numpy as np
import pyarrow as pa
from numpy.lib import format as npy
from numpy.typing import NDArray

from solver.errors import InputError, one_line
from sweep.filesystem import DiskFolder

State = Mapping[str, NDArray[Any]]

VERSION = 1

_ABOUT = "about.json"
_SUFFIX = ".npy"
_KINDS = "biufcSUmM"

_LEVEL = 1
"""States are mostly hashes and bits, which higher levels do not make smaller."""


class About(NamedTuple):
    """The header of a state file: which search it belongs to, and its progress (may be empty)."""

    identity: dict[str, str]
    reached: dict[str, Any]


class TooLargeError(Exception):
    """A state needs more bytes than it may take."""


def size_of(state: State) -> int:
    """The bytes of a state in memory."""
    return sum(array.nbytes for array in state.values())


class _Limited(NamedTuple):
    """A member of an archive whose file has a limit of bytes."""

    member: IO[bytes]
    file: IO[bytes]
    most: float

    def write(self, data: bytes) -> None:
        self.member.write(data)
        if self.file.tell() > self.most:
            raise TooLargeError


def write_state(
    path: Path,
    state: State,
    identity: Mapping[str, str],
    reached: Mapping[str, Any] | None = None,
    *,
    most: int | None = None,
    durable: bool = True,
) -> None:
    """Write or replace a state file. Contiguous arrays are not copied.

    ``state`` has arrays of numbers or fixed-width text, ``reached`` is plain data. If ``durable``,
    the file survives a power cut. Raises TooLargeError if the file would have more than ``most``
    bytes; then nothing is written. Raises InputError if the folder is full or not writable.
    """
    about = {"version": VERSION, "identity": dict(identity), "reached": dict(reached or {})}
    limit = float("inf") if most is None else most
    with (
        DiskFolder(path.parent).create(path.name, durable) as temporary,
        temporary.open("wb") as file,
        ZipFile(file, "w", ZIP_DEFLATED, compresslevel=_LEVEL) as archive,
    ):
        archive.writestr(_ABOUT, json.dumps({**about, "arrays": [*state]}))
        for name, array in state.items():
            if array.dtype.kind not in _KINDS or array.dtype.names:
                raise TypeError(f"array {name!r} of a state has the type {array.dtype}")
            with archive.open(name + _SUFFIX, "w", force_zip64=True) as member:
                out = _Limited(member, file, limit)
                npy.write_array(out, np.asarray(array, order="C"), allow_pickle=False)
    # What follows the last array is small.


def read_about(file: pa.NativeFile | Path, where: str | None = None) -> About:
    """The header of a state file; ``where`` is its name in messages.

    Raises FileNotFoundError if there is no such file, and InputError if it is damaged, not a state
    file, or of another version.
    """
    with _opened(file, where or str(file)) as (_, about):
        return about


@contextmanager
def _opened(file: pa.NativeFile | Path, where: str) -> Iterator[tuple[ZipFile, About]]:
    """The archive and its header. Any error while reading becomes an InputError."""
    try:
        with ZipFile(file) as archive:
            yield archive, _about(archive, where)
    except (InputError, FileNotFoundError):
        raise
    except Exception as error:  # damaged bytes raise errors of any kind in zipfile and numpy
        text = one_line(error, 120)
        raise InputError(
            f"{where} is damaged, or not the state of a search ({text}); move it away, then the "
            "search begins again"
        ) from None


def _about(archive: ZipFile, where: str) -> About:
    names = archive.namelist()
    if names[:1] != [_ABOUT]:
        raise InputError(f"{where} is not the state of a search; choose another file")
    content = json.loads(archive.read(_ABOUT))
    version = content["version"]
    if version != VERSION:
        raise InputError(
            f"{where} has state version {version}, this treesweep reads version {VERSION}; use the "
            "treesweep that wrote it, or move it away, then the search begins again"
        )
    if names[1:] != [name + _SUFFIX for name in content["arrays"]]:
        raise ValueError("its arrays are not complete")
    return About(content["identity"], content["reached"])


def read_state(path: Path, identity: Mapping[str, str]) -> tuple[dict[str, NDArray[Any]], About]:
    """Read and check the state of a search: writable arrays by name, and the header.

    Raises FileNotFoundError if there is no such file, and InputError if it is damaged, not a state
    file, of another version, or of another search.
    """
    with _opened(path, str(path)) as (archive, about):
        check_identity(str(path), about, identity)
        return {
            name.removesuffix(_SUFFIX): _array(archive, name) for name in archive.namelist()[1:]
        }, about


def _array(archive: ZipFile, name: str) -> NDArray[Any]:
    with archive.open(name) as member:
        found = npy.read_array(member, allow_pickle=False)
        # The checksum is compared at the end of the member.
        if member.read(1) or found.dtype.kind not in _KINDS or found.dtype.names:
            raise ValueError(f"{name} is no array that a search keeps")
        return found


def check_identity(path: str, about: About, identity: Mapping[str, str]) -> None:
    """Refuse the state of another search. Raises InputError naming what differs."""
    for name in [*identity, *about.identity]:
        there, here = about.identity.get(name), identity.get(name)
        if there != here:
            raise InputError(
                f"{path} is the state of another search: its {name} is {_short(there)}, not "
                f"{_short(here)}; ask for the same search, or choose another file"
            )


def _short(value: str | None) -> str:
    return "not there" if value is None else value if len(value) <= 80 else value[:77] + "..."


def check_state(file: pa.NativeFile | Path, where: str | None = None) -> About:
    """Read and check a whole state file, in pieces. Raises as :func:`read_about`."""
    with _opened(file, where or str(file)) as (archive, about):
        if (name := archive.testzip()) is not None:
            raise ValueError(f"the checksum of {name} does not match")
        return about
