"""Row duals: values of rows whose sum bounds every tree (linear programming duality).

Give every row ``i`` a value ``y(i) ≥ 0`` such that in every conjunction ``c`` of tests

    ``Σ_{i in c} y(i) ≤ split + error · errors(c)``.

The leaves of a tree of ``k`` splits are ``k + 1`` such conjunctions (splits are binary), and each
row is in one of them. So a tree of a branch costs at least ``Σ y(i) − split`` over the branch's
rows. What a conjunction has of a branch is itself a conjunction, so values that hold for the table
hold for all its branches. The best values are the dual solution of a linear program: choose
conjunctions that cover each row once, at least cost. Only live features count, as an optimal tree
needs no other.
"""

from __future__ import annotations

import numpy as np

from solver.branches.kernels import stack_frame
from solver.branches.kernels.bounds import raise_split
from solver.branches.kernels.branch_rows import columns_at
from solver.branches.kernels.linear_program.best_conjunctions import (
    begin_search,
    search_conjunctions,
    work_expected,
)
from solver.branches.kernels.linear_program.master import (
    add_to_pool,
    lower_to_pool,
    shrink_pool,
    solve_pool,
)
from solver.branches.kernels.linear_program.pricing import beam_search
from solver.branches.kernels.state import (
    DEPTH,
    DUE,
    FRAMES,
    LARGEST,
    NUMBER,
    OPTIMUM,
    PART,
    SEARCH,
    SHARE,
    SIZE,
    STALLED,
    TAKEN,
    TURNS,
    UNFOUND,
    WORK,
    WORST,
    Space,
)
from solver.kernels.constants import ONE, ZERO, Ints
from solver.kernels.jit import helper, kernel, trailing_zeros
from solver.kernels.simd import sum_marked
from solver.objective.exact_objective import INFINITE

_FIRST = 2**25  # work of the search before the first improvement
_PRECISION = 1024  # a share of a split's cost by which a conjunction may gain too much
_CLOSE = 32  # the same, where a search through all conjunctions begins
_NEAR = 0.998  # share of the pool's optimum that is enough
_PROMISE = 0.02  # share of the gap that the duals may close at least
_LARGE = 0.25  # the same, in the shard that leaves the search to others, after much work
_MUCH = 2**27  # work of some 0.3 s
_WHILE = 2**24  # work at a time
_LATER = 1.25  # how much more work the search has done at the next turn
_FAR = 63 / 64  # share of the pool's optimum that a stalled program should reach
_STALLS = 16  # rounds without a change after which it ends all the same
_LONG = 4.0  # share of the search's work that is too much for one search through all conjunctions


@helper
def sum_duals(s: Space, d: int) -> None:
    """Sum the duals of a frame's rows, in the branch and in each of its columns."""
    n_columns, total = s.stack.head[d, stack_frame.N_COLUMNS], ZERO
    for j in range(n_columns):
        s.scratch.column_dual[j] = 0
    rows_at, at = s.stack.head[d, stack_frame.ROWS_AT], columns_at(s, d)
    for w in range(s.stack.head[d, stack_frame.N_WORDS]):
        held = s.stack.words[s.stack.head[d, stack_frame.WORDS_AT] + w]
        total += sum_marked(s.stack.duals, rows_at + 64 * w, held)
        for j in range(n_columns):
            word = s.stack.words[at + w * n_columns + j]
            s.scratch.column_dual[j] += np.int64(sum_marked(s.stack.duals, rows_at + 64 * w, word))
    s.scratch.branch_dual[0] = np.int64(total)


@helper
def has_duals(s: Space) -> bool:
    """Whether rows have duals: before the first improvement all are 0 and bound nothing."""
    return bool(s.params.row_duals and s.program.status[SIZE] + s.program.status[TAKEN] > 0)


@helper
def dual_bound(s: Space, d: int, feature: int, code: int) -> int:
    """Lower bound of a child from the sums of :func:`sum_duals`."""
    dual = s.scratch.column_dual[s.stack.first[d, feature]]
    if code == 0:
        dual = s.scratch.branch_dual[0] - dual
    return int(dual - s.params.split)


@helper
def start_program(s: Space, cost: float) -> int:
    """Write the root's literals and weights; their number. The first time, fill the pool.

    ``cost`` is that of the best known tree, see :func:`cost_of_tree`.
    """
    u, n_words, n = s.duals, s.stack.head[0, stack_frame.N_WORDS], 0
    at, n_columns = columns_at(s, 0), s.stack.head[0, stack_frame.N_COLUMNS]
    for i in range(s.stack.head[0, stack_frame.N_LIVE]):
        column = s.stack.first[0, s.stack.live[0, i]]
        for w in range(n_words):
            word = s.stack.words[at + w * n_columns + column]
            u.literal[n, w] = word
            u.literal[n + 1, w] = s.stack.words[w] & ~word
        n += 2
    for i in range(64 * n_words):
        row = s.stack.rows[i]
        u.weight[i] = np.uint64(s.table.weights[row]) if row >= 0 else ZERO
        u.most[i] = float(np.int64(u.weight[i])) * float(s.params.error) / float(s.params.split)
    if s.program.status[SIZE] > 0:
        return n
    total = 0.0
    for i in range(64 * n_words):
        total += u.most[i]
    for i in range(64 * n_words):
        s.program.trial[i] = u.most[i] * min(1.0, cost / total)
        s.program.centre[i] = float(s.stack.duals[i]) / float(s.params.split)
    add_to_pool(s, s.stack.words, n_words)
    for i in range(n):
        add_to_pool(s, u.literal[i], n_words)
    return n


@helper
def cost_of_tree(s: Space, upper: int) -> float:
    """Cost of a tree as the program has it: in splits, and one more, as leaves hold it."""
    return float(upper) / float(s.params.split) + 1.0


@helper
def set_gains(s: Space, part: int, n_words: int) -> None:
    """Write what the rows gain by the duals ``value`` in a leaf of a class."""
    u = s.duals
    first, end = s.stack.segments[0, part], s.stack.segments[0, part + 1]
    for i in range(64 * n_words):
        gain = s.program.value[i]
        if i < 64 * first or i >= 64 * end:
            gain -= s.params.error * np.int64(u.weight[i])
        u.gain[i], u.plus[i] = np.uint64(gain), np.uint64(max(gain, 0))


@helper
def expect_gain(s: Space) -> None:
    """Nothing is found yet that gains more than a split costs, and a little more."""
    p = s.program
    p.status[NUMBER], p.status[WORST] = 0, s.params.split + s.params.split // _PRECISION
    p.status[LARGEST] = max(p.status[LARGEST], p.status[WORST])


@helper
def pool_found(s: Space, n_words: int) -> None:
    """Add what was found to the pool."""
    for i in range(s.program.status[NUMBER]):
        add_to_pool(s, s.program.found[i], n_words)


@helper
def duals_and_cost(s: Space, i: int, part: int, n_words: int) -> tuple[int, int]:
    """The duals ``value`` of the rows of a conjunction that was found, and what it costs as a leaf
    of a class."""
    dual, cost = 0, s.params.split
    first, end = s.stack.segments[0, part], s.stack.segments[0, part + 1]
    for w in range(n_words):
        held = s.program.found[i, w]
        dual += int(np.int64(sum_marked(s.program.value, 64 * w, held)))
        if w < first or w >= end:
            cost += s.params.error * int(np.int64(sum_marked(s.duals.weight, 64 * w, held)))
    return dual, cost


@helper
def lower_found(s: Space, part: int, n_words: int) -> None:
    """Lower the duals ``value`` until the rows of each conjunction that was found have no more than
    its cost."""
    for i in range(s.program.status[NUMBER]):
        dual, cost = duals_and_cost(s, i, part, n_words)
        if dual <= cost:
            continue
        # Rounding can add less than this takes off.
        scale = float(cost) / float(dual) * (1.0 - 2.0**-40)
        for w in range(n_words):
            held = s.program.found[i, w]
            while held != ZERO:
                row = 64 * w + trailing_zeros(held)
                s.program.value[row] = np.int64(float(s.program.value[row]) * scale)
                held &= held - ONE


@helper
def price_some(s: Space, n_literals: int, n_words: int) -> float:
    """Look for conjunctions that gain too much by the duals ``value``.

    ``LARGEST`` is the most that one found gains, or a little more than a split costs. Returns how
    much of its cost the rows of one have, 1 at least.
    """
    s.program.status[LARGEST], load = 0, 1.0
    for k in range(s.stack.head[0, stack_frame.N_CLASSES]):
        set_gains(s, k, n_words)
        expect_gain(s)
        beam_search(s, n_literals, n_words)
        for i in range(s.program.status[NUMBER]):
            dual, cost = duals_and_cost(s, i, k, n_words)
            load = max(load, float(dual) / float(cost))
        pool_found(s, n_words)
    return load


@helper
def begin_pricing(s: Space) -> None:
    """Let :func:`price_all` begin."""
    p = s.program
    p.status[PART], p.status[DEPTH], p.status[LARGEST], p.status[UNFOUND] = 1, -1, 0, 0


@helper
def price_all(s: Space, n_literals: int, n_words: int, limit: int) -> bool:
    """Look through all conjunctions, or go on with it; whether it is done. It stops when the work
    reaches ``limit``.

    What it finds then gains no more than a split costs, as its duals ``value`` are lowered. All
    others gain no more than ``UNFOUND``, unless the search ended early, which makes this more than
    is useful; or they are left out for one that was found, to whose rows they add groups that
    gain nothing. These gain nothing with lower duals either.
    """
    p = s.program
    while p.status[PART] <= s.stack.head[0, stack_frame.N_CLASSES]:
        useful = largest_useful(s, n_words)
        set_gains(s, p.status[PART] - 1, n_words)
        if p.status[DEPTH] < 0:
            expect_gain(s)
            begin_search(s, n_literals, n_words)
        if not search_conjunctions(s, n_words, useful, limit):
            return False
        p.status[UNFOUND] = max(p.status[UNFOUND], p.status[WORST])
        lower_found(s, p.status[PART] - 1, n_words)
        pool_found(s, n_words)
        p.status[PART] += 1
    p.status[PART] = 0
    return True


@helper
def scale_duals(s: Space, n_words: int, largest: int) -> int:
    """Scale the duals ``value``, which makes them valid if no conjunction gains more than
    ``largest``; their sum.

    With ``gain(c) = y(c) − error · errors(c) ≤ largest`` for all conjunctions, and ``a = split /
    largest ≤ 1``: ``a · y(c) ≤ a · largest + a · error · errors(c) ≤ split + error · errors(c)``.
    """
    # Rounding can add less than this takes off.
    scale, total = float(s.params.split) / float(largest) * (1.0 - 2.0**-40), 0
    for i in range(64 * n_words):
        if largest > s.params.split:
            s.program.value[i] = np.int64(float(s.program.value[i]) * scale)
        total += s.program.value[i]
    return int(total)


@helper
def mix_duals(s: Space, n_words: int) -> None:
    """Write to ``value`` the mean of the pool's duals and of the centre, which is lowered so that
    the pool's constraints hold."""
    lower_to_pool(s, s.program.centre, n_words)
    for i in range(64 * n_words):
        share = 0.5 * s.duals.best[i] + 0.5 * s.program.centre[i]
        s.program.value[i] = np.int64(share * float(s.params.split) + 0.5)


@helper
def move_centre(s: Space, n_words: int, total: int) -> bool:
    """Let the duals ``value``, which sum to ``total``, be the centre if they are better; whether
    they are."""
    before, split = 0.0, float(s.params.split)
    for i in range(64 * n_words):
        before += s.program.centre[i]
    better = float(total) > before * split
    if better:
        for i in range(64 * n_words):
            s.program.centre[i] = float(s.program.value[i]) / split
    return better


@helper
def sum_root(s: Space) -> int:
    """Sum of the root's duals."""
    total = ZERO
    for i in range(64 * s.stack.head[0, stack_frame.N_WORDS]):
        total += s.stack.duals[i]
    return int(np.int64(total))


@helper
def largest_useful(s: Space, n_words: int) -> int:
    """The most that a conjunction may gain by the duals ``value`` if they are to be better than the
    root's own once they are scaled."""
    total, own = 0, sum_root(s)
    for i in range(64 * n_words):
        total += s.program.value[i]
    if own == 0:
        return INFINITE
    return int(min(float(s.params.split) * float(total) / float(own), float(INFINITE)))


@helper
def keep_duals(s: Space, n_words: int) -> None:
    """Let the root, and the centre, have the duals ``value`` if they are better than their own,
    after a search through all conjunctions."""
    total = scale_duals(s, n_words, s.program.status[UNFOUND])
    move_centre(s, n_words, total)
    if total > sum_root(s):
        for i in range(64 * n_words):
            s.stack.duals[i] = np.uint64(s.program.value[i])


@helper
def are_enough(s: Space, least: float, lower: float, cost: float) -> bool:
    """Whether the root's duals, which sum to ``least``, are near the best ones, or the search has
    left the program behind.

    ``lower`` is a bound of all trees, ``cost`` that of the best known one. No duals sum to more
    than the pool's optimum, or than the leaves of a tree cost. After a first turn, this must
    promise to close a part of the gap; after much work of the shard that leaves the search to
    others, a large part.
    """
    p, split = s.program, float(s.params.split)
    most = min(float(s.program.status[OPTIMUM]), cost * split)
    rounded = 4.0 * float(s.stack.head[0, stack_frame.N_ROWS])  # about what whole numbers lose
    if least + rounded > _NEAR * most or most - split < lower:
        return True
    above, gap = most - split - lower, (cost - 1.0) * split - lower
    if p.status[SHARE] > 1 and p.status[WORK] > _MUCH:
        return bool(above < _LARGE * gap)
    return bool(p.status[TURNS] > 0 and above < _PROMISE * gap)


@helper
def has_stalled(s: Space, changed: bool, least: float, most: float) -> bool:
    """Whether to end, after a round that has changed neither the pool nor the centre.

    The pool's own duals may not be near its optimum yet, so that later rounds change something
    again. If the root's duals, which sum to ``least``, are far from the optimum ``most``, the
    program goes on for some rounds; from then on it takes no more work than the search, but where
    ``SHARE`` is set already.
    """
    p = s.program
    p.status[STALLED] = 0 if changed else p.status[STALLED] + 1
    if changed:
        return False
    p.status[SHARE] = max(p.status[SHARE], 1)
    return bool(least >= _FAR * most or p.status[STALLED] >= _STALLS)


@helper
def improve_duals(s: Space, lower: float, cost: float, limit: int) -> bool:
    """Improve the duals of the root until its work reaches ``limit``; whether they are good enough.

    ``lower`` is a bound of all trees, ``cost`` that of the best known one (:func:`cost_of_tree`).
    Where it stops makes no difference to what it does when it goes on.
    """
    p, n_words, split = s.program, s.stack.head[0, stack_frame.N_WORDS], s.params.split
    n_literals = start_program(s, cost)
    while p.status[WORK] <= limit:
        if p.status[PART] > 0:
            if are_enough(s, float(sum_root(s)), lower, cost):
                return True
            if price_all(s, n_literals, n_words, limit):
                keep_duals(s, n_words)
            continue
        shrink_pool(s, n_words)
        most = solve_pool(s, n_words, cost) * float(split)
        least, p.status[OPTIMUM] = float(sum_root(s)), int(most)
        if are_enough(s, least, lower, cost):
            return True
        mix_duals(s, n_words)
        before = p.status[SIZE]
        load = price_some(s, n_literals, n_words)
        total = scale_duals(s, n_words, int(load * float(split)))
        changed = move_centre(s, n_words, total) or p.status[SIZE] > before
        # To look through all takes long, so that it must halve the gap.
        if p.status[LARGEST] <= split + split // _CLOSE and 2.0 * float(total) > most + least:
            begin_pricing(s)
        elif has_stalled(s, changed, least, most):
            return True
    return False


@helper
def use_duals(s: Space, d: int) -> None:
    """Bound all children of an open frame by its duals."""
    sum_duals(s, d)
    for i in range(s.stack.head[d, stack_frame.N_CANDIDATES]):
        feature, changed = s.stack.candidates[d, i], False
        for code in range(2):
            value = s.table.values[feature] + code
            low = dual_bound(s, d, feature, code)
            for b in range(s.params.budgets):
                if low > s.stack.child_lower[d, value, b]:
                    s.stack.child_lower[d, value, b] = low
                    changed = True
        if changed:
            raise_split(s, d, feature)


@helper
def pass_duals(s: Space, d: int) -> None:
    """Let the frame above ``d`` have its duals where they are better than its own."""
    rows_at, e = s.stack.head[d, stack_frame.ROWS_AT], d + 1
    for i in range(64 * s.stack.head[d, stack_frame.N_WORDS]):
        if s.stack.rows[rows_at + i] >= 0:
            s.scratch.row_duals[s.stack.rows[rows_at + i]] = s.stack.duals[rows_at + i]
    rows_at, own, other = s.stack.head[e, stack_frame.ROWS_AT], ZERO, ZERO
    for i in range(64 * s.stack.head[e, stack_frame.N_WORDS]):
        if s.stack.rows[rows_at + i] >= 0:
            own += s.stack.duals[rows_at + i]
            other += s.scratch.row_duals[s.stack.rows[rows_at + i]]
    if other > own:
        for i in range(64 * s.stack.head[e, stack_frame.N_WORDS]):
            if s.stack.rows[rows_at + i] >= 0:
                s.stack.duals[rows_at + i] = s.scratch.row_duals[s.stack.rows[rows_at + i]]


@helper
def forget_duals(s: Space) -> None:
    """Begin without duals."""
    for i in range(len(s.program.status)):
        s.program.status[i] = 0
    s.program.status[DUE] = _FIRST


@helper
def note_work(s: Space, d: int) -> None:
    """Count about what opening a frame has cost: as much as how many operations on words here."""
    n, n_words = s.stack.head[d, stack_frame.N_COLUMNS], s.stack.head[d, stack_frame.N_WORDS]
    s.program.status[SEARCH] += n * (n + 64) * (n_words + 2) // 8 + 2048


@helper
def work_allowed(s: Space) -> int:
    """How much work improving the duals may take so far.

    As much as the search of trees; once its first turn has promised to close a part of the gap,
    twice as much; if it is set, ``SHARE`` times as much.
    """
    p = s.program
    if p.status[SHARE] > 0:
        return int(p.status[SHARE] * p.status[SEARCH])
    return int((2 if p.status[TURNS] > 0 else 1) * p.status[SEARCH])


@helper
def is_long(s: Space) -> bool:
    """Whether a search through all conjunctions takes far more work than the search of trees."""
    return bool(s.program.status[PART] > 0) and work_expected(s) > _LONG * float(
        s.program.status[SEARCH]
    )


@kernel
def raise_duals(s: Space, lower: int, upper: int) -> None:
    """Improve the root's duals for a while, and with them all bounds of the frames.

    ``lower`` is a bound of all trees that is known, ``upper`` the cost of the best one known.
    It is done again after the next iteration, until it has done all work that it may, or a search
    through all conjunctions turns out to be long. The next turn is when the search's work has
    doubled, later ones whenever it has grown by a quarter.
    It is a kernel of its own, which most searches need not compile.
    """
    p, before, allowed = s.program, sum_root(s), work_allowed(s)
    limit = min(allowed, p.status[WORK] + _WHILE)
    good = improve_duals(s, float(lower), cost_of_tree(s, upper), limit)
    if good:
        p.status[DUE] = INFINITE
    elif p.status[WORK] > allowed or is_long(s):
        p.status[DUE] = int((_LATER if p.status[TURNS] > 0 else 2.0) * p.status[SEARCH])
        p.status[TURNS] += 1
    else:
        p.status[DUE] = p.status[SEARCH] + 1
    if sum_root(s) > before:
        spread_duals(s)


@helper
def spread_duals(s: Space) -> None:
    """Bound the root, and the children of all open frames, by the root's duals."""
    for d in range(s.memo.used[FRAMES]):
        if d > 0:
            pass_duals(s, d - 1)
        if s.stack.head[d, stack_frame.N_CANDIDATES] >= 0:
            use_duals(s, d)
    for b in range(s.params.budgets):
        low = sum_root(s) - s.params.split
        s.memo.node_lower[0, b] = max(s.memo.node_lower[0, b], low)


@kernel
def tell_duals(s: Space, told: Ints) -> int:
    """Write the root's duals to ``told``, in the order of the table's rows; their sum."""
    total = 0
    for i in range(64 * s.stack.head[0, stack_frame.N_WORDS]):
        if s.stack.rows[i] >= 0:
            told[s.stack.rows[i]] = np.int64(s.stack.duals[i])
            total += told[s.stack.rows[i]]
    return total


@kernel
def take_duals(s: Space, told: Ints) -> bool:
    """Let the root have the duals of another shard, and bound the frames by them; False if its own
    are as good.

    They are the duals of the same table, whose splits cost as much, so they are valid here. The
    program begins with them, or goes on from them, too.
    """
    total = 0
    for row in range(len(s.table.labels)):
        total += told[row]
    if total <= sum_root(s):
        return False
    s.program.status[TAKEN] = 1
    for i in range(64 * s.stack.head[0, stack_frame.N_WORDS]):
        if s.stack.rows[i] >= 0:
            s.stack.duals[i] = np.uint64(told[s.stack.rows[i]])
            s.program.centre[i] = float(told[s.stack.rows[i]]) / float(s.params.split)
    spread_duals(s)
    return True
