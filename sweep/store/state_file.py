"""Files that hold the state of a search: plain arrays, as Parquet that any reader can read.

One row is a piece of an array. The rows of an array follow each other; joined, their ``data`` are
the array's bytes in C order.

========  ==============  ===============================================================
column    type            meaning
========  ==============  ===============================================================
name      string          the array's name
dtype     string          numpy's name of its type, with the byte order: ``<i8``
shape     list<int64>     the array's shape
part      int32           number of the piece, from 0
data      large_binary    at most 16 MiB of the array
========  ==============  ===============================================================

The schema's metadata hold, under ``treesweep-state``, a JSON object: ``version`` (of this format),
``identity`` (what the search is: a state is of use to this very search only), ``reached`` (what it
had reached: see :class:`sweep.rows.rows.Checkpoint`) and ``sha256`` (of the object without it, with
sorted keys and no spaces).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from solver.errors import InputError, one_line
from sweep.plan.task_keys import canonical
from sweep.storage import DiskFolder

State = Mapping[str, NDArray[Any]]

VERSION = 1

PIECE = 16 * 2**20
"""Bytes of an array that a row holds at most."""

_KEY = b"treesweep-state"
_COLUMNS: list[tuple[str, pa.DataType]] = [
    ("name", pa.string()),
    ("dtype", pa.string()),
    ("shape", pa.list_(pa.int64())),
    ("part", pa.int32()),
    ("data", pa.large_binary()),
]
_KINDS = "biufcSUmM"


class About(NamedTuple):
    """What a state file says of itself.

    Parameters
    ----------
    identity : dict
        What the search is, by name.
    reached : dict
        What it had reached; empty if that was not given.
    """

    identity: dict[str, str]
    reached: dict[str, Any]


class TooLargeError(Exception):
    """A state does not fit into the bytes that it may take."""


def size_of(state: State) -> int:
    """Bytes of a state in memory."""
    return sum(array.nbytes for array in state.values())


def write_state(
    path: Path,
    state: State,
    identity: Mapping[str, str],
    reached: Mapping[str, Any] | None = None,
    *,
    most: int | None = None,
    durable: bool = True,
) -> None:
    """Write a state, in place of what is there. The arrays are not copied.

    Parameters
    ----------
    path : Path
    state : mapping of str to array
        Of numbers or fixed-width text.
    identity : mapping of str to str
        What the search is.
    reached : mapping, optional
        What it has reached, as plain data.
    most : int, optional
        Bytes that the file may have.
    durable : bool
        Whether it must survive a power cut once this returns.

    Raises
    ------
    TooLargeError
        If it would be larger than ``most``; nothing is written then.
    InputError
        If the disk is full or the folder cannot be written to.
    """
    content: dict[str, Any] = {"version": VERSION, "identity": dict(identity)}
    content["reached"] = dict(reached or {})
    content["sha256"] = _digest(content)
    schema = pa.schema(_COLUMNS, metadata={_KEY: json.dumps(content)})

    with (
        DiskFolder(path.parent).create(path.name, durable) as to,
        pa.OSFile(str(to), "wb") as sink,
        _writer(sink, schema) as writer,
    ):
        for row in _pieces(state):
            writer.write_table(_row(row, schema))
            if most is not None and sink.tell() > most:
                raise TooLargeError


def _digest(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(canonical(content).encode()).hexdigest()


def _writer(sink: pa.NativeFile, schema: pa.Schema) -> pq.ParquetWriter:
    # Level 1: what a search keeps is mostly hashes and bits, which higher levels press no better.
    return pq.ParquetWriter(
        sink,
        schema,
        compression="zstd",
        compression_level=1,
        use_dictionary=False,
        write_statistics=False,
        write_page_checksum=True,
    )


class _Piece(NamedTuple):
    name: str
    array: NDArray[Any]
    part: int
    data: memoryview


def _pieces(state: State) -> Iterator[_Piece]:
    for name, array in state.items():
        if array.dtype.kind not in _KINDS or array.dtype.names:
            raise TypeError(f"array {name!r} of a state has the type {array.dtype}")
        flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        for part, start in enumerate(range(0, max(1, len(flat)), PIECE)):
            yield _Piece(name, array, part, flat[start : start + PIECE].data)


def _row(piece: _Piece, schema: pa.Schema) -> pa.Table:
    ends = pa.py_buffer(np.array([0, piece.data.nbytes], np.int64))
    data = pa.Array.from_buffers(pa.large_binary(), 1, [None, ends, pa.py_buffer(piece.data)])
    plain = [[piece.name], [piece.array.dtype.str], [list(piece.array.shape)], [piece.part]]
    columns = [pa.array(v, t) for v, (_, t) in zip(plain, _COLUMNS, strict=False)]
    return pa.Table.from_arrays([*columns, data], schema=schema)


def read_about(file: pa.NativeFile | Path, where: str | None = None) -> About:
    """What a state file says of itself; its arrays are not read.

    Parameters
    ----------
    file : NativeFile or Path
    where : str, optional
        What it is called in messages.

    Raises
    ------
    FileNotFoundError
        If it is not there.
    InputError
        If it is damaged, no state file, or of a later version.
    """
    where = where or str(file)
    with _opened(file, where) as opened:
        return _about(where, opened)


def _opened(file: pa.NativeFile | Path, where: str) -> pq.ParquetFile:
    try:
        return pq.ParquetFile(file, page_checksum_verification=True)
    except FileNotFoundError:
        raise
    except (pa.ArrowException, OSError, ValueError) as error:
        raise _damaged(where, error) from None


def _damaged(path: str, error: Exception) -> InputError:
    text = one_line(error, 120)
    return InputError(
        f"{path} is damaged, or not the state of a search ({text}); move it away, then the search "
        "begins again"
    )


def _about(path: str, file: pq.ParquetFile) -> About:
    schema = file.schema_arrow
    try:
        content = json.loads((schema.metadata or {})[_KEY])
        version, claimed = int(content["version"]), content.pop("sha256")
    except (KeyError, TypeError, ValueError):
        raise InputError(f"{path} is not the state of a search; choose another file") from None
    if version > VERSION:
        raise InputError(
            f"{path} has state version {version}, this treesweep knows up to {VERSION}; upgrade "
            "treesweep, or move it away, then the search begins again"
        )
    # The pages have checksums of their own, the metadata have not.
    if claimed != _digest(content):
        raise InputError(f"{path} is damaged: its metadata are not what was written")
    if not schema.equals(pa.schema(_COLUMNS), check_metadata=False):
        raise InputError(f"{path} is damaged: it does not have the columns of a state")
    return About(content["identity"], content["reached"])


def read_state(path: Path, identity: Mapping[str, str]) -> tuple[dict[str, NDArray[Any]], About]:
    """Read a state and check that it is whole and of this very search.

    Parameters
    ----------
    path : Path
    identity : mapping of str to str
        What the search is.

    Returns
    -------
    dict of str to array
        The arrays; they may be written to.
    About

    Raises
    ------
    FileNotFoundError
        If it is not there.
    InputError
        If it is damaged, no state file, of a later version, or of another search.
    """
    where = str(path)
    with _opened(path, where) as file:
        about = _about(where, file)
        check_identity(where, about, identity)
        return _joined(where, file), about


def check_identity(path: str, about: About, identity: Mapping[str, str]) -> None:
    """Refuse the state of another search.

    Raises
    ------
    InputError
        Naming what differs.
    """
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
    """Read all of a state file, a piece at a time, and check it; errors as :func:`read_about`."""
    where = where or str(file)
    with _opened(file, where) as opened:
        about = _about(where, opened)
        for _ in _rows(where, opened):
            pass
        return about


def _rows(path: str, file: pq.ParquetFile) -> Iterator[dict[str, Any]]:
    for group in range(file.num_row_groups):
        try:
            table = file.read_row_group(group)
        except (pa.ArrowException, OSError, ValueError) as error:
            raise _damaged(path, error) from None
        row = {name: table[name][0].as_py() for name, _ in _COLUMNS[:-1]}
        yield {**row, "data": np.frombuffer(table["data"][0].as_buffer(), np.uint8)}


def _joined(path: str, file: pq.ParquetFile) -> dict[str, NDArray[Any]]:
    found: dict[str, NDArray[Any]] = {}
    ends: dict[str, tuple[int, int]] = {}
    for row in _rows(path, file):
        name, data = row["name"], row["data"]
        if row["part"] == 0:
            found[name] = _empty(path, row)
            ends[name] = 0, 0
        number, at = ends.get(name, (-1, 0))
        if row["part"] != number or at + len(data) > found[name].nbytes:
            raise _incomplete(path, name)
        found[name].reshape(-1).view(np.uint8)[at : at + len(data)] = data
        ends[name] = number + 1, at + len(data)
    for name, array in found.items():
        if ends[name][1] != array.nbytes:
            raise _incomplete(path, name)
    return found


def _empty(path: str, row: dict[str, Any]) -> NDArray[Any]:
    """Room for an array of numbers or text, as a file describes it."""
    try:
        dtype = np.dtype(row["dtype"])
        if dtype.kind in _KINDS and not dtype.names:
            return np.empty(row["shape"], dtype)
    except (TypeError, ValueError, MemoryError):
        pass
    raise InputError(f"{path} is damaged: array {row['name']!r} is none that a search keeps")


def _incomplete(path: str, name: str) -> InputError:
    return InputError(f"{path} is damaged: array {name!r} is not complete")
