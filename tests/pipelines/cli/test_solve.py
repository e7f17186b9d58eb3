"""``treesweep solve`` and ``treesweep predict``."""

from __future__ import annotations

import io
import json
import re
import shlex
import signal
from fractions import Fraction
from pathlib import Path

import pandas as pd
import pytest

import solver
from solver.external.base import ExternalSolver
from sweep.datasets import load_dataset
from tests.helpers.commands import Terminal, refused, run
from tests.solver.external.test_peers import ask_here


@pytest.fixture
def loans(tmp_path: Path) -> Path:
    path = tmp_path / "loans.csv"
    rows = [(20 + i, "yn"[i % 2], "good" if i > 4 else "bad", 1 + i % 3) for i in range(12)]
    pd.DataFrame(rows, columns=["age", "job", "default", "times"]).to_csv(path, index=False)
    return path


def test_json_has_the_solutions_fields_and_nothing_else() -> None:
    result = run("solve", "monks-1", "--lam", "0.01", "--json")
    assert result.exit_code == 0
    data = json.loads(result.stdout)
    assert result.stdout.count("\n") == 1
    assert (data["status"], data["objective"], data["objective_exact"]) == ("optimal", 0.06, "3/50")
    assert (data["lower_bound_exact"], data["gap"], data["gap_exact"]) == ("3/50", 0.0, "0")
    assert (data["errors"], data["n_rows"], data["splits"], data["leaves"]) == (0, 432, 6, 7)
    assert {"depth", "seconds", "iterations", "peak_bytes", "lam_exact"} <= set(data)
    tree = solver.Tree.from_dict(data["tree"])
    monks = load_dataset("monks-1").frame
    assert (tree.predict(monks) == monks["target"]).all()


def test_a_claim_names_its_trees(loans: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ExternalSolver, "ask", ask_here)
    words = ["solve", loans, "--target", "default", "--lam", "1/20", "--solver", "oct",
             "--max-depth", 1, "--column", "job=drop"]  # fmt: skip
    for options, rules in (
        ([], "axis rules"),
        (["rules=hyperplane"], "hyperplane rules of margin ≥ 0.005"),
        (["rules=hyperplane", "margin=0.01"], "hyperplane rules of margin ≥ 0.01"),
    ):
        shown = run(*words, *(word for option in options for word in ("--option", option)))
        assert (
            "oct claims that it is optimal and a lower bound of 0.05 among trees with "
            f"{rules}, depth ≤ 1\n"
        ) in shown.stdout, shown.stderr


def test_a_heuristic_has_no_bound_in_json() -> None:
    data = json.loads(run("solve", "car", "--lam", "1/100", "--solver", "cart", "--json").stdout)
    assert (data["status"], data["lower_bound"], data["gap_exact"]) == ("heuristic", None, None)
    assert Fraction(data["objective_exact"]) == (
        Fraction(data["errors"], 1728) + Fraction(1, 100) * data["splits"]
    )


def test_text_shows_tree_objective_and_proof() -> None:
    result = run("solve", "monks-1", "--lam", "0.01", "--encoding", "categorical")
    assert result.exit_code == 0
    for words in ("monks-1, categorical: 432 rows", "a2 = 1: 1 (48 rows)", "objective", "optimal"):
        assert words in result.stdout


def test_lambda_per_row_is_a_share_of_the_rows() -> None:
    data = json.loads(run("solve", "monks-1", "--lam", "4/n", "--json").stdout)
    assert data["lam_exact"] == "1/108"


def test_limits_and_options_reach_the_solver() -> None:
    data = json.loads(
        run("solve", "monks-1", "--lam", "0.001", "--max-depth", 2, "--max-splits", 2,
            "--min-leaf-size", 3, "--time-limit", 60, "--memory-limit", "1GiB",
            "--option", "mode=paper", "--json").stdout
    )  # fmt: skip
    assert data["status"] == "optimal"
    assert data["depth"] <= 2
    assert data["splits"] <= 2
    limited = json.loads(
        run("solve", "tic-tac-toe", "--lam", "0.005", "--node-limit", 100, "--json").stdout
    )
    assert limited["status"] == "node_limit"
    assert 0 < limited["lower_bound"] < limited["objective"]


def test_weights_columns_and_encoding_options(loans: Path) -> None:
    common = ["solve", loans, "--target", "default", "--lam", "0.01", "--json"]
    plain = json.loads(run(*common, "--encoding", "thresholds", "--column", "times=drop").stdout)
    assert plain["total_weight"] == 12
    weighted = json.loads(
        run(*common, "--encoding", "quantiles", "--encoding-option", "k=3", "--weights", "times",
            "--column", "age=number").stdout
    )  # fmt: skip
    assert weighted["total_weight"] == 24
    tests = [node["test"] for node in weighted["tree"]["nodes"] if "test" in node]
    assert all(test["column"] != "times" for test in tests)


def test_fractional_weights_are_told_and_keep_the_unit_of_the_leaf_limit(tmp_path: Path) -> None:
    table = tmp_path / "table.csv"
    table.write_text("x,w,y\n" + "a,0.5,0\n" * 4 + "b,1,1\n" * 4)
    common = ["solve", table, "--target", "y", "--lam", "0.01", "--weights", "w"]
    shown = run(*common).stdout
    assert "counted by their weight, 'w' × 2." in shown
    assert "x = a: 0 (weight 2)" in shown
    solved = json.loads(run(*common, "--min-leaf-size", "2", "--json").stdout)
    assert (solved["weight_scale"], solved["total_weight"], solved["splits"]) == (2, 12, 1)
    # The left leaf weighs 2 in the user's unit, though 4 in whole numbers.
    solved = json.loads(run(*common, "--min-leaf-size", "3", "--json").stdout)
    assert solved["splits"] == 0


@pytest.mark.parametrize(("weight", "why"), [("", "missing"), ("-1", "negative"), ("x", "numbers")])
def test_bad_weights_name_their_column(tmp_path: Path, weight: str, why: str) -> None:
    table = tmp_path / "table.csv"
    table.write_text(f"x,w,y\na,1,0\nb,{weight},1\n")
    result = run("solve", table, "--target", "y", "--lam", "0.01", "--weights", "w")
    assert result.exit_code == 2
    assert "column 'w'" in result.stderr
    assert why in result.stderr


def test_a_saved_tree_predicts_raw_rows(loans: Path, tmp_path: Path) -> None:
    tree = tmp_path / "tree.json"
    solved = run("solve", loans, "--target", "default", "--lam", "0.01", "--encoding",
                 "thresholds", "--save", tree)  # fmt: skip
    assert solved.exit_code == 0
    assert str(tree) in solved.stdout
    result = run("predict", tree, loans, "--proba")
    assert result.exit_code == 0
    assert result.stderr == "accuracy 1.0000: 12 of 12 rows as in column 'default'\n"
    table = pd.read_csv(io.StringIO(result.stdout))
    assert list(table.columns) == ["prediction", "p(bad)", "p(good)"]
    assert table["prediction"].tolist() == pd.read_csv(loans)["default"].tolist()
    out = tmp_path / "predicted.parquet"
    bare = tmp_path / "bare.csv"
    pd.read_csv(loans).drop(columns="default").to_csv(bare, index=False)
    result = run("predict", tree, bare, "--out", out)
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")
    assert pd.read_parquet(out)["prediction"].tolist() == table["prediction"].tolist()
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "bare.csv", "loans.csv", "predicted.parquet", "tree.json",
    ]  # fmt: skip


def test_trees_of_hyperplanes_are_found_saved_and_predict(tmp_path: Path) -> None:
    table, tree = tmp_path / "line.csv", tmp_path / "tree.json"
    rows = [(a, b, "above" if b > a else "below") for a in range(5) for b in range(5)]
    pd.DataFrame(rows, columns=["a", "b", "side"]).to_csv(table, index=False)
    solved = run("solve", table, "--target", "side", "--lam", "0", "--encoding", "continuous",
                 "--solver", "proper", "--option", "rules=hyperplane", "--max-splits", 1,
                 "--save", tree)  # fmt: skip
    assert solved.exit_code == 0, solved.stderr
    assert "optimal: no tree with hyperplane rules, splits ≤ 1 has" in solved.stdout
    assert re.search(r"^a − \S*b [≤>] ", solved.stdout, re.MULTILINE)
    result = run("predict", tree, table)
    assert result.stderr == "accuracy 1.0000: 25 of 25 rows as in column 'side'\n"
    assert json.loads(tree.read_text())["nodes"][0]["test"]["kind"] == "hyperplane"


@pytest.mark.parametrize("mode", ["search", "paper"])
def test_light_rows_may_be_leaves_of_proper(mode: str, tmp_path: Path) -> None:
    """A limit on leaves that nobody gave, ten times a row's weight, made 1/3 of 1/10."""
    table = tmp_path / "light.csv"
    rows = [(2.5, 1.5, "a"), (1.5, 3.5, "z"), (1.5, 2.5, "z"), (4.5, 2.25, "z"), (4.5, 1, "a"),
            (1.5, 1.2, "z")]  # fmt: skip
    pd.DataFrame(rows, columns=["b", "e", "y"]).assign(w=0.1).to_csv(table, index=False)
    how = [table, "--target", "y", "--weights", "w", "--encoding", "continuous",
           "--solver", "proper", "--option", f"mode={mode}"]  # fmt: skip
    shown = run("solve", *how, "--max-splits", 2, "--lam", "0.05").stdout
    assert re.search(r"objective +0\.1 = 1/10 \(0/6 wrong \+ λ 1/20 × 2 splits\)", shown)
    assert "optimal: no tree with axis rules, splits ≤ 2 has a smaller objective (gap 0)" in shown
    shown = run("path", *how, "--max-splits", 2, "--min-leaf-size", 0, "--lam-min", "0.05").stdout
    assert "no tree with axis rules, splits ≤ 2, leaf weight ≥ 0 has a smaller objective" in shown
    assert [line.split()[4:6] for line in shown.splitlines()[4:5]] == [["2", "3"]]
    for command, lam in (("solve", "--lam"), ("path", "--lam-min")):
        line = refused(command, *how, lam, "0.05")
        assert line.endswith("solver 'proper' needs the limit 'splits'; write e.g. --max-splits 2")
    line = refused("solve", *how, "--option", "splits=2", "--lam", "0.05")
    assert "solver 'proper' has no option 'splits'" in line


def test_another_separator(loans: Path, tmp_path: Path) -> None:
    path, tree = tmp_path / "loans2.csv", tmp_path / "tree.json"
    path.write_text(loans.read_text().replace(",", ";"))
    given = ["--target", "default", "--lam", "0.01", "--encoding", "thresholds"]
    found = run("solve", path, *given, "--json")
    result = run("solve", path, *given, "--separator", ";", "--save", tree)
    assert result.exit_code == 0, result.stderr
    assert json.loads(found.stdout)["tree"] == json.loads(tree.read_text())
    assert "12 of 12" in run("predict", tree, path, "--separator", ";").stderr
    assert "separator" in refused("solve", "car", "--lam", "0.1", "--separator", ";")


def test_predict_reads_what_solve_prints(tmp_path: Path) -> None:
    path = tmp_path / "solution.json"
    path.write_text(run("solve", "monks-1", "--lam", "0.01", "--json").stdout)
    result = run("predict", path, "monks-1")
    assert result.exit_code == 0
    assert "432 of 432" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["car", "--lam", "-0.1"], ["-0.1", "0 or more"]),
        (["car", "--lam", "abc"], ["abc", "0.01"]),
        (["car", "--lam", "x/n"], ["x", "not a number"]),
        (["carr", "--lam", "0.1"], ["carr", "car"]),
        (["missing.csv", "--target", "y", "--lam", "0.1"], ["missing.csv"]),
        (["car", "--lam", "0.1", "--target", "nope"], ["nope", "safety"]),
        (["car", "--lam", "0.1", "--encoding", "one-hot"], ["one-hot", "onehot"]),
        (["car", "--lam", "0.1", "--encoding-option", "k=3"], ["k", "--encoding quantiles"]),
        (["car", "--lam", "0.1", "--encoding", "onehot", "--encoding-option", "k=3"], ["'k'"]),
        (["car", "--lam", "0.1", "--column", "doors={kind: numbr}"], ["doors", "'number'"]),
        (["car", "--lam", "0.1", "--column", "doors={kind: [}"], ["--column", "YAML"]),
        (["car", "--lam", "0.1", "--charset", "latin-1"], ["charset", "path"]),
        (["car", "--lam", "0.1", "--encoding-option", "k"], ["'k'", "KEY=VALUE"]),
        (["car", "--lam", "0.1", "--option", "a=1", "--option", "a=2"], ["'a'", "twice"]),
        (["car", "--lam", "0.1", "--option", "speed=9"], ["speed", "mode"]),
        (["car", "--lam", "0.1", "--option", "mode=best"], ["best", "paper"]),
        (["car", "--lam", "0.1", "--solver", "magic"], ["magic", "branches"]),
        (["car", "--lam", "0.1", "--memory-limit", "lots"], ["lots", "4GiB"]),
        (["car", "--lam", "0.1", "--max-depth", "-1"], ["depth", "-1"]),
        (["car", "--lam", "0.1", "--time-limit", "nan"], ["seconds", "nan"]),
        (["car", "--lam", "0.1", "--column", "colour=number"], ["colour"]),
        (["car", "--lam", "0.1", "--column", "doors=text"], ["doors", "category"]),
        (["car", "--lam", "0.1", "--weights", "heft"], ["heft"]),
        (["t.csv", "--lam", "0.1", "--separator", ";;"], ["--separator", "';;'", "one character"]),
        (["t.csv", "--lam", "0.1", "--separator", "\n"], ["--separator", "one character"]),
        (["car", "--lam", "0.1", "--weights", "doors"], ["weights"]),
        (["wine", "--lam", "0.1", "--encoding", "categorical"], ["categorical", "quantiles"]),
        (["car", "--lam", "0.1", "--solver", "cart", "--encoding", "categorical"], ["cart"]),
        (["car", "--lam", "0.1", "--solver", "tao", "--max-splits", "3"], ["tao", "splits"]),
        (["car", "--lam", "0.1", "--save", "no/such/folder/tree.json"], ["no/such/folder"]),
    ],
)  # fmt: skip
def test_bad_input_is_one_line(arguments: list[str], words: list[str]) -> None:
    line = refused("solve", *arguments)
    assert all(word in line for word in words), line


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("a,y\n", ["no rows"]),
        ("", ["empty"]),
        ("a,y\n1,2\n3,2\n", ["'y'", "single class"]),
        ("a,y\n1,\n3,2\n", ["'y'", "missing"]),
        ("a,b\n1,2\n", ["'y'"]),
    ],
)
def test_bad_tables_are_one_line(content: str, words: list[str], tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text(content)
    line = refused("solve", path, "--target", "y", "--lam", "0.1", "--save", tmp_path / "t.json")
    assert all(word in line for word in words), line
    assert not (tmp_path / "t.json").exists()


def test_a_column_is_mended_with_the_options_of_the_command(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    pd.DataFrame({"id": [f"p{i}" for i in range(200)], "y": [0, 1] * 100}).to_csv(path, index=False)
    line = refused("solve", path, "--target", "y", "--lam", "0.1")
    assert "--column id=drop" in line
    assert "columns:" not in line


@pytest.mark.parametrize("name", ["a=b", "c: {d}", "it's", '"q"', "x y", "größe", "Unnamed: 0"])
def test_the_remedy_of_any_column_can_be_pasted(name: str, tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    pd.DataFrame(
        {name: [f"p{i}" for i in range(200)], "x": [0, 1] * 100, "y": [0, 1] * 100}
    ).to_csv(path, index=False)
    given = ["solve", path, "--target", "y", "--lam", "0.1"]
    line = refused(*given)
    assert "columns:" not in line
    pasted = shlex.split(line[line.rindex("--column") :])[:2]
    assert run(*given, *pasted).exit_code == 0


def test_the_commands_name_no_remedy_that_they_lack(tmp_path: Path) -> None:
    path, tree = tmp_path / "t.csv", tmp_path / "tree.json"
    pd.DataFrame({"x": ["1", "2", "unk", "4"], "y": list("abab")}).to_csv(path, index=False)
    given = ["solve", path, "--target", "y", "--lam", "0.01", "--encoding", "thresholds"]
    line = refused(*given, "--column", "x=number")
    remedy = "write --column 'x={kind: number, missing: [unk]}' or --column x=category"
    assert f"correct it, or {remedy}" in line
    assert run(*given, "--column", "x={kind: number, missing: [unk]}").exit_code == 0
    run(*given, "--column", "x=drop")
    frame = pd.DataFrame({"x": [1, 2, 3, 4], "y": list("abab")})
    frame.to_csv(path, index=False)
    assert run(*given, "--column", "x=number", "--save", tree).exit_code == 0
    frame.astype(str).replace({"x": {"4": "unk"}}).to_csv(path, index=False)
    line = refused("predict", tree, path)
    assert "columns:" not in line
    assert "correct it, or write it as in the training rows" in line


def test_predict_writes_nothing_if_it_cannot_measure(tmp_path: Path) -> None:
    path, tree, out = tmp_path / "t.csv", tmp_path / "tree.json", tmp_path / "out.csv"
    frame = pd.DataFrame({"x": list("abab"), "y": ["1", "2.5", "1", "2"]})
    frame.to_csv(path, index=False)
    given = ["--target", "y", "--task", "regression", "--lam", "0.01"]
    assert run("solve", path, *given, "--solver", "cart", "--save", tree).exit_code == 0
    frame.assign(y=["1", "2.5", "unk", "2"]).to_csv(path, index=False)
    line = refused("predict", tree, path, "--out", out)
    assert "'y'" in line
    assert "'unk'" in line
    assert "columns:" not in line
    assert not out.exists()
    assert not run("predict", tree, path).stdout


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{", ["cannot be read"]),
        ("[1]", ["not a treesweep tree"]),
        ('{"format": "treesweep-tree", "version": 99}', ["99", "upgrade"]),
        ('{"format": "treesweep-tree", "version": 1, "nodes": []}', ["damaged"]),
    ],
)
def test_a_bad_tree_is_one_line(content: str, words: list[str], tmp_path: Path) -> None:
    path = tmp_path / "tree.json"
    path.write_text(content)
    line = refused("predict", path, "car")
    assert all(word in line for word in ["tree.json", *words]), line


def test_predict_names_a_missing_column_and_a_missing_file(tmp_path: Path) -> None:
    assert "nothing.json" in refused("predict", tmp_path / "nothing.json", "car")
    tree = tmp_path / "tree.json"
    assert run("solve", "monks-1", "--lam", "0.01", "--save", tree).exit_code == 0
    assert "'a5'" in refused("predict", tree, "car")


@pytest.mark.parametrize("presses", [1, 2])
def test_ctrl_c_keeps_the_best_tree_and_twice_leaves(presses: int) -> None:
    # A search of minutes, because λ is tiny.
    terminal = Terminal("solve", "nursery", "--lam", "0.0001", "--json")
    terminal.read_until("lower bound")  # a terminal sees how far the search is
    for _ in range(presses):
        terminal.process.send_signal(signal.SIGINT)
    stdout = terminal.finish()
    assert terminal.process.returncode == 130, terminal.shown
    assert "Traceback" not in terminal.shown
    assert "Ctrl-C again" in terminal.shown
    # The second signal may come too late to matter.
    if presses == 1 or stdout:
        data = json.loads(stdout)
        assert data["status"] == "stopped"
        assert data["lower_bound"] < data["objective"] < 0.67


def test_a_limit_of_time_ends_a_search() -> None:
    result = run("solve", "nursery", "--lam", "0.0001", "--time-limit", "0.1", "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["status"] == "time_limit"
