"""Equivalent points: rows that no live feature distinguishes; every tree errs on some of them."""

from __future__ import annotations

import numpy as np

from solver.branches.kernels.row_bitsets import add_weights
from solver.branches.kernels.state import (
    BLOCK,
    N_COLUMNS,
    N_LIVE,
    N_ROWS,
    N_WORDS,
    ROWS_AT,
    UNAVOIDABLE,
    Scratch,
    Stack,
)
from solver.kernels.bit_table import Table
from solver.kernels.constants import GOLDEN, ONE, ZERO
from solver.kernels.jit import helper

ROW, LABEL, RUN, MOST, MOST_LABEL = range(5)


@helper
def same_features(table: Table, scratch: Scratch, a: int, b: int) -> bool:
    """Whether two rows agree in all live columns."""
    for w in range(len(scratch.mask)):
        if (table.bits[a, w] ^ table.bits[b, w]) & scratch.mask[w] != ZERO:
            return False
    return True


@helper
def find_group(table: Table, scratch: Scratch, row: int, last: int) -> int:
    """The slot of a row's group; a free one if it is the first of its group."""
    value = ZERO
    for w in range(len(scratch.mask)):
        value = (value ^ (table.bits[row, w] & scratch.mask[w])) * GOLDEN
        value ^= value >> np.uint64(29)
    slot = int(value >> np.uint64(20)) & last
    while scratch.groups[ROW, slot] >= 0:
        if same_features(table, scratch, scratch.groups[ROW, slot], row):
            return slot
        slot = (slot + 1) & last
    return slot


@helper
def count_groups(table: Table, stack: Stack, scratch: Scratch, d: int) -> int:
    """Group the rows of a frame and find each group's majority; unavoidable errors of all."""
    size = 2
    while size < 2 * stack.head[d, N_ROWS]:
        size *= 2
    for slot in range(size):
        scratch.groups[ROW, slot] = -1
    rows_at, total = stack.head[d, ROWS_AT], 0
    for i in range(64 * stack.head[d, N_WORDS]):
        row = stack.rows[rows_at + i]
        if row < 0:
            continue
        slot = find_group(table, scratch, row, size - 1)
        weight, label = table.weights[row], table.labels[row]
        total += weight
        if scratch.groups[ROW, slot] < 0:
            scratch.groups[ROW, slot] = row
            scratch.groups[LABEL, slot] = -1
            scratch.groups[MOST, slot] = 0
        # Rows are sorted by class, so the weight of one class in a group is counted in one run.
        if scratch.groups[LABEL, slot] != label:
            scratch.groups[LABEL, slot] = label
            scratch.groups[RUN, slot] = 0
        scratch.groups[RUN, slot] += weight
        if scratch.groups[RUN, slot] > scratch.groups[MOST, slot]:
            total -= scratch.groups[RUN, slot] - scratch.groups[MOST, slot]
            scratch.groups[MOST, slot] = scratch.groups[RUN, slot]
            scratch.groups[MOST_LABEL, slot] = label
    return total


@helper
def mark_minority(table: Table, stack: Stack, scratch: Scratch, d: int) -> None:
    """Mark the rows whose class is not the majority of their group."""
    last = 2
    while last < 2 * stack.head[d, N_ROWS]:
        last *= 2
    last -= 1
    rows_at = stack.head[d, ROWS_AT]
    for w in range(stack.head[d, N_WORDS]):
        word = ZERO
        for i in range(64):
            row = stack.rows[rows_at + w * 64 + i]
            if row < 0:
                break
            slot = find_group(table, scratch, row, last)
            if scratch.groups[MOST_LABEL, slot] != table.labels[row]:
                word |= ONE << np.uint64(i)
        scratch.minority[w] = word


@helper
def find_floors(table: Table, stack: Stack, scratch: Scratch, d: int) -> None:
    """Errors that no tree on live features avoids: of the branch, and in ``scratch.floors`` of all
    children. Features that can no longer pay cannot separate rows."""
    total = count_groups(table, stack, scratch, d)
    stack.head[d, UNAVOIDABLE] = total
    for i in range(stack.head[d, N_LIVE]):
        feature = stack.live[d, i]
        for value in range(table.values[feature], table.values[feature + 1]):
            scratch.floors[value] = 0
    if total == 0:
        return
    mark_minority(table, stack, scratch, d)
    n_columns = stack.head[d, N_COLUMNS]
    for j in range(n_columns):
        scratch.column_weight[j] = 0
    for w in range(stack.head[d, N_WORDS]):
        word = scratch.minority[w]
        if word != ZERO:
            for begin in range(0, n_columns, BLOCK):
                add_weights(table, stack, d, w, word, begin, scratch.column_weight, begin)
    for i in range(stack.head[d, N_LIVE]):
        feature = stack.live[d, i]
        rest = total
        for c in range(table.columns[feature + 1] - table.columns[feature]):
            floor = scratch.column_weight[stack.first[d, feature] + c]
            scratch.floors[table.values[feature] + 1 + c] = floor
            rest -= floor
        scratch.floors[table.values[feature]] = rest
