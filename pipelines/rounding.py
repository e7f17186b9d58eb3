"""Ends of intervals of λ in short: rounded so that they stay inside the interval."""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction


def rounded_up(value: Fraction, digits: int) -> str:
    """The least number of so many significant digits that is not below a value."""
    return _rounded(value, digits, ROUND_CEILING)


def rounded_down(value: Fraction, digits: int) -> str:
    """The greatest number of so many significant digits that is not above a value."""
    return _rounded(value, digits, ROUND_FLOOR)


def _rounded(value: Fraction, digits: int, rounding: str) -> str:
    context = Context(prec=digits, rounding=rounding)
    near = context.divide(Decimal(value.numerator), Decimal(value.denominator))
    text = f"{float(near):.{digits}g}"
    # A float holds 15 digits, and not of every size.
    return text if Decimal(text) == near else f"{near.normalize(context):g}"
