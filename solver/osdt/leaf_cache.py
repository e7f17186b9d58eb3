"""The leaf cache: each set of rows is counted once, and split once in every possible way."""

from __future__ import annotations

import numpy as np

from solver.kernels.constants import GOLDEN
from solver.kernels.jit import helper, popcount
from solver.objective.exact import INFINITE
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
from solver.osdt.state import (
    BEST,
    BY_ACCURACY,
    BY_INCREMENTAL,
    BY_SIMILAR,
    BY_SUPPORT,
    BY_TWO_STEPS,
    KNOWN,
    LEAVES,
    OPTIONS,
    Leaves,
    Options,
    Params,
    Scratch,
    Table,
    Trees,
)

_MORE = np.uint64(0xD6E8FEB86659FD93)
_SHIFT = np.uint64(32)


@helper
def mix(value: np.uint64) -> np.uint64:
    """A number whose bits all depend on all bits of the one given."""
    value = (value ^ (value >> _SHIFT)) * _MORE
    value = (value ^ (value >> _SHIFT)) * _MORE
    return value ^ (value >> _SHIFT)


@helper
def limit_of(trees: Trees) -> int:
    """The cost that is to be undercut."""
    return int(min(trees.used[BEST], trees.used[KNOWN]))


@helper
def count(table: Table, scratch: Scratch, side: int) -> None:
    """Weights of the classes, and the minority weight, of the rows ``scratch.rows[side]``."""
    for c in range(scratch.counts.shape[1]):
        scratch.counts[side, c] = 0
    for p in range(len(table.times)):
        found = 0
        for w in range(scratch.rows.shape[1]):
            found += popcount(scratch.rows[side, w] & table.planes[p, w])
        scratch.counts[side, table.member[p]] += found * table.times[p]


@helper
def weight_of(scratch: Scratch, side: int) -> int:
    """Of all classes."""
    total = 0
    for c in range(scratch.counts.shape[1] - 1):
        total += scratch.counts[side, c]
    return total


@helper
def error_of(params: Params, scratch: Scratch, side: int, weight: int) -> int:
    """Cost of a leaf with these counts."""
    most = 0
    for c in range(scratch.counts.shape[1] - 1):
        most = max(most, scratch.counts[side, c])
    return params.error * (weight - most)


@helper
def has_one_row(scratch: Scratch, side: int) -> bool:
    """Whether the rows are a single distinct one, which nothing parts."""
    found = 0
    for w in range(scratch.rows.shape[1]):
        found += popcount(scratch.rows[side, w])
    return found < 2


@helper
def find_leaf(
    params: Params, leaves: Leaves, trees: Trees, scratch: Scratch, side: int, depth: int
) -> int:
    """The number of the leaf that captures ``scratch.rows[side]``; a new one if it is not known."""
    words = scratch.rows.shape[1]
    key = mix(np.uint64(depth + 1) * GOLDEN)
    for w in range(words):
        key = mix(key ^ scratch.rows[side, w]) + GOLDEN
    mask = len(leaves.leaf_slots) - 1
    slot = np.int64(key & np.uint64(mask))
    while leaves.leaf_slots[slot] >= 0:
        leaf = int(leaves.leaf_slots[slot])
        if leaves.leaf_hash[leaf] == key and leaves.leaf_depth[leaf] == depth:
            same = True
            for w in range(words):
                if leaves.leaf_rows[leaf, w] != scratch.rows[side, w]:
                    same = False
                    break
            if same:
                return leaf
        slot = (slot + 1) & mask
    leaf = int(trees.used[LEAVES])
    trees.used[LEAVES] += 1
    leaves.leaf_slots[slot], leaves.leaf_hash[leaf] = leaf, key
    _describe(params, leaves, trees, scratch, side, leaf, depth)
    return leaf


@helper
def _describe(
    params: Params,
    leaves: Leaves,
    trees: Trees,
    scratch: Scratch,
    side: int,
    leaf: int,
    depth: int,
) -> None:
    """Write down a new leaf."""
    for w in range(scratch.rows.shape[1]):
        leaves.leaf_rows[leaf, w] = scratch.rows[side, w]
    classes = scratch.counts.shape[1] - 1
    for c in range(classes + 1):
        leaves.leaf_counts[leaf, c] = scratch.counts[side, c]
    weight = weight_of(scratch, side)
    error = error_of(params, scratch, side, weight)
    floor = floor_of(params, scratch.counts[side, classes])
    leaves.leaf_depth[leaf], leaves.leaf_weight[leaf] = depth, weight
    leaves.leaf_error[leaf], leaves.leaf_first[leaf], leaves.leaf_options[leaf] = error, -1, 0
    leaves.leaf_impurity[leaf] = impurity_of(params, scratch.counts, side, classes)
    lower = lower_of_split(params, floor)
    if must_stay(params, error, floor):
        trees.used[BY_SUPPORT] += 1
        lower = INFINITE
    elif has_one_row(scratch, side) or depth >= params.depth or weight < 2 * params.min_leaf:
        lower = INFINITE
    leaves.leaf_lower[leaf] = lower


@helper
def part(table: Table, leaves: Leaves, scratch: Scratch, leaf: int, feature: int) -> None:
    """The rows and counts of both sides of a split, in ``scratch``."""
    for w in range(scratch.rows.shape[1]):
        rows, ones = leaves.leaf_rows[leaf, w], table.features[feature, w]
        scratch.rows[0, w], scratch.rows[1, w] = rows & ~ones, rows & ones
    count(table, scratch, 1)
    for c in range(scratch.counts.shape[1]):
        scratch.counts[0, c] = leaves.leaf_counts[leaf, c] - scratch.counts[1, c]


@helper
def expand_leaf(
    table: Table,
    params: Params,
    leaves: Leaves,
    options: Options,
    trees: Trees,
    scratch: Scratch,
    leaf: int,
) -> None:
    """Find all ways to split a leaf that may pay, by their cost."""
    first = trees.used[OPTIONS]
    depth = leaves.leaf_depth[leaf]
    below = depth + 1 if params.depth < INFINITE else 0
    for feature in range(len(table.features)):
        scratch.feature_lower[feature] = -1
        part(table, leaves, scratch, leaf, feature)
        left, right = weight_of(scratch, 0), weight_of(scratch, 1)
        if left < params.min_leaf or right < params.min_leaf:
            continue
        left_error = error_of(params, scratch, 0, left)
        right_error = error_of(params, scratch, 1, right)
        if is_right_too_rarely(params, left, left_error) or is_right_too_rarely(
            params, right, right_error
        ):
            trees.used[BY_ACCURACY] += 1
            continue
        children = (
            find_leaf(params, leaves, trees, scratch, 0, below),
            find_leaf(params, leaves, trees, scratch, 1, below),
        )
        _add_options(params, leaves, options, trees, scratch, leaf, feature, children)
    if params.similar_support:
        _raise_similar(table, params, leaves, options, trees, scratch, leaf, first)
    _sort(options, first, trees.used[OPTIONS])
    _cut(params, leaves, options, trees, leaf, first)


@helper
def _add_options(
    params: Params,
    leaves: Leaves,
    options: Options,
    trees: Trees,
    scratch: Scratch,
    leaf: int,
    feature: int,
    children: tuple[int, int],
) -> None:
    """One split, with each choice of new leaves to be split again."""
    left, right = children
    errors = leaves.leaf_error[left], leaves.leaf_error[right]
    lowers = leaves.leaf_lower[left], leaves.leaf_lower[right]
    # Where all splits of a leaf were too dear, they cost the best tree's cost or more, and that is
    # all that is known.
    dear = limit_of(trees)
    scratch.feature_lower[feature] = (
        params.split + min(errors[0], lowers[0], dear) + min(errors[1], lowers[1], dear)
    )
    least = 0
    if gains_too_little(params, leaves.leaf_error[leaf], errors[0], errors[1]):
        trees.used[BY_INCREMENTAL] += 1
        least = 1
    for choice in range(least, 4):
        if (choice & 1 and lowers[0] >= INFINITE) or (choice & 2 and lowers[1] >= INFINITE):
            continue
        at = trees.used[OPTIONS]
        trees.used[OPTIONS] += 1
        closed, cost = params.split, params.split
        for side in range(2):
            if choice & (side + 1):
                cost += lowers[side]
            else:
                closed += errors[side]
                cost += errors[side]
        options.option_cost[at], options.option_closed[at] = cost, closed
        options.option_feature[at], options.option_open[at] = feature, choice
        options.option_child[at, 0], options.option_child[at, 1] = left, right


@helper
def _raise_similar(
    table: Table,
    params: Params,
    leaves: Leaves,
    options: Options,
    trees: Trees,
    scratch: Scratch,
    leaf: int,
    first: int,
) -> None:
    """Apply the similar support bound between all splits of a leaf."""
    weight = leaves.leaf_weight[leaf]
    for at in range(first, trees.used[OPTIONS]):
        feature, cost = options.option_feature[at], options.option_cost[at]
        for other in range(len(table.features)):
            known = scratch.feature_lower[other]
            if other == feature or known <= cost:
                continue
            for w in range(scratch.rows.shape[1]):
                differ = table.features[feature, w] ^ table.features[other, w]
                scratch.rows[0, w] = leaves.leaf_rows[leaf, w] & differ
            count(table, scratch, 0)
            apart = weight_of(scratch, 0)
            bound = lower_of_similar(known, params.error * min(apart, weight - apart))
            if bound > cost:
                cost = bound
                trees.used[BY_SIMILAR] += 1
        options.option_cost[at] = cost


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
def _cut(
    params: Params, leaves: Leaves, options: Options, trees: Trees, leaf: int, first: int
) -> None:
    """Keep the options that alone cost less than the best tree, and the leaf's bounds from them."""
    end, best = trees.used[OPTIONS], limit_of(trees)
    while end > first and too_dear(params, options.option_cost[end - 1], best):
        end -= 1
    trees.used[OPTIONS] = end
    leaves.leaf_first[leaf], leaves.leaf_options[leaf] = first, end - first
    if end == first:
        leaves.leaf_lower[leaf] = INFINITE
    elif params.two_steps and options.option_cost[first] > leaves.leaf_lower[leaf]:
        leaves.leaf_lower[leaf] = options.option_cost[first]
        trees.used[BY_TWO_STEPS] += 1
