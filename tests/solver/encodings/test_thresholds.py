"""Where numbers are cut: every threshold, and quantiles."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.preprocessing import KBinsDiscretizer

from solver.encodings.thresholds import Distribution, all_cuts, quantile_cuts, threshold_tests

numbers_or_missing = st.lists(
    st.one_of(st.none(), st.integers(-4, 4).map(float), st.floats(-1e300, 1e300)),
    min_size=1,
    max_size=20,
).map(lambda values: np.array(values, dtype=np.float64))


def spread_of(values, weights=None) -> Distribution:
    values = np.asarray(values, dtype=np.float64)
    weights = np.ones(len(values), np.int64) if weights is None else np.array(weights)
    return Distribution.of(values, np.zeros(len(values), np.int64), weights, 1)


@given(numbers_or_missing)
def test_thresholds_are_every_dichotomy(values):
    """Equivalent conversion: each way to part the distinct numbers in order, once."""
    spread = spread_of(values)
    tests = threshold_tests("x", spread, all_cuts(spread, {}), "number")
    distinct = np.unique(values[~np.isnan(values)])
    assert np.array_equal(spread.values, distinct)
    assert len(tests) == max(len(distinct) - 1, 0)
    for i, test in enumerate(tests):
        assert test.branches(distinct).tolist() == [0] * (i + 1) + [1] * (len(distinct) - i - 1)


@given(numbers_or_missing, st.integers(2, 9))
def test_quantiles_are_the_nearest_thresholds(values, k):
    spread = spread_of(values)
    cuts = quantile_cuts(spread, {"k": k}).tolist()
    present = values[~np.isnan(values)]
    shares = [np.count_nonzero(present <= value) for value in spread.values[:-1]]
    expected = set()
    if shares:
        for j in range(1, k):
            expected.add(
                min(range(len(shares)), key=lambda i: (abs(shares[i] * k - j * len(present)), i))
            )
    assert cuts == sorted(expected)


@pytest.mark.parametrize("k", [2, 3, 4, 5, 8])
def test_quantiles_agree_with_scikit_learn(k):
    """On distinct numbers whose count k divides, the bins are those of KBinsDiscretizer."""
    values = np.random.default_rng(k).normal(size=120)
    spread = spread_of(values)
    tests = threshold_tests("x", spread, quantile_cuts(spread, {"k": k}), "number")
    bins = KBinsDiscretizer(k, encode="ordinal", strategy="quantile", quantile_method="linear")
    theirs = bins.fit_transform(values[:, None])[:, 0]
    assert sum(test.branches(values) for test in tests).tolist() == theirs.tolist()
    assert np.bincount(theirs.astype(int)).tolist() == [120 // k] * k


@pytest.mark.parametrize(
    "values, k, thresholds",
    [
        ([0, 0, 0, 0, 0, 0, 1, 2, 3, 4], 4, [0.5, 1]),
        ([0] * 3 + [1] * 7, 2, [0.5]),
        ([0] * 7 + [1] * 3, 8, [0.5]),
        ([5, 5], 3, []),
        ([1, 2, 3, 4], 100, [1, 2, 3]),
    ],
)
def test_quantiles_of_repeated_numbers_stay_distinct(values, k, thresholds):
    spread = spread_of(values)
    tests = threshold_tests("x", spread, quantile_cuts(spread, {"k": k}), "number")
    assert [test.threshold for test in tests] == thresholds


@pytest.mark.parametrize("seed", range(30))
def test_quantiles_are_the_nearest_cuts(seed):
    rng = np.random.RandomState(seed)
    numbers = rng.randint(0, 12, 30).astype(float)
    weights = rng.randint(1, [3, 10**6][seed % 2], 30)
    spread = spread_of(numbers, weights)
    below = [int(weights[numbers <= value].sum()) for value in sorted(set(numbers))]
    total = below.pop()
    for k in (2, 3, 5, 8, 100):
        nearest = {
            min(range(len(below)), key=lambda i: (abs(Fraction(j, k) * total - below[i]), i))
            for j in range(1, k)
        }
        assert quantile_cuts(spread, {"k": k}).tolist() == sorted(nearest)


def test_quantiles_know_no_largest_number():
    """A common factor of all weights changes nothing, and neither does any k too large."""
    weights = np.array([10**6, 1, 1, 1, 1, 10**6, 1, 1, 1, 10**6])
    light, heavy = (spread_of(np.arange(10), weights * factor) for factor in (1, 2**31))
    for k in (4, 4096, 2 * 10**6, 3 * 10**9, 9 * 10**18, 10**30):
        cuts = quantile_cuts(light, {"k": k}).tolist()
        assert quantile_cuts(heavy, {"k": k}).tolist() == cuts
    assert cuts == list(range(9))


def test_quantiles_count_weights():
    assert quantile_cuts(spread_of([1, 2, 3, 4], [9, 1, 1, 1]), {"k": 2}).tolist() == [0]
    assert quantile_cuts(spread_of([1, 2, 3, 4]), {"k": 2}).tolist() == [1]


class TestMissing:
    def test_below_every_threshold_where_training_rows_have_it(self):
        spread = spread_of([1, 2, 3, np.nan])
        tests = threshold_tests("x", spread, all_cuts(spread, {}), "number")
        assert [test.missing for test in tests] == [0, 0]

    def test_with_the_majority_where_none_has_it(self):
        spread = spread_of([1, 2, 3, 4])
        tests = threshold_tests("x", spread, all_cuts(spread, {}), "number")
        assert [test.missing for test in tests] == [1, 0, 0]
