"""``treesweep rashomon``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import solver
from sweep.datasets import load_dataset
from tests.helpers.commands import refused, run


def test_text_tells_how_many_trees_are_good_and_what_they_use() -> None:
    result = run("rashomon", "monks-1", "--lam", "0.02")
    assert (result.exit_code, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    assert lines[0].startswith("monks-1, onehot: 432 rows")
    assert lines[2] == "12 good trees at λ = 1/50"
    assert lines[3] == "optimum  0.12 = 3/25 (proven)"
    assert ["6", "0", "12"] in [line.split() for line in lines]
    assert ["a5=1", "12", "100.0%", "100.0%"] in [line.split() for line in lines]
    assert lines[-2:] == [
        "in every good tree  a5=1",
        "not needed          10 features are in no good tree",
    ]


def test_json_and_folder_hold_the_same(tmp_path: Path) -> None:
    folder = tmp_path / "good"
    common = ["rashomon", "monks-1", "--lam", "0.05", "--within", "1", "--unit", "lam"]
    result = run(*common, "--json", "--save", folder, "--trees", 3)
    data = json.loads(result.stdout)
    assert (data["dataset"], data["unit"], data["optimum_exact"]) == ("monks-1", "lam", "3/10")
    assert data["most_exact"] == "7/20"
    assert sum(cell["trees"] for cell in data["histogram"]) == data["n_trees"]
    stored = json.loads((folder / "rashomon.json").read_text())
    assert {**stored, "seconds": 0} == {**data, "seconds": 0}
    monks = load_dataset("monks-1").frame
    wrong = []
    for number in (1, 2, 3):
        tree = solver.Tree.from_json((folder / f"tree-{number}.json").read_text())
        wrong.append(int((tree.predict(monks) != monks["target"]).sum()) + tree.splits * 432 * 0.05)
    assert wrong == sorted(wrong)
    assert wrong[0] == pytest.approx(0.3 * 432)
    again = run(*common, "--save", folder, "--trees", 1)
    assert f"The set and its 1 best tree are in {folder}." in again.stdout
    assert sorted(p.name for p in folder.iterdir()) == ["rashomon.json", "tree-1.json"]


def test_mistakes_are_one_line(tmp_path: Path) -> None:
    (tmp_path / "other.txt").write_text("mine")
    common = ["rashomon", "monks-1", "--lam", "0.02"]
    assert "it holds other files (other.txt)" in refused(*common, "--save", tmp_path)
    assert "within = '-1' must be a number of 0 or more" in refused(*common, "--within", "-1")
    assert "leave out --solver and --option" in refused(*common, "--solver", "cart")
    assert "limit on splits" in refused(*common, "--max-splits", 3)
    assert "at λ = 0 good trees may have any size" in refused("rashomon", "monks-1", "--lam", "0")
    assert "regression" in refused("rashomon", "diabetes", "--lam", "0.01")
