"""The graph of a Rashomon set: subproblems, and the splits of good trees between them.

Subproblems are expanded from the largest to the smallest. A child is smaller than its parent, so
its budget, the most that one of its trees may cost in any good tree, is known when its turn comes,
and each is expanded once. A split belongs to the graph if its cheapest tree is within the budget.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from solver.kernels.constants import FULL, PROVEN, Ints
from solver.kernels.jit import helper, kernel, popcount
from solver.kernels.pass_by_reference import by_reference
from solver.rashomon.kernels.candidate_splits import (
    cheapest_open,
    cost_of_split,
    enter_children,
    rank_features,
)
from solver.rashomon.kernels.memo import describe
from solver.rashomon.kernels.state import NODES, Space
from solver.rashomon.kernels.subproblem_minimum import find_minimum

EXPANDED_NODES, EDGES, CHILDREN, SIZE = range(4)
"""Places of ``Graph.used``; SIZE is that of the largest subproblem that may wait."""


@by_reference
class Graph(NamedTuple):
    """The splits of good trees.

    Parameters
    ----------
    budget : (room of the memo,)
        The most that a tree of a subproblem may cost; −1 if it is not in the graph.
    following : (room of the memo,)
        The next subproblem of the same size that waits.
    heads : (points + 1,)
        The first one of each size; −1 if none waits.
    order : (room of the memo,)
        The subproblems of the graph, parents before their children.
    ends : (room of the memo,)
        Where the edges of each of these end; they begin where those of the one before end.
    feature : (edges,)
    first_child : (edges,)
        The place of an edge's first child in ``children``; one follows for each code.
    children : (children,)
        Subproblems; −1 where no point has the code.
    used : (4,)
    """

    budget: Ints
    following: Ints
    heads: Ints
    order: Ints
    ends: Ints
    feature: Ints
    first_child: Ints
    children: Ints
    used: Ints


def make_graph(room: int, n_points: int, arity: int) -> Graph:
    """A graph without nodes, for a memo with so much room."""
    return Graph(
        budget=np.full(room, -1, np.int64),
        following=np.zeros(room, np.int64),
        heads=np.full(n_points + 1, -1, np.int64),
        order=np.zeros(room, np.int64),
        ends=np.zeros(room, np.int64),
        feature=np.zeros(room, np.int64),
        first_child=np.zeros(room, np.int64),
        children=np.zeros(room * arity, np.int64),
        used=np.zeros(4, np.int64),
    )


@helper
def request(s: Space, g: Graph, node: int, budget: int) -> None:
    """Raise the budget of a subproblem; it waits from its first request on."""
    if g.budget[node] < 0:
        size = 0
        for w in range(s.memo.sets.shape[1]):
            size += popcount(s.memo.sets[node, w])
        g.following[node] = g.heads[size]
        g.heads[size] = node
    g.budget[node] = max(g.budget[node], budget)


@kernel
def enter_root(s: Space, g: Graph, left: int, budget: int) -> int:
    """Put all points, whose set is there, into the memo and the graph; return its number."""
    s.used[NODES] = 1
    describe(s, 0, left)
    g.budget[0] = -1
    request(s, g, 0, budget)
    g.used[SIZE] = len(g.heads) - 1
    return 0


@helper
def add_edge(s: Space, g: Graph, feature: int, budget: int, total: int) -> bool:
    """Add the split in frame 0, whose cheapest tree costs ``total``; False if there is no room."""
    arity = s.points.first[feature + 1] - s.points.first[feature]
    edge, first = g.used[EDGES], g.used[CHILDREN]
    if edge >= len(g.feature) or first + arity > len(g.children):
        return False
    g.feature[edge] = feature
    g.first_child[edge] = first
    for code in range(arity):
        child = s.frames.children[0, code]
        g.children[first + code] = child
        if child >= 0:
            request(s, g, child, budget - total + s.memo.lower[child])
    g.used[EDGES] = edge + 1
    g.used[CHILDREN] = first + arity
    return True


@helper
def expand_node(s: Space, g: Graph, node: int) -> int:
    """Add all splits of a subproblem that some good tree has."""
    budget = g.budget[node]
    rank_features(s, 0, node, budget)
    for place in range(s.frames.ranked[0]):
        feature = s.frames.order[0, place]
        if not enter_children(s, 0, node, feature):
            return FULL
        total = cost_of_split(s, 0, feature)
        child = cheapest_open(s, 0, feature)
        while total <= budget and child >= 0:
            status = find_minimum(s, child, budget - total + s.memo.lower[child], 1)
            if status != PROVEN:
                return status
            total = cost_of_split(s, 0, feature)
            child = cheapest_open(s, 0, feature)
        if total <= budget and not add_edge(s, g, feature, budget, total):
            return FULL
    return PROVEN


@kernel
def expand_graph(s: Space, g: Graph) -> int:
    """Expand subproblems until none waits: PROVEN. RUNNING and FULL as in the search of minima; the
    subproblem in hand is then expanded anew."""
    while g.used[SIZE] > 0:
        node = g.heads[g.used[SIZE]]
        if node < 0:
            g.used[SIZE] -= 1
            continue
        edges, children = g.used[EDGES], g.used[CHILDREN]
        status = expand_node(s, g, node)
        if status != PROVEN:
            g.used[EDGES] = edges
            g.used[CHILDREN] = children
            return status
        g.heads[g.used[SIZE]] = g.following[node]
        g.order[g.used[EXPANDED_NODES]] = node
        g.ends[g.used[EXPANDED_NODES]] = g.used[EDGES]
        g.used[EXPANDED_NODES] += 1
    return PROVEN
