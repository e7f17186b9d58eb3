"""The engine of proper trees: owns the arrays, finds the rules, then the best tree."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solver.engine.driver import Engine
from solver.engine.growable_arrays import bytes_of
from solver.engine.tree_constraints import TreeConstraints
from solver.kernels.constants import FULL, PROVEN, RUNNING, Words
from solver.kernels.jit import ensure_compiled, unchecked
from solver.kernels.packed_rows import packed
from solver.objective.exact_objective import INFINITE, CostScale, SquaredCostScale
from solver.problem.problem import Problem
from solver.proper import branch_and_bound
from solver.proper.branch_and_bound import EVALUATED, HITS, LOOKUPS, REGIONS, ROOTS
from solver.proper.dichotomies import Cuts, Dichotomies, Finder
from solver.proper.error_costs import ErrorCosts
from solver.proper.integer_points import Points
from solver.proper.separating_tests import Partition
from solver.proper.squared_costs import SquaredCosts
from solver.proper.state import (
    AT,
    BEST,
    COST,
    DEPTH,
    FLOOR,
    LEFT,
    LIMIT,
    SIZE,
    SPLITS,
    Levels,
    Memo,
    Params,
    Scratch,
    levels_bytes,
    memo_bytes,
    new_levels,
    new_memo,
    new_scratch,
)
from solver.search_shards import Shard
from solver.trees.tree import Shape, Tree, shape_of

FAMILIES = "axis", "hyperplane", "polynomial", "mixed"

_TRIANGLE = np.array([[0, 0], [0, 1], [1, 0]], dtype=object)
_WALK = 2**20  # products of a slice
_REMEMBERED = 2**16  # regions in the memo


class ProperEngine(Engine):
    """One search for the best tree of at most ``splits`` splits by rules of a family.

    ``family`` is one of :data:`FAMILIES`, ``degree`` that of its surfaces. Only the rules of the
    shard may be at the root. ``memo`` remembers regions; ``realise`` turns a partition into a
    shape.

    Raises
    ------
    InputError
        If a column lacks numbers that the family needs, or there are too many. In regression also
        if rows are too many, or weights too uneven.
    """

    proves_fewest_splits = True

    def __init__(
        self,
        problem: Problem,
        cost_scale: CostScale | SquaredCostScale,
        constraints: TreeConstraints,
        splits: int,
        family: str,
        degree: int,
        shard: Shard,
        memo: bool,
        realise: Callable[[Partition], Shape],
    ) -> None:
        self.shard, self.realise = shard, realise
        self.costs: ErrorCosts | SquaredCosts
        self.depth = min(constraints.depth, INFINITE)
        splits = min(splits, (1 << self.depth) - 1) if self.depth < 30 else splits
        if isinstance(cost_scale, CostScale):
            self.costs = ErrorCosts(problem, cost_scale)
        else:
            self.costs = SquaredCosts(problem, cost_scale, splits)
        squares = self.squares = isinstance(self.costs, SquaredCosts)
        self._load = branch_and_bound.load_squares if squares else branch_and_bound.load
        self._step = branch_and_bound.step_squares if squares else branch_and_bound.step
        self._hear = branch_and_bound.hear_squares if squares else branch_and_bound.hear
        self._add_others = (
            branch_and_bound.add_others_squares if squares else branch_and_bound.add_others
        )
        costs, self.rows, self.points = self.costs, self.costs.rows, len(self.costs.first)
        self.params = Params(
            error=costs.error,
            split=costs.split,
            min_leaf=max(1, -(-constraints.min_leaf // costs.unit)),
            surplus=costs.surplus,
            memo=memo,
        )
        self.splits = min(splits, self.points - 1)
        self.given: tuple[int, Shape] | None = None
        self.leaf = costs.leaf
        self._stages = _stages(problem, family, degree, costs.first) if self.splits > 0 else []
        self._masks = np.zeros((0, self.words), np.uint64)
        self.finder = self._next_stage() if self._stages else None
        self._walked = self._told = 0
        self._heard: list[NDArray[np.int64]] = []
        self._known = [np.zeros((0, 2), np.int64)]
        self._helps = 0
        self.levels: Levels | None = None
        self._least = costs.least(self.splits)
        self._lower_bound = min(self.leaf, self._least)
        self._shape: tuple[Partition, Shape] = -1, -1
        self.compile_seconds = self._compile()
        self._step = unchecked(self._step)  # `load` looks at the types of the same arrays
        if self.finder is not None:
            self.compile_seconds += self.finder.compile_seconds
        if family != "axis":  # of a later stage
            self.compile_seconds += Dichotomies(_TRIANGLE).compile_seconds

    @property
    def words(self) -> int:
        """Words of a mask."""
        return -(-self.points // 64)

    def _compile(self) -> float:
        levels, scratch, memo = self._arrays(1, 1)
        few = np.zeros((0, self.words), np.uint64)
        top = np.zeros(1, np.int64)
        one = self.params, self.rows, levels, scratch
        pairs = np.zeros((0, 2), np.int64)
        return (
            ensure_compiled(self._load, *one, few, 0, 1, 0)
            + ensure_compiled(self._step, *one, memo, top, 0)
            + ensure_compiled(self._hear, self.params, self.rows, levels, pairs)
            + ensure_compiled(self._add_others, *one, 0, 1, False)
        )

    def _arrays(self, room: int, splits: int) -> tuple[Levels, Scratch, Memo]:
        levels = new_levels(max(splits - 1, 1), *self._sizes(room, splits))
        scratch = new_scratch(room, self.words, self.rows.columns)
        return levels, scratch, new_memo(self._remembered, self.words, splits)

    def _sizes(self, room: int, splits: int) -> tuple[int, int, int, int, bool]:
        return room, self.words, self.rows.columns, splits, self.squares

    @property
    def _remembered(self) -> int:
        return _REMEMBERED if self.params.memo else 1

    def _next_stage(self) -> Finder:
        return self._stages.pop(0)(self._masks)

    def use(self, cost: float, tree: Tree, given: bool) -> None:
        """As :class:`solver.engine.driver.Engine`; only trees that cost less are of interest."""
        own = self.costs.inwards(cost)
        if self.given is not None and own >= self.given[0]:
            return
        self.given = own, shape_of(tree)
        if self.levels is None:
            self.splits = min(self.splits, max(1, (own - 1) // self.params.split))
        elif given:
            self.levels.frame[0, LIMIT] = min(self.levels.frame[0, LIMIT], own - 1)

    def learn(self, proven: bytes) -> None:
        """As :class:`solver.engine.driver.Engine`: rules at the root, by their positions, and what
        the best tree with each of them costs at least.

        A shard that knows a tree of cost c looks for fewer splits than another one may. The costs
        that it tells hold for all trees that cost less than c, and c is in one of the merged rows.
        """
        self._heard.append(np.frombuffer(proven, np.int64).reshape(-1, 2))

    def learned(self) -> bytes:
        """The rules that were evaluated at the root."""
        if self.levels is None:
            return b""
        number = int(self.scratch.progress[ROOTS])
        rules = self.scratch.roots[self._told : number]
        self._told = number
        return np.column_stack([rules, self.levels.bound[0, rules]]).astype(np.int64).tobytes()

    def step(self, iterations: int, target_cost: int) -> int:
        """As :class:`solver.engine.driver.Engine`; an iteration evaluates a rule, or finds some."""
        if self._lower_bound >= self._best_cost:
            return PROVEN
        if self.finder is not None:
            return self._find_rules(iterations)
        if self.levels is None:
            return FULL
        outcome = self._evaluate(self.levels, iterations)
        if outcome == PROVEN:
            frame = self.levels.frame[0]
            self._lower_bound = int(min(frame[COST], frame[FLOOR]))
        return outcome

    def _evaluate(self, levels: Levels, iterations: int) -> int:
        if self._heard:
            self._hear(self.params, self.rows, levels, np.concatenate(self._heard))
            self._known += self._heard
            self._heard.clear()
        return int(
            self._step(
                self.params, self.rows, levels, self.scratch, self.memo, self.top, iterations
            )
        )

    def help(self, iterations: int) -> int:
        """As :class:`solver.engine.driver.Engine`; it evaluates rules of other shards at the root.

        First come those of a part of its own, so that two shards seldom evaluate the same one.
        """
        if self.levels is None or self.splits < 2:
            return PROVEN
        outcome = self._evaluate(self.levels, iterations)
        if outcome == PROVEN and self._helps < 2:
            one = self.params, self.rows, self.levels, self.scratch
            self._add_others(*one, self.shard.index, self.shard.number, self._helps == 0)
            self._hear(*one[:3], np.concatenate(self._known))
            self._helps += 1
            return RUNNING
        return outcome

    def _find_rules(self, iterations: int) -> int:
        finder = self.finder
        assert finder is not None
        products = finder.points * (finder.dimensions + 1) + finder.words * 2**finder.dimensions
        steps = _WALK // products + 1
        before = finder.done
        room = finder.step(min(max(steps, iterations), 16 * steps))
        self._walked += finder.done - before
        if not room:
            return FULL
        if finder.ended:
            self._masks = finder.masks
            self.finder = self._next_stage() if self._stages else None
        return RUNNING

    def grow(self, limit: int | None) -> bool:
        if limit is not None:
            limit -= self.rows[0].nbytes
        if self.finder is not None:
            return self.finder.grow(limit)
        room = max(len(self._masks), 1)
        splits = max(self.splits, 1)
        levels = max(splits - 1, 1)
        needed = levels_bytes(levels, *self._sizes(room, splits))
        needed += memo_bytes(self._remembered, self.words, splits)
        if limit is not None and self._masks.nbytes + needed > limit:
            return False
        self.levels, self.scratch, self.memo = self._arrays(room, splits)
        self.top = np.zeros(1, np.int64)
        frame = self.levels.frame[0]
        frame[SPLITS], frame[DEPTH] = self.splits, self.depth
        frame[LIMIT] = INFINITE if self.given is None else self.given[0] - 1
        self.levels.region[0] = packed(np.ones(self.points, bool))
        self._load(
            self.params, self.rows, self.levels, self.scratch, self._masks, self.shard.index,
            self.shard.number, self._least,
        )  # fmt: skip
        return True

    def propagate_bounds(self) -> None:
        """Take the least bound of the rules left at the root."""
        if self.levels is None:
            return
        frame, bound = self.levels.frame[0], self.levels.bound[0]
        left = self.levels.left[0, : frame[LEFT]]
        if frame[AT] >= 0:
            left = np.append(left, frame[AT])
        least = int(bound[left].min(initial=INFINITE))
        self._lower_bound = max(self._lower_bound, min(int(frame[COST]), int(frame[FLOOR]), least))

    @property
    def found(self) -> bool:
        """Whether the best tree is the engine's own."""
        return self.given is None or self._own_cost <= self.given[0]

    @property
    def _own_cost(self) -> int:
        return self.leaf if self.levels is None else int(self.levels.frame[0, COST])

    @property
    def _best_cost(self) -> int:
        return self._own_cost if self.given is None else min(self._own_cost, self.given[0])

    @property
    def lower_bound(self) -> float:
        """No tree of this shard costs less, see :meth:`propagate_bounds`."""
        return self.costs.outwards(self._lower_bound)

    @property
    def upper_bound(self) -> float:
        """The cost of the best tree, the given one included."""
        return self.costs.outwards(self._best_cost)

    @property
    def iterations(self) -> int:
        """Rules found and evaluated."""
        return self._walked + self.nodes

    @property
    def nodes(self) -> int:
        """Rules evaluated."""
        return 0 if self.levels is None else int(self.scratch.progress[EVALUATED])

    @property
    def bytes(self) -> int:
        total = self.rows[0].nbytes + self._masks.nbytes
        if self.finder is not None:
            total += self.finder.bytes
        if self.levels is not None:
            total += bytes_of(self.levels, self.scratch, self.memo.regions, self.memo[1:])
        return total

    @property
    def extra(self) -> dict[str, Any]:
        """The counts of the search."""
        counted: dict[str, Any] = {"rules": len(self._masks), "regions": 0}
        if self.levels is not None:
            progress = self.scratch.progress.tolist()
            counted["regions"] = progress[REGIONS]
            if self.params.memo:
                counted["memo_lookups"] = progress[LOOKUPS]
                counted["memo_hits"] = progress[HITS]
        return counted

    def shape(self) -> Shape:
        if not self.found:
            assert self.given is not None
            return self.given[1]
        partition = self.partition()
        if self._shape[0] != partition:
            self._shape = partition, self.realise(partition)
        return self._shape[1]

    def partition(self) -> Partition:
        """The engine's own best tree."""
        if self.levels is None or self.levels.frame[0, BEST] < 0:
            return -1
        size = int(self.levels.frame[0, SIZE])
        return self._partition(self.levels.tree[0, :size].tolist())

    def _partition(self, tree: list[list[int]]) -> Partition:
        """A tree of rules and of the splits above each, in preorder, see :class:`Levels`."""
        if not tree:
            return -1
        rule, size = tree[0]
        mask = self.costs.mask(int.from_bytes(self._masks[rule >> 1].tobytes(), "little"))
        above, below = self._partition(tree[1 : 1 + size]), self._partition(tree[1 + size :])
        return mask, (above, below) if rule & 1 else (below, above)


def _stages(
    problem: Problem, family: str, degree: int, first: NDArray[np.int64]
) -> list[Callable[[Words], Finder]]:
    """What finds the rules of a family, the simplest first, in addition to those found before.

    ``first`` is a row of the problem for each point.
    """
    stages: list[Callable[[Words], Finder]] = []
    if family in ("axis", "mixed"):
        stages.append(lambda known: Cuts(problem.codes[first]))
    if family == "axis":
        return stages
    points = Points.of(problem)
    if family in ("hyperplane", "mixed"):
        stages.append(lambda known: Dichotomies(points.coordinates[first], known))
    if family in ("polynomial", "mixed"):
        for power in range(2 if family == "mixed" else degree, degree + 1):
            stages.append(
                lambda known, power=power: Dichotomies(points.lifted(power)[first], known)  # type: ignore[misc]
            )
    return stages
