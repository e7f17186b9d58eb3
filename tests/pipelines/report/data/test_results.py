"""Rows under the names that people read, against the plan."""

from __future__ import annotations

import json
from fractions import Fraction

from pipelines.report.analysis.lambda_paths import make_paths
from pipelines.report.data.results import label_results
from tests.helpers.report_rows import (
    as_frame,
    as_plan,
    failed,
    refused,
    run_row,
    sweep_rows,
)


def test_the_plan_tells_what_is_missing_impossible_and_foreign() -> None:
    rows = sweep_rows(n_folds=3)
    old = run_row(lam="0.3", fold=0)
    results = label_results(as_frame([*rows[4:], old]), as_plan(rows, [refused(tasks=9)]))
    assert results.n_ok == len(rows) - 4
    assert len(results.missing) == 4
    assert results.n_impossible == 9
    assert results.unplanned == 1
    assert "0.3" not in set(results.rows["lam_text"])
    assert results.encodings == ("onehot", "categorical")
    assert results.solvers == ("branches", "cart")


def test_failed_rows_are_not_ok_and_a_later_attempt_counts() -> None:
    row = run_row()
    lost = failed(row)
    results = label_results(as_frame([lost]), as_plan([row]))
    assert results.n_failed == 1
    again = label_results(as_frame([lost, row | {"attempt": 2}]), as_plan([row]))
    assert again.n_failed == 0
    assert len(again.rows[again.rows["ok"]]) == 1
    assert again.unplanned == 0


def test_a_row_under_smaller_limits_answers_the_task_that_says_so() -> None:
    row = run_row()
    plan = as_plan([row | {"key": "new", "limits": '{"seconds":9.0}'}])
    plan["answered_by"] = row["key"]
    results = label_results(as_frame([row]), plan)
    assert len(results.missing) == 0
    assert results.rows["limits"].tolist() == ['{"seconds":9.0}']


def test_only_options_that_tell_solvers_apart_are_shown() -> None:
    paper, full = ({"mode": m, "seed": 0} for m in ("paper", "full"))
    rows = [
        run_row() | {"key": str(i), "solver_options": json.dumps(options), "limits": limits}
        for i, (options, limits) in enumerate([(paper, "{}"), (full, "{}"), (full, '{"depth": 3}')])
    ]
    labels = label_results(as_frame(rows), None).rows["solver_label"].tolist()
    assert labels == [
        "branches (depth=none, mode=paper)",
        "branches (depth=none, mode=full)",
        "branches (depth=3, mode=full)",
    ]


def test_limits_on_shape_make_another_problem_and_budgets_do_not() -> None:
    rows = [
        run_row() | {"key": str(i), "limits": limits}
        for i, limits in enumerate(["{}", '{"seconds":1.0}', '{"depth":3}'])
    ]
    problems = label_results(as_frame(rows), None).rows["problem"].tolist()
    assert problems[0] == problems[1] != problems[2]


def test_lambda_per_row_is_one_lambda_over_folds_of_any_size() -> None:
    rows = [
        run_row(lam="0.05", fold=0, label="2/n"),
        run_row(lam="0.01", fold=1, label="2/n"),
        run_row(lam="0.01", fold=2, label="0.01"),
        run_row(lam="1/100", fold=0, label="1/100"),
    ]
    frame = label_results(as_frame(rows), None).rows
    assert frame["lam_key"].tolist() == ["2/n", "2/n", "1/100", "1/100"]
    assert frame["lam_text"].tolist() == ["2/n", "2/n", "0.01", "0.01"]


def test_nothing_at_all() -> None:
    results = label_results(as_frame([]), None)
    assert len(results.rows) == 0
    assert results.datasets == ()
    assert not results.planned


def test_lambdas_beyond_the_digits_of_floats_are_in_order() -> None:
    lams = [f"0.0{'3' * 30}{digit}" for digit in "5274"]
    rows = [run_row(lam=lam, fold=fold) for fold in (0, 1) for lam in lams]
    results = label_results(as_frame(rows), as_plan(rows))
    assert len(set(results.rows["lam"])) == 1
    order = [Fraction(text) for text in results.sort(results.rows)["lam_exact"]]
    assert order == sorted(order, reverse=True)
    (path,) = make_paths(results)
    assert [*path.table["lam_key"]] == [str(lam) for lam in order[::2]]


def test_a_limit_that_ended_only_the_search_for_good_trees_leaves_the_tree_proven() -> None:
    options = json.dumps({"rashomon": {"within": "1/20", "unit": "relative"}})
    known = {"status": "time_limit", "gap": 0.0, "gap_exact": "0", "solver_options": options}
    rows = [run_row(lam=lam) | {"solver_options": options} for lam in ("0.1", "0.05", "0.02")]
    gapped = known | {"gap": 0.125, "gap_exact": "1/8"}
    rows = [rows[0], rows[1] | known, rows[2] | gapped]
    results = label_results(as_frame(rows), as_plan(rows))
    assert results.rows["status"].tolist() == ["optimal", "optimal", "time_limit"]
