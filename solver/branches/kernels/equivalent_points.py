"""Equivalent points: rows that no live feature distinguishes; every tree errs on some of them."""

from __future__ import annotations

import numpy as np

from solver.branches.kernels import stack_frame
from solver.branches.kernels.branch_rows import add_weights
from solver.branches.kernels.state import BLOCK, Space
from solver.kernels.constants import ONE, ZERO
from solver.kernels.hash_tables import folded
from solver.kernels.jit import helper

ROW, LABEL, RUN, MOST, MOST_LABEL = range(5)


@helper
def same_features(s: Space, a: int, b: int) -> bool:
    """Whether two rows agree in all live columns."""
    for w in range(len(s.scratch.mask)):
        if (s.table.bits[a, w] ^ s.table.bits[b, w]) & s.scratch.mask[w] != ZERO:
            return False
    return True


@helper
def find_group(s: Space, row: int, last: int) -> int:
    """The slot of a row's group; a free one if it is the first of its group."""
    value = ZERO
    for w in range(len(s.scratch.mask)):
        value = folded(value, s.table.bits[row, w] & s.scratch.mask[w])
    slot = int(value >> np.uint64(20)) & last
    while s.scratch.groups[ROW, slot] >= 0:
        if same_features(s, s.scratch.groups[ROW, slot], row):
            return slot
        slot = (slot + 1) & last
    return slot


@helper
def count_groups(s: Space, d: int) -> int:
    """Group the rows of a frame and find each group's majority; unavoidable errors of all."""
    size = 2
    while size < 2 * s.stack.head[d, stack_frame.N_ROWS]:
        size *= 2
    for slot in range(size):
        s.scratch.groups[ROW, slot] = -1
    rows_at, total = s.stack.head[d, stack_frame.ROWS_AT], 0
    for i in range(64 * s.stack.head[d, stack_frame.N_WORDS]):
        row = s.stack.rows[rows_at + i]
        if row < 0:
            continue
        slot = find_group(s, row, size - 1)
        weight, label = s.table.weights[row], s.table.labels[row]
        total += weight
        if s.scratch.groups[ROW, slot] < 0:
            s.scratch.groups[ROW, slot] = row
            s.scratch.groups[LABEL, slot] = -1
            s.scratch.groups[MOST, slot] = 0
        # Rows are sorted by class, so the weight of one class in a group is counted in one run.
        if s.scratch.groups[LABEL, slot] != label:
            s.scratch.groups[LABEL, slot] = label
            s.scratch.groups[RUN, slot] = 0
        s.scratch.groups[RUN, slot] += weight
        if s.scratch.groups[RUN, slot] > s.scratch.groups[MOST, slot]:
            total -= s.scratch.groups[RUN, slot] - s.scratch.groups[MOST, slot]
            s.scratch.groups[MOST, slot] = s.scratch.groups[RUN, slot]
            s.scratch.groups[MOST_LABEL, slot] = label
    return total


@helper
def mark_minority(s: Space, d: int) -> None:
    """Mark the rows whose class is not the majority of their group."""
    last = 2
    while last < 2 * s.stack.head[d, stack_frame.N_ROWS]:
        last *= 2
    last -= 1
    rows_at = s.stack.head[d, stack_frame.ROWS_AT]
    for w in range(s.stack.head[d, stack_frame.N_WORDS]):
        word = ZERO
        for i in range(64):
            row = s.stack.rows[rows_at + w * 64 + i]
            if row < 0:
                break
            slot = find_group(s, row, last)
            if s.scratch.groups[MOST_LABEL, slot] != s.table.labels[row]:
                word |= ONE << np.uint64(i)
        s.scratch.marked[w] = word


@helper
def find_floors(s: Space, d: int) -> None:
    """Errors that no tree on live features avoids: of the branch, and in ``scratch.floors`` of all
    children. Features that can no longer pay cannot separate rows."""
    total = count_groups(s, d)
    s.stack.head[d, stack_frame.UNAVOIDABLE] = total
    for i in range(s.stack.head[d, stack_frame.N_LIVE]):
        feature = s.stack.live[d, i]
        for value in range(s.table.values[feature], s.table.values[feature + 1]):
            s.scratch.floors[value] = 0
    if total == 0:
        return
    mark_minority(s, d)
    n_columns = s.stack.head[d, stack_frame.N_COLUMNS]
    for j in range(n_columns):
        s.scratch.column_weight[j] = 0
    for w in range(s.stack.head[d, stack_frame.N_WORDS]):
        word = s.scratch.marked[w]
        if word != ZERO:
            for begin in range(0, n_columns, BLOCK):
                add_weights(s, d, w, word, begin, s.scratch.column_weight, begin)
    for i in range(s.stack.head[d, stack_frame.N_LIVE]):
        feature = s.stack.live[d, i]
        rest = total
        for c in range(s.table.columns[feature + 1] - s.table.columns[feature]):
            floor = s.scratch.column_weight[s.stack.first[d, feature] + c]
            s.scratch.floors[s.table.values[feature] + 1 + c] = floor
            rest -= floor
        s.scratch.floors[s.table.values[feature]] = rest
