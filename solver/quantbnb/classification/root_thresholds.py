"""Thresholds at the root that shards have evaluated, and tell each other.

Their bounds are those of the two parts of all rows, which are the same for every shard. They hold
for trees with leaves of any weight; so nothing is told where leaves must have a least weight, as
bounds are then those of wider classes of trees, which depend on the interval of the threshold. With
a limit on splits nothing is told either: a threshold has other bounds for every allotment of them.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import numpy as np

from solver.kernels.constants import Ints
from solver.kernels.jit import helper, kernel
from solver.kernels.pass_by_reference import sub_record
from solver.quantbnb.classification import state
from solver.quantbnb.classification.best_first_search import enqueue
from solver.quantbnb.classification.interval_queue import add_interval
from solver.quantbnb.classification.state import (
    AT,
    BOUND,
    CHILD,
    INTERVALS,
    PHASE,
    PICK,
    POINTS,
    QUEUED,
    A,
    B,
    Levels,
    Params,
    Part,
    Table,
)
from solver.quantbnb.classification.stump_pairs import weight_below

FEATURE, CODE, LEAST, GUESS, EACH = 0, 1, 2, 4, 8
"""Where the fields of a threshold begin in its numbers: two bounds, two first splits, and the
bounds of both parts by the feature of their first split."""

NOWHERE = -1, -1
"""Where a shard is that is at no threshold."""


def record_length(features: int) -> int:
    """How many numbers tell a threshold."""
    return EACH + 2 * features


def pack(shard: int, place: tuple[int, int], told: Sequence[Ints]) -> bytes:
    """What a shard tells: the threshold that it is at, and those that it has evaluated.

    Where it is is no more than a hint: it may die, and what it tells may be late.
    """
    head = np.array([shard, *place], np.int64)
    return zlib.compress(b"".join(part.tobytes() for part in (head, *told)), 1)


def unpack(message: bytes, features: int) -> tuple[int, tuple[int, int], Ints]:
    """The shard, where it is, and thresholds as (thresholds, numbers), which may be changed."""
    numbers = np.frombuffer(bytearray(zlib.decompress(message)), np.int64)
    shard, feature, code = numbers[:3].tolist()
    return shard, (feature, code), numbers[3:].reshape(-1, record_length(features))


def is_cut(levels: Levels) -> bool:
    """Whether the root has intervals that thresholds can cut."""
    return bool(levels.frame[0, PHASE] in (PICK, CHILD))


def evaluated(levels: Levels, told: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Ints:
    """The thresholds that are evaluated at the root and not ``told``, as (thresholds, numbers);
    they are told now."""
    frame = levels.frame[0]
    length = record_length(levels.lower.shape[1])
    if not is_cut(levels):
        return np.zeros((0, length), np.int64)
    new = ~told[: frame[POINTS]]
    new[:2] = False  # all rows are on one side
    if frame[PHASE] == CHILD:
        new[frame[AT]] = False
    told[: frame[POINTS]] |= new
    at = np.flatnonzero(new)
    parts = (
        levels.column[0, at], levels.code[0, at], levels.least[0, at], levels.guess[0, at],
        levels.each[0, at],
    )  # fmt: skip
    widths = 1, 1, 2, 4, length - EACH
    return np.hstack([p.reshape(len(at), w) for p, w in zip(parts, widths, strict=True)])


@kernel
def begin_anew(params: Params, levels: Levels, top: Ints) -> None:
    """Queue all thresholds at the root, of all shards, for a shard that helps the others.

    Both outermost thresholds are evaluated, and the best tree stays. What it was at is given up: a
    better tree from elsewhere may have ended the search in the middle of a threshold.
    """
    top[0] = 0
    s = sub_record(levels, 0)
    s.frame[POINTS], s.frame[INTERVALS], s.frame[QUEUED] = 2, 0, 0
    s.frame[PHASE] = PICK
    for feature in range(len(s.lower)):
        enqueue(params, s, feature, 0, 1, 0)


@kernel
def give_way(levels: Levels, top: Ints) -> None:
    """Queue the interval that is being cut at the root again, as another shard does the same."""
    s = sub_record(levels, 0)
    add_interval(s, s.frame[state.FEATURE], s.frame[A], s.frame[B], s.frame[BOUND])
    s.frame[PHASE] = PICK
    top[0] = 0


@helper
def _find(s: Levels, feature: int, code: int) -> int:
    """The place in the queue of the interval with a threshold inside; −1: none."""
    for place in range(s.frame[QUEUED]):
        interval = s.heap[place]
        if s.feature[interval] == feature:
            ends = s.ends[interval]
            if s.code[ends[0]] < code < s.code[ends[1]]:
                return place
    return -1


@helper
def _raise(s: Levels, place: int, bound: int) -> None:
    """Raise the bound of a queued interval."""
    moved = s.heap[place]
    s.bound[moved] = max(s.bound[moved], bound)
    while True:
        child = 2 * place + 1
        if child >= s.frame[QUEUED]:
            break
        if child + 1 < s.frame[QUEUED] and s.bound[s.heap[child + 1]] < s.bound[s.heap[child]]:
            child += 1
        if s.bound[s.heap[child]] >= s.bound[moved]:
            break
        s.heap[place] = s.heap[child]
        place = child
    s.heap[place] = moved


@helper
def _cut(table: Table, params: Params, part: Part, s: Levels, told: Ints) -> bool:
    """Cut the interval of a threshold that is told, if it is queued; False: it may be later."""
    feature, code = told[FEATURE], told[CODE]
    place = _find(s, feature, code)
    if place < 0:
        at_work = s.frame[PHASE] == CHILD and s.frame[state.FEATURE] == feature
        return not (at_work and s.code[s.frame[A]] < code < s.code[s.frame[B]])
    interval = s.heap[place]
    a, b, at = s.ends[interval, 0], s.ends[interval, 1], s.frame[POINTS]
    s.frame[POINTS] = at + 1
    s.column[at], s.code[at] = feature, code
    s.below[at] = weight_below(table, part, feature, code)
    for side in range(2):
        near = a if side == 0 else b
        s.relax[at, side] = 1
        s.least[at, side] = max(told[LEAST + side], s.least[near, side])
        s.paid[at, side] = s.least[at, side]
        for g in range(table.sizes[0]):
            known = told[EACH + side * table.sizes[0] + g]
            s.each[at, side, g] = max(known, s.each[near, side, g])
        for i in range(2):
            s.guess[at, side, i] = told[GUESS + 2 * side + i]
    s.cost[at] = params.split + s.least[at, 0] + s.least[at, 1]
    bound = s.bound[interval]
    s.ends[interval, 1] = at
    _raise(s, place, params.split + s.least[a, 0] + s.least[at, 1])
    enqueue(params, s, feature, at, b, bound)
    return True


@kernel
def cut_intervals(
    table: Table, params: Params, parts: Part, levels: Levels, told: Ints, begin: int
) -> int:
    """Cut the intervals at the root at the thresholds that are told, from ``begin`` on; where it
    stopped for lack of room.

    The feature of a threshold becomes −1, unless it lies in the interval that is being cut now.
    """
    s, part = sub_record(levels, 0), sub_record(parts, 0)
    for i in range(begin, len(told)):
        if s.frame[POINTS] + 1 >= len(s.code):
            return i
        if _cut(table, params, part, s, told[i]):
            told[i, FEATURE] = -1
    return len(told)
