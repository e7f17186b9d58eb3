"""How many digits of some numbers are shown: few, but enough to tell them apart."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

_FEWEST, _MOST = 3, 12
"""Significant digits of the largest number."""

_PLAIN = range(-5, 15)
"""Powers of ten that are written out; numbers beyond have an exponent."""


def plain_number(value: float, decimals: int) -> str:
    """A number with thousands apart, rounded to so many decimals; no negative zero."""
    text = f"{value:,.{max(decimals, 0)}f}"
    return text.removeprefix("-") if not text.strip("-0.,") else text


def significant(value: float, digits: int = 4) -> str:
    """A number with so many significant digits, all of those before the point included."""
    if value == 0:
        return "0"
    power = math.floor(math.log10(abs(value)))
    if power not in _PLAIN:
        return f"{value:.{digits - 1}e}"
    return plain_number(value, digits - 1 - power)


def share(value: float, digits: int = 4) -> str:
    """A share such as R²; what is short of 1 is never rounded up to it."""
    text = f"{value:.{digits}f}"
    if value < 1 and float(text) == 1:
        return f"{1 - 10**-digits:.{digits}f}"
    return text if float(text) else f"{0:.{digits}f}"


def telling(values: Iterable[float]) -> Callable[[float], str]:
    """A way to write some numbers, all alike, that tells different ones apart.

    Parameters
    ----------
    values : iterable of float
        The largest gets at least three significant digits, and all as many decimals as it takes
        to tell them apart, up to twelve significant digits of the largest.

    Returns
    -------
    callable
        The text of a number.

    Examples
    --------
    >>> show = telling([20.123, 20.14, 35.5])
    >>> show(20.123), show(35.5)
    ('20.12', '35.50')
    """
    distinct = set(values)
    largest = max(map(abs, distinct), default=0.0)
    power = math.floor(math.log10(largest)) if largest else 0
    for digits in range(_FEWEST, _MOST + 1):
        show = _writer(digits, power)
        if len(set(map(show, distinct))) == len(distinct):
            break
    return show


def cuts_apart(thresholds: Iterable[float], fewest: int = 5) -> Callable[[float], str]:
    """A way to write the thresholds of one column in a tree: five significant digits, or more where
    it takes more to tell two of them apart; all digits before the point, no zeros at the end."""
    distinct = set(thresholds)
    for digits in range(fewest, _MOST + 1):
        show = _plain_writer(digits)
        if len(set(map(show, distinct))) == len(distinct):
            break
    return show


def _plain_writer(digits: int) -> Callable[[float], str]:
    def show(value: float) -> str:
        before = len(f"{abs(value):.0f}") if abs(value) < 1e11 else 0
        return f"{value:.{max(digits, before + 1)}g}"

    return show


def _writer(digits: int, power: int) -> Callable[[float], str]:
    """Numbers up to ten to a power with so many significant digits of the largest."""
    if power not in _PLAIN:
        return lambda value: f"{value:.{digits - 1}e}"
    decimals = max(digits - 1 - power, 0)
    return lambda value: plain_number(value, decimals)
