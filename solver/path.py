"""The exact λ-path: every tree that is optimal for some λ, and where one takes over from another.

The optimal objective is the least of ``loss(T) + λ·splits(T)`` over all trees ``T``: as a function
of λ it is concave, piecewise linear and never falls. So it is known between two prices at which
one line meets what is proven at both, and it nowhere falls below the chords of what is proven.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, NamedTuple

from solver.base import Solve, Watch
from solver.exact import objective
from solver.limits import Limits
from solver.problem import Problem
from solver.solution import Solution, Status
from solver.tree import Tree


class Line(NamedTuple):
    """A tree, as the line that its objective is over λ."""

    errors: int
    splits: int
    tree: Tree


class Point(NamedTuple):
    """What a search proved at one λ: no tree has an objective below the bound."""

    lam: Fraction
    lower_bound: Fraction | None


@dataclass(frozen=True)
class Step:
    """A tree and the λ for which no known tree is better.

    Parameters
    ----------
    start, end : Fraction
        The tree is the best known for ``start ≤ λ ≤ end``; at ``end`` the next step, which has
        fewer splits, is as good. The last step has no end (None).
    errors, splits : int
        Of the tree, on the training rows.
    tree : Tree
    proven : bool
        Whether no tree at all is better anywhere from ``start`` to ``end``.
    """

    start: Fraction
    end: Fraction | None
    errors: int
    splits: int
    tree: Tree
    proven: bool


@dataclass(frozen=True)
class Path:
    """The λ-path of a problem, from ``lam_min`` to infinity.

    Parameters
    ----------
    lam_min : Fraction
    total_weight : int
        Of the training rows: ``loss = errors / total_weight``.
    leaf_errors : int
        Of the tree without a split.
    unavoidable_errors : int
        Of every tree: rows that no feature tells apart.
    steps : tuple of Step
        From the smallest λ on.
    points : tuple of Point
        What was proven, from the smallest λ on.
    status : Status
        ``optimal`` if every step is proven; ``heuristic`` if the solver proves nothing; else what
        ended the search.
    seconds : float
        Search time of all solves, compilation apart.
    solves : int
        How many solves it took.
    """

    lam_min: Fraction
    total_weight: int
    leaf_errors: int
    unavoidable_errors: int
    steps: tuple[Step, ...]
    points: tuple[Point, ...]
    status: Status
    seconds: float
    solves: int
    solver: str
    version: str
    iterations: int = 0
    nodes: int = 0
    peak_bytes: int = 0
    compile_seconds: float = 0.0

    @property
    def lams(self) -> tuple[Fraction, ...]:
        """Where each step begins: ``lam_min``, then the breakpoints."""
        return tuple(step.start for step in self.steps)

    @property
    def losses(self) -> tuple[Fraction, ...]:
        """The training loss of each step's tree."""
        return tuple(Fraction(step.errors, self.total_weight) for step in self.steps)

    @property
    def splits(self) -> tuple[int, ...]:
        """The splits of each step's tree."""
        return tuple(step.splits for step in self.steps)

    @property
    def trees(self) -> tuple[Tree, ...]:
        """The tree of each step."""
        return tuple(step.tree for step in self.steps)

    def step_at(self, lam: Fraction) -> Step:
        """The step whose tree is the best at a λ; that of fewer splits at a breakpoint.

        Raises
        ------
        ValueError
            Below ``lam_min``.
        """
        if lam < self.lam_min:
            raise ValueError(f"the path begins at λ = {self.lam_min}, not at {lam}")
        return next(step for step in reversed(self.steps) if step.start <= lam)

    def objective_at(self, lam: Fraction) -> Fraction:
        """The least objective known at a λ."""
        step = self.step_at(lam)
        return objective(step.errors, step.splits, self.total_weight, lam)

    def lower_bound_at(self, lam: Fraction) -> Fraction | None:
        """What is proven at a λ; None if nothing is."""
        if self.status is Status.HEURISTIC:
            return None
        return Envelope.of(self.points, self._floor, self._leaf_loss).at(lam)

    @property
    def _floor(self) -> Fraction:
        return Fraction(self.unavoidable_errors, self.total_weight)

    @property
    def _leaf_loss(self) -> Fraction:
        return Fraction(self.leaf_errors, self.total_weight)

    def to_dict(self) -> dict[str, Any]:
        """As plain data; numbers that must be exact are also given as fraction strings."""
        return {
            "solver": self.solver,
            "version": self.version,
            "status": self.status.value,
            "lam_min": float(self.lam_min),
            "lam_min_exact": str(self.lam_min),
            "total_weight": self.total_weight,
            "leaf_errors": self.leaf_errors,
            "unavoidable_errors": self.unavoidable_errors,
            "seconds": self.seconds,
            "compile_seconds": self.compile_seconds,
            "solves": self.solves,
            "iterations": self.iterations,
            "nodes": self.nodes,
            "peak_bytes": self.peak_bytes,
            "steps": [
                {
                    "lam": float(step.start),
                    "lam_exact": str(step.start),
                    "lam_end": None if step.end is None else float(step.end),
                    "lam_end_exact": None if step.end is None else str(step.end),
                    "errors": step.errors,
                    "loss": step.errors / self.total_weight,
                    "splits": step.splits,
                    "leaves": step.tree.leaves,
                    "depth": step.tree.depth,
                    "proven": step.proven,
                    "tree": step.tree.to_dict(),
                }
                for step in self.steps
            ],
            "points": [
                {
                    "lam_exact": str(point.lam),
                    "lower_bound_exact": None
                    if point.lower_bound is None
                    else str(point.lower_bound),
                }
                for point in self.points
            ],
        }


class Envelope:
    """The least concave function that the proven points allow: a lower bound at every λ.

    Parameters
    ----------
    corners : sequence of (λ, value)
        From the left, with falling slopes. Beyond the last it stays level.
    """

    def __init__(self, corners: Sequence[tuple[Fraction, Fraction]]) -> None:
        self.corners = corners

    @classmethod
    def of(cls, points: Iterable[Point], floor: Fraction, leaf_loss: Fraction) -> Envelope:
        """Of what was proven, and what is known without a search.

        Parameters
        ----------
        floor : Fraction
            The objective at λ = 0 is at least the loss on rows that nothing tells apart.
        leaf_loss : Fraction
            For λ ≥ the loss of the tree without a split, no split can pay.
        """
        known = {Fraction(0): floor}
        known[leaf_loss] = leaf_loss
        for point in points:
            if point.lower_bound is not None:
                known[point.lam] = max(known.get(point.lam, floor), point.lower_bound)
        corners: list[tuple[Fraction, Fraction]] = []
        for lam, value in sorted(known.items()):
            while len(corners) > 1 and _is_below(corners[-2], corners[-1], (lam, value)):
                corners.pop()
            corners.append((lam, value))
        return cls(corners)

    def at(self, lam: Fraction) -> Fraction:
        """The lower bound at a λ: on a chord, or level beyond the last corner."""
        best = max((value for at, value in self.corners if at <= lam), default=Fraction(0))
        for (a, low), (b, high) in zip(self.corners, self.corners[1:], strict=False):
            if a <= lam <= b:
                best = max(best, low + (high - low) * (lam - a) / (b - a))
        return best


def _is_below(
    a: tuple[Fraction, Fraction], b: tuple[Fraction, Fraction], c: tuple[Fraction, Fraction]
) -> bool:
    """Whether ``b`` lies on or below the chord from ``a`` to ``c``."""
    return (b[1] - a[1]) * (c[0] - a[0]) <= (c[1] - a[1]) * (b[0] - a[0])


def best_lines(
    lines: Iterable[Line], lam_min: Fraction, weight: int
) -> list[tuple[Line, Fraction]]:
    """The lines that are least somewhere from ``lam_min`` on, and from which λ.

    At a λ where two lines meet, that of fewer splits comes first in line; one that is least at a
    single λ only is left out.
    """
    kept: list[tuple[Line, Fraction]] = []
    for line in sorted(lines, key=lambda line: (-line.splits, line.errors)):
        start = lam_min
        while kept:
            last, last_start = kept[-1]
            if last.splits == line.splits:  # and no more errors
                break
            meets = Fraction(line.errors - last.errors, weight * (last.splits - line.splits))
            if meets > last_start:
                start = meets
                break
            kept.pop()
        if not kept or kept[-1][0].splits > line.splits:
            kept.append((line, start if kept else lam_min))
    return kept


class PathSearch:
    """Finds a λ-path: solves at the corners of the known trees' envelope until all are proven.

    A solve at a corner either proves it, and with its neighbours the lines between them, or finds
    a tree below it, which makes new corners. That is the dichotomic scheme of Eisner and Severance
    (1976), but every tree that turns up on the way takes part.

    Parameters
    ----------
    problem : Problem
    lam_min : Fraction
    solve : Solve
    limits : Limits
        Seconds are those of the whole path; nodes and bytes hold for each solve.
    watch : Watch
    """

    def __init__(
        self, problem: Problem, lam_min: Fraction, solve: Solve, limits: Limits, watch: Watch
    ) -> None:
        self.problem, self.lam_min, self.solve = problem, lam_min, solve
        self.limits, self.watch = limits, watch
        self.weight = problem.total_weight
        self.leaf_loss = Fraction(problem.leaf_errors, self.weight)
        self.floor = Fraction(problem.unavoidable_errors, self.weight)
        leaf = problem.grow(-1)
        self.lines = {(leaf.errors, 0): Line(leaf.errors, 0, leaf)}
        self.points: dict[Fraction, Fraction | None] = {}
        self.ended: dict[Fraction, Status] = {}
        self.solutions: list[Solution] = []
        self.proves = True
        self.began = time.perf_counter()

    def run(self) -> Path:
        """Solve until the path is proven or a limit is met."""
        while (lam := self._next()) is not None:
            seconds = self._share()
            if seconds == 0 or self.watch.stop():
                break
            solution = self.solve(
                lam, replace(self.limits, seconds=seconds), self._line_at(lam).tree, self.watch
            )
            self._take(lam, solution)
        return self._path()

    def _take(self, lam: Fraction, solution: Solution) -> None:
        self.solutions.append(solution)
        self.proves &= solution.status is not Status.HEURISTIC
        self.ended[lam] = solution.status
        bound, old = solution.lower_bound, self.points.get(lam)
        self.points[lam] = bound if bound is None or old is None else max(bound, old)
        self.lines.setdefault(
            (solution.errors, solution.splits),
            Line(solution.errors, solution.splits, solution.tree),
        )

    def _corners(self) -> list[Fraction]:
        return [start for _, start in best_lines(self.lines.values(), self.lam_min, self.weight)]

    def _line_at(self, lam: Fraction) -> Line:
        kept = best_lines(self.lines.values(), self.lam_min, self.weight)
        return next(line for line, start in reversed(kept) if start <= lam)

    def _bounds(self) -> Envelope:
        points = (Point(lam, bound) for lam, bound in self.points.items())
        return Envelope.of(points, self.floor, self.leaf_loss)

    def _gap(self, bounds: Envelope, lam: Fraction) -> Fraction:
        line = self._line_at(lam)
        return objective(line.errors, line.splits, self.weight, lam) - bounds.at(lam)

    def _next(self) -> Fraction | None:
        """The corner to solve at: the first of all ``lam_min``, then that of largest gap."""
        if self.lam_min not in self.points:
            return self.lam_min
        if not self.proves:
            open_ = [lam for lam in self._corners() if lam not in self.points]
            return open_[0] if open_ else None
        bounds = self._bounds()
        gaps = [(self._gap(bounds, lam), lam) for lam in self._corners()]
        # One that a limit of nodes or bytes has ended would end there again.
        gaps = [(gap, lam) for gap, lam in gaps if gap > 0 and self._may_go_on(lam)]
        return max(gaps, default=(Fraction(0), None))[1]

    def _may_go_on(self, lam: Fraction) -> bool:
        return self.ended.get(lam) in (None, Status.OPTIMAL, Status.TIME_LIMIT)

    def _share(self) -> float | None:
        """Seconds of the next solve: half of what is left, so that others get theirs."""
        if self.limits.seconds is None:
            return None
        left = self.limits.seconds - (time.perf_counter() - self.began) + self._compiled()
        if left <= 0 and self.solutions:
            return 0.0
        return max(left, 0.0) if left < 0.1 else left / 2

    def _compiled(self) -> float:
        return sum(solution.compile_seconds for solution in self.solutions)

    def _path(self) -> Path:
        kept = best_lines(self.lines.values(), self.lam_min, self.weight)
        ends: list[Fraction | None] = [start for _, start in kept[1:]]
        ends.append(None)
        bounds = self._bounds()
        proven = {start: self.proves and self._gap(bounds, start) == 0 for _, start in kept}
        proven[self.lam_min] &= self.lam_min in self.points
        steps = tuple(
            Step(start, end, line.errors, line.splits, line.tree,
                 proven[start] and (end is None or proven[end]))
            for (line, start), end in zip(kept, ends, strict=True)
        )  # fmt: skip
        last = self.solutions[-1]
        return Path(
            lam_min=self.lam_min,
            total_weight=self.weight,
            leaf_errors=self.problem.leaf_errors,
            unavoidable_errors=self.problem.unavoidable_errors,
            steps=steps,
            points=tuple(Point(lam, self.points[lam]) for lam in sorted(self.points)),
            status=self._status(all(step.proven for step in steps)),
            seconds=sum(solution.seconds for solution in self.solutions),
            solves=len(self.solutions),
            solver=last.solver,
            version=last.version,
            iterations=sum(solution.iterations for solution in self.solutions),
            nodes=max(solution.nodes for solution in self.solutions),
            peak_bytes=max(solution.peak_bytes for solution in self.solutions),
            compile_seconds=self._compiled(),
        )

    def _status(self, proven: bool) -> Status:
        if proven:
            return Status.OPTIMAL
        if not self.proves:
            return Status.HEURISTIC
        if self.watch.stop():
            return Status.STOPPED
        limits = [status for status in self.ended.values() if status is not Status.OPTIMAL]
        return limits[-1] if limits else Status.TIME_LIMIT


def find_path(
    problem: Problem,
    lam_min: Fraction,
    solve: Solve,
    limits: Limits | None = None,
    watch: Watch | None = None,
) -> Path:
    """The λ-path of a problem, by any solver's series of solves.

    Parameters
    ----------
    problem : Problem
    lam_min : Fraction
        Where the path begins.
    solve : callable
        See :meth:`solver.base.Solver.series`.
    limits : Limits, optional
        Seconds are those of the whole path; nodes and bytes hold for each solve. Limits on the
        tree make it the path of the trees within them.
    watch : Watch, optional

    Returns
    -------
    Path
        After any limit it holds the best trees so far and a lower bound at every λ.
    """
    return PathSearch(problem, lam_min, solve, limits or Limits(), watch or Watch()).run()
