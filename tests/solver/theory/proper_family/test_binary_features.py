"""Trees over binary features, and what the readings of MurTree miss."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import permutations, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solver.errors import InputError
from solver.proper.paper.tree_recursion import Leaf, Memo, Tree, leaves, roots
from solver.theory.proper_family.binary_features import Reading, best_feature_tree, misclassified
from solver.theory.proper_family.trees_over_rules import gen_catalans, gen_dtbfs, gen_murtrees
from tests import naive

CUBE = list(product((0, 1), repeat=3))
READINGS: tuple[Reading, ...] = ("catalan", "murtree", "bf", "repeats")


def costs(table: list[tuple[int, ...]], target: list[int], splits: int) -> list[int]:
    return [best_feature_tree(table, target, splits, reading).cost for reading in READINGS]


def errors_of(tree: Tree, table: list[tuple[int, ...]], target: list[int]) -> int:
    """Send every row down the tree."""
    reached: dict[str, Counter[int]] = {}
    for row, label in zip(table, target, strict=True):
        at, path = tree, ""
        while not isinstance(at, Leaf):
            path += "+" if row[at.root] else "-"
            at = at.left if row[at.root] else at.right
        reached.setdefault(path, Counter())[label] += 1
    return sum(sum(of.values()) - max(of.values()) for of in reached.values())


tables = st.integers(1, 4).flatmap(
    lambda f: st.lists(
        st.tuples(st.tuples(*[st.integers(0, 1)] * f), st.integers(0, 2)), min_size=1, max_size=12
    )
)


@settings(max_examples=60)
@given(tables, st.integers(0, 3))
def test_equals_naive_search(rows: list[tuple[tuple[int, ...], int]], splits: int) -> None:
    table, target = [row for row, _ in rows], [label for _, label in rows]
    n_features = len(table[0])
    if splits <= n_features:
        for reading, generate in zip(
            READINGS, (gen_catalans, gen_murtrees, gen_dtbfs), strict=False
        ):
            found = best_feature_tree(table, target, splits, reading)
            everything = [
                errors_of(tree, table, target)
                # Combinations keep the order of the features, which the narrow readings see.
                for rules in permutations(range(n_features), splits)
                if list(rules) == sorted(rules)
                for tree in generate(rules)
            ]
            assert found.cost == errors_of(found.tree, table, target) == min(everything)
            assert misclassified(target)(found.tree) == found.cost
    counts = [[int(label == k) for k in range(3)] for label in target]
    oracle = naive.optimum(table, counts, [2] * n_features, Fraction(0), splits=splits)
    found = best_feature_tree(table, target, splits, "repeats")
    assert Fraction(found.cost, len(table)) == oracle.objective
    assert errors_of(found.tree, table, target) == found.cost


def test_what_murtrees_model_misses() -> None:
    """One feature chooses between two others, and the later one stands on the left: found by
    going through all 256 classes of the cube's corners."""
    chooser = [c if a else b for a, b, c in CUBE]
    assert costs(CUBE, chooser, 3) == [1, 1, 0, 0]
    tree = best_feature_tree(CUBE, chooser, 3, "bf").tree
    assert list(roots(tree)) == [0, 2, 1]
    # It is the order of the list that does it: with the two exchanged nothing is missed.
    assert costs([(a, c, b) for a, b, c in CUBE], chooser, 3) == [2, 0, 0, 0]


def test_how_often_the_models_miss() -> None:
    """Of the 256 ways to class the cube's corners MurTree's model misses the best for 12."""
    gaps: Counter[tuple[int, int]] = Counter()
    for target in product((0, 1), repeat=8):
        catalan, murtree, bf, _ = costs(CUBE, list(target), 3)
        gaps[catalan - bf, murtree - bf] += 1
    assert all(0 <= murtree <= catalan for catalan, murtree in gaps)
    assert sum(n for (_, murtree), n in gaps.items() if murtree) == 12
    assert sum(n for (catalan, _), n in gaps.items() if catalan) == 100


def test_exclusive_or_asks_one_feature_twice() -> None:
    """Three nodes and two features: outside of what genDTBFs makes of rules that differ."""
    corners = list(product((0, 1), repeat=2))
    target = [a ^ b for a, b in corners]
    assert best_feature_tree(corners, target, 2).cost == 1
    found = best_feature_tree(corners, target, 3, "repeats")
    assert found.cost == 0
    assert list(roots(found.tree)) == [0, 1, 1]
    parity = [a ^ b for a, b, _ in CUBE]
    assert costs(CUBE, parity, 3) == [2, 2, 2, 0]


def test_memo_changes_nothing() -> None:
    target = [a ^ b ^ c for a, b, c in CUBE]
    memo = Memo()
    with_memo = best_feature_tree(CUBE, target, 3, "bf", memo)
    assert with_memo == best_feature_tree(CUBE, target, 3, "bf")
    assert 0 < memo.hits < memo.lookups


def test_no_split_one_row() -> None:
    assert best_feature_tree([(0,)], [5], 0) == (0, Leaf((0,)))
    found = best_feature_tree([(1,)], [5], 1)
    assert list(leaves(found.tree)) == [(0,), ()]


def test_bad_tables() -> None:
    with pytest.raises(InputError, match="2 splits need as many features, and the table has 1"):
        best_feature_tree([(0,), (1,)], [0, 1], 2)
    with pytest.raises(InputError, match="not all 0 and 1"):
        best_feature_tree([(0,), (2,)], [0, 1], 1)
    with pytest.raises(InputError, match="2 rows and the target 1"):
        best_feature_tree([(0,), (1,)], [0], 1)
