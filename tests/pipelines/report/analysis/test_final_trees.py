"""What is said of a tree that a run of the sweep has grown on all rows."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from pipelines.report.analysis.final_trees import FinalTree, FinalTrees, fold_rows
from pipelines.report.analysis.model_card import DatasetSummary, summarize_dataset
from pipelines.report.data.results import label_results
from pipelines.report.write import gather
from solver.solution import Status
from solver.trees.tree import Tree
from tests.helpers.report_rows import as_frame, as_plan, path_row, run_row


def answer_of(rows: list[dict[str, Any]]) -> tuple[DatasetSummary, FinalTree]:
    report = gather(label_results(as_frame(rows), as_plan(rows)))
    (own,) = report.recommendations
    found = summarize_dataset(own, report, FinalTrees({}))
    assert isinstance(found.final, FinalTree)
    return found, found.final


def test_what_is_proven_where_a_step_begins_is_not_said_of_its_other_lambdas() -> None:
    row = path_row(encoding="categorical", lam="0.001")
    tree = answer_of([row])[0].own.tree
    assert tree is not None
    assert tree.start is not None
    steps = [s | {"proven": s["proven"] and Fraction(s["lam"]) < tree.start} for s in row["path"]]
    points = [point for point in row["path_points"] if Fraction(point["lam"]) <= tree.start]
    limited = row | {"status": "time_limit", "path": steps, "path_points": points}
    report = gather(label_results(as_frame([limited]), as_plan([limited])))
    answer, final = answer_of([limited])
    own = answer.own
    assert own.path is not None
    assert own.key == str(tree.start)
    assert fold_rows(report.results, own.path, own.key)[0]["status"] == Status.OPTIMAL.value
    assert Fraction(final.lam) > tree.start
    assert final.status == "time_limit"
    assert final.gap is not None
    assert final.gap > 0
    assert f"not proven optimal at λ = {final.lam} (gap at most " in answer.verdict.sentence


def test_of_repetitions_with_different_trees_the_best_one_is_shown_with_its_own_figures() -> None:
    best, worse = run_row(), run_row(nodes=1)
    assert Fraction(best["objective_exact"]) < Fraction(worse["objective_exact"])
    rows = [
        row | {"repeat": number or None, "key": str(number), "limits": "{}"}
        for number, row in enumerate([worse, best, worse])
    ]
    answer, final = answer_of(rows)
    assert final.tree == Tree.from_json(best["tree"])
    assert final.status == "optimal"
    assert f"{best['objective']:.6g}" in answer.own.headline
    right = f"{100 * best['train_accuracy']:.1f} % right on its own training rows"
    assert answer.verdict.sentence.startswith(right)
    assert f"of the training rows right, with {final.tree.leaves} leaves" in answer.own.reasons[0]
