"""What solvers report in addition to their trees."""

from __future__ import annotations

import json
import math

import pyarrow as pa
import pytest

from pipelines.report.analysis.ablations import count_of, extra_of, number, pruned_of, trace_of
from pipelines.report.data.store_reader import compress_column


def test_it_is_read_compressed_or_not() -> None:
    text = json.dumps({"trees_evaluated": 7})
    compressed = compress_column(pa.chunked_array([[text, None]])).to_pandas()
    assert extra_of(text) == extra_of(compressed[0]) == {"trees_evaluated": 7}
    assert extra_of(compressed[1]) == {}


@pytest.mark.parametrize("value", [None, math.nan, "", "{", "[1]", "3"])
def test_what_cannot_be_read_is_nothing(value: object) -> None:
    assert extra_of(value) == {}


def test_numbers_may_be_fractions_and_anything_else_is_missing() -> None:
    assert number("1/4") == 0.25
    assert number(3) == 3.0
    for value in (None, True, "x", "1/0", [1]):
        assert math.isnan(number(value))
    assert count_of({"a": 5}, "a") == 5
    assert math.isnan(count_of({}, "a"))


def test_a_trace_is_in_the_order_of_time_and_may_lack_columns() -> None:
    points = [{"seconds": 2.0, "objective": "1/4", "queue": 3}, {"seconds": 0.5}, {"queue": 1}, 8]
    table = trace_of({"trace": points})
    assert table["seconds"].tolist() == [0.5, 2.0]
    assert table["objective"].tolist()[1] == 0.25
    assert table["lower_bound"].isna().all()
    assert trace_of({}).empty
    assert trace_of({"trace": "none"}).empty


def test_counts_of_bounds() -> None:
    assert pruned_of({"pruned": {"support": 4}}) == {"support": 4.0}
    assert pruned_of({"pruned": 4}) == {}
