"""λ-paths and what validation picks."""

from __future__ import annotations

import math

import pandas as pd
import pytest

from pipelines.report.analysis.lambda_paths import choose_on_grid, make_paths
from pipelines.report.analysis.path_trees import signature
from pipelines.report.data.results import label_results
from tests.helpers.report_rows import as_frame, as_plan, failed, run_row, sweep_rows


def points(accuracies: list[float], error: float = 0.02, runs: int = 5) -> pd.DataFrame:
    """A path's table from large to small λ."""
    return pd.DataFrame(
        {
            "lam": [0.5**i for i in range(len(accuracies))],
            "lam_key": [str(i) for i in range(len(accuracies))],
            "test_score": accuracies,
            "test_error": error,
            "runs": runs,
            "expected": 5,
        }
    )


def test_the_minimum_and_the_largest_lambda_within_one_standard_error() -> None:
    assert choose_on_grid(points([0.60, 0.89, 0.90, 0.905, 0.88])) == ("3", "1")
    assert choose_on_grid(points([0.60, 0.80, 0.90, 0.905, 0.88])) == ("3", "2")


def test_at_a_tie_the_larger_lambda_wins() -> None:
    assert choose_on_grid(points([0.6, 0.9, 0.9], error=0.0)) == ("1", "1")


def test_a_score_of_another_scale_makes_no_tie() -> None:
    """In regression the mean squared error of one leaf may be 10^12 times that of a tree."""
    scores = [-2.5e13, -20.0, -0.01]
    assert choose_on_grid(points(scores, error=0.0)) == ("2", "2")
    assert choose_on_grid(points(scores, error=20.0)) == ("2", "1")
    close = points([-2.5e13, -20.0 * (1 + 1e-15), -20.0], error=0.0)
    assert choose_on_grid(close) == ("1", "1")


def test_only_lambdas_with_all_folds_take_part() -> None:
    table = points([0.6, 0.8, 0.9])
    table.loc[2, "runs"] = 4
    assert choose_on_grid(table) == ("1", "1")
    table["runs"] = 4
    assert choose_on_grid(table) == (None, None)


def test_one_held_out_part_has_no_standard_error() -> None:
    assert choose_on_grid(points([0.6, 0.8, 0.7], error=math.nan)) == ("1", None)


def test_a_path_has_means_over_folds_exact_and_with_spread() -> None:
    rows = [run_row(lam="0.05", fold=fold) for fold in range(3)]
    (path,) = make_paths(label_results(as_frame(rows), as_plan(rows)))
    point = path.table.iloc[0]
    tests = [row["test_accuracy"] for row in rows]
    assert point["test_accuracy"] == pytest.approx(sum(tests) / 3)
    assert point["test_spread"] == pytest.approx(pd.Series(tests).std())
    assert point["test_error"] == pytest.approx(pd.Series(tests).std() / math.sqrt(3))
    assert point["optimal"] == point["runs"] == point["expected"] == 3
    assert point["objective_exact"] == point["lower_bound_exact"]


def test_without_folds_the_trees_are_those_of_the_path_from_large_to_small_lambda() -> None:
    rows = sweep_rows(encodings=("onehot",), solvers=("branches",),
                      lams=("0.01", "0.012", "0.08", "0.3", "0.4"))  # fmt: skip
    (path,) = make_paths(label_results(as_frame(rows), None))
    assert [tree.lams for tree in path.trees] == [("0.4", "0.3"), ("0.08",), ("0.012", "0.01")]
    assert [tree.tree.splits for tree in path.trees] == sorted(t.tree.splits for t in path.trees)
    assert all(tree.proven and tree.fold is None for tree in path.trees)
    assert path.minimum is None
    assert path.fold_trees == {}


def test_with_folds_the_most_common_tree_stands_for_a_lambda() -> None:
    rows = sweep_rows(encodings=("onehot",), solvers=("branches",), n_folds=3)
    (path,) = make_paths(label_results(as_frame(rows), as_plan(rows)))
    assert path.minimum in path.fold_trees
    for key, trees in path.fold_trees.items():
        assert sum(tree.runs[0] for tree in trees) == 3
        assert len({tree.signature for tree in trees}) == len(trees)
        assert [t.runs[0] for t in trees] == sorted((t.runs[0] for t in trees), reverse=True)
        assert trees[0].lams[0] == path.point(key)["lam_text"]
    assert path.trees[0].lams[0] == "0.2"


def test_failures_are_counted_and_keep_their_lambda_from_being_picked() -> None:
    rows = sweep_rows(encodings=("onehot",), solvers=("branches",), n_folds=3)
    rows[0] = failed(rows[0])
    (path,) = make_paths(label_results(as_frame(rows), as_plan(rows)))
    point = path.table.set_index("lam_text").loc["0.2"]
    assert (point["runs"], point["failed"]) == (2, 1)
    assert point["status"] == "error 1, optimal 2"
    assert path.one_se != "1/5"


def test_the_same_tree_with_other_counts_has_the_same_signature() -> None:
    trees = [run_row(lam="0.2", fold=fold)["tree"] for fold in range(3)]
    assert len(set(trees)) > 1
    assert len({signature(text) for text in trees}) == 1
    assert signature(run_row(lam="0.01")["tree"]) != signature(trees[0])


def test_trees_of_other_folds_are_other_trees() -> None:
    """Two folds' optima at two λ prove nothing of the λ between them."""
    rows = [run_row(lam=lam, fold=fold) for lam in ("0.9", "0.8", "0.7") for fold in range(2)]
    for kept, joined in (
        ([0, 3], [("0.9",), ("0.8",)]),
        ([0, 2], [("0.9", "0.8")]),
        ([0, 1, 2], [("0.9",), ("0.8",)]),
        ([1, 2, 3, 4, 5], [("0.9",), ("0.8", "0.7")]),
        ([0, 1, 2, 3, 4, 5], [("0.9", "0.8", "0.7")]),
    ):
        (path,) = make_paths(label_results(as_frame([rows[i] for i in kept]), as_plan(rows)))
        assert [tree.lams for tree in path.trees] == joined
        assert all(tree.proven for tree in path.trees)


def test_a_tree_of_several_lambdas_has_the_quality_of_all_folds_that_found_it() -> None:
    other = run_row(lam="0.01")["tree"]
    rows = [run_row(lam=lam, fold=fold) for lam in ("0.9", "0.8") for fold in range(3)]
    rows = [{**row, "test_accuracy": (0.5, 0.75, 1.0)[i % 3]} for i, row in enumerate(rows)]
    rows[2]["tree"] = rows[3]["tree"] = other
    (path,) = make_paths(label_results(as_frame(rows), as_plan(rows)))
    (tree,) = path.trees
    assert (tree.lams, tree.runs, tree.of) == (("0.9", "0.8"), (2, 2), (3, 3))
    assert tree.quality["test_accuracy"] == pytest.approx((0.5 + 0.75 + 1.0) / 3)
