"""Tests of sweep/rows/path_checkpoint.py."""

from __future__ import annotations

import itertools
import json
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import solver
from solver.branches import Branches
from solver.engine import driver
from solver.monitor import Monitor
from solver.path.path import Path
from solver.path.path_search import find_path
from solver.solution import Solution, Status
from sweep.rows.path_checkpoint import (
    ResumedSeries,
    Solved,
    dump_solves,
    parse_solves,
    recalled_path,
    solves_of,
    with_known,
)
from sweep.rows.path_columns import path_columns

LAM = Fraction(1, 200)


@pytest.fixture(scope="module")
def problem() -> solver.Problem:
    """Of a path that takes about a dozen solves."""
    generator = np.random.default_rng(3)
    codes = generator.integers(0, 2, (150, 8))
    noise = codes[:, 4] & (generator.random(150) < 0.7)
    target = (codes[:, 0] ^ codes[:, 1]) & (codes[:, 2] | codes[:, 3]) ^ noise
    return solver.Problem.from_codes(codes, target)


class Counted:
    """A series of solves that counts, and is stopped after some."""

    def __init__(self, problem: solver.Problem, most: int = 10**6) -> None:
        self.own, self.most = Branches().series(problem), most
        self.lams: list[Fraction] = []
        self.starts: list[Any] = []

    def __call__(self, lam: Fraction, *given: Any) -> Solution:
        self.lams.append(lam)
        self.starts.append(given[1])
        return self.own(lam, *given)

    def is_stopped(self) -> bool:
        return len(self.lams) >= self.most


def series(problem: solver.Problem, own: Counted, known: list[Solved]) -> ResumedSeries:
    return ResumedSeries(problem, own, known, "branches", "2")


def test_a_path_goes_on_from_where_it_was_stopped(problem: solver.Problem) -> None:
    whole = Counted(problem)
    expected = find_path(problem, LAM, series(problem, whole, []))
    first = Counted(problem, most=3)
    begun = series(problem, first, [])
    stopped = find_path(problem, LAM, begun, monitor=Monitor(first.is_stopped))
    assert stopped.status is Status.STOPPED
    known = parse_solves(begun.dump())
    assert [one.lam for one in known] == first.lams
    second = Counted(problem)
    found = find_path(problem, LAM, series(problem, second, known))
    proven = {p.lam for p in stopped.points if p.lower_bound == stopped.objective_at(p.lam)}
    assert len(proven) > 1
    assert not proven & set(second.lams)
    assert len(second.lams) < len(whole.lams)
    assert (found.lams, found.splits, found.losses) == (
        expected.lams, expected.splits, expected.losses,
    )  # fmt: skip
    assert found.status is Status.OPTIMAL


def test_a_finished_path_costs_nothing(problem: solver.Problem) -> None:
    begun = series(problem, Counted(problem), [])
    path = find_path(problem, LAM, begun)
    again = Counted(problem)
    found = find_path(problem, LAM, series(problem, again, parse_solves(begun.dump())))
    assert again.lams == []
    assert (found.seconds, found.iterations) == (0, 0)
    assert found.lams == path.lams


def test_a_state_within_a_solve_that_was_proven_since_is_not_for_the_next_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A checkpoint may be newer than the state."""
    monkeypatch.setattr(driver, "_next_budget", lambda *_: 3)
    generator = np.random.default_rng(0)
    codes, target = generator.integers(0, 20, (80, 3)), generator.integers(0, 2, 80)
    problem = solver.Problem.from_codes(codes, target, ordered=True)
    own, limits = solver.get_solver("quantbnb")(), solver.Limits(depth=2, splits=2)
    states = list[Any]()

    def keep(seen: Any) -> None:
        states.append({name: np.array(array) for name, array in seen.state().items()})

    begun = ResumedSeries(problem, own.series(problem), [], "quantbnb", own.version)
    path = find_path(problem, LAM, begun, limits, Monitor(snapshot=keep, interval=0.0))
    state = next(state for state in states if str(state["solving"]))
    known = parse_solves(begun.dump())
    known = [one for one in known if str(one.lam) == str(state["solving"])]
    again = ResumedSeries(problem, own.series(problem), known, "quantbnb", own.version)
    assert find_path(problem, LAM, again, limits, state=state).trees == path.trees


def test_the_row_of_a_stopped_path_says_the_same(problem: solver.Problem) -> None:
    first = Counted(problem, most=3)
    path = find_path(problem, LAM, series(problem, first, []), monitor=Monitor(first.is_stopped))
    text = solves_of(path_columns(path, [{}] * len(path.steps)))
    known = parse_solves(text)
    assert [(one.lam, one.lower_bound) for one in known] == [tuple(p) for p in path.points]
    assert [one.tree for one in known] == [path.step_at(p.lam).tree for p in path.points]
    second = Counted(problem)
    find_path(problem, LAM, series(problem, second, known))
    proven = {p.lam for p in path.points if p.lower_bound == path.objective_at(p.lam)}
    assert len(proven) > 1
    assert not proven & set(second.lams)
    assert solves_of({"path": None}) is None


def test_what_is_not_proven_starts_from_the_best_tree_and_bound(problem: solver.Problem) -> None:
    best = solver.solve(problem, LAM)
    weak = Solved(LAM, best.objective / 2, best.tree)
    own = Counted(problem)
    limits = solver.Limits(nodes=0)
    found = series(problem, own, [weak])(LAM, limits, problem.grow(-1), None)
    assert own.starts == [best.tree]
    assert found.lower_bound is not None
    assert found.lower_bound >= best.objective / 2
    assert found.objective == best.objective
    # A bound that reaches the objective is a proof, whoever gave it.
    other = Solved(LAM, best.objective, problem.grow(-1))
    assert series(problem, own, [other, weak])(LAM, limits).status is not Status.OPTIMAL
    proven = series(problem, own, [weak, other])(LAM, limits, best.tree)
    assert (proven.status, proven.gap) == (Status.OPTIMAL, 0)


@pytest.mark.parametrize(
    "text",
    [None, "", "{", "7", '[{"lam": "1/100"}]', '[{"lam": "x", "lower_bound": "1", "tree": "{}"}]'],
)
def test_what_is_damaged_is_as_good_as_nothing(text: str | None) -> None:
    assert parse_solves(text) == []


def test_solves_come_back_as_they_were(problem: solver.Problem) -> None:
    solves = [
        Solved(LAM, None, problem.grow(-1)),
        Solved(Fraction(1, 3), LAM, problem.grow((0, (-1, -1)))),
    ]
    assert parse_solves(dump_solves(solves)) == solves
    assert json.loads(dump_solves([])) == []


def tied() -> solver.Problem:
    """Of many equally good trees."""
    generator = np.random.default_rng(2)
    return solver.Problem.from_codes(
        generator.integers(0, 2, (80, 8)), generator.integers(0, 2, 80)
    )


def carrying(problem: solver.Problem, known: list[Solved]) -> ResumedSeries:
    return ResumedSeries(problem, Branches().series(problem), known, "branches", "2")


def trees(path: solver.Path) -> list[str]:
    return [tree.to_json() for tree in path.trees]


@pytest.mark.parametrize("asks", [2, 4, 8, 16])
def test_solves_that_learn_from_each_other_are_done_again(asks: int) -> None:
    """Else the path, which learned less, would have other trees, equally good."""
    problem, lam = tied(), Fraction(1, 300)
    whole = find_path(problem, lam, Branches().series(problem))
    begun, left = carrying(problem, []), iter([False] * asks)
    stopped = find_path(problem, lam, begun, monitor=Monitor(lambda: next(left, True)))
    assert stopped.status is Status.STOPPED
    known = parse_solves(begun.dump())
    found = find_path(problem, lam, carrying(problem, known))
    assert trees(found) == trees(whole)
    assert found.iterations == whole.iterations


def test_what_is_known_makes_up_for_what_a_limit_ended() -> None:
    problem, lam = tied(), Fraction(1, 300)
    begun = carrying(problem, [])
    whole = find_path(problem, lam, begun)
    known = parse_solves(begun.dump())
    again = carrying(problem, known)
    short = find_path(problem, lam, again, solver.Limits(nodes=3))
    assert short.status is Status.NODE_LIMIT
    found = with_known(problem, short, [*again.solves.values()])
    assert (found.status, found.lams, found.losses) == (Status.OPTIMAL, whole.lams, whole.losses)
    assert found.iterations == short.iterations
    again = carrying(problem, known[:2])
    short = find_path(problem, lam, again, solver.Limits(nodes=3))
    some = with_known(problem, short, [*again.solves.values()])
    assert some.status is Status.NODE_LIMIT
    for point in (p for path in (short, some) for p in path.points):
        bound = some.lower_bound_at(point.lam)
        assert bound is not None
        assert point.lower_bound is not None
        assert point.lower_bound <= bound <= whole.objective_at(point.lam)


def test_a_whole_path_comes_back_from_its_row() -> None:
    problem, lam = tied(), Fraction(1, 300)
    path = find_path(problem, lam, Branches().series(problem))
    known = parse_solves(solves_of(path_columns(path, [{}] * len(path.steps))))
    found = recalled_path(problem, lam, known, "branches", "2")
    assert found.steps == path.steps
    assert (found.status, found.seconds, found.iterations) == (Status.OPTIMAL, 0, 0)
    part = recalled_path(problem, lam, known[:2], "branches", "2")
    assert part.status is not Status.OPTIMAL
    nothing = recalled_path(problem, lam, [], "branches", "2")
    assert [step.proven for step in nothing.steps] == [False]


@pytest.mark.parametrize("before", [1, 30])
def test_a_stop_as_a_search_ends_does_not_choose_the_tree(
    before: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second attempt, which begins anew, is stopped at every moment."""
    generator = np.random.default_rng(3)
    codes = generator.integers(0, 3, (100, 5))
    target = (codes[:, 0] == codes[:, 1]) ^ (generator.random(100) < 0.15)
    table = np.hstack([codes == value for value in range(3)]).astype(int)
    problem, lam = solver.Problem.from_codes(table, target), Fraction(1, 300)
    monkeypatch.setattr(driver, "_next_budget", lambda done, seconds: 40)

    def attempt(known: list[Solved], moment: float) -> tuple[Path, ResumedSeries]:
        asked = itertools.count(1)
        own = ResumedSeries(problem, Branches().series(problem), known, "branches", "2")
        monitor = Monitor(lambda: next(asked) >= moment, snapshot=lambda seen: None)
        return find_path(problem, lam, own, monitor=monitor), own

    def trees_of(path: Path) -> list[str]:
        return [tree.to_json() for tree in path.trees]

    expected = trees_of(attempt([], math.inf)[0])
    first, _ = attempt([], before)
    known = parse_solves(solves_of(path_columns(first, [{} for _ in first.steps])))
    for moment in itertools.count(1):
        path, own = attempt(known, moment)
        if path.status is Status.OPTIMAL:
            break
        found = with_known(problem, path, [*own.solves.values()])
        assert found.status is Status.STOPPED or trees_of(found) == expected, moment
    assert moment > 30
    assert trees_of(path) == expected
