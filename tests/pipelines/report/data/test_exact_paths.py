"""Exact λ-paths of runs, and their rows at single λ."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pipelines.report.analysis.contradictions import find_disagreements
from pipelines.report.analysis.lambda_paths import LambdaPath, make_paths
from pipelines.report.analysis.rankings import add_excess, compare, rank
from pipelines.report.data import formatting
from pipelines.report.data.exact_paths import ExactPath, at_breakpoints, at_grid, read_exact_paths
from pipelines.report.data.results import Results, label_results, load_results
from sweep.spec.spec import parse_spec
from tests.helpers import without_dask
from tests.helpers.report_rows import (
    as_frame,
    as_plan,
    failed,
    path_row,
    run_row,
    sweep_rows,
)

LAMS = ("0.01", "0.03", "0.0625", "0.1", "0.3")


def results(rows: list[dict[str, Any]]) -> Results:
    return label_results(as_frame(rows), as_plan(rows))


def exact_paths(row: dict[str, Any]) -> ExactPath:
    (one,) = read_exact_paths(label_results(as_frame([row]), None).rows)
    return one


def the_path(rows: list[dict[str, Any]], solver: str = "branches") -> LambdaPath:
    (found,) = [
        p for p in make_paths(results(rows)) if p.exact_paths and p.solver.startswith(solver)
    ]
    return found


@pytest.mark.parametrize("fold", [None, 1])
def test_at_each_lambda_the_path_is_what_a_run_there_finds(fold: int | None) -> None:
    one = exact_paths(path_row(fold=fold))
    for lam in LAMS:
        run, found = run_row(lam=lam, fold=fold), one.row_at(Fraction(lam))
        same = (
            "status",
            "objective_exact",
            "lower_bound_exact",
            "gap_exact",
            "splits",
            "errors",
            "leaves",
            "lam_exact",
            "train_accuracy",
            "lam",
        )
        if Fraction(lam) not in one.starts:
            assert {name: found[name] for name in same} == {name: run[name] for name in same}
        # Of trees that are as good in training, the path may have another one than the run.
        step = next(s for s in reversed(one.steps) if s.start <= Fraction(lam))
        assert found["test_errors"] == step.test_errors
        assert (found["test_accuracy"] is None) == (fold is None)
        assert found["seconds"] is None


def test_an_open_path_has_bounds_everywhere_and_claims_only_what_is_proven() -> None:
    one = exact_paths(path_row(lam="0.01", nodes=1))
    assert one.status == "node_limit"
    assert one.bounds is not None
    opened = [step for step in one.steps if not step.proven]
    assert opened
    for lam in map(Fraction, LAMS):
        row = one.row_at(lam)
        best = Fraction(run_row(lam=str(lam))["objective_exact"])
        assert Fraction(row["lower_bound_exact"]) <= best <= Fraction(row["objective_exact"])
        assert (row["status"] == "optimal") == (row["gap"] == 0)
    for step in one.steps:
        row = one.row_of(step.start, step.end)
        assert (row["status"] == "optimal") == step.proven
        inside = [step.start] if step.end is None else [
            step.start + (step.end - step.start) * i / 7 for i in range(7)
        ]  # fmt: skip
        gaps = [Fraction(one.row_at(lam)["gap_exact"]) for lam in inside]
        assert max(gaps) <= Fraction(row["gap_exact"])


def test_a_heuristic_path_claims_nothing() -> None:
    one = exact_paths(path_row(name="cart"))
    assert one.bounds is None
    assert one.row_at(Fraction(1, 50))["status"] == "heuristic"
    assert not the_path([path_row(name="cart")], "cart").proves


def test_path_cells_are_compared_at_the_lambdas_of_the_others() -> None:
    rows = [path_row(), path_row(encoding="categorical"), *sweep_rows(solvers=("cart",))]
    found = results(rows)
    table = found.at_grid
    assert sorted(table[table["exact"]]["lam_text"]) == sorted(["0.2", "0.05", "0.01"] * 2)
    compared = compare(make_paths(found), add_excess(table)).set_index(["encoding", "solver"])
    assert set(compared.loc[("onehot", "branches"), "compared"]) == {2}
    assert compared.loc[("onehot", "branches"), "best"].all()
    assert not compared.loc[("onehot", "cart"), "best"].all()
    ranking = rank(found, add_excess(table), ["encoding_label", "solver_label"])
    cell = ranking.set_index(["encoding", "solver"]).loc[("onehot", "branches")]
    assert (cell["runs"], cell["optimal"], cell["compared"], cell["best"]) == (1, 1, 3, 3)
    assert cell["seconds_total"] == rows[0]["seconds"]


def test_a_lambda_by_rows_is_each_folds_own() -> None:
    grid = [
        run_row(name="cart", lam=lam, fold=fold, label="2/n")
        for fold, lam in enumerate(("1/16", "1/17", "1/18"))
    ]
    table = results([*grid, *(path_row(fold=fold) for fold in range(3))]).at_grid
    exact = table[table["exact"]].sort_values("fold")
    assert exact["lam_key"].tolist() == ["2/n"] * 3
    assert exact["lam_exact"].tolist() == ["1/16", "1/17", "1/18"]


def test_alone_it_is_shown_at_round_lambdas() -> None:
    table = results([path_row(lam="0.007")]).at_grid
    assert table["lam_text"].tolist() == ["0.007", "0.01", "0.02", "0.05", "0.1"]
    assert len(results([path_row(lam="0")]).at_grid) > 1


@pytest.mark.parametrize("lam", ["1/144", "0.0070001", "0.0069999"])
def test_alone_it_begins_at_its_lambda_exactly(lam: str) -> None:
    """Four digits of 1/144 are another λ, below it, where the path says nothing."""
    found = results([path_row(lam=lam)])
    assert found.at_grid["lam_text"].tolist() == [lam, "0.01", "0.02", "0.05", "0.1"]
    assert at_breakpoints(found.rows)["lam_text"].iloc[0] == lam


def test_failed_and_missing_paths_are_counted_at_every_lambda() -> None:
    rows = [path_row(fold=fold) for fold in range(3)]
    broken = label_results(as_frame([failed(rows[0]), *rows[1:]]), as_plan(rows))
    (path,) = make_paths(broken)
    assert set(path.table["runs"]) == {2}
    assert set(path.table["failed"]) == {1}
    assert (path.minimum, path.one_se) == (None, None)
    half = label_results(as_frame(rows[1:]), as_plan(rows))
    (path,) = make_paths(half)
    assert set(path.table["expected"]) == {3}
    assert (path.minimum, path.one_se) == (None, None)
    assert half.missing["lam_text"].tolist() == ["path from 0.01"]
    (path,) = make_paths(label_results(as_frame([failed(row) for row in rows]), None))
    assert path.table["failed"].tolist() == [3]
    assert path.trees == ()


def test_the_table_has_every_interval_with_the_means_of_all_folds() -> None:
    rows = [path_row(fold=fold) for fold in range(3)]
    path = the_path(rows)
    starts = {Fraction(step["lam"]) for row in rows for step in row["path"]}
    assert [Fraction(text) for text in path.table["lam_start_exact"]] == sorted(starts)[::-1]
    for point in path.table.to_dict("records"):
        low = Fraction(point["lam_start_exact"])
        end = point["lam_end_exact"]
        high = low + 1 if not isinstance(end, str) else Fraction(end)
        for lam in (low, low + (high - low) / 3, high - (high - low) / 1000):
            runs = [one.row_at(lam) for one in path.exact_paths]
            tests = pd.Series([run["test_accuracy"] for run in runs])
            assert point["test_accuracy"] == pytest.approx(tests.mean())
            assert point["test_error"] == pytest.approx(tests.std() / 3**0.5)
            assert point["splits"] == pytest.approx(sum(run["splits"] for run in runs) / 3)
    assert {path.minimum, path.one_se} <= set(path.table["lam_key"])
    best = path.point(str(path.minimum))
    assert best["test_accuracy"] == pytest.approx(path.table["test_accuracy"].max())


def test_the_trees_of_a_whole_table_are_its_steps() -> None:
    row = path_row()
    path = the_path([row])
    assert [str(tree.start) for tree in path.trees] == [step["lam"] for step in row["path"]][::-1]
    assert [tree.tree.splits for tree in path.trees] == [s["splits"] for s in row["path"]][::-1]
    assert path.trees[0].end is None


def test_runs_at_single_lambda_have_no_exact_path() -> None:
    found = label_results(as_frame(sweep_rows()), None)
    assert not found.rows["exact"].any()
    assert at_grid(found.rows, found.missing) is found.rows
    assert not any(path.exact_paths for path in make_paths(found))


def test_a_row_that_lost_its_path_is_a_run_at_its_lambda() -> None:
    (path,) = make_paths(results([path_row() | {"path": None, "path_points": None}]))
    assert path.exact_paths == ()
    assert path.table["lam_text"].tolist() == ["0.01"]


def test_a_path_and_its_solvers_single_runs_have_different_names() -> None:
    found = results([path_row(), path_row() | {"solver_options": '{"lam":"path","proof":true}',
                                               "key": "proof"}, *sweep_rows()])  # fmt: skip
    assert found.solvers == ("branches (path)", "branches (path, proof)", "branches", "cart")
    assert results([path_row()]).solvers == ("branches",)


def test_what_a_path_claims_is_held_against_single_runs() -> None:
    rows = [path_row(), *sweep_rows(encodings=("onehot",))]
    assert find_disagreements(results(rows).rows).empty
    better = run_row(lam="0.05")
    better |= {"solver": "liar", "key": "liar", "solver_options": "{}", "errors": 0, "splits": 1,
               "objective_exact": "1/20", "lower_bound_exact": "1/20"}  # fmt: skip
    found = find_disagreements(results([path_row(), better]).rows)
    assert set(found["kind"]) == {"below a proven bound"}
    assert "branches" in found["against"].iloc[0]


def test_a_step_that_is_called_proven_with_a_gap_is_a_contradiction() -> None:
    row = path_row(nodes=1)
    steps = [step | {"proven": True} for step in row["path"]]
    found = find_disagreements(results([row | {"path": steps}]).rows)
    assert set(found["kind"]) == {"own figures"}
    assert find_disagreements(results([row]).rows).empty


@pytest.mark.parametrize(
    ("start", "end", "text", "plain"),
    [
        ("1/100", "1/50", "0.01 to 0.02", "0.01"),
        ("1/192", "1/96", "0.005209 to 0.01041", "0.01"),
        ("1/3", None, "0.3334 or more", "1"),
        ("5/864", "1/36", "0.005788 to 0.02777", "0.02"),
        ("0", "1/8", "0 to 0.125", "0.1"),
        ("0", None, "0 or more", "1"),
        ("10000001/100000000", "10000002/100000000", "0.10000001 to 0.10000002", "0.10000001"),
        ("5/2", "7/2", "2.5 to 3.5", "3"),
    ],
)
def test_an_interval_in_words_and_a_plain_lambda_within(
    start: str, end: str | None, text: str, plain: str
) -> None:
    low, high = Fraction(start), None if end is None else Fraction(end)
    assert formatting.interval(low, high) == text
    assert formatting.plain_between(low, high) == plain
    value = Fraction(plain)
    assert low <= value
    assert high is None or value < high


@given(st.fractions(0, 1000), st.fractions(0, 1000))
@example(Fraction(1, 10**400), Fraction(2, 10**400))
@example(Fraction(1, 3) - Fraction(1, 10**30), Fraction(1, 3))
def test_the_ends_of_an_interval_in_words_lie_within_it(one: Fraction, other: Fraction) -> None:
    start, end = sorted((one, other))
    assert Fraction(formatting.interval(start, None).removesuffix(" or more")) >= start
    if start < end:
        low, high = map(Fraction, formatting.interval(start, end).split(" to "))
        assert start <= low < high <= end


@pytest.mark.parametrize("lam_min", ["0", "0.02", "0.2"])
def test_unavoidable_errors_prove_where_no_split_pays(tmp_path: Path, lam_min: str) -> None:
    """They are not stored, and no point is: the step is called proven."""
    (tmp_path / "t.csv").write_text("x,class\n0,a\n0,a\n0,a\n0,a\n0,b\n1,b\n")
    sweep = parse_spec(
        "name: floor\ndatasets: [{path: t.csv, target: class}]\nencodings: [onehot]\n"
        f"lambdas: [{lam_min}]\nsolvers: [{{solver: branches, lam: path}}]\n",
        tmp_path,
    )
    without_dask.finish(tmp_path / "out", sweep)
    found = load_results(tmp_path / "out")
    (one,) = read_exact_paths(found.rows)
    assert all(step.proven for step in one.steps)
    sixth = Fraction(1, 6)
    for lam in map(Fraction, ("0", "0.02", "0.1", "1/6", "0.2", "1/3", "1/2")):
        if lam >= Fraction(lam_min):
            assert one.bound_at(lam) == one.objective_at(lam) == sixth + min(lam, sixth)
    assert find_disagreements(found.rows).empty
    assert {one.row_of(step.start, step.end)["gap"] for step in one.steps} == {0}
