"""The part files that hold a store's rows, and how they are compacted.

Parts live in a *generation*, a hidden folder that the link ``rows`` points to. A compaction makes
the next generation beside the current one and then moves the link, which is one rename: whoever
opens ``rows`` finds all rows of the old generation or all of the new one. No two generations have
a file name in common, so whoever listed the old one and opens the new one gets an error, not half
of each.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from solver.errors import InputError
from sweep import files
from sweep.schema import SCHEMA, VERSION, of_version

LARGE = 50_000
"""Parts of so many rows are full: compaction leaves them as they are."""

GRACE = 1.0
"""Seconds that a generation is kept after a compaction, for those who have just opened it."""

_LINK = "rows"
_GENERATIONS = ".generations"
_TRIES = 20


class Parts:
    """The part files of a store.

    Parameters
    ----------
    root : Path
        The store's folder.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.link = root / _LINK
        self._left: dict[str, float] = {}

    def create(self) -> None:
        """Make an empty first generation, if there is none, and remove what a crash left."""
        generations = self.root / _GENERATIONS
        generations.mkdir(exist_ok=True)
        if self.link.is_dir() and not self.link.is_symlink():
            # A copy that followed the link: make a generation of it.
            os.rename(self.link, generations / "00000000")
            self._point_to(generations / "00000000")
        if not self.link.is_symlink():
            first = generations / "00000001"
            first.mkdir(exist_ok=True)
            self._point_to(first)
        self.discard_old()
        for leftover in self.current().glob(".*.tmp"):
            leftover.unlink(missing_ok=True)

    def discard_old(self, grace: float = 0.0) -> None:
        """Remove all generations but the current one and those left less than `grace` seconds
        ago: someone may be listing their files, and would find none."""
        current, now = self.current(), time.monotonic()
        for other in (self.root / _GENERATIONS).iterdir():
            if other.name != current.name and now - self._left.get(other.name, -grace) >= grace:
                shutil.rmtree(other, ignore_errors=True)
                self._left.pop(other.name, None)

    def current(self) -> Path:
        """The folder of the current generation.

        Raises
        ------
        InputError
            If there is none.
        """
        try:
            return self.root / os.readlink(self.link)
        except OSError:
            if self.link.is_dir():  # a copy that followed the link
                return self.link
            raise InputError(
                f"{self.root} has no folder {_LINK!r}; it is no sweep's folder, or was damaged"
            ) from None

    def paths(self) -> list[Path]:
        """The current parts, oldest first."""
        return sorted(self.current().glob("part-*.parquet"))

    def append(self, table: pa.Table) -> Path:
        """Write a part. It is on the disk when this returns."""
        paths = self.paths()
        path = self.current() / _name(_number(paths[-1]) + 1 if paths else 1)
        files.write_table(path, table)
        return path

    def read(
        self,
        columns: Sequence[str] | None = None,
        each: Callable[[pa.Table], pa.Table] = lambda table: table,
    ) -> pa.Table:
        """All rows, as one table.

        Parameters
        ----------
        columns : sequence of str, optional
            All by default.
        each : callable, optional
            What is made of each part as it is read: all of them need not fit into memory as they
            are.

        Raises
        ------
        InputError
            Naming the part, if one is damaged or of a later version.
        """
        for _ in range(_TRIES):
            generation = self.current()
            try:
                tables = [each(read_part(path, columns)) for path in self.paths()]
            except FileNotFoundError:
                continue
            if self.current() != generation:
                continue  # a compaction finished meanwhile
            names = SCHEMA.names if columns is None else columns
            empty = pa.schema([SCHEMA.field(name) for name in names]).empty_table()
            return pa.concat_tables([each(empty), *tables])
        raise InputError(f"the parts in {self.link} vanish while they are read")

    def compact(self, superseded: Callable[[pa.Table], pa.Array] | None = None) -> None:
        """Turn many small parts into few. The old generation stays for those who are reading it,
        until :meth:`discard_old`.

        Parameters
        ----------
        superseded : callable, optional
            Says for a table of key and attempt which rows a later attempt has replaced; these are
            left out.
        """
        self.discard_old(GRACE)
        old, paths = self.current(), self.paths()
        new = old.with_name(f"{int(old.name) + 1:08d}")
        new.mkdir()
        number = _number(paths[-1]) if paths else 0
        for content in self._merged(superseded):
            number += 1
            if isinstance(content, Path):
                os.link(content, new / _name(number))
            else:
                files.write_table(new / _name(number), content)
        files.sync(new)
        self._point_to(new)
        self._left[old.name] = time.monotonic()

    def _merged(
        self, superseded: Callable[[pa.Table], pa.Array] | None
    ) -> Iterator[Path | pa.Table]:
        pending: list[pa.Table] = []
        rows = 0
        for path in self.paths():
            table = read_part(path)
            kept = table
            if superseded is not None:
                gone = superseded(table.select(["key", "attempt"]))
                kept = table.filter(pc.invert(gone))
            if len(kept) == len(table) >= LARGE and is_current(path):
                yield path
                continue
            pending.append(kept)
            rows += len(kept)
            if rows >= LARGE:
                yield pa.concat_tables(pending).combine_chunks()
                pending, rows = [], 0
        if rows:
            yield pa.concat_tables(pending).combine_chunks()

    def _point_to(self, generation: Path) -> None:
        temporary = self.root / f".{_LINK}.{os.getpid()}.tmp"
        temporary.unlink(missing_ok=True)
        temporary.symlink_to(Path(_GENERATIONS) / generation.name)
        os.replace(temporary, self.link)
        files.sync(self.root)


def read_part(path: Path, columns: Sequence[str] | None = None) -> pa.Table:
    """Read one part; columns that its version did not have yet are null.

    Raises
    ------
    FileNotFoundError
        If it is not there (any more).
    InputError
        If it is damaged, or was written by a later version.
    """
    table = files.read_table(path, None if columns is None else list(columns))
    for version in range(VERSION, 0, -1):
        if table.schema.equals(_expected(version, columns), check_metadata=False):
            return _filled(table, _expected(VERSION, columns))
    raise InputError(
        f"{path} does not have the columns of schema version {VERSION}, or of an earlier one; it "
        "was written by another version of treesweep, or by something else: move it away"
    )


def _expected(version: int, columns: Sequence[str] | None) -> pa.Schema:
    known = of_version(version)
    if columns is None:
        return known
    return pa.schema([known.field(name) for name in columns if name in known.names])


def _filled(table: pa.Table, expected: pa.Schema) -> pa.Table:
    """The table with the columns that came later, which are null."""
    there = set(table.schema.names)
    filled = [
        table[field.name] if field.name in there else pa.nulls(len(table), field.type)
        for field in expected
    ]
    return pa.Table.from_arrays(filled, schema=expected)


def is_current(path: Path) -> bool:
    """Whether a part has all columns of today."""
    try:
        found = pq.read_schema(path)
    except (pa.ArrowException, OSError, ValueError):
        return False  # whoever reads all of it says why
    return bool(found.equals(SCHEMA, check_metadata=False))


def _name(number: int) -> str:
    return f"part-{number:08d}.parquet"


def _number(path: Path) -> int:
    return int(path.stem.removeprefix("part-"))
