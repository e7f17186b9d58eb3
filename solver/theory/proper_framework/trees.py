"""Trees as data: maps, paths and downward accumulation, level order (sections 3.1.3, 3.2, 4.5).

``BTree`` is a tree whose leaves hold None, ``DTree`` one whose leaves hold a part of the data:
L and N, and DL and DN, are :class:`~solver.proper.paper.tree_recursion.Leaf` and ``Node``.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from solver.proper.paper.ancestry import R, Relation
from solver.proper.paper.tree_recursion import Leaf, Node, Tree

Unary: TypeAlias = Callable[[Any], Any]
Binary: TypeAlias = Callable[[Any, Any], Any]


def map_d(f: Unary, tree: Tree) -> Tree:
    """``mapD`` (section 3.2.4): the function applied to every leaf."""
    if isinstance(tree, Leaf):
        return Leaf(f(tree.content))
    return Node(map_d(f, tree.left), tree.root, map_d(f, tree.right))


@dataclass(frozen=True)
class Single:
    """S(a): the path of one element."""

    element: Any


@dataclass(frozen=True)
class LeftTurn:
    """p ↙ q: a path that goes on to the left."""

    before: Path
    after: Path


@dataclass(frozen=True)
class RightTurn:
    """p ↘ q: a path that goes on to the right."""

    before: Path
    after: Path


Path: TypeAlias = Single | LeftTurn | RightTurn
"""P(A) of section 4.5."""


def paths(f: Unary, g: Unary, tree: Tree) -> Tree:
    """``paths`` (Definition 4.6): every leaf becomes the path to it, in which a rule r is f(r)
    where the path turns left and g(r) where it turns right."""
    if isinstance(tree, Leaf):
        return Leaf(Single(tree.content))
    to_left, to_right = Single(f(tree.root)), Single(g(tree.root))
    return Node(
        map_d(lambda path: LeftTurn(to_left, path), paths(f, g, tree.left)),
        tree.root,
        map_d(lambda path: RightTurn(to_right, path), paths(f, g, tree.right)),
    )


def path_red(h: Unary, plus: Binary, times: Binary, path: Path) -> Any:
    """``pathRed`` (Definition 4.7): a path as one value, ⊕ at left turns, ⊗ at right turns."""
    match path:
        case Single(element):
            return h(element)
        case LeftTurn(before, after):
            reduced = path_red(h, plus, times, after)
            return path_red(lambda a: plus(a, reduced), plus, times, before)
        case RightTurn(before, after):
            reduced = path_red(h, plus, times, after)
            return path_red(lambda a: times(a, reduced), plus, times, before)


def dacc(h: Unary, f: Unary, g: Unary, plus: Binary, times: Binary, tree: Tree) -> Tree:
    """``dacc`` (equation 16): every leaf becomes the reduction of the path that leads to it."""
    return map_d(lambda path: path_red(h, plus, times, path), paths(f, g, tree))


def dacc_homomorphic(h: Unary, f: Unary, g: Unary, plus: Binary, times: Binary, tree: Tree) -> Tree:
    """``dacc`` again, from the accumulations of the subtrees (Theorem 4.8)."""
    if isinstance(tree, Leaf):
        return Leaf(h(tree.content))
    left = dacc_homomorphic(h, f, g, plus, times, tree.left)
    right = dacc_homomorphic(h, f, g, plus, times, tree.right)
    return Node(
        map_d(lambda a: plus(f(tree.root), a), left),
        tree.root,
        map_d(lambda a: times(g(tree.root), a), right),
    )


def level_order(tree: Tree) -> Iterator[Any]:
    """The rules level by level, from left to right: the K-permutation of a tree (Theorem 3.5)."""
    pending = deque([tree])
    while pending:
        part = pending.popleft()
        if isinstance(part, Node):
            yield part.root
            pending += (part.left, part.right)


def from_level_order(permutation: Sequence[R], relation: Relation[R]) -> Tree | None:
    """The one proper tree with empty leaves whose level order is the permutation (Corollary 3.6).

    None if there is none: the predicate p of Definition 4.1. The relations to the rules above
    decide the place of each rule. The permutation is valid if it is the level order of the
    resulting tree.
    """
    tree: Tree = Leaf(None)
    for rule in permutation:
        larger = _placed(tree, rule, relation)
        if larger is None:
            return None
        tree = larger
    return tree if [*level_order(tree)] == [*permutation] else None


def _placed(tree: Tree, rule: R, relation: Relation[R]) -> Tree | None:
    """The tree with one more rule in place of a leaf; None if it may not be below its path."""
    if isinstance(tree, Leaf):
        return Node(Leaf(None), rule, Leaf(None))
    side = relation(tree.root, rule)
    if side == 0:
        return None
    below = _placed(tree.left if side == 1 else tree.right, rule, relation)
    if below is None:
        return None
    return tree._replace(left=below) if side == 1 else tree._replace(right=below)


def depth(tree: Tree) -> int:
    """Rules on the longest path."""
    return 0 if isinstance(tree, Leaf) else 1 + max(depth(tree.left), depth(tree.right))
