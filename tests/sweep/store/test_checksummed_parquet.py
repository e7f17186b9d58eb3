"""Tests of sweep/store/checksummed_parquet.py."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sweep.storage import Folder, open_folder
from sweep.store import checksummed_parquet

TABLE = pa.table({"n": list(range(100)), "text": [f"treesweep-sha256 {n}" for n in range(100)]})


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return open_folder(tmp_path)


def test_any_reader_reads_a_sealed_file(folder: Folder, tmp_path: Path) -> None:
    checksummed_parquet.write_table(folder, "a.parquet", TABLE)
    assert checksummed_parquet.read_table(folder, "a.parquet").equals(TABLE)
    assert checksummed_parquet.read_table(folder, "a.parquet", ["text", "none"]).column_names == [
        "text"
    ]
    assert pq.read_table(tmp_path / "a.parquet").equals(TABLE)
    assert pq.read_schema(tmp_path / "a.parquet").equals(TABLE.schema)


@pytest.mark.parametrize("large", [False, True])
def test_every_changed_byte_is_found_or_is_of_the_name_of_the_sum(
    folder: Folder, large: bool
) -> None:
    if large:
        with checksummed_parquet.created(folder, "a.parquet", TABLE.schema) as writer:
            writer.write_table(TABLE)
            writer.write_table(TABLE)
    else:
        checksummed_parquet.write_table(folder, "a.parquet", TABLE)
    expected = checksummed_parquet.read_table(folder, "a.parquet")
    content = folder.read("a.parquet")
    unseen = 0
    for place in range(len(content)):
        changed = bytearray(content)
        changed[place] ^= 1
        if checksummed_parquet.check(memoryview(changed)) is None:
            folder.write("b.parquet", bytes(changed), durable=False)
            unseen += 1
            with suppress(checksummed_parquet.DamagedError):
                assert checksummed_parquet.read_table(folder, "b.parquet").equals(expected)
    assert unseen == len("treesweep-sha256") + 2
    assert all(checksummed_parquet.check(memoryview(content[:n])) for n in range(len(content)))
    assert checksummed_parquet.check(memoryview(content + b"\0"))


def test_a_file_without_a_sum_is_read_by_its_pages(folder: Folder, tmp_path: Path) -> None:
    pq.write_table(TABLE, tmp_path / "old.parquet", write_page_checksum=True)
    opened = checksummed_parquet.Opened(folder, "old.parquet", "remedy")
    assert not opened.is_sealed
    assert opened.table().equals(TABLE)
    assert opened.schema.equals(TABLE.schema)
    assert [len(batch) for batch in opened.batches(60, ["n"])] == [60, 40]
    content = bytearray(folder.read("old.parquet"))
    content[60] ^= 1
    folder.write("old.parquet", bytes(content))
    with pytest.raises(
        checksummed_parquet.DamagedError, match=r"old\.parquet is damaged \(.*\); move it away"
    ):
        checksummed_parquet.read_table(folder, "old.parquet")


def test_what_is_damaged_says_what_to_do(folder: Folder) -> None:
    folder.write("a.parquet", b"PAR1")
    with pytest.raises(
        checksummed_parquet.DamagedError, match=r"a\.parquet is damaged \(.*\); sing a song"
    ):
        checksummed_parquet.read_table(folder, "a.parquet", remedy="sing a song")
    folder.write("a.parquet", b"nothing")
    with pytest.raises(checksummed_parquet.DamagedError, match="cut short or overwritten"):
        checksummed_parquet.read_table(folder, "a.parquet")
    with pytest.raises(FileNotFoundError):
        checksummed_parquet.read_table(folder, "none.parquet")


def test_a_large_file_that_failed_is_not_there(folder: Folder) -> None:
    with (
        pytest.raises(ZeroDivisionError),
        checksummed_parquet.created(folder, "a", TABLE.schema) as writer,
    ):
        writer.write_table(TABLE)
        _ = 1 / 0
    assert folder.names() == []
