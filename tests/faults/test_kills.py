"""Processes are killed; afterwards the store is that of a quiet run."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

import pandas as pd
import psutil
import pytest

from sweep.store.sweep_status import sweep_status
from tests.helpers import wait_until
from tests.helpers.drivers import (
    LONG,
    STEPS,
    Drive,
    alike,
    children,
    fork_servers,
    wait_for_done,
    wait_for_note,
    workers,
)

pytestmark = pytest.mark.faults


def test_a_worker_killed_in_mid_task_changes_nothing(tmp_path: Path, quiet: pd.DataFrame) -> None:
    drive = Drive(tmp_path)
    with drive.start("run", STEPS) as process:
        for done in (2, 8):
            wait_for_done(process, done)
            workers(process)[0].kill()
        out, err = process.communicate(timeout=300)
    assert process.returncode == 0, out + err
    assert out.count("is gone: it was killed by signal 9 (SIGKILL)") >= 1
    pd.testing.assert_frame_equal(alike(drive.rows()), quiet)


def test_workers_that_are_asked_to_end_again_and_again_are_no_fault_of_a_task(
    tmp_path: Path,
) -> None:
    drive = Drive(tmp_path, workers=1)
    with drive.start("run", LONG) as process:
        for _ in range(3):
            wait_for_done(process, 0)
            workers(process)[0].terminate()
            wait_for_note(process, "signal 15 (SIGTERM)")
        out, err = process.communicate(timeout=300)
    assert process.returncode == 0, out + err
    assert "killed" not in set(drive.rows()["status"])


@pytest.mark.slow
def test_a_worker_that_takes_long_to_come_back_is_left_alone(tmp_path: Path) -> None:
    """By its own settings Dask's cluster ends such a worker, and starts another one."""
    drive = Drive(tmp_path, workers=1)
    drive.environment["TREESWEEP_TEST_SLOW_START"] = "30"
    with drive.start("run", LONG) as process:
        wait_for_done(process, 0)
        workers(process)[0].kill()
        out, err = process.communicate(timeout=240)
    assert process.returncode == 0, out + err
    assert out.count("is gone") == 1
    assert (tmp_path / "worker-started").stat().st_size == 2
    assert drive.rows()["attempt"].max() == 2


@pytest.mark.parametrize("seconds", [5, pytest.param(60, marks=pytest.mark.slow)])
def test_a_worker_that_is_stopped_for_a_while_goes_on(
    tmp_path: Path, quiet: pd.DataFrame, seconds: int
) -> None:
    drive = Drive(tmp_path)
    with drive.start("run", STEPS) as process:
        wait_for_done(process, 2)
        (one, _) = workers(process)
        one.suspend()
        time.sleep(seconds)
        one.resume()
        out, err = process.communicate(timeout=300)
    assert process.returncode == 0, out + err
    assert "is gone" not in out
    pd.testing.assert_frame_equal(alike(drive.rows()), quiet)


def test_a_driver_killed_again_and_again_loses_only_what_was_not_written(
    tmp_path: Path, quiet: pd.DataFrame
) -> None:
    drive = Drive(tmp_path)
    written: set[str] = set()
    for number, done in enumerate((1, 6, 14)):
        with drive.start("run" if number == 0 else "resume", STEPS) as process:
            wait_for_done(process, done)
            time.sleep(0.4 * number)
            process.kill()
        rows = drive.rows()
        assert written <= set(rows["key"])
        written = set(rows["key"])
        assert not sweep_status(drive.out).live
    assert drive.finish("resume")["code"] == 0
    pd.testing.assert_frame_equal(alike(drive.rows()), quiet)
    assert drive.finish("resume")["ran"] == 0


def test_ctrl_c_once_keeps_what_searches_have_and_resume_goes_on(tmp_path: Path) -> None:
    drive = Drive(tmp_path)
    with drive.start("run", LONG) as process:
        wait_for_done(process, 0)
        wait_until((tmp_path / "stepping").exists)
        time.sleep(1)
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=120)
    assert process.returncode == 130, out + err
    status = sweep_status(drive.out)
    assert status.unfinished >= 1
    assert not status.live
    assert drive.finish("resume")["code"] == 0
    rows = drive.rows().set_index("solver")
    assert set(rows.loc["stepper", "status"]) == {"optimal"}
    assert rows.loc["stepper", "seconds"].max() > 3.1  # the earlier attempt's time is counted
    assert (tmp_path / "started-from-tree").exists()
    assert sweep_status(drive.out).unfinished == 0


def test_ctrl_c_twice_leaves_at_once_with_the_store_intact(tmp_path: Path) -> None:
    drive = Drive(tmp_path)
    with drive.start("run", LONG) as process:
        wait_for_done(process, 0)
        left = children(process)
        os.killpg(process.pid, signal.SIGINT)
        time.sleep(0.05)
        os.killpg(process.pid, signal.SIGINT)
        process.wait(timeout=180)
        assert [*(drive.out / ".drivers").glob("*.claim")]  # there was no time to tidy up
        assert not psutil.wait_procs(left, timeout=10)[1]
    assert process.returncode == 130
    drive.rows()
    assert drive.finish("resume")["code"] == 0
    assert sweep_status(drive.out).done == 4


def test_a_killed_drivers_checkpoints_are_taken_up(tmp_path: Path) -> None:
    drive = Drive(tmp_path, checkpoint=0.3)
    with drive.start("run", LONG) as process:
        wait_for_done(process, 0)
        wait_until(lambda: any((drive.out / "checkpoints").glob("*.parquet")))
        process.kill()
    assert drive.finish("resume")["code"] == 0
    assert (tmp_path / "started-from-tree").exists()
    assert not any((drive.out / "checkpoints").iterdir())


def test_a_worker_of_a_running_cluster_may_die_and_another_may_come(
    tmp_path: Path, quiet: pd.DataFrame, processes: Any
) -> None:
    drive = Drive(tmp_path, workers=processes.address)
    with drive.start("run", STEPS) as process:
        wait_for_done(process, 2)
        victim = psutil.Process(processes.workers[0].pid)
        for child in [victim, *victim.children(recursive=True)]:
            child.kill()
        processes.workers[0].wait()
        processes.worker("three")
        out, err = process.communicate(timeout=300)
    assert process.returncode == 0, out + err
    pd.testing.assert_frame_equal(alike(drive.rows()), quiet)


def test_a_task_that_kills_workers_of_a_running_cluster_takes_two_of_them(
    tmp_path: Path, processes: Any
) -> None:
    drive = Drive(tmp_path, workers=processes.address)
    spec = """
name: killer
datasets: [monks-1]
encodings: [onehot]
lambdas: [0.2]
solvers: [killer, {solver: stepper, options: {steps: 6}}, calm]
"""
    outcome = drive.finish("run", spec)
    assert (outcome["ran"], outcome["failed"]) == (3, 1)
    rows = drive.rows().set_index("solver")
    assert rows.loc["killer", "status"] == "killed"
    assert rows.loc["killer", "attempt"] == 2
    logs = processes.log("one") + processes.log("two")
    assert logs.count("was killed by signal 9") == 2


ENDLESS = """
name: endless
datasets: [monks-1]
encodings: [onehot]
lambdas: [0.4, 0.3, 0.2]
solvers: [{solver: stepper, options: {steps: 100000}}]
"""


def test_a_driver_without_its_lease_ends_though_it_has_nothing_to_write(tmp_path: Path) -> None:
    drive = Drive(tmp_path)
    with drive.start("run", ENDLESS) as process:
        wait_for_done(process, 0)
        (claim,) = (drive.out / ".drivers").glob("*.claim")
        claim.unlink()
        _, err = process.communicate(timeout=180)
    assert process.returncode == 2
    assert "somebody has removed this driver's claim" in err
    assert "Traceback" not in err


def test_a_folder_that_is_renamed_ends_its_driver_and_goes_on_where_it_is(tmp_path: Path) -> None:
    drive = Drive(tmp_path)
    with drive.start("run", STEPS) as process:
        wait_for_done(process, 4)
        drive.out.rename(tmp_path / "elsewhere")
        _, err = process.communicate(timeout=180)
    assert process.returncode == 2
    assert "is gone: it was removed or renamed while this sweep ran" in err
    assert "Traceback" not in err
    assert not drive.out.exists()
    drive.out = tmp_path / "elsewhere"
    assert drive.finish("resume")["code"] == 0
    assert len(drive.rows()) == 40


def test_searches_of_a_killed_driver_make_room_for_those_of_the_next(
    tmp_path: Path, processes: Any
) -> None:
    drive = Drive(tmp_path, workers=processes.address)
    with drive.start("run", ENDLESS) as process:
        wait_for_done(process, 0)
        wait_until((tmp_path / "stepping").exists)
        time.sleep(1)
        process.kill()
    # The searches before have more than an hour to go.
    assert drive.finish("run", ENDLESS.replace("100000", "4"))["code"] == 0


def test_a_lost_scheduler_is_one_line_and_resume_goes_on(
    tmp_path: Path, quiet: pd.DataFrame, processes: Any
) -> None:
    drive = Drive(tmp_path, workers=processes.address)
    with drive.start("run", STEPS) as process:
        wait_for_done(process, 2)
        processes.scheduler.kill()
        _, err = process.communicate(timeout=180)
    assert process.returncode == 2, err
    assert "the connection to the Dask scheduler is lost" in err
    assert "Traceback" not in err
    assert len(drive.rows()) >= 2
    drive.workers = 2
    assert drive.finish("resume")["code"] == 0
    pd.testing.assert_frame_equal(alike(drive.rows()), quiet)


def test_all_workers_killed_again_and_again_change_nothing(
    tmp_path: Path, quiet: pd.DataFrame
) -> None:
    drive = Drive(tmp_path)
    with drive.start("run", STEPS) as process:
        for done in (1, 8, 12):
            wait_for_done(process, done)
            for worker in workers(process):
                worker.kill()
        out, err = process.communicate(timeout=300)
    outcome = drive.finish("resume")  # a task may have been on a worker each time
    assert outcome["code"] == 0, out + err
    pd.testing.assert_frame_equal(alike(drive.rows()), quiet)


def test_the_process_that_workers_are_forked_from_may_die(
    tmp_path: Path, quiet: pd.DataFrame
) -> None:
    drive = Drive(tmp_path)
    with drive.start("run", STEPS) as process:
        wait_for_done(process, 1)
        (server,) = fork_servers(process.pid)
        before = workers(process)
        assert len(before) == 2
        server.kill()
        assert not psutil.wait_procs(before, timeout=60)[1]  # nobody could tell how they end
        out, err = process.communicate(timeout=300)
    assert process.returncode == 0, out + err
    pd.testing.assert_frame_equal(alike(drive.rows()), quiet)


def test_a_second_driver_is_turned_away(tmp_path: Path) -> None:
    drive = Drive(tmp_path)
    with drive.start("run", ENDLESS) as process:
        wait_for_done(process, 0)
        assert sweep_status(drive.out).live
        with drive.start("resume") as second:
            _, err = second.communicate(timeout=180)
        assert second.returncode == 2
        assert "another treesweep" in err
        assert str(process.pid) in err
