"""What further splits could make of every child, from counts of pairs of features.

The class weights of ``f = v and g = u`` tell, before any child is created, what the split ``g``
would make of the child ``f = v``. So every child's best single split is known exactly, and a
larger tree of the child is bounded through the four cells of each pair: a purification bound of
two steps.
"""

from __future__ import annotations

import numpy as np

from solver.branches.gather import ZERO, add_weights, columns_at
from solver.branches.state import (
    BLOCK,
    HAS_JOINT,
    INFINITE,
    JOINT_AT,
    N_CLASSES,
    N_COLUMNS,
    Rules,
    Scratch,
    Stack,
)
from solver.branches.table import Table
from solver.jit import inlined
from solver.lanes import (
    lanes_add,
    lanes_copy,
    lanes_fill,
    lanes_least,
    lanes_max,
    lanes_min,
    lanes_narrow,
    lanes_sub,
)

# Rows of ``scratch.work``, BLOCK numbers each. A constant distance between the rows lets the
# compiler prove that they do not overlap, and so use vector instructions.
N11 = 0  # weight of one class in the cells f = 1, g = 1; 1, 0; 0, 1; 0, 0
N10 = 1 * BLOCK
N01 = 2 * BLOCK
N00 = 3 * BLOCK
WEIGHT = 4 * BLOCK  # weight of the four cells
MOST = 8 * BLOCK  # of their largest class
NEXT = 12 * BLOCK  # of their second largest class
LOW = 16 * BLOCK  # bounds on their subtrees
VALUE = 20 * BLOCK  # bounds on the children f = 1, f = 0, g = 1, g = 0
STUMPS = 24 * BLOCK  # their single splits
FLOOR = 28 * BLOCK  # unavoidable errors of the child in hand
SPARE = 29 * BLOCK


@inlined
def count_cells(table: Table, stack: Stack, scratch: Scratch, d: int, i: int, begin: int) -> None:
    """Class weights of the cells of column ``i`` with a block of columns, summed up."""
    work = scratch.work
    for row in range(WEIGHT, NEXT + 4 * BLOCK, BLOCK):
        lanes_fill(work, row, 0)
    for k in range(stack.head[d, N_CLASSES]):
        lanes_fill(work, N11, 0)
        for w in range(stack.segments[d, k], stack.segments[d, k + 1]):
            word = column_word(table, stack, d, i, w)
            if word != ZERO:
                add_weights(table, stack, d, w, word, begin, work, N11)
        single, total = scratch.singles[k, i], scratch.totals[k]
        lanes_fill(work, N10, single)
        lanes_sub(work, N10, work, N11)
        lanes_copy(work, N01, scratch.singles[k], begin)
        lanes_sub(work, N01, work, N11)
        lanes_fill(work, N00, total - single)
        lanes_sub(work, N00, work, N01)
        for cell in range(4):
            at = cell * BLOCK
            lanes_add(work, WEIGHT + at, work, N11 + at)
            lanes_copy(work, SPARE, work, N11 + at)
            lanes_min(work, SPARE, work, MOST + at)
            lanes_max(work, NEXT + at, work, SPARE)
            lanes_max(work, MOST + at, work, N11 + at)


@inlined
def column_word(table: Table, stack: Stack, d: int, i: int, w: int) -> np.uint64:
    """One word of a column of the frame."""
    at = columns_at(table, stack, d) + w * stack.head[d, N_COLUMNS]
    return np.uint64(stack.words[at + i])


@inlined
def bound_cells(rules: Rules, scratch: Scratch, deep: bool) -> None:
    """Bound the subtree of every cell; INFINITE where no split should make such a cell."""
    work, error, split = scratch.work, rules.error, rules.split
    more = 0 if deep else INFINITE // 2
    least = split if rules.support else -INFINITE
    for cell in range(4):
        for j in range(BLOCK):
            weight = work[WEIGHT + cell * BLOCK + j]
            errors = weight - work[MOST + cell * BLOCK + j]
            second = errors - work[NEXT + cell * BLOCK + j]
            low = min(error * errors, split + more + min(error * second, split))
            pays = (weight >= rules.min_leaf) & (error * weight - low > least)
            work[LOW + cell * BLOCK + j] = low if pays else INFINITE


@inlined
def bound_child(rules: Rules, scratch: Scratch, deep: bool, a: int, b: int, child: int) -> None:
    """Bound a child by each split of it into the cells ``a`` and ``b``."""
    work, error, split = scratch.work, rules.error, rules.split
    more = 0 if deep else INFINITE // 2
    for j in range(BLOCK):
        low_a, low_b = work[LOW + a * BLOCK + j], work[LOW + b * BLOCK + j]
        errors_a = work[WEIGHT + a * BLOCK + j] - work[MOST + a * BLOCK + j]
        errors_b = work[WEIGHT + b * BLOCK + j] - work[MOST + b * BLOCK + j]
        second_a = errors_a - work[NEXT + a * BLOCK + j]
        second_b = errors_b - work[NEXT + b * BLOCK + j]
        floor = work[FLOOR + j]
        stump = split + error * (errors_a + errors_b)
        one = 2 * split + error * max(floor, min(errors_a + second_b, second_a + errors_b)) + more
        two = 3 * split + error * floor + more
        value = max(min(stump, min(one, two)), split + low_a + low_b)
        pays = (low_a < INFINITE) & (low_b < INFINITE)
        work[VALUE + child * BLOCK + j] = value if pays else INFINITE
        work[STUMPS + child * BLOCK + j] = stump if pays else INFINITE


@inlined
def note_duplicates(stack: Stack, scratch: Scratch, d: int, begin: int, n: int) -> None:
    """Mark the columns that part the branch as the first of the pair does."""
    work = scratch.work
    lanes_copy(work, SPARE, work, WEIGHT + BLOCK)
    lanes_add(work, SPARE, work, WEIGHT + 2 * BLOCK)
    lanes_copy(work, N11, work, WEIGHT)
    lanes_add(work, N11, work, WEIGHT + 3 * BLOCK)
    lanes_min(work, SPARE, work, N11)
    if lanes_least(work, SPARE) > 0:
        return
    for j in range(n):
        if work[SPARE + j] == 0:
            scratch.duplicate[stack.live[d, begin + j]] = 1


@inlined
def bound_block(
    table: Table,
    rules: Rules,
    stack: Stack,
    scratch: Scratch,
    d: int,
    i: int,
    begin: int,
    end: int,
    deep: bool,
) -> None:
    """Let column ``i`` and each of a block of columns split each other's children."""
    n, last, work = end - begin, len(scratch.column_of), scratch.work
    count_cells(table, stack, scratch, d, i, begin)
    if stack.head[d, HAS_JOINT]:
        # What is written beyond the last column is overwritten by the next row.
        at = stack.head[d, JOINT_AT] + i * stack.head[d, N_COLUMNS] + begin
        lanes_narrow(stack.joint, at, work, WEIGHT)
    if rules.duplicates:
        note_duplicates(stack, scratch, d, begin, n)
    bound_cells(rules, scratch, deep)
    for code in range(2):
        lanes_fill(work, FLOOR, scratch.floors_by_code[code, i])
        bound_child(rules, scratch, deep, 2 - 2 * code, 3 - 2 * code, 1 - code)
    for code in range(2):
        lanes_copy(work, FLOOR, scratch.floors_by_code[code], begin)
        bound_child(rules, scratch, deep, 1 - code, 3 - code, 3 - code)
    for row in range(VALUE, STUMPS + 4 * BLOCK, BLOCK):
        for j in range(n, BLOCK):
            work[row + j] = INFINITE
    for code in range(2):
        row, at = (1 - code) * BLOCK, code * last
        lower, stump = scratch.pair_lower, scratch.stump
        lower[at + i] = min(lower[at + i], lanes_least(work, VALUE + row))
        stump[at + i] = min(stump[at + i], lanes_least(work, STUMPS + row))
        lanes_min(lower, at + begin, work, VALUE + 2 * BLOCK + row)
        lanes_min(stump, at + begin, work, STUMPS + 2 * BLOCK + row)


@inlined
def pair_binary(
    table: Table, rules: Rules, stack: Stack, scratch: Scratch, d: int, deep: bool
) -> None:
    """Bound all children by pairs, where every feature has two codes.

    Columns and live features then are the same, and code ``c`` of column ``j`` has its results in
    ``scratch.pair_lower[c · columns + j]`` and ``scratch.stump`` likewise.
    """
    n_columns, last = stack.head[d, N_COLUMNS], len(scratch.column_of)
    for code in range(2):
        for j in range(n_columns):
            scratch.pair_lower[code * last + j] = INFINITE
            scratch.stump[code * last + j] = INFINITE
            scratch.floors_by_code[code, j] = scratch.floors[table.values[stack.live[d, j]] + code]
    for i in range(n_columns):
        begin = i + 1
        while begin < n_columns:
            end = min(n_columns, begin + BLOCK)
            bound_block(table, rules, stack, scratch, d, i, begin, end, deep)
            begin = end
