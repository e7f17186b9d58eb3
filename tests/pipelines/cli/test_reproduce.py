"""``treesweep reproduce``."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from pipelines.cli import treesweep
from pipelines.reproduce import experiments
from pipelines.reproduce.experiments import COMPUTED, EXPERIMENTS, Experiment
from sweep.events import Outcome
from sweep.graph import engine
from sweep.spec.spec import parse_spec
from tests.helpers import without_dask

TINY = """name: tiny
datasets: [car]
encodings: [categorical]
lambdas: [0.01]
solvers: [branches]
limits: {seconds: 30, memory: 1GiB}
"""
PRINTED = """dataset,encoding,lambda,h_lambda,iterations,seconds,proven_optimal
car,o,0.01,0.9,61,0.012,yes
car,o,0.02,0.8,61,0.012,yes
"""


def call(*arguments: object) -> Result:
    return CliRunner().invoke(treesweep, ["reproduce", *map(str, arguments)])


def test_experiments_are_listed() -> None:
    for arguments in ([], ["--list"]):
        listed = call(*arguments).stdout
        known = (*EXPERIMENTS.values(), *COMPUTED.values())
        assert all(own.name in listed and own.summary in listed for own in known)


def test_a_table_without_a_search_is_printed_at_once() -> None:
    lines = call("osdt-table2.1").stdout.splitlines()
    assert len(lines) == 11
    assert lines[4].split() == ["10", "4", *["8.345e+06"] * 2, *["9.338e+20"] * 2, "5.609e+13"]


def test_its_file_can_be_read_before() -> None:
    name = next(iter(EXPERIMENTS))
    assert call(name, "--show").stdout == EXPERIMENTS[name].text


@pytest.mark.parametrize(
    "arguments, error",
    [
        (["figure-9"], "there is no experiment 'figure-9'; there are: branches-table2, "),
        (["branches-table2"], "give --data DIR"),
        (
            ["osdt-table2.1", "--data", "."],
            "osdt-table2.1 is computed at once, and takes no options",
        ),
        (["branches-table2", "--data", "nowhere"], "--data nowhere is no folder"),
        (["branches-table2", "--data", "."], "there is no file"),
        (["branches-table2", "--data", ".", "--seconds", "0"], "--seconds"),
    ],
)
def test_what_is_wrong_is_said_in_a_line(
    arguments: list[str], error: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = call(*arguments)
    assert result.exit_code == 2
    assert error in result.stderr
    assert result.stderr.count("\n") == 1
    assert not [*tmp_path.iterdir()]


def test_one_command_runs_it_and_compares(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "printed.csv").write_text(PRINTED)
    monkeypatch.setattr(Experiment, "text", TINY)
    tiny = Experiment("tiny", "Table 0", "printed.csv")
    monkeypatch.setattr(experiments, "EXPERIMENTS", {"tiny": tiny})
    monkeypatch.chdir(tmp_path)
    page = tmp_path / "page.md"
    result = call("tiny", "--data", tmp_path, "--seconds", 20, "--markdown", page)
    assert result.exit_code == 0, result.output
    assert "Of 2 printed figures, ours is: 1 " in result.stdout
    assert "1 not run" in result.stdout
    assert (tmp_path / "results" / "tiny" / "report" / "index.html").is_file()
    assert "| car | o | 0.02 | 0.8 | – | not run |" in page.read_text("utf-8")
    compared = Experiment("tiny", "Table 0", None, lambda results: results[["solver", "errors"]])
    monkeypatch.setattr(experiments, "EXPERIMENTS", {"tiny": compared})
    assert "branches" in call("tiny", "--data", tmp_path, "--seconds", 20).stdout.split("errors")[1]
    again = call("tiny", "--data", tmp_path, "--seconds", 20)
    assert "Nothing to do" in again.stdout


def test_it_ends_with_1_as_run_does_if_tasks_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Experiment, "text", TINY)
    monkeypatch.setattr(experiments, "EXPERIMENTS", {"tiny": Experiment("tiny", "Table 0", None)})
    monkeypatch.chdir(tmp_path)
    without_dask.finish(tmp_path / "results" / "tiny", parse_spec(TINY))
    failed = Outcome(1, 0, 1, 1, 0, 0, False, 1.0)
    monkeypatch.setattr(engine, "run_sweep", lambda *args, **named: failed)
    result = call("tiny", "--data", tmp_path)
    assert (result.exit_code, failed.exit_code) == (1, 1)
    assert "Report: " in result.stdout


def test_the_command_to_go_on_asks_for_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = Outcome(1, 0, 0, 0, 0, 0, True, 1.0)
    monkeypatch.setattr(Experiment, "sweep", lambda self, data, seconds: parse_spec(TINY))
    monkeypatch.setattr(engine, "run_sweep", lambda *args, **named: ended)
    given = ["osdt-ablation", "--data", str(tmp_path), "--seconds", "7.0", "--out", "my out"]
    result = call(*given)
    assert result.exit_code == 130
    line = result.stdout.splitlines()[-1]
    assert shlex.split(line.removeprefix("Go on with: ")) == ["treesweep", "reproduce", *given]
