"""The rows of a problem as points with whole coordinates.

A number stands for its shortest decimal, so rows that lie on a line on paper lie on a line. Each
column is multiplied until its decimals are whole; no point changes its side of any hyperplane or
surface.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations_with_replacement, groupby
from operator import attrgetter

import numpy as np
from numpy.typing import NDArray

from solver.encodings import ENCODINGS, Encoder
from solver.encodings.category_tests import indicators
from solver.errors import UnsupportedError
from solver.features.columns import ColumnSpec
from solver.features.ranks_and_cuts import CutTests, Scale
from solver.problem.problem import Problem

_CONTINUOUS = "use the encoding continuous, or rules axis"


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
        """The points of a problem; UnsupportedError if a column has no numbers, or lacks some."""
        known = {axis.scale.column: axis.numbers for axis in problem.axes}
        features = problem.tests.features if isinstance(problem.tests, CutTests) else problem.tests
        for column in dict.fromkeys([*(feature.column for feature in features), *known]):
            if known.get(column) is None:
                read = problem.columns.get(column)
                raise _refusal(column, read, problem.encoding, is_scale=column in known)
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


def check_points(encoder: Encoder) -> None:
    """Refuse an encoding whose rows are no points, before they are encoded.

    Raises UnsupportedError as :meth:`Points.of` does for the problem of all rows.
    """
    has_all = ENCODINGS[encoder.name].fit_categories is indicators
    for column, group in groupby(encoder.tests, key=attrgetter("column")):
        first, *more = group
        read, is_scale = encoder.columns[column], isinstance(first, Scale)
        # A column of categories has a test for every value, unless the encoding drops one.
        has_one = first.arity == 1 if is_scale else read.kind == "category" and has_all
        is_known = isinstance(first, Scale) and first.values is not None
        if not is_known and (more or not has_one):
            raise _refusal(column, read, encoder.name, is_scale=is_scale)


def _refusal(
    column: str, read: ColumnSpec | None, encoding: str, *, is_scale: bool
) -> UnsupportedError:
    """Why the rows of a problem are no points. ``is_scale``: the order of the numbers is known."""
    known = ENCODINGS.get(encoding)
    is_number = read is not None and read.kind != "category"
    remedy = "drop the column, fill it in, or use rules axis"
    if is_scale or (is_number and known is not None and known.keeps_numbers):
        lacks = "lacks the number in some rows"
    elif is_number:
        lacks, remedy = f"is cut by the encoding {encoding!r}", _CONTINUOUS
    elif read and read.values == "number" and known is not None and not known.takes_numbers:
        lacks, remedy = f"is read as a category by the encoding {encoding!r}", _CONTINUOUS
    else:
        lacks = "holds no numbers"
    return UnsupportedError(
        f"column {column!r} {lacks}, so there is no hyperplane or surface through its points; "
        f"{remedy}"
    )


def _whole(numbers: NDArray[np.float64]) -> list[int]:
    """The numbers times the least power that makes their shortest decimals whole."""
    distinct, places = np.unique(numbers, return_inverse=True)
    exact = [Fraction(repr(number)) for number in distinct.tolist()]
    scale = math.lcm(*(number.denominator for number in exact))
    whole = [int(number * scale) for number in exact]
    return [whole[place] for place in places.tolist()]
