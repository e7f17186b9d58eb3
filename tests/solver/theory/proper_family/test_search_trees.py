"""Binary search trees: the textbook's answer, insertion in every order, and Knuth's roots."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from solver.errors import InputError
from solver.proper.paper.tree_recursion import Leaf, Memo, Node, Tree, leaves, roots, trees
from solver.theory.proper_family.search_trees import (
    best_search_tree,
    best_search_tree_knuth,
    search_cost,
    search_trees,
)
from solver.theory.proper_family.trees_over_rules import gen_catalans

P = (0.15, 0.10, 0.05, 0.10, 0.20)
Q = (0.05, 0.10, 0.05, 0.05, 0.05, 0.10)


def test_textbook() -> None:
    """Cormen et al., Introduction to Algorithms, section 15.5: k2 above k1 and k5."""
    for solve in (best_search_tree, best_search_tree_knuth):
        found = solve(P, Q)
        assert found.cost == Fraction("2.75")
        assert list(roots(found.tree)) == [1, 0, 4, 3, 2]
        assert list(leaves(found.tree)) == [0, 1, 2, 3, 4, 5]


def insert(tree: Tree, key: int) -> Tree:
    if isinstance(tree, Leaf):
        # The gap of the key: below it the same number, above it one more.
        return Node(Leaf(key), key, Leaf(key + 1))
    if key < tree.root:
        return Node(insert(tree.left, key), tree.root, tree.right)
    return Node(tree.left, tree.root, insert(tree.right, key))


def visits(tree: Tree, p: list[int], q: list[int], depth: int = 1) -> int:
    if isinstance(tree, Leaf):
        return depth * q[tree.content]
    below = visits(tree.left, p, q, depth + 1) + visits(tree.right, p, q, depth + 1)
    return depth * p[tree.root] + below


def inserted(order: tuple[int, ...]) -> Tree:
    tree: Tree = Leaf(0)
    for key in order:
        tree = insert(tree, key)
    return tree


weights = st.integers(0, 6).flatmap(
    lambda n: st.tuples(
        st.lists(st.integers(0, 9), min_size=n, max_size=n),
        st.lists(st.integers(0, 9), min_size=n + 1, max_size=n + 1),
    )
)


@given(weights)
def test_equals_insertion_in_every_order(weights: tuple[list[int], list[int]]) -> None:
    p, q = weights
    everything = {inserted(order) for order in permutations(range(len(p)))}
    assert everything == set(trees(search_trees, (0, len(p))))
    found = best_search_tree(p, q)
    assert found.cost == min(visits(tree, p, q) for tree in everything)
    assert found.cost == visits(found.tree, p, q)
    assert (
        search_cost(tuple(map(Fraction, p)), tuple(map(Fraction, q)))(found.tree)[0] == found.cost
    )


@given(st.lists(st.integers(0, 20), max_size=12), st.data())
def test_equals_knuth(p: list[int], data: st.DataObject) -> None:
    n = len(p) + 1
    q = data.draw(st.lists(st.integers(0, 20), min_size=n, max_size=n))
    knuth = best_search_tree_knuth(p, q)
    assert knuth.cost == best_search_tree(p, q).cost == visits(knuth.tree, p, q)


def test_the_roots_are_the_catalan_model() -> None:
    of_keys = [list(roots(tree)) for tree in trees(search_trees, (0, 4))]
    assert of_keys == [list(roots(tree)) for tree in gen_catalans(range(4))]


def test_the_memo_pays() -> None:
    memo = Memo()
    best_search_tree(P, Q, memo)
    assert memo.lookups - memo.hits == 21  # the ranges of five keys, empty ones too
    assert memo.rate > 0.7


def test_few_keys() -> None:
    assert best_search_tree([]) == (0, Leaf(0))
    assert best_search_tree(["1/3"], [0, "2/3"]) == (Fraction(5, 3), Node(Leaf(0), 0, Leaf(1)))
    assert best_search_tree([1, 2]).cost == best_search_tree_knuth([1, 2]).cost == 4


def test_bad_weights() -> None:
    with pytest.raises(InputError, match=r"2 weights p need 3 weights q.* not 2"):
        best_search_tree([1, 2], [0, 0])
    with pytest.raises(InputError, match="a weight is negative"):
        best_search_tree([1, -2])
    with pytest.raises(InputError, match="the weights p hold nan, which is not a finite number"):
        best_search_tree([float("nan")])
