"""Best-first search over intervals of thresholds, one inside another for every level of the tree.

Let OPT(S) be the least cost of a tree of some depth on a set of rows S. It never falls when rows
are added, and adding rows of weight w raises it by at most the price of w errors. The rows to the
left of a threshold grow with it, those to the right shrink. So for thresholds a < t < b of one
feature::

    cost(t) >= OPT(left of a) + OPT(right of b)              (an interval's bound)
    cost(t) >= cost(a) - price · weight between a and t      (useful near a threshold)

The search cuts the interval of the least bound in its middle until no bound is below the best
cost. Both bounds also hold for trees whose first split is by a given feature, with splits allowed
that keep all rows on one side. They are kept for every feature, so most features need no second
look when an interval is cut.

With a least weight m of leaves, let OPT(S, k) be the least cost of a tree on S whose leaves have
the weight k or more. Take rows of weight w from S: a tree with leaves of m becomes one with leaves
of m - w. Add rows: leaves of m stay leaves of m. So with k = m less the weight between a and b::

    cost(t) >= OPT(left of a, k) + OPT(right of b, k)
    OPT(left of t, k) >= OPT(left of b, k) - price · weight between t and b

So thresholds are bounded for trees whose leaves fall short of m by the weight of their interval
(:attr:`Levels.relax`), while only trees with leaves of m count as found.
"""

from __future__ import annotations

from solver.kernels.constants import FULL, PROVEN, RUNNING, Ints
from solver.kernels.jit import helper, kernel
from solver.kernels.pass_by_reference import sub_record
from solver.objective.exact_objective import INFINITE
from solver.quantbnb.classification.carried_bounds import Known, choose_alive, raise_least
from solver.quantbnb.classification.class_bounds import class_bound
from solver.quantbnb.classification.interval_queue import add_interval, take_interval
from solver.quantbnb.classification.kept_trees import best_level, keep_half, keep_stumps, keep_tree
from solver.quantbnb.classification.split_budgets import (
    allotments,
    beside_leaf,
    deepens,
    leaf_side,
    least_beside,
    make_leaves,
    splits_of,
)
from solver.quantbnb.classification.state import (
    AT,
    BOUND,
    BUDGET,
    CAP,
    CHILD,
    DEPTH,
    EXCHANGES,
    FEATURE,
    FOUND,
    FOUND_CODE,
    INTERVALS,
    LEAF,
    LEFT,
    LIMIT,
    NEAR,
    OPENING,
    PHASE,
    PICK,
    POINTS,
    QUEUED,
    RELAX,
    SIDE,
    START,
    TRIED,
    TURN,
    A,
    B,
    Levels,
    Params,
    Part,
    Sweep,
    Table,
)
from solver.quantbnb.classification.stump_pairs import (
    code_holding,
    divide,
    divide_totals,
    evaluate,
    weight_below,
)

POINT, EMPTY, NOTHING = range(3)
OWN, FOREIGN, SHARED = range(3)
_EXCESS = 8
"""Of a part of the root, the cap is raised by this share of it: see :attr:`Params.exceed`."""


@helper
def _weights_below(params: Params, s: Levels, a: int, b: int) -> tuple[int, int]:
    """Least and greatest weight below the thresholds of an interval that can cost less than the
    limit."""
    limit = s.frame[LIMIT]
    low = s.below[a] + max(1, (s.cost[a] - limit) // params.error + 1)
    high = s.below[b] - max(1, (s.cost[b] - limit) // params.error + 1)
    return low, high


@helper
def _middle(table: Table, part: Part, feature: int, low: int, high: int) -> int:
    """The middle of the thresholds with these weights below them, or more and less."""
    first = code_holding(table, part, feature, low) + 1
    last = code_holding(table, part, feature, high + 1)
    code = code_holding(table, part, feature, (low + high) // 2) + 1
    return int(max(first, min(last, code)))


@helper
def _rank(table: Table, params: Params, part: Part, s: Levels, interval: int, others: Ints) -> int:
    """How late a shard takes an interval: OWN, if the middle is an own threshold; SHARED, if
    another shard is at a threshold inside; else FOREIGN."""
    feature, a, b = s.feature[interval], s.ends[interval, 0], s.ends[interval, 1]
    for i in range(len(others)):
        if others[i, 0] == feature and s.code[a] < others[i, 1] < s.code[b]:
            return SHARED
    first, last = s.own[feature]
    if first <= s.code[a] + 1 and s.code[b] - 1 <= last:
        return OWN
    low, high = _weights_below(params, s, a, b)
    if low > high:
        return OWN  # it is empty
    return OWN if first <= _middle(table, part, feature, low, high) <= last else FOREIGN


@helper
def _next_place(table: Table, params: Params, part: Part, s: Levels, others: Ints) -> int:
    """The place in the queue of the interval to cut next: of those of the least rank that of the
    least bound.

    Where others are is but a hint: it may be late, or they may have died. So an interval that they
    are at comes last, and is not left out.
    """
    best, least = 0, SHARED + 1
    if not s.frame[EXCHANGES]:
        return best
    for place in range(s.frame[QUEUED]):
        bound = s.bound[s.heap[place]]
        if bound < s.frame[LIMIT] and (least > OWN or bound < s.bound[s.heap[best]]):
            rank = _rank(table, params, part, s, s.heap[place], others)
            if rank < least or (rank == least and bound < s.bound[s.heap[best]]):
                best, least = place, rank
    return best


@helper
def _pass(s: Levels, feature: int, bound: int) -> None:
    s.passed[feature] = min(s.passed[feature], bound)


@helper
def enqueue(params: Params, s: Levels, feature: int, a: int, b: int, bound: int) -> None:
    """Queue an interval, unless it cannot hold anything better."""
    bound = max(bound, params.split + s.least[a, 0] + s.least[b, 1])
    if bound < s.frame[LIMIT]:
        add_interval(s, feature, a, b, bound)
    else:
        _pass(s, feature, bound)


@helper
def _between(table: Table, part: Part, feature: int, first: int, last: int, others: Ints) -> int:
    """The middle of the largest range of thresholds that no other shard is at."""
    best, most = first, -1
    for i in range(-1, len(others)):
        begin, end = first, last
        if i >= 0:
            begin = others[i, 1] + 1
            if others[i, 0] != feature or begin < first:
                continue
        for j in range(len(others)):
            if others[j, 0] == feature and others[j, 1] >= begin:
                end = min(end, others[j, 1] - 1)
        if begin <= end:
            low = weight_below(table, part, feature, begin)
            high = weight_below(table, part, feature, end)
            if high - low > most:
                most = high - low
                best = max(begin, min(end, code_holding(table, part, feature, (low + high) // 2)))
    return int(best)


@helper
def _choose(
    table: Table,
    params: Params,
    part: Part,
    scratch: Sweep,
    s: Levels,
    feature: int,
    a: int,
    b: int,
    others: Ints,
) -> int:
    """The middle of the thresholds of an interval that can cost less than the limit; −1: none.

    If it is another shard's, and that shard does not say where it is, the outermost of the own
    thresholds: it bounds all the others. If another shard is at it, one beside.
    """
    limit = s.frame[LIMIT]
    if s.cost[a] >= limit or s.cost[b] >= limit:
        _pass(s, feature, limit)
    low, high = _weights_below(params, s, a, b)
    if low > high:
        return -1
    relax = s.frame[RELAX]
    low, high = max(low, relax), min(high, s.below[1] - relax)
    if low > high:
        return -1
    if leaf_side(s) >= 0:
        low, high = beside_leaf(table, params, part, scratch, s, feature, a, b, low, high)
        _pass(s, feature, limit)
        if low > high:
            return -1
    low, high = max(low, params.min_leaf), min(high, s.below[1] - params.min_leaf)
    if low <= high:
        own = s.own[feature]
        first = max(code_holding(table, part, feature, low) + 1, own[0])
        last = min(code_holding(table, part, feature, high + 1), own[1])
        if first <= last:
            code = _middle(table, part, feature, low, high)
            is_own = own[0] <= code <= own[1]
            if not s.frame[EXCHANGES] or (not is_own and len(others) == 0):
                if s.code[a] < own[0]:
                    return int(first)
                if s.code[b] > own[1]:
                    return int(last)
            for i in range(len(others)):
                if others[i, 0] == feature and others[i, 1] == code:
                    return _between(table, part, feature, first, last, others)
            return code
    if relax < params.min_leaf:
        # None is allowed, but their cost bounds parts of more rows, where one may be.
        _pass(s, feature, max(s.frame[BOUND], params.split + s.least[a, 0] + s.least[b, 1]))
    return -1


@helper
def _new_point(
    table: Table, params: Params, part: Part, s: Levels, feature: int, code: int, a: int, b: int
) -> int:
    """A threshold, with all that its neighbours say about it."""
    at: int = s.frame[POINTS]
    s.frame[POINTS] = at + 1
    below = weight_below(table, part, feature, code)
    s.column[at], s.code[at] = feature, code
    s.below[at] = below
    since = params.error * (below - s.below[a])
    until = params.error * (s.below[b] - below)
    s.relax[at, 0] = max(1, s.frame[RELAX] - (s.below[b] - below))
    s.relax[at, 1] = max(1, s.frame[RELAX] - (below - s.below[a]))
    if s.relax[b, 0] > s.relax[at, 0]:
        until = INFINITE
    if s.relax[a, 1] > s.relax[at, 1]:
        since = INFINITE
    for g in range(table.sizes[0]):
        s.each[at, 0, g] = max(s.each[a, 0, g], s.each[b, 0, g] - until)
        s.each[at, 1, g] = max(s.each[b, 1, g], s.each[a, 1, g] - since)
    s.least[at, 0] = max(s.least[a, 0], s.least[b, 0] - until)
    s.least[at, 1] = max(s.least[b, 1], s.least[a, 1] - since)
    for side in range(2):
        s.paid[at, side] = s.least[at, side]
        s.guess[at, side, 0] = s.guess[at, side, 1] = -1
    s.frame[A], s.frame[B], s.frame[AT], s.frame[FEATURE] = a, b, at, feature
    s.frame[TURN] = 0
    return at


@helper
def _outermost(table: Table, params: Params, part: Part, s: Levels) -> None:
    """Begin with the threshold that leaves all rows on the right."""
    s.frame[POINTS], s.frame[INTERVALS], s.frame[QUEUED], s.frame[TRIED] = 1, 0, 0, 0
    s.frame[FOUND], s.frame[FOUND_CODE] = -1, 0
    s.code[0], s.below[0] = 0, 0
    for side in range(2):
        s.relax[0, side] = s.relax[1, side] = s.frame[RELAX]
        s.least[0, side] = s.paid[0, side] = 0
        s.guess[0, side, 0] = s.guess[0, side, 1] = -1
        for g in range(table.sizes[0]):
            s.each[0, side, g] = side * s.lower[g]
    s.frame[A], s.frame[B], s.frame[AT], s.frame[FEATURE] = 0, 0, 0, 0
    s.frame[TURN] = 0
    for i in range(len(s.tree)):
        s.tree[i, 0] = s.tree[i, 1] = -1
    weight, most = 0, 0
    for k in range(table.sizes[2]):
        weight += part.totals[k]
        most = max(most, part.totals[k])
    s.below[1] = weight
    s.frame[LEAF] = params.error * (weight - most)
    s.frame[LIMIT] = min(s.frame[LIMIT], s.frame[LEAF])


@helper
def _begin(table: Table, params: Params, s: Levels) -> None:
    """Both outermost thresholds, which cost as much as a tree of less depth, and all intervals."""
    p = table.sizes[0]
    shallow = s.least[0, 1]
    s.cost[0] = s.cost[1] = shallow
    s.least[1, 0], s.least[1, 1] = shallow, 0
    for j in range(2):
        s.guess[1, 0, j] = s.guess[0, 1, j]
        s.guess[1, 1, j] = -1
    for g in range(p):
        s.each[1, 0, g], s.each[1, 1, g] = s.each[0, 1, g], 0
        s.passed[g] = params.split + shallow if s.frame[DEPTH] > 1 else s.each[0, 1, g]
    if s.paid[0, 1] < s.frame[LIMIT]:
        s.frame[LIMIT] = s.paid[0, 1]
        if s.frame[DEPTH] <= 2:
            keep_stumps(s)
        for i in range(len(s.tree)):
            s.tree[i, 0], s.tree[i, 1] = s.halves[1, i, 0], s.halves[1, i, 1]
        if s.frame[DEPTH] > 2:
            s.frame[FOUND], s.frame[FOUND_CODE] = s.guess[0, 1, 0], s.guess[0, 1, 1]
    s.code[1] = INFINITE
    s.frame[POINTS] = 2
    first, last = allotments(s)
    for left in range(first, last + 1):
        s.frame[LEFT] = left
        for g in range(p):
            if not deepens(s):
                _pass(s, g, s.each[0, 1, g])  # the trees of less depth are all of these
            elif s.tries[0, 0] != g and s.tries[1, 0] != g:
                enqueue(params, s, g, 0, 1, s.lower[g])


@helper
def _finish_point(params: Params, s: Levels) -> None:
    """Take note of an evaluated threshold, and cut its interval there."""
    at, feature = s.frame[AT], s.frame[FEATURE]
    cost = params.split + s.least[at, 0] + s.least[at, 1]
    s.cost[at] = cost
    _pass(s, feature, cost)
    cost = params.split + s.paid[at, 0] + s.paid[at, 1]
    if cost < s.frame[LIMIT]:
        s.frame[LIMIT], s.frame[FOUND], s.frame[FOUND_CODE] = cost, feature, s.code[at]
        if s.frame[DEPTH] <= 2:
            keep_stumps(s)
        keep_tree(s, feature, s.code[at])
    enqueue(params, s, feature, s.frame[A], at, s.frame[BOUND])
    enqueue(params, s, feature, at, s.frame[B], s.frame[BOUND])


@helper
def _next_point(
    table: Table,
    params: Params,
    part: Part,
    scratch: Sweep,
    s: Levels,
    others: Ints,
    known: Known,
    most: int,
) -> int:
    """The next threshold to evaluate: a POINT; EMPTY: look again; NOTHING: the search is over."""
    first, last = allotments(s)
    number = last + 1 - first
    if s.frame[TRIED] < 2 * number:
        i = s.frame[TRIED] // number
        s.frame[LEFT] = first + s.frame[TRIED] % number
        s.frame[TRIED] += 1
        feature = s.tries[i, 0]
        if feature < 0 or (i == 1 and feature == s.tries[0, 0]) or not deepens(s):
            return EMPTY
        if s.lower[feature] >= s.frame[LIMIT]:
            _pass(s, feature, s.lower[feature])
            return EMPTY
        below = weight_below(table, part, feature, s.tries[i, 1])
        if below < params.min_leaf or s.below[1] - below < params.min_leaf:
            enqueue(params, s, feature, 0, 1, s.lower[feature])
            return EMPTY
        s.frame[BOUND], s.frame[NEAR] = s.lower[feature], INFINITE
        _new_point(table, params, part, s, feature, s.tries[i, 1], 0, 1)
        return POINT
    if s.frame[QUEUED] == 0 or s.bound[s.heap[0]] >= s.frame[LIMIT]:
        return NOTHING
    interval = take_interval(s, _next_place(table, params, part, s, others))
    feature, s.frame[LEFT] = s.feature[interval], s.left[interval]
    if s.bound[interval] >= s.frame[LIMIT]:
        _pass(s, feature, s.bound[interval])
        return EMPTY
    a, b = s.ends[interval, 0], s.ends[interval, 1]
    s.frame[BOUND] = s.bound[interval]
    code = _choose(table, params, part, scratch, s, feature, a, b, others)
    if code >= 0 and most > 0:
        low, high = _weights_below(params, s, a, b)
        low, high = max(low, params.min_leaf), min(high, s.below[1] - params.min_leaf)
        code = choose_alive(table, params, part, scratch, s, feature, low, high, known, most)
        _pass(s, feature, s.frame[LIMIT])
    if code < 0:
        return EMPTY
    _new_point(table, params, part, s, feature, code, a, b)
    if most > 0 and s.frame[DEPTH] > 2 and len(known.used) > 0:
        raise_least(table, params, part, scratch, s, known, most)
    return POINT


@helper
def _end(table: Table, s: Levels) -> None:
    """All that is left is no better: its bounds are those of the result."""
    for i in range(s.frame[QUEUED]):
        interval = s.heap[i]
        _pass(s, s.feature[interval], s.bound[interval])
    for g in range(table.sizes[0]):
        s.lower[g] = max(s.lower[g], s.passed[g])


@helper
def _stumps(table: Table, params: Params, part: Part, scratch: Sweep, s: Levels) -> None:
    """Evaluate a threshold whose parts are split once more at most."""
    at = s.frame[AT]
    limit = s.frame[LIMIT]
    if s.frame[PHASE] != OPENING:
        limit -= params.split
    for side in range(2):
        s.caps[side] = limit - least_beside(s, side) if splits_of(s, side) > 0 else 0
    evaluate(
        table, params, part, scratch, s.frame[FEATURE], s.code[at], s.each[at], s.caps, s.relaxed,
        s.relax[at], s.guess[at],
    )  # fmt: skip
    for side in range(2):
        s.least[at, side] = max(s.least[at, side], s.relaxed[side])
        s.paid[at, side] = max(s.paid[at, side], s.caps[side])


@helper
def _descend(table: Table, params: Params, s: Levels, is_root: bool) -> bool:
    """Choose the next part of the current threshold, and its cap; False: both are done.

    SIDE is −1 if the part is of no interest.
    """
    at, turn = s.frame[AT], s.frame[TURN]
    s.frame[TURN] = turn + 1
    if s.frame[PHASE] == OPENING:
        s.frame[SIDE], s.frame[CAP] = 1, s.frame[LIMIT]
        return bool(turn < 1)
    # The larger part first: the other one may then be of no interest.
    side = 1 if 2 * s.below[at] < s.below[1] else 0
    if turn == 1:
        side = 1 - side
    other = least_beside(s, side)
    if turn == 1 and splits_of(s, 1 - side) > 0:
        # A bound on this part that prunes the interval on its other side is worth having.
        other = s.least[s.frame[B] if side == 0 else s.frame[A], 1 - side]
    cap = s.frame[LIMIT] - params.split - other
    s.frame[CAP] = cap
    s.frame[SIDE] = -1 if s.least[at, side] >= cap or splits_of(s, side) == 0 else side
    if is_root and params.exceed:
        s.frame[CAP] = cap + cap // _EXCESS
    return bool(turn < 2)


@helper
def _is_excluded(table: Table, params: Params, part: Part, scratch: Sweep, s: Levels) -> bool:
    """Whether the classes alone show that the next part costs its cap; it is bounded by them."""
    at, side, classes = s.frame[AT], s.frame[SIDE], table.sizes[2]
    divide_totals(table, part, scratch, s.frame[FEATURE], s.code[at])
    weight, largest = 0, 0
    for k in range(classes):
        weight += scratch.totals[side * classes + k]
        largest = max(largest, scratch.totals[side * classes + k])
    bound = class_bound(table, params, scratch, side, 2 ** (s.frame[DEPTH] - 1) - 1)
    for g in range(table.sizes[0]):
        s.each[at, side, g] = max(s.each[at, side, g], bound)
    bound = min(bound, params.error * (weight - largest))
    s.least[at, side] = max(s.least[at, side], bound)
    s.paid[at, side] = max(s.paid[at, side], s.least[at, side])
    return bool(s.least[at, side] >= s.frame[CAP])


@helper
def _hand_down(table: Table, s: Levels, child: Levels) -> None:
    """Bound the next part before its search."""
    at, side = s.frame[AT], s.frame[SIDE]
    child.frame[PHASE] = START
    child.frame[LIMIT] = s.frame[CAP]
    splits = splits_of(s, side)
    depth = min(s.frame[DEPTH] - 1, splits)
    child.frame[DEPTH], child.frame[BUDGET] = depth, min(splits, (1 << depth) - 1)
    child.frame[RELAX] = s.relax[at, side]
    for g in range(table.sizes[0]):
        child.lower[g] = s.each[at, side, g]
    for i in range(2):
        end = s.frame[A] if i == 0 else s.frame[B]
        for j in range(2):
            if s.frame[PHASE] == OPENING:
                child.tries[i, j] = s.tries[i, j]
            else:
                child.tries[i, j] = s.guess[end, side, j]


@helper
def _ascend(table: Table, params: Params, s: Levels, child: Levels) -> None:
    """Take the result of the search of a part."""
    at, side = s.frame[AT], s.frame[SIDE]
    s.paid[at, side] = max(s.paid[at, side], child.frame[LIMIT])
    relaxed = child.frame[LEAF]
    for g in range(table.sizes[0]):
        relaxed = min(relaxed, child.lower[g])
        s.each[at, side, g] = max(s.each[at, side, g], child.lower[g])
    if params.min_leaf <= 1:
        relaxed = max(relaxed, child.frame[LIMIT]) if params.exceed else child.frame[LIMIT]
    s.least[at, side] = max(s.least[at, side], relaxed)
    keep_half(s, side, child.tree)
    s.guess[at, side, 0] = child.frame[FOUND]
    s.guess[at, side, 1] = child.frame[FOUND_CODE]


@kernel
def step(
    table: Table,
    params: Params,
    parts: Part,
    scratch: Sweep,
    levels: Levels,
    top: Ints,
    others: Ints,
    known: Known,
    most: int,
    budget: int,
    target_cost: int,
) -> int:
    """Continue until ``budget`` splits have been evaluated, or a tree costs ``target_cost`` or
    less.

    It also stops when the intervals of the root are queued: others may have told of them.
    ``top``, (1,), holds the current level; ``others``, (shards, 2), feature and code of the
    thresholds at the root that other shards are at. ``known`` are those that were evaluated at
    other λ, and ``most`` the splits of a part's largest tree.
    """
    end = scratch.evaluations[0] + budget
    while scratch.evaluations[0] < end:
        at = top[0]
        s, part = sub_record(levels, at), sub_record(parts, at)
        if s.frame[LIMIT] <= target_cost and best_level(levels, top) == at:
            return RUNNING
        phase, last = s.frame[PHASE], s.frame[DEPTH] <= 2
        if phase == START:
            _outermost(table, params, part, s)
            s.frame[PHASE] = OPENING
            if last:
                _stumps(table, params, part, scratch, s)
                _begin(table, params, s)
                s.frame[PHASE] = PICK
                if at == 0:
                    return RUNNING
        elif phase == PICK:
            if s.frame[POINTS] >= len(s.code):
                return FULL
            told, carried = (others, most) if at == 0 else (others[:0], 0)
            found = _next_point(table, params, part, scratch, s, told, known, carried)
            if found == POINT:
                make_leaves(table, params, part, scratch, s)
            if found == POINT and last:
                _stumps(table, params, part, scratch, s)
                _finish_point(params, s)
            elif found == POINT:
                s.frame[PHASE] = CHILD
            elif found == NOTHING:
                _end(table, s)
                if at == 0:
                    return PROVEN
                _ascend(table, params, sub_record(levels, at - 1), s)
                top[0] = at - 1
        else:
            below, child = sub_record(parts, at + 1), sub_record(levels, at + 1)
            if not _descend(table, params, s, at == 0 and len(known.used) > 0):
                s.frame[PHASE] = PICK
                if phase == CHILD:
                    _finish_point(params, s)
                    continue
                _begin(table, params, s)
                if at == 0:
                    return RUNNING
            elif s.frame[SIDE] >= 0 and not (
                params.exceed and _is_excluded(table, params, part, scratch, s)
            ):
                code, side = s.code[s.frame[AT]], s.frame[SIDE]
                divide(table, part, s.frame[FEATURE], code, side, below)
                _hand_down(table, s, child)
                top[0] = at + 1
    return RUNNING


@kernel
def restore_parts(table: Table, parts: Part, levels: Levels, top: Ints) -> None:
    """Divide the rows once more as the levels that are being worked on have done."""
    for at in range(top[0]):
        s = sub_record(levels, at)
        part, below = sub_record(parts, at), sub_record(parts, at + 1)
        divide(table, part, s.frame[FEATURE], s.code[s.frame[AT]], s.frame[SIDE], below)
