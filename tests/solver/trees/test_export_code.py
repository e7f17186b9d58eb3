"""Trees as Python functions and SQL expressions predict what the trees predict."""

from __future__ import annotations

import random
import sqlite3
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from solver import InputError, Problem, Tree, solve
from solver.features.columns import ColumnSpec
from solver.features.node_tests import CategoryTest, NodeTest, ThresholdTest
from solver.features.oblique_tests import HyperplaneTest, PolynomialTest
from solver.trees.export_code import export_python, export_sql
from solver.trees.tree import Node

QUOTES = 'it\'s "quoted" \\ """ ½'
"""A name that every language must escape."""

COLUMNS = {
    "age": ColumnSpec("number", missing=(-999, "-7", "0x1")),
    QUOTES: ColumnSpec("number"),
    "seen": ColumnSpec("date", missing=("2019-05-01", "2020-01-02T13:00:01+01:00", "?", 7)),
    "odor": ColumnSpec.of_categories(["a", "b", "it's", QUOTES, "Ärger"], missing=("?",)),
    "class": ColumnSpec.of_categories([True, False, None]),
    "size 1": ColumnSpec.of_categories([1, 2, 2.5, 30], missing=("8.0",)),
    "grade": ColumnSpec.of_categories(["1", "2.50", "x"], missing=(2.5,)),
    "mixed": ColumnSpec.of_categories([1, True, "1", "a"]),
}
NUMBERS = ("age", QUOTES)
CATEGORIES = {
    "odor": ["a", "b", "it's", QUOTES, "Ärger", None],
    "class": [True, False, None],
    "size 1": [1, 2, 2.5, 30, None],
    "grade": ["1", "x", None],
    "mixed": [1, True, "1", "a"],
}
VALUES: dict[str, list[Any]] = {
    "age": [None, -999, -7.0, 0, 1.5, 2.5, 3, 0.1 + 0.2, 0.3, 1e300, -1e300],
    QUOTES: [None, -1, 0.0, 0.5, 1, 1.5],
    "seen": [
        None,
        *map(pd.Timestamp, ["2019-05-01", "2020-01-01", "2020-01-02T12:00:01"]),
        pd.Timestamp("1969-12-31T23:59:59"),
    ],
    "odor": [None, "a", "b", "it's", QUOTES, "Ärger", "unseen", "?"],
    "class": [None, True, False],
    "size 1": [1, 2, 2.5, 30, 7, 8],
    "grade": ["1", "2.50", "x", "unseen"],
    "mixed": [1, True, "a", "unseen"],
}
DAY = 86_400.0


def random_test(rng: random.Random, with_mixed: bool) -> NodeTest:
    """A test on some of the columns."""
    kind = rng.choice(["number", "date", "category", "plane", "polynomial", "missing"])
    missing = rng.randrange(2)
    if kind == "missing":
        return CategoryTest(rng.choice([*NUMBERS, "seen"]), ((), (None,)), rest=0)
    if kind == "number":
        threshold = rng.choice([0.3, 0.1 + 0.2, 1.0, 2.5, -5.0, 1e299])
        return ThresholdTest(rng.choice(NUMBERS), threshold, missing)
    if kind == "date":
        at = rng.choice([18262 * DAY, 18263 * DAY + 43_200.5, -1.0])
        return ThresholdTest("seen", at, missing, "date")
    if kind == "category":
        column = rng.choice([c for c in CATEGORIES if with_mixed or c != "mixed"])
        values = rng.sample(CATEGORIES[column], len(CATEGORIES[column]))
        cuts = sorted(rng.sample(range(1, len(values)), rng.randrange(1, min(3, len(values)))))
        ends = [0, *cuts, len(values) - rng.randrange(2)]
        groups = tuple(tuple(values[a:b]) for a, b in pairwise(ends))
        rest = rng.choice([None, *range(len(groups))])
        return CategoryTest(column, groups, rest)
    weights = (rng.choice([0.5, -2.0, 1 / 3]), rng.choice([1.0, -0.1]))
    if kind == "plane":
        return HyperplaneTest(NUMBERS, weights, 0.25, ((1, 0), (0, 1)), missing)
    powers = rng.choice([((2, 0), (1, 1)), ((2, 0), (3, 0)), ((0, 0), (0, 2))])
    return PolynomialTest(NUMBERS, weights, 0.25, powers, missing)


def random_tree(seed: int, *, outputs: tuple[str, ...] = (), with_mixed: bool = True) -> Tree:
    rng = random.Random(seed)
    nodes: list[Node] = []
    tests: dict[int, NodeTest] = {}

    def grow(depth: int) -> int:
        position = len(nodes)
        value = tuple(rng.choice([0.1, -2.0, 1e-9]) for _ in outputs)
        leaf = Node((3,) if outputs else (1, 1, 1), 0 if outputs else rng.randrange(3), value=value)
        nodes.append(leaf)
        if depth and rng.random() < 0.8:
            feature = len(tests)
            tests[feature] = test = random_test(rng, with_mixed)
            children = tuple(grow(depth - 1) for _ in range(test.arity))
            nodes[position] = Node(leaf.counts, leaf.prediction, feature, children, value)
        return position

    grow(4)
    classes = () if outputs else ("yes", QUOTES, 7)
    return Tree(tuple(nodes), tests, classes, COLUMNS, "y", outputs)


def random_rows(seed: int, n: int = 40) -> pd.DataFrame:
    rng = random.Random(seed)
    drawn = {name: [rng.choice(values) for _ in range(n)] for name, values in VALUES.items()}
    found = pd.DataFrame({name: pd.Series(v, dtype=object) for name, v in drawn.items()})
    found["seen"] = pd.to_datetime(found["seen"])
    return found


def function(source: str, name: str = "predict") -> Any:
    module: dict[str, Any] = {}
    exec(compile(source, "tree.py", "exec"), module)
    return module[name]


@pytest.mark.parametrize("outputs", [(), ("y",), ("y", "z")])
def test_functions_predict_as_their_trees(outputs: tuple[str, ...]) -> None:
    for seed in range(300):
        tree, rows = random_tree(seed, outputs=outputs), random_rows(seed)
        predict = function(export_python(tree))
        found = [predict(row) for row in rows.to_dict("records")]
        expected = tree.predict(rows)
        if len(outputs) == 2:
            assert np.array_equal(np.array(found), expected), seed
        else:
            assert found == expected.tolist(), seed


@pytest.mark.parametrize("outputs", [(), ("y",)])
def test_expressions_predict_as_their_trees(outputs: tuple[str, ...]) -> None:
    for seed in range(300):
        tree = random_tree(seed, outputs=outputs, with_mixed=False)
        # SQLite has no infinite sums.
        rows = random_rows(seed).drop(columns="mixed").replace({1e300: 1e90, -1e300: -1e90})
        found = ask_sqlite(rows, export_sql(tree))
        assert found == tree.predict(rows).tolist(), seed


def ask_sqlite(rows: pd.DataFrame, expression: str) -> list[Any]:
    """What SQLite makes of an expression; it has no dates, which are text, and no booleans."""
    plain = rows.astype(object).where(rows.notna(), None)
    plain["seen"] = [None if v is None else str(v)[:19] for v in plain["seen"]]
    names = ", ".join('"' + name.replace('"', '""') + '"' for name in plain)
    with sqlite3.connect(":memory:") as base:
        base.execute(f"CREATE TABLE t ({names})")
        marks = ", ".join("?" * plain.shape[1])
        base.executemany(f"INSERT INTO t VALUES ({marks})", plain.to_numpy().tolist())
        return [value for (value,) in base.execute(f"SELECT {expression} FROM t")]


def test_a_chain_of_thousands_is_nested_no_deeper_than_python_and_sql_allow() -> None:
    depth = 3000
    nodes: list[Node] = []
    for level in range(depth):
        position = 2 * level
        order = (position + 1, position + 2) if level % 2 else (position + 2, position + 1)
        nodes += [Node((1, 1), 0, level, order), Node((1, 0), level % 2)]
    nodes.append(Node((0, 1), 1))
    tests: dict[int, NodeTest] = {i: ThresholdTest("age", float(i)) for i in range(depth)}
    tree = Tree(tuple(nodes), tests, ("no", "yes"), {"age": COLUMNS["age"]}, "y")
    rows = pd.DataFrame({"age": [None, 0.5, 1.5, 2999.5]})
    predict = function(export_python(tree))
    expected = tree.predict(rows).tolist()
    assert [predict({"age": value}) for value in rows["age"]] == expected
    expression = export_sql(tree)
    assert max(line.index(line.strip()) for line in expression.splitlines()) <= 2


def test_names_of_columns_become_variables() -> None:
    names = ["a b", "a-b", "class", "row", "1st", "½", "_x", "ﬁ", "fi", "dt"]
    tests: dict[int, NodeTest] = {i: ThresholdTest(n, 0.0) for i, n in enumerate(names)}
    nodes = []
    for level in range(len(names)):
        nodes += [Node((1, 1), 0, level, (2 * level + 1, 2 * level + 2)), Node((1, 0), 0)]
    nodes.append(Node((0, 1), 1))
    columns = dict.fromkeys(names, ColumnSpec("number"))
    predict = function(
        export_python(Tree(tuple(nodes), tests, (0, 1), columns), name="vorhersage"), "vorhersage"
    )
    assert predict(dict.fromkeys(names, 1)) == 1
    for name in names:
        assert predict({**dict.fromkeys(names, 1), name: -1}) == 0
    with pytest.raises(KeyError, match="ﬁ"):
        predict({name: 1 for name in names if name != "ﬁ"})


def test_a_function_needs_the_standard_library_only(tmp_path: Path) -> None:
    (tmp_path / "tree.py").write_text(export_python(random_tree(5)), encoding="utf-8")
    row = {name: values[1] for name, values in VALUES.items()} | {"seen": "2020-01-01"}
    program = f"from tree import predict\nprint(predict({row!r}))"
    done = subprocess.run(
        [sys.executable, "-S", "-W", "error", "-c", program],
        cwd=tmp_path, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() in ("yes", QUOTES, "7")


def test_what_cannot_be_written_is_refused() -> None:
    with pytest.raises(InputError, match="is no name of a function"):
        export_python(random_tree(1), name="two words")
    with pytest.raises(InputError, match="'float' is no name of a function"):
        export_python(random_tree(1), name="float")
    with pytest.raises(InputError, match="predicts several: y, z"):
        export_sql(random_tree(1, outputs=("y", "z")))
    leaves = (Node((1, 0), 0), Node((0, 1), 1))
    plane = HyperplaneTest(("age", "seen"), (1.0, 1.0), 0.25, ((1, 0), (0, 1)), 0)
    with pytest.raises(InputError, match="adds column 'seen' to others"):
        export_sql(Tree((Node((1, 1), 0, 0, (1, 2)), *leaves), {0: plane}, ("n", "y"), COLUMNS))
    nodes, test = (Node((1, 1), 0, 0, (1,)), Node((1, 1), 1)), CategoryTest("mixed", (("a", 1),))
    with pytest.raises(InputError, match="values of several types"):
        export_sql(Tree(nodes, {0: test}, ("n", "y"), COLUMNS))


@pytest.mark.parametrize("form", ["%Y-%m-%d %H:%M:%S", None])
def test_days_that_are_categories_are_found_however_they_are_written(form: str | None) -> None:
    """A column of moments is written with the time of day, one of days without."""
    days = ["2024-03-31", "2024-01-01", None, "2024-05-01"]
    seen = pd.to_datetime(pd.Series(3 * days))
    for missing in ([], ["2024-05-01"]):
        rows = pd.DataFrame({"seen": seen, "y": 3 * ["b", "a", "b", "a"]})
        columns = {"seen": {"kind": "category", "missing": missing}}
        problem = Problem.from_table(rows, "y", "onehot", columns=columns)
        tree = solve(problem, lam="0.001").tree
        stored = rows.assign(seen=seen.dt.strftime(form or "%Y-%m-%d"))
        assert tree.splits
        assert ask_sqlite(stored, export_sql(tree)) == [*tree.predict(rows)]
        records = stored.astype(object).where(stored.notna(), None).to_dict("records")
        assert [*map(function(export_python(tree)), records)] == [*tree.predict(rows)]


@pytest.mark.parametrize("name", ["True", "false"])
def test_a_column_may_have_the_name_of_a_boolean(name: str) -> None:
    """SQLite takes the word for the column."""
    both = [True, False, False, False]
    rows = pd.DataFrame({"up": [True, True, False, False], name: [2, 3, 2, 3], "y": both})
    tree = solve(Problem.from_table(rows, "y", "categorical"), lam="0.001").tree
    assert tree.columns.keys() == {"up", name}
    found = ask_sqlite(rows.assign(seen=None), export_sql(tree))
    assert found == [*tree.predict(rows)] == both
