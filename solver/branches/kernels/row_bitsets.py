"""The packed rows of a branch: only its own rows and its live columns, class by class."""

from __future__ import annotations

import numpy as np

from solver.branches.kernels.state import (
    N_CLASSES,
    N_COLUMNS,
    N_LIVE,
    N_ROWS,
    N_WORDS,
    ROWS_AT,
    WORDS_AT,
    Scratch,
    Stack,
)
from solver.kernels.bit_table import Table
from solver.kernels.constants import ONE, ZERO, Ints
from solver.kernels.jit import helper, popcount, trailing_zeros
from solver.kernels.simd import add_popcounts, sum_marked


@helper
def columns_at(table: Table, stack: Stack, d: int) -> int:
    """Where the columns of a frame begin among its words: after positions and planes."""
    return int(stack.head[d, WORDS_AT] + stack.head[d, N_WORDS] * (1 + len(table.scales)))


@helper
def child_word(table: Table, stack: Stack, d: int, feature: int, code: int, w: int) -> np.uint64:
    """Which positions of a word belong to a child."""
    n_columns = stack.head[d, N_COLUMNS]
    at = columns_at(table, stack, d) + w * n_columns + stack.first[d, feature]
    if code > 0:
        return np.uint64(stack.words[at + code - 1])
    rest = stack.words[stack.head[d, WORDS_AT] + w]
    for c in range(table.columns[feature + 1] - table.columns[feature]):
        rest &= ~stack.words[at + c]
    return np.uint64(rest)


@helper
def add_weights(
    table: Table, stack: Stack, d: int, w: int, word: np.uint64, begin: int, out: Ints, out_at: int
) -> None:
    """Add to ``out[out_at + j]`` the weight that a word has in column ``begin + j``.

    It does so for LANES columns, whether there are as many or not; the arrays have room for it.
    """
    at = columns_at(table, stack, d) + w * stack.head[d, N_COLUMNS] + begin
    if len(table.scales) == 0:
        add_popcounts(out, out_at, stack.words, at, word, 1)
        return
    plane_at = stack.head[d, WORDS_AT] + stack.head[d, N_WORDS] + w * len(table.scales)
    for plane in range(len(table.scales)):
        part = word & stack.words[plane_at + plane]
        if part != ZERO:
            add_popcounts(out, out_at, stack.words, at, part, table.scales[plane])


@helper
def word_weight(table: Table, stack: Stack, d: int, w: int, word: np.uint64) -> int:
    """The weight of the positions in a word."""
    if len(table.scales) == 0:
        return popcount(word)
    plane_at = stack.head[d, WORDS_AT] + stack.head[d, N_WORDS] + w * len(table.scales)
    total = 0
    for plane in range(len(table.scales)):
        total += popcount(word & stack.words[plane_at + plane]) * table.scales[plane]
    return total


@helper
def child_key(table: Table, stack: Stack, d: int, feature: int, code: int) -> tuple[int, np.uint64]:
    """Number of rows of a child, and the sum of their keys."""
    n, total, rows_at = 0, ZERO, stack.head[d, ROWS_AT]
    if code > 0:
        for w in range(stack.head[d, N_WORDS]):
            word = child_word(table, stack, d, feature, code, w)
            n += popcount(word)
            total += sum_marked(stack.keys, rows_at + w * 64, word)
        return n, total
    n, total = stack.head[d, N_ROWS], stack.row_key[d]
    for c in range(1, table.values[feature + 1] - table.values[feature]):
        for w in range(stack.head[d, N_WORDS]):
            word = child_word(table, stack, d, feature, c, w)
            n -= popcount(word)
            total -= sum_marked(stack.keys, rows_at + w * 64, word)
    return n, total


@helper
def collect_child(
    table: Table, stack: Stack, scratch: Scratch, d: int, feature: int, code: int
) -> int:
    """Write the rows of a child to ``scratch.rows``; their number."""
    n, rows_at = 0, stack.head[d, ROWS_AT]
    for w in range(stack.head[d, N_WORDS]):
        word = child_word(table, stack, d, feature, code, w)
        while word != ZERO:
            scratch.rows[n] = stack.rows[rows_at + w * 64 + trailing_zeros(word)]
            n += 1
            word &= word - ONE
    return n


@helper
def lay_rows(table: Table, stack: Stack, scratch: Scratch, d: int, n: int) -> None:
    """Give the rows in ``scratch.rows`` positions in a frame: each class begins a word."""
    rows_at = stack.head[d, ROWS_AT]
    position, label, n_classes, total = 0, -1, 0, ZERO
    for i in range(n):
        row = scratch.rows[i]
        if table.labels[row] != label:
            label = table.labels[row]
            while position % 64 != 0:
                stack.rows[rows_at + position] = -1
                stack.keys[rows_at + position] = ZERO
                position += 1
            stack.segments[d, n_classes] = position // 64
            n_classes += 1
        stack.rows[rows_at + position] = row
        stack.keys[rows_at + position] = table.keys[row]
        total += table.keys[row]
        position += 1
    while position % 64 != 0:
        stack.rows[rows_at + position] = -1
        stack.keys[rows_at + position] = ZERO
        position += 1
    stack.segments[d, n_classes] = position // 64
    stack.row_key[d] = total
    stack.head[d, N_ROWS] = n
    stack.head[d, N_WORDS] = position // 64
    stack.head[d, N_CLASSES] = n_classes


@helper
def swap_blocks(scratch: Scratch, half: int, mask: np.uint64) -> None:
    """Swap the two blocks off the diagonal in every square of twice ``half`` bits."""
    shift = np.uint64(half)
    for base in range(0, 64, 2 * half):
        for k in range(base, base + half):
            low, high = scratch.block[k], scratch.block[k + half]
            swap = ((low >> shift) ^ high) & mask
            scratch.block[k + half] = high ^ swap
            scratch.block[k] = low ^ (swap << shift)


@helper
def transpose(scratch: Scratch) -> None:
    """Transpose the 64 × 64 bits of ``scratch.block`` in place."""
    swap_blocks(scratch, 32, np.uint64(0x00000000FFFFFFFF))
    swap_blocks(scratch, 16, np.uint64(0x0000FFFF0000FFFF))
    swap_blocks(scratch, 8, np.uint64(0x00FF00FF00FF00FF))
    swap_blocks(scratch, 4, np.uint64(0x0F0F0F0F0F0F0F0F))
    swap_blocks(scratch, 2, np.uint64(0x3333333333333333))
    swap_blocks(scratch, 1, np.uint64(0x5555555555555555))


@helper
def name_columns(table: Table, stack: Stack, scratch: Scratch, d: int) -> None:
    """Number the columns of a frame's live features."""
    n = 0
    for w in range(len(scratch.mask)):
        scratch.mask[w] = ZERO
    for i in range(stack.head[d, N_LIVE]):
        feature = stack.live[d, i]
        stack.first[d, feature] = n
        for column in range(table.columns[feature], table.columns[feature + 1]):
            scratch.column_of[n] = column
            scratch.mask[column >> 6] |= ONE << np.uint64(column & 63)
            n += 1
    stack.head[d, N_COLUMNS] = n


@helper
def pack_planes(table: Table, stack: Stack, d: int) -> None:
    """Mark the positions of a frame that hold a row, and write the bits of their weights."""
    rows_at, at = stack.head[d, ROWS_AT], stack.head[d, WORDS_AT]
    n_words = stack.head[d, N_WORDS]
    for w in range(n_words):
        held = ZERO
        for plane in range(len(table.scales)):
            stack.words[at + n_words + w * len(table.scales) + plane] = ZERO
        for i in range(64):
            row = stack.rows[rows_at + w * 64 + i]
            if row < 0:
                break
            bit = ONE << np.uint64(i)
            held |= bit
            for plane in range(len(table.scales)):
                if (table.planes[row] >> plane) & 1:
                    stack.words[at + n_words + w * len(table.scales) + plane] |= bit
        stack.words[at + w] = held


@helper
def pack_columns(table: Table, stack: Stack, scratch: Scratch, d: int) -> None:
    """Write a frame's live columns: its rows' bits, transposed block by block."""
    name_columns(table, stack, scratch, d)
    pack_planes(table, stack, d)
    rows_at, at = stack.head[d, ROWS_AT], columns_at(table, stack, d)
    n_columns, n_words = stack.head[d, N_COLUMNS], stack.head[d, N_WORDS]
    for w in range(n_words):
        n = 0
        while n < n_columns:
            group = scratch.column_of[n] >> 6
            for i in range(64):
                row = stack.rows[rows_at + w * 64 + i]
                scratch.block[i] = table.bits[row, group] if row >= 0 else ZERO
            transpose(scratch)
            while n < n_columns and scratch.column_of[n] >> 6 == group:
                stack.words[at + w * n_columns + n] = scratch.block[scratch.column_of[n] & 63]
                n += 1


@helper
def drop_columns(table: Table, stack: Stack, scratch: Scratch, d: int) -> None:
    """Close the gaps that features no longer live have left among a frame's columns and counts."""
    at, old_columns = columns_at(table, stack, d), stack.head[d, N_COLUMNS]
    n = 0
    for i in range(stack.head[d, N_LIVE]):
        feature = stack.live[d, i]
        for c in range(table.columns[feature + 1] - table.columns[feature]):
            scratch.column_of[n] = stack.first[d, feature] + c
            n += 1
    if n == old_columns:
        return
    for w in range(stack.head[d, N_WORDS]):
        # Columns only move towards the front, so nothing is overwritten before it is read.
        for j in range(n):
            stack.words[at + w * n + j] = stack.words[at + w * old_columns + scratch.column_of[j]]
    for k in range(stack.head[d, N_CLASSES]):
        for j in range(n):
            scratch.singles[k, j] = scratch.singles[k, scratch.column_of[j]]
    name_columns(table, stack, scratch, d)
