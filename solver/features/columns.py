"""How raw columns are read: categories, numbers, dates.

A tree reads raw columns in canonical form, so it predicts alike from memory, CSV and Parquet: a
category as in :mod:`solver.features.category_values`, a number or a date as float64, NaN where
missing. Different values stay different, or the column is refused.
"""

from __future__ import annotations

import datetime as dt
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
from solver.features.dates import in_utc, seconds
from solver.features.text_parsing import PLAIN, TextFormat, overrides_of
from solver.features.unicode_check import check_storable

KINDS = ("category", "number", "date")
VALUES = ("any", "text", "number", "boolean", "date", "mixed")


_EXACT = 2.0**53

Factorized: TypeAlias = tuple[NDArray[np.signedinteger[Any]], NDArray[Any]]
"""The position of each row's value, and the distinct values of a column."""

Columns: TypeAlias = pd.DataFrame | Mapping[str, "pd.Series[Any]"]
"""The columns of a table; or those of its columns that are features, by name."""


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
    form : TextFormat
        How text writes numbers or dates, if not as Python and ISO 8601 do.
    """

    kind: str
    values: str = "any"
    missing: tuple[Category, ...] = ()
    texts: tuple[str, ...] = ()
    form: TextFormat = PLAIN

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
        if not self.texts:
            return self
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

        ``values`` has few more entries than distinct canonical values. Numbers ascend, NaN is last.
        """
        if self.kind == "category":
            codes, raw = factorize_raw(column)
            # One more for the code −1 of missing values.
            values = np.empty(len(raw) + 1, dtype=object)
            values[:-1] = self.categories(raw, column.name)
            return codes, values
        return factorize_numbers(self.read(column))

    def categories(self, raw: Sequence[Any], name: Any) -> list[Category]:
        """Distinct raw values, see :func:`factorize_raw`, in canonical form; errors as
        :meth:`read`."""
        plain = [as_category(value, name) for value in raw]
        _refuse_merged(name, zip(raw, plain, strict=True))
        missing = {key_of(self._canonical_mark(m, name)) for m in self.missing}
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

    def _canonical_mark(self, mark: Category, name: Any) -> Category:
        """A value that means missing as this column has it."""
        is_text = isinstance(mark, str)
        if self.values == "text" and not is_text and len(texts := self._texts_of(mark)) > 1:
            others = [one for one in self.missing if one is not mark]
            wishes = [{"kind": self.kind, "missing": [*others, text]} for text in texts]
            raise InputError(
                f"column {name!r}: the value {mark!r} that means missing may be any of its texts "
                f"{', '.join(map(repr, texts))}",
                remedy(name, *wishes),
            )
        return self._canonical(mark, is_text, name)

    def _texts_of(self, value: Category) -> list[str]:
        """The texts of the training rows that write a value, of those that write it otherwise."""
        key = key_of(written(value) if isinstance(value, str) else value)
        return [text for text in self.texts if key_of(written(text)) == key]

    def _as_text(self, value: Category, name: Any) -> str:
        """The text of the training rows that writes a value."""
        texts = self._texts_of(value)
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
        if dtype.kind == "M":
            raise InputError(
                f"column {column.name!r} cannot be read as numbers: it has dates",
                remedy(column.name, "date"),
            )
        if dtype.kind == "c":
            raise unreadable(column.name, "complex numbers")
        whole = dtype.kind in "iu" or (dtype.kind != "f" and types.is_bool_dtype(dtype))
        values = None
        if whole or (dtype.kind == "f" and dtype != np.longdouble):
            values = _as_floats(column)
            if whole and np.any(np.abs(values) >= _EXACT):
                values = None
        if values is None:
            codes, raw = factorize_raw(column)
            values = np.array([*self._numbers(raw, column.name), np.nan])[codes]
        elif marks := [m for m in self._missing_numbers() if is_exact(m)]:
            flags = types.is_bool_dtype(dtype)
            same = [float(mark) for mark in marks if isinstance(mark, bool) == flags]
            values = np.where(np.isin(values, same), np.nan, values)
        if np.isinf(values).any():
            raise InputError(
                f"column {column.name!r} has an infinite value",
                "replace it by a number, or leave it empty so that it counts as missing",
            )
        return np.asarray(values + 0.0)  # no −0

    @property
    def marks(self) -> tuple[Category, ...]:
        """The values that mean missing, as canonical values of the column and as they are given.

        Text that writes a number, or a moment, stands for that too: ``"-999"`` for -999.
        """
        if self.kind == "number":
            found = [*self.missing, *self._missing_numbers()]
        else:
            own = self if self.kind == "category" else ColumnSpec("category", "date")
            found = [own._canonical(m, isinstance(m, str), "") for m in self.missing]
            found += self.missing if self.kind == "date" else ()
        distinct = {key_of(mark): mark for mark in found if mark is not None}
        return tuple(distinct.values())

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
            number = self._written(value) if isinstance(value, str) else value
            if number is None or key_of(value) in marks or key_of(number) in marks:
                numbers.append(np.nan)
                continue
            if isinstance(number, str):
                raise self._no_number(name, value, raw)
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
        plain = [self.form.plain_number(v) or v if isinstance(v, str) else v for v in raw]
        if pair := merged_numbers(zip(plain if self.form else raw, numbers, strict=True)):
            raise _merged_numbers(name, pair)
        return numbers

    def _written(self, text: str) -> Category:
        """What a text writes in the format of this column; the text if it writes nothing."""
        if not self.form:
            return written(text)
        plain = self.form.plain_number(text)
        return text if plain is None else written(plain)

    def _no_number(self, name: Any, value: Category, raw: Sequence[Any]) -> InputError:
        texts = [one for one in raw if isinstance(one, str) and one not in self.missing]
        if not self.form and (wishes := overrides_of("number", texts, self.missing)):
            what = f"column {name!r} cannot be read as numbers: it has the value {value!r}"
            return InputError(what, remedy(name, *wishes))
        form = f" {self.form.describe()}" if self.form else ""
        wish = {"kind": "number", **self.form.to_dict(), "missing": [*self.missing, value]}
        return InputError(
            f"column {name!r} cannot be read as numbers{form}: it has the value {value!r}",
            f"correct it, or {remedy(name, wish, 'category')}",
        )

    def _read_dates(self, column: pd.Series[Any]) -> NDArray[np.float64]:
        name, types = column.name, pd.api.types
        if is_missing(column).all():
            return np.full(len(column), np.nan)
        if self.form.format:
            column = self._in_iso_format(column)
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
        return seconds(column, None if known else factorize_raw(column)[1], self.missing)

    def _in_iso_format(self, column: pd.Series[Any]) -> pd.Series[Any]:
        """The texts and whole numbers of a column in the ISO format; values that mean missing
        as they are."""
        codes, raw = factorize_raw(column)
        marks = {key_of(mark) for mark in self.missing}
        moments: list[Any] = [None] * (len(raw) + 1)
        for place, given in enumerate(raw):
            value = as_category(given, column.name)
            if isinstance(given, dt.date) or key_of(value) in marks:
                moments[place] = given
                continue
            moments[place] = self.form.plain_date(str(value))
            if moments[place] is None:
                wish = {"kind": "date", **self.form.to_dict(), "missing": [*self.missing, value]}
                raise InputError(
                    f"column {column.name!r} cannot be read as dates with format "
                    f"{self.form.format!r}: it has the value {str(value)!r}",
                    f"correct it, or {remedy(column.name, wish, 'category')}",
                )
        values = [moments[code] for code in codes]
        return pd.Series(values, column.index, dtype=object, name=column.name)

    def to_dict(self) -> dict[str, Any]:
        """As plain data without defaults."""
        data: dict[str, Any] = {"kind": self.kind, **self.form.to_dict()}
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
        form = TextFormat.from_mapping(data, "a stored column")
        spec = cls(data["kind"], data.get("values", "any"), *lists, form)
        if spec.kind not in KINDS or spec.values not in VALUES:
            raise InputError(
                f"this version of treesweep cannot read a column of kind {spec.kind!r} with "
                f"values {spec.values!r}; upgrade it"
            )
        return spec


def text_names(frame: pd.DataFrame) -> pd.DataFrame:
    """The table with all column names as text, so that a stored tree finds its columns.

    Raises
    ------
    InputError
        If two columns then have the same name, or a name cannot be stored.
    """
    given = frame.columns.tolist()
    names = [str(name) for name in given]
    for name in names:
        check_storable(name, "the column name")
    if len(set(names)) < len(names):
        twice = next(name for i, name in enumerate(names) if name in names[:i])
        raise InputError(f"the table has two columns named {twice!r}; rename or drop one of them")
    if all(isinstance(name, str) for name in given):
        return frame
    return frame.set_axis(names, axis="columns")


def columns_by_name(table: Columns) -> dict[str, pd.Series[Any]]:
    """Each column by its name; errors as :func:`text_names`.

    pandas takes long to find a column, and longer to leave one out.
    """
    named = text_names(table) if isinstance(table, pd.DataFrame) else table
    return dict(named.items())  # type: ignore[arg-type]


def raw_kinds(
    raw: Sequence[Any], name: Any, missing: Sequence[Category] = ()
) -> dict[str, Category]:
    """Which of text, numbers, dates and booleans a column's raw values are, with an example of
    each."""
    marks = {key_of(value) for value in missing}
    found: dict[str, Category] = {}
    for given in raw:
        value = as_category(given, name)
        if value is not None and key_of(value) not in marks:
            found.setdefault("dates" if isinstance(given, dt.date) else kind_of(value), value)
    return {kind: found[kind] for kind in ("text", "numbers", "dates", "booleans") if kind in found}


def is_missing(column: pd.Series[Any]) -> NDArray[np.bool_]:
    """Whether each value of a raw column is missing; refuses one that cannot be asked."""
    if column.dtype.kind == "f":  # some tell NaN from a missing number
        return np.asarray(np.isnan(_as_floats(column)))
    try:
        return np.asarray(pd.isna(column.array))
    except ArithmeticError:
        raise _signaling(column) from None


def _as_floats(column: pd.Series[Any]) -> NDArray[np.float64]:
    """A column of numbers or booleans as float64, NaN where missing; its own array if it can be."""
    if isinstance(column.dtype, np.dtype):
        return np.asarray(column.to_numpy(), dtype=np.float64)
    return column.to_numpy(dtype=np.float64, na_value=np.nan)


def _signaling(column: pd.Series[Any]) -> InputError:
    return InputError(f"column {column.name!r} has a signaling NaN", "leave the value empty")


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


def factorize_numbers(
    numbers: NDArray[np.float64],
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Codes and distinct numbers, ascending; NaN is the last."""
    # Equal numbers have equal bits, once there is one zero and one NaN; those are hashed faster.
    plain = np.where(np.isnan(numbers), np.nan, numbers + 0.0)
    codes, bits = pd.factorize(plain.view(np.int64))
    found = bits.view(np.float64)
    order = np.argsort(found)
    rank = np.empty(len(order), dtype=np.intp)
    rank[order] = np.arange(len(order))
    return rank[codes], found[order]


def factorize_raw(column: pd.Series[Any]) -> tuple[NDArray[np.intp], list[Any]]:
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
        plain = isinstance(column.dtype, np.dtype) and column.dtype.kind in "biuf"
        given: Any = column.to_numpy() if plain else column  # of this pandas makes an index
        codes, distinct = pd.factorize(given)
        return codes, distinct.tolist()
    except (TypeError, NotImplementedError, ArithmeticError):
        if any(isinstance(value, Decimal) and value.is_snan() for value in column):
            raise _signaling(column) from None
        kinds = (type(v).__name__ for v in column if getattr(type(v), "__hash__", None) is None)
        raise unreadable(column.name, f"{next(kinds, 'unhashable')} values") from None
