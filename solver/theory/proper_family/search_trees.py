"""Optimal binary search trees: the Catalan model with weights.

The keys are in order, so a root decides what goes to either side (section 6.2 of the paper). Key r
is searched with weight p[r], the gap between two keys with weight q: q[0] below all keys, q[r + 1]
above key r. The cost of a tree is the expected number of nodes on the way, where a leaf, which
stands for a gap, counts as a node (Cormen et al., *Introduction to Algorithms*, section 15.5).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import TypeAlias

from solver.errors import InputError
from solver.proper.paper.tree_recursion import (
    Found,
    Leaf,
    Memo,
    Node,
    Objective,
    Space,
    Split,
    Tree,
    best,
)
from solver.theory.proper_family.exact_numbers import Number, exact

Keys: TypeAlias = tuple[int, int]
"""The keys from the first number up to, but without, the second one."""

Weighed: TypeAlias = tuple[Fraction, Fraction]
"""The cost of a tree, and how often a search comes into it."""


def splits_catalan(keys: Keys) -> Iterator[Split[Keys]]:
    """Each key as the root, the smaller ones to the left, the greater ones to the right."""
    first, end = keys
    for root in range(first, end):
        yield (first, root), root, (root + 1, end)


search_trees = Space(splits_catalan, lambda keys: Leaf(keys[0]) if keys[0] == keys[1] else None)
"""The search trees over some keys; a leaf holds the number of its gap."""


def search_cost(p: tuple[Fraction, ...], q: tuple[Fraction, ...]) -> Objective[Weighed]:
    """The expected number of nodes that a search looks at."""

    def node(root: int, left: Weighed, right: Weighed) -> Weighed:
        # Everything that comes into the tree looks at its root.
        weight = p[root] + left[1] + right[1]
        return left[0] + right[0] + weight, weight

    return Objective(lambda gap: (q[gap], q[gap]), node)


def best_search_tree(
    p: Iterable[Number], q: Iterable[Number] | None = None, memo: Memo | None = None
) -> Found:
    """The search tree with the least expected number of nodes on the way.

    ``p`` are the n weights of the keys, in order, ``q`` the n + 1 weights of the gaps, all 0 by
    default. InputError if their numbers do not fit, or a weight is negative.
    """
    keys, gaps = _weights(p, q)
    memo = Memo() if memo is None else memo
    found = best(search_trees, search_cost(keys, gaps), (0, len(keys)), memo)
    assert found is not None
    return Found(found.cost[0], found.tree)


def best_search_tree_knuth(p: Iterable[Number], q: Iterable[Number] | None = None) -> Found:
    """The same in time n² by Knuth's theorem: a best root of keys i … j need not lie below the
    best root of i … j − 1, nor above that of i + 1 … j (*Optimum binary search trees*, 1971).

    It is compared with `best_search_tree`; of two equally good roots it may take the other.
    """
    keys, gaps = _weights(p, q)
    n = len(keys)
    weight = {(i, i): gaps[i] for i in range(n + 1)}
    cost = dict(weight)
    root: dict[Keys, int] = {}
    for size in range(1, n + 1):
        for i in range(n + 1 - size):
            j = i + size
            weight[i, j] = weight[i, j - 1] + keys[j - 1] + gaps[j]
            low, high = (i, i) if size == 1 else (root[i, j - 1], root[i + 1, j])
            below, root[i, j] = min((cost[i, r] + cost[r + 1, j], r) for r in range(low, high + 1))
            cost[i, j] = below + weight[i, j]

    def tree(i: int, j: int) -> Tree:
        return Leaf(i) if i == j else Node(tree(i, root[i, j]), root[i, j], tree(root[i, j] + 1, j))

    return Found(cost[0, n], tree(0, n))


def _weights(
    p: Iterable[Number], q: Iterable[Number] | None
) -> tuple[tuple[Fraction, ...], tuple[Fraction, ...]]:
    keys = exact(p, "the weights p")
    gaps = exact([0] * (len(keys) + 1) if q is None else q, "the weights q")
    if len(gaps) != len(keys) + 1:
        raise InputError(
            f"{len(keys)} weights p need {len(keys) + 1} weights q, one below the first key and "
            f"one above each, not {len(gaps)}"
        )
    if any(weight < 0 for weight in keys + gaps):
        raise InputError("a weight is negative; give each key and gap how often it is asked for")
    return keys, gaps
