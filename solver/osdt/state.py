"""The arrays of a search: plain, so that they can grow between slices, be saved and loaded."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from solver.kernels.constants import Floats, Ints, Words
from solver.kernels.packed_rows import packed
from solver.kernels.pass_by_reference import by_reference
from solver.osdt import search_counters
from solver.problem.problem import Problem

POPPED_BOUND = -1
"""Replaces the bound of a tree that has left the queue."""


@by_reference
class Params(NamedTuple):
    """The parameters of a search; costs as in :class:`solver.objective.exact_objective.CostScale`.

    Parameters
    ----------
    error, split : int
        Cost of one unit of weight in error, and of one split.
    depth, splits : int
        Most splits on a path and in the tree; INFINITE without a limit.
    min_leaf : int
        Least weight of a leaf.
    bucket : int
        Width of the classes of lower bounds by which the queue is counted.
    policy : int
        Index in :data:`solver.osdt.scheduling_policies.POLICIES`.
    hierarchical, lookahead, ... : bool
        Switches of the bounds, see :mod:`solver.osdt.bounds`.
    """

    error: int
    split: int
    depth: int
    splits: int
    min_leaf: int
    bucket: int
    policy: int
    hierarchical: bool
    lookahead: bool
    support: bool
    incremental_accuracy: bool
    accuracy: bool
    permutation: bool
    similar_support: bool
    equivalent_points: bool
    dominance: bool
    two_steps: bool


@by_reference
class Table(NamedTuple):
    """The training rows as bit vectors, one bit a distinct row.

    Parameters
    ----------
    features : (features, words)
        Rows of code 1.
    planes : (planes, words)
        Binary digits of the weights: plane ``p`` has the rows whose weight of class ``member[p]``
        has the digit of value ``times[p]``. Class number K, after the last one, is the minority
        weight of the row, which every tree gets wrong (Proposition 8).
    """

    features: Words
    planes: Words
    member: Ints
    times: Ints


@by_reference
class Leaves(NamedTuple):
    """The leaf cache: what is known of every set of rows that a leaf has captured.

    Leaves of different clauses with the same rows have the same subtrees, so rows identify a leaf.
    With a limit on depth, the number of clauses does so as well.
    """

    leaf_rows: Words  # (leaves, words)
    leaf_hash: Words  # (leaves,)
    leaf_counts: Ints  # (leaves, classes + 1)
    leaf_depth: Ints  # clauses; 0 without a limit on depth
    leaf_weight: Ints  # captured
    leaf_error: Ints  # cost as a leaf
    leaf_lower: Ints  # bound on its cost when it is split; INFINITE: it never is
    leaf_first: Ints  # its first option; −1: not expanded
    leaf_options: Ints  # number of options
    leaf_impurity: Floats  # by the policy, times the weight
    leaf_slots: Ints  # open addressing, power of two; −1: free


@by_reference
class Options(NamedTuple):
    """Ways to split a leaf: a feature, and which of the two new leaves are to be split again.

    Those of one leaf are adjacent, by their cost.
    """

    option_cost: Ints  # bound on the leaf's cost when it is split so
    option_closed: Ints  # the part of it that is sure: the split, and new leaves that stay
    option_feature: Ints
    option_open: Ints  # bit 0: the leaf of code 0 is split again; bit 1: that of code 1
    option_child: Ints  # (options, 2) the new leaves


@by_reference
class Trees(NamedTuple):
    """The tree cache and the queue.

    A tree is stored in ``spread`` from ``tree_at`` on: first its leaves to be split, then its
    unchanged leaves, each part sorted by number. A child splits the parent's first leaf to be
    split; it is stored as its parent, that leaf and the option taken.
    """

    tree_at: Ints
    tree_open: Ints  # leaves to be split
    tree_kept: Ints  # unchanged leaves that are stored: none with ``dominance``
    tree_splits: Ints
    tree_closed: Ints  # cost of the unchanged leaves and of all splits so far
    tree_bound: Ints  # lower bound when it was pushed; INFINITE: a better one has taken its place
    tree_parent: Ints
    tree_option: Ints
    tree_weight: Ints  # captured by unchanged leaves
    tree_impurity: Floats  # of unchanged leaves
    tree_hash: Words  # of the leaves to be split
    tree_kept_hash: Words  # of the unchanged leaves
    tree_next: Ints  # one more than the next tree of its chain; 0: none
    tree_heads: Ints  # one more than the first tree of a chain; 0: none
    spread: NDArray[np.int32]
    queue_key: Floats  # a binary heap: least key first, of equal ones the oldest tree
    queue_tree: Ints
    buckets: Ints  # trees in the queue by lower bound, in classes of ``params.bucket``
    used: Ints  # see :mod:`solver.osdt.search_counters`


BUCKETS = 4096


@by_reference
class Scratch(NamedTuple):
    """Room that one iteration needs; nothing in it outlives the iteration."""

    rows: Words  # (2, words)
    counts: Ints  # (2, classes + 1)
    ids: NDArray[np.int32]  # leaves of a tree that is being made
    feature_lower: Ints  # (features,)


@by_reference
class Space(NamedTuple):
    """All that the kernels of a search work on."""

    table: Table
    params: Params
    leaves: Leaves
    options: Options
    trees: Trees
    scratch: Scratch


def tabulate(problem: Problem) -> Table:
    """The rows of a problem with binary features as bit vectors."""
    counts = problem.counts
    minority = counts.sum(axis=1) - counts.max(axis=1)
    numbers = np.column_stack([counts, minority])
    planes, member, times = [], [], []
    for column in range(numbers.shape[1]):
        for digit in range(int(numbers[:, column].max()).bit_length()):
            planes.append(packed((numbers[:, column] >> digit) & 1 == 1))
            member.append(column)
            times.append(1 << digit)
    features = [packed(problem.codes[:, f] == 1) for f in range(problem.n_features)]
    words = (len(counts) + 63) // 64
    return Table(
        features=np.array(features, np.uint64).reshape(-1, words),
        planes=np.array(planes, np.uint64).reshape(-1, words),
        member=np.array(member, np.int64),
        times=np.array(times, np.int64),
    )


def new_leaves(words: int, classes: int) -> Leaves:
    """An empty leaf cache with little room."""
    n, ints = 256, np.int64
    return Leaves(
        leaf_rows=np.zeros((n, words), np.uint64),
        leaf_hash=np.zeros(n, np.uint64),
        leaf_counts=np.zeros((n, classes + 1), ints),
        leaf_depth=np.zeros(n, ints),
        leaf_weight=np.zeros(n, ints),
        leaf_error=np.zeros(n, ints),
        leaf_lower=np.zeros(n, ints),
        leaf_first=np.zeros(n, ints),
        leaf_options=np.zeros(n, ints),
        leaf_impurity=np.zeros(n),
        leaf_slots=np.full(2 * n, -1, ints),
    )


def new_options() -> Options:
    """No options, with little room."""
    n, ints = 1024, np.int64
    return Options(
        option_cost=np.zeros(n, ints),
        option_closed=np.zeros(n, ints),
        option_feature=np.zeros(n, ints),
        option_open=np.zeros(n, ints),
        option_child=np.zeros((n, 2), ints),
    )


def new_trees() -> Trees:
    """An empty tree cache and queue with little room."""
    n, ints = 1024, np.int64
    return Trees(
        tree_at=np.zeros(n, ints),
        tree_open=np.zeros(n, ints),
        tree_kept=np.zeros(n, ints),
        tree_splits=np.zeros(n, ints),
        tree_closed=np.zeros(n, ints),
        tree_bound=np.zeros(n, ints),
        tree_parent=np.zeros(n, ints),
        tree_option=np.zeros(n, ints),
        tree_weight=np.zeros(n, ints),
        tree_impurity=np.zeros(n),
        tree_hash=np.zeros(n, np.uint64),
        tree_kept_hash=np.zeros(n, np.uint64),
        tree_next=np.zeros(n, ints),
        tree_heads=np.zeros(n + 1, ints),
        spread=np.zeros(8 * n, np.int32),
        queue_key=np.zeros(n),
        queue_tree=np.zeros(n, ints),
        buckets=np.zeros(BUCKETS + 1, ints),
        used=np.zeros(search_counters.COUNTERS, ints),
    )


def new_scratch(table: Table, classes: int, rows: int) -> Scratch:
    """Room for one iteration."""
    features, words = table.features.shape
    return Scratch(
        rows=np.zeros((2, words), np.uint64),
        counts=np.zeros((2, classes + 1), np.int64),
        ids=np.zeros(rows + 2, np.int32),
        feature_lower=np.zeros(features, np.int64),
    )
