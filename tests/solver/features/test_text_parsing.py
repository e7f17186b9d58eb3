"""How text writes numbers and dates."""

from __future__ import annotations

import datetime as dt
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from solver.errors import InputError
from solver.features.category_values import written
from solver.features.text_parsing import (
    MISSING_MARKS,
    PLAIN,
    TextFormat,
    mixed_decimals,
    odd_texts,
    readings_of,
)

FORMS = [
    TextFormat(decimal, thousands, unit)
    for decimal, thousands in [(".", ""), (",", ""), (".", ","), (",", "."), (".", " "), (".", "'")]
    for unit in ("", "%", "€", "$")
]


def write(number: Fraction, form: TextFormat, before: bool) -> str:
    """A number with three decimals at most, by a rule of its own."""
    whole, thousandths = divmod(abs(number) * 1000, 1000)
    digits = str(whole // 1)
    groups = []
    while form.thousands and len(digits) > 3:
        digits, last = digits[:-3], digits[-3:]
        groups.insert(0, last)
    text = form.thousands.join([digits, *groups])
    fraction = f"{int(thousandths):03d}".rstrip("0")
    text += form.decimal + fraction if fraction else ""
    sign = "-" if number < 0 else ""
    return (
        f"{sign}{form.unit}{text}"
        if before
        else f"{sign}{text}{' ' if form.unit else ''}{form.unit}"
    )


numbers = st.lists(
    st.integers(-(10**9), 10**9).map(lambda n: Fraction(n, 1000)), min_size=1, unique=True
)


@given(numbers, st.sampled_from(FORMS), st.booleans(), st.sets(st.sampled_from([*MISSING_MARKS])))
def test_numbers_are_read_as_they_were_written(values, form, before, marks):
    texts = [write(value, form, before) for value in values]
    for text, value in zip(texts, values, strict=True):
        assert Fraction(str(written(form.plain_number(text)))) == value
    found = readings_of([*texts, *marks])
    read = []
    for reading in found:
        assert set(reading.missing) == marks
        read.append([Fraction(str(written(reading.form.plain_number(t)))) for t in texts])
    # The right reading is among them; 1.234 without a unit is as Python writes it.
    assert values in read or (form.thousands == "." and not found[0].form)
    assert len({tuple(values) for values in read}) == len(read)


@pytest.mark.parametrize(
    ("texts", "readings"),
    [
        (["29,755", "1,234"], [["29755", "1234"], ["29.755", "1.234"]]),
        (["29,755", "1,234,567"], [["29755", "1234567"]]),
        (["1,5", "2,75"], [["1.5", "2.75"]]),
        (["1.234", "2.5"], [["1.234", "2.5"]]),
        (["1.234,5", "7"], [["1234.5", "7"]]),
        (["23%", "7 %"], [["23", "7"]]),
        (["$5", "-$1,200.50"], [["5", "-1200.5"]]),
        (["1\u202f234,5", "2"], [["1234.5", "2"]]),
        (["A1", "A2"], []),
        (["1 kg", "2 kg"], []),
        (["01234", "99999"], []),
        (["1,23,456", "1"], []),
        (["12 34", "1"], []),
        (["1e5", "2"], [["100000", "2"]]),
        (["", "x"], []),
        (["5%", "5€"], []),
    ],
)
def test_ways_to_read_numbers(texts, readings):
    found = readings_of(texts)
    assert [[str(written(r.form.plain_number(t))) for t in texts] for r in found] == readings
    assert {reading.kind for reading in found} <= {"number"}


@pytest.mark.parametrize(
    ("texts", "formats"),
    [
        (["31/07/2020", "01/02/2020"], ["%d/%m/%Y"]),
        (["07/31/2020"], ["%m/%d/%Y"]),
        (["03/07/2020", "01/02/2020"], ["%d/%m/%Y", "%m/%d/%Y"]),
        (["03/03/2020"], ["%d/%m/%Y"]),
        (["31.07.2020", "?"], ["%d.%m.%Y"]),
        (["2020-07-31"], ["%Y-%m-%d"]),
        (["31/07/2020 12:30"], ["%d/%m/%Y %H:%M"]),
        (["5 Mar 2021"], ["%d %b %Y"]),
        (["32/07/2020"], []),
        (["31/07/2020", "2020-07-31"], []),
    ],
)
def test_ways_to_read_dates(texts, formats):
    found = readings_of(texts)
    assert [reading.form.format for reading in found] == formats
    for reading in found:
        known = [text for text in texts if text not in reading.missing]
        for text in known:
            moment = dt.datetime.strptime(text, reading.form.format)
            assert reading.form.plain_date(text) == moment.isoformat()


def test_a_format_refuses_what_it_does_not_write():
    form = TextFormat(decimal=",", thousands=".")
    for text in ("1.5", "1,2,3", "12.34,5", ".123", "", ",", "-", "1.234.5", "x1"):
        assert form.plain_number(text) is None
    assert TextFormat(unit="kg").plain_number("12 kg") == "12"


def test_mixed_decimals():
    assert mixed_decimals(["1,5", "3", "1.5", "-"]) == {".": ["1.5"], ",": ["1,5"]}
    for texts in (
        ["1,5", "1.500", "2"], ["1.5", "1,500", "1,500.5"], ["1,5", "1.5", "abc"], ["1,5", "01.5"],
        ["1,5", "1.2.2020"], ["1,5", "2"], ["1.5"], ["-"], [],
    ):  # fmt: skip
        assert mixed_decimals(texts) is None


def test_odd_texts():
    numbers = [str(i) for i in range(40)]
    assert odd_texts([*numbers, "abc"]) == ("number", PLAIN, ["abc"])
    assert odd_texts([*numbers, "01"]) == ("number", PLAIN, ["01"])
    for texts in (numbers, [*numbers, *(f"x{i}" for i in range(10))], ["a", "b"], []):
        assert odd_texts(texts) is None


def test_odd_texts_among_numbers_and_dates_of_any_format():
    amounts = [f"{i}.{10 * j:03d},5 €" for i in range(1, 9) for j in range(5)]
    assert odd_texts([*amounts, "k.A.", "?"]) == (
        "number", TextFormat(decimal=",", thousands=".", unit="€"), ["k.A.", "?"],
    )  # fmt: skip
    days = [f"{day:02d}.05.2021" for day in range(1, 29)]
    assert odd_texts(["never", *days]) == ("date", TextFormat(format="%d.%m.%Y"), ["never"])
    both = [f"{day:02d}/0{month}/2021" for day in range(1, 13) for month in range(1, 4)]
    for texts in (days, [*days, *(f"x{i}" for i in range(9))], [*both, "never"]):
        assert odd_texts(texts) is None


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"decimal": "."}, ""),
        ({"decimal": ",", "thousands": ","}, "both ','"),
        ({"decimal": "ab"}, "one sign"),
        ({"decimal": "1"}, "one sign"),
        ({"thousands": 3}, "must be text"),
        ({"format": "%Q"}, "no format of dates"),
        ({"format": ""}, "must be text"),
        ({"unit": None}, "must be text"),
    ],
)
def test_formats_are_checked(data, words):
    if not words:
        assert not TextFormat.from_mapping(data, "x")
        return
    with pytest.raises(InputError, match=words):
        TextFormat.from_mapping(data, "x")
