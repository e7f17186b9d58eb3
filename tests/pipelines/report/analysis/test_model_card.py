"""The answer to a dataset, and the command that grows its tree."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pandas as pd
import pytest

from pipelines.report.analysis.model_card import train_command
from sweep.datasets import parse_reference
from tests.helpers.commands import run
from tests.helpers.report_rows import run_row


def test_the_command_that_trains_a_tree_reads_options_of_all_kinds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = {"mode": "paper", "pairs": False, "depth_first": None, "slack": 1}
    row = run_row() | {"solver_options": json.dumps(options), "encoding_options": '{"cuts": 4.0}'}
    command = train_command(row, parse_reference("monks-1"), "0.05")
    assert command is not None
    for part in ("mode=paper", "pairs=false", "depth_first=null", "slack=1", "cuts=4.0"):
        assert part in shlex.split(command)
    own = row | {"solver_options": '{"pairs": false}', "encoding_options": "{}"}
    command = train_command(own, parse_reference("monks-1"), "0.05")
    assert command is not None
    monkeypatch.chdir(tmp_path)
    result = run(*shlex.split(command)[1:])
    assert result.exit_code == 0, result.stderr
    assert (tmp_path / "tree.json").is_file()


def test_the_command_reads_the_table_as_the_sweep_did(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = range(20)
    table = pd.DataFrame(
        {"id": rows, "é": [f"{i},5" if i else "?" for i in rows], "y": [i % 2 for i in rows]}
    )
    table.to_csv("t.csv", sep=";", index=False, encoding="latin-1")
    columns = {"id": "drop", "é": {"kind": "number", "decimal": ",", "missing": ["?"]}}
    given = {"target": "y", "columns": columns, "separator": ";", "charset": "latin-1"}
    row = run_row() | {"encoding": "thresholds", "solver_options": "{}", "encoding_options": "{}"}
    command = train_command(row, parse_reference("t.csv", **given), "0.05")
    assert command is not None
    result = run(*shlex.split(command)[1:])
    assert result.exit_code == 0, result.stderr
    sheet = train_command(row, parse_reference("t.xlsx", target="y", sheet="a b"), "0.05")
    assert sheet is not None
    assert "--sheet 'a b'" in sheet
