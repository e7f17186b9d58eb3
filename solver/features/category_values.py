"""Canonical values of categories: equality, reading from text, display.

A category is a ``str``, ``int``, ``float`` or ``bool``, or None if missing. A whole float is an
``int``, so 1, 1.0 and int8 1 are equal. Dates are text. Python treats ``True`` and 1 as equal, we
do not: compare by :func:`key_of`.
"""

from __future__ import annotations

import datetime as dt
import json
import math
import re
import unicodedata
from collections.abc import Hashable, Iterable, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from solver.errors import InputError
from solver.features.unicode_check import check_storable

Category: TypeAlias = str | int | float | bool | None

_NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*")
_BOOLEANS = {"True": True, "TRUE": True, "true": True}
_BOOLEANS |= {"False": False, "FALSE": False, "false": False}
MOMENT = re.compile(
    r"\d{4}-\d{2}-\d{2}([ T]\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}(:?\d{2})?)?)?"
)
"""How a moment is written; nothing else is one, such as ``today`` or ``2020``."""
_LOCAL_TIME = re.compile(r"(\d{4}-\d{2}-\d{2}[ T][\d:.]+)([+-]\d{2}:\d{2}:\d{2})")
"""A moment of a zone before it took whole minutes, as in Paris until 1911; pandas reads none."""
GAPS = frozenset(
    ("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN")
    + ("<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null")
)
"""The fields of a text file that are taken for missing ones, unless somebody knows them as texts;
those that pandas takes for such."""
_YAML_TEXT = re.compile(r"[^\W\d]([\w -]*\w)?")
_YAML_WORDS = {"true", "false", "yes", "no", "on", "off", "null"}
_EXACT = 2.0**53
_NARROW = (np.float32, np.float16)
_LARGEST = 308
"""No float has more digits before its point."""
_BITS = 1024
"""No float has more of them before its point."""


def key_of(value: Category) -> Hashable:
    """Equal for equal categories only: ``True`` is not 1."""
    return isinstance(value, bool), value


def kind_of(value: Category) -> str:
    """``text``, ``numbers`` or ``booleans``."""
    if isinstance(value, str):
        return "text"
    return "booleans" if isinstance(value, bool) else "numbers"


def values_of(categories: Iterable[Category]) -> str:
    """What categories are: ``text``, ``number``, ``boolean`` or, where kinds differ, ``mixed``."""
    kinds = {kind_of(value) for value in categories if value is not None}
    return "mixed" if len(kinds) > 1 else next(iter(kinds), "number").removesuffix("s")


def sort_categories(values: Iterable[Category]) -> list[Category]:
    """Distinct categories in order: numbers by value, ``False``, ``True``, text by code point,
    missing last."""
    distinct: dict[Hashable, Category] = {}
    for value in values:
        distinct.setdefault(key_of(value), value)
    places = {"numbers": 0, "booleans": 1, "text": 2}
    return sorted(distinct.values(), key=lambda v: (3, 0) if v is None else (places[kind_of(v)], v))


def as_category(value: Any, name: Any) -> Category:
    """A raw value of a column as a category.

    Raises
    ------
    InputError
        If it is infinite, too large for a float, of a type without tests, or not storable.
    """
    if isinstance(value, str):
        check_storable(value, f"column {name!r}: the value")
        return str.__str__(value)  # an Enum calls itself by another text
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, (int, np.integer)):
        if int(value).bit_length() > _BITS:
            raise _too_large(name)
        return int(value)
    if value is None or value is pd.NA or value is pd.NaT:
        return None
    if isinstance(value, (float, np.floating, Decimal)):
        if value.is_nan() if isinstance(value, Decimal) else np.isnan(value):
            return None
        if abs(value) == math.inf:
            raise InputError(
                f"column {name!r} has an infinite value", "replace it or leave it empty"
            )
        if isinstance(value, Decimal):
            if value and value.adjusted() > _LARGEST:
                raise _too_large(name)
            return _number(value)
        number = as_float(value)
        return int(number) if number.is_integer() else number
    if isinstance(value, dt.datetime):
        return _moment_text(pd.Timestamp(value))
    if isinstance(value, (dt.date, pd.Interval, pd.Period)):
        return str(value)
    raise unreadable(name, f"{type(value).__name__} values")


def written(text: str) -> Category:
    """What a text writes: a number, a boolean, a moment (as :func:`as_category` puts it), or
    nothing but itself."""
    if text in _BOOLEANS:
        return _BOOLEANS[text]
    local = _LOCAL_TIME.fullmatch(text)
    if MOMENT.fullmatch(local[1] if local else text):
        try:
            return _moment_text(
                pd.Timestamp(local[1]) - pd.Timedelta(local[2]) if local else pd.Timestamp(text)
            )
        except ValueError:
            return text
    if not _NUMBER.fullmatch(text):
        return text
    try:
        number = Decimal(text.strip())
    except InvalidOperation:
        return text
    if number and number.adjusted() > _LARGEST:
        return text
    # 5.713666467106233e+16 is how a float is written, whose digits are 57136664671062328.
    if abs(number) >= _EXACT and not text.strip().lstrip("+-").isdecimal():
        short = float(number)
        if Decimal(repr(short)) == number:
            return int(short)
    return _number(number)


def as_float(value: Any) -> float:
    """A float of any width; a narrow one is its shortest decimal, as a file has it."""
    return float(str(value) if isinstance(value, _NARROW) else value)


def as_floats(values: NDArray[Any]) -> NDArray[np.float64]:
    """A copy of numbers as floats, see :func:`as_float`."""
    if values.dtype not in _NARROW:
        return np.array(values, dtype=np.float64)
    distinct, places = np.unique(values, return_inverse=True)
    return np.array([*map(as_float, distinct)], dtype=np.float64)[places].reshape(values.shape)


def widened(column: pd.Series[Any]) -> pd.Series[Any]:
    """Narrow floats as floats, see :func:`as_float`; also those among objects."""
    dtype = column.dtype
    if pd.api.types.is_object_dtype(dtype) and any(isinstance(value, _NARROW) for value in column):
        values = [as_float(value) if isinstance(value, _NARROW) else value for value in column]
        return pd.Series(values, column.index, dtype=object, name=column.name)
    if isinstance(dtype, pd.CategoricalDtype):
        found = dtype.categories.to_series()
        wide = widened(found)
        if wide is found:
            return column
        if not wide.is_unique:  # a narrow and a wide float that a file writes alike
            return widened(column.astype(object))
        return column.cat.rename_categories(wide.tolist())
    narrow = getattr(dtype, "numpy_dtype", dtype)
    if narrow not in _NARROW:
        return column
    numbers = as_floats(column.to_numpy(dtype=narrow, na_value=np.nan))
    return pd.Series(numbers, column.index, name=column.name)


def array_of(given: Any, name: str) -> NDArray[Any]:
    """The input as an array, a list as an array of objects; InputError for masked values, whose
    mask arrays would lose."""
    refuse_masked(given, name)
    if hasattr(given, "__array__"):
        return np.asarray(given)
    return np.array(_one_by_one(given), dtype=object)


def _one_by_one(given: Any) -> Any:
    """Lists of values for arrays within a list: numpy would turn narrow floats into other ones."""
    if isinstance(given, np.ndarray) and not given.ndim:
        return given[()]
    nested = isinstance(given, (list, tuple, np.ndarray, pd.Series, pd.Index))
    return [_one_by_one(value) for value in given] if nested else given


def refuse_masked(given: Any, name: str) -> None:
    """Refuse masked values, also in arrays within a list: what is under the mask would count."""
    if isinstance(given, (list, tuple)):
        for value in given:
            if isinstance(value, (list, tuple, np.ma.MaskedArray)):
                refuse_masked(value, name)
    elif np.ma.is_masked(given):
        raise InputError(f"{name}: values are masked; fill them, or write NaN for a missing one")


def ambiguous_texts(texts: Sequence[str]) -> tuple[str, ...]:
    """Texts that write a number, boolean or moment which others, or it itself, write otherwise."""
    groups: dict[Hashable, list[str]] = {}
    for text in texts:
        value = written(text)
        groups.setdefault(key_of(value), [str(value)]).append(text)
    several = (group for group in groups.values() if len({*group}) > 1)
    return tuple(sorted({text for group in several for text in group} & {*texts}))


def gap_texts(values: Iterable[Category]) -> tuple[str, ...]:
    """Texts that a file also has for a missing value; but for the empty one, which nothing tells
    from it."""
    texts = {value for value in values if isinstance(value, str)}
    return tuple(sorted((texts & GAPS) - {""}))


def exact(value: Any) -> Decimal:
    """The exact number that a raw value writes; a float stands for its shortest decimal."""
    if isinstance(value, str):
        return Decimal(_BOOLEANS.get(value, value.strip()))
    if isinstance(value, (float, np.floating)):
        return Decimal(repr(as_float(value)))
    return value if isinstance(value, Decimal) else Decimal(int(value))


def merged_numbers(values: Iterable[tuple[Any, float]]) -> tuple[Any, Any] | None:
    """Two different raw values with the same float, or None; ``values`` are pairs (raw, float), NaN
    where missing."""
    seen: dict[float, Any] = {}
    for raw, number in values:
        first = seen.setdefault(number, raw)
        if first is not raw and number == number and exact(first) != exact(raw):
            return first, raw
    return None


def merged_values(values: Iterable[tuple[Any, Category]]) -> tuple[Any, Any] | None:
    """Two different raw values with the same category, or None.

    Numbers differ if their digits do. Dates of the same text are equal, and a text equals the date
    that it writes.
    """
    seen: dict[Hashable, Any] = {}
    for raw, value in values:
        first = seen.setdefault(key_of(value), raw)
        if first is raw or value is None or isinstance(value, bool):
            continue
        if isinstance(value, str):
            texts = isinstance(first, str) and isinstance(raw, str)
            same = texts or first == raw or _are_moments(first, raw)
        else:
            same = exact(first) == exact(raw)
        if not same:
            return first, raw
    return None


def _are_moments(*raw: Any) -> bool:
    return all(isinstance(value, (str, dt.date)) for value in raw)


def is_exact(number: float) -> bool:
    """Whether a whole number is one as a float; a fraction always counts as such."""
    try:
        return not isinstance(number, int) or int(float(number)) == number
    except OverflowError:
        return False


def unreadable(name: Any, what: str) -> InputError:
    """The refusal of values that no test can read."""
    return InputError(
        f"column {name!r} holds {what}, which no test can read",
        f"turn it into text or numbers, or {remedy(name, 'drop')}",
    )


def _too_large(name: Any) -> InputError:
    return InputError(
        f"column {name!r} has a number beyond 2^{_BITS}",
        f"turn it into text, or {remedy(name, 'drop')}",
    )


def remedy(name: Any, *wishes: Any) -> str:
    """What to write, in Python, to have a column read otherwise."""
    return "write " + " or ".join(override(name, wish) for wish in wishes)


def override(name: Any, wish: Any) -> str:
    """A column's entry in Python; ``sweep.spec.hints_as_yaml`` has it in other words."""
    return f"columns={ {str(name): wish}!r}"


def as_yaml(value: Any) -> str:
    """A text, list or mapping as YAML has it on one line; text is quoted where it could be read
    as anything else."""
    if isinstance(value, Mapping):
        pairs = (f"{as_yaml(key)}: {as_yaml(item)}" for key, item in value.items())
        return f"{{{', '.join(pairs)}}}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(as_yaml, value))}]"
    if not isinstance(value, str):
        return json.dumps(value)
    if _YAML_TEXT.fullmatch(value) and value.lower() not in _YAML_WORDS:
        return value
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    signs = (sign if sign.isprintable() else f"\\U{ord(sign):08x}" for sign in escaped)
    return f'"{"".join(signs)}"'


OUTCOME = ": "
"""What follows a condition, before the label that it leads to."""

SUM = ("·", " + ", "− ", *"⁰¹²³⁴⁵⁶⁷⁸⁹")
"""What stands beside a column's name in a sum."""

CONDITION = (" = ", " ≠ ", " ≤ ", " > ", " in {", OUTCOME, *SUM)
"""What follows a column's name in a condition, or a condition; a sum may be in the same tree."""

FEATURE = ("=", ">")
"""What follows a column's name in the name of a feature."""


def show_value(value: Category, *, listed: bool = False) -> str:
    """A category or label as a person writes it; different ones are written differently.

    A missing one is ``missing``. A text is quoted as in Python if it looks like that, like the end
    of a condition, or has invisible ends; if ``listed`` also if it has a comma or a brace.
    """
    if value is None:
        return "missing"
    if not isinstance(value, str):
        return str(value)
    signs = (OUTCOME, *",{}") if listed else (OUTCOME,)
    doubtful = value == "missing" or any(sign in f"{value} " for sign in signs)
    return _quoted(value) if doubtful or not _is_plain(value) else value


def show_column(name: str, signs: Sequence[str] = CONDITION) -> str:
    """A column's name as a person writes it; quoted where it has one of the signs that may follow
    a name, or its ends cannot be seen."""
    doubtful = any(sign in f"{name} " for sign in signs)
    return _quoted(name) if doubtful or not _is_plain(name) else name


def _is_plain(text: str) -> bool:
    """Whether a reader sees which text it is."""
    return (
        text.isprintable()
        and text == text.strip()
        and text[:1] not in ("", "'", '"', "|")
        and unicodedata.is_normalized("NFC", text)
    )


def _quoted(text: str) -> str:
    return repr(text) if unicodedata.is_normalized("NFC", text) else ascii(text)


def _number(value: Decimal) -> int | float:
    return int(value) if value == value.to_integral_value() else float(value)


def _moment_text(moment: pd.Timestamp) -> str:
    """In UTC, without a time where that is midnight."""
    if moment.tzinfo is not None:
        moment = moment.tz_convert("UTC").tz_localize(None)
    return str(moment).removesuffix(" 00:00:00")
