"""Dates and times as seconds since 1970-01-01 UTC."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from solver.errors import InputError
from solver.features.category_values import MOMENT, Category, override, remedy
from solver.features.text_parsing import overrides_of

_BELOW_NANOSECONDS = re.compile(r".*\.\d{10}")
_TICKS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
"""The units of pandas, and how many are a second."""
_FINE = ("ps", "fs", "as")
"""Units that pandas cuts off."""


def seconds(
    column: pd.Series[Any], raw: Sequence[Any] | None, missing: Sequence[Category] = ()
) -> NDArray[np.float64]:
    """The moments of a column, each rounded once to the nearest float; NaN where missing.

    Parameters
    ----------
    column : Series
        Without a zone it is in UTC.
    raw : sequence or None
        The distinct values, where the dtype does not say that they are moments.
    missing : sequence
        Values that mean missing and are none of these any more: a remedy names them, too.

    Raises
    ------
    InputError
        If a value writes no moment, or two that differ would be one float.
    """
    if raw is not None:
        _check_moments(raw, column.name, missing)
    try:
        moments = pd.to_datetime(column, utc=True, format=None if raw is None else "ISO8601")
    except (ValueError, TypeError, OverflowError):
        raise _no_dates(column.name) from None
    naive = moments.dt.tz_localize(None).to_numpy()
    codes, ticks = pd.factorize(naive.astype(np.int64))
    # Whole numbers of Python are divided exactly and then rounded; as floats they would be
    # rounded twice, and a moment in ns would be another float than the same in us.
    per_second = _TICKS[np.datetime_data(naive.dtype)[0]]
    distinct = np.array([tick / per_second for tick in ticks.tolist()], dtype=np.float64)
    if len(pd.unique(distinct)) < len(distinct):
        raise _merged_dates(column.name)
    found = distinct[codes]
    found[np.isnat(naive)] = np.nan
    return found


def in_utc(value: Any) -> Any:
    """A moment with a zone as one in UTC, anything else as it is: Python compares two of one zone
    by their clocks, which show an hour twice in autumn."""
    if isinstance(value, dt.datetime) and value.tzinfo is not None:
        return pd.Timestamp(value).tz_convert("UTC")
    return value


def _check_moments(raw: Sequence[Any], name: Any, missing: Sequence[Category]) -> None:
    """Refuse what pandas would read as a date though it does not write one, e.g. ``now``."""
    for value in raw:
        if isinstance(value, (int, float, Decimal, np.number, np.bool_)):
            raise InputError(
                f"column {name!r} cannot be read as dates: it has the number {value}; "
                f"{remedy(name, 'number')}"
            )
        if isinstance(value, str):
            if _BELOW_NANOSECONDS.match(value):
                raise _merged_dates(name)
            if not MOMENT.fullmatch(value):
                raise InputError(
                    f"column {name!r} cannot be read as dates: it has the value {value!r}",
                    _how_to_read(name, raw, missing),
                )
        elif isinstance(value, np.datetime64):
            if np.datetime_data(value.dtype)[0] in _FINE:
                raise _merged_dates(name)
        elif not isinstance(value, dt.date):
            raise _no_dates(name, f"it has {type(value).__name__} values; ")


def _how_to_read(name: Any, raw: Sequence[Any], missing: Sequence[Category]) -> str:
    """What makes dates of texts that are not in the ISO format: theirs, if all are in one."""
    texts = [value for value in raw if isinstance(value, str)]
    if len(texts) == len(raw) and (wishes := overrides_of("date", texts, missing)):
        return f"{_ISO}, or {remedy(name, *wishes)}"
    example = override(name, {"kind": "date", "format": "%d/%m/%Y"})
    return f"{_ISO}, or say how they are written, e.g. {example}"


_ISO = "write them as YYYY-MM-DD or YYYY-MM-DDTHH:MM:SS"


def _no_dates(name: Any, why: str = "") -> InputError:
    return InputError(f"column {name!r} cannot be read as dates: {why}{_ISO}")


def _merged_dates(name: Any) -> InputError:
    return InputError(
        f"column {name!r} has moments that differ by less than floats of seconds can; round them "
        f"(to microseconds, between 1700 and 2240), or {remedy(name, 'category', 'drop')}"
    )
