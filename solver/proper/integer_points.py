"""The rows of a problem as points with whole coordinates.

A number stands for its shortest decimal, so rows that lie on a line on paper lie on a line. Each
column is multiplied until its decimals are whole; no point changes its side of any hyperplane or
surface.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations_with_replacement

import numpy as np
from numpy.typing import NDArray

from solver.errors import InputError
from solver.features.ranks_and_cuts import CutTests
from solver.problem.problem import Problem


@dataclass(frozen=True, eq=False)
class Points:
    """The D columns of numbers of a problem, exactly.

    ``coordinates`` are Python ints of shape (rows, D) in the order of the problem's rows. Rows that
    differ only in other columns are one point several times.
    """

    columns: tuple[str, ...]
    coordinates: NDArray[np.object_]

    @classmethod
    def of(cls, problem: Problem) -> Points:
        """The points of a problem; InputError if a column has no numbers, or lacks some."""
        known = {axis.scale.column: axis.numbers for axis in problem.axes}
        features = problem.tests.features if isinstance(problem.tests, CutTests) else problem.tests
        for column in dict.fromkeys([*(feature.column for feature in features), *known]):
            if known.get(column) is None:
                lacks = "lacks the number in some rows" if column in known else "holds no numbers"
                remedy = "drop the column, fill it in, or use rules axis"
                read = problem.columns.get(column)
                if column not in known and read is not None and read.kind != "category":
                    lacks = f"is cut by the encoding {problem.encoding!r}"
                    remedy = "use the encoding continuous, or rules axis"
                raise InputError(
                    f"column {column!r} {lacks}, so there is no hyperplane or surface through its "
                    f"points; {remedy}"
                )
        coordinates = np.empty((len(problem.codes), len(known)), dtype=object)
        for place, column in enumerate(known):
            coordinates[:, place] = _whole(problem.numbers(column))
        return cls(tuple(known), coordinates)

    def powers(self, degree: int) -> tuple[tuple[int, ...], ...]:
        """The terms of a polynomial of a degree, G = C(D + degree, D) − 1 of them: for each the
        power of every column. The columns themselves come first."""
        terms = []
        for total in range(1, degree + 1):
            for chosen in combinations_with_replacement(range(len(self.columns)), total):
                terms.append(tuple(chosen.count(i) for i in range(len(self.columns))))
        return tuple(terms)

    def lifted(self, degree: int) -> NDArray[np.object_]:
        """Each point's terms, an array of ints of shape (rows, G).

        A surface of the degree is a hyperplane of these (the Veronese embedding).
        """
        powers = self.powers(degree)
        result = np.ones((len(self.coordinates), len(powers)), dtype=object)
        for term, exponents in enumerate(powers):
            for column, exponent in enumerate(exponents):
                result[:, term] *= self.coordinates[:, column] ** exponent
        return result


def _whole(numbers: NDArray[np.float64]) -> list[int]:
    """The numbers times the least power that makes their shortest decimals whole."""
    distinct, places = np.unique(numbers, return_inverse=True)
    exact = [Fraction(repr(number)) for number in distinct.tolist()]
    scale = math.lcm(*(number.denominator for number in exact))
    whole = [int(number * scale) for number in exact]
    return [whole[place] for place in places.tolist()]
