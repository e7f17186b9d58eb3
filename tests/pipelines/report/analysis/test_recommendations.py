"""What to take, and why."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import pytest

from pipelines.report.analysis.recommendations import Recommendation
from pipelines.report.data.results import label_results
from pipelines.report.write import gather
from tests.helpers.report_rows import (
    as_frame,
    as_plan,
    failed,
    path_row,
    refused,
    run_row,
    sweep_rows,
)


def recommend(
    rows: list[dict[str, Any]], planned: list[dict[str, Any]] | None = None
) -> Recommendation:
    (found,) = gather(label_results(as_frame(rows), as_plan(planned or rows))).recommendations
    return found


def test_validation_chooses_the_fewest_leaves_within_one_standard_error() -> None:
    rows = sweep_rows(solvers=("branches",), n_folds=3)
    found = recommend(rows)
    points = [
        point
        for path in gather(label_results(as_frame(rows), None)).paths
        for _, point in path.table.iterrows()
    ]
    best = max(points, key=lambda p: (p["test_accuracy"], -p["leaves"]))
    within = [p for p in points if p["test_accuracy"] >= best["test_accuracy"] - best["test_error"]]
    assert found.point is not None
    assert found.point["leaves"] == min(p["leaves"] for p in within)
    assert found.headline.startswith("Take ")
    assert found.tree is not None
    assert found.tree.fold == 0
    assert any("standard error" in reason for reason in found.reasons)
    assert any("proven optimal" in reason for reason in found.reasons)


def test_the_end_of_the_grid_is_a_warning() -> None:
    rows = sweep_rows(encodings=("onehot",), solvers=("branches",), n_folds=3)
    found = recommend(rows)
    assert found.point is not None
    assert found.point["lam_text"] == "0.01"
    assert any("end of the grid" in warning for warning in found.warnings)


def test_one_split_is_no_splits() -> None:
    found = recommend([run_row(lam="0.1")])
    assert found.point is not None
    assert found.point["splits"] == 1
    assert "and 1 split." in found.reasons[0]


def test_one_other_solver_is_no_others() -> None:
    rows = sweep_rows(solvers=("branches",), n_folds=3)
    others = [row | {"solver": f"other{i}", "key": f"{row['key']}/{i}"} for i in range(6)
              for row in sweep_rows(solvers=("cart",), n_folds=3)]  # fmt: skip
    found = recommend(rows + others)
    assert any("; 1 other, not better than these." in reason for reason in found.reasons)


def test_training_results_do_not_choose_lambda() -> None:
    found = recommend(sweep_rows())
    assert found.key is None
    assert "cannot choose λ" in found.headline
    assert found.reasons[0] == "The optimal tree of a smaller λ never fits the training rows worse."
    assert found.path is not None
    assert (found.path.encoding, found.path.solver) == ("categorical", "branches")
    assert any("cart, a heuristic, is above" in reason for reason in found.reasons)
    assert any("kfold" in warning for warning in found.warnings)


def test_with_one_lambda_the_smallest_objective_is_the_answer() -> None:
    found = recommend(sweep_rows(lams=("0.05",)))
    assert found.point is not None
    assert found.headline.startswith("At λ = 0.05, categorical with branches")
    assert any("held out" in warning for warning in found.warnings)


def test_objectives_that_nearly_tie_are_compared_exactly() -> None:
    """Targets in small units have objectives below 1e-12."""
    fine = [run_row(encoding=encoding) for encoding in ("onehot", "categorical")]
    low, high = Fraction(3, 10**15), Fraction(4, 10**15)
    rows = [
        row | {"objective": float(value), "objective_exact": str(value), "seconds": seconds}
        for row, value, seconds in zip(fine, (high, low), (0.1, 0.2), strict=True)
    ]
    assert recommend(rows).headline.startswith("At λ = 0.05, categorical with branches has the sma")
    fact = "The smallest objective is that of categorical at 2 of 2 λ."
    both = [row | {"lam": 0.1, "lam_exact": "1/10", "lam_label": "0.1", "key": row["key"] + "2"}
            for row in rows]  # fmt: skip
    assert fact in recommend([*rows, *both]).reasons
    # Within the tolerance of regression they are equal: time decides.
    alike = [row | {"task": "regression", "tolerance": 1e-15} for row in rows]
    assert recommend(alike).headline.startswith("At λ = 0.05, onehot with branches has the sma")


def test_an_error_of_another_scale_makes_no_tie() -> None:
    rows = [
        run_row(lam=lam, fold=fold) | {"task": "regression", "test_rmse": root, "test_r2": 0.9}
        for lam, root in (("0.3", 5e6), ("0.05", 4.5), ("0.01", 0.1))
        for fold in range(3)
    ]
    assert recommend(rows).headline == "Take onehot with branches at λ = 0.01."


def test_many_solvers_that_prove_everything_are_counted_and_not_named() -> None:
    rows = [
        run_row() | {"key": str(slack), "solver_options": json.dumps({"slack": slack})}
        for slack in range(6)
    ]
    assert "6 of 6 solvers have proven all their trees optimal." in recommend(rows).reasons
    named = recommend(rows[:5]).reasons
    assert sum("has proven 1 of 1 of its trees optimal" in reason for reason in named) == 5


def test_no_answer_without_trees_or_without_any_full_lambda() -> None:
    rows = sweep_rows(encodings=("onehot",), solvers=("branches",), n_folds=3)
    assert recommend([failed(row) for row in rows]).headline.endswith("every run has failed.")
    assert "no run has given" in recommend([], rows).headline
    assert "no λ has all of its folds" in recommend(rows[:3], rows).headline


def test_a_limit_that_was_hit_is_told() -> None:
    rows = [run_row(lam="0.01", nodes=1, fold=fold) for fold in range(3)]
    found = recommend(rows)
    assert any("0 of 3 trees are proven optimal" in reason for reason in found.reasons)


def test_time_does_not_choose_among_lambdas_with_the_same_trees() -> None:
    rows = [
        {**run_row(lam=lam, fold=fold), "seconds": seconds}
        for lam, seconds in (("0.011", 0.5), ("0.01", 0.1))
        for fold in range(3)
    ]
    found = recommend(rows)
    assert found.path is not None
    accuracies = found.path.table["test_accuracy"].tolist()
    assert accuracies[0] == accuracies[1]
    assert found.point is not None
    assert found.point["lam_text"] == "0.011"
    assert found.key == found.path.minimum


def test_validation_of_exact_paths_answers_with_an_interval() -> None:
    rows = [path_row(fold=fold) for fold in range(3)]
    found = recommend([*rows, *sweep_rows(encodings=("onehot",), solvers=("cart",), n_folds=3,
                                       lams=("0.2", "0.1"))])  # fmt: skip
    assert found.path is not None
    assert found.path.exact_paths
    assert found.point is not None
    assert f"at any λ from {found.point['lam_text']}." in found.headline
    start, end = (Fraction(found.point[name]) for name in ("lam_start_exact", "lam_end_exact"))
    assert start < end
    for fold in rows:
        assert not any(start < Fraction(step["lam"]) < end for step in fold["path"])
    assert any("No λ was left out" in reason for reason in found.reasons)
    assert any("proven optimal for all these λ" in reason for reason in found.reasons)
    assert not found.menu


def test_where_all_is_alike_an_exact_path_is_taken_before_a_grid() -> None:
    grid = sweep_rows(encodings=("onehot",), solvers=("branches",), lams=("0.02",), n_folds=3)
    found = recommend([*grid, *(path_row(fold=fold) for fold in range(3))])
    assert found.path is not None
    assert found.path.exact_paths


def test_without_validation_a_path_shows_the_tree_that_lasts_longest() -> None:
    row = path_row(encoding="categorical", lam="0.001")
    found = recommend([row])
    widths = [(Fraction(s["lam_end"]) / Fraction(s["lam"]), s["splits"]) for s in row["path"][1:-1]]
    assert found.tree is not None
    assert found.tree.tree.splits == max(widths)[1]
    assert found.menu
    assert "look first at" in found.headline
    assert any("proven best for every λ" in reason for reason in found.reasons)
    assert any("validation: {kind: kfold" in note for note in found.warnings)


@pytest.mark.parametrize(
    ("encoding", "lam", "words"),
    [
        (
            "categorical",
            "0.04",
            "1.5: the widest step of a tree with splits but for the first step, which is known "
            "only from λ = 0.04 on. ",
        ),
        (
            "onehot",
            "0.001",
            "from 0.05209 to 0.08333, a factor of 1.6: the widest step of a tree with splits but "
            "for the first step, which is known for λ from 0.001 to 0.05208, a factor of 52 or "
            "more. ",
        ),
        ("onehot", "0", "the first step, which is known for λ from 0 to 0.05208. "),
    ],
)
def test_a_first_step_that_is_wider_is_not_passed_over_in_silence(
    encoding: str, lam: str, words: str
) -> None:
    assert any(
        words in reason for reason in recommend([path_row(encoding=encoding, lam=lam)]).reasons
    )


def test_the_only_step_with_splits_is_not_called_the_widest() -> None:
    row = path_row(lam="0.085")
    first, last = row["path"]
    row |= {"lam_exact": "1/20", "path": [first | {"lam": "1/20"}, last], "path_points": []}
    words = "the only step of a tree with splits, known only from λ = 0.05 on. "
    assert any(words in reason for reason in recommend([row]).reasons)


def test_a_heuristic_is_said_to_be_best_only_where_it_was_compared() -> None:
    both = [run_row(lam="0.9"), run_row(name="cart", lam="0.9")]
    alone = run_row(name="cart", lam="0.8")
    everywhere = "cart, a heuristic, found the best known tree everywhere."
    assert everywhere in recommend([*both, run_row(lam="0.8"), alone]).reasons
    reasons = recommend([*both, alone]).reasons
    assert everywhere not in reasons
    partly = "cart, a heuristic, found the best known tree wherever it and another solver gave one"
    assert f"{partly}: in 1 of 2 cases." in reasons
    # Where it failed, or the other solver did, there is nothing to compare.
    for one, other in ((failed, dict), (dict, failed)):
        pair = [one(alone), other(run_row(lam="0.8"))]
        assert f"{partly}: in 1 of 2 cases." in recommend([*both, *pair]).reasons


def test_a_solver_of_others_is_not_called_a_heuristic() -> None:
    unproven = {"lower_bound": None, "lower_bound_exact": None, "gap": None, "gap_exact": None}
    theirs = {"solver": "streed", "status": "heuristic"} | unproven
    found = recommend([run_row(lam="0.9"), run_row(lam="0.9") | theirs | {"key": "other"}])
    assert "streed, a solver of others, found the best known tree everywhere." in found.reasons
    folds = [run_row(fold=fold) | theirs for fold in range(3)]
    words = "streed is a solver of others: nothing is proven about its trees."
    assert words in recommend(folds).reasons
    late = [row | {"status": "time_limit"} for row in folds]
    assert "streed proves nothing about its trees." in recommend(late).reasons
    one = run_row(lam="0.9") | theirs | {"status": "time_limit"}
    assert "streed has proven 0 of 1 of its trees optimal." in recommend([one]).reasons


def test_a_search_of_one_part_that_a_limit_ended_has_no_other() -> None:
    row = run_row(fold=0) | {"status": "node_limit", "gap": 0.25, "gap_exact": "1/4"}
    (proof,) = [one for one in recommend([row]).reasons if "proven" in one]
    assert proof == (
        "Its tree is not proven optimal for this λ: a limit ended its search with a gap of 0.25."
    )


def test_a_path_without_a_split_or_a_single_step_has_no_tree_to_look_at_first() -> None:
    found = recommend([path_row(lam="0.9")])
    assert found.tree is None
    assert found.headline.startswith("Take onehot with branches")


def test_the_tree_without_a_split_is_taken_for_any_larger_lambda() -> None:
    rows = [path_row(fold=fold) for fold in range(3)]
    for row in rows:
        for step in row["path"]:
            step["test_errors"] = min(step["splits"], 5)
    found = recommend(rows)
    assert found.point is not None
    assert found.point["lam_end_exact"] is None
    assert f"any λ of {found.point['lam_text']}" in found.headline


def test_a_lambda_too_large_for_any_split_is_told() -> None:
    found = recommend(sweep_rows(encodings=("onehot",), lams=("0.9",), n_folds=3))
    assert any("small enough for a split to pay" in warning for warning in found.warnings)
    found = recommend(sweep_rows(encodings=("onehot",), n_folds=3))
    assert not any("small enough" in warning for warning in found.warnings)


def without_split(solver: str = "branches", lam: str = "0.9", **more: Any) -> list[dict[str, Any]]:
    return [run_row(name=solver, lam=lam, fold=fold, **more) for fold in range(3)]


def without_gain(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same trees at λ = 0, as of a table that no split explains."""
    return [row | {"lam": 0.0, "lam_exact": "0", "lam_label": "0"} for row in rows]


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (without_split(), "No λ here is small enough for a split to pay; try smaller λ."),
        (
            [row | {"limits": '{"depth":1}'} for row in without_split()],
            "No tree here has a split; other limits (depth: 1) may allow one that pays; try "
            "smaller λ.",
        ),
        (
            [
                *without_split(),
                *([row | {"limits": '{"min_leaf_size":20}'} for row in without_split("cart")]),
            ],
            "No λ here is small enough for a split to pay; try smaller λ.",
        ),
        (
            [
                *without_split(encoding="categorical"),
                *([row | {"limits": '{"min_leaf_size":20}'} for row in without_split()]),
            ],
            "No tree here has a split; other limits (min_leaf_size: 20) may allow one that pays; "
            "try smaller λ.",
        ),
        (
            [
                *without_split(),
                run_row(lam="0.05", fold=0),
                run_row(lam="0.05", fold=1),
                failed(run_row(lam="0.05", fold=2)),
            ],
            "onehot with branches has no split at any λ with all its folds; at λ = 0.05, which "
            "lacks folds, it has.",
        ),
        (
            without_split("cart"),
            "No tree here has a split, but it is not proven that none pays; try smaller λ.",
        ),
        (
            [*without_split(), *without_split("cart", "0.8")],
            "No tree here has a split, but it is not proven that none pays; try smaller λ.",
        ),
        (
            without_gain(without_split()),
            "No tree with a split fits the training rows better than one leaf, even at λ = 0.",
        ),
        (
            without_gain(without_split("cart")),
            "No tree here has a split, but it is not proven that none pays.",
        ),
        (
            [row | {"test_accuracy": 1.0, "test_errors": 0} for row in without_split()]
            + without_split(lam="0.05", encoding="categorical"),
            "onehot with branches has no split at any λ here; categorical with branches has.",
        ),
    ],
)
def test_why_no_tree_has_a_split_is_told_as_far_as_it_is_known(
    rows: list[dict[str, Any]], words: str
) -> None:
    warnings = recommend(rows).warnings
    assert words in warnings
    assert sum("split" in warning for warning in warnings) == 1
    smaller = [run_row(lam="0.001", fold=fold) for fold in range(3)]
    assert not any("split" in warning for warning in recommend(rows, [*rows, *smaller]).warnings)


def test_a_dataset_without_a_possible_cell_says_why() -> None:
    rows = sweep_rows()
    plan = as_plan(rows, [refused("toy"), refused("other"), refused("other")])
    results = label_results(as_frame(rows), plan)
    found = {recommend.dataset: recommend.headline for recommend in gather(results).recommendations}
    assert found["other"] == (
        "No answer: no cell of this dataset can be run: solver 'cart' needs binary or continuous "
        "features."
    )


def test_what_has_not_been_run_has_not_failed() -> None:
    first, *rest = sweep_rows()
    assert recommend([failed(first)], [first, *rest]).headline.endswith("run so far has failed.")
    (found,) = gather(
        label_results(as_frame([first]).iloc[:0], as_plan([first, *rest]))
    ).recommendations
    assert found.headline == "No answer yet: no run has given a tree yet."


def test_the_tree_shown_is_that_of_the_chosen_lambda_and_not_of_its_neighbour() -> None:
    """At λ = 0.3 all folds find one tree; at 0.2 fold 0 finds another one. With the standard error
    of another solver 0.2 is taken, which its own path would not choose."""
    exact = [run_row(lam=lam, fold=fold) for lam in ("0.3", "0.2", "0.01") for fold in range(3)]
    larger = run_row(lam="0.01", fold=0)
    exact[3] |= {name: larger[name] for name in ("tree", "leaves", "splits", "errors")}
    other = [run_row(name="cart", lam="0.01", fold=fold) for fold in range(3)]
    accuracies = [*[0.7] * 3, *[0.88] * 3, *[0.92] * 3, 1.0, 1.0, 0.8]
    rows = [row | {"test_accuracy": a} for row, a in zip([*exact, *other], accuracies, strict=True)]
    found = recommend(rows)
    assert found.path is not None
    assert found.headline == "Take onehot with branches at λ = 0.2."
    assert found.key not in (found.path.minimum, found.path.one_se)
    assert found.tree is not None
    assert (found.tree.lams, found.tree.runs, found.tree.of) == (("0.2",), (2,), (3,))
    assert found.tree.fold == 1
    assert found.tree.text == exact[4]["tree"]
    assert found.tree.quality["test_accuracy"] == pytest.approx(0.88)
