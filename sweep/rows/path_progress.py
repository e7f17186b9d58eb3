"""What an interrupted λ-path had solved, so that it is not solved again."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, NamedTuple

from numpy.typing import NDArray

from solver.errors import InputError, StateError
from solver.lambda_series import Series, Solve
from solver.limits import Limits
from solver.monitor import Monitor
from solver.objective.exact import Errors, objective
from solver.path.path import Path
from solver.path.path_search import PathSearch, find_path
from solver.problem.problem import Problem
from solver.solution import Solution, Status
from solver.trees.tree import Tree
from solver.verify.scorer import score
from sweep.rows.path_columns import as_fraction, as_text


class Solved(NamedTuple):
    """What an earlier attempt has found at one λ; ``is_step``: its tree is the whole path's."""

    lam: Fraction
    lower_bound: Fraction | None
    tree: Tree
    is_step: bool = False

    def recall(self, problem: Problem, solver: str, version: str) -> Solution | None:
        """It as a solution that took no time, if it was proven; else None."""
        found = score(problem, self.tree, self.lam)
        bound = self.lower_bound
        if bound is None or found.objective - bound > problem.tolerance:
            return None
        return Solution(
            tree=self.tree,
            status=Status.OPTIMAL,
            lam=self.lam,
            objective=found.objective,
            lower_bound=min(bound, found.objective),
            errors=found.errors,
            total_weight=problem.total_weight,
            seconds=0.0,
            solver=solver,
            version=version,
            tolerance=problem.tolerance,
        )


def dump_solves(solves: Iterable[Solved]) -> str:
    """As JSON, for a checkpoint."""
    return json.dumps(
        [
            {"lam": str(s.lam), "lower_bound": as_text(s.lower_bound), "tree": s.tree.to_json()}
            | ({"is_step": True} if s.is_step else {})
            for s in solves
        ]
    )


def parse_solves(text: str | None) -> list[Solved]:
    """The reverse; what is damaged is as good as nothing."""
    try:
        return [
            Solved(
                Fraction(s["lam"]),
                as_fraction(s["lower_bound"]),
                Tree.from_json(s["tree"]),
                s.get("is_step") is True,
            )
            for s in json.loads(text or "[]")
        ]
    except (AttributeError, InputError, KeyError, TypeError, ValueError):
        return []


def solves_of(row: Mapping[str, Any]) -> str | None:
    """What the row of a path that was stopped has found, as :func:`dump_solves`."""
    if row["path"] is None:
        return None
    trees = {Fraction(step["lam"]): Tree.from_json(step["tree"]) for step in row["path"]}
    solves = [
        Solved(
            lam := Fraction(point["lam"]),
            as_fraction(point["lower_bound"]),
            trees[max(start for start in trees if start <= lam)],
            is_step=True,
        )
        for point in row["path_points"]
    ]
    solved = {one.lam for one in solves}
    for step, (lam, tree) in zip(row["path"], trees.items(), strict=True):
        if step["proven"] and lam not in solved:
            weight = sum(tree.nodes[0].counts)
            bound = objective(tree.errors, tree.splits, weight, lam)
            solves.append(Solved(lam, bound, tree, is_step=True))
    return dump_solves(solves)


class ResumedSeries(Series):
    """A solver's series of solves that remembers what was solved, by earlier attempts as well.

    Where no solve learns from those before it, a λ that is proven already costs nothing, and
    elsewhere the search starts from the best tree known. Otherwise all is solved again, for what
    the solves to come learn from these may choose the tree.

    Parameters
    ----------
    solve : Solve
        The solver's own, see :meth:`solver.base.Solver.series`.

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
        self._known = dict(self.solves)
        # Now: the clock of the path's own limit does not run yet.
        recalled = {one.lam: one.recall(problem, solver, version) for one in known}
        self._proven = {lam: solution for lam, solution in recalled.items() if solution}
        self._trees = _by_line(problem, known)

    def __call__(
        self,
        lam: Fraction,
        limits: Limits,
        initial_tree: Tree | None = None,
        monitor: Monitor | None = None,
    ) -> Solution:
        """The best tree at a λ, see :class:`solver.lambda_series.Solve`."""
        if self.carries(limits):
            solution = self.solve(lam, limits, initial_tree, monitor)
        elif lam in self._proven:
            return self._proven[lam]
        else:
            solution = self.solve(lam, limits, self._best(lam, initial_tree), monitor)
            known = self._known.get(lam)
            if known is not None and known.lower_bound is not None:
                solution = _raised(solution, known.lower_bound)
        self.solves[lam] = self._with(self.solves.get(lam), solution)
        self.first.setdefault(lam, solution)
        return solution

    def carries(self, limits: Limits) -> bool:
        """See :meth:`solver.lambda_series.Series.carries`."""
        return isinstance(self.solve, Series) and self.solve.carries(limits)

    def state(self) -> dict[str, NDArray[Any]] | None:
        """See :meth:`solver.lambda_series.Series.state`."""
        return self.solve.state() if isinstance(self.solve, Series) else None

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """See :meth:`solver.lambda_series.Series.restore`."""
        if not isinstance(self.solve, Series):
            raise StateError("this solver's path cannot go on from a state")
        self.solve.restore(state)

    def dump(self) -> str:
        """All that is solved by now, see :func:`dump_solves`."""
        return dump_solves(self.solves.values())

    def _with(self, old: Solved | None, found: Solution) -> Solved:
        """What is known at a λ after another solve there."""
        new = Solved(found.lam, found.lower_bound, found.tree)
        if old is None or found.status is Status.OPTIMAL:
            return new
        bounds = [bound for bound in (old.lower_bound, new.lower_bound) if bound is not None]
        tree = _best_at(self.problem, found.lam, found.tree, _by_line(self.problem, [old]))
        return new._replace(lower_bound=max(bounds, default=None), tree=tree or found.tree)

    def _best(self, lam: Fraction, initial_tree: Tree | None) -> Tree | None:
        """The best at a λ of the tree given, which stays at ties, and earlier attempts' trees."""
        return _best_at(self.problem, lam, initial_tree, self._trees)


def recalled_path(
    problem: Problem, lam_min: Fraction, known: Sequence[Solved], solver: str, version: str
) -> Path:
    """The path as far as it follows from what is known, without any search.

    Its status is ``optimal``, or ``stopped`` if more is to be solved. If all that is known is of
    the steps of a path, its trees are those of these steps.
    """
    recall = _Recall(problem, lam_min, known, solver, version)
    path = find_path(problem, lam_min, recall)
    if all(one.is_step for one in known):
        trees = _by_line(problem, known)
        steps = (replace(s, tree=trees.get((s.errors, s.splits), s.tree)) for s in path.steps)
        path = replace(path, steps=tuple(steps))
    return path


def with_known(problem: Problem, path: Path, known: Sequence[Solved]) -> Path:
    """A path that a limit ended or that was stopped, with what else is known; its own effort."""
    recall = _Recall(problem, path.lam_min, known, path.solver, path.version)
    search = PathSearch(problem, path.lam_min, recall, Limits(), Monitor())
    for one in known:
        search.take(one.lam, recall(one.lam, search.limits))
    whole = search.run()
    status = whole.status if whole.status is Status.OPTIMAL else path.status
    return replace(path, steps=whole.steps, points=whole.points, status=status)


class _Recall:
    """Knows what was solved, and solves nothing: what is not known is out of its reach."""

    def __init__(
        self,
        problem: Problem,
        lam_min: Fraction,
        known: Sequence[Solved],
        solver: str,
        version: str,
    ) -> None:
        self.problem, self.lam_min, self.named = problem, lam_min, (solver, version)
        self.known = {one.lam: one for one in known}
        self.trees = _by_line(problem, known)

    def __call__(
        self,
        lam: Fraction,
        limits: Limits,
        initial_tree: Tree | None = None,
        monitor: Monitor | None = None,
    ) -> Solution:
        """What is known at a λ, as if a limit had ended its search if it is not proven."""
        problem, one = self.problem, self.known.get(lam)
        solution = None if one is None else one.recall(problem, *self.named)
        if solution is not None:
            return solution
        if one is None and lam != self.lam_min:
            raise InputError(f"nothing is known at λ = {lam}")
        tree = _best_at(problem, lam, initial_tree, self.trees) or problem.grow(-1)
        found = score(problem, tree, lam)
        bound = Fraction(problem.unavoidable_errors) / problem.total_weight
        if one is not None and one.lower_bound is not None:
            bound = max(bound, one.lower_bound)
        bound = min(bound, found.objective)
        return Solution(
            tree=tree,
            status=_status(found.objective - bound <= problem.tolerance),
            lam=lam,
            objective=found.objective,
            lower_bound=bound,
            errors=found.errors,
            total_weight=problem.total_weight,
            seconds=0.0,
            solver=self.named[0],
            version=self.named[1],
            tolerance=problem.tolerance,
        )


def _status(proven: bool) -> Status:
    """Of what is known and not searched for."""
    return Status.OPTIMAL if proven else Status.NODE_LIMIT


def _by_line(problem: Problem, known: Sequence[Solved]) -> dict[tuple[Errors, int], Tree]:
    """Trees by errors and splits."""
    trees: dict[tuple[Errors, int], Tree] = {}
    for one in known:
        found = score(problem, one.tree, one.lam)
        trees[found.errors, found.splits] = one.tree
    return trees


def _best_at(
    problem: Problem,
    lam: Fraction,
    initial_tree: Tree | None,
    trees: Mapping[tuple[Errors, int], Tree],
) -> Tree | None:
    """The best tree at a λ, of fewest splits; ``initial_tree`` if none is better."""

    def value(at: tuple[Errors, int]) -> tuple[Fraction, int]:
        return objective(at[0], at[1], problem.total_weight, lam), at[1]

    if not trees:
        return initial_tree
    best = min(trees, key=value)
    if initial_tree is not None:
        found = score(problem, initial_tree, lam)
        if value((found.errors, found.splits)) <= value(best):
            return initial_tree
    return trees[best]


def _raised(solution: Solution, bound: Fraction) -> Solution:
    """A solution with a bound that was proven before, if that is better."""
    if solution.lower_bound is None or bound <= solution.lower_bound:
        return solution
    proven = solution.objective - bound <= solution.tolerance
    status = Status.OPTIMAL if proven else solution.status
    return replace(solution, lower_bound=bound, status=status)
