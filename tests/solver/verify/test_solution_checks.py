"""No door believes a solver: Python, the λ-path, estimators' base and the command line."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pandas as pd
import pytest

import solver
from solver.errors import ClaimError
from solver.limits import Limits
from solver.path.path_search import find_path
from solver.problem.problem import Problem
from solver.solution import Solution, Status
from solver.verify.solution_checks import smallest_leaf
from tests.helpers.commands import run
from tests.helpers.toy_solver import Exhaustive

FRAME = pd.DataFrame({"a": [*"xyxy"] * 3, "b": [*"ppqq"] * 3, "y": ["0", "1", "1", "0"] * 3})

LIES: dict[str, tuple[dict[str, Any], str]] = {
    "objective": ({"objective": Fraction(0), "lower_bound": Fraction(0), "errors": 0}, "objective"),
    "bound": ({"lower_bound": Fraction(3, 2)}, "lower bound 3/2, which is above"),
    "status": ({"status": Status.TIME_LIMIT}, "solver 'liar' claims status time_limit"),
    "weight": ({"total_weight": 10**6}, "total_weight 1000000; the problem has 12"),
    "tolerance": ({"tolerance": Fraction(1, 3)}, "tolerance 1/3"),
    "lam": ({"lam": Fraction(1, 2)}, "lam 1/2; the problem has 1/100"),
}


def liar(lie: dict[str, Any]) -> type[Exhaustive]:
    class Liar(Exhaustive):
        name = "liar"

        def _solve(self, *given: Any) -> Solution:
            return replace(super()._solve(*given), **lie)

    return Liar


class Deep(Exhaustive):
    name = "deep"

    def _solve(self, problem: Problem, lam: Fraction, limits: Limits, *more: Any) -> Solution:
        return super()._solve(problem, lam, replace(limits, depth=None), *more)


@pytest.fixture
def problem() -> Problem:
    return Problem.from_table(FRAME, "y", "onehot")


@pytest.mark.parametrize("lie", LIES)
def test_a_lie_is_an_error(problem: Problem, lie: str) -> None:
    changed, words = LIES[lie]
    with pytest.raises(ClaimError, match=words):
        liar(changed)().solve(problem, Fraction(1, 100))
    if lie != "lam":
        with pytest.raises(ClaimError, match=words.split(";")[0]):
            find_path(problem, Fraction(1, 100), liar(changed)().series(problem), Limits())


def test_a_limit_is_kept(problem: Problem) -> None:
    assert Deep().solve(problem, Fraction(1, 100)).depth == 2
    with pytest.raises(ClaimError, match="solver 'deep' gives a tree of depth 2, the limit is 1"):
        Deep().solve(problem, Fraction(1, 100), Limits(depth=1))


class Careless(Exhaustive):
    """It splits even where that leaves a side without rows."""

    name = "careless"

    def _solve(self, problem: Problem, lam: Fraction, limits: Limits, *more: Any) -> Solution:
        tree = problem.grow((0, ((0, (-1, -1)), -1)))
        found = super()._solve(problem, lam, replace(limits, min_leaf_size=None), *more)
        value = Fraction(tree.errors, problem.total_weight) + lam * tree.splits
        own = {"tree": tree, "errors": tree.errors, "objective": value, "lower_bound": None}
        return replace(found, **own, status=Status.HEURISTIC)


def test_a_leaf_without_rows_is_too_small_unless_the_split_has_more_branches() -> None:
    two = Problem.from_codes([[0], [0], [1]], [0, 1, 1])
    assert Careless().solve(two, Fraction(0)).splits == 2
    with pytest.raises(ClaimError, match="solver 'careless' gives a leaf of 0, the least is 1"):
        Careless().solve(two, Fraction(0), Limits(min_leaf_size=1))
    three = Problem.from_codes([[0, 0], [0, 1], [1, 2]], [0, 1, 1])
    tree = three.grow((1, (-1, -1, -1)))
    assert smallest_leaf(tree) == 1
    below = three.grow((0, (-1, (1, (-1, -1, -1)))))  # two of its three branches have no rows
    assert smallest_leaf(below) == 1
    assert smallest_leaf(three.grow(-1)) is None


def test_a_solution_names_its_own_solver(problem: Problem) -> None:
    found = liar({"solver": "someone", "version": "9"})().solve(problem, Fraction(1, 100))
    assert (found.solver, found.version) == ("liar", Exhaustive.version)


def test_the_command_says_it_in_a_line(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    lies = liar({"objective": Fraction(0), "lower_bound": Fraction(0), "errors": 0})
    monkeypatch.setitem(solver.SOLVERS, "liar", lies)
    FRAME.to_csv(tmp_path / "t.csv", index=False)
    told = run("solve", tmp_path / "t.csv", "--target", "y", "--lam", "0.01", "--solver", "liar")
    assert told.exit_code == 1
    assert not told.stdout
    assert told.stderr.splitlines()[-1].startswith(
        "treesweep: error: solver 'liar' claims objective 0 with 0 errors"
    )


@pytest.mark.parametrize(
    ("declared", "words"),
    [
        ({"name": 5}, "name = 5 must be letters"),
        ({"name": ""}, "name = '' must be"),
        ({"name": "a/b\n"}, "must be letters"),
        ({"name": "ok1", "version": None}, "version = None must be text"),
        ({"name": "ok2", "capabilities": 3}, "capabilities = 3 must be"),
        ({"name": "ok3", "options": {"x": 1}}, "option 'x' must be"),
    ],
)
def test_what_a_solver_declares_is_checked(declared: dict[str, Any], words: str) -> None:
    with pytest.raises(solver.InputError, match=words):
        solver.register(type("Wrong", (Exhaustive,), declared))


@pytest.mark.parametrize("name", ["branches", "osdt", "quantbnb", "proper"])
def test_a_limit_within_the_tolerance_of_rounded_weights_is_no_lie(name: str) -> None:
    frame = pd.DataFrame({
        "a": [2.5, 0, 2.5, 2.5, 2, 2.5, 1, 4.5, 1, 2],
        "b": [0.5, 0.5, 1, 2, 3, 4, 2, 2, 3, 2.5],
        "y": [*"1000111221"],
    })  # fmt: skip
    weights = [1e-9, 1e9, 1e-9, 1, 1e9, 1e9, 1e-9, 1, 1, 1e-9]
    encoding = "continuous" if name in ("quantbnb", "proper") else "thresholds"
    problem = Problem.from_table(frame, "y", encoding, weights=weights)
    for nodes in range(12):
        found = solver.solve(problem, 0, name, Limits(depth=2, splits=3, nodes=nodes))
        assert found.objective - found.lower_bound >= 0
