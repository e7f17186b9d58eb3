"""Best-first search over intervals of thresholds, for trees of depth two and three."""

from __future__ import annotations

from solver.jit import inlined, kernel, outlined
from solver.quantbnb.state import INFINITE, Best, Ints, Part, Pool, Sweep, Table
from solver.quantbnb.stumps import code_holding, divide, evaluate, weight_below

POINTS, INTERVALS, HEAP = 0, 1, 2
VALUE, FEATURE, CODE, FULL = 0, 1, 2, 3


@inlined
def _push(pool: Pool, interval: int) -> None:
    at = pool.used[HEAP]
    pool.used[HEAP] = at + 1
    bound = pool.bound[interval]
    while at > 0:
        parent = (at - 1) // 2
        if pool.bound[pool.heap[parent]] <= bound:
            break
        pool.heap[at] = pool.heap[parent]
        at = parent
    pool.heap[at] = interval


@inlined
def _pop(pool: Pool) -> int:
    top = pool.heap[0]
    last = pool.used[HEAP] - 1
    pool.used[HEAP] = last
    moved = pool.heap[last]
    bound = pool.bound[moved]
    at = 0
    while True:
        child = 2 * at + 1
        if child >= last:
            break
        if child + 1 < last and pool.bound[pool.heap[child + 1]] < pool.bound[pool.heap[child]]:
            child += 1
        if pool.bound[pool.heap[child]] >= bound:
            break
        pool.heap[at] = pool.heap[child]
        at = child
    pool.heap[at] = moved
    return top


@inlined
def _add_interval(pool: Pool, feature: int, a: int, b: int, bound: int) -> None:
    at = pool.used[INTERVALS]
    pool.used[INTERVALS] = at + 1
    pool.feature[at] = feature
    pool.ends[at, 0], pool.ends[at, 1] = a, b
    pool.bound[at] = bound
    _push(pool, at)


@inlined
def _add_child(pool: Pool, each: Ints, feature: int, a: int, b: int, bound: int, limit: int) -> None:
    """Queue an interval, unless it cannot hold anything better."""
    bound = max(bound, pool.least[a, 0] + pool.least[b, 1])
    if bound < limit:
        _add_interval(pool, feature, a, b, bound)
    else:
        each[feature] = min(each[feature], bound)


@outlined
def choose(table: Table, part: Part, pool: Pool, interval: int, limit: int) -> int:
    """The threshold in the middle of those of an interval that can cost less than a limit; −1: none.

    A threshold that has rows of weight w between itself and one of cost c costs at least c − w.
    """
    feature = pool.feature[interval]
    a, b = pool.ends[interval, 0], pool.ends[interval, 1]
    low = pool.below[a] + max(1, pool.cost[a] - limit + 1)
    high = pool.below[b] - max(1, pool.cost[b] - limit + 1)
    if low > high:
        return -1
    first = code_holding(table, part, feature, low) + 1
    last = code_holding(table, part, feature, high + 1)
    if first > last:
        return -1
    code = code_holding(table, part, feature, (low + high) // 2) + 1
    return max(first, min(last, code))


@inlined
def _new_point(table: Table, part: Part, pool: Pool, feature: int, code: int, a: int, b: int) -> int:
    """A threshold, with all that its neighbours say about it."""
    at = pool.used[POINTS]
    pool.used[POINTS] = at + 1
    below = weight_below(table, part, feature, code)
    pool.code[at] = code
    pool.below[at] = below
    since, until = below - pool.below[a], pool.below[b] - below
    for g in range(table.sizes[0]):
        pool.each[at, 0, g] = max(pool.each[a, 0, g], pool.each[b, 0, g] - until)
        pool.each[at, 1, g] = max(pool.each[b, 1, g], pool.each[a, 1, g] - since)
    pool.least[at, 0] = max(pool.least[a, 0], pool.least[b, 0] - until)
    pool.least[at, 1] = max(pool.least[b, 1], pool.least[a, 1] - since)
    return at


@inlined
def _start(table: Table, part: Part, pool: Pool, each: Ints, least: int) -> None:
    """The two outermost thresholds, which leave all rows on one side."""
    weight = 0
    for k in range(table.sizes[2]):
        weight += part.totals[k]
    for at in range(2):
        pool.below[at] = at * weight
        pool.cost[at] = least
        pool.least[at, at] = 0
        pool.least[at, 1 - at] = least
        for g in range(table.sizes[0]):
            pool.each[at, at, g] = 0
            pool.each[at, 1 - at, g] = each[g]
    pool.least[0, 0] = pool.least[1, 1] = 0
    pool.least[0, 1] = pool.least[1, 0] = least
    for g in range(table.sizes[0]):
        pool.each[0, 0, g] = pool.each[1, 1, g] = 0
        pool.each[0, 1, g] = pool.each[1, 0, g] = each[g]
    pool.used[POINTS], pool.used[INTERVALS], pool.used[HEAP] = 2, 0, 0


@inlined
def _stump_point(
    table: Table, part: Part, scratch: Sweep, pool: Pool, feature: int, code: int,
    a: int, b: int, limit: int, caps: Ints,
) -> int:  # fmt: skip
    at = _new_point(table, part, pool, feature, code, a, b)
    caps[0] = limit - pool.least[at, 1]
    caps[1] = limit - pool.least[at, 0]
    evaluate(table, part, scratch, feature, code, pool.each[at], caps, pool.guess[at])
    pool.least[at, 0] = max(pool.least[at, 0], caps[0])
    pool.least[at, 1] = max(pool.least[at, 1], caps[1])
    pool.cost[at] = pool.least[at, 0] + pool.least[at, 1]
    return at


@outlined
def search2(
    table: Table, part: Part, scratch: Sweep, pool: Pool, best: Best, caps: Ints, cap: int,
    guesses: Ints, n_guesses: int,
) -> None:  # fmt: skip
    """Best tree of depth two on a part that has fewer errors than ``cap``.

    Parameters
    ----------
    best : Best
        ``each`` in: lower bounds by the first split's feature; out: better ones.
        ``found`` out: errors (a lower bound if they are not below the cap), feature, code.
    guesses : (n, 2)
        First splits to begin with.
    """
    p = table.sizes[0]
    pool.each[0] = 0
    limit = cap
    caps[0], caps[1] = 0, cap
    best.found[FEATURE], best.found[CODE] = -1, 0
    evaluate(table, part, scratch, 0, 0, pool.each[0], caps, pool.guess[0])
    for g in range(p):
        pool.each[1, 0, g] = pool.each[0, 1, g]
    stump = caps[1]
    limit = min(limit, stump)
    _start(table, part, pool, pool.each[1, 0], stump)
    for g in range(p):
        # scratch: bounds by feature of what has been discarded
        scratch.each[g] = stump
    for i in range(n_guesses):
        feature, code = guesses[i, 0], guesses[i, 1]
        if feature < 0 or (i > 0 and feature == guesses[0, 0]):
            continue
        if best.each[feature] >= limit:
            continue
        at = _stump_point(table, part, scratch, pool, feature, code, 0, 1, limit, caps)
        scratch.each[feature] = min(scratch.each[feature], pool.cost[at])
        if pool.cost[at] < limit:
            limit = pool.cost[at]
            best.found[FEATURE], best.found[CODE] = feature, code
        _add_child(pool, scratch.each, feature, 0, at, best.each[feature], limit)
        _add_child(pool, scratch.each, feature, at, 1, best.each[feature], limit)
    for g in range(p):
        done = False
        for i in range(n_guesses):
            done |= guesses[i, 0] == g
        if not done:
            if best.each[g] < limit:
                _add_interval(pool, g, 0, 1, best.each[g])
            else:
                scratch.each[g] = min(scratch.each[g], best.each[g])
    while pool.used[HEAP] > 0:
        interval = pool.heap[0]
        if pool.bound[interval] >= limit:
            break
        if pool.used[POINTS] >= len(pool.code):
            best.found[FULL] = 1
            return
        _pop(pool)
        feature = pool.feature[interval]
        a, b = pool.ends[interval, 0], pool.ends[interval, 1]
        if pool.cost[a] >= limit or pool.cost[b] >= limit:
            scratch.each[feature] = min(scratch.each[feature], limit)
        code = choose(table, part, pool, interval, limit)
        if code < 0:
            continue
        at = _stump_point(table, part, scratch, pool, feature, code, a, b, limit, caps)
        if pool.cost[at] < limit:
            limit = pool.cost[at]
            best.found[FEATURE], best.found[CODE] = feature, code
        scratch.each[feature] = min(scratch.each[feature], pool.cost[at])
        bound = pool.bound[interval]
        _add_child(pool, scratch.each, feature, a, at, bound, limit)
        _add_child(pool, scratch.each, feature, at, b, bound, limit)
    for i in range(pool.used[HEAP]):
        interval = pool.heap[i]
        feature = pool.feature[interval]
        scratch.each[feature] = min(scratch.each[feature], pool.bound[interval])
    for g in range(p):
        best.each[g] = max(best.each[g], scratch.each[g])
    best.found[VALUE] = limit


@kernel
def solve2(
    table: Table, part: Part, scratch: Sweep, pool: Pool, best: Best, caps: Ints, cap: int,
    guesses: Ints, n_guesses: int,
) -> None:  # fmt: skip
    """See :func:`search2`."""
    search2(table, part, scratch, pool, best, caps, cap, guesses, n_guesses)


@kernel
def start3(table: Table, part: Part, outer: Pool, best: Best) -> None:
    """Begin a search of depth three, ``best`` being that of depth two."""
    least = best.found[VALUE]
    _start(table, part, outer, best.each, least)
    for i in range(2):
        outer.guess[i, 0, 0] = outer.guess[i, 1, 0] = -1
    outer.guess[0, 1, 0] = outer.guess[1, 0, 0] = best.found[FEATURE]
    outer.guess[0, 1, 1] = outer.guess[1, 0, 1] = best.found[CODE]
    for g in range(table.sizes[0]):
        _add_interval(outer, g, 0, 1, 0)


@inlined
def _inherit(outer: Pool, a: int, b: int, side: int, guesses: Ints) -> int:
    n = 0
    for end in (a, b):
        if outer.guess[end, side, 0] >= 0:
            guesses[n, 0] = outer.guess[end, side, 0]
            guesses[n, 1] = outer.guess[end, side, 1]
            n += 1
    return n


@kernel
def step3(
    table: Table, whole: Part, parts: tuple[Part, Part], scratch: Sweep, outer: Pool, pool: Pool,
    best: Best, found: Ints, caps: Ints, guesses: Ints, steps: int,
) -> int:  # fmt: skip
    """Evaluate up to ``steps`` first splits. ``found``: errors, feature, code of the best tree.

    Returns 0 when the search has ended, 1 when it goes on, 2 when a pool is full.
    """
    p = table.sizes[0]
    for _ in range(steps):
        if outer.used[HEAP] == 0 or outer.bound[outer.heap[0]] >= found[VALUE]:
            return 0
        if outer.used[POINTS] >= len(outer.code):
            return 2
        interval = _pop(outer)
        limit = found[VALUE]
        feature = outer.feature[interval]
        a, b = outer.ends[interval, 0], outer.ends[interval, 1]
        code = choose(table, whole, outer, interval, limit)
        if code < 0:
            continue
        at = _new_point(table, whole, outer, feature, code, a, b)
        first = 0
        if 2 * outer.below[at] < outer.below[1]:
            first = 1
        for turn in range(2):
            side = first if turn == 0 else 1 - first
            cap = limit - outer.least[at, 1 - side]
            if turn == 1:
                # the other one counts as what it was when this interval began
                end = b if side == 0 else a
                cap = limit - outer.least[end, 1 - side]
            outer.guess[at, side, 0] = -1
            if outer.least[at, side] >= cap:
                continue
            part = parts[0]
            divide(table, whole, feature, code, side, part)
            for g in range(p):
                best.each[g] = outer.each[at, side, g]
            n = _inherit(outer, a, b, side, guesses)
            search2(table, part, scratch, pool, best, caps, cap, guesses, n)
            if best.found[FULL] == 1:
                return 2
            for g in range(p):
                outer.each[at, side, g] = best.each[g]
            outer.least[at, side] = max(outer.least[at, side], best.found[VALUE])
            outer.guess[at, side, 0] = best.found[FEATURE]
            outer.guess[at, side, 1] = best.found[CODE]
        cost = outer.least[at, 0] + outer.least[at, 1]
        outer.cost[at] = cost
        if cost < limit:
            found[VALUE], found[FEATURE], found[CODE] = cost, feature, code
            limit = cost
        bound = outer.bound[interval]
        for side in range(2):
            left, right = (a, at) if side == 0 else (at, b)
            child = max(bound, outer.least[left, 0] + outer.least[right, 1])
            if child < limit:
                _add_interval(outer, feature, left, right, child)
    return 1
