"""Columns of fractions and figures over groups: by column what one by one would give."""

from __future__ import annotations

import math
import statistics
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.report.analysis import contradictions
from pipelines.report.data.group_statistics import (
    ExactColumns,
    Groups,
    differences,
    firsts,
    groups,
    least_of,
    mean_texts,
)
from pipelines.report.data.results import label_results
from pipelines.report.data.store_reader import compress_column, decompress
from solver.solution import BELOW_ONE
from tests.helpers.report_rows import as_frame, run_row, sweep_rows

# Some are equal as floats and not as fractions.
NEAR = [Fraction(1, 3) + Fraction(i, 10**40) for i in range(3)]
fractions = st.one_of(
    st.sampled_from(NEAR), st.fractions(min_value=-3, max_value=3, max_denominator=9)
)
values = st.lists(st.one_of(st.none(), fractions), min_size=1, max_size=30)


def texts(column: list[Fraction | None]) -> pd.Series[str]:
    return pd.Series([None if value is None else str(value) for value in column], dtype=object)


@settings(deadline=None, max_examples=60)
@given(values, values)
def test_numbers_compare_as_the_fractions_do(
    first: list[Fraction | None], second: list[Fraction | None]
) -> None:
    exact = ExactColumns(texts(first), texts(second))
    both = [*zip(first, exact.ranks(0), strict=True), *zip(second, exact.ranks(1), strict=True)]
    for a, rank_a in both:
        assert (rank_a == -1) == (a is None)
        for b, rank_b in both:
            if a is not None and b is not None:
                assert (a < b, a == b) == (rank_a < rank_b, rank_a == rank_b)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(fractions, st.integers(0, 3)), min_size=1, max_size=30))
def test_distances_to_the_least_of_each_group(rows: list[tuple[Fraction, int]]) -> None:
    exact = ExactColumns(texts([value for value, _ in rows]))
    numbers = np.array([group for _, group in rows])
    least = least_of(exact.ranks(), numbers)
    above, words = differences(exact, exact.codes(), exact.codes()[least])
    for (value, group), distance, word in zip(rows, above, words, strict=True):
        true = value - min(v for v, g in rows if g == group)
        assert (Fraction(word), distance) == (true, float(true))


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(st.integers(0, 3), st.one_of(st.none(), fractions)), max_size=30))
def test_exact_means(rows: list[tuple[int, Fraction | None]]) -> None:
    rows.sort(key=lambda row: row[0])
    found = mean_texts(texts([v for _, v in rows]), np.array([g for g, _ in rows], int), 4)
    for group, text in enumerate(found):
        own = [value for number, value in rows if number == group]
        if not own or None in own:
            assert text is None
        else:
            assert text == str(sum((v for v in own if v is not None), Fraction(0)) / len(own))


numbers = st.one_of(st.just(math.nan), st.floats(-1e6, 1e6), st.sampled_from([0.1, 0.9, 1 / 3]))


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(st.integers(0, 4), numbers), max_size=40))
def test_figures_over_groups_are_those_of_the_statistics_module(
    rows: list[tuple[int, float]],
) -> None:
    rows.sort(key=lambda row: row[0])
    column = np.array([value for _, value in rows], float)
    over = Groups(np.array([group for group, _ in rows], int), 5)
    mean, deviation = over.mean(column), over.deviation(column)
    least, most = over.least(column), over.most(column)
    for group in range(5):
        own = [value for number, value in rows if number == group and not math.isnan(value)]
        if not own:
            assert np.isnan([mean[group], least[group], most[group], deviation[group]]).all()
            continue
        assert mean[group] == pytest.approx(math.fsum(own) / len(own), rel=1e-15, abs=1e-300)
        assert (least[group], most[group]) == (min(own), max(own))
        if len(set(own)) == 1:
            assert deviation[group] == 0 or len(own) == 1
        else:
            assert deviation[group] == pytest.approx(statistics.stdev(own), rel=1e-12)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from([1.0, None])), max_size=20))
def test_groups_are_numbered_as_they_come(rows: list[tuple[str, float | None]]) -> None:
    frame = pd.DataFrame(rows, columns=["x", "y"]).astype({"x": "category", "y": object})
    found = groups(frame, ["x", "y"])
    expected = {pair: i for i, pair in enumerate(dict.fromkeys(rows))}
    assert found.tolist() == [expected[pair] for pair in rows]
    assert firsts(found).tolist() == [rows.index(pair) for pair in expected]


LIES = [
    {},
    {"objective_exact": "1/1000"},
    {"lower_bound_exact": "1"},
    {"lower_bound_exact": None},
    {"lower_bound_exact": "1/3", "status": "time_limit"},
    {"errors": 3},
    {"splits": 0, "errors": 2},
]


@settings(deadline=None, max_examples=60)
@given(st.lists(st.sampled_from(range(len(LIES))), min_size=6, max_size=6))
def test_looking_at_suspects_only_finds_all_contradictions(lies: list[int]) -> None:
    rows = [*sweep_rows(encodings=("onehot",), lams=("0.2", "0.05")), run_row(lam="0.2", fold=1)]
    told = [
        row | LIES[lie] | {"key": str(i), "solver": f"{row['solver']}-{i}"}
        for i, (row, lie) in enumerate(zip(rows, lies, strict=False))
    ]
    frame = label_results(as_frame(told), None).rows
    found = contradictions.find_disagreements(frame)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(contradictions, "_suspects", lambda rows: rows["problem"].unique())
        everywhere = contradictions.find_disagreements(frame)
    pd.testing.assert_frame_equal(found, everywhere)


def test_compressed_texts_come_back() -> None:
    column = pa.chunked_array([["a tree", None, "a tree"], ["än other"]])
    compressed = compress_column(column)
    assert len(compressed.chunk(0).dictionary) == 1
    back = [None if v is None else decompress(v) for v in compressed.to_pylist()]
    assert back == column.to_pylist()
    assert decompress("as it is") == "as it is"


def test_a_mean_of_shares_is_1_only_if_all_are() -> None:
    shares = np.array([1.0, 1.0, 1.0, BELOW_ONE, 0.5, 1.0, np.nan, 1.0, np.nan])
    over = Groups(np.array([0, 0, 1, 1, 2, 2, 3, 3, 4]), 6)
    found = over.mean_share(shares)
    assert found[:4].tolist() == [1, BELOW_ONE, 0.75, 1]
    assert np.isnan(found[4:]).all()
