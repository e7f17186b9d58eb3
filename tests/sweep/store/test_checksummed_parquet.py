"""Tests of sweep/store/checksummed_parquet.py."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sweep.filesystem import Folder, open_folder
from sweep.store import checksummed_parquet

TABLE = pa.table({"n": list(range(100)), "text": [f"row {n}" for n in range(100)]})


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return open_folder(tmp_path)


def test_any_reader_reads_a_file_with_a_checksum(folder: Folder, tmp_path: Path) -> None:
    checksummed_parquet.write_table(folder, "a.parquet", TABLE)
    assert checksummed_parquet.read_table(folder, "a.parquet").equals(TABLE)
    assert checksummed_parquet.read_table(folder, "a.parquet", ["text", "none"]).column_names == [
        "text"
    ]
    assert pq.read_table(tmp_path / "a.parquet").equals(TABLE)
    assert pq.read_schema(tmp_path / "a.parquet").equals(TABLE.schema)


@pytest.mark.parametrize("large", [False, True])
def test_every_changed_byte_is_found(folder: Folder, large: bool) -> None:
    if large:
        with checksummed_parquet.created(folder, "a.parquet", TABLE.schema) as writer:
            writer.write_table(TABLE)
            writer.write_table(TABLE)
            writer.add_key_value_metadata({"more": "text"})
    else:
        checksummed_parquet.write_table(folder, "a.parquet", TABLE)
    content = folder.read("a.parquet")
    assert checksummed_parquet.check(memoryview(content)) is None
    for place in range(len(content)):
        changed = bytearray(content)
        changed[place] ^= 1
        assert checksummed_parquet.check(memoryview(changed)) is not None
    assert all(checksummed_parquet.check(memoryview(content[:n])) for n in range(len(content)))
    assert checksummed_parquet.check(memoryview(content + b"\0"))


def test_the_checksum_is_that_of_the_file_without_it(folder: Folder, tmp_path: Path) -> None:
    with checksummed_parquet.created(folder, "a.parquet", TABLE.schema) as writer:
        writer.write_table(TABLE)
        writer.write_table(TABLE)
    assert pq.read_table(tmp_path / "a.parquet").equals(pa.concat_tables([TABLE, TABLE]))
    content = folder.read("a.parquet")
    footer = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    plain = content[: footer - 32] + content[footer:]
    assert pq.read_table(pa.BufferReader(plain)).equals(pa.concat_tables([TABLE, TABLE]))
    assert hashlib.sha256(plain).digest() == content[footer - 32 : footer]


def test_a_file_without_a_checksum_is_refused(folder: Folder, tmp_path: Path) -> None:
    pq.write_table(TABLE, tmp_path / "a.parquet")
    with pytest.raises(checksummed_parquet.DamagedError, match="its checksum does not match"):
        checksummed_parquet.read_table(folder, "a.parquet")


def test_a_table_is_read_in_batches(folder: Folder) -> None:
    checksummed_parquet.write_table(folder, "a.parquet", TABLE)
    opened = checksummed_parquet.Opened(folder, "a.parquet", "remedy")
    assert [len(batch) for batch in opened.batches(60, ["n"])] == [60, 40]


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
