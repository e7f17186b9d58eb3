"""The complexity bounds against the paper's Table 1 and against the plain algorithm."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.reproduce.branches_tables import TABLE_1
from solver import InputError
from solver.theory import branches_complexity
from tests import naive
from tests.helpers.strategies import cost_scale, random_table


# (λ, q): BRANCHES by Corollary 4.5, OSDT by Remark C.5; binary features and classes.
def printed_tight_bound(q: int, arity: int, depth: int) -> int:
    """Theorem C.3 and Corollary C.4 with the printed weight h − κ₋, for κ₋ = κ − (C − 1)."""
    low = depth - (arity - 1)
    return sum(
        (q - h) * (arity if h <= low else h - low) * arity**h * math.comb(q, h)
        for h in range(min(depth, q) + 1)
    )


@pytest.mark.parametrize("cell", TABLE_1)
def test_table_1(cell: tuple[str, int]) -> None:
    lam, q = Fraction(cell[0]), cell[1]
    found = branches_complexity.corollary_4_5(q, 2, lam), branches_complexity.osdt_bound(q, lam)
    assert tuple(f"{value:.2e}" for value in found) == TABLE_1[cell]


def test_all_branches_when_splits_are_cheap() -> None:
    # Σ (q − h)·C^(h+1)·binom(q, h) over all h is q·C·(1 + C)^(q − 1).
    assert branches_complexity.corollary_4_5(10, 2, Fraction(1, 1000)) == 10 * 2 * 3**9
    assert branches_complexity.corollary_4_5(4, 3, Fraction(1, 1000)) == 4 * 3 * 4**3


def test_trees_of_depth_by_counting_them() -> None:
    def shapes(features: frozenset[int], depth: int) -> list[int]:
        """The depths of all trees of at most this depth whose paths repeat no feature."""
        if depth == 0:
            return [0]
        depths = [0]
        for feature in features:
            below = shapes(features - {feature}, depth - 1)
            depths += [1 + max(a, b) for a in below for b in below]
        return depths

    for q in (1, 2, 3, 4):
        depths = shapes(frozenset(range(q)), min(q, 3))
        for depth in range(1, min(q, 3) + 1):
            assert branches_complexity.trees_of_depth(q, depth) == depths.count(depth)
    assert branches_complexity.trees_of_depth(3, 4) == 0


def test_thesis_formula_needs_reading() -> None:
    """The OSDT thesis' Table 2.1 and Remark C.5 agree up to depth 3, where 2ⁿ and 2n do: for
    n = 1, 2. At depth 4 the thesis prints 9.338e20 for 10 features, BRANCHES' Table 1 5.61e13."""
    sums = [
        sum(branches_complexity.trees_of_depth(10, k) for k in range(1, d + 1))
        for d in (1, 2, 3, 4)
    ]
    assert [f"{value:.3e}" for value in sums] == [
        "1.000e+01",
        "1.000e+03",
        "5.329e+06",
        "5.610e+13",
    ]

    def with_powers(p: int, depth: int, leaves: int, level: int) -> int:
        if level == depth:
            return 1
        ways = (
            math.comb(leaves, n) * (p - level) ** n * with_powers(p, depth, 2**n, level + 1)
            for n in range(1, leaves + 1)
        )
        return sum(ways)

    as_printed = sum(with_powers(10, d, 1, 0) for d in (1, 2, 3, 4))
    assert as_printed == pytest.approx(9.338e20, rel=1e-4)


def test_remark_c_5_sums_to_the_least_depth_not_the_greatest() -> None:
    # λ = 0.1 allows 5 leaves. They may form a caterpillar of depth 4, beyond Remark C.5's 3.
    q, lam = 10, Fraction("0.1")
    up_to_4 = sum(branches_complexity.trees_of_depth(q, k) for k in (1, 2, 3, 4))
    assert (
        branches_complexity.osdt_bound(q, lam, longest=True)
        == up_to_4
        > branches_complexity.osdt_bound(q, lam)
    )


def test_printed_corollary_4_5_is_exceeded_with_three_classes() -> None:
    """One feature tells three classes apart. 1/(Kλ) = 2/3 leaves nothing to expand, says the
    paper; (K − 1)/(Kλ) = 4/3 allows the root, and BRANCHES does expand it."""
    lam, counts = Fraction(1, 2), [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    effort = naive.branches([(0,), (1,), (2,)], counts, [3], lam)
    assert (effort.objective, effort.evaluations) == (Fraction(1, 2), 3)
    assert branches_complexity.simple_bound(1, 3, math.floor(1 / (3 * lam)) - 1) == 0
    assert branches_complexity.corollary_4_5(1, 3, lam, n_classes=3) == 3


def test_no_split_is_affordable() -> None:
    # λ > 1/K: not even the root is expanded.
    assert branches_complexity.corollary_4_5(5, 2, Fraction(3, 5)) == 0
    assert branches_complexity.corollary_c_4(5, 2, Fraction(3, 5)) == 0
    assert branches_complexity.osdt_bound(5, Fraction(3, 5)) == 0
    # λ = 1/K: the root, and it costs all its q·C children (printed: q·(C − 1)).
    assert branches_complexity.corollary_c_4(5, 3, Fraction(1, 2)) == 15
    assert printed_tight_bound(5, 3, 0) == 10


@given(st.integers(1, 12), st.integers(2, 5), st.integers(-1, 14))
def test_tight_bound_is_tighter(q: int, arity: int, depth: int) -> None:
    tight, simple = (
        branches_complexity.tight_bound(q, arity, depth),
        branches_complexity.simple_bound(q, arity, depth),
    )
    assert 0 <= tight <= simple
    assert branches_complexity.tight_bound(q, arity, depth - 1) <= tight
    if depth >= q + arity:
        assert tight == simple


@given(st.integers(1, 12), st.integers(1, 14))
def test_printed_weights_agree_for_binary_features(q: int, depth: int) -> None:
    assert branches_complexity.tight_bound(q, 2, depth) == printed_tight_bound(q, 2, depth)


def test_printed_theorem_c_3_is_exceeded() -> None:
    """Two features of three categories, κ = 2. BRANCHES expands the root and three branches."""
    codes = [(2, 2), (1, 2), (2, 1), (1, 2), (0, 1)]
    counts = [[1, 0], [1, 0], [0, 1], [0, 1], [1, 0]]
    effort = naive.branches(codes, counts, [3, 3], Fraction(1, 8))
    depth = branches_complexity.problem_depth(Fraction(1, 8), 0, effort.objective)
    assert (depth, effort.evaluations) == (2, 15)
    assert printed_tight_bound(2, 3, depth) == 12
    assert branches_complexity.tight_bound(2, 3, depth) == 18


@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.data())
def test_plain_branches_is_optimal_and_within_the_bounds(data: st.DataObject) -> None:
    arity = data.draw(st.integers(2, 4))
    seed = data.draw(st.integers(0, 2**32 - 1))
    table = random_table(seed, max_rows=20, max_features=3, max_arity=arity, max_classes=3)
    q, weight = len(table.arities), sum(table.weights)
    lam = data.draw(cost_scale(weight).filter(bool))
    best = table.optimum(lam)
    # The bounds are for features of one arity: codes without rows fill the others up.
    effort = naive.branches(table.codes, table.counts, [arity] * q, lam)
    assert effort.objective == best.objective
    loss = best.objective - lam * best.splits
    bounds = [
        effort.evaluations,
        branches_complexity.theorem_c_3(q, arity, lam, best.splits, loss),
        branches_complexity.theorem_4_4(q, arity, lam, best.splits, loss),
        branches_complexity.corollary_4_5(q, arity, lam, table.n_classes),
    ]
    assert bounds == sorted(bounds)
    assert (
        bounds[1] <= branches_complexity.corollary_c_4(q, arity, lam, table.n_classes) <= bounds[3]
    )


@pytest.mark.parametrize(
    "arguments", [(0, 2, Fraction(1)), (3, 1, Fraction(1)), (3, 2, Fraction(0))]
)
def test_refuses_what_has_no_bound(arguments: tuple[int, int, Fraction]) -> None:
    with pytest.raises(InputError, match="complexity bound"):
        branches_complexity.corollary_4_5(*arguments)
