"""The roundest number between two neighbouring values, where a column is cut.

A printed tree is then short, and shows the very thresholds that it compares with.
"""

from __future__ import annotations

import sys
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_MOST_DIGITS = 15
"""Decimals of at most this many digits are exact: a whole number times or over a power of ten."""

_POWERS = np.array([float(10**i) for i in range(23)])
"""The powers of ten that are doubles: what is multiplied or divided by them is rounded once, as a
decimal that is read."""

_NARROW = 2.5e-14
"""A gap whose quarter is smaller than this share of the numbers is handled in Fractions."""

_LARGEST = Fraction(sys.float_info.max)

_AT_ONCE = 2**6
"""Of few gaps several numbers of digits, or units, are tried at once: they take as long as one."""

_MOMENTS = np.array([(86400.0, 1), (3600, 1), (60, 1), (1, 1), (1, 10**3), (1, 10**6)])
"""Days, hours, minutes, seconds, milliseconds, microseconds: whole seconds, over a divisor."""


def roundest_numbers(low: Floats, high: Floats) -> Floats:
    """For each gap the number t with low ≤ t < high that a person would choose.

    That is 0 if 0 is in the middle half of the gap, else the decimal of fewest significant digits.
    Of several it is the one nearest to the middle, in a tie the smaller one.

    Parameters
    ----------
    low, high : arrays of float64
        Finite, low below high.

    Returns
    -------
    array of float64
        No shorter decimal reads as the same float, see
        :func:`solver.features.number_format.in_full`.

    Examples
    --------
    >>> roundest_numbers(np.array([1.0, 20.0, 0.3]), np.array([2.0, 31.0, 0.1 + 0.2])).tolist()
    [1.0, 30.0, 0.3]
    """
    gaps = _Gaps(low, high)
    size = np.abs(gaps.middle)
    gaps.settle((gaps.low <= 0) & (gaps.high > 0) & (size <= gaps.quarter), 0.0)
    with np.errstate(divide="ignore"):
        magnitude = np.floor(np.log10(size))
    is_wide = gaps.quarter > _NARROW * size
    at = np.flatnonzero(gaps.is_open & is_wide & (magnitude < len(_POWERS)))
    digits = 1
    while len(at) and digits <= _MOST_DIGITS:
        last = min(digits + _AT_ONCE // len(at), _MOST_DIGITS)
        power = magnitude[at] + 1 - np.arange(digits, last + 1)[:, None]
        known = np.abs(power) < len(_POWERS)
        ten = _POWERS[np.where(known, np.abs(power), 0).astype(np.intp)]
        above = power > 0
        gaps.try_multiples(at, np.where(above, ten, 1.0), np.where(above, 1.0, ten), known)
        at, digits = at[gaps.is_open[at]], last + 1
    return gaps.settled()


def roundest_moments(low: Floats, high: Floats) -> Floats:
    """For each gap, in seconds, the midnight nearest to its middle; without one the full hour,
    minute, second, millisecond or microsecond, else as :func:`roundest_numbers`."""
    gaps = _Gaps(low, high)
    at, tried = np.arange(len(low)), 0
    while len(at) and tried < len(_MOMENTS):
        last = tried + 1 + _AT_ONCE // len(at)
        multiple, divisor = np.hsplit(_MOMENTS[tried:last], 2)
        known = np.abs(gaps.middle[at]) * divisor < 2.0**53
        gaps.try_multiples(at, multiple, divisor, known)
        at, tried = at[gaps.is_open[at]], last
    return gaps.settled()


class _Gaps:
    """Gaps, and the numbers found for them."""

    def __init__(self, low: Floats, high: Floats) -> None:
        self.low, self.high = low + 0.0, high  # there is one zero
        self.middle, self.quarter = low / 2 + high / 2, high / 4 - low / 4
        self.found = np.zeros(len(low))
        self.is_open = np.ones(len(low), np.bool_)

    def settle(self, which: NDArray[np.bool_ | np.intp], value: Floats | float) -> None:
        self.found[which] = value
        self.is_open[which] = False

    def try_multiples(
        self,
        at: NDArray[np.intp],
        multiple: NDArray[Any],
        divisor: NDArray[Any],
        allowed: NDArray[np.bool_],
    ) -> None:
        """Take the multiple of multiple/divisor nearest to the middle, where one is in the gap. One
        of the two is 1, so there is one rounding. Rows of the arrays are tried in their order."""
        low, high, middle = self.low[at], self.high[at], self.middle[at]
        count = np.floor(middle / multiple * divisor)
        below, above = count * multiple / divisor, (count + 1) * multiple / divisor
        has_below, has_above = (low <= below) & (below < high), (low <= above) & (above < high)
        takes_below = has_below & (~has_above | (middle - below <= above - middle))
        found = np.where(takes_below, below, above)
        inside = (has_below | has_above) & allowed
        first = inside.argmax(axis=0) * len(at) + np.arange(len(at))
        settled = inside.take(first)
        self.settle(at[settled], found.take(first[settled]) + 0.0)

    def settled(self) -> Floats:
        """The numbers found; open gaps are settled one by one."""
        for i in np.flatnonzero(self.is_open).tolist():
            self.found[i] = roundest_number(float(self.low[i]), float(self.high[i]))
        return self.found


def roundest_number(low: float, high: float) -> float:
    """As :func:`roundest_numbers` for one gap, exactly; ``low`` itself if the two floats are
    neighbours and no decimal separates them better."""
    first, last = Fraction(low), Fraction(high)
    middle = (first + last) / 2
    if low <= 0 < high and 4 * abs(middle) <= last - first:
        return 0.0
    magnitude = len(str(abs(middle.numerator))) - len(str(middle.denominator))
    if abs(middle) < Fraction(10) ** magnitude:
        magnitude -= 1
    for digits in range(18):
        step = Fraction(10) ** (magnitude - digits)
        below = middle // step * step
        inside = [
            (abs(decimal - middle), float(decimal))
            for decimal in (below, below + step)
            if abs(decimal) <= _LARGEST and low <= float(decimal) < high
        ]
        if inside:
            return min(inside)[1] + 0.0
    return low
