"""Tasks in shards: whatever happens to workers and drivers, each shard is done as often as needed
and the row is that of a quiet run."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from sweep.filesystem import open_folder
from sweep.rows.result_rows import Checkpoint
from sweep.store.store import read_checkpoint
from sweep.store.sweep_status import sweep_status
from tests.helpers import wait_until
from tests.helpers.drivers import Drive, Driver, wait_for_done

pytestmark = pytest.mark.faults

# As in faulty_solvers.py. Imported here, its solvers would be in the catalogue of all tests.
SLOW_COMPILE = "TREESWEEP_TEST_SLOW_COMPILE"


def spec(shards: int | str, **options: Any) -> str:
    return f"""
name: divided
datasets: [monks-1]
encodings: [onehot]
lambdas: [0.05]
solvers: [{{solver: divider, shards: {shards}, options: {options}}}, calm]
validation: {{kind: holdout, test: 0.25}}
""".replace("'", "").replace("True", "true")


def ran(folder: Path, kind: str = "shard", number: int | str = "*") -> dict[int, int]:
    """How often each shard has begun."""
    marks = folder.glob(f"{kind}-*-of-{number}")
    return {int(path.name.split("-")[1]): path.stat().st_size for path in marks}


CLAIMS = [
    "tree", "status", "objective_exact", "lower_bound_exact", "gap_exact", "errors", "test_errors",
    "train_accuracy", "test_accuracy", "splits", "leaves", "depth", "n_features", "total_weight",
]  # fmt: skip


def answer(drive: Drive) -> dict[str, Any]:
    """What the row of the divided task says of its tree."""
    rows = drive.rows().set_index("solver")
    found: dict[str, Any] = rows.loc["divider", CLAIMS].to_dict()
    return found


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The row of a search that was not divided."""
    drive = Drive(tmp_path_factory.mktemp("whole"), workers=1)
    assert drive.finish("run", spec(1))["code"] == 0
    row = answer(drive)
    assert row["status"] == "optimal"
    assert row["splits"] == 1
    return row


def test_a_worker_killed_in_mid_task_loses_one_shard(tmp_path: Path, whole: dict[str, Any]) -> None:
    drive = Drive(tmp_path)
    assert drive.finish("run", spec(6, fatal=3))["code"] == 0
    assert answer(drive) == whole
    assert ran(tmp_path) == {0: 1, 1: 1, 2: 1, 3: 2, 4: 1, 5: 1}
    assert ran(tmp_path, "given")
    assert sweep_status(drive.out).done == 2


def test_a_shard_that_kills_its_worker_again_ends_its_task_alone(tmp_path: Path) -> None:
    drive = Drive(tmp_path)
    assert drive.finish("run", spec(4, fatal=1, again=True))["failed"] == 1
    rows = drive.rows().set_index("solver")
    assert rows["status"].to_dict() == {"divider": "killed", "calm": "heuristic"}
    assert "again with this task alone" in rows.loc["divider", "error"]
    assert "(in shard 1 of 0 … 3)" in rows.loc["divider", "error"]
    assert ran(tmp_path)[1] == 2


def test_a_shard_that_raises_ends_the_others_and_resume_does_what_is_left(
    tmp_path: Path, whole: dict[str, Any]
) -> None:
    drive = Drive(tmp_path)
    drive.hold()
    assert drive.finish("run", spec(2, wrong=1))["failed"] == 1
    rows = drive.rows().set_index("solver")
    assert rows.loc["divider", "status"] == "error"
    assert "wrong on purpose (in shard 1 of 0 … 1)" in rows.loc["divider", "error"]
    drive.release()
    assert drive.finish("resume")["code"] == 0
    assert answer(drive) == whole
    assert ran(tmp_path) == {0: 2, 1: 2}


def test_a_killed_drivers_finished_shards_are_not_done_again(
    tmp_path: Path, whole: dict[str, Any]
) -> None:
    drive = Drive(tmp_path)
    drive.hold(2)
    with drive.start("run", spec(4, pause=300)) as process:
        wait_until(lambda: len([*(drive.out / "shards").glob("*.parquet")]) == 2)
        drive.wait_until_held()
        process.kill()
    assert ran(tmp_path) == dict.fromkeys(range(4), 1)
    assert sweep_status(drive.out).unfinished == 1
    drive.release()
    assert drive.finish("resume")["code"] == 0
    assert sorted(ran(tmp_path).values()) == [1, 1, 2, 2]
    assert answer(drive) == whole
    assert not any((drive.out / "shards").iterdir())


def test_ctrl_c_keeps_the_best_tree_and_resume_begins_with_it(tmp_path: Path) -> None:
    drive = Drive(tmp_path)
    drive.hold()
    with drive.start("run", spec(2)) as process:
        drive.wait_until_held()
        wait_for_done(process, 0)
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate()
    assert process.returncode == 130, out + err
    assert sweep_status(drive.out).unfinished == 1
    drive.release()
    assert drive.finish("resume")["code"] == 0
    assert set(ran(tmp_path, "given")) >= {0, 1}
    assert answer(drive)["status"] == "optimal"
    assert sweep_status(drive.out).unfinished == 0


def test_a_running_task_is_divided_among_idle_workers(
    tmp_path: Path, whole: dict[str, Any]
) -> None:
    drive = Drive(tmp_path)
    drive.hold()
    with drive.start("run", spec("auto")) as process:
        wait_until(lambda: ran(tmp_path, number=2) == {0: 1, 1: 1})
        drive.release()
        out, err = process.communicate()
    assert process.returncode == 0, out + err
    assert answer(drive) == whole
    extra = json.loads(drive.rows().set_index("solver").loc["divider", "extra"])
    assert (extra["shards"], len(extra["shard_seconds"])) == (2, 2)
    assert extra["seconds_before"] >= 5


def test_a_task_is_not_divided_while_its_worker_compiles(
    tmp_path: Path, whole: dict[str, Any]
) -> None:
    drive = Drive(tmp_path)
    drive.environment[SLOW_COMPILE] = "9"
    limited = spec("auto").replace(", calm]", "]") + "limits: {seconds: 4}\n"
    assert drive.finish("run", limited)["code"] == 0
    assert answer(drive) == whole
    assert ran(tmp_path) == {0: 1}


def test_what_shards_have_searched_before_a_stop_counts(
    tmp_path: Path, whole: dict[str, Any]
) -> None:
    """All of it does as effort; what shards have searched side by side counts once for a limit."""
    drive = Drive(tmp_path)
    drive.hold()
    with drive.start("run", spec("auto")) as process:
        wait_until(lambda: ran(tmp_path, number=2) == {0: 1, 1: 1})
        first = stop_held(drive, process, 2)
    drive.workers = 1  # nobody is idle: the search is not divided again
    with drive.start("resume") as process:
        wait_until(lambda: ran(tmp_path, number=1) == {0: 2})
        second = stop_held(drive, process, 1)
    assert first.seconds > first.spent > 5
    assert second.seconds > first.seconds
    assert second.seconds - second.spent == pytest.approx(first.seconds - first.spent)
    drive.release()
    assert drive.finish("resume")["code"] == 0
    assert answer(drive) == whole
    assert drive.rows().set_index("solver").loc["divider", "seconds"] > second.seconds


def stop_held(drive: Drive, process: Driver, number: int) -> Checkpoint:
    """Press Ctrl-C when so many searches are held; the checkpoint that is left."""
    drive.wait_until_held(number)
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate()
    assert process.returncode == 130, out + err
    (path,) = (drive.out / "checkpoints").iterdir()
    found = read_checkpoint(open_folder(drive.out), f"checkpoints/{path.name}")
    assert found is not None
    assert sweep_status(drive.out).seconds >= found.seconds
    return found


@pytest.mark.parametrize("fault", [{"fatal": 1}, {"wrong": 1}, {}])
def test_a_shard_of_a_running_task_fails_or_its_driver_dies(
    tmp_path: Path, whole: dict[str, Any], fault: dict[str, int]
) -> None:
    drive = Drive(tmp_path)
    drive.hold()
    with drive.start("run", spec("auto", **fault)) as process:
        wait_until(lambda: len(ran(tmp_path, number=2)) == 2)
        if not fault:
            drive.wait_until_held()
            process.kill()
        drive.release()
        out, err = process.communicate()
    if "wrong" in fault:
        row = drive.rows().set_index("solver").loc["divider"]
        assert (row["status"], process.returncode) == ("error", 1), out + err
        assert "wrong on purpose (in shard 1 of 0 … 1)" in row["error"]
    if "fatal" in fault:
        assert process.returncode == 0, out + err
        assert ran(tmp_path, number=2) == {0: 1, 1: 2}
    else:
        assert drive.finish("resume")["code"] == 0
    assert answer(drive) == whole
    assert sweep_status(drive.out).done == 2
