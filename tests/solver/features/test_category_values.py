"""Canonical values of categories."""

from __future__ import annotations

import ast
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from solver.features.category_values import (
    as_category,
    is_exact,
    key_of,
    merged_numbers,
    remedy,
    show_value,
    sort_categories,
    widened,
    written,
)


@pytest.mark.parametrize(
    "text, value",
    [
        ("9007199254740993.0", 2**53 + 1),
        ("57136664671062330", 57136664671062330),
        ("5.713666467106233e+16", 57136664671062328),
        ("1e3", 1000),
        (" +1.50 ", 1.5),
        ("-0", 0),
        ("TRUE", True),
        ("tRUE", "tRUE"),
        ("2024-01-01T00:00:00Z", "2024-01-01"),
        ("2024-01-01 09:00+09:00", "2024-01-01"),
        ("1890-05-05 12:00:00.5+05:21:10", "1890-05-05 06:38:50.500000"),
        ("1890-05-05 00:00:00-00:25:21", "1890-05-05 00:25:21"),
        ("1890-02-30 00:00:00+05:21:10", "1890-02-30 00:00:00+05:21:10"),
        ("2024-02-30", "2024-02-30"),
        ("1,000", "1,000"),
        ("1e400", "1e400"),
        ("x", "x"),
    ],
)
def test_what_a_text_writes(text: str, value: Any) -> None:
    assert key_of(written(text)) == key_of(value)


@pytest.mark.parametrize("zone", ["Asia/Kolkata", "Europe/Paris", "America/New_York"])
@pytest.mark.parametrize("time", ["1700-03-01 00:00:04.25", "1890-05-05", "2020-02-29 23:59:59"])
def test_a_moment_of_a_zone_is_what_its_text_writes(time: str, zone: str) -> None:
    moment = pd.Timestamp(time, tz=zone)
    assert written(str(moment)) == written(moment.isoformat()) == as_category(moment, "x")


@given(st.one_of(st.integers(), st.booleans(), st.floats(allow_nan=False, allow_infinity=False)))
def test_what_python_writes_is_read(value: Any) -> None:
    plain = as_category(value, "x")
    if abs(value) < 1e308:
        assert key_of(written(str(value))) == key_of(plain)


def test_booleans_are_sorted_behind_numbers_and_stay_apart() -> None:
    found = sort_categories([None, "a", True, 1, 1.0, False, 0])
    assert [str(value) for value in found] == ["0", "1", "False", "True", "a", "None"]


def test_numbers_that_merge() -> None:
    assert merged_numbers([("0.3", 0.3), ("0.30", 0.3), (0.3, 0.3), (Decimal("0.3"), 0.3)]) is None
    assert merged_numbers([("0.3", 0.3), ("0.30000000000000001", 0.3)]) is not None
    assert [is_exact(n) for n in (2**53, 2**53 + 1, 10**400)] == [True, False, False]


@given(st.text())
def test_a_quoted_text_can_be_read_back(text: str) -> None:
    shown = show_value(text, listed=True)
    assert shown == text or ast.literal_eval(shown) == text
    assert shown.isprintable()
    assert shown != show_value(None)


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"])))
@example("true")
@example("1")
@example("c: {d}")
@example("a=b")
@example("~")
@example("x\u0085y")
def test_a_remedy_is_python(name: str) -> None:
    (wish,) = remedy(name, "drop").split("write ", 1)[1:]
    assert eval(f"dict({wish})") == {"columns": {name: "drop"}}


def test_narrow_floats_among_objects_are_short_decimals() -> None:
    column = pd.Series([np.float32(0.1), 0.10000000149011612, "a"], dtype=object)
    assert widened(column).tolist() == [0.1, 0.10000000149011612, "a"]
