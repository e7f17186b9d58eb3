"""``treesweep path``."""

from __future__ import annotations

import json
import signal
from fractions import Fraction
from pathlib import Path

import pandas as pd
import pytest

import solver
from sweep.datasets import load_dataset
from tests.helpers.commands import Terminal, refused, run

STEPS_OF_MONKS = [("1/1000", 6, 0), ("1/20", 1, 108), ("1/4", 0, 216)]


def test_json_has_the_paths_fields_and_what_they_are_about() -> None:
    result = run("path", "monks-1", "--lam-min", "0.001", "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.count("\n") == 1
    data = json.loads(result.stdout)
    steps = [(step["lam_exact"], step["splits"], step["errors"]) for step in data["steps"]]
    assert steps == STEPS_OF_MONKS
    assert [step["proven"] for step in data["steps"]] == [True] * 3
    assert (data["status"], data["dataset"], data["n_rows"]) == ("optimal", "monks-1", 432)
    monks = load_dataset("monks-1").frame
    tree = solver.Tree.from_dict(data["steps"][0]["tree"])
    assert (tree.predict(monks) == monks["target"]).all()


def test_text_is_a_table_of_steps() -> None:
    result = run("path", "monks-1", "--lam-min", "0.001")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0].startswith("monks-1, onehot: 432 rows")
    rows = [line.split() for line in lines[3:6]]
    assert rows[0] == ["0.001", "1/1000", "0.05", "1/20", "6", "7", "4", "0", "0", "yes"]
    assert rows[-1] == ["0.25", "1/4", "∞", "0", "1", "0", "216", "0.5", "yes"]
    assert "optimal: no tree has a smaller objective at any λ from 0.001 up" in result.stdout
    assert "solves" in lines[-1]


def test_lambda_per_row_limits_options_and_weights_reach_the_search(tmp_path: Path) -> None:
    data = json.loads(
        run("path", "monks-1", "--lam-min", "4/n", "--max-depth", 1, "--option", "mode=paper",
            "--time-limit", 60, "--json").stdout
    )  # fmt: skip
    assert data["lam_min_exact"] == "1/108"
    assert [step["depth"] for step in data["steps"]] == [1, 0]
    table = tmp_path / "table.csv"
    table.write_text("x,w,y\n" + "a,0.5,0\n" * 4 + "b,1,1\n" * 4)
    common = ["path", table, "--target", "y", "--lam-min", "0", "--weights", "w"]
    assert "counted by their weight, 'w' × 2." in run(*common).stdout
    weighted = json.loads(run(*common, "--json").stdout)
    assert [step["lam_exact"] for step in weighted["steps"]] == ["0", "1/3"]
    assert weighted["tolerance"] == 0
    table.write_text("x,w,y\n" + "a,1.2345678901234567e-9,0\n" + "b,123456789.12345678,1\n")
    assert 0 < json.loads(run(*common, "--json").stdout)["tolerance"] < 1e-6


def test_an_unfinished_path_says_what_is_proven() -> None:
    common = ["path", "tic-tac-toe", "--lam-min", "0.001", "--node-limit", 3000]
    data = json.loads(run(*common, "--json").stdout)
    assert data["status"] == "node_limit"
    proven = [step["proven"] for step in data["steps"]]
    assert any(proven)
    assert not all(proven)
    result = run(*common)
    assert result.exit_code == 0
    assert f"node_limit: {sum(proven)} of {len(proven)} steps proven" in result.stdout


def test_a_heuristic_proves_nothing() -> None:
    result = run("path", "car", "--lam-min", "0.01", "--solver", "cart")
    assert "heuristic: nothing is proven" in result.stdout
    assert " yes" not in result.stdout


def test_saved_trees_predict(tmp_path: Path) -> None:
    folder = tmp_path / "monks"
    result = run("path", "monks-1", "--lam-min", "0.001", "--save", folder)
    assert result.exit_code == 0
    assert f"The path and its 3 trees are in {folder}." in result.stdout
    files = ["0-splits.json", "1-split.json", "6-splits.json", "path.json"]
    assert sorted(path.name for path in folder.iterdir()) == files
    for splits, right in (("6-splits", 432), ("1-split", 324), ("0-splits", 216)):
        assert f"{right} of 432" in run("predict", folder / f"{splits}.json", "monks-1").stderr
    stored = json.loads((folder / "path.json").read_text())
    printed = json.loads(run("path", "monks-1", "--lam-min", "0.001", "--json").stdout)
    assert stored["steps"] == printed["steps"]


def test_no_interval_starts_above_its_end(tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    table.write_text("c,y,w\np,n,5000000\nq,y,1000000\nr,z,1000001\n")
    shown = run("path", table, "--target", "y", "--weights", "w", "--encoding", "onehot",
                "--lam-min", "0.01").stdout  # fmt: skip
    rows = [line.split() for line in shown.splitlines() if line.endswith(" yes")]
    assert len(rows) == 3
    for start, exact, end, *_ in rows[:-1]:
        assert Fraction(exact) <= Fraction(start) < Fraction(end)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["car"], ["--lam-min", "treesweep path --help"]),
        (["car", "--lam-min", "-0.1"], ["-0.1", "0 or more"]),
        (["carr", "--lam-min", "0.1"], ["carr", "car"]),
        (["car", "--lam-min", "0.1", "--solver", "tao", "--max-splits", "3"], ["tao", "splits"]),
        (["car", "--lam-min", "0.1", "--save", "no/such/folder"], ["no folder no/such"]),
        (["car", "--lam-min", "0.1", "--lam", "0.1"], ["--lam"]),
    ],
)
def test_bad_input_is_one_line(arguments: list[str], words: list[str]) -> None:
    line = refused("path", *arguments)
    assert all(word in line for word in words), line


def test_a_column_is_mended_with_the_options_of_the_command(tmp_path: Path) -> None:
    table, folder = tmp_path / "people.csv", tmp_path / "path"
    pd.DataFrame({"id": [f"p{i}" for i in range(200)], "y": [0, 1] * 100}).to_csv(
        table, index=False
    )
    line = refused("path", table, "--target", "y", "--lam-min", "0.1", "--save", folder)
    assert "--column id=drop" in line
    assert not folder.exists()


def test_ctrl_c_keeps_the_best_trees() -> None:
    # A search of minutes, because λ is tiny.
    terminal = Terminal("path", "nursery", "--lam-min", "0.0001", "--json")
    terminal.read_until("lower bound")
    assert "searching λ = 0.0081: objective" in terminal.shown  # 81 times the least λ comes first
    terminal.process.send_signal(signal.SIGINT)
    data = json.loads(terminal.finish())
    assert terminal.process.returncode == 130, terminal.shown
    assert "Traceback" not in terminal.shown
    assert data["status"] == "stopped"
    assert data["steps"][0]["splits"] > data["steps"][-1]["splits"] == 0
    points = {Fraction(p["lam_exact"]): Fraction(p["lower_bound_exact"]) for p in data["points"]}
    assert points[Fraction(81, 10_000)] > points[Fraction(1, 10_000)]
    first = data["steps"][0]
    reached = first["errors"] / data["total_weight"] + data["lam_min"] * first["splits"]
    assert 0 < points[Fraction(1, 10_000)] < reached
