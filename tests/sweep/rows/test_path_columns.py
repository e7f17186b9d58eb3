"""Tests of sweep/rows/path_columns.py."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import solver
from solver.path.envelope import Point
from solver.path.path import Path
from solver.solution import Status
from sweep.rows.path_columns import check_steps, path_columns, path_disagreement, stored_claims

LAM = Fraction(1, 100)
EARLY = Point(Fraction(0), Fraction(0))


@pytest.fixture(scope="module")
def problem() -> solver.Problem:
    generator = np.random.default_rng(3)
    codes = generator.integers(0, 2, (60, 5))
    target = (codes[:, 0] & codes[:, 1]) | (codes[:, 2] & (generator.random(60) < 0.8))
    return solver.Problem.from_codes(codes, target)


@pytest.fixture(scope="module")
def path(problem: solver.Problem) -> Path:
    found = solver.regularization_path(problem, LAM)
    assert found.status is Status.OPTIMAL
    assert len(found.steps) > 2
    return found


def step(number: int, **changes: Any) -> Callable[[Path], Path]:
    def change(path: Path) -> Path:
        steps = list(path.steps)
        steps[number] = replace(steps[number], **changes)
        return replace(path, steps=tuple(steps))

    return change


def bound(number: int, add: Fraction | None) -> Callable[[Path], Path]:
    def change(path: Path) -> Path:
        points = list(path.points)
        old = points[number]
        assert old.lower_bound is not None
        points[number] = Point(old.lam, None if add is None else old.lower_bound + add)
        return replace(path, points=tuple(points))

    return change


def drop(number: int) -> Callable[[Path], Path]:
    return lambda path: replace(path, steps=path.steps[:number] + path.steps[number:][1:])


def test_an_honest_path_is_accepted(problem: solver.Problem, path: Path) -> None:
    assert path_disagreement(problem, path, LAM) is None


@pytest.mark.parametrize("limits", [solver.Limits(nodes=3), solver.Limits(seconds=0)])
def test_a_path_that_a_limit_ended_is_accepted(
    problem: solver.Problem, limits: solver.Limits
) -> None:
    assert (
        path_disagreement(problem, solver.regularization_path(problem, LAM, limits=limits), LAM)
        is None
    )


def test_a_path_that_proves_nothing_is_accepted(problem: solver.Problem) -> None:
    assert path_disagreement(problem, solver.regularization_path(problem, LAM, "cart"), LAM) is None


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda path: replace(path, lam_min=Fraction(1, 50)), "begins at λ = 1/50, not at 1/100"),
        (step(0, errors=0), "claims 0 errors"),
        (step(1, splits=0), "with 0 splits"),
        (step(0, end=Fraction(1, 9)), "ends at 1/9 and the next begins at"),
        (step(1, start=Fraction(1, 99)), "their objectives are equal at"),
        (step(-1, end=Fraction(2)), "does not end with the tree without a split"),
        (drop(-1), "does not end with the tree without a split"),
        (drop(1), "their objectives are equal at"),
        (step(0, proven=False), "is called not proven"),
        (bound(0, Fraction(1, 10)), "is above the objective"),
        (bound(0, Fraction(-1, 10)), "is called proven"),
        (bound(0, None), "bounds and none"),
        (lambda path: replace(path, status=Status.TIME_LIMIT), "the status is time_limit"),
        (lambda path: replace(path, status=Status.HEURISTIC), "of status heuristic have bounds"),
        (lambda path: replace(path, points=(EARLY, *path.points)), "before the path begins"),
        (lambda path: replace(path, steps=()), "does not end"),
    ],
)  # fmt: skip
def test_each_false_claim_is_told(
    problem: solver.Problem, path: Path, change: Callable[[Path], Path], message: str
) -> None:
    complaint = path_disagreement(problem, change(path), LAM)
    assert complaint is not None
    assert message in complaint


def test_steps_that_are_nowhere_the_best_are_told(path: Path) -> None:
    """A line above the envelope, however its ends are called."""
    first, *_, last = path.steps
    between = replace(
        first, splits=first.splits - 1, errors=last.errors, start=first.start, end=last.start
    )
    steps, weight = [first, between, last], path.total_weight
    found = check_steps(steps, (), weight, 0, Status.TIME_LIMIT, Fraction(0))
    assert any("nowhere the best" in text or "are equal at" in text for text in found)


def test_the_columns_say_what_the_path_says(problem: solver.Problem, path: Path) -> None:
    columns = path_columns(path, [{"test_errors": i} for i in range(len(path.steps))])
    claims, points = stored_claims(columns | {"task": "classification"})
    assert tuple(points) == path.points
    assert [tuple(claim) for claim in claims] == [
        (s.start, s.end, s.errors, s.splits, s.proven) for s in path.steps
    ]
    for stored, known in zip(columns["path"], path.steps, strict=True):
        assert solver.Tree.from_json(stored["tree"]) == known.tree
        assert (stored["leaves"], stored["depth"]) == (known.tree.leaves, known.tree.depth)
    assert [stored["test_errors"] for stored in columns["path"]] == list(range(len(path.steps)))
