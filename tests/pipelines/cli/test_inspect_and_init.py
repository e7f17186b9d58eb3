"""From a messy table to a proven tree: ``treesweep inspect`` and ``init``."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pandas as pd
import pytest

from tests.helpers.commands import refused, run
from tests.helpers.messy_table import TARGET, write_messy_table


@pytest.mark.parametrize(("charset", "separator"), [("utf-8", ","), ("cp1252", ";")])
def test_the_command_of_inspect_gives_a_proven_tree(
    tmp_path: Path, charset: str, separator: str
) -> None:
    path, tree = tmp_path / "customers.csv", tmp_path / "tree.json"
    write_messy_table(path, charset=charset, separator=separator)
    found = run("inspect", path, "--target", TARGET)
    assert found.exit_code == 0, found.stderr
    assert "2 problems:" in found.stdout
    assert "Target: 3 classes" in found.stdout
    command = shlex.split(found.stdout.strip().splitlines()[-1])
    assert command[:2] == ["treesweep", "solve"]
    solved = run(*command[1:], "--save", tree)
    assert solved.exit_code == 0, solved.stderr
    assert "optimal: no tree has a smaller objective" in solved.stdout
    for line in (
        "Column 'age' is read as numbers; missing: '?'.",
        "Column 'share' is read as numbers, unit '%'.",
        "Column 'rate' is read as numbers, decimal sign ','.",
        "Column 'since' is read as dates, format %d/%m/%Y.",
    ):
        assert line in solved.stdout
    options = ["--charset", charset] if charset != "utf-8" else []
    kept = run("predict", tree, path, *options, "--keep", "customer id")
    assert kept.exit_code == 0, kept.stderr
    assert kept.stdout.splitlines()[0] == "customer id,prediction"
    assert kept.stdout.splitlines()[1].startswith("C-00000,")
    right = solved.stdout.split("accuracy")[1].split()[0]
    assert f"accuracy {right}" in kept.stderr


def test_utf_16_is_read_or_named(tmp_path: Path) -> None:
    path, text = tmp_path / "t.csv", "preis,y\n10 €,p\n12 €,q\n"
    path.write_text(text, encoding="utf-16")
    found = run("inspect", path, "--target", "y")
    assert "t.csv: 2 rows, 2 columns" in found.stdout, found.stderr
    assert "No problems." in found.stdout
    assert run("solve", path, "--target", "y", "--lam", "0.1").exit_code == 0
    path.write_bytes(text.encode("utf-16-le"))
    assert "like text encoded as UTF-16; save it as UTF-8" in refused("inspect", path)


def test_inspect_names_the_rows_of_mixed_decimals(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a;y\n1,5;p\n1.5;q\n2,5;p\n3,5;q\n")
    shown = run("inspect", path, "--target", "y").stdout
    assert "1 problem:" in shown
    assert (
        "a: has numbers with a decimal comma, e.g. '1,5', and with a decimal point, e.g. '1.5' "
        "(in row 2); write them alike, or write columns: {a: category}"
    ) in shown
    assert "--column a=category" in shown.splitlines()[-1]


def test_a_column_of_one_value_and_missing_ones_is_not_called_constant(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    frame = pd.DataFrame({"paid": ["x", None] * 20, "rooms": [3, None] * 20})
    frame = frame.assign(same="s", none=None, y=["yes", "no"] * 20)
    frame.to_csv(path, index=False)
    columns = json.loads(run("inspect", path, "--target", "y", "--json").stdout)["columns"]
    assert {column["name"]: column["reading"] for column in columns} == {
        "paid": "category",
        "rooms": "category; number if the encoding takes numbers",
        "same": "category; constant, never used",
        "none": "category; constant, never used",
        "y": "target",
    }
    solved = run("solve", path, "--target", "y", "--lam", "0.01", "--column", "rooms=drop")
    assert "paid = x: yes (20 rows)" in solved.stdout


DAYS = [f"{1 + i % 12:02d}/{1 + i % 11:02d}/20{i % 90 + 10}" for i in range(300)]


@pytest.mark.parametrize(
    ("encoding", "printed"), [("quantiles", "rooms ≤ "), ("onehot", "rooms = ")]
)
def test_inspect_says_that_few_whole_numbers_are_read_as_the_encoding_takes_them(
    tmp_path: Path, encoding: str, printed: str
) -> None:
    path = tmp_path / "t.csv"
    pd.DataFrame({"rooms": [1, 2, 3, 4] * 9, "y": [0, 0, 1, 1] * 9}).to_csv(path, index=False)
    shown = run("inspect", path, "--target", "y").stdout
    assert "category; number if the encoding takes numbers" in shown
    solved = run("solve", path, "--target", "y", "--lam", "0.01", "--encoding", encoding)
    assert printed in solved.stdout


def test_inspect_announces_all_that_solve_refuses(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    frame = pd.DataFrame({"name": [f"n{i}" for i in range(300)], "y": ["a", "b"] * 150})
    frame["odd"] = [*map(str, range(299)), "abc"]
    frame["when"] = DAYS
    frame.to_csv(path, index=True)
    report = json.loads(run("inspect", path, "--target", "y", "--json").stdout)
    wishes = {column["name"]: column["wish"] for column in report["columns"] if column["problem"]}
    assert wishes == {
        "Unnamed: 0": "drop",
        "name": "drop",
        "odd": {"kind": "number", "missing": ["abc"]},
        "when": {"kind": "date", "format": "%d/%m/%Y"},
    }
    options: list[str] = []
    for name, wish in wishes.items():
        assert name in refused("solve", path, "--target", "y", "--lam", "0.1", *options)
        options += ["--column", f"{name}={wish if wish == 'drop' else json.dumps(wish)}"]
    assert run("solve", path, "--target", "y", "--lam", "0.1", *options).exit_code == 0


@pytest.mark.parametrize(
    "texts",
    [
        [f"id-{i}" for i in range(300)],
        [f"{i},{100 + i}" for i in range(1, 301)],
        DAYS,
        [*map(str, range(298)), "a=b", 'say "x"'],
    ],
    ids=["identifier", "numbers", "dates", "text among numbers"],
)
def test_remedies_work_when_pasted(texts: list[str], tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    frame = pd.DataFrame({"a = 'b': {c}, d": texts, "f": range(300), "y": [1, 2] * 150})
    frame.to_csv(path, index=False)
    given = ["solve", path, "--target", "y", "--lam", "0.1", "--max-depth", "1"]
    line = refused(*given)
    words = shlex.split(line[line.index("--column") :])
    offers = [words[place + 1] for place, word in enumerate(words) if word == "--column"]
    assert len(offers) > 1
    for offer in offers:
        solved = run(*given, "--column", offer)
        assert solved.exit_code == 0, (offer, solved.stderr)


@pytest.mark.parametrize("target", [TARGET, "income"])
def test_init_writes_a_sweep_that_runs(tmp_path: Path, target: str) -> None:
    path, spec = tmp_path / "customers.csv", tmp_path / "sweep.yaml"
    write_messy_table(path, 300)
    given = ["--target", target]
    if target == "income":
        pd.read_csv(path, thousands=",", dtype={"rate": str}).to_csv(path, index=False)
        given += ["--task", "regression"]
    spec.write_text(run("init", path, *given).stdout)
    planned = run("run", spec, "--dry-run")
    assert planned.exit_code == 0, planned.stderr
    assert "tasks" in planned.stdout
    assert "impossible" not in planned.stdout
    assert spec.read_text().count("#") >= 6


@pytest.mark.parametrize("written", ["{0},{1:03d}", "{2:02d}/{3:02d}/2020"])
def test_init_cuts_numbers_and_dates_that_only_its_own_entry_reads(
    tmp_path: Path, written: str
) -> None:
    """As text they have two readings: '9,932' is 9932 or 9.932, 01/02/2020 is two days."""
    path, spec = tmp_path / "t.csv", tmp_path / "sweep.yaml"
    rows = [(1 + i % 50, 37 * i % 1000, 1 + i % 12, 1 + i % 11) for i in range(60)]
    frame = pd.DataFrame({"x": [written.format(*row) for row in rows], "y": ["a", "b"] * 30})
    frame.to_csv(path, index=False)
    spec.write_text(run("init", path, "--target", "y").stdout)
    assert "x: {kind: " in spec.read_text()
    planned = run("run", spec, "--dry-run")
    assert planned.exit_code == 0, planned.stderr


def test_a_built_in_dataset_needs_no_target() -> None:
    found = run("inspect", "monks-1").stdout
    assert "No problems." in found
    assert found.strip().endswith("treesweep solve monks-1 --lam 0.01")
    assert "name: monks-1" in run("init", "monks-1").stdout


def test_without_a_target_columns_are_proposed(tmp_path: Path) -> None:
    path = tmp_path / "customers.csv"
    write_messy_table(path, 300)
    assert "not given; columns of few values: city, rooms, segment" in run("inspect", path).stdout
    assert "--target" in refused("init", path)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["missing.csv"], "there is no file missing.csv"),
        (["carr"], "did you mean car"),
        (["monks-1", "--target", "b"], "no column 'b'"),
        (["monks-1", "--column", "z=drop"], "'z'"),
    ],
)
def test_bad_input_is_one_line(given: list[str], words: str) -> None:
    assert words in refused("inspect", *given)


def test_a_table_without_rows(tmp_path: Path) -> None:
    path = tmp_path / "head.csv"
    path.write_text("a,y\n")
    assert "has no rows below" in refused("inspect", path, "--target", "y")
    assert "has no rows below" in refused("init", path, "--target", "y")


def test_a_sweep_says_how_columns_are_read_that_nobody_described(tmp_path: Path) -> None:
    path, spec = tmp_path / "customers.csv", tmp_path / "sweep.yaml"
    write_messy_table(path)
    spec.write_text(run("init", path, "--target", TARGET).stdout)
    told = run("run", spec, "--dry-run").stdout.splitlines()
    assert "customers: Column 'age' is read as numbers; missing: '?'." in told
    assert "customers: Column 'since' is read as dates, format %d/%m/%Y." in told
    # What the spec says itself is not repeated.
    assert not [line for line in told if "'income'" in line]


def test_a_refused_target_gets_no_command(tmp_path: Path) -> None:
    (tmp_path / "one.csv").write_text("a,y\n1,p\n2,p\n3,p\n")
    shown = run("inspect", tmp_path / "one.csv", "--target", "y").stdout
    assert "Target: refused: target 'y' has the single class 'p'" in shown
    assert "No problems" not in shown
    assert "treesweep solve" not in shown
