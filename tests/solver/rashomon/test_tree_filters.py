"""Good trees without a column, with a root of choice, or of few columns, against all trees."""

from __future__ import annotations

import random
from collections import Counter
from fractions import Fraction

import pandas as pd
import pytest

from solver import Problem, RashomonSet, rashomon_set, solve
from solver.errors import InputError
from solver.trees.tree import Tree
from tests import naive

SIZES = {"a": 3, "b": 2, "c": 2}
Tests = list[tuple[str, int]]
"""The column and the value that each feature asks for."""


def a_table(seed: int) -> pd.DataFrame:
    chance = random.Random(seed)
    rows = chance.randint(5, 10)
    return pd.DataFrame({
        **{name: [chance.randrange(size) for _ in range(rows)] for name, size in SIZES.items()},
        "y": [chance.randrange(2) for _ in range(rows)],
    }).astype(str)  # fmt: skip


def every_test(frame: pd.DataFrame) -> Tests:
    """All indicators that are not constant."""
    return [
        (column, value)
        for column in SIZES
        for value in sorted(set(frame[column]))
        if frame[column].nunique() > 1
    ]


def oracle(
    frame: pd.DataFrame, tests: Tests, lam: Fraction, most: Fraction
) -> list[naive.GoodTree]:
    codes = [[int(row[column] == value) for column, value in tests] for _, row in frame.iterrows()]
    classes = sorted(set(frame["y"]))
    counts = [[int(y == k) for k in classes] for y in frame["y"]]
    n = len(frame)
    return naive.trees_within(codes, counts, [2] * len(tests), lam * n, most * n)


def used_in(shape: naive.Shape) -> set[int]:
    if isinstance(shape, int):
        return set()
    return {shape[0]}.union(*map(used_in, shape[1]))


def objective(tree: naive.GoodTree, n: int, lam: Fraction) -> Fraction:
    return Fraction(tree.errors, n) + lam * tree.splits


def found_for(frame: pd.DataFrame, lam: str, within: str) -> RashomonSet:
    problem = Problem.from_table(frame, target="y", encoding="onehot")
    return rashomon_set(problem, lam, within, "lam")


@pytest.mark.parametrize("seed", range(25))
def test_columns_are_counted_as_the_trees_have_them(seed: int) -> None:
    frame, lam = a_table(seed), Fraction(1, 20)
    found = found_for(frame, "0.05", "1")
    tests = every_test(frame)
    trees = oracle(frame, tests, lam, found.most)
    assert found.n_trees == len(trees)
    shares = found.feature_shares(by="column").set_index("column")
    for column in SIZES:
        users = [t for t in trees if column in {tests[f][0] for f in used_in(t.shape)}]
        others = [objective(t, len(frame), lam) for t in trees if t not in users]
        if column not in shares.index:
            assert not users
            continue
        row = shares.loc[column]
        assert row["trees"] == len(users)
        roots = Counter(tests[t.shape[0]][0] for t in trees if isinstance(t.shape, tuple))
        assert row["root_trees"] == roots[column]
        least = min(others, default=None)
        assert pd.isna(row["best_without"]) == (least is None)
        assert pd.isna(row["best_without"]) or row["best_without_exact"] == str(least)


@pytest.mark.parametrize("seed", range(25))
def test_wishes_are_granted_best_first(seed: int) -> None:
    frame, lam = a_table(seed), Fraction(1, 20)
    if seed % 2:  # each feature of b separates the rows as one of a does
        frame["b"] = frame["a"].replace("2", "1")
    tests = every_test(frame)
    found = found_for(frame, "0.05", "1")
    trees = oracle(frame, tests, lam, found.most)
    reads = [{tests[f][0] for f in used_in(t.shape)} for t in trees]
    costs = [objective(t, len(frame), lam) for t in trees]
    for column in {column for column, _ in tests}:
        expected = sorted(c for c, read in zip(costs, reads, strict=True) if column not in read)
        got = [cost(found, tree) for tree in found.trees(without=column)]
        assert got == sorted(got)
        assert {*got} == {*expected}
        assert not any(column in asked(tree) for tree in found.trees(without=[column]))
        at_root = sorted(
            c
            for c, t in zip(costs, trees, strict=True)
            if isinstance(t.shape, tuple) and tests[t.shape[0]][0] == column
        )
        assert {cost(found, tree) for tree in found.trees(root=column)} == {*at_root}
        for tree in found.trees(root=column):
            assert tree.tests[tree.nodes[0].feature or 0].columns == (column,)
    for most in range(4):
        few = [c for c, read in zip(costs, reads, strict=True) if len(read) <= most]
        best = found.best(max_columns=most)
        assert (None if best is None else cost(found, best)) == min(few, default=None)


@pytest.mark.parametrize("seed", range(6))
def test_the_simplest_and_the_most_accurate_come_first(seed: int) -> None:
    found = found_for(a_table(seed), "0.05", "1")
    every = sorted(tree.to_json() for tree in found.trees())
    sizes = {"splits": lambda t: t.splits, "errors": lambda t: t.errors}
    for order, size in sizes.items():
        trees = [*found.trees(order=order)]  # type: ignore[arg-type]
        keys = [(size(tree), cost(found, tree)) for tree in trees]
        assert keys == sorted(keys)
        assert sorted(tree.to_json() for tree in trees) == every
    with pytest.raises(InputError, match="order = 'size' is none of objective, splits, errors"):
        found.trees(order="size")  # type: ignore[arg-type]


def asked(tree: Tree) -> set[str]:
    """The columns that a tree reads."""
    features = {node.feature for node in tree.nodes if node.feature is not None}
    return {column for feature in features for column in tree.tests[feature].columns}


def cost(found: RashomonSet, tree: Tree) -> Fraction:
    return Fraction(tree.errors) / found.problem.total_weight + found.lam * tree.splits


def test_unknown_names_are_refused() -> None:
    found = found_for(a_table(1), "0.05", "1")
    with pytest.raises(InputError, match=r"unknown column or feature 'aa' \(did you mean"):
        next(found.trees(without=["aa"]))
    with pytest.raises(InputError, match="unknown column or feature 'z'"):
        found.best(root="z")
    with pytest.raises(InputError, match="max_columns = -1 must be 0 or more"):
        found.best(max_columns=-1)
    with pytest.raises(InputError, match="without = 5 must name columns"):
        found.best(without=5)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="n = -1 and seed = 0 must be whole numbers"):
        found.sample(-1)
    with pytest.raises(InputError, match="optimum must be an optimal solution at λ = 1/20"):
        rashomon_set(found.problem, "0.05", optimum=solve(found.problem, "0.1"))
    with pytest.raises(InputError, match="by = 'row' is none of feature, column"):
        found.feature_shares(by="row")  # type: ignore[arg-type]


@pytest.mark.parametrize("encoding", ["onehot-drop-first", "thresholds", "quantiles"])
def test_wishes_about_what_no_tree_can_ask_are_satisfied(encoding: str) -> None:
    frame = pd.DataFrame({
        "text": "k", "number": 1.5, "gone": [None] * 8,
        "x": list("12312312"), "y": list("ppqqppqq"),
    })  # fmt: skip
    kinds = {"number": "category"} if encoding == "onehot-drop-first" else None
    problem = Problem.from_table(frame, target="y", encoding=encoding, columns=kinds)
    found = rashomon_set(problem, "0.05", "1", "lam")
    every, best = [*found.trees()], found.best()
    for name in ("text", "number", "gone", *found.problem.preparation.constant):
        assert [*found.trees(without=[name])] == every
        assert found.best(without=[name, "x"]) == found.best(without=["x"])
        assert [*found.trees(root=name)] == []
        assert found.best(root=name) is None
        if name in frame:
            assert [*found.trees(monotone={name: "q"})] == every
            assert found.best(monotone={name: "p"}, max_columns=1) == best
            with pytest.raises(InputError, match="unknown class 'r'"):
                found.best(monotone={name: "r"})


def test_a_name_that_is_a_column_and_a_feature_of_another_one_is_refused() -> None:
    frame = pd.DataFrame(
        {"x": list("12312312"), "x=1": list("uuvvuvuv"), "y": list("ppqqppqq")}, dtype=str
    )
    good = rashomon_set(Problem.from_table(frame, "y", "onehot"), "0.02", "0.05")
    with pytest.raises(InputError, match="'x=1' is a column, and a feature of another one"):
        good.best(without=["x=1"])
    assert good.best(without=["x"]) is not None
