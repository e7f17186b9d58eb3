"""The conjunctions whose rows gain most, by a search through all of them (branch and bound).

A *group* is a set of rows that no literal separates which may still follow: of a group a
conjunction has all rows or none. So no conjunction below gains more than the groups that gain
anything (Eckstein and Goldberg 2012, maximum monomial agreement). The search adds a literal to a
conjunction. Once all is known of that, it leaves the literal out: then groups merge, and what some
rows lose counts against what others gain.

Let a literal hold in all groups that gain. To add it to any conjunction below loses nothing, since
only groups leave that do not gain. So it is added at once. If it was left out before, nothing is
left to do: with it, a conjunction gains no less than without it, and that is known.
"""

from __future__ import annotations

import numpy as np

from solver.branches.kernels.state import (
    BEGUN,
    DEEPEST,
    DEPTH,
    FOUND,
    LARGEST,
    NUMBER,
    UNFOUND,
    WIDTH,
    WORK,
    WORST,
    Space,
)
from solver.kernels.constants import GOLDEN, ONE, ZERO, Words
from solver.kernels.jit import helper, popcount, trailing_zeros
from solver.kernels.simd import sum_columns


@helper
def keep_found(s: Space, rows: Words, value: int, n_words: int) -> None:
    """Keep a set among the ``FOUND`` of largest value; later ones must be better than the worst."""
    p, at = s.program, s.program.status[NUMBER]
    if at < FOUND:
        p.status[NUMBER] += 1
    else:
        at = worst_found(s)
    p.found_value[at] = value
    for w in range(n_words):
        p.found[at, w] = rows[w]
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
def begin_search(s: Space, n_literals: int, n_words: int) -> None:
    """Let :func:`search_conjunctions` begin with the conjunction without literals."""
    p, n = s.program, 0
    for w in range(len(s.duals.mask)):
        for side in range(2):
            p.may[0, side, w] = p.left_out[0, side, w] = p.added[0, side, w] = ZERO
    p.status[WIDTH] = (n_literals // 2 + 63) // 64
    for literal in range(n_literals):
        p.may[0, literal & 1, literal >> 7] |= ONE << np.uint64((literal >> 1) & 63)
    for i in range(64 * n_words):
        if s.stack.rows[i] >= 0:
            for w in range(p.status[WIDTH]):
                p.group[w, n] = ZERO
            for column in range(n_literals // 2):
                held = s.duals.literal[2 * column, i >> 6] >> np.uint64(i & 63) & ONE
                p.group[column >> 6, n] |= held << np.uint64(column & 63)
            p.group_gain[n] = np.int64(s.duals.gain[i])
            n += 1
    p.group_end[0], p.group_end[1], p.gained[0] = 0, n, p.status[WORST]
    p.status[DEPTH], p.status[BEGUN] = 0, p.status[WORK]
    merge_groups(s, 0)


@helper
def work_expected(s: Space) -> float:
    """About how much work the search takes in all, if each literal of the first conjunction takes
    as much as those that were left out already."""
    p, done, left = s.program, 0, 0
    for side in range(2):
        for w in range(p.status[WIDTH]):
            done += popcount(p.left_out[0, side, w])
            left += popcount(p.may[0, side, w])
    return float(p.status[WORK] - p.status[BEGUN]) * float(done + left) / float(max(done, 1))


@helper
def search_conjunctions(s: Space, n_words: int, useful: int, limit: int) -> bool:
    """Find the conjunctions whose rows gain more than ``WORST``, ``FOUND`` of the best of them.

    Depth-first. It stops when the work reaches ``limit``, and then goes on from there; whether it
    is done. It is also done when there are ``FOUND`` that gain more than ``useful``.
    """
    p = s.program
    while p.status[DEPTH] >= 0:
        if p.status[WORK] > limit:
            return False
        if p.status[NUMBER] == FOUND and p.status[WORST] > useful:
            p.status[DEPTH] = -1
            break
        d = p.status[DEPTH]
        most = narrow(s, d)
        literal = -1
        if most > p.status[WORST]:
            keep_if_better(s, d, n_words)
            literal = least_literal(s, d, most)
        if literal >= 0 and has_room(s, d):
            enter_literal(s, d, literal)
            continue
        if literal >= 0:  # none of its conjunctions gains more than this
            p.status[UNFOUND] = max(p.status[UNFOUND], most)
        p.status[DEPTH] -= 1
        if d > 0:
            leave_out(s, d - 1)
    return True


@helper
def narrow(s: Space, d: int) -> int:
    """Add literals that lose nothing, drop those that lead to nothing better, and merge groups; the
    most that the groups gain, or 0 if that is known not to be more than ``WORST``."""
    worst = s.program.status[WORST]
    mark_columns(s, d)
    while True:
        most = sum_groups(s, d)
        if most <= worst or is_known(s, d):
            return 0
        dropped = add_free_literals(s, d)
        mark_columns(s, d)
        drop_literals(s, d, most, worst)
        if loses_columns(s, d):
            merge_groups(s, d)
        elif not dropped:
            return most


@helper
def mark_columns(s: Space, d: int) -> None:
    """Note the columns of the literals that may follow."""
    for w in range(s.program.status[WIDTH]):
        s.duals.mask[w] = s.program.may[d, 0, w] | s.program.may[d, 1, w]


@helper
def loses_columns(s: Space, d: int) -> bool:
    """Whether neither literal of a column may follow that is still marked."""
    lost = ZERO
    for w in range(s.program.status[WIDTH]):
        lost |= s.duals.mask[w] & ~(s.program.may[d, 0, w] | s.program.may[d, 1, w])
    return bool(lost != ZERO)


@helper
def merge_groups(s: Space, d: int) -> None:
    """Merge the groups that only literals separate which may not follow any more.

    A slot of the hash table holds the turn that wrote it, and a group's place in this turn.
    """
    mark_columns(s, d)
    group, gains, slots, mask = s.program.group, s.program.group_gain, s.duals.slot, s.duals.mask
    first, end = np.uint64(s.program.group_end[d]), np.uint64(s.program.group_end[d + 1])
    width, size = np.uint64(s.program.status[WIDTH]), np.uint64(len(slots))
    s.duals.turn[0] += size
    turn, n, shift = s.duals.turn[0], first, np.uint64(64 - trailing_zeros(size))
    for i in range(first, end):
        key, w = ZERO, ZERO
        while w < width:
            group[w, n] = group[w, i] & mask[w]
            key = (key ^ group[w, n]) * GOLDEN
            w += ONE
        slot = key >> shift
        while True:
            place = slots[slot] - turn
            is_new = place >= size  # it is of an earlier turn
            same = n if is_new else first + place
            w = ZERO
            while w < width and group[w, same] == group[w, n]:
                w += ONE
            if w == width:
                break
            slot = (slot + ONE) & (size - ONE)
        # Whether groups merge cannot be predicted, so it is no branch.
        gain, gains[n] = gains[i], 0
        gains[same] += gain
        slots[slot] = turn + (same - first)
        n += np.uint64(is_new)
    s.program.group_end[d + 1] = np.int64(n)


@helper
def sum_groups(s: Space, d: int) -> int:
    """Sum what groups gain: in all, and in each column. Note the columns that are one in all groups
    that gain, and in none; and in all groups, and in none."""
    p, u, width = s.program, s.duals, np.uint64(s.program.status[WIDTH])
    group, gains, gaining, n, most = p.group, p.group_gain, u.gaining, ZERO, 0
    first, end = np.uint64(p.group_end[d]), np.uint64(p.group_end[d + 1])
    p.status[WORK] += 24 + (p.group_end[d + 1] - p.group_end[d]) * (7 * p.status[WIDTH] + 2) // 8
    for i in range(first, end):  # whether one gains cannot be predicted, so it is no branch
        gaining[n] = i
        most += max(gains[i], 0)
        n += np.uint64(gains[i] > 0)
    for w in range(width):
        ones = zeros = all_ones = all_zeros = u.mask[w]
        for i in range(first, end):
            all_ones &= group[w, i]
            all_zeros &= ~group[w, i]
        for j in range(n):
            ones &= group[w, gaining[j]]
            zeros &= ~group[w, gaining[j]]
        u.held[0, w], u.held[1, w], u.held[2, w], u.held[3, w] = ones, zeros, all_ones, all_zeros
        sum_columns(p.column_gain, d, w, group, gains, gaining, n)
    return most


@helper
def is_known(s: Space, d: int) -> bool:
    """Whether all groups that gain have a literal that was left out."""
    p, known = s.program, ZERO
    for side in range(2):
        for w in range(p.status[WIDTH]):
            known |= p.left_out[d, side, w] & s.duals.held[side, w]
    return bool(known != ZERO)


@helper
def add_free_literals(s: Space, d: int) -> bool:
    """Add the literals that all groups have which gain; whether groups are dropped by it."""
    p, u, width, drops = s.program, s.duals, s.program.status[WIDTH], ZERO
    for w in range(width):
        for side in range(2):
            free = p.may[d, side, w] & u.held[side, w]
            u.held[side, w] = free
            p.may[d, side, w] &= ~free
            p.added[d, side, w] |= free
            drops |= free & ~u.held[2 + side, w]
    if drops != ZERO:
        p.gained[d] = 0  # what is left is another conjunction, also if it gains as much
        n = np.uint64(p.group_end[d])
        for i in range(n, np.uint64(p.group_end[d + 1])):
            lacks = ZERO
            for w in range(width):
                lacks |= u.held[0, w] & ~p.group[w, i] | u.held[1, w] & p.group[w, i]
            copy_group(s, i, n)
            n += np.uint64(lacks == ZERO)
        p.group_end[d + 1] = np.int64(n)
    return bool(drops != ZERO)


@helper
def copy_group(s: Space, i: int, n: np.uint64) -> None:
    """Copy a group to place ``n``."""
    w, width = ZERO, np.uint64(s.program.status[WIDTH])
    while w < width:
        s.program.group[w, n] = s.program.group[w, i]
        w += ONE
    s.program.group_gain[n] = s.program.group_gain[i]


@helper
def drop_literals(s: Space, d: int, most: int, worst: int) -> None:
    """Drop the literals whose groups gain no more than ``worst``."""
    p = s.program
    for side in range(2):
        for w in range(p.status[WIDTH]):
            left = p.may[d, side, w]
            while left != ZERO:
                j = trailing_zeros(left)
                left &= left - ONE
                gain = p.column_gain[d, 64 * w + j]
                if (most - gain if side == 1 else gain) <= worst:
                    p.may[d, side, w] &= ~(ONE << np.uint64(j))


@helper
def keep_if_better(s: Space, d: int, n_words: int) -> None:
    """Keep the conjunction if its rows gain more than ``WORST``, and more than before."""
    p, u, value = s.program, s.duals, 0
    for i in range(p.group_end[d], p.group_end[d + 1]):
        value += p.group_gain[i]
    if value <= max(p.status[WORST], p.gained[d]):
        return
    p.gained[d] = value
    for w in range(n_words):
        u.rows[w] = s.stack.words[w]
    for side in range(2):
        for w in range(p.status[WIDTH]):
            left = p.added[d, side, w]
            while left != ZERO:
                literal = 2 * (64 * w + trailing_zeros(left)) + side
                left &= left - ONE
                for at in range(n_words):
                    u.rows[at] &= u.literal[literal, at]
    keep_found(s, u.rows, value, n_words)


@helper
def least_literal(s: Space, d: int, most: int) -> int:
    """The literal whose groups gain least, or −1."""
    p, best, least = s.program, -1, 0
    for side in range(2):
        for w in range(p.status[WIDTH]):
            left = p.may[d, side, w]
            while left != ZERO:
                j = trailing_zeros(left)
                left &= left - ONE
                gain = p.column_gain[d, 64 * w + j]
                if side == 1:
                    gain = most - gain
                if best < 0 or gain < least:
                    best, least = 2 * (64 * w + j) + side, gain
    return best


@helper
def has_room(s: Space, d: int) -> bool:
    """Whether there is room for one literal more."""
    p = s.program
    groups = p.group_end[d + 1] - p.group_end[d]
    return bool(d + 2 < DEEPEST and p.group_end[d + 1] + groups <= len(p.group_gain))


@helper
def enter_literal(s: Space, d: int, literal: int) -> None:
    """Add a literal to a conjunction."""
    p, e, side, w = s.program, d + 1, literal & 1, literal >> 7
    mark = ONE << np.uint64((literal >> 1) & 63)
    for at in range(p.status[WIDTH]):
        for which in range(2):
            p.may[e, which, at] = p.may[d, which, at]
            p.left_out[e, which, at] = p.left_out[d, which, at]
            p.added[e, which, at] = p.added[d, which, at]
    p.may[e, 0, w] &= ~mark
    p.may[e, 1, w] &= ~mark
    p.added[e, side, w] |= mark
    wanted, n = mark if side == 0 else ZERO, np.uint64(p.group_end[e])
    for i in range(np.uint64(p.group_end[d]), np.uint64(p.group_end[e])):
        copy_group(s, i, n)
        n += np.uint64(p.group[w, i] & mark == wanted)
    p.branched[d], p.group_end[e + 1], p.gained[e] = literal, np.int64(n), p.status[WORST]
    p.status[DEPTH] = e


@helper
def leave_out(s: Space, d: int) -> None:
    """Note that all is known of the literal that was added to a conjunction last."""
    side, w = s.program.branched[d] & 1, s.program.branched[d] >> 7
    mark = ONE << np.uint64((s.program.branched[d] >> 1) & 63)
    s.program.may[d, side, w] &= ~mark
    s.program.left_out[d, side, w] |= mark
    merge_groups(s, d)
