"""The arrays of the search for good trees: points, a memo of subproblems, and open frames.

A subproblem is the set of points in a branch, and the depth that is left. Branches with equal sets
are one subproblem. Costs are integers: ``error`` for a unit of weight in error and ``split`` for a
split, in the ratio of 1 to λ·W.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from solver.kernels.constants import Ints, Words
from solver.kernels.hash_tables import slots_for
from solver.kernels.packed_rows import packed
from solver.kernels.pass_by_reference import by_reference
from solver.problem.problem import Problem

NO_LIMIT = -1
"""The depth left where depth is not limited."""

NODES, EXPANDED, SLICE_END = range(3)
"""Places of ``Space.used``: subproblems, expansions, and expansions at which a slice ends."""


_MOST_PAIRED = 1024
"""Columns beyond which their pairs are not counted: that would take too much memory."""

_FIRST_WORDS = 2**20
"""Words of sets that a memo has room for at first."""


@by_reference
class Points(NamedTuple):
    """A problem, read-only.

    Parameters
    ----------
    masks : (values, width)
        The points that have a code, for all codes of all features in turn.
    first : (features + 1,)
        The number of each feature's first code.
    planes : (planes, width)
        Points; the weight of a class at a point is the sum of the weights of its planes there.
    plane_class : (planes,)
        The class; the number of classes for errors that no tree avoids.
    plane_weight : (planes,)
    """

    masks: Words
    first: Ints
    planes: Words
    plane_class: Ints
    plane_weight: Ints


@by_reference
class Memo(NamedTuple):
    """What is known of each subproblem.

    Parameters
    ----------
    sets : (room, width)
        Its points. One row beyond the last subproblem is scratch.
    hashes : (room,)
    left : (room,)
        How many splits a path may still have, or :data:`NO_LIMIT`.
    leaf : (room,)
        The cost of a leaf.
    unavoidable : (room,)
        Weight in error that no tree avoids.
    lower : (room,)
        Lower bound on the cost of every tree.
    exact : (room,)
        Whether a tree of this cost exists.
    """

    sets: Words
    hashes: Words
    left: Ints
    leaf: Ints
    unavoidable: Ints
    lower: Ints
    exact: Ints


@by_reference
class Frames(NamedTuple):
    """The open subproblems of a depth-first search, one a level.

    ``order`` and ``bound`` (levels, features) are the features that may pay, those of the least
    bound first; ``lower`` (levels, values) are bounds of their children; ``children`` (levels,
    arity) are those of the current feature, −1 where no point is.
    """

    node: Ints
    most: Ints
    best: Ints
    failed: Ints
    place: Ints
    ranked: Ints
    entered: Ints
    order: Ints
    bound: Ints
    lower: Ints
    children: Ints


@by_reference
class Space(NamedTuple):
    """All that the search for minima works on.

    ``slots`` is the hash table of the memo. Scratch: ``words`` and ``places`` (width,), the words
    of a set that are not 0; ``totals`` (classes + 1,), ``parts`` and ``below`` (arity,
    classes + 1), the weights of a branch, its children and a child's children; ``ranked``
    (classes,). A feature of ``a`` codes has ``a − 1`` columns, for its codes 1, 2, …: ``singles``
    (columns, classes + 1) are their weights in a branch, ``pairs`` (columns, columns, classes + 1)
    those of two columns together, where the first one is ``paired``; empty if there are too many.
    ``cells`` (values, 4) describe the children of a child. Only trees of ``most_splits`` splits or
    fewer are counted.
    """

    points: Points
    memo: Memo
    frames: Frames
    slots: Ints
    used: Ints
    words: Words
    places: Ints
    totals: Ints
    parts: Ints
    below: Ints
    ranked: Ints
    singles: Ints
    pairs: Ints
    paired: Ints
    cells: Ints
    error: int
    split: int
    min_leaf: int
    most_splits: int


def make_points(problem: Problem) -> Points:
    """The bit masks of a problem's points."""
    n = len(problem.codes)
    first = np.concatenate([[0], np.cumsum(problem.arities)]).astype(np.int64)
    masks = np.zeros((int(first[-1]), -(-n // 64)), np.uint64)
    for feature, arity in enumerate(problem.arities.tolist()):
        for code in range(arity):
            masks[first[feature] + code] = packed(problem.codes[:, feature] == code)
    lost = problem.counts.sum(axis=1) - problem.counts.max(axis=1)
    planes, classes, weights = [], [], []
    for which, column in enumerate([*problem.counts.T, lost]):
        for bit in range(int(column.max()).bit_length()):
            planes.append(packed((column >> bit) & 1 == 1))
            classes.append(which)
            weights.append(1 << bit)
    return Points(
        masks=masks,
        first=first,
        planes=np.array(planes, np.uint64),
        plane_class=np.array(classes, np.int64),
        plane_weight=np.array(weights, np.int64),
    )


def make_memo(room: int, width: int) -> Memo:
    """A memo with room for N subproblems."""
    zeros = [np.zeros(room, np.int64) for _ in range(5)]
    return Memo(np.zeros((room, width), np.uint64), np.zeros(room, np.uint64), *zeros)


def make_frames(levels: int, problem: Problem) -> Frames:
    """Frames for paths of N splits."""
    single = [np.zeros(levels, np.int64) for _ in range(7)]
    widths = (*2 * (max(1, problem.n_features),), int(problem.arities.sum()), problem.max_arity)
    return Frames(*single, *(np.zeros((levels, width), np.int64) for width in widths))


def make_space(problem: Problem, error: int, split: int, min_leaf: int, levels: int) -> Space:
    """An empty memo for a problem and prices."""
    columns = int((problem.arities - 1).sum())
    paired = columns if columns <= _MOST_PAIRED else 0
    n_classes, width = problem.counts.shape[1], -(-len(problem.codes) // 64)
    room = max(16, min(1024, _FIRST_WORDS // width))
    return Space(
        points=make_points(problem),
        memo=make_memo(room, width),
        frames=make_frames(levels, problem),
        slots=np.full(slots_for(room), -1, np.int64),
        used=np.zeros(3, np.int64),
        words=np.zeros(width, np.uint64),
        places=np.zeros(width, np.int64),
        totals=np.zeros(n_classes + 1, np.int64),
        parts=np.zeros((problem.max_arity, n_classes + 1), np.int64),
        below=np.zeros((problem.max_arity, n_classes + 1), np.int64),
        ranked=np.zeros(n_classes, np.int64),
        singles=np.zeros((columns, n_classes + 1), np.int64),
        pairs=np.zeros((paired, paired, n_classes + 1), np.int64),
        paired=np.zeros(columns, np.int64),
        cells=np.zeros((int(problem.arities.sum()), 4), np.int64),
        error=error,
        split=split,
        min_leaf=min_leaf,
        most_splits=len(problem.codes),
    )
