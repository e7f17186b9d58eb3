"""The packed rows of a branch: only its own rows and its live columns, class by class."""

from __future__ import annotations

import numpy as np

from solver.branches.kernels import stack_frame
from solver.branches.kernels.state import Scratch, Space
from solver.kernels.constants import ONE, ZERO, Ints
from solver.kernels.jit import helper, popcount, trailing_zeros
from solver.kernels.simd import add_popcounts, sum_marked


@helper
def columns_at(s: Space, d: int) -> int:
    """Where the columns of a frame begin among its words: after positions and planes."""
    return int(
        s.stack.head[d, stack_frame.WORDS_AT]
        + s.stack.head[d, stack_frame.N_WORDS] * (1 + len(s.table.scales))
    )


@helper
def child_word(s: Space, d: int, feature: int, code: int, w: int) -> np.uint64:
    """Which positions of a word belong to a child."""
    n_columns = s.stack.head[d, stack_frame.N_COLUMNS]
    at = columns_at(s, d) + w * n_columns + s.stack.first[d, feature]
    if code > 0:
        return np.uint64(s.stack.words[at + code - 1])
    rest = s.stack.words[s.stack.head[d, stack_frame.WORDS_AT] + w]
    for c in range(s.table.columns[feature + 1] - s.table.columns[feature]):
        rest &= ~s.stack.words[at + c]
    return np.uint64(rest)


@helper
def add_weights(
    s: Space, d: int, w: int, word: np.uint64, begin: int, out: Ints, out_at: int
) -> None:
    """Add to ``out[out_at + j]`` the weight that a word has in column ``begin + j``.

    It does so for LANES columns, whether there are as many or not; the arrays have room for it.
    """
    at = columns_at(s, d) + w * s.stack.head[d, stack_frame.N_COLUMNS] + begin
    if len(s.table.scales) == 0:
        add_popcounts(out, out_at, s.stack.words, at, word, 1)
        return
    plane_at = (
        s.stack.head[d, stack_frame.WORDS_AT]
        + s.stack.head[d, stack_frame.N_WORDS]
        + w * len(s.table.scales)
    )
    for plane in range(len(s.table.scales)):
        part = word & s.stack.words[plane_at + plane]
        if part != ZERO:
            add_popcounts(out, out_at, s.stack.words, at, part, s.table.scales[plane])


@helper
def word_weight(s: Space, d: int, w: int, word: np.uint64) -> int:
    """The weight of the positions in a word."""
    if len(s.table.scales) == 0:
        return popcount(word)
    plane_at = (
        s.stack.head[d, stack_frame.WORDS_AT]
        + s.stack.head[d, stack_frame.N_WORDS]
        + w * len(s.table.scales)
    )
    total = 0
    for plane in range(len(s.table.scales)):
        total += popcount(word & s.stack.words[plane_at + plane]) * s.table.scales[plane]
    return total


@helper
def child_key(s: Space, d: int, feature: int, code: int) -> tuple[int, np.uint64]:
    """Number of rows of a child, and the sum of their keys."""
    n, total, rows_at = 0, ZERO, s.stack.head[d, stack_frame.ROWS_AT]
    if code > 0:
        for w in range(s.stack.head[d, stack_frame.N_WORDS]):
            word = child_word(s, d, feature, code, w)
            n += popcount(word)
            total += sum_marked(s.stack.keys, rows_at + w * 64, word)
        return n, total
    n, total = s.stack.head[d, stack_frame.N_ROWS], s.stack.row_key[d]
    for c in range(1, s.table.values[feature + 1] - s.table.values[feature]):
        for w in range(s.stack.head[d, stack_frame.N_WORDS]):
            word = child_word(s, d, feature, c, w)
            n -= popcount(word)
            total -= sum_marked(s.stack.keys, rows_at + w * 64, word)
    return n, total


@helper
def collect_child(s: Space, d: int, feature: int, code: int) -> int:
    """Write the rows of a child to ``scratch.rows``; their number."""
    n, rows_at = 0, s.stack.head[d, stack_frame.ROWS_AT]
    for w in range(s.stack.head[d, stack_frame.N_WORDS]):
        word = child_word(s, d, feature, code, w)
        while word != ZERO:
            at = rows_at + w * 64 + trailing_zeros(word)
            s.scratch.rows[n] = s.stack.rows[at]
            s.scratch.row_duals[s.stack.rows[at]] = s.stack.duals[at]
            n += 1
            word &= word - ONE
    return n


@helper
def lay_rows(s: Space, d: int, n: int) -> None:
    """Give the rows in ``scratch.rows`` positions in a frame: each class begins a word."""
    rows_at = s.stack.head[d, stack_frame.ROWS_AT]
    position, label, n_classes, total = 0, -1, 0, ZERO
    for i in range(n):
        row = s.scratch.rows[i]
        if s.table.labels[row] != label:
            label = s.table.labels[row]
            while position % 64 != 0:
                s.stack.rows[rows_at + position] = -1
                s.stack.keys[rows_at + position] = ZERO
                s.stack.duals[rows_at + position] = ZERO
                position += 1
            s.stack.segments[d, n_classes] = position // 64
            n_classes += 1
        s.stack.rows[rows_at + position] = row
        s.stack.keys[rows_at + position] = s.table.keys[row]
        s.stack.duals[rows_at + position] = s.scratch.row_duals[row]
        total += s.table.keys[row]
        position += 1
    while position % 64 != 0:
        s.stack.rows[rows_at + position] = -1
        s.stack.keys[rows_at + position] = ZERO
        s.stack.duals[rows_at + position] = ZERO
        position += 1
    s.stack.segments[d, n_classes] = position // 64
    s.stack.row_key[d] = total
    s.stack.head[d, stack_frame.N_ROWS] = n
    s.stack.head[d, stack_frame.N_WORDS] = position // 64
    s.stack.head[d, stack_frame.N_CLASSES] = n_classes


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
def name_columns(s: Space, d: int) -> None:
    """Number the columns of a frame's live features."""
    n = 0
    for w in range(len(s.scratch.mask)):
        s.scratch.mask[w] = ZERO
    for i in range(s.stack.head[d, stack_frame.N_LIVE]):
        feature = s.stack.live[d, i]
        s.stack.first[d, feature] = n
        for column in range(s.table.columns[feature], s.table.columns[feature + 1]):
            s.scratch.column_of[n] = column
            s.scratch.mask[column >> 6] |= ONE << np.uint64(column & 63)
            n += 1
    s.stack.head[d, stack_frame.N_COLUMNS] = n


@helper
def pack_planes(s: Space, d: int) -> None:
    """Mark the positions of a frame that hold a row, and write the bits of their weights."""
    rows_at, at = s.stack.head[d, stack_frame.ROWS_AT], s.stack.head[d, stack_frame.WORDS_AT]
    n_words = s.stack.head[d, stack_frame.N_WORDS]
    for w in range(n_words):
        held = ZERO
        for plane in range(len(s.table.scales)):
            s.stack.words[at + n_words + w * len(s.table.scales) + plane] = ZERO
        for i in range(64):
            row = s.stack.rows[rows_at + w * 64 + i]
            if row < 0:
                break
            bit = ONE << np.uint64(i)
            held |= bit
            for plane in range(len(s.table.scales)):
                if (s.table.planes[row] >> plane) & 1:
                    s.stack.words[at + n_words + w * len(s.table.scales) + plane] |= bit
        s.stack.words[at + w] = held


@helper
def pack_columns(s: Space, d: int) -> None:
    """Write a frame's live columns: its rows' bits, transposed block by block."""
    name_columns(s, d)
    pack_planes(s, d)
    rows_at, at = s.stack.head[d, stack_frame.ROWS_AT], columns_at(s, d)
    n_columns, n_words = (
        s.stack.head[d, stack_frame.N_COLUMNS],
        s.stack.head[d, stack_frame.N_WORDS],
    )
    for w in range(n_words):
        n = 0
        while n < n_columns:
            group = s.scratch.column_of[n] >> 6
            for i in range(64):
                row = s.stack.rows[rows_at + w * 64 + i]
                s.scratch.block[i] = s.table.bits[row, group] if row >= 0 else ZERO
            transpose(s.scratch)
            while n < n_columns and s.scratch.column_of[n] >> 6 == group:
                s.stack.words[at + w * n_columns + n] = s.scratch.block[s.scratch.column_of[n] & 63]
                n += 1


@helper
def drop_columns(s: Space, d: int) -> None:
    """Close the gaps that features no longer live have left among a frame's columns and counts."""
    at, old_columns = columns_at(s, d), s.stack.head[d, stack_frame.N_COLUMNS]
    n = 0
    for i in range(s.stack.head[d, stack_frame.N_LIVE]):
        feature = s.stack.live[d, i]
        for c in range(s.table.columns[feature + 1] - s.table.columns[feature]):
            s.scratch.column_of[n] = s.stack.first[d, feature] + c
            n += 1
    if n == old_columns:
        return
    for w in range(s.stack.head[d, stack_frame.N_WORDS]):
        # Columns only move towards the front, so nothing is overwritten before it is read.
        for j in range(n):
            s.stack.words[at + w * n + j] = s.stack.words[
                at + w * old_columns + s.scratch.column_of[j]
            ]
    for k in range(s.stack.head[d, stack_frame.N_CLASSES]):
        for j in range(n):
            s.scratch.singles[k, j] = s.scratch.singles[k, s.scratch.column_of[j]]
    for j in range(n):
        s.scratch.column_dual[j] = s.scratch.column_dual[s.scratch.column_of[j]]
    name_columns(s, d)
