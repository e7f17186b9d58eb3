"""How numbers are written: in full where something is decided by them, else with few digits, but
enough to tell them apart."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction

import numpy as np

_FEWEST, _MOST = 3, 12
"""Significant digits of the largest number."""

_PLAIN = range(-5, 15)
"""Powers of ten that are written out; numbers beyond have an exponent."""


def in_full(value: float) -> str:
    """The shortest decimal that reads back as this very float: ``30``, ``0.1``, ``-2.25e-07``."""
    return repr(float(value) + 0.0).removesuffix(".0")


def moment_in_full(seconds: float) -> str:
    """Seconds since 1970-01-01 UTC as a date, or a date and a time, to the last digit of
    :func:`in_full`: ``2020-07-02``, ``2020-07-02T12:30:00.25``."""
    number = Decimal(repr(float(seconds)))
    places = max(-int(number.as_tuple().exponent), 0)
    whole, rest = divmod(int(number.scaleb(places)), 10**places)
    text = str(np.datetime64(whole, "s"))
    if rest:
        return f"{text}.{rest:0{places}d}".rstrip("0")
    return text.removesuffix("T00:00:00")


def plain_number(value: float, decimals: int) -> str:
    """A number with thousands separators, rounded to some decimals; no negative zero."""
    text = f"{value:,.{max(decimals, 0)}f}"
    return text.removeprefix("-") if not text.strip("-0.,") else text


def significant(value: float, digits: int = 4) -> str:
    """A number with N significant digits, all of those before the point included."""
    if value == 0:
        return "0"
    power = math.floor(math.log10(abs(value)))
    if power not in _PLAIN:
        return f"{value:.{digits - 1}e}"
    return plain_number(value, digits - 1 - power)


def at_most(value: float | Fraction, digits: int) -> str:
    """The greatest number of N significant digits that is not above a value: a lower bound
    stays proven, the end of an interval in it."""
    return _rounded(value, digits, ROUND_FLOOR)


def at_least(value: float | Fraction, digits: int) -> str:
    """The least number of N significant digits that is not below a value: a gap or a
    tolerance stays true, the start of an interval in it."""
    return _rounded(value, digits, ROUND_CEILING)


def ends_within(start: Fraction, end: Fraction, digits: int) -> tuple[str, str]:
    """The ends of an interval, both rounded into it, with at least N significant digits and
    as many as it takes for the start to be below the end."""
    while True:
        low, high = at_least(start, digits), at_most(end, digits)
        if Fraction(low) < Fraction(high):
            return low, high
        digits += 1


def _rounded(value: float | Fraction, digits: int, rounding: str) -> str:
    """A float stands for its shortest decimal, as everywhere."""
    exact = value if isinstance(value, Fraction) else Fraction(repr(float(value)))
    context = Context(digits, rounding)
    near = context.divide(Decimal(exact.numerator), Decimal(exact.denominator))
    text = f"{float(near):.{digits}g}"
    # A float holds 15 digits, and not of every size.
    return text if Decimal(text) == near else f"{near.normalize(context):g}"


def measured(value: Fraction) -> str:
    """A sum of given weights in full, ``2.5``; after ``≈`` if that takes over twelve digits."""
    near = Context(_MOST).divide(Decimal(value.numerator), Decimal(value.denominator)).normalize()
    if Fraction(near) != value:
        return f"≈ {significant(float(value), 6)}"
    return f"{near:,f}" if near.adjusted() in _PLAIN else f"{near:e}"


def within(value: Fraction, error: Fraction) -> str:
    """A number that is known to within an error: only digits that are certain, after ``≈``; if
    there are none, what the number is at most, after ``≤``."""
    low, high = value - error, value + error
    if low > 0:
        if significant(float(low), 6) == (text := significant(float(high), 6)):
            return f"≈ {text}"
        for digits in range(5, 0, -1):
            text = _rounded(low, digits, ROUND_HALF_EVEN)
            if text == _rounded(high, digits, ROUND_HALF_EVEN):
                return f"≈ {text}"
    return f"≤ {at_least(high, 2)}"


def share(value: float | Fraction, digits: int = 4) -> str:
    """A share such as R² or an accuracy; a share below 1 is never rounded up to 1."""
    text = f"{float(value):.{digits}f}"
    if value < 1 and float(text) == 1:
        return f"{1 - 10**-digits:.{digits}f}"
    return text if float(text) else f"{0:.{digits}f}"


def nouns(number: float | Fraction, noun: str) -> str:
    """A noun as it follows a number: ``row`` after 1, else ``rows``, ``classes``, ``leaves``."""
    if number == 1:
        return noun
    if noun.endswith("leaf"):
        return f"{noun[:-1]}ves"
    return f"{noun}es" if noun.endswith(("s", "ch")) else f"{noun}s"


def count(number: float | Fraction, noun: str) -> str:
    """``1 row``, ``2 rows``, ``2 classes``."""
    return f"{number} {nouns(number, noun)}"


def show_bytes(size: float) -> str:
    """A size in binary units: ``512 MiB``."""
    if size < 1024:
        return f"{size:.0f} B"
    for unit in ("KiB", "MiB", "GiB"):
        size /= 1024
        if size < 1024:
            return f"{size:.3g} {unit}" if size < 100 else f"{size:.0f} {unit}"
    return f"{size / 1024:.3g} TiB"


def telling(values: Iterable[float]) -> Callable[[float], str]:
    """A format for some numbers that keeps different ones apart.

    The largest gets at least three significant digits. All get the same number of decimals: as
    many as separate them, up to twelve significant digits of the largest.

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


def _writer(digits: int, power: int) -> Callable[[float], str]:
    """Numbers up to a power of ten, with N significant digits of the largest."""
    if power not in _PLAIN:
        return lambda value: f"{value:.{digits - 1}e}"
    decimals = max(digits - 1 - power, 0)
    return lambda value: plain_number(value, decimals)
