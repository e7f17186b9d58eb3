"""The state of a search: plain arrays that grow between slices."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


class Rules(NamedTuple):
    """The numbers that a search obeys, see :class:`solver.exact.Prices` for the prices.

    Parameters
    ----------
    error, split : int
        Integer prices of one error and of one split.
    budgets : int
        Number of split budgets kept per branch: 1 without a limit on splits, else limit + 1;
        entry ``b`` then bounds the trees with at most ``b`` splits.
    depth : int
        Longest path.
    min_leaf : int
        Smallest weight of a leaf that is not empty.
    max_arity : int
        Most children of a split.
    paper : bool
        Only the paper's bounds, memo on the literals, and its order of children.
    lookahead : bool
        Bound children by pairs of features.
    """

    error: int
    split: int
    budgets: int
    depth: int
    min_leaf: int
    max_arity: int
    paper: bool
    lookahead: bool


class Pool(NamedTuple):
    """Nodes (branches), their actions (splits), and the children of each action.

    A child is a number in ``child_node`` once somebody walked into it; before that only its first
    bounds are kept. ``used`` counts nodes, actions, children, literals and iterations.
    """

    node_lower: Ints  # (nodes, budgets) proven
    node_upper: Ints  # (nodes, budgets) achieved by a known tree
    node_best: Ints  # (nodes, budgets) action of that tree; −1: leaf
    node_actions: Ints  # (nodes, 2) first action and number of actions; −1: not expanded
    node_literals: Ints  # (nodes, 2) first literal and number of literals
    node_hash: NDArray[np.uint64]  # (nodes,)
    action_feature: Ints  # (actions,)
    action_children: Ints  # (actions,) first child
    action_lower: Ints  # (actions, budgets)
    child_node: Ints  # (children,) −1: nobody was there
    child_lower: Ints  # (children, budgets)
    child_leaf: Ints  # (children,) cost as a leaf
    child_weight: Ints  # (children,)
    child_stump: Ints  # (children, 2) cost of the best single split, and its feature; −1: none
    literals: Ints  # masks' rows, sorted within a node
    memo: Ints  # open addressing, power of two; −1: free
    used: Ints


class Scratch(NamedTuple):
    """Room that one iteration needs."""

    bits: NDArray[np.uint64]  # rows of the current branch
    child_bits: NDArray[np.uint64]
    packed: NDArray[np.uint64]  # its words that are not zero
    packed_at: Ints
    packed_segments: Ints
    counts: Ints  # (max arity, classes)
    singles: Ints  # (values, classes)
    parts: NDArray[np.uint64]  # (values, words) packed words of every child
    joint: Ints  # (max arity, max arity, classes)
    stump: Ints  # (values, 2) fewest errors of one more split, and its feature
    usable: Ints  # (features,)
    ranked: Ints  # (classes,)
    literals: Ints  # literals of the current branch
    path: Ints  # (depth + 1, 3): node, action, budget
    lower: Ints  # (budgets,)
    upper: Ints
    sums: Ints  # (max arity + 1, budgets)
    shares: Ints  # (max arity,) budget of each child


NODES, ACTIONS, CHILDREN, LITERALS, ITERATIONS = range(5)
INFINITE = 2**61


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
        child_stump=np.zeros((rows, 2), ints),
        literals=np.zeros(rows, ints),
        memo=np.full(4 * rows, -1, ints),
        used=np.zeros(5, ints),
    )


def new_scratch(words: int, features: int, values: int, classes: int, rules: Rules) -> Scratch:
    """Room for one iteration."""
    longest, ints = min(features, rules.depth) + 2, np.int64
    pairs = rules.max_arity if rules.lookahead else 1
    return Scratch(
        bits=np.zeros(words, np.uint64),
        child_bits=np.zeros(words, np.uint64),
        packed=np.zeros(words, np.uint64),
        packed_at=np.zeros(words, ints),
        packed_segments=np.zeros(classes + 1, ints),
        counts=np.zeros((rules.max_arity, classes), ints),
        singles=np.zeros((values, classes), ints),
        parts=np.zeros((values, words) if rules.lookahead else (1, 1), np.uint64),
        joint=np.zeros((pairs, pairs, classes), ints),
        stump=np.zeros((values, 2), ints),
        usable=np.zeros(features, ints),
        ranked=np.zeros(classes, ints),
        literals=np.zeros(longest, ints),
        path=np.zeros((longest, 3), ints),
        lower=np.zeros(rules.budgets, ints),
        upper=np.zeros(rules.budgets, ints),
        sums=np.zeros((rules.max_arity + 1, rules.budgets), ints),
        shares=np.zeros(rules.max_arity, ints),
    )


def room_of(pool: Pool) -> dict[str, int]:
    """How many nodes, actions, children and literals fit."""
    return {
        "node": len(pool.node_hash),
        "action": len(pool.action_feature),
        "child": len(pool.child_node),
        "literals": len(pool.literals),
    }


def grow(pool: Pool, needed: dict[str, int]) -> Pool:
    """The pool with more room where ``needed`` exceeds it.

    Arrays double while they are small and then grow by ``_LARGEST_STEP`` bytes: growing in place
    moves no data on Linux, so small steps are cheap and never overstep a time limit by much.
    """
    sizes = grown_sizes(pool, needed)
    for name, array in pool._asdict().items():
        size = sizes.get(name.split("_")[0])
        if size is not None and size > len(array):
            array.resize((size, *array.shape[1:]), refcheck=False)
    if 2 * sizes["node"] <= len(pool.memo):
        return pool
    memo = np.full(1 << (4 * sizes["node"] - 1).bit_length(), -1, np.int64)
    return pool._replace(memo=memo)


def grown_sizes(pool: Pool, needed: dict[str, int]) -> dict[str, int]:
    """How many nodes, actions, children and literals will fit after :func:`grow`."""
    sizes = {}
    for name, room in room_of(pool).items():
        row = sum(a[:1].nbytes for n, a in pool._asdict().items() if n.split("_")[0] == name)
        step = max(needed[name] - room, min(room, _LARGEST_STEP // row))
        sizes[name] = room + step if needed[name] > room else room
    return sizes


_LARGEST_STEP = 32 * 2**20


def bytes_of(*parts: Any) -> int:
    """Memory of all arrays of these named tuples."""
    return sum(a.nbytes for part in parts for a in part if isinstance(a, np.ndarray))
