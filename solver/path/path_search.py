"""The search for an exact λ-path, by a series of solves.

The optimal objective is the least of ``loss(T) + λ·splits(T)`` over all trees ``T``. As a function
of λ it is concave, piecewise linear and never falls. So it is known between two λ if one line meets
the proven values at both, and it is never below the chords of proven values.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solver.errors import InputError, StateError
from solver.lambda_series import Series, Solve
from solver.limits import Limits
from solver.monitor import Monitor, Snapshot
from solver.objective.exact_objective import neighbours, objective
from solver.path.envelope import (
    Between,
    Envelope,
    Line,
    Point,
    Ratio,
    Sides,
    best_lines_from,
    is_above,
    place_after,
    whole,
)
from solver.path.few_splits import fewest_errors, most_counted
from solver.path.path import Path, Step
from solver.path.path_state import Entry, PathLog, read_log
from solver.problem.problem import Problem
from solver.solution import Solution, Status
from solver.trees.cost_complexity_pruning import Pruned, prunings

# Costs of any weight that a search can take fit into 64 bits at λ of this many digits, or fewer.
_DENOMINATORS = (10**6, 10**5, 10**4, 10**3)

# A descent from larger λ to λ_min. Of factors from 2 to 6 this one spared most iterations.
_FACTOR = 3
_TOP = 8  # it begins below this share of the λ from which on no split pays
_BOTTOM = 8  # and leaves out λ below this share of one row's weight in the total

# The arrays of a path's state; those of the series have this before their names.
_SOLVES, _LAM, _FROM, _SERIES = "solves", "solving", "from", "series."


class PathSearch:
    """Finds a λ-path: solves at the corners of the known trees' envelope until all are proven.

    A solve at a corner either proves it, and with its neighbours the lines between them, or finds
    a tree below it, which makes new corners. That is the dichotomic scheme of Eisner and Severance
    (1976), but with every tree that any solve finds. A corner needs no solve where proofs at other
    λ leave no whole numbers of errors and splits to a better tree. Parameters as
    :func:`find_path`.

    The first solve is at λ_min. If the solver's series says so, others come before it, at
    some larger λ, the largest first. There a search takes little time; the next one learns from it,
    and those at the corners find bounds of λ on both sides. Without them the search at λ_min
    learned from none, and those at the corners from one that is far away. Where they prove which
    tree is best at λ_min, such as one without avoidable errors, it is not solved at all.

    Notes
    -----
    From λ = 0 the path begins with the best tree just right of 0: that of fewest splits among those
    of least errors. At 0 itself all these are equally good, and the search there returns any of
    them; the proof at the first corner right of 0 finds the right one.
    """

    def __init__(
        self,
        problem: Problem,
        lam_min: Fraction,
        solve: Solve,
        limits: Limits,
        monitor: Monitor,
        state: Mapping[str, NDArray[Any]] | None = None,
    ) -> None:
        self.problem, self.lam_min, self.solve = problem, lam_min, solve
        self.first = lam_min.as_integer_ratio()
        self.limits, self.monitor = limits, monitor
        self.weight = problem.total_weight
        leaf = problem.grow(-1)
        # The lines of the envelope and where each begins; no other line can come back.
        self.kept: list[tuple[Line | Pruned, Ratio]] = best_lines_from(
            [Line(leaf.errors, 0, leaf)], self.first, self.weight
        )
        floor = Fraction(problem.unavoidable_errors) / self.weight - problem.rounding
        leaf_loss = Fraction(problem.leaf_errors) / self.weight - problem.rounding
        self.bounds = Envelope.of((), floor, leaf_loss)
        self.points: dict[Ratio, Fraction | None] = {}
        self.ended: dict[Ratio, Status] = {}
        self.closed: set[Ratio] = set()
        # The gap at each open corner, and the corners of the bounds that it follows from.
        self.gaps: dict[Ratio, tuple[Sides, Line | Pruned, Ratio]] = {}
        self.unreachable: set[Ratio] = set()
        self.descent = self._descent(leaf_loss - floor)
        self.solutions: list[Solution] = []
        self.proves = not isinstance(solve, Series) or solve.proves
        self.log = PathLog()
        # The λ within which a state was taken; it is solved to its end first.
        self.begun: Fraction | None = None
        # Whether a solve was stopped: its last snapshot is then older than its solution.
        self.halted = False
        self.began = self.told = time.perf_counter()
        if state is not None:
            self._restore(state)

    def run(self) -> Path:
        """Solve until the path is proven or a limit is met."""
        while (lam := self._following()) is not None:
            seconds = self._share(lam)
            # However small the limits, one solve gives bounds and names the solver.
            if self.solutions and (seconds == 0 or self._stopped()):
                break
            self._tell(lam)
            self.begun = None
            try:
                solution = self._solve(lam, seconds)
                self._take(lam, unproven(self.problem, solution) if self.halted else solution)
            except StateError:
                raise
            except InputError:
                if lam == self.lam_min:
                    raise
                self._take(lam, None)
        path = self.path()
        if not path.status.is_whole and not self._was_stopped():
            self._tell(self.lam_min, at_last=True)
        return path

    def _following(self) -> Fraction | None:
        """The λ to solve at."""
        if self.begun is not None:
            return self.begun
        following = self._next()
        return None if following is None else Fraction(*following)

    def _solve(self, lam: Fraction, seconds: float | None) -> Solution:
        limits, monitor = self.limits, self.monitor
        if seconds is not None:
            limits = replace(limits, seconds=seconds)
        tell = monitor.snapshot
        if tell is not None:

            def tell_with_lam(snapshot: Snapshot) -> None:
                self.told = time.perf_counter()
                self.halted = self.monitor.stop()
                seen = replace(
                    snapshot,
                    lam=lam,
                    seconds=self._elapsed(),
                    iterations=snapshot.iterations + self._iterations(),
                    nodes=max(snapshot.nodes, self._nodes()),
                    state=self._within(lam, snapshot.state),
                )
                tell(seen)

            monitor = replace(monitor, snapshot=tell_with_lam)
        return self.solve(lam, limits, self._line_at(lam).tree, monitor)

    def _tell(self, lam: Fraction, at_last: bool = False) -> None:
        """A snapshot between two solves, where many short ones would give none; and at the end."""
        # Before the first solve of a resumed path there is nothing new.
        if self.monitor.snapshot is None or self.begun is not None:
            return
        now = time.perf_counter()
        if now - self.told < self.monitor.interval and not at_last:
            return
        self.told, line = now, self._line_at(lam)
        reached = objective(line.errors, line.splits, self.weight, lam)
        bound = min(self.bounds.at(lam), reached)
        figures = self._elapsed(), self._iterations(), self._nodes()
        self.monitor.snapshot(
            Snapshot(line.tree, reached, bound, *figures, state=self._between(), lam=lam)
        )

    def _iterations(self) -> int:
        return sum(solution.iterations for solution in self.solutions)

    def _nodes(self) -> int:
        return max((solution.nodes for solution in self.solutions), default=0)

    def _between(self) -> Callable[[], dict[str, NDArray[Any]]] | None:
        """Gives the state between two solves, if the solver has one."""
        series = self.solve
        if not isinstance(series, Series) or series.state() is None:
            return None
        return lambda: self._state(series.state() or {}, None)

    def _within(
        self, lam: Fraction, series: Callable[[], dict[str, NDArray[Any]]] | None
    ) -> Callable[[], dict[str, NDArray[Any]]] | None:
        """Gives the state within a solve; of a solver that gives none, before it."""
        return self._between() if series is None else lambda: self._state(series(), lam)

    def _state(
        self, series: Mapping[str, NDArray[Any]], lam: Fraction | None
    ) -> dict[str, NDArray[Any]]:
        """The path's state: all solves so far, and the series' state within the next λ."""
        return {
            _SOLVES: self.log.to_array(),
            _LAM: np.array("" if lam is None else str(lam)),
            _FROM: np.array(str(self.lam_min)),
            **{f"{_SERIES}{name}": array for name, array in series.items()},
        }

    def _restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Take all earlier solves again, in order, and restore the series."""
        if not isinstance(self.solve, Series):
            raise StateError("this solver's path cannot go on from a state")
        try:
            entries = read_log(state[_SOLVES], self.problem)
            solving, begins = str(state[_LAM]), Fraction(str(state[_FROM]))
            self.begun = Fraction(solving) if solving else None
        except (InputError, KeyError, TypeError, ValueError):
            raise StateError("the state of a path is damaged, or that of another search") from None
        if begins != self.lam_min:
            raise StateError("the state is that of a path from another λ")
        ended = (one.solution is None or one.solution.status.is_whole for one in entries)
        if not (self.proves or all(ended)):  # the rest of such a solve would change the path
            raise StateError("a limit or a stop has cut a solve of this heuristic's path")
        own = {name: array for name, array in state.items() if name.startswith(_SERIES)}
        self.solve.restore({name.removeprefix(_SERIES): array for name, array in own.items()})
        for entry in entries:
            self._next()  # it also notes which corners are proven
            self.take(entry)
        self._next()
        # A solve that a limit had ended is open again if that limit has changed.
        last = {entry.lam.as_integer_ratio(): entry for entry in entries}
        for lam, status in list(self.ended.items()):
            changed = {
                Status.NODE_LIMIT: last[lam].nodes != self.limits.nodes,
                Status.MEMORY_LIMIT: last[lam].bytes != self.limits.bytes,
                Status.TIME_LIMIT: self.limits.seconds is None,
            }
            if changed.get(status):
                del self.ended[lam]

    def _take(self, lam: Fraction, solution: Solution | None) -> None:
        self.take(Entry(lam, solution, self.limits.nodes, self.limits.bytes))

    def take(self, entry: Entry) -> None:
        """Learn from a solve."""
        self.log.add(entry)
        lam, solution = entry.lam.as_integer_ratio(), entry.solution
        if solution is None:
            # The breakpoint has too many digits for 64-bit costs; its neighbours have not.
            self.unreachable.add(lam)
            return
        self.solutions.append(solution)
        self.proves &= solution.status is not Status.HEURISTIC
        self.ended[lam] = solution.status
        bound, old = solution.lower_bound, self.points.get(lam)
        self.points[lam] = bound if bound is None or old is None else max(bound, old)
        if bound is not None:
            self.bounds.add_ratio(lam, bound.as_integer_ratio())
        line = Line(solution.errors, solution.splits, solution.tree)
        if any(line[:2] == known[:2] for known, _ in self.kept):
            return  # of equal lines the first stays
        # Often a pruning of a new tree is the next optimal tree, which then needs a proof only.
        lines: list[Line | Pruned] = [*(known for known, _ in self.kept), line]
        lines += prunings(line.tree)
        self.kept = best_lines_from(lines, self.first, self.weight)

    def _line(self, place: int) -> Line:
        """A line of the envelope, with its tree: pruned trees are made once they are asked for."""
        line, start = self.kept[place]
        if isinstance(line, Pruned):
            line = Line(line.errors, line.splits, line.tree())
            self.kept[place] = line, start
        return line

    def _place(self, lam: Ratio) -> int:
        """The place of the best line at a λ."""
        return place_after([start for _, start in self.kept], lam) - 1

    def _line_at(self, lam: Fraction) -> Line:
        return self._line(self._place(lam.as_integer_ratio()))

    def _open(self) -> list[tuple[Ratio, Ratio]]:
        """The corners that are not proven, and their gaps."""
        gaps = []
        for line, lam in self.kept:
            # A proven corner stays proven while it is a corner.
            if lam in self.closed:
                continue
            sides, known = self.bounds.sides(lam), self.gaps.get(lam)
            if known is None or known[0] != sides or known[1][:2] != line[:2]:
                gap = self._gap(line, lam, sides)
                if gap is None:
                    self.closed.add(lam)
                    continue
                known = self.gaps[lam] = sides, line, gap
            gaps.append((lam, known[2]))
        return gaps

    def _gap(self, line: Line | Pruned, lam: Ratio, sides: Sides) -> Ratio | None:
        """The gap at a corner between the corners of the bounds; None if it is proven."""
        slack = self.problem.tolerance
        (errors, unit), (price, parts) = line.errors.as_integer_ratio(), lam
        weight = unit * self.weight
        reached = errors * parts + price * line.splits * weight, parts * weight
        between = sides.between(lam, reached)
        gap = sides.gap(lam, reached) if between is None else between.gap()
        if gap[0] <= 0 or (slack and not is_above(gap, slack.as_integer_ratio())):
            return None
        if between is not None and self._whole_errors_count() and self._is_best(between):
            value = Fraction(*reached)
            bound = self.points[lam] = value - slack if slack else value
            self.bounds.add_ratio(lam, bound.as_integer_ratio())
            return None
        return gap

    def _is_best(self, between: Between) -> bool:
        """Whether no tree is as good as one of :meth:`solver.path.envelope.Between.better`."""
        better = between.better(self.weight, self._counted)
        return better is not None and all(
            errors < self._fewest[splits] for splits, errors in better
        )

    @cached_property
    def _counted(self) -> int:
        return most_counted(self.problem)

    @cached_property
    def _fewest(self) -> list[int]:
        return fewest_errors(self.problem)

    def _whole_errors_count(self) -> bool:
        """Whether proofs at other λ and whole errors can prove a corner.

        What a stopped search has proven by then does not count: see :func:`unproven`.
        """
        regression = self.problem.task == "regression"
        return not regression and self.proves and not self._was_stopped()

    def _near(self, lam: Ratio) -> list[Ratio]:
        """The λ of fewer digits on both sides of a corner that cannot be solved at."""
        for largest in _DENOMINATORS:
            if lam in self.unreachable and largest < lam[1]:
                both = neighbours(Fraction(*lam), largest)
                pair = [max(near, self.lam_min).as_integer_ratio() for near in both]
                if self.unreachable.isdisjoint(pair):
                    return pair
        return []

    def _descent(self, level: Fraction) -> list[Ratio]:
        """The λ to solve at first, whatever the corners: the last one is ``lam_min``.

        Without a descent it is the only one. No split pays from λ = ``level`` on.
        """
        found: list[Ratio] = []
        if isinstance(self.solve, Series) and self.solve.descends(self.limits) and self.lam_min:
            price, unit = self.first
            times, end = 1, math.ceil(level / (_TOP * self.lam_min))
            while times * _FACTOR < end:
                times *= _FACTOR
            while times > 1 and times * price * _BOTTOM * self.weight >= unit:
                found.append((times * self.lam_min).as_integer_ratio())
                times //= _FACTOR
        return [*found, self.first]

    def _ahead(self) -> Ratio | None:
        """The next λ of the descent; all but the first one are left out if they are proven."""
        while self.descent:
            lam = self.descent[0]
            if self._is_new(lam):
                line, sides = self.kept[self._place(lam)][0], self.bounds.sides(lam)
                if not self.points or self._gap(line, lam, sides) is not None:
                    return lam
            del self.descent[0]
        return None

    def _next(self) -> Ratio | None:
        """The λ to solve at: those of the descent, then the corner of the largest gap.

        A corner that has had its share of the time waits for those that have not.
        """
        if (ahead := self._ahead()) is not None:
            return ahead
        if not self.proves:
            return next((lam for _, lam in self.kept if self._is_new(lam)), None)
        open_ = self._open()
        best: tuple[bool, Ratio, Ratio] | None = None
        for lam, gap in open_:  # from the left: of equal gaps the last one
            if lam in self.unreachable or not self._may_go_on(lam):
                continue
            new = lam not in self.ended
            if best is not None and (new < best[0] or (new == best[0] and is_above(best[1], gap))):
                continue
            best = new, gap, lam
        if best is not None:
            return best[2]
        near = (near for lam, _ in open_ for near in self._near(lam))
        return next((lam for lam in near if self._is_new(lam)), None)

    def _is_new(self, lam: Ratio) -> bool:
        return lam not in self.points and lam not in self.unreachable

    def _may_go_on(self, lam: Ratio) -> bool:
        """Whether another solve could do more; limits of nodes or bytes end it where they did."""
        status = self.ended.get(lam)
        return status is None or (status is Status.TIME_LIMIT and self.limits.seconds is not None)

    def _was_stopped(self) -> bool:
        return self.halted or Status.STOPPED in self.ended.values()

    def _stopped(self) -> bool:
        return self.monitor.stop() or Status.STOPPED in self.ended.values()

    def _elapsed(self) -> float:
        """Seconds since the beginning, compilation apart."""
        compiled = sum(solution.compile_seconds for solution in self.solutions)
        return time.perf_counter() - self.began - compiled

    def _share(self, lam: Fraction) -> float | None:
        """Seconds of the next solve: half of the rest, so that others get their share; an eighth
        of it where that is only to help others."""
        if self.limits.seconds is None:
            return None
        left = max(self.limits.seconds - self._elapsed(), 0.0)
        helps = lam != self.lam_min and lam.as_integer_ratio() in self.descent
        return left if left < 0.1 else left / (8 if helps else 2)

    def path(self) -> Path:
        """The path so far, after at least one solve."""
        open_ = dict(self._open())
        lines = [self._line(place) for place in range(len(self.kept))]
        has_proof = any(bound is not None for bound in self.points.values())
        proven = [has_proof and start not in open_ for _, start in self.kept]
        corners = [Fraction(*start) for _, start in self.kept]
        # At infinity the last step, the tree without a split, is proven.
        ends: list[Fraction | None] = [*corners[1:], None]
        ends_proven = [*proven[1:], True]
        steps = tuple(
            Step(start, end, line.errors, line.splits, line.tree, here and there)
            for line, start, end, here, there in zip(
                lines, corners, ends, proven, ends_proven, strict=True
            )
        )
        solutions, last = self.solutions, self.solutions[-1]
        status = self._status(all(step.proven for step in steps))
        return Path(
            lam_min=self.lam_min,
            total_weight=self.weight,
            leaf_errors=self.problem.leaf_errors,
            unavoidable_errors=self.problem.unavoidable_errors,
            steps=steps,
            points=tuple(
                Point(lam, bound)
                for lam, bound in self._proven_points(status)
                if bound is not None or not has_proof
            ),
            status=status,
            seconds=sum(solution.seconds for solution in solutions),
            solves=len(solutions),
            solver=last.solver,
            version=last.version,
            iterations=sum(solution.iterations for solution in solutions),
            nodes=max(solution.nodes for solution in solutions),
            peak_bytes=max(solution.peak_bytes for solution in solutions),
            compile_seconds=sum(solution.compile_seconds for solution in solutions),
            tolerance=self.problem.tolerance,
            rounding=self.problem.rounding,
            cut_by=next((status for status in self.ended.values() if status.is_limit), None),
        )

    def _proven_points(self, status: Status) -> list[tuple[Fraction, Fraction | None]]:
        """The points; of a path that is proven, with what its other points prove at them.

        A solve that was cut may have proven less. As long as the path goes on, it is told what it
        has proven itself: see :func:`unproven`.
        """
        points = dict(self.points)
        if self.first not in points:  # others prove it, or had all the time
            points[self.first] = Fraction(*self.bounds.sides(self.first).at(self.first))
        exact = not self.problem.tolerance and all(s.is_whole for s in self.ended.values())
        if status is Status.OPTIMAL and not exact:
            for ratio, bound in points.items():
                if bound is not None:
                    known = self.bounds.sides(ratio).at(ratio)
                    if is_above(known, bound.as_integer_ratio()):
                        points[ratio] = Fraction(*known)
        numbers, _ = whole(*points)  # in their order, which whole numbers tell faster
        return [
            (Fraction(*ratio), bound)
            for _, (ratio, bound) in sorted(zip(numbers, points.items(), strict=True))
        ]

    def _status(self, proven: bool) -> Status:
        if proven:
            return Status.OPTIMAL
        cut = [status for status in self.ended.values() if not status.is_whole]
        if not self.proves and not cut and self._next() is None:
            return Status.HEURISTIC
        if self._stopped():
            return Status.STOPPED
        if cut:
            return cut[-1]
        return Status.STOPPED if self.limits.seconds is None else Status.TIME_LIMIT


def unproven(problem: Problem, solution: Solution) -> Solution:
    """A solution without the proof that a stopped search may still have ended with.

    The proof may come from trees known at that moment. A search that continues finds its own, and
    the moment of the stop must not change the answer.
    """
    if solution.status is not Status.OPTIMAL:
        return solution
    weight, step = problem.total_weight, problem.tolerance
    if problem.task == "classification":  # every objective is a multiple of this
        step = Fraction(1, weight * (weight * solution.lam).denominator)
    bound = max(solution.objective - step, Fraction(problem.unavoidable_errors) / weight)
    return replace(solution, status=Status.STOPPED, lower_bound=bound)


def find_path(
    problem: Problem,
    lam_min: Fraction,
    solve: Solve,
    limits: Limits | None = None,
    monitor: Monitor | None = None,
    state: Mapping[str, NDArray[Any]] | None = None,
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
        Seconds are those of the whole path; nodes and bytes hold for each solve. With limits on the
        tree it is the path of the trees within them.
    monitor : Monitor, optional
        Its snapshots name the λ being solved.
    state : mapping of str to array, optional
        The state in a :class:`solver.monitor.Snapshot` of the same path: same problem, λ_min,
        limits on the tree and solver version. The path continues exactly and ends as it would have.
        ``seconds`` count this call, ``iterations`` and ``nodes`` the whole path. Limits of time,
        nodes or bytes may differ; a solve that a limit had ended stays as it is.

    Returns
    -------
    Path
        After any limit it holds the best trees so far and a lower bound at every λ.
    """
    limits, monitor = limits or Limits(), monitor or Monitor()
    return PathSearch(problem, lam_min, solve, limits, monitor, state).run()
