"""Tests of sweep/rows/largest_path_gap.py: the gap of a λ-path where it is worst."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import solver
from solver.path.path import Path as LambdaPath
from sweep.plan.plan import make_plan
from sweep.rows.largest_path_gap import checkpoint_gap, row_gap
from sweep.rows.path_checkpoint import Solved, dump_solves
from sweep.rows.result_rows import Checkpoint
from sweep.spec.spec import parse_spec
from sweep.store import store as stores
from sweep.store.plan_file import survey
from sweep.store.sweep_status import sweep_status


def hard_problem() -> solver.Problem:
    draw = np.random.default_rng(3)
    codes = draw.integers(0, 2, (60, 8))
    labels = ((codes[:, 0] ^ codes[:, 1]) | (codes[:, 2] & codes[:, 3])) ^ (draw.random(60) < 0.1)
    return solver.Problem.from_codes(codes, labels)


def as_row(path: LambdaPath) -> dict[str, Any]:
    steps = [
        {
            "lam": str(step.start),
            "lam_end": None if step.end is None else str(step.end),
            "errors": step.errors,
            "splits": step.splits,
            "proven": step.proven,
            "tree": step.tree.to_json(),
        }
        for step in path.steps
    ]
    points = [{"lam": str(p.lam), "lower_bound": str(p.lower_bound)} for p in path.points]
    own = {"task": path.steps[0].tree.task, "tolerance": float(path.tolerance)}
    return own | {"total_weight": path.total_weight, "path": steps, "path_points": points}


def test_a_proven_path_has_no_gap() -> None:
    assert row_gap(as_row(solver.regularization_path(hard_problem(), "0.01"))) == 0


def test_an_open_path_has_the_largest_gap_of_any_lambda() -> None:
    path = solver.regularization_path(hard_problem(), "0.005", limits=solver.Limits(nodes=4))
    assert path.status is solver.Status.NODE_LIMIT
    found = row_gap(as_row(path))
    assert found is not None
    assert found > 0
    for lam in [Fraction(i, 2000) for i in range(10, 1200)]:
        bound, reached = path.lower_bound_at(lam), path.objective_at(lam)
        assert bound is not None
        if not path.step_at(lam).proven:
            assert reached - bound <= found


def test_what_cannot_be_read_has_none() -> None:
    row = {"total_weight": 3, "task": "classification", "tolerance": None, "path_points": []}
    assert row_gap(row | {"path": [{"lam": "x"}]}) is None


def unfinished(problem: solver.Problem) -> Checkpoint:
    """One λ is proven, and the search is at another, which is as good as proven."""
    one = solver.solve(problem, "0.2")
    solves = [Solved(Fraction(1, 5), one.lower_bound, one.tree)]
    path, value = dump_solves(solves), str(one.objective)
    return Checkpoint("k", one.tree.to_json(), value, value, 1.0, 2, 3, path)


def test_an_unfinished_path_is_open_where_nothing_was_proven() -> None:
    problem = hard_problem()
    checkpoint = unfinished(problem)
    assert checkpoint.gap == 0
    found = checkpoint_gap(checkpoint, Fraction(1, 100))
    true = solver.solve(problem, "0.01").objective
    assert found >= solver.solve(problem, "0.2").objective - Fraction(19, 100) - true
    assert found > Fraction(1, 100)
    assert checkpoint_gap(checkpoint, None) == 0


def test_status_takes_the_worst(tmp_path: Path) -> None:
    spec = parse_spec(
        "name: paths\ndatasets: [monks-1]\nencodings: [onehot]\nlambdas: [0.01]\n"
        "solvers: [{solver: branches, lam: path}]\n"
    )
    plan = make_plan(spec)
    (task,) = plan.tasks()
    with stores.create(tmp_path / "out", spec, print) as store:
        survey(plan, store)
        store.save_checkpoint(Checkpoint(**{**vars(unfinished(hard_problem())), "key": task.key}))
        found = sweep_status(tmp_path / "out")
    assert (found.unfinished, found.done) == (1, 0)
    assert found.worst_gap == pytest.approx(
        float(checkpoint_gap(unfinished(hard_problem()), Fraction(1, 100)))
    )
    assert found.worst_gap > 0.01
