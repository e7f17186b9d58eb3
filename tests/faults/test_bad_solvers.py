"""Solvers that misbehave harm nobody but themselves."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from sweep.graph.failure_attribution import MOST_SPARED
from sweep.verify.external_claims import refuted_claims
from tests.helpers.commands import SCRIPT
from tests.helpers.drivers import Drive

pytestmark = pytest.mark.faults


def test_a_task_that_kills_its_worker_is_recorded_and_bystanders_are_not_blamed(
    tmp_path: Path,
) -> None:
    drive = Drive(tmp_path)
    spec = """
name: killer
datasets: [monks-1]
encodings: [onehot]
lambdas: [0.2, 0.1, 0.05]
solvers: [killer, {solver: stepper, options: {steps: 2}}, calm]
"""
    outcome = drive.finish("run", spec)
    assert (outcome["code"], outcome["ran"], outcome["failed"]) == (1, 9, 3)
    rows = drive.rows().set_index("solver")
    assert set(rows.loc["killer", "status"]) == {"killed"}
    # On a busy machine a worker may die before its word is out of what it was at; then what waited
    # there is tried once more.
    assert set(rows.loc["killer", "attempt"]) <= {2, 3}
    told = "killed: the worker was killed by signal 9 (SIGKILL), and again with this task alone"
    assert set(rows.loc["killer", "error"]) == {told}
    assert rows.loc["killer", "tree"].isna().all()
    assert set(rows.loc["stepper", "status"]) == {"optimal"}
    assert set(rows.loc["calm", "status"]) == {"heuristic"}


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


def test_a_dataset_that_cannot_be_loaded_again_does_not_stop_the_sweep(tmp_path: Path) -> None:
    """The encoded problem is lost with its worker; Dask lets it wait for the failed table."""
    drive = Drive(tmp_path, workers=1)
    drive.environment["TREESWEEP_TEST_KILL_RELOAD"] = "monks-1"
    spec = """
name: reload
datasets: [monks-1]
encodings: [onehot]
lambdas: [0.2, 0.1]
solvers: [once]
"""
    outcome = drive.finish("run", spec)
    assert (outcome["code"], outcome["ran"], outcome["failed"]) == (1, 2, 2)
    rows = drive.rows()
    assert set(rows["status"]) == {"killed"}
    assert set(rows["error"].str.contains("exit code 9")) == {True}


def test_a_task_that_eats_its_memory_limit_is_killed_and_the_sweep_goes_on(tmp_path: Path) -> None:
    drive = Drive(tmp_path)
    spec = """
name: eater
datasets: [monks-1]
encodings: [onehot]
lambdas: [0.2, 0.1]
solvers: [eater, calm]
limits: {memory: 100MiB}
"""
    outcome = drive.finish("run", spec)
    assert (outcome["code"], outcome["failed"]) == (1, 2)
    rows = drive.rows().set_index("solver")
    assert set(rows.loc["eater", "status"]) == {"killed"}
    assert rows.loc["eater", "error"].str.contains("the memory limit is 100 MiB").all()
    assert set(rows.loc["calm", "status"]) == {"heuristic"}


def test_a_dataset_that_kills_its_reader_takes_only_its_own_tasks_along(tmp_path: Path) -> None:
    drive = Drive(tmp_path)
    drive.environment["TREESWEEP_TEST_KILL_LOAD"] = "monks-2"
    spec = """
name: load
datasets: [monks-1, monks-2]
encodings: [onehot]
lambdas: {from: 0.2, to: 0.1, count: 20}
solvers: [calm]
"""
    outcome = drive.finish("run", spec)
    assert (outcome["ran"], outcome["failed"]) == (40, 20)
    rows = drive.rows().set_index("dataset")
    assert set(rows.loc["monks-1", "status"]) == {"heuristic"}
    assert rows.loc["monks-2", "error"].str.contains("read or encoded").all()
    assert rows.loc["monks-2", "error"].str.contains("ended with exit code 9").all()


def test_solvers_that_raise_or_lie_become_rows_that_say_so(tmp_path: Path) -> None:
    drive = Drive(tmp_path)
    spec = """
name: liar
datasets: [monks-1]
encodings: [onehot]
lambdas: [0.2, 0.1]
solvers: [raiser, liar, calm]
validation: {kind: kfold, folds: 2}
"""
    outcome = drive.finish("run", spec)
    assert (outcome["code"], outcome["ran"], outcome["failed"]) == (1, 12, 8)
    rows = drive.rows().set_index("solver")
    assert rows.loc["raiser", "error"].str.contains("Traceback").all()
    assert rows.loc["raiser", "error"].str.contains("ValueError: raised on purpose").all()
    assert rows.loc["liar", "error"].str.contains("claims objective .* plain scorer finds").all()
    assert rows.loc[["raiser", "liar"], "objective"].isna().all()
    assert set(rows.loc["calm", "status"]) == {"heuristic"}


def test_a_segfault_is_that_of_its_task(tmp_path: Path) -> None:
    drive = Drive(tmp_path)
    spec = """
name: segfault
datasets: [monks-1]
encodings: [onehot]
lambdas: [0.2, 0.1]
solvers: [segfaulter, calm]
"""
    outcome = drive.finish("run", spec)
    assert (outcome["code"], outcome["ran"], outcome["failed"]) == (1, 4, 2)
    rows = drive.rows().set_index("solver")
    assert set(rows.loc["segfaulter", "status"]) == {"killed"}
    assert rows.loc["segfaulter", "error"].str.contains("signal 11 (SIGSEGV)", regex=False).all()
    assert set(rows.loc["calm", "status"]) == {"heuristic"}


def test_a_solver_that_runs_out_of_memory_says_so_and_its_worker_lives(tmp_path: Path) -> None:
    drive = Drive(tmp_path)
    spec = """
name: hoarder
datasets: [monks-1]
encodings: [onehot]
lambdas: [0.2, 0.1]
solvers: [hoarder, calm]
"""
    with drive.start("run", spec) as process:
        out, err = process.communicate()
    assert process.returncode == 1, err
    assert "is gone" not in out
    rows = drive.rows().set_index("solver")
    assert set(rows.loc["hoarder", "status"]) == {"error"}
    assert rows.loc["hoarder", "error"].str.contains("MemoryError").all()
    assert set(rows.loc["calm", "status"]) == {"heuristic"}


def test_a_solver_that_hangs_is_ended_some_time_after_its_limit(tmp_path: Path) -> None:
    drive = Drive(tmp_path, workers=1, grace=3.0)
    outcome = drive.finish("run", hanging("hanger"))
    assert (outcome["code"], outcome["ran"], outcome["failed"]) == (1, 2, 1)
    rows = drive.rows().set_index("solver")
    assert rows.loc["hanger", "status"] == "killed"
    assert re.fullmatch(
        r"killed: it ran ([2-9]|\d\d+) s, its limit is 1 s", rows.loc["hanger", "error"]
    )
    assert rows.loc["calm", "status"] == "heuristic"
    tried = len((tmp_path / "hung").read_text())
    assert drive.finish("resume")["ran"] == 1  # whoever resumes wants to see it tried again
    assert len((tmp_path / "hung").read_text()) > tried


def test_a_solver_that_holds_the_interpreter_is_ended_by_dask(tmp_path: Path) -> None:
    """No thread of its worker runs, so the worker sends no heartbeat."""
    cluster = tmp_path / "cluster.yaml"
    cluster.write_text("kind: local\nworkers: 1\ndask: {distributed.scheduler.worker-ttl: 10s}\n")
    drive = Drive(tmp_path, workers=str(cluster), grace=3.0)
    outcome = drive.finish("run", hanging("holder"))
    assert (outcome["code"], outcome["ran"], outcome["failed"]) == (1, 2, 1)
    rows = drive.rows().set_index("solver")
    assert rows.loc["holder", "status"] == "killed"
    assert "it sent no heartbeat" in rows.loc["holder", "error"]
    assert rows.loc["calm", "status"] == "heuristic"
    # On a busy machine the word that a worker was silent, or what it was at, may come late: then
    # its end counts as that of a worker that was well, and the task is tried once more.
    assert 2 <= len((tmp_path / "held").read_text()) <= 2 + MOST_SPARED


def hanging(solver: str) -> str:
    """A sweep with a solver that hangs."""
    return f"""
name: hang
datasets: [monks-1]
encodings: [onehot]
lambdas: [0.2]
solvers: [{solver}, calm]
limits: {{seconds: 1}}
"""


def test_a_solver_that_ends_late_is_left_to_end(tmp_path: Path) -> None:
    drive = Drive(tmp_path, workers=1, grace=5.0)
    spec = """
name: late
datasets: [monks-1]
encodings: [onehot]
lambdas: [0.2]
solvers: [latecomer]
limits: {seconds: 1}
"""
    assert drive.finish("run", spec)["code"] == 0
    assert drive.rows()["status"].tolist() == ["heuristic"]


def test_solvers_of_others_that_misbehave_make_rows_that_say_so(tmp_path: Path) -> None:
    drive = Drive(tmp_path)
    drive.environment["FAKE_NONSENSE"] = "1"
    spec = """
name: peers
datasets: [monks-1]
encodings: [onehot]
lambdas: [0.0]
solvers: [branches, fake, endless, leaking, segfault, raising, chatty, nonsense,
  {solver: too-deep, options: {depth: 1}}]
limits: {seconds: 4, memory: 200 MiB}
"""
    outcome = drive.finish("run", spec)
    assert (outcome["code"], outcome["ran"], outcome["failed"]) == (1, 9, 4)
    rows = drive.rows().set_index("solver")
    assert rows["attempt"].eq(1).all()
    wanted = {
        "branches": "optimal", "fake": "heuristic", "chatty": "heuristic", "endless": "time_limit",
        "leaking": "memory_limit", "segfault": "error", "raising": "error", "nonsense": "error",
        "too-deep": "error",
    }  # fmt: skip
    assert rows["status"].to_dict() == wanted
    assert "it did not keep its limit of 4.0 s" in rows.loc["endless", "extra"]
    assert "the limit is 209715200" in rows.loc["leaking", "extra"]
    for solver, words in {
        "segfault": "it died of signal SIGSEGV",
        "raising": "ValueError: no tree today",
        "nonsense": "its answer makes no sense: it is 'a tree'",
        "too-deep": "gives a tree of depth 2, the limit is 1",
    }.items():
        assert words in rows.loc[solver, "error"]
    claims = [(c.solver, c.claim, c.witness) for c in refuted_claims(drive.out)]
    false = [(name, "the optimum 0.5", "branches") for name in ("chatty", "fake")]
    assert sorted(claims) == sorted(
        [*false, *((name, "the lower bound 0.125", "branches") for name in ("chatty", "fake"))]
    )
    report = [str(SCRIPT), "report", str(drive.out)]
    subprocess.run(report, check=True, env=drive.environment, capture_output=True)
