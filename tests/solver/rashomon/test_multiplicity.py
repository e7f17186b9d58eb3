"""Predictions of good trees against those of all trees, one after the other."""

from __future__ import annotations

import random
from collections.abc import Sequence
from fractions import Fraction
from itertools import product

import pandas as pd
import pytest

from solver import Limits, Problem
from solver.rashomon.find_set import rashomon_set
from solver.rashomon.rashomon_set import RashomonSet
from tests import naive
from tests.solver.rashomon.test_rashomon_set import Table, as_problem, good_trees, make_table


def predict(shape: naive.Shape, table: Table, rows: list[int], row: Sequence[int]) -> int:
    """The class that a tree predicts, by the rows that reach the leaf, or else its parent."""
    codes, target, weights, _, n_classes = table
    counts = [sum(weights[i] for i in rows if target[i] == k) for k in range(n_classes)]
    majority = counts.index(max(counts))
    if isinstance(shape, int):
        return majority
    feature, children = shape
    below = [i for i in rows if codes[i][feature] == row[feature]]
    if not below or not 0 <= row[feature] < len(children):
        return majority
    return predict(children[row[feature]], table, below, row)


@pytest.mark.parametrize("seed", range(80))
def test_predictions_equal_those_of_all_trees(seed: int) -> None:
    table, chance = make_table(seed), random.Random(seed)
    lam, within = Fraction(chance.choice(("0.03", "0.1"))), Fraction(chance.choice(("0.1", "1")))
    limits = (Limits(), Limits(depth=2), Limits(min_leaf_size=2))[seed % 3]
    check_predictions(table, rashomon_set(as_problem(table), lam, within, limits=limits), limits)


def check_predictions(table: Table, found: RashomonSet, limits: Limits) -> None:
    """Compare what good trees predict with what each of them does."""
    codes, _, weights, arities, n_classes = table
    trees, everyone = good_trees(table, found.lam, found.most, limits), [*range(len(codes))]
    assert len(trees) == found.n_trees

    asked = [*product(*(range(a) for a in arities))]  # also rows that the table lacks
    for copy, first in found.problem.preparation.duplicate.items():  # trees ask the first one
        f, g = int(copy[1:]), int(first[1:])
        pairs = {(row[f], row[g]) for row in codes}
        asked = [row for row in asked if (row[f], row[g]) in pairs]
    frame = pd.DataFrame(asked, columns=[f"x{i}" for i in range(len(arities))])
    numbers = found.predictions(frame)
    assert [*numbers.columns] == [*range(n_classes)]
    assert (numbers.sum(axis=1) == len(trees)).all()
    for row, counted in zip(asked, numbers.to_numpy().tolist(), strict=True):
        each = [predict(tree.shape, table, everyone, row) for tree in trees]
        assert counted == [each.count(k) for k in range(n_classes)]

    own = found.predictions()
    assert len(own) == len(found.problem.codes)
    best = next(found.trees()).predict(frame)
    place = {row: number for number, row in enumerate(asked)}
    apart = [
        sum(
            w for row, w in zip(codes, weights, strict=True)
            if predict(tree.shape, table, everyone, row) != best[place[row]]
        )
        for tree in trees
    ]  # fmt: skip
    ambiguous = sum(
        w for row, w in zip(codes, weights, strict=True)
        if numbers.loc[place[row], best[place[row]]] != len(trees)
    )  # fmt: skip
    total = sum(weights)
    assert found.multiplicity == (Fraction(ambiguous, total), Fraction(max(apart), total))


def test_raw_rows_are_read_as_trees_read_them() -> None:
    frame = pd.DataFrame({
        "colour": ["red", "red", "blue", "blue", "green", "green"],
        "size": ["big", "small", "big", "small", "big", "small"],
        "class": ["a", "a", "b", "b", "b", "a"],
    })  # fmt: skip
    found = rashomon_set(Problem.from_table(frame, "class", "categorical"), "0.05", "3")
    rows = pd.DataFrame({"colour": ["red", "violet"], "size": ["big", "huge"]}, index=[7, 9])
    numbers = found.predictions(rows)
    assert [*numbers.index] == [7, 9]
    for index in rows.index:
        each = [tree.predict(rows.loc[[index]])[0] for tree in found.trees()]
        assert found.n_trees == len(each)
        assert numbers.loc[index].to_dict() == {k: each.count(k) for k in ("a", "b")}
