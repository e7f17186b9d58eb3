"""Reading the best known tree out of the memo."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from solver.branches.kernels.bounds import convolve_budgets
from solver.branches.kernels.memo import look_for
from solver.branches.kernels.small_trees import best_small
from solver.branches.kernels.state import SMALL, Params, Space
from solver.kernels.constants import Ints
from solver.kernels.jit import helper, kernel
from solver.kernels.packed_rows import Table
from solver.kernels.pass_by_reference import by_reference
from solver.objective.exact_objective import INFINITE


@by_reference
class Reading(NamedTuple):
    """Room to read a tree. ``features``, (parts,), gets the splits in preorder, −1 for a leaf."""

    rows: Ints  # (rows,) those of a part lie together
    spare: Ints  # (rows,)
    codes: Ints  # (rows,) of the feature that divides a part
    ends: Ints  # (max arity + 1,) of the rows of each code
    parts: Ints  # (columns + 2, PART) still to be read
    curves: Ints  # (max arity, budgets) costs of the children of a split, the last child first
    features: Ints


BEGIN, END, DEPTH, VALUE, NODE, BUDGET, LEAF, PART = range(8)
"""Of a part: its rows; its depth; the value that leads to it; its node, −1 if it is not known or
not needed; the splits that it may have; and its cost as a leaf."""


def new_reading(table: Table, params: Params, size: int) -> Reading:
    """Room for a tree of ``size`` splits and leaves."""
    n_rows, columns, ints = len(table.labels), int(table.columns[-1]), np.int64
    return Reading(
        rows=np.arange(n_rows, dtype=ints),
        spare=np.zeros(n_rows, ints),
        codes=np.zeros(n_rows, ints),
        ends=np.zeros(params.max_arity + 1, ints),
        parts=np.zeros((columns + 2, PART), ints),
        curves=np.zeros((params.max_arity, params.budgets), ints),
        features=np.zeros(size, ints),
    )


@helper
def code_of(table: Table, row: int, feature: int) -> int:
    """The code of a row."""
    first = table.columns[feature]
    for column in range(first, table.columns[feature + 1]):
        if (table.bits[row, column >> 6] >> np.uint64(column & 63)) & np.uint64(1):
            return int(column - first + 1)
    return 0


@helper
def divide(s: Space, r: Reading, top: int, feature: int) -> None:
    """Sort the rows of the part at ``top`` by their codes; put its children there, the last one
    first, with their rows and their costs as leaves."""
    begin, end = r.parts[top, BEGIN], r.parts[top, END]
    arity = s.table.values[feature + 1] - s.table.values[feature]
    for code in range(arity + 1):
        r.ends[code] = 0
    for i in range(begin, end):
        r.codes[i] = code_of(s.table, r.rows[i], feature)
        r.ends[r.codes[i] + 1] += 1
    r.ends[0] = begin
    for code in range(arity):
        r.ends[code + 1] += r.ends[code]
    for i in range(begin, end):  # afterwards each code has the end of its rows
        r.spare[r.ends[r.codes[i]]] = r.rows[i]
        r.ends[r.codes[i]] += 1
    for code in range(arity):
        part, total, most = top + arity - 1 - code, 0, 0
        r.parts[part, BEGIN] = begin if code == 0 else r.ends[code - 1]
        r.parts[part, END] = r.ends[code]
        for k in range(len(s.scratch.counts)):
            s.scratch.counts[k] = 0
        for i in range(r.parts[part, BEGIN], r.parts[part, END]):
            row = r.spare[i]
            r.rows[i] = row
            total += s.table.weights[row]
            s.scratch.counts[s.table.labels[row]] += s.table.weights[row]
        for k in range(len(s.scratch.counts)):
            most = max(most, s.scratch.counts[k])
        r.parts[part, LEAF] = (total - most) * s.params.error


@helper
def draw_curve(s: Space, r: Reading, part: int, c: int) -> None:
    """The cost of a child with 0, 1, … splits allowed; its rows are in ``scratch.rows``."""
    node = r.parts[part, NODE]
    for b in range(s.params.budgets):
        r.curves[c, b] = r.parts[part, LEAF]
    if r.parts[part, LEAF] <= s.params.split:
        return
    if node >= 0:
        for b in range(s.params.budgets):
            r.curves[c, b] = s.memo.node_upper[node, b]
        return
    n, depth = r.parts[part, END] - r.parts[part, BEGIN], r.parts[part, DEPTH]
    cost = best_small(s, n, depth, 1)[1]
    for b in range(1, s.params.budgets):
        r.curves[c, b] = cost


@helper
def add_children(s: Space, r: Reading, top: int, feature: int) -> int:
    """Replace the part at ``top`` by the children of its split; their number."""
    depth, left = r.parts[top, DEPTH], r.parts[top, BUDGET] - 1
    first, arity = s.table.values[feature], s.table.values[feature + 1] - s.table.values[feature]
    divide(s, r, top, feature)
    for c in range(arity):
        part, value = top + c, first + arity - 1 - c
        r.parts[part, DEPTH], r.parts[part, VALUE] = depth + 1, value
        r.parts[part, NODE], r.parts[part, BUDGET] = -1, 0
        if r.parts[part, LEAF] > s.params.split:
            n = r.parts[part, END] - r.parts[part, BEGIN]
            for i in range(n):
                s.scratch.rows[i] = r.rows[r.parts[part, BEGIN] + i]
            s.scratch.literals[depth] = value
            r.parts[part, NODE] = look_for(s, n, depth + 1)
        if s.params.budgets > 1:
            draw_curve(s, r, part, c)
    if s.params.budgets == 1:
        return int(arity)
    # At ties the earlier children get fewer splits.
    convolve_budgets(s.params.budgets, s.scratch.sums, r.curves, 0, arity)
    for c in range(arity - 1, -1, -1):
        for share in range(left + 1):
            if s.scratch.sums[c + 1, left] == s.scratch.sums[c, left - share] + r.curves[c, share]:
                r.parts[top + c, BUDGET] = share
                left -= share
                break
    return int(arity)


@kernel
def read_tree(s: Space, r: Reading) -> tuple[int, int]:
    """Length of the best known tree in ``features``, −1 if it does not fit there; and its cost.

    It may cost less than the root is known to cost: a branch may have a better tree from a path
    that does not pass all its parents.
    """
    top, n, cost = 0, 0, 0
    r.parts[0, BEGIN], r.parts[0, END], r.parts[0, DEPTH] = 0, len(r.rows), 0
    r.parts[0, NODE], r.parts[0, BUDGET], r.parts[0, LEAF] = 0, s.params.budgets - 1, INFINITE
    while top >= 0:
        if n == len(r.features):
            return -1, cost
        depth, node, budget = r.parts[top, DEPTH], r.parts[top, NODE], r.parts[top, BUDGET]
        if depth > 0:
            s.scratch.literals[depth - 1] = r.parts[top, VALUE]
        feature, leaf = SMALL, r.parts[top, LEAF]
        if node >= 0:
            feature = s.memo.node_best[node, budget]
        if feature == SMALL and leaf > s.params.split:
            begin, end = r.parts[top, BEGIN], r.parts[top, END]
            for i in range(begin, end):
                s.scratch.rows[i - begin] = r.rows[i]
            feature, leaf = best_small(s, end - begin, depth, budget)
        r.features[n] = feature
        n += 1
        if feature < 0:
            cost += leaf
            top -= 1
        else:
            cost += s.params.split
            top += add_children(s, r, top, feature) - 1
    return n, cost
