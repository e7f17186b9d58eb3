"""The ancestry relation, its matrix, splits, and the axioms as checks."""

import pytest
from hypothesis import given, settings

from solver.proper.paper.ancestry import (
    ancestry,
    ancestry_matrix,
    broken_axioms,
    by_matrix,
    splits,
)
from solver.proper.paper.rules import Axis, Rule
from solver.proper.paper.tree_recursion import Leaf, Node
from solver.theory.proper_framework.tree_generators import gen_dts
from tests.helpers.point_samples import cut, samples


def test_cuts_of_a_line():
    """A cut is on the negative side of those above it, and on the positive side of those below."""
    rules = [cut(0), cut(1), cut(2)]
    matrix = [[0, 1, 1], [-1, 0, 1], [-1, -1, 0]]
    assert ancestry_matrix(rules, ancestry) == matrix
    assert [*splits([0, 1, 2], by_matrix(matrix))] == [
        ([1, 2], 0, []),
        ([2], 1, [0]),
        ([], 2, [0, 1]),
    ]


def test_a_rule_through_points_on_both_sides_is_unrelated():
    across = Rule(Axis(1), 0b1001, 0b1010, 0b0101)
    assert ancestry(cut(1), across) == 0
    assert [root for _, root, _ in splits([cut(1), across], ancestry)] == [across]


@settings(deadline=None, max_examples=50)
@given(samples())
def test_generated_trees_break_no_axiom(sample):
    for tree in gen_dts(sample.rules, sample.everything):
        assert broken_axioms(tree, sample.everything) == []


def test_each_axiom_can_be_broken():
    low, high = cut(0), cut(2)
    good = Node(Node(Leaf(0b1000), high, Leaf(0b0110)), low, Leaf(0b0001))
    assert broken_axioms(good, 0b1111) == []
    overlapping = Rule(Axis(0), 0b1, 0b1111, 0b0001)
    assert broken_axioms(Node(Leaf(0b1111), overlapping, Leaf(0b1)), 0b1111) == [1]
    assert broken_axioms(good._replace(right=Leaf(0b0011)), 0b1111) == [2]
    other_side = Node(Leaf(0b1110), low, Node(Leaf(0), high, Leaf(0b0001)))
    assert broken_axioms(other_side, 0b1111) == [3]
    twice = Node(Node(Leaf(0b1110), low, Leaf(0)), low, Leaf(0b0001))
    assert broken_axioms(twice, 0b1111) == [3, 4]
    anywhere = Rule(Axis(0), 0, 0b1100, 0b0011)
    below = Node(Node(Leaf(0b1100), anywhere, Leaf(0b0010)), low, Leaf(0b0001))
    assert 4 in broken_axioms(below, 0b1111)


@pytest.mark.parametrize("matrix", [[[1]], [[0, 2], [0, 0]]])
def test_a_matrix_must_keep_axiom_4(matrix):
    with pytest.raises(ValueError, match=r"row 0 .* Axiom 4"):
        by_matrix(matrix)
