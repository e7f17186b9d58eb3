"""The bounds of the paper, held against all trees of a box, and its worked example."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from solver.quantbnb.paper import box_bounds
from solver.quantbnb.paper.box_narrowing import narrowed
from solver.quantbnb.paper.state import (
    BOUNDS,
    Boxes,
    Params,
    new_answers,
    new_scratch,
    tabulate_classes,
    tabulate_squares,
)

THOROUGH = settings(
    max_examples=100, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
)


def bounded(table, params, box, rows=None):
    """What the kernel finds about one box on some rows."""
    rows = np.arange(len(table.weights)) if rows is None else rows
    order = np.array([rows[np.argsort(codes[rows], kind="stable")] for codes in table.codes])
    feature, low, high, left, right = box
    boxes = Boxes(
        np.array([feature], np.int32),
        np.array([low], np.int32),
        np.array([high], np.int32),
        np.array([left]),
        np.array([right]),
        np.zeros(1),
    )
    answers = new_answers(1, len(table.codes), params.pieces)
    done = box_bounds.evaluate(
        table,
        params,
        new_scratch(table, params.pieces),
        np.zeros(5, np.int64),
        order.astype(np.int32),
        boxes,
        answers,
        np.zeros(3, np.int64),
        True,
        10**9,
        2**60,
    )
    assert done
    return boxes, answers


def loss(table, rows):
    """L0, the plain way."""
    weights = table.weights[rows]
    if not len(rows):
        return 0.0
    if table.values.shape[1]:
        mean = np.average(table.values[rows], axis=0, weights=weights)
        return float((weights[:, None] * (table.values[rows] - mean) ** 2).sum())
    return float(weights.sum() - np.bincount(table.labels[rows], weights=weights).max())


def stump(table, params, rows, feature, smallest):
    """L1 with prices, the plain way."""

    def fits(part):
        return not len(part) or table.weights[part].sum() >= smallest

    best = params.error * loss(table, rows) if fits(rows) else math.inf
    codes = table.codes[feature]
    for cut in np.unique(codes[rows])[:-1]:
        low, high = rows[codes[rows] <= cut], rows[codes[rows] > cut]
        if fits(low) and fits(high):
            cost = params.split + params.error * (loss(table, low) + loss(table, high))
            best = min(best, cost)
    return best


def enumerated(table, params, rows, feature, cuts, f1, f2, smallest):
    """L2, the least cost with these features over some cuts of the root."""
    codes = table.codes[feature]
    return min(
        params.split
        + stump(table, params, rows[codes[rows] <= cut], f1, smallest)
        + stump(table, params, rows[codes[rows] > cut], f2, smallest)
        for cut in cuts
    )


@st.composite
def boxed(draw):
    """A table, prices, some of its rows, and a box of trees of depth 2."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    rows, features, arity = int(rng.integers(2, 30)), int(rng.integers(1, 4)), 12
    codes = rng.integers(0, arity, (rows, features)).astype(np.int32)
    weights = rng.integers(1, 4, rows)
    if draw(st.booleans()):
        counts = np.eye(3, dtype=np.int64)[rng.integers(0, 3, rows)] * weights[:, None]
        table = tabulate_classes(codes, counts)
    else:
        table = tabulate_squares(codes, weights, rng.normal(size=(rows, 2)))
    low = draw(st.integers(0, 5))
    high = low + draw(st.integers(0, arity - 2 - low))
    left, right = rng.random((2, features)) < 0.7
    left[0] = right[-1] = True
    params = Params(
        draw(st.sampled_from([1.0, 5.0])),
        draw(st.sampled_from([0.0, 1.0, 4.0])),
        draw(st.sampled_from([1.0, 4.0])),
        draw(st.sampled_from([2, 3])),
        0,
    )
    some = np.flatnonzero(rng.random(rows) < draw(st.sampled_from([0.5, 1.0])))
    return table, params, (0, low, high, left, right), some


@THOROUGH
@given(boxed())
def test_lower_bounds_hold_in_the_order_of_the_paper(problem):
    table, params, box, rows = problem
    feature, _, _, left, right = box
    found = [bounded(table, params._replace(bound=b), box, rows) for b in range(len(BOUNDS))]
    boxes, last = found[-1]
    parts, _, _ = narrowed(boxes, last, params.pieces, math.inf, np.ones(1, np.bool_))
    assert (parts.low[0], parts.high[-1]) == (box[1], box[2])
    for part, (low, high) in enumerate(zip(parts.low, parts.high, strict=True)):
        cuts = range(low, high + 1)
        for f in np.flatnonzero(left):
            others = np.flatnonzero(right)
            exact = min(enumerated(table, params, rows, feature, cuts, f, g, 0) for g in others)
            bounds = [float(answers.left[0, part, f]) for _, answers in found]
            assert all(low <= high + 1e-9 for low, high in itertools.pairwise(bounds))
            assert bounds[-1] == pytest.approx(exact)
        for f in np.flatnonzero(right):
            others = np.flatnonzero(left)
            exact = min(enumerated(table, params, rows, feature, cuts, g, f, 0) for g in others)
            bounds = [float(answers.right[0, part, f]) for _, answers in found]
            assert all(low <= high + 1e-9 for low, high in itertools.pairwise(bounds))
            assert bounds[-1] == pytest.approx(exact)


@THOROUGH
@given(boxed())
def test_the_upper_bound_is_that_of_a_tree_of_the_box(problem):
    table, params, box, rows = problem
    feature, low, high, left, right = box
    _, answers = bounded(table, params, box, rows)
    exact = min(
        enumerated(table, params, rows, feature, range(low, high + 1), f, g, params.min_leaf)
        for f in np.flatnonzero(left)
        for g in np.flatnonzero(right)
    )
    value = float(answers.value[0])
    assert value >= exact - 1e-9
    if high - low <= params.pieces:
        assert value == pytest.approx(exact)
    if not math.isinf(value):
        cut, f1, c1, f2, c2 = answers.tree[0].tolist()
        assert low <= cut <= high
        codes = table.codes
        below, above = rows[codes[feature, rows] <= cut], rows[codes[feature, rows] > cut]
        cost = params.split
        for part, f, c, allowed in ((below, f1, c1, left), (above, f2, c2, right)):
            if f < 0:
                cost += params.error * loss(table, part)
                continue
            assert allowed[f]
            down, up = part[codes[f, part] <= c], part[codes[f, part] > c]
            assert min(table.weights[down].sum(), table.weights[up].sum()) >= params.min_leaf
            cost += params.split + params.error * (loss(table, down) + loss(table, up))
        assert cost == pytest.approx(value)


@pytest.fixture
def example():
    """Table 4 of the paper."""
    codes = np.array([[1, 2, 3, 3, 4, 5], [0, 1, 2, 3, 4, 5], [0, 0, 3, 3, 5, 5]])
    ranks = np.array([np.unique(row, return_inverse=True)[1] for row in codes], np.int32)
    counts = np.eye(2, dtype=np.int64)[[0, 1, 0, 1, 0, 1]]
    return tabulate_classes(ranks.T, counts)


def test_the_iteration_of_appendix_a(example):
    """A.2: U' = 1, the minima of W0, and the sets of features that stay.

    For j = 2 the paper prints W0 with f1 and f2 exchanged: to the left are x1 and x2, which
    feature 3 cannot tell apart, and to the right x6 alone, so it is f1 = 3 that costs 1.
    """
    both = np.array([False, True, True])
    params = Params(1.0, 0.0, 1.0, 2, BOUNDS.index("w0"))
    boxes, answers = bounded(example, params, (0, 0, 3, both, both))
    assert answers.value[0] == 1
    assert answers.left[0, :, 1:].tolist() == [[1, 1], [0, 1]]
    assert answers.right[0, :, 1:].tolist() == [[1, 2], [0, 0]]
    kept, _, _ = narrowed(boxes, answers, 2, 1.0, np.ones(1, np.bool_))
    # Its thresholds 1, 2 and 4 are the cuts 0, 1 and 3 here.
    assert (kept.low.tolist(), kept.high.tolist()) == ([0, 1], [1, 3])
    assert kept.left.tolist() == [[False, True, True], [False, True, True]]
    assert kept.right.tolist() == [[False, True, False], [False, True, True]]


def test_the_terms_of_w1_are_those_of_the_paper():
    """s' = floor(0.6·n·s/(b − a)), with b − a counted in rows, and no more than there are cuts."""
    terms = box_bounds.terms.py_func  # type: ignore[attr-defined]
    params = Params(1.0, 0.0, 1.0, 3, BOUNDS.index("w1"))
    assert terms(params, 900, 300, 300) == 5
    assert terms(params, 900, 100, 100) == 16
    assert terms(params, 900, 300, 4) == 4
    assert terms(params, 900, 10, 10) == 10
    assert terms(params, 900, 900, 300) == 1
    assert terms(params, 10, 0, 5) == 1
    assert terms(params, 100, 2, 50) == 2
    assert terms(params._replace(bound=BOUNDS.index("w2")), 900, 300, 4) == 5
