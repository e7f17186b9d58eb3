"""The report in the terminal."""

from __future__ import annotations

import io

from rich.console import Console

from pipelines.report.data.results import Results, label_results
from pipelines.report.terminal_summary import print_summary
from pipelines.report.write import gather
from tests.helpers.report_rows import as_frame, as_plan, failed, refused, run_row, sweep_rows


def printed(results: Results, width: int = 100) -> str:
    console = Console(file=io.StringIO(), width=width, highlight=False)
    print_summary(gather(results), console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_it_has_the_counts_the_answers_and_the_comparison() -> None:
    rows = sweep_rows(n_folds=3)
    lost = [failed(rows[0]), *rows[1:-2]]
    text = printed(label_results(as_frame(lost), as_plan(rows, [refused()])))
    assert text.startswith("a test: 24 done, 1 failed, 2 not run yet, 3 impossible")
    assert "Answers" in text
    assert "Comparison" in text
    assert "heuristic" in text
    assert "error, 1 run: Boom: no luck" in text


def test_without_a_plan_it_says_where_lambda_is_open() -> None:
    text = printed(label_results(as_frame(sweep_rows()), None))
    assert "open" in text
    assert "not run yet" not in text


def test_contradictions_are_told_and_names_are_no_markup() -> None:
    row = run_row(dataset="[bold]x[/bold]", lam="0.05")
    liar = row | {"solver": "liar", "key": "l", "objective_exact": "9/10",
                  "lower_bound_exact": "9/10"}  # fmt: skip
    text = printed(label_results(as_frame([row, liar]), None))
    assert "cannot all be true" in text
    assert "[bold]x[/bold]" in text


def test_nothing_has_been_run() -> None:
    assert printed(label_results(as_frame([]), None)).strip() == "sweep: 0 done"
