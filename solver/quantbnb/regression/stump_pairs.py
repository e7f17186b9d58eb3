"""Kernels on parts: halves of a part, and the best stumps of both sides of several cuts."""

from __future__ import annotations

import numpy as np

from solver.kernels.constants import Floats
from solver.kernels.jit import helper
from solver.quantbnb.regression.simd import (
    LANES,
    sum_lanes,
    sweep_many,
    sweep_one,
    sweep_three,
    sweep_two,
)
from solver.quantbnb.regression.state import INFINITE_COST, PASSES, Params, Parts, Scratch


@helper
def halve(
    parts: Parts, scratch: Scratch, level: int, rows: int, feature: int, code: int, side: int
) -> int:
    """Make the rows left (side 0) or right (side 1) of a cut the part of the next level; return
    their number."""
    old_codes, new_codes = parts.codes[level], parts.codes[level + 1]
    old_order, new_order = parts.order[level], parts.order[level + 1]
    old_sums, new_sums = parts.sums[level], parts.sums[level + 1]
    old_squares, new_squares = parts.squares[level], parts.squares[level + 1]
    total, moved = parts.total[level + 1], scratch.moved
    width, features = old_sums.shape[1], old_codes.shape[0]
    kept = 0
    for q in range(width + 2):
        total[q] = 0.0
    for row in range(rows):
        moved[row] = -1
        if (old_codes[feature, row] > code) == (side == 1):
            moved[row] = kept
            for q in range(width):
                new_sums[kept, q] = old_sums[row, q]
                total[q] += old_sums[row, q]
            for q in range(2):
                new_squares[kept, q] = old_squares[row, q]
                total[width + q] += old_squares[row, q]
            kept += 1
    for g in range(features):
        for row in range(rows):
            if moved[row] >= 0:
                new_codes[g, moved[row]] = old_codes[g, row]
        at, last = 0, -1
        for i in range(rows):
            row = moved[old_order[g, i] >> 1]
            if row >= 0:
                if at > 0 and new_codes[g, row] != last:
                    new_order[g, at - 1] |= 1
                new_order[g, at] = row << 1
                last = new_codes[g, row]
                at += 1
        if at > 0:
            new_order[g, at - 1] |= 1
    return kept


@helper
def leaf_cost(sums: Floats, outputs: int) -> float:
    """Squared error of a leaf by its sums: Σ w|y|² − |Σ wy|² / Σ w."""
    if sums[0] <= 0.0:
        return 0.0
    square = 0.0
    for q in range(1, outputs + 1):
        square += sums[q] * sums[q]
    return float(max(0.0, (sums[outputs + 1] - square / sums[0]) + sums[outputs + 2]))


@helper
def _sweep(
    parts: Parts, params: Params, scratch: Scratch, level: int, rows: int, g: int, least: Floats,
    gains: Floats,
) -> None:  # fmt: skip
    order, sums = parts.order[level, g], parts.sums[level]
    width, outputs = sums.shape[1], params.outputs
    if outputs == 1:
        sweep_one(
            order, 0, rows, scratch.bits, sums, width, outputs, scratch.totals, least,
            scratch.sums, gains,
        )  # fmt: skip
    elif outputs == 2:
        sweep_two(
            order, 0, rows, scratch.bits, sums, width, outputs, scratch.totals, least,
            scratch.sums, gains,
        )  # fmt: skip
    elif outputs == 3:
        sweep_three(
            order, 0, rows, scratch.bits, sums, width, outputs, scratch.totals, least,
            scratch.sums, gains,
        )  # fmt: skip
    else:
        sweep_many(
            order, 0, rows, scratch.bits, sums, width, outputs, scratch.totals, least,
            scratch.sums, gains,
        )  # fmt: skip


@helper
def mark(
    parts: Parts, scratch: Scratch, level: int, rows: int, feature: int, code: int, lane: int
) -> None:
    """Make the rows left of a cut a lane; lane 0 first: it clears the others."""
    codes, bits = parts.codes[level, feature], scratch.bits
    if lane == 0:
        for row in range(rows):
            bits[row] = np.uint8(codes[row] <= code)
    else:
        for row in range(rows):
            bits[row] |= np.uint8(codes[row] <= code) << np.uint8(lane)


@helper
def _sum_sides(parts: Parts, params: Params, scratch: Scratch, level: int, rows: int) -> None:
    """Sums of both sides of the marked cuts, and their costs as leaves."""
    totals, squares, total = scratch.totals, scratch.squares, parts.total[level]
    outputs = params.outputs
    width = outputs + 1
    sum_lanes(scratch.bits, rows, parts.sums[level], width, totals[0])
    sum_lanes(scratch.bits, rows, parts.squares[level], 2, squares)
    for k in range(LANES):
        for side in range(2):
            if side == 1:
                for q in range(width):
                    totals[1, q, k] = total[q] - totals[0, q, k]
                for q in range(2):
                    squares[q, k] = total[width + q] - squares[q, k]
            square = 0.0
            for q in range(1, width):
                square += totals[side, q, k] * totals[side, q, k]
            leaf = (squares[0, k] - square / max(totals[side, 0, k], 1.0)) + squares[1, k]
            scratch.leaf[side, k] = max(0.0, leaf)
            allowed = totals[side, 0, k] >= params.least
            scratch.cost[side, k] = scratch.leaf[side, k] if allowed else INFINITE_COST


@helper
def _most_promising(params: Params, scratch: Scratch, lanes: int, each: Floats) -> int:
    """The feature whose bounds of the halves are the least in sum."""
    best, found = np.inf, 0
    for g in range(params.features):
        bounds = 0.0
        for k in range(lanes):
            bounds += each[scratch.point[k], 0, g] + each[scratch.point[k], 1, g]
        if bounds < best:
            best, found = bounds, g
    return found


@helper
def evaluate(
    parts: Parts, params: Params, scratch: Scratch, level: int, rows: int, lanes: int,
    each: Floats, low: Floats, relax: Floats,
) -> None:  # fmt: skip
    """Best stumps of both sides of the ``lanes`` marked cuts.

    Parameters
    ----------
    each : (points, 2, features)
        In and out: bounds of the halves by the feature of their split.
    low : (points, 2)
        In and out: bounds of the halves.
    relax : (points, 2)
        Least weight of a leaf for these bounds.

    Notes
    -----
    ``scratch.cost`` becomes the cost of the best stump or leaf of each half, if it is below
    the cap. A feature that is known to be no better is skipped.
    """
    _sum_sides(parts, params, scratch, level, rows)
    relaxed = 1 if params.least > 1.0 else 0
    for k in range(LANES):
        for side in range(2):
            scratch.least[0, side, k] = params.least
            scratch.least[1, side, k] = relax[scratch.point[k], side] if k < lanes else params.least
    first = _most_promising(params, scratch, lanes, each)
    for turn in range(params.features):
        # The feature of least bound comes first: it lowers the costs that others must beat.
        g = first if turn == 0 else turn - 1 if turn <= first else turn
        wanted = False
        for k in range(lanes):
            for side in range(2):
                known = each[scratch.point[k], side, g]
                most = min(scratch.cost[side, k], scratch.caps[side, k])
                wanted |= known < most
        if not wanted:
            continue
        scratch.done[PASSES] += 1
        for i in range(1 + relaxed):
            _sweep(parts, params, scratch, level, rows, g, scratch.least[i], scratch.gains[i])
        for k in range(lanes):
            for side in range(2):
                at, leaf = scratch.point[k], scratch.leaf[side, k]
                bound = params.split + max(0.0, leaf - scratch.gains[relaxed, side, k])
                each[at, side, g] = max(each[at, side, g], bound)
                if scratch.gains[0, side, k] > 0.0:
                    cost = params.split + max(0.0, leaf - scratch.gains[0, side, k])
                    scratch.cost[side, k] = min(scratch.cost[side, k], cost)
    for k in range(lanes):
        at = scratch.point[k]
        for side in range(2):
            least = scratch.leaf[side, k]
            for g in range(params.features):
                least = min(least, each[at, side, g])
            low[at, side] = max(low[at, side], least)
