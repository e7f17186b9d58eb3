"""How the columns of a table are read unless a user says otherwise: by their types and values."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from solver.errors import InputError
from solver.features.category_values import (
    Category,
    as_category,
    gap_texts,
    key_of,
    remedy,
    unreadable,
)
from solver.features.columns import (
    KINDS,
    Columns,
    ColumnSpec,
    Factorized,
    columns_by_name,
    factorize_raw,
    is_missing,
    raw_kinds,
)
from solver.features.text_parsing import (
    PLAIN,
    Reading,
    TextFormat,
    doubt,
    mixed_decimals,
    odd_texts,
    readings_of,
)

FEW_VALUES = 10
"""A column of whole numbers with at most this many distinct values is a category."""


MANY_VALUES = 100
"""A column of text with more distinct values than this, in over half of its rows, is refused."""


_NUMBERS = (int, float, Decimal, np.integer, np.floating)

_ISO_DATE = re.compile(r"\d{4}-\d{2}-\d{2}([ T].*)?")


Override: TypeAlias = str | Mapping[str, Any] | ColumnSpec
"""A kind or ``drop``; or a mapping with ``kind`` (optional), ``missing`` and the fields of a
:class:`~solver.features.text_parsing.TextFormat`; or a ColumnSpec."""


def infer_columns(
    frame: Columns,
    overrides: Mapping[str, Override] | None = None,
    *,
    few_values: int = FEW_VALUES,
    read: dict[str, Factorized] | None = None,
) -> dict[str, ColumnSpec]:
    """How every column of a table is to be read, in the order of the table.

    Text, booleans and pandas categories are categories, also with missing values, and so are
    columns without any value. Dates and times are dates. Numbers are numbers, except columns of
    whole numbers with at most ``few_values`` distinct values: these are categories.

    Parameters
    ----------
    frame : pandas.DataFrame, or mapping of str to pandas.Series
        The features.
    overrides : mapping, optional
        What the user wants instead, e.g. ``{"age": "number", "id": "drop"}``. A mapping such as
        ``{"kind": "number", "missing": ["?"]}`` also names values that mean missing.
    few_values : int
        0 reads all numbers as numbers.
    read : dict, optional
        Gets columns that were read as numbers to see what they are, so that they need not be read
        again.

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
    columns, overrides = columns_by_name(frame), overrides or {}
    check_overrides(list(columns), overrides)
    specs: dict[str, ColumnSpec] = {}
    for name, column in columns.items():
        wish = overrides.get(name)
        if isinstance(wish, ColumnSpec):
            specs[name] = wish
            continue
        asked = _parse_override(name, wish)
        if asked.kind != "drop":
            specs[name] = _infer(column, asked, few_values, read)
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


def describe_guesses(
    columns: Mapping[str, ColumnSpec], overrides: Mapping[str, Any]
) -> Iterator[str]:
    """A line on each column of text that is read as numbers or dates without having been asked."""
    for name, spec in columns.items():
        if name in overrides or not (spec.missing or spec.form):
            continue
        form = f", {spec.form.describe()}" if spec.form else ""
        marks = ", ".join(map(repr, spec.missing))
        gone = f"; missing: {marks}" if marks else ""
        yield f"Column {name!r} is read as {spec.kind}s{form}{gone}."


class _Wish(NamedTuple):
    """An override, parsed."""

    kind: str | None
    missing: tuple[Category, ...]
    form: TextFormat


def _parse_override(name: str, wish: str | Mapping[str, Any] | None) -> _Wish:
    if wish is None:
        return _Wish(None, (), PLAIN)
    known = ("kind", "missing", *TextFormat.__dataclass_fields__)
    options = wish if isinstance(wish, Mapping) else {"kind": wish}
    if extra := [key for key in options if key not in known]:
        raise InputError(f"columns: {name}: no key {extra[0]!r}; there are: {', '.join(known)}")
    form = TextFormat.from_mapping(options, f"columns: {name}")
    kind, missing = options.get("kind"), options.get("missing", ())
    if kind is None and form:
        kind = "date" if form.format else "number"
    if kind is not None and kind not in (*KINDS, "drop"):
        raise InputError(
            f"columns: {name}: there is no kind {kind!r}; there are: {', '.join(KINDS)}, drop"
        )
    if form and kind != ("date" if form.format else "number"):
        raise InputError(
            f"columns: {name}: {', '.join(form.to_dict())} do not go with kind {kind}; decimal, "
            "thousands and unit are for numbers, format is for dates"
        )
    if isinstance(missing, str) or not isinstance(missing, Iterable):
        missing = (missing,)
    return _Wish(kind, tuple(as_category(value, name) for value in missing), form)


def _infer(
    column: pd.Series[Any], asked: _Wish, few_values: int, read: dict[str, Factorized] | None
) -> ColumnSpec:
    kind, missing, form = asked
    nature = _nature(column)
    if kind in ("number", "date"):
        return ColumnSpec(kind, missing=missing, form=form)
    if kind is None and nature in ("number", "date"):
        spec = ColumnSpec(nature, missing=missing)
        if nature == "date":
            return spec
        if read is None:
            numbers = spec.read(column)
        else:
            rows, numbers = spec.factorize(column)
            read[str(column.name)] = rows.astype(np.int32), numbers
        if not _few_whole(numbers, few_values):
            return spec
    if kind is None and nature == "text" and (known := _read_text(column, missing)):
        return known
    codes, raw = factorize_raw(column)
    found = ColumnSpec("category", missing=missing).categories(raw, column.name)
    kinds = raw_kinds(raw, column.name, missing)
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


def _read_text(column: pd.Series[Any], missing: tuple[Category, ...]) -> ColumnSpec | None:
    """How to read text that writes numbers or dates but for marks of missing values.

    None for other text, for few different values, and for numbers as Python writes them without
    such a mark: somebody has made them text. Raises InputError if there are two ways to read it,
    if decimal points and commas are mixed, or if nearly all values are numbers.
    """
    name = column.name
    marks = {key_of(value) for value in missing}
    texts = [str(text) for text in factorize_raw(column)[1] if key_of(text) not in marks]
    if mixed := mixed_decimals(texts):
        raise _of_two_signs(column, mixed)
    readings = readings_of(texts)
    if len(texts) - len(readings[0].missing if readings else ()) <= FEW_VALUES:
        return None
    if len(readings) > 1:
        raise _ambiguous(name, readings)
    if not readings:
        if odd := odd_texts(texts):
            kind, form, strays = odd
            wish = {"kind": kind, **form.to_dict(), "missing": strays}
            raise InputError(
                f"column {name!r} has {len(texts) - len(strays)} different {kind}s, and "
                f"{_listed(strays)}",
                f"correct {'it' if len(strays) == 1 else 'them'}, or "
                f"{remedy(name, wish, 'category')}",
            )
        return None
    found = readings[0]
    if not found.form and not found.missing:
        return None
    if why := doubt(found, texts):
        what, first = why
        raise InputError(
            f"column {name!r} has {what}", f"{first}, or {remedy(name, found.override())}"
        )
    spec = ColumnSpec(found.kind, missing=(*missing, *found.missing), form=found.form)
    try:
        spec.read(column)
    except InputError:
        return None
    return spec


def _listed(texts: Sequence[str]) -> str:
    more = f" and {len(texts) - 3} more" if len(texts) > 3 else ""
    return "the text " + ", ".join(map(repr, texts[:3])) + more


def _of_two_signs(column: pd.Series[Any], mixed: Mapping[str, Sequence[str]]) -> InputError:
    """Name the rows of the sign that fewer rows have."""
    rows = {sign: np.flatnonzero(column.isin(texts)) + 1 for sign, texts in mixed.items()}
    many, few = sorted(rows, key=lambda sign: -len(rows[sign]))
    more = f" and {len(rows[few]) - 3} more" if len(rows[few]) > 3 else ""
    where = f"{'row' if len(rows[few]) == 1 else 'rows'} {', '.join(map(str, rows[few][:3]))}{more}"
    names = {".": "decimal point", ",": "decimal comma"}
    return InputError(
        f"column {column.name!r} has numbers with a {names[many]}, e.g. {mixed[many][0]!r}, and "
        f"with a {names[few]}, e.g. {mixed[few][0]!r} (in {where})",
        f"write them alike, or {remedy(column.name, 'category')}",
    )


def _ambiguous(name: Any, readings: Sequence[Reading]) -> InputError:
    ways = [
        f"{reading.example[0]!r} is {reading.example[1]} ({reading.form.describe()})"
        for reading in readings
    ]
    wishes = [reading.override() for reading in readings]
    return InputError(
        f"column {name!r} can be read in {len(ways)} ways: {', '.join(ways)}",
        remedy(name, *wishes),
    )


def _refuse_texts_that_merge(name: Any, raw: Sequence[Any], spec: ColumnSpec) -> None:
    """Refuse different texts that write the same."""
    texts = [value for value in raw if isinstance(value, str)]
    seen: dict[Any, str] = {}
    for text, value in zip(texts, spec.categories(texts, name), strict=True):
        first = seen.setdefault(key_of(value), text)
        if value is not None and first != text:
            raise InputError(
                f"column {name!r} has texts among other values, and {first!r} and {text!r} would "
                "be one value; write the whole column as text"
            )


def _nature(column: pd.Series[Any]) -> str:
    """``category``, ``text``, ``number`` or ``date``, from the dtype or else from the values.

    Raises
    ------
    InputError
        If no test can read such values.
    """
    dtype = column.dtype
    if dtype.kind in "iuf":
        found = "floating"
    elif isinstance(dtype, pd.CategoricalDtype) or pd.api.types.is_bool_dtype(dtype):
        return "category"
    elif pd.api.types.is_datetime64_any_dtype(dtype):
        found = "datetime"
    elif pd.api.types.is_numeric_dtype(dtype) and not pd.api.types.is_complex_dtype(dtype):
        found = "floating"
    else:
        found = pd.api.types.infer_dtype(column, skipna=True)
        if found == "unknown-array":
            found = pd.api.types.infer_dtype(column.astype(object), skipna=True)
    if found in ("mixed", "mixed-integer") and _are_numbers(column):
        found = "decimal"  # Decimals beside other numbers
    if found in ("floating", "integer", "mixed-integer-float", "decimal"):
        return "number" if not is_missing(column).all() else "category"
    if found in ("datetime", "datetime64", "date"):
        return "date" if not is_missing(column).all() else "category"
    if found in ("boolean", "empty", "period", "interval", "mixed", "mixed-integer"):
        return "category"
    if found == "string":
        return "text"
    raise unreadable(column.name, found)


def _are_numbers(column: pd.Series[Any]) -> bool:
    """Whether all values present are real numbers, of whatever types."""
    kinds = {type(value) for value in column[~is_missing(column)]}
    return bool(kinds) and all(issubclass(kind, _NUMBERS) and kind is not bool for kind in kinds)


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
        "identifier",
        remedy(column.name, *kinds),
    )
