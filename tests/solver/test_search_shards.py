"""Merging the solutions of the shards of a solve."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

import solver
from solver.base import Solver
from solver.catalogue import get_solver
from solver.errors import UnsupportedError
from solver.search_shards import FOUND, RULES, Shard, merge
from solver.solution import Solution, Status, TracePoint


@pytest.fixture
def part() -> Solution:
    problem = solver.Problem.from_codes([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 0, 0, 1])
    return replace(solver.solve(problem, "0.05"), extra={FOUND: True, "regions": 3, RULES: 9})


def test_the_first_of_the_best_that_found_it_itself(part: Solution) -> None:
    given = replace(part, extra={FOUND: False, "regions": 1, RULES: 9}, iterations=5)
    worse = replace(part, objective=part.objective + 1, version="worse")
    merged = merge([worse, given, replace(part, version="own", iterations=7), part])
    assert merged.version == "own"
    assert merged.status is Status.OPTIMAL
    assert merged.extra["regions"] == 10
    assert merged.extra[RULES] == 9
    assert merged.extra["shards"] == 4
    assert merged.iterations == worse.iterations + 5 + 7 + part.iterations


def test_the_bound_is_that_of_the_weakest_part(part: Solution) -> None:
    weak = replace(part, lower_bound=Fraction(0), status=Status.TIME_LIMIT)
    merged = merge([part, weak])
    assert merged.lower_bound == 0
    assert merged.status is Status.TIME_LIMIT
    high = replace(part, lower_bound=part.objective + 1, objective=part.objective + 1)
    assert merge([high, part]).status is Status.OPTIMAL
    assert merge([high, part]).lower_bound == part.objective


def test_the_trace_claims_no_more_than_all_parts_prove(part: Solution) -> None:
    """A part of bad trees is soon proven, which says nothing about the others."""
    bad = replace(part, seconds=2.0, trace=(TracePoint(0, 0.5, 0.2), TracePoint(2, 0.4, 0.4)))
    good = replace(part, seconds=1.0, trace=(TracePoint(0, 0.6, 0.1), TracePoint(1, 0.3, 0.3)))
    assert merge([bad, good]).trace == ((0, 0.5, 0.1), (2, 0.4, 0.1), (3, 0.3, 0.3))
    unknown = merge([bad, replace(good, trace=())]).trace
    assert [point.lower_bound for point in unknown] == [None, None]


def test_parts_of_different_solves_are_refused(part: Solution) -> None:
    with pytest.raises(ValueError, match="one solve"):
        merge([part, replace(part, lam=Fraction(1))])
    with pytest.raises(ValueError, match="one solve"):
        merge([])


def test_a_solver_that_cannot_be_divided() -> None:
    cart: Solver = get_solver("cart")()
    with pytest.raises(UnsupportedError, match="in parts"):
        cart.part(Shard(0, 2))
