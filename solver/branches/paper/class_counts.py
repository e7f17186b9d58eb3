"""Counting the rows of a branch and of its children, by class."""

from __future__ import annotations

import numpy as np

from solver.branches.paper.bit_vectors import Layout
from solver.branches.paper.state import Scratch
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
def pack(layout: Layout, scratch: Scratch) -> None:
    """Gather the words of the current branch that are not zero, class by class."""
    n = 0
    for k in range(len(layout.segments) - 1):
        scratch.packed_segments[k] = n
        for at in range(layout.segments[k], layout.segments[k + 1]):
            if scratch.bits[at] != 0:
                scratch.packed[n] = scratch.bits[at]
                scratch.packed_at[n] = at
                n += 1
    scratch.packed_segments[len(layout.segments) - 1] = n


@helper
def count_children(layout: Layout, scratch: Scratch, feature: int) -> None:
    """Class weights of every child of a split of the packed branch."""
    first = layout.offsets[feature]
    arity = layout.offsets[feature + 1] - first
    for k in range(len(layout.segments) - 1):
        begin, end = scratch.packed_segments[k], scratch.packed_segments[k + 1]
        rest = 0
        for i in range(begin, end):
            rest += weigh(layout, scratch.packed[i], scratch.packed_at[i])
        for code in range(1, arity):
            total = 0
            for i in range(begin, end):
                at = scratch.packed_at[i]
                total += weigh(layout, scratch.packed[i] & layout.masks[first + code, at], at)
            scratch.counts[code, k] = total * layout.unit
            rest -= total
        scratch.counts[0, k] = rest * layout.unit
