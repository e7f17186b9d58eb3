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
from tests.helpers import PATIENCE, wait_until
from tests.helpers.drivers import (
    LONG,
    STEPS,
    Drive,
    alike,
    children,
    fork_servers,
    kill,
    wait_for_done,
    wait_for_note,
    workers,
)

pytestmark = pytest.mark.faults


def test_a_worker_killed_in_mid_task_changes_nothing(tmp_path: Path, quiet: pd.DataFrame) -> None:
    drive = Drive(tmp_path)
    drive.hold()
    struck: list[str] = []
    with drive.start("run", STEPS) as process:
        for passes in (2, 4):
            drive.hold(passes)
            wait_for_done(process, passes)
            held = drive.wait_until_held()
            pid, name = next(one for one in held.items() if one[1] not in struck)
            struck.append(name)  # to be struck twice would be its fault
            os.kill(pid, signal.SIGKILL)
            wait_for_note(process, "is gone: it was killed by signal 9 (SIGKILL)")
        drive.release()
        out, err = process.communicate()
    assert process.returncode == 0, out + err
    pd.testing.assert_frame_equal(alike(drive.rows()), quiet)


def test_workers_that_are_asked_to_end_again_and_again_are_no_fault_of_a_task(
    tmp_path: Path,
) -> None:
    drive = Drive(tmp_path, workers=1)
    drive.hold()
    with drive.start("run", LONG) as process:
        for _ in range(3):
            drive.wait_until_held(1)
            wait_for_done(process, 0)
            workers(process)[0].terminate()
            wait_for_note(process, "signal 15 (SIGTERM)")
        drive.release()
        out, err = process.communicate()
    assert process.returncode == 0, out + err
    assert "killed" not in set(drive.rows()["status"])


@pytest.mark.slow
def test_a_worker_that_takes_long_to_come_back_is_left_alone(tmp_path: Path) -> None:
    """By its own settings Dask's cluster ends such a worker, and starts another one."""
    drive = Drive(tmp_path, workers=1)
    drive.environment["TREESWEEP_TEST_SLOW_START"] = "20"
    drive.hold()
    with drive.start("run", LONG) as process:
        drive.wait_until_held(1)
        wait_for_done(process, 0)
        workers(process)[0].kill()
        drive.release()
        out, err = process.communicate()
    assert process.returncode == 0, out + err
    assert out.count("is gone") == 1
    assert (tmp_path / "worker-started").stat().st_size == 2
    assert drive.rows()["attempt"].max() == 2


@pytest.mark.parametrize("seconds", [5, pytest.param(60, marks=pytest.mark.slow)])
def test_a_worker_that_is_stopped_for_a_while_goes_on(
    tmp_path: Path, quiet: pd.DataFrame, seconds: int
) -> None:
    drive = Drive(tmp_path)
    drive.hold(2)
    with drive.start("run", STEPS) as process:
        wait_for_done(process, 2)
        drive.wait_until_held()
        (one, _) = workers(process)
        one.suspend()
        drive.hold(4)  # the other one goes on, and still does when this one is back
        time.sleep(seconds)
        one.resume()
        drive.release()
        out, err = process.communicate()
    assert process.returncode == 0, out + err
    assert "is gone" not in out
    pd.testing.assert_frame_equal(alike(drive.rows()), quiet)


def test_a_driver_killed_again_and_again_loses_only_what_was_not_written(
    tmp_path: Path, quiet: pd.DataFrame
) -> None:
    drive = Drive(tmp_path)
    written: set[str] = set()
    for number, passes in enumerate((1, 3, 6)):
        drive.hold(passes)
        with drive.start("run" if number == 0 else "resume", STEPS) as process:
            wait_for_done(process, len(written) + 1)
            if number:
                drive.wait_until_held()
            process.kill()
        rows = drive.rows()
        assert written <= set(rows["key"])
        written = set(rows["key"])
        assert not sweep_status(drive.out).live
    drive.release()
    assert drive.finish("resume")["code"] == 0
    pd.testing.assert_frame_equal(alike(drive.rows()), quiet)
    assert drive.finish("resume")["ran"] == 0


def test_ctrl_c_once_keeps_what_searches_have_and_resume_goes_on(tmp_path: Path) -> None:
    drive = Drive(tmp_path)
    drive.hold()
    with drive.start("run", LONG) as process:
        drive.wait_until_held()
        wait_for_done(process, 0)
        time.sleep(1)
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate()
    assert process.returncode == 130, out + err
    status = sweep_status(drive.out)
    assert status.unfinished >= 1
    assert not status.live
    drive.release()
    assert drive.finish("resume")["code"] == 0
    rows = drive.rows().set_index("solver")
    assert set(rows.loc["stepper", "status"]) == {"optimal"}
    assert rows.loc["stepper", "seconds"].min() > 1  # the earlier attempt's time is counted
    assert (tmp_path / "started-from-tree").exists()
    assert sweep_status(drive.out).unfinished == 0


def test_ctrl_c_twice_leaves_at_once_with_the_store_intact(tmp_path: Path) -> None:
    drive = Drive(tmp_path)
    drive.hold()
    with drive.start("run", LONG.replace("steps: 2", "steps: 2, deaf: true")) as process:
        drive.wait_until_held()
        wait_for_done(process, 0)
        left = children(process)
        os.killpg(process.pid, signal.SIGINT)
        wait_for_note(process, "stopping: running searches end and are kept")
        os.killpg(process.pid, signal.SIGINT)
        process.wait(timeout=PATIENCE)
        assert [*(drive.out / ".drivers").glob("*.claim")]  # there was no time to tidy up
        assert not psutil.wait_procs(left, timeout=PATIENCE)[1]
    assert process.returncode == 130
    drive.rows()
    drive.release()
    assert drive.finish("resume")["code"] == 0
    assert sweep_status(drive.out).done == 4


def test_a_killed_drivers_checkpoints_are_taken_up(tmp_path: Path) -> None:
    drive = Drive(tmp_path, checkpoint=0.3)
    drive.hold()
    with drive.start("run", LONG) as process:
        wait_until(lambda: any((drive.out / "checkpoints").glob("*.parquet")))
        process.kill()
    drive.release()
    assert drive.finish("resume")["code"] == 0
    assert (tmp_path / "started-from-tree").exists()
    assert not any((drive.out / "checkpoints").iterdir())


def test_a_worker_of_a_running_cluster_may_die_and_another_may_come(
    tmp_path: Path, quiet: pd.DataFrame, processes: Any
) -> None:
    drive = Drive(tmp_path, workers=processes.address)
    drive.hold(2)
    with drive.start("run", STEPS) as process:
        wait_for_done(process, 2)
        before = drive.wait_until_held()
        victim = psutil.Process(processes.workers[0].pid)
        kill([victim, *victim.children(recursive=True)])
        processes.workers[0].wait()
        processes.worker("three")
        assert len(drive.wait_until_held().keys() - before.keys()) == 1
        drive.release()
        out, err = process.communicate()
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
solvers: [killer, {solver: stepper, options: {steps: 2}}, calm]
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
        _, err = process.communicate()
    assert process.returncode == 2
    assert "somebody has removed this driver's claim" in err
    assert "Traceback" not in err


def test_a_folder_that_is_renamed_ends_its_driver_and_goes_on_where_it_is(tmp_path: Path) -> None:
    drive = Drive(tmp_path)
    drive.hold(4)
    with drive.start("run", STEPS) as process:
        wait_for_done(process, 4)
        drive.wait_until_held()
        drive.out.rename(tmp_path / "elsewhere")
        _, err = process.communicate()
    assert process.returncode == 2
    assert "is gone: it was removed or renamed while this sweep ran" in err
    assert "Traceback" not in err
    assert not drive.out.exists()
    drive.out = tmp_path / "elsewhere"
    drive.release()
    assert drive.finish("resume")["code"] == 0
    assert len(drive.rows()) == 20


def test_searches_of_a_killed_driver_make_room_for_those_of_the_next(
    tmp_path: Path, processes: Any
) -> None:
    drive = Drive(tmp_path, workers=processes.address)
    with drive.start("run", ENDLESS) as process:
        marks = tmp_path / "stepping"
        wait_until(lambda: marks.exists() and marks.stat().st_size == 2)
        wait_for_done(process, 0)
        process.kill()
    # The searches before have more than an hour to go.
    assert drive.finish("run", ENDLESS.replace("100000", "4"))["code"] == 0


def test_a_lost_scheduler_is_one_line_and_resume_goes_on(
    tmp_path: Path, quiet: pd.DataFrame, processes: Any
) -> None:
    drive = Drive(tmp_path, workers=processes.address)
    drive.hold(2)
    with drive.start("run", STEPS) as process:
        wait_for_done(process, 2)
        drive.wait_until_held()
        processes.scheduler.kill()
        _, err = process.communicate()
    assert process.returncode == 2, err
    assert "the connection to the Dask scheduler is lost" in err
    assert "Traceback" not in err
    assert len(drive.rows()) >= 2
    drive.workers = 2
    drive.release()
    assert drive.finish("resume")["code"] == 0
    pd.testing.assert_frame_equal(alike(drive.rows()), quiet)


def test_all_workers_killed_again_and_again_change_nothing(
    tmp_path: Path, quiet: pd.DataFrame
) -> None:
    drive = Drive(tmp_path)
    drive.hold()
    with drive.start("run", STEPS) as process:
        for passes in (1, 4, 6):
            drive.hold(passes)
            wait_for_done(process, passes)
            drive.wait_until_held()
            for worker in workers(process):
                worker.kill()
        drive.release()
        out, err = process.communicate()
    outcome = drive.finish("resume")  # a task may have been on a worker each time
    assert outcome["code"] == 0, out + err
    pd.testing.assert_frame_equal(alike(drive.rows()), quiet)


def test_the_process_that_workers_are_forked_from_may_die(
    tmp_path: Path, quiet: pd.DataFrame
) -> None:
    drive = Drive(tmp_path)
    drive.hold(1)
    with drive.start("run", STEPS) as process:
        wait_for_done(process, 1)
        drive.wait_until_held()
        (server,) = fork_servers(process.pid)
        before = workers(process)
        assert len(before) == 2
        server.kill()
        assert not psutil.wait_procs(before, timeout=PATIENCE)[1]  # nobody could tell how they end
        drive.release()
        out, err = process.communicate()
    assert process.returncode == 0, out + err
    pd.testing.assert_frame_equal(alike(drive.rows()), quiet)


def test_a_second_driver_is_turned_away(tmp_path: Path) -> None:
    drive = Drive(tmp_path)
    with drive.start("run", ENDLESS) as process:
        wait_for_done(process, 0)
        assert sweep_status(drive.out).live
        with drive.start("resume") as second:
            _, err = second.communicate()
        assert second.returncode == 2
        assert "another treesweep" in err
        assert str(process.pid) in err
