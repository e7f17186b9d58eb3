"""The tree cache and the queue."""

from __future__ import annotations

import numpy as np

from solver.kernels.constants import GOLDEN
from solver.kernels.hash_tables import mixed
from solver.kernels.jit import helper
from solver.objective.exact_objective import INFINITE
from solver.osdt import search_counters
from solver.osdt.state import BUCKETS, POPPED_BOUND, Params, Space, Trees


@helper
def leaf_key(leaf: int) -> np.uint64:
    """The hash of a leaf; that of a tree is their sum, so the order does not matter."""
    return mixed(np.uint64(leaf + 1) * GOLDEN)


@helper
def _key_of(params: Params, open_hash: np.uint64, kept_hash: np.uint64, splits: int) -> np.uint64:
    """Where a tree is in the hash table: trees that may take each other's place have one key."""
    key = open_hash
    if not params.dominance:
        key += kept_hash * GOLDEN
    elif params.splits < INFINITE:
        key += mixed(np.uint64(splits))
    return mixed(key)


@helper
def _head_of(trees: Trees, key: np.uint64) -> int:
    """The chain of a key. Chains ``0 … HEADS − 1`` exist, ``BASE ≤ HEADS < 2·BASE``."""
    base = trees.used[search_counters.BASE]
    head = np.int64(key & np.uint64(2 * base - 1))
    if head >= trees.used[search_counters.HEADS]:
        head = np.int64(key & np.uint64(base - 1))
    return int(head)


@helper
def enter(s: Space, tree: int) -> None:
    """Put a tree into the hash table.

    This is linear hashing (Litwin 1980): each tree adds a chain and takes its members from one
    other. So the table is never rehashed, which would take longer than a slice may.
    """
    used = s.trees.used
    new, base = used[search_counters.HEADS], used[search_counters.BASE]
    link = s.trees.tree_heads[new - base]
    kept, moved = 0, 0
    while link > 0:
        other = link - 1
        link = s.trees.tree_next[other]
        key = _key_of(
            s.params,
            s.trees.tree_hash[other],
            s.trees.tree_kept_hash[other],
            s.trees.tree_splits[other],
        )
        if np.int64(key & np.uint64(2 * base - 1)) == new:
            s.trees.tree_next[other], moved = moved, other + 1
        else:
            s.trees.tree_next[other], kept = kept, other + 1
    s.trees.tree_heads[new - base], s.trees.tree_heads[new] = kept, moved
    used[search_counters.HEADS] += 1
    if used[search_counters.HEADS] == 2 * base:
        used[search_counters.BASE] = 2 * base
    key = _key_of(
        s.params, s.trees.tree_hash[tree], s.trees.tree_kept_hash[tree], s.trees.tree_splits[tree]
    )
    head = _head_of(s.trees, key)
    s.trees.tree_next[tree], s.trees.tree_heads[head] = s.trees.tree_heads[head], tree + 1


@helper
def _same_part(s: Space, tree: int, skip: int, begin: int, n: int) -> bool:
    at = s.trees.tree_at[tree] + skip
    same = True
    for i in range(n):
        same &= s.trees.spread[at + i] == s.scratch.ids[begin + i]
    return bool(same)


@helper
def admit(
    s: Space,
    n_open: int,
    n_kept: int,
    splits: int,
    closed: int,
    open_hash: np.uint64,
    kept_hash: np.uint64,
) -> bool:
    """Whether a tree is new (Corollary 6).

    The order in which leaves arose does not matter, so trees are compared as sorted lists
    ``scratch.ids``. With ``dominance``, trees with the same leaves to be split are compared by the
    cost of the rest: they can become the same.
    """
    head = _head_of(s.trees, _key_of(s.params, open_hash, kept_hash, splits))
    before, link = -1, s.trees.tree_heads[head]
    while link > 0:
        tree = link - 1
        if (
            s.trees.tree_hash[tree] == open_hash
            and s.trees.tree_open[tree] == n_open
            and _same_part(s, tree, 0, 0, n_open)
        ):
            if s.params.dominance:
                if s.params.splits >= INFINITE or s.trees.tree_splits[tree] == splits:
                    return _succeed(s, head, before, tree, closed, kept_hash)
            elif s.trees.tree_kept[tree] == n_kept and _same_part(s, tree, n_open, n_open, n_kept):
                s.trees.used[search_counters.BY_PERMUTATION] += 1
                return False
        before, link = tree, s.trees.tree_next[tree]
    return True


@helper
def _succeed(
    s: Space, head: int, before: int, tree: int, closed: int, kept_hash: np.uint64
) -> bool:
    """Whether a tree is better than the one of equal leaves to be split, and takes its place."""
    if closed >= s.trees.tree_closed[tree]:
        same = kept_hash == s.trees.tree_kept_hash[tree]
        s.trees.used[search_counters.BY_PERMUTATION if same else search_counters.BY_DOMINANCE] += 1
        return False
    bound = s.trees.tree_bound[tree]
    if bound != POPPED_BOUND:
        s.trees.used[search_counters.BY_DOMINANCE] += 1
        # It stays in the queue until it is popped, but its bound counts no longer.
        s.trees.buckets[bucket_of(s.params, bound)] -= 1
        s.trees.tree_bound[tree] = INFINITE
    if before < 0:
        s.trees.tree_heads[head] = s.trees.tree_next[tree]
    else:
        s.trees.tree_next[before] = s.trees.tree_next[tree]
    return True


@helper
def bucket_of(params: Params, bound: int) -> int:
    """The class of a lower bound."""
    return min(bound // params.bucket, BUCKETS)


@helper
def push(trees: Trees, key: float, tree: int) -> None:
    """Put a tree into the queue."""
    at = trees.used[search_counters.QUEUE]
    trees.used[search_counters.QUEUE] += 1
    while at > 0:
        above = (at - 1) // 2
        if not _comes_first(key, tree, trees.queue_key[above], trees.queue_tree[above]):
            break
        trees.queue_key[at], trees.queue_tree[at] = trees.queue_key[above], trees.queue_tree[above]
        at = above
    trees.queue_key[at], trees.queue_tree[at] = key, tree


@helper
def pop(trees: Trees) -> int:
    """Take the first tree out of the queue."""
    first = trees.queue_tree[0]
    trees.used[search_counters.QUEUE] -= 1
    size = trees.used[search_counters.QUEUE]
    key, tree, at = trees.queue_key[size], trees.queue_tree[size], 0
    while 2 * at + 1 < size:
        child = 2 * at + 1
        if child + 1 < size and _comes_first(
            trees.queue_key[child + 1],
            trees.queue_tree[child + 1],
            trees.queue_key[child],
            trees.queue_tree[child],
        ):
            child += 1
        if not _comes_first(trees.queue_key[child], trees.queue_tree[child], key, tree):
            break
        trees.queue_key[at], trees.queue_tree[at] = trees.queue_key[child], trees.queue_tree[child]
        at = child
    trees.queue_key[at], trees.queue_tree[at] = key, tree
    return int(first)


@helper
def _comes_first(key: float, tree: int, other_key: float, other: int) -> bool:
    return key < other_key or (key == other_key and tree < other)
