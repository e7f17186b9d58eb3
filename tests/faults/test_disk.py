"""A disk that fills and has room again; parts that are damaged."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pandas as pd
import pytest

from tests.helpers import wait_until
from tests.helpers.drivers import STEPS, Drive, alike, wait_for_done, wait_for_note

pytestmark = pytest.mark.faults


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 2 MiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(command, capture_output=True).returncode != 0:
        pytest.skip("mounting a small disk takes root")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def fill(disk: Path) -> Path:
    """Leave no byte of room; the file that is in the way."""
    ballast = disk / "ballast"
    with suppress(OSError), ballast.open("wb", buffering=0) as file:
        for size in (2**16, 2**10, 1):
            with suppress(OSError):
                while file.write(b"x" * size):
                    pass
    return ballast


def test_a_disk_that_fills_is_waited_for(
    tmp_path: Path, small_disk: Path, quiet: pd.DataFrame
) -> None:
    drive = Drive(tmp_path)
    drive.out = small_disk / "out"
    drive.hold(2)
    with drive.start("run", STEPS) as process:
        wait_for_done(process, 2)
        drive.wait_until_held()
        ballast = fill(small_disk)
        drive.hold(4)
        wait_for_note(process, "finished tasks wait in memory")
        drive.wait_until_held()
        time.sleep(5)
        assert process.poll() is None
        assert len(drive.rows()) < len(quiet)  # what is stored can be read meanwhile
        ballast.unlink()
        drive.release()
        wait_for_note(process, "can be written to again")
        out, err = process.communicate()
    assert process.returncode == 0, out + err
    pd.testing.assert_frame_equal(alike(drive.rows()), quiet)
    assert drive.finish("resume")["ran"] == 0


def test_a_driver_that_ends_while_the_disk_is_full_is_followed_by_another(
    tmp_path: Path, small_disk: Path, quiet: pd.DataFrame
) -> None:
    drive = Drive(tmp_path)
    drive.out = small_disk / "out"
    drive.hold(2)
    with drive.start("run", STEPS) as process:
        wait_for_done(process, 2)
        drive.wait_until_held()
        ballast = fill(small_disk)
        drive.hold(4)
        wait_for_note(process, "finished tasks wait in memory")
        process.kill()
    before = drive.rows()
    ballast.unlink()
    drive.release()
    assert drive.finish("resume")["code"] == 0
    rows = drive.rows()
    pd.testing.assert_frame_equal(alike(rows), quiet)
    kept = rows.set_index("key").loc[before["key"], "started"]
    assert kept.tolist() == before["started"].tolist()


def parts_of(drive: Drive) -> list[Path]:
    return sorted((drive.out / "rows").glob("part-*.parquet"))


def test_damaged_parts_are_named_and_their_tasks_are_done_again(
    tmp_path: Path, quiet: pd.DataFrame
) -> None:
    drive = Drive(tmp_path, workers=1)
    drive.hold()
    with drive.start("run", STEPS) as process:
        for number in (1, 2, 3):
            drive.hold(number)
            wait_until(lambda at_least=number: len(parts_of(drive)) >= at_least)
        process.kill()
    drive.release()
    before = drive.rows().set_index("key")["started"]
    flipped, emptied, *_ = parts_of(drive)
    for part in (flipped, emptied):
        before = before.drop(pd.read_parquet(part, columns=["key"])["key"])
    assert len(before) >= 1
    content = bytearray(flipped.read_bytes())
    content[len(content) // 3] ^= 16
    flipped.write_bytes(content)
    emptied.write_bytes(b"")
    with drive.start("resume") as process:
        out, err = process.communicate()
    assert process.returncode == 0, err
    assert out.count("what it held is computed again") == 2
    for part in (flipped, emptied):
        assert part.name in out
        assert (drive.out / "damaged" / part.name).exists()
    rows = drive.rows()
    pd.testing.assert_frame_equal(alike(rows), quiet)
    after = rows.set_index("key")["started"]
    assert (after[before.index] == before).all()  # nothing else is done again
    assert drive.finish("resume")["ran"] == 0
