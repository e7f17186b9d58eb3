"""The search as an object: owns the arrays, grows them, reads the tree out of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from solver.errors import InputError
from solver.jit import ensure_compiled
from solver.quantbnb import search, table
from solver.quantbnb.state import (
    BOUND,
    CHILD,
    DEPTH,
    LIMIT,
    OPENING,
    PHASE,
    POINTS,
    QUEUED,
    START,
    Ints,
    Levels,
    Rules,
    grown,
    new_levels,
    new_parts,
    new_sweep,
)

_POINTS = 1024
_LARGEST_WEIGHT = 2**31 - 1
_NO_LIMIT = 2**60


@dataclass(frozen=True)
class Split:
    """A node that sends the rows with ``value < threshold`` to the left.

    Parameters
    ----------
    below, above : float
        The neighbouring values of the training rows: the threshold is anything in
        ``(below, above]``.
    left, right : Split or int
        The subtrees; a leaf is its class.
    """

    feature: int
    below: float
    above: float
    left: Split | int
    right: Split | int

    @property
    def threshold(self) -> float:
        """The middle, or ``above`` where rounding leaves nothing between."""
        middle = self.below / 2 + self.above / 2
        return middle if self.below < middle <= self.above else self.above

    @property
    def splits(self) -> int:
        """Number of splits of the tree."""
        return 1 + sum(part.splits for part in (self.left, self.right) if isinstance(part, Split))


class Engine:
    """One search for the best tree of limited depth.

    Parameters
    ----------
    x : (rows, features)
        Finite numbers.
    y : (rows,)
        Classes, from 0.
    weights : (rows,)
        Whole numbers, at least 1.
    depth : int
        Most splits on a path, at least 1.
    error, split : int
        Prices of a unit of weight in error, and of a split.

    Raises
    ------
    InputError
        If a number is not finite, or weights or costs are too large.
    """

    def __init__(
        self,
        x: NDArray[np.float64],
        y: Ints,
        weights: Ints | None = None,
        depth: int = 2,
        error: int = 1,
        split: int = 0,
    ) -> None:
        if depth < 1:
            raise InputError(f"a depth of {depth} is too small; it must be 1 or more")
        if not np.isfinite(x).all():
            raise InputError("a feature has a value that is not finite; fill it in or drop the row")
        self.x, self.y = x, y
        self.weights = np.ones(len(y), np.int64) if weights is None else weights
        total = int(self.weights.sum())
        if total > _LARGEST_WEIGHT or 4 * (total * error + 2**depth * split) >= _NO_LIMIT:
            raise InputError("the weights or prices are too large; use smaller ones")
        self.rules = Rules(error, split)
        self.table, whole, self.values = table.new_table(x, y, self.weights)
        self.scratch = new_sweep(self.table)
        levels = max(depth - 1, 1)
        self.parts = new_parts(self.table, levels)
        for mine, given in zip(self.parts, whole, strict=True):
            mine[0] = given
        self.levels: Levels = new_levels(self.table, levels, _POINTS)
        self.levels.tries[:] = -1
        self.levels.frame[0, [PHASE, DEPTH, LIMIT]] = START, depth, _NO_LIMIT
        self.top = np.zeros(1, np.int64)
        self.ended = False
        self._step = search.step if self.table.ranks.itemsize == 2 else search.step_wide
        self.compile_seconds = ensure_compiled(self._step, *self._arguments, 0)

    @property
    def _arguments(self) -> tuple[object, ...]:
        return self.table, self.rules, self.parts, self.scratch, self.levels, self.top

    def step(self, evaluations: int) -> bool:
        """Go on with the search for a number of evaluated splits; False when it has ended."""
        until = self.evaluations + evaluations
        while not self.ended and self.evaluations < until:
            state = self._step(
                self.table, self.rules, self.parts, self.scratch, self.levels, self.top,
                until - self.evaluations,
            )  # fmt: skip
            if state == search.FULL:
                self.levels = grown(self.levels, self.table)
            self.ended = state == search.ENDED
        return not self.ended

    @property
    def evaluations(self) -> int:
        """Splits whose two parts have been looked at."""
        return int(self.scratch.evaluations[0])

    @property
    def _best_level(self) -> int:
        """As long as a level looks for a first tree, the next one works on the same rows."""
        level = 0
        while level < self.top[0] and self.levels.frame[level, PHASE] == OPENING:
            level += 1
        return level

    @property
    def achieved(self) -> int:
        """Cost of the best tree so far."""
        return int(self.levels.frame[: self._best_level + 1, LIMIT].min())

    @property
    def proven(self) -> int:
        """No tree costs less."""
        frame, limit = self.levels.frame[0], self.achieved
        if self.ended:
            return limit
        if frame[PHASE] in (START, OPENING):
            return 0
        if frame[PHASE] == CHILD:
            limit = min(limit, int(frame[BOUND]))
        if frame[QUEUED]:
            limit = min(limit, int(self.levels.bound[0, self.levels.heap[0, 0]]))
        return limit

    @property
    def roots(self) -> int:
        """First splits evaluated."""
        return max(0, int(self.levels.frame[0, POINTS]) - 2)

    @property
    def bytes(self) -> int:
        """Memory of all arrays."""
        parts = (self.table, self.parts, self.scratch, self.levels)
        return sum(array.nbytes for part in parts for array in part)

    def tree(self) -> Split | int:
        """The best tree so far; of two leaves with the same class only one is left."""
        levels = self.levels.frame[: self._best_level + 1, LIMIT]
        return self._read(self.levels.tree[int(levels.argmin())], 0, np.arange(len(self.y)))

    def _read(self, nodes: Ints, at: int, rows: Ints) -> Split | int:
        counts = np.bincount(self.y[rows], self.weights[rows], minlength=int(self.table.sizes[2]))
        if at >= len(nodes) or nodes[at, 0] < 0 or not len(rows):
            return int(counts.argmax())
        feature, code = map(int, nodes[at])
        values = self.x[rows, feature]
        if code < 0:
            above = self._best_threshold(values, rows)
        else:
            above = float(self.values[feature][code])
        to_left = values < above
        left = self._read(nodes, 2 * at + 1, rows[to_left])
        right = self._read(nodes, 2 * at + 2, rows[~to_left])
        if to_left.all():
            return left
        if not to_left.any():
            return right
        if left == right and isinstance(left, int):
            return left
        return Split(
            feature, float(values[to_left].max()), float(values[~to_left].min()), left, right
        )

    def _best_threshold(self, values: NDArray[np.float64], rows: Ints) -> float:
        """The first of the values from which on a stump's right leaf makes it best."""
        order = np.argsort(values, kind="stable")
        counts = np.zeros((len(rows), int(self.table.sizes[2])), np.int64)
        counts[np.arange(len(rows)), self.y[rows[order]]] = self.weights[rows[order]]
        left = counts.cumsum(axis=0)
        right = left[-1] - left
        correct = left.max(axis=1) + right.max(axis=1)
        ordered = values[order]
        correct[:-1][ordered[1:] == ordered[:-1]] = -1
        best = int(correct.argmax())
        return float(ordered[best + 1]) if best + 1 < len(rows) else np.inf
