"""λ that are two in one fold and one in another: 21 rows in 2 folds, and 1/n next to 0.1."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pipelines.report.analysis import lambda_paths
from pipelines.report.analysis.rankings import rank
from pipelines.report.data.results import Results, label_results, load_results
from pipelines.report.write import gather
from sweep.spec.spec import parse_spec
from tests.helpers.report_rows import as_frame, as_plan, run_row
from tests.helpers.without_dask import run_here

SPEC = """\
name: shared
datasets: [{{name: small, path: small.csv, target: class}}]
encodings: [onehot]
lambdas: {lambdas}
solvers: {solvers}
validation: {{kind: kfold, folds: 2}}
"""


def results_of(home: Path, lambdas: str, solvers: str = "[branches]") -> Results:
    lines = [f"{i % 3},{i % 2},{'xy'[(i % 3 == 1) != (i % 7 == 0)]}" for i in range(21)]
    (home / "small.csv").write_text("\n".join(["a,b,class", *lines]) + "\n")
    out = home / f"out {len([*home.iterdir()])}"
    run_here(out, parse_spec(SPEC.format(lambdas=lambdas, solvers=solvers), home))
    return load_results(out)


def points_of(results: Results) -> dict[str, list[Any]]:
    (path,) = lambda_paths.make_paths(results)
    columns = ["runs", "expected", "lam", "objective_exact", "test_score", "test_error", "optimal"]
    return dict(zip(path.table["lam_text"], path.table[columns].to_numpy().tolist(), strict=True))


@pytest.mark.parametrize("both", ["[0.1, {per-row: 1}]", "[{per-row: 1}, 0.1]"])
def test_a_run_that_is_at_two_lambdas_is_a_fold_of_both(tmp_path: Path, both: str) -> None:
    results = results_of(tmp_path, both)
    assert len(results.rows) == results.n_ok == 3
    assert points_of(results) == {
        **points_of(results_of(tmp_path, "[0.1]")),
        **points_of(results_of(tmp_path, "[{per-row: 1}]")),
    }
    comparison = gather(results).comparison
    assert comparison[["lam_text", "runs"]].to_numpy().tolist() == [["0.1", 2], ["1/n", 2]]


def test_a_whole_path_is_compared_at_both_lambdas(tmp_path: Path) -> None:
    solvers = "[branches, {solver: cart, lam: path}]"
    results = results_of(tmp_path, "[0.1, {per-row: 1}]", solvers)
    for path in lambda_paths.make_paths(results):
        grid = path.grid[["lam_text", "runs", "expected"]].to_numpy().tolist()
        assert grid == [["0.1", 2, 2], ["1/n", 2, 2]]


def test_what_is_still_to_come_is_missing_at_both_lambdas() -> None:
    rows = [
        run_row(lam="1/10", fold=0, n_folds=2, label="0.1 = 1/n"),
        run_row(lam="1/10", fold=1, n_folds=2, label="0.1"),
        run_row(lam="1/11", fold=1, n_folds=2, label="1/n"),
    ]
    results = label_results(as_frame(rows[1:]), as_plan(rows))
    assert len(results.missing) == 1
    (path,) = lambda_paths.make_paths(results)
    assert path.table[["lam_text", "runs", "expected"]].to_numpy().tolist() == [
        ["0.1", 1, 2],
        ["1/n", 1, 2],
    ]
    assert path.minimum is None


def test_a_lambda_that_was_not_planned_in_every_fold_is_not_recommended() -> None:
    rows = [run_row(lam="0.2", fold=fold) for fold in range(3)]
    rows.append(run_row(lam="0.01", fold=0))
    results = label_results(as_frame(rows), as_plan(rows))
    (path,) = lambda_paths.make_paths(results)
    assert path.table[["lam_text", "runs", "expected"]].to_numpy().tolist() == [
        ["0.2", 3, 3],
        ["0.01", 1, 3],
    ]
    assert path.minimum == "1/5"
    (answer,) = gather(results).recommendations
    assert answer.key == "1/5"


def test_a_run_that_is_at_two_lambdas_is_the_best_once(tmp_path: Path) -> None:
    results = results_of(tmp_path, "[0.1, {per-row: 1}]", "[branches, cart]")
    ranking = rank(results, gather(results).excess, ["encoding_label", "solver_label"])
    assert ranking[["runs", "compared"]].to_numpy().tolist() == [[3, 3], [3, 3]]
