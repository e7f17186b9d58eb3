"""Published accuracies by depth beside ours."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from pipelines.report.data.results import label_results
from pipelines.report.write import gather, write_report_data
from pipelines.reproduce.compare_published import reproduce
from solver.errors import InputError
from tests.helpers.report_rows import as_frame, run_row

TRAINED_ON_GIVEN = json.dumps({"kind": "given"})


def run(errors: int, depth: int | None = 2, **changes: Any) -> dict[str, Any]:
    """A proven run of quantbnb on 1000 rows."""
    row = run_row(lam="0.05") | {
        "solver": "quantbnb",
        "lam": 0.0,
        "lam_exact": "0",
        "encoding": "continuous",
        "errors": errors,
        "total_weight": 1000,
        "train_accuracy": 1 - errors / 1000,
        "limits": json.dumps({} if depth is None else {"depth": depth}),
        "key": f"{errors}/{depth}/{changes}",
    }
    return row | changes


def published(folder: Path, *lines: str) -> Path:
    path = folder / "published.csv"
    head = "dataset,depth2_accuracy_percent,depth3_accuracy_percent\n"
    path.write_text(head + "\n".join(lines) + "\n")
    return path


def test_accuracies_are_compared_to_the_printed_digit(tmp_path: Path) -> None:
    rows = [run(75), run(20, 3), run(70, 2, dataset="other", status="time_limit"), run(9, 4)]
    path = published(tmp_path, "toy,92.5,98.1", "other,93.0,95.0", "none,90.0,")
    found = reproduce(as_frame(rows), path)
    assert found["dataset"].tolist() == ["toy", "toy", "other", "other", "none"]
    assert found["depth"].tolist() == [2, 3, 2, 3, 2]
    assert found["verdict"].tolist() == ["same", "worse", "no worse", "not run", "not run"]
    assert found["our_percent"].tolist()[:3] == ["92.500", "98.000", "93.000"]
    assert reproduce(as_frame([run(70)]), path)["verdict"][0] == "better"
    # 0.05 off is what rounding may take away.
    half = run(7455) | {"total_weight": 100_000, "train_accuracy": 0.92545}
    assert reproduce(as_frame([half]), path)["verdict"][0] == "same"


def test_the_fastest_proven_run_of_the_best_trees_is_taken(tmp_path: Path) -> None:
    slow = run(75, seconds=9.0, solver_options='{"bound":"w2"}')
    fast = run(75, seconds=0.5, solver_options='{"bound":"w1"}')
    ended = run(75, seconds=0.1, status="time_limit")
    found = reproduce(as_frame([slow, ended, fast, run(80)]), published(tmp_path, "toy,92.5,"))
    (record,) = found.to_dict("records")
    assert (record["our_seconds"], record["our_proven"]) == (0.5, True)
    assert record["our_options"] == '{"bound":"w1"}'


def test_only_an_optimum_of_the_accuracy_among_all_axis_parallel_trees_is_a_proof(
    tmp_path: Path,
) -> None:
    path = published(tmp_path, "toy,92.5,")
    priced = run(75, lam=0.05, lam_exact="1/20")
    assert reproduce(as_frame([priced]), path)["verdict"].tolist() == ["no worse"]
    for other in (
        {"solver_options": '{"rules":"hyperplane"}'},
        {"limits": '{"depth":2,"min_leaf_size":5}'},
        {"path": []},
    ):
        assert reproduce(as_frame([run(75, **other)]), path)["verdict"].tolist() == ["not run"]


def test_mdlp_and_cart_stand_beside_and_folds_do_not_count(tmp_path: Path) -> None:
    rows = [
        run(75, validation=TRAINED_ON_GIVEN, fold=0),
        run(10, validation=json.dumps({"kind": "kfold"}), fold=0),
        run(77, encoding="mdlp"),
        run(91, solver="cart", lower_bound=None),
        run(93, encoding="mdlp", solver="cart", lower_bound=None),
        run(20, encoding="mdlp", solver="tao", lower_bound=None, status="heuristic"),
        run(10, solver="gosdt", lower_bound=None, status="heuristic"),
    ]
    frame = as_frame(rows).astype({"validation": "category", "solver": "category"})
    (record,) = reproduce(frame, published(tmp_path, "toy,92.5,")).to_dict("records")
    assert record["our_percent"] == "92.500"
    assert record["mdlp_percent"] == pytest.approx(92.3)
    assert record["cart_percent"] == pytest.approx(90.9)


def test_a_table_without_datasets_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "published.csv"
    path.write_text("depth2_accuracy_percent\n92.5\n")
    with pytest.raises(InputError, match="no column 'dataset'"):
        reproduce(as_frame([run(75)]), path)


def test_the_report_has_the_table(tmp_path: Path) -> None:
    results = label_results(as_frame([run_row(lam="0.05")]), None)
    path = published(tmp_path, "toy,92.5,")
    report = write_report_data(gather(results, published=path), tmp_path / "report")
    page = report.page.read_text(encoding="utf-8")
    assert "On MDLP's cuts".lower() in page.lower().replace("&#39;", "'")
    assert "1 not run" in page
    table = pd.read_csv(report.folder / "tables" / "published.csv")
    assert table["published_percent"].tolist() == [92.5]
