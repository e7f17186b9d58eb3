"""The tests that a tree asks of a raw row.

A test has a ``kind`` and sends a row into one of its branches. It reads one raw column, or several
(see :mod:`solver.features.oblique_tests`), in canonical form (see :mod:`solver.features.columns`).
Every encoded feature stands for one test; its codes are the numbers of the branches.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from solver.errors import InputError
from solver.features.category_values import FEATURE, Category, key_of, show_column, show_value
from solver.features.number_format import in_full, moment_in_full
from solver.features.oblique_tests import HyperplaneTest, PolynomialTest, SurfaceTest

_LAST_MOMENT = 2.0**62
"""In seconds; what numpy can write as a date, and much more than people do."""


@dataclass(frozen=True)
class CategoryTest:
    """Which group of categories a value belongs to.

    Parameters
    ----------
    column : str
        Name of the raw column.
    groups : tuple of tuples
        Branch ``i`` takes the values in ``groups[i]``.
    rest : int or None
        Branch of values in no group (unseen in training). With None such a row stops at the node
        and gets the node's own prediction.
    """

    column: str
    groups: tuple[tuple[Category, ...], ...]
    rest: int | None = None
    kind: ClassVar[str] = "category"

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the raw columns that it reads."""
        return (self.column,)

    @property
    def arity(self) -> int:
        """Number of branches."""
        return len(self.groups)

    @property
    def name(self) -> str:
        """Name of the encoded feature: ``column`` or, for one value against the rest,
        ``column=value``."""
        column = show_column(self.column, FEATURE)
        return f"{column}={show_value(self.groups[1][0])}" if self.is_indicator else column

    @property
    def is_indicator(self) -> bool:
        """Whether this asks for a single value: no (branch 0) or yes (branch 1)."""
        return len(self.groups) == 2 and self.rest == 0 and len(self.groups[1]) == 1

    def branches(self, values: NDArray[Any]) -> NDArray[np.int32]:
        """The branch of every value; −1 where the row stops."""
        default = -1 if self.rest is None else self.rest
        index = {key_of(value): i for i, group in enumerate(self.groups) for value in group}
        # A number that is missing is NaN, which differs from itself.
        keys = (key_of(None if v != v else v) for v in values)
        return np.fromiter((index.get(key, default) for key in keys), np.int32, len(values))

    def describe(self, branch: int) -> str:
        """The condition of a branch in words, e.g. ``odor = almond``."""
        column, group = show_column(self.column), self.groups[branch]
        if self.is_indicator:
            return f"{column} {'=' if branch else '≠'} {show_value(self.groups[1][0])}"
        if len(group) == 1:
            return f"{column} = {show_value(group[0])}"
        return f"{column} in {{{', '.join(show_value(value, listed=True) for value in group)}}}"

    def to_dict(self) -> dict[str, Any]:
        """As plain data for JSON."""
        groups = [list(group) for group in self.groups]
        return {"kind": self.kind, "column": self.column, "groups": groups, "rest": self.rest}


@dataclass(frozen=True)
class ThresholdTest:
    """Whether a number exceeds a threshold: ``≤`` is branch 0 and ``>`` branch 1.

    Parameters
    ----------
    threshold : float
        In the units of the column; for dates, seconds since 1970-01-01 UTC.
    missing : int
        Branch of a missing value.
    unit : {"number", "date"}
        How the threshold is shown.
    lacked : bool
        Whether training rows lack the number; then the text says where they go.
    """

    column: str
    threshold: float
    missing: int = 0
    unit: str = "number"
    lacked: bool = False
    kind: ClassVar[str] = "threshold"

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the raw columns that it reads."""
        return (self.column,)

    @property
    def arity(self) -> int:
        """Number of branches."""
        return 2

    @property
    def name(self) -> str:
        """Name of the encoded feature."""
        return f"{show_column(self.column, FEATURE)}>{self.shown}"

    @property
    def shown(self) -> str:
        """The threshold in full: read back, it is this very float."""
        show = moment_in_full if self.unit == "date" else in_full
        return show(self.threshold)

    def branches(self, values: NDArray[Any]) -> NDArray[np.int32]:
        """The branch of every value."""
        numbers = np.asarray(values, dtype=np.float64)
        result = (numbers > self.threshold).astype(np.int32)
        result[np.isnan(numbers)] = self.missing
        return result

    def describe(self, branch: int) -> str:
        """The condition of a branch in words, e.g. ``age > 30``."""
        missing = " or missing" if self.lacked and branch == self.missing else ""
        return f"{show_column(self.column)} {'>' if branch else '≤'} {self.shown}{missing}"

    def to_dict(self) -> dict[str, Any]:
        """As plain data for JSON."""
        return {
            "kind": self.kind,
            "column": self.column,
            "threshold": self.threshold,
            "missing": self.missing,
            "unit": self.unit,
            "lacked": self.lacked,
        }


NodeTest: TypeAlias = CategoryTest | ThresholdTest | SurfaceTest


def parse_test(data: dict[str, Any]) -> NodeTest:
    """Read a test from plain data; InputError if this version does not know its kind."""
    kind = data.get("kind")
    if kind == CategoryTest.kind:
        groups = tuple(tuple(group) for group in data["groups"])
        rest = data["rest"]
        if len(groups) < 1 or (rest is not None and rest not in range(len(groups))):
            raise ValueError(f"a test on {data['column']!r} has no branch {rest!r}")
        values = [value for group in groups for value in group]
        plain = (value is None or isinstance(value, (str, int, float)) for value in values)
        if not all(plain) or any(value != value for value in values):
            raise ValueError(f"a test on {data['column']!r} has a value that is no category")
        if len(set(map(key_of, values))) < len(values):
            raise ValueError(f"a test on {data['column']!r} has a value twice")
        return CategoryTest(data["column"], groups, rest)
    if kind == ThresholdTest.kind:
        if data["missing"] not in (0, 1):
            raise ValueError(f"a test on {data['column']!r} has no branch {data['missing']!r}")
        threshold, unit = float(data["threshold"]), data.get("unit", "number")
        test = ThresholdTest(
            data["column"], threshold, data["missing"], unit, bool(data.get("lacked", False))
        )
        largest = _LAST_MOMENT if test.unit == "date" else sys.float_info.max
        if test.unit not in ("number", "date") or not abs(test.threshold) <= largest:
            raise ValueError(f"no {test.unit} is the threshold {test.threshold!r}")
        return test
    for surface in (HyperplaneTest, PolynomialTest):
        if kind == surface.kind:
            return surface.parse(data)
    raise InputError(f"this version of treesweep cannot read a test of kind {kind!r}; upgrade it")
