"""The branch and bound of Algorithm 2, in slices."""

from __future__ import annotations

import numpy as np

from solver.kernels.constants import FULL, PROVEN, RUNNING, ZERO
from solver.kernels.jit import helper, kernel
from solver.objective.exact import INFINITE
from solver.osdt.bounds import too_dear
from solver.osdt.leaf_cache import count, expand_leaf, find_leaf, limit_of
from solver.osdt.scheduling_policies import priority
from solver.osdt.state import (
    BASE,
    BEST,
    BEST_EVALUATED,
    BEST_OPTION,
    BEST_PARENT,
    BY_EQUIVALENT,
    BY_HIERARCHICAL,
    BY_LOOKAHEAD,
    EVALUATED,
    HEADS,
    KNOWN,
    LEAVES,
    LONGEST,
    OPTIONS,
    POPPED,
    POPPED_BOUND,
    QUEUE,
    SPREAD,
    TREES,
    Leaves,
    Options,
    Params,
    Scratch,
    Table,
    Trees,
)
from solver.osdt.tree_cache import admit, bucket_of, enter, leaf_key, pop, push


@kernel
def init_root(table: Table, params: Params, leaves: Leaves, trees: Trees, scratch: Scratch) -> None:
    """Begin with the tree of one leaf, which is to be split."""
    used = trees.used
    for w in range(scratch.rows.shape[1]):
        scratch.rows[0, w] = ZERO
        for p in range(len(table.times)):  # each row has a weight, so it is in some plane
            scratch.rows[0, w] |= table.planes[p, w]
    count(table, scratch, 0)
    find_leaf(params, leaves, trees, scratch, 0, 0)
    used[BEST], used[KNOWN] = leaves.leaf_error[0], INFINITE
    used[BEST_PARENT] = used[BEST_OPTION] = -1
    used[EVALUATED] = used[BEST_EVALUATED] = 1
    used[LONGEST] = used[HEADS] = used[BASE] = 1
    if leaves.leaf_lower[0] < INFINITE and params.splits > 0:
        scratch.ids[0] = 0
        trees.tree_splits[0] = trees.tree_closed[0] = trees.tree_weight[0] = 0
        trees.tree_impurity[0] = 0.0
        trees.tree_hash[0], trees.tree_kept_hash[0] = leaf_key(0), ZERO
        _store(params, trees, scratch, 1, 0, -1, -1, leaves.leaf_lower[0])
        _enqueue(params, trees, 0, leaves.leaf_error[0])


@kernel
def step(
    table: Table,
    params: Params,
    leaves: Leaves,
    options: Options,
    trees: Trees,
    scratch: Scratch,
    iterations: int,
    target_cost: int,
    most: int,
) -> int:
    """Split some trees; return as soon as a better one is found.

    Returns RUNNING, PROVEN if the queue is empty, FULL if the arrays must grow first. It stops at a
    tree that costs ``target_cost`` or less, and at ``most`` trees in the cache.
    """
    used = trees.used
    best = used[BEST]
    for _ in range(iterations):
        if used[QUEUE] == 0:
            return PROVEN
        if not has_room(table, leaves, options, trees):
            return FULL
        used[POPPED] += 1
        tree = pop(trees)
        bound = trees.tree_bound[tree]
        if bound < INFINITE:
            trees.buckets[bucket_of(params, bound)] -= 1
            trees.tree_bound[tree] = POPPED_BOUND
            _split_tree(table, params, leaves, options, trees, scratch, tree)
        if used[BEST] < best or used[BEST] <= target_cost or used[TREES] >= most:
            return RUNNING
    return RUNNING


@helper
def has_room(table: Table, leaves: Leaves, options: Options, trees: Trees) -> bool:
    """Whether the arrays have room for what one iteration can add at most."""
    used, most = trees.used, 4 * len(table.features)
    return bool(
        used[LEAVES] + most // 2 <= len(leaves.leaf_hash)
        and used[OPTIONS] + most <= len(options.option_cost)
        and used[TREES] + most <= len(trees.tree_at)
        and used[QUEUE] + most <= len(trees.queue_key)
        and used[SPREAD] + most * (used[LONGEST] + 1) <= len(trees.spread)
        and 2 * (used[LEAVES] + most // 2) <= len(leaves.leaf_slots)
        and used[TREES] + most < len(trees.tree_heads)
    )


@helper
def _split_tree(
    table: Table,
    params: Params,
    leaves: Leaves,
    options: Options,
    trees: Trees,
    scratch: Scratch,
    tree: int,
) -> None:
    """Split one of the leaves that are to be split in every way that may pay.

    In the end all must be split. So splitting one at a time gives every tree that splitting all at
    once (Algorithm 2) gives, and trees in between are dropped as soon as they are too dear. The
    leaf of most errors comes first: its outcome says most about the tree.
    """
    begin, n = trees.tree_at[tree], trees.tree_open[tree]
    leaf = int(trees.spread[begin])
    for i in range(begin + 1, begin + n):
        if leaves.leaf_error[trees.spread[i]] > leaves.leaf_error[leaf]:
            leaf = int(trees.spread[i])
    others, objective = trees.tree_closed[tree], trees.tree_closed[tree]
    for i in range(begin, begin + n):
        other = trees.spread[i]
        if other != leaf:
            others += leaves.leaf_lower[other]
            objective += leaves.leaf_error[other]
            if others >= INFINITE:
                return
    if leaves.leaf_first[leaf] < 0:
        if leaves.leaf_lower[leaf] >= INFINITE or too_dear(
            params, others + leaves.leaf_lower[leaf], limit_of(trees)
        ):
            return
        expand_leaf(table, params, leaves, options, trees, scratch, leaf)
    end = leaves.leaf_first[leaf] + leaves.leaf_options[leaf]
    for option in range(leaves.leaf_first[leaf], end):
        bound = others + options.option_cost[option]
        if too_dear(params, bound, limit_of(trees)):
            _blame(params, options, trees, tree, option, end - option)
            return
        trees.used[EVALUATED] += 1
        _take(params, leaves, options, trees, scratch, tree, leaf, option, bound, objective)


@helper
def _blame(
    params: Params,
    options: Options,
    trees: Trees,
    tree: int,
    option: int,
    number: int,
) -> None:
    """Count what was pruned to the first bound that suffices: Theorem 1, Lemma 2, Theorem 9."""
    closed = trees.tree_closed[tree] + options.option_closed[option]
    best = limit_of(trees)
    if closed >= best:
        trees.used[BY_HIERARCHICAL] += number
    elif params.lookahead and closed + params.split * (trees.tree_open[tree] - 1) >= best:
        trees.used[BY_LOOKAHEAD] += number
    else:
        trees.used[BY_EQUIVALENT if params.equivalent_points else BY_HIERARCHICAL] += number


@helper
def _take(
    params: Params,
    leaves: Leaves,
    options: Options,
    trees: Trees,
    scratch: Scratch,
    tree: int,
    leaf: int,
    option: int,
    bound: int,
    objective: int,
) -> None:
    """Make the child of a tree whose leaf is split by an option, and queue it if it is new."""
    used, open_ = trees.used, options.option_open[option]
    added = (open_ & 1) + (open_ >> 1)
    splits = trees.tree_splits[tree] + 1
    n_open = trees.tree_open[tree] - 1 + added
    objective += params.split
    for side in range(2):
        objective += leaves.leaf_error[options.option_child[option, side]]
    if objective < used[BEST] and splits <= params.splits:
        used[BEST], used[BEST_EVALUATED] = objective, used[EVALUATED]
        used[BEST_PARENT], used[BEST_OPTION] = tree, option
    if n_open == 0 or n_open > params.splits - splits:
        return
    open_hash = trees.tree_hash[tree] - leaf_key(leaf)
    kept_hash = trees.tree_kept_hash[tree]
    weight, impurity = trees.tree_weight[tree], trees.tree_impurity[tree]
    for side in range(2):
        child = options.option_child[option, side]
        if open_ & (side + 1):
            open_hash += leaf_key(child)
        else:
            kept_hash += leaf_key(child)
            weight += leaves.leaf_weight[child]
            impurity += leaves.leaf_impurity[child]
    n_kept = _list_leaves(params, options, trees, scratch, tree, leaf, option)
    closed = trees.tree_closed[tree] + options.option_closed[option]
    if params.permutation and not admit(
        params, trees, scratch, n_open, n_kept, splits, closed, open_hash, kept_hash
    ):
        return
    new = used[TREES]
    trees.tree_splits[new], trees.tree_closed[new] = splits, closed
    trees.tree_weight[new], trees.tree_impurity[new] = weight, impurity
    trees.tree_hash[new], trees.tree_kept_hash[new] = open_hash, kept_hash
    _store(params, trees, scratch, n_open, n_kept, tree, option, bound)
    _enqueue(params, trees, new, objective)


@helper
def _list_leaves(
    params: Params,
    options: Options,
    trees: Trees,
    scratch: Scratch,
    tree: int,
    leaf: int,
    option: int,
) -> int:
    """Write the leaves of a child, sorted, to ``scratch.ids``; how many unchanged ones there are.

    With ``dominance`` unchanged leaves do not distinguish trees, and are left out.
    """
    open_, begin = options.option_open[option], trees.tree_at[tree]
    n = 0
    for i in range(begin, begin + trees.tree_open[tree]):
        if trees.spread[i] != leaf:
            scratch.ids[n] = trees.spread[i]
            n += 1
    for side in range(2):
        if open_ & (side + 1):
            n = _insert(scratch, 0, n, options.option_child[option, side])
    if params.dominance:
        return 0
    n_open, begin = n, begin + trees.tree_open[tree]
    for i in range(begin, begin + trees.tree_kept[tree]):
        scratch.ids[n] = trees.spread[i]
        n += 1
    for side in range(2):
        if not open_ & (side + 1):
            n = _insert(scratch, n_open, n, options.option_child[option, side])
    return n - n_open


@helper
def _insert(scratch: Scratch, first: int, end: int, leaf: int) -> int:
    """Insert a leaf into a sorted list; its new end."""
    at = end
    while at > first and scratch.ids[at - 1] > leaf:
        scratch.ids[at] = scratch.ids[at - 1]
        at -= 1
    scratch.ids[at] = leaf
    return end + 1


@helper
def _store(
    params: Params,
    trees: Trees,
    scratch: Scratch,
    n_open: int,
    n_kept: int,
    parent: int,
    option: int,
    bound: int,
) -> None:
    """Add the tree of the leaves ``scratch.ids`` to the cache."""
    used = trees.used
    tree, begin = used[TREES], used[SPREAD]
    for i in range(n_open + n_kept):
        trees.spread[begin + i] = scratch.ids[i]
    used[TREES] += 1
    used[SPREAD] += n_open + n_kept
    used[LONGEST] = max(used[LONGEST], n_open + n_kept)
    trees.tree_at[tree], trees.tree_open[tree], trees.tree_kept[tree] = begin, n_open, n_kept
    trees.tree_parent[tree], trees.tree_option[tree] = parent, option
    trees.tree_bound[tree] = bound
    if params.permutation:
        enter(params, trees, tree)


@helper
def _enqueue(params: Params, trees: Trees, tree: int, objective: int) -> None:
    """Queue a stored tree by the scheduling policy."""
    bound = trees.tree_bound[tree]
    trees.buckets[bucket_of(params, bound)] += 1
    key = priority(
        params,
        tree,
        trees.tree_splits[tree],
        trees.tree_closed[tree],
        bound,
        objective,
        trees.tree_weight[tree],
        trees.tree_impurity[tree],
    )
    push(trees, key, tree)


@kernel
def rehash_leaves(leaves: Leaves, trees: Trees) -> None:
    """Fill the empty slots of the leaf cache."""
    mask = len(leaves.leaf_slots) - 1
    for leaf in range(trees.used[LEAVES]):
        slot = np.int64(leaves.leaf_hash[leaf] & np.uint64(mask))
        while leaves.leaf_slots[slot] >= 0:
            slot = (slot + 1) & mask
        leaves.leaf_slots[slot] = leaf
