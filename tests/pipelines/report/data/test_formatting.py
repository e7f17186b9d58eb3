"""Numbers in print."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from pipelines.report.data import formatting


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.319038461, "0.319038"), (0.05, "0.0500000"), (0, "0"), (None, "–"), (math.nan, "–")],
)
def test_objectives_have_six_digits(value: float | None, text: str) -> None:
    assert formatting.objective(value) == text


def test_percentages_are_never_rounded_down_to_none() -> None:
    assert [formatting.percent(v) for v in (0, 0.0004, 0.0006)] == ["0.0 %", "< 0.1 %", "0.1 %"]
    assert formatting.percent(0.004, 0) == "< 1 %"


def test_a_largest_objective_is_never_below_what_it_is() -> None:
    assert formatting.most(Fraction(1084331, 10**7)) == "0.108434"
    assert (formatting.most(Fraction(1, 10)), formatting.most(0), formatting.most(None)) == (
        "0.100000", "0", "–",
    )  # fmt: skip


def test_percentages_are_never_rounded_up_to_all() -> None:
    assert formatting.percent(1.0) == "100.0 %"
    assert formatting.percent(0.99999) == "99.9 %"
    assert formatting.percent(Fraction(1, 8), 0) == "12 %"
    assert formatting.percent(math.nan) == "–"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0031, "3.1 ms"), (0.25, "250 ms"), (2.448, "2.45 s"),
        (200, "3 min 20 s"), (7300, "2 h 01 min"),
    ],
)  # fmt: skip
def test_seconds(value: float, text: str) -> None:
    assert formatting.seconds(value) == text


def test_sizes_counts_and_lists() -> None:
    assert formatting.size(1536) == "1.5 KiB"
    assert formatting.size(2**33) == "8 GiB"
    assert formatting.size(1023 * 2**20) == "1023 MiB"
    assert formatting.size(999.4 * 2**20) == "999 MiB"
    assert formatting.ratio(1.131) == "1.13"
    assert formatting.ratio(0.0123) == "0.012"
    assert formatting.ratio(10.96) == "11"
    assert formatting.ratio(99.99) == "100"
    assert formatting.ratio(2136) == "2\u202f140"
    assert formatting.ratio(2134) == "2\u202f130"
    assert formatting.ratio(None) == formatting.NONE
    assert formatting.whole(12345) == "12\u202f345"
    assert formatting.mean_count(3.0) == "3"
    assert formatting.mean_count(3.25) == "3.2"
    assert formatting.plural(1, "class") == "1 class"
    assert formatting.plural(2, "class") == "2 classes"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Fraction(10000, 202), "49"), (Fraction(50, 21), "2.3"), (Fraction(5), "5"), (52.08, "52"),
        (Fraction(10**19 - 1), "9" + "\u202f".join(["", "990", *["000"] * 5])),
        (Fraction(123456 * 10**18), "123" + "\u202f000" * 7),
        (1049.9, "1\u202f040"), (9.999, "9.9"), (0.0347, "0.034"), (math.nan, "–"),
    ],
)  # fmt: skip
def test_a_factor_is_at_least_what_is_said(value: float | Fraction, text: str) -> None:
    assert formatting.factor(value) == text


def test_long_fractions_have_no_tooltip() -> None:
    assert formatting.exact("1/" + "9" * 80) == ""
