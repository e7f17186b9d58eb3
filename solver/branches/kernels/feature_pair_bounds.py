"""Bounds on further splits of every child, from counts of pairs of features.

The class weights of ``f = v and g = u`` tell, before any child is created, what the split ``g``
would make of the child ``f = v``. So every child's best single split is known exactly. The four
cells of each pair bound a larger tree of the child: a purification bound of two steps.
"""

from __future__ import annotations

import numpy as np

from solver.branches.kernels import stack_frame
from solver.branches.kernels.branch_rows import add_weights, columns_at
from solver.branches.kernels.state import (
    BLOCK,
    ERRORS,
    FLOOR,
    KEPT,
    LOW,
    MOST,
    MOST_KEPT_COLUMNS,
    N00,
    N01,
    N10,
    N11,
    NEXT,
    SECOND,
    SPARE,
    STUMPS,
    VALUE,
    WEIGHT,
    Scratch,
    Space,
)
from solver.kernels.constants import ZERO
from solver.kernels.jit import helper
from solver.kernels.simd import (
    lanes_add,
    lanes_copy,
    lanes_fill,
    lanes_least,
    lanes_max,
    lanes_min,
    lanes_narrow,
    lanes_sub,
)
from solver.objective.exact_objective import INFINITE


@helper
def count_cells(s: Space, d: int, i: int, begin: int) -> None:
    """Class weights of the cells of column ``i`` with a block of columns, summed up."""
    work = s.scratch.work
    for row in range(WEIGHT, NEXT + 4 * BLOCK, BLOCK):
        lanes_fill(work, row, 0)
    for k in range(s.stack.head[d, stack_frame.N_CLASSES]):
        lanes_fill(work, N11, 0)
        for w in range(s.stack.segments[d, k], s.stack.segments[d, k + 1]):
            word = column_word(s, d, i, w)
            if word != ZERO:
                add_weights(s, d, w, word, begin, work, N11)
        single, total = s.scratch.singles[k, i], s.scratch.totals[k]
        lanes_fill(work, N10, single)
        lanes_sub(work, N10, work, N11)
        lanes_copy(work, N01, s.scratch.singles[k], begin)
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


@helper
def column_word(s: Space, d: int, i: int, w: int) -> np.uint64:
    """One word of a column of the frame."""
    at = columns_at(s, d) + w * s.stack.head[d, stack_frame.N_COLUMNS]
    return np.uint64(s.stack.words[at + i])


@helper
def bound_cell(s: Space, deep: bool, i: int, begin: int, code_f: int, code_g: int) -> None:
    """Bound the subtree of a cell; INFINITE where no split should make such a cell.

    One more split leaves at least the errors beyond the two largest classes of the cell. It is no
    better than the child's best single split, except for the child's rows outside the cell: that
    split would serve the child as well.
    """
    work, error, split = s.scratch.work, s.params.error, s.params.split
    more = 0 if deep else INFINITE // 2
    least = split if s.params.support else -INFINITE
    cell = 2 * (1 - code_f) + 1 - code_g
    beside_f, beside_g = 2 * (1 - code_f) + code_g, 2 * code_f + 1 - code_g
    of_f = s.scratch.single_errors[code_f, i]
    lanes_copy(work, SPARE, s.scratch.single_errors[code_g], begin)
    for j in range(BLOCK):
        weight = work[WEIGHT + cell * BLOCK + j]
        errors = weight - work[MOST + cell * BLOCK + j]
        second = errors - work[NEXT + cell * BLOCK + j]
        second = max(second, of_f - work[WEIGHT + beside_f * BLOCK + j])
        second = max(second, work[SPARE + j] - work[WEIGHT + beside_g * BLOCK + j])
        low = min(error * errors, split + more + min(error * second, split))
        pays = (weight >= s.params.min_leaf) & (error * weight - low > least)
        work[LOW + cell * BLOCK + j] = low if pays else INFINITE
        work[ERRORS + cell * BLOCK + j] = errors
        work[SECOND + cell * BLOCK + j] = min(second, errors)


@helper
def bound_child(s: Space, deep: bool, a: int, b: int, child: int) -> None:
    """Bound a child by each split of it into the cells ``a`` and ``b``.

    Its tree has one split; or one more in one of the cells; or at least two more, both in one cell
    with the other one a leaf; or one in each; or at least three.
    """
    work, error, split = s.scratch.work, s.params.error, s.params.split
    more = 0 if deep else INFINITE // 2
    for j in range(BLOCK):
        low_a, low_b = work[LOW + a * BLOCK + j], work[LOW + b * BLOCK + j]
        errors_a, errors_b = work[ERRORS + a * BLOCK + j], work[ERRORS + b * BLOCK + j]
        second_a, second_b = work[SECOND + a * BLOCK + j], work[SECOND + b * BLOCK + j]
        floor = work[FLOOR + j]
        stump = split + error * (errors_a + errors_b)
        one = 2 * split + error * max(floor, min(errors_a + second_b, second_a + errors_b))
        two = 3 * split + error * max(floor, min(second_a + second_b, min(errors_a, errors_b)))
        three = 4 * split + error * floor
        value = max(min(stump, min(one, min(two, three)) + more), split + low_a + low_b)
        pays = (low_a < INFINITE) & (low_b < INFINITE)
        work[VALUE + child * BLOCK + j] = value if pays else INFINITE
        work[STUMPS + child * BLOCK + j] = stump if pays else INFINITE


@helper
def note_single_errors(scratch: Scratch, i: int, begin: int, n: int) -> None:
    """Note the fewest errors of a single split of the children of a pair of columns."""
    work, best = scratch.work, scratch.single_errors
    for cell in range(4):
        at = ERRORS + cell * BLOCK
        lanes_copy(work, at, work, WEIGHT + cell * BLOCK)
        lanes_sub(work, at, work, MOST + cell * BLOCK)
        for j in range(n, BLOCK):
            work[at + j] = INFINITE
    for code in range(2):
        # Cells 11 and 10 make f = 1, cells 11 and 01 make g = 1.
        lanes_copy(work, SPARE, work, ERRORS + (2 - 2 * code) * BLOCK)
        lanes_add(work, SPARE, work, ERRORS + (3 - 2 * code) * BLOCK)
        best[code, i] = min(best[code, i], lanes_least(work, SPARE))
        lanes_copy(work, SPARE, work, ERRORS + (1 - code) * BLOCK)
        lanes_add(work, SPARE, work, ERRORS + (3 - code) * BLOCK)
        lanes_min(best[code], begin, work, SPARE)


@helper
def note_duplicates(s: Space, d: int, begin: int, n: int) -> None:
    """Mark the columns that separate the rows of the branch as the pair's first one does."""
    work = s.scratch.work
    lanes_copy(work, SPARE, work, WEIGHT + BLOCK)
    lanes_add(work, SPARE, work, WEIGHT + 2 * BLOCK)
    lanes_copy(work, N11, work, WEIGHT)
    lanes_add(work, N11, work, WEIGHT + 3 * BLOCK)
    lanes_min(work, SPARE, work, N11)
    if lanes_least(work, SPARE) > 0:
        return
    for j in range(n):
        if work[SPARE + j] == 0:
            s.scratch.duplicate[s.stack.live[d, begin + j]] = 1


@helper
def count_block(s: Space, d: int, i: int, begin: int, n: int, at: int, refined: bool) -> None:
    """Count the cells of column ``i`` and ``n`` columns from ``begin``; keep them at ``at``."""
    work = s.scratch.work
    count_cells(s, d, i, begin)
    if s.stack.head[d, stack_frame.HAS_JOINT]:
        # What is written beyond the last column is overwritten by the next row.
        joint_at = (
            s.stack.head[d, stack_frame.JOINT_AT]
            + i * s.stack.head[d, stack_frame.N_COLUMNS]
            + begin
        )
        lanes_narrow(s.stack.joint, joint_at, work, WEIGHT)
    if s.params.duplicates:
        note_duplicates(s, d, begin, n)
    if refined:
        note_single_errors(s.scratch, i, begin, n)
    for row in range(0, KEPT, BLOCK):
        lanes_copy(s.scratch.kept, at + row, work, WEIGHT + row)


@helper
def bound_block(s: Space, i: int, begin: int, n: int, at: int, deep: bool) -> None:
    """Let column ``i`` and each of a block of columns split each other's children."""
    last, work = len(s.scratch.column_of), s.scratch.work
    for row in range(0, KEPT, BLOCK):
        lanes_copy(work, WEIGHT + row, s.scratch.kept, at + row)
    bound_cell(s, deep, i, begin, 1, 1)
    bound_cell(s, deep, i, begin, 1, 0)
    bound_cell(s, deep, i, begin, 0, 1)
    bound_cell(s, deep, i, begin, 0, 0)
    lanes_fill(work, FLOOR, s.scratch.floors_by_code[1, i])
    bound_child(s, deep, 0, 1, 0)
    lanes_fill(work, FLOOR, s.scratch.floors_by_code[0, i])
    bound_child(s, deep, 2, 3, 1)
    lanes_copy(work, FLOOR, s.scratch.floors_by_code[1], begin)
    bound_child(s, deep, 0, 2, 2)
    lanes_copy(work, FLOOR, s.scratch.floors_by_code[0], begin)
    bound_child(s, deep, 1, 3, 3)
    for row in range(VALUE, STUMPS + 4 * BLOCK, BLOCK):
        for j in range(n, BLOCK):
            work[row + j] = INFINITE
    for code in range(2):
        row, at = (1 - code) * BLOCK, code * last
        lower, stump = s.scratch.pair_lower, s.scratch.stump
        lower[at + i] = min(lower[at + i], lanes_least(work, VALUE + row))
        stump[at + i] = min(stump[at + i], lanes_least(work, STUMPS + row))
        lanes_min(lower, at + begin, work, VALUE + 2 * BLOCK + row)
        lanes_min(stump, at + begin, work, STUMPS + 2 * BLOCK + row)


@helper
def pair_binary(s: Space, d: int, deep: bool) -> None:
    """Bound all children by pairs, where every feature has two codes.

    Columns then are live features, and ``scratch.pair_lower[c · columns + j]`` and
    ``scratch.stump`` hold the results of code ``c`` of column ``j``.
    """
    n_columns, last = s.stack.head[d, stack_frame.N_COLUMNS], len(s.scratch.column_of)
    refined = n_columns <= MOST_KEPT_COLUMNS
    for code in range(2):
        for j in range(n_columns):
            value = s.table.values[s.stack.live[d, j]] + code
            s.scratch.pair_lower[code * last + j] = INFINITE
            s.scratch.stump[code * last + j] = INFINITE
            s.scratch.floors_by_code[code, j] = s.scratch.floors[value]
            s.scratch.single_errors[code, j] = (
                s.scratch.leaf[value] // s.params.error if refined else -1
            )
    # Two passes, for the single splits of all children must be known; one where there is no room
    # to keep the counts of all pairs.
    at = 0
    for i in range(n_columns):
        for begin in range(i + 1, n_columns, BLOCK):
            n = min(n_columns - begin, BLOCK)
            count_block(s, d, i, begin, n, at, refined)
            if refined:
                at += KEPT
            else:
                bound_block(s, i, begin, n, at, deep)
    if not refined:
        return
    at = 0
    for i in range(n_columns):
        for begin in range(i + 1, n_columns, BLOCK):
            bound_block(s, i, begin, min(n_columns - begin, BLOCK), at, deep)
            at += KEPT
