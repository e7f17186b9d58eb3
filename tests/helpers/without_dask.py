"""Rows for tests of the store, made by the functions that workers run, but here and at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from solver.catalogue import SOLVERS
from sweep.plan.plan import Task, make_plan
from sweep.rows.result_rows import Cell, as_finished
from sweep.spec.spec import SweepFile, parse_spec
from sweep.store import store as stores
from sweep.store.plan_file import survey
from sweep.worker import tasks
from sweep.worker.run_settings import Run

SPEC = """\
name: small
datasets: [monks-1, balance-scale]
encodings: [onehot]
lambdas: [0.1, 0.05, 0.02]
solvers: [branches, cart]
validation: {kind: kfold, folds: 2}
limits: {seconds: 60}
"""


def small_sweep(text: str = SPEC) -> SweepFile:
    return parse_spec(text)


def cell_of(task: Task, attempt: int = 1) -> Cell:
    return Cell(
        key=task.key,
        lam=str(task.lam.exact),
        lam_label=task.lam.label,
        solver=task.solver.name,
        solver_version=SOLVERS[task.solver.name].version,
        options=task.solver.options,
        limits=task.solver.limits,
        attempt=attempt,
    )


def make_rows(sweep: SweepFile) -> list[dict[str, Any]]:
    """All rows of a sweep, in the plan's order."""
    plan = make_plan(sweep)
    prepared: dict[int, tasks.Prepared] = {}
    found = []
    for task in plan.tasks():
        node = task.node
        if node.number not in prepared:
            dataset = tasks.load(node.reference, node.info.data_hash)
            prepared[node.number] = tasks.prepare(dataset, node)
        run = Run("test")
        found.append(tasks.solve_cell(prepared[node.number], cell_of(task), run))
    return found


def finish(folder: Path, sweep: SweepFile | None = None) -> list[dict[str, Any]]:
    """Make a store that holds a whole sweep, without Dask."""
    sweep = sweep or small_sweep()
    rows = make_rows(sweep)
    with stores.create(folder, sweep, print) as store:
        survey(make_plan(sweep), store)
        for row in rows:
            store.add(as_finished([row]))
    return rows


def run_here(folder: Path, sweep: SweepFile) -> None:
    """Run what a folder does not answer yet, without Dask."""
    plan = make_plan(sweep)
    with stores.create(folder, sweep, print) as store:
        remaining, _ = survey(plan, store)
        for task in plan.tasks_of(remaining.tolist()):
            dataset = tasks.load(task.node.reference, task.node.info.data_hash)
            prepared = tasks.prepare(dataset, task.node)
            assert prepared is not None
            cell = cell_of(task, store.answers.attempts(task.key) + 1)
            store.add(as_finished([tasks.solve_cell(prepared, cell, Run("test"))]))
