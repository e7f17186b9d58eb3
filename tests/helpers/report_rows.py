"""Result frames for tests of reports, made by really solving small problems."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache
from typing import Any

import pandas as pd
import pyarrow as pa

import solver
from solver.objective.exact_objective import as_lambda
from sweep.rows.schema import COLUMNS, SCHEMA
from sweep.spec import folds

NAMES = [column.name for column in COLUMNS]
STARTED = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


@cache
def table(rows: int = 48) -> pd.DataFrame:
    """A small table that a few splits explain but for some rows."""
    records = []
    for i in range(rows):
        colour, size, flag = ("red", "green", "blue")[i % 3], ("S", "M", "L")[i // 3 % 3], i % 2
        good = (colour == "red" and size != "L") or (size == "M" and flag == 1)
        records.append((colour, size, flag, "yes" if good != (i % 17 == 0) else "no"))
    return pd.DataFrame(records, columns=["colour", "size", "flag", "class"])


@cache
def _problem(encoding: str, n_folds: int, fold: int | None) -> tuple[solver.Problem, pd.DataFrame]:
    frame = table()
    if fold is None:
        return solver.Problem.from_table(frame, "class", encoding), frame.iloc[:0]
    target = frame["class"].factorize()[0]
    described = {"kind": "kfold", "seed": 0, "stratify": False, "folds": n_folds}
    test = folds.held_out(described, folds.Fold(0, fold), target)
    problem = solver.Problem.from_table(frame[~test], "class", encoding, classes=["no", "yes"])
    return problem, frame[test]


@cache
def _solve(
    encoding: str, n_folds: int, fold: int | None, name: str, lam: str, nodes: int | None
) -> dict[str, Any]:
    problem, test = _problem(encoding, n_folds, fold)
    solution = solver.solve(problem, lam, name, solver.Limits(nodes=nodes))
    facts = solution.to_dict()
    wrong = None
    if fold is not None:
        wrong = int((solution.tree.predict(test) != test["class"].to_numpy()).sum())
    return {
        **{key: value for key, value in facts.items() if key in NAMES},
        "train_accuracy": facts["accuracy"],
        "test_errors": wrong,
        "test_accuracy": None if wrong is None else 1 - wrong / len(test),
        "n_train": int(problem.total_weight),
        "n_test": len(test),
        "n_features": problem.n_features,
        "tree": solution.tree.to_json(),
        "trace": [point._asdict() for point in solution.trace],
        "extra": None,
    }


def run_row(
    dataset: str = "toy",
    encoding: str = "onehot",
    name: str = "branches",
    lam: str = "0.05",
    *,
    fold: int | None = None,
    n_folds: int = 3,
    nodes: int | None = None,
    label: str | None = None,
) -> dict[str, Any]:
    """The row of a run."""
    found = _solve(encoding, n_folds, fold, name, lam, nodes)
    validation = {"kind": "kfold", "seed": 0, "stratify": False, "folds": n_folds}
    return {
        "schema_version": 1,
        "key": f"{dataset}/{encoding}/{name}/{lam}/{fold}/{nodes}",
        "sweep": "a test",
        "dataset": dataset,
        "data_hash": dataset,
        "n_rows": len(table()),
        "n_features_encoded": found["n_features"],
        "n_classes": 2,
        "encoding": encoding,
        "encoding_options": "{}",
        "lam_label": label or lam,
        "solver_version": "1",
        "solver_options": "{}",
        "repeat": None if fold is None else 0,
        "fold": fold,
        "validation": json.dumps(None if fold is None else validation),
        "seed": None if fold is None else 0,
        "limits": json.dumps({} if nodes is None else {"nodes": nodes}),
        "host": "a",
        "worker": "w",
        "attempt": 1,
        "started": STARTED,
        "finished": STARTED,
        "versions": '{"python":"3"}',
        "git_revision": None,
        "error": None,
        **found,
        "lam": float(as_lambda(lam)),
        "lam_exact": str(as_lambda(lam)),
        "solver": name,
        "lower_bound": found["lower_bound"],
    }


@cache
def _solve_path(
    encoding: str, n_folds: int, fold: int | None, name: str, lam: str, nodes: int | None
) -> dict[str, Any]:
    problem, test = _problem(encoding, n_folds, fold)
    path = solver.regularization_path(problem, lam, name, solver.Limits(nodes=nodes))
    steps = []
    for step in path.steps:
        wrong = None
        if fold is not None:
            wrong = int((step.tree.predict(test) != test["class"].to_numpy()).sum())
        steps.append(
            {
                "lam": str(step.start),
                "lam_end": None if step.end is None else str(step.end),
                "errors": step.errors,
                "splits": step.splits,
                "leaves": step.tree.leaves,
                "depth": step.tree.depth,
                "proven": step.proven,
                "test_errors": wrong,
                "tree": step.tree.to_json(),
            }
        )
    points = [
        {"lam": str(lam), "lower_bound": None if bound is None else str(bound)}
        for lam, bound in path.points
    ]
    first, low = path.steps[0], path.lower_bound_at(path.lam_min)
    objective = path.objective_at(path.lam_min)
    gap = None if low is None else objective - low
    exact = {"objective": objective, "lower_bound": low, "gap": gap}
    return {
        **{key: None if value is None else float(value) for key, value in exact.items()},
        **{f"{k}_exact": None if value is None else str(value) for k, value in exact.items()},
        **{key: steps[0][key] for key in ("errors", "splits", "leaves", "depth", "tree")},
        "path": steps,
        "path_points": points,
        "status": path.status.value,
        "train_accuracy": 1 - first.errors / path.total_weight,
        "test_errors": steps[0]["test_errors"],
        "test_accuracy": None if fold is None else 1 - steps[0]["test_errors"] / len(test),
        "seconds": path.seconds,
        "iterations": path.iterations,
        "nodes": path.nodes,
        "peak_bytes": path.peak_bytes,
    }


def path_row(
    dataset: str = "toy",
    encoding: str = "onehot",
    name: str = "branches",
    lam: str = "0.01",
    *,
    fold: int | None = None,
    n_folds: int = 3,
    nodes: int | None = None,
) -> dict[str, Any]:
    """The row of a path cell."""
    row = run_row(dataset, encoding, name, lam, fold=fold, n_folds=n_folds, nodes=nodes)
    found = _solve_path(encoding, n_folds, fold, name, lam, nodes)
    return row | found | {"solver_options": '{"lam":"path"}', "key": f"{row['key']}/path"}


def failed(
    row: dict[str, Any], status: str = "error", error: str = "Boom: no luck"
) -> dict[str, Any]:
    """The row of the same task where nothing came out."""
    lost = [
        "path", "path_points",
        "objective", "objective_exact", "lower_bound", "lower_bound_exact", "gap", "gap_exact",
        "errors", "total_weight", "train_accuracy", "test_accuracy", "test_errors", "splits",
        "leaves", "depth", "iterations", "nodes", "seconds", "compile_seconds", "peak_bytes",
        "tree", "trace", "extra",
    ]  # fmt: skip
    return row | dict.fromkeys(lost) | {"status": status, "error": f"Traceback …\n{error}"}


def sweep_rows(
    datasets: Sequence[str] = ("toy",),
    encodings: Sequence[str] = ("onehot", "categorical"),
    lams: Sequence[str] = ("0.2", "0.05", "0.01"),
    solvers: Sequence[str] = ("branches", "cart"),
    n_folds: int | None = None,
) -> list[dict[str, Any]]:
    """All possible cells; CART cannot do categorical features."""
    numbers: list[int | None] = [None] if n_folds is None else [*range(n_folds)]
    return [
        run_row(dataset, encoding, name, lam, fold=fold, n_folds=n_folds or 3)
        for dataset in datasets
        for encoding in encodings
        for fold in numbers
        for name in solvers
        for lam in lams
        if not (name == "cart" and encoding == "categorical")
    ]


def as_frame(rows: Sequence[dict[str, Any]]) -> pd.DataFrame:
    """Rows as :func:`sweep.store.read_results.read_results` gives them, with types and nulls."""
    plain = [{name: row.get(name) for name in NAMES} for row in rows]
    return pa.Table.from_pylist(plain, schema=SCHEMA).to_pandas()


def as_plan(
    rows: Sequence[dict[str, Any]], impossible: Sequence[dict[str, Any]] = ()
) -> pd.DataFrame:
    """A plan of the tasks of these rows, as :func:`sweep.store.plan_file.read_plan` gives it."""
    from sweep.store.plan_file import SCHEMA as PLAN_SCHEMA

    tasks = [
        {n: row.get(n) for n in PLAN_SCHEMA.names}
        | {"tasks": 1, "answered_by": None, "reason": None}
        for row in rows
    ]
    return pa.Table.from_pylist([*tasks, *impossible], schema=PLAN_SCHEMA).to_pandas()


def refused(dataset: str = "toy", tasks: int = 3) -> dict[str, Any]:
    """An entry of a plan for cells that cannot be run."""
    return {
        "dataset": dataset,
        "encoding": "categorical",
        "encoding_options": "{}",
        "solver": "cart",
        "reason": f"dataset '{dataset}': solver 'cart' needs binary or continuous features",
        "tasks": tasks,
    }
