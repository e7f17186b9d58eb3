"""The leaf cache: each set of rows is counted once, and split once in every possible way."""

from __future__ import annotations

import numpy as np

from solver.kernels.constants import GOLDEN
from solver.kernels.hash_tables import mixed
from solver.kernels.jit import helper, popcount
from solver.objective.exact_objective import INFINITE
from solver.osdt import search_counters
from solver.osdt.bounds import (
    floor_of,
    gains_too_little,
    is_right_too_rarely,
    lower_of_similar,
    lower_of_split,
    must_stay,
    too_dear,
)
from solver.osdt.scheduling_policies import impurity_of
from solver.osdt.state import Options, Scratch, Space, Trees


@helper
def limit_of(trees: Trees) -> int:
    """The cost that is to be undercut."""
    return int(min(trees.used[search_counters.BEST], trees.used[search_counters.KNOWN]))


@helper
def count(s: Space, side: int) -> None:
    """Weights of the classes, and the minority weight, of the rows ``scratch.rows[side]``."""
    for c in range(s.scratch.counts.shape[1]):
        s.scratch.counts[side, c] = 0
    for p in range(len(s.table.times)):
        found = 0
        for w in range(s.scratch.rows.shape[1]):
            found += popcount(s.scratch.rows[side, w] & s.table.planes[p, w])
        s.scratch.counts[side, s.table.member[p]] += found * s.table.times[p]


@helper
def weight_of(scratch: Scratch, side: int) -> int:
    """Of all classes."""
    total = 0
    for c in range(scratch.counts.shape[1] - 1):
        total += scratch.counts[side, c]
    return total


@helper
def error_of(s: Space, side: int, weight: int) -> int:
    """Cost of a leaf with these counts."""
    most = 0
    for c in range(s.scratch.counts.shape[1] - 1):
        most = max(most, s.scratch.counts[side, c])
    return s.params.error * (weight - most)


@helper
def has_one_row(scratch: Scratch, side: int) -> bool:
    """Whether the rows are a single distinct one, which nothing parts."""
    found = 0
    for w in range(scratch.rows.shape[1]):
        found += popcount(scratch.rows[side, w])
    return found < 2


@helper
def find_leaf(s: Space, side: int, depth: int) -> int:
    """The number of the leaf that captures ``scratch.rows[side]``; a new one if it is not known."""
    words = s.scratch.rows.shape[1]
    key = mixed(np.uint64(depth + 1) * GOLDEN)
    for w in range(words):
        key = mixed(key ^ s.scratch.rows[side, w]) + GOLDEN
    mask = len(s.leaves.leaf_slots) - 1
    slot = np.int64(key & np.uint64(mask))
    while s.leaves.leaf_slots[slot] >= 0:
        leaf = int(s.leaves.leaf_slots[slot])
        if s.leaves.leaf_hash[leaf] == key and s.leaves.leaf_depth[leaf] == depth:
            same = True
            for w in range(words):
                if s.leaves.leaf_rows[leaf, w] != s.scratch.rows[side, w]:
                    same = False
                    break
            if same:
                return leaf
        slot = (slot + 1) & mask
    leaf = int(s.trees.used[search_counters.LEAVES])
    s.trees.used[search_counters.LEAVES] += 1
    s.leaves.leaf_slots[slot], s.leaves.leaf_hash[leaf] = leaf, key
    _describe(s, side, leaf, depth)
    return leaf


@helper
def _describe(s: Space, side: int, leaf: int, depth: int) -> None:
    """Write down a new leaf."""
    for w in range(s.scratch.rows.shape[1]):
        s.leaves.leaf_rows[leaf, w] = s.scratch.rows[side, w]
    classes = s.scratch.counts.shape[1] - 1
    for c in range(classes + 1):
        s.leaves.leaf_counts[leaf, c] = s.scratch.counts[side, c]
    weight = weight_of(s.scratch, side)
    error = error_of(s, side, weight)
    floor = floor_of(s.params, s.scratch.counts[side, classes])
    s.leaves.leaf_depth[leaf], s.leaves.leaf_weight[leaf] = depth, weight
    s.leaves.leaf_error[leaf], s.leaves.leaf_first[leaf], s.leaves.leaf_options[leaf] = error, -1, 0
    s.leaves.leaf_impurity[leaf] = impurity_of(s.params, s.scratch.counts, side, classes)
    lower = lower_of_split(s.params, floor)
    if must_stay(s.params, error, floor):
        s.trees.used[search_counters.BY_SUPPORT] += 1
        lower = INFINITE
    elif has_one_row(s.scratch, side) or depth >= s.params.depth or weight < 2 * s.params.min_leaf:
        lower = INFINITE
    s.leaves.leaf_lower[leaf] = lower


@helper
def part(s: Space, leaf: int, feature: int) -> None:
    """The rows and counts of both sides of a split, in ``scratch``."""
    for w in range(s.scratch.rows.shape[1]):
        rows, ones = s.leaves.leaf_rows[leaf, w], s.table.features[feature, w]
        s.scratch.rows[0, w], s.scratch.rows[1, w] = rows & ~ones, rows & ones
    count(s, 1)
    for c in range(s.scratch.counts.shape[1]):
        s.scratch.counts[0, c] = s.leaves.leaf_counts[leaf, c] - s.scratch.counts[1, c]


@helper
def expand_leaf(s: Space, leaf: int) -> None:
    """Find all ways to split a leaf that may pay, by their cost."""
    first = s.trees.used[search_counters.OPTIONS]
    depth = s.leaves.leaf_depth[leaf]
    below = depth + 1 if s.params.depth < INFINITE else 0
    for feature in range(len(s.table.features)):
        s.scratch.feature_lower[feature] = -1
        part(s, leaf, feature)
        left, right = weight_of(s.scratch, 0), weight_of(s.scratch, 1)
        if left < s.params.min_leaf or right < s.params.min_leaf:
            continue
        left_error = error_of(s, 0, left)
        right_error = error_of(s, 1, right)
        if is_right_too_rarely(s.params, left, left_error) or is_right_too_rarely(
            s.params, right, right_error
        ):
            s.trees.used[search_counters.BY_ACCURACY] += 1
            continue
        children = (
            find_leaf(s, 0, below),
            find_leaf(s, 1, below),
        )
        _add_options(s, leaf, feature, children)
    if s.params.similar_support:
        _raise_similar(s, leaf, first)
    _sort(s.options, first, s.trees.used[search_counters.OPTIONS])
    _cut(s, leaf, first)


@helper
def _add_options(s: Space, leaf: int, feature: int, children: tuple[int, int]) -> None:
    """One split, with each choice of new leaves to be split again."""
    left, right = children
    errors = s.leaves.leaf_error[left], s.leaves.leaf_error[right]
    lowers = s.leaves.leaf_lower[left], s.leaves.leaf_lower[right]
    # Where all splits of a leaf were too dear, they cost the best tree's cost or more, and that is
    # all that is known.
    dear = limit_of(s.trees)
    s.scratch.feature_lower[feature] = (
        s.params.split + min(errors[0], lowers[0], dear) + min(errors[1], lowers[1], dear)
    )
    least = 0
    if gains_too_little(s.params, s.leaves.leaf_error[leaf], errors[0], errors[1]):
        s.trees.used[search_counters.BY_INCREMENTAL] += 1
        least = 1
    for choice in range(least, 4):
        if (choice & 1 and lowers[0] >= INFINITE) or (choice & 2 and lowers[1] >= INFINITE):
            continue
        at = s.trees.used[search_counters.OPTIONS]
        s.trees.used[search_counters.OPTIONS] += 1
        closed, cost = s.params.split, s.params.split
        for side in range(2):
            if choice & (side + 1):
                cost += lowers[side]
            else:
                closed += errors[side]
                cost += errors[side]
        s.options.option_cost[at], s.options.option_closed[at] = cost, closed
        s.options.option_feature[at], s.options.option_open[at] = feature, choice
        s.options.option_child[at, 0], s.options.option_child[at, 1] = left, right


@helper
def _raise_similar(s: Space, leaf: int, first: int) -> None:
    """Apply the similar support bound between all splits of a leaf."""
    weight = s.leaves.leaf_weight[leaf]
    for at in range(first, s.trees.used[search_counters.OPTIONS]):
        feature, cost = s.options.option_feature[at], s.options.option_cost[at]
        for other in range(len(s.table.features)):
            known = s.scratch.feature_lower[other]
            if other == feature or known <= cost:
                continue
            for w in range(s.scratch.rows.shape[1]):
                differ = s.table.features[feature, w] ^ s.table.features[other, w]
                s.scratch.rows[0, w] = s.leaves.leaf_rows[leaf, w] & differ
            count(s, 0)
            apart = weight_of(s.scratch, 0)
            bound = lower_of_similar(known, s.params.error * min(apart, weight - apart))
            if bound > cost:
                cost = bound
                s.trees.used[search_counters.BY_SIMILAR] += 1
        s.options.option_cost[at] = cost


@helper
def _swap(options: Options, i: int, j: int) -> None:
    cost, closed = options.option_cost, options.option_closed
    feature, open_ = options.option_feature, options.option_open
    cost[i], cost[j] = cost[j], cost[i]
    closed[i], closed[j] = closed[j], closed[i]
    feature[i], feature[j] = feature[j], feature[i]
    open_[i], open_[j] = open_[j], open_[i]
    for side in range(2):
        a, b = options.option_child[i, side], options.option_child[j, side]
        options.option_child[i, side], options.option_child[j, side] = b, a


@helper
def _is_before(options: Options, i: int, j: int) -> bool:
    """By cost, then feature, then the child that is split again: the same order everywhere."""
    if options.option_cost[i] != options.option_cost[j]:
        return bool(options.option_cost[i] < options.option_cost[j])
    if options.option_feature[i] != options.option_feature[j]:
        return bool(options.option_feature[i] < options.option_feature[j])
    return bool(options.option_open[i] < options.option_open[j])


@helper
def _sink(options: Options, first: int, at: int, size: int) -> None:
    """Let an entry of a heap, the last on top, sink to its place."""
    while 2 * at + 1 < size:
        child = 2 * at + 1
        if child + 1 < size and _is_before(options, first + child, first + child + 1):
            child += 1
        if not _is_before(options, first + at, first + child):
            return
        _swap(options, first + at, first + child)
        at = child


@helper
def _sort(options: Options, first: int, end: int) -> None:
    """Heapsort: no room needed, and never slow."""
    size = end - first
    for at in range(size // 2 - 1, -1, -1):
        _sink(options, first, at, size)
    for last in range(size - 1, 0, -1):
        _swap(options, first, first + last)
        _sink(options, first, 0, last)


@helper
def _cut(s: Space, leaf: int, first: int) -> None:
    """Keep the options that alone cost less than the best tree, and the leaf's bounds from them."""
    end, best = s.trees.used[search_counters.OPTIONS], limit_of(s.trees)
    while end > first and too_dear(s.params, s.options.option_cost[end - 1], best):
        end -= 1
    s.trees.used[search_counters.OPTIONS] = end
    s.leaves.leaf_first[leaf], s.leaves.leaf_options[leaf] = first, end - first
    if end == first:
        s.leaves.leaf_lower[leaf] = INFINITE
    elif s.params.two_steps and s.options.option_cost[first] > s.leaves.leaf_lower[leaf]:
        s.leaves.leaf_lower[leaf] = s.options.option_cost[first]
        s.trees.used[search_counters.BY_TWO_STEPS] += 1
