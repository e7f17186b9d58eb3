"""The tests that a tree asks of raw rows."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from solver import InputError
from solver.features.node_tests import CategoryTest, ThresholdTest, parse_test

ODOR = CategoryTest("odor", (("almond",), ("foul", "musty"), (None,)))
IS_FOUL = CategoryTest("odor", ((), ("foul",)), rest=0)
AGE = ThresholdTest("age", 30.5, missing=1)
DAY = ThresholdTest("day", 86400.0, unit="date")


def column(*values: Any) -> np.ndarray[Any, Any]:
    result = np.empty(len(values), dtype=object)
    result[:] = values
    return result


def test_categories_take_their_branch() -> None:
    values = column("musty", "almond", None, "foul", float("nan"))
    assert ODOR.branches(values).tolist() == [1, 0, 2, 1, 2]
    assert IS_FOUL.branches(values).tolist() == [0, 0, 0, 1, 0]


def test_unseen_categories_stop_or_go_with_the_rest() -> None:
    assert ODOR.branches(column("fishy")).tolist() == [-1]
    assert IS_FOUL.branches(column("fishy", None)).tolist() == [0, 0]


def test_thresholds_take_their_branch() -> None:
    values = np.array([30.5, 30.6, -1e300, np.nan])
    assert AGE.branches(values).tolist() == [0, 1, 0, 1]
    assert ThresholdTest("age", 30.5).branches(values).tolist() == [0, 1, 0, 0]


def test_words() -> None:
    assert (ODOR.name, ODOR.arity) == ("odor", 3)
    assert [ODOR.describe(b) for b in range(3)] == [
        "odor = almond",
        "odor in {foul, musty}",
        "odor = missing",
    ]
    assert (IS_FOUL.name, IS_FOUL.arity, IS_FOUL.is_indicator) == ("odor=foul", 2, True)
    assert [IS_FOUL.describe(b) for b in range(2)] == ["odor ≠ foul", "odor = foul"]
    assert (AGE.name, AGE.arity) == ("age>30.5", 2)
    assert [AGE.describe(b) for b in range(2)] == ["age ≤ 30.5", "age > 30.5"]
    assert DAY.describe(1) == "day > 1970-01-02"
    assert ThresholdTest("day", 86461.0, unit="date").describe(0) == "day ≤ 1970-01-02T00:01:01"


def test_where_missing_numbers_go_is_told_if_training_rows_lack_them() -> None:
    lacked = ThresholdTest("age", 30.5, missing=0, lacked=True)
    assert [lacked.describe(b) for b in range(2)] == ["age ≤ 30.5 or missing", "age > 30.5"]
    assert parse_test(lacked.to_dict()) == lacked


def test_thresholds_are_told_to_the_last_digit() -> None:
    for threshold in (0.3, 0.1 + 0.2, 1.7e12, 1.7e12 + 0.001, 1e300, 5e-324, -0.1):
        test = ThresholdTest("x", threshold)
        assert float(test.describe(0).removeprefix("x ≤ ")) == threshold
        assert float(test.name.removeprefix("x>")) == threshold


@pytest.mark.parametrize(
    "change",
    [
        {"threshold": float("nan")},
        {"threshold": "inf"},
        {"unit": "hour"},
        {"unit": "date", "threshold": 1e300},
    ],
)
def test_thresholds_that_cannot_be_told_are_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="is the threshold"):
        parse_test(AGE.to_dict() | change)


@pytest.mark.parametrize("test", [ODOR, IS_FOUL, AGE, DAY])
def test_plain_form_round_trip(test: CategoryTest | ThresholdTest) -> None:
    assert parse_test(test.to_dict()) == test


def test_later_kinds_are_refused() -> None:
    with pytest.raises(InputError, match="cannot read a test of kind 'spline'; upgrade"):
        parse_test({"kind": "spline", "weights": [1, 2]})


@pytest.mark.parametrize(
    "test, change",
    [(AGE, {"missing": 2}), (ODOR, {"rest": 3}), (ODOR, {"rest": -1}), (ODOR, {"groups": []})],
)
def test_branches_that_do_not_exist(
    test: CategoryTest | ThresholdTest, change: dict[str, Any]
) -> None:
    with pytest.raises(ValueError, match="has no branch"):
        parse_test(test.to_dict() | change)


@given(st.floats(allow_nan=False, allow_infinity=False), st.floats(allow_infinity=False))
def test_threshold_agrees_with_python(threshold: float, value: float) -> None:
    taken = int(ThresholdTest("x", threshold).branches(np.array([value]))[0])
    assert taken == (1 if value > threshold else 0)


def test_booleans_are_no_numbers() -> None:
    test = CategoryTest("x", ((True,), (1,), (False,), (0,)))
    assert test.branches(column(True, 1, False, 0, 1.0)).tolist() == [0, 1, 2, 3, 1]


WORDS = (
    "missing", "", " ", "a", "a ", " a", "'a'", '"a"', "a\n", "a\u200b", "a, b", "b", "{a}", "1",
    "True", "a = b", "= b", "don't", "\u00e9", "e\u0301", "\\n", "a, 'b'",
)  # fmt: skip
COLUMNS = ("x", "x = a", "x =", "x ", "x\n", "x=a", "x>1", "x in {a", "'x'", "", "x ≤ 1 > 2")


def test_no_two_conditions_are_written_alike() -> None:
    values = (None, *WORDS)
    single = [CategoryTest(c, ((), (v,)), rest=0) for c in COLUMNS for v in values]
    pairs = itertools.combinations(values, 2)
    groups = [CategoryTest(c, (pair, ())) for c in COLUMNS[:3] for pair in pairs]
    cuts = [ThresholdTest(c, t) for c in COLUMNS for t in (1.0, 2.0)]
    written = [test.describe(b) for test in (*single, *cuts) for b in (0, 1)]
    written += [test.describe(0) for test in groups]
    assert len(set(written)) == len(written)
    names = [test.name for test in (*single, *cuts)]
    assert len(set(names)) == len(names)
    assert all(text.isprintable() for text in written + names)


@pytest.mark.parametrize(
    "test, words",
    [
        (CategoryTest("x", ((), ("missing",)), rest=0), "x = 'missing'"),
        (CategoryTest("x", ((), (None,)), rest=0), "x = missing"),
        (CategoryTest("x", ((), ("a ",)), rest=0), "x = 'a '"),
        (CategoryTest("x", ((), ("a, b",)), rest=0), "x = a, b"),
        (CategoryTest("x", ((), ("a, b", "c"))), "x in {'a, b', c}"),
        (CategoryTest("x = y\n", ((), ("don't",)), rest=0), "'x = y\\n' = don't"),
        (ThresholdTest("x > 2", 1.0), "'x > 2' > 1"),
    ],
)
def test_what_could_be_misread_is_quoted(test: CategoryTest | ThresholdTest, words: str) -> None:
    assert test.describe(1) == words
