"""Small problems of points for hypothesis, and the naive optimum of them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from hypothesis import strategies as st

from solver import Problem
from tests.naive_geometry import Best, best_cost


@dataclass(frozen=True)
class Case:
    """Rows with small whole numbers, and what is asked of a solver."""

    points: tuple[tuple[int, ...], ...]
    target: tuple[int, ...]
    weights: tuple[int, ...]
    lam: Fraction
    splits: int
    depth: int | None
    min_leaf: int
    family: str

    @property
    def problem(self) -> Problem:
        """What solvers get; they see the same points, less what is constant."""
        return Problem.from_codes(
            self.points, self.target, weights=self.weights, classes=range(3), ordered=True
        )

    @cached_property
    def optimum(self) -> Best:
        """By the naive recursion; the cost in errors, a split λ·W."""
        weighted = zip(self.target, self.weights, strict=True)
        counts = [[w if label == y else 0 for label in range(3)] for y, w in weighted]
        return best_cost(
            self.points,
            counts,
            self.lam * sum(self.weights),
            self.splits,
            self.depth,
            self.min_leaf,
            self.family,
        )

    @property
    def objective(self) -> Fraction:
        """The least objective."""
        return Fraction(self.optimum.cost) / sum(self.weights)


@st.composite
def cases(draw: Any, rows: int = 6, splits: int = 3, families: tuple[str, ...] = ()) -> Case:
    """Grids, lines, places with several rows, contradictions; few or many classes."""
    family = draw(st.sampled_from(families or ("axis", "hyperplane", "polynomial", "mixed")))
    curved = family in ("polynomial", "mixed")
    dimensions = draw(st.integers(1, 2 if curved else 3))
    widest = draw(st.sampled_from([1, 2, 5, 30]))
    point = st.tuples(*[st.integers(0, widest)] * dimensions)
    most = rows - 1 if curved and dimensions > 1 else rows
    points = tuple(draw(st.lists(point, min_size=1, max_size=most)))
    n = len(points)
    return Case(
        points,
        tuple(draw(st.lists(st.integers(0, 2), min_size=n, max_size=n))),
        tuple(draw(st.lists(st.sampled_from([1, 1, 1, 2, 7]), min_size=n, max_size=n))),
        draw(st.sampled_from([Fraction(0), Fraction(1, 1000), Fraction(1, 20), Fraction(1, 4)])),
        draw(st.integers(0, min(splits, 2) if curved else splits)),
        draw(st.sampled_from([None, None, 1, 2])),
        draw(st.sampled_from([1, 1, 1, 2, 3])),
        family,
    )


XOR = Case(
    ((0, 0), (3, 3), (0, 3), (3, 0), (1, 1)), (0, 0, 1, 1, 0), (1,) * 5, Fraction(0), 3, None, 1,
    "axis",
)  # fmt: skip
"""Two classes on opposite corners of a square, and a point within."""
