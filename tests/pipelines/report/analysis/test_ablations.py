"""Option sets compared: their figures, their page, and the traces of their searches."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from pipelines.report.analysis.ablations import (
    SWITCHES,
    Ablation,
    ablation_table,
    find_ablations,
    ratio,
)
from pipelines.report.charts.ablations import trace_chart
from pipelines.report.charts.style import style
from pipelines.report.data.results import label_results
from pipelines.report.pages import ablations as page
from tests.helpers.report_rows import as_frame, failed, path_row, run_row
from tests.pipelines.report.test_write import make

Row = dict[str, Any]


def option_set(
    options: Row, seconds: float, trees: int | None = None, *, limited: bool = False, **more: Any
) -> Row:
    """A run of some options that took so long."""
    extra = None
    if trees is not None:
        extra = {
            "trees_evaluated": trees,
            "trees_evaluated_to_optimum": trees // 2,
            "seconds_to_optimum": seconds / 2,
            "pruned": {"support": trees * 3, "equivalent_points": 5},
            "trace": [
                {"seconds": seconds * part, "objective": 0.3 - part / 10, "lower_bound": part / 5,
                 "evaluated": trees * part, "queue": 9, "trees": 20, "leaves": 30, "pruned": 4}
                for part in (0.0, 0.5, 1.0)
            ],
        }  # fmt: skip
    row = run_row(**more)
    text = json.dumps(options, sort_keys=True)
    return row | {
        "key": f"{row['key']}/{text}",
        "solver_options": text,
        "seconds": seconds,
        "extra": None if extra is None else json.dumps(extra),
        **({"status": "time_limit"} if limited else {}),
    }


ALL = {"pairs": True, "support": True, "memo": "rows"}
NO_PAIRS, NO_SUPPORT = {**ALL, "pairs": False}, {**ALL, "support": False}
LITERALS = {**ALL, "memo": "literals"}


def ablations(rows: list[Row]) -> list[Ablation]:
    return find_ablations(label_results(as_frame(rows), None)).cells


@pytest.fixture
def rows() -> list[Row]:
    return [
        option_set(ALL, 2.0, 100),
        option_set(NO_PAIRS, 8.0, 900),
        option_set(NO_SUPPORT, 60.0, 5000, limited=True),
        option_set(LITERALS, 1.0, 100),
    ]


def test_option_sets_are_compared_with_the_first(rows: list[Row]) -> None:
    (cell,) = ablations(rows)
    assert (cell.dataset, cell.encoding, cell.lam_text, cell.solver) == (
        "toy", "onehot", "0.05", "branches",
    )  # fmt: skip
    # Without a plan the first is the first by name; here it has another memo than the others.
    assert {one.variant.label for one in cell.sets} >= {"no pairs", "no support"}


def as_planned(rows: list[Row], tmp_path: Path) -> tuple[str, pd.DataFrame]:
    """The page and the table of rows in the order in which they are planned."""
    from tests.helpers.report_rows import as_plan

    make(tmp_path, rows, as_plan(rows))
    html = (tmp_path / "ablations.html").read_text(encoding="utf-8")
    return html, pd.read_parquet(tmp_path / "tables" / "ablations.parquet")


def test_the_page_and_its_table(rows: list[Row], tmp_path: Path) -> None:
    html, table = as_planned(rows, tmp_path)
    assert table["variant"].tolist() == ["defaults", "no pairs", "no support", "memo: literals"]
    assert table["differs_in"].tolist() == ["", SWITCHES, SWITCHES, "memo"]
    assert table["seconds_ratio"].tolist() == [1.0, 4.0, 30.0, 0.5]
    assert table["trees_evaluated_ratio"].tolist() == [1.0, 9.0, 50.0, 1.0]
    assert table["at_least"].tolist() == [False, False, True, False]
    assert table["trees_to_optimum"].tolist()[:2] == [50, 450]
    for text in (
        "One switch at a time", "Memo", "&gt;60 s", "&gt;30×", "&gt;5\u202f000", "4.00×",
        "trees evaluated", "time to optimum", "time limit", "equivalent points",
    ):  # fmt: skip
        assert text in html, text
    assert html.count("Execution traces</h4>") == 2
    assert html.count("<svg") == 4
    charts = {path.name for path in (tmp_path / "charts").iterdir()}
    assert {"ablation-toy-onehot-0-05-branches-switches.png",
            "trace-toy-onehot-0-05-branches-memo.svg"} <= charts  # fmt: skip
    index = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert index.count('href="ablations.html"') == 2 + 4  # each λ-path names it once


def test_solvers_that_report_nothing_beside_are_compared_by_iterations(tmp_path: Path) -> None:
    html, table = as_planned([option_set(ALL, 1.0), option_set(NO_PAIRS, 2.0)], tmp_path)
    assert table["trees_evaluated"].isna().all()
    assert "iterations" in html
    assert "time to optimum</th>" not in html
    assert "Execution traces</h4>" not in html


def test_a_sweep_without_option_sets_has_no_such_page(tmp_path: Path) -> None:
    make(tmp_path, [run_row(), run_row(name="cart")])
    assert not (tmp_path / "ablations.html").exists()
    assert not (tmp_path / "tables" / "ablations.csv").exists()


def test_figures_are_medians_over_folds(rows: list[Row]) -> None:
    folds = [
        option_set(options, seconds, trees, fold=fold)
        for options, base in ((ALL, 1.0), (NO_PAIRS, 3.0))
        for fold, (seconds, trees) in enumerate([(base, 10), (5 * base, 30), (2 * base, 20)])
    ]
    (cell,) = ablations(folds)
    found = {one.variant.label: one for one in cell.sets}
    assert [one.runs for one in cell.sets] == [3, 3]
    assert sorted(one.measures["seconds"] for one in found.values()) == [2.0, 6.0]
    assert {one.measures["trees_evaluated"] for one in found.values()} == {20.0}


def test_one_limited_run_makes_a_median_a_lower_bound(tmp_path: Path) -> None:
    folds = [
        option_set(options, 1.0, 10, fold=fold, limited=options is NO_PAIRS and fold == 2)
        for options in (ALL, NO_PAIRS)
        for fold in range(3)
    ]
    html, table = as_planned(folds, tmp_path)
    assert table["at_least"].tolist() == [False, True]
    assert table["status"].tolist()[1] == "2 optimal, 1 time_limit"
    assert math.isnan(table["seconds_to_optimum"][1])
    assert "2 optimal, 1 time limit" in html


def test_ratios_of_limited_runs_are_bounds(rows: list[Row], tmp_path: Path) -> None:
    _, _, limited, _ = rows
    (cell,) = ablations([option_set(ALL, 2.0, 100), limited])
    first, other = cell.sets
    if first.limited:
        first, other = other, first
    assert ratio(other, first, "seconds") == (">", 30.0)
    assert ratio(first, other, "seconds") == ("<", 1 / 30)
    sign, factor = ratio(other, other, "seconds")
    assert sign == ""
    assert math.isnan(factor)


def test_failed_runs_have_a_status_and_no_figures(tmp_path: Path) -> None:
    html, table = as_planned([option_set(ALL, 1.0), failed(option_set(NO_PAIRS, 1.0))], tmp_path)
    assert table["runs"].tolist() == [1, 0]
    assert table["status"].tolist() == ["1 optimal", "1 error"]
    assert 'class="tag bad">error' in html


def test_whole_paths_do_not_take_part() -> None:
    rows = [path_row(), run_row(), option_set(ALL, 1.0)]
    assert len(ablations(rows)) == 1
    assert ablations([path_row(), run_row()]) == []


def test_of_very_many_cells_the_longest_are_worked_out(rows: list[Row]) -> None:
    many = [
        option_set(options, seconds, lam=lam)
        for lam, seconds in (("0.2", 1.0), ("0.05", 3.0), ("0.01", 2.0))
        for options in (ALL, NO_PAIRS)
    ]
    found = find_ablations(label_results(as_frame(many), None), most=2)
    assert [cell.lam_text for cell in found.cells] == ["0.05", "0.01"]
    assert found.of == 3


def test_the_page_shows_the_longest(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(page, "MOST_SHOWN", 1)
    many = [
        option_set(options, seconds, lam=lam)
        for lam, seconds in (("0.2", 1.0), ("0.05", 3.0))
        for options in (ALL, NO_PAIRS)
    ]
    html, table = as_planned(many, tmp_path)
    assert "1 of 2 problems are shown" in html
    assert "λ = 0.05" in html
    assert "λ = 0.2" not in html
    assert len(table) == 4


def test_a_table_of_nothing() -> None:
    assert ablation_table([]).empty


def test_a_single_run_has_its_execution_beside_its_path(rows: list[Row], tmp_path: Path) -> None:
    html, _ = make(tmp_path, [option_set(ALL, 2.0, 100), option_set(ALL, 9.0, 100, lam="0.01")])
    assert "<h4>Execution at λ = 0.01</h4>" in html
    assert "<h4>Execution at λ = 0.05</h4>" not in html
    assert "how often each bound pruned" in html
    assert (tmp_path / "charts" / "execution-toy-onehot-branches.svg").exists()


def test_a_trace_chart_marks_the_optimum(rows: list[Row]) -> None:
    (cell,) = ablations(rows)
    runs = {one.variant.label: one.execution for one in cell.sets if one.execution is not None}
    assert len(runs) == 4
    with style():
        figure = trace_chart(runs)
    known, work, held = figure.axes
    stars = [line for line in known.lines if line.get_marker() == "*"]
    # The run that a limit ended has proven nothing.
    assert sorted(float(line.get_xdata()[0]) for line in stars) == [0.5, 1.0, 4.0]
    assert all(float(line.get_ydata()[0]) == pytest.approx(0.2) for line in stars)
    assert known.get_xscale() == "log"
    assert len(work.lines) == 4
    assert len(held.lines) == 3 * 4 + 3
