"""The answer of a dataset: each figure against the rows and the data."""

from __future__ import annotations

import json
import re
import shlex
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from pipelines.report.analysis import final_trees
from pipelines.report.analysis.final_trees import (
    FinalTree,
    FinalTrees,
    fold_rows,
    lam_to_train_at,
    leaves_of,
    load_table_of,
)
from pipelines.report.analysis.model_card import judge
from pipelines.report.analysis.report_data import ReportData
from pipelines.report.data.store_reader import decompress
from pipelines.report.output_folder import ReportFolder
from pipelines.report.pages import write_pages
from pipelines.report.pages.recommendation_cards import make_cards
from pipelines.report.write import Figures, gather, gather_report, write_report_data
from solver.trees.export import CLASS_COLOURS
from solver.trees.tree import Tree
from sweep.datasets import Dataset, load_dataset
from sweep.spec import folds
from sweep.spec.spec import parse_spec
from tests.helpers import without_dask
from tests.helpers.commands import run

LABELS = ["m" if i % 11 == 0 else "y" if i % 3 == 0 else "nm"[i % 5 > 2] for i in range(90)]
LINES = [f"{i % 3},{i % 5},{label}" for i, label in enumerate(LABELS)]
FOLDS = "validation: {kind: kfold, folds: 3, stratify: true}\n"


def swept(
    folder: Path, solvers: str, validation: str = FOLDS, lams: str = "0.1, 0.02"
) -> ReportData:
    (folder / "t.csv").write_text("\n".join(["a,b,class", *LINES, ""]))
    text = "name: own\ndatasets: [{path: t.csv, target: class}]\nencodings: [thresholds]\n"
    text += f"lambdas: [{lams}]\nsolvers: {solvers}\n{validation}"
    without_dask.finish(folder / "out", parse_spec(text, folder))
    return gather_report(folder / "out")


def cards_of(report: ReportData, folder: Path) -> dict[str, Any]:
    cards = make_cards(report, Figures(ReportFolder(folder), pngs=False))
    return cards["t"]


@pytest.mark.parametrize("solvers", ["[branches, cart]", "[{solver: branches, lam: path}]"])
def test_figures_are_those_of_the_rows_and_of_the_data(tmp_path: Path, solvers: str) -> None:
    report = swept(tmp_path, solvers)
    (own,), dataset = report.recommendations, load_dataset(tmp_path / "t.csv", target="class")
    card = cards_of(report, tmp_path / "report")
    assert own.path is not None
    assert own.key is not None
    rows = fold_rows(report.results, own.path, own.key)
    assert len(rows) == 3
    # The confusion matrix, row by row from the data.
    told: Counter[tuple[str, str]] = Counter()
    trees = [Tree.from_json(decompress(row["tree"])) for row in rows]
    for row, tree in zip(rows, trees, strict=True):
        test = folds.test_rows(
            json.loads(row["validation"]), folds.Fold(0, int(row["fold"])), dataset
        )
        part = dataset.frame[test]
        told.update(zip(part["class"], tree.predict(part), strict=True))
    confusion = card["confusion"]
    assert confusion["held_out"]
    for line in confusion["lines"]:
        counts = [told[line["label"], name] for name in confusion["classes"]]
        assert line["counts"] == counts
        assert line["recall"] == told[line["label"], line["label"]] / sum(counts)
    wrong = sum(number for (true, says), number in told.items() if true != says)
    assert wrong == sum(int(row["test_errors"]) for row in rows)
    # The sentence.
    right, least = re.findall(r"([\d.]+) %", card["sentence"])[:2]
    assert float(right) == pytest.approx(100 * sum(r["test_accuracy"] for r in rows) / 3, abs=0.051)
    shares = []
    for row in rows:
        described, fold = json.loads(row["validation"]), folds.Fold(0, int(row["fold"]))
        test = folds.test_rows(described, fold, dataset)
        # Of classes that are equally frequent the first is predicted.
        counts = dataset.frame["class"][~test].value_counts().sort_index()
        shares.append(float((dataset.frame["class"][test] == counts.idxmax()).mean()))
    assert float(least) == pytest.approx(100 * sum(shares) / 3, abs=0.051)
    final = card["final"]
    assert final.tree.leaves > 2
    assert f" {final.tree.leaves} leaves, proven optimal at λ = {final.lam}." in card["sentence"]
    # Columns by fold, and the classes in the leaves of the final tree.
    uses = Counter(c for t in trees for c in {c for x in t.tests.values() for c in x.columns})
    assert dict(card["uses"]) == uses
    ends = final.tree.apply(dataset.features)
    mixes = Counter(zip(ends.tolist(), dataset.frame["class"], strict=True))
    leaves = [n for n, node in enumerate(final.tree.nodes) if node.is_leaf and sum(node.counts)]
    expected = [tuple(mixes[n, name] for name in final.tree.classes) for n in leaves]
    assert [line["counts"] for line in card["leaves"]["lines"]] == expected
    assert [leaf.counts for leaf in leaves_of(final.tree)] == expected


def test_rows_that_are_held_out_several_times_are_called_so(tmp_path: Path) -> None:
    """Of 90 rows the table of classes has 180."""
    repeated = FOLDS.replace("folds: 3", "folds: 3, repeats: 2")
    report = swept(tmp_path, "[cart]", repeated, "0.1")
    confusion = cards_of(report, tmp_path / "report")["confusion"]
    assert sum(sum(line["counts"]) for line in confusion["lines"]) == 180
    assert confusion["repeats"] == 2
    page = write_report_data(report, tmp_path / "report").page.read_text("utf-8")
    assert "Held-out rows, all folds and 2 repetitions together: what is predicted" in page


def test_the_command_and_the_file_give_exactly_the_tree_that_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = swept(tmp_path, "[branches]")
    card = cards_of(report, tmp_path / "report")
    write_report_data(report, tmp_path / "report")
    monkeypatch.chdir(tmp_path)
    assert card["command_gives"] == "exactly this tree"
    words = shlex.split(card["commands"][0])
    assert words[0] == "treesweep"
    assert run(*words[1:]).exit_code == 0
    saved = Tree.from_json((tmp_path / "tree.json").read_text(encoding="utf-8"))
    (file,) = (tmp_path / "report" / "final-trees").iterdir()
    assert saved == card["final"].tree == Tree.from_json(file.read_text(encoding="utf-8"))
    assert sum(saved.nodes[0].counts) == len(LINES)


def test_a_run_on_all_rows_is_not_solved_again(tmp_path: Path) -> None:
    report = swept(tmp_path, "[branches]", "", "0.02")
    (own,) = report.recommendations
    growing = FinalTrees({})
    final = growing.find(own, report.results, "not to be read")
    assert isinstance(final, FinalTree)
    assert own.tree is not None
    assert final.text == own.tree.text
    assert final.limit is None
    assert growing.used == {}
    card = cards_of(report, tmp_path / "report")
    assert not card["confusion"]["held_out"]
    counts = [sum(line["counts"]) for line in card["confusion"]["lines"]]
    assert sum(counts) == len(LINES)
    assert "its own training rows" in card["sentence"]


def test_a_final_tree_is_grown_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    report = swept(tmp_path, "[branches]")
    first = cards_of(report, tmp_path / "report")
    monkeypatch.setattr(final_trees, "encode", None)
    again = cards_of(report, tmp_path / "report")
    assert again["final"] == first["final"]
    assert again["leaves"] == first["leaves"]


def test_without_the_data_the_tree_is_said_to_be_of_a_fold(tmp_path: Path) -> None:
    report = swept(tmp_path, "[branches]")
    (tmp_path / "t.csv").write_text("\n".join(["a,b,class", *LINES[1:], ""]))
    page = write_report_data(report, tmp_path / "report").page.read_text(encoding="utf-8")
    assert "the data have changed since" in page
    assert "A tree of a fold" in page
    assert not (tmp_path / "report" / "final-trees").exists()
    (own,) = report.recommendations
    verdict = judge(own, report.results, "gone", "gone")
    assert verdict.confusion is None
    assert "3 of 3 trees of folds proven optimal" in verdict.sentence


def test_errors_that_the_data_do_not_confirm_give_no_confusion_matrix(tmp_path: Path) -> None:
    report = swept(tmp_path, "[branches]")
    (own,) = report.recommendations
    table = load_table_of("t", report.results, report.references)
    assert isinstance(table, Dataset)
    rows = report.results.rows
    changed = replace(report.results, rows=rows.assign(test_errors=rows["test_errors"] + 1))
    assert judge(own, report.results, table, "no").confusion is not None
    assert judge(own, changed, table, "no").confusion is None


def test_the_lambda_of_an_interval_lies_in_it(tmp_path: Path) -> None:
    report = swept(tmp_path, "[{solver: branches, lam: path}]")
    (own,) = report.recommendations
    assert own.point is not None
    lam = Fraction(lam_to_train_at(own.point))
    assert Fraction(own.point["lam_start_exact"]) <= lam
    end = own.point["lam_end_exact"]
    assert end is None or lam < Fraction(end)


def test_regression_is_compared_with_the_mean(tmp_path: Path) -> None:
    lines = [f"{i % 9},{i % 4},{3 * (i % 9) + i % 4 * (i % 7)}" for i in range(60)]
    (tmp_path / "t.csv").write_text("\n".join(["a,b,pay", *lines, ""]))
    text = "name: own\ndatasets: [{path: t.csv, target: pay, task: regression}]\n"
    text += (
        "encodings: [continuous]\nlambdas: [0]\nsolvers: [{solver: cart, options: {depth: 2}}]\n"
    )
    without_dask.finish(
        tmp_path / "out", parse_spec(text + FOLDS.replace("true", "false"), tmp_path)
    )
    report = gather_report(tmp_path / "out")
    card = cards_of(report, tmp_path / "report")
    dataset = load_dataset(tmp_path / "t.csv", target="pay", task="regression")
    squares = []
    for row in report.results.rows.to_dict("records"):
        fold = folds.Fold(0, int(row["fold"]))
        test = folds.test_rows(json.loads(row["validation"]), fold, dataset)
        pay = dataset.frame["pay"]
        squares.append(float(((pay[test] - pay[~test].mean()) ** 2).mean()))
    mean = (sum(squares) / len(squares)) ** 0.5
    (told,) = re.findall(r"always the mean: RMSE ([\d.]+)", card["sentence"])
    assert float(told) == pytest.approx(mean, rel=1e-3)
    assert "found at λ = 0, nothing is proven." in card["sentence"]
    assert card["confusion"] is None
    assert card["leaves"] is None
    assert card["final"].tree.outputs == ("pay",)


def test_the_majority_is_that_of_the_rows_that_the_verdict_is_about(tmp_path: Path) -> None:
    # The class that most training rows have is rare among the test rows.
    lines = [f"train,{i % 7},{'yes' if i % 7 < 5 else 'no'}" for i in range(42)]
    lines += [f"test,{i % 7},{'yes' if i % 7 < 2 else 'no'}" for i in range(14)]
    (tmp_path / "t.csv").write_text("\n".join(["part,a,class", *lines, ""]))
    text = "name: own\ndatasets: [{path: t.csv, target: class, test: {part: test}}]\n"
    text += "encodings: [thresholds]\nlambdas: [0.01]\nsolvers: [branches]\n"
    text += "validation: given\nlimits: {depth: 1}\n"
    without_dask.finish(tmp_path / "out", parse_spec(text, tmp_path))
    report = gather_report(tmp_path / "out")
    card = cards_of(report, tmp_path / "report")
    assert card["sentence"].startswith("57.1 % right on unseen rows (majority: 28.6 %), 2 leaves, ")
    assert card["sentence"].endswith(" among trees within the limits (depth: 1).")
    (own,) = report.recommendations
    sentence = judge(own, report.results, "gone", "gone").sentence
    assert "57.1 % right on unseen rows (majority of the training rows: 71.4 %)" in sentence
    assert "1 of 1 trees of folds proven optimal among trees within the limits" in sentence


def test_a_solver_that_fails_is_said_and_the_report_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = swept(tmp_path, "[branches]")

    def fail(*_: object) -> None:
        raise RuntimeError("no luck")

    monkeypatch.setattr(final_trees, "encode", fail)
    page = write_report_data(report, tmp_path / "report").page.read_text(encoding="utf-8")
    assert "growing it failed: no luck" in page


def test_of_solvers_that_tie_the_first_of_the_catalogue_is_taken(tmp_path: Path) -> None:
    report = swept(tmp_path, "[osdt, branches]")
    rows = report.results.rows
    quick = rows.assign(seconds=(rows["solver"] == "branches") * 9.0)
    again = gather(replace(report.results, rows=quick))
    assert again.recommendations[0].path is not None
    assert again.recommendations[0].path.solver == "branches"


@pytest.mark.parametrize("nodes", [1, 10**6])
def test_a_search_that_a_limit_ended_is_not_said_to_be_repeated(tmp_path: Path, nodes: int) -> None:
    report = swept(tmp_path, "[branches]", f"{FOLDS}limits: {{nodes: {nodes}}}\n", "0.02")
    card = cards_of(report, tmp_path / "report")
    is_exact = card["command_gives"] == "exactly this tree"
    assert (" leaves, proven optimal at" in card["sentence"]) == is_exact == (nodes > 1)
    assert ("not proven optimal at λ = 0.02 (gap at most" in card["sentence"]) == (nodes == 1)


def test_a_final_tree_without_a_split_is_said_to_guess(tmp_path: Path) -> None:
    lines = [f"{i % 2},{'yes' if i % 2 or i % 3 else 'no'}" for i in range(60)]
    (tmp_path / "t.csv").write_text("\n".join(["a,class", *lines, ""]))
    text = "name: own\ndatasets: [{path: t.csv, target: class}]\nencodings: [onehot]\n"
    text += "lambdas: [0.9]\nsolvers: [branches]\nvalidation: {kind: kfold, folds: 3}\n"
    without_dask.finish(tmp_path / "out", parse_spec(text, tmp_path))
    card = cards_of(gather_report(tmp_path / "out"), tmp_path / "report")
    assert card["sentence"].endswith(" This tree has no split: it always predicts 'yes'.")


def test_a_class_has_one_colour_in_trees_and_in_bars() -> None:
    style = (Path(write_pages.__file__).parents[1] / "templates" / "style.css").read_text()
    found = dict(re.findall(r"\.mix([0-9]) \{ background: (#[0-9A-F]+)", style))
    assert found == {str(i): colour for i, colour in enumerate(CLASS_COLOURS)}
