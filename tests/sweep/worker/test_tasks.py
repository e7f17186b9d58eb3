"""Tests of tasks, their rows and the guards of a worker, in this process."""

from __future__ import annotations

import threading
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import solver
from solver.baselines.cart import Cart
from solver.branches import Branches
from solver.catalogue import SOLVERS
from solver.errors import InputError
from solver.search_shards import Shard
from solver.solution import Status
from solver.verify import solution_checks
from sweep.plan.plan import make_plan
from sweep.rows import result_rows, schema
from sweep.rows.result_rows import Cell, Checkpoint, Provenance
from sweep.spec.spec import parse_spec
from sweep.state_transfer.worker_side import WorkerFiles
from sweep.store.search_state_format import write_state
from sweep.worker import checkpointing, stop_requests, tasks
from sweep.worker.run_settings import Run

SPEC = """
name: tasks
datasets: [monks-1]
encodings: [onehot]
lambdas: [0.05, 0.01]
solvers: [branches, cart]
validation: {kind: holdout, test: 0.25}
"""


@pytest.fixture(scope="module")
def plan() -> Any:
    return make_plan(parse_spec(SPEC))


def test_a_changed_dataset_is_refused(plan: Any) -> None:
    with pytest.raises(InputError, match="is not the one that the sweep was planned with"):
        tasks.load(plan.nodes[0].reference, "0" * 64)


def test_training_and_test_rows_are_parted(prepared: tasks.Prepared) -> None:
    info = prepared.info
    assert (info.n_rows, info.n_train, info.n_test) == (432, 324, 108)
    assert prepared.problem.total_weight == 324
    assert len(prepared.test) == len(prepared.truth) == 108
    assert "target" not in prepared.test.columns
    assert prepared.n_features_encoded == 17


def test_a_row_has_every_column_and_its_trees_test_accuracy(
    prepared: tasks.Prepared, cells: list[Cell]
) -> None:
    row = tasks.solve_cell(prepared, cells[1], Run("test"))
    assert list(row) == schema.SCHEMA.names
    assert row["status"] == "optimal"
    tree = solver.Tree.from_json(row["tree"])
    wrong = int((np.asarray(tree.predict(prepared.test)) != prepared.truth).sum())
    assert row["test_errors"] == wrong
    assert row["test_accuracy"] == 1 - wrong / 108
    assert row["started"] <= row["finished"]


def test_a_batch_ends_after_its_time_but_not_before_its_first_cell(
    prepared: tasks.Prepared, cells: list[Cell]
) -> None:
    hasty = Run("test", batch_seconds=0.0)
    assert tasks.solve_batch(prepared, cells, hasty).keys == [cells[0].key]
    whole = tasks.solve_batch(prepared, cells, Run("test", batch_seconds=10**6))
    assert whole.keys == [cell.key for cell in cells]
    assert whole.rows.schema == schema.SCHEMA
    assert whole.seconds > 0


def test_the_first_rows_of_a_batch_that_dask_ran_again(
    prepared: tasks.Prepared, cells: list[Cell]
) -> None:
    good = {"within": "1/20", "unit": "relative"}
    asked = {"proof": True, "rashomon": good}
    proven = [replace(cell, options=asked) for cell in cells[:2]]
    whole = tasks.solve_batch(prepared, proven, Run("test", batch_seconds=10**6))
    files = [[f"proofs/{key}.parquet", f"rashomon/{key}.parquet"] for key in whole.keys]
    assert [*whole.files] == files[0] + files[1]
    first = whole.first(1)
    assert ([*first.files], first.keys) == (files[0], whole.keys[:1])


def test_a_stopped_run_begins_nothing(prepared: tasks.Prepared, cells: list[Cell]) -> None:
    run = Run("test-stopped")
    stop_requests.request_stop(run.name)
    assert len(tasks.solve_batch(prepared, cells, run)) == 0


def test_an_exception_becomes_a_row(prepared: tasks.Prepared, cells: list[Cell]) -> None:
    row = tasks.solve_cell(prepared, replace(cells[0], options={"mode": "?"}), Run("test"))
    assert row["status"] == "error"
    assert "Traceback" in row["error"]
    assert "mode" in row["error"]
    assert row["objective"] is None
    assert row["tree"] is None


@pytest.fixture
def honest(prepared: tasks.Prepared) -> solver.Solution:
    return solver.solve(prepared.problem, "0.05")


def complain(prepared: tasks.Prepared, solution: solver.Solution, **limits: int) -> str | None:
    return solution_checks.disagreement(
        prepared.problem, solution, Fraction(1, 20), solver.Limits(**limits)
    )


def test_an_honest_solution_is_accepted(prepared: tasks.Prepared, honest: solver.Solution) -> None:
    assert complain(prepared, honest) is None
    assert complain(prepared, honest, depth=honest.depth, splits=honest.splits) is None


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"objective": Fraction(1, 1000)}, "claims objective 1/1000"),
        ({"errors": 999}, "with 999 errors"),
        ({"lower_bound": Fraction(9, 10)}, "lower bound 9/10, which is above"),
        ({"lower_bound": Fraction(0)}, "claims status optimal"),
        ({"status": Status.TIME_LIMIT}, "claims status time_limit"),
        ({"lower_bound": None}, "claims status optimal"),
    ],
)
def test_a_false_claim_is_told_with_both_figures(
    prepared: tasks.Prepared, honest: solver.Solution, changes: dict[str, Any], message: str
) -> None:
    complaint = complain(prepared, replace(honest, **changes))
    assert complaint is not None
    assert message in complaint


def test_a_tree_beyond_its_limits_is_told(
    prepared: tasks.Prepared, honest: solver.Solution
) -> None:
    assert honest.splits > 1
    for limit, value in (
        ("depth", honest.depth - 1), ("splits", honest.splits - 1), ("min_leaf_size", 10**6),
    ):  # fmt: skip
        complaint = complain(prepared, honest, **{limit: value})
        assert complaint is not None
        assert str(value) in complaint


def start_for(cell: Cell, solution: solver.Solution, bound: str) -> Cell:
    start = Checkpoint(
        cell.key, solution.tree.to_json(), str(solution.objective), bound, 7.0, 11, 13
    )
    return replace(cell, checkpoint=start, limits={"seconds": 10.0})


def test_an_interrupted_run_goes_on_with_its_tree_time_and_bound(
    prepared: tasks.Prepared, honest: solver.Solution, cells: list[Cell]
) -> None:
    cell = start_for(cells[0], honest, "1/100")
    plain = tasks.solve_cell(prepared, cells[0], Run("test"))
    row = tasks.solve_cell(prepared, cell, Run("test"))
    assert row["seconds"] > 7
    assert row["iterations"] > 11
    assert row["objective_exact"] == plain["objective_exact"]
    assert all(point["seconds"] >= 7 for point in row["trace"])
    used_up = replace(cell, limits={"seconds": 5.0})
    assert tasks._remaining(used_up)["seconds"] == 0.0
    assert tasks._remaining(cell)["seconds"] == 3.0


class Picky(Branches):
    """Goes on from the states that it likes."""

    name = "picky"
    capabilities = replace(Branches.capabilities, resumes=True)
    given: ClassVar[list[bool]] = []

    @classmethod
    def warm_up(cls) -> None:
        """Nothing: it would count as a search."""

    def _solve(self, *given: Any) -> solver.Solution:
        *others, state = given
        self.given.append(state is not None)
        if state is not None and not state["good"]:
            raise InputError("the state is bad")
        return replace(super()._solve(*others, None), solver="picky", iterations=50)


@pytest.mark.parametrize("good, given, iterations", [(1, [True], 50), (0, [True, False], 61)])
def test_a_state_that_the_solver_refuses_is_done_without(
    prepared: tasks.Prepared,
    honest: solver.Solution,
    cells: list[Cell],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    good: int,
    given: list[bool],
    iterations: int,
) -> None:
    monkeypatch.setitem(SOLVERS, "picky", Picky)
    monkeypatch.setattr(Picky, "given", [])
    worker_files = WorkerFiles(tmp_path)
    monkeypatch.setattr(checkpointing, "STATE_FILES", worker_files)
    cell = replace(start_for(cells[0], honest, "0"), solver="picky", question="q", state="t")
    write_state(tmp_path / "given", {"good": np.array([good])}, cell.identity)
    content = (tmp_path / "given").read_bytes()
    worker_files.take("t", 0, content, len(content))
    row = tasks.solve_cell(prepared, cell, Run("test"))
    assert (row["status"], row["error"]) == ("optimal", None)
    assert Picky.given == given
    # What the state has counted is not added once more.
    assert row["iterations"] == iterations
    assert row["seconds"] > 7


def test_an_earlier_bound_still_holds(honest: solver.Solution) -> None:
    earlier = Checkpoint("k", "{}", str(honest.objective), str(honest.objective), 1.0, 1)
    ended = replace(honest, status=Status.TIME_LIMIT, lower_bound=Fraction(0))
    found = result_rows.resumed(ended, earlier)
    assert (found.status, found.gap) == (Status.OPTIMAL, 0)
    weak = replace(earlier, lower_bound="1/1000")
    assert result_rows.resumed(ended, weak).lower_bound == Fraction(1, 1000)
    assert result_rows.resumed(ended, None) is ended


def test_a_failed_row_has_no_results(prepared: tasks.Prepared, cells: list[Cell]) -> None:
    provenance = Provenance("host", None, datetime.now(UTC))
    row = result_rows.failed(prepared.info, cells[0], provenance, "why", Status.KILLED)
    assert list(row) == schema.SCHEMA.names
    assert (row["status"], row["error"], row["host"]) == ("killed", "why", "host")
    assert row["seconds"] is row["tree"] is row["gap_exact"] is None


class Talker(Cart):
    """Reports something beside its tree."""

    name = "talker"
    extra: ClassVar[dict[str, Any]] = {}

    def _solve(self, *given: Any) -> solver.Solution:
        return replace(super()._solve(*given), solver="talker", extra=self.extra)


@pytest.fixture
def talk(monkeypatch: pytest.MonkeyPatch, prepared: tasks.Prepared, cells: list[Cell]) -> Any:
    monkeypatch.setitem(SOLVERS, "talker", Talker)

    def solve(extra: dict[str, Any], **changes: Any) -> dict[str, Any]:
        monkeypatch.setattr(Talker, "extra", extra)
        cell = replace(cells[0], **{"solver": "talker", "options": {}, **changes})
        return tasks.solve_cell(prepared, cell, Run("test"))

    return solve


def test_what_a_solver_reports_beside_is_stored_with_its_row(talk: Any) -> None:
    said = {"trees_evaluated": 3, "pruned": {"support": 1}, "a": "λ"}
    row = talk(said)
    assert row["extra"] == '{"a":"λ","pruned":{"support":1},"trees_evaluated":3}'
    assert result_rows.as_finished([row]).rows["extra"].to_pylist() == [row["extra"]]
    assert talk({})["extra"] is None


def test_of_a_resumed_run_it_is_what_the_last_attempt_reported(
    talk: Any, honest: solver.Solution, cells: list[Cell]
) -> None:
    start = start_for(cells[0], honest, "0").checkpoint
    row = talk({"seconds_to_optimum": 0.5}, checkpoint=start)
    assert row["seconds"] > 7
    assert row["extra"] == '{"seconds_to_optimum":0.5}'


def test_of_a_path_it_is_that_of_its_least_lambda(talk: Any) -> None:
    row = talk({"trees_evaluated": 3}, options={"lam": "path"})
    assert (row["status"], row["extra"]) == ("heuristic", '{"trees_evaluated":3}')


@pytest.mark.parametrize("value", [float("nan"), float("inf"), {1, 2}, np.int64(3)])
def test_what_json_cannot_hold_is_an_error_that_says_so(talk: Any, value: Any) -> None:
    row = talk({"value": value})
    assert (row["status"], row["extra"], row["tree"]) == ("error", None, None)
    assert "JSON" in row["error"]


def test_a_cell_may_be_a_shard_that_begins_with_anothers_tree(
    prepared: tasks.Prepared, cells: list[Cell], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[Shard | None, solver.Tree | None]] = []
    solve = Branches._solve

    def spy(self: Branches, problem: Any, lam: Any, limits: Any, start: Any, *more: Any) -> Any:
        asked.append((self.shard, start))
        return solve(self, problem, lam, limits, start, *more)

    monkeypatch.setattr(Branches, "_solve", spy)
    tree = prepared.problem.grow(-1)
    cell = replace(cells[0], shard=Shard(2, 5), incumbent=tree.to_json())
    assert tasks.solve_cell(prepared, cell, Run("test"))["status"] == "optimal"
    ((shard, start),) = asked
    assert shard == Shard(2, 5)
    assert start is not None
    assert start.to_json() == tree.to_json()
    beyond = replace(cell, shard=Shard(5, 5))
    assert "no part 5 of 5" in tasks.solve_cell(prepared, beyond, Run("test"))["error"]


def test_a_solve_waits_for_kernels_that_are_loaded_beside(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begun, go_on, told = threading.Event(), threading.Event(), list[str]()

    def load(solver: str) -> None:
        begun.set()
        go_on.wait(10)
        told.append(solver)
        if solver == "broken":
            raise RuntimeError("this is told when a task needs it")

    monkeypatch.setattr(tasks, "_load_kernels", load)
    tasks.warm_up_aside("run", ["broken", "cart"])
    assert begun.wait(10)
    solve = threading.Thread(target=tasks.warm_up, args=["osdt"])
    solve.start()
    go_on.set()
    solve.join()
    assert told == ["broken", "cart", "osdt"]
