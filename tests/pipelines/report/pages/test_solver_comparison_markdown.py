"""The comparison of solvers as Markdown."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pipelines.report.data.results import label_results
from pipelines.report.pages.solver_comparison_markdown import (
    comparison_markdown,
    write_between_marks,
)
from pipelines.report.write import MARKDOWN, gather, write_report_data
from solver.errors import InputError
from tests.helpers.report_rows import as_frame, run_row


def rows() -> list[dict[str, Any]]:
    limits = {"limits": '{"seconds":60.0}'}
    own = [run_row(d, lam=lam) | limits for d in "abcdef" for lam in ("0.05", "0.1")]
    claim = json.dumps({"claim": {"status": "optimal", "own_seconds": 1e-9}})
    theirs = {"status": "heuristic", "lower_bound": None, "lower_bound_exact": None, "gap": None,
              "gap_exact": None, "extra": claim, "solver": "gosdt"}  # fmt: skip
    others = [one | theirs | {"key": f"gosdt {one['key']}"} for one in own]
    others[0] |= {"status": "killed", "tree": None, "objective": None, "objective_exact": None}
    others[1]["extra"] = json.dumps({"claim": {"status": "time_limit", "lower_bound": 0.01}})
    return own + others


def test_it_has_a_line_a_problem_and_the_tables_of_the_report(tmp_path: Path) -> None:
    report = gather(label_results(as_frame(rows()), None))
    text = comparison_markdown(report)
    lines = text.splitlines()
    assert lines[2] == "| dataset | encoding | λ | best objective | branches | gosdt |"
    assert len([line for line in lines if "| onehot |" in line]) == 12
    first, second, third = (line.split(" | ") for line in lines[4:7])
    assert first[-1] == "failed |"
    assert second[-1].startswith("open +0 gap 0.")
    assert third[-1] == "**1e-06 ms** (says) |"
    assert first[-2].startswith("**")
    assert lines.index("average above the solver's own bound and above the best tree known.") > 12
    assert "| binary | branches | gosdt | 12 | 2 | 10 |" in text
    assert "* Mean ranks by search time, binary features, 6 datasets: " in text
    assert text.endswith("0 contradictions between exact claims, 0 refuted claims of others.\n")
    folder = write_report_data(report, tmp_path / "report").folder
    assert (folder / MARKDOWN).read_text("utf-8") == text
    page = (folder / "index.html").read_text("utf-8")
    assert "charts/solver-profiles.svg" in page
    assert "charts/mean-ranks.svg" in page


def test_problems_of_other_folds_and_limits_are_told_apart() -> None:
    own = [
        run_row(name=name, fold=fold) | {"limits": limits, "key": f"{name}/{fold}/{limits}"}
        for name in ("branches", "osdt") for fold in (0, 1) for limits in ("{}", '{"depth":1}')
    ]  # fmt: skip
    lines = comparison_markdown(gather(label_results(as_frame(own), None))).splitlines()
    head = "| dataset | encoding | held out | limits on the tree | λ | best objective |"
    assert lines[2].startswith(head)
    told = [tuple(line.split(" | ")[2:4]) for line in lines[4:8]]
    assert {*told} == {(f"fold {n}", limit) for n in (1, 2) for limit in ("–", "depth: 1")}


def test_it_is_written_between_its_marks_and_nowhere_else(tmp_path: Path) -> None:
    file = tmp_path / "benchmarks.md"
    write_between_marks(file, "tables", "| a |\n")
    mark = file.read_text().splitlines()
    assert mark == [
        "<!-- tables: written by a command -->", "", "| a |", "", "<!-- end of tables -->"
    ]  # fmt: skip
    file.write_text(f"# Before\n\n{file.read_text()}\n# After\n")
    write_between_marks(file, "tables", "| b |\n")
    assert file.read_text().split("\n")[4:6] == ["| b |", ""]
    assert file.read_text().startswith("# Before\n\n<!--")
    assert file.read_text().endswith("-->\n\n# After\n")
    with pytest.raises(InputError, match="has no lines '<!-- others: written by a command -->'"):
        write_between_marks(file, "others", "")
    with pytest.raises(InputError, match="cannot write into"):
        write_between_marks(tmp_path, "tables", "")
