"""Tests of what a store promises: store.py, part_files.py and results.py."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from solver.errors import InputError
from solver.trees.tree import Tree
from sweep.plan.plan import make_plan
from sweep.rows import schema
from sweep.rows.result_rows import Checkpoint, as_finished
from sweep.rows.schema import PROOF_CONTENT
from sweep.spec.spec import parse_spec
from sweep.store import certificate_files, checksummed_parquet
from sweep.store import part_files as parts
from sweep.store import store as stores
from sweep.store.plan_file import read_plan, survey
from sweep.store.read_results import read_results
from sweep.store.sweep_status import sweep_status
from sweep.verify.verify import verify_sweep
from tests.helpers import without_dask

Rows = list[dict[str, Any]]


def root_of(store: stores.Store) -> Path:
    return Path(store.folder.place)


def inodes(store: stores.Store) -> list[int]:
    return [(root_of(store) / name).stat().st_ino for name in store.parts.names()]


def names_of(store: stores.Store) -> list[str]:
    return [name.rpartition("/")[2] for name in store.parts.names()]


@pytest.fixture
def store(tmp_path: Path) -> Any:
    sweep = without_dask.small_sweep()
    with stores.create(tmp_path / "out", sweep, print) as opened:
        survey(make_plan(sweep), opened)
        yield opened


def test_rows_come_back_as_they_went_in(store: stores.Store, small_rows: Rows) -> None:
    for row in small_rows:
        store.add(as_finished([row]))
    store.flush()
    frame = read_results(store.folder)
    assert list(frame.columns) == schema.SCHEMA.names
    assert len(frame) == len(small_rows)
    back = parts.Parts(store.folder).read().to_pylist()
    assert back == small_rows
    Tree.from_json(back[0]["tree"])


def test_any_parquet_reader_can_read_it(store: stores.Store, small_rows: Rows) -> None:
    for number, row in enumerate(small_rows):
        store.add(as_finished([row]))
        if number % 5 == 0:
            store.flush()
    store.flush()
    folder = root_of(store) / "rows"
    assert len(pd.read_parquet(folder)) == len(small_rows)
    assert ds.dataset(folder).to_table().schema.equals(schema.SCHEMA)
    # Plain types only: a row can be put into any database.
    table = pd.concat(map(pd.read_parquet, sorted(folder.glob("*.parquet"))))
    with sqlite3.connect(":memory:") as database:
        table.drop(columns=["trace"]).astype({"started": str, "finished": str}).to_sql(
            "results", database
        )
        (count,) = database.execute("select count(distinct key) from results").fetchone()
    assert count == len(small_rows)


def test_rows_are_written_when_they_cost_enough_or_waited_long(
    store: stores.Store, small_rows: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = small_rows[0]
    store.add(as_finished([row]))
    store.maybe_flush()
    assert len(store.parts.names()) == 0
    store.add(as_finished([small_rows[1]], seconds=6))
    store.maybe_flush()
    assert len(store.parts.names()) == 1
    store.add(as_finished([small_rows[2]]))
    monkeypatch.setattr(stores, "FLUSH_SECONDS", 0.0)
    store.maybe_flush()
    assert len(store.parts.names()) == 2


def test_closing_writes_what_is_left(tmp_path: Path) -> None:
    rows = without_dask.finish(tmp_path / "out")
    assert len(read_results(tmp_path / "out")) == len(rows)
    with stores.Store(tmp_path / "out", print) as again:
        assert set(again.answers.keys()) == {row["key"] for row in rows}


def test_a_later_attempt_replaces_a_failed_one(store: stores.Store, small_rows: Rows) -> None:
    good = small_rows[0]
    results = [n for n in schema.SCHEMA.names if n in ("tree", "objective", "errors", "gap")]
    bad = {**good, **dict.fromkeys(results), "status": "killed", "error": "killed: …"}
    store.add(as_finished([bad]))
    store.flush()
    assert store.answers.attempts(good["key"]) == 1
    store.add(as_finished([{**good, "attempt": 2}]))
    store.flush()
    assert read_results(store.folder)["status"].tolist() == [good["status"]]
    assert len(read_results(store.folder, every_run=True)) == 2
    store.compact()
    assert len(read_results(store.folder, every_run=True)) == 1


def test_compaction_keeps_every_row_and_large_parts(
    store: stores.Store, small_rows: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parts, "LARGE", 5)
    for row in small_rows[:5]:
        store.add(as_finished([row]))
    store.flush()
    for row in small_rows[5:]:
        store.add(as_finished([row]))
        store.flush()
    before = read_results(store.folder)
    large = inodes(store)[0]
    names = set(names_of(store))
    store.compact()
    pd.testing.assert_frame_equal(read_results(store.folder), before)
    assert large in inodes(store)
    assert len(store.parts.names()) < len(names)
    assert not names & set(names_of(store))


def test_a_reader_never_sees_a_row_twice_or_not_at_all(
    store: stores.Store, small_rows: Rows
) -> None:
    """Readers of our own and of others, while parts come and are compacted."""
    for row in small_rows:
        store.add(as_finished([row]))
        store.flush()
    expected = {row["key"] for row in small_rows}
    seen: list[list[str]] = []
    done = threading.Event()

    def read_ours() -> None:
        while not done.is_set():
            seen.append(read_results(store.folder, every_run=True)["key"].tolist())

    def read_plainly() -> None:
        while not done.is_set():
            parts = list((root_of(store) / "rows").glob("*.parquet"))
            try:
                tables = [pq.read_table(part) for part in parts]
            except FileNotFoundError:
                continue  # loud, not wrong
            seen.append([key for table in tables for key in table["key"].to_pylist()])

    with ThreadPoolExecutor() as pool:
        readers = [pool.submit(f) for f in (read_ours, read_ours, read_plainly)]
        for _ in range(25):
            store.compact()
        done.set()
        for reader in readers:
            reader.result()
    assert len(seen) > 5
    assert all(sorted(keys) == sorted(expected) for keys in seen)


def test_many_parts_are_compacted_on_the_way(
    store: stores.Store, small_rows: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stores, "MANY_PARTS", 4)
    for row in small_rows:
        store.add(as_finished([row]))
        store.flush()
        assert len(store.parts.names()) <= 4
    assert len(read_results(store.folder)) == len(small_rows)


@pytest.mark.parametrize("damage", ["cut", "empty", "flipped"])
def test_a_damaged_part_is_named_set_aside_and_its_tasks_are_done_again(
    tmp_path: Path, damage: str
) -> None:
    rows = without_dask.finish(tmp_path / "out")
    (part,) = (tmp_path / "out" / "rows").glob("*.parquet")
    content = part.read_bytes()
    flipped = content[:99] + bytes([content[99] ^ 1]) + content[100:]
    damaged = {"cut": content[:-100], "empty": b"", "flipped": flipped}[damage]
    part.write_bytes(damaged)
    with pytest.raises(InputError) as caught:
        read_results(tmp_path / "out")
    assert f"{part.name} is damaged" in str(caught.value)
    assert f"'treesweep resume {tmp_path / 'out'}' sets it aside" in str(caught.value)
    told: list[str] = []
    with stores.Store(tmp_path / "out", told.append) as store:
        remaining, answered = survey(make_plan(without_dask.small_sweep()), store)
        assert (len(remaining), answered) == (len(rows), 0)
    (note,) = told
    assert part.name in note
    assert f"it is now damaged/{part.name}, and what it held is computed again" in note
    assert (tmp_path / "out" / "damaged" / part.name).read_bytes() == damaged
    assert len(read_results(tmp_path / "out")) == 0


def test_a_part_that_is_none_is_named_and_left_alone(tmp_path: Path) -> None:
    without_dask.finish(tmp_path / "out")
    (part,) = (tmp_path / "out" / "rows").glob("*.parquet")
    part.write_bytes(checksummed_parquet.to_bytes(pa.table({"a": [1]})))
    for ask in (read_results, lambda place: stores.Store(place, print)):
        with pytest.raises(InputError, match=rf"{part.name} does not .*move it away"):
            ask(tmp_path / "out")


def test_a_flipped_byte_is_found_or_changes_nothing(tmp_path: Path, small_rows: Rows) -> None:
    folder = parts.Parts(tmp_path)
    part, table = tmp_path / "a.parquet", pa.Table.from_pylist(small_rows, schema=schema.SCHEMA)
    checksummed_parquet.write_table(folder.folder, part.name, table)
    content, rows = part.read_bytes(), folder.table(part.name)
    found: list[str] = []
    for at in range(4, len(content), 211):
        part.write_bytes(content[:at] + bytes([content[at] ^ 255]) + content[at + 1 :])
        try:
            assert folder.table(part.name).equals(rows)
        except InputError as error:
            found.append(str(error))
    assert len(found) > 50
    assert all(part.name in message for message in found)


def test_what_a_crash_leaves_is_cleaned_up(tmp_path: Path) -> None:
    rows = without_dask.finish(tmp_path / "out")
    root = tmp_path / "out"
    (root / "rows" / ".part-00000009.parquet.1.tmp").write_bytes(b"half")
    (root / ".generations" / "00000007").mkdir()
    assert len(read_results(root)) == len(rows)
    with stores.Store(root, print):
        pass
    (part,) = (root / "rows").iterdir()
    assert re.fullmatch(r"part-00000001-[0-9a-f]{8}\.parquet", part.name)
    assert len(list((root / ".generations").iterdir())) == 1


def test_a_copy_that_followed_the_link_still_works(tmp_path: Path) -> None:
    rows = without_dask.finish(tmp_path / "out")
    shutil.copytree(
        tmp_path / "out", tmp_path / "copy", ignore=lambda *_: [".generations", ".lock"]
    )
    assert (tmp_path / "copy" / "rows").is_dir()
    assert len(read_results(tmp_path / "copy")) == len(rows)
    with stores.Store(tmp_path / "copy", print) as store:
        store.compact()
        assert len(read_results(tmp_path / "copy")) == len(rows)


def test_other_folders_are_refused_and_left_alone(tmp_path: Path) -> None:
    sweep = without_dask.small_sweep()
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").write_text("…")
    (tmp_path / "file").write_text("…")
    stores.create(
        tmp_path / "other",
        without_dask.small_sweep(without_dask.SPEC.replace("small", "big")),
        print,
    ).close()
    before = sorted(p for p in tmp_path.rglob("*"))
    for name, message in [
        ("full", "is not empty and holds no sweep"),
        ("file", "is a file"),
        ("other", "holds the sweep 'big', not 'small'"),
    ]:
        with pytest.raises(InputError, match=message):
            stores.create(tmp_path / name, sweep, print)
    assert sorted(p for p in tmp_path.rglob("*")) == before
    for path in (tmp_path / "none", tmp_path / "full"):
        with pytest.raises(InputError, match=r"no folder|no sweep's folder"):
            read_results(path)


@pytest.mark.parametrize("version", [0, 2, 99, None])
def test_a_store_of_another_version_is_refused(tmp_path: Path, version: int | None) -> None:
    without_dask.finish(tmp_path / "out")
    manifest = tmp_path / "out" / "manifest.json"
    content = {**json.loads(manifest.read_text()), "version": version}
    del content["sha256"]
    manifest.write_text(json.dumps(content))
    for ask in (read_results, sweep_status, stores.stored_sweep):
        with pytest.raises(InputError, match=rf"store version {version}, this .* version 1; use"):
            ask(tmp_path / "out")


def test_a_manifest_that_was_damaged_can_be_written_anew(tmp_path: Path) -> None:
    rows = without_dask.finish(tmp_path / "out")
    manifest = tmp_path / "out" / "manifest.json"
    manifest.write_bytes(manifest.read_bytes()[:-5])
    with pytest.raises(InputError, match=r"remove it and run the sweep's file again"):
        stores.create(tmp_path / "out", without_dask.small_sweep(), print)
    manifest.unlink()
    stores.create(tmp_path / "out", without_dask.small_sweep(), print).close()
    assert len(read_results(tmp_path / "out")) == len(rows)


def test_one_driver_at_a_time(store: stores.Store) -> None:
    with pytest.raises(InputError, match=r"another treesweep \(process \d+ on .*\) is working on"):
        stores.Store(store.folder, print)


def test_checkpoints_are_replaced_and_go_when_the_row_is_there(
    store: stores.Store, small_rows: Rows
) -> None:
    key = small_rows[0]["key"]
    assert store.checkpoint(key) is None
    for seconds in (1.0, 2.0):
        store.save_checkpoint(Checkpoint(key, "{}", "1/2", "1/4", seconds, 5, 6))
    found = store.checkpoint(key)
    assert found is not None
    assert (found.seconds, str(found.gap)) == (2.0, "1/4")
    store.add(as_finished([small_rows[0]]))
    store.flush()


def test_a_damaged_checkpoint_is_as_good_as_none(store: stores.Store) -> None:
    store.save_checkpoint(Checkpoint("a", "{}", "1/2", "1/4", 1.0, 5, 6))
    (root_of(store) / "checkpoints" / "a.parquet").write_bytes(b"PAR1")
    assert store.checkpoint("a") is None


@pytest.mark.parametrize("status, again", [("optimal", 0), ("time_limit", 12), ("error", 12)])
def test_a_larger_limit_runs_only_what_hit_the_smaller_one(
    store: stores.Store, small_rows: Rows, status: str, again: int
) -> None:
    for row in small_rows:
        changed = {"status": status} if row["solver"] == "branches" else {}
        store.add(as_finished([{**row, **changed}]))
    larger = make_plan(
        without_dask.small_sweep(without_dask.SPEC.replace("seconds: 60", "seconds: 90"))
    )
    remaining, answered = survey(larger, store)
    branches = sum(row["solver"] == "branches" for row in small_rows)
    assert len(small_rows) == 24
    assert branches == 12
    assert len(remaining) == again
    assert answered == 24 - again
    plan = read_plan(store.folder)
    assert plan["answered_by"].isna().sum() == again
    smaller = make_plan(
        without_dask.small_sweep(without_dask.SPEC.replace("seconds: 60", "seconds: 30"))
    )
    assert len(survey(smaller, store)[0]) == 24


@pytest.mark.parametrize("hours", [-1, 0, 1])
def test_results_show_the_row_that_counts_whatever_the_clocks_say(
    store: stores.Store, small_rows: Rows, hours: int
) -> None:
    good = small_rows[0]
    finished = good["finished"] + pd.Timedelta(hours=hours)
    none = dict.fromkeys(("tree", "objective", "errors", "gap"))
    other = {**good, "status": "time_limit", "limits": '{"seconds":1.0}', "key": "0e" * 32}
    store.add(as_finished([other, {**good, **none, "status": "error", "error": "why"}]))
    store.add(as_finished([{**good, "attempt": 2, "finished": finished}]))
    store.add(as_finished([{**good, "attempt": 3, "status": "time_limit"}]))
    store.flush()
    assert len(read_results(store.folder, every_run=True)) == 4
    found = read_results(store.folder)
    assert found[["key", "attempt"]].to_numpy().tolist() == [[good["key"], 2]]
    assert sweep_status(store.folder.place).statuses == {good["status"]: 1}
    store.compact()
    pd.testing.assert_frame_equal(read_results(store.folder), found)
    assert len(read_results(store.folder, every_run=True)) == 2


def test_a_full_disk_is_told_and_loses_no_row(
    store: stores.Store, small_rows: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*arguments: Any, **options: Any) -> None:
        raise OSError(28, "No space left on device")

    store.add(as_finished([small_rows[0]]))
    with monkeypatch.context() as patch:
        patch.setattr("sweep.filesystem.disk._sync", full)
        with pytest.raises(InputError, match=r"cannot write .*No space left on device; make room"):
            store.flush()
    store.flush()
    assert len(read_results(store.folder)) == 1


def with_certificate(row: dict[str, Any], content: bytes) -> dict[str, Any]:
    return {**row, "proof": certificate_files.relative_path(row["key"]), PROOF_CONTENT: content}


def test_a_certificate_is_on_the_disk_before_its_row(
    store: stores.Store, small_rows: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = with_certificate(small_rows[0], b"proof")
    path = root_of(store) / row["proof"]
    there: list[bool] = []
    append = store.parts.append
    monkeypatch.setattr(store.parts, "append", lambda t: there.append(path.exists()) or append(t))
    store.add(as_finished([row]))
    assert not path.exists()
    store.flush()
    assert there == [True]
    assert path.read_bytes() == b"proof"
    assert read_results(store.folder)["proof"].tolist() == [row["proof"]]


def test_a_certificate_for_which_there_is_no_room_is_written_later(
    store: stores.Store, small_rows: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [with_certificate(row, row["key"].encode()) for row in small_rows[:3]]
    for row in rows:
        store.add(as_finished([dict(row)]))

    def full(path: Path) -> None:
        if rows[1]["key"] in path.name:
            raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("sweep.filesystem.disk._sync", full)
        with pytest.raises(InputError, match=r"No space left on device; make room"):
            store.flush()
    assert len(read_results(store.folder)) == 0
    store.flush()
    assert len(read_results(store.folder)) == 3
    assert all((root_of(store) / row["proof"]).read_bytes() == row[PROOF_CONTENT] for row in rows)


def test_a_part_without_a_column_is_refused(tmp_path: Path) -> None:
    without_dask.finish(tmp_path / "out")
    (part,) = (tmp_path / "out" / "rows").glob("*.parquet")
    part.write_bytes(checksummed_parquet.to_bytes(pq.read_table(part).drop_columns(["trace"])))
    with pytest.raises(InputError, match=r"does not have the columns of schema version 1; it was"):
        read_results(tmp_path / "out")


@pytest.mark.parametrize("where", ["disk", "s3"])
def test_what_a_driver_writes_after_it_was_taken_for_dead_is_not_among_the_rows(
    request: pytest.FixtureRequest, tmp_path: Path, small_rows: Rows, where: str
) -> None:
    """It was stopped between looking at its lease and writing."""
    place = tmp_path if where == "disk" else f"{request.getfixturevalue('bucket')}/out"
    rows = [pa.Table.from_pylist([row], schema=schema.SCHEMA) for row in small_rows[:3]]
    first, second = parts.Parts(place, "a1"), parts.Parts(place, "b2")
    first.create()
    first.append(rows[0])
    second.create()
    second.fence()
    second.append(rows[1])
    first.append(rows[2])
    assert second.read().to_pylist() == small_rows[:2]
    second.discard_old()
    first.append(rows[2])
    second.compact()
    assert second.read().to_pylist() == small_rows[:2]


def test_a_plan_of_an_earlier_file_is_told_and_made_anew(tmp_path: Path) -> None:
    """A driver that ends between writing the file and the plan leaves two that do not match."""
    without_dask.finish(tmp_path / "out")
    edited = without_dask.small_sweep(without_dask.SPEC.replace("[branches, cart]", "[cart]"))
    with stores.create(tmp_path / "out", edited, print):
        with pytest.raises(InputError, match="is still making the plan; look again"):
            read_plan(tmp_path / "out")
    for read in (read_plan, read_results, sweep_status, verify_sweep):
        with pytest.raises(InputError, match=r"the plan of .* is that of an earlier sweep;"):
            read(tmp_path / "out")
    with stores.create(tmp_path / "out", edited, print) as store:
        survey(make_plan(edited), store)
    assert set(read_plan(tmp_path / "out")["solver"]) == {"cart"}


def test_a_plan_of_another_base_folder_is_not_todays(tmp_path: Path) -> None:
    sweep = without_dask.small_sweep()
    without_dask.finish(tmp_path / "out", sweep)
    moved = parse_spec(sweep.text, tmp_path)
    with stores.create(tmp_path / "out", moved, print):
        pass
    with pytest.raises(InputError, match=r"the plan of .* is that of an earlier sweep;"):
        read_plan(tmp_path / "out")


def test_a_sweep_file_that_was_changed_in_the_folder_is_named(tmp_path: Path) -> None:
    without_dask.finish(tmp_path / "out")
    file = tmp_path / "out" / "sweep.yaml"
    file.write_text(file.read_text().replace("[branches, cart]", "[cart]"))
    for read in (read_plan, read_results, sweep_status, verify_sweep):
        with pytest.raises(InputError, match=r"sweep.yaml is not what was written there; if you"):
            read(tmp_path / "out")
