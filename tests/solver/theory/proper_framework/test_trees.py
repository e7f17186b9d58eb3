"""Level order and back, paths, downward accumulation."""

from itertools import permutations

from hypothesis import given, settings
from hypothesis import strategies as st

from solver.proper.paper.ancestry import ancestry, by_matrix
from solver.proper.paper.tree_recursion import Leaf, Node
from solver.theory.proper_framework.tree_generators import gen_bts
from solver.theory.proper_framework.trees import (
    LeftTurn,
    RightTurn,
    Single,
    dacc,
    dacc_homomorphic,
    depth,
    from_level_order,
    level_order,
    map_d,
    paths,
)
from tests.helpers.point_samples import samples

TREE = Node(Node(Leaf(1), "r2", Leaf(2)), "r1", Node(Leaf(3), "r3", Leaf(4)))

trees = st.recursive(
    st.builds(Leaf, st.text("xyz", max_size=2)),
    lambda below: st.builds(Node, below, st.sampled_from("abc"), below),
    max_leaves=8,
)


def test_figure_4():
    assert [*level_order(TREE)] == ["r1", "r2", "r3"]
    assert depth(TREE) == 2
    relation = by_matrix([[0, 1, -1], [0, 0, 0], [0, 0, 0]])
    empty = Node(Node(Leaf(None), 1, Leaf(None)), 0, Node(Leaf(None), 2, Leaf(None)))
    assert from_level_order([0, 1, 2], relation) == empty
    assert from_level_order([0, 2, 1], relation) is None  # the left subtree comes first
    assert from_level_order([1, 0, 2], relation) is None
    assert from_level_order([], relation) == Leaf(None)


@settings(deadline=None, max_examples=60)
@given(samples())
def test_level_order_is_injective_on_proper_trees(sample):
    """Theorem 3.5 and Corollary 3.6: a tree is its permutation, and no other tree has it."""
    proper = gen_bts(sample.rules, ancestry)
    orders = [tuple(level_order(tree)) for tree in proper]
    assert len(set(orders)) == len(orders)
    assert [from_level_order(order, ancestry) for order in orders] == proper
    valid = {p for p in permutations(sample.rules) if from_level_order(p, ancestry) is not None}
    assert valid == set(orders)


def test_without_axiom_4_it_is_not():
    """Where a rule may be on both sides (binary features), two trees share one permutation."""
    one = Node(Node(Leaf(None), 1, Node(Leaf(None), 2, Leaf(None))), 0, Leaf(None))
    other = Node(Node(Leaf(None), 1, Leaf(None)), 0, Node(Leaf(None), 2, Leaf(None)))
    assert [*level_order(one)] == [*level_order(other)]


def test_paths():
    found = paths(str.upper, str.lower, TREE)
    assert found.left.right == Leaf(LeftTurn(Single("R1"), RightTurn(Single("r2"), Single(2))))
    assert [*level_order(found)] == ["r1", "r2", "r3"]


@given(trees)
def test_accumulation_is_homomorphic(tree):
    """Theorem 4.8, with operations that do not commute."""

    def plus(a, b):
        return f"({a}+{b})"

    def times(a, b):
        return f"({a}*{b})"

    parts = (repr, str.upper, str.lower, plus, times, tree)
    assert dacc(*parts) == dacc_homomorphic(*parts)


def test_accumulation_of_a_path():
    done = dacc(str, str.upper, str.lower, lambda a, b: f"{a}+{b}", lambda a, b: f"{a}*{b}", TREE)
    assert done.left.right == Leaf("R1+r2*2")


@given(trees)
def test_map_d_composes(tree):
    twice = map_d(str.title, map_d(str.upper, tree))
    assert twice == map_d(lambda leaf: leaf.upper().title(), tree)
    assert [*level_order(twice)] == [*level_order(tree)]
