"""What nodes say of the training rows, against plain sums over the rows."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from solver import Problem, solve
from solver.limits import Limits
from solver.trees.tree import Tree
from sweep.verify.tree_node_totals import NodeTotals


def table(seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    rows = {name: rng.integers(0, 3, 30).astype(str) for name in "abc"}
    return pd.DataFrame({**rows, "y": rng.choice(["n", "o", "p"], 30), "z": rng.normal(size=30)})


def totals_of(tree: Tree, frame: pd.DataFrame, target: str) -> NodeTotals:
    found = NodeTotals(tree)
    for end, label in zip(tree.apply(frame), frame[target], strict=True):
        found.add(int(end), (label,) if tree.outputs else label, 1)
    return found


@pytest.mark.parametrize("seed", range(4))
def test_what_a_search_says_is_true(seed: int) -> None:
    frame = table(seed)
    labels = Problem.from_table(frame.drop(columns="z"), "y", "categorical")
    tree = solve(labels, lam="0.01", solver="branches").tree
    assert tree.splits
    assert [*totals_of(tree, frame, "y").faults()] == []
    numbers = Problem.from_table(frame.drop(columns="y"), "z", "onehot", task="regression")
    tree = solve(numbers, lam="0.01", solver="quantbnb", limits=Limits(depth=2)).tree
    assert tree.splits
    assert [*totals_of(tree, frame, "z").faults()] == []


def test_rows_that_are_elsewhere_are_told() -> None:
    frame = table(0)
    problem = Problem.from_table(frame.drop(columns="z"), "y", "categorical")
    tree = solve(problem, lam="0.01", solver="branches").tree
    found = NodeTotals(tree)
    found.add(0, "q", 2)
    (fault,) = found.faults()
    assert fault.endswith("the data say counts [0, 0, 0] of 'q'")


def test_a_squared_error_is_compared_exactly() -> None:
    frame = table(1)
    problem = Problem.from_table(frame.drop(columns="y"), "z", "onehot", task="regression")
    tree = solve(problem, lam="0.01", solver="quantbnb", limits=Limits(depth=1)).tree
    root = replace(tree.nodes[0], squared_error=tree.nodes[0].squared_error + Fraction(1, 10**30))
    forged = replace(tree, nodes=(root, *tree.nodes[1:]))
    (fault,) = totals_of(forged, frame, "z").faults()
    assert fault.startswith("its node 0 says 30 rows, squared error ")
