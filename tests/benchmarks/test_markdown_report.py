"""The Markdown and the picture of made-up rows."""

import pytest

from benchmarks.compare_rows import by_cell
from benchmarks.draw_profiles import draw
from benchmarks.markdown_report import lambda_text, markdown, seconds_text, solvers_of
from tests.helpers.benchmark_rows import made_up, open_row, skipped

ABOUT = dict.fromkeys(("processor", "memory", "versions", "revision", "started", "load"), "x")
ROWS = [
    made_up("branches", counted_seconds=0.0123),
    open_row("gosdt", objective_exact="3/10", objective=0.3, lower_bound=0.2, gap_lams=10.0),
    open_row("streed", objective_exact="51/200", status="memory_limit"),
    made_up("streed-told", status="error", error="exit code -11: "),
    made_up("branches", file="encoded/wide", lam_exact="1/3", counted_seconds=2.0),
    skipped("gosdt", file="encoded/wide", lam_exact="1/3"),
]


def line_of(page, start):
    return next(line for line in page.splitlines() if line.startswith(start))


def test_cells():
    page = markdown(ROWS, ABOUT, "Limits: 60 s.")
    toy = [cell.strip() for cell in line_of(page, "| binary/toy").split("|")[1:-1]]
    facts = ["binary/toy", "100", "9", "2", "0.01", "0.250000", "3"]
    assert toy == [*facts, "**0.012**", "*time* 10 λ", "*memory* +0.5 λ", "*error*"]
    wide = [cell.strip() for cell in line_of(page, "| encoded/wide").split("|")[1:-1]]
    assert wide[4:] == ["1/3", "0.250000", "3", "**2**", "–", "–", "–"]


def test_summary_and_errors():
    page = markdown(ROWS, ABOUT, "")
    assert "| GOSDT | 1 | 0 | 4.88e+03 (over 1 rows) | 0 of 1 |" in page
    assert "Disagreements: 0." in page
    assert "streed-told on binary/toy, λ = 0.01: exit code -11" in page


def test_disagreements_are_shown():
    rows = [made_up("branches"), made_up("gosdt", objective_exact="1/5")]
    page = markdown(rows, ABOUT, "")
    assert "Disagreements: 1." in page
    assert "**DISAGREEMENT on binary/toy" in page


def test_an_open_problem_shows_the_best_tree_as_a_bound():
    page = markdown([open_row("branches", gap_lams=2.5)], ABOUT, "")
    assert "≤ 0.250000" in page
    assert "*time* 2.5 λ" in page


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.00123, "0.0012"), (0.25, "0.250"), (12.34, "12.3"), (60.0, "60")]
)
def test_seconds_text(seconds, text):
    assert seconds_text(seconds) == text


def test_lambda_text():
    assert [lambda_text(lam) for lam in ("1/100", "2/958", "1/3", "0")] == [
        "0.01",
        "2/958",
        "1/3",
        "0",
    ]


def test_picture(tmp_path):
    draw(by_cell(ROWS[:4]), solvers_of(ROWS), tmp_path / "profile")
    assert (tmp_path / "profile.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (tmp_path / "profile.svg").read_text()
