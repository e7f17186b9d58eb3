"""Counting the rows of a branch and of its children, by class."""

from __future__ import annotations

import numpy as np

from solver.branches.paper.bit_vectors import Layout
from solver.branches.paper.state import Space
from solver.kernels.jit import helper, popcount


@helper
def weigh(layout: Layout, word: np.uint64, at: int) -> int:
    """Weight of the rows in a word, in units."""
    planes = layout.planes.shape[0]
    if planes == 0:
        return popcount(word)
    total = 0
    for plane in range(planes):
        total += popcount(word & layout.planes[plane, at]) << plane
    return total


@helper
def pack(s: Space) -> None:
    """Gather the words of the current branch that are not zero, class by class."""
    n = 0
    for k in range(len(s.layout.segments) - 1):
        s.scratch.packed_segments[k] = n
        for at in range(s.layout.segments[k], s.layout.segments[k + 1]):
            if s.scratch.bits[at] != 0:
                s.scratch.packed[n] = s.scratch.bits[at]
                s.scratch.packed_at[n] = at
                n += 1
    s.scratch.packed_segments[len(s.layout.segments) - 1] = n


@helper
def count_children(s: Space, feature: int) -> None:
    """Class weights of every child of a split of the packed branch."""
    first = s.layout.offsets[feature]
    arity = s.layout.offsets[feature + 1] - first
    for k in range(len(s.layout.segments) - 1):
        begin, end = s.scratch.packed_segments[k], s.scratch.packed_segments[k + 1]
        rest = 0
        for i in range(begin, end):
            rest += weigh(s.layout, s.scratch.packed[i], s.scratch.packed_at[i])
        for code in range(1, arity):
            total = 0
            for i in range(begin, end):
                at = s.scratch.packed_at[i]
                total += weigh(s.layout, s.scratch.packed[i] & s.layout.masks[first + code, at], at)
            s.scratch.counts[code, k] = total * s.layout.unit
            rest -= total
        s.scratch.counts[0, k] = rest * s.layout.unit
