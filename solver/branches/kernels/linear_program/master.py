"""The linear program of row duals for a pool of conjunctions (the master problem).

Maximise the sum of the duals ``y``, such that ``y(c) ≤ cost(c)`` for each conjunction ``c`` of the
pool, and ``0 ≤ y(i) ≤ error · weight(i)``. A first-order method moves ``y`` and a price ``x(c)`` of
each conjunction towards a saddle point (Chambolle and Pock 2011, with the step sizes of Pock and
Chambolle 2011). Only basic operations on floats, in a fixed order: the same everywhere. Sums over
rows are of 32 bits, as vectors add twice as many of these at a time: the duals become bounds only
after a search with whole numbers.
"""

from __future__ import annotations

import numpy as np

from solver.branches.kernels import stack_frame
from solver.branches.kernels.state import FOUND, SIZE, WORK, Space
from solver.kernels.constants import ONE, ZERO, Floats, Words
from solver.kernels.jit import helper, popcount, trailing_zeros
from solver.kernels.simd import add_marked, sum_marked, sum_set

_STEPS = 100
_TIGHT = 0.85, 0.9, 0.95, 1.0, 1.05  # load of a conjunction that stays in a full pool
_PACE = 0.25
_LOOSE = 0.05  # share of its cost that a conjunction's rows lack, from which on it rests
_REST = 7.0  # steps


@helper
def is_in_pool(s: Space, words: Words, n_words: int) -> bool:
    """Whether a conjunction is in the pool."""
    for c in range(s.program.status[SIZE]):
        w = 0
        while w < n_words and s.program.pool[c, w] == words[w]:
            w += 1
        if w == n_words:
            return True
    return False


@helper
def add_to_pool(s: Space, words: Words, n_words: int) -> None:
    """Add a conjunction to the pool, with its cost as a leaf."""
    at = s.program.status[SIZE]
    if at >= len(s.program.pool) or is_in_pool(s, words, n_words):
        return
    total, most, n_rows = 0, 0, 0
    for k in range(s.stack.head[0, stack_frame.N_CLASSES]):
        weight = ZERO
        for w in range(s.stack.segments[0, k], s.stack.segments[0, k + 1]):
            weight += sum_marked(s.duals.weight, 64 * w, words[w])
        total += int(np.int64(weight))
        most = max(most, int(np.int64(weight)))
    for w in range(n_words):
        s.program.pool[at, w] = words[w]
        n_rows += popcount(words[w])
    errors = float(total - most) * float(s.params.error)
    s.program.pool_cost[at] = 1.0 + errors / float(s.params.split)
    s.program.pool_rows[at] = n_rows
    s.program.pool_price[at] = 0.0
    s.program.status[SIZE] = at + 1


@helper
def shrink_pool(s: Space, n_words: int) -> None:
    """Make room in the pool for what a search may find: drop what has no price and is far from
    tight, and if need be what is nearer to it."""
    room = len(s.program.pool) - FOUND * s.stack.head[0, stack_frame.N_CLASSES]
    if s.program.status[SIZE] <= room:
        return
    load_pool(s, s.program.trial, n_words)
    for tight in _TIGHT:
        drop_loose(s, n_words, tight)
        if s.program.status[SIZE] <= room:
            return


@helper
def drop_loose(s: Space, n_words: int, tight: float) -> None:
    """Drop the conjunctions without a price whose rows have less than ``tight`` of their cost."""
    u, load, n = s.program, s.duals.load, 0
    for c in range(u.status[SIZE]):
        if u.pool_price[c] > 0.0 or load[c] >= tight:
            for w in range(n_words):
                u.pool[n, w] = u.pool[c, w]
            u.pool_cost[n], u.pool_price[n] = u.pool_cost[c], u.pool_price[c]
            u.pool_rows[n], load[n] = u.pool_rows[c], load[c]
            n += 1
    u.status[SIZE] = n


@helper
def sum_rows(numbers: Floats, words: Words, n_words: int) -> float:
    """Sum of the numbers at the positions of a set."""
    total = 0.0
    for w in range(n_words):
        word = words[w]
        while word != ZERO:
            total += numbers[64 * w + trailing_zeros(word)]
            word &= word - ONE
    return total


@helper
def add_price(s: Space, c: int, n_words: int) -> None:
    """Add the price of a conjunction to what its rows pay."""
    price = np.float32(s.program.pool_price[c])
    for w in range(n_words):
        add_marked(s.duals.paid, 64 * w, price, s.program.pool[c, w])


@helper
def load_pool(s: Space, duals: Floats, n_words: int) -> float:
    """How much of its cost the duals of each conjunction's rows have; the largest, at least 1."""
    largest = 1.0
    for c in range(s.program.status[SIZE]):
        s.duals.load[c] = sum_rows(duals, s.program.pool[c], n_words) / s.program.pool_cost[c]
        largest = max(largest, s.duals.load[c])
    return largest


@helper
def lower_to_pool(s: Space, duals: Floats, n_words: int) -> None:
    """Lower the duals until the rows of each conjunction have no more than its cost."""
    for c in range(s.program.status[SIZE]):
        load = sum_rows(duals, s.program.pool[c], n_words) / s.program.pool_cost[c]
        if load > 1.0:
            for w in range(n_words):
                word = s.program.pool[c, w]
                while word != ZERO:
                    duals[64 * w + trailing_zeros(word)] /= load
                    word &= word - ONE


@helper
def count_pool(s: Space, n_words: int) -> None:
    """Write to ``degree`` in how many conjunctions each row is."""
    for i in range(64 * n_words):
        s.duals.degree[i] = 0.0
    for c in range(s.program.status[SIZE]):
        for w in range(n_words):
            word = s.program.pool[c, w]
            while word != ZERO:
                s.duals.degree[64 * w + trailing_zeros(word)] += 1.0
                word &= word - ONE


@helper
def pay_rows(s: Space, n_words: int) -> None:
    """Write to ``paid`` the sum of the prices of the conjunctions of each row."""
    for i in range(64 * n_words):
        s.duals.paid[i] = np.float32(0.0)
    for c in range(s.program.status[SIZE]):
        if s.program.pool_price[c] > 0.0:
            add_price(s, c, n_words)


@helper
def step_duals(s: Space, n_words: int, pace: float) -> None:
    """Raise the duals of rows that pay less than 1, and lower the others; and add them to the
    mean. ``ahead`` is as far beyond the new duals as they are beyond the old ones."""
    for i in range(64 * n_words):
        if s.duals.degree[i] > 0.0:
            before = s.program.trial[i]
            dual = before + (1.0 - s.duals.paid[i]) / (pace * s.duals.degree[i])
            dual = min(max(dual, 0.0), s.duals.most[i])
            s.program.trial[i] = dual
            s.duals.ahead[i] = np.float32(2.0 * dual - before)
            s.duals.best[i] += dual / float(_STEPS)


@helper
def step_prices(s: Space, n_words: int, pace: float) -> int:
    """Raise the prices of conjunctions whose rows have more than their cost, and lower the others.

    ``load`` counts the steps for which a conjunction rests: one without a price whose rows lack
    much of its cost. The number of those that do not.
    """
    u, load, n = s.program, s.duals.load, 0
    for i in range(64 * n_words):
        s.duals.paid[i] = np.float32(0.0)
    for c in range(u.status[SIZE]):
        if load[c] > 0.0:
            load[c] -= 1.0
            continue
        n += 1
        excess = float(sum_set(s.duals.ahead, u.pool[c], n_words)) - u.pool_cost[c]
        u.pool_price[c] = max(0.0, u.pool_price[c] + pace * excess / float(u.pool_rows[c]))
        if u.pool_price[c] > 0.0:
            add_price(s, c, n_words)
        elif excess < -_LOOSE * u.pool_cost[c]:
            load[c] = _REST
    return n


@helper
def solve_pool(s: Space, n_words: int, cost: float) -> float:
    """Improve the trial duals for the pool's constraints alone.

    Their mean over all steps, scaled so that the pool's constraints hold, is in ``best``. Returns
    an upper bound on the sum of all duals that the pool allows: by prices ``x``, conjunctions may
    hold ``Σ x(c) · cost(c)``, and a row that pays less than 1 the rest of its weight. ``cost`` is
    that of a tree, in splits.
    """
    n_rows, worked = float(s.stack.head[0, stack_frame.N_ROWS]), 0
    pace = _PACE * (n_rows / cost) ** 0.5
    count_pool(s, n_words)
    pay_rows(s, n_words)
    for i in range(64 * n_words):
        s.duals.best[i] = 0.0
    for c in range(s.program.status[SIZE]):
        s.duals.load[c] = 0.0
    for _ in range(_STEPS):
        step_duals(s, n_words, pace)
        worked += step_prices(s, n_words, pace)
    s.program.status[WORK] += n_words * (worked // 2 + 12 * _STEPS)
    return scale_to_pool(s, n_words)


@helper
def scale_to_pool(s: Space, n_words: int) -> float:
    """The end of :func:`solve_pool`."""
    largest, upper = load_pool(s, s.duals.best, n_words), 0.0
    for i in range(64 * n_words):
        s.duals.best[i] /= largest
        if s.duals.degree[i] > 0.0:
            upper += s.duals.most[i] * max(0.0, 1.0 - s.duals.paid[i])
    for c in range(s.program.status[SIZE]):
        upper += s.program.pool_price[c] * s.program.pool_cost[c]
    return upper
