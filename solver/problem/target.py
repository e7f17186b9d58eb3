"""Reading the target column."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from solver.errors import InputError
from solver.features.category_values import (
    array_of,
    as_category,
    as_float,
    key_of,
    kind_of,
    sort_categories,
)
from solver.features.columns import (
    Columns,
    ColumnSpec,
    columns_by_name,
    factorize_raw,
    is_missing,
    raw_kinds,
)
from solver.features.number_format import count
from solver.objective.exact_squared_error import check_targets

MISSING, UNKNOWN = -1, -2
"""The codes of a missing label and of an unknown one, see :func:`find_labels`."""


def read_labels(
    column: pd.Series[Any], classes: Sequence[Any] | None = None, *, fewest: int = 2
) -> tuple[tuple[Any, ...], NDArray[np.int64]]:
    """The sorted labels of a target column and the position of each row's label among them.

    Parameters
    ----------
    column : pandas.Series
        The target: strings, whole numbers, booleans or categories.
    classes : sequence, optional
        All labels, if the column may lack some.
    fewest : int
        Least number of labels.

    Raises
    ------
    InputError
        If a label is missing or cannot be read, the target is a measured number or a date, text,
        numbers and booleans are mixed, there are too few classes, or a label is not among
        ``classes``.
    """
    name = column.name
    try:
        rows = int(is_missing(column).sum())
        codes, raw = factorize_raw(column)
        kinds = raw_kinds(raw, name)
    except InputError as error:
        raise _of_target(error, "make its labels text") from None
    if rows:
        raise InputError(
            f"target {name!r} is missing in {rows} of {count(len(column), 'row')}; "
            "drop these rows or fill the target in"
        )
    if "dates" in kinds:
        raise InputError(f"target {name!r} holds dates; give it labels")
    if len(kinds) > 1:
        raise InputError(f"target {name!r} mixes {' and '.join(kinds)}; make its labels alike")
    try:
        found = ColumnSpec("category").categories(raw, name)
    except InputError as error:
        raise _of_target(error, "make its labels text") from None
    labels = tuple(sort_categories(found))
    if _is_measured(column, found):
        raise InputError(
            f"target {name!r} holds measured numbers; say that this is regression, or give it "
            "labels (for example by cutting it into ranges)"
        )
    if classes is None and len(labels) < fewest:
        raise InputError(
            f"target {name!r} has the single class {labels[0]!r}; there is nothing to learn"
        )
    if classes is not None:
        labels = check_classes(classes)
    positions = _positions(codes, raw, labels, name)
    if np.any(positions < 0):
        value = column.iloc[int(np.argmax(positions < 0))]
        raise InputError(f"target {name!r} has the label {value!r}, which is not a class")
    return labels, positions


def check_classes(classes: Iterable[Any]) -> tuple[Any, ...]:
    """Given labels, with numbers and booleans as Python types.

    Raises
    ------
    InputError
        If one is missing or not a text, number or boolean, two are equal, or kinds are mixed.
    """
    if isinstance(classes, str) or not isinstance(classes, Iterable):
        raise InputError(f"classes = {classes!r} must be a list of labels")
    narrow = (as_float(c) if isinstance(c, np.floating) else c for c in classes)
    labels = tuple(c.item() if isinstance(c, np.generic) else c for c in narrow)
    seen: set[Hashable] = set()
    for label in labels:
        plain = isinstance(label, (str, int, float))
        value = as_category(label, "classes") if plain else None
        if value is None:
            raise InputError(f"classes has {label!r}, which is no label; use texts or numbers")
        if key_of(value) in seen:
            raise InputError(f"classes has the label {label!r} twice; each must be another one")
        seen.add(key_of(value))
    if len(kinds := {kind_of(label) for label in labels}) > 1:
        raise InputError(f"classes mixes {' and '.join(sorted(kinds))}; make its labels alike")
    return labels


def find_labels(column: pd.Series[Any], classes: Sequence[Any]) -> NDArray[np.int64]:
    """The position of each row's label among the classes; ``MISSING``, or ``UNKNOWN``.

    The column is read as that of the classes was: in a file with other values than there, pandas
    may give the labels another type.
    """
    return _positions(*factorize_raw(column), classes, column.name)


def _positions(
    codes: NDArray[np.intp], raw: Sequence[Any], classes: Sequence[Any], name: Any
) -> NDArray[np.int64]:
    """As :func:`find_labels`, of what :func:`factorize_raw` gives."""
    found = ColumnSpec.of_categories(classes).categories(raw, name)
    index = {key_of(label): position for position, label in enumerate(classes)}
    positions = [MISSING if v is None else index.get(key_of(v), UNKNOWN) for v in found]
    return np.array([*positions, MISSING], dtype=np.int64)[codes]


def _is_measured(column: pd.Series[Any], found: Sequence[Any]) -> bool:
    """Whether these are numbers with a fraction, and nobody calls them categories."""
    if column.dtype.kind == "f":
        return not bool((column == np.floor(column)).all())
    return column.dtype == object and any(isinstance(value, float) for value in found)


def read_targets(columns: Columns) -> NDArray[np.float64]:
    """The targets of a regression, shape (rows, outputs).

    Raises
    ------
    InputError
        If one is missing or not a finite number, or all rows have the same targets.
    """
    named = columns_by_name(columns)
    values = _read_numbers([*named.values()])
    if len(values) and np.all(values == values[0]):
        name = ", ".join(named)
        raise InputError(f"target {name!r} has a single value; there is nothing to learn")
    return values


def read_target_array(given: Any, name: str) -> NDArray[np.float64]:
    """The targets of a regression outside a table, shape (rows, outputs); all may be equal.

    Raises
    ------
    InputError
        If one is missing or not a finite number, or two different ones would merge.
    """
    if isinstance(given, pd.DataFrame):
        table = given
    elif isinstance(given, (pd.Series, pd.Index, pd.api.extensions.ExtensionArray)):
        table = pd.DataFrame({0: pd.Series(given).array})
    else:
        values = np.atleast_1d(array_of(given, f"target {name!r}"))
        if values.ndim > 2:
            raise InputError(f"target {name!r} has {values.ndim} dimensions; give (rows, outputs)")
        values = values.reshape(len(values), -1) if values.size else values.reshape(0, 1)
        table = pd.DataFrame(values)
    return _read_numbers([table.iloc[:, j].rename(name) for j in range(table.shape[1])])


def _read_numbers(columns: Sequence[pd.Series[Any]]) -> NDArray[np.float64]:
    spec = ColumnSpec("number")
    try:
        numbers = [spec.read(column) for column in columns]
    except InputError as error:
        raise _of_target(error, "regression needs a finite number in every row") from None
    name = ", ".join(dict.fromkeys(str(column.name) for column in columns))
    return check_targets(np.stack(numbers, axis=1), name)


def _of_target(error: InputError, remedy: str) -> InputError:
    """The refusal of a column, as that of a target: what it advises is for features."""
    return InputError(f"target{error.what.removeprefix('column')}", remedy)
