"""All ways to part a few points, and the best tree of them: the plainest version that is exact.

Nothing here is shared with the solvers. Points are tuples of ints or Fractions, a set of rows is
the bits of a Python int, and every subset is asked whether it can be parted from the rest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cache
from itertools import combinations, combinations_with_replacement
from math import gcd, lcm, prod
from typing import NamedTuple

Number = int | Fraction
Point = Sequence[Number]

FAMILIES = ("axis", "hyperplane", "polynomial", "mixed")


class Best(NamedTuple):
    """The least ``errors + price·splits``, and at ties the fewest splits."""

    cost: Number
    splits: int
    errors: Number


def best_cost(
    coordinates: Sequence[Point],
    counts: Sequence[Sequence[int]],
    price: Number,
    splits: int,
    depth: int | None = None,
    min_leaf: int = 1,
    family: str = "hyperplane",
    degree: int = 2,
    values: Sequence[Number] | None = None,
) -> Best:
    """The optimum over all trees of at most so many splits, each a dichotomy of what reaches it.

    Parameters
    ----------
    coordinates : rows × dimensions
        Rows may lie at one place; then they never part.
    counts : rows × classes
        Weight of each class.
    price : int or Fraction
        Of a split, in errors: λ times the total weight.
    splits, depth : int
        Limits; depth None for none.
    min_leaf : int
        Least weight of a leaf, but for that of the tree without a split.
    family, degree
        As in :func:`dichotomies`.
    values : numbers, optional
        Targets of regression, whose errors are squared; ``counts`` then has one column.
    """
    ways = dichotomies(coordinates, family, degree)
    everything = (1 << len(coordinates)) - 1
    # In a common unit all targets are whole.
    fine = lcm(*(Fraction(value).denominator for value in values or ()))
    whole = [int(Fraction(value) * fine) for value in values or ()]

    @cache
    def weight(rows: int) -> int:
        return sum(sum(counts[row]) for row in _bits(rows))

    @cache
    def errors(rows: int) -> Number:
        if values is not None:
            first = sum(counts[row][0] * whole[row] for row in _bits(rows))
            second = sum(counts[row][0] * whole[row] ** 2 for row in _bits(rows))
            return Fraction(second * weight(rows) - first**2, weight(rows) * fine**2)
        classes = [
            sum(column) for column in zip(*(counts[row] for row in _bits(rows)), strict=True)
        ]
        return sum(classes) - max(classes)

    # In a common unit of a split and an error costs of classes are whole.
    unit = Fraction(price).denominator
    split = int(Fraction(price) * unit)

    @cache
    def best(rows: int, most: int, levels: int) -> tuple[Number, int, Number]:
        found = (errors(rows) * unit, 0, errors(rows))
        if most == 0 or levels == 0:
            return found
        for left in {way & rows for way in ways}:
            right = rows & ~left
            if not left or not right or min(weight(left), weight(right)) < min_leaf:
                continue
            for share in range(most):
                cost, used, wrong = best(left, share, levels - 1)
                more, also, too = best(right, most - 1 - share, levels - 1)
                found = min(found, (cost + more + split, used + also + 1, wrong + too))
        return found

    cost, used, wrong = best(everything, splits, splits if depth is None else depth)
    return Best(Fraction(cost) / unit, used, wrong)


def dichotomies(coordinates: Sequence[Point], family: str, degree: int = 2) -> frozenset[int]:
    """Every partition of the points in two parts that a rule makes with no point on it.

    Those of some of the points are what is left of these: a rule that parts them can be moved off
    all others, being open conditions.

    Parameters
    ----------
    coordinates : rows × dimensions
    family : str
        ``axis``: two neighbouring values of one column are parted. ``hyperplane``: strict linear
        separability. ``polynomial``: the same of the points' terms up to ``degree``. ``mixed``:
        any of the three.

    Returns
    -------
    frozenset of int
        For each the bits of the rows on the side that row 0 is not on; never empty.
    """
    if family == "axis":
        return frozenset(_axis(coordinates))
    if family == "hyperplane":
        return frozenset(_separable(coordinates))
    if family == "polynomial":
        return frozenset(_separable([lift(point, degree) for point in coordinates]))
    if family == "mixed":
        return frozenset().union(*(dichotomies(coordinates, one, degree) for one in FAMILIES[:3]))
    raise ValueError(family)


def lift(point: Point, degree: int) -> tuple[Number, ...]:
    """All products of at least one and at most ``degree`` coordinates (the Veronese embedding)."""
    return tuple(
        prod(chosen)
        for total in range(1, degree + 1)
        for chosen in combinations_with_replacement(point, total)
    )


def _axis(coordinates: Sequence[Point]) -> Iterator[int]:
    for column in zip(*coordinates, strict=True):
        for cut in set(column) - {min(column)}:
            above = sum(1 << row for row, value in enumerate(column) if value >= cut)
            yield above if not above & 1 else (1 << len(column)) - 1 - above


def _separable(points: Sequence[Point]) -> Iterator[int]:
    """The sides without row 0 that some hyperplane strictly separates from the rest.

    Gordan's alternative: either some (t, w) has t + w·p > 0 for all p of one side and < 0 for all
    of the other, or some positive combination of vectors (1, p) of the one side equals one of the
    other. Of such equations one of minimal support exists (Carathéodory), which is a circuit.
    """
    signs = list(circuits(points))
    for side in range(2, 1 << len(points), 2):
        rest = (1 << len(points)) - 1 - side
        if not any(
            (plus & side == plus and minus & rest == minus)
            or (plus & rest == plus and minus & side == minus)
            for plus, minus in signs
        ):
            yield side


def circuits(points: Sequence[Point]) -> Iterator[tuple[int, int]]:
    """The minimal sets of points that are affinely dependent, as the bits of the two parts of the
    set whose hulls meet in a point (its Radon partition)."""
    dimensions = len(points[0])
    # In a common unit all numbers are whole, which changes no dependence.
    unit = lcm(*(Fraction(number).denominator for point in points for number in point))
    vectors = [[unit, *(int(Fraction(number) * unit) for number in point)] for point in points]
    for size in range(2, dimensions + 3):
        for chosen in combinations(range(len(points)), size):
            solutions = _kernel([vectors[row] for row in chosen])
            # One equation, in which every point takes part: no smaller set is dependent.
            if len(solutions) == 1 and all(solutions[0]):
                factors = list(zip(chosen, solutions[0], strict=True))
                yield (
                    sum(1 << row for row, factor in factors if factor > 0),
                    sum(1 << row for row, factor in factors if factor < 0),
                )


def _kernel(vectors: list[list[int]]) -> list[list[int]]:
    """A basis of all x with Σ xᵢ·vectorᵢ = 0, by Gaussian elimination of the rows of vectors.

    Rows are multiplied so that all numbers stay whole: with fractions it takes twenty times longer.
    """
    n = len(vectors)
    # Each vector carries what combination of the given ones it is.
    rows = [[*vector, *(int(i == j) for j in range(n))] for i, vector in enumerate(vectors)]
    done = 0
    for column in range(len(vectors[0])):
        pivot = next((i for i in range(done, n) if rows[i][column]), None)
        if pivot is None:
            continue
        rows[done], rows[pivot] = rows[pivot], rows[done]
        by = rows[done][column]
        for i in range(done + 1, n):
            if factor := rows[i][column]:
                row = [by * a - factor * b for a, b in zip(rows[i], rows[done], strict=True)]
                common = gcd(*row)
                rows[i] = [number // common for number in row]
        done += 1
    return [row[-n:] for row in rows[done:]]


def _bits(rows: int) -> Iterator[int]:
    return (row for row in range(rows.bit_length()) if rows >> row & 1)
