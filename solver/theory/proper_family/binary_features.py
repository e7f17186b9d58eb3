"""Trees over binary features (ODT-BF, section 6.1 of the paper): does a row have feature r?

A feature splits every region wherever it is asked, so a rule may be a descendant on both sides of a
root; Axiom 4 does not hold. There are three search spaces of K nodes over F features:

- ``bf``: K different features, any labelled binary tree of them (genDTBFs of each combination);
- ``murtree`` and ``catalan``: the two narrower readings of MurTree, which depend on the order of
  the features;
- ``repeats``: any feature at any node. Elsewhere, also in MurTree's program, this is "a tree of K
  splits". The paper calls genDTBFs exhaustive. It is for different rules, but excludes asking one
  feature on both sides of another one, as exclusive or needs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Literal, TypeAlias

from solver.errors import InputError
from solver.features.number_format import count
from solver.proper.paper.tree_recursion import Found, Leaf, Memo, Objective, Space, Split, best
from solver.theory.proper_family.trees_over_rules import (
    Rules,
    Shares,
    shares_bf,
    shares_catalan,
    shares_murtree,
)

Rows: TypeAlias = tuple[int, ...]
Reading: TypeAlias = Literal["bf", "murtree", "catalan", "repeats"]

_SHARES: dict[str, Shares] = {
    "bf": shares_bf,
    "murtree": shares_murtree,
    "catalan": shares_catalan,
}


def best_feature_tree(
    table: Sequence[Sequence[int]],
    target: Sequence[int],
    splits: int,
    reading: Reading = "bf",
    memo: Memo | None = None,
) -> Found:
    """The tree of exactly K = ``splits`` splits that misclassifies fewest rows.

    ``table`` is rows × features of 0 and 1. Rows with the root's feature go to the left, r⁺. A leaf
    without rows costs nothing, so a tree of fewer splits is never better. ``reading`` is the search
    space, see above. The memo keeps the best tree of some rules, or a number of splits, on some
    rows. InputError if the table is not binary, or has too few features.
    """
    n_features = len(table[0]) if table else 0
    if len(table) != len(target):
        raise InputError(f"the table has {count(len(table), 'row')} and the target {len(target)}")
    if any(len(row) != n_features or not set(row) <= {0, 1} for row in table):
        raise InputError("a row of the table is not all 0 and 1, or is shorter than others")
    if n_features < (min(splits, 1) if reading == "repeats" else splits):
        raise InputError(
            f"{count(splits, 'split')} need{'s' if splits == 1 else ''} as many features, and the "
            f"table has {n_features}; ask for fewer splits or for reading 'repeats'"
        )
    rows = tuple(range(len(table)))
    errors = misclassified(target)
    if reading == "repeats":
        found = best(_any_rules(table, n_features), errors, (splits, rows), memo)
        assert found is not None
        return found
    space = _each_rule_once(table, _SHARES[reading])
    optima = (
        best(space, errors, (rules, rows), memo)
        for rules in combinations(range(n_features), splits)
    )
    # Theorem 4.3: the best over all combinations of rules is the best of the best of each.
    return min((found for found in optima if found), key=lambda found: found.cost)


def misclassified(target: Sequence[int]) -> Objective[int]:
    """Rows that are not of their leaf's most frequent class, equation (22) of the paper."""

    def errors(rows: Rows) -> int:
        return len(rows) - max(Counter(target[row] for row in rows).values(), default=0)

    return Objective(errors, lambda root, left, right: left + right)


def _each_rule_once(table: Sequence[Sequence[int]], shares: Shares) -> Space[tuple[Rules, Rows]]:
    def splits(state: tuple[Rules, Rows]) -> Iterator[Split[tuple[Rules, Rows]]]:
        rules, rows = state
        for place, rule in enumerate(rules):
            has, lacks = _part(table, rows, rule)
            for left, right in shares(rules, place):
                yield (left, has), rule, (right, lacks)

    return Space(splits, lambda state: None if state[0] else Leaf(state[1]))


def _any_rules(table: Sequence[Sequence[int]], n_features: int) -> Space[tuple[int, Rows]]:
    def splits(state: tuple[int, Rows]) -> Iterator[Split[tuple[int, Rows]]]:
        left_over, rows = state
        for rule in range(n_features if left_over else 0):
            has, lacks = _part(table, rows, rule)
            for left in range(left_over):
                yield (left, has), rule, (left_over - 1 - left, lacks)

    return Space(splits, lambda state: None if state[0] else Leaf(state[1]))


def _part(table: Sequence[Sequence[int]], rows: Rows, rule: int) -> tuple[Rows, Rows]:
    """The rows that have the feature, and those that lack it."""
    has = tuple(row for row in rows if table[row][rule])
    return has, tuple(row for row in rows if not table[row][rule])
