"""The engine of regression: owns the arrays, grows them, reads the tree out of them.

Ties: among trees whose costs differ by at most the tolerance, one of fewer splits is preferred,
then the one that the search meets first. The search depends only on the problem, the price, the
depth and the smallest leaf. The last splits of the tree are those of the least squared error, of
these the first feature and the lowest code.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solver.engine.driver import Engine
from solver.engine.growable_arrays import ROOM, bytes_of, check_search
from solver.errors import InputError
from solver.kernels.constants import FULL, PROVEN, RUNNING, Ints
from solver.kernels.jit import ensure_compiled, unchecked
from solver.quantbnb.lookahead_work import LEAST_DEPTH, lookahead_work
from solver.quantbnb.regression import best_first_search
from solver.quantbnb.regression.simd import LANES
from solver.quantbnb.regression.state import (
    BOUND,
    CHILD,
    COST,
    DEPTH,
    INFINITE_COST,
    INTERVALS,
    LIMIT,
    PASSES,
    PHASE,
    POINTS,
    QUEUED,
    RELAX,
    ROWS,
    START,
    STEPS,
    Params,
    Parts,
    grown,
    new_levels,
    new_parts,
    new_scratch,
)
from solver.quantbnb.regression.stumps import best_cut, best_stump, leaf_of, nearest_middle
from solver.quantbnb.regression.target_scaling import new_targets
from solver.trees.tree import Shape

_POINTS = 256
_SORTED = 2**17  # rows of a feature that are sorted in a slice
DEEPEST = 16
_SLACK = 3.0
"""Times the error of a cost that a split must gain: more than two costs may differ by."""


class SquaresEngine(Engine):
    """One search for the tree of limited depth with the least squared error.

    Parameters
    ----------
    codes : (rows, features)
        Ranks of the values; a cut ``(f, c)`` sends the rows with ``codes[:, f] <= c`` to the left.
    arities : (features,)
        Numbers of distinct values.
    weights : (rows,)
        Whole numbers, at least 1.
    values : (rows, outputs)
        Targets, finite.
    split : float
        Price of a split, in units of the weighted squared error.
    allowed : float, optional
        Largest allowed ``tolerance``: with many rows, ties are broken less well.
    digest, state : callable, mapping
        Gives the name of the problem in states, and what :meth:`state` gave in the same search.

    Raises
    ------
    InputError
        If the depth is too large, the rows are too many for ``allowed``, or the state is that of
        another search.

    Notes
    -----
    Costs are in the user's units: squared error + ``split`` · splits. In exact arithmetic the
    tree costs at most ``upper_bound + tolerance``, and no tree costs less than ``lower_bound −
    tolerance``. Within the search a split costs its price plus more than two computed costs may
    differ by. So no split without gain is made, and of two equally good trees the one of fewer
    splits is found.
    """

    def __init__(
        self,
        codes: NDArray[np.int32],
        arities: NDArray[Any],
        weights: Ints,
        values: NDArray[np.float64],
        depth: int,
        split: float = 0.0,
        min_leaf: int = 1,
        allowed: float | None = None,
        digest: Callable[[], str] = str,
        state: Mapping[str, NDArray[Any]] | None = None,
    ) -> None:
        self.codes, self.digest = codes, digest
        self.first_cut = np.concatenate(([0], np.cumsum(np.asarray(arities, np.int64) - 1)))
        targets = new_targets(values, weights)
        self.sums, self.unit = targets.sums, -2 * targets.exponent
        price = math.ldexp(float(split), -self.unit)
        features, rows, width = codes.shape[1], len(codes), self.sums.shape[1]
        most = min(2.0 ** min(depth, 60), rows) - 1.0  # splits
        slack = _SLACK * targets.error
        if allowed is not None:
            spare = math.ldexp(allowed, -self.unit) - 2 * targets.error
            if spare < 0.0:
                raise InputError(
                    f"{rows} rows of a total weight of {int(weights.sum())} are too many for sums "
                    "as accurate as regression needs; take fewer rows, or smaller weights"
                )
            slack = min(slack, spare / max(most, 1.0))
        self.params = Params(price + slack, float(max(min_leaf, 1)), width - 3, features)
        # More splits than these are useless, or cost more than a leaf.
        leaf = leaf_of(self.sums)
        most_splits = rows - 1 if self.params.split <= 0.0 else leaf / self.params.split
        self.depth = depth = int(min(depth, rows - 1, most_splits)) if features and leaf > 0 else 0
        if depth > DEEPEST:
            raise InputError(
                f"a depth of {depth} is more than solver 'quantbnb' can do; set the limit depth "
                f"to {DEEPEST} or less"
            )
        self.tolerance = math.ldexp(most * slack + 2 * targets.error, self.unit)
        levels = max(depth - 1, 1)
        self.levels = new_levels(levels, features, max(_POINTS, 2 * features + 2 * LANES))
        self.levels.tries[:] = -1
        self.levels.tree[:] = -1
        self.levels.frame[0, [PHASE, DEPTH, ROWS]] = START, depth, rows
        self.levels.price[0, [LIMIT, COST, RELAX]] = INFINITE_COST, leaf, self.params.least
        self.parts: Parts | None = None
        self._scratch = new_scratch(1, 1)
        self._done = self._scratch.done
        self._filled, self._best_gain = 0, 0.0
        self.ended = depth == 0
        self.compile_seconds = 0.0
        if not self.ended:
            self.compile_seconds = self._compile()
            self._search = unchecked(best_first_search.step)  # `rebuild` looks at the same types
        if state is not None:
            self._restore(state)

    def _compile(self) -> float:
        """Compile the kernels for arrays of the types that the search will have."""
        parts = new_parts(1, 1, 1, 1)
        return ensure_compiled(
            best_first_search.step, parts, self.params, self._scratch, self.levels, 0, 0.0
        ) + ensure_compiled(best_first_search.rebuild, parts, self._scratch, self.levels)

    def step(self, iterations: int, target_cost: float) -> int:
        """Do some steps; see :class:`solver.engine.driver.Engine`."""
        if self.ended:
            return PROVEN
        if self.parts is None:
            return FULL
        if self._filled < self.params.features:
            self.ended = self._fill_some()
            return PROVEN if self.ended else RUNNING
        most = math.ldexp(float(target_cost), -self.unit)
        outcome = self._search(
            self.parts, self.params, self._scratch, self.levels, iterations, most
        )
        self.ended = outcome == PROVEN
        return outcome

    def _fill_some(self) -> bool:
        """Sort the rows by some features, as many as a slice has time for; whether that was all.

        It is all where one split is the deepest tree.
        """
        assert self.parts is not None
        rows = len(self.codes)
        for _ in range(max(1, _SORTED // rows)):
            if self._filled < self.params.features:
                self._fill(self.parts, self._filled)
                self._filled += 1
        if self._filled < self.params.features:
            return False
        outputs = self.params.outputs
        self.parts.sums[0] = self.sums[:, : outputs + 1]
        self.parts.squares[0] = self.sums[:, outputs + 1 :]
        self.parts.total[0] = self.sums.sum(axis=0)
        if self.depth > 1:
            best_first_search.rebuild(self.parts, self._scratch, self.levels)
            return False
        price = self.levels.price[0]
        cost = self.params.split + max(0.0, price[COST] - self._best_gain)
        price[[LIMIT, COST]] = min(cost, price[COST])
        return True

    def _fill(self, parts: Parts, g: int) -> None:
        """Sort the rows by a feature; the search starts from the best split of all."""
        column, last = self.codes[:, g], np.ones(len(self.codes), np.int64)
        order = np.argsort(column, kind="stable")
        last[:-1] = column[order][1:] != column[order][:-1]
        parts.codes[0, g] = column
        parts.order[0, g] = 2 * order + last
        gain, code = best_cut(column[order], self.sums[order], self.params.least)
        if gain > self._best_gain:
            self._best_gain = gain
            if self.levels.frame[0, PHASE] == START:
                self.levels.tries[0, 0] = g, code

    @property
    def upper_bound(self) -> float:
        return math.ldexp(float(self.levels.price[0, COST]), self.unit)

    @property
    def lower_bound(self) -> float:
        """No tree costs less, up to the tolerance."""
        frame, price, bound = self.levels.frame[0], self.levels.price[0], self.upper_bound
        if self.ended:
            return bound
        if frame[PHASE] == START:
            return 0.0
        if frame[PHASE] == CHILD:
            bound = min(bound, math.ldexp(float(price[BOUND]), self.unit))
        if frame[QUEUED]:
            least = float(self.levels.bound[0, self.levels.heap[0, 0]])
            bound = min(bound, math.ldexp(least, self.unit))
        return bound

    @property
    def iterations(self) -> int:
        """Batches of cuts, and parts begun with."""
        return int(self._done[STEPS])

    @property
    def nodes(self) -> int:
        """The same: each looks at new parts."""
        return self.iterations

    @property
    def passes(self) -> int:
        """Passes over the rows of a part in the order of a feature."""
        return int(self._done[PASSES])

    @property
    def threshold_work(self) -> int:
        """The work of evaluating a threshold, about in operations on words."""
        return 2 * max(self.codes.size, 1)

    @property
    def work(self) -> int:
        """The work so far."""
        return self.iterations * self.threshold_work

    @property
    def looks_beside(self) -> bool:  # type: ignore[override]
        """As :class:`solver.engine.driver.Engine`."""
        return self.depth >= LEAST_DEPTH

    @property
    def rollout_work(self) -> int:
        """As :class:`solver.engine.driver.Engine`."""
        return lookahead_work(self.work)

    @property
    def bytes(self) -> int:
        own = self.sums.nbytes + bytes_of(self.levels)
        return own if self.parts is None else own + self.table_bytes

    @property
    def table_bytes(self) -> int:
        """Memory of the arrays of the rows, before they are made."""
        (rows, width), features, levels = (
            self.sums.shape,
            self.params.features,
            len(self.levels.code),
        )
        return int(levels * (8 * rows * (features + width) + 8 * width) + 5 * rows)

    def grow(self, limit: int | None) -> bool:
        """Make the arrays of the rows, or twice the room for cuts, if the limit allows."""
        if self.parts is None:
            if limit is not None and self.bytes + self.table_bytes > limit:
                return False
            rows, features, outputs = len(self.sums), self.params.features, self.params.outputs
            self.parts = new_parts(len(self.levels.code), features, rows, outputs)
            self._scratch = new_scratch(rows, outputs)._replace(done=self._done)
            return True
        if limit is not None and self.bytes + bytes_of(self.levels) > limit:
            return False
        self.levels = grown(self.levels)
        return True

    def shape(self) -> Shape:
        """The best tree; cuts are numbered ``first_cut[f] + c``."""
        tree = self.levels.tree[0]
        return self._read(tree, 0, np.arange(len(self.codes)), self.depth)

    def _read(self, tree: Ints, at: int, rows: Ints, depth: int) -> Shape:
        codes = self.codes[rows]
        if at < len(tree) and depth > 1:
            feature, code = map(int, tree[at])
        elif depth >= 1:
            gain, feature, code = best_stump(codes, self.sums[rows], self.params.least)
            if gain <= self.params.split:
                feature = -1
        else:
            feature = -1
        if feature < 0:
            return -1
        code = nearest_middle(codes[:, feature], code)
        left = codes[:, feature] <= code
        halves = (
            self._read(tree, 2 * at + 1, rows[left], depth - 1),
            self._read(tree, 2 * at + 2, rows[~left], depth - 1),
        )
        return int(self.first_cut[feature]) + code, halves

    def state(self) -> dict[str, NDArray[Any]] | None:
        """The used parts of all arrays that the search needs to continue, as views."""
        points = int(self.levels.frame[:, POINTS].max())
        intervals = int(self.levels.frame[:, INTERVALS].max())
        used = {"code": points, "place": points, "below": points, "relax": points}
        used |= {"low": points, "each": points, "guess": points}
        used |= {"feature": intervals, "bound": intervals, "ends": intervals, "heap": intervals}
        kept = {
            name: array[:, : used[name]] if name in used else array
            for name, array in self.levels._asdict().items()
        }
        # The rows of a level follow from the cuts above it.
        return {
            **kept,
            "done": self._done,
            "ended": np.array([self.ended]),
            ROOM: np.array([self.levels.code.shape[1]], np.int64),
            "params": np.array([*self.params, self.depth]),
            "problem": np.array(self.digest()),
        }

    def _restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Continue from a state."""
        names = {*self.levels._fields, "done", "ended", ROOM, "params", "problem"}
        check_search(state, names, self.digest(), (*self.params, self.depth))
        try:
            points = int(state[ROOM][0])
            self.levels = new_levels(len(self.levels.code), self.params.features, points)
            for name, array in self.levels._asdict().items():
                saved = state[name]
                if saved.dtype != array.dtype:
                    raise ValueError
                array[tuple(slice(0, size) for size in saved.shape)] = saved
            self._done[:] = state["done"]
            self.ended = bool(state["ended"][0])
        except (IndexError, TypeError, ValueError):
            raise InputError("the state's arrays do not fit; it is damaged") from None
