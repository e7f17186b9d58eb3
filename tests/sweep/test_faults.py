"""Processes are killed and memory is eaten; afterwards the store is that of a quiet run."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd
import psutil
import pyarrow.parquet as pq
import pytest

from sweep.results import read_results
from sweep.status import sweep_status

pytestmark = pytest.mark.faults

HERE = Path(__file__).parent
ROOT = HERE.parent.parent

VARYING = [
    "seconds", "compile_seconds", "peak_bytes", "host", "worker", "attempt", "started", "finished",
    "trace", "versions", "git_revision",
]  # fmt: skip


class Drive:
    """A driver in a process of its own."""

    def __init__(
        self,
        folder: Path,
        workers: int | str = 2,
        checkpoint: float = 30.0,
        largest_state: int = 2**29,
    ) -> None:
        self.folder, self.workers, self.checkpoint = folder, workers, checkpoint
        self.largest_state = largest_state
        self.out = folder / "out"
        self.environment = {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "DASK_DISTRIBUTED__WORKER__PRELOAD": f"['{HERE / 'faulty.py'}']",
            "TREESWEEP_TEST_SCRATCH": str(folder),
        }

    @contextmanager
    def start(self, command: str, spec: str | None = None) -> Iterator[subprocess.Popen[str]]:
        path = self.folder / "spec.yaml"
        if spec is not None:
            path.write_text(spec)
        terms = [self.out, self.workers, self.checkpoint, self.largest_state]
        arguments = [command, str(path), *map(str, terms)]
        process = subprocess.Popen(
            [sys.executable, str(HERE / "drive.py"), *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=self.environment,
            cwd=self.folder,
            start_new_session=True,  # so that Ctrl-C can be sent to all of it, as a terminal does
        )
        try:
            yield process
        finally:
            children = _children(process)
            if process.poll() is None:
                process.kill()
            process.wait()
            psutil.wait_procs(children, timeout=20)

    def finish(self, command: str, spec: str | None = None, timeout: float = 120) -> dict[str, int]:
        """Run to the end; the outcome and the exit code."""
        with self.start(command, spec) as process:
            out, err = process.communicate(timeout=timeout)
        lines = [line for line in out.splitlines() if line.startswith("outcome ")]
        assert lines, err
        return {**json.loads(lines[-1].removeprefix("outcome ")), "code": process.returncode}

    def rows(self) -> pd.DataFrame:
        frame = read_results(self.out)
        assert not frame["key"].duplicated().any()
        return frame


def _children(process: subprocess.Popen[str]) -> list[psutil.Process]:
    try:
        return psutil.Process(process.pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []


def _workers(process: subprocess.Popen[str]) -> list[psutil.Process]:
    return [c for c in _children(process) if "spawn_main" in " ".join(c.cmdline())]


def _wait_for_done(process: subprocess.Popen[str], done: int) -> None:
    """Read the driver's lines until so many tasks are done."""
    assert process.stdout is not None
    for line in process.stdout:
        words = line.split()
        if words[0] == "progress" and int(words[1]) >= done and int(words[2]):
            return
    raise AssertionError(
        "the driver ended early: " + (process.stderr.read() if process.stderr else "")
    )


def _alike(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.drop(columns=VARYING).sort_values("key", ignore_index=True)


STEPS = """
name: steps
datasets: [monks-1, monks-2]
encodings: [onehot]
lambdas: {from: 0.3, to: 0.1, count: 10}
solvers: [cart, {solver: stepper, options: {steps: 8}}]
"""


@pytest.fixture(scope="module")
def quiet(tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    """The rows of an undisturbed run of STEPS."""
    drive = Drive(tmp_path_factory.mktemp("quiet"))
    assert drive.finish("run", STEPS)["code"] == 0
    return _alike(drive.rows())


def test_a_worker_killed_in_mid_task_changes_nothing(tmp_path: Path, quiet: pd.DataFrame) -> None:
    drive = Drive(tmp_path)
    with drive.start("run", STEPS) as process:
        for done in (2, 8):
            _wait_for_done(process, done)
            _workers(process)[0].kill()
        out, err = process.communicate(timeout=120)
    assert process.returncode == 0, out + err
    assert "is gone" in out
    pd.testing.assert_frame_equal(_alike(drive.rows()), quiet)


def test_a_driver_killed_again_and_again_loses_only_what_was_not_written(
    tmp_path: Path, quiet: pd.DataFrame
) -> None:
    drive = Drive(tmp_path)
    written: set[str] = set()
    for number, done in enumerate((1, 6, 14)):
        with drive.start("run" if number == 0 else "resume", STEPS) as process:
            _wait_for_done(process, done)
            time.sleep(0.4 * number)
            process.kill()
        rows = drive.rows()
        assert written <= set(rows["key"])
        written = set(rows["key"])
        assert not sweep_status(drive.out).live
    assert drive.finish("resume")["code"] == 0
    pd.testing.assert_frame_equal(_alike(drive.rows()), quiet)
    assert drive.finish("resume")["ran"] == 0


def test_a_task_that_kills_its_worker_is_recorded_and_bystanders_are_not_blamed(
    tmp_path: Path,
) -> None:
    drive = Drive(tmp_path)
    spec = """
name: killer
datasets: [monks-1]
encodings: [onehot]
lambdas: [0.2, 0.1, 0.05]
solvers: [killer, {solver: stepper, options: {steps: 6}}, cart]
"""
    outcome = drive.finish("run", spec)
    assert (outcome["code"], outcome["ran"], outcome["failed"]) == (1, 9, 3)
    rows = drive.rows().set_index("solver")
    assert set(rows.loc["killer", "status"]) == {"killed"}
    assert set(rows.loc["killer", "attempt"]) == {2}
    assert rows.loc["killer", "error"].str.contains("alone").all()
    assert rows.loc["killer", "tree"].isna().all()
    assert set(rows.loc["stepper", "status"]) == {"optimal"}
    assert set(rows.loc["cart", "status"]) == {"heuristic"}


def test_a_task_whose_worker_dies_once_is_run_again(tmp_path: Path) -> None:
    drive = Drive(tmp_path, workers=1)
    spec = """
name: once
datasets: [monks-1]
encodings: [onehot]
lambdas: [0.2, 0.1]
solvers: [once]
"""
    assert drive.finish("run", spec)["code"] == 0
    rows = drive.rows()
    assert rows["status"].tolist() == ["heuristic", "heuristic"]
    assert rows["attempt"].max() == 2


def test_a_task_that_eats_its_memory_limit_is_killed_and_the_sweep_goes_on(tmp_path: Path) -> None:
    drive = Drive(tmp_path)
    spec = """
name: eater
datasets: [monks-1]
encodings: [onehot]
lambdas: [0.2, 0.1]
solvers: [eater, cart]
limits: {memory: 100MiB}
"""
    outcome = drive.finish("run", spec)
    assert (outcome["code"], outcome["failed"]) == (1, 2)
    rows = drive.rows().set_index("solver")
    assert set(rows.loc["eater", "status"]) == {"killed"}
    assert rows.loc["eater", "error"].str.contains("the memory limit is 100 MiB").all()
    assert set(rows.loc["cart", "status"]) == {"heuristic"}


def test_a_dataset_that_kills_its_reader_takes_only_its_own_tasks_along(tmp_path: Path) -> None:
    drive = Drive(tmp_path)
    drive.environment["TREESWEEP_TEST_KILL_LOAD"] = "monks-2"
    spec = """
name: load
datasets: [monks-1, monks-2]
encodings: [onehot]
lambdas: {from: 0.2, to: 0.1, count: 20}
solvers: [cart]
"""
    outcome = drive.finish("run", spec)
    assert (outcome["ran"], outcome["failed"]) == (40, 20)
    rows = drive.rows().set_index("dataset")
    assert set(rows.loc["monks-1", "status"]) == {"heuristic"}
    assert rows.loc["monks-2", "error"].str.contains("read or encoded").all()


def test_solvers_that_raise_or_lie_become_rows_that_say_so(tmp_path: Path) -> None:
    drive = Drive(tmp_path)
    spec = """
name: liar
datasets: [monks-1]
encodings: [onehot]
lambdas: [0.2, 0.1]
solvers: [raiser, liar, cart]
validation: {kind: kfold, folds: 2}
"""
    outcome = drive.finish("run", spec)
    assert (outcome["code"], outcome["ran"], outcome["failed"]) == (1, 12, 8)
    rows = drive.rows().set_index("solver")
    assert rows.loc["raiser", "error"].str.contains("Traceback").all()
    assert rows.loc["raiser", "error"].str.contains("ValueError: raised on purpose").all()
    assert rows.loc["liar", "error"].str.contains("claims objective .* plain scorer finds").all()
    assert rows.loc[["raiser", "liar"], "objective"].isna().all()
    assert set(rows.loc["cart", "status"]) == {"heuristic"}


LONG = """
name: long
datasets: [monks-1]
encodings: [onehot]
lambdas: [0.4, 0.3]
solvers: [{solver: stepper, options: {steps: 60}}, cart]
limits: {seconds: 60}
"""


def test_ctrl_c_once_keeps_what_searches_have_and_resume_goes_on(tmp_path: Path) -> None:
    drive = Drive(tmp_path)
    with drive.start("run", LONG) as process:
        _wait_for_done(process, 0)
        time.sleep(1)
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=30)
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
        _wait_for_done(process, 0)
        children = _children(process)
        os.killpg(process.pid, signal.SIGINT)
        time.sleep(0.05)
        os.killpg(process.pid, signal.SIGINT)
        began = time.monotonic()
        process.wait(timeout=30)
        assert time.monotonic() - began < 2
        assert not psutil.wait_procs(children, timeout=10)[1]
    assert process.returncode == 130
    drive.rows()
    assert drive.finish("resume")["code"] == 0
    assert sweep_status(drive.out).done == 4


def test_a_killed_drivers_checkpoints_are_taken_up(tmp_path: Path) -> None:
    drive = Drive(tmp_path, checkpoint=0.3)
    with drive.start("run", LONG) as process:
        _wait_for_done(process, 0)
        deadline = time.monotonic() + 20
        while not any((drive.out / "checkpoints").glob("*.parquet")):
            assert time.monotonic() < deadline
            time.sleep(0.1)
        process.kill()
    assert drive.finish("resume")["code"] == 0
    assert (tmp_path / "started-from-tree").exists()
    assert not any((drive.out / "checkpoints").iterdir())


def test_a_worker_of_a_running_cluster_may_die_and_another_may_come(
    tmp_path: Path, quiet: pd.DataFrame, processes: Any
) -> None:
    drive = Drive(tmp_path, workers=processes.address)
    with drive.start("run", STEPS) as process:
        _wait_for_done(process, 2)
        victim = psutil.Process(processes.workers[0].pid)
        for child in [victim, *victim.children(recursive=True)]:
            child.kill()
        processes.workers[0].wait()
        processes.workers.append(processes.start_worker())
        out, err = process.communicate(timeout=120)
    assert process.returncode == 0, out + err
    pd.testing.assert_frame_equal(_alike(drive.rows()), quiet)


def test_a_task_that_kills_workers_of_a_running_cluster_takes_two_of_them(
    tmp_path: Path, processes: Any
) -> None:
    drive = Drive(tmp_path, workers=processes.address)
    spec = """
name: killer
datasets: [monks-1]
encodings: [onehot]
lambdas: [0.2]
solvers: [killer, {solver: stepper, options: {steps: 6}}, cart]
"""
    outcome = drive.finish("run", spec)
    assert (outcome["ran"], outcome["failed"]) == (3, 1)
    rows = drive.rows().set_index("solver")
    assert rows.loc["killer", "status"] == "killed"
    assert rows.loc["killer", "attempt"] == 2
    assert processes.log.read_text().count("was killed by signal 9") == 2


def test_a_lost_scheduler_is_one_line_and_resume_goes_on(
    tmp_path: Path, quiet: pd.DataFrame, processes: Any
) -> None:
    drive = Drive(tmp_path, workers=processes.address)
    with drive.start("run", STEPS) as process:
        _wait_for_done(process, 2)
        processes.scheduler.kill()
        began = time.monotonic()
        _, err = process.communicate(timeout=90)
        assert time.monotonic() - began < 60
    assert process.returncode == 2, err
    assert "the connection to the Dask scheduler is lost" in err
    assert "Traceback" not in err
    assert len(drive.rows()) >= 2
    drive.workers = 2
    assert drive.finish("resume")["code"] == 0
    pd.testing.assert_frame_equal(_alike(drive.rows()), quiet)


def test_a_second_driver_is_turned_away(tmp_path: Path) -> None:
    drive = Drive(tmp_path)
    with drive.start("run", LONG) as process:
        _wait_for_done(process, 0)
        assert sweep_status(drive.out).live
        with drive.start("resume") as second:
            _, err = second.communicate(timeout=60)
        assert second.returncode == 2
        assert "another treesweep" in err
        assert str(process.pid) in err


COUNT = """
name: count
datasets: [monks-1]
encodings: [onehot]
lambdas: [0.4, 0.3]
solvers: [{solver: counter, options: {steps: 80, ballast: 20000000}}]
limits: {seconds: 60}
"""


def _starts(folder: Path) -> list[int]:
    """The steps at which searches began."""
    found = [(int(p.name.removeprefix("from-")), p.stat().st_size) for p in folder.glob("from-*")]
    return sorted(step for step, times in found for _ in range(times))


def _wait_for_states(drive: Drive, number: int) -> None:
    deadline = time.monotonic() + 30
    while len(list((drive.out / "states").glob("*.parquet"))) < number:
        assert time.monotonic() < deadline
        time.sleep(0.1)


def _count_for_a_while(drive: Drive) -> None:
    """Both searches are killed with the driver once both have a state."""
    with drive.start("run", COUNT) as process:
        _wait_for_done(process, 0)
        _wait_for_states(drive, 2)
        process.kill()
    assert _starts(drive.folder) == [0, 0]


def _finish_counting(drive: Drive) -> pd.DataFrame:
    with drive.start("resume") as process:
        out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    (drive.folder / "notes").write_text("".join(x for x in out.splitlines() if "note" in x))
    rows = drive.rows()
    assert set(rows["status"]) == {"optimal"}
    assert not any((drive.out / "states").iterdir())
    assert not any((drive.out / "checkpoints").iterdir())
    return rows


def test_a_killed_drivers_searches_go_on_from_their_states(tmp_path: Path) -> None:
    drive = Drive(tmp_path, checkpoint=0.5)
    _count_for_a_while(drive)
    rows = _finish_counting(drive)
    assert set(rows["iterations"]) == {80}
    _, _, *later = _starts(tmp_path)
    assert len(later) == 2
    assert min(later) >= 8
    # What an earlier attempt has paid for since its last state is paid again, nothing else is.
    assert (rows["seconds"] > 80 * 0.05).all()
    assert (tmp_path / "steps").stat().st_size < 160 + 2 * 40


def test_a_killed_workers_search_goes_on_from_its_state(tmp_path: Path) -> None:
    drive = Drive(tmp_path, checkpoint=0.5)
    with drive.start("run", COUNT) as process:
        _wait_for_done(process, 0)
        _wait_for_states(drive, 2)
        _workers(process)[0].kill()
        out, err = process.communicate(timeout=120)
    assert process.returncode == 0, out + err
    starts = _starts(tmp_path)
    assert starts[:2] == [0, 0]
    assert len(starts) == 3
    assert starts[2] >= 8
    assert set(drive.rows()["iterations"]) == {80}


def test_states_travel_without_a_folder_in_common(tmp_path: Path, processes: Any) -> None:
    drive = Drive(tmp_path, workers=processes.address, checkpoint=0.5)
    processes.environment["TREESWEEP_TEST_SCRATCH"] = str(tmp_path)
    with drive.start("run", COUNT) as process:
        _wait_for_done(process, 0)
        time.sleep(1.5)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130, out + err
    assert len(list((drive.out / "states").glob("*.parquet"))) == 2
    assert set(_finish_counting(drive)["iterations"]) == {80}
    leftovers = [p for p in tmp_path.rglob("treesweep-states/*") if p.is_file()]
    assert not leftovers


@pytest.mark.parametrize("fault", ["torn", "cut off", "of a later version", "of another search"])
def test_a_state_that_is_of_no_use_is_told_and_the_search_begins_from_its_tree(
    tmp_path: Path, fault: str
) -> None:
    drive = Drive(tmp_path, checkpoint=0.5)
    _count_for_a_while(drive)
    for path in (drive.out / "states").glob("*.parquet"):
        content = bytearray(path.read_bytes())
        if fault == "torn":
            content[len(content) // 2] ^= 255
            path.write_bytes(content)
        elif fault == "cut off":
            path.write_bytes(content[: len(content) // 2])
        else:
            table = pq.read_table(path)
            about = table.schema.metadata[b"treesweep-state"]
            about = json.loads(table.schema.metadata[b"treesweep-state"])
            if fault == "of a later version":
                about["version"] += 1
            else:
                about["identity"]["task"] = "0" * 64
            metadata = {b"treesweep-state": json.dumps(about)}
            pq.write_table(table.replace_schema_metadata(metadata), path, row_group_size=1)
    rows = _finish_counting(drive)
    assert (tmp_path / "notes").read_text().count("begins again from its best tree") == 2
    assert _starts(tmp_path) == [0, 0, 0, 0]
    assert (rows["iterations"] > 80).all()
    assert (rows["seconds"] > 80 * 0.05).all()


def test_a_state_that_is_too_large_is_told_and_tree_and_bound_are_kept(tmp_path: Path) -> None:
    drive = Drive(tmp_path, checkpoint=0.5, largest_state=10**6)
    with drive.start("run", COUNT) as process:
        _wait_for_done(process, 0)
        time.sleep(1.5)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert out.count("is not kept, only its best tree and bound: it would take more than 1") == 2
    assert len(list((drive.out / "checkpoints").glob("*.parquet"))) == 2
    assert not list(drive.out.glob("states/*"))
    assert drive.finish("resume")["code"] == 0
    assert _starts(tmp_path) == [0, 0, 0, 0]


@pytest.mark.parametrize(
    "before, after", [("seconds: 2", "seconds: 60"), ("nodes: 30", "nodes: 100")]
)
def test_a_run_that_a_limit_ended_goes_on_under_a_larger_one(
    tmp_path: Path, before: str, after: str
) -> None:
    drive = Drive(tmp_path, checkpoint=0.5)
    assert drive.finish("run", COUNT.replace("seconds: 60", before))["ran"] == 2
    ended = drive.rows()
    assert set(ended["status"]) <= {"time_limit", "node_limit"}
    assert len(list((drive.out / "states").glob("*.parquet"))) == 2
    assert drive.finish("resume")["ran"] == 0
    assert drive.finish("run", COUNT.replace("seconds: 60", after))["ran"] == 2
    rows = drive.rows()
    assert set(rows["status"]) == {"optimal"}
    assert set(rows["iterations"]) == {80}
    assert (rows["seconds"] > 80 * 0.05).all()
    assert _starts(tmp_path) == sorted([0, 0, *ended["iterations"]])
    assert (tmp_path / "steps").stat().st_size == 160
    assert not any((drive.out / "states").iterdir())


PATH = """
name: path
datasets: [monks-2]
encodings: [onehot]
lambdas: [0.005]
solvers: [{solver: walker, lam: path}]
"""


def _walked(folder: Path, steps: int) -> None:
    """Wait until a path has been at so many λ."""
    deadline = time.monotonic() + 300
    while len(_marks(folder).get("walked", "")) < steps:
        assert time.monotonic() < deadline
        time.sleep(0.05)


def _marks(folder: Path) -> dict[str, str]:
    names = [*folder.glob("at-*"), *folder.glob("walked")]
    return {path.name: path.read_text() for path in names}


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_a_path_goes_on_from_the_lambdas_that_it_has_solved(tmp_path: Path, how: int) -> None:
    drive = Drive(tmp_path, workers=1, checkpoint=0.2)
    with drive.start("run", PATH) as process:
        _walked(tmp_path, 3)
        time.sleep(0.35)  # so that what comes before is in a checkpoint, whatever ends it
        process.send_signal(how)
        process.communicate(timeout=60)
    before = _marks(tmp_path)
    status = sweep_status(drive.out)
    assert (status.done, status.unfinished) == (0, 1)
    assert drive.finish("resume")["code"] == 0
    after = _marks(tmp_path)
    (row,) = drive.rows().to_dict("records")
    assert row["status"] == "optimal"
    assert row["seconds"] >= 0.5 * len(row["path_points"])
    # At most the λ at which it was interrupted is solved twice.
    assert len(before["walked"]) >= 3
    assert sum(len(times) - 1 for name, times in after.items() if name != "walked") <= 1
    single = drive.finish("run", PATH.replace("walker, lam: path", "branches, lam: path"))
    assert single["code"] == 0
    rows = drive.rows().set_index("solver")
    names = ("lam", "lam_end", "errors", "splits", "proven")
    found = [[[step[n] for n in names] for step in path] for path in rows["path"]]
    assert found[0] == found[1]
    assert sweep_status(drive.out).unfinished == 0
