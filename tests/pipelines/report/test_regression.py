"""The report of a sweep with regression and classification in it."""

from __future__ import annotations

import io
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

from pipelines.report.analysis.contradictions import find_disagreements
from pipelines.report.analysis.lambda_paths import make_paths
from pipelines.report.analysis.path_trees import signature
from pipelines.report.analysis.rankings import add_excess, rank
from pipelines.report.analysis.report_data import ReportData
from pipelines.report.analysis.scaling import find_scalings
from pipelines.report.charts.encoding_and_solver_panels import overview_panels
from pipelines.report.charts.svg_charts import path_panels, small_chart
from pipelines.report.data.exact_paths import at_breakpoints, read_exact_paths
from pipelines.report.data.metrics import test_words as words_of_test
from pipelines.report.data.metrics import train_sentence, train_words
from pipelines.report.data.results import Results, load_results
from pipelines.report.data.store_reader import decompress
from pipelines.report.terminal_summary import print_summary
from pipelines.report.write import gather, write_report
from solver.features.number_format import significant
from solver.solution import BELOW_ONE
from solver.trees.tree import Tree
from sweep.datasets import parse_reference
from sweep.spec.spec import parse_spec
from sweep.store.read_results import read_results
from sweep.store.sweep_status import sweep_status
from tests.helpers import without_dask

SPEC = """
name: both
datasets:
  - {{name: pay, path: {folder}/pay.csv, target: pay, task: regression, columns: {{good: drop}}}}
  - {{name: good, path: {folder}/pay.csv, target: good, columns: {{pay: drop}}}}
encodings: [continuous]
lambdas: [{{exact: 1/100}}, 400]
solvers: [quantbnb, cart, {{solver: quantbnb, lam: path}}]
validation: {{kind: kfold, folds: 2}}
limits: {{depth: 2}}
"""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pay follows age and the trade, with some noise of its own."""
    folder = tmp_path_factory.mktemp("both")
    noise = np.random.default_rng(0).normal(0, 30, 60)
    rows = [
        (20 + i % 30, i % 2, 1000.0 + 400 * (i % 30 > 12) + 90 * (i % 2) + noise[i])
        for i in range(60)
    ]
    frame = pd.DataFrame(rows, columns=["age", "trade", "pay"])
    frame["good"] = np.where(frame["pay"] > 1300, "yes", "no")
    frame.to_csv(folder / "pay.csv", index=False)
    text = SPEC.format(folder=folder).replace("{exact: 1/100}", "0.01")
    without_dask.finish(folder / "store", parse_spec(text))
    return folder / "store"


@pytest.fixture(scope="module")
def results(store: Path) -> Results:
    return load_results(store)


def test_points_have_rmse_over_folds_and_its_standard_error(results: Results) -> None:
    path = next(p for p in make_paths(results) if (p.dataset, p.solver) == ("pay", "cart"))
    rows = results.rows
    rows = rows[
        (rows["dataset"] == "pay") & (rows["solver_label"] == "cart") & (rows["lam"] == 400)
    ]
    point = path.table[path.table["lam"] == 400].iloc[0]
    squares = rows["test_rmse"] ** 2
    assert point["test_rmse"] == pytest.approx(math.sqrt(squares.mean()))
    assert point["test_score"] == pytest.approx(-squares.mean())
    assert point["test_error"] == pytest.approx(squares.std() / math.sqrt(2))
    assert point["test_r2"] == pytest.approx(rows["test_r2"].mean())
    assert point["loss"] == pytest.approx((rows["train_rmse"] ** 2).mean())
    assert math.isnan(point["test_accuracy"])
    error = point["test_error"] / (2 * point["test_rmse"])
    assert words_of_test(point).startswith(f"RMSE {significant(point['test_rmse'])} ± {error:.2g}")


def test_validation_takes_the_least_mean_squared_error(results: Results) -> None:
    for path in make_paths(results):
        best = path.point(str(path.minimum))
        assert best["test_score"] == pytest.approx(path.table["test_score"].max())
        assert (best["test_rmse"] > 0) == (path.dataset == "pay")


def test_a_path_of_regression_as_rows_at_single_lambdas(results: Results, store: Path) -> None:
    single = read_results(store).query("dataset == 'pay' and solver == 'quantbnb'")
    single = single[single["path"].isna()]
    numbers = [s for s in read_exact_paths(results.rows) if s.row["dataset"] == "pay"]
    assert len(numbers) == 2
    names = ["loss", "train_r2", "train_rmse", "test_r2", "test_rmse", "splits", "objective"]
    for one in numbers:
        for row in single[single["fold"] == one.fold].to_dict("records"):
            found = one.row_at(Fraction(row["lam_exact"]))
            assert found["status"] == "optimal"
            assert [found[n] for n in names] == pytest.approx([row[n] for n in names])
        for step in one.steps:
            assert step.errors == Tree.from_json(step.tree).errors
    at = at_breakpoints(results.rows)
    assert (at["gap"] <= at["tolerance"])[at["status"] == "optimal"].all()


def test_equal_but_for_rounding_is_no_contradiction_gap_or_excess(results: Results) -> None:
    assert find_disagreements(results.rows).empty
    excess = add_excess(results.at_grid)
    assert (excess.loc[excess["solver_label"].str.startswith("quantbnb"), "excess"] == 0).all()
    ranking = rank(results, excess, ["encoding_label", "solver_label"]).set_index("solver")
    assert (ranking.loc[["quantbnb", "quantbnb (path)"], "gap_max"] == 0).all()
    # A share of the variance, and not the square of a pay.
    assert 0 <= ranking.loc["cart", "excess_max"] < 1


def test_a_bound_above_a_tree_is_a_contradiction_beyond_the_tolerance(results: Results) -> None:
    rows = results.rows.copy()
    one = rows.index[(rows["dataset"] == "pay") & (rows["status"] == "optimal") & ~rows["exact"]][0]
    bound = Fraction(rows.loc[one, "objective_exact"]) + Fraction(1)
    rows.loc[one, "lower_bound_exact"] = str(bound)
    found = find_disagreements(rows)
    assert "own figures" in set(found["kind"])
    assert set(found["dataset"]) == {"pay"}


def test_the_same_questions_are_the_same_tree_whatever_the_means(results: Results) -> None:
    one, other = (s for s in read_exact_paths(results.rows) if s.row["dataset"] == "pay")
    tree = Tree.from_json(one.steps[0].tree)
    heavier = tree.to_json().replace('"weight":', '"weight":1')
    assert heavier != tree.to_json()
    assert signature(heavier) == signature(tree.to_json())
    assert one.steps[-1].tree != other.steps[-1].tree
    assert signature(one.steps[-1].tree) == signature(other.steps[-1].tree)
    assert signature(one.steps[-1].tree) != signature(tree.to_json())


def test_the_pages_show_each_task_in_its_own_words(store: Path, tmp_path: Path) -> None:
    report = write_report(store, tmp_path / "report")
    html = report.page.read_text(encoding="utf-8")
    assert "60 rows, regression" in html
    assert "60 rows, 2 classes" in html
    assert "least mean squared test error" in html
    assert "best mean test accuracy" in html
    assert "On the held-out rows it has RMSE" in html
    assert "of the held-out rows right" in html
    assert "--task regression" in html
    assert "in exact arithmetic; in regression no more than the rounding of sums" in html
    assert "R²" in html
    for bad in ("nan", ">None<", "0 errors", "NaN"):
        assert bad not in html.replace("nanosecond", "")
    steps = pd.read_csv(tmp_path / "report" / "tables" / "steps.csv")
    numbers = steps[steps["dataset"] == "pay"]
    assert numbers["errors"].isna().all()
    assert (
        numbers[["loss", "train_r2", "train_rmse", "test_r2", "test_rmse"]].notna().all(axis=None)
    )
    labels = steps[steps["dataset"] == "good"]
    assert labels[["errors", "train_accuracy", "test_accuracy"]].notna().all(axis=None)
    trees = pd.read_csv(tmp_path / "report" / "tables" / "trees.csv")
    assert trees.loc[trees["dataset"] == "pay", "train_rmse"].notna().all()


def test_small_charts_and_the_summary(results: Results) -> None:
    paths = [p for p in make_paths(results) if p.dataset == "pay"]
    assert "R²" in small_chart(path_panels(paths[0], "#000"), "a path")
    colours = dict.fromkeys(results.solvers, "#000")
    panels = overview_panels(paths, colours, dict.fromkeys(results.encodings, "solid"))
    assert "Held-out R² (mean)" in small_chart(panels, "pay")
    console = Console(width=200, file=io.StringIO())
    print_summary(gather(results), console)
    shown = console.file.getvalue()
    assert "test quality" in shown
    assert "RMSE" in shown
    assert "contradiction" not in shown


def test_what_is_proven_has_no_gap_in_the_status(store: Path) -> None:
    assert sweep_status(store).worst_gap == 0


def test_tables_of_several_targets_are_no_series_of_sizes(results: Results) -> None:
    targets = {"pay": ["pay", "age"], "good": ["pay", "trade"]}
    references = {
        name: parse_reference({"path": "t.csv", "target": own, "task": "regression"})
        for name, own in targets.items()
    }
    assert find_scalings(results, references) == []


def test_a_tree_that_explains_everything_is_worth_a_share_of_the_variance(tmp_path: Path) -> None:
    """What it leaves, which is nothing, does not say what there was."""
    lines = [f"{x},{x % 3},{10 if x < 10 else 30}" for x in range(20)]
    (tmp_path / "t.csv").write_text("x,z,y\n" + "\n".join(lines) + "\n")
    sweep = parse_spec(
        "name: perfect\ndatasets: [{path: t.csv, task: regression, target: y}]\n"
        "encodings: [continuous]\nlambdas: [1]\n"
        "solvers: [{solver: quantbnb, lam: path}]\nlimits: {depth: 2}\n",
        tmp_path,
    )
    without_dask.finish(tmp_path / "out", sweep)
    found = gather(load_results(tmp_path / "out"))
    (answer,) = found.recommendations
    # Of a variance of 100 a split at λ = 100 explains all, and at λ = 1 one per cent.
    assert any("explains 100.0 % more of the variance on average" in r for r in answer.reasons)
    rows = found.results.at_grid
    best = rows[rows["lam"] == 1]
    worse = str(Fraction(best["objective_exact"].iloc[0]) + 1)
    other = best.assign(solver_label="other", objective_exact=worse)
    assert add_excess(pd.concat([best, other]))["share"].tolist() == [0, 0.01]


def _finished(tmp_path: Path, lines: list[tuple[float, ...]], **axes: str) -> ReportData:
    """The report of a sweep over a table of regression, its last column the target."""
    names = [*"abcd"[: len(lines[0]) - 1], "y"]
    text = "\n".join(",".join(map(str, line)) for line in lines)
    (tmp_path / "t.csv").write_text(f"{','.join(names)}\n{text}\n")
    axes = {"encodings": "[continuous]", "validation": "none", "limits": "{depth: 2}"} | axes
    spec = "name: own\ndatasets: [{path: t.csv, task: regression, target: y}]\n"
    spec += "".join(f"{name}: {value}\n" for name, value in axes.items())
    without_dask.finish(tmp_path / "out", parse_spec(spec, tmp_path))
    return gather(load_results(tmp_path / "out"))


def test_the_r2_of_a_path_is_that_of_each_tree_and_fold(tmp_path: Path) -> None:
    """In two folds the largest tree predicts the test rows perfectly, so neither its R² nor its
    RMSE says how the smaller trees of the path do."""
    lines = [(i % 3, 9 * (i == 5), (0, 3, 10)[i % 3] + 40 * (i == 5)) for i in range(18)]
    found = _finished(
        tmp_path, lines, lambdas="[0.01, 12, 200]",
        solvers="[quantbnb, {solver: quantbnb, lam: path}]",
        validation="{kind: kfold, folds: 3}", limits="{depth: 3}",
    )  # fmt: skip
    single, whole = found.paths
    assert whole.exact_paths
    for lam in ("1/100", "12", "200"):
        expected = single.point(lam)
        own = whole.grid.loc[whole.grid["lam_key"] == lam].iloc[0]
        assert own["runs"] == expected["runs"] == 3
        assert own["test_rmse"] == pytest.approx(expected["test_rmse"])
        assert own["test_r2"] == expected["test_r2"]
    perfect = [one for one in whole.exact_paths if one.row["test_r2"] == 1]
    assert perfect
    for one in perfect:
        assert one.steps[-1].test_r2 is not None
        assert one.steps[-1].test_r2 < 1


def test_there_is_no_mean_r2_over_folds_if_a_fold_has_none(tmp_path: Path) -> None:
    """The test rows of some folds have one target."""
    lines = [(i % 3, 10 * (i % 3 > 0) + 5 * (i == 7)) for i in range(12)]
    found = _finished(
        tmp_path, lines, lambdas="[1]", solvers="[cart]",
        validation="{kind: kfold, folds: 6, seed: 0}",
    )  # fmt: skip
    rows, (path,) = found.results.rows, found.paths
    assert 0 < rows["test_r2"].isna().sum() < 6
    point = path.table.iloc[0]
    assert math.isnan(point["test_r2"])
    assert math.isnan(point["test_spread"])
    assert point["test_rmse"] == pytest.approx(math.sqrt((rows["test_rmse"] ** 2).mean()))
    for tree in (*path.trees, *path.trees_at("1")):
        own = [
            row
            for row in rows.to_dict("records")
            if signature(decompress(row["tree"])) == tree.signature
        ]
        shares, roots = ([row[name] for row in own] for name in ("test_r2", "test_rmse"))
        known = all(map(math.isfinite, shares))
        assert tree.quality["test_r2"] == (pytest.approx(np.mean(shares)) if known else None)
        assert tree.quality["test_rmse"] == pytest.approx(math.sqrt(np.mean(np.square(roots))))
    assert any(tree.quality["test_r2"] is None for tree in path.trees_at("1"))


def test_what_remains_is_never_rounded_away(tmp_path: Path) -> None:
    lines = [
        (i // 4, i % 2, 1e9 * (i // 8) + (0.5 if i % 2 else 0.25) * (i // 4 % 2)) for i in range(16)
    ]
    found = _finished(
        tmp_path, lines, lambdas="[1000]", limits="{depth: 1}",
        solvers="[quantbnb, {solver: quantbnb, lam: path}]",
    )  # fmt: skip
    for path in found.paths:
        point = path.point("1000")
        assert point["train_rmse"] > 0.2
        assert point["train_r2"] == BELOW_ONE
        assert train_words(point) == "RMSE 0.2073, R² 0.999"
        assert "99.9 %" in train_sentence(point)


def test_an_excess_is_a_share_of_the_variance_however_little_remains(tmp_path: Path) -> None:
    """The variance cannot be told from R², which rounds what remains."""
    high = [3 <= i // 3 <= 5 for i in range(24)]
    other = {0: 1, 12: 0}
    lines = [
        (i // 3, other.get(i, int(high[i])), 1e9 * high[i] + (0, 0.25, 0.5)[i % 3])
        for i in range(24)
    ]
    found = _finished(
        tmp_path, lines, lambdas="['1e15']", limits="{depth: 3}", solvers="[quantbnb, cart]"
    )
    rows = found.results.rows
    variance = np.var([line[-1] for line in lines])
    best = rows["objective"].min()
    expected = sorted((rows["objective"] - best) / variance)
    assert sorted(add_excess(rows)["share"]) == pytest.approx(expected)
    assert expected[1] == pytest.approx(0.00853, rel=0.01)
