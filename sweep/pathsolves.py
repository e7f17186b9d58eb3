"""What an interrupted λ-path had solved, so that it is not solved again."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, NamedTuple

from solver.base import Solve, Watch
from solver.errors import InputError
from solver.exact import objective
from solver.limits import Limits
from solver.problem import Problem
from solver.scorer import score
from solver.solution import Solution, Status
from solver.tree import Tree
from sweep.paths import as_fraction, as_text


class Solved(NamedTuple):
    """What an earlier attempt has found at one λ."""

    lam: Fraction
    lower_bound: Fraction | None
    tree: Tree

    def recall(self, problem: Problem, solver: str, version: str) -> Solution | None:
        """It as a solution that took no time, if it was proven; else None."""
        found = score(problem, self.tree, self.lam)
        if found.objective != self.lower_bound:
            return None
        return Solution(
            tree=self.tree,
            status=Status.OPTIMAL,
            lam=self.lam,
            objective=found.objective,
            lower_bound=found.objective,
            errors=found.errors,
            total_weight=problem.total_weight,
            seconds=0.0,
            solver=solver,
            version=version,
        )


def dump_solves(solves: Iterable[Solved]) -> str:
    """As JSON, for a checkpoint."""
    return json.dumps(
        [
            {"lam": str(s.lam), "lower_bound": as_text(s.lower_bound), "tree": s.tree.to_json()}
            for s in solves
        ]
    )


def parse_solves(text: str | None) -> list[Solved]:
    """The reverse; what is damaged is as good as nothing."""
    try:
        return [
            Solved(Fraction(s["lam"]), as_fraction(s["lower_bound"]), Tree.from_json(s["tree"]))
            for s in json.loads(text or "[]")
        ]
    except (InputError, KeyError, TypeError, ValueError):
        return []


def solves_of(row: Mapping[str, Any]) -> str | None:
    """What the row of a path that was stopped has found, as :func:`dump_solves`."""
    if row["path"] is None:
        return None
    steps = [(Fraction(step["lam"]), step["tree"]) for step in row["path"]]
    return dump_solves(
        Solved(
            lam := Fraction(point["lam"]),
            as_fraction(point["lower_bound"]),
            Tree.from_json(next(tree for start, tree in reversed(steps) if start <= lam)),
        )
        for point in row["path_points"]
    )


class ResumedSeries:
    """A solver's series of solves that begins where an earlier attempt has been.

    A λ that is proven already costs nothing; elsewhere the search starts from the best tree known,
    and its bound is never below what was proven before.

    Parameters
    ----------
    problem : Problem
    solve : Solve
        The solver's own, see :meth:`solver.base.Solver.series`.
    known : sequence of Solved
    solver, version : str

    Attributes
    ----------
    solves : dict
        What is solved by now, earlier attempts' included, by λ.
    first : dict
        The first solution of this attempt at each λ.
    """

    def __init__(
        self, problem: Problem, solve: Solve, known: Sequence[Solved], solver: str, version: str
    ) -> None:
        self.problem, self.solve = problem, solve
        self.solves = {one.lam: one for one in known}
        self.first: dict[Fraction, Solution] = {}
        # Now: the clock of the path's own limit does not run yet.
        recalled = {one.lam: one.recall(problem, solver, version) for one in known}
        self._proven = {lam: solution for lam, solution in recalled.items() if solution}
        self._trees: dict[tuple[int, int], Tree] = {}
        for one in known:
            found = score(problem, one.tree, one.lam)
            self._trees[found.errors, found.splits] = one.tree

    def __call__(
        self, lam: Fraction, limits: Limits, start: Tree | None = None, watch: Watch | None = None
    ) -> Solution:
        """The best tree at a λ, see :class:`solver.base.Solve`."""
        if lam in self._proven:
            return self._proven[lam]
        known = self.solves.get(lam)
        solution = self.solve(lam, limits, self._best(lam, start), watch)
        if known is not None and known.lower_bound is not None:
            solution = _raised(solution, known.lower_bound)
        self.solves[lam] = Solved(lam, solution.lower_bound, solution.tree)
        self.first.setdefault(lam, solution)
        return solution

    def dump(self) -> str:
        """All that is solved by now, see :func:`dump_solves`."""
        return dump_solves(self.solves.values())

    def _best(self, lam: Fraction, start: Tree | None) -> Tree | None:
        """The best at a λ of the tree given and those of the earlier attempt."""
        weight, trees = self.problem.total_weight, dict(self._trees)
        if not trees:
            return start
        if start is not None:
            found = score(self.problem, start, lam)
            trees.setdefault((found.errors, found.splits), start)
        return trees[min(trees, key=lambda at: (objective(at[0], at[1], weight, lam), at[1]))]


def _raised(solution: Solution, bound: Fraction) -> Solution:
    """A solution with a bound that was proven before, if that is better."""
    if solution.lower_bound is None or bound <= solution.lower_bound:
        return solution
    status = Status.OPTIMAL if bound == solution.objective else solution.status
    return replace(solution, lower_bound=bound, status=status)
