"""The answer to a dataset, and the command that grows its tree."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import treesweep
from pipelines.report.analysis.model_card import train_command
from solver.trees.tree import Tree
from sweep.datasets import parse_reference
from tests.helpers import without_dask
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


def test_the_command_has_the_limits_of_the_run() -> None:
    limits = {"seconds": 200.0, "bytes": 2**30, "nodes": 500, "depth": 4}
    row = run_row() | {"limits": json.dumps(limits)}
    command = train_command(row, parse_reference("monks-1"), "0.05")
    assert command is not None
    told = "--time-limit 200.0 --memory-limit 1073741824 --node-limit 500 --max-depth 4"
    assert told in command
    # What is proven needs its proof again, however slow the machine is.
    proven = train_command(row, parse_reference("monks-1"), "0.05", has_limits=False)
    assert proven is not None
    assert "--time-limit inf --max-depth 4" in proven
    unlimited = train_command(row | {"limits": "{}"}, parse_reference("monks-1"), "0.05")
    assert unlimited is not None
    assert "--time-limit inf" in unlimited


@pytest.mark.parametrize(
    "solver, limits, gives",
    [
        ({"solver": "branches"}, {}, "exactly this tree"),
        ({"solver": "branches", "shards": 2}, {}, "this tree or another one that is as good"),
        ({"solver": "branches", "shards": "auto"}, {}, "this tree or another one that is as good"),
        ({"solver": "branches", "lam": "path"}, {}, "this tree or another one that is as good"),
        ({"solver": "branches"}, {"nodes": 4}, "a tree that may be another one, worse or better"),
    ],
)
def test_what_the_command_gives_is_said(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    solver: dict[str, Any],
    limits: dict[str, Any],
    gives: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    spec = {
        "name": "s",
        "datasets": ["monks-1"],
        "encodings": ["onehot"],
        "lambdas": ["0.02"],
        "solvers": [solver],
        "limits": limits,
    }
    if "shards" in solver:
        treesweep.run_sweep(spec, out=tmp_path / "s", cluster=treesweep.Local(workers=1))
    else:
        without_dask.finish(tmp_path / "s", treesweep.parse_spec(json.dumps(spec)))
    best = treesweep.read_results(tmp_path / "s").best()
    assert best.tree is not None
    assert best.command is not None
    assert best.command_gives == gives
    assert run(*shlex.split(best.command)[1:]).exit_code == 0
    again = Tree.from_json((tmp_path / "tree.json").read_text(encoding="utf-8"))
    if gives == "exactly this tree":
        assert again == best.tree
    elif best.status == "optimal":
        assert (again.errors, again.splits) == (best.tree.errors, best.tree.splits)
