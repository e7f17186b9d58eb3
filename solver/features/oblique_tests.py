"""Tests on several numbers: on which side of a hyperplane or a surface a row lies.

One sum of floats decides the side: in the order of the terms, rounded after each multiplication and
addition. IEEE 754 fixes every bit of it, so a row takes the same branch on any machine.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from solver.features.category_values import CONDITION, FEATURE, show_column
from solver.features.number_format import in_full

_DIGITS, _POWERS = "0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"
_SIGNS = (*CONDITION, *FEATURE, *"·+−", *_POWERS)
"""Characters of sums; a name with one of them is quoted."""


@dataclass(frozen=True)
class SurfaceTest:
    """Whether a polynomial of some columns exceeds a threshold: ``≤`` is branch 0, ``>`` branch 1.

    Parameters
    ----------
    columns : tuple of str
        Names of the raw columns, each once.
    weights : tuple of float
        One a term.
    threshold : float
    powers : tuple of tuples of int
        For each term the power of every column. Each term of a hyperplane is one column.
    missing : int
        Branch of a row that lacks one of the numbers.
    """

    columns: tuple[str, ...]
    weights: tuple[float, ...]
    threshold: float
    powers: tuple[tuple[int, ...], ...]
    missing: int = 0
    kind: ClassVar[str] = ""

    @property
    def arity(self) -> int:
        """Number of branches."""
        return 2

    @property
    def column(self) -> str:
        """The columns together, as a person names them."""
        return ", ".join(self.columns)

    @property
    def name(self) -> str:
        """Name of the encoded feature."""
        return f"{self._sum()}>{in_full(self.threshold)}"

    def sums(self, *values: NDArray[Any]) -> NDArray[np.float64]:
        """The sum that is compared with the threshold, for every row, from the columns' numbers."""
        numbers = [np.asarray(column, dtype=np.float64) for column in values]
        with np.errstate(all="ignore"):
            total = np.zeros(len(numbers[0]))
            for weight, powers in zip(self.weights, self.powers, strict=True):
                term = np.full(len(total), weight)
                for column, power in zip(numbers, powers, strict=True):
                    for _ in range(power):
                        term = term * column
                total = total + term
        return total

    def branches(self, *values: NDArray[Any]) -> NDArray[np.int32]:
        """The branch of every row, from the numbers of each column."""
        numbers = [np.asarray(column, dtype=np.float64) for column in values]
        result = (self.sums(*numbers) > self.threshold).astype(np.int32)
        result[np.any([np.isnan(column) for column in numbers], axis=0)] = self.missing
        return result

    def describe(self, branch: int) -> str:
        """The condition of a branch in words, e.g. ``0.5·length − 2·width > 3``."""
        return f"{self._sum()} {'>' if branch else '≤'} {in_full(self.threshold)}"

    @property
    def terms(self) -> tuple[str, ...]:
        """The terms of the sum in words, with all digits, e.g. ``0.5·length``, ``− 2·width²``."""
        words: list[str] = []
        for weight, powers in zip(self.weights, self.powers, strict=True):
            sign = ("−" if weight < 0 else "") if not words else ("− " if weight < 0 else "+ ")
            factors = [_factor(c, p) for c, p in zip(self.columns, powers, strict=True) if p]
            size = [] if abs(weight) == 1 and factors else [in_full(abs(weight))]
            words.append(sign + "·".join(size + factors))
        return tuple(words) or ("0",)

    def _sum(self) -> str:
        return " ".join(self.terms)

    def to_dict(self) -> dict[str, Any]:
        """As plain data for JSON."""
        return {
            "kind": self.kind,
            "columns": list(self.columns),
            "weights": list(self.weights),
            "threshold": self.threshold,
            "powers": [list(term) for term in self.powers],
            "missing": self.missing,
        }

    @classmethod
    def parse(cls, data: dict[str, Any]) -> SurfaceTest:
        """Read a test from plain data; ValueError if its parts do not fit together."""
        columns, weights = tuple(data["columns"]), tuple(map(float, data["weights"]))
        powers = tuple(tuple(map(int, term)) for term in data["powers"])
        if (
            not columns
            or len(set(columns)) < len(columns)
            or len(weights) != len(powers)
            or any(len(term) != len(columns) or min(term) < 0 for term in powers)
            or not np.all(np.isfinite([*weights, data["threshold"]]))
            or data["missing"] not in (0, 1)
        ):
            raise ValueError(f"a test of kind {cls.kind!r} does not fit together")
        return cls(columns, weights, float(data["threshold"]), powers, int(data["missing"]))


class HyperplaneTest(SurfaceTest):
    """A :class:`SurfaceTest` whose terms are the columns themselves."""

    kind: ClassVar[str] = "hyperplane"

    @classmethod
    def of(
        cls, columns: Sequence[str], weights: Sequence[float], threshold: float, missing: int = 0
    ) -> HyperplaneTest:
        """The test of ``Σ weightᵢ·columnᵢ > threshold``."""
        n = len(columns)
        powers = tuple(tuple(int(i == j) for j in range(n)) for i in range(n))
        return cls(tuple(columns), tuple(map(float, weights)), float(threshold), powers, missing)


class PolynomialTest(SurfaceTest):
    """A :class:`SurfaceTest` whose terms are products of powers of the columns."""

    kind: ClassVar[str] = "polynomial"


def _factor(column: str, power: int) -> str:
    name = show_column(column, _SIGNS)
    with contextlib.suppress(ValueError):
        float(name)  # It would be read as a weight.
        name = repr(name)
    return name if power == 1 else name + str(power).translate(str.maketrans(_DIGITS, _POWERS))
