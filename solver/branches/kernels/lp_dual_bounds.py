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
from solver.branches.kernels.state import (
    DEEPEST,
    DUE,
    FOUND,
    FRAMES,
    ITERATIONS,
    LARGEST,
    SEARCH,
    SIZE,
    WORK,
    Duals,
    Space,
)
from solver.kernels.constants import ONE, ZERO, Words
from solver.kernels.jit import helper, kernel, trailing_zeros
from solver.kernels.simd import sum_marked
from solver.objective.exact_objective import INFINITE

_FIRST = 1024  # iterations before the first improvement
_STEPS = 25  # steps between two searches for violated constraints
_RATE = 0.05
_TIGHT = 0.93  # load of a conjunction that stays in a full pool
_NEAR = 0.97  # share of the pool's optimum that is enough


@helper
def sum_set(numbers: Words, words: Words, n_words: int) -> int:
    """Sum of the numbers at the positions of a set."""
    total = ZERO
    for w in range(n_words):
        total += sum_marked(numbers, 64 * w, words[w])
    return int(np.int64(total))


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
    return bool(s.params.row_duals and s.program.status[SIZE] > 0)


@helper
def dual_bound(s: Space, d: int, feature: int, code: int) -> int:
    """Lower bound of a child from the sums of :func:`sum_duals`."""
    dual = s.scratch.column_dual[s.stack.first[d, feature]]
    if code == 0:
        dual = s.scratch.branch_dual[0] - dual
    return int(dual - s.params.split)


@helper
def keep_found(u: Duals, found: int, d: int, value: int, n_words: int) -> int:
    """Keep a set among the ``FOUND`` of largest value; their number."""
    at = found
    if found >= FOUND:
        at = 0
        for i in range(FOUND):
            if u.found_value[i] < u.found_value[at]:
                at = i
    u.found_value[at] = value
    for w in range(n_words):
        u.found[at, w] = u.sets[d, w]
    return min(found + 1, FOUND)


@helper
def filter_literals(u: Duals, d: int, n_words: int, worst: int) -> None:
    """Keep the literals that may lead from a set to a better one, least value first.

    A row that all of them hold stays in every set below.
    """
    n, most = 0, sum_set(u.plus, u.sets[d], n_words)
    for i in range(u.counts[0, d]):
        literal, same, value = u.literals[d, i], True, ZERO
        for w in range(n_words):
            part = u.sets[d, w] & u.literal[literal, w]
            u.parts[n, w] = part
            same &= part == u.sets[d, w]
            value += sum_marked(u.plus, 64 * w, part)
        if not same and np.int64(value) > worst:
            u.part_value[n] = np.int64(value)
            u.literals[d, n] = literal
            n += 1
    if n > 0:
        for w in range(n_words):
            rest = u.sets[d, w]
            for i in range(n):
                rest &= u.parts[i, w]
            most += int(np.int64(sum_marked(u.gain, 64 * w, rest)))
            most -= int(np.int64(sum_marked(u.plus, 64 * w, rest)))
        if most <= worst:
            n = 0
    for i in range(n):
        value, literal, j = u.part_value[i], u.literals[d, i], i
        while j > 0 and u.part_value[j - 1] > value:
            u.part_value[j], u.literals[d, j] = u.part_value[j - 1], u.literals[d, j - 1]
            j -= 1
        u.part_value[j], u.literals[d, j] = value, literal
    u.counts[0, d], u.counts[1, d] = n, 0


@helper
def skip_literal(u: Duals, d: int, n_words: int) -> bool:
    """Whether the set above ``d`` was seen before: it lies in one of a literal that is done."""
    for i in range(u.counts[2, d]):
        literal, inside = u.done[d, i], True
        for w in range(n_words):
            if u.sets[d + 1, w] & ~u.literal[literal, w] != ZERO:
                inside = False
                break
        if inside:
            return True
    return False


@helper
def search_sets(s: Space, n_literals: int, n_words: int, bound: int, limit: int) -> tuple[int, int]:
    """Find the conjunctions whose rows gain more than ``bound``, ``FOUND`` of the best of them.

    Depth-first over conjunctions of the first ``n_literals`` literals, from the set ``sets[0]``.
    Returns their number, and the largest gain or ``bound``; −1 for the number if it took more than
    ``limit`` work.
    """
    u = s.duals
    for i in range(n_literals):
        u.literals[0, i] = i
    u.counts[0, 0], u.counts[1, 0], u.counts[2, 0] = n_literals, -1, 0
    d, found, worst, best = 0, 0, bound, bound
    while d >= 0:
        if u.counts[1, d] < 0:
            value = sum_set(u.gain, u.sets[d], n_words)
            if value > worst:
                best = max(best, value)
                found = keep_found(u, found, d, value, n_words)
                if found == FOUND:
                    worst = u.found_value[0]
                    for i in range(FOUND):
                        worst = min(worst, u.found_value[i])
            s.program.status[WORK] += (u.counts[0, d] + 1) * n_words
            filter_literals(u, d, n_words, worst)
            if s.program.status[WORK] > limit:
                return -1, best
            continue
        if u.counts[1, d] >= u.counts[0, d]:
            d -= 1
            if d >= 0:
                u.done[d, u.counts[2, d]] = u.literals[d, u.counts[1, d] - 1]
                u.counts[2, d] += 1
            continue
        literal = u.literals[d, u.counts[1, d]]
        u.counts[1, d] += 1
        for w in range(n_words):
            u.sets[d + 1, w] = u.sets[d, w] & u.literal[literal, w]
        most = sum_set(u.plus, u.sets[d + 1], n_words)
        skip = most <= worst or skip_literal(u, d, n_words)
        if skip or d + 2 >= DEEPEST:
            if not skip:
                best = max(best, most)
            u.done[d, u.counts[2, d]] = literal
            u.counts[2, d] += 1
            continue
        n = 0
        for i in range(u.counts[1, d], u.counts[0, d]):
            u.literals[d + 1, n] = u.literals[d, i]
            n += 1
        u.counts[0, d + 1], u.counts[1, d + 1], u.counts[2, d + 1] = n, -1, u.counts[2, d]
        for i in range(u.counts[2, d]):
            u.done[d + 1, i] = u.done[d, i]
        d += 1
    return found, best


@helper
def add_to_pool(s: Space, words: Words, n_words: int) -> None:
    """Add a conjunction to the pool, with its cost as a leaf."""
    at = s.program.status[SIZE]
    if at >= len(s.program.pool):
        return
    total, most = 0, 0
    for k in range(s.stack.head[0, stack_frame.N_CLASSES]):
        weight = ZERO
        for w in range(s.stack.segments[0, k], s.stack.segments[0, k + 1]):
            weight += sum_marked(s.duals.weight, 64 * w, words[w])
        total += int(np.int64(weight))
        most = max(most, int(np.int64(weight)))
    for w in range(n_words):
        s.program.pool[at, w] = words[w]
    errors = float(total - most) * float(s.params.error)
    s.program.pool_cost[at] = 1.0 + errors / float(s.params.split)
    s.duals.load[at] = 1.0
    s.program.status[SIZE] = at + 1


@helper
def shrink_pool(s: Space, n_words: int) -> None:
    """Drop what is far from tight if the pool has no room for what a search may find."""
    size, n = s.program.status[SIZE], 0
    if size + FOUND * s.stack.head[0, stack_frame.N_CLASSES] <= len(s.program.pool):
        return
    for c in range(size):
        if s.duals.load[c] >= _TIGHT:
            for w in range(n_words):
                s.program.pool[n, w] = s.program.pool[c, w]
            s.program.pool_cost[n] = s.program.pool_cost[c]
            n += 1
    s.program.status[SIZE] = n


@helper
def load_pool(s: Space, n_words: int) -> float:
    """How much of its cost the trial duals of each conjunction's rows have; the largest."""
    largest = 0.0
    for c in range(s.program.status[SIZE]):
        load = 0.0
        for w in range(n_words):
            word = s.program.pool[c, w]
            while word != ZERO:
                load += s.program.trial[64 * w + trailing_zeros(word)]
                word &= word - ONE
        s.duals.load[c] = load / s.program.pool_cost[c]
        largest = max(largest, s.duals.load[c])
    return largest


@helper
def slope_of_pool(s: Space, n_words: int, largest: float) -> float:
    """Write to ``slope`` how much each row adds to a smooth maximum of the loads; their mean."""
    for i in range(64 * n_words):
        s.duals.slope[i] = 0.0
    mean = 0.0
    for c in range(s.program.status[SIZE]):
        power = s.duals.load[c] / largest
        if power < 0.8:
            continue
        for _ in range(6):
            power *= power
        mean += power * s.duals.load[c]
        power /= s.program.pool_cost[c]
        for w in range(n_words):
            word = s.program.pool[c, w]
            while word != ZERO:
                s.duals.slope[64 * w + trailing_zeros(word)] += power
                word &= word - ONE
    return mean


@helper
def follow_slope(s: Space, n_words: int) -> float:
    """Improve the trial duals by multiplicative steps for the pool's constraints alone.

    The best found are in ``best``, scaled so that these constraints hold; returns their sum.
    Only basic operations on floats, in a fixed order: the same everywhere.
    """
    trial, best = s.program.trial, 0.0
    for _ in range(_STEPS):
        largest, total = load_pool(s, n_words), 0.0
        for i in range(64 * n_words):
            total += trial[i]
        if total > best * largest:
            best = total / largest
            for i in range(64 * n_words):
                s.duals.best[i] = trial[i] / largest
        mean = slope_of_pool(s, n_words, largest)
        for i in range(64 * n_words):
            if trial[i] > 0.0:
                step = 1.0 + _RATE * (1.0 - total * s.duals.slope[i] / mean)
                trial[i] = max(trial[i] / largest * min(1.5, max(0.67, step)), 1e-6)
        s.program.status[WORK] += s.program.status[SIZE] * n_words * 8
    return best


@helper
def start_program(s: Space) -> int:
    """Write the root's literals and weights; their number. The first time, fill the pool."""
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
    if s.program.status[SIZE] > 0:
        return n
    s.program.status[LARGEST] = 4 * s.params.split
    for i in range(64 * n_words):
        s.program.trial[i] = 1.0 if s.stack.rows[i] >= 0 else 0.0
        s.program.centre[i] = 0.0
    for w in range(n_words):
        u.sets[0, w] = s.stack.words[w]
    add_to_pool(s, u.sets[0], n_words)
    for i in range(n):
        add_to_pool(s, u.literal[i], n_words)
    return n


@helper
def price_sets(s: Space, n_literals: int, n_words: int, limit: int) -> int:
    """The most that the rows of a conjunction gain with the duals ``value``, or more; what gains
    too much goes to the pool. INFINITE if it takes too long."""
    u, split = s.duals, s.params.split
    # Far from the end it is enough to know that the duals can be scaled down by this.
    bound = max(split + split // 256, s.program.status[LARGEST] // 5 * 4)
    largest = bound
    for w in range(n_words):
        u.sets[0, w] = s.stack.words[w]
    for k in range(s.stack.head[0, stack_frame.N_CLASSES]):
        for i in range(64 * n_words):
            gain = u.value[i]
            if i < 64 * s.stack.segments[0, k] or i >= 64 * s.stack.segments[0, k + 1]:
                gain -= s.params.error * np.int64(u.weight[i])
            u.gain[i], u.plus[i] = np.uint64(gain), np.uint64(max(gain, 0))
        found, most = search_sets(s, n_literals, n_words, bound, limit)
        if found < 0:
            return INFINITE
        largest = max(largest, most)
        for i in range(found):
            add_to_pool(s, u.found[i], n_words)
    s.program.status[LARGEST] = largest
    return int(largest)


@helper
def scale_duals(s: Space, n_words: int, largest: int) -> int:
    """Make the duals ``value`` valid, by what :func:`price_sets` has found; their sum.

    With ``gain(c) = y(c) − error · errors(c) ≤ largest`` for all conjunctions, and ``a = split /
    largest ≤ 1``: ``a · y(c) ≤ a · largest + a · error · errors(c) ≤ split + error · errors(c)``.
    """
    # Rounding can add less than this takes off.
    scale, total = float(s.params.split) / float(largest) * (1.0 - 2.0**-40), 0
    for i in range(64 * n_words):
        s.duals.value[i] = np.int64(float(s.duals.value[i]) * scale)
        total += s.duals.value[i]
    return int(total)


@helper
def improve_duals(s: Space, limit: int) -> bool:
    """Improve the duals of the root until its work reaches ``limit``; whether they are good."""
    u, n_words = s.duals, s.stack.head[0, stack_frame.N_WORDS]
    n_literals, least = start_program(s), ZERO
    for i in range(64 * n_words):
        least += s.stack.duals[i]
    while True:
        most = follow_slope(s, n_words) * float(s.params.split)
        for i in range(64 * n_words):
            share = 0.5 * u.best[i] + 0.5 * s.program.centre[i]
            u.value[i] = np.int64(share * float(s.params.split))
        largest = price_sets(s, n_literals, n_words, limit)
        if largest >= INFINITE:
            return False
        total = scale_duals(s, n_words, largest)
        if total >= np.int64(least):
            least = np.uint64(total)
            for i in range(64 * n_words):
                s.stack.duals[i] = np.uint64(u.value[i])
                s.program.centre[i] = float(u.value[i]) / float(s.params.split)
        shrink_pool(s, n_words)
        lower = s.memo.node_lower[0, s.params.budgets - 1]
        if float(np.int64(least)) > _NEAR * most or most - float(s.params.split) < float(lower):
            return True


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
    s.program.status[DUE] = s.memo.used[ITERATIONS] + _FIRST


@helper
def note_work(s: Space, d: int) -> None:
    """Count about what opening a frame has cost, in operations on words."""
    n, n_words = s.stack.head[d, stack_frame.N_COLUMNS], s.stack.head[d, stack_frame.N_WORDS]
    s.program.status[SEARCH] += n * n * (n_words + 2)


@kernel
def raise_duals(s: Space) -> None:
    """Improve the root's duals, and with them all bounds of the frames.

    It is done again whenever the iterations have doubled, and may take half of all work, whatever
    comes of it. It is a kernel of its own, which most searches need not compile.
    """
    good = improve_duals(s, s.program.status[SEARCH])
    s.program.status[DUE] = INFINITE if good else 2 * s.memo.used[ITERATIONS]
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
        s.memo.node_lower[0, b] = max(s.memo.node_lower[0, b], root_bound(s))


@helper
def root_bound(s: Space) -> int:
    """Lower bound of the root by its duals."""
    total = ZERO
    for i in range(64 * s.stack.head[0, stack_frame.N_WORDS]):
        total += s.stack.duals[i]
    return int(np.int64(total) - s.params.split)
