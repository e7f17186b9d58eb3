"""The oracle itself, against every single tree."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from solver import Limits
from tests import naive
from tests.helpers.strategies import Table, cost_scale, structural_limits, tables


@settings(max_examples=80, deadline=None, derandomize=True)
@given(st.data())
def test_oracle_equals_full_enumeration(data: st.DataObject) -> None:
    table = data.draw(
        st.one_of(
            tables(max_rows=8, max_features=3, max_arity=2),
            tables(max_rows=8, max_features=2, max_arity=3),
        )
    )
    lam = data.draw(cost_scale(sum(table.weights)))
    limits = data.draw(structural_limits())
    # No path needs a feature twice, so the number of features bounds the depth.
    depth = min(len(table.arities), 3 if limits.depth is None else limits.depth)
    found = table.optimum(lam, limits)
    assert (found.objective, found.splits) == naive.enumerate_optimum(
        table.codes,
        table.counts,
        table.arities,
        lam,
        depth=depth,
        splits=limits.splits,
        min_leaf_size=limits.min_leaf_size,
    )


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.data())
def test_oracle_returns_a_tree_of_its_objective(data: st.DataObject) -> None:
    table = data.draw(tables())
    lam = data.draw(cost_scale(sum(table.weights)))
    limits = data.draw(structural_limits())
    found = table.optimum(lam, limits)
    tree = naive.measure(found.shape, table.codes, table.counts)
    assert Fraction(tree.errors, sum(table.weights)) + lam * tree.splits == found.objective
    assert tree.splits == found.splits
    assert limits.depth is None or tree.depth <= limits.depth
    assert limits.splits is None or tree.splits <= limits.splits
    if tree.splits:
        assert tree.smallest_leaf >= (limits.min_leaf_size or 0)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.data())
def test_least_errors_equal_full_enumeration(data: st.DataObject) -> None:
    table = data.draw(tables(max_rows=8, max_features=3, max_arity=2))
    limits = data.draw(structural_limits())
    found = naive.least_errors(
        table.codes, table.counts, table.arities,
        depth=limits.depth, splits=limits.splits, min_leaf_size=limits.min_leaf_size,
    )  # fmt: skip
    depth = min(len(table.arities), 3 if limits.depth is None else limits.depth)
    every: dict[int, int] = {}
    for shape in naive.all_shapes(table.arities, depth):
        tree = naive.measure(shape, table.codes, table.counts)
        too_small = tree.splits > 0 and tree.smallest_leaf < (limits.min_leaf_size or 0)
        if not too_small and (limits.splits is None or tree.splits <= limits.splits):
            every[tree.splits] = min(tree.errors, every.get(tree.splits, tree.errors))
    # Useless splits are not among the oracle's, and make no tree better.
    assert found.items() <= every.items()
    weight = sum(table.weights)
    for lam_min in (Fraction(0), Fraction(1, weight)):
        assert naive.path(found, weight, lam_min) == naive.path(every, weight, lam_min)


def test_path_of_four_trees() -> None:
    # Three splits are on the line from four to one, and never better than both.
    trees = {0: 10, 1: 6, 3: 2, 4: 0}
    assert naive.path(trees, 10, Fraction(0)) == [
        (0, 0, 4),
        (Fraction(1, 5), 6, 1),
        (Fraction(2, 5), 10, 0),
    ]
    assert naive.path(trees, 10, Fraction(1, 4)) == [
        (Fraction(1, 4), 6, 1),
        (Fraction(2, 5), 10, 0),
    ]
    assert naive.path(trees, 10, Fraction(2, 5)) == [(Fraction(2, 5), 10, 0)]


def test_oracle_on_exclusive_or() -> None:
    table = Table(((0, 0), (0, 1), (1, 0), (1, 1)), (0, 1, 1, 0), (1, 1, 1, 1), (2, 2), 2)
    assert table.optimum(Fraction(1, 10)).objective == Fraction(3, 10)
    # At λ = 1/6 the three splits cost as much as the two errors: no split is the smaller tree.
    assert table.optimum(Fraction(1, 6)) == (Fraction(1, 2), 0, -1)
    # A single split leaves both errors, so a limit of two splits buys one error at most.
    assert table.optimum(Fraction(0), Limits(splits=2)).objective == Fraction(1, 4)
    assert table.optimum(Fraction(0), Limits(depth=1)).objective == Fraction(1, 2)
    assert table.optimum(Fraction(0), Limits(min_leaf_size=2)).objective == Fraction(1, 2)


def test_number_of_shapes() -> None:
    # t(d) = 1 + 3·t(d − 1)²
    assert [len(list(naive.all_shapes([2, 2, 2], depth))) for depth in range(3)] == [1, 4, 49]
