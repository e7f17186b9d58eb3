"""MDLP against a published example and against its plainest version."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_iris

from solver.encodings import fit_encoder
from solver.encodings.mdlp import mdlp_cuts
from solver.encodings.thresholds import Distribution
from solver.problem.problem import Problem

# The reference of R's arulesCBA, discretizeDF.supervised(Species ~ ., iris), which runs the
# package discretization: cut points, and rows in each range.
IRIS = {
    "sepal length (cm)": ([5.55, 6.15], [59, 36, 55]),
    "sepal width (cm)": ([2.95, 3.35], [57, 56, 37]),
    "petal length (cm)": ([2.45, 4.75], [50, 45, 55]),
    "petal width (cm)": ([0.8, 1.75], [50, 54, 46]),
}


@pytest.mark.parametrize("column", IRIS)
def test_published_cut_points_of_iris(column):
    iris = load_iris(as_frame=True)
    encoder = fit_encoder("mdlp", iris.data[[column]], iris.target.to_numpy(), n_classes=3)
    cuts, sizes = IRIS[column]
    # They are middles of gaps; ours are round numbers of the same gaps, so they part alike.
    values = iris.data[column].to_numpy()
    assert len(encoder.tests) == len(cuts)
    for test, cut in zip(encoder.tests, cuts, strict=True):
        below, above = values[values < cut].max(), values[values > cut].min()
        assert (below + above) / 2 == pytest.approx(cut, abs=1e-12)
        assert below <= test.threshold < above
    above = encoder.transform(iris.data).sum(axis=1)
    assert np.bincount(above).tolist() == sizes


def entropy(labels: list[int]) -> float:
    shares = [labels.count(label) / len(labels) for label in set(labels)]
    return -sum(share * math.log2(share) for share in shares)


def plain_mdlp(pairs: list[tuple[float, int]]) -> list[float]:
    """The paper's recursion on sorted (number, class) pairs, word for word."""
    labels = [label for _, label in pairs]
    options = []
    for i in range(1, len(pairs)):
        if pairs[i - 1][0] < pairs[i][0]:
            left, right = labels[:i], labels[i:]
            mean = (len(left) * entropy(left) + len(right) * entropy(right)) / len(labels)
            options.append((round(mean, 9), i))
    if not options:
        return []
    i = min(options)[1]
    parts = labels, labels[:i], labels[i:]
    ent = [entropy(part) for part in parts]
    k = [len(set(part)) for part in parts]
    n = len(labels)
    gain = ent[0] - (len(parts[1]) * ent[1] + len(parts[2]) * ent[2]) / n
    delta = math.log2(3 ** k[0] - 2) - (k[0] * ent[0] - k[1] * ent[1] - k[2] * ent[2])
    if gain <= (math.log2(n - 1) + delta) / n + 1e-9:
        return []
    below = pairs[i - 1][0]
    return [*plain_mdlp(pairs[:i]), below, *plain_mdlp(pairs[i:])]


@given(st.lists(st.tuples(st.integers(0, 8), st.integers(0, 2)), min_size=1, max_size=60))
def test_agrees_with_the_plain_recursion(pairs):
    # Values that settle the class, so that there is something to find.
    pairs = sorted((float(value), label if value % 3 else value // 3 % 3) for value, label in pairs)
    numbers, target = (np.array(part) for part in zip(*pairs, strict=True))
    spread = Distribution.of(numbers, target.astype(np.int64), np.ones(len(pairs), np.int64), 3)
    assert spread.values[mdlp_cuts(spread, {})].tolist() == plain_mdlp(pairs)


@given(
    st.lists(
        st.tuples(st.integers(0, 5), st.integers(0, 1), st.integers(1, 4)), min_size=1, max_size=20
    )
)
def test_weights_count_as_rows(rows):
    numbers, target, weights = (np.array(part) for part in zip(*rows, strict=True))
    weighted = Distribution.of(numbers.astype(float), target, weights, 2)
    repeated = Distribution.of(
        np.repeat(numbers, weights).astype(float),
        np.repeat(target, weights),
        np.ones(weights.sum(), np.int64),
        2,
    )
    assert mdlp_cuts(weighted, {}).tolist() == mdlp_cuts(repeated, {}).tolist()


def cuts_of(weights) -> list[str]:
    """The cuts of 40 rows, whose classes change at 19, with some that differ."""
    table = pd.DataFrame({"x": range(40), "class": [*"a" * 19, *"b" * 16, *"abab", "a"]})
    return [test.name for test in Problem.from_table(table, "class", "mdlp", weights=weights).tests]


def test_weights_count_as_rows_however_they_are_written():
    """1.1 is counted as 11 tenths, which are 1.1 rows and not 11."""
    table = pd.DataFrame({"x": range(40), "class": ["a", "b"] * 20})
    for weight in (0.1, 1, 1.1, 1.0000000001, 2):
        assert Problem.from_table(table, "class", "mdlp", weights=[weight] * 40).n_features == 0
    plain = cuts_of([1] * 40)
    assert plain == ["x>18"]
    for weight in (0.9, 0.999999999, 1.000001, 1.01):
        assert cuts_of([weight] * 40) == plain
    # One digit more in one weight changes the unit of all.
    assert cuts_of([*[3] * 39, 3.000001]) == cuts_of([3] * 40) != plain


def test_rows_of_little_weight_pay_for_no_cut():
    for weight in (1e-9, 0.001, 0.025, 0.03):
        assert cuts_of([weight] * 40) == []


def test_very_many_classes_do_not_overflow():
    """3^1000 is no float. Halving gains 1 bit and costs (log2(999) + 585) / 1000."""
    numbers, target = np.arange(1000.0), np.arange(1000)
    spread = Distribution.of(numbers, target, np.ones(1000, np.int64), 1000)
    assert 499 in mdlp_cuts(spread, {}).tolist()


def test_the_lowest_of_equally_good_cuts():
    numbers = np.repeat([1.0, 2.0, 3.0], 50)
    target = np.repeat([0, 1, 0], 50)
    spread = Distribution.of(numbers, target, np.ones(150, np.int64), 2)
    assert mdlp_cuts(spread, {}).tolist() == [0, 1]
