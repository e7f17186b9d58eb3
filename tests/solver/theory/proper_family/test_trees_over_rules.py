"""The three generators of the paper's section 6, and its figures."""

from __future__ import annotations

from itertools import permutations
from math import comb, factorial

import pytest

from solver.proper.paper.tree_recursion import Leaf, Node, Tree, roots
from solver.theory.proper_family.trees_over_rules import (
    Rules,
    f_bf,
    f_catalan,
    f_murtree,
    gen_catalans,
    gen_dtbfs,
    gen_murtrees,
    shares_bf,
    shares_catalan,
    shares_murtree,
)


def catalan(n: int) -> int:
    return comb(2 * n, n) // (n + 1)


def test_figures_of_the_paper() -> None:
    made = {
        generate: [len(set(generate(range(k)))) for k in (3, 5)]
        for generate in (gen_dtbfs, gen_murtrees, gen_catalans)
    }
    assert made == {gen_dtbfs: [30, 5040], gen_murtrees: [27, 2830], gen_catalans: [5, 42]}
    assert len(list(gen_dtbfs("abcd"))) == 336  # of Figure 5's four rules


def test_formulas() -> None:
    for k in range(9):
        assert f_catalan(k) == catalan(k)
        assert f_bf(k) == factorial(k) * catalan(k)  # Lemma 6.2
    # Inclusion (32). It is strict from three rules on: of two rules MurTree's model misses nothing.
    assert [f_murtree(k) for k in range(6)] == [1, 1, 4, 27, 248, 2830]
    assert all(f_catalan(k) < f_murtree(k) < f_bf(k) for k in range(3, 9))


@pytest.mark.parametrize("k", range(6))
def test_each_space_holds_the_smaller_one(k: int) -> None:
    few, some, all_ = (set(g(range(k))) for g in (gen_catalans, gen_murtrees, gen_dtbfs))
    assert few <= some <= all_
    assert [len(few), len(some), len(all_)] == [f_catalan(k), f_murtree(k), f_bf(k)]


def shapes(k: int) -> list[Tree]:
    if not k:
        return [Leaf(None)]
    return [
        Node(u, None, v) for left in range(k) for u in shapes(left) for v in shapes(k - 1 - left)
    ]


def labelled(shape: Tree, labels: list[int]) -> Tree:
    """The shape with the labels at its nodes, each before its subtrees."""
    if isinstance(shape, Leaf):
        return shape
    root = labels.pop(0)
    left = labelled(shape.left, labels)
    return Node(left, root, labelled(shape.right, labels))


@pytest.mark.parametrize("k", range(5))
def test_dtbfs_are_the_labelled_shapes(k: int) -> None:
    everything = {labelled(s, list(p)) for s in shapes(k) for p in permutations(range(k))}
    assert set(gen_dtbfs(range(k))) == everything


@pytest.mark.parametrize("k", range(5))
def test_every_tree_is_a_search_tree_under_some_order_of_the_rules(k: int) -> None:
    """So it is the order of the list that decides what the two models of MurTree miss."""
    in_some_order = {t for p in permutations(range(k)) for t in gen_catalans(p)}
    assert in_some_order == set(gen_dtbfs(range(k)))


def test_no_rules_and_one() -> None:
    for generate in (gen_dtbfs, gen_murtrees, gen_catalans):
        assert list(generate([])) == [Leaf(None)]
        assert list(generate(["a"])) == [Node(Leaf(None), "a", Leaf(None))]


def test_the_red_trees_of_figure_10() -> None:
    missed = set(gen_dtbfs([1, 2, 3])) - set(gen_murtrees([1, 2, 3]))
    # A later rule on the left and an earlier one on the right: one tree for each root.
    assert sorted(list(roots(t)) for t in missed) == [[1, 3, 2], [2, 3, 1], [3, 2, 1]]


def test_shares_of_the_paper() -> None:
    rules: Rules = (1, 2, 3, 4)
    assert list(shares_murtree(rules, 2)) == [
        ((), (1, 2, 4)), ((1,), (2, 4)), ((1, 2), (4,)), ((1, 2, 4), ()),
    ]  # fmt: skip
    assert list(shares_catalan(rules, 2)) == [((1, 2), (4,))]
    assert list(shares_bf((0, 1, 2, 3), 0)) == [
        ((), (1, 2, 3)), ((3,), (1, 2)), ((2,), (1, 3)), ((2, 3), (1,)),
        ((1,), (2, 3)), ((1, 3), (2,)), ((1, 2), (3,)), ((1, 2, 3), ()),
    ]  # fmt: skip
