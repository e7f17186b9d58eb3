"""Best-first search over intervals of cuts for the tree of least squared error.

Let OPT(S) be the least cost of a tree of one level less for the rows S. It never falls when rows
are added: the tree of more rows serves fewer as well. So no cut strictly between two cuts a < b of
a feature costs less than ``split + OPT(left of a) + OPT(right of b)``. That bounds an interval of
cuts. The search takes the intervals of the lowest bounds and evaluates cuts in them, which divides
them. It ends when no interval can hold anything better than the best tree.

On the last level the halves of a cut are split at most once. There :data:`LANES` cuts, of any
intervals, are evaluated together, see :mod:`solver.quantbnb.regression.stump_pairs`. On the levels
above, the next level searches the halves of one cut, one after the other, each under a *cap*: from
this cost on it is of no interest, neither for the cut nor for an interval next to it.

Bounds are kept for each feature of the half's first split. A later cut inside the interval starts
from them, and skips the features that cannot do better. Such a bound of rows S is used for more
rows, where a cut of the same feature may keep all of S on one side: so it must hold for such cuts
of S as well, see :func:`_hold_for_more_rows`.

With a least weight m of leaves, a tree of more rows is one of S whose leaves fall short of m by at
most the weight of the other rows. So the halves of a cut are bounded for trees with leaves of at
least ``relax``: m less the weight between the cut and the end of its interval. Only trees with
leaves of m count as found. Within a half ``relax`` replaces m. Where it is 1, leaves may be empty.
"""

from __future__ import annotations

from solver.kernels.constants import FULL, PROVEN, RUNNING
from solver.kernels.jit import helper, kernel
from solver.kernels.pass_by_reference import sub_record
from solver.quantbnb.regression.simd import LANES
from solver.quantbnb.regression.state import (
    AT,
    BOUND,
    CAP,
    CHILD,
    COST,
    DEPTH,
    FEATURE,
    FOUND,
    INFINITE_COST,
    INTERVALS,
    LEAF,
    LEFT_COST,
    LIMIT,
    LOWER,
    PHASE,
    PICK,
    POINTS,
    QUEUED,
    RELAX,
    ROWS,
    SIDE,
    START,
    STEPS,
    TOP,
    TURN,
    A,
    B,
    Levels,
    Params,
    Parts,
    Scratch,
)
from solver.quantbnb.regression.stump_pairs import evaluate, halve, leaf_cost, mark

_LARGEST_CODE = 2**31 - 1


@helper
def _queue(s: Levels, feature: int, a: int, b: int, bound: float) -> None:
    """Queue an interval, unless it cannot hold anything better or holds nothing at all."""
    if bound >= s.price[LIMIT]:
        s.passed[feature] = min(s.passed[feature], bound)
        return
    if s.place[b] - s.place[a] < 2:
        return
    number = s.frame[INTERVALS]
    s.frame[INTERVALS] = number + 1
    s.feature[number], s.bound[number] = feature, bound
    s.ends[number, 0], s.ends[number, 1] = a, b
    i = s.frame[QUEUED]
    s.frame[QUEUED] = i + 1
    while i > 0 and bound < s.bound[s.heap[(i - 1) // 2]]:
        s.heap[i] = s.heap[(i - 1) // 2]
        i = (i - 1) // 2
    s.heap[i] = number


@helper
def _pop(s: Levels) -> int:
    """The interval of the lowest bound."""
    first = s.heap[0]
    s.frame[QUEUED] -= 1
    n = s.frame[QUEUED]
    last = s.heap[n]
    i, child = 0, 1
    while child < n:
        if child + 1 < n and s.bound[s.heap[child + 1]] < s.bound[s.heap[child]]:
            child += 1
        if s.bound[last] <= s.bound[s.heap[child]]:
            break
        s.heap[i] = s.heap[child]
        i, child = child, 2 * child + 1
    s.heap[i] = last
    return int(first)


@helper
def _code_at(parts: Parts, level: int, feature: int, place: int) -> int:
    """The code of the row at a place in the feature's order."""
    return int(parts.codes[level, feature, parts.order[level, feature, place] >> 1])


@helper
def _first_above(parts: Parts, level: int, feature: int, code: int, low: int, high: int) -> int:
    """The first place from ``low`` to ``high`` whose code is above ``code``; ``high`` if none."""
    while low < high:
        middle = (low + high) // 2
        if _code_at(parts, level, feature, middle) > code:
            high = middle
        else:
            low = middle + 1
    return low


@helper
def _cut_near(parts: Parts, level: int, feature: int, place: int, low: int, high: int) -> int:
    """A place strictly between two others at which the code changes, near ``place``; −1: none."""
    code = _code_at(parts, level, feature, place)
    before = _first_above(parts, level, feature, code - 1, low, place)
    if before > low:
        return before
    after = _first_above(parts, level, feature, code, place, high)
    return after if after < high else -1


@helper
def _new_point(
    parts: Parts, params: Params, s: Levels, level: int, feature: int, place: int, a: int, b: int
) -> int:
    """A cut between two points, whose bounds also bound its halves."""
    at = s.frame[POINTS]
    s.frame[POINTS] = at + 1
    s.place[at] = place
    s.code[at] = _code_at(parts, level, feature, place - 1)
    if params.least > 1.0:
        weight = s.below[a]
        for i in range(s.place[a], place):
            weight += parts.sums[level, parts.order[level, feature, i] >> 1, 0]
        s.below[at] = weight
    relax = s.price[RELAX]
    s.relax[at, 0] = max(1.0, relax - (s.below[b] - s.below[at]))
    s.relax[at, 1] = max(1.0, relax - (s.below[at] - s.below[a]))
    s.low[at, 0], s.low[at, 1] = s.low[a, 0], s.low[b, 1]
    for g in range(params.features):
        s.each[at, 0, g], s.each[at, 1, g] = s.each[a, 0, g], s.each[b, 1, g]
    for side in range(2):
        near = a if s.guess[a, side, 0] >= 0 else b
        s.guess[at, side, 0], s.guess[at, side, 1] = s.guess[near, side, 0], s.guess[near, side, 1]
    return int(at)


@helper
def _clear_point(params: Params, s: Levels, at: int) -> None:
    """A point of which nothing is known."""
    s.code[at] = -1
    for side in range(2):
        s.low[at, side] = 0.0
        s.relax[at, side] = 1.0
        s.guess[at, side, 0] = -1
        for g in range(params.features):
            s.each[at, side, g] = 0.0


@helper
def _outermost(parts: Parts, params: Params, s: Levels, level: int, feature: int) -> None:
    """The points next to the first and the last cut that leave enough weight on both sides."""
    rows, order, sums = s.frame[ROWS], parts.order[level, feature], parts.sums[level]
    first, last, before, behind = 0, rows, 0.0, 0.0
    while first < rows and before + sums[order[first] >> 1, 0] < s.price[RELAX]:
        before += sums[order[first] >> 1, 0]
        first += 1
    while last > first and behind + sums[order[last - 1] >> 1, 0] < s.price[RELAX]:
        behind += sums[order[last - 1] >> 1, 0]
        last -= 1
    for side in range(2):
        at = 2 * feature + side
        s.place[at] = first if side == 0 else last
        s.below[at] = before if side == 0 else parts.total[level, 0] - behind
        _clear_point(params, s, at)


@helper
def _begin(parts: Parts, params: Params, s: Levels, level: int) -> None:
    """A new part: its leaf, and all cuts of every feature as an interval."""
    s.frame[INTERVALS] = s.frame[QUEUED] = 0
    s.frame[POINTS] = 2 * params.features + 1
    _clear_point(params, s, 2 * params.features)
    s.frame[FOUND] = -1
    leaf = leaf_cost(parts.total[level], params.outputs)
    s.price[LEAF] = leaf
    s.price[COST] = INFINITE_COST  # until a tree is found that costs less than the limit
    for i in range(len(s.tree)):
        s.tree[i, 0] = s.tree[i, 1] = -1
    large = level == 0 or parts.total[level, 0] >= params.least
    if leaf < s.price[LIMIT] and large:
        s.price[LIMIT] = s.price[COST] = leaf
    for g in range(params.features):
        s.passed[g] = INFINITE_COST
        _outermost(parts, params, s, level, g)
        _queue(s, g, 2 * g, 2 * g + 1, max(params.split, s.lower[g]))


@helper
def _is_tried(s: Levels, feature: int, a: int, i: int) -> bool:
    return bool(a == 2 * feature and s.tries[i, 0] == feature)


@helper
def _choose(
    parts: Parts, s: Levels, level: int, feature: int, a: int, b: int, i: int, number: int
) -> int:
    """The place of the i-th of a number of cuts in an interval; −1: there is none.

    Of an interval beyond the own cuts the outermost one: it bounds all the others.
    """
    own = s.own[feature]
    low, high = max(s.place[a], own[0] - 1), min(s.place[b], own[1] + 1)
    if low + 1 >= high:
        return -1
    if number == 1:
        for k in range(2):
            if _is_tried(s, feature, a, k):
                place = _first_above(parts, level, feature, s.tries[k, 1], low, high)
                if low < place < high:
                    return place
    for end in range(2):
        if s.place[a] < own[end] < s.place[b]:
            return int(own[end])
    place = low + (high - low) * (i + 1) // (number + 1)
    return _cut_near(parts, level, feature, min(max(place, low), high - 1), low, high)


@helper
def _fill(parts: Parts, params: Params, scratch: Scratch, s: Levels, level: int) -> int:
    """Choose the next batch of cuts and mark them; their number."""
    popped, lanes = 0, 0
    if level > 0 and s.frame[POINTS] == 2 * params.features + 1 and s.price[RELAX] <= 1.0:
        # First the best stump of all rows.
        scratch.point[0], scratch.lane[0] = 2 * params.features, -1
        scratch.caps[0, 0], scratch.caps[1, 0] = INFINITE_COST, -INFINITE_COST
        mark(parts, scratch, level, s.frame[ROWS], 0, _LARGEST_CODE, 0)
        lanes = 1
    while popped < LANES - lanes and s.frame[QUEUED] > 0 and s.bound[s.heap[0]] < s.price[LIMIT]:
        interval = _pop(s)
        scratch.chosen[popped, 0] = s.feature[interval]
        scratch.chosen[popped, 1] = s.ends[interval, 0]
        scratch.chosen[popped, 2] = s.ends[interval, 1]
        scratch.own[popped] = s.bound[interval]
        popped += 1
    if popped == 0:
        return 0
    share, rest = (LANES - lanes) // popped, (LANES - lanes) % popped
    limit = s.price[LIMIT] - params.split
    for j in range(popped):
        # Lanes to spare cut the intervals of the lowest bounds into more pieces.
        number = share + (1 if j < rest else 0)
        feature, a, b = scratch.chosen[j, 0], scratch.chosen[j, 1], scratch.chosen[j, 2]
        before = s.place[a]
        for i in range(number):
            place = _choose(parts, s, level, feature, a, b, i, number)
            if place <= before:
                continue
            before = place
            at = _new_point(parts, params, s, level, feature, place, a, b)
            scratch.point[lanes], scratch.lane[lanes] = at, j
            scratch.caps[0, lanes] = limit - s.low[b, 1]
            scratch.caps[1, lanes] = limit - s.low[a, 0]
            mark(parts, scratch, level, s.frame[ROWS], feature, s.code[at], lanes)
            lanes += 1
    return lanes


@helper
def _note_outermost(s: Levels, feature: int, end: int, at: int, side: int) -> None:
    """If a point is the first (side 0) or last cut evaluated, let the end beyond it know."""
    if end == 2 * feature + side:
        s.low[end, 1 - side] = s.low[at, 1 - side]


@helper
def _finish_batch(params: Params, scratch: Scratch, s: Levels, lanes: int) -> None:
    """Take note of the batch, and queue the intervals that its cuts have made."""
    first = 0 if lanes == 0 or scratch.lane[0] >= 0 else 1
    for k in range(first, lanes):
        at, feature = scratch.point[k], scratch.chosen[scratch.lane[k], 0]
        bound = params.split + s.low[at, 0] + s.low[at, 1]
        s.passed[feature] = min(s.passed[feature], bound)
        cost = params.split + scratch.cost[0, k] + scratch.cost[1, k]
        if cost < s.price[LIMIT]:
            s.price[LIMIT] = s.price[COST] = cost
            s.frame[FOUND] = feature
            s.tree[0, 0], s.tree[0, 1] = feature, s.code[at]
    before = -1
    for k in range(first, lanes):
        j, at = scratch.lane[k], scratch.point[k]
        feature, bound = scratch.chosen[j, 0], scratch.own[j]
        if before < 0:
            before = scratch.chosen[j, 1]
            _note_outermost(s, feature, before, at, 0)
        here = max(bound, params.split + s.low[before, 0] + s.low[at, 1])
        _queue(s, feature, before, at, here)
        before = at
        if k + 1 == lanes or scratch.lane[k + 1] != j:
            b = scratch.chosen[j, 2]
            _note_outermost(s, feature, b, at, 1)
            _queue(s, feature, at, b, max(bound, params.split + s.low[at, 0] + s.low[b, 1]))
            before = -1


@helper
def _next_point(parts: Parts, params: Params, s: Levels, level: int) -> bool:
    """Choose the next cut whose halves the next level searches; False: there is none left."""
    while s.frame[QUEUED] > 0 and s.bound[s.heap[0]] < s.price[LIMIT]:
        interval = _pop(s)
        feature, a, b = s.feature[interval], s.ends[interval, 0], s.ends[interval, 1]
        place = _choose(parts, s, level, feature, a, b, 0, 1)
        if place >= 0:
            s.frame[FEATURE], s.frame[A], s.frame[B] = feature, a, b
            s.frame[AT] = _new_point(parts, params, s, level, feature, place, a, b)
            s.price[BOUND] = s.bound[interval]
            s.price[LEFT_COST] = s.price[LEFT_COST + 1] = INFINITE_COST
            s.frame[TURN] = 0
            return True
    return False


@helper
def _descend(params: Params, s: Levels) -> bool:
    """Choose the next half of the current cut, and its cap; False: both are done.

    SIDE is −1 if the half is of no interest. At the cap, the interval next to the cut on the half's
    own side is of no interest either.
    """
    at, turn = s.frame[AT], s.frame[TURN]
    if turn == 2:
        return False
    s.frame[TURN] = turn + 1
    # The larger half first: the other one may then be of no interest.
    side = 1 if 2 * s.place[at] < s.frame[ROWS] else 0
    if turn == 1:
        side = 1 - side
    other = s.low[s.frame[B], 1] if side == 0 else s.low[s.frame[A], 0]
    cap = s.price[LIMIT] - params.split - other
    s.price[CAP] = cap
    s.frame[SIDE] = -1 if s.low[at, side] >= cap else side
    return True


@helper
def _hand_down(params: Params, s: Levels, child: Levels) -> None:
    """Bound the next half before its search."""
    at, side = s.frame[AT], s.frame[SIDE]
    child.frame[PHASE] = START
    child.frame[DEPTH] = s.frame[DEPTH] - 1
    child.price[LIMIT] = s.price[CAP]
    child.price[RELAX] = s.relax[at, side]
    for g in range(params.features):
        child.lower[g] = s.each[at, side, g]
    for i in range(2):
        end = s.frame[A] if i == 0 else s.frame[B]
        for j in range(2):
            child.tries[i, j] = s.guess[end, side, j]


@helper
def _ascend(params: Params, s: Levels, child: Levels) -> None:
    """Take the result of the search of a half."""
    at, side = s.frame[AT], s.frame[SIDE]
    for g in range(params.features):
        s.each[at, side, g] = max(s.each[at, side, g], child.lower[g])
    s.low[at, side] = max(s.low[at, side], child.price[LOWER])
    s.price[LEFT_COST + side] = child.price[COST]
    if child.tree[0, 0] >= 0:
        s.guess[at, side, 0], s.guess[at, side, 1] = child.tree[0, 0], child.tree[0, 1]
    for i in range(len(child.tree)):
        s.halves[side, i, 0], s.halves[side, i, 1] = child.tree[i, 0], child.tree[i, 1]


@helper
def _finish_point(params: Params, s: Levels) -> None:
    """Record the cut whose halves are done, and divide its interval there."""
    at, feature, a, b = s.frame[AT], s.frame[FEATURE], s.frame[A], s.frame[B]
    bound = params.split + s.low[at, 0] + s.low[at, 1]
    s.passed[feature] = min(s.passed[feature], bound)
    cost = params.split + s.price[LEFT_COST] + s.price[LEFT_COST + 1]
    if cost < s.price[LIMIT]:
        s.price[LIMIT] = s.price[COST] = cost
        s.frame[FOUND] = feature
        s.tree[0, 0], s.tree[0, 1] = feature, s.code[at]
        width = 1
        for i in range(len(s.tree)):
            if i + 1 >= 2 * width:
                width *= 2
            for side in range(2):
                to = i + (1 + side) * width
                if to < len(s.tree):
                    s.tree[to, 0], s.tree[to, 1] = s.halves[side, i, 0], s.halves[side, i, 1]
    _note_outermost(s, feature, a, at, 0)
    _note_outermost(s, feature, b, at, 1)
    own = s.price[BOUND]
    _queue(s, feature, a, at, max(own, params.split + s.low[a, 0] + s.low[at, 1]))
    _queue(s, feature, at, b, max(own, params.split + s.low[at, 0] + s.low[b, 1]))


@helper
def _end(params: Params, s: Levels) -> None:
    """All that is left is no better: its bounds are those of the result."""
    for i in range(s.frame[QUEUED]):
        interval = s.heap[i]
        feature = s.feature[interval]
        s.passed[feature] = min(s.passed[feature], s.bound[interval])
    s.frame[QUEUED] = 0
    least = s.price[LEAF]
    for g in range(params.features):
        found = max(s.lower[g], s.passed[g])
        least = min(least, found)
        s.lower[g] = max(s.lower[g], _hold_for_more_rows(params, s, g, s.passed[g]))
    s.price[LOWER] = least


@helper
def _hold_for_more_rows(params: Params, s: Levels, feature: int, found: float) -> float:
    """The bound of a superset of the part, given the part's bound ``found`` by a feature.

    If leaves may have any weight, a cut of the feature may keep all rows of the part on one side in
    the superset. That side costs what the part costs with one level less. On the last level this is
    the best stump; on others at least the cost of the halves of the outermost cuts. With a least
    weight the part's rows are on both sides.
    """
    if s.price[RELAX] > 1.0:
        return float(found)
    whole = min(s.low[2 * feature, 1], s.low[2 * feature + 1, 0])
    whole = max(whole, s.low[2 * params.features, 0])
    return float(min(found, params.split + whole))


def _step(
    parts: Parts, params: Params, scratch: Scratch, levels: Levels, budget: int, target_cost: float
) -> int:
    """Take some steps (batches of cuts, and halves handed down); return RUNNING, PROVEN, or FULL.

    It stops at a tree that costs ``target_cost`` or less. FULL: there is no room for the next step.
    """
    until = scratch.done[STEPS] + budget
    top = scratch.done[TOP]
    while scratch.done[STEPS] < until and levels.price[0, COST] > target_cost:
        s = sub_record(levels, top)
        last = s.frame[DEPTH] <= 2
        if s.frame[PHASE] == START:
            scratch.done[STEPS] += 1
            _begin(parts, params, s, top)
            s.frame[PHASE] = PICK
        elif s.frame[PHASE] == PICK:
            if s.frame[POINTS] + LANES > len(s.code):
                return FULL
            if last:
                lanes = _fill(parts, params, scratch, s, top)
                if lanes > 0:
                    scratch.done[STEPS] += 1
                    evaluate(
                        parts, params, scratch, top, s.frame[ROWS], lanes, s.each, s.low, s.relax
                    )
                    _finish_batch(params, scratch, s, lanes)
            elif _next_point(parts, params, s, top):
                s.frame[PHASE] = CHILD
            if s.frame[PHASE] == PICK and (
                s.frame[QUEUED] == 0 or s.bound[s.heap[0]] >= s.price[LIMIT]
            ):
                _end(params, s)
                if top == 0:
                    return PROVEN
                top -= 1
                scratch.done[TOP] = top
                _ascend(params, sub_record(levels, top), s)
        elif not _descend(params, s):
            _finish_point(params, s)
            s.frame[PHASE] = PICK
        elif s.frame[SIDE] >= 0:
            child = sub_record(levels, top + 1)
            child.frame[ROWS] = halve(
                parts, scratch, top, s.frame[ROWS], s.frame[FEATURE], s.code[s.frame[AT]],
                s.frame[SIDE],
            )  # fmt: skip
            _hand_down(params, s, child)
            top += 1
            scratch.done[TOP] = top
    return RUNNING


step = kernel(_step)


def _rebuild(parts: Parts, scratch: Scratch, levels: Levels) -> None:
    """Make the parts of all used levels again, from the cuts above them."""
    for level in range(scratch.done[TOP]):
        s = sub_record(levels, level)
        code = s.code[s.frame[AT]]
        halve(parts, scratch, level, s.frame[ROWS], s.frame[FEATURE], code, s.frame[SIDE])


rebuild = kernel(_rebuild)
