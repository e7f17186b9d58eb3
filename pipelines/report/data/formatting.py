"""Numbers as the report prints them."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from solver.features.number_format import at_least, at_most, ends_within, nouns, show_bytes

NONE = "–"


def is_number(value: Any) -> bool:
    """Whether this is a finite number: not None, NaN or infinite."""
    return value is not None and math.isfinite(value)


def objective(value: Any) -> str:
    """An objective with six significant digits."""
    if not is_number(value):
        return NONE
    return "0" if value == 0 else f"{float(value):#.6g}"


def bound(value: Any) -> str:
    """A lower bound with six significant digits, rounded down so that it stays proven."""
    return objective(float(at_most(value, 6))) if is_number(value) else NONE


def most(value: Any) -> str:
    """A largest objective with six significant digits, rounded up so that it stays true."""
    return objective(float(at_least(value, 6))) if is_number(value) else NONE


def gap(value: Any) -> str:
    """A gap with three significant digits, rounded up."""
    return at_least(value, 3) if is_number(value) else NONE


def short(value: Any) -> str:
    """A distance between objectives with three significant digits."""
    if not is_number(value):
        return NONE
    return "0" if value == 0 else f"{float(value):.3g}"


def percent(value: Any, digits: int = 1) -> str:
    """A share as a percentage; less than 100 % is never rounded up to it, nor more than 0 % to
    that."""
    if not is_number(value):
        return NONE
    text = f"{100 * float(value):.{digits}f}"
    if value < 1 and text == f"{100:.{digits}f}":
        text = f"{100 - 10**-digits:.{digits}f}"
    elif value > 0 and not float(text):
        text = f"< {10**-digits:.{digits}f}"
    return f"{text} %"


def points(value: Any, digits: int = 1) -> str:
    """A difference of two percentages."""
    return f"{100 * float(value):.{digits}f}" if is_number(value) else NONE


def seconds(value: Any) -> str:
    """A search time: ``3.1 ms``, ``2.45 s``, ``3 min 20 s``."""
    if not is_number(value):
        return NONE
    if value < 1:
        return f"{1000 * value:.3g} ms" if value < 0.0995 else f"{1000 * value:.0f} ms"
    if value < 99.95:
        return f"{value:.3g} s"
    whole = round(value)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def factor(value: Any) -> str:
    """A factor, rounded down: ``2.3``, ``26``, ``1 040``."""
    if not is_number(value):
        return NONE
    if value < 10:
        return at_most(value, 2)
    return whole(Fraction(at_most(Fraction(math.floor(value)), 3)))


def ratio(value: Any) -> str:
    """A factor that may be near 1, rounded to the nearest: ``1.13``, ``26``, ``2 130``."""
    if not is_number(value):
        return NONE
    if 0.1 <= value < 10:
        return f"{value:.2f}"
    return f"{value:.2g}" if value < 1 else whole(Fraction(f"{value:.3g}"))


def size(value: Any) -> str:
    """An amount of memory in binary units."""
    return show_bytes(float(value)) if is_number(value) else NONE


def whole(value: Any) -> str:
    """A count with thin groups of three."""
    return f"{round(value):,}".replace(",", "\u202f") if is_number(value) else NONE


def mean_count(value: Any) -> str:
    """A mean of whole numbers: without decimals where it is one."""
    if not is_number(value):
        return NONE
    return whole(value) if float(value) == round(value) else f"{value:.1f}"


def share(part: Any, total: Any) -> str:
    """``3 of 5``."""
    return f"{whole(part)} of {whole(total)}"


def plural(number: int, noun: str) -> str:
    """``1 run``, ``2 runs``, ``3 classes``."""
    return f"{whole(number)} {nouns(number, noun)}"


def mean_plural(number: float, noun: str) -> str:
    """A mean of whole numbers with its noun: ``1 split``, ``1.5 splits``."""
    return f"{mean_count(number)} {nouns(number, noun)}"


def exact(value: Any) -> str:
    """A fraction for a tooltip; empty if it is too long to be read."""
    text = "" if value is None or value != value else str(value)
    return text if len(text) <= 60 else ""


def lam_from(start: Fraction) -> str:
    """The start of an interval of λ with four significant digits, rounded up."""
    return at_least(start, 4)


def interval(start: Fraction, end: Fraction | None) -> str:
    """An interval of λ, with enough digits to tell its ends apart. Both shown λ lie within it."""
    if end is None:
        return f"{lam_from(start)} or more"
    return " to ".join(ends_within(start, end, 4))


def plain_between(start: Fraction, end: Fraction | None) -> str:
    """The λ > 0 with the fewest decimals in an interval without its end, near its middle."""
    middle = start if end is None else (start + end) / 2
    digits = 0
    while True:
        scale = 10**digits
        for number in (round(middle * scale), max(1, math.ceil(start * scale))):
            value = Fraction(number, scale)
            if value > 0 and start <= value and (end is None or value < end):
                whole_part, rest = divmod(number, scale)
                return f"{whole_part}.{rest:0{digits}}" if digits else str(number)
        digits += 1
