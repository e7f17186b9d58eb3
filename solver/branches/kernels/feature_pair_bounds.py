"""Bounds on further splits of every child, from counts of pairs of features.

The class weights of ``f = v and g = u`` tell, before any child is created, what the split ``g``
would make of the child ``f = v``. So every child's best single split is known exactly. The four
cells of each pair bound the errors of larger trees of the child: a purification bound for each
number of splits.

Vectors have one number for each of SHORT_LANES columns ``g``. Names end with the codes of ``f`` and
``g`` in a cell: ``weight_10`` is the weight where f = 1 and g = 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from solver.branches.kernels import stack_frame
from solver.branches.kernels.branch_rows import columns_at
from solver.branches.kernels.state import HUGE, KEPT, MOST_KEPT_COLUMNS, SPLITS, Space
from solver.kernels.constants import ZERO, Shorts
from solver.kernels.jit import helper
from solver.kernels.simd32 import (
    SHORT_LANES,
    both,
    counted,
    either,
    exceeds,
    largest,
    least,
    load,
    lowest,
    minus,
    plus,
    shared_bits,
    spread,
    store,
    without,
)
from solver.objective.exact_objective import INFINITE


@helper
def shared_weights(s: Space, d: int, w: int, word: np.uint64, at: int) -> Any:
    """The weight that a word shares with the words from ``at`` on."""
    n_planes = len(s.table.scales)
    if n_planes == 0:
        return shared_bits(s.stack.words, at, word, 1)
    head, sums = s.stack.head[d], spread(0)
    plane_at = head[stack_frame.WORDS_AT] + head[stack_frame.N_WORDS] + w * n_planes
    for plane in range(n_planes):
        part = word & s.stack.words[plane_at + plane]
        if part != ZERO:
            sums = plus(sums, shared_bits(s.stack.words, at, part, s.table.scales[plane]))
    return sums


@helper
def top_two(most: Any, second: Any, weight: Any) -> tuple[Any, Any]:
    """The largest and the second largest weight of a class, with those of one more class."""
    return largest(most, weight), largest(second, least(most, weight))


@helper
def keep_cell(kept: Shorts, at: int, cell: int, weight: Any, most: Any, second: Any) -> Any:
    """Keep the errors of a cell as a leaf, and the least after one more split, which predicts two
    classes; return the errors."""
    errors = minus(weight, most)
    store(kept, at + (1 + cell) * SHORT_LANES, errors)
    store(kept, at + (5 + cell) * SHORT_LANES, minus(errors, second))
    return errors


@helper
def count_shared(s: Space, d: int, k: int, i: int, begin: int) -> Any:
    """The weight of a class that column ``i`` shares with the columns from ``begin`` on."""
    n_columns, columns, count = s.stack.head[d, stack_frame.N_COLUMNS], columns_at(s, d), spread(0)
    for w in range(s.stack.segments[d, k], s.stack.segments[d, k + 1]):
        word = s.stack.words[columns + w * n_columns + i]
        if word != ZERO:
            count = plus(count, shared_weights(s, d, w, word, columns + w * n_columns + begin))
    return count


@helper
def count_cells(s: Space, d: int, i: int, begin: int, at: int) -> tuple[Any, Any]:
    """Count the cells of column ``i`` with the columns from ``begin`` on; keep them at ``at``.

    Returns the errors of the single splits of ``i``'s children.
    """
    head, counts, step = s.stack.head[d], s.scratch.column_counts, s.scratch.step[0]
    n_classes = head[stack_frame.N_CLASSES]
    most_11 = most_10 = most_01 = most_00 = spread(0)
    next_11 = next_10 = next_01 = next_00 = spread(0)
    weight_11 = spread(0)
    for k in range(n_classes):
        count_11 = count_shared(s, d, k, i, begin)
        single = s.scratch.singles[k, i]
        count_10 = minus(spread(single), count_11)
        count_01 = minus(load(counts, k * step + begin), count_11)
        count_00 = minus(spread(s.scratch.totals[k] - single), count_01)
        weight_11 = plus(weight_11, count_11)
        most_11, next_11 = top_two(most_11, next_11, count_11)
        most_10, next_10 = top_two(most_10, next_10, count_10)
        most_01, next_01 = top_two(most_01, next_01, count_01)
        most_00, next_00 = top_two(most_00, next_00, count_00)
    kept, of_i, others = s.scratch.kept, counts[n_classes * step + i], n_classes * step + begin
    weight_10, weight_01 = minus(spread(of_i), weight_11), minus(load(counts, others), weight_11)
    rest = spread(head[stack_frame.TOTAL] - of_i)
    store(kept, at, weight_11)
    errors_11 = keep_cell(kept, at, 0, weight_11, most_11, next_11)
    errors_10 = keep_cell(kept, at, 1, weight_10, most_10, next_10)
    errors_01 = keep_cell(kept, at, 2, weight_01, most_01, next_01)
    errors_00 = keep_cell(kept, at, 3, minus(rest, weight_01), most_00, next_00)
    singles = s.scratch.single_errors
    lower(singles, begin, plus(errors_10, errors_00))
    lower(singles, step + begin, plus(errors_11, errors_01))
    return plus(errors_01, errors_00), plus(errors_11, errors_10)


@helper
def count_leaves(s: Space, d: int, i: int, begin: int) -> tuple[Any, Any]:
    """As :func:`count_cells`, where the cells are leaves; only their weight is kept, at 0."""
    head, counts, step = s.stack.head[d], s.scratch.column_counts, s.scratch.step[0]
    n_classes = head[stack_frame.N_CLASSES]
    most_11 = most_10 = most_01 = most_00 = weight_11 = spread(0)
    for k in range(n_classes):
        count_11 = count_shared(s, d, k, i, begin)
        single = s.scratch.singles[k, i]
        count_01 = minus(load(counts, k * step + begin), count_11)
        weight_11 = plus(weight_11, count_11)
        most_11 = largest(most_11, count_11)
        most_10 = largest(most_10, minus(spread(single), count_11))
        most_01 = largest(most_01, count_01)
        most_00 = largest(most_00, minus(spread(s.scratch.totals[k] - single), count_01))
    store(s.scratch.kept, 0, weight_11)
    of_i, of_j = counts[n_classes * step + i], load(counts, n_classes * step + begin)
    weight_1, weight_0 = spread(of_i), spread(head[stack_frame.TOTAL] - of_i)
    # What a split by a column of the others leaves of its own children, then of those of ``i``.
    singles = s.scratch.single_errors
    rest = minus(plus(weight_0, weight_1), of_j)
    lower(singles, begin, minus(rest, plus(most_10, most_00)))
    lower(singles, step + begin, minus(of_j, plus(most_11, most_01)))
    return minus(weight_0, plus(most_01, most_00)), minus(weight_1, plus(most_11, most_10))


@helper
def lower(out: Shorts, at: int, vector: Any) -> None:
    """Keep the lesser numbers of those at ``at`` and of a vector."""
    store(out, at, least(load(out, at), vector))


@helper
def beyond(begin: int, n_columns: int) -> Any:
    """HUGE for columns that do not exist."""
    return both(exceeds(counted(begin), spread(n_columns - 1)), spread(HUGE))


@helper
def note_duplicates(s: Space, d: int, i: int, begin: int, at: int) -> None:
    """Mark the columns that separate the rows of the branch as the pair's first one does."""
    head, counts = s.stack.head[d], s.scratch.column_counts
    weights, total = head[stack_frame.N_CLASSES] * s.scratch.step[0], head[stack_frame.TOTAL]
    # The weight where the two differ.
    shared = load(s.scratch.kept, at)
    other = minus(plus(spread(counts[weights + i]), load(counts, weights + begin)), shared)
    other = minus(other, shared)
    if lowest(least(other, minus(spread(total), other))) > 0:
        return
    for j in range(begin, min(begin + SHORT_LANES, head[stack_frame.N_COLUMNS])):
        differ = counts[weights + i] + counts[weights + j] - 2 * s.scratch.kept[at + j - begin]
        if differ == 0 or differ == total:
            s.scratch.duplicate[s.stack.live[d, j]] = 1


@helper
def count_row(s: Space, d: int, i: int, start: int, deep: bool) -> int:
    """Count the cells of column ``i`` with all columns after it; keep them at ``start``, unless
    they are leaves.

    Returns where they end.
    """
    n_columns, at = s.stack.head[d, stack_frame.N_COLUMNS], start
    best_0 = best_1 = spread(HUGE)
    joint = s.stack.head[d, stack_frame.JOINT_AT] + i * n_columns
    for begin in range(i + 1, n_columns, SHORT_LANES):
        if deep:
            errors_0, errors_1 = count_cells(s, d, i, begin, at)
        else:
            errors_0, errors_1 = count_leaves(s, d, i, begin)
        none = beyond(begin, n_columns)
        best_0, best_1 = (
            least(best_0, largest(errors_0, none)),
            least(best_1, largest(errors_1, none)),
        )
        if s.stack.head[d, stack_frame.HAS_JOINT]:
            # What is written beyond the last column is overwritten by the next row.
            store(s.stack.joint, joint + begin, load(s.scratch.kept, at))
        if s.params.duplicates:
            note_duplicates(s, d, i, begin, at)
        at += KEPT if deep else 0
    singles, step = s.scratch.single_errors, s.scratch.step[0]
    singles[i] = np.int32(min(singles[i], lowest(best_0)))
    singles[step + i] = np.int32(min(singles[step + i], lowest(best_1)))
    return at


@helper
def set_limits(s: Space, deep: bool) -> None:
    """Write the weights that a cell's best tree must exceed to pay, see :func:`bound_cell`."""
    limits, error, split = s.scratch.limits, s.params.error, s.params.split
    limits[0] = np.int32(min(s.params.min_leaf - 1, HUGE))
    for k in range(1, 4):
        limit = min(k * (split // error) + k * (split % error) // error, HUGE)
        if k > 1 and not deep:
            limit = HUGE
        limits[k] = np.int32(limit if s.params.support else -1)


@helper
def bound_cell(
    s: Space, at: int, cell: int, weight: Any, beside_f: Any, beside_g: Any, of_f: Any, of_g: Any
) -> tuple[Any, Any, Any]:
    """Errors of a cell as a leaf; the least after one more split; HUGE where it cannot pay.

    One more split leaves at least the errors beyond the two largest classes of the cell. It is no
    better than the child's best single split, ``of_f`` or ``of_g``, except for the child's rows
    outside the cell: that split would serve the child as well. No split should make a cell whose
    weight exceeds the cost of its best tree by no more than a split: of a leaf, of a tree of one
    split, and of larger ones.
    """
    kept, limits = s.scratch.kept, s.scratch.limits
    errors = load(kept, at + (1 + cell) * SHORT_LANES)
    second = load(kept, at + (5 + cell) * SHORT_LANES)
    second = largest(second, largest(minus(of_f, beside_f), minus(of_g, beside_g)))
    second = least(second, errors)
    pays = exceeds(minus(weight, errors), spread(limits[1]))
    pays = either(pays, exceeds(minus(weight, second), spread(limits[2])))
    pays = either(pays, exceeds(weight, spread(limits[3])))
    pays = both(pays, exceeds(weight, spread(limits[0])))
    return errors, second, without(spread(HUGE), pays)


@helper
def bound_child(
    out: Shorts, at: int, step: int, a: tuple[Any, Any, Any], b: tuple[Any, Any, Any]
) -> None:
    """Bound the errors of a child's trees that begin with a split into the cells ``a`` and ``b``.

    A tree of two splits has one more in one of the cells. One of three has two in one cell, with
    the other one a leaf, or one in each. One of four has a cell with at most one.
    """
    closed = largest(a[2], b[2])
    lower(out, at, largest(plus(a[0], b[0]), closed))
    two = least(plus(a[0], b[1]), plus(a[1], b[0]))
    lower(out, at + step, largest(two, closed))
    three = least(plus(a[1], b[1]), least(a[0], b[0]))
    lower(out, at + 2 * step, largest(three, closed))
    lower(out, at + 3 * step, largest(least(a[1], b[1]), closed))


@helper
def bound_row(s: Space, d: int, i: int, start: int) -> int:
    """Let column ``i`` and each of those after it split each other's children; their cells are kept
    from ``start`` on. Returns where they end."""
    n_columns, step, at = s.stack.head[d, stack_frame.N_COLUMNS], s.scratch.step[0], start
    counts, singles, of_row = s.scratch.column_counts, s.scratch.single_errors, s.scratch.of_row
    weights = s.stack.head[d, stack_frame.N_CLASSES] * step
    of_i, total = spread(counts[weights + i]), s.stack.head[d, stack_frame.TOTAL]
    rest = minus(spread(total), of_i)
    of_f0, of_f1 = spread(singles[i]), spread(singles[step + i])
    for row in range(2 * SPLITS):
        store(of_row, row * SHORT_LANES, spread(HUGE))
    for begin in range(i + 1, n_columns, SHORT_LANES):
        weight_11 = load(s.scratch.kept, at)
        weight_10 = minus(of_i, weight_11)
        weight_01 = minus(load(counts, weights + begin), weight_11)
        weight_00 = minus(rest, weight_01)
        of_g0, of_g1 = load(singles, begin), load(singles, step + begin)
        cell_11 = bound_cell(s, at, 0, weight_11, weight_10, weight_01, of_f1, of_g1)
        cell_10 = bound_cell(s, at, 1, weight_10, weight_11, weight_00, of_f1, of_g0)
        cell_01 = bound_cell(s, at, 2, weight_01, weight_00, weight_11, of_f0, of_g1)
        cell_00 = bound_cell(s, at, 3, weight_00, weight_01, weight_10, of_f0, of_g0)
        none = beyond(begin, n_columns)
        bound_child(s.scratch.fewest, begin, step, cell_10, cell_00)
        bound_child(s.scratch.fewest, SPLITS * step + begin, step, cell_11, cell_01)
        cell_01 = cell_01[0], cell_01[1], largest(cell_01[2], none)
        cell_11 = cell_11[0], cell_11[1], largest(cell_11[2], none)
        bound_child(of_row, 0, SHORT_LANES, cell_01, cell_00)
        bound_child(of_row, SPLITS * SHORT_LANES, SHORT_LANES, cell_11, cell_10)
        at += KEPT
    for row in range(2 * SPLITS):
        most = lowest(load(of_row, row * SHORT_LANES))
        s.scratch.fewest[row * step + i] = np.int32(min(s.scratch.fewest[row * step + i], most))
    return at


@helper
def start_pairs(s: Space, d: int, deep: bool) -> None:
    """Write the column counts as 32-bit numbers, and that no pair is known yet."""
    head, counts, step = s.stack.head[d], s.scratch.column_counts, s.scratch.step[0]
    n_columns, n_classes = head[stack_frame.N_COLUMNS], head[stack_frame.N_CLASSES]
    for j in range(n_columns):
        counts[n_classes * step + j] = 0
    for k in range(n_classes):
        for j in range(n_columns):
            count = np.int32(s.scratch.singles[k, j])
            counts[k * step + j] = count
            counts[n_classes * step + j] += count
    refined = n_columns <= MOST_KEPT_COLUMNS or not deep
    for code in range(2):
        for j in range(n_columns):
            value = s.table.values[s.stack.live[d, j]] + code
            errors = s.stack.child_leaf[d, value] // s.params.error if refined else -1
            s.scratch.single_errors[code * step + j] = np.int32(errors)
            for k in range(SPLITS):
                s.scratch.fewest[(SPLITS * code + k) * step + j] = np.int32(HUGE)


@helper
def pair_binary(s: Space, d: int, deep: bool) -> None:
    """Bound the errors of all children by pairs, where every feature has two codes.

    Columns then are live features. :func:`costs_by_pairs` has the results.
    """
    n_columns = s.stack.head[d, stack_frame.N_COLUMNS]
    # A cell that is a leaf pays for its split, or the child is better off as a leaf. But it may be
    # too small.
    deep = deep or s.params.min_leaf > 1
    start_pairs(s, d, deep)
    if not deep:
        for i in range(n_columns):
            count_row(s, d, i, 0, deep)
        return
    set_limits(s, deep)
    # Two passes, for the single splits of all children must be known; one where there is no room
    # to keep the counts of all pairs.
    if n_columns > MOST_KEPT_COLUMNS:
        for i in range(n_columns):
            count_row(s, d, i, 0, deep)
            bound_row(s, d, i, 0)
        return
    at = 0
    for i in range(n_columns):
        at = count_row(s, d, i, at, deep)
    at = 0
    for i in range(n_columns):
        at = bound_row(s, d, i, at)


@helper
def costs_by_pairs(s: Space, column: int, code: int, floor: int, deep: bool) -> tuple[int, int]:
    """The least cost of a single split of a child, and a bound on that of all trees with splits;
    INFINITE if none can pay. The child has at least ``floor`` errors."""
    at, step = SPLITS * code * s.scratch.step[0] + column, s.scratch.step[0]
    errors = s.scratch.fewest[at]
    if not deep and s.params.min_leaf <= 1:
        errors = s.scratch.single_errors[code * step + column]
    if errors >= HUGE:
        return INFINITE, INFINITE
    stump = s.params.split + s.params.error * errors
    if not deep:
        return stump, stump
    # Two bounds hold for larger trees: with the child's floor, and with the cells' errors alone.
    # The larger one for each number of splits is tighter, but six searches were longer by it.
    cells, floored = (SPLITS + 1) * s.params.split, INFINITE
    for k in range(1, SPLITS):
        price, errors = (k + 1) * s.params.split, s.scratch.fewest[at + k * step]
        cells = min(cells, price + s.params.error * errors)
        errors = max(floor, errors) if k + 1 < SPLITS else floor
        floored = min(floored, price + s.params.error * errors)
    return stump, min(stump, max(cells, floored))
