"""Text that writes numbers or dates."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from solver.errors import InputError
from solver.features.column_inference import describe_guesses, infer_columns
from solver.features.columns import ColumnSpec


def infer(texts, wish=None, **options):
    frame = pd.DataFrame({"x": texts})
    return infer_columns(frame, {} if wish is None else {"x": wish}, **options)["x"]


def test_marks_of_missing_values_do_not_make_numbers_categories():
    texts = [*map(str, range(20, 60)), "?", "n/a", "-"]
    spec = infer(texts)
    assert (spec.kind, set(spec.missing)) == ("number", {"?", "n/a", "-"})
    read = spec.read(pd.Series(texts, name="x"))
    assert list(read[:40]) == [float(i) for i in range(20, 60)]
    assert pd.isna(read[40:]).all()
    assert [*describe_guesses({"x": spec}, {})] == [
        "Column 'x' is read as numbers; missing: '-', '?', 'n/a'."
    ]
    assert not [*describe_guesses({"x": spec}, {"x": "number"})]


def test_few_values_stay_categories():
    assert infer([*"12345", "?"]).kind == "category"
    assert infer([*"12345", "?"], few_values=0).kind == "category"
    assert infer([*map(str, range(11)), "?"]).kind == "number"


def test_numbers_of_several_types_are_numbers():
    values = [Decimal("1.5"), 2.5, 3, None, np.float32(4.25), np.int8(5), Decimal("NaN")] * 3
    spec = infer(pd.Series(values, dtype=object), few_values=0)
    assert spec.kind == "number"
    read = spec.read(pd.Series(values, dtype=object, name="x"))
    assert [*read[:6]] == [1.5, 2.5, 3.0, pytest.approx(float("nan"), nan_ok=True), 4.25, 5.0]
    assert infer(pd.Series([Decimal(7), 2, 3], dtype=object)).kind == "category"  # few and whole
    with pytest.raises(InputError, match="mixes numbers and booleans"):
        infer(pd.Series([Decimal("1.5"), 2.5, True], dtype=object))
    assert infer(pd.Series([None, float("nan")], dtype=object)).kind == "category"


def test_numbers_that_are_text_stay_text():
    assert infer([str(i) for i in range(50)]).kind == "category"
    assert infer([f"0{i}" for i in range(50)] + ["?"]).kind == "category"


def test_formats_are_stored_with_the_column():
    texts = [f"{i}.{i:03d},5 €" for i in range(1, 40)]
    spec = infer(texts)
    assert spec.to_dict() == {"kind": "number", "decimal": ",", "thousands": ".", "unit": "€"}
    again = ColumnSpec.from_dict(spec.to_dict())
    assert again == spec
    assert list(again.read(pd.Series(["1.500,25", "7 €", 3.5], name="x"))) == [1500.25, 7.0, 3.5]
    with pytest.raises(InputError, match=r"cannot.*decimal sign ','"):
        again.read(pd.Series(["1.5"], name="x"))


def test_dates_are_stored_with_their_format():
    texts = [f"{day:02d}/07/2020" for day in range(1, 32)]
    spec = infer(texts)
    assert spec.to_dict() == {"kind": "date", "format": "%d/%m/%Y"}
    column = pd.Series(["31/07/2020", pd.Timestamp("2020-07-31"), None], name="x", dtype=object)
    first, second, none = spec.read(column)
    assert first == second == pd.Timestamp("2020-07-31").timestamp()
    assert pd.isna(none)
    with pytest.raises(InputError, match="cannot be read as dates with format '%d/%m/%Y'"):
        spec.read(pd.Series(["2020-07-31"], name="x"))
    whole = ColumnSpec.from_dict({"kind": "date", "format": "%Y%m%d"})
    assert whole.read(pd.Series([20200731], name="x"))[0] == first


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        (
            [f"{i},{i + 100}" for i in range(1, 30)],
            ["can be read in 2 ways", "1101", "1.101", "'thousands': ','", "'decimal': ','"],
        ),
        (
            [f"{i:02d}/05/2020" for i in range(1, 13)],
            ["can be read in 2 ways", "'%d/%m/%Y'", "'%m/%d/%Y'"],
        ),
        (
            [f"{year}/07/{day}" for year in range(16, 25) for day in (11, 12)],
            ["can be read in 2 ways", "2011-07-16", "2016-07-11", "'%y/%m/%d'"],
        ),
        (
            ["1,5", "2", "1.5", "2,5", "?"],
            ["decimal comma, e.g. '1,5', and with a decimal point, e.g. '1.5' (in row 3); write"],
        ),
        (
            [*(f"{i}.5 €" for i in range(40)), "7,5", "8,25 €", "9.000,5", "7,5", "7,5"],
            [
                "decimal point, e.g. '0.5 €', and",
                "comma, e.g. '7,5' (in rows 41, 42, 43 and 2 more)",
            ],
        ),
        (
            [*map(str, range(50)), "abc"],
            ["50 different numbers", "'abc'", "'missing': ['abc']", "columns={'x': 'category'}"],
        ),
        (
            ["0", "0%", "0.5", *(f"{i}%" for i in range(1, 30))],
            ["has '0.5' and '0%': one may be a share; write them alike, or write", "'unit': '%'"],
        ),
        (
            [f"31/12/{year}" for year in (*range(45, 99), "03")],
            ["'31/12/68' may be in 2068 or in 1968", "'format': '%d/%m/%y'"],
        ),
        (
            [f"{day}/12/52" for day in range(10, 30)],
            ["may be in 2052 or in 1952; write four digits", "'format': '%d/%m/%y'"],
        ),
        (
            [f"{day}/12/{year}" for year in (70, 71, 25) for day in range(10, 31)],
            ["'30/12/71' would be in 1971", "/12/25' in 2025", "'format': '%d/%m/%y'"],
        ),
    ],
)
def test_what_is_not_certain_is_refused(texts, words):
    with pytest.raises(InputError) as caught:
        infer(texts)
    assert all(word in str(caught.value) for word in words), caught.value
    assert infer(texts, "category").kind == "category"


def test_what_only_looks_uncertain_is_read():
    assert infer(["0", "0.5", *(f"{i}%" for i in range(30))], {"unit": "%"}).form.unit == "%"
    assert infer(["0", *(f"{i}%" for i in range(30))]).form.unit == "%"
    assert infer(["5", *(f"${i}" for i in range(30))]).form.unit == "$"
    for years in (range(30), [*range(72, 100), *range(20)], range(69, 100)):
        assert infer([f"31/12/{year:02d}" for year in years]).form.format == "%d/%m/%y"


@pytest.mark.parametrize(
    ("wish", "words"),
    [
        ({"kind": "date", "decimal": ","}, "do not go with kind date"),
        ({"kind": "category", "format": "%d"}, "do not go with kind category"),
        ({"format": "%d", "unit": "%"}, "do not go"),
        ({"kind": "number", "comma": ","}, "no key 'comma'"),
    ],
)
def test_overrides_are_checked(wish, words):
    if wish == {"format": "%d", "unit": "%"}:
        wish = {"kind": "number", **wish}
    with pytest.raises(InputError, match=words):
        infer(["1", "2"], wish)


def test_a_format_names_the_kind():
    assert infer(["1,5", "2"], {"decimal": ","}).kind == "number"
    assert infer(["31.12.2020", "1.1.2021"], {"format": "%d.%m.%Y"}).kind == "date"
