"""Matrix chains: the textbook's answer, all orders by hand, and the memo that pays."""

from __future__ import annotations

from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from solver.errors import InputError
from solver.proper.paper.rules import gen_rules
from solver.proper.paper.tree_recursion import Leaf, Memo, trees
from solver.theory.proper_family.matrix_chains import (
    bracketed,
    chains,
    multiplications,
    multiply_best,
    parenthesisations,
)
from solver.theory.proper_framework.optimum import additive, sodt_with_memo
from solver.theory.proper_framework.tree_generators import kcombs

CORMEN = (30, 35, 15, 5, 10, 20, 25)


def test_textbook() -> None:
    """Cormen et al., Introduction to Algorithms, section 15.2."""
    found = multiply_best(CORMEN)
    assert found.cost == 15125
    assert bracketed(found.tree) == "((A1(A2A3))((A4A5)A6))"


def test_five_ways_for_four_matrices() -> None:
    assert sorted(parenthesisations(4)) == sorted([
        "(((A1A2)A3)A4)", "((A1(A2A3))A4)", "((A1A2)(A3A4))", "(A1((A2A3)A4))", "(A1(A2(A3A4)))",
    ])  # fmt: skip
    assert [len(set(parenthesisations(n))) for n in range(1, 8)] == [1, 1, 2, 5, 14, 42, 132]


def by_reduction(sizes: tuple[int, ...]) -> int:
    """Multiply some neighbours, then the rest: another way through all orders."""
    if len(sizes) == 2:
        return 0
    return min(
        sizes[i - 1] * sizes[i] * sizes[i + 1] + by_reduction(sizes[:i] + sizes[i + 1 :])
        for i in range(1, len(sizes) - 1)
    )


@given(st.lists(st.integers(1, 9), min_size=2, max_size=7).map(tuple))
def test_equals_all_orders(sizes: tuple[int, ...]) -> None:
    found = multiply_best(sizes)
    objective = multiplications(sizes)
    everything = [objective(tree)[0] for tree in trees(chains, (0, len(sizes) - 1))]
    assert found.cost == min(everything) == by_reduction(sizes)
    assert objective(found.tree)[0] == found.cost


def test_the_memo_pays() -> None:
    """Section 4.7.2: n(n + 1)/2 subproblems are asked for, each of them many times."""
    memo = Memo()
    multiply_best([*range(1, 22)], memo)
    assert memo.lookups - memo.hits == 20 * 21 // 2
    assert memo.rate > 0.9


def test_of_decision_trees_it_keeps_more_than_it_saves() -> None:
    """The contrast of section 4.7.2: states are a set of rules with the points of a region, and
    there are more of them than choices of rules."""
    points = [(49, 97), (53, 5), (33, 65), (62, 51), (38, 61), (45, 74)]
    rules = gen_rules(points, "hyperplane")
    errors = additive(lambda xs: min((xs & 0b11010).bit_count(), (xs & ~0b11010).bit_count()))
    memo = Memo()
    for pair in kcombs(2, rules):
        sodt_with_memo(pair, 0b111111, errors, memo)
    assert len(memo.answers) > comb(len(rules), 2)


def test_few_matrices() -> None:
    assert multiply_best([3, 4]) == (0, Leaf(0))
    assert multiply_best([3, 4, 5]).cost == 60
    for sizes in ([], [3], [3, 0, 2]):
        with pytest.raises(InputError, match="no chain of matrices"):
            multiply_best(sizes)
