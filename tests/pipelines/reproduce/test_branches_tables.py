"""The BRANCHES paper's printed tables: read, and compared with runs."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pandas as pd
import pytest
import yaml

from pipelines.reproduce.branches_tables import compare_printed, complexity_bounds, printed_rows
from pipelines.reproduce.experiments import EXPERIMENTS
from solver.objective.exact_objective import as_lambda
from sweep.clusters import Local
from sweep.graph.engine import run_sweep
from sweep.spec.spec import parse_spec
from sweep.store.read_results import read_results


def test_table_1_is_found_to_the_printed_digits() -> None:
    table = complexity_bounds()
    assert len(table) == 9
    assert (table["BRANCHES, printed"] == table["found"]).all()
    assert (table["OSDT, printed"] == table["found "]).all()


def test_all_25_rows_are_read() -> None:
    rows = printed_rows()
    assert len({row.name for row in rows}) == 25
    assert sum(len(row.figures) for row in rows) == 25 + 14 + 10 + 10 + 14
    assert {row.figures["branches"][0] for row in rows if row.name.startswith("zoo")} == {
        "0.992", "0.993"
    }  # fmt: skip


def run(row: int, solver: str, h: str, status: str = "optimal", options: str = "{}") -> dict:
    printed = printed_rows()[row]
    return {
        "dataset": printed.dataset, "encoding": printed.encoding, "fold": None, "solver": solver,
        "lam_exact": str(as_lambda(printed.lam)), "objective_exact": str(1 - Fraction(h)),
        "status": status, "solver_options": options, "n_rows": printed.shape[0],
        "n_features_encoded": 11, "n_classes": 2, "seconds": 0.25, "iterations": 1234,
    }  # fmt: skip


def test_verdicts() -> None:
    found = compare_printed(
        pd.DataFrame(
            [
                run(0, "branches", "0.93", options='{"mode":"full"}') | {"iterations": 1},
                run(0, "branches", "0.93", options='{"mode":"paper"}'),
                run(0, "gosdt", "0.9305", "heuristic"),
                run(0, "osdt", "0.92", "time_limit"),
                run(0, "dl85", "0.714", "heuristic"),
                run(10, "branches", "0.773"),
            ]
        )
    )
    first = found[found["row"] == "monk1-l"].set_index("solver")
    assert first["verdict"].to_dict() == {
        "branches": "same", "gosdt": "same", "osdt": "worse", "pygosdt": "not run",
        "dl85": "same",
    }  # fmt: skip
    assert first.loc["branches", "found   "] == "1,234"
    assert first.loc["osdt", "found  "] == "TO"
    tic = found[found["row"] == "tic-tac-toe-o"].iloc[0]
    assert tic["verdict"] == "no tree has it: at most 0.773000"


def test_a_table_of_other_rows_is_not_compared() -> None:
    complete = run(3, "branches", "0.955") | {"n_rows": 432}
    (found,) = compare_printed(pd.DataFrame([complete])).query("found != ''").to_dict("records")
    assert (found["n, q, K"], found["found"]) == ("169 11 2", "432 11 2")
    assert found["verdict"] == "another table"


@pytest.mark.slow
def test_the_printed_monks_are_met(shared_data: Path, tmp_path: Path) -> None:
    experiment = EXPERIMENTS["branches-printed"]
    spec = yaml.safe_load(experiment.text)
    spec["datasets"] = spec["datasets"][:3]
    spec["solvers"] = spec["solvers"][:1]
    sweep = parse_spec(yaml.safe_dump(spec, allow_unicode=True), shared_data, "monks.yaml")
    run_sweep(sweep, tmp_path / "out", Local(workers=1))
    found = compare_printed(read_results(tmp_path / "out"))
    found = found[(found["solver"] == "branches") & found["row"].str.startswith("monk")]
    assert (found["n, q, K"] == found["found"]).all()
    odd = found.loc[found["verdict"] != "same", "row"].tolist()
    assert odd == []
