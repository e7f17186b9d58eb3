"""Tests of sweep/lock.py and sweep/files.py."""

from __future__ import annotations

import json
import os
import socket
import time
from pathlib import Path

import pytest

from solver.errors import InputError
from sweep import files
from sweep.lock import STALE, DriverLock, is_live, read_life


def test_a_lock_is_one_drivers_until_it_lets_go(tmp_path: Path) -> None:
    assert not is_live(tmp_path)
    first = DriverLock(tmp_path)
    first.acquire()
    assert is_live(tmp_path)
    with pytest.raises(InputError, match=f"process {os.getpid()} on {socket.gethostname()}"):
        DriverLock(tmp_path).acquire()
    first.release()
    assert not is_live(tmp_path)
    second = DriverLock(tmp_path)
    second.acquire()
    second.release()


def test_a_sign_of_life_says_how_far_it_is(tmp_path: Path) -> None:
    assert read_life(tmp_path) is None
    lock = DriverLock(tmp_path)
    lock.acquire()
    lock.beat({"done": 5})
    life = read_life(tmp_path)
    assert life is not None
    assert life.numbers == {"done": 5}
    assert abs(life.updated - time.time()) < 10
    lock.release()


@pytest.mark.parametrize("host, age, live", [("far", 1.0, True), ("far", 2 * STALE, False)])
def test_a_driver_on_another_machine_lives_while_it_is_heard_of(
    tmp_path: Path, host: str, age: float, live: bool
) -> None:
    (tmp_path / ".lock").touch()
    life = {"pid": 1, "host": host, "updated": time.time() - age, "numbers": {"active": True}}
    (tmp_path / "driver.json").write_text(json.dumps(life))
    assert is_live(tmp_path) is live


def test_a_damaged_sign_of_life_is_none(tmp_path: Path) -> None:
    (tmp_path / "driver.json").write_text("{")
    assert read_life(tmp_path) is None


def test_a_failed_write_leaves_the_old_content_and_no_rest(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    files.write_json(path, {"a": 1})

    def fail(to: Path) -> None:
        to.write_text("half")
        raise OSError(28, "No space left on device")

    with pytest.raises(InputError, match=r"cannot write .*a.json: No space left on device"):
        files.replace(path, fail)
    assert files.read_json(path) == {"a": 1}
    assert os.listdir(tmp_path) == ["a.json"]


def test_json_that_is_missing_or_damaged_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot read .*b.json"):
        files.read_json(tmp_path / "b.json")
    (tmp_path / "b.json").write_text("{")
    with pytest.raises(InputError, match=r"b.json is damaged"):
        files.read_json(tmp_path / "b.json")
