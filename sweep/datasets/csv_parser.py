"""Convert the fields of a text file to numbers, booleans and text without changing a value."""

from __future__ import annotations

import io
import re
from collections.abc import Collection, Mapping
from typing import Any

import pandas as pd

from solver.features.category_values import GAPS, is_exact, merged_numbers, written

_LEADING_ZERO = re.compile(r"\s*[+-]?0\d")
_WHOLE = re.compile(r"\s*[+-]?\d+\s*")
_MANY_DIGITS = re.compile(r"\d[\d.]{15}|[eE]-\d{3}")
"""Matches every field that may be rounded as a float."""
_BEYOND = re.compile(r"\s*[+-]?\d{19}")
_EXACT = 2.0**53
_LATER = tuple(map(int, pd.__version__.split(".")[:2])) >= (3, 1)
_PRECISE: Any = {} if _LATER else {"float_precision": "round_trip"}
"""Round to the nearest float, the default of later versions of pandas."""


def parse_text(
    text: str,
    separator: str = ",",
    texts: Mapping[str, Collection[str]] | None = None,
    as_text: Collection[str] = (),
) -> pd.DataFrame:
    """The columns of a text file.

    pandas chooses between numbers, booleans and text. But numbers with leading zeros (``01234``)
    are names, so they stay text. Numbers that floats would round to others stay text too: integers
    that no float equals in columns with fractions or gaps, and numbers that become equal as floats.

    Parameters
    ----------
    text : str
        The content of the file.
    texts : mapping of str, optional
        Only these columns are needed, as text. Their known values never stand for a missing one.
    as_text : collection of str
        These columns stay text.
    """

    def parse(dtype: dict[Any, Any], **more: Any) -> pd.DataFrame:
        # Without index_col=False, pandas takes the first column of longer lines as row names.
        frame: pd.DataFrame = pd.read_csv(
            io.StringIO(text),
            sep=separator,
            index_col=False,
            low_memory=False,
            dtype=dtype,
            **_PRECISE,
            **more,
        )
        return frame

    if texts is not None:
        gaps = {name: sorted(GAPS - {*known}) for name, known in texts.items()}
        return parse(dict.fromkeys(texts, "str"), na_values=gaps, keep_default_na=False)
    frame = parse(dict.fromkeys(as_text, "str"))
    types = pd.api.types
    zeros = re.search(rf"(?:^|[{re.escape(separator)}\"])\s*[+-]?0\d", text, re.MULTILINE)
    long = _MANY_DIGITS.search(text)
    doubtful = [
        place
        for place, dtype in enumerate(frame.dtypes)
        if (zeros and types.is_numeric_dtype(dtype) and not types.is_bool_dtype(dtype))
        or (long and _holds_integers(frame.iloc[:, place]))
        or (long and types.is_float_dtype(dtype) and _may_lose(frame.iloc[:, place]))
        or (long and _kept_gaps(frame.iloc[:, place]))
    ]
    if not doubtful:
        return frame
    names = [frame.columns[place] for place in doubtful]
    fields = parse(dict.fromkeys(names, "str"), usecols=doubtful)
    for name in names:
        distinct = fields[name].dropna().unique()
        numbers: pd.Series[Any] | None = frame[name]
        if _kept_gaps(frame[name]):
            numbers = _floats(fields[name], distinct)
        if (
            numbers is None
            or (zeros and any(map(_LEADING_ZERO.match, distinct)))
            or _loses(distinct, numbers)
        ):
            numbers = fields[name]
        frame[name] = numbers
    return frame


def _kept_gaps(column: pd.Series[Any]) -> bool:
    """Whether pandas may have taken numbers and missing fields for text, as it does in columns with
    integers beyond 2^63: that depends on the order of the rows."""
    if pd.api.types.is_numeric_dtype(column.dtype):
        return False
    return any(isinstance(value, str) and _BEYOND.match(value) for value in column.unique())


def _floats(fields: pd.Series[Any], distinct: Any) -> pd.Series[Any] | None:
    """Fields as floats; None if one writes no number."""
    if any(isinstance(written(field), str | bool) for field in distinct):
        return None
    return fields.map(float, na_action="ignore").astype("float64")


def _holds_integers(column: pd.Series[Any]) -> bool:
    """Whether these are Python integers, some beyond int64."""
    return column.dtype == object and pd.api.types.infer_dtype(column, skipna=True) == "integer"


def _may_lose(numbers: pd.Series[Any]) -> bool:
    """Whether two fields may have become equal, or an integer may be rounded."""
    return numbers.nunique() < numbers.count() or bool((numbers.abs() >= _EXACT).any())


def _loses(fields: Any, numbers: pd.Series[Any]) -> bool:
    """Whether the numbers of a column lose information of its fields."""
    if pd.api.types.is_integer_dtype(numbers.dtype):
        return False
    if _holds_integers(numbers) and not numbers.hasnans:
        return False
    if (numbers.abs() >= _EXACT).any():
        whole = (written(field) for field in fields if _WHOLE.fullmatch(field))
        if not all(is_exact(number) for number in whole if isinstance(number, int)):
            return True
    if len(fields) == numbers.nunique():
        return False
    return merged_numbers((field, float(field)) for field in fields) is not None
