"""Rule families of a sweep: sizes, accuracies, the trees to draw, the rows behind them."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines.report.analysis.rule_families import FamilySet, family_table, find_families
from pipelines.report.data.results import label_results
from solver.errors import InputError
from sweep.datasets.dataset_reference import DatasetRef
from tests.helpers.report_rows import as_frame, run_row
from tests.helpers.rule_rows import dataset, reference, rule_row, rule_rows


def found(rows: list[dict[str, Any]], known: bool = True) -> list[FamilySet]:
    return find_families(
        label_results(as_frame(rows), None), {"petals": reference()} if known else {}
    )


def test_sizes_and_accuracies_are_by_family() -> None:
    (one,) = found(rule_rows())
    assert (one.dataset, one.encoding) == ("petals", "continuous")
    points = one.points.set_index(["family", "splits"])
    families = ["axis", "hyperplane", "polynomial (degree 2)", "mixed (degree 2)"]
    assert list(points.index[:4]) == [(family, 1.0) for family in families]
    own = [rule_row("hyperplane", 2, fold) for fold in range(3)]
    line = points.loc["hyperplane", 2.0]
    assert line["train_accuracy"] == pytest.approx(sum(r["train_accuracy"] for r in own) / 3)
    assert line["test_accuracy"] == pytest.approx(sum(r["test_accuracy"] for r in own) / 3)
    assert (line["runs"], line["proven"], line["allowed"]) == (3, 3, "2 splits")
    cart = points.loc["axis, cart", 3.0]
    assert (cart["heuristic"], cart["proven"], cart["allowed"]) == (3, 0, "depth 3")
    assert len(family_table([one])) == len(one.points) == 13


def test_a_lambda_by_rows_is_one_in_all_folds() -> None:
    """2/n is another number where a fold has more rows for training."""
    rows = [
        rule_row("hyperplane", 1, fold)
        | {"lam": 2 / n, "lam_exact": f"2/{n}", "lam_label": "2/n", "key": f"{n}"}
        for fold, n in enumerate((99, 101, 101))
    ]
    (one,) = found(rows)
    (point,) = one.points.to_dict("records")
    assert (point["lam_text"], point["runs"]) == ("2/n", 3)
    assert point["lam"] == pytest.approx((2 / 99 + 4 / 101) / 3)


def test_trees_of_the_first_fold_are_drawn_and_its_rows_are_known() -> None:
    (one,) = found(rule_rows())
    assert one.fold == (0, 3)
    assert [(t.family, t.size) for t in one.trees[:2]] == [("axis", 1), ("hyperplane", 1)]
    first = rule_row("axis", 1, 0)
    assert one.trees[0].test_accuracy == pytest.approx(first["test_accuracy"])
    assert one.rows is not None
    assert int(one.rows.held_out.sum()) == first["n_test"]
    assert one.why == ""


def test_of_one_family_and_size_the_tree_of_fewest_errors_is_drawn() -> None:
    worse = rule_row("hyperplane", 2)
    better = rule_row("hyperplane", 2) | {
        "key": "other", "lam": 0.001, "lam_exact": "1/1000", "lam_label": "0.001",
        "errors": worse["errors"] - 1, "tree": rule_row("polynomial", 2)["tree"],
    }  # fmt: skip
    (one,) = found([worse, better])
    assert [shown.tree.to_json() for shown in one.trees] == [better["tree"]]
    assert len(one.points) == 2
    assert one.fold is None


@pytest.mark.parametrize(
    ("rows", "sets"),
    [
        ([run_row()], 0),
        ([rule_row("axis", 2, solver="cart")], 0),
        ([rule_row("axis", 2)], 1),
        ([rule_row("axis", 2) | {"status": "error", "tree": None}], 0),
        ([rule_row("hyperplane", 2), rule_row("axis", 2, solver="cart"), run_row()], 1),
    ],
    ids=["no numbers", "no choice of rules", "rules chosen", "no tree", "two families"],
)
def test_they_are_shown_where_rules_are_chosen(rows: list[dict[str, Any]], sets: int) -> None:
    assert len(found(rows)) == sets


def test_options_beside_the_family_tell_its_lines_apart() -> None:
    options = '{"rules":"hyperplane","memo":%s}'
    rows = [
        rule_row("hyperplane", 1, solver_options=options % memo, limits="{}", key=memo)
        for memo in ("true", "false")
    ]
    (one,) = found(rows)
    assert set(one.points["family"]) == {"hyperplane, memo=true", "hyperplane, memo=false"}
    assert set(one.points["allowed"]) == {"any"}


def test_solvers_with_the_same_rules_are_families_of_their_own() -> None:
    options = '{"rules":"hyperplane","margin":0.005}'
    oct_h = rule_row("hyperplane", 1, solver="oct", solver_options=options)
    (one,) = found([rule_row("hyperplane", 1), rule_row("axis", 1), oct_h])
    assert [*one.points["family"]] == ["axis", "hyperplane, proper", "hyperplane, oct"]
    assert [shown.given for shown in one.trees] == [True] * 3


def test_rows_that_cannot_be_had_are_left_out_with_the_reason() -> None:
    (unknown,) = found(rule_rows(None), known=False)
    assert unknown.rows is None
    assert "where the data are" in unknown.why
    (changed,) = found([row | {"data_hash": "other"} for row in rule_rows(None)])
    assert (changed.rows, changed.why) == (None, "the data have changed since")

    def gone(reference: DatasetRef) -> Any:
        raise InputError("there is no file petals.csv")

    results = label_results(as_frame(rule_rows(None)), None)
    (missing,) = find_families(results, {"petals": reference()}, gone)
    assert (missing.rows, missing.why) == (None, "there is no file petals.csv")
    assert dataset().digest == rule_row()["data_hash"]
