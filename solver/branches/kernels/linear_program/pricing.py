"""Conjunctions whose rows' duals exceed what they cost as a leaf (the pricing problem).

A row of the leaf's class adds its dual to the *gain* of a conjunction, any other row its dual less
its cost as an error. Duals are valid if no conjunction gains more than a split costs. A beam search
finds most conjunctions that gain too much; only a search through all of them proves that there are
none.
"""

from __future__ import annotations

import numpy as np

from solver.branches.kernels.state import (
    BEAM,
    BEGUN,
    DEEPEST,
    DEPTH,
    FOUND,
    LARGEST,
    NUMBER,
    WORK,
    WORST,
    Space,
)
from solver.kernels.constants import GOLDEN, ONE, ZERO, Words
from solver.kernels.jit import helper, trailing_zeros
from solver.kernels.simd import sum_marked

_LONGEST = 6  # literals of a conjunction that the beam search finds


@helper
def sum_set(numbers: Words, words: Words, n_words: int) -> int:
    """Sum of the numbers at the positions of a set."""
    total = ZERO
    for w in range(n_words):
        total += sum_marked(numbers, 64 * w, words[w])
    return int(np.int64(total))


@helper
def keep_found(s: Space, d: int, value: int, n_words: int) -> None:
    """Keep a set among the ``FOUND`` of largest value; later ones must be better than the worst."""
    p, at = s.program, s.program.status[NUMBER]
    if at < FOUND:
        p.status[NUMBER] += 1
    else:
        at = worst_found(s)
    p.found_value[at] = value
    for w in range(n_words):
        p.found[at, w] = p.sets[d, w]
    p.status[LARGEST] = max(p.status[LARGEST], value)
    if p.status[NUMBER] == FOUND:
        p.status[WORST] = p.found_value[worst_found(s)]


@helper
def worst_found(s: Space) -> int:
    """The set that is kept of the least value."""
    at = 0
    for i in range(FOUND):
        if s.program.found_value[i] < s.program.found_value[at]:
            at = i
    return at


@helper
def keep_in_beam(s: Space, at: int, n: int, value: int, n_words: int) -> int:
    """Keep ``sets[0]`` among the ``BEAM`` sets of largest value from ``at`` on; their number."""
    u, least = s.duals, 0
    for i in range(n):
        if u.beam_value[at + i] == value:
            same = True
            for w in range(n_words):
                same &= u.beam[at + i, w] == s.program.sets[0, w]
            if same:
                return n
        if u.beam_value[at + i] < u.beam_value[at + least]:
            least = i
    if n < BEAM:
        least = n
    elif u.beam_value[at + least] >= value:
        return n
    u.beam_value[at + least] = value
    for w in range(n_words):
        u.beam[at + least, w] = s.program.sets[0, w]
    return min(n + 1, BEAM)


@helper
def beam_search(s: Space, n_literals: int, n_words: int) -> None:
    """Find conjunctions whose rows gain more than ``WORST``, ``FOUND`` at most; maybe not all."""
    u, sets, front, size = s.duals, s.program.sets, 0, 1
    for w in range(n_words):
        u.beam[0, w] = s.stack.words[w]
    for _ in range(_LONGEST):
        n, back = 0, BEAM - front
        for b in range(front, front + size):
            for literal in range(n_literals):
                same = True
                for w in range(n_words):
                    sets[0, w] = u.beam[b, w] & u.literal[literal, w]
                    same &= sets[0, w] == u.beam[b, w]
                if not same:
                    n = keep_in_beam(s, back, n, sum_set(u.gain, sets[0], n_words), n_words)
        s.program.status[WORK] += size * n_literals * n_words
        for b in range(back, back + n):
            if u.beam_value[b] > s.program.status[WORST]:
                for w in range(n_words):
                    sets[0, w] = u.beam[b, w]
                keep_found(s, 0, u.beam_value[b], n_words)
        front, size = back, n


@helper
def slot_of(s: Space, row: int) -> int:
    """Slot of the hash table for the rows that are equal to ``row`` in all columns of ``mask``."""
    u, key = s.duals, ZERO
    for group in range(len(u.mask)):
        key = (key ^ (s.table.bits[row, group] & u.mask[group])) * GOLDEN
        key ^= key >> np.uint64(32)
    slot = np.int64(key & np.uint64(len(u.group_row) - 1))
    while u.group_turn[slot] == u.turn[0]:
        same = True
        for group in range(len(u.mask)):
            differ = s.table.bits[row, group] ^ s.table.bits[u.group_row[slot], group]
            same &= differ & u.mask[group] == ZERO
        if same:
            return int(slot)
        slot = (slot + 1) & (len(u.group_row) - 1)
    u.group_turn[slot], u.group_row[slot], u.group_gain[slot] = u.turn[0], row, 0
    return int(slot)


@helper
def sum_groups(s: Space, d: int, n: int, n_words: int) -> int:
    """The most that the rows gain of a set that only the first ``n`` literals divide further.

    Rows that are equal in the columns of all these literals stay together, so of each such group
    either all are counted or none.
    """
    u, total = s.duals, 0
    for group in range(len(u.mask)):
        u.mask[group] = ZERO
    for i in range(n):
        column = u.column[s.program.following[d, i]]
        u.mask[column >> 6] |= ONE << np.uint64(column & 63)
    u.turn[0] += 1
    for w in range(n_words):
        word = s.program.sets[d, w]
        while word != ZERO:
            at = 64 * w + trailing_zeros(word)
            word &= word - ONE
            slot = slot_of(s, s.stack.rows[at])
            before = u.group_gain[slot]
            u.group_gain[slot] = before + np.int64(u.gain[at])
            total += max(u.group_gain[slot], 0) - max(before, 0)
    s.program.status[WORK] += 16 * n_words
    return int(total)


@helper
def filter_literals(s: Space, d: int, n_words: int, worst: int) -> None:
    """Keep the literals that may lead from a set to a better one, least value first.

    A row that all of them hold stays in every set below.
    """
    u, n, values = s.duals, 0, s.program.following_value[d]
    most = sum_set(u.plus, s.program.sets[d], n_words)
    for i in range(s.program.counts[0, d]):
        literal, same, value = s.program.following[d, i], True, ZERO
        for w in range(n_words):
            part = s.program.sets[d, w] & u.literal[literal, w]
            u.parts[n, w] = part
            same &= part == s.program.sets[d, w]
            value += sum_marked(u.plus, 64 * w, part)
        if not same and np.int64(value) > worst:
            values[n] = np.int64(value)
            s.program.following[d, n] = literal
            n += 1
    if n > 0:
        for w in range(n_words):
            rest = s.program.sets[d, w]
            for i in range(n):
                rest &= u.parts[i, w]
            most += int(np.int64(sum_marked(u.gain, 64 * w, rest)))
            most -= int(np.int64(sum_marked(u.plus, 64 * w, rest)))
        if most <= worst or sum_groups(s, d, n, n_words) <= worst:
            n = 0
    follow = s.program.following[d]
    for i in range(n):
        most, literal, j = values[i], follow[i], i
        while j > 0 and values[j - 1] > most:
            values[j], follow[j] = values[j - 1], follow[j - 1]
            j -= 1
        values[j], follow[j] = most, literal
    s.program.counts[0, d], s.program.counts[1, d] = n, 0


@helper
def skip_literal(s: Space, d: int, n_words: int) -> bool:
    """Whether the set above ``d`` was seen before: it lies in one of a literal that is done."""
    for i in range(s.program.counts[2, d]):
        literal, inside = s.program.done[d, i], True
        for w in range(n_words):
            if s.program.sets[d + 1, w] & ~s.duals.literal[literal, w] != ZERO:
                inside = False
                break
        if inside:
            return True
    return False


@helper
def begin_search(s: Space, n_literals: int, n_words: int) -> None:
    """Let :func:`search_sets` begin with the conjunction without literals."""
    p = s.program
    for w in range(n_words):
        p.sets[0, w] = s.stack.words[w]
    for i in range(n_literals):
        p.following[0, i] = i
    p.counts[0, 0], p.counts[1, 0], p.counts[2, 0] = n_literals, -1, 0
    p.status[DEPTH], p.status[BEGUN] = 0, p.status[WORK]


@helper
def work_expected(s: Space) -> float:
    """About how much work :func:`search_sets` takes in all, if each literal that is added first
    takes as much as those that are done."""
    p = s.program
    done = max(p.counts[1, 0] - 1, 1)
    return float(p.status[WORK] - p.status[BEGUN]) * float(p.counts[0, 0]) / float(done)


@helper
def search_sets(s: Space, n_words: int, limit: int) -> bool:
    """Find the conjunctions whose rows gain more than ``WORST``, ``FOUND`` of the best of them.

    Depth-first. It stops when the work reaches ``limit``, and then goes on from there; whether it
    is done.
    """
    p = s.program
    while p.status[DEPTH] >= 0:
        if p.status[WORK] > limit:
            return False
        d = p.status[DEPTH]
        if p.counts[1, d] < 0:
            value = sum_set(s.duals.gain, p.sets[d], n_words)
            if value > p.status[WORST]:
                keep_found(s, d, value, n_words)
            p.status[WORK] += (p.counts[0, d] + 1) * (n_words + 4)
            filter_literals(s, d, n_words, p.status[WORST])
        elif p.counts[1, d] >= p.counts[0, d]:
            p.status[DEPTH] -= 1
            if d > 0:
                finish_literal(s, d - 1)
        else:
            p.counts[1, d] += 1
            if not enter_literal(s, d, n_words):
                finish_literal(s, d)
    return True


@helper
def finish_literal(s: Space, d: int) -> None:
    """Note that all is known of the current literal of a set."""
    p = s.program
    p.done[d, p.counts[2, d]] = p.following[d, p.counts[1, d] - 1]
    p.counts[2, d] += 1


@helper
def enter_literal(s: Space, d: int, n_words: int) -> bool:
    """Add the current literal to a conjunction; False if that leads to nothing new or better."""
    p = s.program
    at = p.counts[1, d] - 1
    literal, most = p.following[d, at], p.following_value[d, at]
    if most <= p.status[WORST]:
        return False
    for w in range(n_words):
        p.sets[d + 1, w] = p.sets[d, w] & s.duals.literal[literal, w]
    if skip_literal(s, d, n_words):
        return False
    if d + 2 >= DEEPEST:  # no room: none of its sets gains more than this
        p.status[LARGEST] = max(p.status[LARGEST], most)
        return False
    n = 0
    for i in range(p.counts[1, d], p.counts[0, d]):
        p.following[d + 1, n] = p.following[d, i]
        n += 1
    p.counts[0, d + 1], p.counts[1, d + 1], p.counts[2, d + 1] = n, -1, p.counts[2, d]
    for i in range(p.counts[2, d]):
        p.done[d + 1, i] = p.done[d, i]
    p.status[DEPTH] = d + 1
    return True
