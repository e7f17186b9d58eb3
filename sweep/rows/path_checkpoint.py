"""The solved λ of an interrupted λ-path, so that they are not solved again."""

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
from solver.objective.exact_objective import Errors, objective
from solver.path.path import Path
from solver.path.path_search import PathSearch, find_path, unproven
from solver.path.path_state import Entry
from solver.problem.problem import Problem
from solver.solution import Solution, Status
from solver.trees.tree import Tree
from solver.verify.scorer import score
from sweep.rows.path_columns import as_fraction, as_text


class Solved(NamedTuple):
    """The tree and bound of an earlier attempt at one λ; ``is_step``: the tree is a path's step."""

    lam: Fraction
    lower_bound: Fraction | None
    tree: Tree
    is_step: bool = False

    def recall(self, problem: Problem, solver: str, version: str) -> Solution | None:
        """The proven solution, which took no time; None without a proof."""
        if self.lower_bound is None:
            return None
        found = _solution(problem, self.tree, self.lam, self.lower_bound, solver, version)
        return found if found.status is Status.OPTIMAL else None


def dump_solves(solves: Iterable[Solved]) -> str:
    """Solved λ as JSON, for a checkpoint."""
    return json.dumps(
        [
            {"lam": str(s.lam), "lower_bound": as_text(s.lower_bound), "tree": s.tree.to_json()}
            | ({"is_step": True} if s.is_step else {})
            for s in solves
        ]
    )


def parse_solves(text: str | None) -> list[Solved]:
    """The inverse of :func:`dump_solves`; empty for damaged text."""
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
    """The solved λ of a stopped path's row, as :func:`dump_solves`."""
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
    """A solver's series of solves that uses those of earlier attempts.

    If the solver's solves are independent, a proven λ costs nothing, and other searches start from
    the best known tree. If they learn from each other, all λ are solved again: what they learn may
    decide ties between trees.

    Parameters
    ----------
    solve : Solve
        From :meth:`solver.base.Solver.series`.

    Attributes
    ----------
    solves : dict
        All solved λ, also those of earlier attempts.
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
        # Recalled now, before the clock of the path's time limit starts.
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
        if self.carries(limits):
            solution = self.solve(lam, limits, initial_tree, monitor)
        elif lam in self._proven:
            self._forget_state()
            return self._proven[lam]
        else:
            solution = self.solve(lam, limits, self._best(lam, initial_tree), monitor)
            known = self._known.get(lam)
            if known is not None and known.lower_bound is not None:
                solution = _raised(solution, known.lower_bound)
        is_stopped = monitor is not None and monitor.stop()
        kept = unproven(self.problem, solution) if is_stopped else solution
        self.solves[lam] = self._with(self.solves.get(lam), kept)
        self.first.setdefault(lam, solution)
        return solution

    @property
    def proves(self) -> bool:
        return not isinstance(self.solve, Series) or self.solve.proves

    def carries(self, limits: Limits) -> bool:
        return isinstance(self.solve, Series) and self.solve.carries(limits)

    def descends(self, limits: Limits) -> bool:
        return isinstance(self.solve, Series) and self.solve.descends(limits)

    def state(self) -> dict[str, NDArray[Any]] | None:
        return self.solve.state() if isinstance(self.solve, Series) else None

    def _forget_state(self) -> None:
        """Forget the state within a solve that was proven after it: the next one is another."""
        if isinstance(self.solve, Series):
            self.solve.restore({})

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        if not isinstance(self.solve, Series):
            raise StateError("this solver's path cannot go on from a state")
        self.solve.restore(state)

    def dump(self) -> str:
        """All solved λ, see :func:`dump_solves`."""
        return dump_solves(self.solves.values())

    def _with(self, old: Solved | None, found: Solution) -> Solved:
        """The better of the old and the new tree and bound at a λ; at ties the old tree, which may
        have been proven."""
        new = Solved(found.lam, found.lower_bound, found.tree)
        if old is None or found.status is Status.OPTIMAL:
            return new
        bounds = [bound for bound in (old.lower_bound, new.lower_bound) if bound is not None]
        tree = _best_at(self.problem, found.lam, old.tree, _by_line(self.problem, [new]))
        return new._replace(lower_bound=max(bounds, default=None), tree=tree or found.tree)

    def _best(self, lam: Fraction, initial_tree: Tree | None) -> Tree | None:
        """The best tree at a λ; at ties ``initial_tree``, not one of an earlier attempt."""
        return _best_at(self.problem, lam, initial_tree, self._trees)


def recalled_path(
    problem: Problem, lam_min: Fraction, known: Sequence[Solved], solver: str, version: str
) -> Path:
    """The path that follows from known solves, without a search.

    Its status is ``optimal``, or ``stopped`` if more λ must be solved. If all solves are steps of a
    path, it keeps their trees.
    """
    recall = _Recall(problem, lam_min, known, solver, version, Status.STOPPED)
    path = find_path(problem, lam_min, recall)
    if all(one.is_step for one in known):
        trees = _by_line(problem, known)
        steps = (replace(s, tree=trees.get((s.errors, s.splits), s.tree)) for s in path.steps)
        path = replace(path, steps=tuple(steps))
    return path


def with_known(problem: Problem, path: Path, known: Sequence[Solved]) -> Path:
    """An unfinished path improved by known solves. Its effort stays its own."""
    recall = _Recall(problem, path.lam_min, known, path.solver, path.version, path.status)
    search = PathSearch(problem, path.lam_min, recall, Limits(), Monitor())
    for one in known:
        search.take(Entry(one.lam, recall(one.lam, search.limits)))
    whole = search.run()
    status = whole.status if whole.status is Status.OPTIMAL else path.status
    return replace(path, steps=whole.steps, points=whole.points, status=status)


class _Recall:
    """A solver that only recalls known solves, and stops at an unknown λ.

    ``ended`` is the status of a solve without a proof. What stopped searches have proven proves no
    other λ, as a path that goes on may find other trees.
    """

    def __init__(
        self,
        problem: Problem,
        lam_min: Fraction,
        known: Sequence[Solved],
        solver: str,
        version: str,
        ended: Status,
    ) -> None:
        self.problem, self.lam_min, self.named = problem, lam_min, (solver, version)
        self.ended = ended
        self.known = {one.lam: one for one in known}
        self.trees = _by_line(problem, known)

    def __call__(
        self,
        lam: Fraction,
        limits: Limits,
        initial_tree: Tree | None = None,
        monitor: Monitor | None = None,
    ) -> Solution:
        """The known solution at a λ; without a proof, as if its search had ``ended`` so."""
        problem, one = self.problem, self.known.get(lam)
        solution = None if one is None else one.recall(problem, *self.named)
        if solution is not None:
            return solution
        if one is None and lam != self.lam_min:
            raise InputError(f"nothing is known at λ = {lam}")
        tree = _best_at(problem, lam, initial_tree, self.trees) or problem.grow(-1)
        bound = Fraction(problem.unavoidable_errors) / problem.total_weight
        if one is not None and one.lower_bound is not None:
            bound = max(bound, one.lower_bound)
        found = _solution(problem, tree, lam, bound, *self.named)
        return found if found.status is Status.OPTIMAL else replace(found, status=self.ended)


def _solution(
    problem: Problem, tree: Tree, lam: Fraction, bound: Fraction, solver: str, version: str
) -> Solution:
    """A known tree and lower bound as a solution that took no time."""
    found = score(problem, tree, lam)
    bound = min(bound, found.objective)
    proven = found.objective - bound <= problem.tolerance
    return Solution(
        tree=tree,
        status=Status.OPTIMAL if proven else Status.NODE_LIMIT,
        lam=lam,
        objective=found.objective,
        lower_bound=bound,
        errors=found.errors,
        total_weight=problem.total_weight,
        seconds=0.0,
        solver=solver,
        version=version,
        tolerance=problem.tolerance,
    )


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
    """The best tree at a λ, with fewest splits; ``initial_tree`` if no other is better."""

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
    """A solution with an earlier lower bound, if that is higher."""
    if solution.lower_bound is None or bound <= solution.lower_bound:
        return solution
    proven = solution.objective - bound <= solution.tolerance
    status = Status.OPTIMAL if proven else solution.status
    return replace(solution, lower_bound=bound, status=status)
