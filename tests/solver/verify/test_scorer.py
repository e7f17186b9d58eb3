"""The plain scorer, on a tree scored by hand and against the oracle's measure."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from solver import Node, Problem, Tree
from solver.features.columns import ColumnSpec
from solver.features.node_tests import CategoryTest
from solver.verify.scorer import Score, ScoreOnce, score
from tests import naive
from tests.helpers.row_scores import score_rows
from tests.helpers.strategies import cost_scale, tables

LAM = Fraction(1, 10)


def test_by_hand() -> None:
    problem = Problem.from_codes([[0], [0], [1], [1]], [0, 1, 1, 1], weights=[3, 1, 2, 2])
    whole, split = problem.grow(-1), problem.grow((0, (-1, -1)))
    assert score(problem, whole, LAM) == Score(3, 0, Fraction(3, 8), Fraction(3, 8))
    assert score(problem, split, LAM) == Score(1, 1, Fraction(1, 8), Fraction(9, 40))


def test_the_same_tree_is_scored_at_every_lambda() -> None:
    problem = Problem.from_codes([[0], [0], [1], [1]], [0, 1, 1, 1], weights=[3, 1, 2, 2])
    other = Problem.from_codes([[0], [1]], [1, 0])
    scorer, split = ScoreOnce(), problem.grow((0, (-1, -1)))
    for lam in (LAM, 2 * LAM, LAM):
        assert scorer(problem, split, lam) == score(problem, split, lam)
        assert scorer(other, split, lam) == score(other, split, lam)
    assert scorer(problem, problem.grow(-1), LAM) == Score(3, 0, Fraction(3, 8), Fraction(3, 8))


def test_it_does_not_believe_the_tree() -> None:
    """Predictions are what is scored, whatever the counts in the tree say."""
    problem = Problem.from_codes([[0], [1]], [0, 1])
    test = CategoryTest("x0", ((0,), (1,)))
    nodes = (Node((9, 9), 0, 0, (1, 2)), Node((0, 9), 1), Node((9, 0), 0))
    tree = Tree(nodes, {0: test}, (0, 1), {"x0": ColumnSpec("category")})
    assert tree.errors == 0
    assert score(problem, tree, LAM).errors == 2


def test_rows_that_stop_get_the_prediction_of_their_node() -> None:
    test = CategoryTest("colour", (("red",), ("blue",)))
    nodes = (Node((1, 2), 1, 0, (1, 2)), Node((1, 0), 0), Node((0, 2), 1))
    tree = Tree(nodes, {0: test}, ("no", "yes"), {"colour": ColumnSpec("category")})
    rows = [{"colour": "red"}, {"colour": "green"}, {"colour": None}]
    points = score_rows(tree, rows, ["no", "yes", "no"], LAM)
    assert points == Score(1, 1, Fraction(1, 3), Fraction(1, 3) + LAM)
    assert tree.predict(pd.DataFrame(rows)).tolist() == ["no", "yes", "yes"]


@settings(max_examples=80, deadline=None, derandomize=True)
@given(st.data())
def test_agrees_with_the_oracle(data: st.DataObject) -> None:
    table = data.draw(tables())
    lam = data.draw(cost_scale(sum(table.weights)))
    problem = table.problem()
    # The oracle sees the problem's own features, so that its shape can be grown.
    codes, counts = problem.codes.tolist(), problem.counts.tolist()
    best = naive.optimum(codes, counts, problem.arities.tolist(), lam)
    tree = problem.grow(best.shape)
    points = score(problem, tree, lam)
    assert (points.objective, points.splits) == (best.objective, best.splits)
    assert points.errors == tree.errors == naive.measure(best.shape, codes, counts).errors
    # The problem's features say the same as the table's.
    assert table.optimum(lam)[:2] == best[:2]
    # And the tests of the tree, asked on raw rows, say the same as the codes.
    rows = [
        {f"x{j}": code for j, code in enumerate(row)}
        for row, weight in zip(table.codes, table.weights, strict=True)
        for _ in range(weight)
    ]
    pairs = zip(table.target, table.weights, strict=True)
    labels = [label for label, weight in pairs for _ in range(weight)]
    assert score_rows(tree, rows, labels, lam) == points


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_squared_errors_are_sums_of_fractions(data: st.DataObject) -> None:
    """By the tree's own predictions, which need not be the means."""
    n, outputs = data.draw(st.integers(3, 6)), data.draw(st.integers(1, 2))
    number = st.floats(-1e100, 1e100) | st.sampled_from([5e-324, 1 / 3, 1e9 + 0.1])
    values = np.array([[data.draw(number) for _ in range(outputs)] for _ in range(n)])
    weights = [data.draw(st.integers(1, 9)) for _ in range(n)]
    assume(np.abs(values).max() > 1e-100)
    codes = [[row] for row in range(n)]
    problem = Problem.from_codes(codes, values, weights=weights, task="regression", ordered=True)
    tree = problem.grow((1, ((0, (-1, -1)), -1)))
    nodes = [
        replace(node, value=tuple(data.draw(number) for _ in range(outputs))) for node in tree.nodes
    ]
    tree = replace(tree, nodes=tuple(nodes))
    expected = Fraction(0)
    for (row,), weight, target in zip(
        problem.codes.tolist(), problem.counts[:, 0].tolist(), problem.values, strict=True
    ):
        guess = nodes[2 if row == 0 else 3 if row == 1 else 4].value
        pairs = zip(target.tolist(), guess, strict=True)
        expected += weight * sum((Fraction(a) - Fraction(b)) ** 2 for a, b in pairs)
    assert score(problem, tree, LAM).errors == expected
