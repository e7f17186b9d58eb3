"""The pair bounds for features of more than two codes, see ``pair_bounds`` for those of two."""

from __future__ import annotations

import numpy as np

from solver.branches.kernels.bounds import rank
from solver.branches.kernels.pair_bounds import column_word
from solver.branches.kernels.row_bitsets import add_weights
from solver.branches.kernels.state import (
    BLOCK,
    HAS_JOINT,
    JOINT_AT,
    N_CLASSES,
    N_COLUMNS,
    N_LIVE,
    Params,
    Scratch,
    Stack,
)
from solver.kernels.bit_table import Table
from solver.kernels.constants import ZERO
from solver.kernels.jit import helper
from solver.objective.exact import INFINITE


@helper
def count_columns(table: Table, stack: Stack, scratch: Scratch, d: int, f: int) -> None:
    """Class weights of the columns of a feature with all columns after it."""
    first = stack.first[d, f]
    begin = first + table.columns[f + 1] - table.columns[f]
    end, at = stack.head[d, N_COLUMNS], stack.head[d, JOINT_AT]
    for i in range(first, begin):
        for k in range(stack.head[d, N_CLASSES]):
            out = scratch.joint[i - first, k]
            for j in range(end - begin):
                out[j] = 0
            for w in range(stack.segments[d, k], stack.segments[d, k + 1]):
                word = column_word(table, stack, d, i, w)
                if word != ZERO:
                    for j in range(begin, end, BLOCK):
                        add_weights(table, stack, d, w, word, j, out, j - begin)
        if stack.head[d, HAS_JOINT]:
            for j in range(begin, end):
                total = 0
                for k in range(stack.head[d, N_CLASSES]):
                    total += scratch.joint[i - first, k, j - begin]
                stack.joint[at + i * end + j] = np.int32(total)


@helper
def fill_cells(table: Table, stack: Stack, scratch: Scratch, d: int, f: int, g: int) -> None:
    """Class weights of all cells of a pair of features, by subtraction from those counted."""
    codes_f, codes_g = code_count(table, f), code_count(table, g)
    first_f, first_g = stack.first[d, f], stack.first[d, g]
    offset = first_g - (first_f + codes_f - 1)
    for k in range(stack.head[d, N_CLASSES]):
        rest = scratch.totals[k]
        for u in range(1, codes_g):
            scratch.cells[0, u, k] = scratch.singles[k, first_g + u - 1]
            rest -= scratch.cells[0, u, k]
        scratch.cells[0, 0, k] = rest
        for v in range(1, codes_f):
            rest = scratch.singles[k, first_f + v - 1]
            for u in range(1, codes_g):
                count = scratch.joint[v - 1, k, offset + u - 1]
                scratch.cells[v, u, k] = count
                scratch.cells[0, u, k] -= count
                rest -= count
            scratch.cells[v, 0, k] = rest
            scratch.cells[0, 0, k] -= rest


@helper
def code_count(table: Table, f: int) -> int:
    """Number of codes of a feature."""
    return int(table.values[f + 1] - table.values[f])


@helper
def sum_cells(params: Params, scratch: Scratch, n_classes: int, codes_f: int, codes_g: int) -> None:
    """Weight and errors of every cell, and the errors that one more split would leave."""
    for v in range(codes_f):
        for u in range(codes_g):
            weight = 0
            for k in range(n_classes):
                scratch.counts[k] = scratch.cells[v, u, k]
                weight += scratch.counts[k]
            n = rank(scratch, n_classes)
            second = weight
            for i in range(min(n, params.max_arity)):
                second -= scratch.ranked[i]
            scratch.cell[0, v, u] = weight
            scratch.cell[1, v, u] = weight - (scratch.ranked[0] if n > 0 else 0)
            scratch.cell[2, v, u] = second


@helper
def bound_by(
    params: Params, scratch: Scratch, value: int, at: int, n_cells: int, across: bool, deep: bool
) -> None:
    """Bound a child by a split of it: cells ``(at, ·)``, or ``(·, at)`` if ``across``."""
    error, split, floor = params.error, params.split, scratch.floors[value]
    more = 0 if deep else INFINITE // 2
    occupied, allowed = 0, True
    errors, spared, lows, gains, largest = 0, 0, 0, 0, 0
    for c in range(n_cells):
        v, u = (c, at) if across else (at, c)
        weight, first, second = (
            scratch.cell[0, v, u],
            scratch.cell[1, v, u],
            scratch.cell[2, v, u],
        )
        occupied += weight > 0
        allowed &= weight == 0 or weight >= params.min_leaf
        low = min(error * first, split + more + min(error * second, split))
        errors += first
        spared = max(spared, first - second)
        lows += low
        gain = error * weight - low
        gains += gain
        largest = max(largest, gain)
    if occupied < 2 or not allowed or (params.support and gains - largest <= split):
        return
    stump = split + error * errors
    one = 2 * split + error * max(floor, errors - spared) + more
    two = 3 * split + error * floor + more
    bound = max(min(stump, min(one, two)), split + lows)
    scratch.pair_lower[value] = min(scratch.pair_lower[value], bound)
    scratch.stump[value] = min(scratch.stump[value], stump)


@helper
def same_partition(scratch: Scratch, codes_f: int, codes_g: int) -> bool:
    """Whether two features separate the rows of the branch alike."""
    for v in range(codes_f):
        filled = 0
        for u in range(codes_g):
            filled += scratch.cell[0, v, u] > 0
        if filled > 1:
            return False
    for u in range(codes_g):
        filled = 0
        for v in range(codes_f):
            filled += scratch.cell[0, v, u] > 0
        if filled > 1:
            return False
    return True


@helper
def pair_multiway(
    table: Table, params: Params, stack: Stack, scratch: Scratch, d: int, deep: bool
) -> None:
    """Bound all children by pairs; results in ``scratch.pair_lower`` and ``scratch.stump``."""
    n_live = stack.head[d, N_LIVE]
    for i in range(n_live):
        f = stack.live[d, i]
        for value in range(table.values[f], table.values[f + 1]):
            scratch.pair_lower[value] = INFINITE
            scratch.stump[value] = INFINITE
    for i in range(n_live):
        f = stack.live[d, i]
        codes_f = code_count(table, f)
        count_columns(table, stack, scratch, d, f)
        for other in range(i + 1, n_live):
            g = stack.live[d, other]
            codes_g = code_count(table, g)
            fill_cells(table, stack, scratch, d, f, g)
            sum_cells(params, scratch, stack.head[d, N_CLASSES], codes_f, codes_g)
            if params.duplicates and same_partition(scratch, codes_f, codes_g):
                scratch.duplicate[g] = 1
            for v in range(codes_f):
                bound_by(params, scratch, table.values[f] + v, v, codes_g, False, deep)
            for u in range(codes_g):
                bound_by(params, scratch, table.values[g] + u, u, codes_f, True, deep)
