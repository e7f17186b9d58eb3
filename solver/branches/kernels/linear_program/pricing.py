"""Conjunctions whose rows' duals exceed what they cost as a leaf (the pricing problem).

A row of the leaf's class adds its dual to the *gain* of a conjunction, any other row its dual less
its cost as an error. Duals are valid if no conjunction gains more than a split costs. A beam search
finds most conjunctions that gain too much; only a search through all of them proves that there are
none.
"""

from __future__ import annotations

import numpy as np

from solver.branches.kernels.linear_program.best_conjunctions import keep_found
from solver.branches.kernels.state import BEAM, WORK, WORST, Space
from solver.kernels.jit import helper
from solver.kernels.simd import sum_set

_LONGEST = 6  # literals of a conjunction that the beam search finds


@helper
def keep_in_beam(s: Space, at: int, n: int, value: int, n_words: int) -> int:
    """Keep ``rows`` among the ``BEAM`` sets of largest value from ``at`` on; their number."""
    u, least = s.duals, 0
    for i in range(n):
        if u.beam_value[at + i] == value:
            same = True
            for w in range(n_words):
                same &= u.beam[at + i, w] == u.rows[w]
            if same:
                return n
        if u.beam_value[at + i] < u.beam_value[at + least]:
            least = i
    if n < BEAM:
        least = n
    elif u.beam_value[at + least] >= value:
        return n
    u.beam_value[at + least] = value
    for w in range(n_words):
        u.beam[at + least, w] = u.rows[w]
    return min(n + 1, BEAM)


@helper
def beam_search(s: Space, n_literals: int, n_words: int) -> None:
    """Find conjunctions whose rows gain more than ``WORST``, ``FOUND`` at most; maybe not all."""
    u, front, size = s.duals, 0, 1
    for w in range(n_words):
        u.beam[0, w] = s.stack.words[w]
    for _ in range(_LONGEST):
        n, back = 0, BEAM - front
        for b in range(front, front + size):
            for literal in range(n_literals):
                same = True
                for w in range(n_words):
                    u.rows[w] = u.beam[b, w] & u.literal[literal, w]
                    same &= u.rows[w] == u.beam[b, w]
                if not same:
                    value = int(np.int64(sum_set(u.gain, u.rows, n_words)))
                    n = keep_in_beam(s, back, n, value, n_words)
        s.program.status[WORK] += size * n_literals * n_words
        for b in range(back, back + n):
            if u.beam_value[b] > s.program.status[WORST]:
                keep_found(s, u.beam[b], u.beam_value[b], n_words)
        front, size = back, n
