"""Rows and errors of the regions of a rule: as leaves, and with their best stump."""

from __future__ import annotations

from solver.kernels.constants import Ints, Words
from solver.kernels.jit import helper, popcount
from solver.objective.exact_objective import INFINITE
from solver.proper.state import EXACT, RELAXED, RULES, Levels, Params, Rows, Scratch


@helper
def leaf_errors(rows: Rows, inside: Ints) -> int:
    """Errors of a leaf, from its rows by plane."""
    total, most = 0, 0
    for c in range(len(rows.starts) - 1):
        weight = 0
        for p in range(rows.starts[c], rows.starts[c + 1]):
            weight += rows.values[p] * inside[p]
        total += weight
        most = max(most, weight)
    return total - most


@helper
def total_weight(rows: Rows, inside: Ints) -> int:
    total = 0
    for p in range(len(inside)):
        total += rows.values[p] * inside[p]
    return total


@helper
def count_rows(rows: Rows, region: Words, into: Ints) -> None:
    """Rows of a region by plane."""
    for p in range(len(into)):
        number = 0
        for w in range(len(region)):
            number += popcount(region[w] & rows.planes[p, w])
        into[p] = number


@helper
def count_next(rows: Rows, levels: Levels, at: int, number: int, mask: Words) -> None:
    """The rows in a mask by plane, for the rule of the given number."""
    count_rows(rows, mask, levels.inside[at, number])


@helper
def stump_errors(rows: Rows, scratch: Scratch, inside: Ints) -> int:
    """Errors of a split into these rows and the others of ``scratch.whole``."""
    if len(inside) == 2 and len(rows.starts) == 3 and rows.starts[1] == 1:
        zero, one = inside[0], inside[1]
        zeros, ones = scratch.whole[0] - zero, scratch.whole[1] - one
        return _fewer(rows, zero, one) + _fewer(rows, zeros, ones)
    for p in range(len(inside)):
        scratch.other[p] = scratch.whole[p] - inside[p]
    return leaf_errors(rows, inside) + leaf_errors(rows, scratch.other)


@helper
def _fewer(rows: Rows, zero: int, one: int) -> int:
    return int(min(rows.values[0] * zero, rows.values[1] * one))


@helper
def sweep_stumps(
    params: Params, rows: Rows, levels: Levels, scratch: Scratch, at: int, chosen: int
) -> None:
    """The best stumps of both sides of a rule, and how many rows it shares with each other rule.

    The dichotomies of a side are those of the region, restricted to it. The rows of a mask above
    are counted; the rest of it is below.
    """
    mask = levels.masks[at, chosen]
    planes, words = scratch.side.shape
    for p in range(planes):
        for w in range(words):
            scratch.side[p, w] = mask[w] & rows.planes[p, w]
    inside, whole, above, below = levels.inside[at], scratch.whole, scratch.above, scratch.below
    count_rows(rows, levels.region[at], whole)
    for p in range(planes):
        above[p] = inside[chosen, p]
        below[p] = whole[p] - above[p]
    stump = scratch.stump
    stump[0], stump[1], stump[2], stump[3] = INFINITE, -1, INFINITE, -1
    if planes == 2 and len(rows.starts) == 3 and rows.starts[1] == 1:
        _sweep_pair(params, rows, levels, scratch, at)
    else:
        _sweep_any(params, rows, levels, scratch, at)
    for side in range(2):
        if stump[2 * side] < INFINITE:
            stump[2 * side] = params.split + params.error * stump[2 * side]


@helper
def _least(params: Params, frame: Ints) -> int:
    """The smallest size of a leaf of a side of the current rule."""
    return params.min_leaf if frame[EXACT] and not frame[RELAXED] else 1


@helper
def _sweep_pair(params: Params, rows: Rows, levels: Levels, scratch: Scratch, at: int) -> None:
    """As :func:`sweep_stumps`, of two classes whose rows all have the same weight."""
    masks, inside, side, stump = levels.masks[at], levels.inside[at], scratch.side, scratch.stump
    words, v0, v1 = masks.shape[1], rows.values[0], rows.values[1]
    above0, above1 = scratch.above[0], scratch.above[1]
    below0, below1 = scratch.below[0], scratch.below[1]
    least = _least(params, levels.frame[at])
    best_above, best_below = stump[0], stump[2]
    for q in range(levels.frame[at, RULES]):
        a0, a1 = 0, 0
        for w in range(words):
            a0 += popcount(masks[q, w] & side[0, w])
            a1 += popcount(masks[q, w] & side[1, w])
        b0, b1 = inside[q, 0] - a0, inside[q, 1] - a1
        c0, c1, d0, d1 = above0 - a0, above1 - a1, below0 - b0, below1 - b1
        weight = v0 * a0 + v1 * a1
        levels.shared[q] = weight
        errors = min(v0 * a0, v1 * a1) + min(v0 * c0, v1 * c1)
        if errors < best_above and weight >= least and v0 * c0 + v1 * c1 >= least:
            best_above = errors
            stump[1] = q
        errors = min(v0 * b0, v1 * b1) + min(v0 * d0, v1 * d1)
        if errors < best_below and v0 * b0 + v1 * b1 >= least and v0 * d0 + v1 * d1 >= least:
            best_below = errors
            stump[3] = q
    stump[0], stump[2] = best_above, best_below


@helper
def _sweep_any(params: Params, rows: Rows, levels: Levels, scratch: Scratch, at: int) -> None:
    """As :func:`sweep_stumps`, of any classes and weights."""
    masks, inside, stump = levels.masks[at], levels.inside[at], scratch.stump
    planes, words = scratch.side.shape
    counts, least = scratch.counts, _least(params, levels.frame[at])
    for q in range(levels.frame[at, RULES]):
        for p in range(planes):
            number = 0
            for w in range(words):
                number += popcount(masks[q, w] & scratch.side[p, w])
            counts[p] = number
        levels.shared[q] = total_weight(rows, counts)
        for side in range(2):
            if side == 1:
                for p in range(planes):
                    counts[p] = inside[q, p] - counts[p]
            part = scratch.above if side == 0 else scratch.below
            for p in range(planes):
                scratch.other[p] = part[p] - counts[p]
            if total_weight(rows, counts) >= least and total_weight(rows, scratch.other) >= least:
                errors = leaf_errors(rows, counts) + leaf_errors(rows, scratch.other)
                if errors < stump[2 * side]:
                    stump[2 * side] = errors
                    stump[2 * side + 1] = q
