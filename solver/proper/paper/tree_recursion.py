"""The one recursion of all decision trees: choose a root, share out the rest, go on.

A *state* is all that a subtree depends on: the remaining rules, the points of the region, the
level. Families of trees differ in `splits`, which lists the roots of a state and the states that
each leaves to the left and to the right (the paper's Definition 4.4, and sections 5 and 6). The
rest is here, once.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

S = TypeVar("S", bound=Hashable)
"""A state."""
C = TypeVar("C")
"""What objectives return; costs of one state must have a total order."""


class Leaf(NamedTuple):
    """DL(xs): the end of a path, and the data that reach it."""

    content: Any


class Node(NamedTuple):
    """DN(u, r, v): a splitting rule between its left and its right subtree."""

    left: Tree
    root: Any
    right: Tree


Tree: TypeAlias = Leaf | Node

Split: TypeAlias = tuple[S, Any, S]
"""(rs⁺, r, rs⁻): the state of the left subtree, the root, the state of the right one."""


@dataclass(frozen=True)
class Space(Generic[S]):
    """A family of trees: those of a state are its leaf, if it may be one, and all from its splits.

    A state without either has no tree. States must shrink on the way down, so that every path ends.
    ``leaf`` returns None if the state may not be a leaf.
    """

    splits: Callable[[S], Iterable[Split[S]]]
    leaf: Callable[[S], Leaf | None]


@dataclass(frozen=True)
class Objective(Generic[C]):
    """E of Definition 4.12: f of a leaf's content, g of a node's root and its subtrees' values.

    g must not fall when one of the values rises (monotonicity): then the best subtrees make the
    best tree, Theorem 4.13. If g needs more than costs, say weights, the values are tuples (cost,
    weight): the weight is the same for all trees of a state and decides nothing.
    """

    f: Callable[[Any], C]
    g: Callable[[Any, C, C], C]

    def __call__(self, tree: Tree) -> C:
        """E(tree)."""
        if isinstance(tree, Leaf):
            return self.f(tree.content)
        return self.g(tree.root, self(tree.left), self(tree.right))


class Found(NamedTuple):
    """The least value of an objective, and the first tree that has it."""

    cost: Any
    tree: Tree


@dataclass
class Memo:
    """Answers by state, with the numbers of lookups and hits (section 4.7.2 of the paper)."""

    answers: dict[Hashable, Any] = field(default_factory=dict)
    lookups: int = 0
    hits: int = 0

    @property
    def rate(self) -> float:
        """The part of the lookups that were hits; 0 if there were none."""
        return self.hits / self.lookups if self.lookups else 0.0

    def ask(self, state: S, answer: Callable[[S], Any]) -> Any:
        """The answer for a state, worked out at most once."""
        self.lookups += 1
        if state in self.answers:
            self.hits += 1
        else:
            self.answers[state] = answer(state)
        return self.answers[state]


def trees(space: Space[S], state: S) -> Iterator[Tree]:
    """Every tree of a state: the generators genBTs, genDTs, genDTBFs, … of the paper."""
    leaf = space.leaf(state)
    if leaf is not None:
        yield leaf
    for left, root, right in space.splits(state):
        on_the_right = list(trees(space, right))
        if on_the_right:
            for below in trees(space, left):
                yield from (Node(below, root, other) for other in on_the_right)


def count(space: Space[S], state: S) -> int:
    """How many trees `trees` would give, without making them."""
    memo = Memo()

    def answer(state: S) -> int:
        ways = int(space.leaf(state) is not None)
        for left, _, right in space.splits(state):
            ways += memo.ask(left, answer) * memo.ask(right, answer)
        return ways

    return answer(state)


def best(
    space: Space[S], objective: Objective[Any], state: S, memo: Memo | None = None
) -> Found | None:
    """The tree of a state with the least value: `sodt` of Theorem 4.13.

    None if the state has no tree. Of trees of equal value it is the first in the order of `trees`.
    A memo keeps the best subtree of each state, for one space and one objective.
    """

    def solve(state: S) -> Found | None:
        return answer(state) if memo is None else memo.ask(state, answer)

    def answer(state: S) -> Found | None:
        leaf = space.leaf(state)
        found = None if leaf is None else Found(objective.f(leaf.content), leaf)
        for left, root, right in space.splits(state):
            u, v = solve(left), solve(right)
            if u is None or v is None:
                continue
            cost = objective.g(root, u.cost, v.cost)
            if found is None or cost < found.cost:
                found = Found(cost, Node(u.tree, root, v.tree))
        return found

    return solve(state)


def leaves(tree: Tree) -> Iterator[Any]:
    """The contents of the leaves, from left to right."""
    if isinstance(tree, Leaf):
        yield tree.content
    else:
        yield from leaves(tree.left)
        yield from leaves(tree.right)


def roots(tree: Tree) -> Iterator[Any]:
    """The roots of the nodes, each before those of its subtrees."""
    if isinstance(tree, Node):
        yield tree.root
        yield from roots(tree.left)
        yield from roots(tree.right)
