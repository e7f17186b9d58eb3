"""Parquet files in which any changed byte is found.

Parquet's own checksums cover the pages of a file, not what is said of them. So a file is sealed:
its key-value metadata hold, under ``treesweep-sha256``, the SHA-256 of the whole file, taken with
zeros in place of the sum. A reader that knows nothing of this reads the file all the same.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from solver.errors import InputError, one_line
from sweep.storage import Folder

_KEY = b"treesweep-sha256"
_UNSET = b"0" * 64
_MARK = _KEY + b"\x18" + bytes([len(_UNSET)])
"""What stands before the sum: the key, the head of the field and its length, in Thrift's compact
form."""

_SMALL = 2_000
"""A table of fewer rows is written so that it is quick to read: it is merged with others soon."""

_LEAST = 12
_THREADS_FROM = 4 * 2**20


class DamagedError(InputError):
    """A file is not what was written."""

    def __init__(self, where: str, why: str, remedy: str) -> None:
        super().__init__(f"{where} is damaged ({why}); {remedy}")
        self.why = why


def to_bytes(table: pa.Table, metadata: Mapping[str, str] | None = None) -> memoryview:
    """A table as a sealed file.

    Parameters
    ----------
    metadata : mapping, optional
        More for the file's key-value metadata.
    """
    sink = pa.BufferOutputStream()
    small = len(table) < _SMALL
    with writer(sink, table.schema, small=small) as out:
        out.write_table(table)
        if metadata:
            out.add_key_value_metadata(dict(metadata))
    content = bytearray(sink.getvalue())
    place, digest = _sum(memoryview(content))
    content[place : place + len(_UNSET)] = digest
    return memoryview(content).toreadonly()


@contextmanager
def writer(sink: Any, schema: pa.Schema, *, small: bool = False) -> Iterator[pq.ParquetWriter]:
    """A writer of a file that has room for its sum.

    Parameters
    ----------
    sink : Path or NativeFile
    small : bool
        Whether it matters more that it is quick than that it is small.
    """
    with pq.ParquetWriter(
        sink,
        schema,
        compression="snappy" if small else "zstd",
        use_dictionary=not small,
        write_statistics=not small,
        write_page_checksum=True,
    ) as out:
        yield out
        out.add_key_value_metadata({_KEY.decode(): _UNSET.decode()})


@contextmanager
def created(folder: Folder, name: str, schema: pa.Schema) -> Iterator[pq.ParquetWriter]:
    """A writer of a large sealed file, which is there when the context is left without an error;
    errors as :meth:`sweep.storage.Folder.write`."""
    with folder.create(name) as path:
        with writer(path, schema) as out:
            yield out
        _seal(path)


def _seal(path: Path) -> None:
    place, digest = _sum(memoryview(path.read_bytes()))
    with path.open("r+b") as file:
        file.seek(place)
        file.write(digest)


def _sum(content: memoryview) -> tuple[int, bytes]:
    """Where the sum of a file is, and what it should be."""
    at = bytes(content[-_TAIL:]).rfind(_MARK)
    if at < 0:
        raise ValueError("no place for a sum")
    place = max(0, len(content) - _TAIL) + at + len(_MARK)
    digest = hashlib.sha256(content[:place])
    digest.update(_UNSET)
    digest.update(content[place + len(_UNSET) :])
    return place, digest.hexdigest().encode()


_TAIL = 2**16
"""The key is so near to the end: only the name of the writing library and the columns' order
follow."""


def is_sealed(content: memoryview) -> bool:
    """Whether a file is sealed; those of older versions are not."""
    return bytes(content[-_TAIL:]).rfind(_MARK) >= 0


def check(content: memoryview) -> str | None:
    """What is wrong with the bytes of a file; None if nothing is, as far as they tell."""
    if len(content) < _LEAST or bytes(content[:4]) != b"PAR1" or bytes(content[-4:]) != b"PAR1":
        return "it is cut short or overwritten"
    if is_sealed(content):
        place, digest = _sum(content)
        if bytes(content[place : place + len(_UNSET)]) != digest:
            return "its checksum does not match"
    return None


class Opened:
    """A file that has been read and checked.

    Parameters
    ----------
    folder : Folder
    name : str
    remedy : str
        What its reader can do if it is damaged.

    Raises
    ------
    FileNotFoundError
        If it is not there.
    DamagedError
        If it is not what was written; also from the methods.
    """

    def __init__(self, folder: Folder, name: str, remedy: str) -> None:
        self._where, self._remedy = folder.where(name), remedy
        content = memoryview(folder.read(name))
        wrong = check(content)
        if wrong is not None:
            raise DamagedError(self._where, wrong, remedy)
        self.is_sealed = is_sealed(content)
        self._use_threads = len(content) >= _THREADS_FROM
        with self._reading():
            buffer = pa.BufferReader(pa.py_buffer(content))
            self._file = pq.ParquetFile(buffer, page_checksum_verification=not self.is_sealed)

    @property
    def schema(self) -> pa.Schema:
        """The columns of the file."""
        with self._reading():
            return self._file.schema_arrow

    @property
    def metadata(self) -> dict[bytes, bytes]:
        """The key-value metadata of the file."""
        with self._reading():
            return dict(self._file.metadata.metadata or {})

    def table(self, columns: Sequence[str] | None = None) -> pa.Table:
        """All rows; of the columns those that are there."""
        with self._reading():
            wanted = None if columns is None else list(columns)
            return self._file.read(wanted, use_threads=self._use_threads)

    def batches(self, rows: int, columns: Sequence[str] | None = None) -> Iterator[pa.Table]:
        """All rows, or some of their columns, so many at a time."""
        with self._reading():
            for batch in self._file.iter_batches(rows, columns=columns):
                yield pa.Table.from_batches([batch])

    @contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            yield
        except (pa.ArrowException, OSError, ValueError) as error:
            text = one_line(error, 120)
            raise DamagedError(self._where, text, self._remedy) from None


AGAIN = "move it away, then 'treesweep resume' makes it again"


def read_table(
    folder: Folder, name: str, columns: Sequence[str] | None = None, remedy: str = AGAIN
) -> pa.Table:
    """Read a file and check it; errors as :class:`Opened`."""
    return Opened(folder, name, remedy).table(columns)


def write_table(folder: Folder, name: str, table: pa.Table) -> None:
    """Write a sealed file; errors as :meth:`sweep.storage.Folder.write`."""
    folder.write(name, to_bytes(table))
