"""The compiled search: depth-first AO* with thresholds over a stack of frames.

It follows the split of least lower bound, depth first, until it is worse than the second best by
more than a slack (recursive best-first search). When it leaves a branch, only the bounds in the
memo remain; when it comes back, it makes the frame again.
"""

from __future__ import annotations

import numpy as np

from solver.branches.kernels import stack_frame
from solver.branches.kernels.bounds import (
    convolve,
    first_bounds,
    refresh_split,
    settle,
    share_out,
    supported,
)
from solver.branches.kernels.branch_rows import child_key, collect_child, lay_rows
from solver.branches.kernels.expand import expand
from solver.branches.kernels.lp_dual_bounds import forget_duals, note_work
from solver.branches.kernels.memo import (
    add,
    branch_hash,
    feature_of,
    find,
    has_hash,
    same_branch,
    same_hash,
)
from solver.branches.kernels.similar_branches import (
    has_place,
    keep_branch,
    raise_by_subsets,
    share_bound,
)
from solver.branches.kernels.small_trees import best_of_two_splits, two_splits_end
from solver.branches.kernels.state import (
    BASE,
    BLOCK,
    DUE,
    FRAMES,
    ITERATIONS,
    LEAST_GAIN,
    LEFT,
    LITERALS,
    NODES,
    OPENED,
    SEARCH,
    SMALL,
    SMALLEST_GAP,
    Log,
    Space,
)
from solver.kernels.constants import FULL, PROVEN, RUNNING, ZERO
from solver.kernels.jit import helper, kernel
from solver.objective.exact_objective import INFINITE


@helper
def has_room(s: Space, d: int) -> bool:
    """Whether one more frame fits above frame ``d``: it needs at most what ``d`` needs."""
    words, columns = s.stack.head[d, stack_frame.N_WORDS], s.stack.head[d, stack_frame.N_COLUMNS]
    size = words * (1 + len(s.table.scales) + columns)
    joint = columns * columns if s.stack.head[d, stack_frame.HAS_JOINT] else 0
    return (
        d + 2 <= len(s.stack.head)
        and has_place(s)
        and (len(s.log.events) == 0 or s.log.used[0] + s.params.max_arity < len(s.log.events))
        and s.memo.used[NODES] + 1 <= len(s.memo.node_hash)
        and s.memo.used[LITERALS] + d + 1 <= len(s.memo.literals)
        and s.stack.head[d, stack_frame.ROWS_AT] + 128 * words <= len(s.stack.rows)
        and s.stack.head[d, stack_frame.WORDS_AT] + 2 * size + BLOCK <= len(s.stack.words)
        and s.stack.head[d, stack_frame.JOINT_AT] + 2 * joint + BLOCK <= len(s.stack.joint)
    )


@helper
def note(log: Log, what: int, bound: int) -> None:
    """Write an event to the log, if there is one."""
    if len(log.events) > 0:
        log.events[log.used[0], 0] = what
        log.events[log.used[0], 1] = bound
        log.used[0] += 1


@helper
def merge(s: Space, d: int, value: int) -> None:
    """Let a child in its frame and its node in the memo know the same."""
    node = s.stack.child_node[d, value]
    for b in range(s.params.budgets):
        low = max(s.stack.child_lower[d, value, b], s.memo.node_lower[node, b])
        s.stack.child_lower[d, value, b] = low
        s.memo.node_lower[node, b] = low
        high = s.stack.child_upper[d, value, b]
        if s.memo.node_upper[node, b] <= high:
            s.stack.child_upper[d, value, b] = s.memo.node_upper[node, b]
        else:
            s.memo.node_upper[node, b] = high
            s.memo.node_best[node, b] = SMALL


@helper
def write_literals(s: Space, d: int, value: int) -> None:
    """Write the literals of a child of frame ``d``."""
    for i in range(d):
        s.scratch.literals[i] = s.stack.head[i, stack_frame.CHILD]
    s.scratch.literals[d] = value


@helper
def hash_child(s: Space, d: int, feature: int, code: int) -> tuple[int, np.uint64]:
    """Number of rows of a child and its hash."""
    if not s.params.row_memo:
        write_literals(s, d, s.table.values[feature] + code)
    n, row_key = child_key(s, d, feature, code)
    return n, branch_hash(s, row_key, d + 1)


@helper
def tells_more(s: Space, d: int, value: int, node: int) -> bool:
    """Whether the bounds of a node are better than those of a child in its frame."""
    for b in range(s.params.budgets):
        if s.memo.node_lower[node, b] > s.stack.child_lower[d, value, b]:
            return True
        if s.memo.node_upper[node, b] < s.stack.child_upper[d, value, b]:
            return True
    return False


@helper
def consult(s: Space, d: int, feature: int, code: int) -> None:
    """Copy the memo's bounds of a child into the frame, and log what the frame knows better."""
    n, key = hash_child(s, d, feature, code)
    value, last = s.table.values[feature] + code, len(s.memo.slots) - 1
    slot, collected = np.int64(key & np.uint64(last)), False
    while s.memo.slots[slot] >= 0:
        node = s.memo.slots[slot]
        # Only bounds that would be used need the proof that they are this branch's.
        if same_hash(s, n, d + 1, key, node) and tells_more(s, d, value, node):
            if not collected:
                collect_child(s, d, feature, code)
                collected = True
            if same_branch(s, node, n):
                s.stack.child_node[d, value] = node
                low = s.stack.child_lower[d, value, s.params.budgets - 1]
                if low > s.memo.node_lower[node, s.params.budgets - 1]:
                    note(s.log, value, low)
                merge(s, d, value)
                return
        slot = (slot + 1) & last


@helper
def note_errors(s: Space, d: int, value: int, node: int) -> None:
    """Note the fewest errors of a new node as a leaf and with one split, for searches at other λ.

    Once pairs are counted, no tree of one split costs less than the upper bound. Splits that were
    dropped as they cannot pay are no exception: with them it costs no less than the leaf.
    """
    s.memo.node_errors[node, 0] = s.stack.child_leaf[d, value] // s.params.error
    if s.params.pairs:
        paid = s.stack.child_upper[d, value, s.params.budgets - 1] - s.params.split
        s.memo.node_errors[node, 1] = max(0, -(-paid // s.params.error))


@helper
def enter(s: Space, d: int, value: int) -> int:
    """Find or make the node of a child; the number of its rows."""
    feature = feature_of(s.table, value)
    code = value - s.table.values[feature]
    n, key = hash_child(s, d, feature, code)
    if s.stack.child_node[d, value] < 0:
        node = -1
        if has_hash(s, n, d + 1, key):
            collect_child(s, d, feature, code)
            node = find(s, n, d + 1, key)
        if node < 0:
            write_literals(s, d, value)
            node = add(s, n, d + 1, key)
            note_errors(s, d, value, node)
        s.stack.child_node[d, value] = node
    merge(s, d, value)  # other branches may have told more since it was looked up
    return n


@helper
def is_open(s: Space, d: int, value: int) -> bool:
    """Whether anything is left to find out about a child."""
    for b in range(s.params.budgets):
        if s.stack.child_lower[d, value, b] < s.stack.child_upper[d, value, b]:
            return True
    return False


@helper
def look_up(s: Space, d: int, feature: int) -> bool:
    """Ask the memo for all children of a split; whether the branch has a better tree now."""
    s.stack.looked[d, feature] = 1
    for value in range(s.table.values[feature], s.table.values[feature + 1]):
        if is_open(s, d, value):
            code = value - s.table.values[feature]
            consult(s, d, feature, code)
            if s.params.similar_support and s.stack.child_node[d, value] >= 0:
                share_bound(s, d, feature, code)
    return refresh_split(s, d, feature)


@helper
def is_better(s: Space, d: int) -> bool:
    """Whether the branch of frame ``d`` has a better tree than the frame below knows of."""
    node, value = s.stack.head[d, stack_frame.NODE], s.stack.head[d - 1, stack_frame.CHILD]
    for b in range(s.params.budgets):
        if s.memo.node_upper[node, b] < s.stack.child_upper[d - 1, value, b]:
            return True
    return False


@helper
def lift(s: Space, d: int) -> None:
    """Tell the frames below of a better tree of frame ``d``."""
    while d > 0:
        value = s.stack.head[d - 1, stack_frame.CHILD]
        merge(s, d - 1, value)
        if not refresh_split(s, d - 1, s.stack.head[d - 1, stack_frame.CURRENT]):
            return
        d -= 1


@helper
def inherit(s: Space, d: int) -> None:
    """Live features of frame ``d`` from those of the frame below."""
    n = 0
    for i in range(s.stack.head[d - 1, stack_frame.N_LIVE]):
        feature = s.stack.live[d - 1, i]
        if not s.params.support or supported(s, d - 1, feature):
            s.stack.live[d, n] = feature
            n += 1
    s.stack.head[d, stack_frame.N_LIVE] = n


@helper
def push(s: Space, value: int, budget: int, limit: int) -> None:
    """Put a child of the top frame on the stack, unless that is needless: what is known of it, or
    what counting tells of its small trees, is enough."""
    d, feature = s.memo.used[FRAMES] - 1, feature_of(s.table, value)
    n = enter(s, d, value)
    goal, collected = min(limit, s.stack.child_upper[d, value, budget]), False
    if s.params.recent > 0:
        collected = raise_by_subsets(s, d, value, budget, goal)
    low, known = s.stack.child_lower[d, value, budget], OPENED
    if low >= goal:
        known = low
    note(s.log, value, known)
    if low < goal:
        if not two_splits_end(s, d, goal):
            if not collected:
                collect_child(s, d, feature, value - s.table.values[feature])
            lay_child(s, value, n, budget, limit)
            return
        best_of_two_splits(s, d, feature, value - s.table.values[feature], goal)
        note(s.log, LEFT, s.memo.node_lower[s.stack.child_node[d, value], budget])
    come_back(s, d, value)


@helper
def come_back(s: Space, d: int, value: int) -> None:
    """Use what was found out about a child of frame ``d``, which is the top frame again."""
    feature = feature_of(s.table, value)
    merge(s, d, value)
    if refresh_split(s, d, feature):
        lift(s, d)
    if s.params.similar_support:
        share_bound(s, d, feature, value - s.table.values[feature])


@helper
def lay_child(s: Space, value: int, n: int, budget: int, limit: int) -> None:
    """Make a frame above the top one of a child whose ``n`` rows are collected."""
    d = s.memo.used[FRAMES] - 1
    s.stack.head[d, stack_frame.CHILD] = value
    words, columns = s.stack.head[d, stack_frame.N_WORDS], s.stack.head[d, stack_frame.N_COLUMNS]
    e = d + 1
    s.stack.head[e, stack_frame.NODE] = s.stack.child_node[d, value]
    s.stack.head[e, stack_frame.BUDGET] = budget
    s.stack.head[e, stack_frame.LIMIT] = limit
    s.stack.head[e, stack_frame.DIVING] = s.stack.head[d, stack_frame.DIVING]
    s.stack.head[e, stack_frame.ROWS_AT] = s.stack.head[d, stack_frame.ROWS_AT] + 64 * words
    s.stack.head[e, stack_frame.WORDS_AT] = s.stack.head[d, stack_frame.WORDS_AT] + words * (
        1 + len(s.table.scales) + columns
    )
    joint = columns * columns if s.stack.head[d, stack_frame.HAS_JOINT] else 0
    s.stack.head[e, stack_frame.JOINT_AT] = s.stack.head[d, stack_frame.JOINT_AT] + joint
    lay_rows(s, e, n)
    inherit(s, e)
    s.stack.head[e, stack_frame.N_CANDIDATES] = -1
    s.memo.used[FRAMES] += 1


@helper
def pop(s: Space) -> None:
    """Leave the top frame and pass its bounds to the one below."""
    d = s.memo.used[FRAMES] - 1
    settle(s, d)
    if s.params.recent > 0 and d > 0:
        keep_branch(s, d)
    note(
        s.log,
        LEFT,
        s.memo.node_lower[s.stack.head[d, stack_frame.NODE], s.stack.head[d, stack_frame.BUDGET]],
    )
    s.memo.used[FRAMES] -= 1
    if d == 0:
        return
    come_back(s, d - 1, s.stack.head[d - 1, stack_frame.CHILD])


@helper
def follow(s: Space, d: int) -> int:
    """The next split; −1 if the frame is done."""
    node, budget = s.stack.head[d, stack_frame.NODE], s.stack.head[d, stack_frame.BUDGET]
    high = s.memo.node_upper[node, budget]
    bound = min(s.stack.head[d, stack_frame.LIMIT], high)
    current = s.stack.head[d, stack_frame.CURRENT]
    if current >= 0 and s.stack.split_lower[d, current] < min(
        s.stack.head[d, stack_frame.TURN], bound
    ):
        return int(current)
    best, least, second, n = -1, bound, bound, 0
    for i in range(s.stack.head[d, stack_frame.N_CANDIDATES]):
        feature = s.stack.candidates[d, i]
        low = s.stack.split_lower[d, feature]
        if low < high:
            s.stack.candidates[d, n] = feature
            n += 1
        if low < least:
            best, least, second = feature, low, least
        elif low < second:
            second = low
    s.stack.head[d, stack_frame.N_CANDIDATES] = n
    s.stack.head[d, stack_frame.CURRENT] = best
    slack = s.params.slack
    if d == 0 and s.memo.used[ITERATIONS] >= s.params.root_slack_from:
        slack = s.params.root_slack
    turn = second + slack
    if turn > bound - slack // 2:
        turn = bound  # coming back for so little would open most branches twice
    s.stack.head[d, stack_frame.TURN] = max(least + 1, turn)
    return best


@helper
def choose_child(s: Space, d: int, feature: int) -> int:
    """The value of the open child to walk into.

    By default the one of least lower bound: most of its possible cost is demanded of it, so its
    part of the search is small. Or that of smallest gap; or, as in the paper, of least known gain,
    the least weight classified correctly.
    """
    first, chosen, least = s.table.values[feature], -1, INFINITE
    for value in range(first, s.table.values[feature + 1]):
        share = s.scratch.shares[value - first]
        low, high = s.stack.child_lower[d, value, share], s.stack.child_upper[d, value, share]
        if low >= high:
            continue
        measure = low
        if s.params.child_order == SMALLEST_GAP:
            measure = high - low
        elif s.params.child_order == LEAST_GAIN:
            measure = s.stack.child_weight[d, value] * s.params.error - high
        if chosen < 0 or measure < least:
            chosen, least = value, measure
    return chosen


@helper
def dive(s: Space, d: int) -> tuple[int, int]:
    """The next child of the first descent, and its budget; −1 if the frame has had all of them.

    Every frame of the descent enters all open children of the split whose known tree costs least.
    """
    node, budget = s.stack.head[d, stack_frame.NODE], s.stack.head[d, stack_frame.BUDGET]
    if s.stack.head[d, stack_frame.CURRENT] < 0:
        best, least = -1, s.memo.node_upper[node, budget] + 1
        for i in range(s.stack.head[d, stack_frame.N_CANDIDATES]):
            feature = s.stack.candidates[d, i]
            convolve(s, s.stack.child_upper[d], feature, s.scratch.upper)
            if s.scratch.upper[budget] < least:
                best, least = feature, s.scratch.upper[budget]
        if best < 0:
            return -1, 0
        s.stack.head[d, stack_frame.CURRENT] = best
        s.stack.head[d, stack_frame.NEXT] = s.table.values[best]
    feature = s.stack.head[d, stack_frame.CURRENT]
    share_out(s, s.stack.child_upper[d], feature, budget)
    while s.stack.head[d, stack_frame.NEXT] < s.table.values[feature + 1]:
        value = s.stack.head[d, stack_frame.NEXT]
        s.stack.head[d, stack_frame.NEXT] += 1
        share = s.scratch.shares[value - s.table.values[feature]]
        if s.stack.child_lower[d, value, share] < s.stack.child_upper[d, value, share]:
            return value, share
    return -1, 0


@kernel
def init_root(s: Space) -> None:
    """Put the root on the stack; it is the first node of the memo."""
    for feature in range(len(s.table.values) - 1):
        s.stack.live[0, feature] = feature
    s.stack.head[0, stack_frame.N_LIVE] = len(s.table.values) - 1
    for row in range(len(s.table.labels)):
        s.scratch.rows[row], s.scratch.row_duals[row] = row, ZERO
    forget_duals(s)
    lay_rows(s, 0, len(s.table.labels))
    weight, most = 0, 0
    for k in range(len(s.scratch.counts)):
        s.scratch.counts[k] = 0
    for row in range(len(s.table.labels)):
        s.scratch.counts[s.table.labels[row]] += s.table.weights[row]
        weight += s.table.weights[row]
    for k in range(len(s.scratch.counts)):
        most = max(most, s.scratch.counts[k])
    errors = weight - most
    if s.memo.used[NODES] == 0:
        key = branch_hash(s, s.stack.row_key[0], 0)
        s.memo.node_errors[add(s, len(s.table.labels), 0, key), 0] = errors
    floor = 0 if s.params.depth > 0 else errors
    first_bounds(s, len(s.scratch.counts), weight, errors, floor, s.scratch.lower)
    for b in range(s.params.budgets):
        s.memo.node_lower[0, b] = max(s.memo.node_lower[0, b], s.scratch.lower[b])
        if errors * s.params.error < s.memo.node_upper[0, b]:
            s.memo.node_upper[0, b] = errors * s.params.error
            s.memo.node_best[0, b] = SMALL
    s.stack.head[0, stack_frame.NODE] = 0
    s.stack.head[0, stack_frame.BUDGET] = s.params.budgets - 1
    s.stack.head[0, stack_frame.LIMIT] = INFINITE
    s.stack.head[0, stack_frame.DIVING] = 1 if s.params.incumbent else 0
    s.stack.head[0, stack_frame.N_CANDIDATES] = -1
    s.memo.used[FRAMES], s.memo.used[BASE] = 1, 0


@helper
def is_top_open(s: Space) -> bool:
    """Whether the top frame was expanded."""
    return bool(s.stack.head[s.memo.used[FRAMES] - 1, stack_frame.N_CANDIDATES] >= 0)


@kernel
def step(s: Space, budget: int, target_cost: int, known_cost: int) -> int:
    """Open at most ``budget`` frames; return RUNNING, PROVEN, or FULL when an array must grow.

    It makes at most ``budget`` nodes, too: some need no frame, as other branches tell enough. The
    top frame is open when it stops, so that :func:`propagate_bounds` finds the same in all slices.
    It stops early when :func:`raise_duals` is due, and when the root's best tree costs less than
    ``known_cost``. At λ = 0 it stops at a tree that costs ``target_cost`` or less; otherwise that
    is −1. A top frame with the limit OPEN_ONLY is opened, and nothing else is done.
    """
    end, base = s.memo.used[ITERATIONS] + budget, s.memo.used[BASE]
    root, last = s.stack.head[base, stack_frame.NODE], s.params.budgets - 1
    most = s.memo.used[NODES] + budget
    while s.memo.used[ITERATIONS] < end and (s.memo.used[NODES] < most or not is_top_open(s)):
        d = s.memo.used[FRAMES] - 1
        searches = s.stack.head[d, stack_frame.LIMIT] != stack_frame.OPEN_ONLY
        if searches and s.memo.node_lower[root, last] >= s.memo.node_upper[root, last]:
            return PROVEN
        if searches and s.memo.node_upper[root, last] <= target_cost:
            return PROVEN
        if searches and s.memo.node_upper[root, last] < known_cost:
            return RUNNING
        if s.stack.head[d, stack_frame.N_CANDIDATES] < 0:
            s.memo.used[ITERATIONS] += 1
            expand(s, d)
            if not searches:
                return RUNNING
            note_work(s, d)
            settle(s, d)
            if d > 0 and is_better(s, d):
                lift(s, d)
            if s.params.row_duals and s.program.status[SEARCH] >= s.program.status[DUE]:
                return RUNNING
            continue
        if not has_room(s, d):
            return FULL
        diving = s.stack.head[d, stack_frame.DIVING] != 0
        limit, value, share, feature = INFINITE, -1, 0, -1
        if diving:
            value, share = dive(s, d)
            if value < 0 and d == 0:
                s.stack.head[d, stack_frame.DIVING] = 0
                s.stack.head[d, stack_frame.CURRENT] = -1
                continue
        else:
            feature = follow(s, d)
            if feature < 0:
                settle(s, d)
                if d == base:
                    return PROVEN
        if value < 0 and feature < 0:
            pop(s)
            continue
        if not diving:
            if s.stack.looked[d, feature] == 0:
                if look_up(s, d, feature):
                    lift(s, d)
                continue
            share_out(s, s.stack.child_lower[d], feature, s.stack.head[d, stack_frame.BUDGET])
            value = choose_child(s, d, feature)
            share = s.scratch.shares[value - s.table.values[feature]]
            # Another shard may have told more of the split than its children do.
            convolve(s, s.stack.child_lower[d], feature, s.scratch.lower)
            limit = s.stack.child_lower[d, value, share] + (
                s.stack.head[d, stack_frame.TURN]
                - s.scratch.lower[s.stack.head[d, stack_frame.BUDGET]]
            )
        push(s, value, share, limit)
    return RUNNING


@kernel
def propagate_bounds(s: Space) -> None:
    """Bring the bounds of all frames down to the root, without leaving any."""
    top = s.memo.used[FRAMES] - 1
    if s.stack.head[top, stack_frame.N_CANDIDATES] < 0:
        return
    for d in range(top, 0, -1):
        settle(s, d)
        merge(s, d - 1, s.stack.head[d - 1, stack_frame.CHILD])
        refresh_split(s, d - 1, s.stack.head[d - 1, stack_frame.CURRENT])
    settle(s, 0)


@kernel
def look_again(s: Space) -> None:
    """Ask the memo, which others have told more, for the children of all open frames.

    Frames above one that is done are left.
    """
    for d in range(s.memo.used[BASE], s.memo.used[FRAMES]):
        if s.stack.head[d, stack_frame.N_CANDIDATES] < 0:
            return
        for i in range(s.stack.head[d, stack_frame.N_CANDIDATES]):
            if look_up(s, d, s.stack.candidates[d, i]) and d > 0:
                lift(s, d)
        settle(s, d)
        node, budget = s.stack.head[d, stack_frame.NODE], s.stack.head[d, stack_frame.BUDGET]
        end = min(s.stack.head[d, stack_frame.LIMIT], s.memo.node_upper[node, budget])
        if s.memo.node_lower[node, budget] >= end:
            s.memo.used[FRAMES] = d + 1
            return
