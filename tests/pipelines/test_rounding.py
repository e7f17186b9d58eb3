"""What people read is never more than what is proven, nor better than what is found."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pandas as pd
import pytest

import solver
from pipelines.cli.solve import _proof, _quality
from pipelines.progress.display import describe
from pipelines.report.data import formatting
from sweep.events import Progress
from tests.helpers.commands import run


@pytest.fixture
def found() -> solver.Solution:
    table = pd.DataFrame({"a": ["p", "q"] * 4, "y": ["u", "v"] * 4})
    return solver.solve(solver.Problem.from_table(table, "y"), "0.1", "branches")


def test_a_bound_is_rounded_down_and_its_gap_up(found: solver.Solution) -> None:
    open_ = replace(
        found,
        status=solver.Status.TIME_LIMIT,
        objective=Fraction(1, 3),
        lower_bound=Fraction(1, 6),
    )
    # To the nearest these are 0.166667 and 0.167.
    assert "below 0.166666 (gap 0.167)" in _proof(open_, "")
    open_ = replace(open_, objective=Fraction("0.2667"), lower_bound=Fraction("0.1333"))
    # To the nearest the gap is 0.133.
    assert "below 0.1333 (gap 0.134)" in _proof(open_, "")


def test_one_error_is_no_full_accuracy(found: solver.Solution) -> None:
    counts = {"total_weight": 10**20, "errors": 1}
    assert _quality(replace(found, **counts))[1] == "0.9999 on these rows"


def test_predict_tells_one_error_among_many(found: solver.Solution, tmp_path: Path) -> None:
    from pipelines.single_table.predict import save_tree

    save_tree(found.tree, tmp_path / "tree.json")
    n = 30_000
    pd.DataFrame({"a": ["p"] * n, "y": ["u"] * (n - 1) + ["v"]}).to_csv(
        tmp_path / "rows.csv", index=False
    )
    result = run("predict", str(tmp_path / "tree.json"), str(tmp_path / "rows.csv"))
    assert result.stderr.startswith("accuracy 0.9999: 29999 of 30000 rows")


def test_a_sweep_tells_no_smaller_gap_than_the_worst() -> None:
    progress = Progress(
        active=True, total=1, answered=0, done=0, failed=0, running=1, seconds=1.0, rate=0.0,
        eta=None, worst_gap=0.123411, workers=1, memory=0, shards_done=0, shards=0,
    )  # fmt: skip
    assert "worst gap 0.1235" in describe(progress)


def test_the_report_rounds_bounds_down_and_gaps_up() -> None:
    assert formatting.bound(1 / 6) == "0.166666"
    assert formatting.bound(0.3) == "0.300000"
    assert formatting.gap(0.123411) == "0.124"
    assert (formatting.gap(0), formatting.gap(0.1), formatting.gap(None)) == (
        "0",
        "0.1",
        formatting.NONE,
    )
