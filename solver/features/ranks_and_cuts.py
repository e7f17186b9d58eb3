"""Ordered features: the ranks of the distinct numbers of a column, and the cuts between them.

A problem that keeps numbers has one code a row and column, the rank of the number. A split is a
*cut* between two neighbouring codes. All cuts of all features are numbered in one sequence: cut
``i`` is feature ``i`` of the encoding ``thresholds`` of the same table. So trees, predictions and
reports are the same for both.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Any, NamedTuple, TypeAlias, overload

import numpy as np
from numpy.typing import NDArray

from solver.features.node_tests import NodeTest, ThresholdTest

Choice: TypeAlias = Callable[[NDArray[np.float64], NDArray[np.float64]], NDArray[np.float64]]
"""Gives the threshold of each gap, from arrays of the numbers below and above."""


class ThresholdsOnDemand:
    """A threshold between any two neighbouring numbers of a column, found when it is asked for.

    A column may have as many thresholds as the table has rows, and a tree needs few of them.

    Parameters
    ----------
    values : array of float64, ascending
    choose : Choice
    """

    def __init__(self, values: NDArray[np.float64], choose: Choice) -> None:
        self._values, self._choose = values, choose

    def __len__(self) -> int:
        return max(len(self._values) - 1, 0)

    def __getitem__(self, gap: int) -> float:
        return thresholds_of([(self, range(len(self))[gap])])[0]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[np.float64]:
        return np.array(self._all, dtype=dtype, copy=copy)

    @cached_property
    def _all(self) -> NDArray[np.float64]:
        return self._of(np.arange(len(self)))

    def gap(self, gap: int) -> tuple[Choice, NDArray[np.float64]]:
        """How the threshold of a gap is chosen, and from which two numbers."""
        return self._choose, self._values[gap : gap + 2]

    def _of(self, gaps: NDArray[np.intp]) -> NDArray[np.float64]:
        return self._choose(self._values[gaps], self._values[gaps + 1])

    def count_below(self, numbers: NDArray[np.float64]) -> NDArray[np.intp]:
        """How many thresholds are below each number; of NaN, which sorts last, all."""
        count = np.searchsorted(self._values, numbers, side="left")
        inside = np.flatnonzero((count > 0) & (count < len(self._values)))
        between = inside[self._values[count[inside]] != numbers[inside]]
        if len(between):
            count[between] -= numbers[between] <= self._of(count[between] - 1)
        return np.minimum(count, len(self))


def thresholds_of(
    gaps: Sequence[tuple[NDArray[np.float64] | ThresholdsOnDemand, int]],
) -> list[float]:
    """The threshold of each gap of some columns. Several are chosen in the time of one."""
    found = np.zeros(len(gaps))
    asked: dict[Choice, list[tuple[int, NDArray[np.float64]]]] = {}
    for place, (thresholds, gap) in enumerate(gaps):
        if isinstance(thresholds, ThresholdsOnDemand):
            choose, ends = thresholds.gap(gap)
            asked.setdefault(choose, []).append((place, ends))
        else:
            found[place] = thresholds[gap]
    for choose, several in asked.items():
        places, ends_of_all = zip(*several, strict=True)
        found[list(places)] = choose(*np.array(ends_of_all).T)
    return found.tolist()


@dataclass(frozen=True, eq=False)
class Scale:
    """A column of numbers: the code of a number is how many thresholds it exceeds.

    Parameters
    ----------
    column : str
        Name of the raw column.
    thresholds : array of float64, ascending, or ThresholdsOnDemand
        One between any two neighbouring training values.
    missing : array of int8
        By threshold, the branch of a missing value.
    unit : {"number", "date"}
    lacked : bool
        Whether training rows lack the number.
    values : array of float64, ascending, optional
        The number of each code; None if only their order is known, or a training row lacks one.
    """

    column: str
    thresholds: NDArray[np.float64] | ThresholdsOnDemand
    missing: NDArray[np.int8]
    unit: str = "number"
    lacked: bool = False
    values: NDArray[np.float64] | None = None

    def __repr__(self) -> str:
        thresholds = np.asarray(self.thresholds)
        content = hashlib.sha256(thresholds.tobytes() + self.missing.tobytes()).hexdigest()
        return f"Scale({self.column!r}, {self.unit!r}, {self.lacked}, {content})"

    @property
    def arity(self) -> int:
        """Number of codes."""
        return len(self.thresholds) + 1

    @property
    def name(self) -> str:
        """Name of the encoded feature."""
        return self.column

    def branches(self, values: NDArray[Any]) -> NDArray[np.int32]:
        """The code of every value. A missing one has code 0, as if it were the smallest."""
        if values is self.values:  # when training rows are encoded
            return np.arange(len(values), dtype=np.int32)
        numbers = np.asarray(values, dtype=np.float64)
        order = np.argsort(numbers)  # in their order they are found five times faster
        codes, thresholds = np.empty(len(numbers), np.int32), self.thresholds
        if isinstance(thresholds, ThresholdsOnDemand):
            codes[order] = thresholds.count_below(numbers[order])
        else:
            codes[order] = np.searchsorted(thresholds, numbers[order], side="left")
        codes[np.isnan(numbers)] = 0
        return codes

    def knows(self, values: NDArray[Any]) -> bool:
        """Whether each of these numbers has a code."""
        return self.values is not None and bool(np.isin(values, self.values).all())

    def cut(self, code: int) -> ThresholdTest:
        """The test that sends the codes up to ``code`` into branch 0, and larger ones into 1."""
        return self.cut_at(code, float(self.thresholds[code]))

    def cut_at(self, code: int, threshold: float) -> ThresholdTest:
        """As :meth:`cut`, with a threshold that is known."""
        missing = int(self.missing[code])
        return ThresholdTest(self.column, threshold, missing, self.unit, self.lacked)


class Axis(NamedTuple):
    """The scale and the codes of a column of numbers, whether or not the problem cuts it.

    A column in the same order as an earlier one gives no cut of its own, but its own hyperplanes.
    """

    scale: Scale
    codes: NDArray[np.int32]

    @property
    def numbers(self) -> NDArray[np.float64] | None:
        """The number of every row; None where they are not known."""
        return None if self.scale.values is None else self.scale.values[self.codes]


class CutTests(Sequence[NodeTest]):
    """The tests of all cuts of some ordered features, made on demand.

    A test of two branches is a feature of one cut.
    """

    def __init__(self, features: Sequence[Scale | NodeTest]) -> None:
        self.features = tuple(features)
        self.first = (0, *accumulate(feature.arity - 1 for feature in self.features))

    def __repr__(self) -> str:
        return f"CutTests({self.features!r})"

    def __len__(self) -> int:
        return self.first[-1]

    def locate(self, cut: int) -> tuple[int, int]:
        """The feature of a cut, and the largest code in branch 0."""
        feature = bisect_right(self.first, cut) - 1
        return feature, cut - self.first[feature]

    @overload
    def __getitem__(self, cut: int) -> NodeTest: ...
    @overload
    def __getitem__(self, cut: slice) -> Sequence[NodeTest]: ...
    def __getitem__(self, cut: int | slice) -> NodeTest | Sequence[NodeTest]:
        if isinstance(cut, slice):
            return self.tests_of(range(*cut.indices(len(self))))
        if not -len(self) <= cut < len(self):
            raise IndexError(f"there is no cut {cut}; there are {len(self)}")
        return self.tests_of([cut % len(self)])[0]

    def tests_of(self, cuts: Iterable[int]) -> list[NodeTest]:
        """The tests of some cuts, at once."""
        asked = [(self.features[number], code) for number, code in map(self.locate, cuts)]
        scales = [(test, code) for test, code in asked if isinstance(test, Scale)]
        thresholds = iter(thresholds_of([(scale.thresholds, code) for scale, code in scales]))
        return [
            test.cut_at(code, next(thresholds)) if isinstance(test, Scale) else test
            for test, code in asked
        ]
