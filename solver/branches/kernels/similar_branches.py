"""Bounds between branches that share most of their rows.

Similar support: they move between the children of a frame. Subset bounds: they move from branches
that were left before to a branch that is about to be opened, and from the children of the frames
below to the children of a new frame.

Let ``B`` be a branch with at least as many levels below it as ``A`` has. The best tree of ``A``,
for the rows of ``B``, errs in addition at most on all rows of ``B`` outside ``A``. So ``cost(A) ≥
lower(B) − error · weight(B ∖ A)``. Leaves may have any size, as those on ``B`` have other rows.

Branches are kept in blocks of LANES, which are compared at once. A block has branches of about the
same weight and bound, so that many blocks can be skipped: their bounds are too low, or their
branches have too many more rows than ``A``. When there is no room, the oldest block that was of no
use lately is cleared. Short searches do without, and so do most comparisons where the bounds seldom
help.
"""

from __future__ import annotations

import numpy as np

from solver.branches.kernels import stack_frame
from solver.branches.kernels.bounds import raise_split
from solver.branches.kernels.branch_rows import collect_child
from solver.branches.kernels.memo import feature_of
from solver.branches.kernels.state import (
    BLOCKS,
    ITERATIONS,
    LEVELS,
    REACHED,
    RESTING,
    SIZES,
    TRIED,
    Space,
    Stack,
)
from solver.kernels.constants import ONE, ZERO
from solver.kernels.jit import helper
from solver.kernels.simd import LANES
from solver.kernels.simd32 import SHORT_LANES, least, lowest, plus, shared_bits, spread, store
from solver.objective.exact_objective import INFINITE

_WINDOW = 256  # comparisons between two decisions
_REST = 15  # windows without comparisons
_REFILL = 4 * _WINDOW  # comparisons left out before branches are kept again
_OFTEN = 4  # one comparison in as many must spare an opening


@helper
def pair_weight(stack: Stack, d: int, i: int, j: int) -> int:
    """Weight that two columns of a frame share."""
    at = (
        stack.head[d, stack_frame.JOINT_AT]
        + min(i, j) * stack.head[d, stack_frame.N_COLUMNS]
        + max(i, j)
    )
    return int(stack.joint[at])


@helper
def shared_column(s: Space, d: int, f: int, v: int, g: int, u: int) -> int:
    """As :func:`shared_weight` for a code ``v`` above 0."""
    i, j = s.stack.first[d, f] + v - 1, s.stack.first[d, g]
    if u > 0:
        return pair_weight(s.stack, d, i, j + u - 1)
    weight = s.stack.child_weight[d, s.table.values[f] + v]
    for c in range(s.table.columns[g + 1] - s.table.columns[g]):
        weight -= pair_weight(s.stack, d, i, j + c)
    return int(weight)


@helper
def shared_weight(s: Space, d: int, f: int, v: int, g: int, u: int) -> int:
    """Weight of the rows where ``f`` has code ``v`` and ``g`` code ``u``."""
    if v > 0:
        return shared_column(s, d, f, v, g, u)
    weight = s.stack.child_weight[d, s.table.values[g] + u]
    for c in range(1, s.table.values[f + 1] - s.table.values[f]):
        weight -= shared_column(s, d, f, c, g, u)
    return int(weight)


@helper
def may_gain(s: Space, d: int, source: int, value: int) -> bool:
    """Whether one child's bounds exceed another's at all."""
    for b in range(s.params.budgets):
        if s.stack.child_lower[d, source, b] > s.stack.child_lower[d, value, b]:
            return True
    return False


@helper
def share_bound(s: Space, d: int, f: int, v: int) -> None:
    """Move the bounds of a child to the other children of the frame.

    On branch ``A`` a tree for branch ``B`` has at most all rows of ``A`` outside ``B`` as further
    errors, so ``lower(B) ≥ lower(A) − weight(A ∖ B)``.
    """
    if s.stack.head[d, stack_frame.HAS_JOINT] == 0:
        return
    if s.params.max_arity == 2 and s.params.budgets == 1:
        share_one_bound(s, d, f, v)
        return
    source = s.table.values[f] + v
    for i in range(s.stack.head[d, stack_frame.N_CANDIDATES]):
        g = s.stack.candidates[d, i]
        if g == f:
            continue
        changed = False
        for value in range(s.table.values[g], s.table.values[g + 1]):
            if not may_gain(s, d, source, value):
                continue
            outside = s.stack.child_weight[d, source] - shared_weight(
                s, d, f, v, g, value - s.table.values[g]
            )
            for b in range(s.params.budgets):
                low = s.stack.child_lower[d, source, b] - s.params.error * outside
                if low > s.stack.child_lower[d, value, b]:
                    s.stack.child_lower[d, value, b] = low
                    changed = True
        if changed:
            raise_split(s, d, g)


@helper
def share_one_bound(s: Space, d: int, f: int, v: int) -> None:
    """:func:`share_bound` where every feature has two codes and every child one bound."""
    lower, weights = s.stack.child_lower[d], s.stack.child_weight[d]
    own, error, column = s.table.values[f], s.params.error, s.stack.first[d, f]
    low, weight = lower[own + v, 0], weights[own + v]
    for i in range(s.stack.head[d, stack_frame.N_CANDIDATES]):
        g = s.stack.candidates[d, i]
        value = s.table.values[g]
        if g == f or low <= min(lower[value, 0], lower[value + 1, 0]):
            continue
        # The weight of the child's rows where ``g`` is 1: the other part of ``g`` lacks them.
        inside = pair_weight(s.stack, d, column, s.stack.first[d, g])
        if v == 0:
            inside = weights[value + 1] - inside
        low_0, low_1 = low - error * inside, low - error * (weight - inside)
        if low_0 > lower[value, 0] or low_1 > lower[value + 1, 0]:
            lower[value, 0] = max(lower[value, 0], low_0)
            lower[value + 1, 0] = max(lower[value + 1, 0], low_1)
            raise_split(s, d, g)


@helper
def compares(s: Space) -> bool:
    """Whether the search is long enough for subset bounds."""
    return bool(s.params.recent > 0 and s.memo.used[ITERATIONS] >= s.params.recent_from)


@helper
def inherit_bounds(s: Space, d: int) -> None:
    """Bound all children of a new frame by the children of the frames below.

    The rows of a child are among those that the same test leaves in a branch below. Their weights
    tell how many more these are.
    """
    if not compares(s):
        return
    for i in range(s.stack.head[d, stack_frame.N_LIVE]):
        feature = s.stack.live[d, i]
        for value in range(s.table.values[feature], s.table.values[feature + 1]):
            for e in range(d):
                more = s.stack.child_weight[e, value] - s.stack.child_weight[d, value]
                for b in range(s.params.budgets):
                    low = s.stack.child_lower[e, value, b] - s.params.error * more
                    s.stack.child_lower[d, value, b] = max(s.stack.child_lower[d, value, b], low)


@helper
def has_place(s: Space) -> bool:
    """Whether there is a block for one more branch."""
    blocks = len(s.recent.recent_node)
    return s.recent.effort[BLOCKS] < blocks or blocks >= s.params.recent


@helper
def next_block(s: Space) -> int:
    """Clear the next block that raised no bound lately."""
    while True:
        block = s.recent.effort[BLOCKS] % s.params.recent
        s.recent.effort[BLOCKS] += 1
        if s.recent.recent_uses[block] == 0:
            break
        s.recent.recent_uses[block] //= 2
    for i in range(len(s.recent.filling)):
        if s.recent.filling[i] == block + 1:
            s.recent.filling[i] = 0
    for lane in range(LANES):
        s.recent.recent_node[block, lane] = 0
    for i in range(s.params.budgets * LANES):
        s.recent.recent_lower[block, i] = 0
    return int(block)


@helper
def find_place(s: Space, weight: int, lower: int) -> tuple[int, int]:
    """Block and lane of a free place among branches of about this weight and lower bound."""
    kind = 0
    if s.params.recent >= len(s.recent.filling):  # there are blocks for all kinds
        size = min(weight * s.params.error // (3 * s.params.split + 1), SIZES - 1)
        kind = size * LEVELS + min(lower // (2 * s.params.split + 1), LEVELS - 1)
    block, lane = s.recent.filling[kind] - 1, 0
    if block < 0 or s.recent.recent_node[block, LANES - 1] != 0:
        block = next_block(s)
        s.recent.filling[kind] = block + 1
    while s.recent.recent_node[block, lane] != 0:
        lane += 1
    return int(block), lane


@helper
def sum_up(s: Space, block: int) -> None:
    """What the best branch of a block can tell at most."""
    for b in range(s.params.budgets):
        best, most = 0, -INFINITE
        for lane in range(LANES):
            if s.recent.recent_node[block, lane] != 0:
                lower = -s.recent.recent_lower[block, b * LANES + lane]
                best = max(best, lower)
                most = max(most, lower - s.params.error * s.recent.recent_weight[block, lane])
        s.recent.recent_best[block, b], s.recent.recent_most[block, b] = best, most


@helper
def keeps_none(s: Space) -> bool:
    """Whether no branches are kept for now."""
    return bool(
        s.memo.used[ITERATIONS] < s.params.recent_from or s.recent.effort[RESTING] > _REFILL
    )


@helper
def is_kept(s: Space, node: int) -> bool:
    """Whether a branch is among those that are kept."""
    if s.params.recent == 0 or s.recent.effort[BLOCKS] == 0:
        return False
    block, lane = s.memo.node_place[node] // LANES, s.memo.node_place[node] % LANES
    return bool(s.recent.recent_node[block, lane] == node + 1)


@helper
def take_place(s: Space, node: int, weight: int) -> tuple[int, int]:
    """Give a branch a place that has no rows yet; its block and lane."""
    block, lane = find_place(s, weight, s.memo.node_lower[node, s.params.budgets - 1])
    s.memo.node_place[node] = block * LANES + lane
    s.recent.recent_node[block, lane] = node + 1
    s.recent.recent_weight[block, lane] = weight
    for w in range(len(s.scratch.row_set)):
        s.recent.recent_rows[block, w * LANES + lane] = ZERO
    return block, lane


@helper
def keep_row(s: Space, block: int, lane: int, row: int) -> None:
    """Add a row to a branch that is kept."""
    bit = ONE << np.uint64(row & 63)
    s.recent.recent_rows[block, (row >> 6) * LANES + lane] |= bit


@helper
def keep_bounds(s: Space, node: int) -> None:
    """Keep the bounds of a branch that is kept."""
    block, lane = s.memo.node_place[node] // LANES, s.memo.node_place[node] % LANES
    for b in range(s.params.budgets):
        s.recent.recent_lower[block, b * LANES + lane] = -s.memo.node_lower[node, b]
    sum_up(s, block)


@helper
def keep_branch(s: Space, d: int) -> None:
    """Keep the branch of a frame that the search leaves, with its rows and bounds."""
    if keeps_none(s):
        return
    node = s.stack.head[d, stack_frame.NODE]
    if not is_kept(s, node):
        block, lane = take_place(s, node, s.stack.head[d, stack_frame.TOTAL])
        rows_at = s.stack.head[d, stack_frame.ROWS_AT]
        for i in range(64 * s.stack.head[d, stack_frame.N_WORDS]):
            if s.stack.rows[rows_at + i] >= 0:
                keep_row(s, block, lane, s.stack.rows[rows_at + i])
    keep_bounds(s, node)


@helper
def keep_told(s: Space, node: int, n: int) -> None:
    """Keep a branch that another shard has left, whose ``n`` rows are collected."""
    if keeps_none(s):
        return
    if not is_kept(s, node):
        weight = 0
        for i in range(n):
            weight += s.table.weights[s.scratch.rows[i]]
        block, lane = take_place(s, node, weight)
        for i in range(n):
            keep_row(s, block, lane, s.scratch.rows[i])
    keep_bounds(s, node)


@helper
def mark_others(s: Space, n: int) -> None:
    """Write the rows that are not among the ``n`` collected ones to ``scratch.row_set``."""
    for w in range(len(s.scratch.row_set)):
        s.scratch.row_set[w] = ~ZERO
    for i in range(n):
        row = s.scratch.rows[i]
        s.scratch.row_set[row >> 6] &= ~(ONE << np.uint64(row & 63))


@helper
def may_raise(s: Space, block: int, budget: int, low: int) -> bool:
    """Write the weights that a block's branches have in ``scratch.row_set`` to ``scratch.outside``;
    whether they are so small that a bound may be above ``low``."""
    rows, words, planes = s.recent.recent_rows, len(s.scratch.row_set), len(s.table.scales)
    spare = (s.recent.recent_best[block, budget] - low) // s.params.error
    first = second = spread(0)
    for w in range(words):
        at, others = (block * words + w) * LANES, s.scratch.row_set[w]
        if planes == 0:
            first = plus(first, shared_bits(rows, at, others, 1))
            second = plus(second, shared_bits(rows, at + SHORT_LANES, others, 1))
        for plane in range(planes):
            part, scale = others & s.scratch.row_planes[plane, w], s.table.scales[plane]
            if part != ZERO:
                first = plus(first, shared_bits(rows, at, part, scale))
                second = plus(second, shared_bits(rows, at + SHORT_LANES, part, scale))
        if (w % 8 == 7 or w + 1 == words) and lowest(least(first, second)) > spare:
            return False
    store(s.scratch.outside, 0, first)
    store(s.scratch.outside, SHORT_LANES, second)
    return True


@helper
def take_bounds(s: Space, d: int, value: int, block: int, budget: int) -> None:
    """Raise the bounds of a child by those of a block, with the weights of :func:`may_raise`."""
    lower = s.stack.child_lower[d, value]
    for lane in range(LANES):
        loss = s.params.error * s.scratch.outside[lane]
        own = -s.recent.recent_lower[block, budget * LANES + lane]
        if own - loss <= lower[budget] and s.params.budgets == 1:
            continue
        node = s.recent.recent_node[block, lane] - 1
        if node < 0 or (s.params.depth < INFINITE and s.memo.node_literals[node, 1] > d + 1):
            continue
        for b in range(s.params.budgets):
            low = -s.recent.recent_lower[block, b * LANES + lane] - loss
            lower[b] = max(lower[b], low)


@helper
def is_resting(s: Space) -> bool:
    """Whether to compare no branches for now: at the beginning, and for a while if too few of the
    last comparisons spared an opening."""
    effort = s.recent.effort
    if s.memo.used[ITERATIONS] < s.params.recent_from:
        return True
    if effort[TRIED] == _WINDOW:
        if _OFTEN * effort[REACHED] < _WINDOW:
            effort[RESTING] = _REST * _WINDOW
        effort[TRIED], effort[REACHED] = 0, 0
    if effort[RESTING] > 0:
        effort[RESTING] -= 1
        return True
    effort[TRIED] += 1
    return False


@helper
def raise_by_subsets(s: Space, d: int, value: int, budget: int, goal: int) -> bool:
    """Raise the bounds of a child of frame ``d``; whether its rows were collected for that.

    The child needs no opening if its bound for ``budget`` splits reaches the ``goal``.
    """
    lower = s.stack.child_lower[d, value]
    low, old = lower[budget], lower[budget]
    if low >= goal or is_resting(s):
        return False
    feature = feature_of(s.table, value)
    mark_others(s, collect_child(s, d, feature, value - s.table.values[feature]))
    cost = s.stack.child_weight[d, value] * s.params.error
    for block in range(min(s.params.recent, s.recent.effort[BLOCKS])):
        if s.recent.recent_best[block, budget] <= low:
            continue
        if s.recent.recent_most[block, budget] <= low - cost:
            continue
        if may_raise(s, block, budget, low):
            take_bounds(s, d, value, block, budget)
            if lower[budget] > low:
                low = lower[budget]
                s.recent.recent_uses[block] += 1
    if low == old:
        return True
    s.recent.effort[REACHED] += low >= goal
    node = s.stack.child_node[d, value]
    for b in range(s.params.budgets):
        s.memo.node_lower[node, b] = max(s.memo.node_lower[node, b], lower[b])
    return True
