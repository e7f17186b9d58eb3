"""The part files with a store's rows, and their compaction.

Parts are in a *generation*, a hidden folder that ``rows`` points to. A compaction writes the next
generation and then moves the pointer atomically, so a reader sees one generation or the other.
Generations with different rows share no file names: a reader that listed the old one gets an
error, never a mixture.
"""

from __future__ import annotations

import re
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from shlex import quote
from typing import TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from solver.errors import InputError
from sweep.filesystem import Entry, Folder, Place, is_remote, open_folder
from sweep.rows.schema import SCHEMA, VERSION
from sweep.store import checksummed_parquet

LARGE = 50_000
"""A part with this many rows is full: compaction does not change it."""

GRACE = 1.0
"""Seconds that readers have after a compaction before the old generation is removed."""

DAMAGED = "damaged"
"""The folder of damaged parts, see :meth:`Parts.set_aside`."""

_ROWS = "rows"
_PART = re.compile(r"part-(\d+)(?:-[0-9a-z]+)?\.parquet")
_GENERATIONS = ".generations"
_T = TypeVar("_T")
_TRIES = 20
_SMALL = 2**20

Superseded = Callable[[pa.Table], pa.Array]


class Parts:
    """The part files of a store.

    ``owner`` becomes part of the names of new parts, so that no two drivers write the same name.
    """

    def __init__(self, folder: Folder | Place, owner: str = "") -> None:
        self.folder = open_folder(folder)
        self._owner = owner[:8]
        self._own: str | None = None
        self._number = 0
        self._left: dict[str, float] = {}

    def create(self) -> None:
        """Create the first generation if there is none. Remove the leftovers of a crash."""
        target = self.folder.pointed(_ROWS)
        if target is None:  # a crash may have made the first generation without the pointer
            last = self.folder.folders(_GENERATIONS)[-1:]
            self.folder.point(_ROWS, last[0] if last else self._new_generation())
        elif target == _ROWS:  # a copy of the store that followed the link
            self.folder.point(_ROWS, self._new_generation())
        self.discard_old()
        self._own = self.current()
        self.folder.remove_leftovers(self._own)

    def fence(self) -> None:
        """Switch to a new generation, so that rows of a previous driver that still writes are not
        read."""
        generation = self._new_generation()
        for name in self.names():
            self.folder.copy(name, f"{generation}/{_base(name)}")
        self.folder.point(_ROWS, generation)
        self._own = generation

    def discard_old(self, grace: float = 0.0) -> None:
        """Remove old generations, except those that were current less than ``grace`` seconds ago,
        which someone may still be listing."""
        current, now = self.current(), time.monotonic()
        for other in self.folder.folders(_GENERATIONS):
            if other != current and now - self._left.get(other, -grace) >= grace:
                self.folder.remove_folder(other)
                self._left.pop(other, None)

    def current(self) -> str:
        """The name of the current generation. Raises InputError if there is none."""
        found = self.folder.pointed(_ROWS)
        if found is None:
            raise InputError(
                f"{self.folder} has no folder {_ROWS!r}; it is no sweep's folder, or was damaged"
            )
        return found

    def names(self) -> list[str]:
        """The current parts, oldest first."""
        return [entry.name for entry in self._entries(self.current())]

    def strangers(self) -> list[str]:
        """Files among the current parts that are none, so that nobody reads them."""
        names = [entry.name for entry in self.folder.names(self.current())]
        return [name for name in names if not _PART.fullmatch(_base(name))]

    def _entries(self, generation: str) -> list[Entry]:
        return [e for e in self.folder.names(generation) if _PART.fullmatch(_base(e.name))]

    def append(self, table: pa.Table) -> str:
        """Write a part durably, and return its name.

        It goes to this driver's generation. If another driver has taken over, nobody reads it.
        """
        name = f"{self._own or self.current()}/{self._next_name()}"
        checksummed_parquet.write_table(self.folder, name, table)
        return name

    def _next_name(self) -> str:
        if not self._number:
            self._number = max(map(_number, self.names()), default=0)
        self._number += 1
        owner = f"-{self._owner}" if self._owner else ""
        return f"part-{self._number:08d}{owner}.parquet"

    def read(
        self,
        columns: Sequence[str] | None = None,
        each: Callable[[pa.Table], pa.Table] = lambda table: table,
    ) -> pa.Table:
        """All rows as one table.

        Raises InputError naming the part, if one is damaged or of another version.

        Parameters
        ----------
        columns : sequence of str, optional
            All by default.
        each : callable, optional
            Is applied to each part as it is read, e.g. to save memory.
        """
        for _ in range(_TRIES):
            generation = self.current()
            try:
                entries = self._entries(generation)
                tables = [*map(each, self._read_each(entries, lambda n: self.table(n, columns)))]
            except FileNotFoundError:
                continue
            if self.current() != generation:
                continue  # a compaction finished meanwhile
            return pa.concat_tables([each(_schema_of(columns).empty_table()), *tables])
        raise InputError(f"the parts of {self.folder} vanish while they are read; read again")

    def tables(self, columns: Sequence[str] | None = None) -> Iterator[pa.Table]:
        """All rows, a part at a time. Raises as :meth:`read`, and after a compaction."""
        names = self.names()
        try:
            for name in names:
                yield self.table(name, columns)
        except FileNotFoundError:
            raise InputError(
                f"the parts of {self.folder} were compacted while they were read; read again"
            ) from None

    def _read_each(self, entries: Sequence[Entry], read: Callable[[str], _T]) -> Iterator[_T]:
        """What is read of parts, in their order; some are read at the same time."""
        at_once = self._at_once(entries)
        if at_once == 1:
            yield from (read(name) for name, _ in entries)
            return
        waiting: deque[Future[_T]] = deque()
        with ThreadPoolExecutor(at_once) as pool:
            for name, _ in entries:
                waiting.append(pool.submit(read, name))
                if len(waiting) > at_once:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()

    def _at_once(self, entries: Sequence[Entry]) -> int:
        """How many parts are read at the same time: fewer if they are large, to save memory."""
        are_small = sum(entry.size for entry in entries) < len(entries) * _SMALL
        if is_remote(self.folder.place):
            return 8 if are_small else 2
        return 2 if are_small and len(entries) > 1 else 1

    def table(self, name: str, columns: Sequence[str] | None = None) -> pa.Table:
        """One part, or some of its columns.

        Raises FileNotFoundError if it is not there (any more). Raises DamagedError if it is not
        what was written. Raises InputError if it does not have the columns of a part.
        """
        return self._table_of(name, self._opened(name), columns)

    def _opened(self, name: str) -> checksummed_parquet.Opened:
        resume = f"treesweep resume {quote(str(self.folder))}"
        remedy = f"'{resume}' sets it aside and computes again what it held"
        return checksummed_parquet.Opened(self.folder, name, remedy)

    def _table_of(
        self, name: str, part: checksummed_parquet.Opened, columns: Sequence[str] | None = None
    ) -> pa.Table:
        table = part.table(columns)
        if not table.schema.equals(_schema_of(columns), check_metadata=False):
            raise InputError(
                f"{self.folder.where(name)} does not have the columns of schema version {VERSION}; "
                "it was written by another version of treesweep, or by something else: move it away"
            )
        return table.replace_schema_metadata(None)

    def set_aside(self) -> list[checksummed_parquet.DamagedError]:
        """Move damaged parts away, so that their tasks run again.

        Returns what is wrong with each, and where it is now.
        """
        found = []
        for name in self.names():
            try:
                self.table(name, ["key"])
            except checksummed_parquet.DamagedError as error:
                kept = f"{DAMAGED}/{_base(name)}"
                # It may be that not even a copy can be made of it; it must go all the same.
                self.folder.write(kept, self.folder.read(name))
                self.folder.remove(name)
                remedy = f"it is now {kept}, and what it held is computed again"
                found.append(
                    checksummed_parquet.DamagedError(self.folder.where(name), error.why, remedy)
                )
        return found

    def compact(
        self,
        superseded: Superseded | None = None,
        allowed: Callable[[], None] = lambda: None,
    ) -> None:
        """Merge small parts. The old generation stays for its readers until :meth:`discard_old`.

        Parameters
        ----------
        superseded : callable, optional
            Tells for a table of key and attempt which rows another attempt replaces. They are
            dropped.
        allowed : callable, optional
            Called before the pointer moves. Raises if it must not.
        """
        self.discard_old(GRACE)
        old, new = self.current(), self._new_generation()
        try:
            for content in self._merged(self._entries(old), superseded):
                name = f"{new}/{self._next_name()}"
                if isinstance(content, str):
                    self.folder.copy(content, name)
                else:
                    checksummed_parquet.write_table(self.folder, name, content)
                pa.default_memory_pool().release_unused()  # which Arrow would keep
            allowed()
            self.folder.point(_ROWS, new)
            self._own = new
        except BaseException:
            self.folder.remove_folder(new)
            raise
        self._left[old] = time.monotonic()

    def _merged(
        self, entries: Sequence[Entry], superseded: Superseded | None
    ) -> Iterator[str | pa.Table]:
        pending: list[pa.Table] = []
        rows = 0
        for (name, _), part in zip(entries, self._read_each(entries, self._opened), strict=True):
            keys = self._table_of(name, part, ["key", "attempt"])
            gone = None if superseded is None else superseded(keys)
            is_whole = gone is None or not pc.any(gone).as_py()
            if is_whole and len(keys) >= LARGE:
                yield name
                continue
            table = self._table_of(name, part)
            pending.append(table if is_whole else table.filter(pc.invert(gone)))
            rows += len(pending[-1])
            if rows >= LARGE:
                yield pa.concat_tables(pending)
                pending, rows = [], 0
        if rows:
            yield pa.concat_tables(pending)

    def _new_generation(self) -> str:
        taken = [_base(name).partition("-")[0] for name in self.folder.folders(_GENERATIONS)]
        number = max((int(name) for name in taken if name.isdecimal()), default=0) + 1
        owner = f"-{self._owner}" if self._owner else ""
        return f"{_GENERATIONS}/{number:08d}{owner}"


def _schema_of(columns: Sequence[str] | None) -> pa.Schema:
    names = SCHEMA.names if columns is None else columns
    return pa.schema([SCHEMA.field(name) for name in names])


def _base(name: str) -> str:
    return name.rpartition("/")[2]


def _number(name: str) -> int:
    found = _PART.fullmatch(_base(name))
    assert found is not None
    return int(found[1])
