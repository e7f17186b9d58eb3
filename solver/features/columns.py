"""How raw columns are read: categories, numbers, dates.

A tree reads raw columns in canonical form, so it predicts alike from memory, CSV and Parquet: a
category as in :mod:`solver.features.category_values`, a number or a date as float64, NaN where
missing. Different values stay different, or the column is refused.
"""

from __future__ import annotations

import datetime as dt
import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from solver.errors import InputError
from solver.features.category_values import (
    Category,
    ambiguous_texts,
    as_category,
    as_yaml,
    gap_texts,
    is_exact,
    key_of,
    kind_of,
    merged_numbers,
    merged_values,
    remedy,
    unreadable,
    values_of,
    widened,
    written,
)
from solver.features.moments import in_utc, seconds
from solver.features.unicode import check_storable

KINDS = ("category", "number", "date")
VALUES = ("any", "text", "number", "boolean", "date", "mixed")

FEW_VALUES = 10
"""A column of whole numbers with at most this many distinct values is a category."""

MANY_VALUES = 100
"""A column of text with more distinct values than this, in over half of its rows, is refused."""

_EXACT = 2.0**53
_ISO_DATE = re.compile(r"\d{4}-\d{2}-\d{2}([ T].*)?")


@dataclass(frozen=True)
class ColumnSpec:
    """How a raw column is brought into canonical form; stored with the tree.

    Parameters
    ----------
    kind : {"category", "number", "date"}
        Dates become seconds since 1970-01-01 UTC; without a time zone they are in UTC.
    values : {"any", "text", "number", "boolean", "date", "mixed"}
        The type of the categories. Files may store numbers as text and text as numbers. So ``text``
        reads the number 2 as ``"2"``; ``number`` reads the text ``"2"`` as 2 and True as 1;
        ``boolean`` reads ``"True"`` and 1 as True; ``date`` reads all texts of one moment as one
        text; ``mixed`` reads a text as the value that it writes, if any. ``any`` changes nothing.
    missing : tuple
        Values that mean missing, e.g. ``("?",)`` or ``(-999,)``.
    texts : tuple of str
        Categories that a file would read as missing (``"NA"``). For text also those that write
        another type otherwise than Python does (``"1.0"``, ``"01234"``, ``"true"``), and the texts
        that write the same value. Such a value is read as the text that writes it.
    """

    kind: str
    values: str = "any"
    missing: tuple[Category, ...] = ()
    texts: tuple[str, ...] = ()

    @classmethod
    def of_categories(
        cls, values: Iterable[Category], missing: tuple[Category, ...] = ()
    ) -> ColumnSpec:
        """How a column is read whose categories are these, in canonical form."""
        found = list(values)
        kind = values_of(found)
        texts = [value for value in found if isinstance(value, str)]
        doubtful = ambiguous_texts(texts) if kind == "text" else ()
        return cls("category", kind, missing, tuple(sorted({*doubtful, *gap_texts(texts)})))

    def narrow(self, asked: Iterable[Category]) -> ColumnSpec:
        """The same for a tree that asks for these categories only, or for missing values."""
        # A number that means missing stands for the text that writes it.
        kept = (*asked, *gap_texts(self.texts), *self.missing)
        wanted = {
            key_of(written(value) if isinstance(value, str) else value)
            for value in kept
            if value is not None
        }
        texts = tuple(text for text in self.texts if key_of(written(text)) in wanted)
        return replace(self, texts=texts)

    def read(self, column: pd.Series[Any]) -> NDArray[Any]:
        """Canonical values: an object array of categories, or float64.

        Raises
        ------
        InputError
            If a value cannot be read, a number is infinite, or two different values would merge.
        """
        if self.kind == "category":
            codes, values = self.factorize(column)
            return values[codes]
        return self._read_dates(column) if self.kind == "date" else self._read_numbers(column)

    def factorize(self, column: pd.Series[Any]) -> tuple[NDArray[np.intp], NDArray[Any]]:
        """Arrays (codes, values) such that ``read(column)`` is ``values[codes]``; errors as
        :meth:`read`.

        ``values`` has few more entries than distinct canonical values.
        """
        if self.kind == "category":
            codes, raw = _factorize(column)
            # One more for the code −1 of missing values.
            values = np.empty(len(raw) + 1, dtype=object)
            values[:-1] = self._categories(raw, column.name)
            return codes, values
        codes, values = pd.factorize(self.read(column), use_na_sentinel=False)
        return codes, np.asarray(values)

    def _categories(self, raw: Sequence[Any], name: Any) -> list[Category]:
        """Distinct raw values in canonical form."""
        plain = [as_category(value, name) for value in raw]
        _refuse_merged(name, zip(raw, plain, strict=True))
        missing = {key_of(self._canonical(m, isinstance(m, str), name)) for m in self.missing}
        found = [
            self._canonical(value, isinstance(given, str), name)
            for given, value in zip(raw, plain, strict=True)
        ]
        return [None if key_of(value) in missing else value for value in found]

    def _canonical(self, value: Category, is_text: bool, name: Any) -> Category:
        """A category as this column has it; ``is_text`` if the raw value was text."""
        if value is None or self.values == "any":
            return value
        if self.values == "text":
            return value if is_text else self._as_text(value, name)
        if isinstance(value, str):
            read = written(value)
            if self.values == "mixed" and not is_text and not isinstance(read, str):
                raise InputError(
                    f"column {name!r} has the period {value} among values of other types; a file "
                    f"would read it as the {kind_of(read).removesuffix('s')} {read}",
                    "write the whole column as text",
                )
            value = read if is_text else value
        if self.values == "number" and isinstance(value, bool):
            return int(value)
        if self.values == "boolean" and isinstance(value, int) and value in (0, 1):
            return bool(value)
        return value

    def _as_text(self, value: Category, name: Any) -> str:
        """The text of the training rows that writes a value."""
        key = key_of(written(value) if isinstance(value, str) else value)
        texts = [text for text in self.texts if key_of(written(text)) == key]
        if len(texts) > 1:
            raise InputError(
                f"column {name!r} has the value {value}, which may be the text {texts[0]!r} or "
                f"{texts[1]!r} of the training rows; write the column as text"
            )
        return texts[0] if texts else str(value)

    def _read_numbers(self, column: pd.Series[Any]) -> NDArray[np.float64]:
        column = widened(column)
        dtype = column.dtype
        types = pd.api.types
        if types.is_datetime64_any_dtype(dtype):
            raise InputError(
                f"column {column.name!r} cannot be read as numbers: it has dates",
                remedy(column.name, "date"),
            )
        if types.is_complex_dtype(dtype):
            raise unreadable(column.name, "complex numbers")
        whole = types.is_integer_dtype(dtype) or types.is_bool_dtype(dtype)
        values = None
        if whole or (types.is_float_dtype(dtype) and dtype != np.longdouble):
            values = np.array(column.to_numpy(dtype=np.float64, na_value=np.nan))
            if whole and np.any(np.abs(values) >= _EXACT):
                values = None
        if values is None:
            codes, raw = _factorize(column)
            values = np.array([*self._numbers(raw, column.name), np.nan])[codes]
        elif marks := [m for m in self._missing_numbers() if is_exact(m)]:
            flags = types.is_bool_dtype(dtype)
            same = [float(mark) for mark in marks if isinstance(mark, bool) == flags]
            values[np.isin(values, same)] = np.nan
        if np.any(np.isinf(values)):
            raise InputError(
                f"column {column.name!r} has an infinite value",
                "replace it by a number, or leave it empty so that it counts as missing",
            )
        return np.asarray(values + 0.0)  # no −0

    def _missing_numbers(self) -> list[int | float]:
        """The numbers that mean missing."""
        plain = (written(value) if isinstance(value, str) else value for value in self.missing)
        return [value for value in plain if isinstance(value, (int, float))]

    def _numbers(self, raw: Sequence[Any], name: Any) -> list[float]:
        """Distinct raw values of any type as numbers."""
        marks = {key_of(mark) for mark in (*self.missing, *self._missing_numbers())}
        numbers: list[float] = []
        kinds: set[bool] = set()
        for given in raw:
            value = as_category(given, name)
            number = written(value) if isinstance(value, str) else value
            if number is None or key_of(value) in marks or key_of(number) in marks:
                numbers.append(np.nan)
                continue
            if isinstance(number, str):
                lacking = f"{{kind: number, missing: [{as_yaml(str(value))}]}}"
                raise InputError(
                    f"column {name!r} cannot be read as numbers: it has the value {value!r}",
                    f"correct it, or {remedy(name, lacking, 'category')}",
                )
            if not is_exact(number):
                raise InputError(
                    f"column {name!r} has whole numbers beyond 2^53, which are not exact as "
                    f"numbers, e.g. {number}",
                    remedy(name, "drop", "category"),
                )
            numbers.append(float(number))
            kinds.add(isinstance(number, bool))
        if len(kinds) > 1:
            raise InputError(
                f"column {name!r} mixes booleans and numbers",
                f"make them alike, or {remedy(name, 'category')}",
            )
        if pair := merged_numbers(zip(raw, numbers, strict=True)):
            raise _merged_numbers(name, pair)
        return numbers

    def _read_dates(self, column: pd.Series[Any]) -> NDArray[np.float64]:
        name, types = column.name, pd.api.types
        if is_missing(column).all():
            return np.full(len(column), np.nan)
        if types.is_bool_dtype(column.dtype) or types.is_numeric_dtype(column.dtype):
            raise InputError(
                f"column {name!r} cannot be read as dates: it has numbers; {remedy(name, 'number')}"
            )
        kind = getattr(column.dtype, "categories", column).dtype
        if types.is_datetime64_any_dtype(kind):
            column = column.astype(kind)  # one by one, moments of pandas may be off after 2037
        if self.missing:
            spec = ColumnSpec("category", "date", self.missing)
            codes, values = spec.factorize(column)
            gone = np.array([value is None for value in values])
            column = column.mask(gone[codes])
        known = types.is_datetime64_any_dtype(column.dtype)
        return seconds(column, None if known else _factorize(column)[1])

    def to_dict(self) -> dict[str, Any]:
        """As plain data without defaults."""
        data: dict[str, Any] = {"kind": self.kind}
        if self.values != "any":
            data["values"] = self.values
        if self.missing:
            data["missing"] = list(self.missing)
        if self.texts:
            data["texts"] = list(self.texts)
        return data

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> ColumnSpec:
        """From plain data; InputError if this version does not know the kind."""
        lists = tuple(data.get("missing", ())), tuple(data.get("texts", ()))
        spec = cls(data["kind"], data.get("values", "any"), *lists)
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
        If two columns then have the same name, or a name cannot be stored.
    """
    names = [str(name) for name in frame.columns]
    for name in names:
        check_storable(name, "the column name")
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

    Text, booleans and pandas categories are categories, also with missing values, and so are
    columns without any value. Dates and times are dates. Numbers are numbers, except columns of
    whole numbers with at most ``few_values`` distinct values: these are categories.

    Parameters
    ----------
    frame : pandas.DataFrame
        The features.
    overrides : mapping, optional
        What the user wants instead, e.g. ``{"age": "number", "id": "drop"}``. A mapping such as
        ``{"kind": "number", "missing": ["?"]}`` also names values that mean missing.
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
        needs one: text and numbers mixed, lists, bytes, durations, or text that differs in nearly
        every row (an identifier).
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
    """Refuse overrides of unknown columns or kinds with an InputError."""
    if not isinstance(overrides, Mapping):
        raise InputError(
            f"columns = {overrides!r} must be a mapping, e.g. {{'age': 'number', 'id': 'drop'}}"
        )
    for name, wish in overrides.items():
        if name not in names:
            close = difflib.get_close_matches(str(name), names, 1)
            hint = f"did you mean {close[0]!r}?" if close else f"there are: {', '.join(names)}"
            raise InputError(f"columns names {name!r}, which is not a feature of the table; {hint}")
        if not isinstance(wish, ColumnSpec):
            _parse_override(name, wish)


def raw_kinds(column: pd.Series[Any], missing: Sequence[Category] = ()) -> dict[str, Category]:
    """Which of text, numbers, dates and booleans a column holds, with an example of each."""
    raw = _factorize(column)[1]
    marks = {key_of(value) for value in missing}
    found: dict[str, Category] = {}
    for given in raw:
        value = as_category(given, column.name)
        if value is not None and key_of(value) not in marks:
            found.setdefault("dates" if isinstance(given, dt.date) else kind_of(value), value)
    return {kind: found[kind] for kind in ("text", "numbers", "dates", "booleans") if kind in found}


def is_missing(column: pd.Series[Any]) -> NDArray[np.bool_]:
    """Whether each value of a raw column is missing; refuses one that cannot be asked."""
    if pd.api.types.is_float_dtype(column.dtype):  # some tell NaN from a missing number
        return np.asarray(np.isnan(column.to_numpy(dtype=np.float64, na_value=np.nan)))
    try:
        return np.asarray(column.isna())
    except ArithmeticError:
        raise _signaling(column) from None


def _signaling(column: pd.Series[Any]) -> InputError:
    return InputError(f"column {column.name!r} has a signaling NaN", "leave the value empty")


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
    return kind, tuple(as_category(value, name) for value in missing)


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
    codes, raw = _factorize(column)
    found = ColumnSpec("category", missing=missing)._categories(raw, column.name)
    kinds = raw_kinds(column, missing)
    if kind is None and len(kinds) > 1:
        (a, first), (b, second), *_ = kinds.items()
        raise InputError(
            f"column {column.name!r} mixes {a} and {b}, e.g. {first!r} and {second!r}; make them "
            f"alike, or {remedy(column.name, 'category')}"
        )
    if kind is None and nature == "text":
        _refuse_identifier(column, int(np.sum(codes >= 0)), found)
    spec = ColumnSpec.of_categories(found, missing)
    if len(kinds) > 1 or "dates" in kinds:
        kept = "mixed" if len(kinds) > 1 else "date"
        spec = ColumnSpec("category", kept, missing, gap_texts(found))
        _refuse_texts_that_merge(column.name, raw, spec)
    return spec


def _refuse_texts_that_merge(name: Any, raw: Sequence[Any], spec: ColumnSpec) -> None:
    """Refuse different texts that write the same."""
    texts = [value for value in raw if isinstance(value, str)]
    seen: dict[Any, str] = {}
    for text, value in zip(texts, spec._categories(texts, name), strict=True):
        first = seen.setdefault(key_of(value), text)
        if value is not None and first != text:
            raise InputError(
                f"column {name!r} has texts among other values, and {first!r} and {text!r} would "
                "be one value; write the whole column as text"
            )


def _refuse_merged(name: Any, values: Iterable[tuple[Any, Category]]) -> None:
    """Refuse raw values that differ and are one in canonical form."""
    if not (pair := merged_values(values)):
        return
    if isinstance(pair[0], (int, float, Decimal, np.number)):
        raise _merged_numbers(name, pair)
    types = " and ".join(type(value).__name__ for value in pair)
    raise InputError(
        f"column {name!r} has two values that both read {str(pair[0])!r}, {types}",
        f"tell them apart in their text, or {remedy(name, 'drop')}",
    )


def _merged_numbers(name: Any, pair: tuple[Any, Any]) -> InputError:
    text = isinstance(pair[0], str)
    instead = (
        remedy(name, "category") if text else f"turn them into text, or {remedy(name, 'drop')}"
    )
    return InputError(
        f"column {name!r} has the numbers {pair[0]} and {pair[1]}, which differ by less than "
        "floats can",
        f"round them{' or ' if text else ', '}{instead}",
    )


def _nature(column: pd.Series[Any]) -> str:
    """``category``, ``text``, ``number`` or ``date``, from the dtype or else from the values.

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
        return "number" if not is_missing(column).all() else "category"
    if found in ("datetime", "datetime64", "date"):
        return "date" if not is_missing(column).all() else "category"
    if found in ("boolean", "empty", "period", "interval", "mixed", "mixed-integer"):
        return "category"
    if found == "string":
        return "text"
    raise unreadable(column.name, found)


def _few_whole(values: NDArray[np.float64], few_values: int) -> bool:
    """Whether these are whole numbers of few distinct values."""
    present = values[~np.isnan(values)]
    whole = few_values and np.all(present == np.floor(present))
    return bool(whole and len(pd.unique(present)) <= few_values)


def _refuse_identifier(column: pd.Series[Any], present: int, found: Sequence[Category]) -> None:
    distinct = [value for value in found if value is not None]
    if len(distinct) <= MANY_VALUES or 2 * len(distinct) <= present:
        return
    kinds = ["drop", "category"]
    if all(isinstance(value, str) and _ISO_DATE.fullmatch(value) for value in distinct):
        kinds.append("date")
    raise InputError(
        f"column {column.name!r} has {len(distinct)} different texts in {present} rows, like an "
        f"identifier; {remedy(column.name, *kinds)}"
    )


def _factorize(column: pd.Series[Any]) -> tuple[NDArray[np.intp], list[Any]]:
    """Codes, −1 for missing, and distinct raw values, also where pandas would merge them."""
    column = widened(column)
    if column.dtype == np.longdouble:
        narrow = column.astype(np.float64)
        if np.any((narrow != column) & column.notna()):
            raise InputError(
                f"column {column.name!r} has numbers of more than 64 bits", "round them to float64"
            )
        column = narrow
    if column.dtype == object:
        column = pd.Series([*map(in_utc, column)], column.index, dtype=object, name=column.name)
    try:
        if column.dtype == object and pd.api.types.infer_dtype(column).startswith("mixed"):
            flags = np.array([isinstance(value, (bool, np.bool_)) for value in column])
            codes, found = pd.factorize(column.mask(flags))
            booleans, which = pd.factorize(column[flags].astype(bool))
            codes[flags] = len(found) + booleans
            return codes, [*found, *which.tolist()]
        codes, found = pd.factorize(column)
        return codes, list(found)
    except (TypeError, NotImplementedError, ArithmeticError):
        if any(isinstance(value, Decimal) and value.is_snan() for value in column):
            raise _signaling(column) from None
        kinds = (type(v).__name__ for v in column if getattr(type(v), "__hash__", None) is None)
        raise unreadable(column.name, f"{next(kinds, 'unhashable')} values") from None
