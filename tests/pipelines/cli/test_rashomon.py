"""``treesweep rashomon``."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
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
    assert ["a5", "12", "100.0%", "100.0%", "no", "good", "tree"] in [x.split() for x in lines]
    assert lines[-3:] == [
        "in every good tree  a5=1",
        "not needed          10 features are in no good tree",
        "disagreement        for 0.0% of the rows some good tree predicts another class than the "
        "best one; the tree that differs most does so for 0.0%",
    ]


def test_wishes_are_granted_or_said_to_be_beyond_the_set() -> None:
    common = ["rashomon", "monks-1", "--lam", "0.05", "--within", "2", "--unit", "lam"]
    alone = run(*common, "--max-columns", 1).stdout
    assert "The best good tree of at most 1 column has the objective 0.3, 0 above the" in alone
    assert "a5 = 1: 1 (108 rows)" in alone
    without = run(*common, "--without", "a5", "--root", "a1").stdout
    assert without.splitlines()[-1] == (
        "There is no good tree without a5 and with a1 at the root: the best one costs more than "
        "0.4."
    )
    data = json.loads(run(*common, "--root", "a5", "--without", "a1", "--json").stdout)
    assert data["wish"]["objective_exact"] == "3/10"
    tree = solver.Tree.from_dict(data["wish"]["tree"])
    assert tree.splits == 1
    none = json.loads(run(*common, "--max-columns", 0, "--root", "a5", "--json").stdout)
    assert none["wish"]["tree"] is None
    assert "unknown column or feature 'a9'" in refused(*common, "--without", "a9")


def test_a_monotone_tree_is_shown() -> None:
    common = ["rashomon", "monks-1", "--lam", "0.05", "--within", "2", "--unit", "lam"]
    found = run(*common, "--monotone", "a5", 0).stdout
    assert (
        "The best good tree that never stops predicting 0 as a5 grows has the objective 0.3, 0"
        in found
    )
    assert "a5 = 1: 1 (108 rows)" in found
    falling = json.loads(run(*common, "--monotone", "a5", 1, "--root", "a5", "--json").stdout)
    assert falling["wish"] == {
        "without": [], "root": "a5", "max_columns": None, "monotone": {"a5": "1"}, "tree": None,
    }  # fmt: skip
    assert "unknown column 'a9'" in refused(*common, "--monotone", "a9", 1)
    assert "unknown class 'yes'" in refused(*common, "--monotone", "a5", "yes")
    assert "a5 is named twice" in refused(*common, "--monotone", "a5", 1, "--monotone", "a5", 0)


def test_a_limit_on_splits() -> None:
    result = run("rashomon", "monks-1", "--lam", "0.001", "--within", "0.1", "--max-splits", 3)
    lines = result.stdout.splitlines()
    assert "at most 3 splits" in lines[2] or "splits ≤ 3" in lines[2]
    assert all(int(line.split()[0]) <= 3 for line in _rows(lines, "splits"))


def _rows(lines: list[str], header: str) -> list[str]:
    first = next(at for at, line in enumerate(lines) if line.startswith(header)) + 1
    return lines[first : lines.index("", first)]


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
    assert sorted(p.name for p in folder.iterdir()) == [
        "rashomon.json", "timbertrek.json", "tree-1.json", "trees.csv",
    ]  # fmt: skip
    table = pd.read_csv(folder / "trees.csv")
    assert table[["objective_exact", "splits", "root", "columns"]].to_numpy().tolist() == [
        ["3/10", 1, "a5=1", '["a5"]']
    ]
    run("rashomon", "balance-scale", "--lam", "0.1", "--save", folder)  # of three classes
    assert not (folder / "timbertrek.json").exists()


def test_a_limit_leaves_a_smaller_set() -> None:
    common = ["rashomon", "tic-tac-toe", "--lam", "0.01", "--max-depth", 3, "--within", "0.1"]
    whole = json.loads(run(*common, "--json").stdout)
    assert (whole["status"], whole["within"], whole["within_asked"]) == ("optimal", "1/10", "1/10")
    for nodes in (2_000, 4_000, 6_000):
        data = json.loads(run(*common, "--node-limit", nodes, "--json").stdout)
        if data["status"] == "node_limit":
            assert data["n_trees"] < whole["n_trees"]
            break
    lines = run(*common, "--node-limit", nodes).stdout.splitlines()
    assert lines[2] == (
        f"at least {data['n_trees']:,} good trees with depth ≤ 3 at λ = 1/100: the node limit "
        f"ended the search. All trees within {data['within']} are counted, not within 1/10 as "
        "asked."
    )


def test_mistakes_are_one_line(tmp_path: Path) -> None:
    (tmp_path / "other.txt").write_text("mine")
    common = ["rashomon", "monks-1", "--lam", "0.02"]
    assert "it holds other files (other.txt)" in refused(*common, "--save", tmp_path)
    assert "within = '-1' must be a number of 0 or more" in refused(*common, "--within", "-1")
    assert "leave out --solver and --option" in refused(*common, "--solver", "cart")
    assert "at λ = 0 good trees may have any size" in refused("rashomon", "monks-1", "--lam", "0")
    assert "regression" in refused("rashomon", "diabetes", "--lam", "0.01")
