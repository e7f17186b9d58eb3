"""Trees over a list of rules that each appear exactly once: section 6 of the paper.

The three generators differ in one function: how the remaining rules may be shared between the two
sides of a root.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, TypeAlias

from solver.proper.paper.tree_recursion import Leaf, Space, Split, Tree, count, trees

Rules: TypeAlias = tuple[Any, ...]
Shares: TypeAlias = Callable[[Rules, int], Iterable[tuple[Rules, Rules]]]
"""Of a list of rules and the place of the root in it: the pairs (rs⁺, rs⁻)."""


def shares_bf(rules: Rules, root: int) -> Iterator[tuple[Rules, Rules]]:
    """splits_BF: any subset may go to the left, 2^(K−1) of them (no ancestral constraint).

    In the order of the paper's subsPair: ([], [1, 2]), ([2], [1]), ([1], [2]), ([1, 2], []).
    """
    yield from _subset_pairs(rules[:root] + rules[root + 1 :])


def shares_murtree(rules: Rules, root: int) -> Iterator[tuple[Rules, Rules]]:
    """splits_Murtree: a prefix of the list goes to the left, K of them."""
    rest = rules[:root] + rules[root + 1 :]
    for cut in range(len(rest) + 1):
        yield rest[:cut], rest[cut:]


def shares_catalan(rules: Rules, root: int) -> Iterator[tuple[Rules, Rules]]:
    """splits_Catalan: the rules before the root go to the left, those after it to the right."""
    yield rules[:root], rules[root + 1 :]


def _subset_pairs(rules: Rules) -> Iterator[tuple[Rules, Rules]]:
    if not rules:
        yield (), ()
        return
    first, rest = rules[:1], rules[1:]
    for chosen, others in _subset_pairs(rest):
        yield chosen, first + others
    for chosen, others in _subset_pairs(rest):
        yield first + chosen, others


def rule_space(shares: Shares) -> Space[Rules]:
    """All trees in which each rule of the state stands at exactly one node."""

    def splits(rules: Rules) -> Iterator[Split[Rules]]:
        for place, rule in enumerate(rules):
            for left, right in shares(rules, place):
                yield left, rule, right

    return Space(splits, lambda rules: None if rules else Leaf(None))


def _generate(shares: Shares, rules: Iterable[Any]) -> Iterator[Tree]:
    return trees(rule_space(shares), tuple(rules))


def _count(shares: Shares, n_rules: int) -> int:
    # How many trees there are depends on nothing but the number of rules; with the rules
    # themselves as states the 2^K subsets would all be gone through.
    def splits(n: int) -> Iterator[Split[int]]:
        for place in range(n):
            for left, right in shares(tuple(range(n)), place):
                yield len(left), place, len(right)

    return count(Space(splits, lambda n: None if n else Leaf(None)), n_rules)


gen_dtbfs = partial(_generate, shares_bf)
"""All labelled binary trees over the rules, Definition 6.1: K!·Catalan(K) of them."""
gen_murtrees = partial(_generate, shares_murtree)
"""The trees that MurTree's pseudocode reaches as the paper reads it, Definition 6.4."""
gen_catalans = partial(_generate, shares_catalan)
"""The binary search trees over the rules in their order, Definition 6.3: Catalan(K) of them."""

f_bf = partial(_count, shares_bf)
"""How many trees `gen_dtbfs` makes of K rules (Lemma 6.2)."""
f_murtree = partial(_count, shares_murtree)
f_catalan = partial(_count, shares_catalan)
