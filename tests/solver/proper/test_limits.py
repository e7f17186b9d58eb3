""" "Optimal" under limits: the best of exactly the trees within the limits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import solver
from solver import Limits, Problem, Status, UnsupportedError
from solver.estimators import ProperTreeClassifier
from tests import naive
from tests.helpers.random_examples import examples

MODES = ("search", "paper")
STAIRS = pd.DataFrame({"a": [1.5, 2.5, 3.5, 4.5] * 5, "y": ["x", "y", "x", "y"] * 5})
"""Three cuts are needed, and one is worth what two are."""


@pytest.mark.parametrize("mode", MODES)
def test_a_limit_of_splits_is_the_only_one(mode: str) -> None:
    problem = Problem.from_table(STAIRS, "y", "continuous")
    found = solver.solve(problem, "0.01", "proper", Limits(splits=3), mode=mode)
    assert (found.status, found.objective, found.splits) == ("optimal", Fraction(3, 100), 3)
    path = solver.regularization_path(problem, "0.01", "proper", Limits(splits=3), mode=mode)
    assert (path.splits, path.losses) == ((3, 1, 0), (0, Fraction(1, 4), Fraction(1, 2)))
    assert path.status is Status.OPTIMAL
    model = ProperTreeClassifier("0.01", mode=mode, max_splits=3).fit(STAIRS[["a"]], STAIRS["y"])
    assert (model.status_, model.objective_exact_) == ("optimal", Fraction(3, 100))


@pytest.mark.parametrize("mode", MODES)
def test_splits_are_asked_for(mode: str) -> None:
    problem = Problem.from_table(STAIRS, "y", "continuous")
    for limits in (None, Limits(depth=2), Limits(min_leaf_size=2)):
        with pytest.raises(
            UnsupportedError, match=r"the limit 'splits'; write .*Limits\(splits=2\)"
        ):
            solver.solve(problem, "0.01", "proper", limits, mode=mode)
        with pytest.raises(
            UnsupportedError, match=r"the limit 'splits'; write .*Limits\(splits=2\)"
        ):
            solver.regularization_path(problem, "0.01", "proper", limits, mode=mode)


@dataclass(frozen=True)
class Weighed:
    """Rows of short decimals with weights, as a user has them, and what is asked of their tree."""

    rows: tuple[tuple[Decimal, ...], ...]
    target: tuple[int, ...]
    weights: tuple[Decimal, ...]
    splits: int
    depth: int | None
    min_leaf_size: Decimal | None

    @property
    def problem(self) -> Problem:
        """What solvers get."""
        columns = [[float(row[f]) for row in self.rows] for f in range(len(self.rows[0]))]
        frame = pd.DataFrame({f"x{f}": column for f, column in enumerate(columns)})
        weights = list(map(float, self.weights))
        return Problem.from_table(frame.assign(y=self.target), "y", "continuous", weights=weights)

    @property
    def limits(self) -> Limits:
        """What is asked of the tree."""
        smallest = None if self.min_leaf_size is None else Fraction(self.min_leaf_size)
        return Limits(splits=self.splits, depth=self.depth, min_leaf_size=smallest)

    def least_losses(self) -> dict[int, Fraction]:
        """The least share of weight that a tree of so many splits gets wrong, by the oracle."""
        unit = 10**4  # of the weights, which then are whole numbers
        whole = [int(weight * unit) for weight in self.weights]
        cuts = [*self._cuts()]
        least = naive.least_errors(
            [[int(row[f] > at) for f, at in cuts] for row in self.rows],
            [
                [w if y == k else 0 for k in range(3)]
                for y, w in zip(self.target, whole, strict=True)
            ],
            [2] * len(cuts),
            depth=self.depth,
            splits=self.splits,
            min_leaf_size=None if self.min_leaf_size is None else int(self.min_leaf_size * unit),
        )
        return {splits: Fraction(errors, sum(whole)) for splits, errors in least.items()}

    def _cuts(self) -> Iterator[tuple[int, Decimal]]:
        for f in range(len(self.rows[0])):
            yield from ((f, value) for value in sorted({row[f] for row in self.rows})[:-1])


def decimals(texts: Sequence[str]) -> st.SearchStrategy[Decimal]:
    return st.sampled_from([*map(Decimal, texts)])


@st.composite
def weighed(draw: st.DrawFn) -> Weighed:
    n, d = draw(st.integers(2, 7)), draw(st.integers(1, 2))
    number = decimals(["1", "1.2", "1.5", "2.25", "3.5"])
    weight = draw(
        st.sampled_from([decimals(["0.1"]), decimals(["0.5", "1", "2.5", "0.0001", "7.3"])])
    )
    return Weighed(
        tuple(draw(st.lists(st.tuples(*[number] * d), min_size=n, max_size=n))),
        (0, 1, *draw(st.lists(st.integers(0, 2), min_size=n - 2, max_size=n - 2))),
        tuple(draw(st.lists(weight, min_size=n, max_size=n))),
        draw(st.integers(0, 4)),
        draw(st.sampled_from([None, None, 0, 1, 2])),
        draw(st.none() | decimals(["0", "0.1", "0.2", "0.5", "1", "2", "7.3"])),
    )


SIX_ROWS = Weighed(
    rows=tuple(
        (Decimal(b), Decimal(e))
        for b, e in (
            ("2.5", "1.5"), ("1.5", "3.5"), ("1.5", "2.5"), ("4.5", "2.25"), ("4.5", "1"),
            ("1.5", "1.2"),
        )
    ),
    target=(0, 1, 1, 1, 0, 1),
    weights=(Decimal("0.1"),) * 6,
    splits=2,
    depth=None,
    min_leaf_size=None,
)  # fmt: skip
"""Six rows that weigh 0.1 each: no leaf of two splits weighs 1."""


def check(case: Weighed, lam: Fraction, mode: str) -> None:
    """Solve and path are the oracle's, in the user's units."""
    problem, least = case.problem, case.least_losses()
    best, splits = min((loss + lam * splits, splits) for splits, loss in least.items())
    found = solver.solve(problem, lam, "proper", case.limits, mode=mode)
    assert (found.status, found.objective, found.lower_bound) == (Status.OPTIMAL, best, best)
    assert found.splits == splits
    path = solver.regularization_path(problem, lam, "proper", case.limits, mode=mode)
    assert path.status is Status.OPTIMAL
    for at in (*path.lams, lam + Fraction(1, 50), Fraction(1, 7)):
        if at >= lam:
            best = min(loss + at * splits for splits, loss in least.items())
            assert path.solution_at(at).objective == best


@pytest.mark.parametrize("mode", MODES)
def test_a_light_row_may_be_a_leaf(mode: str) -> None:
    check(SIX_ROWS, Fraction(1, 20), mode)
    found = solver.solve(SIX_ROWS.problem, "0.05", "proper", SIX_ROWS.limits, mode=mode)
    assert (found.objective, found.splits) == (Fraction(1, 10), 2)


LAMS = st.sampled_from([Fraction(0), Fraction(1, 1000), Fraction(1, 20), Fraction(3, 10)])


@pytest.mark.parametrize("mode", MODES)
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(case=weighed(), lam=LAMS)
def test_optimal_is_the_oracles_optimum(mode: str, case: Weighed, lam: Fraction) -> None:
    check(case, lam, mode)


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
@settings(max_examples=examples(150), deadline=None, suppress_health_check=list(HealthCheck))
@given(case=weighed(), lam=LAMS)
def test_optimal_is_the_oracles_optimum_on_hundreds(
    mode: str, case: Weighed, lam: Fraction
) -> None:
    check(case, lam, mode)
