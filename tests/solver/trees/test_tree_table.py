"""Trees as a table, and as TimberTrek shows them."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import pandas as pd
import pytest

from solver import Problem, rashomon_set
from solver.errors import UnsupportedError
from solver.trees.tree import Tree
from solver.trees.tree_table import to_timbertrek

FRAME = pd.DataFrame({
    "age": [20, 30, 40, 50, 60, 70, 20, 40, 60],
    "sex": list("fmfmfmmff"),
    "ill": list("nynyyynny"),
})  # fmt: skip


def good(encoding: str = "thresholds") -> Any:
    return rashomon_set(Problem.from_table(FRAME, "ill", encoding), "0.05", "1.5")


def test_a_row_a_tree_the_best_first() -> None:
    found = good()
    table = found.to_frame(20)
    trees = [*found.trees()][:20]
    assert table["tree"].map(Tree.from_json).tolist() == trees
    assert table["objective"].is_monotonic_increasing
    assert table["objective_exact"].map(Fraction).tolist() == [
        *map(found.objective_of, trees),
    ]
    assert table["columns"].tolist() == [tuple(tree.columns) for tree in trees]
    assert table["root"].isna().tolist() == [tree.splits == 0 for tree in trees]
    assert table["leaves"].tolist() == [tree.leaves for tree in trees]
    assert len(found.to_frame(3)) == 3


def walk(node: dict[str, Any], holds: dict[str, bool]) -> tuple[str, list[str]]:
    """The sign that a tree of TimberTrek gives to a row, and the features that it asks."""
    name = node["f"][0]
    if name in "+-":
        return name, []
    sign, asked = walk(node["c"][0 if holds[name] else 1], holds)
    return sign, [name, *asked]


def ends(trie: dict[str, Any], path: tuple[str, ...] = ()) -> dict[tuple[str, ...], set[int]]:
    """The trees at the end of each path."""
    found: dict[tuple[str, ...], set[int]] = {}
    for child in trie["c"]:
        if child["f"] == "_":
            found.setdefault(path, set()).add(child["t"])
        else:
            found |= ends(child, (*path, child["f"]))
    return found


def leaves(node: dict[str, Any], path: tuple[str, ...] = ()) -> dict[tuple[str, ...], int]:
    """The paths to the leaves, and how many rows end there."""
    if "c" not in node:
        return {path: node["f"][1]}
    found: dict[tuple[str, ...], int] = {}
    for child in node["c"]:
        for way, rows in leaves(child, (*path, node["f"][0])).items():
            found[way] = found.get(way, 0) + rows
    return found


@pytest.mark.parametrize("encoding", ["thresholds", "onehot"])
def test_timbertrek_has_the_trees_and_their_rows(encoding: str) -> None:
    found = good(encoding)
    trees = [tree for tree in [*found.trees()][:80] if tree.splits]
    shown = json.loads(json.dumps(found.to_timbertrek(80)))
    assert [*shown] == ["trie", "featureMap", "treeMap"]
    assert [*shown["treeMap"]] == [str(number + 1) for number in range(len(trees))]
    words = {number: " ".join(text[:2]) for number, text in shown["featureMap"].items()}
    for tree, (node, cost, accuracy) in zip(trees, shown["treeMap"].values(), strict=True):
        assert cost == round(float(found.objective_of(tree)), 5)
        assert accuracy == round((FRAME["ill"] == tree.predict(FRAME)).mean(), 5)
        conditions = {test.describe(1): test for test in tree.tests.values()}
        for at, predicted in enumerate(tree.predict(FRAME)):
            holds = {}
            for number, text in words.items():
                if text in conditions:
                    test = conditions[text]
                    value = tree.columns[test.columns[0]].read(FRAME[test.columns[0]])
                    holds[number] = bool(test.branches(value)[at] == 1)
            assert walk(node, holds)[0] == {"n": "-", "y": "+"}[predicted]
        assert sum(leaves(node).values()) == node["f"][1] == len(FRAME)
    at = ends(shown["trie"])
    for number, (node, *_) in shown["treeMap"].items():
        paths = {path for path, some in at.items() if int(number) in some}
        assert paths == {*leaves(node)}


def test_what_timbertrek_cannot_show_is_refused() -> None:
    three = pd.DataFrame({"a": list("xxyyzz"), "y": list("pqrpqr")})
    found = rashomon_set(Problem.from_table(three, "y", "onehot"), "0.01", "1")
    with pytest.raises(UnsupportedError, match="two classes and binary features"):
        found.to_timbertrek()
    wide = pd.DataFrame({"a": list("xxyyzz"), "y": list("ppqqpp")})
    found = rashomon_set(Problem.from_table(wide, "y", "categorical"), "0.01", "1")
    with pytest.raises(UnsupportedError, match="use the encoding 'onehot'"):
        found.to_timbertrek()
    assert to_timbertrek([], 1, Fraction(1)) == {
        "trie": {"f": "root", "c": []}, "featureMap": {}, "treeMap": {},
    }  # fmt: skip
