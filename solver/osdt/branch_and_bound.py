"""The branch and bound of Algorithm 2, in slices."""

from __future__ import annotations

from solver.kernels.constants import FULL, PROVEN, RUNNING, ZERO
from solver.kernels.jit import helper, kernel
from solver.objective.exact_objective import INFINITE
from solver.osdt import search_counters
from solver.osdt.bounds import too_dear
from solver.osdt.leaf_cache import count, expand_leaf, find_leaf, limit_of
from solver.osdt.scheduling_policies import priority
from solver.osdt.state import POPPED_BOUND, Scratch, Space
from solver.osdt.tree_cache_and_queue import admit, bucket_of, enter, leaf_key, pop, push


@kernel
def init_root(s: Space) -> None:
    """Begin with the tree of one leaf, which is to be split."""
    used = s.trees.used
    for w in range(s.scratch.rows.shape[1]):
        s.scratch.rows[0, w] = ZERO
        for p in range(len(s.table.times)):  # each row has a weight, so it is in some plane
            s.scratch.rows[0, w] |= s.table.planes[p, w]
    count(s, 0)
    find_leaf(s, 0, 0)
    used[search_counters.BEST], used[search_counters.KNOWN] = s.leaves.leaf_error[0], INFINITE
    used[search_counters.BEST_PARENT] = used[search_counters.BEST_OPTION] = -1
    used[search_counters.EVALUATED] = used[search_counters.BEST_EVALUATED] = 1
    used[search_counters.LONGEST] = used[search_counters.HEADS] = used[search_counters.BASE] = 1
    if s.leaves.leaf_lower[0] < INFINITE and s.params.splits > 0:
        s.scratch.ids[0] = 0
        s.trees.tree_splits[0] = s.trees.tree_closed[0] = s.trees.tree_weight[0] = 0
        s.trees.tree_impurity[0] = 0.0
        s.trees.tree_hash[0], s.trees.tree_kept_hash[0] = leaf_key(0), ZERO
        _store(s, 1, 0, -1, -1, s.leaves.leaf_lower[0])
        _enqueue(s, 0, s.leaves.leaf_error[0])


@kernel
def step(s: Space, iterations: int, target_cost: int, most: int) -> int:
    """Split some trees; return as soon as a better one is found.

    Returns RUNNING, PROVEN if the queue is empty, FULL if the arrays must grow first. It stops at a
    tree that costs ``target_cost`` or less, and at ``most`` trees in the cache.
    """
    used = s.trees.used
    best = used[search_counters.BEST]
    for _ in range(iterations):
        if used[search_counters.QUEUE] == 0:
            return PROVEN
        if not has_room(s):
            return FULL
        used[search_counters.POPPED] += 1
        tree = pop(s.trees)
        bound = s.trees.tree_bound[tree]
        if bound < INFINITE:
            s.trees.buckets[bucket_of(s.params, bound)] -= 1
            s.trees.tree_bound[tree] = POPPED_BOUND
            _split_tree(s, tree)
        if (
            used[search_counters.BEST] < best
            or used[search_counters.BEST] <= target_cost
            or used[search_counters.TREES] >= most
        ):
            return RUNNING
    return RUNNING


@helper
def has_room(s: Space) -> bool:
    """Whether the arrays have room for what one iteration can add at most."""
    used, most = s.trees.used, 4 * len(s.table.features)
    return bool(
        used[search_counters.LEAVES] + most // 2 <= len(s.leaves.leaf_hash)
        and used[search_counters.OPTIONS] + most <= len(s.options.option_cost)
        and used[search_counters.TREES] + most <= len(s.trees.tree_at)
        and used[search_counters.QUEUE] + most <= len(s.trees.queue_key)
        and used[search_counters.SPREAD] + most * (used[search_counters.LONGEST] + 1)
        <= len(s.trees.spread)
        and 2 * (used[search_counters.LEAVES] + most // 2) <= len(s.leaves.leaf_slots)
        and used[search_counters.TREES] + most < len(s.trees.tree_heads)
    )


@helper
def _split_tree(s: Space, tree: int) -> None:
    """Split one of the leaves that are to be split in every way that may pay.

    In the end all must be split. So splitting one at a time gives every tree that splitting all at
    once (Algorithm 2) gives, and trees in between are dropped as soon as they are too dear. The
    leaf of most errors comes first: its outcome says most about the tree.
    """
    begin, n = s.trees.tree_at[tree], s.trees.tree_open[tree]
    leaf = int(s.trees.spread[begin])
    for i in range(begin + 1, begin + n):
        if s.leaves.leaf_error[s.trees.spread[i]] > s.leaves.leaf_error[leaf]:
            leaf = int(s.trees.spread[i])
    others, objective = s.trees.tree_closed[tree], s.trees.tree_closed[tree]
    for i in range(begin, begin + n):
        other = s.trees.spread[i]
        if other != leaf:
            others += s.leaves.leaf_lower[other]
            objective += s.leaves.leaf_error[other]
            if others >= INFINITE:
                return
    if s.leaves.leaf_first[leaf] < 0:
        if s.leaves.leaf_lower[leaf] >= INFINITE or too_dear(
            s.params, others + s.leaves.leaf_lower[leaf], limit_of(s.trees)
        ):
            return
        expand_leaf(s, leaf)
    end = s.leaves.leaf_first[leaf] + s.leaves.leaf_options[leaf]
    for option in range(s.leaves.leaf_first[leaf], end):
        bound = others + s.options.option_cost[option]
        if too_dear(s.params, bound, limit_of(s.trees)):
            _blame(s, tree, option, end - option)
            return
        s.trees.used[search_counters.EVALUATED] += 1
        _take(s, tree, leaf, option, bound, objective)


@helper
def _blame(s: Space, tree: int, option: int, number: int) -> None:
    """Count what was pruned to the first bound that suffices: Theorem 1, Lemma 2, Theorem 9."""
    closed = s.trees.tree_closed[tree] + s.options.option_closed[option]
    best = limit_of(s.trees)
    if closed >= best:
        s.trees.used[search_counters.BY_HIERARCHICAL] += number
    elif s.params.lookahead and closed + s.params.split * (s.trees.tree_open[tree] - 1) >= best:
        s.trees.used[search_counters.BY_LOOKAHEAD] += number
    else:
        s.trees.used[
            search_counters.BY_EQUIVALENT
            if s.params.equivalent_points
            else search_counters.BY_HIERARCHICAL
        ] += number


@helper
def _take(s: Space, tree: int, leaf: int, option: int, bound: int, objective: int) -> None:
    """Make the child of a tree whose leaf is split by an option, and queue it if it is new."""
    used, open_ = s.trees.used, s.options.option_open[option]
    added = (open_ & 1) + (open_ >> 1)
    splits = s.trees.tree_splits[tree] + 1
    n_open = s.trees.tree_open[tree] - 1 + added
    objective += s.params.split
    for side in range(2):
        objective += s.leaves.leaf_error[s.options.option_child[option, side]]
    if objective < used[search_counters.BEST] and splits <= s.params.splits:
        used[search_counters.BEST], used[search_counters.BEST_EVALUATED] = (
            objective,
            used[search_counters.EVALUATED],
        )
        used[search_counters.BEST_PARENT], used[search_counters.BEST_OPTION] = tree, option
    if n_open == 0 or n_open > s.params.splits - splits:
        return
    open_hash = s.trees.tree_hash[tree] - leaf_key(leaf)
    kept_hash = s.trees.tree_kept_hash[tree]
    weight, impurity = s.trees.tree_weight[tree], s.trees.tree_impurity[tree]
    for side in range(2):
        child = s.options.option_child[option, side]
        if open_ & (side + 1):
            open_hash += leaf_key(child)
        else:
            kept_hash += leaf_key(child)
            weight += s.leaves.leaf_weight[child]
            impurity += s.leaves.leaf_impurity[child]
    n_kept = _list_leaves(s, tree, leaf, option)
    closed = s.trees.tree_closed[tree] + s.options.option_closed[option]
    if s.params.permutation and not admit(s, n_open, n_kept, splits, closed, open_hash, kept_hash):
        return
    new = used[search_counters.TREES]
    s.trees.tree_splits[new], s.trees.tree_closed[new] = splits, closed
    s.trees.tree_weight[new], s.trees.tree_impurity[new] = weight, impurity
    s.trees.tree_hash[new], s.trees.tree_kept_hash[new] = open_hash, kept_hash
    _store(s, n_open, n_kept, tree, option, bound)
    _enqueue(s, new, objective)


@helper
def _list_leaves(s: Space, tree: int, leaf: int, option: int) -> int:
    """Write the leaves of a child, sorted, to ``scratch.ids``; how many unchanged ones there are.

    With ``dominance`` unchanged leaves do not distinguish trees, and are left out.
    """
    open_, begin = s.options.option_open[option], s.trees.tree_at[tree]
    n = 0
    for i in range(begin, begin + s.trees.tree_open[tree]):
        if s.trees.spread[i] != leaf:
            s.scratch.ids[n] = s.trees.spread[i]
            n += 1
    for side in range(2):
        if open_ & (side + 1):
            n = _insert(s.scratch, 0, n, s.options.option_child[option, side])
    if s.params.dominance:
        return 0
    n_open, begin = n, begin + s.trees.tree_open[tree]
    for i in range(begin, begin + s.trees.tree_kept[tree]):
        s.scratch.ids[n] = s.trees.spread[i]
        n += 1
    for side in range(2):
        if not open_ & (side + 1):
            n = _insert(s.scratch, n_open, n, s.options.option_child[option, side])
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
def _store(s: Space, n_open: int, n_kept: int, parent: int, option: int, bound: int) -> None:
    """Add the tree of the leaves ``scratch.ids`` to the cache."""
    used = s.trees.used
    tree, begin = used[search_counters.TREES], used[search_counters.SPREAD]
    for i in range(n_open + n_kept):
        s.trees.spread[begin + i] = s.scratch.ids[i]
    used[search_counters.TREES] += 1
    used[search_counters.SPREAD] += n_open + n_kept
    used[search_counters.LONGEST] = max(used[search_counters.LONGEST], n_open + n_kept)
    s.trees.tree_at[tree], s.trees.tree_open[tree], s.trees.tree_kept[tree] = begin, n_open, n_kept
    s.trees.tree_parent[tree], s.trees.tree_option[tree] = parent, option
    s.trees.tree_bound[tree] = bound
    if s.params.permutation:
        enter(s, tree)


@helper
def _enqueue(s: Space, tree: int, objective: int) -> None:
    """Queue a stored tree by the scheduling policy."""
    bound = s.trees.tree_bound[tree]
    s.trees.buckets[bucket_of(s.params, bound)] += 1
    key = priority(
        s.params,
        tree,
        s.trees.tree_splits[tree],
        s.trees.tree_closed[tree],
        bound,
        objective,
        s.trees.tree_weight[tree],
        s.trees.tree_impurity[tree],
    )
    push(s.trees, key, tree)
