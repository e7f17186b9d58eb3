"""The queue of intervals of a level: the one of the least bound comes first."""

from __future__ import annotations

from solver.kernels.jit import helper
from solver.quantbnb.classification.state import INTERVALS, LEFT, QUEUED, Levels


@helper
def _rise(s: Levels, at: int, bound: int) -> int:
    """Move all intervals above a place of the queue down that have greater bounds than ``bound``;
    the place that is free then."""
    while at > 0:
        parent = (at - 1) // 2
        if s.bound[s.heap[parent]] <= bound:
            break
        s.heap[at] = s.heap[parent]
        at = parent
    return at


@helper
def add_interval(s: Levels, feature: int, a: int, b: int, bound: int) -> None:
    """Queue an interval, with the present allotment of splits."""
    interval = s.frame[INTERVALS]
    s.frame[INTERVALS] = interval + 1
    s.feature[interval], s.left[interval] = feature, s.frame[LEFT]
    s.ends[interval, 0], s.ends[interval, 1] = a, b
    s.bound[interval] = bound
    at = s.frame[QUEUED]
    s.frame[QUEUED] = at + 1
    s.heap[_rise(s, at, bound)] = interval


@helper
def take_interval(s: Levels, place: int) -> int:
    """Take the interval at a place in the queue; the first one has the least bound."""
    taken: int = s.heap[place]
    last = s.frame[QUEUED] - 1
    s.frame[QUEUED] = last
    moved = s.heap[last]
    bound = s.bound[moved]
    at = _rise(s, place, bound)
    while True:
        child = 2 * at + 1
        if child >= last:
            break
        if child + 1 < last and s.bound[s.heap[child + 1]] < s.bound[s.heap[child]]:
            child += 1
        if s.bound[s.heap[child]] >= bound:
            break
        s.heap[at] = s.heap[child]
        at = child
    s.heap[at] = moved
    return taken
