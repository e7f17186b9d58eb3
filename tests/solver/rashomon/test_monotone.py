"""Monotone good trees, against a check of each tree on all pairs of rows."""

from __future__ import annotations

import random
from collections import Counter
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest

from solver import Limits, Problem, RashomonSet, Tree, rashomon_set
from solver.errors import InputError, UnsupportedError
from solver.rashomon import monotone
from solver.trees.tree import shape_of
from tests import naive
from tests.solver.rashomon.test_rashomon_set import as_problem, good_trees, make_table


class Checked:
    """Checks trees on all rows of the values that the columns a, b, c of a table have."""

    def __init__(self, frame: pd.DataFrame) -> None:
        values = [sorted(set(frame[name])) for name in "abc"]
        self.rows = pd.DataFrame(product(*values), columns=[*"abc"])
        self.shape = [len(each) for each in values]
        self.known: dict[str, Any] = {}

    def falls(self, tree: Tree, column: str, label: Any) -> bool:
        """Whether it predicts a class for a row, but not for one that differs in a larger value."""
        name = tree.to_json()
        if name not in self.known:
            self.known[name] = np.reshape(tree.predict(self.rows), self.shape)
        has_label = (self.known[name] == label).astype(int)
        return bool((np.diff(has_label, axis="abc".index(column)) < 0).any())


def a_table(seed: int) -> pd.DataFrame:
    chance = random.Random(seed)
    return pd.DataFrame({
        "a": [chance.randrange(4) for _ in range(12)],
        "b": [chance.choice((1, 2, 9)) for _ in range(12)],
        "c": [chance.choice("xyz") for _ in range(12)],
        "y": [chance.choice(("no", "yes")) for _ in range(12)],
    })  # fmt: skip


@pytest.mark.parametrize("encoding", ["thresholds", "onehot", "categorical"])
@pytest.mark.parametrize("seed", range(8))
def test_a_tree_is_found_exactly_if_it_is_monotone(seed: int, encoding: str) -> None:
    frame = a_table(seed)
    problem = Problem.from_table(frame, target="y", encoding=encoding)
    found = rashomon_set(problem, "0.04", "1.5", "lam", limits=Limits(depth=3))
    trees, checked = [*found.trees()], Checked(frame)
    copies = bool(problem.preparation.copies)
    for column, label in product("ab", ("no", "yes")):
        expected = [tree for tree in trees if not checked.falls(tree, column, label)]
        got = [*found.trees(monotone={column: label})]
        if copies:  # each feature that separates the rows alike is tried
            assert {tree.to_json() for tree in expected} <= {tree.to_json() for tree in got}
            assert not any(checked.falls(tree, column, label) for tree in got)
        else:
            assert Counter(map(shape_of, got)) == Counter(map(shape_of, expected))
        costs = [found.objective_of(tree) for tree in got]
        assert costs == sorted(costs)
        best = found.best(monotone={column: label})
        assert best == (got[0] if got else None)
    both = {"a": "yes", "b": "no"}
    for tree in found.trees(monotone=both):
        assert not any(checked.falls(tree, *one) for one in both.items())


Row = tuple[int, ...]


def predictions(shape: naive.Shape, table: Any, rows: list[Row]) -> dict[Row, int]:
    """What a tree of the enumeration predicts, by the rows that reach the leaf, or its parent."""
    codes, target, weights, _, n_classes = table
    found: dict[Row, int] = {}

    def walk(shape: naive.Shape, reached: list[int], asked: list[Row], above: int) -> None:
        counts = [sum(weights[i] for i in reached if target[i] == k) for k in range(n_classes)]
        majority = counts.index(max(counts)) if reached else above
        if isinstance(shape, int):
            found.update(dict.fromkeys(asked, majority))
            return
        feature, children = shape
        for code, child in enumerate(children):
            below = [i for i in reached if codes[i][feature] == code]
            walk(child, below, [row for row in asked if row[feature] == code], majority)

    walk(shape, [*range(len(codes))], rows, 0)
    return found


@pytest.mark.parametrize("seed", range(60))
def test_numbers_are_those_of_the_enumeration(seed: int) -> None:
    """Also where features separate the rows alike, rows weigh, and codes are absent."""
    table, chance = make_table(seed), random.Random(seed)
    codes, _, _, arities, n_classes = table
    limits = (Limits(), Limits(depth=2), Limits(splits=2))[seed % 3]
    problem = as_problem(table)
    found = rashomon_set(problem, "0.03", chance.choice(("0.3", "1")), limits=limits)
    names = [f"x{i}" for i in range(len(arities))]
    seen = [sorted({row[i] for row in codes}) for i in range(len(arities))]
    rows = [*product(*seen)]
    trees = [
        (tree, predictions(tree.shape, table, rows))
        for tree in good_trees(table, found.lam, found.most, limits)
    ]
    for place, name in enumerate(names):
        if len(seen[place]) < 2:
            continue
        label = chance.randrange(n_classes)
        expected = []
        for tree, of in trees:
            falling = any(
                of[row] == label and of[(*row[:place], value, *row[place + 1 :])] != label
                for row in of for value in seen[place] if value > row[place]
            )  # fmt: skip
            if not falling:
                expected.append(tree.errors + 1000 * tree.splits)
        got = [tree.errors + 1000 * tree.splits for tree in found.trees(monotone={name: label})]
        assert Counter(got) == Counter(expected)


def small() -> RashomonSet:
    frame = pd.DataFrame({
        "age": [1, 2, 3, 4, 5, 6], "sex": list("fmfmfm"), "ill": list("nnyyny"),
    })  # fmt: skip
    problem = Problem.from_table(frame, target="ill", encoding="thresholds")
    return rashomon_set(problem, "0.01", "0.2", "objective")


def test_wishes_are_combined() -> None:
    found = small()
    best = found.best(monotone={"age": "y"}, without="sex")
    assert best is not None
    assert not {*best.columns} & {"sex"}
    few = found.best(monotone={"age": "y"}, max_columns=1)
    assert few is not None
    assert found.objective_of(few) >= found.objective_of(next(found.trees(monotone={"age": "y"})))
    rooted = found.best(monotone={"age": "y"}, root="age")
    assert rooted is not None
    assert rooted.tests[rooted.nodes[0].feature or 0].columns == ("age",)


def test_a_missing_value_is_the_smallest() -> None:
    frame = pd.DataFrame({"a": [None, None, 1, 1, 2, 2.0], "y": list("yynnyy")})
    problem = Problem.from_table(frame, target="y", encoding="thresholds")
    found = rashomon_set(problem, "0.01", "0.5", "objective")
    assert next(found.trees()).errors == 0
    rising = found.best(monotone={"a": "y"})
    assert rising is not None
    assert rising.errors == 2
    columns = {"a": "category"}
    wide = Problem.from_table(frame, target="y", encoding="categorical", columns=columns)
    other = rashomon_set(wide, "0.01", "0.5", "objective").best(monotone={"a": "y"})
    assert other is not None
    assert other.errors == 2


def test_what_has_no_order_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    found = small()
    with pytest.raises(UnsupportedError, match="column 'sex' are text and have no order"):
        next(found.trees(monotone={"sex": "y"}))
    with pytest.raises(InputError, match=r"unknown column 'agee' \(did you mean 'age'"):
        found.best(monotone={"agee": "y"})
    with pytest.raises(InputError, match="unknown class 'yes'"):
        found.best(monotone={"age": "yes"})
    with pytest.raises(InputError, match="must give a class for each column"):
        found.best(monotone=["age"])  # type: ignore[arg-type]
    frame = pd.DataFrame({"a": [1, 1, 2, 2, 3, 3], "y": list("ppqqpp")})
    dropped = Problem.from_table(frame, target="y", encoding="onehot-drop-first")
    with pytest.raises(
        UnsupportedError, match="some values of column 'a' have no feature of their own"
    ):
        rashomon_set(dropped, "0.01").best(monotone={"a": "p"})
    monkeypatch.setattr(monotone, "MOST_TRIED", 2)
    with pytest.raises(InputError, match="is not decided after 2 pairs"):
        list(found.trees(monotone={"age": "n"}))
