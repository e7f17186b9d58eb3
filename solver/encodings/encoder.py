"""Encodings, and fitted encoders that turn raw rows into codes and refuse unseen categories."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from operator import attrgetter
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from solver.encodings.thresholds import Distribution
from solver.errors import InputError, columns_like
from solver.features.category_values import Category, show_value
from solver.features.column_inference import FEW_VALUES
from solver.features.columns import ColumnSpec, Factorized, columns_by_name
from solver.features.node_tests import NodeTest
from solver.features.ranks_and_cuts import Scale

MAX_CELLS = 2**30
"""Largest matrix, rows × features, that is made (4 GiB)."""

_CHUNK = 65536
"""Rows that are coded at a time, so that no second matrix is held."""

CategoryFit: TypeAlias = Callable[[str, Sequence[Category]], Sequence[NodeTest]]
"""The tests for a column of categories, from its name and its sorted values."""

CutFit: TypeAlias = Callable[[Distribution, Mapping[str, Any]], NDArray[np.int64]]
"""The cuts of a column of numbers: cut ``i`` is between its distinct values ``i`` and ``i + 1``."""


@dataclass(frozen=True)
class EncodingOption:
    """An option of an encoding: a whole number."""

    default: int
    minimum: int
    doc: str


@dataclass(frozen=True)
class Encoding:
    """The description of an encoding.

    Parameters
    ----------
    name : str
    summary : str
        One line.
    feature_kind : {"binary", "categorical", "continuous"}
        The most general kind of its features, see :attr:`solver.base.Capabilities.features`.
    fit_categories : callable
        How it encodes a column of categories.
    fit_cuts : callable, optional
        How it cuts a column of numbers. Without it, numbers are refused or kept.
    options : mapping
        By name.
    uses_classes : bool
        Whether the cuts depend on the classes of the rows, which regression has not.
    """

    name: str
    summary: str
    feature_kind: str
    fit_categories: CategoryFit
    fit_cuts: CutFit | None = None
    options: Mapping[str, EncodingOption] = field(default_factory=lambda: MappingProxyType({}))
    uses_classes: bool = False

    @property
    def few_values(self) -> int:
        """Columns of whole numbers with at most this many distinct values are categories; 0 where
        numbers can be cut."""
        return 0 if self.takes_numbers else FEW_VALUES

    @property
    def keeps_numbers(self) -> bool:
        """Whether a column of numbers stays one ordered feature, which the search cuts."""
        return self.feature_kind == "continuous"

    @property
    def takes_numbers(self) -> bool:
        """Whether it can encode numbers and dates."""
        return self.keeps_numbers or self.fit_cuts is not None

    def check_options(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Fill in defaults; InputError for an unknown option or a wrong value."""
        for name, value in options.items():
            if name not in self.options:
                known = ", ".join(self.options) or "none"
                raise InputError(f"encoding {self.name!r} has no option {name!r}; it has: {known}")
            least = self.options[name].minimum
            whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
            if not whole or value < least:
                raise InputError(
                    f"option {name} = {value!r} of encoding {self.name!r} must be a whole number "
                    f"of {least} or more: {self.options[name].doc}"
                )
        given = {name: int(value) for name, value in options.items()}
        return {name: option.default for name, option in self.options.items()} | given


@dataclass(frozen=True)
class Encoder:
    """A fitted encoding: a list of tests.

    Parameters
    ----------
    name : str
        The encoding's name.
    options : dict
        All its options with their values.
    tests : tuple
        One test for each feature. In the encoding ``continuous`` a column of numbers has a
        ``Scale`` in place of a test: all its thresholds.
    columns : dict
        How each raw column is read, in the order of the table.
    without_feature : tuple of str
        Columns without a feature, e.g. because ``mdlp`` found no cut.

    Examples
    --------
    >>> import pandas as pd
    >>> import treesweep
    >>> table = pd.DataFrame({"age": [20, 30, 40, 50], "sex": ["m", "f", "f", "m"]})
    >>> encoder = treesweep.fit_encoder("quantiles", table, [0, 0, 1, 1], n_classes=2, k=2)
    >>> encoder.transform(table).tolist()
    [[0, 0, 1], [0, 1, 0], [1, 1, 0], [1, 0, 1]]
    """

    name: str
    options: dict[str, Any]
    tests: tuple[NodeTest | Scale, ...]
    columns: dict[str, ColumnSpec]
    without_feature: tuple[str, ...] = ()

    def transform(self, frame: pd.DataFrame) -> NDArray[np.int32]:
        """Encode rows: an array of shape (rows, features) with the branch that each row takes at
        the test of each feature.

        An unseen category is an error. To predict rows use :meth:`solver.trees.tree.Tree.predict`,
        which stops inside the tree at an unseen category.

        Raises
        ------
        InputError
            If a column is missing or cannot be read, a category was not seen in the fit, or the
            matrix would have more than 2^30 cells.
        """
        raw = columns_by_name(frame)

        def read(name: str) -> Factorized:
            if name not in raw:
                raise InputError(
                    f"the table has no column {name!r}, which the encoding reads; "
                    f"its columns are {columns_like(name, list(raw))}"
                )
            return self.columns[name].factorize(raw[name])

        return self.encode(len(frame), read)

    def encode(self, n_rows: int, read: Callable[[str], Factorized]) -> NDArray[np.int32]:
        """As :meth:`transform`, of columns that ``read`` gives by name, see
        :meth:`solver.features.columns.ColumnSpec.factorize`."""
        n_features = len(self.tests)
        if n_rows * n_features > MAX_CELLS:
            raise InputError(
                f"encoding {self.name!r} makes {n_features} features of {n_rows} rows, more than "
                "fits into memory; use quantiles or mdlp, or drop columns with many values"
            )
        codes = np.empty((n_rows, n_features), dtype=np.int32)
        end = 0
        for name, tests in groupby(self.tests, key=attrgetter("column")):
            # Each test is asked once for every distinct value of its column, then looked up.
            (rows, values), group = read(name), list(tests)
            lookup = np.empty((len(values), len(group)), np.int32)
            for place, test in enumerate(group):
                lookup[:, place] = test.branches(values)
            if lookup.min(initial=0) < 0:
                self._refuse_unseen(name, values[rows], lookup[rows])
            start, end = end, end + lookup.shape[1]
            for first in range(0, n_rows, _CHUNK):
                chunk = slice(first, first + _CHUNK)
                codes[chunk, start:end] = lookup[rows[chunk]]
        return codes

    def without_numbers_unknown(self, frame: pd.DataFrame) -> Encoder:
        """A copy for the table ``frame``.

        If a column of ``frame`` has numbers that were not in the fit, the copy can only compare the
        numbers of this column with thresholds. Sums such as hyperplanes cannot use the column.
        """
        raw = columns_by_name(frame)
        tests = tuple(
            replace(test, values=None)
            if isinstance(test, Scale)
            and test.column in raw
            and not test.knows(self.columns[test.column].read(raw[test.column]))
            else test
            for test in self.tests
        )
        return replace(self, tests=tests)

    def _refuse_unseen(self, name: str, values: NDArray[Any], lookup: NDArray[np.int32]) -> None:
        unseen = np.any(lookup < 0, axis=1)
        if unseen.any():
            value = show_value(values[int(unseen.argmax())])
            raise InputError(
                f"column {name!r} has the value {value}, which was not in the rows that encoding "
                f"{self.name!r} was fitted on; predict such rows with the tree instead"
            )
