"""A stored tree predicts on raw rows."""

from __future__ import annotations

import io
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from solver.errors import InputError
from solver.problem.problem import Problem
from solver.trees.tree import Tree
from solver.verify.scorer import score
from tests.helpers.row_scores import score_rows

TABLE = pd.DataFrame(
    {
        "größe": [1.5, 2.5, 3.5, 4.5, np.nan, 2.5, 3.5, 4.5],
        "türen": ["2", "3", "5more", "2", "3", "5more", "2", "3"],
        "seit": pd.to_datetime(["2020-01-01", "2021-01-01"] * 4),
        "beine": [0, 2, 4, 0, 2, 4, 0, 2],
        "neu": [True, False] * 4,
        "ürteil": ["gut", "schlecht", "gut", "mäßig", "gut", "schlecht", "mäßig", "gut"],
    }
)


def unzip(problem: Problem, names: list[str]) -> Tree:
    """A tree that asks the named features, one below the other on the last branch."""
    found = [test.name for test in problem.tests]
    shape = -1
    for name in reversed(names):
        feature = found.index(name)
        arity = problem.tests[feature].arity
        shape = (feature, [-1] * (arity - 1) + [shape])
    return problem.grow(shape)


def stored(tree: Tree) -> Tree:
    again = Tree.from_json(tree.to_json())
    assert again == tree
    return again


def check(problem: Problem, tree: Tree) -> None:
    """All ways to score a tree on the training rows agree."""
    errors = score(problem, tree, Fraction(0)).errors
    assert errors == tree.errors
    assert errors == int((tree.predict(TABLE) != TABLE["ürteil"]).sum())
    read = {name: spec.read(TABLE[name]) for name, spec in tree.columns.items()}
    rows = [{name: values[i] for name, values in read.items()} for i in range(len(TABLE))]
    assert errors == score_rows(tree, rows, TABLE["ürteil"], Fraction(0)).errors


def test_binary_tree_on_a_mixed_table():
    problem = Problem.from_table(TABLE, "ürteil", "thresholds")
    tree = stored(unzip(problem, ["größe=missing"]))
    check(problem, tree)
    names = ["größe>3", "seit>2020-07-02", "türen=3", "beine>1", "neu=False"]
    kept = [name for name in names if name not in problem.preparation.duplicate]
    tree = stored(unzip(problem, kept))
    check(problem, tree)
    assert set(tree.columns) == {test.column for test in tree.tests.values()}

    file = io.StringIO()
    TABLE.to_csv(file, index=False)
    file.seek(0)
    read = pd.read_csv(file)
    assert tree.predict(read).tolist() == tree.predict(TABLE).tolist()
    # A part of the table in which a column of text has numbers only, and whole numbers are floats.
    part = TABLE.assign(türen=[2, 3, None, 2, 3, None, 2, 3], beine=TABLE["beine"].astype(float))
    plain = TABLE["türen"] != "5more"
    assert tree.predict(part)[plain].tolist() == tree.predict(TABLE)[plain].tolist()


def test_multiway_tree_with_unseen_and_missing_values():
    problem = Problem.from_table(
        TABLE, "ürteil", "categorical", columns={"größe": "drop", "seit": "drop"}
    )
    tree = stored(unzip(problem, ["türen"]))
    check(problem, tree)
    rows = pd.DataFrame({"türen": ["2", 2, 2.0, "4", None, "5more"]})
    ends = tree.apply(rows)
    # Unseen and missing values stop at the root, which predicts its own majority.
    assert ends.tolist() == [1, 1, 1, 0, 0, 3]
    assert tree.predict(rows)[3:5].tolist() == ["gut", "gut"]


def test_missing_is_a_category():
    table = pd.DataFrame({"a": ["x", None, "y", None], "class": [0, 1, 0, 1]})
    tree = stored(Problem.from_table(table, "class", "categorical").grow((0, [-1, -1, -1])))
    assert tree.predict(table).tolist() == [0, 1, 0, 1]
    assert tree.predict(pd.DataFrame({"a": [np.nan, pd.NA]}, dtype=object)).tolist() == [1, 1]


def test_missing_numbers():
    table = pd.DataFrame({"a": [1.0, 2.0, np.nan], "class": ["l", "h", "m"]})
    problem = Problem.from_table(table, "class", "thresholds")
    assert [test.name for test in problem.tests] == ["a>1", "a=missing"]
    tree = stored(problem.grow((1, [(0, [-1, -1]), -1])))
    assert tree.predict(table).tolist() == ["l", "h", "m"]
    text = pd.DataFrame({"a": ["0.5", "7", ""]}).replace("", None)
    assert tree.predict(text).tolist() == ["l", "h", "m"]


def test_what_a_tree_cannot_read():
    tree = Problem.from_table(
        pd.DataFrame({"a": [1.5, 2.5], "class": [0, 1]}), "class", "thresholds"
    ).grow((0, [-1, -1]))
    with pytest.raises(InputError, match="no column 'a', which the tree reads"):
        tree.predict(pd.DataFrame({"b": [1]}))
    with pytest.raises(InputError, match="'a' cannot be read as numbers"):
        tree.predict(pd.DataFrame({"a": ["low"]}))


def test_names_that_are_no_text():
    table = pd.DataFrame([[1.5, 0], [2.5, 1]])
    tree = Problem.from_table(table, 1, "thresholds").grow((0, [-1, -1]))
    assert stored(tree).predict(table).tolist() == [0, 1]


def test_rows_without_weight_are_not_there():
    """Nothing of a row of weight 0 is left: no category, no threshold, no class of its own."""
    rest = pd.DataFrame({"a": ["u"], "b": [99.0], "class": ["gut"]})
    table = pd.DataFrame({"a": ["x", "y", "y"], "b": [1.0, 2.0, 3.0], "class": ["gut", "b", "b"]})
    both = pd.concat([table, rest], ignore_index=True)
    for encoding in ("thresholds", "quantiles", "mdlp"):
        expected = Problem.from_table(table, "class", encoding, weights=[1, 2, 1])
        found = Problem.from_table(both, "class", encoding, weights=[1, 2, 1, 0])
        assert found.tests == expected.tests
        assert found.digest == expected.digest
        repeated = Problem.from_table(table.iloc[[0, 1, 1, 2]], "class", encoding)
        assert repeated.tests == expected.tests
        assert repeated.digest == expected.digest
