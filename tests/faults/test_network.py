"""The network between driver and cluster is cut, and heals: scheduler and workers are in a network
namespace of their own, at the other end of a virtual cable."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

from tests.helpers.dask_processes import Lab
from tests.helpers.drivers import FAULTY, STEPS, Drive, alike, wait_for_done

pytestmark = pytest.mark.faults

TCP_SECONDS = 11
"""What is sent may stay without an answer for so long; 30 outside of this test."""


class Cable:
    """A cable to a network namespace."""

    def __init__(self) -> None:
        self.space = f"treesweep-{os.getpid()}"
        self.near, self.far = f"tsn{os.getpid()}", f"tsf{os.getpid()}"
        net = os.getpid() % 250
        self.here, self.there = f"10.213.{net}.1", f"10.213.{net}.2"

    def lay(self) -> None:
        _ip("netns", "add", self.space)
        _ip("link", "add", self.near, "type", "veth", "peer", "name", self.far)
        _ip("link", "set", self.far, "netns", self.space)
        _ip("addr", "add", f"{self.here}/24", "dev", self.near)
        _ip("link", "set", self.near, "up")
        _ip("-n", self.space, "addr", "add", f"{self.there}/24", "dev", self.far)
        for device in ("lo", self.far):
            _ip("-n", self.space, "link", "set", device, "up")

    def cut(self) -> None:
        _ip("link", "set", self.near, "down")

    def heal(self) -> None:
        _ip("link", "set", self.near, "up")

    def remove(self) -> None:
        for command in (["link", "del", self.near], ["netns", "del", self.space]):
            subprocess.run(["ip", *command], capture_output=True)


def _ip(*words: str) -> None:
    done = subprocess.run(["ip", *words], capture_output=True, text=True)
    if done.returncode:
        raise OSError(done.stderr.strip())


@pytest.fixture
def cable() -> Iterator[Cable]:
    if shutil.which("ip") is None or os.geteuid() != 0:
        pytest.skip("network namespaces need root and the command ip")
    found = Cable()
    try:
        try:
            found.lay()
        except OSError as error:
            pytest.skip(f"no network namespace can be made here: {error}")
        yield found
    finally:
        found.remove()


@pytest.fixture
def far(tmp_path: Path, cable: Cable) -> Iterator[Lab]:
    """A cluster at the other end of the cable."""
    found = Lab(
        tmp_path,
        host=cable.there,
        wrap=["ip", "netns", "exec", cable.space],
        settings={**FAULTY, **SETTINGS, "TREESWEEP_TEST_SCRATCH": str(tmp_path)},
    )
    for name in ("one", "two"):
        found.worker(name)
    yield found
    found.close()


SETTINGS = {"DASK_DISTRIBUTED__COMM__TIMEOUTS__TCP": f"{TCP_SECONDS}s"}


def _drive(folder: Path, far: Lab) -> Drive:
    drive = Drive(folder, workers=far.address)
    drive.environment |= SETTINGS
    return drive


def test_a_short_cut_is_waited_for(
    tmp_path: Path, cable: Cable, far: Lab, quiet: pd.DataFrame
) -> None:
    drive = _drive(tmp_path, far)
    drive.hold(2)
    with drive.start("run", STEPS) as process:
        wait_for_done(process, 2)
        drive.wait_until_held()
        cable.cut()
        drive.hold(4)  # the workers have something to tell
        time.sleep(0.4 * TCP_SECONDS)
        assert process.poll() is None
        cable.heal()
        drive.release()
        out, err = process.communicate()
    assert process.returncode == 0, out + err
    assert "is gone" not in out
    pd.testing.assert_frame_equal(alike(drive.rows()), quiet)


@pytest.mark.parametrize("heals", [False, True])
def test_a_long_cut_ends_the_driver_with_a_line_and_resume_goes_on(
    tmp_path: Path, cable: Cable, far: Lab, quiet: pd.DataFrame, heals: bool
) -> None:
    """``heals``: while Dask's client tries to connect again, which is of no use to us."""
    drive = _drive(tmp_path, far)
    drive.hold(2)
    with drive.start("run", STEPS) as process:
        wait_for_done(process, 2)
        drive.wait_until_held()
        cable.cut()
        drive.hold(4)  # the workers have something to tell
        if heals:
            time.sleep(1.8 * TCP_SECONDS)
            cable.heal()
        _, err = process.communicate()
    assert process.returncode == 2, err
    assert "the connection to the Dask scheduler is lost" in err
    assert "Traceback" not in err
    paid = drive.rows()
    assert len(paid) >= 1
    cable.heal()
    drive.release()
    time.sleep(TCP_SECONDS)  # until the scheduler has noticed as well
    assert drive.finish("resume")["code"] == 0
    rows = drive.rows()
    pd.testing.assert_frame_equal(alike(rows), quiet)
    kept = rows.set_index("key").loc[paid["key"], "started"]
    assert (kept.to_numpy() == paid["started"].to_numpy()).all()
