"""A solver of one file, as a user would write it: every tree, with few splits first."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from solver.base import Capabilities, Solver
from solver.limits import Limits
from solver.monitor import Monitor, Snapshot
from solver.objective.exact_objective import objective
from solver.problem.problem import Problem
from solver.solution import Solution, Status
from solver.trees.tree import Shape, Tree
from solver.verify.scorer import score

_ENTRY = 400  # bytes of an entry of the memo, without its rows
_OFTEN = 256  # visits between two looks at the clock
Branch = tuple[bytes, int, int]


class _Ended(Exception):
    def __init__(self, status: Status) -> None:
        self.status = status


class Exhaustive(Solver):
    """The fewest errors with at most 0, 1, 2, … splits, by dynamic programming over branches."""

    name: ClassVar[str] = "exhaustive"
    version: ClassVar[str] = "1"
    summary: ClassVar[str] = "every tree, for small tables"
    capabilities: ClassVar[Capabilities] = Capabilities(
        features=frozenset({"binary", "categorical"}),
        limits=frozenset({"depth", "splits", "min_leaf_size"}),
    )

    def _solve(
        self,
        problem: Problem,
        lam: Fraction,
        limits: Limits,
        initial_tree: Tree | None,
        monitor: Monitor,
        state: Mapping[str, NDArray[Any]] | None,
    ) -> Solution:
        return _Search(problem, lam, limits, initial_tree, monitor).run()


class _Search:
    def __init__(
        self,
        problem: Problem,
        lam: Fraction,
        limits: Limits,
        initial_tree: Tree | None,
        monitor: Monitor,
    ) -> None:
        self.problem, self.lam, self.limits, self.monitor = problem, lam, limits, monitor
        self.began = self.shown = time.perf_counter()
        self.visits = self.bytes = 0
        self.most = max(len(problem.codes) - 1, 0)
        if limits.splits is not None:
            self.most = min(self.most, limits.splits)
        self.depth = self.most if limits.depth is None else min(limits.depth, self.most)
        arity = max(problem.arities, default=2)
        if self.depth < 20:
            self.most = min(self.most, sum(arity**level for level in range(self.depth)))
        # Of a tree with some splits: every leaf predicts one class.
        totals = np.sort(problem.counts.sum(axis=0))[::-1].cumsum()
        self.fewest = [
            max(problem.unavoidable_errors, problem.total_weight - int(totals[:leaves][-1]))
            for leaves in (1 + splits * (arity - 1) for splits in range(self.most + 1))
        ]
        self.memo: dict[Branch, tuple[int, Shape]] = {}
        self.least = max(1, limits.min_leaf_size or 1)
        self.tree, self.budget = problem.grow(-1), 0
        self.objective = self._objective_of(self.tree)
        if initial_tree is not None and self._objective_of(initial_tree) < self.objective:
            self.tree, self.objective = initial_tree, self._objective_of(initial_tree)

    def run(self) -> Solution:
        try:
            self._search()
            status, bound = Status.OPTIMAL, self.objective
        except _Ended as end:
            bound = self._lower_bound()
            status = Status.OPTIMAL if bound == self.objective else end.status
        points = score(self.problem, self.tree, self.lam)
        return Solution(
            tree=self.tree,
            status=status,
            lam=self.lam,
            objective=self.objective,
            lower_bound=bound,
            errors=points.errors,
            total_weight=self.problem.total_weight,
            seconds=time.perf_counter() - self.began,
            solver=Exhaustive.name,
            version=Exhaustive.version,
            nodes=len(self.memo),
            iterations=len(self.memo),
            peak_bytes=self.bytes,
            tolerance=self.problem.tolerance,
        )

    def _search(self) -> None:
        rows = np.arange(len(self.problem.codes))
        for budget in range(1, self.most + 1):
            self.budget = budget
            if self._lower_bound() == self.objective:
                return
            self._look_up()
            errors, shape = self._best(rows, self.budget, self.depth)
            if self._objective(errors, self.budget) < self.objective:
                self.tree = self.problem.grow(shape)
                self.objective = self._objective_of(self.tree)

    def _best(self, rows: NDArray[np.int64], budget: int, depth: int) -> tuple[int, Shape]:
        """Fewest errors on some rows, and a tree that makes them."""
        counts = self.problem.counts[rows].sum(axis=0)
        leaf = int(counts.sum() - counts.max(initial=0))
        if budget == 0 or depth == 0 or leaf == 0:
            return leaf, -1
        branch = rows.tobytes(), budget, depth
        self.visits += 1
        if self.visits % _OFTEN == 0:
            self._look_up()
        if branch not in self.memo:
            self._make_room(_ENTRY + rows.nbytes)
            self.memo[branch] = leaf, -1  # counts as visited from here on
            best: tuple[int, Shape] = leaf, -1
            for feature, parts in self._splits(rows):
                errors, shapes = self._forest(parts, budget - 1, depth - 1)
                if errors < best[0]:
                    best = errors, (feature, shapes)
            self.memo[branch] = best
        return self.memo[branch]

    def _forest(
        self, parts: list[NDArray[np.int64]], budget: int, depth: int
    ) -> tuple[int, tuple[Shape, ...]]:
        """Fewest errors of the children of a split that share the splits."""
        if len(parts) == 1:
            errors, shape = self._best(parts[0], budget, depth)
            return errors, (shape,)
        answers = []
        for first in range(budget + 1):
            errors, shape = self._best(parts[0], first, depth)
            others, shapes = self._forest(parts[1:], budget - first, depth)
            answers.append((errors + others, (shape, *shapes)))
        return min(answers, key=lambda answer: answer[0])

    def _splits(self, rows: NDArray[np.int64]) -> Iterator[tuple[int, list[NDArray[np.int64]]]]:
        for feature, arity in enumerate(self.problem.arities):
            codes = self.problem.codes[rows, feature]
            parts = [rows[codes == code] for code in range(arity)]
            sizes = [int(self.problem.counts[part].sum()) for part in parts if len(part)]
            if len(sizes) > 1 and min(sizes) >= self.least:
                yield feature, parts

    def _objective(self, errors: int, splits: int) -> Fraction:
        return objective(errors, splits, self.problem.total_weight, self.lam)

    def _objective_of(self, tree: Tree) -> Fraction:
        return score(self.problem, tree, self.lam).objective

    def _lower_bound(self) -> Fraction:
        """All trees of fewer splits than the budget are known."""
        more = range(self.budget, self.most + 1)
        return min(self.objective, *(self._objective(self.fewest[s], s) for s in more))

    def _make_room(self, size: int) -> None:
        if self.limits.nodes is not None and len(self.memo) >= self.limits.nodes:
            raise _Ended(Status.NODE_LIMIT)
        if self.limits.bytes is not None and self.bytes + size > self.limits.bytes:
            raise _Ended(Status.MEMORY_LIMIT)
        self.bytes += size

    def _look_up(self) -> None:
        """Look at the clock and at the caller."""
        now = time.perf_counter()
        if self.limits.seconds is not None and now - self.began >= self.limits.seconds:
            raise _Ended(Status.TIME_LIMIT)
        if self.monitor.stop():
            raise _Ended(Status.STOPPED)
        if self.monitor.snapshot is not None and now - self.shown >= self.monitor.interval:
            self.shown, n = now, len(self.memo)
            bound, seconds = self._lower_bound(), now - self.began
            shot = Snapshot(self.tree, self.objective, bound, seconds, n, n)
            self.monitor.snapshot(shot)
