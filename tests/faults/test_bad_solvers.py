"""Solvers that misbehave harm nobody but themselves."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.driving import Drive

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
