"""What a sweep is, in words and commands."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from pipelines.report.pages.dataset_section import train_command
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
