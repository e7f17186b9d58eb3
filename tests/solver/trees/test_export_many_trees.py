"""Trees as a table, and as TimberTrek shows them."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, Literal

import pandas as pd
import pytest
from pydantic import BaseModel, ConfigDict, Field, model_validator

from solver import Problem, rashomon_set
from solver.errors import UnsupportedError
from solver.trees.export_many_trees import to_timbertrek
from solver.trees.tree import Tree

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


Number = Annotated[str, Field(pattern=r"^\d+$")]
"""Its scripts read features and trees as whole numbers; a space would stand for two of them."""

Share = Annotated[float, Field(ge=0)]


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class TreeEnd(Strict):
    f: Literal["_"]
    t: int


class RuleNode(Strict):
    f: Number
    c: Annotated[list[RuleNode | TreeEnd], Field(min_length=1)]


class Trie(Strict):
    f: Literal["root"]
    c: list[RuleNode]


class LeafNode(Strict):
    f: tuple[Literal["+", "-"], int, int]

    @model_validator(mode="after")
    def check(self) -> LeafNode:
        assert 0 <= self.f[2] <= self.f[1]
        return self


class SplitNode(Strict):
    f: tuple[Number, int, Literal[-1]]
    c: tuple[SplitNode | LeafNode, SplitNode | LeafNode]

    @model_validator(mode="after")
    def check(self) -> SplitNode:
        assert self.f[1] == sum(child.f[1] for child in self.c)
        return self


class DecisionPaths(Strict):
    """TimberTrek's ``HierarchyJSON`` (src/components/TimberTypes.ts), and what its scripts need."""

    trie: Trie
    featureMap: dict[Number, tuple[str, str, str]]  # noqa: N815
    treeMap: dict[Number, tuple[SplitNode, Share, Share]]  # noqa: N815


def right_of(node: SplitNode | LeafNode) -> int:
    """The rows that a tree gets right."""
    return node.f[2] if isinstance(node, LeafNode) else sum(map(right_of, node.c))


@pytest.mark.parametrize("encoding", ["thresholds", "onehot", "quantiles"])
def test_timbertrek_reads_the_file(encoding: str) -> None:
    text = json.dumps(good(encoding).to_timbertrek(200))
    shown = DecisionPaths.model_validate_json(text)
    features = {*shown.featureMap}
    for number, (node, objective, accuracy) in shown.treeMap.items():
        splits, pending = 0, [node]
        while pending:
            split = pending.pop()
            assert split.f[0] in features
            splits += 1
            pending += [child for child in split.c if isinstance(child, SplitNode)]
        assert accuracy == pytest.approx(right_of(node) / len(FRAME), abs=1e-5)
        assert objective == pytest.approx(1 - accuracy + 0.05 * splits, abs=2e-5)
        assert int(number) in range(1, len(shown.treeMap) + 1)
    ended = ends(json.loads(text)["trie"])
    assert set().union(*ended.values()) == {*map(int, shown.treeMap)}
    assert {feature for path in ended for feature in path} == features


def test_trees_are_those_that_treefarms_writes(shared_data: Path) -> None:
    """One of the 1,422 trees in TimberTrek's data/compas-rules-mul_0.05-reg_0.01.json.

    TreeFARMS prices leaves, so its objective is λ more.
    """
    frame = pd.read_parquet(shared_data / "binary" / "compas-binary.parquet")
    codes, target = frame.iloc[:, :-1].to_numpy(), frame.iloc[:, -1].to_numpy()
    found = rashomon_set(Problem.from_codes(codes, target), "0.01", "0.05")
    wanted = [
        {"f": ["2", 6907, -1], "c": [
            {"f": ["+", 1348, 758]},
            {"f": ["11", 5559, -1], "c": [{"f": ["+", 2037, 1326]}, {"f": ["-", 3522, 2410]}]},
        ]},
        round(0.37936 - 0.01, 5), 0.65064,
    ]  # fmt: skip
    some = islice(found.trees(root="x2", order="splits"), 20)
    shown = to_timbertrek(some, found.problem.total_weight, found.lam)
    numbers = {number: column[1:] for number, (column, *_) in shown["featureMap"].items()}
    trees = shown["treeMap"].values()
    assert wanted in [[renumbered(node, numbers), *others] for node, *others in trees]


def renumbered(node: dict[str, Any], numbers: dict[str, str]) -> dict[str, Any]:
    """A tree of TimberTrek with other numbers of its features."""
    if "c" not in node:
        return node
    feature, *counts = node["f"]
    children = [renumbered(child, numbers) for child in node["c"]]
    return {"f": [numbers[feature], *counts], "c": children}


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


def test_a_tree_with_an_error_has_no_accuracy_of_1_in_timbertrek() -> None:
    weights = [500_000, 500_000, 1, 1]
    problem = Problem.from_codes([[0], [1], [0], [1]], [0, 1, 1, 1], weights=weights)
    shown = rashomon_set(problem, "0.01", "0").to_timbertrek()["treeMap"]
    assert [accuracy for _, _, accuracy in shown.values()] == [0.99999]
