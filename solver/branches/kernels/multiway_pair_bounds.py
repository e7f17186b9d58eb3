"""The bounds of ``feature_pair_bounds`` for features of more than two codes."""

from __future__ import annotations

import numpy as np

from solver.branches.kernels import stack_frame
from solver.branches.kernels.bounds import rank
from solver.branches.kernels.branch_rows import add_weights, columns_at
from solver.branches.kernels.state import BLOCK, Scratch, Space
from solver.kernels.constants import ZERO
from solver.kernels.jit import helper
from solver.kernels.packed_rows import Table
from solver.objective.exact_objective import INFINITE


@helper
def column_word(s: Space, d: int, i: int, w: int) -> np.uint64:
    """One word of a column of the frame."""
    at = columns_at(s, d) + w * s.stack.head[d, stack_frame.N_COLUMNS]
    return np.uint64(s.stack.words[at + i])


@helper
def count_columns(s: Space, d: int, f: int) -> None:
    """Class weights of the columns of a feature with all columns after it."""
    first = s.stack.first[d, f]
    begin = first + s.table.columns[f + 1] - s.table.columns[f]
    end, at = s.stack.head[d, stack_frame.N_COLUMNS], s.stack.head[d, stack_frame.JOINT_AT]
    for i in range(first, begin):
        for k in range(s.stack.head[d, stack_frame.N_CLASSES]):
            out = s.scratch.joint[i - first, k]
            for j in range(end - begin):
                out[j] = 0
            for w in range(s.stack.segments[d, k], s.stack.segments[d, k + 1]):
                word = column_word(s, d, i, w)
                if word != ZERO:
                    for j in range(begin, end, BLOCK):
                        add_weights(s, d, w, word, j, out, j - begin)
        if s.stack.head[d, stack_frame.HAS_JOINT]:
            for j in range(begin, end):
                total = 0
                for k in range(s.stack.head[d, stack_frame.N_CLASSES]):
                    total += s.scratch.joint[i - first, k, j - begin]
                s.stack.joint[at + i * end + j] = np.int32(total)


@helper
def fill_cells(s: Space, d: int, f: int, g: int) -> None:
    """Class weights of all cells of a pair of features, by subtraction from those counted."""
    codes_f, codes_g = code_count(s.table, f), code_count(s.table, g)
    first_f, first_g = s.stack.first[d, f], s.stack.first[d, g]
    offset = first_g - (first_f + codes_f - 1)
    for k in range(s.stack.head[d, stack_frame.N_CLASSES]):
        rest = s.scratch.totals[k]
        for u in range(1, codes_g):
            s.scratch.cells[0, u, k] = s.scratch.singles[k, first_g + u - 1]
            rest -= s.scratch.cells[0, u, k]
        s.scratch.cells[0, 0, k] = rest
        for v in range(1, codes_f):
            rest = s.scratch.singles[k, first_f + v - 1]
            for u in range(1, codes_g):
                count = s.scratch.joint[v - 1, k, offset + u - 1]
                s.scratch.cells[v, u, k] = count
                s.scratch.cells[0, u, k] -= count
                rest -= count
            s.scratch.cells[v, 0, k] = rest
            s.scratch.cells[0, 0, k] -= rest


@helper
def code_count(table: Table, f: int) -> int:
    """Number of codes of a feature."""
    return int(table.values[f + 1] - table.values[f])


@helper
def sum_cells(s: Space, n_classes: int, codes_f: int, codes_g: int) -> None:
    """Weight and errors of every cell, and the errors that one more split would leave."""
    for v in range(codes_f):
        for u in range(codes_g):
            weight = 0
            for k in range(n_classes):
                s.scratch.counts[k] = s.scratch.cells[v, u, k]
                weight += s.scratch.counts[k]
            n = rank(s.scratch, n_classes)
            second = weight
            for i in range(min(n, s.params.max_arity)):
                second -= s.scratch.ranked[i]
            s.scratch.cell[0, v, u] = weight
            s.scratch.cell[1, v, u] = weight - (s.scratch.ranked[0] if n > 0 else 0)
            s.scratch.cell[2, v, u] = second


@helper
def bound_by(s: Space, value: int, at: int, n_cells: int, across: bool, deep: bool) -> None:
    """Bound a child by a split of it: cells ``(at, ·)``, or ``(·, at)`` if ``across``."""
    error, split, floor = s.params.error, s.params.split, s.scratch.floors[value]
    more = 0 if deep else INFINITE // 2
    occupied, allowed = 0, True
    errors, spared, lows, gains, largest = 0, 0, 0, 0, 0
    for c in range(n_cells):
        v, u = (c, at) if across else (at, c)
        weight, first, second = (
            s.scratch.cell[0, v, u],
            s.scratch.cell[1, v, u],
            s.scratch.cell[2, v, u],
        )
        occupied += weight > 0
        allowed &= weight == 0 or weight >= s.params.min_leaf
        low = min(error * first, split + more + min(error * second, split))
        errors += first
        spared = max(spared, first - second)
        lows += low
        gain = error * weight - low
        gains += gain
        largest = max(largest, gain)
    if occupied < 2 or not allowed or (s.params.support and gains - largest <= split):
        return
    stump = split + error * errors
    one = 2 * split + error * max(floor, errors - spared) + more
    two = 3 * split + error * floor + more
    bound = max(min(stump, min(one, two)), split + lows)
    s.scratch.pair_lower[value] = min(s.scratch.pair_lower[value], bound)
    s.scratch.stump[value] = min(s.scratch.stump[value], stump)


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
def pair_multiway(s: Space, d: int, deep: bool) -> None:
    """Bound all children by pairs; results in ``scratch.pair_lower`` and ``scratch.stump``."""
    n_live = s.stack.head[d, stack_frame.N_LIVE]
    for i in range(n_live):
        f = s.stack.live[d, i]
        for value in range(s.table.values[f], s.table.values[f + 1]):
            s.scratch.pair_lower[value] = INFINITE
            s.scratch.stump[value] = INFINITE
    for i in range(n_live):
        f = s.stack.live[d, i]
        codes_f = code_count(s.table, f)
        count_columns(s, d, f)
        for other in range(i + 1, n_live):
            g = s.stack.live[d, other]
            codes_g = code_count(s.table, g)
            fill_cells(s, d, f, g)
            sum_cells(s, s.stack.head[d, stack_frame.N_CLASSES], codes_f, codes_g)
            if s.params.duplicates and same_partition(s.scratch, codes_f, codes_g):
                s.scratch.duplicate[g] = 1
            for v in range(codes_f):
                bound_by(s, s.table.values[f] + v, v, codes_g, False, deep)
            for u in range(codes_g):
                bound_by(s, s.table.values[g] + u, u, codes_f, True, deep)
