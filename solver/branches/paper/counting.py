"""Counting the rows of a branch and of its children, by class."""

from __future__ import annotations

import numpy as np

from solver.branches.paper.layout import Layout
from solver.branches.paper.pool import Ints, Scratch
from solver.jit import inlined, kernel, popcount


@inlined
def weigh(layout: Layout, word: np.uint64, at: int) -> int:
    """Weight of the rows in a word, in units."""
    planes = layout.planes.shape[0]
    if planes == 0:
        return popcount(word)
    total = 0
    for plane in range(planes):
        total += popcount(word & layout.planes[plane, at]) << plane
    return total


@inlined
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


@inlined
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


@inlined
def unavoidable(layout: Layout, scratch: Scratch, value: int) -> int:
    """Errors that no tree avoids on a child of the packed branch (equivalent points)."""
    total = 0
    for i in range(scratch.packed_segments[len(layout.segments) - 1]):
        at = scratch.packed_at[i]
        word = scratch.packed[i] & layout.masks[value, at] & layout.minority[at]
        total += weigh(layout, word, at)
    return total * layout.unit


@inlined
def rank(scratch: Scratch, code: int) -> int:
    """Sort the positive class weights of a child, largest first; their number."""
    n = 0
    for k in range(scratch.counts.shape[1]):
        value = scratch.counts[code, k]
        if value > 0:
            i = n
            while i > 0 and scratch.ranked[i - 1] < value:
                scratch.ranked[i] = scratch.ranked[i - 1]
                i -= 1
            scratch.ranked[i] = value
            n += 1
    return n


@inlined
def gather_children(layout: Layout, scratch: Scratch) -> None:
    """Intersect the packed branch with every code of every feature."""
    for value in range(len(layout.masks)):
        for i in range(scratch.packed_segments[len(layout.segments) - 1]):
            at = scratch.packed_at[i]
            scratch.parts[value, i] = scratch.packed[i] & layout.masks[value, at]


@inlined
def count_pair(layout: Layout, scratch: Scratch, f: int, g: int) -> None:
    """Class weights of every pair of codes of two features, from the gathered children."""
    first_f, first_g = layout.offsets[f], layout.offsets[g]
    arity_f, arity_g = layout.offsets[f + 1] - first_f, layout.offsets[g + 1] - first_g
    for k in range(len(layout.segments) - 1):
        begin, end = scratch.packed_segments[k], scratch.packed_segments[k + 1]
        for u in range(arity_g):
            scratch.joint[0, u, k] = scratch.singles[first_g + u, k]
        for v in range(1, arity_f):
            rest = scratch.singles[first_f + v, k]
            for u in range(1, arity_g):
                total = 0
                for i in range(begin, end):
                    word = scratch.parts[first_f + v, i] & scratch.parts[first_g + u, i]
                    total += weigh(layout, word, scratch.packed_at[i])
                total *= layout.unit
                scratch.joint[v, u, k] = total
                scratch.joint[0, u, k] -= total
                rest -= total
            scratch.joint[v, 0, k] = rest
            scratch.joint[0, 0, k] -= rest


@kernel
def split_counts(layout: Layout, scratch: Scratch, out: Ints) -> None:
    """Class weights (values, classes) of every code of every feature in the current branch."""
    pack(layout, scratch)
    for feature in range(len(layout.offsets) - 1):
        first = layout.offsets[feature]
        count_children(layout, scratch, feature)
        for code in range(layout.offsets[feature + 1] - first):
            for k in range(len(layout.segments) - 1):
                out[first + code, k] = scratch.counts[code, k]
