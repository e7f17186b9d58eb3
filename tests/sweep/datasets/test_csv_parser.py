"""Fields of text files as numbers, booleans and text."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from solver.features.column_inference import infer_columns
from solver.features.columns import ColumnSpec
from sweep.datasets.csv_parser import parse_text


def column(*fields: str) -> pd.Series[Any]:
    """The column that such fields are read as."""
    return parse_text("x,other\n" + "".join(f"{field},\n" for field in fields))["x"]


@pytest.mark.parametrize(
    "fields",
    [
        ("01234", "12345"),
        ("1", "-007"),
        ("00.5", "1.5"),
        ('"01"', "2"),
        ("9007199254740993", "NA"),
        ("9007199254740993", "0.5"),
        ("0.3", "0.30000000000000001"),
        ("0.12345678901234567890", "0.12345678901234567891"),
        ("1e-323", "1.1e-323"),
    ],
)
def test_numbers_that_would_lose_something_stay_text(fields: tuple[str, ...]) -> None:
    found = column(*fields)
    assert pd.api.types.is_string_dtype(found)
    kept = [field.strip('"') for field in fields if field != "NA"]
    assert found.dropna().tolist() == kept


@pytest.mark.parametrize(
    "fields, values",
    [
        (("0", "-0.5", "10"), [0, -0.5, 10]),
        (("1", "1.0", "+1", " 1", "1e0"), [1] * 5),
        (("9007199254740993", "1"), [9007199254740993, 1]),
        (("0.30000000000000004", "0.30000000000000004"), [0.1 + 0.2] * 2),
        (("1e300", "1e300"), [1e300] * 2),
        (("10:01", "x"), ["10:01", "x"]),
        (("TRUE", "false"), [True, False]),
    ],
)
def test_other_fields_are_what_they_write(fields: tuple[str, ...], values: list[Any]) -> None:
    assert column(*fields).tolist() == values


def test_other_columns_keep_their_type() -> None:
    frame = parse_text("zip\tn\tx\n01234\t1\t0.5\n12345\t2\t1.5\n", "\t")
    assert frame.dtypes.map(pd.api.types.is_numeric_dtype).tolist() == [False, True, True]
    assert infer_columns(frame)["zip"] == ColumnSpec("category", "text", texts=("01234",))


def test_columns_that_are_left_as_text() -> None:
    text, names = "a,b,c\n1.0,TRUE,NA\n02,false,\n", ["a", "b", "c", "not there"]
    frame = parse_text(text, texts=dict.fromkeys(names, ()))
    assert frame["a"].tolist() == ["1.0", "02"]
    assert frame["b"].tolist() == ["TRUE", "false"]
    assert frame["c"].isna().all()
    known = parse_text(text, texts=dict.fromkeys(names, ("NA",)))["c"]
    assert known.isna().tolist() == [False, True]
    assert known[0] == "NA"


def test_missing_fields_beside_whole_numbers_and_fractions_are_missing() -> None:
    """pandas alone reads such a column as text, and its missing fields as the text ''."""
    for missing in ("", "NA"):
        frame = parse_text(f"n,x\na,18446744073709551617\nb,{missing}\nc,1.5\n")
        assert frame["x"].isna().tolist() == [False, True, False]
        assert frame["x"].dropna().tolist() == ["18446744073709551617", "1.5"]


@pytest.mark.parametrize("missing", [(), ("",), ("NA",)])
def test_the_order_of_the_rows_does_not_decide_how_a_column_is_read(missing: tuple[str]) -> None:
    """pandas alone reads some of these as text."""
    fields = ("3", "1.5", "4611686018427387904", "18446744073709551616", *missing)
    for order in itertools.permutations(fields):
        found = column(*order)
        assert found.dtype == np.float64
        assert found.isna().tolist() == [field in missing for field in order]
        wanted = [float(field) for field in order if field not in missing]
        assert found.dropna().tolist() == wanted
        assert column(*(f.replace("616", "617") for f in order)).dropna().tolist() == [
            field.replace("616", "617") for field in order if field not in missing
        ]


def test_whole_numbers_beyond_64_bits_are_read_as_smaller_ones_are() -> None:
    assert column("01", "1", "18446744073709551617").tolist() == ["01", "1", "18446744073709551617"]
    gaps = column("18446744073709551617", "NA", "3")
    assert gaps.dropna().tolist() == ["18446744073709551617", "3"]
    assert column("18446744073709551617", "3").tolist() == [18446744073709551617, 3]


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1))
def test_floats_come_back(numbers: list[float]) -> None:
    text = pd.DataFrame({"x": np.array(numbers, np.float64)}).to_csv(index=False)
    assert parse_text(text)["x"].tolist() == numbers
