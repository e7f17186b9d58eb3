"""The best trees of a level and of the parts of its current threshold."""

from __future__ import annotations

from solver.kernels.constants import Ints
from solver.kernels.jit import helper
from solver.quantbnb.classification.state import AT, OPENING, PHASE, Levels


@helper
def keep_half(s: Levels, side: int, tree: Ints) -> None:
    """Remember the tree of a part of the current threshold."""
    for i in range(len(tree)):
        s.halves[side, i, 0], s.halves[side, i, 1] = tree[i, 0], tree[i, 1]


@helper
def keep_stumps(s: Levels) -> None:
    """As :func:`keep_half`, for both parts on the last level: only the features are known."""
    for side in range(2):
        for i in range(len(s.tree)):
            s.halves[side, i, 0] = s.halves[side, i, 1] = -1
        s.halves[side, 0, 0] = s.guess[s.frame[AT], side, 0]


@helper
def keep_tree(s: Levels, feature: int, code: int) -> None:
    """The tree of the current threshold is the best one."""
    s.tree[0, 0], s.tree[0, 1] = feature, code
    first = 1
    while 2 * first < len(s.tree):
        for side in range(2):
            for i in range(first):
                for j in range(2):
                    to = 2 * first - 1 + side * first + i
                    s.tree[to, j] = s.halves[side, first - 1 + i, j]
        first *= 2


@helper
def best_level(levels: Levels, top: Ints) -> int:
    """The deepest level that looks for a first tree of the level above it, on the same rows."""
    level = 0
    while level < top[0] and levels.frame[level, PHASE] == OPENING:
        level += 1
    return level
