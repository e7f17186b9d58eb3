"""Which rule may be below which: the ancestry relation, its matrix, the axioms (section 3.1)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias, TypeVar

from solver.proper.paper.geometry import Points
from solver.proper.paper.rules import Rule
from solver.proper.paper.tree_recursion import Leaf, Tree

R = TypeVar("R")
Relation: TypeAlias = Callable[[R, R], int]
"""K of two rules: 1 if the second may be a left descendant of the first, −1 right, 0 neither."""


def ancestry(ancestor: Rule, rule: Rule) -> int:
    """The ancestry relation of two rules (Definition 3.2), from their defining points.

    1 (``ancestor ↙ rule``) if all points that define the rule are on the positive side of the
    ancestor, −1 (``↘``) if all are on the negative side, else 0. Axiom 3, part II: a region can
    generate a rule if its points lie there. No rule is its own ancestor.
    """
    if ancestor == rule:
        return 0
    if rule.defining & ~ancestor.positive == 0:
        return 1
    return -1 if rule.defining & ~ancestor.negative == 0 else 0


def ancestry_matrix(rules: Sequence[R], relation: Relation[R]) -> list[list[int]]:
    """The ancestry relation matrix K (Definition 3.3)."""
    return [[relation(r_i, r_j) for r_j in rules] for r_i in rules]


def by_matrix(matrix: Sequence[Sequence[int]]) -> Relation[int]:
    """The relation of rules given as row numbers of a matrix K.

    It breaks Axiom 4 (ValueError) if an entry is not 1, −1 or 0, or a rule is above itself.
    """
    for i, row in enumerate(matrix):
        if row[i] != 0 or any(entry not in (-1, 0, 1) for entry in row):
            raise ValueError(f"row {i} of the ancestry matrix, {list(row)}, breaks Axiom 4")
    return lambda i, j: matrix[i][j]


def splits(rules: Sequence[R], relation: Relation[R]) -> Iterator[tuple[list[R], R, list[R]]]:
    """``splits`` (section 4.4): each rule that all others may descend from, between those that go
    to its left, rs⁺, and those that go to its right, rs⁻."""
    for i, root in enumerate(rules):
        left: list[R] = []
        right: list[R] = []
        for j, rule in enumerate(rules):
            if i == j:
                continue
            side = relation(root, rule)
            if side == 0:
                break
            (left if side == 1 else right).append(rule)
        else:
            yield left, root, right


def broken_axioms(tree: Tree, space: Points) -> list[int]:
    """The axioms of Definition 3.4 that a complete tree breaks; none if it is proper.

    The leaves of the tree hold points; ``space`` are the points at the root.

    Notes
    -----
    Axiom 1: r⁺ and r⁻ of every rule are disjoint (and, as here, cover all points); that they
    are connected follows from how rules are made. Axiom 2: a leaf holds the intersection of the
    sides on its path. Axiom 3: the relation holds between a rule and *all* its ancestors, not only
    its parent. The relation is not transitive on a set of rules, because a rule may cut between the
    points of rules below its child; it is transitive in a tree, as ``splits`` asks every ancestor.
    Axiom 4: no rule is on both sides of an ancestor, nor below itself.
    """
    broken = set()

    def walk(tree: Tree, region: Points, path: list[tuple[Rule, int]]) -> None:
        if isinstance(tree, Leaf):
            if tree.content != region:
                broken.add(2)
            return
        rule: Rule = tree.root
        if rule.positive & rule.negative or space & ~(rule.positive | rule.negative):
            broken.add(1)
        for above, side in path:
            if ancestry(above, rule) != side:
                broken.add(3)
            if above == rule or not rule.defining & ~(above.positive & above.negative):
                broken.add(4)
        walk(tree.left, region & rule.positive, [*path, (rule, 1)])
        walk(tree.right, region & rule.negative, [*path, (rule, -1)])

    walk(tree, space, [])
    return sorted(broken)
