"""Reading the target."""

from __future__ import annotations

import pickle
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from solver.errors import InputError
from solver.problem.problem import Problem
from solver.problem.target import (
    MISSING,
    UNKNOWN,
    find_labels,
    read_labels,
    read_target_array,
    read_targets,
)


@pytest.mark.parametrize(
    "values, labels, codes",
    [
        (["b", "a", "b"], ("a", "b"), [1, 0, 1]),
        ([10, 9, 10], (9, 10), [1, 0, 1]),
        ([1.0, 0.0], (0, 1), [1, 0]),
        ([True, False], (False, True), [1, 0]),
        (pd.Categorical(["low", "high"], ["low", "high", "never"]), ("high", "low"), [1, 0]),
        (pd.array([2, 1], dtype="Int64"), (1, 2), [1, 0]),
        (np.array(["x", "é"], dtype=object), ("x", "é"), [0, 1]),
        ([2**53 + 1, 2**53], (2**53, 2**53 + 1), [1, 0]),
        (np.array([2**64, 2**64 + 1], dtype=object), (2**64, 2**64 + 1), [0, 1]),
        ([str(2**53 + 1), str(2**53)], (str(2**53), str(2**53 + 1)), [1, 0]),
    ],
)
def test_labels_are_sorted_python_scalars(values, labels, codes):
    found, positions = read_labels(pd.Series(values, name="class"))
    assert found == labels
    assert [type(label) for label in found] == [type(label) for label in labels]
    assert positions.tolist() == codes


def test_classes_of_another_table():
    labels, codes = read_labels(pd.Series(["c", "a"]), classes=("a", "b", "c"))
    assert labels == ("a", "b", "c")
    assert codes.tolist() == [2, 0]
    assert read_labels(pd.Series(["a"]), classes=("a", "b"))[1].tolist() == [0]


def test_classes_settle_the_type():
    """A file that lacks the label ``other`` has its labels as numbers."""
    assert read_labels(pd.Series([2, 1]), classes=("1", "2", "other"))[1].tolist() == [1, 0]
    assert read_labels(pd.Series(["2", "1"]), classes=(1, 2))[1].tolist() == [1, 0]


@pytest.mark.parametrize(
    "values, message",
    [
        (["a", None], "target 'class' is missing in 1 of 2 rows"),
        ([0.5, 1.0], "target 'class' holds measured numbers"),
        (["a", "a"], "target 'class' has the single class 'a'"),
        (["a", 1], "target 'class' mixes text and numbers"),
        ([True, 1, False, 0], "target 'class' mixes numbers and booleans"),
        (np.array([0.5, 1], dtype=object), "target 'class' holds measured numbers"),
        (pd.to_datetime(["2024-01-01", "2024-01-02"]), "target 'class' holds dates"),
        ([["a"], ["b"]], "'class' holds list values"),
    ],
)
def test_errors(values, message):
    with pytest.raises(InputError, match=message):
        read_labels(pd.Series(values, name="class"))


def test_unknown_label():
    with pytest.raises(InputError, match="'class' has the label 'c', which is not a class"):
        read_labels(pd.Series(["c"], name="class"), classes=("a", "b"))


NONE, OTHER = MISSING, UNKNOWN


@pytest.mark.parametrize(
    "classes, values, found",
    [
        ((0, 1), ["1", "unk", "0", None], [1, OTHER, 0, NONE]),
        ((0, 1), [1.0, np.nan], [1, NONE]),
        ((0, 1), [True, False], [1, 0]),
        (("0", "1"), [1, 0, 2], [1, 0, OTHER]),
        (("0", "1"), [1.0, np.nan], [1, NONE]),
        (("1.0", "2.0"), [2, 1], [1, 0]),
        (("01", "02"), [2.0, 1.0], [1, 0]),
        (("True", "no"), [True, False], [0, OTHER]),
        (("false", "true"), [True, False], [1, 0]),
        ((False, True), ["true", "FALSE", "0", "x"], [1, 0, 0, OTHER]),
        ((False, True), [1, 0, 2], [1, 0, OTHER]),
        (("2024-01-01", "2024-01-02"), pd.to_datetime(["2024-01-02"]), [1]),
        (("a", "b"), pd.Categorical(["b", "c"]), [1, OTHER]),
        ((2**53, 2**53 + 1), [str(2**53 + 1)], [1]),
    ],
)
def test_labels_are_found_whatever_their_type(classes, values, found):
    assert find_labels(pd.Series(values, name="class"), classes).tolist() == found


def test_targets_of_regression_do_not_merge():
    with pytest.raises(InputError, match=r"target 'y' has whole numbers beyond 2\^53"):
        read_targets(pd.DataFrame({"y": [2**53, 2**53 + 1]}))


@pytest.mark.parametrize(
    "values, message",
    [
        ([pd.Interval(0, 1), "(0, 1]"], "two values that both read '(0, 1]', Interval and str"),
        (["a;b\udc80", "c"], r": the value 'a;b\udc80' holds a lone surrogate, half a character "
                             "that no file in UTF-8 can hold"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_target_is_told_in_full(values, message):
    column = pd.Series(values, dtype=object, name="a;b")
    with pytest.raises(InputError) as caught:
        read_labels(column)
    told = message if message.startswith(":") else f" has {message}"
    assert str(caught.value) == f"target 'a;b'{told}; make its labels text"


def test_a_semicolon_ends_no_message_of_regression():
    with pytest.raises(InputError) as caught:
        read_targets(pd.DataFrame({"a; column": [1, "2; 3"]}, dtype=object))
    assert str(caught.value) == (
        "target 'a; column' cannot be read as numbers: it has the value '2; 3'; regression needs "
        "a finite number in every row"
    )
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


DAYS = np.array(["2020-01-01", "NaT"], "M8[ns]")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (DAYS, "it has dates"),
        ([Decimal("0.1"), Decimal("0.10000000000000000001")], "differ by less than floats"),
        ([2**53 + 1, 0.5], "not exact as numbers"),
        ([Decimal(2**53 + 1), Decimal(2**53)], "not exact as numbers"),
        ([str(2**53 + 1), str(2**53)], "not exact as numbers"),
        (["a", "b"], "cannot be read as numbers"),
        (np.ma.array([1.0, 2.0], mask=[0, 1]), "values are masked"),
    ],
)
def test_an_array_of_targets_is_read_as_a_column_is(given, message):
    with pytest.raises(InputError, match=message):
        read_target_array(given, "y")
    with pytest.raises(InputError, match=message):
        Problem.from_codes([[0], [1]], given, task="regression")


@pytest.mark.parametrize("dtype", ["float32", "Float32", "float[pyarrow]"])
def test_narrow_targets_are_short_decimals(dtype):
    assert read_target_array(pd.Series([0.1, 0.2], dtype=dtype), "y").tolist() == [[0.1], [0.2]]


@pytest.mark.parametrize("dtype", ["Float64", "double[pyarrow]", "float64"])
def test_a_label_that_is_nan_is_a_missing_one(dtype):
    column = pd.Series([1.0, 2.0, 0.0], dtype=dtype, name="t")
    with pytest.raises(InputError, match="target 't' is missing in 1 of 3 rows"):
        read_labels(column / column.where(column > 0, 0.0))


def test_targets_and_labels_of_arrays():
    with pytest.raises(InputError, match="target 'target' has 3 dimensions"):
        Problem.from_codes([[0], [1]], np.zeros((2, 2, 2)), task="regression")
    narrow = Problem.from_codes([[0], [1]], [0, 1], classes=[np.float32(0.1), np.float32(0.2)])
    assert narrow.classes == (0.1, 0.2)
