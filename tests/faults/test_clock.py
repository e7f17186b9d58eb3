"""A clock that jumps by a day changes nothing."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from sweep.store.sweep_status import sweep_status
from tests.helpers.drivers import STEPS, Drive, alike, outcome_of, wait_for_done

pytestmark = pytest.mark.faults

DAY = 86_400
HOUR = 3600


@pytest.mark.parametrize("jump", [DAY, -DAY])
def test_a_clock_that_jumps_in_mid_sweep_changes_nothing(
    tmp_path: Path, quiet: pd.DataFrame, jump: int
) -> None:
    drive = Drive(tmp_path)
    drive.environment["TREESWEEP_TEST_CLOCK"] = str(jump)  # of driver and workers alike
    drive.hold(2)
    with drive.start("run", STEPS) as process:
        wait_for_done(process, 2)
        drive.wait_until_held()
        (tmp_path / "jump").touch()
        drive.release()
        out, err = process.communicate()
    assert process.returncode == 0, err
    outcome = outcome_of(out)
    assert outcome["ran"] == len(quiet)
    assert 0 < outcome["seconds"] < HOUR
    rows = drive.rows()
    pd.testing.assert_frame_equal(alike(rows), quiet)
    lasted = (rows["finished"] - rows["started"]).dt.total_seconds()
    assert lasted.between(0, HOUR).all()
    started = rows["started"].sort_values()
    assert (started.iloc[-1] - started.iloc[0]).total_seconds() > DAY / 2  # it did jump
    assert not sweep_status(drive.out).live


@pytest.mark.parametrize("jump", [DAY, -DAY])
def test_a_task_that_is_run_again_after_a_jump_has_its_last_answer(
    tmp_path: Path, jump: int
) -> None:
    """Attempts count, not times."""
    drive = Drive(tmp_path, workers=1)
    spec = """
name: twice
datasets: [monks-1]
encodings: [onehot]
lambdas: [0.2, 0.1]
solvers: [sober]
"""
    assert drive.finish("run", spec)["failed"] == 2
    assert set(drive.rows()["status"]) == {"error"}
    drive.environment["TREESWEEP_TEST_CLOCK"] = str(jump)
    (tmp_path / "jump").touch()
    outcome = drive.finish("resume")
    assert (outcome["ran"], outcome["failed"]) == (2, 0)
    assert set(drive.rows()["status"]) == {"heuristic"}
    assert drive.finish("resume")["ran"] == 0
