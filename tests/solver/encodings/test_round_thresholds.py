"""The roundest number of a gap, held against a search through all decimals."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from solver.encodings.round_thresholds import roundest_moments, roundest_number, roundest_numbers
from solver.features.number_format import in_full, moment_in_full

finite = st.floats(allow_nan=False, allow_infinity=False)
plain = st.one_of(
    st.integers(-1000, 1000).map(float),
    st.decimals(-1000, 1000, places=3).map(float),
    st.floats(-1e12, 1e12),
)


@st.composite
def gaps(draw: st.DrawFn, numbers: st.SearchStrategy[float]) -> tuple[float, float]:
    """Two floats, often neighbours or nearly so."""
    low = draw(numbers) + 0.0
    high = low
    for _ in range(draw(st.integers(1, 4))):
        high = math.nextafter(high, math.inf)
    if draw(st.booleans()):
        other = draw(numbers)
        low, high = min(low, other), max(low, other)
    if low == high or math.isinf(high):
        low, high = math.nextafter(low, -math.inf), low
    if math.isinf(low):
        low, high = high, math.nextafter(high, math.inf)
    return low + 0.0, high


def roundest(low: float, high: float) -> float:
    return float(roundest_numbers(np.array([low]), np.array([high]))[0])


def digits_of(value: float) -> int:
    return len(Decimal(in_full(value)).normalize().as_tuple().digits)


def has_shorter(low: float, high: float, digits: int) -> bool:
    """Whether a decimal with fewer digits, not 0, reads as a float of the gap."""
    if digits == 1:
        return False
    # With fewer digits the nearest ones to the middle on both sides will do.
    middle = (Fraction(low) + Fraction(high)) / 2
    size = math.floor(math.log10(abs(middle))) if middle else 0
    for guess in (size - 1, size, size + 1):
        step = Fraction(10) ** (guess - digits + 2)
        below = middle // step * step
        for decimal in (below, below + step):
            if low <= float(decimal) < high and decimal and digits_of(float(decimal)) < digits:
                return True
    return False


@given(gaps(finite))
def test_it_lies_in_the_gap_and_is_what_is_printed(gap: tuple[float, float]) -> None:
    low, high = gap
    for found in (roundest(low, high), roundest_number(low, high)):
        assert low <= found < high
        assert float(in_full(found)) == found
        assert math.copysign(1, found) == 1 or found != 0


@given(gaps(plain))
def test_no_decimal_of_the_gap_is_shorter(gap: tuple[float, float]) -> None:
    found = roundest(*gap)
    assert found == 0 or not has_shorter(*gap, digits_of(found)), found


@given(gaps(st.floats(-1e300, 1e300)))
def test_the_exact_one_is_as_short(gap: tuple[float, float]) -> None:
    fast, exact = roundest(*gap), roundest_number(*gap)
    assert digits_of(fast) == digits_of(exact)
    middle = (Fraction(gap[0]) + Fraction(gap[1])) / 2
    apart = [abs(Fraction(found) - middle) for found in (fast, exact)]
    # Of two decimals that are equally near, doubles may see either as nearer.
    assert math.isclose(*map(float, apart), rel_tol=1e-9, abs_tol=0) or fast == exact


@pytest.mark.parametrize(
    ("low", "high", "found"),
    [
        (1, 2, 1),
        (0, 1, 0.5),
        (-1, 1, 0),
        (-1, 2, 0),
        (-3, 100, 50),
        (20, 31, 30),
        (14, 36, 20),
        (0.3, 0.1 + 0.2, 0.3),
        (0.1, 0.2, 0.1),
        (-2, -1, -2),
        (5.5, 5.6, 5.5),
        (1.7e12 + 1, 1.7e12 + 2, 1.7e12 + 1),
        (1e-320, 3e-320, 2e-320),
        (5e-324, 1e-323, 5e-324),
        (-5e-324, 0.0, -5e-324),
        (-0.0, 5e-324, 0.0),
        (-1e308, 1.2e308, 0.0),
        (1.7e308, 1.79e308, 1.7e308),
        (-1.79e308, -1.7e308, -1.74e308),
    ],
)
def test_examples(low: float, high: float, found: float) -> None:
    assert roundest(low, high) == roundest_number(low, high) == found


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        ("2020-01-01", "2020-01-02", "2020-01-01"),
        ("2020-01-01", "2021-01-01", "2020-07-02"),
        ("2020-01-01T10", "2020-01-01T23", "2020-01-01T16:00:00"),
        ("2020-01-01T10:00:01", "2020-01-01T10:00:59", "2020-01-01T10:00:30"),
        ("2020-01-01T10:00:00.25", "2020-01-01T10:00:00.75", "2020-01-01T10:00:00.5"),
        ("2020-01-01T10:00:00.0001", "2020-01-01T10:00:00.0003", "2020-01-01T10:00:00.0002"),
        ("1969-12-31T23:59:59.5", "1970-01-01T00:00:00.5", "1970-01-01"),
    ],
)
def test_moments(low: str, high: str, text: str) -> None:
    a, b = (np.datetime64(t, "us").astype(np.int64) / 1e6 for t in (low, high))
    assert moment_in_full(roundest_moments(np.array([a]), np.array([b]))[0]) == text


@given(gaps(st.floats(-1e11, 1e11)))
def test_moments_lie_in_the_gap(gap: tuple[float, float]) -> None:
    low, high = gap
    found = float(roundest_moments(np.array([low]), np.array([high]))[0])
    assert low <= found < high
