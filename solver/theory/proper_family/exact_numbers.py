"""Numbers as their users write them, exactly."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import TypeAlias

from solver.errors import InputError

Number: TypeAlias = int | float | str | Fraction
"""A float stands for its shortest decimal, so that 0.1 is 1/10."""


def exact(numbers: Iterable[Number], what: str) -> tuple[Fraction, ...]:
    """The numbers as fractions; InputError that names ``what`` ("the weights") if one is not
    finite."""
    found = []
    for number in numbers:
        try:
            found.append(Fraction(str(number)))
        except (ValueError, ZeroDivisionError):
            raise InputError(
                f"{what} hold {number!r}, which is not a finite number; write a whole number, "
                "a decimal or a fraction"
            ) from None
    return tuple(found)
