"""Tests of sweep/worker/rashomon_sets.py."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from solver.rashomon import find_set
from solver.rashomon.find_set import rashomon_set
from solver.rashomon.rashomon_set import RashomonSet
from sweep.plan.plan import make_plan
from sweep.rows import schema
from sweep.rows.result_rows import Cell, checkpoint_of
from sweep.rows.schema import RASHOMON_CONTENT
from sweep.spec.spec import parse_spec
from sweep.worker import stop_requests, tasks
from sweep.worker.run_settings import Run

SPEC = """
name: good
datasets: [monks-1]
encodings: [onehot]
lambdas: [0.05, 0.02]
solvers:
  - {solver: branches, rashomon: {within: 0.1}}
  - {solver: osdt, rashomon: {within: 2, unit: lam}, options: {depth: 3}}
"""


@pytest.fixture(scope="module")
def plan() -> Any:
    return make_plan(parse_spec(SPEC))


def solved(prepared: tasks.Prepared, cell: Cell, name: str = "test") -> dict[str, Any]:
    return tasks.solve_cell(prepared, cell, Run(name))


@pytest.mark.parametrize("number", range(4))
def test_the_row_says_how_many_trees_are_good(
    prepared: tasks.Prepared, cells: list[Cell], number: int
) -> None:
    cell = cells[number]
    row = solved(prepared, cell)
    assert row["error"] is None
    assert [name for name in row if name != RASHOMON_CONTENT] == schema.SCHEMA.names
    asked, limits = cell.options["rashomon"], tasks.Limits(**cell.limits)
    found = rashomon_set(prepared.problem, cell.lam, **asked, limits=limits)
    assert row["status"] == "optimal"
    assert row["objective_exact"] == str(found.optimum)
    assert row["rashomon_trees"] == str(found.n_trees)
    assert row["rashomon_within"] == asked["within"]
    assert row["rashomon"] == f"rashomon/{cell.key}.parquet"
    assert row["rashomon_bytes"] == len(row[RASHOMON_CONTENT])
    assert row["rashomon_seconds"] >= 0


def test_a_limit_may_end_the_search_for_good_trees(
    prepared: tasks.Prepared, cells: list[Cell]
) -> None:
    many = {**cells[1].options, "rashomon": {"within": "3", "unit": "relative"}}
    row = solved(prepared, replace(cells[1], options=many, limits={"nodes": 3000}))
    assert (row["status"], row["error"], row["gap"]) == ("node_limit", None, 0.0)
    within = Fraction(row["rashomon_within"])
    assert within < 3
    smaller = rashomon_set(prepared.problem, cells[1].lam, within)
    assert row["rashomon_trees"] == str(smaller.n_trees)
    assert row["rashomon_bytes"] == len(row[RASHOMON_CONTENT])
    row = solved(prepared, replace(cells[1], limits={"nodes": 1}))
    assert (row["status"], row["error"], row["rashomon"]) == ("node_limit", None, None)
    assert row["gap"] > 0


def test_without_a_remedy_the_optimum_is_kept(prepared: tasks.Prepared, cells: list[Cell]) -> None:
    row = solved(prepared, replace(cells[0], lam="0"))
    assert (row["status"], row["rashomon"]) == ("optimal", None)
    assert "at λ = 0 good trees may have any size; give a limit on depth" in row["error"]


def test_a_stopped_search_goes_on_without_the_one_for_the_optimum(
    prepared: tasks.Prepared, cells: list[Cell], monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(problem: Any, lam: Any, within: Any, unit: str, **given: Any) -> RashomonSet:
        stop_requests.request_stop("test-stops-good-trees")
        return rashomon_set(problem, lam, within, unit, **given)

    monkeypatch.setattr(find_set, "rashomon_set", stop)
    row = solved(prepared, cells[0], "test-stops-good-trees")
    assert (row["status"], row["error"], row["rashomon"]) == ("stopped", None, None)
    monkeypatch.undo()
    monkeypatch.setattr(tasks, "_solve", None)
    again = solved(prepared, replace(cells[0], checkpoint=checkpoint_of(row), attempt=2))
    assert again["error"] is None
    assert again["status"] == "optimal"
    assert again["rashomon_trees"] == solved_trees(prepared, cells[0])


def solved_trees(prepared: tasks.Prepared, cell: Cell) -> str:
    return str(rashomon_set(prepared.problem, cell.lam, **cell.options["rashomon"]).n_trees)
