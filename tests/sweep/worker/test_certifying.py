"""Tests of sweep/worker/certifying.py, and of what tasks do with λ-paths and proofs."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar

import pytest

import solver
from solver.base import Solver
from solver.branches import Branches
from solver.catalogue import SOLVERS
from solver.errors import InputError
from solver.solution import Solution
from sweep.plan.plan import make_plan
from sweep.rows import schema
from sweep.rows.path_checkpoint import parse_solves
from sweep.rows.result_rows import Cell, Checkpoint, checkpoint_of
from sweep.rows.schema import PROOF_CONTENT
from sweep.spec.spec import parse_spec
from sweep.state_transfer.worker_side import WorkerFiles
from sweep.worker import checkpointing, stop_requests, tasks
from sweep.worker.run_settings import Run

SPEC = """
name: proving
datasets: [monks-1]
encodings: [onehot]
lambdas: [0.05, 0.01]
solvers:
  - {solver: branches, lam: path, proof: true}
  - {solver: branches, proof: true}
  - {solver: cart, lam: path}
validation: {kind: holdout, test: 0.25}
"""


@pytest.fixture(scope="module")
def plan() -> Any:
    return make_plan(parse_spec(SPEC))


def solved(prepared: tasks.Prepared, cell: Cell, name: str = "test") -> dict[str, Any]:
    return tasks.solve_cell(prepared, cell, Run(name))


def test_a_path_is_one_row_of_its_least_lambda(prepared: tasks.Prepared, cells: list[Cell]) -> None:
    row = solved(prepared, cells[0])
    assert row["error"] is None
    assert [name for name in row if name != PROOF_CONTENT] == schema.SCHEMA.names
    assert (row["lam_exact"], row["lam_label"], row["status"]) == ("1/100", "0.01", "optimal")
    single = solved(prepared, cells[2])
    for name in ("objective_exact", "lower_bound_exact", "errors", "splits", "test_errors"):
        assert row[name] == single[name]
    assert row["trace"]
    path = solver.regularization_path(prepared.problem, "0.01")
    assert [step["lam"] for step in row["path"]] == [str(lam) for lam in path.lams]
    for stored, step in zip(row["path"], path.steps, strict=True):
        tree = solver.Tree.from_json(stored["tree"])
        assert (stored["errors"], stored["splits"]) == (step.errors, step.splits)
        assert stored["test_errors"] == int((tree.predict(prepared.test) != prepared.truth).sum())
    assert (row["proof"], row["proof_bytes"]) == (
        f"proofs/{row['key']}.parquet", len(row[PROOF_CONTENT]),
    )  # fmt: skip
    assert row["proof_seconds"] >= 0


def test_a_heuristics_path_has_no_bounds(prepared: tasks.Prepared, cells: list[Cell]) -> None:
    row = solved(prepared, cells[-1])
    assert (row["status"], row["lower_bound"], row["proof"]) == ("heuristic", None, None)
    assert {point["lower_bound"] for point in row["path_points"]} == {None}
    assert not any(step["proven"] for step in row["path"])


def test_a_path_that_a_limit_ended_is_proven_where_it_is(
    prepared: tasks.Prepared, cells: list[Cell]
) -> None:
    row = solved(prepared, replace(cells[0], limits={"nodes": 1}))
    assert (row["status"], row["error"]) == ("node_limit", None)
    assert Fraction(row["lower_bound_exact"]) < Fraction(row["objective_exact"])


class Slow(Branches):
    """Says at which λ it works, and stops its own run at the third."""

    name = "slow"
    solved_at: ClassVar[list[Fraction]] = []
    run: ClassVar[str] = ""
    series = Solver.series

    def _solve(self, problem: Any, lam: Fraction, *others: Any) -> Solution:
        self.solved_at.append(lam)
        if len(self.solved_at) == 3:
            stop_requests.request_stop(self.run)
        return replace(super()._solve(problem, lam, *others), seconds=1.0, iterations=10)

    def certify(self, *given: Any) -> Any:
        if self.run == "test-stops-at-proof":
            stop_requests.request_stop(self.run)
            raise InputError("stopped")
        return super().certify(*given)


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> type[Slow]:
    monkeypatch.setitem(SOLVERS, "slow", Slow)
    monkeypatch.setattr(Slow, "solved_at", [])
    return Slow


def test_a_stopped_path_goes_on_and_loses_nothing(
    prepared: tasks.Prepared, cells: list[Cell], slow: type[Slow], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Slow, "run", "test-stops-a-path")
    whole = replace(cells[0], lam="1/1000")
    cell = replace(whole, solver="slow")
    row = solved(prepared, cell, slow.run)
    assert (row["status"], row["seconds"], row["proof"]) == ("stopped", 3.0, None)
    start = checkpoint_of(row)
    before, slow.solved_at[:] = slow.solved_at[:2], []
    again = solved(prepared, replace(cell, checkpoint=start), "test")
    assert again["status"] == "optimal"
    assert not set(before) & set(slow.solved_at)
    assert again["seconds"] == 3.0 + len(slow.solved_at)
    assert again["iterations"] == 30 + 10 * len(slow.solved_at)
    plain = solved(prepared, whole)
    names = ("lam", "lam_end", "errors", "splits", "proven")
    assert [[s[n] for n in names] for s in again["path"]] == [
        [s[n] for n in names] for s in plain["path"]
    ]


def test_a_path_whose_time_is_used_up_still_knows_what_it_had_solved(
    prepared: tasks.Prepared, cells: list[Cell], slow: type[Slow], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Slow, "run", "test-uses-up-its-time")
    cell = replace(cells[0], solver="slow")
    row = solved(prepared, cell, slow.run)
    late = replace(cell, checkpoint=checkpoint_of(row), limits={"seconds": 2.0})
    again = solved(prepared, late, "test")
    known = {point["lam"]: Fraction(point["lower_bound"]) for point in row["path_points"]}
    found = {point["lam"]: Fraction(point["lower_bound"]) for point in again["path_points"]}
    proven = [lam for lam, bound in known.items() if found.get(lam) == bound]
    assert len(proven) >= 2


@pytest.mark.parametrize("number", [0, 2])
def test_a_run_stopped_at_its_proof_needs_no_search_again(
    prepared: tasks.Prepared,
    cells: list[Cell],
    slow: type[Slow],
    monkeypatch: pytest.MonkeyPatch,
    number: int,
) -> None:
    monkeypatch.setattr(Slow, "run", "test-stops-at-proof")
    monkeypatch.setattr(stop_requests, "_stopped", set())
    monkeypatch.setattr(Slow, "solved_at", [Fraction(0)] * 3)  # no search stops the run
    cell = replace(cells[number], solver="slow")
    row = solved(prepared, cell, slow.run)
    assert (row["status"], row["error"], row["proof"]) == ("stopped", None, None)
    monkeypatch.setattr(Slow, "run", "")
    slow.solved_at.clear()
    again = solved(prepared, replace(cell, checkpoint=checkpoint_of(row)), "test")
    assert slow.solved_at == []
    assert (again["status"], again["error"]) == ("optimal", None)
    assert again["proof"] is not None
    assert (again["seconds"], again["iterations"]) == (row["seconds"], row["iterations"])


class Wordless(Branches):
    """Cannot certify what it has found."""

    name = "wordless"

    def certify(self, *given: Any) -> Any:
        raise InputError("there is no proof of it")


def test_a_proof_that_fails_does_not_lose_the_result(
    prepared: tasks.Prepared, cells: list[Cell], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(SOLVERS, "wordless", Wordless)
    row = solved(prepared, replace(cells[2], solver="wordless"))
    assert (row["status"], row["proof"], row["proof_bytes"]) == ("optimal", None, None)
    assert "there is no certificate" in row["error"]
    assert row["error"].strip().endswith("there is no proof of it")
    assert row["tree"] is not None
    assert PROOF_CONTENT not in row


class Boaster(Branches):
    """Proves more than its trees bear out."""

    name = "boaster"

    def series(self, problem: Any) -> Any:
        own = super().series(problem)

        def solve(*given: Any, **named: Any) -> Solution:
            found = own(*given, **named)
            return replace(found, lower_bound=found.objective + Fraction(1, 100))

        return solve


def test_a_false_path_becomes_a_row_that_says_so(
    prepared: tasks.Prepared, cells: list[Cell], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(SOLVERS, "boaster", Boaster)
    row = solved(prepared, replace(cells[0], solver="boaster"))
    assert row["status"] == "error"
    assert "is above the objective" in row["error"]
    assert row["path"] is row["path_points"] is row["proof"] is None


def test_a_path_beyond_its_limits_is_told(
    prepared: tasks.Prepared, cells: list[Cell], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = solver.regularization_path(prepared.problem, "0.01")
    monkeypatch.setattr(tasks, "find_path", lambda *given: path)
    row = solved(prepared, replace(cells[0], limits={"depth": 1}))
    assert (row["status"], row["path"]) == ("error", None)
    assert "the limit is 1" in row["error"]


class Listening:
    """A worker that keeps what it tells."""

    address, local_directory = "tcp://127.0.0.1:1", ""

    def __init__(self) -> None:
        self.told: list[dict[str, Any]] = []

    def log_event(self, topic: str, message: dict[str, Any]) -> None:
        self.told.append(message)


def test_what_is_solved_of_a_path_is_in_its_checkpoints(
    prepared: tasks.Prepared,
    cells: list[Cell],
    slow: type[Slow],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    listening = Listening()
    listening.local_directory = str(tmp_path)
    monkeypatch.setattr(tasks, "_worker", lambda: listening)
    monkeypatch.setattr(checkpointing, "STATE_FILES", WorkerFiles())
    start = Checkpoint(cells[0].key, "{}", "1/2", "1/2", 7.0, 11, path="[]")
    cell = replace(cells[0], solver="slow", checkpoint=start)
    tasks.solve_cell(prepared, cell, Run("test", checkpoint_seconds=0.0))
    found = [Checkpoint(**m["checkpoint"]) for m in listening.told if m["kind"] == "snapshot"]
    numbers = [len(parse_solves(checkpoint.path)) for checkpoint in found]
    assert numbers == sorted(numbers)
    assert numbers[-1] == len(slow.solved_at) - 1 > 0
    assert all(checkpoint.seconds >= 7.0 for checkpoint in found)
    # The bound at one λ says nothing about another.
    assert all(checkpoint.gap >= 0 for checkpoint in found)
