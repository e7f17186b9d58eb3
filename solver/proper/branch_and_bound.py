"""The best tree of a region: every rule at its root, the other splits shared between both sides.

This is the recursion of Theorem 4.13 with the minimum over the K-combinations of Theorem 4.3
inside. A rule of a region is any dichotomy of its points, so both sides are problems of the same
kind with fewer points and fewer splits.

Two bounds save most of the work. The least cost of a rule is compared with the best tree so far.
And the known cost of a rule bounds other rules, see :mod:`solver.proper.rule_bounds`.

With a smallest leaf size, that replacement may leave leaves that are too small. Then a rule is
evaluated with leaves of any size first, which bounds it and its neighbours, and again with the
limit if that does not exclude it.
"""

from __future__ import annotations

import numpy as np

from solver.kernels.constants import PROVEN, RUNNING, Ints, Words
from solver.kernels.jit import helper, kernel
from solver.objective.exact_objective import INFINITE
from solver.proper.mask_sets import hash_of, insert
from solver.proper.rule_bounds import (
    begin_sides,
    bound_by,
    bound_others,
    count_next_of,
    count_rows_of,
    leaf_loss,
    most_splits,
    moving_weight,
    stump_loss,
    sweep,
    weight_in,
)
from solver.proper.state import (
    ALLOWED,
    ANSWER,
    AT,
    BEST,
    COST,
    DEPTH,
    EXACT,
    FLOOR,
    LEAST,
    LEFT,
    LIMIT,
    NEAR,
    PHASE,
    RELAXED,
    RULES,
    SIZE,
    SPLITS,
    WEIGHT,
    AnyRows,
    Levels,
    Memo,
    Params,
    Scratch,
)

EVALUATED, LOOKUPS, HITS, REGIONS, ROOTS = range(5)


@helper
def enter(params: Params, rows: AnyRows, levels: Levels, scratch: Scratch, at: int) -> None:
    """Find the different dichotomies of a region among those of the region above it.

    ``levels.region[at]`` and the limits in its frame are given. A dichotomy with a side that is too
    small here is so in all parts of the region (4.8.1).
    """
    region = levels.region[at]
    count_rows_of(rows, region, scratch.whole)
    weight = weight_in(rows, scratch.whole)
    least = 1 if levels.frame[at, RELAXED] else params.min_leaf
    slots, mask = scratch.slots, scratch.mask
    top = len(slots) - 1
    for i in range(len(slots)):
        slots[i] = -1
    first = 0
    while region[first] == 0:
        first += 1
    lowest = region[first] & (~region[first] + np.uint64(1))
    above, number = at - 1, 0
    for q in range(levels.frame[above, RULES]):
        other = levels.masks[above, q]
        flip = (other[first] & lowest) != 0
        empty = True
        for w in range(len(mask)):
            mask[w] = region[w] & (~other[w] if flip else other[w])
            if mask[w] != 0:
                empty = False
        if empty:
            continue
        slot = np.int64(hash_of(mask) & np.uint64(top))
        known = False
        while slots[slot] >= 0 and not known:
            known = True
            for w in range(len(mask)):
                if levels.masks[at, slots[slot], w] != mask[w]:
                    known = False
            if not known:
                slot = (slot + 1) & top
        if known:
            continue
        inside = levels.inside[at, number]
        count_next_of(rows, levels, at, number, mask)
        part = weight_in(rows, inside)
        if part < least or weight - part < least:
            continue
        slots[slot] = number
        for w in range(len(mask)):
            levels.masks[at, number, w] = mask[w]
        levels.rule[at, number] = levels.rule[above, q] ^ flip
        number += 1
    begin(params, rows, levels, scratch, at, number, 0, number)


@helper
def begin(
    params: Params, rows: AnyRows, levels: Levels, scratch: Scratch, at: int, number: int,
    first: int, end: int,
) -> None:  # fmt: skip
    """Set the frame of a region with N dichotomies, of which a range may be at the root."""
    frame = levels.frame[at]
    count_rows_of(rows, levels.region[at], scratch.whole)
    frame[RULES] = number
    frame[LEFT] = end - first
    frame[WEIGHT] = moving_weight(rows, scratch.whole)
    frame[COST] = params.error * leaf_loss(rows, scratch.whole)
    frame[BEST], frame[SIZE], frame[AT], frame[EXACT] = -1, 0, -1, 0
    frame[FLOOR] = INFINITE
    for i in range(end - first):
        levels.left[at, i] = first + i
        levels.bound[at, first + i] = params.split
    begin_sides(rows, levels, at, number)
    scratch.progress[REGIONS] += 1


@helper
def _allowed(frame: Ints) -> int:
    """What a tree may cost: less than the best one."""
    return int(min(frame[LIMIT], frame[COST] - 1))


@helper
def _choose(params: Params, rows: AnyRows, levels: Levels, scratch: Scratch, at: int) -> bool:
    """Drop the rules that cost too much, and take the one with the least bound, at a tie with the
    fewest errors as a stump; False if none is left."""
    frame = levels.frame[at]
    left, bound = levels.left[at], levels.bound[at]
    kept, best, least, fewest = 0, -1, INFINITE, INFINITE
    count_rows_of(rows, levels.region[at], scratch.whole)
    for i in range(frame[LEFT]):
        q = left[i]
        if bound[q] > _allowed(frame):
            frame[FLOOR] = min(frame[FLOOR], bound[q])
            continue
        left[kept] = q
        if bound[q] <= least:
            errors = stump_loss(rows, scratch, levels.inside[at, q])
            if bound[q] < least or errors < fewest:
                best, least, fewest = kept, bound[q], errors
        kept += 1
    if best < 0:
        frame[LEFT] = 0
        return False
    frame[AT] = left[best]
    left[best] = left[kept - 1]
    frame[LEFT] = kept - 1
    return True


@helper
def _evaluate(params: Params, rows: AnyRows, levels: Levels, scratch: Scratch, at: int) -> None:
    """The costs of the current rule's sides as leaves and as stumps."""
    frame = levels.frame[at]
    sweep(params, rows, levels, scratch, at, frame[AT])
    depth = frame[DEPTH] - 1
    frame[ALLOWED] = _allowed(frame)
    frame[LEAST], frame[PHASE] = INFINITE, 0
    for side in range(2):
        part = scratch.above if side == 0 else scratch.below
        cost, size = params.error * leaf_loss(rows, part), 0
        levels.sub_cost[at, side, 0], levels.sub_size[at, side, 0] = cost, 0
        if frame[SPLITS] > 1:
            stump = scratch.stump[2 * side]
            if depth > 0 and stump < cost:
                cost, size = stump, 1
                rule = levels.rule[at, scratch.stump[2 * side + 1]]
                levels.sub_tree[at, side, 1, 0, 0] = rule
                levels.sub_tree[at, side, 1, 0, 1] = 0
            levels.sub_cost[at, side, 1], levels.sub_size[at, side, 1] = cost, size
        for more in range(2, frame[SPLITS]):  # not known yet
            levels.sub_cost[at, side, more] = 0


@helper
def _copy_tree(source: Ints, size: int, target: Ints, first: int) -> None:
    for i in range(size):
        target[first + i, 0] = source[i, 0]
        target[first + i, 1] = source[i, 1]


@helper
def _descend(
    params: Params, rows: AnyRows, levels: Levels, scratch: Scratch, memo: Memo, at: int, side: int,
    splits: int, limit: int,
) -> bool:  # fmt: skip
    """Look for the best tree of a side; False if it is known without a search."""
    frame, below = levels.frame[at], levels.frame[at + 1]
    if limit < 0:
        levels.sub_cost[at, side, splits], levels.sub_size[at, side, splits] = 0, -1
        return False
    chosen, region = levels.masks[at, frame[AT]], levels.region[at + 1]
    for w in range(len(region)):
        region[w] = levels.region[at, w] & (~chosen[w] if side else chosen[w])
    below[SPLITS], below[DEPTH], below[LIMIT] = splits, frame[DEPTH] - 1, limit
    below[ANSWER] = 2 * splits + side
    below[RELAXED] = frame[RELAXED] or not frame[EXACT]
    # The cost limit of a rule with leaves of any size also depends on the regions above.
    if params.memo and not below[RELAXED]:
        place = find(memo, region, below)
        scratch.progress[LOOKUPS] += 1
        if place >= 0 and (memo.size[place] >= 0 or memo.cost[place] > limit):
            scratch.progress[HITS] += 1
            levels.sub_cost[at, side, splits] = memo.cost[place]
            levels.sub_size[at, side, splits] = memo.size[place]
            size = max(memo.size[place], 0)
            _copy_tree(memo.tree[place], size, levels.sub_tree[at, side, splits], 0)
            return False
    enter(params, rows, levels, scratch, at + 1)
    return True


@helper
def find(memo: Memo, region: Words, frame: Ints) -> int:
    """Where the best tree of a region within its limits is remembered, or −1."""
    key = memo.key
    for w in range(len(region)):
        key[w] = region[w]
    splits, depth = frame[SPLITS], min(frame[DEPTH], frame[SPLITS])
    key[len(region)] = np.uint64(splits) + (np.uint64(depth) << np.uint64(32))
    top = len(memo.regions.slots) - 1
    slot = np.int64(hash_of(key) & np.uint64(top))
    while memo.regions.slots[slot] >= 0:
        place = memo.regions.slots[slot]
        same = True
        for w in range(len(key)):
            if memo.regions.masks[place, w] != key[w]:
                same = False
        if same:
            return int(place)
        slot = (slot + 1) & top
    return -1


@helper
def _remember(memo: Memo, levels: Levels, at: int, cost: int, size: int) -> None:
    """Remember the bounds of a region while there is room."""
    frame = levels.frame[at]
    place = find(memo, levels.region[at], frame)
    if place < 0:
        place = memo.regions.used[0]
        if place == len(memo.regions.masks):
            return
        insert(memo.regions, memo.key)
    memo.cost[place], memo.size[place] = cost, size
    _copy_tree(levels.tree[at], max(size, 0), memo.tree[place], 0)


@helper
def _pass_up(params: Params, levels: Levels, memo: Memo, at: int) -> None:
    """Pass the cost of a region's best tree to the level above."""
    frame = levels.frame[at]
    side, splits = frame[ANSWER] & 1, frame[ANSWER] >> 1
    known = frame[COST] <= frame[FLOOR]
    cost, size = min(frame[COST], frame[FLOOR]), frame[SIZE] if known else -1
    levels.sub_cost[at - 1, side, splits], levels.sub_size[at - 1, side, splits] = cost, size
    _copy_tree(levels.tree[at], max(size, 0), levels.sub_tree[at - 1, side, splits], 0)
    if params.memo and not frame[RELAXED]:
        _remember(memo, levels, at, cost, size if cost <= frame[LIMIT] else -1)


@helper
def _take_share(params: Params, levels: Levels, at: int, above: int, below: int) -> None:
    """Compare a division of the splits with the best one of the current rule."""
    frame = levels.frame[at]
    cost = params.split + levels.sub_cost[at, 0, above] + levels.sub_cost[at, 1, below]
    if cost >= frame[LEAST]:
        return
    frame[LEAST] = cost
    first, second = levels.sub_size[at, 0, above], levels.sub_size[at, 1, below]
    if frame[EXACT] and cost <= frame[ALLOWED] and first >= 0 and second >= 0:
        tree = levels.tree[at]
        tree[0, 0], tree[0, 1] = levels.rule[at, frame[AT]], first
        _copy_tree(levels.sub_tree[at, 0, above], first, tree, 1)
        _copy_tree(levels.sub_tree[at, 1, below], second, tree, 1 + first)
        frame[COST], frame[BEST], frame[SIZE] = cost, frame[AT], 1 + first + second


@helper
def _share_out(
    params: Params, rows: AnyRows, levels: Levels, scratch: Scratch, memo: Memo, at: int
) -> bool:
    """Continue with the current rule; False if the level below must find a tree first."""
    frame = levels.frame[at]
    splits, depth = frame[SPLITS], frame[DEPTH] - 1
    limit = frame[ALLOWED] + params.surplus
    while frame[PHASE] < 3 * splits:
        share, phase = frame[PHASE] // 3, frame[PHASE] % 3
        above = most_splits(share, depth)
        below = most_splits(splits - 1 - share, depth)
        frame[PHASE] += 1
        if phase == 0 and above >= 2:
            rest = levels.sub_cost[at, 1, below] if below < 2 else 0
            to_spend = limit - params.split - rest
            if _descend(params, rows, levels, scratch, memo, at, 0, above, to_spend):
                return False
        if phase == 1 and below >= 2:
            to_spend = limit - params.split - levels.sub_cost[at, 0, above]
            if _descend(params, rows, levels, scratch, memo, at, 1, below, to_spend):
                return False
        if phase == 2:
            _take_share(params, levels, at, above, below)
            if frame[LEAST] <= levels.bound[at, frame[AT]]:
                break  # no other division costs less
    return True


def _step(
    params: Params,
    rows: AnyRows,
    levels: Levels,
    scratch: Scratch,
    memo: Memo,
    top: Ints,
    steps: int,
) -> int:
    """Evaluate some rules; return PROVEN or RUNNING. ``top`` holds the current level."""
    until = scratch.progress[EVALUATED] + steps
    while scratch.progress[EVALUATED] < until:
        at = top[0]
        frame = levels.frame[at]
        if frame[SPLITS] == 1:
            _best_stump(params, rows, levels, scratch)
            scratch.progress[EVALUATED] += 1
            return PROVEN
        if frame[AT] < 0:
            if not _choose(params, rows, levels, scratch, at):
                if at == 0:
                    return PROVEN
                _pass_up(params, levels, memo, at)
                top[0] = at - 1
                continue
            # Of leaves of any size the relaxed cost is the cost.
            frame[EXACT] = params.min_leaf == 1 or frame[RELAXED]
            frame[NEAR], frame[PHASE] = -1, -1
        if frame[PHASE] < 0:
            _evaluate(params, rows, levels, scratch, at)
            scratch.progress[EVALUATED] += 1
        if not _share_out(params, rows, levels, scratch, memo, at):
            top[0] = at + 1
            continue
        if frame[NEAR] < 0:
            frame[NEAR] = frame[LEAST]
            bound_others(params, rows, levels, scratch, at)
        if not frame[EXACT] and frame[LEAST] <= frame[ALLOWED]:
            frame[EXACT], frame[PHASE] = 1, -1
            continue
        if frame[BEST] != frame[AT]:
            frame[FLOOR] = min(frame[FLOOR], frame[LEAST])
        if at == 0:
            scratch.roots[scratch.progress[ROOTS]] = frame[AT]
            levels.bound[0, frame[AT]] = frame[NEAR]
            scratch.progress[ROOTS] += 1
        frame[AT] = -1
    return RUNNING


@helper
def _best_stump(params: Params, rows: AnyRows, levels: Levels, scratch: Scratch) -> None:
    """The best tree of one split of all rows."""
    frame = levels.frame[0]
    count_rows_of(rows, levels.region[0], scratch.whole)
    for i in range(frame[LEFT]):
        q = levels.left[0, i]
        errors = stump_loss(rows, scratch, levels.inside[0, q])
        cost = params.split + params.error * errors
        if cost < frame[COST]:
            frame[COST], frame[BEST], frame[SIZE] = cost, q, 1
            levels.tree[0, 0, 0], levels.tree[0, 0, 1] = levels.rule[0, q], 0
    frame[LEFT] = 0


@helper
def _share(rules: int, index: int, number: int) -> tuple[int, int]:
    """The rules that shard ``index`` of ``number`` has at the root: a range."""
    return rules * index // number, rules * (index + 1) // number


def _load(
    params: Params, rows: AnyRows, levels: Levels, scratch: Scratch, masks: Words, index: int,
    number: int, least: int,
) -> None:  # fmt: skip
    """Take the dichotomies of all rows, except those with a side that is too small.

    Only part ``index`` of ``number`` parts of them may be at the root. No tree with a split costs
    less than ``least``.
    """
    region, taken = levels.region[0], 0
    count_rows_of(rows, region, scratch.whole)
    weight = weight_in(rows, scratch.whole)
    for rule in range(len(masks)):
        inside = levels.inside[0, taken]
        count_rows_of(rows, masks[rule], inside)
        part = weight_in(rows, inside)
        if part < params.min_leaf or weight - part < params.min_leaf:
            continue
        for w in range(len(region)):
            levels.masks[0, taken, w] = masks[rule, w]
        levels.rule[0, taken] = 2 * rule
        taken += 1
    first, end = _share(taken, index, number)
    begin(params, rows, levels, scratch, 0, taken, first, end)
    for q in range(first, end):
        levels.bound[0, q] = max(levels.bound[0, q], least)


def _hear(params: Params, rows: AnyRows, levels: Levels, roots: Ints) -> None:
    """Bound the rules left at the root by rules that others have evaluated, and their costs."""
    for i in range(len(roots)):
        bound_by(params, rows, levels, 0, roots[i, 0], roots[i, 1])


def _add_others(
    params: Params, rows: AnyRows, levels: Levels, scratch: Scratch, index: int, number: int,
    preferred: bool,
) -> None:  # fmt: skip
    """Let a shard that is done have rules of the others at the root: first every ``number``-th,
    other ones for each shard, then all the others."""
    frame, left = levels.frame[0], 0
    first, end = _share(frame[RULES], index, number)
    for q in range(frame[RULES]):
        if first <= q < end or (q % number == index) != preferred:
            continue
        levels.left[0, left] = q
        levels.bound[0, q] = max(levels.bound[0, q], params.split)
        left += 1
    frame[LEFT] = left
    for i in range(scratch.progress[ROOTS]):
        rule = scratch.roots[i]
        bound_by(params, rows, levels, 0, rule, levels.bound[0, rule])


# For classification and for regression.
load, load_squares = kernel(_load), kernel(_load)
step, step_squares = kernel(_step), kernel(_step)
hear, hear_squares = kernel(_hear), kernel(_hear)
add_others, add_others_squares = kernel(_add_others), kernel(_add_others)
