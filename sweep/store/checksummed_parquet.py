"""Parquet files in which any changed byte is found.

32 bytes between the last rows and the footer are the SHA-256 of the rest of the file. Parquet
readers skip them, so data and checksum are one ordinary Parquet file, written in one step.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from solver.errors import InputError, one_line
from sweep.filesystem import Folder

_MAGIC = b"PAR1"
_TAIL = 8
"""Parquet ends with the footer's length (4 bytes, little-endian) and ``PAR1``."""

_DIGEST = hashlib.sha256().digest_size

_SMALL = 2_000
"""Tables with fewer rows are written fast and uncompacted: they are merged soon."""

_THREADS_FROM = 4 * 2**20


class DamagedError(InputError):
    """A file does not match its checksum."""

    def __init__(self, where: str, why: str, remedy: str) -> None:
        super().__init__(f"{where} is damaged ({why}); {remedy}")
        self.why = why


def to_bytes(table: pa.Table) -> bytes:
    """A table as the bytes of a file with its checksum."""
    sink = pa.BufferOutputStream()
    with _writer(sink, table.schema, small=len(table) < _SMALL) as out:
        out.write_table(table)
    content = memoryview(sink.getvalue())
    footer = _footer(content)
    return b"".join([content[:footer], hashlib.sha256(content).digest(), content[footer:]])


@contextmanager
def created(folder: Folder, name: str, schema: pa.Schema) -> Iterator[pq.ParquetWriter]:
    """Write a large file bit by bit. It appears when the context ends without an error.

    Raises as :meth:`sweep.filesystem.Folder.write`.
    """
    with folder.create(name) as path:
        with _writer(path, schema) as out:
            yield out
        content = memoryview(path.read_bytes())
        footer = _footer(content)
        with path.open("r+b") as file:
            file.seek(footer)
            file.write(hashlib.sha256(content).digest())
            file.write(content[footer:])


def _writer(sink: Any, schema: pa.Schema, *, small: bool = False) -> pq.ParquetWriter:
    """A writer that saves time for a small file, and space for a large one."""
    return pq.ParquetWriter(
        sink,
        schema,
        compression="snappy" if small else "zstd",
        use_dictionary=not small,
        write_statistics=not small,
    )


def _footer(content: memoryview) -> int:
    """The position of the footer."""
    return len(content) - _TAIL - int.from_bytes(content[-_TAIL : -len(_MAGIC)], "little")


def check(content: memoryview) -> str | None:
    """What is wrong with the bytes of a file; None if nothing."""
    at = _footer(content) - _DIGEST
    if at < len(_MAGIC) or content[: len(_MAGIC)] != _MAGIC or content[-len(_MAGIC) :] != _MAGIC:
        return "it is cut short or overwritten"
    digest = hashlib.sha256(content[:at])
    digest.update(content[at + _DIGEST :])
    if digest.digest() != content[at : at + _DIGEST]:
        return "its checksum does not match"
    return None


class Opened:
    """A file that has been read and checked; ``remedy`` ends the message about a damaged one.

    Raises FileNotFoundError if there is no such file, and DamagedError, also from the methods, if
    it is not what was written.
    """

    def __init__(self, folder: Folder, name: str, remedy: str) -> None:
        self._where, self._remedy = folder.where(name), remedy
        content = memoryview(folder.read(name))
        wrong = check(content)
        if wrong is not None:
            raise DamagedError(self._where, wrong, remedy)
        self._use_threads = len(content) >= _THREADS_FROM
        with self._reading():
            self._file = pq.ParquetFile(pa.BufferReader(pa.py_buffer(content)))

    @property
    def metadata(self) -> dict[bytes, bytes]:
        """The key-value metadata."""
        with self._reading():
            return dict(self._file.metadata.metadata or {})

    def table(self, columns: Sequence[str] | None = None) -> pa.Table:
        """All rows, with those of the columns that exist."""
        with self._reading():
            wanted = None if columns is None else list(columns)
            return self._file.read(wanted, use_threads=self._use_threads)

    def batches(self, rows: int, columns: Sequence[str] | None = None) -> Iterator[pa.Table]:
        """All rows in pieces of at most ``rows``."""
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
    """Read and check a file. Raises as :class:`Opened`."""
    return Opened(folder, name, remedy).table(columns)


def write_table(folder: Folder, name: str, table: pa.Table) -> None:
    """Write a file with its checksum. Raises as :meth:`sweep.filesystem.Folder.write`."""
    folder.write(name, to_bytes(table))
