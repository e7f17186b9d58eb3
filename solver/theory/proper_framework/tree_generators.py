"""The search space as programs: all proper trees of some rules, of K of some rules (section 4).

Data are sets of points; ``r.positive & xs`` is r⁺ ∩ xs. Any relation of the rules may replace the
ancestry relation, which is the only content of Axiom 4.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import combinations, permutations
from operator import and_

from solver.proper.paper.ancestry import R, Relation, ancestry, splits
from solver.proper.paper.geometry import Points
from solver.proper.paper.rules import Rule
from solver.proper.paper.tree_recursion import Leaf, Node, Tree, leaves
from solver.theory.proper_framework.trees import dacc, from_level_order, map_d


def gen_bts(rules: Sequence[R], relation: Relation[R]) -> list[Tree]:
    """``genBTs`` (Definition 4.4): all proper trees of the rules; nothing is in their leaves."""
    return gen_bts_with(rules, None, relation)


def gen_bts_with(rules: Sequence[R], xs: Points | None, relation: Relation[R]) -> list[Tree]:
    """``genBTs'`` (section 4.6): as ``genBTs``, and every leaf holds all the data."""
    if not rules:
        return [Leaf(xs)]
    if len(rules) == 1:
        return [Node(Leaf(xs), rules[0], Leaf(xs))]
    return [
        Node(u, root, v)
        for left, root, right in splits(rules, relation)
        for u in gen_bts_with(left, xs, relation)
        for v in gen_bts_with(right, xs, relation)
    ]


def accumulated(tree: Tree) -> Tree:
    """``dacc_{id, sl, sr, ∩, ∩}``: what reaches each leaf, Axiom 2 as a program.

    Equation 18 of the paper prints its indices as ``id, sl, sl, sl``; its text has these.
    """
    return dacc(lambda xs: xs, split_left, split_right, and_, and_, tree)


def split_left(rule: Rule) -> Points:
    """``sl(r) = r⁺``."""
    return rule.positive


def split_right(rule: Rule) -> Points:
    """``sr(r) = r⁻``."""
    return rule.negative


def gen_dts_by_accumulation(
    rules: Sequence[Rule], xs: Points, relation: Relation[Rule] = ancestry
) -> list[Tree]:
    """``genDTs`` as specified (Definition 4.9): every tree generated, then accumulated."""
    return [accumulated(tree) for tree in gen_bts_with(rules, xs, relation)]


def gen_dts(rules: Sequence[Rule], xs: Points, relation: Relation[Rule] = ancestry) -> list[Tree]:
    """``genDTs`` with the accumulation fused in (Theorem 4.10): all complete proper trees."""
    if not rules:
        return [Leaf(xs)]
    if len(rules) == 1:
        (r,) = rules
        return [Node(Leaf(r.positive & xs), r, Leaf(r.negative & xs))]
    return [
        _grown(u, root, v)
        for left, root, right in splits(rules, relation)
        for u in gen_dts(left, xs, relation)
        for v in gen_dts(right, xs, relation)
    ]


def _grown(u: Tree, root: Rule, v: Tree) -> Tree:
    """f of section 4.8.1: DN(mapD_{∩r⁺}(u), r, mapD_{∩r⁻}(v))."""
    return Node(
        map_d(lambda xs: root.positive & xs, u), root, map_d(lambda xs: root.negative & xs, v)
    )


def kcombs(k: int, rules: Iterable[R]) -> Iterator[tuple[R, ...]]:
    """``kcombs``: all choices of K of the rules."""
    return combinations(rules, k)


def kperms(k: int, rules: Iterable[R]) -> Iterator[tuple[R, ...]]:
    """``kperms`` (equation 8): all arrangements of all choices of K of the rules."""
    for chosen in kcombs(k, rules):
        yield from permutations(chosen)


def gen_dtks_by_permutations(
    k: int, rules: Sequence[Rule], xs: Points, relation: Relation[Rule] = ancestry
) -> Iterator[Tree]:
    """``genDTKs = filter_p ∘ kperms_K`` (Definition 4.1): the permutations that are trees."""
    for permutation in kperms(k, rules):
        tree = from_level_order(permutation, relation)
        if tree is not None:
            yield accumulated(map_d(lambda _: xs, tree))


def gen_dtks(
    k: int, rules: Sequence[Rule], xs: Points, relation: Relation[Rule] = ancestry
) -> Iterator[Tree]:
    """``genDTKs = concatMapL_genDTs ∘ kcombs_K`` (Theorem 4.2): all proper trees of K rules."""
    for chosen in kcombs(k, rules):
        yield from gen_dts(chosen, xs, relation)


Predicate = Callable[[Tree], bool]
"""Of a complete tree. It is reflected by growing (section 4.8.1) if a tree that has it grew from
trees that have it."""


def gen_dtfs(
    rules: Sequence[Rule], xs: Points, keep: Predicate, relation: Relation[Rule] = ancestry
) -> list[Tree]:
    """``genDTFs = filter_q ∘ genDTs``, the filter fused in (section 4.8.1, equation 24).

    ``keep`` must be reflected by growing, as the filters for enough data in every leaf and for
    short paths are.

    Notes
    -----
    The paper does not filter trees of one rule, so its program differs from its specification for
    K = 1; here every tree is filtered.
    """
    if len(rules) < 2:
        return [*filter(keep, gen_dts(rules, xs, relation))]
    grown = (
        _grown(u, root, v)
        for left, root, right in splits(rules, relation)
        for u in gen_dtfs(left, xs, keep, relation)
        for v in gen_dtfs(right, xs, keep, relation)
    )
    return [*filter(keep, grown)]


def enough_in_leaves(n_min: int) -> Predicate:
    """``q_{N_min}``: every leaf holds at least N_min points."""
    return lambda tree: all(xs.bit_count() >= n_min for xs in leaves(tree))


Preorder = Callable[[Tree, Tree], bool]
"""Whether the first of two trees of the same rules and data makes the second one needless. It must
be reflexive, transitive, and monotonic: a tree may only get better when a subtree does."""


def thin(better: Preorder, trees: Iterable[Tree]) -> list[Tree]:
    """``thin_r`` (section 4.8.2): a part of the trees in which each tree has one that is no
    worse."""
    kept: list[Tree] = []
    for tree in trees:
        if not any(better(other, tree) for other in kept):
            kept = [other for other in kept if not better(tree, other)] + [tree]
    return kept


def gen_dtts(
    rules: Sequence[Rule], xs: Points, better: Preorder, relation: Relation[Rule] = ancestry
) -> list[Tree]:
    """``genDTTs = thin_r ∘ genDTs``, thinned on the way (section 4.8.2, equation 25).

    Notes
    -----
    Subtrees get the data of their side, as in ``sodt``. The paper's equation 26 thins
    subtrees on all data and takes their side afterwards, where another tree may be better: then no
    preorder that looks at the data is monotonic.
    """
    if len(rules) < 2:
        return thin(better, gen_dts(rules, xs, relation))
    return thin(
        better,
        (
            Node(u, root, v)
            for left, root, right in splits(rules, relation)
            for u in gen_dtts(left, root.positive & xs, better, relation)
            for v in gen_dtts(right, root.negative & xs, better, relation)
        ),
    )
