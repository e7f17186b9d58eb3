"""The state of a search: plain arrays that grow between slices."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from solver.branches.paper.bit_vectors import Layout
from solver.engine.growable_arrays import grown_length, resize_arrays
from solver.engine.tree_constraints import TreeConstraints
from solver.kernels.constants import Ints
from solver.kernels.hash_tables import slots_for
from solver.kernels.pass_by_reference import by_reference

NODES, ACTIONS, CHILDREN, LITERALS, ITERATIONS, EXPANSIONS, EVALUATIONS = range(7)


@by_reference
class Params(NamedTuple):
    """The parameters of a search.

    :class:`solver.objective.exact_objective.CostScale` has ``error`` and ``split``,
    :class:`solver.engine.tree_constraints.TreeConstraints` the others.
    """

    error: int
    split: int
    budgets: int
    depth: int
    min_leaf: int


@by_reference
class Pool(NamedTuple):
    """Nodes (branches), their actions (splits), and the children of each action.

    A child gets a node in ``child_node`` when the search first enters it; before, only its first
    bounds are kept. ``used`` counts nodes, actions, children, literals,
    iterations, expanded branches, and evaluated ones, which are the paper's Γ.
    """

    node_lower: Ints  # (nodes, budgets) lower bounds
    node_upper: Ints  # (nodes, budgets) costs of known trees
    node_best: Ints  # (nodes, budgets) action of that tree; −1: leaf
    node_actions: Ints  # (nodes, 2) first action and number of actions; −1: not expanded
    node_literals: Ints  # (nodes, 2) first literal and number of literals
    node_hash: NDArray[np.uint64]  # (nodes,)
    action_feature: Ints  # (actions,)
    action_children: Ints  # (actions,) first child
    action_lower: Ints  # (actions, budgets)
    child_node: Ints  # (children,) −1: not entered yet
    child_lower: Ints  # (children, budgets)
    child_leaf: Ints  # (children,) cost as a leaf
    child_weight: Ints  # (children,)
    literals: Ints  # masks' rows, sorted within a node
    memo: Ints  # open addressing, power of two; −1: free
    used: Ints


@by_reference
class Scratch(NamedTuple):
    """Room that one iteration needs."""

    bits: NDArray[np.uint64]  # rows of the current branch
    packed: NDArray[np.uint64]  # its words that are not zero
    packed_at: Ints
    packed_segments: Ints
    counts: Ints  # (max arity, classes)
    literals: Ints  # literals of the current branch
    path: Ints  # (depth + 1, 2): node, action
    lower: Ints  # (budgets,)
    upper: Ints
    sums: Ints  # (max arity + 1, budgets)
    shares: Ints  # (max arity,) budget of each child


@by_reference
class Space(NamedTuple):
    """All that the kernels of a search work on."""

    layout: Layout
    params: Params
    pool: Pool
    scratch: Scratch


def new_pool(budgets: int) -> Pool:
    """An empty pool with little room."""
    rows, ints = 1024, np.int64
    return Pool(
        node_lower=np.zeros((rows, budgets), ints),
        node_upper=np.zeros((rows, budgets), ints),
        node_best=np.zeros((rows, budgets), ints),
        node_actions=np.zeros((rows, 2), ints),
        node_literals=np.zeros((rows, 2), ints),
        node_hash=np.zeros(rows, np.uint64),
        action_feature=np.zeros(rows, ints),
        action_children=np.zeros(rows, ints),
        action_lower=np.zeros((rows, budgets), ints),
        child_node=np.zeros(rows, ints),
        child_lower=np.zeros((rows, budgets), ints),
        child_leaf=np.zeros(rows, ints),
        child_weight=np.zeros(rows, ints),
        literals=np.zeros(rows, ints),
        memo=np.full(4 * rows, -1, ints),
        used=np.zeros(7, ints),
    )


def new_scratch(words: int, features: int, classes: int, constraints: TreeConstraints) -> Scratch:
    """Room for one iteration."""
    longest, ints = min(features, constraints.depth) + 2, np.int64
    return Scratch(
        bits=np.zeros(words, np.uint64),
        packed=np.zeros(words, np.uint64),
        packed_at=np.zeros(words, ints),
        packed_segments=np.zeros(classes + 1, ints),
        counts=np.zeros((constraints.max_arity, classes), ints),
        literals=np.zeros(longest, ints),
        path=np.zeros((longest, 2), ints),
        lower=np.zeros(constraints.budgets, ints),
        upper=np.zeros(constraints.budgets, ints),
        sums=np.zeros((constraints.max_arity + 1, constraints.budgets), ints),
        shares=np.zeros(constraints.max_arity, ints),
    )


def grown_sizes(pool: Pool, needed: dict[str, int]) -> dict[str, int]:
    """How many nodes, actions, children and literals to make room for."""
    arrays = pool._asdict().items()
    return {
        group: grown_length([a for name, a in arrays if _group(name) == group], least)
        for group, least in needed.items()
    }


def bytes_at(pool: Pool, sizes: dict[str, int]) -> int:
    """Memory of the pool once it is resized."""
    rows = {name: sizes.get(_group(name), len(a)) for name, a in pool._asdict().items()}
    rows["memo"] = _slots(pool, sizes)
    return sum(a[:1].nbytes * rows[name] for name, a in pool._asdict().items())


def resize(pool: Pool, sizes: dict[str, int]) -> Pool:
    """The pool with this much room; a larger memo is a new one, which is empty."""
    arrays = pool._asdict()
    resize_arrays(arrays, {name: sizes.get(_group(name), 0) for name in arrays})
    slots = _slots(pool, sizes)
    return pool._replace(memo=np.full(slots, -1, np.int64)) if slots > len(pool.memo) else pool


def _group(name: str) -> str:
    """Arrays of one group grow together: node, action, child, literals."""
    return name.split("_")[0]


def _slots(pool: Pool, sizes: dict[str, int]) -> int:
    """Slots of the memo once the pool is resized: it is never more than half full."""
    if 2 * sizes["node"] <= len(pool.memo):
        return len(pool.memo)
    return slots_for(sizes["node"], 4)
