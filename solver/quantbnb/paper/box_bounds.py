"""The compiled part of the paper's search: upper and lower bounds of boxes (Section 3).

With a price of a split the bounds also hold, if the rows in the middle of W1 and W2 pay for no
split: for disjoint I and J a stump on both pays once, so
``L1(I ∪ J, f) ≥ L1(I, f) + L1'(J, f)`` with L1' at price 0 (instead of Lemma B.2).
"""

from __future__ import annotations

import math

from solver.kernels.jit import helper, kernel
from solver.quantbnb.paper.state import (
    BOXES,
    EFFORT,
    ITERATIONS,
    L2,
    ROWS,
    STUMPS,
    W0,
    W1,
    Answers,
    Boxes,
    Costs,
    Counts,
    Ints,
    Params,
    Scratch,
    Table,
)
from solver.quantbnb.paper.stumps import allowed_cost, gather, relaxed_cost, stump

_ALL = 2**31 - 2


@helper
def side(
    table: Table,
    params: Params,
    scratch: Scratch,
    stats: Counts,
    rows: Ints,
    size: int,
    feature: int,
    low: int,
    high: int,
    child: int,
) -> tuple[float, float, float, float, int]:
    """:func:`stump` on ``child`` of the rows whose codes of ``feature`` lie in (low, high]."""
    n = gather(table, rows, size, feature, low, high, scratch.ids)
    stats[STUMPS] += 1
    stats[ROWS] += n
    stats[EFFORT] += n + size
    return stump(table, params, scratch, n, child)


@helper
def weigh_cut(
    table: Table,
    params: Params,
    scratch: Scratch,
    stats: Counts,
    order: Ints,
    boxes: Boxes,
    answers: Answers,
    box: int,
    at: int,
    cut: int,
) -> None:
    """``L1`` on both sides of a cut of the root, for all features of the children; ``V``."""
    feature, size = boxes.feature[box], order.shape[1]
    best_below, best_above = math.inf, math.inf
    f1, c1, f2, c2 = -1, -1, -1, -1
    for f in range(order.shape[0]):
        if boxes.left[box, f]:
            weight, leaf, least, allowed, where = side(
                table, params, scratch, stats, order[f], size, feature, -1, cut, f
            )
            scratch.below[at, f] = relaxed_cost(params, leaf, least)
            cost, is_split = allowed_cost(params, weight, leaf, allowed)
            if cost < best_below:
                best_below, f1, c1 = cost, f if is_split else -1, where
        if boxes.right[box, f]:
            weight, leaf, least, allowed, where = side(
                table, params, scratch, stats, order[f], size, feature, cut, _ALL, f
            )
            scratch.above[at, f] = relaxed_cost(params, leaf, least)
            cost, is_split = allowed_cost(params, weight, leaf, allowed)
            if cost < best_above:
                best_above, f2, c2 = cost, f if is_split else -1, where
    cost = params.split + best_below + best_above
    if cost < answers.value[box]:
        answers.value[box] = cost
        answers.tree[box, 0] = cut
        answers.tree[box, 1] = f1
        answers.tree[box, 2] = c1
        answers.tree[box, 3] = f2
        answers.tree[box, 4] = c2


@helper
def lower(
    params: Params,
    boxes: Boxes,
    answers: Answers,
    box: int,
    part: int,
    below: Costs,
    above: Costs,
) -> None:
    """Take one term of the minimum over positions of the root's cut into the lower bounds.

    With ``below[f1] + above[f2]`` as the term: (43) for every feature of either child.
    """
    least_below, least_above = math.inf, math.inf
    for f in range(len(below)):
        if boxes.left[box, f]:
            least_below = min(least_below, below[f])
        if boxes.right[box, f]:
            least_above = min(least_above, above[f])
    for f in range(len(below)):
        if boxes.left[box, f]:
            cost = params.split + below[f] + least_above
            answers.left[box, part, f] = min(answers.left[box, part, f], cost)
        if boxes.right[box, f]:
            cost = params.split + above[f] + least_below
            answers.right[box, part, f] = min(answers.right[box, part, f], cost)


@helper
def spaced_cut(low: int, high: int, at: int, pieces: int) -> int:
    """Almost equi-spaced: ``t_j = a + floor(j·(b − a)/s)``."""
    return low + at * (high - low) // pieces


@helper
def terms(params: Params, rows: int, inside: int, width: int) -> int:
    """Terms of the minimum in the lower bound of an interval [a, b] of cuts.

    ``rows`` are all rows, ``inside`` those between the cuts; ``width`` is b − a.

    Notes
    -----
    For W1 they are the paper's ``s' = floor(0.6·n·s/(b − a))``, at most ``b − a``. The paper
    takes all values of a feature as different (Lemma 4.3). Otherwise its own program counts b − a
    in rows, which keeps the effort linear in n, and so do we. There are no more terms than rows:
    pieces without a row say nothing.
    """
    if params.bound == W0:
        return 1
    if params.bound == W1:
        spread = 6 * rows * params.pieces // (10 * max(inside, 1))
        return max(1, min(spread, width, inside))
    return width + 1


@helper
def keep_middle(
    table: Table,
    scratch: Scratch,
    order: Ints,
    boxes: Boxes,
    box: int,
    low: int,
    high: int,
) -> None:
    """Find the rows between two cuts, sorted by each feature that a child may split on."""
    size, feature = order.shape[1], boxes.feature[box]
    for f in range(order.shape[0]):
        if boxes.left[box, f] or boxes.right[box, f]:
            n = gather(table, order[f], size, feature, low, high, scratch.middle[f])
            scratch.middle_size[0] = n


@helper
def bound_part(
    table: Table,
    params: Params,
    scratch: Scratch,
    stats: Counts,
    order: Ints,
    boxes: Boxes,
    answers: Answers,
    box: int,
    part: int,
    low: int,
    high: int,
    term: int,
) -> None:
    """One term of the lower bound of a part [low, high] of a box's interval.

    W0 (9) drops the rows between the two cuts; W1 (13) and W2 (10) add the least loss of separate
    trees for these, W1 without the rows of one piece; L2 (7) looks at all trees.
    """
    if params.bound == W0:
        lower(params, boxes, answers, box, part, scratch.below[part], scratch.above[part + 1])
        return
    feature, exact = boxes.feature[box], params.bound == L2
    if term == 0 and not exact:
        keep_middle(table, scratch, order, boxes, box, low, high)
    if params.bound == W1:
        pieces = terms(params, order.shape[1], scratch.middle_size[0], high - low)
        first = spaced_cut(low, high, term, pieces)
        last = spaced_cut(low, high, term + 1, pieces)
    else:
        first = low + term
        last = first
    rows = order if exact else scratch.middle
    size = order.shape[1] if exact else scratch.middle_size[0]
    for f in range(order.shape[0]):
        if boxes.left[box, f]:
            _, leaf, least, _, _ = side(
                table, params, scratch, stats, rows[f], size, feature, -1, first, f
            )
            if exact:
                scratch.inner_below[f] = relaxed_cost(params, leaf, least)
            else:
                scratch.inner_below[f] = scratch.below[part, f] + params.error * least
        if boxes.right[box, f]:
            _, leaf, least, _, _ = side(
                table, params, scratch, stats, rows[f], size, feature, last, _ALL, f
            )
            if exact:
                scratch.inner_above[f] = relaxed_cost(params, leaf, least)
            else:
                scratch.inner_above[f] = scratch.above[part + 1, f] + params.error * least
    lower(params, boxes, answers, box, part, scratch.inner_below, scratch.inner_above)


@kernel
def evaluate(
    table: Table,
    params: Params,
    scratch: Scratch,
    stats: Counts,
    order: Ints,
    boxes: Boxes,
    answers: Answers,
    cursor: Counts,
    bounding: bool,
    iterations: int,
    effort_limit: int,
) -> bool:
    """Bound boxes of trees of depth 2 on some rows: Steps 1 and 2 of Algorithm 1.

    It returns whether all boxes are done.

    Parameters
    ----------
    order : array of shape (features, rows)
        The rows, sorted by each feature.
    answers : Answers
        Filled in.
    cursor : array of shape (3,)
        Box, stage and term to go on with; zeros at first.
    bounding : bool
        Whether lower bounds are wanted too.
    iterations : int
        Cuts and terms that may be evaluated now.
    effort_limit : int
        No iteration begins once ``stats[EFFORT]`` is this large.
    """
    s = params.pieces
    while cursor[0] < len(boxes.feature):
        box, stage = cursor[0], cursor[1]
        low, high = boxes.low[box], boxes.high[box]
        small = high - low <= s
        cuts = high - low + 1 if small else s + 1
        if (stage == cuts and (small or not bounding)) or stage == cuts + s:
            cursor[0] += 1
            cursor[1] = 0
            continue
        if iterations <= 0 or stats[EFFORT] >= effort_limit:
            return False
        iterations -= 1
        stats[ITERATIONS] += 1
        if stage < cuts:
            stats[BOXES] += stage == 0
            cut = low + stage if small else spaced_cut(low, high, stage, s)
            weigh_cut(table, params, scratch, stats, order, boxes, answers, box, stage, cut)
            if small:
                lower(params, boxes, answers, box, 0, scratch.below[stage], scratch.above[stage])
            cursor[1] += 1
            continue
        part, term = stage - cuts, cursor[2]
        first = spaced_cut(low, high, part, s)
        last = spaced_cut(low, high, part + 1, s)
        bound_part(
            table, params, scratch, stats, order, boxes, answers, box, part, first, last, term
        )
        cursor[2] += 1
        if cursor[2] == terms(params, order.shape[1], scratch.middle_size[0], last - first):
            cursor[1] += 1
            cursor[2] = 0
    return True


@kernel
def leaf_costs(table: Table, params: Params, scratch: Scratch, rows: Ints) -> tuple[float, float]:
    """Cost of some rows as a leaf, and the same if a leaf of their weight is allowed."""
    for i in range(len(rows)):
        scratch.ids[i] = rows[i]
    weight, leaf, _, _, _ = stump(table, params, scratch, len(rows), 0)
    alone, _ = allowed_cost(params, weight, leaf, math.inf)
    return params.error * leaf, alone


@kernel
def best_stump(
    table: Table, params: Params, scratch: Scratch, stats: Counts, order: Ints, tree: Counts
) -> float:
    """The least cost of a split with two leaves on some rows; ``tree``: its feature and cut.

    Feature −1 if there is none that is allowed.
    """
    size, best = order.shape[1], math.inf
    tree[0] = -1
    for f in range(order.shape[0]):
        gather(table, order[f], size, f, -1, _ALL, scratch.ids)
        stats[STUMPS] += 1
        stats[ROWS] += size
        stats[EFFORT] += 2 * size
        _, _, _, allowed, cut = stump(table, params, scratch, size, f)
        cost = params.split + params.error * allowed
        if cost < best:
            tree[0], tree[1], best = f, cut, cost
    stats[ITERATIONS] += 1
    return best
