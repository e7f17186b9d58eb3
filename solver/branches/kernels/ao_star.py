"""The compiled search: depth-first AO* with thresholds over a stack of frames.

It follows the split of least lower bound, depth first, until it is worse than the second best by
more than a slack (recursive best-first search). When it leaves a branch, only the bounds in the
memo remain; when it comes back, it makes the frame again.
"""

from __future__ import annotations

import numpy as np

from solver.branches.kernels.bounds import (
    convolve,
    first_bounds,
    refresh_split,
    settle,
    share_out,
    supported,
)
from solver.branches.kernels.expand import expand
from solver.branches.kernels.memo import add, branch_hash, feature_of, find, same_branch, same_hash
from solver.branches.kernels.row_bitsets import child_key, collect_child, lay_rows
from solver.branches.kernels.similar_support import share_bound
from solver.branches.kernels.state import (
    BLOCK,
    BUDGET,
    CHILD,
    CURRENT,
    DIVING,
    FRAMES,
    HAS_JOINT,
    ITERATIONS,
    JOINT_AT,
    LEAST_GAIN,
    LEFT,
    LIMIT,
    LITERALS,
    N_CANDIDATES,
    N_COLUMNS,
    N_LIVE,
    N_WORDS,
    NEXT,
    NODE,
    NODES,
    OPENED,
    ROWS_AT,
    SMALL,
    SMALLEST_GAP,
    TURN,
    WORDS_AT,
    Log,
    Memo,
    Params,
    Scratch,
    Stack,
)
from solver.kernels.bit_table import Table
from solver.kernels.constants import FULL, PROVEN, RUNNING
from solver.kernels.jit import helper, kernel
from solver.objective.exact import INFINITE


@helper
def has_room(table: Table, memo: Memo, stack: Stack, log: Log, d: int) -> bool:
    """Whether one more frame fits above frame ``d``: it needs at most what ``d`` needs."""
    words, columns = stack.head[d, N_WORDS], stack.head[d, N_COLUMNS]
    size = words * (1 + len(table.scales) + columns)
    joint = columns * columns if stack.head[d, HAS_JOINT] else 0
    return (
        d + 2 <= len(stack.head)
        and (len(log.events) == 0 or log.used[0] < len(log.events))
        and memo.used[NODES] + 1 <= len(memo.node_hash)
        and memo.used[LITERALS] + d + 1 <= len(memo.literals)
        and stack.head[d, ROWS_AT] + 128 * words <= len(stack.rows)
        and stack.head[d, WORDS_AT] + 2 * size + BLOCK <= len(stack.words)
        and stack.head[d, JOINT_AT] + 2 * joint + BLOCK <= len(stack.joint)
    )


@helper
def note(log: Log, what: int, bound: int) -> None:
    """Write an event to the log, if there is one."""
    if len(log.events) > 0:
        log.events[log.used[0], 0] = what
        log.events[log.used[0], 1] = bound
        log.used[0] += 1


@helper
def merge(params: Params, memo: Memo, stack: Stack, d: int, value: int) -> None:
    """Let a child in its frame and its node in the memo know the same."""
    node = stack.child_node[d, value]
    for b in range(params.budgets):
        low = max(stack.child_lower[d, value, b], memo.node_lower[node, b])
        stack.child_lower[d, value, b] = low
        memo.node_lower[node, b] = low
        high = stack.child_upper[d, value, b]
        if memo.node_upper[node, b] <= high:
            stack.child_upper[d, value, b] = memo.node_upper[node, b]
        else:
            memo.node_upper[node, b] = high
            memo.node_best[node, b] = SMALL


@helper
def write_literals(stack: Stack, scratch: Scratch, d: int, value: int) -> None:
    """Write the literals of a child of frame ``d``."""
    for i in range(d):
        scratch.literals[i] = stack.head[i, CHILD]
    scratch.literals[d] = value


@helper
def hash_child(
    table: Table, params: Params, stack: Stack, scratch: Scratch, d: int, feature: int, code: int
) -> tuple[int, np.uint64]:
    """Number of rows of a child and its hash."""
    if not params.row_memo:
        write_literals(stack, scratch, d, table.values[feature] + code)
    n, row_key = child_key(table, stack, d, feature, code)
    return n, branch_hash(table, params, scratch, row_key, d + 1)


@helper
def tells_more(params: Params, memo: Memo, stack: Stack, d: int, value: int, node: int) -> bool:
    """Whether the bounds of a node are better than those of a child in its frame."""
    for b in range(params.budgets):
        if memo.node_lower[node, b] > stack.child_lower[d, value, b]:
            return True
        if memo.node_upper[node, b] < stack.child_upper[d, value, b]:
            return True
    return False


@helper
def consult(
    table: Table,
    params: Params,
    memo: Memo,
    stack: Stack,
    scratch: Scratch,
    d: int,
    feature: int,
    code: int,
) -> None:
    """Copy the memo's bounds of a child into the frame."""
    n, key = hash_child(table, params, stack, scratch, d, feature, code)
    value, last = table.values[feature] + code, len(memo.slots) - 1
    slot, collected = np.int64(key & np.uint64(last)), False
    while memo.slots[slot] >= 0:
        node = memo.slots[slot]
        # Only bounds that would be used need the proof that they are this branch's.
        if same_hash(params, memo, n, d + 1, key, node) and tells_more(
            params, memo, stack, d, value, node
        ):
            if not collected:
                collect_child(table, stack, scratch, d, feature, code)
                collected = True
            if same_branch(table, params, memo, scratch, node, n):
                stack.child_node[d, value] = node
                merge(params, memo, stack, d, value)
                return
        slot = (slot + 1) & last


@helper
def enter(
    table: Table,
    params: Params,
    memo: Memo,
    stack: Stack,
    scratch: Scratch,
    d: int,
    value: int,
) -> int:
    """Find or make the node of a child and collect its rows; their number."""
    feature = feature_of(table, value)
    code = value - table.values[feature]
    n, key = hash_child(table, params, stack, scratch, d, feature, code)
    collect_child(table, stack, scratch, d, feature, code)
    if stack.child_node[d, value] < 0:
        node = find(table, params, memo, scratch, n, d + 1, key)
        if node < 0:
            write_literals(stack, scratch, d, value)
            node = add(params, memo, scratch, n, d + 1, key)
        stack.child_node[d, value] = node
        merge(params, memo, stack, d, value)
    return n


@helper
def is_open(params: Params, stack: Stack, d: int, value: int) -> bool:
    """Whether anything is left to find out about a child."""
    for b in range(params.budgets):
        if stack.child_lower[d, value, b] < stack.child_upper[d, value, b]:
            return True
    return False


@helper
def look_up(
    table: Table, params: Params, memo: Memo, stack: Stack, scratch: Scratch, d: int, feature: int
) -> bool:
    """Ask the memo for all children of a split; whether the branch has a better tree now."""
    stack.looked[d, feature] = 1
    for value in range(table.values[feature], table.values[feature + 1]):
        if is_open(params, stack, d, value):
            code = value - table.values[feature]
            consult(table, params, memo, stack, scratch, d, feature, code)
            if params.similar_support and stack.child_node[d, value] >= 0:
                share_bound(table, params, stack, scratch, d, feature, code)
    return refresh_split(table, params, memo, stack, scratch, d, feature)


@helper
def is_better(params: Params, memo: Memo, stack: Stack, d: int) -> bool:
    """Whether the branch of frame ``d`` has a better tree than the frame below knows of."""
    node, value = stack.head[d, NODE], stack.head[d - 1, CHILD]
    for b in range(params.budgets):
        if memo.node_upper[node, b] < stack.child_upper[d - 1, value, b]:
            return True
    return False


@helper
def lift(table: Table, params: Params, memo: Memo, stack: Stack, scratch: Scratch, d: int) -> None:
    """Tell the frames below of a better tree of frame ``d``."""
    while d > 0:
        value = stack.head[d - 1, CHILD]
        merge(params, memo, stack, d - 1, value)
        if not refresh_split(
            table, params, memo, stack, scratch, d - 1, stack.head[d - 1, CURRENT]
        ):
            return
        d -= 1


@helper
def inherit(table: Table, params: Params, stack: Stack, d: int) -> None:
    """Live features of frame ``d`` from those of the frame below."""
    n = 0
    for i in range(stack.head[d - 1, N_LIVE]):
        feature = stack.live[d - 1, i]
        if not params.support or supported(table, params, stack, d - 1, feature):
            stack.live[d, n] = feature
            n += 1
    stack.head[d, N_LIVE] = n


@helper
def push(
    table: Table,
    params: Params,
    memo: Memo,
    stack: Stack,
    scratch: Scratch,
    log: Log,
    value: int,
    budget: int,
    limit: int,
) -> bool:
    """Put a child of the top frame on the stack; False if the memo has made that needless."""
    d = memo.used[FRAMES] - 1
    n = enter(table, params, memo, stack, scratch, d, value)
    low, high = stack.child_lower[d, value, budget], stack.child_upper[d, value, budget]
    if low >= min(limit, high):
        note(log, value, low)
        return False
    note(log, value, OPENED)
    stack.head[d, CHILD] = value
    words, columns = stack.head[d, N_WORDS], stack.head[d, N_COLUMNS]
    e = d + 1
    stack.head[e, NODE] = stack.child_node[d, value]
    stack.head[e, BUDGET] = budget
    stack.head[e, LIMIT] = limit
    stack.head[e, DIVING] = stack.head[d, DIVING]
    stack.head[e, ROWS_AT] = stack.head[d, ROWS_AT] + 64 * words
    stack.head[e, WORDS_AT] = stack.head[d, WORDS_AT] + words * (1 + len(table.scales) + columns)
    joint = columns * columns if stack.head[d, HAS_JOINT] else 0
    stack.head[e, JOINT_AT] = stack.head[d, JOINT_AT] + joint
    lay_rows(table, stack, scratch, e, n)
    inherit(table, params, stack, e)
    stack.head[e, N_CANDIDATES] = -1
    memo.used[FRAMES] += 1
    return True


@helper
def pop(table: Table, params: Params, memo: Memo, stack: Stack, scratch: Scratch, log: Log) -> None:
    """Leave the top frame and pass its bounds to the one below."""
    d = memo.used[FRAMES] - 1
    settle(params, memo, stack, d)
    note(log, LEFT, memo.node_lower[stack.head[d, NODE], stack.head[d, BUDGET]])
    memo.used[FRAMES] -= 1
    if d == 0:
        return
    value, feature = stack.head[d - 1, CHILD], stack.head[d - 1, CURRENT]
    merge(params, memo, stack, d - 1, value)
    if refresh_split(table, params, memo, stack, scratch, d - 1, feature):
        lift(table, params, memo, stack, scratch, d - 1)
    if params.similar_support:
        share_bound(table, params, stack, scratch, d - 1, feature, value - table.values[feature])


@helper
def follow(params: Params, memo: Memo, stack: Stack, d: int) -> int:
    """The next split; −1 if the frame is done."""
    node, budget = stack.head[d, NODE], stack.head[d, BUDGET]
    high = memo.node_upper[node, budget]
    bound = min(stack.head[d, LIMIT], high)
    current = stack.head[d, CURRENT]
    if current >= 0 and stack.split_lower[d, current] < min(stack.head[d, TURN], bound):
        return int(current)
    best, least, second, n = -1, bound, bound, 0
    for i in range(stack.head[d, N_CANDIDATES]):
        feature = stack.candidates[d, i]
        low = stack.split_lower[d, feature]
        if low < high:
            stack.candidates[d, n] = feature
            n += 1
        if low < least:
            best, least, second = feature, low, least
        elif low < second:
            second = low
    stack.head[d, N_CANDIDATES] = n
    stack.head[d, CURRENT] = best
    stack.head[d, TURN] = max(least + 1, min(bound, second + params.slack))
    return best


@helper
def choose_child(
    table: Table, params: Params, stack: Stack, scratch: Scratch, d: int, feature: int
) -> int:
    """The value of the open child to walk into.

    By default the one of least lower bound: most of its possible cost is demanded of it, so its
    part of the search is small. Or that of smallest gap; or, as in the paper, of least known gain,
    the least weight classified correctly.
    """
    first, chosen, least = table.values[feature], -1, INFINITE
    for value in range(first, table.values[feature + 1]):
        share = scratch.shares[value - first]
        low, high = stack.child_lower[d, value, share], stack.child_upper[d, value, share]
        if low >= high:
            continue
        measure = low
        if params.child_order == SMALLEST_GAP:
            measure = high - low
        elif params.child_order == LEAST_GAIN:
            measure = stack.child_weight[d, value] * params.error - high
        if chosen < 0 or measure < least:
            chosen, least = value, measure
    return chosen


@helper
def dive(
    table: Table, params: Params, memo: Memo, stack: Stack, scratch: Scratch, d: int
) -> tuple[int, int]:
    """The next child of the first descent, and its budget; −1 if the frame has had all of them.

    Every frame of the descent enters all open children of the split whose known tree costs least.
    """
    node, budget = stack.head[d, NODE], stack.head[d, BUDGET]
    if stack.head[d, CURRENT] < 0:
        best, least = -1, memo.node_upper[node, budget] + 1
        for i in range(stack.head[d, N_CANDIDATES]):
            feature = stack.candidates[d, i]
            convolve(table, params, scratch, stack.child_upper[d], feature, scratch.upper)
            if scratch.upper[budget] < least:
                best, least = feature, scratch.upper[budget]
        if best < 0:
            return -1, 0
        stack.head[d, CURRENT] = best
        stack.head[d, NEXT] = table.values[best]
    feature = stack.head[d, CURRENT]
    share_out(table, params, scratch, stack.child_upper[d], feature, budget)
    while stack.head[d, NEXT] < table.values[feature + 1]:
        value = stack.head[d, NEXT]
        stack.head[d, NEXT] += 1
        share = scratch.shares[value - table.values[feature]]
        if stack.child_lower[d, value, share] < stack.child_upper[d, value, share]:
            return value, share
    return -1, 0


@kernel
def init_root(table: Table, params: Params, memo: Memo, stack: Stack, scratch: Scratch) -> None:
    """Put the root on the stack; it is the first node of the memo."""
    for feature in range(len(table.values) - 1):
        stack.live[0, feature] = feature
    stack.head[0, N_LIVE] = len(table.values) - 1
    for row in range(len(table.labels)):
        scratch.rows[row] = row
    lay_rows(table, stack, scratch, 0, len(table.labels))
    weight, most = 0, 0
    for k in range(len(scratch.counts)):
        scratch.counts[k] = 0
    for row in range(len(table.labels)):
        scratch.counts[table.labels[row]] += table.weights[row]
        weight += table.weights[row]
    for k in range(len(scratch.counts)):
        most = max(most, scratch.counts[k])
    errors = weight - most
    if memo.used[NODES] == 0:
        key = branch_hash(table, params, scratch, stack.row_key[0], 0)
        add(params, memo, scratch, len(table.labels), 0, key)
    floor = 0 if params.depth > 0 else errors
    first_bounds(params, scratch, len(scratch.counts), weight, errors, floor, scratch.lower)
    for b in range(params.budgets):
        memo.node_lower[0, b] = max(memo.node_lower[0, b], scratch.lower[b])
        if errors * params.error < memo.node_upper[0, b]:
            memo.node_upper[0, b] = errors * params.error
            memo.node_best[0, b] = SMALL
    stack.head[0, NODE] = 0
    stack.head[0, BUDGET] = params.budgets - 1
    stack.head[0, LIMIT] = INFINITE
    stack.head[0, DIVING] = 1 if params.incumbent else 0
    stack.head[0, N_CANDIDATES] = -1
    memo.used[FRAMES] = 1


@kernel
def step(
    table: Table,
    params: Params,
    memo: Memo,
    stack: Stack,
    scratch: Scratch,
    log: Log,
    budget: int,
    target_cost: int,
) -> int:
    """Open at most ``budget`` frames; return RUNNING, PROVEN, or FULL when an array must grow.

    At λ = 0 it stops at a tree that costs ``target_cost`` or less; otherwise that is −1.
    """
    end, root = memo.used[ITERATIONS] + budget, stack.head[0, NODE]
    last = params.budgets - 1
    while memo.used[ITERATIONS] < end:
        if memo.node_lower[root, last] >= memo.node_upper[root, last]:
            return PROVEN
        if memo.node_upper[root, last] <= target_cost:
            return PROVEN
        d = memo.used[FRAMES] - 1
        if stack.head[d, N_CANDIDATES] < 0:
            memo.used[ITERATIONS] += 1
            expand(table, params, memo, stack, scratch, d)
            settle(params, memo, stack, d)
            if d > 0 and is_better(params, memo, stack, d):
                lift(table, params, memo, stack, scratch, d)
            continue
        if not has_room(table, memo, stack, log, d):
            return FULL
        if stack.head[d, DIVING]:
            value, share = dive(table, params, memo, stack, scratch, d)
            if value >= 0:
                push(table, params, memo, stack, scratch, log, value, share, INFINITE)
            elif d > 0:
                pop(table, params, memo, stack, scratch, log)
            else:
                stack.head[d, DIVING] = 0
                stack.head[d, CURRENT] = -1
            continue
        feature = follow(params, memo, stack, d)
        if feature < 0:
            settle(params, memo, stack, d)
            if d == 0:
                return PROVEN
            pop(table, params, memo, stack, scratch, log)
            continue
        if stack.looked[d, feature] == 0:
            if look_up(table, params, memo, stack, scratch, d, feature):
                lift(table, params, memo, stack, scratch, d)
            continue
        share_out(table, params, scratch, stack.child_lower[d], feature, stack.head[d, BUDGET])
        value = choose_child(table, params, stack, scratch, d, feature)
        share = scratch.shares[value - table.values[feature]]
        limit = stack.child_lower[d, value, share] + (
            stack.head[d, TURN] - stack.split_lower[d, feature]
        )
        if not push(table, params, memo, stack, scratch, log, value, share, limit):
            if refresh_split(table, params, memo, stack, scratch, d, feature):
                lift(table, params, memo, stack, scratch, d)
    return RUNNING


@kernel
def propagate_bounds(
    table: Table, params: Params, memo: Memo, stack: Stack, scratch: Scratch
) -> None:
    """Bring the bounds of all frames down to the root, without leaving any."""
    top = memo.used[FRAMES] - 1
    if stack.head[top, N_CANDIDATES] < 0:
        return
    for d in range(top, 0, -1):
        settle(params, memo, stack, d)
        merge(params, memo, stack, d - 1, stack.head[d - 1, CHILD])
        refresh_split(table, params, memo, stack, scratch, d - 1, stack.head[d - 1, CURRENT])
    settle(params, memo, stack, 0)
