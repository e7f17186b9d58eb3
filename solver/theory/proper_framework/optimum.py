"""The best tree: objectives, ``sodt`` and ``odt_K`` (sections 4.1, 4.2 and 4.7)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeAlias

from solver.proper.paper.ancestry import Relation, ancestry, splits
from solver.proper.paper.geometry import Points
from solver.proper.paper.rules import Rule
from solver.proper.paper.tree_recursion import Leaf, Memo, Node, Objective, Space, Split, Tree, best
from solver.theory.proper_framework.tree_generators import kcombs


def additive(f: Callable[[Points], Any], price: Any = 0) -> Objective[Any]:
    """The objective of classification (equation 22) with a price of each split.

    f(xs) is the cost of a leaf; g(a, b) = a + b + price is monotonic.
    """
    return Objective(f, lambda _, a, b: a + b + price)


def broken_monotonicity(
    objective: Objective[Any], roots: Iterable[Rule], values: Sequence[Any]
) -> tuple[Rule, Any, Any] | None:
    """Where an objective is not of the form of Definition 4.12, on some values; else None.

    It returns (root, a, b): values of two subtrees for which g(a, b) ≥ max(a, b) fails, or for
    which a greater value of one subtree makes g less, against the proof of Theorem 4.13.
    """
    ordered = sorted(set(values))
    for root in roots:
        for a in ordered:
            for b, larger in zip(ordered, [*ordered[1:], None], strict=True):
                value = objective.g(root, a, b)
                if value < max(a, b):
                    return root, a, b
                if larger is not None and (
                    objective.g(root, a, larger) < value
                    or objective.g(root, larger, a) < objective.g(root, b, a)
                ):
                    return root, a, b
    return None


def min_e(objective: Objective[Any], trees: Iterable[Tree]) -> Tree:
    """``min_E`` (equations 5 and 6): the first tree of the least cost."""
    return min(trees, key=objective)


def sodt(
    rules: Sequence[Rule],
    xs: Points,
    objective: Objective[Any],
    relation: Relation[Rule] = ancestry,
) -> Tree | None:
    """``sodt`` (Theorem 4.13): a tree of least cost among those of all the rules.

    None if the rules form no proper tree, a case that the paper leaves out.
    """
    if not rules:
        return Leaf(xs)
    if len(rules) == 1:
        (r,) = rules
        return Node(Leaf(r.positive & xs), r, Leaf(r.negative & xs))
    candidates = []
    for left, root, right in splits(rules, relation):
        u = sodt(left, root.positive & xs, objective, relation)
        v = sodt(right, root.negative & xs, objective, relation)
        if u is not None and v is not None:
            candidates.append(Node(u, root, v))
    return min_e(objective, candidates) if candidates else None


Remaining: TypeAlias = tuple[tuple[Rule, ...], Points]
"""The rules that a subtree is made of, and the data that reach it."""


def proper_space(relation: Relation[Rule] = ancestry) -> Space[Remaining]:
    """Complete proper trees as a family of :mod:`solver.proper.paper.tree_recursion`.

    Its ``trees`` is then ``genDTs``, its ``best`` is ``sodt``.
    """

    def parted(state: Remaining) -> Iterator[Split[Remaining]]:
        rules, xs = state
        for left, r, right in splits(rules, relation):
            yield (tuple(left), r.positive & xs), r, (tuple(right), r.negative & xs)

    return Space(parted, lambda state: None if state[0] else Leaf(state[1]))


def sodt_with_memo(
    rules: Sequence[Rule],
    xs: Points,
    objective: Objective[Any],
    memo: Memo,
    relation: Relation[Rule] = ancestry,
) -> Tree | None:
    """``sodt`` with memoisation (section 4.7.2).

    It finds again only the same rules on the same data: ``hits`` and ``lookups`` of the memo say
    how rarely that is.
    """
    found = best(proper_space(relation), objective, (tuple(rules), xs), memo)
    return None if found is None else found.tree


def odt_k(
    k: int,
    rules: Sequence[Rule],
    xs: Points,
    objective: Objective[Any],
    relation: Relation[Rule] = ancestry,
) -> Tree | None:
    """``odt_K = min_E ∘ mapL_sodt ∘ kcombs_K`` (Theorem 4.3); None if no K rules form a tree."""
    trees = (sodt(chosen, xs, objective, relation) for chosen in kcombs(k, rules))
    found = [tree for tree in trees if tree is not None]
    return min_e(objective, found) if found else None
