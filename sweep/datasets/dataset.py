"""A dataset: a table with a target, and a digest of its content."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from solver.encodings.encoder import MAX_CELLS
from solver.errors import InputError, columns_like
from solver.features.category_values import Category, widened
from solver.features.column_inference import check_overrides, infer_columns
from solver.features.columns import ColumnSpec, text_names
from solver.problem.target import read_labels, read_targets
from solver.trees.tree import TaskType

_EXACT = 2.0**53


@dataclass(frozen=True, eq=False)
class Dataset:
    """A named table with a target column, as the user has it."""

    name: str
    frame: pd.DataFrame  # features and targets, without dropped columns
    targets: tuple[str, ...]  # names of the target columns; one for classification
    columns: dict[str, Any]  # overrides, see solver.problem.problem.Problem.from_table
    digest: str  # SHA-256 of the content, see table_digest
    task: TaskType = "classification"
    test: tuple[str, Category] | None = None  # a column that is no feature, its value on test rows

    @classmethod
    def build(
        cls,
        name: str,
        frame: pd.DataFrame,
        target: str | Sequence[str],
        columns: Mapping[str, Any] | None = None,
        task: TaskType = "classification",
        test: tuple[str, Category] | None = None,
    ) -> Dataset:
        """Check a table, and drop the columns of kind ``drop``.

        Raises InputError if the table has no rows, no target, no feature or two columns of one
        name, or an override names no column or kind.
        """
        frame = text_names(frame)
        where = f"dataset {name!r}"
        targets = (target,) if isinstance(target, str) else tuple(target)
        for name_ in (*targets, *([test[0]] if test else [])):
            if name_ not in frame.columns:
                whose = "target" if name_ in targets else "test rows"
                known = columns_like(name_, frame.columns)
                raise InputError(f"{where} has no column {name_!r} for the {whose}; it has {known}")
        if len(set(targets)) < len(targets) or (test and test[0] in targets):
            raise InputError(f"{where} uses a column twice, as target or for test rows")
        if not len(frame):
            raise InputError(f"{where} has no rows")
        overrides = dict(columns or {})
        for name_ in targets:
            if name_ in overrides:
                raise InputError(
                    f"{where}: columns names {name_!r}, which is the target; leave it out"
                )
        no_features = {*targets, *([test[0]] if test else [])}
        features = [column for column in frame.columns if column not in no_features]
        try:
            check_overrides(features, overrides)
        except InputError as error:
            raise InputError(f"{where}: {error}") from None
        dropped = [c for c, wish in overrides.items() if wish in ("drop", {"kind": "drop"})]
        if len(dropped) == len(features):
            raise InputError(f"{where} has no feature, only the target {', '.join(targets)!r}")
        kept = {column: wish for column, wish in overrides.items() if column not in dropped}
        frame = frame.drop(columns=dropped).reset_index(drop=True)
        digest = table_digest(frame, targets, kept, task, test)
        return cls(name, frame, targets, kept, digest, task, test)

    @property
    def target(self) -> str:
        """The names of the targets, for messages."""
        return ", ".join(self.targets)

    @property
    def features(self) -> pd.DataFrame:
        """The table without its targets and the column that marks test rows."""
        return self.frame.drop(columns=self._no_features)

    @property
    def _no_features(self) -> list[str]:
        return [*self.targets, *([self.test[0]] if self.test else [])]

    @cached_property
    def test_rows(self) -> NDArray[np.bool_] | None:
        """The test rows that the table marks; None if it marks none.

        Raises InputError if all rows are marked, or none.
        """
        if self.test is None:
            return None
        column, value = self.test
        found = ColumnSpec("category").factorize(self.frame[column])[1]
        # The value from YAML is read like those of the column.
        spec = ColumnSpec.of_categories(found)
        asked = spec.read(pd.Series([value], dtype=object))[0]
        mask: NDArray[np.bool_] = spec.read(self.frame[column]) == asked
        if mask.all() or not mask.any():
            which = "every row has" if mask.any() else "no row has"
            raise InputError(
                f"dataset {self.name!r}: {which} {column} = {value!r}; "
                "test must name the value of some rows"
            )
        return mask

    def part(
        self, features: Sequence[str] | None = None, first: int | None = None, replicate: int = 1
    ) -> Dataset:
        """The same table with only these (or the ``first`` N) features, and ``replicate`` copies.

        Raises InputError if there are no such columns, or the table becomes too large.
        """
        where = f"dataset {self.name!r}"
        there = list(self.features.columns)
        kept = list(there if features is None else features)
        if unknown := [column for column in kept if column not in there]:
            raise InputError(
                f"{where} has no column {unknown[0]!r} to use as a feature; it has "
                f"{columns_like(unknown[0], there)}"
            )
        if len(set(kept)) < len(kept):
            raise InputError(f"{where}: features names a column twice")
        if first is not None and first > len(kept):
            raise InputError(f"{where} has {len(kept)} features, not {first}; first is too large")
        kept = kept[:first]
        if replicate * self.frame.size > MAX_CELLS:
            raise InputError(
                f"{where}: {replicate} copies of {len(self.frame)} rows do not fit into memory"
            )
        names = [*kept, *self._no_features]
        frame = pd.concat([self.frame[names]] * replicate, ignore_index=True)
        columns = {column: wish for column, wish in self.columns.items() if column in kept}
        digest = table_digest(frame, self.targets, columns, self.task, self.test)
        return replace(self, frame=frame, columns=columns, digest=digest)

    @property
    def classes(self) -> tuple[Any, ...]:
        """The sorted labels, none for regression; raises as ``read_labels``."""
        return self.labels[0]

    @cached_property
    def labels(self) -> tuple[tuple[Any, ...], NDArray[np.int64]]:
        """The sorted labels, and the index of each row's label; none and zeros for regression.

        Raises InputError if the targets cannot be used.
        """
        if self.task == "regression":
            return (), np.zeros(len(self.numbers), np.int64)
        return read_labels(self.frame[self.targets[0]])

    @cached_property
    def numbers(self) -> NDArray[np.float64]:
        """The targets of regression, (rows × outputs). Raises as :attr:`labels`."""
        return read_targets(self.frame[list(self.targets)])


def table_digest(
    frame: pd.DataFrame,
    targets: str | Sequence[str],
    columns: Mapping[str, Any],
    task: TaskType = "classification",
    test: tuple[str, Category] | None = None,
) -> str:
    """SHA-256 of what determines a dataset's results.

    These are the task, the names, order and values of the columns, the order of the rows, the names
    of the targets, the test rows and the overrides. Not part of it are the dataset's name, the
    file's format, the width of numbers, whether text is stored as pandas categories, whether whole
    numbers are stored as floats, and time zones. Formats with different values (dates are text in
    CSV) have different digests. Raises InputError if a column has values that no test can read.
    """
    content = hashlib.sha256()

    def add(part: Any) -> None:
        data = part if isinstance(part, bytes) else json.dumps(part, sort_keys=True).encode()
        content.update(len(data).to_bytes(8, "little") + data)

    # Digests of classification do not change when options are added.
    names = [targets] if isinstance(targets, str) else [*targets]
    target = names[0] if task == "classification" else [task, *names]
    mark = [list(test)] if test else []
    add(["treesweep-table", 1, len(frame), target, dict(columns), *mark])
    for name in frame.columns:
        add(name)
        for part in _content(frame[name]):
            add(part)
    return content.hexdigest()


def _content(column: pd.Series[Any]) -> tuple[Any, ...]:
    column = widened(column)
    dtype = column.dtype
    types = pd.api.types
    if types.is_datetime64_any_dtype(dtype):
        with suppress(InputError):  # dates that are refused are read as categories
            return "date", _floats(ColumnSpec("date").read(column))
    if types.is_float_dtype(dtype) or types.is_integer_dtype(dtype):
        values = column.to_numpy(dtype=np.float64, na_value=np.nan)
        if types.is_float_dtype(dtype) or not np.any(np.abs(values) >= _EXACT):
            return "number", _floats(values)
    codes, found = ColumnSpec("category").factorize(column)
    values = found[:-1].tolist()
    numbers = isinstance(dtype, pd.CategoricalDtype) and not all(isinstance(v, str) for v in values)
    content = (
        "numbers as categories" if numbers else "values",
        values,
        codes.astype("<i8").tobytes(),
    )
    reading = _reading(column)
    plain = pd.Series(found[codes], dtype=object, name=column.name)
    return content if reading == _reading(plain) else (*content, reading)


def _reading(column: pd.Series[Any]) -> Any:
    """How a column is read, or why not. This depends on more than its values."""
    try:
        specs = infer_columns(column.to_frame(), few_values=0)
    except InputError as error:
        return str(error)
    return [spec.to_dict() for spec in specs.values()]


def _floats(values: np.ndarray[Any, np.dtype[np.float64]]) -> bytes:
    """Bytes with one pattern for each number, for all NaNs and both zeros."""
    plain = np.where(np.isnan(values), np.nan, values + 0.0)
    return plain.astype("<f8").tobytes()
