"""Text that UTF-8 can hold: neither JSON files nor Parquet take any other."""

from __future__ import annotations

from solver.errors import InputError


def is_storable(text: str) -> bool:
    """Whether text has no lone surrogate, the half of a character in UTF-16."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def check_storable(text: str, what: str) -> None:
    """Refuse text that no file can hold with an InputError that names it, e.g. ``the column``."""
    if not is_storable(text):
        raise InputError(
            f"{what} {text!a} holds a lone surrogate, half a character that no file in UTF-8 can "
            "hold",
            "replace it",
        )
