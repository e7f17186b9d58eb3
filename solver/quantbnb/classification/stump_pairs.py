"""Two best stumps at once: of both parts of a split of a set of rows."""

from __future__ import annotations

import numpy as np

from solver.kernels.constants import ONE, ZERO, Ints
from solver.kernels.jit import helper, popcount, trailing_zeros
from solver.quantbnb.classification.class_bounds import class_bound
from solver.quantbnb.classification.simd import BLOCK, GROUP, refine, sweep, word_below
from solver.quantbnb.classification.sorted_table import rank
from solver.quantbnb.classification.state import Params, Part, Sweep, Table

ALL = np.uint64(2**64 - 1)
LOW = np.uint64(63)


@helper
def divide(table: Table, whole: Part, feature: int, code: int, side: int, part: Part) -> None:
    """The rows of ``whole`` left (side 0) or right (side 1) of a threshold, as a part."""
    p, padded = table.sizes[0], table.sizes[1]
    classes, digits = table.sizes[2], table.sizes[3]
    blocks = padded // BLOCK
    for g in range(p):
        at = (feature * p + g) * padded
        for b in range(blocks):
            word = word_below(table.short_ranks, table.long_ranks, at + b * BLOCK, code)
            if side == 1:
                word = ~word
            part.rows[g, b] = word & whole.rows[g, b]
            part.below[g, b] = 0
        for k in range(classes):
            running = 0
            mine = (g * classes + k) * digits * blocks
            to = (g * classes + k) * blocks
            for b in range(blocks):
                for d in range(digits):
                    word = whole.planes[mine + d * blocks + b] & part.rows[g, b]
                    part.planes[mine + d * blocks + b] = word
                    running += popcount(word) << d
                part.prefix[to + b] = running
                part.below[g, b] += running
            if g == 0:
                part.totals[k] = running


@helper
def weight_below(table: Table, part: Part, feature: int, code: int) -> int:
    """Weight of the part's rows to the left of a threshold."""
    place = table.starts[table.offsets[feature] + code]
    block = place // BLOCK
    weight = 0
    if block > 0:
        weight = part.below[feature, block - 1]
    if place % BLOCK != 0:
        mask = (ONE << np.uint64(place % BLOCK)) - ONE
        word = part.rows[feature, block] & mask
        if table.sizes[3] == 1:
            weight += popcount(word)
        else:
            while word != ZERO:
                weight += table.weights[feature, block * BLOCK + trailing_zeros(word)]
                word &= word - ONE
    return weight


@helper
def code_holding(table: Table, part: Part, feature: int, weight: int) -> int:
    """Code of the first row in the order of a feature up to which rows have this weight."""
    low, high = 0, part.below.shape[1] - 1
    while low < high:
        middle = (low + high) // 2
        if part.below[feature, middle] >= weight:
            high = middle
        else:
            low = middle + 1
    rest = weight
    if low > 0:
        rest -= part.below[feature, low - 1]
    word = part.rows[feature, low]
    at = low * BLOCK
    while word != ZERO:
        at = low * BLOCK + trailing_zeros(word)
        word &= word - ONE
        rest -= table.weights[feature, at]
        if rest <= 0:
            break
    return rank(table, (feature * table.sizes[0] + feature) * table.sizes[1] + at)


@helper
def divide_totals(table: Table, part: Part, scratch: Sweep, feature: int, code: int) -> None:
    """The weights of the classes left and right of a threshold, in ``scratch.totals``."""
    classes, digits = table.sizes[2], table.sizes[3]
    blocks = table.sizes[1] // BLOCK
    place = table.starts[table.offsets[feature] + code]
    block = place // BLOCK
    mask = (ONE << np.uint64(place % BLOCK)) - ONE
    for k in range(classes):
        count = 0
        if block > 0:
            count = part.prefix[(feature * classes + k) * blocks + block - 1]
        if mask != ZERO:
            for d in range(digits):
                at = ((feature * classes + k) * digits + d) * blocks + block
                count += popcount(part.planes[at] & mask) << d
        scratch.totals[k] = count
        scratch.totals[classes + k] = part.totals[k] - count


@helper
def leaf_cost(
    table: Table, params: Params, part: Part, scratch: Sweep, feature: int, code: int, side: int
) -> int:
    """Cost of a leaf to the left (side 0) or right (side 1) of a threshold."""
    divide_totals(table, part, scratch, feature, code)
    weight, most = 0, 0
    for k in range(table.sizes[2]):
        count = scratch.totals[side * table.sizes[2] + k]
        weight += count
        most = max(most, count)
    return int(params.error * (weight - most))


@helper
def _look_inside(
    table: Table,
    part: Part,
    scratch: Sweep,
    feature: int,
    side: int,
    block: int,
    allowed: np.uint64,
) -> int:
    """Largest weight that a threshold behind one of some rows of a block classifies correctly."""
    classes, digits = table.sizes[2], table.sizes[3]
    blocks = table.sizes[1] // BLOCK
    for k in range(classes):
        count = 0
        if block > 0:
            count = scratch.cumulated[k * blocks + block - 1]
            if side == 1:
                count = part.prefix[(feature * classes + k) * blocks + block - 1] - count
        scratch.counts[k] = count
        scratch.counts[classes + k] = scratch.totals[side * classes + k] - count
    word = scratch.words[block]
    if side == 1:
        word = ~word
    best: int = refine(
        part.planes,
        feature * classes * digits * blocks + block,
        blocks,
        classes,
        digits,
        word,
        table.tails[feature, block] & allowed,
        scratch.counts,
    )
    return best


@helper
def _allowed(
    table: Table, min_leaf: int, part: Part, scratch: Sweep, feature: int, side: int, block: int
) -> np.uint64:
    """The rows of a block behind which both leaves have the least weight."""
    if min_leaf <= 1:
        return ALL
    classes, blocks = table.sizes[2], table.sizes[1] // BLOCK
    before, until, most = 0, 0, -min_leaf
    for k in range(classes):
        at = k * blocks + block
        whole = feature * classes * blocks + at
        since, end = 0, scratch.cumulated[at]
        if block > 0:
            since = scratch.cumulated[at - 1]
        if side == 1:
            end = part.prefix[whole] - end
            if block > 0:
                since = part.prefix[whole - 1] - since
        before += since
        until += end
        most += scratch.totals[side * classes + k]
    if before >= min_leaf and until <= most:
        return ALL
    allowed = ZERO
    if until >= min_leaf and before <= most:
        word = scratch.words[block]
        if side == 1:
            word = ~word
        word &= part.rows[feature, block]
        for i in range(BLOCK):
            here = ONE << np.uint64(i)
            if word & here != ZERO:
                before += table.weights[feature, block * BLOCK + i]
            if min_leaf <= before <= most:
                allowed |= here
    return allowed


@helper
def _cheapest(known: Ints) -> int:
    """The feature of the least bounds."""
    first = 0
    for g in range(known.shape[1]):
        if known[0, g] + known[1, g] < known[0, first] + known[1, first]:
            first = g
    return first


@helper
def _seek(
    table: Table,
    params: Params,
    part: Part,
    scratch: Sweep,
    g: int,
    side: int,
    most: int,
    relax: int,
    guess: Ints,
) -> int:
    """Look for a better stump by a swept feature inside the blocks that may hold one.

    It returns a weight: no stump by the feature classifies more correctly.
    """
    blocks = table.sizes[1] // BLOCK
    # A gain that a block's end already gives need not be searched inside.
    best = scratch.best[side]
    if params.min_leaf <= 1 and scratch.out[side] > best:
        best = scratch.out[side]
        guess[side, 0] = g
    unseen = max(scratch.out[side], scratch.out[2 + side])
    if unseen > best:
        unseen = scratch.out[side]
        if params.min_leaf > 1:
            unseen = most
        for b in range(blocks):
            bound = scratch.bounds[side * blocks + b]
            if bound > best:
                scratch.evaluations[2] += 1
                allowed = _allowed(table, params.min_leaf, part, scratch, g, side, b)
                wider = allowed
                if allowed != ALL:
                    wider = _allowed(table, relax, part, scratch, g, side, b)
                found = 0
                if allowed != ZERO:
                    found = _look_inside(table, part, scratch, g, side, b, allowed)
                bound = found
                if wider != allowed:
                    bound = _look_inside(table, part, scratch, g, side, b, wider)
                if found > best:
                    best = found
                    guess[side, 0] = g
            unseen = max(unseen, bound)
    scratch.best[side] = best
    return int(unseen)


@helper
def _settle(
    params: Params,
    scratch: Sweep,
    side: int,
    leaf: int,
    weight: int,
    known: Ints,
    caps: Ints,
    relaxed: Ints,
    guess: Ints,
) -> None:
    """The cost of a part, by all its stumps and as a leaf."""
    if guess[side, 0] >= 0:
        caps[side] = params.split + params.error * (weight - scratch.best[side])
    else:
        caps[side] = min(leaf, caps[side])
    relaxed[side] = caps[side]
    if params.min_leaf > 1 or params.exceed:
        relaxed[side] = leaf
        for g in range(known.shape[1]):
            relaxed[side] = min(relaxed[side], known[side, g])
    if params.min_leaf <= 1:
        relaxed[side] = max(relaxed[side], caps[side])


@helper
def _weigh(scratch: Sweep, classes: int) -> tuple[tuple[int, int], tuple[int, int]]:
    """Weights of both parts of a split, and those of their largest classes."""
    weights, most = (0, 0), (0, 0)
    for k in range(classes):
        a, b = scratch.totals[k], scratch.totals[classes + k]
        weights = (weights[0] + a, weights[1] + b)
        most = (max(most[0], a), max(most[1], b))
    return weights, most


@helper
def evaluate(
    table: Table,
    params: Params,
    part: Part,
    scratch: Sweep,
    feature: int,
    code: int,
    known: Ints,
    caps: Ints,
    relaxed: Ints,
    relax: Ints,
    guess: Ints,
) -> None:
    """Best stumps of both parts of a split.

    Parameters
    ----------
    known : (2, features)
        In: lower bounds on the costs of a stump by its feature. Out: better ones.
    caps : (2,)
        In: the cost from which a part is of no interest. Out: the cost of its best stump or leaf,
        or a lower bound of at least the cap. The stump's leaves have the least weight.
    relaxed : (2,)
        Out: lower bounds on the costs of the best stump or leaf, with leaves of weight ``relax``.
    relax : (2,)
    guess : (2, 2)
        Out: feature of the best stump if it is better than the cap and a leaf; else −1.
    """
    p, padded, classes = table.sizes[0], table.sizes[1], table.sizes[2]
    blocks = padded // BLOCK
    divide_totals(table, part, scratch, feature, code)
    scratch.evaluations[0] += 1
    weights, most = _weigh(scratch, classes)
    for side in range(2):
        # A useful stump has fewer errors than this, and is better than a leaf.
        errors = (caps[side] - params.split + params.error - 1) // params.error
        gain = params.split // params.error
        scratch.best[side] = max(weights[side] - errors, most[side] + gain)
        guess[side, 0] = -1
    if params.exceed:
        for side in range(2):
            bound = class_bound(table, params, scratch, side, 1)
            for g in range(p):
                known[side, g] = max(known[side, g], bound)
    first = _cheapest(known)
    for step in range(p):
        g = step
        if step == 0:
            g = first
        elif step <= first:
            g = step - 1
        open0 = known[0, g] < params.split + params.error * (weights[0] - scratch.best[0])
        open1 = known[1, g] < params.split + params.error * (weights[1] - scratch.best[1])
        if not (open0 or open1):
            continue
        scratch.evaluations[1] += 1
        for k in range(2 * classes):
            scratch.carries[k] = 0
        scratch.out[0], scratch.out[1] = most[0], most[1]
        sweep(
            table.short_ranks,
            table.long_ranks,
            (feature * p + g) * padded,
            code,
            part.planes,
            g * classes * table.sizes[3] * blocks,
            part.prefix,
            g * classes * blocks,
            table.ends,
            g * blocks,
            blocks // GROUP,
            blocks,
            classes,
            table.sizes[3],
            scratch.totals,
            scratch.cumulated,
            scratch.words,
            scratch.bounds,
            scratch.carries,
            scratch.out,
        )
        for side in range(2):
            unseen = _seek(table, params, part, scratch, g, side, most[side], relax[side], guess)
            known[side, g] = max(
                known[side, g], params.split + params.error * (weights[side] - unseen)
            )
    for side in range(2):
        leaf = params.error * (weights[side] - most[side])
        _settle(params, scratch, side, leaf, weights[side], known, caps, relaxed, guess)
