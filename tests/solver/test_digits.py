"""How many digits of numbers are shown."""

from __future__ import annotations

import pytest

from solver.digits import cuts_apart, share, significant, telling


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
        (0, "0.0000"),
        (-1e-9, "0.0000"),
        (-1.5, "-1.5000"),
    ],
)
def test_a_share_is_not_rounded_up_to_one(value: float, text: str) -> None:
    assert share(value) == text


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
    ("thresholds", "texts"),
    [
        ([30.5], ["30.5"]),
        ([0.571903424658], ["0.5719"]),
        ([0.0550340659341, 0.0550341], ["0.05503407", "0.0550341"]),
        ([1234567.5], ["1234567.5"]),
        ([-2.25e-7], ["-2.25e-07"]),
    ],
)
def test_thresholds_are_short_but_told_apart(thresholds: list[float], texts: list[str]) -> None:
    show = cuts_apart(thresholds)
    assert [show(threshold) for threshold in thresholds] == texts
