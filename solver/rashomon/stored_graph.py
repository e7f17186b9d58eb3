"""The graph of a Rashomon set without the search that built it, to be stored and read again."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from solver.errors import InputError
from solver.kernels.constants import ZERO, Ints
from solver.kernels.jit import ensure_compiled, helper, kernel
from solver.problem.problem import Problem
from solver.rashomon.kernels.expand_graph import CHILDREN, EDGES, EXPANDED_NODES, Graph, make_graph
from solver.rashomon.kernels.memo import describe
from solver.rashomon.kernels.state import NO_LIMIT, NODES, Space, make_memo, make_space


class StoredGraph(NamedTuple):
    """Subproblems, parents before their children, and the splits of their good trees.

    Parameters
    ----------
    ends : (nodes,)
        Where the splits of each subproblem end; they begin where those of the one before end.
    feature : (splits,)
    children : (sum of the features' arities,)
        For each split in turn a subproblem for each code; −1 where no point has the code.
    """

    ends: Ints
    feature: Ints
    children: Ints


def stored_graph(graph: Graph) -> StoredGraph:
    """What the search found, its subproblems in the order of the graph."""
    n_nodes = int(graph.used[EXPANDED_NODES])
    order, children = graph.order[:n_nodes], graph.children[: graph.used[CHILDREN]]
    place = np.full(int(order.max()) + 1, -1, np.int64)
    place[order] = np.arange(n_nodes)
    return StoredGraph(
        ends=graph.ends[:n_nodes].copy(),
        feature=graph.feature[: graph.used[EDGES]].copy(),
        children=np.where(children < 0, -1, place[children]),
    )


def restored(
    problem: Problem,
    error: int,
    split: int,
    budget: int,
    stored: StoredGraph,
    most_splits: int | None = None,
) -> tuple[Space, Graph]:
    """The graph, and a space with all that is known of its subproblems.

    Parameters
    ----------
    problem : Problem
    error, split : int
        The prices, see :class:`solver.rashomon.build_graph.Prices`.
    budget : int
        The most that a good tree costs.
    stored : StoredGraph
    most_splits : int, optional
        The most splits of a good tree.

    Raises
    ------
    InputError
        If it is no graph of this problem.
    """
    _check(problem, stored)
    n_nodes, width = len(stored.ends), -(-len(problem.codes) // 64)
    space = make_space(problem, error, split, 1, 1)._replace(memo=make_memo(n_nodes, width))
    if most_splits is not None:
        space = space._replace(most_splits=min(space.most_splits, most_splits))
    space.used[NODES] = n_nodes
    everything = np.full(64 * width, False)
    everything[: len(problem.codes)] = True
    space.memo.sets[0] = np.packbits(everything, bitorder="little").view(np.uint64)
    arities = problem.arities[stored.feature]
    graph = make_graph(n_nodes, len(problem.codes), 1)._replace(
        order=np.arange(n_nodes),
        ends=stored.ends,
        feature=stored.feature,
        first_child=np.cumsum(arities) - arities,
        children=stored.children,
    )
    graph.used[EXPANDED_NODES], graph.used[EDGES] = n_nodes, len(stored.feature)
    graph.used[CHILDREN] = len(stored.children)
    ensure_compiled(retrace, space, graph, 0)
    if not retrace(space, graph, budget):
        raise InputError("it is no graph of good trees of this problem")
    return space, graph


def _check(problem: Problem, stored: StoredGraph) -> None:
    """Refuse what would lead a kernel astray."""
    ends, feature, children = stored
    is_sound = (
        len(ends) > 0
        and bool((np.diff(ends, prepend=0) >= 0).all())
        and ends[-1] == len(feature)
        and bool(((feature >= 0) & (feature < problem.n_features)).all())
        and problem.arities[feature].sum() == len(children)
    )
    if is_sound:
        splits = np.diff(ends, prepend=0)
        parents = np.repeat(np.repeat(np.arange(len(ends)), splits), problem.arities[feature])
        known = (children > parents) & (children < len(ends))
        is_sound = bool((known | (children == -1)).all())
    if not is_sound:
        raise InputError("it is no graph of good trees of this problem")


@helper
def first_edge(g: Graph, node: int) -> int:
    """The first split of a subproblem."""
    return g.ends[node - 1] if node > 0 else 0


@helper
def cost_of_edge(s: Space, g: Graph, edge: int) -> int:
    """The least cost of a tree with a split."""
    total, feature = s.split, g.feature[edge]
    for code in range(s.points.first[feature + 1] - s.points.first[feature]):
        child = g.children[g.first_child[edge] + code]
        if child >= 0:
            total += s.memo.lower[child]
    return total


@helper
def follow(s: Space, g: Graph, node: int, edge: int) -> bool:
    """Give the children of a split their points; False if they are there with others."""
    first, feature = s.points.first[g.feature[edge]], g.feature[edge]
    for code in range(s.points.first[feature + 1] - first):
        child, is_empty = g.children[g.first_child[edge] + code], True
        for w in range(s.memo.sets.shape[1]):
            word = s.memo.sets[node, w] & s.points.masks[first + code, w]
            is_empty &= word == ZERO
            if child >= 0 and g.budget[child] < 0:
                s.memo.sets[child, w] = word
            elif child >= 0 and s.memo.sets[child, w] != word:
                return False
        if is_empty != (child < 0):
            return False
        if child >= 0:
            g.budget[child] = 0
    return True


@kernel
def retrace(s: Space, g: Graph, budget: int) -> bool:
    """Follow the points from the root, the least costs back to it, and the budgets from it again.

    False if a child does not have the points of its split, or no tree is within a budget. Budgets
    are −1 before.
    """
    n_nodes = g.used[EXPANDED_NODES]
    g.budget[0] = budget
    for node in range(n_nodes):
        if g.budget[node] < 0:  # no split leads there
            return False
        describe(s, node, NO_LIMIT)
        for edge in range(first_edge(g, node), g.ends[node]):
            if not follow(s, g, node, edge):
                return False
    for node in range(n_nodes - 1, -1, -1):
        s.memo.lower[node] = s.memo.leaf[node]
        for edge in range(first_edge(g, node), g.ends[node]):
            s.memo.lower[node] = min(s.memo.lower[node], cost_of_edge(s, g, edge))
    for node in range(n_nodes):
        if s.memo.lower[node] > g.budget[node]:
            return False
        for edge in range(first_edge(g, node), g.ends[node]):
            spare, feature = g.budget[node] - cost_of_edge(s, g, edge), g.feature[edge]
            for code in range(s.points.first[feature + 1] - s.points.first[feature]):
                child = g.children[g.first_child[edge] + code]
                if child >= 0:
                    g.budget[child] = max(g.budget[child], spare + s.memo.lower[child])
    return True
