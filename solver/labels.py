"""Reading the target column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from solver.columns import ColumnSpec, sort_categories, values_of
from solver.errors import InputError
from solver.squares import check_targets


def read_labels(
    column: pd.Series[Any], classes: Sequence[Any] | None = None
) -> tuple[tuple[Any, ...], NDArray[np.int64]]:
    """The sorted labels of a target column and the position of each row's label among them.

    Parameters
    ----------
    column : pandas.Series
        The target: strings, whole numbers, booleans or categories.
    classes : sequence, optional
        All labels, where the column may lack some.

    Raises
    ------
    InputError
        If a label is missing, the target is a measured number or a date, text and numbers are
        mixed, there is a single class, or a label is not among ``classes``.
    """
    name = column.name
    if column.isna().any():
        rows = int(column.isna().sum())
        raise InputError(
            f"target {name!r} is missing in {rows} of {len(column)} rows; "
            "drop these rows or fill the target in"
        )
    if pd.api.types.is_datetime64_any_dtype(column):
        raise InputError(f"target {name!r} holds dates; give it labels")
    if pd.api.types.is_float_dtype(column) and not (column == np.floor(column)).all():
        raise InputError(
            f"target {name!r} holds measured numbers; say that this is regression, or give it "
            "labels (for example by cutting it into ranges)"
        )
    spec = ColumnSpec("category", "any" if classes is None else values_of(classes))
    codes, values = spec.factorize(column)
    found = values[:-1].tolist()
    if classes is None:
        if values_of(found) == "any":
            raise InputError(f"target {name!r} mixes text and numbers; make its labels alike")
        labels = tuple(sort_categories(found))
        if len(labels) == 1:
            raise InputError(
                f"target {name!r} has the single class {labels[0]!r}; there is nothing to learn"
            )
    else:
        labels = tuple(classes)
    index = {label: i for i, label in enumerate(labels)}
    unknown = [value for value in found if value not in index]
    if unknown:
        raise InputError(f"target {name!r} has the label {unknown[0]!r}, which is not a class")
    positions = np.array([index[value] for value in found], dtype=np.int64)
    return labels, positions[codes]


def read_targets(columns: pd.DataFrame) -> NDArray[np.float64]:
    """The targets of a regression, shape (rows, outputs).

    Raises
    ------
    InputError
        If one is missing or no finite number, or all rows have the same targets.
    """
    name = ", ".join(map(str, columns.columns))
    try:
        numbers = [ColumnSpec("number").read(columns[column]) for column in columns.columns]
    except InputError as error:  # what it advises is for features
        what = str(error).partition(";")[0].replace("column", "target", 1)
        raise InputError(f"{what}; regression needs a finite number in every row") from None
    values = check_targets(np.stack(numbers, axis=1), name)
    if len(values) and np.all(values == values[0]):
        raise InputError(f"target {name!r} has a single value; there is nothing to learn")
    return values
