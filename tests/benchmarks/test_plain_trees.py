"""The plain form of trees, and its scorer."""

from fractions import Fraction

import numpy as np
import pytest

from benchmarks.plain_trees import flatten, score
from benchmarks.problem_tables import Table

XOR = Table("test/xor", np.array([[0, 0], [0, 1], [1, 0], [1, 1]]), np.array([0, 1, 1, 0]), 2)
MULTIWAY = Table("test/multiway", np.array([[0], [1], [2], [2]]), np.array([0, 1, 2, 0]), 3)


def test_score_of_a_leaf():
    assert score([[1]], XOR, Fraction(1, 10)) == (2, 0, 0, Fraction(1, 2))


def test_score_of_a_full_tree():
    nodes = [[0, 1, 4], [1, 2, 3], [0], [1], [1, 5, 6], [1], [0]]
    assert score(nodes, XOR, Fraction(1, 10)) == (0, 3, 2, Fraction(3, 10))


def test_score_of_a_multiway_split():
    lam = Fraction(1, 7)
    assert score([[0, 1, 2, 3], [0], [1], [2]], MULTIWAY, lam) == (1, 1, 1, Fraction(1, 4) + lam)


@pytest.mark.parametrize("nodes", [[[0, 1, 1], [0]], [[0, 1, 2], [1, 0, 2], [0]]])
def test_nodes_that_form_no_tree(nodes):
    with pytest.raises(ValueError, match="two parents"):
        score(nodes, XOR, Fraction(0))


def test_nodes_outside_the_tree_are_no_splits():
    assert score([[0], [0, 0, 0]], XOR, Fraction(1)).splits == 0


def test_flatten_keeps_the_order_of_children():
    nested = (5, [(6, []), (7, [(8, []), (9, [])])])
    assert flatten(nested, lambda node: node) == [[5, 1, 2], [6], [7, 3, 4], [8], [9]]


def test_flatten_of_a_deep_tree():
    nested = (0, [])
    for _ in range(5000):
        nested = (1, [nested, (0, [])])
    nodes = flatten(nested, lambda node: node)
    assert len(nodes) == 10_001
    assert sum(len(node) > 1 for node in nodes) == 5000
