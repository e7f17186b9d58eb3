"""How many digits of numbers are shown."""

from __future__ import annotations

from decimal import Context, Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from solver.features.number_format import (
    at_least,
    at_most,
    count,
    ends_within,
    in_full,
    moment_in_full,
    share,
    show_bytes,
    significant,
    telling,
)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (9.12345, "9.123"),
        (0.000123456, "0.0001235"),
        (49230.44, "49,230"),
        (-49230.44, "-49,230"),
        (1.5e-9, "1.500e-09"),
        (2e30, "2.000e+30"),
    ],
)
def test_significant_digits_keep_all_before_the_point(value: float, text: str) -> None:
    assert significant(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1, "1.0000"),
        (0.99999, "0.9999"),
        (0.99985, "0.9999"),
        (1 - Fraction(1, 10**20), "0.9999"),
        (0, "0.0000"),
        (-1e-9, "0.0000"),
        (-1.5, "-1.5000"),
    ],
)
def test_a_share_is_not_rounded_up_to_one(value: float | Fraction, text: str) -> None:
    assert share(value) == text


@given(st.fractions() | st.floats(-1e300, 1e300), st.integers(1, 17))
@example(Fraction(1, 3 * 10**400), 4)
@example(Fraction(-(10**400), 3), 4)
@example(Fraction(1, 3) - Fraction(1, 10**30), 17)
def test_bounds_are_rounded_down_and_gaps_up(value: float | Fraction, digits: int) -> None:
    exact = value if isinstance(value, Fraction) else Fraction(repr(value))
    low, high = at_most(value, digits), at_least(value, digits)
    assert Fraction(low) <= exact <= Fraction(high)
    context = Context(digits)
    nearest = context.divide(Decimal(exact.numerator), Decimal(exact.denominator))
    assert Fraction(nearest) in (Fraction(low), Fraction(high))


@pytest.mark.parametrize(
    ("number", "noun", "text"),
    [
        (1, "row", "1 row"),
        (0, "row", "0 rows"),
        (2, "class", "2 classes"),
        (3, "branch", "3 branches"),
        (2, "leaf", "2 leaves"),
        (2, "proof", "2 proofs"),
        (1, "leaf", "1 leaf"),
        (Fraction(5, 3), "error", "5/3 errors"),
    ],
)
def test_one_is_no_plural(number: int | Fraction, noun: str, text: str) -> None:
    assert count(number, noun) == text


@pytest.mark.parametrize("value", [0, 0.1, Fraction(1, 10), 0.3, -0.25, 2e-9])
def test_what_needs_no_rounding_is_not_rounded(value: float | Fraction) -> None:
    assert at_most(value, 6) == at_least(value, 6) == f"{float(value):.6g}"


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        ([20.0, 35.5], ["20.0", "35.5"]),
        ([20.123, 20.14, 35.5], ["20.12", "20.14", "35.50"]),
        ([206855.0, 206855.4], ["206,855.0", "206,855.4"]),
        ([1e-9, 2e-9], ["1.00e-09", "2.00e-09"]),
        ([-0.0001, 5.0], ["0.00", "5.00"]),
        ([0.0], ["0.00"]),
        ([1.0, 1.0 + 2**-52], ["1.00000000000", "1.00000000000"]),
    ],
)
def test_numbers_get_the_digits_that_tell_them_apart(values: list[float], texts: list[str]) -> None:
    show = telling(values)
    assert [show(value) for value in values] == texts


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (30.0, "30"),
        (-0.0, "0"),
        (0.1 + 0.2, "0.30000000000000004"),
        (1700000000001.5, "1700000000001.5"),
        (1e300, "1e+300"),
        (-2.25e-7, "-2.25e-07"),
        (5e-324, "5e-324"),
        (np.float64(0.5), "0.5"),
    ],
)
def test_numbers_in_full(value: float, text: str) -> None:
    assert in_full(value) == text
    assert float(text) == value


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "1970-01-01"),
        (86461.0, "1970-01-02T00:01:01"),
        (-0.25, "1969-12-31T23:59:59.75"),
        (1593691200.0, "2020-07-02T12:00:00"),
        (1593691200.000001, "2020-07-02T12:00:00.000001"),
        (-86400.0 * 719162, "0001-01-01"),
        (5e-10, "1970-01-01T00:00:00.0000000005"),
        (2e17, "6337749671-05-12T19:33:20"),
    ],
)
def test_moments_in_full(seconds: float, text: str) -> None:
    assert moment_in_full(seconds) == text


@given(st.floats(-1e11, 1e11))
def test_a_moment_reads_back_as_the_same_float(seconds: float) -> None:
    day, _, rest = moment_in_full(seconds).partition(".")
    whole = int(np.datetime64(day, "s").astype(np.int64))
    assert float(Fraction(whole) + Fraction(f"0.{rest or 0}")) == seconds


def test_the_ends_of_an_interval_have_the_digits_it_takes_to_lie_in_it() -> None:
    low, high = Fraction(1000000, 7000001), Fraction(1000001, 7000001)
    assert ends_within(low, high, 6) == ("0.14285713", "0.14285726")
    start, end = Fraction(1, 3), Fraction(1, 3) + Fraction(1, 10**40)
    texts = ends_within(start, end, 4)
    assert start <= Fraction(texts[0]) < Fraction(texts[1]) <= end
    assert ends_within(Fraction(1, 20), Fraction(1, 4), 6) == ("0.05", "0.25")


@pytest.mark.parametrize(
    ("size", "text"), [(0, "0 B"), (1023, "1023 B"), (1536, "1.5 KiB"), (2**40 * 3, "3 TiB")]
)
def test_sizes_in_binary_units(size: int, text: str) -> None:
    assert show_bytes(size) == text
