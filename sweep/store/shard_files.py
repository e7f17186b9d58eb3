"""Finished shards of unfinished tasks, one row a file: ``shards/KEY.INDEX-of-NUMBER.parquet``."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pyarrow as pa

from solver.errors import InputError
from solver.search_shards import Shard
from sweep.filesystem import Folder, StorageError
from sweep.rows.schema import SCHEMA
from sweep.store import checksummed_parquet

FOLDER = "shards"

WORTH = 1.0
"""A shard that took fewer seconds is not kept; running it again is cheaper."""

_NAME = re.compile(rf"{FOLDER}/(?P<key>[^./]+)\.(?P<index>\d+)-of-(?P<number>\d+)\.parquet")


def kept_shards(folder: Folder) -> dict[str, set[Shard]]:
    """The finished shards of a store by the task's key, while it is written to or not."""
    found: dict[str, set[Shard]] = {}
    for entry in folder.names(FOLDER):
        if name := _NAME.fullmatch(entry.name):
            shard = Shard(int(name["index"]), int(name["number"]))
            found.setdefault(name["key"], set()).add(shard)
    return found


class KeptShards:
    """The finished shards of a store, for its driver. ``tell`` gets a message about damage."""

    def __init__(self, folder: Folder, tell: Callable[[str], None]) -> None:
        self._folder, self._tell = folder, tell
        folder.remove_leftovers(FOLDER)
        self._kept = kept_shards(folder)

    def __bool__(self) -> bool:
        return bool(self._kept)

    def keep(self, key: str, shard: Shard, row: pa.RecordBatch) -> None:
        """Write the row of a shard durably. Raises StorageError if that fails."""
        checksummed_parquet.write_table(
            self._folder, _name(key, shard), pa.Table.from_batches([row])
        )
        self._kept.setdefault(key, set()).add(shard)

    def held(self, key: str) -> dict[Shard, dict[str, Any]]:
        """The rows of a task's shards, without damaged ones."""
        found = {}
        for shard in self._kept.get(key, ()):
            with suppress(FileNotFoundError, StorageError):
                try:
                    name, remedy = _name(key, shard), "the shard is done again"
                    table = checksummed_parquet.read_table(self._folder, name, remedy=remedy)
                except checksummed_parquet.DamagedError as error:
                    self._tell(str(error))
                    continue
                if table.schema.equals(SCHEMA) and len(table) == 1:
                    found[shard] = table.to_pylist()[0]
        return found

    def drop(self, key: str) -> None:
        """Remove the shards of a task."""
        for shard in self._kept.pop(key, ()):
            with suppress(InputError):  # the next driver removes it
                self._folder.remove(_name(key, shard))

    def drop_all_but(self, is_kept: Callable[[str], bool]) -> None:
        """Remove shards that a killed driver has left."""
        for key in [key for key in self._kept if not is_kept(key)]:
            self.drop(key)


def _name(key: str, shard: Shard) -> str:
    return f"{FOLDER}/{key}.{shard.index}-of-{shard.number}.parquet"
