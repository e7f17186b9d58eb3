"""Opening a frame: all that counting tells of a branch, its splits and its children."""

from __future__ import annotations

from solver.branches.kernels.bounds import first_bounds, refresh_split, supported
from solver.branches.kernels.equivalent_points import find_floors
from solver.branches.kernels.multiway_bounds import pair_multiway
from solver.branches.kernels.pair_bounds import pair_binary
from solver.branches.kernels.row_bitsets import add_weights, drop_columns, pack_columns, word_weight
from solver.branches.kernels.state import (
    BLOCK,
    CURRENT,
    HAS_JOINT,
    N_CANDIDATES,
    N_CLASSES,
    N_COLUMNS,
    N_GROUPED,
    N_LIVE,
    TOTAL,
    TURN,
    UNAVOIDABLE,
    WORDS_AT,
    Memo,
    Params,
    Scratch,
    Stack,
)
from solver.kernels.bit_table import Table
from solver.kernels.jit import helper


@helper
def count_singles(table: Table, stack: Stack, scratch: Scratch, d: int) -> None:
    """Class weights of the branch and of all its columns."""
    n_columns, total = stack.head[d, N_COLUMNS], 0
    for k in range(stack.head[d, N_CLASSES]):
        singles = scratch.singles[k]
        for j in range(n_columns):
            singles[j] = 0
        scratch.totals[k] = 0
        for w in range(stack.segments[d, k], stack.segments[d, k + 1]):
            held = stack.words[stack.head[d, WORDS_AT] + w]
            scratch.totals[k] += word_weight(table, stack, d, w, held)
            for begin in range(0, n_columns, BLOCK):
                add_weights(table, stack, d, w, held, begin, singles, begin)
        total += scratch.totals[k]
    stack.head[d, TOTAL] = total


@helper
def class_weights(
    table: Table, stack: Stack, scratch: Scratch, d: int, feature: int, code: int
) -> tuple[int, int]:
    """Write a child's class weights to ``scratch.counts``; their sum and the largest."""
    column, weight, most = stack.first[d, feature], 0, 0
    for k in range(stack.head[d, N_CLASSES]):
        if code > 0:
            count = scratch.singles[k, column + code - 1]
        else:
            count = scratch.totals[k]
            for c in range(table.columns[feature + 1] - table.columns[feature]):
                count -= scratch.singles[k, column + c]
        scratch.counts[k] = count
        weight += count
        most = max(most, count)
    return weight, most


@helper
def bound_children(table: Table, params: Params, stack: Stack, scratch: Scratch, d: int) -> int:
    """First bounds of all children, and the splits that can pay: the others are not live.

    Returns the number of features that are constant in this branch.
    """
    n_live, n_constant, n_classes = 0, 0, stack.head[d, N_CLASSES]
    for i in range(stack.head[d, N_LIVE]):
        feature = stack.live[d, i]
        first = table.values[feature]
        occupied, allowed = 0, True
        for code in range(table.values[feature + 1] - first):
            value = first + code
            weight, most = class_weights(table, stack, scratch, d, feature, code)
            errors = weight - most
            occupied += weight > 0
            allowed &= weight == 0 or weight >= params.min_leaf
            floor = scratch.floors[value]
            if d + 1 >= params.depth:
                floor = errors
            scratch.leaf[value] = errors * params.error
            stack.child_weight[d, value] = weight
            lower = stack.child_lower[d, value]
            first_bounds(params, scratch, n_classes, weight, errors, floor, lower)
        # A leaf that is too small here may be empty, and so allowed, in a branch below; but with
        # two codes a split with an empty part is no split.
        n_constant += occupied < 2
        live = occupied >= 2 and (allowed or params.max_arity > 2)
        if live and params.support:
            live = supported(table, params, stack, d, feature)
        if live:
            scratch.allowed[feature] = allowed
            stack.live[d, n_live] = feature
            n_live += 1
        else:
            stack.first[d, feature] = -1
    stack.head[d, N_LIVE] = n_live
    return n_constant


@helper
def start_children(table: Table, params: Params, stack: Stack, scratch: Scratch, d: int) -> None:
    """Reset all children to leaves that have not been looked up in the memo."""
    for i in range(stack.head[d, N_LIVE]):
        feature = stack.live[d, i]
        stack.looked[d, feature] = 0
        scratch.duplicate[feature] = 0
        for value in range(table.values[feature], table.values[feature + 1]):
            stack.child_node[d, value] = -1
            for b in range(params.budgets):
                stack.child_upper[d, value, b] = scratch.leaf[value]


@helper
def bound_by_pairs(table: Table, params: Params, stack: Stack, scratch: Scratch, d: int) -> None:
    """Bound every child by what one more split, or more, could make of it."""
    deep, last = d + 2 < params.depth, len(scratch.column_of)
    binary = params.max_arity == 2
    if binary:
        pair_binary(table, params, stack, scratch, d, deep)
    else:
        pair_multiway(table, params, stack, scratch, d, deep)
    for i in range(stack.head[d, N_LIVE]):
        feature = stack.live[d, i]
        for value in range(table.values[feature], table.values[feature + 1]):
            at = value
            if binary:
                at = i + last * (value - table.values[feature])
            leaf = scratch.leaf[value]
            stump, bound = min(leaf, scratch.stump[at]), min(leaf, scratch.pair_lower[at])
            for b in range(params.budgets):
                if b == 0 and params.budgets > 1:
                    continue
                stack.child_upper[d, value, b] = stump
                low = stump if b == 1 else bound
                stack.child_lower[d, value, b] = max(stack.child_lower[d, value, b], low)


@helper
def drop_duplicates(table: Table, params: Params, stack: Stack, scratch: Scratch, d: int) -> None:
    """Drop what the pairs have shown to be useless: duplicates, and splits that cannot pay."""
    n = 0
    for i in range(stack.head[d, N_LIVE]):
        feature = stack.live[d, i]
        useless = scratch.duplicate[feature] != 0
        if params.support and not useless:
            useless = not supported(table, params, stack, d, feature)
        if useless:
            # Its columns stay in this frame, but no child inherits it.
            stack.first[d, feature] = -1
        else:
            stack.live[d, n] = feature
            n += 1
    stack.head[d, N_LIVE] = n


@helper
def must_group(stack: Stack, d: int, n_constant: int) -> bool:
    """Whether rows of different classes may be equivalent here.

    They are not if they were not in the frame below, and since then only features that are constant
    here were lost.
    """
    n_live = stack.head[d, N_LIVE]
    stack.head[d, N_GROUPED] = n_live
    stack.head[d, UNAVOIDABLE] = 0
    if d == 0 or stack.head[d - 1, UNAVOIDABLE] > 0:
        return True
    return bool(n_live + n_constant < stack.head[d - 1, N_GROUPED])


@helper
def expand(
    table: Table, params: Params, memo: Memo, stack: Stack, scratch: Scratch, d: int
) -> None:
    """Fill a frame whose rows, live features and node are set."""
    pack_columns(table, stack, scratch, d)
    count_singles(table, stack, scratch, d)
    for value in range(len(scratch.floors)):
        scratch.floors[value] = 0
    for attempt in range(2):
        n_constant = bound_children(table, params, stack, scratch, d)
        drop_columns(table, stack, scratch, d)
        if attempt == 1 or not params.equivalent_points or not must_group(stack, d, n_constant):
            break
        find_floors(table, stack, scratch, d)
        if stack.head[d, UNAVOIDABLE] == 0:
            break
    start_children(table, params, stack, scratch, d)
    stack.head[d, HAS_JOINT] = 0
    if params.pairs and d + 2 <= params.depth:
        stack.head[d, HAS_JOINT] = params.similar_support
        bound_by_pairs(table, params, stack, scratch, d)
        drop_duplicates(table, params, stack, scratch, d)
    stack.head[d, CURRENT] = -1
    stack.head[d, TURN] = 0
    n = 0
    for i in range(stack.head[d, N_LIVE]):
        feature = stack.live[d, i]
        stack.split_lower[d, feature] = 0
        if scratch.allowed[feature]:
            refresh_split(table, params, memo, stack, scratch, d, feature)
            stack.candidates[d, n] = feature
            n += 1
    stack.head[d, N_CANDIDATES] = n
