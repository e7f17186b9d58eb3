"""Trees: figures, prediction on raw rows, and the stored format."""

from __future__ import annotations

import copy
import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solver import InputError, Node, Problem, Tree, solve
from solver.features.columns import ColumnSpec
from solver.features.node_tests import CategoryTest, ThresholdTest
from solver.trees.tree import VERSION
from tests.helpers.strategies import tables

# colour = red → no; = blue → age > 30 → yes, else no; = green: no training row.
TREE = Tree(
    nodes=(
        Node((4, 3), 0, 0, (1, 2, 5)),
        Node((3, 0), 0),
        Node((1, 3), 1, 4, (3, 4)),
        Node((1, 0), 0),
        Node((0, 3), 1),
        Node((0, 0), 0),
    ),
    tests={
        0: CategoryTest("colour", (("red",), ("blue",), ("green",))),
        4: ThresholdTest("age", 30.0, missing=1),
    },
    classes=("no", "yes"),
    columns={"colour": ColumnSpec("category"), "age": ColumnSpec("number")},
    target="buys",
)


def test_figures() -> None:
    assert (TREE.splits, TREE.leaves, TREE.depth, TREE.errors) == (2, 4, 2, 0)
    leaf = Tree((Node((4, 3), 0),), {}, ("no", "yes"))
    assert (leaf.splits, leaf.leaves, leaf.depth, leaf.errors) == (0, 1, 0, 3)


def test_predicts_raw_rows() -> None:
    frame = pd.DataFrame(
        {
            "age": [20, 31, 30, np.nan, 50, 50],
            "colour": ["red", "blue", "blue", "blue", "green", "violet"],
            "unused": range(6),
        }
    )
    assert TREE.apply(frame).tolist() == [1, 4, 3, 4, 5, 0]
    assert TREE.predict(frame).tolist() == ["no", "yes", "no", "yes", "no", "no"]
    proba = TREE.predict_proba(frame)
    assert proba[:5].tolist() == [[1, 0], [0, 1], [1, 0], [0, 1], [1, 0]]
    assert proba[5] == pytest.approx([4 / 7, 3 / 7])


def test_predicts_no_rows() -> None:
    frame = pd.DataFrame({"age": np.zeros(0), "colour": np.zeros(0, object)})
    assert TREE.predict(frame).shape == (0,)
    assert TREE.predict_proba(frame).shape == (0, 2)


def test_labels_keep_their_kind() -> None:
    for classes, kind in (((0, 1), "i"), ((False, True), "b"), (("a", "b"), "O"), ((1.5, 2), "O")):
        tree = Tree((Node((1, 2), 1),), {}, classes)
        predicted = tree.predict(pd.DataFrame({"x": [1, 2]}))
        assert predicted.dtype.kind == kind
        assert predicted.tolist() == [classes[1]] * 2


def test_missing_column() -> None:
    with pytest.raises(
        InputError, match="has no column 'age', which the tree reads; its columns are"
    ):
        TREE.predict(pd.DataFrame({"colour": ["red"]}))


def test_json_round_trip() -> None:
    text = TREE.to_json()
    assert "\n" not in text
    assert Tree.from_json(text) == TREE
    data = json.loads(text)
    assert (data["format"], data["version"], data["target"]) == ("treesweep-tree", 1, "buys")
    assert data["nodes"][2]["test"]["threshold"] == 30.0


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.data())
def test_any_grown_tree_predicts_as_it_counts(data: st.DataObject) -> None:
    """Raw rows end where the problem's rows were counted, also after a trip through JSON."""
    table = data.draw(tables())
    problem = table.problem()
    shape = data.draw(shapes(problem, depth=3))
    tree = Tree.from_json(problem.grow(shape).to_json())
    frame = pd.DataFrame(
        np.array(table.codes).reshape(len(table.target), len(table.arities)),
        columns=[f"x{j}" for j in range(len(table.arities))],
    )
    counts = np.zeros((len(tree.nodes), table.n_classes), dtype=int)
    ends = tree.apply(frame)
    np.add.at(counts, (ends, list(table.target)), list(table.weights))
    for node, found in zip(tree.nodes, counts.tolist(), strict=True):
        if node.is_leaf:
            assert list(node.counts) == found
    wrong = tree.predict(frame) != np.array(table.target)
    assert tree.errors == np.array(table.weights)[wrong].sum()


@st.composite
def shapes(draw: Any, problem: Problem, depth: int) -> Any:
    """Trees of a problem, useless and repeated splits included."""
    if depth == 0 or problem.n_features == 0 or draw(st.booleans()):
        return -1
    feature = draw(st.integers(0, problem.n_features - 1))
    arity = int(problem.arities[feature])
    return feature, tuple(draw(shapes(problem, depth - 1)) for _ in range(arity))


def damaged(*path: Any, value: Any) -> dict[str, Any]:
    """The plain form with one entry replaced, or removed where the value is ``...``."""
    data = copy.deepcopy(TREE.to_dict())
    place: Any = data
    for key in path[:-1]:
        place = place[key]
    if value is ...:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return data


@pytest.mark.parametrize(
    "path, value",
    [
        (("nodes",), []),
        (("nodes",), None),
        (("nodes", 0, "children"), [1, 2]),
        (("nodes", 0, "children"), [1, 2, 9]),
        (("nodes", 0, "children"), [1, 2, 0]),
        (("nodes", 0, "children"), [1, 2, 2]),
        (("nodes", 0, "children"), [1, 2, 3]),
        (("nodes", 1, "children"), [3, 4]),
        (("nodes", 1, "prediction"), 2),
        (("nodes", 1, "counts"), [1, 2, 3]),
        (("nodes", 1, "counts"), ...),
        (("nodes", 1, "counts"), [1, "2"]),
        (("nodes", 1, "counts"), [1, -2]),
        (("nodes", 1, "counts"), [1, 2.5]),
        (("nodes", 1, "prediction"), 0.5),
        (("nodes", 0, "test"), ...),
        (("nodes", 0, "test", "groups"), ...),
        (("nodes", 2, "test", "threshold"), "high"),
        (("nodes", 2, "test", "missing"), 7),
        (("nodes", 2, "feature"), 0),
        (("columns",), {}),
        (("columns", "age"), "number"),
        (("classes",), ...),
        (("classes", 0), ["a"]),
        (("classes", 0), None),
        (("target",), ["y"]),
        (("version",), ...),
        (("version",), "one"),
    ],
)
def test_damaged_trees(path: tuple[Any, ...], value: Any) -> None:
    with pytest.raises(InputError, match="the tree is damaged"):
        Tree.from_dict(damaged(*path, value=value))


def test_names_that_no_file_holds() -> None:
    with pytest.raises(InputError, match="holds a lone surrogate"):
        Tree.from_dict(damaged("classes", 0, value="\ud800"))


def test_trees_of_a_later_version() -> None:
    with pytest.raises(InputError, match=f"reads up to {VERSION}; upgrade"):
        Tree.from_dict(damaged("version", value=VERSION + 1))
    with pytest.raises(InputError, match="cannot read a test of kind 'spline'"):
        Tree.from_dict(damaged("nodes", 0, "test", "kind", value="spline"))


@pytest.mark.parametrize("text", ["", "{", "[]", "3", "null", '{"format": "other"}', "{}"])
def test_what_is_no_tree(text: str) -> None:
    with pytest.raises(InputError, match=r"not (valid JSON|a treesweep tree)"):
        Tree.from_json(text)


def test_labels_beyond_64_bits_are_predicted_as_they_are() -> None:
    labels = pd.Series([-1, 2**63 + 1] * 5, dtype=object)
    frame = pd.DataFrame({"a": ["q", "r"] * 5, "t": labels})
    problem = Problem.from_table(frame, "t")
    assert solve(problem, "0.01").tree.predict(frame).tolist() == labels.tolist()


def test_what_cannot_be_predicted_asks_for_no_other_way_to_read_it() -> None:
    frame = pd.DataFrame({"colour": ["blue"], "age": ["2,5"]})
    with pytest.raises(
        InputError, match=r"age.*; correct it, or write it as in the training rows$"
    ):
        TREE.predict(frame)
