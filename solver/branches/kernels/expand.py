"""Opening a frame: all that counting tells of a branch, its splits and its children."""

from __future__ import annotations

from solver.branches.kernels import stack_frame
from solver.branches.kernels.bounds import first_bounds, refresh_split, supported
from solver.branches.kernels.branch_rows import add_weights, drop_columns, pack_columns, word_weight
from solver.branches.kernels.equivalent_points import find_floors
from solver.branches.kernels.feature_pair_bounds import costs_by_pairs, pair_binary
from solver.branches.kernels.lp_dual_bounds import dual_bound, has_duals, sum_duals
from solver.branches.kernels.multiway_pair_bounds import pair_multiway
from solver.branches.kernels.similar_branches import inherit_bounds
from solver.branches.kernels.state import BLOCK, Space
from solver.kernels.jit import helper

_FEW_SPLITS = 6
UNKNOWN = -1  # unavoidable errors that were not counted


@helper
def count_singles(s: Space, d: int) -> None:
    """Class weights of the branch and of all its columns."""
    n_columns, total = s.stack.head[d, stack_frame.N_COLUMNS], 0
    for k in range(s.stack.head[d, stack_frame.N_CLASSES]):
        singles = s.scratch.singles[k]
        for j in range(n_columns):
            singles[j] = 0
        s.scratch.totals[k] = 0
        for w in range(s.stack.segments[d, k], s.stack.segments[d, k + 1]):
            held = s.stack.words[s.stack.head[d, stack_frame.WORDS_AT] + w]
            s.scratch.totals[k] += word_weight(s, d, w, held)
            for begin in range(0, n_columns, BLOCK):
                add_weights(s, d, w, held, begin, singles, begin)
        total += s.scratch.totals[k]
    s.stack.head[d, stack_frame.TOTAL] = total


@helper
def class_weights(s: Space, d: int, feature: int, code: int) -> tuple[int, int]:
    """Write a child's class weights to ``scratch.counts``; their sum and the largest."""
    column, weight, most = s.stack.first[d, feature], 0, 0
    for k in range(s.stack.head[d, stack_frame.N_CLASSES]):
        if code > 0:
            count = s.scratch.singles[k, column + code - 1]
        else:
            count = s.scratch.totals[k]
            for c in range(s.table.columns[feature + 1] - s.table.columns[feature]):
                count -= s.scratch.singles[k, column + c]
        s.scratch.counts[k] = count
        weight += count
        most = max(most, count)
    return weight, most


@helper
def bound_children(s: Space, d: int) -> int:
    """First bounds of all children, and the splits that can pay: the others are not live.

    Returns the number of features that are constant in this branch.
    """
    n_live, n_constant, n_classes = 0, 0, s.stack.head[d, stack_frame.N_CLASSES]
    for i in range(s.stack.head[d, stack_frame.N_LIVE]):
        feature = s.stack.live[d, i]
        first = s.table.values[feature]
        occupied, allowed = 0, True
        for code in range(s.table.values[feature + 1] - first):
            value = first + code
            weight, most = class_weights(s, d, feature, code)
            errors = weight - most
            occupied += weight > 0
            allowed &= weight == 0 or weight >= s.params.min_leaf
            floor = s.scratch.floors[value]
            if d + 1 >= s.params.depth:
                floor = errors
            s.stack.child_leaf[d, value] = errors * s.params.error
            s.stack.child_weight[d, value] = weight
            lower = s.stack.child_lower[d, value]
            first_bounds(s, n_classes, weight, errors, floor, lower)
            if has_duals(s):
                low = dual_bound(s, d, feature, code)
                for b in range(s.params.budgets):
                    lower[b] = max(lower[b], low)
        # A leaf that is too small here may be empty, and so allowed, in a branch below; but with
        # two codes a split with an empty part is no split.
        n_constant += occupied < 2
        live = occupied >= 2 and (allowed or s.params.max_arity > 2)
        if live and s.params.support:
            live = supported(s, d, feature)
        if live:
            s.scratch.allowed[feature] = allowed
            s.stack.live[d, n_live] = feature
            n_live += 1
        else:
            s.stack.first[d, feature] = -1
    s.stack.head[d, stack_frame.N_LIVE] = n_live
    return n_constant


@helper
def start_children(s: Space, d: int) -> None:
    """Reset all children to leaves that have not been looked up in the memo."""
    for i in range(s.stack.head[d, stack_frame.N_LIVE]):
        feature = s.stack.live[d, i]
        s.stack.looked[d, feature] = 0
        s.scratch.duplicate[feature] = 0
        for value in range(s.table.values[feature], s.table.values[feature + 1]):
            s.stack.child_node[d, value] = -1
            for b in range(s.params.budgets):
                s.stack.child_upper[d, value, b] = s.stack.child_leaf[d, value]


@helper
def bound_by_pairs(s: Space, d: int) -> None:
    """Bound every child by what one more split, or more, could make of it."""
    deep, binary = d + 2 < s.params.depth, s.params.max_arity == 2
    if binary:
        pair_binary(s, d, deep)
    else:
        pair_multiway(s, d, deep)
    for i in range(s.stack.head[d, stack_frame.N_LIVE]):
        feature = s.stack.live[d, i]
        for value in range(s.table.values[feature], s.table.values[feature + 1]):
            stump, bound = s.scratch.stump[value], s.scratch.pair_lower[value]
            if binary:
                code, floor = value - s.table.values[feature], s.scratch.floors[value]
                stump, bound = costs_by_pairs(s, i, code, floor, deep)
            leaf = s.stack.child_leaf[d, value]
            stump, bound = min(leaf, stump), min(leaf, bound)
            for b in range(s.params.budgets):
                if b == 0 and s.params.budgets > 1:
                    continue
                s.stack.child_upper[d, value, b] = stump
                low = stump if b == 1 else bound
                s.stack.child_lower[d, value, b] = max(s.stack.child_lower[d, value, b], low)


@helper
def drop_duplicates(s: Space, d: int) -> None:
    """Drop what the pairs have shown to be useless: duplicates, and splits that cannot pay."""
    n = 0
    for i in range(s.stack.head[d, stack_frame.N_LIVE]):
        feature = s.stack.live[d, i]
        useless = s.scratch.duplicate[feature] != 0
        if s.params.support and not useless:
            useless = not supported(s, d, feature)
        if useless:
            # Its columns stay in this frame, but no child inherits it.
            s.stack.first[d, feature] = -1
        else:
            s.stack.live[d, n] = feature
            n += 1
    s.stack.head[d, stack_frame.N_LIVE] = n


@helper
def must_group(s: Space, d: int, n_constant: int) -> bool:
    """Whether rows of different classes may be equivalent here, and it may matter.

    They are not if they were not in the frame below, and since then only features that are constant
    here were lost. If they cost less than a split in the whole table, a branch with room for a few
    splits only is seldom closed by them.
    """
    head, n_live = s.stack.head[d], s.stack.head[d, stack_frame.N_LIVE]
    head[stack_frame.N_GROUPED] = n_live
    head[stack_frame.UNAVOIDABLE] = 0
    if d == 0:
        return True
    high = s.memo.node_upper[head[stack_frame.NODE], head[stack_frame.BUDGET]]
    few = min(high, head[stack_frame.LIMIT]) <= _FEW_SPLITS * s.params.split
    if few and s.params.error * s.stack.head[0, stack_frame.UNAVOIDABLE] < s.params.split:
        head[stack_frame.UNAVOIDABLE] = UNKNOWN
        return False
    if s.stack.head[d - 1, stack_frame.UNAVOIDABLE] != 0:
        return True
    return bool(n_live + n_constant < s.stack.head[d - 1, stack_frame.N_GROUPED])


@helper
def expand(s: Space, d: int) -> None:
    """Fill a frame whose rows, live features and node are set."""
    pack_columns(s, d)
    count_singles(s, d)
    if has_duals(s):
        sum_duals(s, d)
    for value in range(len(s.scratch.floors)):
        s.scratch.floors[value] = 0
    for attempt in range(2):
        n_constant = bound_children(s, d)
        drop_columns(s, d)
        if attempt == 1 or not s.params.equivalent_points or not must_group(s, d, n_constant):
            break
        find_floors(s, d)
        if s.stack.head[d, stack_frame.UNAVOIDABLE] == 0:
            break
    start_children(s, d)
    inherit_bounds(s, d)
    s.stack.head[d, stack_frame.HAS_JOINT] = 0
    if s.params.pairs and d + 2 <= s.params.depth:
        s.stack.head[d, stack_frame.HAS_JOINT] = s.params.similar_support
        bound_by_pairs(s, d)
        drop_duplicates(s, d)
    s.stack.head[d, stack_frame.CURRENT] = -1
    s.stack.head[d, stack_frame.TURN] = 0
    n = 0
    for i in range(s.stack.head[d, stack_frame.N_LIVE]):
        feature = s.stack.live[d, i]
        s.stack.split_lower[d, feature] = 0
        if s.scratch.allowed[feature]:
            refresh_split(s, d, feature)
            s.stack.candidates[d, n] = feature
            n += 1
    s.stack.head[d, stack_frame.N_CANDIDATES] = n
