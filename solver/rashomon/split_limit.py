"""The part of a graph that holds its trees of few splits."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from solver.kernels.constants import Ints
from solver.kernels.jit import ensure_compiled, helper, kernel
from solver.kernels.pass_by_reference import by_reference
from solver.objective.exact_objective import INFINITE
from solver.rashomon.stored_graph import StoredGraph

_SLICE = 256


@by_reference
class Sizes(NamedTuple):
    """The least weight in error of the trees of a graph, by their splits.

    Parameters
    ----------
    ends, feature, children
        As :class:`solver.rashomon.stored_graph.StoredGraph` has them.
    first_child : (splits + 1,)
        The place of each split's first child in ``children``, and the end.
    inside : (nodes, most splits + 1)
        Of the trees of a subproblem.
    outside : (nodes, most splits + 1)
        Of what good trees have outside of a subproblem.
    joint, scratch : (most splits + 1,)
        Of some children together.
    kept : (splits,)
        Whether some tree with a split is good.
    """

    ends: Ints
    feature: Ints
    children: Ints
    first_child: Ints
    inside: Ints
    outside: Ints
    joint: Ints
    scratch: Ints
    kept: Ints


@helper
def join(z: Sizes, edge: int, but: int) -> None:
    """Put the trees of all children of a split but one together into ``joint``."""
    most = len(z.joint)
    for k in range(most):
        z.joint[k] = 0 if k == 0 else INFINITE
    for at in range(z.first_child[edge], z.first_child[edge + 1]):
        child = z.children[at]
        if child < 0 or at == but:
            continue
        for k in range(most):
            z.scratch[k] = INFINITE
        for i in range(most):
            for j in range(most - i):
                errors = z.joint[i] + z.inside[child, j]
                z.scratch[i + j] = min(z.scratch[i + j], errors)
        for k in range(most):
            z.joint[k] = z.scratch[k]


@helper
def first_of(z: Sizes, node: int) -> int:
    """The first split of a subproblem."""
    return z.ends[node - 1] if node > 0 else 0


@helper
def is_good(z: Sizes, node: int, error: int, split: int, budget: int) -> bool:
    """Whether some good tree has a split of a subproblem, whose children are in ``joint``."""
    most = len(z.joint)
    for i in range(most):
        if z.outside[node, i] < INFINITE:
            for j in range(most - i - 1):
                if z.joint[j] < INFINITE:
                    errors = z.outside[node, i] + z.joint[j]
                    if error * errors + split * (i + j + 1) <= budget:
                        return True
    return False


@helper
def pass_down(z: Sizes, node: int, child: int) -> None:
    """What is outside of a child: of its parent, the split, and the others in ``joint``."""
    most = len(z.joint)
    for i in range(most):
        for j in range(most - i - 1):
            errors = z.outside[node, i] + z.joint[j]
            z.outside[child, i + j + 1] = min(z.outside[child, i + j + 1], errors)


@kernel
def measure_inside(z: Sizes, begin: int, end: int) -> None:
    """Measure the trees of some subproblems, the last first; leaves are in ``inside``."""
    for node in range(end - 1, begin - 1, -1):
        for edge in range(first_of(z, node), z.ends[node]):
            join(z, edge, -1)
            for k in range(1, len(z.joint)):
                z.inside[node, k] = min(z.inside[node, k], z.joint[k - 1])


@kernel
def keep_small(z: Sizes, begin: int, end: int, error: int, split: int, budget: int) -> None:
    """Find the splits of some subproblems that trees have which cost ``budget`` or less."""
    for node in range(begin, end):
        for edge in range(first_of(z, node), z.ends[node]):
            join(z, edge, -1)
            if not is_good(z, node, error, split, budget):
                continue
            z.kept[edge] = 1
            for at in range(z.first_child[edge], z.first_child[edge + 1]):
                if z.children[at] >= 0:
                    join(z, edge, at)
                    pass_down(z, node, z.children[at])


def smaller_trees(
    graph: StoredGraph,
    leaf: Ints,
    arities: NDArray[np.int32],
    most_splits: int,
    prices: tuple[int, int, int],
    check: Callable[[], None],
) -> StoredGraph:
    """The part of a graph whose trees have few splits and cost little.

    Parameters
    ----------
    graph : StoredGraph
    leaf : array of int, shape (nodes,)
        The weight in error of each subproblem as a leaf.
    arities : array of int32, shape (features,)
    most_splits : int
    prices : tuple of int
        The cost of a unit of weight in error, of a split, and the most that a tree may cost.
    check : callable
        Called between slices; raises what ends the work.
    """
    n_nodes, size = len(graph.ends), most_splits + 1
    first_child = np.concatenate([[0], np.cumsum(arities[graph.feature])]).astype(np.int64)
    table = Sizes(
        *graph,
        first_child=first_child,
        inside=np.full((n_nodes, size), INFINITE, np.int64),
        outside=np.full((n_nodes, size), INFINITE, np.int64),
        joint=np.zeros(size, np.int64),
        scratch=np.zeros(size, np.int64),
        kept=np.zeros(len(graph.feature), np.int64),
    )
    table.inside[:, 0] = leaf
    table.outside[0, 0] = 0
    ensure_compiled(measure_inside, table, 0, 0)
    ensure_compiled(keep_small, table, 0, 0, *prices)
    begins = range(0, n_nodes, _SLICE)
    for begin in reversed(begins):
        check()
        measure_inside(table, begin, min(begin + _SLICE, n_nodes))
    for begin in begins:
        check()
        keep_small(table, begin, min(begin + _SLICE, n_nodes), *prices)
    return _part(graph, table.kept == 1, first_child)


def _part(graph: StoredGraph, kept: Ints, first_child: Ints) -> StoredGraph:
    """Some splits of a graph, and the subproblems that they lead to."""
    children = graph.children[np.repeat(kept, np.diff(first_child))]
    nodes = np.zeros(len(graph.ends), bool)
    nodes[children[children >= 0]] = True
    nodes[0] = True
    place = np.cumsum(nodes) - 1
    before = np.concatenate([[0], np.cumsum(kept)])
    return StoredGraph(
        ends=before[graph.ends][nodes],
        feature=graph.feature[kept],
        children=np.where(children < 0, -1, place[children]),
    )
