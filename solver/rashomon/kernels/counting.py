"""Count the trees of a Rashomon set, by errors and splits, without making one of them.

A cell of a subproblem is a cost, a number of splits, and how many of its trees within its budget
have both. Cells of a split are products of the cells of its children. Numbers of trees are beyond
64 bits soon: they are counted modulo 2^64, and modulo as many primes as an estimate asks for.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from solver.kernels.constants import FULL, PROVEN, RUNNING, ZERO, Floats, Ints, Words
from solver.kernels.jit import helper, kernel
from solver.kernels.pass_by_reference import by_reference
from solver.rashomon.kernels.expand_graph import EXPANDED_NODES, Graph
from solver.rashomon.kernels.state import Space

LEFT, CELLS, WANTED = range(3)
"""Places of ``Cells.used``: nodes to count, cells, and the entries of a grid that is too small."""


@by_reference
class Cells(NamedTuple):
    """The cells of all nodes of a graph; those of a node lie together, the cheapest first.

    Parameters
    ----------
    first, end : (room of the memo,)
    cost, splits : (cells,)
    number : (cells,)
        Trees, modulo 2^64 or a prime.
    estimate : (cells,)
        The same as a float, which is never 0.
    joint_first, joint_end : (edges,)
        The cells of all children of a split but the last, together.
    grid_number, grid_estimate : (entries,)
        Scratch: the trees of a node by splits and errors.
    allowed : (features,)
        How many features of the table a feature stands for; 0 if it must not be used.
    used : (3,)
    """

    first: Ints
    end: Ints
    cost: Ints
    splits: Ints
    number: Words
    estimate: Floats
    joint_first: Ints
    joint_end: Ints
    grid_number: Words
    grid_estimate: Floats
    allowed: Ints
    used: Ints


def make_cells(graph: Graph, cells: int, grid: int, allowed: Ints) -> Cells:
    """Cells of a graph, none of which is counted."""
    nodes, edges = len(graph.budget), len(graph.feature)
    used = np.zeros(3, np.int64)
    used[LEFT] = graph.used[EXPANDED_NODES]
    return Cells(
        first=np.zeros(nodes, np.int64),
        end=np.zeros(nodes, np.int64),
        cost=np.zeros(cells, np.int64),
        splits=np.zeros(cells, np.int64),
        number=np.zeros(cells, np.uint64),
        estimate=np.zeros(cells),
        joint_first=np.zeros(edges, np.int64),
        joint_end=np.zeros(edges, np.int64),
        grid_number=np.zeros(grid, np.uint64),
        grid_estimate=np.zeros(grid),
        allowed=allowed,
        used=used,
    )


@helper
def least_errors(s: Space, lowest: int, unavoidable: int, splits: int) -> int:
    """The least weight in error of a tree of N splits that costs ``lowest`` or more."""
    return max(unavoidable, -((splits * s.split - lowest) // s.error))


@helper
def clear_grid(s: Space, c: Cells, lowest: int, highest: int, most_splits: int) -> int:
    """Clear a grid for costs from ``lowest`` to ``highest``; return the width of a row of equal
    splits, or −1 if the grid is too small."""
    width = (highest - lowest) // s.error + 1
    entries = width * (most_splits + 1)
    if entries > len(c.grid_number):
        c.used[WANTED] = entries
        return -1
    for i in range(entries):
        c.grid_number[i] = ZERO
        c.grid_estimate[i] = 0.0
    return width


@helper
def times(a: np.uint64, b: np.uint64, modulus: np.uint64) -> np.uint64:
    """The product modulo a prime below 2^32, or modulo 2^64 if ``modulus`` is 0."""
    return a * b if modulus == ZERO else a * b % modulus


@helper
def put(
    s: Space, c: Cells, width: int, lowest: int, unavoidable: int, cost: int, splits: int,
    number: np.uint64, estimate: float, modulus: np.uint64,
) -> None:  # fmt: skip
    """Add trees to the grid."""
    errors = (cost - splits * s.split) // s.error
    at = splits * width + errors - least_errors(s, lowest, unavoidable, splits)
    total = c.grid_number[at] + number
    c.grid_number[at] = total if modulus == ZERO else total % modulus
    c.grid_estimate[at] += estimate


@helper
def gather(s: Space, c: Cells, width: int, lowest: int, unavoidable: int, most_splits: int) -> bool:
    """Add the grid's cells to the others, the cheapest first; False if there is no room."""
    cost, splits, number, estimate = c.cost, c.splits, c.number, c.estimate
    first = end = c.used[CELLS]
    for k in range(most_splits + 1):
        least = least_errors(s, lowest, unavoidable, k)
        for i in range(width):
            at = k * width + i
            if c.grid_estimate[at] > 0.0:
                if end >= len(cost):
                    c.used[WANTED] = 0
                    return False
                cost[end] = (least + i) * s.error + k * s.split
                splits[end] = k
                number[end] = c.grid_number[at]
                estimate[end] = c.grid_estimate[at]
                end += 1
    gap = 1
    while gap < (end - first) // 3:
        gap = 3 * gap + 1
    while gap > 0:  # shell sort by cost, then splits
        for i in range(first + gap, end):
            a, b, d, e = cost[i], splits[i], number[i], estimate[i]
            j = i
            while j >= first + gap and (
                cost[j - gap] > a or (cost[j - gap] == a and splits[j - gap] > b)
            ):
                cost[j], splits[j] = cost[j - gap], splits[j - gap]
                number[j], estimate[j] = number[j - gap], estimate[j - gap]
                j -= gap
            cost[j], splits[j], number[j], estimate[j] = a, b, d, e
        gap //= 3
    c.used[CELLS] = end
    return True


@helper
def multiply(
    s: Space, c: Cells, width: int, lowest: int, unavoidable: int, highest: int, most_splits: int,
    first: int, end: int, child: int, more_cost: int, more_splits: int, factor: int,
    modulus: np.uint64,
) -> None:  # fmt: skip
    """Add the products of some cells and those of a child to the grid, up to the cost ``highest``
    and ``most_splits``."""
    begin, stop = c.first[child], c.end[child]
    for i in range(first, end):
        cost, splits = more_cost + c.cost[i], more_splits + c.splits[i]
        if begin == stop or cost + c.cost[begin] > highest:
            break
        number = times(np.uint64(factor), c.number[i], modulus)
        estimate = factor * c.estimate[i]
        for j in range(begin, stop):
            if cost + c.cost[j] > highest:
                break
            if splits + c.splits[j] > most_splits:
                continue
            put(
                s, c, width, lowest, unavoidable, cost + c.cost[j], splits + c.splits[j],
                times(number, c.number[j], modulus), estimate * c.estimate[j], modulus,
            )  # fmt: skip


@helper
def most_splits_of(s: Space, points: int, highest: int, unavoidable: int) -> int:
    """Splits that no tree exceeds which costs ``highest`` or less and is counted."""
    most = min(points - 1, s.most_splits)
    if s.split > 0:
        most = min(most, (highest - s.error * unavoidable) // s.split)
    return max(0, most)


@helper
def last_child(s: Space, g: Graph, edge: int) -> int:
    """The last child of a split that has points."""
    feature, last = g.feature[edge], -1
    for code in range(s.points.first[feature + 1] - s.points.first[feature]):
        child = g.children[g.first_child[edge] + code]
        last = child if child >= 0 else last
    return last


@helper
def join_children(
    s: Space, g: Graph, c: Cells, edge: int, highest: int, modulus: np.uint64
) -> bool:
    """Make the cells of all children of a split but the last; False if there is no room.

    ``highest`` is the most that the split may cost.
    """
    feature, last = g.feature[edge], last_child(s, g, edge)
    arity = s.points.first[feature + 1] - s.points.first[feature]
    spare = highest - s.split
    for code in range(arity):
        child = g.children[g.first_child[edge] + code]
        if child >= 0:
            spare -= s.memo.lower[child]
    lowest, unavoidable, joined = 0, 0, 0
    for code in range(arity):
        child = g.children[g.first_child[edge] + code]
        if child < 0 or child == last:
            continue
        lowest += s.memo.lower[child]
        unavoidable += s.memo.unavoidable[child]
        joined += 1
        if joined == 1:
            c.joint_first[edge], c.joint_end[edge] = c.first[child], c.end[child]
            continue
        most = most_splits_of(s, len(g.heads) - 1, lowest + spare, unavoidable)
        width = clear_grid(s, c, lowest, lowest + spare, most)
        if width < 0:
            return False
        multiply(
            s, c, width, lowest, unavoidable, lowest + spare, most, c.joint_first[edge],
            c.joint_end[edge], child, 0, 0, 1, modulus,
        )  # fmt: skip
        c.joint_first[edge] = c.used[CELLS]
        if not gather(s, c, width, lowest, unavoidable, most):
            return False
        c.joint_end[edge] = c.used[CELLS]
    return True


@helper
def count_node(s: Space, g: Graph, c: Cells, position: int, modulus: np.uint64) -> bool:
    """Count the trees of the node at a position of the order; False if there is no room."""
    node = g.order[position]
    lowest, highest = s.memo.lower[node], g.budget[node]
    unavoidable = s.memo.unavoidable[node]
    start = c.used[CELLS]
    first_edge = g.ends[position - 1] if position > 0 else 0
    for edge in range(first_edge, g.ends[position]):
        if c.allowed[g.feature[edge]] and not join_children(s, g, c, edge, highest, modulus):
            return False
    most = most_splits_of(s, len(g.heads) - 1, highest, unavoidable)
    width = clear_grid(s, c, lowest, highest, most)
    if width < 0:
        return False
    if s.memo.leaf[node] <= highest:
        put(s, c, width, lowest, unavoidable, s.memo.leaf[node], 0, np.uint64(1), 1.0, modulus)
    for edge in range(first_edge, g.ends[position]):
        factor = c.allowed[g.feature[edge]]
        if factor:
            multiply(
                s, c, width, lowest, unavoidable, highest, most, c.joint_first[edge],
                c.joint_end[edge], last_child(s, g, edge), s.split, 1, factor, modulus,
            )  # fmt: skip
    c.first[node] = c.used[CELLS]
    if not gather(s, c, width, lowest, unavoidable, most):
        return False
    # The cells of joined children are not needed any more.
    shift = c.first[node] - start
    if shift:
        for i in range(c.first[node], c.used[CELLS]):
            c.cost[i - shift], c.splits[i - shift] = c.cost[i], c.splits[i]
            c.number[i - shift], c.estimate[i - shift] = c.number[i], c.estimate[i]
        c.first[node] = start
        c.used[CELLS] -= shift
    c.end[node] = c.used[CELLS]
    return True


@kernel
def count_trees(s: Space, g: Graph, c: Cells, modulus: np.uint64, nodes: int) -> int:
    """Count the trees of the next N nodes, children first: RUNNING, or PROVEN if none is left.

    FULL where there is no room for the cells, or for the grid, which then wants ``used[WANTED]``
    entries.
    """
    while c.used[LEFT] > 0:
        if nodes == 0:
            return RUNNING
        start = c.used[CELLS]
        if not count_node(s, g, c, c.used[LEFT] - 1, modulus):
            c.used[CELLS] = start
            return FULL
        c.used[LEFT] -= 1
        nodes -= 1
    return PROVEN
