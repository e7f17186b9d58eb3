"""The engine of classification: owns the arrays, grows them, reads the tree out of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solver.engine.driver import Engine
from solver.engine.growable_arrays import bytes_of, check_search
from solver.engine.tree_constraints import TreeConstraints
from solver.errors import InputError
from solver.kernels.constants import FULL, PROVEN, RUNNING, Ints
from solver.kernels.jit import ensure_compiled, is_compiled, unchecked
from solver.objective.exact_objective import CostScale
from solver.quantbnb.classification import best_first_search, sorted_table
from solver.quantbnb.classification.carried_bounds import nothing
from solver.quantbnb.classification.kept_trees import read_tree
from solver.quantbnb.classification.state import (
    BOUND,
    BUDGET,
    CHILD,
    DEPTH,
    LEAF,
    LIMIT,
    OPENING,
    PHASE,
    QUEUED,
    RELAX,
    START,
    Levels,
    Params,
    Part,
    Sweep,
    Table,
    grown,
    level_shapes,
    new_levels,
    new_parts,
    new_sweep,
    padded_length,
    part_sizes,
    sweep_sizes,
)
from solver.quantbnb.lookahead_work import LEAST_DEPTH, lookahead_work
from solver.trees.tree import Shape

DEEPEST = 16

_POINTS = 256
_FILLED = 2**21  # ranks that are gathered in a slice


class QuantEngine(Engine):
    """One search for the best tree of limited depth.

    The first :meth:`grow` makes the arrays of the rows, or refuses; the first slices fill them.

    Parameters
    ----------
    codes : (rows, features)
        Distinct rows, each feature by the rank of its value.
    counts : (rows, classes)
        Integer weights.
    arities : (features,)
        Number of codes of each feature.
    digest, state : callable, mapping
        Gives the name of the problem in states, and what :meth:`state` gave in the same search.

    Raises
    ------
    InputError
        If the depth is beyond :data:`DEEPEST`, or the state is that of another search.
    """

    exceeds = False
    """Whether bounds of parts exceed their caps, see :class:`Params`."""

    def __init__(
        self,
        codes: NDArray[np.int32],
        counts: Ints,
        arities: NDArray[np.int32],
        cost_scale: CostScale,
        constraints: TreeConstraints,
        digest: Callable[[], str] = str,
        state: Mapping[str, NDArray[Any]] | None = None,
    ) -> None:
        self.codes, self.counts = np.ascontiguousarray(codes), np.ascontiguousarray(counts)
        self.cost_scale, self.digest = cost_scale, digest
        self.arities = [int(arity) for arity in arities]
        self._weigh_rows()
        unit_leaf = -(-constraints.min_leaf // self.unit)
        self.params = Params(
            cost_scale.error * self.unit, cost_scale.split, max(unit_leaf, 1), int(self.exceeds)
        )
        leaf = cost_scale.error * self.leaf_errors
        # More splits than these are useless, or cost more than a leaf.
        cuts = sum(self.arities) - len(self.arities)
        depth = min(constraints.depth, len(codes) - 1, cuts, leaf // cost_scale.split)
        if constraints.budgets > 1:
            depth = min(depth, constraints.budgets - 1)
        if depth > DEEPEST:
            raise InputError(
                f"a depth of {depth} is more than solver 'quantbnb' can do; set the limit depth "
                f"to {DEEPEST} or less"
            )
        self.depth, self.leaf = depth, leaf
        self.splits = 2**depth - 1
        if constraints.budgets > 1:
            self.splits = min(self.splits, constraints.budgets - 1)
        self.known = nothing(len(self.arities))
        self.levels: Levels = self._first_levels(1, 1)  # enough for a leaf
        self.top = np.zeros(1, np.int64)
        self.others = np.zeros((0, 2), np.int64)  # where other shards are
        self.most = 0  # splits of a part at the root; 0: no thresholds are excluded
        # Evaluated splits, swept features, blocks looked into; then proven, and whether it ended.
        self._progress = np.zeros(5, np.int64)
        if depth == 0:
            self._progress[3:] = leaf, 1
        self.table: Table | None = None
        self._filled = 0
        self.compile_seconds = 0.0
        if depth > 0:
            self.compile_seconds = self._compile()
            # `restore_parts` looks at the types of the same arrays.
            self._search = unchecked(best_first_search.step)
        if state is not None:
            self._restore(state)
        self.propagate_bounds()

    def _weigh_rows(self) -> None:
        """The rows of the search: one for each class of a distinct row."""
        places = np.flatnonzero(self.counts)
        self.rows, self.classes = np.divmod(places, self.counts.shape[1])
        weights = self.counts.take(places)
        self.unit = int(np.gcd.reduce(weights))  # binary digits of weights cost time
        self.weights = weights // self.unit
        totals = np.ascontiguousarray(self.counts.T).sum(axis=1)
        self.leaf_errors = int(totals.sum() - totals.max())
        self.sizes = sorted_table.sizes_of(self.arities, self.classes, self.weights)

    @property
    def _prices(self) -> tuple[int, ...]:
        """The parameters that a state must agree with."""
        return self.params[:3]

    @property
    def _floors(self) -> int:
        """Number of levels."""
        return max(self.depth - 1, 1)

    @property
    def is_limited(self) -> bool:
        """Whether there is a limit on splits, beyond that on depth."""
        return bool(self.splits < 2**self.depth - 1)

    @property
    def _allotments(self) -> int:
        """At most so many ways to share out splits to the two parts of a threshold."""
        return min(self.splits, 2 ** (self.depth - 1)) if self.is_limited else 1

    def _first_levels(self, number: int, points: int) -> Levels:
        levels = new_levels(len(self.arities), number, points, self._allotments)
        levels.tries[:] = -1
        levels.tree[:] = -1
        frame = START, self.depth, self.splits, self.leaf, self.leaf, self.params.min_leaf
        levels.frame[0, [PHASE, DEPTH, BUDGET, LIMIT, LEAF, RELAX]] = frame
        return levels

    def _compile(self) -> float:
        """Compile the kernels for arrays of the types that the search will have."""
        if is_compiled(best_first_search.restore_parts):  # the last of them
            return 0.0
        small = [1, padded_length(1), 1, 1]
        mine = sorted_table.new_table([max(self.arities)], small)
        parts, one = new_parts(small, 1), Part(*(array[0] for array in new_parts(small, 1)))
        scratch, levels = new_sweep(small), new_levels(1, 1, 1)
        codes, order = np.zeros((1, 1), np.int32), np.zeros(1, np.int32)
        tree, line = levels.tree[0], np.zeros(1, np.int64)
        arguments = mine, self.params, parts, scratch, levels, self.top, self.others, nothing(1)
        return (
            ensure_compiled(
                sorted_table.fill, mine, one, codes, order, self.classes, self.weights, 0, 0
            )
            + ensure_compiled(best_first_search.step, *arguments, 0, 0, 0)
            + ensure_compiled(read_tree, tree, codes, tree, 0, line, line, tree, tree)
            + ensure_compiled(best_first_search.restore_parts, mine, parts, levels, self.top)
        )

    def step(self, iterations: int, target_cost: int) -> int:
        """See :class:`solver.engine.driver.Engine`; an iteration evaluates a threshold."""
        if self._ended:
            return PROVEN
        if self.table is None:
            return FULL
        if self._filled < len(self.arities):
            self._fill_some()
        if self._filled < len(self.arities):
            return RUNNING
        outcome = self._search(
            self.table, self.params, self.parts, self.scratch, self.levels, self.top,
            self.others, self.known, self.most, iterations, target_cost,
        )  # fmt: skip
        self._progress[:3] = self.scratch.evaluations
        self._progress[4] = outcome == PROVEN
        return outcome

    def _fill_some(self) -> None:
        """Sort some rows, as many as a slice has time for."""
        assert self.table is not None
        whole = Part(*(array[0] for array in self.parts))
        order = np.empty(len(self.rows), np.int32)
        cost = len(self.arities) * len(self.rows)
        begin = self._filled
        self._filled = min(begin + max(1, _FILLED // cost), len(self.arities))
        sorted_table.fill(
            self.table, whole, self._columns, order, self.classes, self.weights, begin, self._filled
        )
        if self._filled == len(self.arities):
            del self._columns
            best_first_search.restore_parts(self.table, self.parts, self.levels, self.top)

    def propagate_bounds(self) -> None:
        """Take the least bound of the intervals left at the root."""
        frame, bound = self.levels.frame[0], self.upper_bound
        if not self._ended:
            if frame[PHASE] in (START, OPENING):
                bound = 0
            if frame[PHASE] == CHILD:
                bound = min(bound, int(frame[BOUND]))
            if frame[QUEUED]:
                bound = min(bound, int(self.levels.bound[0, self.levels.heap[0, 0]]))
        self._progress[3] = max(int(self._progress[3]), bound)

    @property
    def _ended(self) -> bool:
        return bool(self._progress[4])

    @property
    def lower_bound(self) -> int:
        """No tree costs less, see :meth:`propagate_bounds`."""
        return int(self._progress[3])

    @property
    def _best_level(self) -> int:
        """The level with the best tree.

        While a level looks for a first tree, the next one works on the same rows.
        """
        frame, level, best = self.levels.frame, 0, 0
        while level < self.top[0] and frame[level, PHASE] == OPENING:
            level += 1
            if frame[level, LIMIT] < frame[best, LIMIT]:
                best = level
        return best

    @property
    def upper_bound(self) -> int:
        return int(self.levels.frame[self._best_level, LIMIT])

    @property
    def iterations(self) -> int:
        """Thresholds evaluated: the best stumps, or a bound on them, of both their parts."""
        return int(self._progress[0])

    @property
    def nodes(self) -> int:
        """The same."""
        return self.iterations

    @property
    def threshold_work(self) -> int:
        """The work of evaluating a threshold, about in operations on words."""
        return max(self.codes.size // 16, 1)

    @property
    def work(self) -> int:
        """The work so far."""
        return self.iterations * self.threshold_work

    @property
    def looks_beside(self) -> bool:  # type: ignore[override]
        """As :class:`solver.engine.driver.Engine`."""
        return self.depth >= LEAST_DEPTH and not self.is_limited

    @property
    def rollout_work(self) -> int:
        """As :class:`solver.engine.driver.Engine`."""
        return lookahead_work(self.work)

    @property
    def bytes(self) -> int:
        own = bytes_of(self.levels)
        return own if self.table is None else own + self.table_bytes

    @cached_property
    def table_bytes(self) -> int:
        """Memory of the arrays of the rows, to be known before they are made."""
        one = sum(8 * math.prod(shape) for shape in part_sizes(self.sizes))
        scratch = 8 * sum(sweep_sizes(self.sizes))
        cells = len(self.rows) * len(self.arities)
        parts, columns = self._floors * one, 4 * cells
        return sorted_table.table_bytes(self.arities, self.sizes) + parts + scratch + columns

    def grow(self, limit: int | None) -> bool:
        if self.table is None:
            points = _POINTS if self.levels.code.size == 1 else 0
            if limit is not None:
                if self.bytes + self.table_bytes + self._level_bytes(points) > limit:
                    return False
            self._make_table()
            if points:
                self.levels = self._first_levels(self._floors, points)
            return True
        points = 2 * self.levels.code.shape[1]
        if limit is not None and self.bytes + self._level_bytes(points) > limit:
            return False
        self.levels = grown(self.levels, self._allotments)
        return True

    def _level_bytes(self, points: int) -> int:
        """Memory of new levels with room for this many thresholds, or none."""
        shapes = level_shapes(len(self.arities), self._floors, points, self._allotments)
        return sum(8 * math.prod(shape) for shape in shapes) if points else 0

    def _make_table(self) -> None:
        self.table = sorted_table.new_table(self.arities, self.sizes)
        self.parts = new_parts(self.sizes, self._floors)
        self.scratch: Sweep = new_sweep(self.sizes)
        self.scratch.evaluations[:] = self._progress[:3]
        self._columns = np.ascontiguousarray(self.codes[self.rows].T, np.int32)

    def state(self) -> dict[str, NDArray[Any]]:
        """All that the search needs to continue, without arrays that follow from the rows."""
        return {
            **self.levels._asdict(),
            "top": self.top,
            "progress": self._progress,
            "params": np.array(self._prices, np.int64),
            "problem": np.array(self.digest()),
        }

    def _restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Continue from a state."""
        check_search(state, set(QuantEngine.state(self)), self.digest(), self._prices)
        code = state["code"]
        points = code.shape[1] if code.ndim == 2 else 0
        # One that has not begun has but a leaf.
        floors = self._floors if points > 1 else 1
        levels = new_levels(len(self.arities), floors, points, self._allotments)
        arrays = {**levels._asdict(), "top": self.top, "progress": self._progress}
        for name, array in arrays.items():
            if state[name].shape != array.shape or state[name].dtype != array.dtype:
                raise InputError("the state's arrays do not fit; it is damaged")
            array[:] = state[name]
        self.levels = levels
        if levels.frame[0, [DEPTH, BUDGET]].tolist() != [self.depth, self.splits]:
            raise InputError("the state is that of a search with another limit on depth or splits")

    def shape(self) -> Shape:
        tree = self.levels.tree[self._best_level]
        if tree[0, 0] < 0:
            return -1
        n, classes = self.counts.shape
        found = np.zeros((2 * len(tree) + 1, 4), np.int64)
        order, links = np.empty(n, np.int64), np.empty(n + max(self.arities), np.int64)
        weights, least = np.empty((2, classes), np.int64), self.params.min_leaf * self.unit
        read_tree(tree, self.codes, self.counts, least, order, links, weights, found)
        return self._read(found, 0)[0]

    def _read(self, found: Ints, at: int) -> tuple[Shape, int]:
        """A subtree, and its class if it is a leaf, else −1; see :func:`read_tree`.

        Of two leaves with the same class only one is left.
        """
        feature, code, _, _ = found[at].tolist()
        if feature == -1:
            return -1, code
        if feature == -2:
            return self._read(found, code)
        left, left_class = self._read(found, 2 * at + 1)
        right, right_class = self._read(found, 2 * at + 2)
        if left_class == right_class >= 0:
            return -1, left_class
        first = sum(self.arities[:feature]) - feature
        return (first + code, (left, right)), -1
