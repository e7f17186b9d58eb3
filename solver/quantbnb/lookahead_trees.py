"""Good trees soon: each split is the first one of the best tree of a few levels on its rows.

A search for the best tree of depth five looks for one of four first, and so on, so within its limit
it may see no tree of five levels. Two levels, or three, are searched in no time. So the tree is
made from its root down: a split is the first one of the best tree of ``h`` levels (its *horizon*),
and then the same is done with the rows of both children, down to the last ``h`` levels.

References
----------
Murthy & Salzberg (1995), "Lookahead and pathology in decision tree induction"; Esmeir & Markovitch
(2007), "Anytime learning of decision trees".
"""

from __future__ import annotations

import math
from collections.abc import Generator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from solver.engine.good_trees import GoodTrees
from solver.engine.tree_constraints import TreeConstraints
from solver.kernels.constants import FULL, PROVEN, Ints
from solver.problem.problem import Problem
from solver.quantbnb.classification.engine import DEEPEST, QuantEngine
from solver.quantbnb.lookahead_work import LEAST_DEPTH
from solver.quantbnb.regression.engine import SquaresEngine
from solver.trees.tree import Shape

Costed = tuple[float, Shape]
Steps = Generator[None, None, Costed]

STAGES = ((2, 0), (3, 0), (3, 2), (4, 0), (4, 2), (5, 0))
"""Horizons, and at how many levels from the root the split of the next smaller horizon is tried
beside it."""
_STEP = 2**20  # work of a step, some ms
_FEATURE, _SEARCH = (
    2**14,
    2**20,
)  # work before the first threshold of a search, of a feature and all
_LARGEST = 2**23  # rows · features
_MOST_RANKS = 2**29  # bytes of the arrays of all rows, which are filled in one step
_MOST_KEPT = 2**24  # bytes of results that are kept
_MOST_QUEUED = 2**26  # bytes of a search beyond the arrays of its rows
_OBJECTS = 400  # about the bytes that the objects of a result take


class _Part(NamedTuple):
    """Some rows of the problem, in the codes that occur among them.

    Parameters
    ----------
    features : (columns,)
        The features that are not constant there.
    values : list of (codes,)
        The codes of each of them that occur.
    codes : (rows, columns)
        Their ranks in ``values``.
    """

    features: Ints
    values: list[Ints]
    codes: NDArray[np.int32]

    @property
    def arities(self) -> NDArray[np.int32]:
        return np.array([len(values) for values in self.values], np.int32)

    def cut(self, number: int) -> tuple[int, int]:
        """Feature and largest code on the left of a threshold: the middle between two codes that
        occur."""
        firsts = np.cumsum([0, *(len(values) - 1 for values in self.values)])
        column = int(np.searchsorted(firsts, number, "right")) - 1
        pair = self.values[column][number - firsts[column] :][:2]
        return int(self.features[column]), int(pair.sum() - 1) // 2


class LookaheadTrees(GoodTrees):
    """Trees of ever larger horizons, with the kernels of the search that they help.

    There are none where splits are limited in number, for fewer than four levels, and for tables
    that are very large or take more memory than ``room``, in bytes.
    """

    def __init__(
        self,
        problem: Problem,
        cost_scale: Any,
        constraints: TreeConstraints,
        room: int | None = None,
    ) -> None:
        self._problem, self._cost_scale, self._constraints = problem, cost_scale, constraints
        self._best: Costed = math.inf, -1
        # Rounding must not choose: which of two equal trees were offered depends on the clock.
        self._slack = 0.0 if problem.values is None else 2 * cost_scale.slack
        self._firsts = np.concatenate(([0], np.cumsum(problem.arities - 1)))
        self._known = dict[tuple[bytes, int], Costed]()
        self._kept, self._work, self._room = 0, 0, 0
        self._engine: QuantEngine | SquaresEngine | None = None
        depth, rows = min(constraints.depth, DEEPEST), np.arange(len(problem.codes))
        if constraints.budgets == 1 and depth >= LEAST_DEPTH and problem.codes.size <= _LARGEST:
            whole = self._make(self._part(rows), rows, STAGES[0][0])
            if whole.table_bytes <= _MOST_RANKS:
                self._room = whole.bytes + whole.table_bytes + _MOST_QUEUED + _MOST_KEPT
        if room is not None and self._room > room:
            self._room = 0
        self._steps = self._look_further(rows, depth)

    @property
    def best(self) -> Costed:
        return self._best

    @property
    def work(self) -> int:
        return self._work

    @property
    def bytes(self) -> int:
        return self._kept + (0 if self._engine is None else self._engine.bytes)

    @property
    def most_bytes(self) -> int:
        return self._room

    def close(self) -> None:
        self._steps.close()
        self._known.clear()
        self._engine, self._kept, self._room = None, 0, 0

    def _look_further(self, rows: Ints, depth: int) -> Generator[None]:
        for horizon, wide in STAGES:
            if self._room and horizon < depth:
                found = yield from self._search(rows, depth, horizon, wide)
                if found[0] < self._best[0] - self._slack:
                    self._best = found

    def _search(self, rows: Ints, depth: int, horizon: int, wide: int) -> Steps:
        """The best tree of some rows that is found with this horizon."""
        best = yield from self._optimum(rows, min(depth, horizon))
        if depth <= horizon:
            return best
        firsts = [best[1]]
        if wide > 0:
            _, other = yield from self._optimum(rows, horizon - 1)
            firsts.append(other)
        for cut in dict.fromkeys(first_cut(shape) for shape in firsts if shape != -1):
            cost, shapes = self._cost_scale.split, list[Shape]()
            for side in self._divide(rows, cut):
                if cost >= best[0]:
                    break
                more, shape = yield from self._search(side, depth - 1, horizon, max(wide - 1, 0))
                cost += more
                shapes.append(shape)
            if cost < best[0]:
                best = cost, (cut, tuple(shapes))
        return best

    def _divide(self, rows: Ints, cut: int) -> tuple[Ints, Ints]:
        """The rows on both sides of a threshold."""
        feature = int(np.searchsorted(self._firsts, cut, "right")) - 1
        below = self._problem.codes[rows, feature] <= cut - self._firsts[feature]
        return rows[below], rows[~below]

    def _optimum(self, rows: Ints, depth: int) -> Steps:
        """The best tree of a few levels."""
        mask = np.zeros(len(self._problem.codes), bool)
        mask[rows] = True
        key = np.packbits(mask).tobytes(), depth
        known = self._known.get(key)
        if known is None:
            known = yield from self._solve(rows, depth)
            self._kept += len(key[0]) + _OBJECTS
            if self._kept > _MOST_KEPT:
                self._known.clear()
                self._kept = len(key[0]) + _OBJECTS
            self._known[key] = known
        return known

    def _solve(self, rows: Ints, depth: int) -> Steps:
        self._work += _SEARCH + _FEATURE * len(self._problem.arities)
        part = self._part(rows)
        engine = self._engine = self._make(part, rows, depth)
        if engine.depth > 0:  # of a wide table, to fill the arrays takes longest
            self._work += engine.table_bytes // 2
        budget = max(1, _STEP // engine.threshold_work)
        outcome = engine.step(1, -1)
        while outcome != PROVEN:
            if outcome == FULL and not engine.grow(self._room - self._kept):
                break
            before = engine.iterations
            outcome = engine.step(budget, -1)
            self._work += (engine.iterations - before) * engine.threshold_work + 1
            yield
        self._engine = None
        return engine.upper_bound, self._outwards(part, engine.shape())

    def _part(self, rows: Ints) -> _Part:
        features, values, columns = list[int](), list[Ints](), list[Ints]()
        for feature, arity in enumerate(self._problem.arities.tolist()):
            codes = self._problem.codes[rows, feature]
            occurs = np.zeros(arity, np.bool_)
            occurs[codes] = True
            found = np.flatnonzero(occurs)
            if len(found) > 1:
                features.append(feature)
                values.append(found)
                columns.append((np.cumsum(occurs) - 1)[codes])
        codes = np.array(columns, np.int32).reshape(len(columns), len(rows)).T
        return _Part(np.array(features, np.int64), values, codes)

    def _make(self, part: _Part, rows: Ints, depth: int) -> QuantEngine | SquaresEngine:
        problem, constraints = self._problem, self._constraints._replace(depth=depth)
        if problem.values is not None:
            return SquaresEngine(
                np.ascontiguousarray(part.codes), part.arities, problem.counts[rows, 0],
                problem.values[rows], depth, self._cost_scale.split, constraints.min_leaf,
                self._cost_scale.slack,
            )  # fmt: skip
        counts = problem.counts[rows]
        counts = counts[:, counts.any(axis=0)]
        return QuantEngine(part.codes, counts, part.arities, self._cost_scale, constraints)

    def _outwards(self, part: _Part, shape: Shape) -> Shape:
        """The shape with the thresholds of the whole problem."""
        if shape == -1:
            return -1
        feature, code = part.cut(first_cut(shape))
        left, right = shape[1]  # type: ignore[index]
        cut = int(self._firsts[feature]) + code
        return cut, (self._outwards(part, left), self._outwards(part, right))


def first_cut(shape: Shape) -> int:
    """The threshold of the first split."""
    assert isinstance(shape, tuple)
    assert isinstance(shape[0], int)
    return shape[0]
