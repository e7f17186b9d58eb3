"""The checks of the base class before a solver works."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import solver
from solver import InputError, Limits, Problem, Solution, Status, Tree, UnsupportedError
from solver.base import Capabilities, Solver
from solver.monitor import Monitor
from solver.options import Option


class Lazy(Solver):
    """Binary features, two classes, a depth limit; never splits."""

    name = "lazy"
    version = "1"
    summary = "never splits"
    capabilities = Capabilities(
        features=frozenset({"binary"}), max_classes=2, limits=frozenset({"depth"}), proves=False
    )
    options = {
        "mood": Option("calm", "how it feels", ("calm", "hasty")),
        "naps": Option(2, "a whole number from 0", kind=int, minimum=0),
        "dream": Option(None, "a number or none", kind=(float, type(None))),
        "snore": Option(False, "whether", (False, True)),
    }

    def _solve(
        self,
        problem: Problem,
        lam: Fraction,
        limits: Limits,
        initial_tree: Tree | None,
        monitor: Monitor,
        state: Mapping[str, NDArray[Any]] | None,
    ) -> Solution:
        assert not monitor.stop()
        tree = problem.grow(-1)
        loss = Fraction(tree.errors, problem.total_weight)
        status = Status.HEURISTIC
        figures = (loss, None, tree.errors, problem.total_weight)
        return Solution(tree, status, lam, *figures, 0.0, self.name, self.version)


BINARY = Problem.from_codes([[0], [1]], [0, 1])


def test_options_are_filled_in() -> None:
    defaults = {"mood": "calm", "naps": 2, "dream": None, "snore": False}
    assert Lazy().settings == defaults
    assert Lazy(mood="hasty", dream=0.5, snore=True).settings == defaults | {
        "mood": "hasty",
        "dream": 0.5,
        "snore": True,
    }


@pytest.mark.parametrize(
    "options, message",
    [
        ({"speed": 1}, "solver 'lazy' has no option 'speed'; it has: mood, naps, dream, snore"),
        ({"mood": "angry"}, "option mood = 'angry' of solver 'lazy' must be one of calm, hasty"),
        ({"naps": "two"}, "option naps = 'two' of solver 'lazy': a whole number from 0"),
        ({"naps": -1}, "option naps = -1"),
        ({"naps": True}, "option naps = True"),
        ({"dream": "x"}, "option dream = 'x'"),
        ({"snore": 1}, "option snore = 1 of solver 'lazy' must be one of False, True"),
    ],
)
def test_bad_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Lazy(**options)


def test_what_a_solver_cannot_do_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="needs binary features, the encoding gives categ"):
        Lazy().solve(Problem.from_codes([[0], [1], [2]], [0, 1, 1]), Fraction(0))
    with pytest.raises(UnsupportedError, match="can do 2 classes, the target has 3"):
        Lazy().solve(Problem.from_codes([[0], [1], [1]], [0, 1, 2]), Fraction(0))
    with pytest.raises(UnsupportedError, match="cannot honour the limit 'splits'"):
        Lazy().solve(BINARY, Fraction(0), Limits(splits=1))
    # Before the data is known, the number of classes is not held against it.
    Lazy.check_task("binary", None, Limits(depth=1))


def test_a_state_is_refused_by_a_solver_that_cannot_go_on_from_one() -> None:
    with pytest.raises(InputError, match="'lazy' cannot go on from a state"):
        Lazy().solve(BINARY, Fraction(1, 2), state={"done": np.zeros(1)})
    with pytest.raises(InputError, match="cannot go on from a state"):
        solver.solve(BINARY, "0.5", "cart", state={})


def test_a_negative_price_is_refused() -> None:
    with pytest.raises(InputError, match="λ = -1/3 is negative"):
        Lazy().solve(BINARY, Fraction(-1, 3))


def test_solve_without_limits_or_watch() -> None:
    Lazy.warm_up()
    assert Lazy().solve(BINARY, Fraction(1, 2)).errors == 1
