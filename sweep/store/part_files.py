"""The part files that hold a store's rows, and how they are compacted.

Parts live in a *generation*, a hidden folder that the name ``rows`` points to. A compaction makes
the next generation beside the current one and then moves the pointer, which is one step: whoever
looks at ``rows`` finds all rows of the old generation or all of the new one. No two generations
that differ in their rows have a file name in common, so whoever listed the old one and opens the
new one gets an error, not half of each.
"""

from __future__ import annotations

import re
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

import pyarrow as pa
import pyarrow.compute as pc

from solver.errors import InputError
from sweep.filesystem import Entry, Folder, Place, is_remote, open_folder
from sweep.rows.schema import SCHEMA, VERSION
from sweep.store import checksummed_parquet

LARGE = 50_000
"""Parts of so many rows are full: compaction leaves them as they are."""

GRACE = 1.0
"""Seconds that a generation is kept after a compaction, for those who have just opened it."""

DAMAGED = "damaged"
"""Where damaged parts are put, see :meth:`Parts.set_aside`."""

_ROWS = "rows"
_PART = re.compile(r"part-(\d+)(?:-[0-9a-z]+)?\.parquet")
_GENERATIONS = ".generations"
_TRIES = 20
_SMALL = 2**20

Superseded = Callable[[pa.Table], pa.Array]


class Parts:
    """The part files of a store.

    Parameters
    ----------
    folder : Folder, str or Path
        The store's folder.
    owner : str
        Stands in the names of the parts that are written here, so that no two drivers ever write
        to the same name.
    """

    def __init__(self, folder: Folder | Place, owner: str = "") -> None:
        self.folder = open_folder(folder)
        self._owner = owner[:8]
        self._own: str | None = None
        self._number = 0
        self._left: dict[str, float] = {}

    def create(self) -> None:
        """Make an empty first generation, if there is none, and remove what a crash left."""
        target = self.folder.pointed(_ROWS)
        if target is None:  # a crash may have come between making the first one and pointing to it
            last = self.folder.folders(_GENERATIONS)[-1:]
            self.folder.point(_ROWS, last[0] if last else self._new_generation())
        elif target == _ROWS:  # a copy that followed the link
            self.folder.point(_ROWS, self._new_generation())
        self.discard_old()
        self._own = self.current()
        self.folder.remove_leftovers(self._own)

    def fence(self) -> None:
        """Go on in a new generation, so that whatever an earlier driver is still writing, if it
        lives after all, is not among the rows."""
        generation = self._new_generation()
        for name in self.names():
            self.folder.copy(name, f"{generation}/{_base(name)}")
        self.folder.point(_ROWS, generation)
        self._own = generation

    def discard_old(self, grace: float = 0.0) -> None:
        """Remove all generations but the current one and those left less than `grace` seconds
        ago: someone may be listing their files, and would find none."""
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

    def _entries(self, generation: str) -> list[Entry]:
        return [e for e in self.folder.names(generation) if _PART.fullmatch(_base(e.name))]

    def append(self, table: pa.Table) -> str:
        """Write a part. It is on the disk when this returns.

        It goes to the generation that this driver knows: should another one have taken over since,
        which has moved the pointer, the part is not among the rows.
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
        """All rows, as one table.

        Raises InputError naming the part, if one is damaged or of another version.

        Parameters
        ----------
        columns : sequence of str, optional
            All by default.
        each : callable, optional
            What is made of each part as it is read: all of them need not fit into memory as they
            are.
        """
        for _ in range(_TRIES):
            generation = self.current()
            try:
                tables = [*map(each, self._tables(self._entries(generation), columns))]
            except FileNotFoundError:
                continue
            if self.current() != generation:
                continue  # a compaction finished meanwhile
            return pa.concat_tables([each(_schema_of(columns).empty_table()), *tables])
        raise InputError(f"the parts of {self.folder} vanish while they are read; read again")

    def tables(self, columns: Sequence[str] | None = None) -> Iterator[pa.Table]:
        """All rows, a part at a time, so that they need not fit into memory; errors as
        :meth:`read`, and if a compaction comes between."""
        names = self.names()
        try:
            for name in names:
                yield self.table(name, columns)
        except FileNotFoundError:
            raise InputError(
                f"the parts of {self.folder} were compacted while they were read; read again"
            ) from None

    def _tables(
        self, entries: Sequence[Entry], columns: Sequence[str] | None = None
    ) -> Iterator[pa.Table]:
        """Parts in their order, some of them at the same time."""
        at_once = self._at_once(entries)
        if at_once == 1:
            yield from (self.table(name, columns) for name, _ in entries)
            return
        waiting: deque[Future[pa.Table]] = deque()
        with ThreadPoolExecutor(at_once) as pool:
            for name, _ in entries:
                waiting.append(pool.submit(self.table, name, columns))
                if len(waiting) > at_once:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()

    def _at_once(self, entries: Sequence[Entry]) -> int:
        """How many parts are read at the same time: few large ones, for the memory they take."""
        are_small = sum(entry.size for entry in entries) < len(entries) * _SMALL
        if is_remote(self.folder.place):
            return 8 if are_small else 2
        return 2 if are_small and len(entries) > 1 else 1

    def table(self, name: str, columns: Sequence[str] | None = None) -> pa.Table:
        """One part, or some of its columns.

        Raises FileNotFoundError if it is not there (any more). Raises DamagedError if it is not
        what was written. Raises InputError if it does not have the columns of a part.
        """
        remedy = f"'treesweep resume {self.folder}' sets it aside and computes again what it held"
        table = checksummed_parquet.Opened(self.folder, name, remedy).table(columns)
        if not table.schema.equals(_schema_of(columns), check_metadata=False):
            raise InputError(
                f"{self.folder.where(name)} does not have the columns of schema version {VERSION}; "
                "it was written by another version of treesweep, or by something else: move it away"
            )
        return table.replace_schema_metadata(None)

    def set_aside(self) -> list[checksummed_parquet.DamagedError]:
        """Move all damaged parts away, so that what they held is computed again.

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
        """Turn many small parts into few. The old generation stays for those who are reading it,
        until :meth:`discard_old`.

        Parameters
        ----------
        superseded : callable, optional
            Says for a table of key and attempt which rows do not count, as another attempt does;
            these are left out.
        allowed : callable, optional
            Asked before anything changes for readers; raises if that must not be.
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
        for (name, _), table in zip(entries, self._tables(entries), strict=True):
            kept = table
            if superseded is not None:
                gone = superseded(table.select(["key", "attempt"]))
                kept = table.filter(pc.invert(gone))
            if len(kept) == len(table) >= LARGE:
                yield name
                continue
            pending.append(kept)
            rows += len(kept)
            if rows >= LARGE:
                yield pa.concat_tables(pending).combine_chunks()
                pending, rows = [], 0
        if rows:
            yield pa.concat_tables(pending).combine_chunks()

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
