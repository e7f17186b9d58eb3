"""From a messy table to a proven tree: ``treesweep inspect`` and ``init``."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pandas as pd
import pytest
import yaml

from sweep.datasets import load_dataset
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
    spec.write_text(_choose(run("init", path, *given).stdout, 0))
    planned = run("run", spec, "--dry-run")
    assert planned.exit_code == 0, planned.stderr
    assert "tasks" in planned.stdout
    assert "impossible" not in planned.stdout
    assert spec.read_text().count("#") >= 6


def _choose(sweep: str, place: int) -> str:
    """The sweep with this one of the readings that ``init`` offers for each column."""
    return re.sub(rf"(# The sweep is refused .*\n(?: *#.*\n){{{place}}} *)#", r"\1", sweep)


@pytest.mark.parametrize("written", ["{0},{1:03d}", "{2:02d}/{3:02d}/2020"])
def test_init_leaves_it_to_the_user_how_text_of_two_readings_is_read(
    tmp_path: Path, written: str
) -> None:
    """'9,932' is 9932 or 9.932, 01/02/2020 is two days."""
    path, spec = tmp_path / "t.csv", tmp_path / "sweep.yaml"
    rows = [(1 + i % 50, 37 * i % 1000, 1 + i % 12, 1 + i % 11) for i in range(60)]
    frame = pd.DataFrame({"x": [written.format(*row) for row in rows], "y": ["a", "b"] * 30})
    frame.to_csv(path, index=False)
    begun = run("init", path, "--target", "y")
    assert begun.exit_code == 0, begun.stderr
    (told,) = begun.stderr.splitlines()
    assert told.startswith("Column 'x' can be read in 2 ways: ")
    assert told.endswith("; CHOOSE in the sweep how to read it.")
    assert "encodings: [{encoding: quantiles, k: 4}, mdlp]" in begun.stdout
    spec.write_text(begun.stdout)
    assert "'x' can be read in 2 ways" in refused("run", spec, "--dry-run")
    digests = set()
    for place in range(2):
        spec.write_text(_choose(begun.stdout, place))
        planned = run("run", spec, "--dry-run")
        assert planned.exit_code == 0, planned.stderr
        (reference,) = yaml.safe_load(spec.read_text())["datasets"]
        digests.add(load_dataset(reference).digest)
    assert len(digests) == 2


@pytest.mark.parametrize(
    ("texts", "told", "entry"),
    [
        ([f"31/12/{i}" for i in range(30, 60)], "may be in", '{kind: date, format: "%d/%m/%y"}'),
        (["0.5", *(f"{i}%" for i in range(1, 30))], "may be a share", '{kind: number, unit: "%"}'),
    ],
)  # fmt: skip
def test_init_leaves_it_to_the_user_what_doubtful_values_mean(
    tmp_path: Path, texts: list[str], told: str, entry: str
) -> None:
    path, spec = tmp_path / "t.csv", tmp_path / "sweep.yaml"
    frame = pd.DataFrame({"x": texts, "one": 1, "y": ["a", "b"] * 15})
    frame.to_csv(path, index=False)
    begun = run("init", path, "--target", "y")
    assert told in begun.stderr
    assert f"\n      #x: {entry}\n" in begun.stdout
    spec.write_text(begun.stdout)
    assert told in refused("run", spec, "--dry-run")
    spec.write_text(_choose(begun.stdout, 0))
    assert run("run", spec, "--dry-run").exit_code == 0


def test_init_says_why_it_reads_a_column_otherwise(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    frame = pd.DataFrame({"name": [f"n{i}" for i in range(300)], "x": 1, "y": ["a", "b"] * 150})
    frame.to_csv(path, index=False, encoding="utf-16")
    begun = run("init", path, "--target", "y")
    why = "column 'name' has 300 different texts in 300 rows, like an identifier"
    assert f"# {why}; write columns: {{name: drop}} or columns: {{name: category}}" in begun.stdout
    assert begun.stderr == f"C{why[1:]}; the sweep has name: drop.\n"
    frame.assign(x="ü").to_csv(path, index=False, encoding="cp1252")
    noted = "The file is no UTF-8 text; it is read with charset cp1252.\n"
    assert run("init", path, "--target", "y").stderr.startswith(noted)


@pytest.mark.parametrize("entries", [[], ["--column", "x=category"]])
def test_init_offers_to_drop_what_may_be_an_id(entries: list[str], tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    rows = {"no: 1": range(30), "unit#": range(5, 35), "x": [1, 2, 2] * 10, "y": ["a", "b"] * 15}
    pd.DataFrame(rows).to_csv(path, index=False)

    def columns_of(sweep: str) -> dict[str, str]:
        return yaml.safe_load(sweep)["datasets"][0].get("columns", {})

    text = run("init", path, "--target", "y", *entries).stdout
    described = {"x": "category"} if entries else {}
    assert columns_of(text) == described
    taken = re.sub(r"(?m)^( *)#(?! )( *.+: drop|columns:)$", r"\1\2", text)
    taken = re.sub(r"(?m)^( *)#(  .+: drop)$", r"\1\2", taken)
    assert columns_of(taken) == {**described, "no: 1": "drop", "unit#": "drop"}
    told = run("init", path, "--target", "y", "--column", "no: 1=number", *entries).stdout
    assert "unit#" in told
    assert "no: 1: drop" not in told.replace('"', "").replace("'", "")


@pytest.mark.parametrize("kind", [None, "drop", "{kind: drop}"])
def test_a_table_without_a_feature_is_refused(tmp_path: Path, kind: str | None) -> None:
    path = tmp_path / "t.csv"
    frame = pd.DataFrame({"name": [f"n{i}" for i in range(300)], "y": ["a", "b"] * 150})
    frame.to_csv(path, index=False)
    given = [path, "--target", "y", *(["--column", f"name={kind}"] if kind else [])]
    why = "no feature, only the target" if kind else "'name' has 300 different texts in 300 rows"
    assert why in refused("init", *given)
    shown = run("inspect", *given)
    assert shown.exit_code == 0
    assert why in shown.stdout.splitlines()[-1]
    assert "treesweep solve" not in shown.stdout
    kept = run("init", path, "--target", "y", "--column", "name=category")
    assert "name: category" in kept.stdout


def test_all_targets_of_regression_are_targets(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    texts = [f"{i},{100 + i}" for i in range(1, 31)]
    pd.DataFrame({"x": [0.5, 1.5] * 15, "a": range(30), "b": texts}).to_csv(path, index=False)
    given = ["--task", "regression", "--target", "a", "--target", "b"]
    columns = json.loads(run("inspect", path, *given, "--json").stdout)["columns"]
    assert [column["reading"] for column in columns] == ["number", "target", "target"]


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
    spec.write_text(_choose(run("init", path, "--target", TARGET).stdout, 0))
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
