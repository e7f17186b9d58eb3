"""Tests of sweep/store/shard_files.py."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from solver.search_shards import Shard
from sweep.filesystem import Folder, open_folder
from sweep.rows.result_rows import Finished, as_finished
from sweep.store import store as stores
from sweep.store.shard_files import FOLDER, KeptShards
from tests.helpers import without_dask


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    found = open_folder(tmp_path)
    found.make()
    return found


@pytest.fixture
def finished(small_rows: list[dict[str, Any]]) -> Finished:
    return as_finished(small_rows[:1])


def test_what_is_kept_is_found_again(folder: Folder, finished: Finished) -> None:
    kept = KeptShards(folder, print)
    assert not kept
    assert kept.held("k") == {}
    kept.keep("k", Shard(2, 8), finished.rows)
    kept.keep("k", Shard(0, 8), finished.rows)
    kept.keep("other", Shard(0, 1), finished.rows)
    again = KeptShards(folder, print)
    assert again
    assert set(again.held("k")) == {Shard(2, 8), Shard(0, 8)}
    assert again.held("k")[Shard(2, 8)] == finished.rows.to_pylist()[0]
    again.drop("k")
    again.drop("k")
    assert again.held("k") == {}
    again.drop_all_but(lambda key: key != "other")
    assert folder.names(FOLDER) == []


def test_what_is_damaged_is_done_again(folder: Folder, finished: Finished) -> None:
    told: list[str] = []
    kept = KeptShards(folder, told.append)
    kept.keep("k", Shard(0, 2), finished.rows)
    kept.keep("k", Shard(1, 2), finished.rows)
    name, _ = folder.names(FOLDER)[0]
    content = bytearray(folder.read(name))
    content[len(content) // 2] ^= 1
    folder.write(name, bytes(content))
    assert set(kept.held("k")) == {Shard(1, 2)}
    assert len(told) == 1
    assert "the shard is done again" in told[0]


def test_a_store_forgets_shards_of_what_is_answered(
    tmp_path: Path, small_rows: list[dict[str, Any]]
) -> None:
    first, second = small_rows[:2]
    sweep = without_dask.small_sweep()
    with stores.create(tmp_path / "out", sweep, print) as store:
        for row in (first, second):
            store.save_shard(row["key"], Shard(0, 2), as_finished([row]))
        failed = {**second, "status": "error", "error": "no"}
        store.add(as_finished([first, failed]))
        store.flush()
        assert store.shards.held(first["key"]) == {}
        assert store.shards.held(second["key"])
        store.save_shard(first["key"], Shard(0, 2), as_finished([first]))  # it comes too late
        assert store.shards.held(first["key"]) == {}
        store.shards.keep(first["key"], Shard(1, 2), as_finished([first]).rows)
    with stores.create(tmp_path / "out", sweep, print) as store:
        assert store.shards.held(first["key"]) == {}
        assert store.shards.held(second["key"])
