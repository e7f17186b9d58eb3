"""What changes from one tree of a path to the next, in the user's own words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from solver.features.node_tests import CategoryTest, NodeTest
from solver.trees.tree import Tree
from solver.trees.tree_view import in_short

_MOST_CONDITIONS = 3
"""A place further down is named by its last conditions."""

Condition: TypeAlias = tuple[NodeTest, int]
_Position: TypeAlias = tuple[NodeTest, frozenset[Condition]]


class Split(NamedTuple):
    """A split: what it asks, and the conditions that lead to it, the root's first."""

    test: NodeTest
    conditions: tuple[Condition, ...]

    @property
    def asks(self) -> str:
        """The question in words: ``odor = foul``, ``age > 30``, ``colour``."""
        test = self.test
        if isinstance(test, CategoryTest) and not test.is_indicator:
            return test.column
        return in_short(test, 1)

    @property
    def place(self) -> str:
        """Where it stands: ``at the root``, ``where odor = foul and age > 30``."""
        if not self.conditions:
            return "at the root"
        shown = self.conditions[-_MOST_CONDITIONS:]
        words = " and ".join(in_short(test, branch) for test, branch in shown)
        return f"where {'… ' if len(shown) < len(self.conditions) else ''}{words}"


@dataclass(frozen=True)
class Change:
    """From one tree to another.

    Parameters
    ----------
    kept : int
        Splits that both trees have at the same place, whatever the order of the questions above.
    moved : tuple of Split
        Questions that both ask, at different places; as the new tree has them.
    added, removed : tuple of Split
    """

    kept: int
    moved: tuple[Split, ...]
    added: tuple[Split, ...]
    removed: tuple[Split, ...]


def splits_of(tree: Tree) -> Iterator[Split]:
    """The splits of a tree, the root first."""
    pending: list[tuple[int, tuple[Condition, ...]]] = [(0, ())]
    while pending:
        position, conditions = pending.pop()
        node = tree.nodes[position]
        if node.feature is None:
            continue
        test = tree.tests[node.feature]
        yield Split(test, conditions)
        below = [(child, (*conditions, (test, i))) for i, child in enumerate(node.children)]
        pending += reversed(below)


def find_change(old: Tree, new: Tree) -> Change:
    """What the new tree asks that the old one did not, and the other way round."""
    before, after = list(splits_of(old)), list(splits_of(new))
    same = Counter(map(_position, before)) & Counter(map(_position, after))
    gone, come = _without(before, same), _without(after, same)
    free = Counter(split.test for split in gone)
    moved, added = [], []
    for split in come:
        if free[split.test]:
            free[split.test] -= 1
            moved.append(split)
        else:
            added.append(split)
    removed = []
    # Of equal questions the last ones are those that no new split stands for.
    for split in reversed(gone):
        if free[split.test]:
            free[split.test] -= 1
            removed.append(split)
    return Change(same.total(), tuple(moved), tuple(added), tuple(reversed(removed)))


def _position(split: Split) -> _Position:
    return split.test, frozenset(split.conditions)


def _without(splits: list[Split], same: Counter[_Position]) -> list[Split]:
    left = same.copy()
    rest = []
    for split in splits:
        if left[_position(split)]:
            left[_position(split)] -= 1
        else:
            rest.append(split)
    return rest
