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

from tests.faults.driving import STEPS, Drive, alike, wait_for_done

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
    with drive.start("run", STEPS) as process:
        wait_for_done(process, 2)
        ballast = fill(small_disk)
        time.sleep(8)
        assert process.poll() is None
        assert len(drive.rows()) < len(quiet)  # what is stored can be read meanwhile
        ballast.unlink()
        out, err = process.communicate(timeout=120)
    assert process.returncode == 0, out + err
    assert "finished tasks wait in memory" in out
    assert "can be written to again" in out
    pd.testing.assert_frame_equal(alike(drive.rows()), quiet)
    assert drive.finish("resume")["ran"] == 0


def test_a_driver_that_ends_while_the_disk_is_full_is_followed_by_another(
    tmp_path: Path, small_disk: Path, quiet: pd.DataFrame
) -> None:
    drive = Drive(tmp_path)
    drive.out = small_disk / "out"
    with drive.start("run", STEPS) as process:
        wait_for_done(process, 2)
        ballast = fill(small_disk)
        time.sleep(3)
        process.kill()
    before = drive.rows()
    ballast.unlink()
    assert drive.finish("resume")["code"] == 0
    rows = drive.rows()
    pd.testing.assert_frame_equal(alike(rows), quiet)
    kept = rows.set_index("key").loc[before["key"], "started"]
    assert kept.tolist() == before["started"].tolist()


@pytest.mark.parametrize("fault", ["cut off", "a byte flipped", "empty"])
def test_a_damaged_part_is_named_and_its_tasks_are_done_again(
    tmp_path: Path, quiet: pd.DataFrame, fault: str
) -> None:
    drive = Drive(tmp_path)
    with drive.start("run", STEPS) as process:
        wait_for_done(process, 1)
        deadline = time.monotonic() + 60
        while len(parts := sorted((drive.out / "rows").glob("part-*.parquet"))) < 2:
            assert time.monotonic() < deadline
            time.sleep(0.1)
        process.kill()
    part = parts[0]
    held = set(pd.read_parquet(part, columns=["key"])["key"])
    before = drive.rows().set_index("key")["started"].drop(list(held))
    content = bytearray(part.read_bytes())
    if fault == "a byte flipped":
        content[len(content) // 3] ^= 16
    else:
        del content[len(content) // 2 if fault == "cut off" else 0 :]
    part.write_bytes(content)
    with drive.start("resume") as process:
        out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert part.name in out
    assert "what it held is computed again" in out
    assert part.name in [path.name for path in (drive.out / "damaged").iterdir()]
    rows = drive.rows()
    pd.testing.assert_frame_equal(alike(rows), quiet)
    after = rows.set_index("key")["started"]
    assert (after[before.index] == before).all()  # nothing else is done again
    assert drive.finish("resume")["ran"] == 0
