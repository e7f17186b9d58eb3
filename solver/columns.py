"""How raw columns are read: categories, numbers, dates.

Every test of a tree reads one raw column in canonical form, so that a tree predicts alike on a
table from memory, from CSV and from Parquet: a category is a ``str``, ``int``, ``float`` or
``bool`` (a whole float is an ``int``, so 1, 1.0 and int8 1 agree) or None where it is missing; a
number or a date is a float64 with NaN where it is missing.
"""

from __future__ import annotations

import datetime as dt
import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from solver.errors import InputError
from solver.nodetests import Category

KINDS = ("category", "number", "date")
VALUES = ("any", "text", "number")

FEW_VALUES = 10
"""A column of whole numbers with at most so many distinct values is read as a category."""

MANY_VALUES = 100
"""A column of text with more distinct values than this, in over half of its rows, is refused."""

_EXACT = 2.0**53
_NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*")
_ISO_DATE = re.compile(r"\d{4}-\d{2}-\d{2}([ T].*)?")


@dataclass(frozen=True)
class ColumnSpec:
    """How a raw column is brought into canonical form; stored with the tree.

    Parameters
    ----------
    kind : {"category", "number", "date"}
        Dates become seconds since 1970-01-01 UTC; a date without a time zone is in UTC.
    values : {"any", "text", "number"}
        What the categories are. Files do not keep the type of a value: the text column
        ``2, 3, 5more`` comes back as numbers from a CSV file that happens to lack ``5more``. So
        ``text`` reads the number 2 as ``"2"`` and ``number`` reads the text ``"2"`` as 2;
        ``any`` leaves both as they are.
    missing : tuple
        Values that stand for a missing one, e.g. ``("?",)`` or ``(-999,)``.
    """

    kind: str
    values: str = "any"
    missing: tuple[Category, ...] = ()

    def read(self, column: pd.Series[Any]) -> NDArray[Any]:
        """Canonical values: an object array of categories, or float64.

        Raises
        ------
        InputError
            If a value cannot be read, or a number is infinite.
        """
        if self.kind == "category":
            codes, values = self._read_categories(column)
            return values[codes]
        return self._read_dates(column) if self.kind == "date" else self._read_numbers(column)

    def factorize(self, column: pd.Series[Any]) -> tuple[NDArray[np.intp], NDArray[Any]]:
        """Canonical values in short: ``read(column)`` is ``values[codes]``.

        Returns
        -------
        codes : array of int, one a row
        values : array
            Few more than the distinct canonical values; errors as :meth:`read`.
        """
        if self.kind == "category":
            return self._read_categories(column)
        codes, values = pd.factorize(self.read(column), use_na_sentinel=False)
        return codes, np.asarray(values)

    def _read_categories(self, column: pd.Series[Any]) -> tuple[NDArray[np.intp], NDArray[Any]]:
        codes, found = _factorize(column)
        plain = [_plain(value, column.name) for value in found]
        if self.values == "text":
            plain = [value if value is None else str(value) for value in plain]
        elif self.values == "number":
            plain = [_unquoted(value) for value in plain]
        # One more for the code −1, which stands for a missing value.
        values = np.empty(len(plain) + 1, dtype=object)
        values[:-1] = [None if value in self.missing else value for value in plain]
        return codes, values

    def _read_numbers(self, column: pd.Series[Any]) -> NDArray[np.float64]:
        dtype = column.dtype
        if pd.api.types.is_datetime64_any_dtype(dtype):
            raise InputError(
                f"column {column.name!r} cannot be read as numbers: it has dates; "
                f"{_remedy(column.name, 'date')}"
            )
        if pd.api.types.is_bool_dtype(dtype) or pd.api.types.is_numeric_dtype(dtype):
            if pd.api.types.is_complex_dtype(dtype):
                raise _unreadable(column.name, "complex numbers")
            values = np.array(column.to_numpy(dtype=np.float64, na_value=np.nan))
        else:
            codes, found = _factorize(column)
            plain = [_plain(value, column.name) for value in found]
            numbers = [self._as_number(value, column.name) for value in plain]
            values = np.array([*numbers, np.nan])[codes]
        for value in self.missing:
            if isinstance(value, (int, float)):
                values[values == value] = np.nan
        if np.any(np.isinf(values)):
            raise InputError(
                f"column {column.name!r} has an infinite value; replace it by a number, or leave "
                "it empty so that it counts as missing"
            )
        if pd.api.types.is_integer_dtype(dtype) and np.any(np.abs(values) >= _EXACT):
            raise InputError(
                f"column {column.name!r} has whole numbers beyond 2^53, which are not exact as "
                f"numbers; {_remedy(column.name, 'drop', 'category')}"
            )
        return values

    def _as_number(self, value: Category, name: Any) -> float:
        if value is None or value in self.missing:
            return np.nan
        number = _unquoted(value)
        if isinstance(number, str):
            raise InputError(
                f"column {name!r} cannot be read as numbers: it has the value {value!r}; correct "
                f"it, name it as missing (columns: {{{name}: {{kind: number, missing: "
                f"[{value!r}]}}}}) or read the column as a category"
            )
        return float(number)  # type: ignore[arg-type]

    def _read_dates(self, column: pd.Series[Any]) -> NDArray[np.float64]:
        if pd.api.types.is_bool_dtype(column.dtype) or pd.api.types.is_numeric_dtype(column.dtype):
            raise InputError(
                f"column {column.name!r} cannot be read as dates: it has numbers; "
                f"{_remedy(column.name, 'number')}"
            )
        if self.missing:
            column = column.where(~column.isin(list(self.missing)))
        text = not pd.api.types.is_datetime64_any_dtype(column.dtype)
        try:
            moments = pd.to_datetime(column, utc=True, format="ISO8601" if text else None)
        except (ValueError, TypeError, OverflowError):
            raise InputError(
                f"column {column.name!r} cannot be read as dates: write them as YYYY-MM-DD or "
                "YYYY-MM-DDTHH:MM:SS"
            ) from None
        naive = moments.dt.tz_localize(None).to_numpy()
        unit = np.datetime_data(naive.dtype)[0]
        ticks = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}[unit]
        values = naive.astype(np.int64) / ticks
        values[np.isnat(naive)] = np.nan
        return np.asarray(values, dtype=np.float64)

    def to_dict(self) -> dict[str, Any]:
        """As plain data; what has its default is left out."""
        data: dict[str, Any] = {"kind": self.kind}
        if self.values != "any":
            data["values"] = self.values
        if self.missing:
            data["missing"] = list(self.missing)
        return data

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> ColumnSpec:
        """From plain data.

        Raises
        ------
        InputError
            If the kind is not known to this version.
        """
        spec = cls(data["kind"], data.get("values", "any"), tuple(data.get("missing", ())))
        if spec.kind not in KINDS or spec.values not in VALUES:
            raise InputError(
                f"this version of treesweep cannot read a column of kind {spec.kind!r} with "
                f"values {spec.values!r}; upgrade it"
            )
        return spec


Override: TypeAlias = str | Mapping[str, Any] | ColumnSpec
"""A kind or ``drop``; or a mapping with ``kind`` (optional) and ``missing``; or a ColumnSpec."""


def text_names(frame: pd.DataFrame) -> pd.DataFrame:
    """The table with all column names as text, so that a stored tree finds its columns.

    Raises
    ------
    InputError
        If two columns then have the same name.
    """
    names = [str(name) for name in frame.columns]
    if len(set(names)) < len(names):
        twice = next(name for i, name in enumerate(names) if name in names[:i])
        raise InputError(f"the table has two columns named {twice!r}; rename or drop one of them")
    if all(isinstance(name, str) for name in frame.columns):
        return frame
    return frame.set_axis(names, axis="columns")


def infer_columns(
    frame: pd.DataFrame,
    overrides: Mapping[str, Override] | None = None,
    *,
    few_values: int = FEW_VALUES,
) -> dict[str, ColumnSpec]:
    """How every column of a table is to be read, in the order of the table.

    Text, booleans and pandas categories are categories, also with missing values. Dates and times
    are dates. Numbers are numbers, except whole ones (integers, or floats without a decimal
    point) of at most ``few_values`` distinct values, which are categories. A column without any
    value is a category.

    Parameters
    ----------
    frame : pandas.DataFrame
        The features.
    overrides : mapping, optional
        What the user wants instead, e.g. ``{"age": "number", "id": "drop"}``. A mapping such as
        ``{"kind": "number", "missing": ["?"]}`` also names values that stand for a missing one.
    few_values : int
        0 reads all numbers as numbers.

    Returns
    -------
    dict
        By name, without dropped columns.

    Raises
    ------
    InputError
        If an override names no column or kind, two columns have the same name, or a column
        cannot be read without one: text and numbers mixed, lists, bytes, durations, or text that
        differs in nearly every row (an identifier).
    """
    frame = text_names(frame)
    overrides = overrides or {}
    names = list(frame.columns)
    check_overrides(names, overrides)
    specs: dict[str, ColumnSpec] = {}
    for name in names:
        wish = overrides.get(name)
        if isinstance(wish, ColumnSpec):
            specs[name] = wish
            continue
        kind, missing = _parse_override(name, wish)
        if kind != "drop":
            specs[name] = _infer(frame[name], kind, missing, few_values)
    return specs


def check_overrides(names: Sequence[str], overrides: Mapping[str, Override]) -> None:
    """Refuse overrides of columns that are not there, or of kinds that there are not.

    Raises
    ------
    InputError
    """
    for name, wish in overrides.items():
        if name not in names:
            close = difflib.get_close_matches(str(name), names, 1)
            hint = f"did you mean {close[0]!r}?" if close else f"there are: {', '.join(names)}"
            raise InputError(f"columns names {name!r}, which is not a feature of the table; {hint}")
        if not isinstance(wish, ColumnSpec):
            _parse_override(name, wish)


def sort_categories(values: Iterable[Category]) -> list[Category]:
    """Distinct categories in order: text by code point, numbers by value, missing last."""
    return sorted(set(values), key=lambda v: (v is None, isinstance(v, str), 0 if v is None else v))


def values_of(categories: Iterable[Category]) -> str:
    """What categories are: ``text``, ``number`` or, where they are mixed, ``any``."""
    kinds = {isinstance(value, str) for value in categories if value is not None}
    return "any" if len(kinds) == 2 else "text" if True in kinds else "number"


def _parse_override(name: str, wish: str | Mapping[str, Any] | None) -> tuple[str | None, Any]:
    known = ("kind", "missing")
    options = wish if isinstance(wish, Mapping) else {"kind": wish}
    if extra := [key for key in options if key not in known]:
        raise InputError(f"columns: {name}: no key {extra[0]!r}; there are: {', '.join(known)}")
    kind, missing = options.get("kind"), options.get("missing", ())
    if kind is not None and kind not in (*KINDS, "drop"):
        raise InputError(
            f"columns: {name}: there is no kind {kind!r}; there are: {', '.join(KINDS)}, drop"
        )
    if isinstance(missing, str) or not isinstance(missing, Iterable):
        missing = (missing,)
    return kind, tuple(_plain(value, name) for value in missing)


def _infer(
    column: pd.Series[Any], kind: str | None, missing: tuple[Category, ...], few_values: int
) -> ColumnSpec:
    nature = _nature(column)
    if kind in ("number", "date"):
        return ColumnSpec(kind, missing=missing)
    if kind is None and nature in ("number", "date"):
        spec = ColumnSpec(nature, missing=missing)
        if nature == "date" or not _few_whole(spec.read(column), few_values):
            return spec
    codes, found = ColumnSpec("category", missing=missing).factorize(column)
    values = values_of(found)
    if kind is None and values == "any":
        examples = [next(v for v in found if isinstance(v, t)) for t in (str, (int, float))]
        raise InputError(
            f"column {column.name!r} mixes text and numbers, e.g. {examples[0]!r} and "
            f"{examples[1]!r}; make them alike, or read all as text: "
            f"columns: {{{column.name}: category}}"
        )
    if kind is None and nature == "text":
        _refuse_identifier(column, int(np.sum(codes >= 0)), found)
    return ColumnSpec("category", "text" if values == "any" else values, missing)


def _nature(column: pd.Series[Any]) -> str:
    """``category``, ``text``, ``number`` or ``date``, from the dtype or, failing that, the values.

    Raises
    ------
    InputError
        If no test can read such values.
    """
    dtype = column.dtype
    if isinstance(dtype, pd.CategoricalDtype) or pd.api.types.is_bool_dtype(dtype):
        return "category"
    found = "mixed"
    if pd.api.types.is_datetime64_any_dtype(dtype):
        found = "datetime"
    elif pd.api.types.is_numeric_dtype(dtype) and not pd.api.types.is_complex_dtype(dtype):
        found = "floating"
    else:
        found = pd.api.types.infer_dtype(column, skipna=True)
        if found == "unknown-array":
            found = pd.api.types.infer_dtype(column.astype(object), skipna=True)
    if found in ("floating", "integer", "mixed-integer-float", "decimal"):
        return "number" if column.notna().any() else "category"
    if found in ("datetime", "datetime64", "date"):
        return "date" if column.notna().any() else "category"
    if found in ("boolean", "empty", "period", "interval", "mixed", "mixed-integer"):
        return "category"
    if found == "string":
        return "text"
    raise _unreadable(column.name, found)


def _few_whole(values: NDArray[np.float64], few_values: int) -> bool:
    """Whether these are whole numbers of few distinct values."""
    present = values[~np.isnan(values)]
    return bool(
        few_values
        and np.all(present == np.floor(present))
        and len(pd.unique(present)) <= few_values
    )


def _refuse_identifier(column: pd.Series[Any], present: int, found: NDArray[Any]) -> None:
    distinct = [value for value in found if value is not None]
    if len(distinct) <= MANY_VALUES or 2 * len(distinct) <= present:
        return
    kinds = ["drop", "category"]
    if all(isinstance(value, str) and _ISO_DATE.fullmatch(value) for value in distinct):
        kinds.append("date")
    raise InputError(
        f"column {column.name!r} has {len(distinct)} different texts in {present} rows, like an "
        f"identifier; {_remedy(column.name, *kinds)}"
    )


def _factorize(column: pd.Series[Any]) -> tuple[NDArray[np.intp], Any]:
    """Codes, −1 for missing, and distinct raw values."""
    try:
        return pd.factorize(column)
    except (TypeError, NotImplementedError):
        kinds = (type(v).__name__ for v in column if getattr(type(v), "__hash__", None) is None)
        raise _unreadable(column.name, f"{next(kinds, 'unhashable')} values") from None


def _plain(value: Any, name: Any) -> Category:
    """A raw value as a canonical category."""
    if isinstance(value, str):
        return str(value)
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating, Decimal)):
        number = float(value)
        if np.isinf(number):
            raise InputError(f"column {name!r} has an infinite value; replace it or leave it empty")
        return None if np.isnan(number) else int(number) if number.is_integer() else number
    if value is None or value is pd.NA or value is pd.NaT:
        return None
    if isinstance(value, dt.datetime):
        return str(value).removesuffix(" 00:00:00")
    if isinstance(value, (dt.date, pd.Interval, pd.Period)):
        return str(value)
    raise _unreadable(name, f"{type(value).__name__} values")


def _unquoted(value: Category) -> Category:
    """The number or boolean that a text writes, if it does."""
    if not isinstance(value, str):
        return value
    if value in ("True", "False"):
        return value == "True"
    if not _NUMBER.fullmatch(value):
        return value
    try:
        return int(value)
    except ValueError:
        return _plain(float(value), "")


def _remedy(name: Any, *kinds: str) -> str:
    wishes = [f"columns: {{{name}: {kind}}}" for kind in kinds]
    return "write " + " or ".join(wishes)


def _unreadable(name: Any, what: str) -> InputError:
    return InputError(
        f"column {name!r} holds {what}, which no test can read; turn it into text or numbers, or "
        f"{_remedy(name, 'drop')}"
    )
