"""Tests on several columns: sides, words, trees that ask them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

from solver.errors import InputError
from solver.features.node_tests import ThresholdTest, parse_test
from solver.features.oblique_tests import HyperplaneTest, PolynomialTest
from solver.limits import Limits
from solver.problem.problem import Problem
from solver.solve_problem import regularization_path, solve
from solver.trees.cost_complexity_pruning import Pruned, prunings
from solver.trees.tree import Shape, Tree, shape_of
from solver.verify.scorer import score
from tests.helpers.row_scores import score_rows

CIRCLE = PolynomialTest(("a", "b"), (1.0, 1.0, -2.0), 4.0, ((2, 0), (0, 2), (1, 0)))
LINE = HyperplaneTest.of(["b", "a"], [0.5, -1.0], 0.25)


def test_sides() -> None:
    a, b = np.array([1.0, 1.0, 3.5, np.nan]), np.array([0.0, 3.0, 0.0, 1.0])
    assert CIRCLE.branches(a, b).tolist() == [0, 1, 1, 0]
    assert LINE.branches(b, a).tolist() == [0, 1, 0, 0]


def test_words() -> None:
    assert CIRCLE.describe(0) == "a² + b² − 2·a ≤ 4"
    assert LINE.describe(1) == "0.5·b − a > 0.25"
    assert LINE.name == "0.5·b − a>0.25"


@pytest.mark.parametrize("name", ["3", "2019", "1e5", "nan", "-inf", "٣", "1_0"])
def test_a_column_named_like_a_number_is_quoted_in_sums(name: str) -> None:
    product = PolynomialTest((name, "x"), (1.0,), 0.0, ((1, 1),))
    weighted = PolynomialTest((name, "x"), (3.0,), 0.0, ((0, 1),))
    assert product.describe(0) == f"{name!r}·x ≤ 0"
    assert weighted.describe(0) == "3·x ≤ 0"
    assert HyperplaneTest.of([name, "x"], [1.0, -1.0], 0.0).describe(1) == f"{name!r} − x > 0"


@pytest.mark.parametrize(
    "name, of_sum",
    [
        ("x²", PolynomialTest(("x",), (1.0,), 2.0, ((2,),))),
        ("2·x", HyperplaneTest.of(["x"], [2.0], 2.0)),
        ("a + b", HyperplaneTest.of(["a", "b"], [1.0, 1.0], 2.0)),
        ("a − b", HyperplaneTest.of(["a", "b"], [1.0, -1.0], 2.0)),
    ],
)
def test_a_cut_of_a_column_named_like_a_sum_is_told_from_the_sum(
    name: str, of_sum: PolynomialTest | HyperplaneTest
) -> None:
    assert of_sum.describe(0) == f"{name} ≤ 2"
    assert ThresholdTest(name, 2.0).describe(0) == f"{name!r} ≤ 2"


def test_plain_form() -> None:
    for test in (CIRCLE, LINE):
        read = parse_test(test.to_dict())
        assert read == test
        assert type(read) is type(test)
    with pytest.raises(ValueError, match="fit together"):
        parse_test({**LINE.to_dict(), "weights": [1.0]})


@pytest.fixture
def problem() -> Problem:
    frame = pd.DataFrame({"a": [0.0, 1, 2, 3, 4], "b": [4.0, 3, 2, 0, 9], "c": [0, 1, 1, 0, 1]})
    return Problem.from_table(frame, "c", "continuous")


def test_they_stay_in_pruned_trees(problem: Problem) -> None:
    tree = problem.grow((LINE, ((2, (-1, -1)), (0, (-1, -1)))))
    pruned = list(prunings(tree))
    assert [(part.errors, part.splits) for part in pruned] == [(0, 3), (2, 0)]
    assert pruned[0].tree() == tree


def test_they_are_numbered_anew_in_pruned_trees(problem: Problem) -> None:
    first: Shape = (CIRCLE, (-1, -1))
    tree = problem.grow((0, (first, (LINE, ((2, (-1, -1)), -1)))))
    kept = [
        node.feature is not None and node.feature != tree.nodes[1].feature for node in tree.nodes
    ]
    assert Pruned(0, 3, tree, kept).tree() == problem.grow((0, (-1, (LINE, ((2, (-1, -1)), -1)))))


def test_the_path_of_trees_that_ask_them() -> None:
    iris = load_iris(as_frame=True)
    table = iris.data.iloc[:, 2:].assign(kind=iris.target)
    problem = Problem.from_table(table, "kind", "continuous")
    options = {"limits": Limits(splits=2), "rules": "hyperplane"}
    path = regularization_path(problem, "0.01", "proper", **options)
    assert any(isinstance(test, HyperplaneTest) for test in path.trees[0].tests.values())
    for lam in path.lams:
        assert path.objective_at(lam) == solve(problem, lam, "proper", **options).objective


def test_a_tree_that_asks_them(problem: Problem) -> None:
    tree = problem.grow((LINE, ((0, (-1, -1)), (CIRCLE, (-1, -1)))))
    assert Tree.from_json(tree.to_json()) == tree
    assert problem.grow(shape_of(tree)) == tree
    frame = pd.DataFrame({"a": [0.0, 1, 2, 3, 4], "b": [4.0, 3, 2, 0, 9]})
    truth = [0, 1, 1, 0, 1]
    mistakes = int((tree.predict(frame) != truth).sum())
    assert tree.errors == mistakes == score(problem, tree, Fraction(0)).errors
    rows = frame.to_dict("records")
    assert score_rows(tree, rows, truth, Fraction(0)).errors == mistakes  # type: ignore[arg-type]


def test_a_column_of_the_same_order_is_an_axis() -> None:
    frame = pd.DataFrame({"x": [1.0, 2, 3], "square": [1.0, 4, 9], "y": ["p", "q", "p"]})
    problem = Problem.from_table(frame, "y", "continuous")
    assert problem.n_features == 1
    assert problem.numbers("square").tolist() == [1, 4, 9]


def test_unknown_numbers() -> None:
    frame = pd.DataFrame({"x": [1.0, 2, None], "one": [1.0, 1, 1], "y": ["p", "q", "p"]})
    problem = Problem.from_table(frame, "y", "continuous")
    for column in ("x", "one", "none"):
        with pytest.raises(InputError, match="does not know the numbers"):
            problem.numbers(column)
