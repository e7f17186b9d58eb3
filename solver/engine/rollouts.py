"""Good trees soon: at every split, look how cheap the trees of its children can become.

The value of a split is first the cost of the greedy trees of its children (a rollout). The best
tree that a wider search finds is the value of a split in a still wider one (nested rollouts).

References
----------
Bertsekas, Tsitsiklis & Wu (1997), "Rollout algorithms for combinatorial optimization"; Cazenave
(2009), "Nested Monte-Carlo search".
"""

from __future__ import annotations

from collections.abc import Generator

import numpy as np

from solver.engine.good_trees import GoodTrees
from solver.engine.greedy_kernel import (
    LENGTH,
    WORK,
    GreedySpace,
    all_rows,
    bytes_of_space,
    fill_masks,
    grow_greedy,
    new_space,
    places_of,
    price_splits,
    work_of_a_branch,
)
from solver.engine.growable_arrays import bytes_of
from solver.engine.tree_constraints import TreeConstraints
from solver.kernels.constants import Ints, Words
from solver.kernels.jit import ensure_compiled
from solver.kernels.packed_rows import Table, tabulate
from solver.objective.exact_objective import INFINITE, CostScale
from solver.problem.problem import Problem
from solver.trees.tree import Shape, shape_from

Widths = tuple[int, ...]
Costed = tuple[int, bytes]
"""A cost and its tree: the features of its splits in preorder, −1 for a leaf, as 64-bit numbers."""
Steps = Generator[None, None, Costed]

STAGES: tuple[Widths, ...] = ((1,), (1, 8), (1, 8, 8), (1, 12, 12), (1, 8, 8, 8), (1, 16, 16, 16))
"""How many splits are tried at each level of nesting; the last number is that of the outermost."""
_LARGEST = 2**25  # work of counting one branch, some 30 ms
_MOST_KEPT = 2**24  # bytes of results that are kept
_OBJECTS = 400  # about the bytes that the objects of a result take
_DEEPEST = 100
_LEAF = np.int64(-1).tobytes()


class Rollouts(GoodTrees):
    """Nested rollouts for as long as they may go on.

    They do nothing where splits are limited in number, and for tables that are very large or take
    more memory than ``room``, in bytes.
    """

    def __init__(
        self,
        problem: Problem,
        cost_scale: CostScale,
        constraints: TreeConstraints,
        room: int | None = None,
    ) -> None:
        table, unit = tabulate(problem)
        self._best: Costed = INFINITE, _LEAF
        self.compile_seconds = 0.0
        self._arities: list[int] = problem.arities.tolist()
        self._split = cost_scale.split
        self._by_depth = constraints.depth < INFINITE
        self._deepest = min(constraints.depth, _DEEPEST)
        self._known = dict[tuple[bytes, int, Widths], Costed]()
        self._priced = dict[tuple[bytes, int], Ints]()
        self._kept = 0
        self._space: GreedySpace | None = None
        is_small = work_of_a_branch(table, problem.n_classes) <= _LARGEST and (
            room is None or bytes_of_space(table, problem.n_classes) + _MOST_KEPT <= room
        )
        if is_small and constraints.budgets == 1:
            space = new_space(
                table, problem.n_classes, cost_scale.split, cost_scale.error, unit, constraints
            )
            places = places_of(table, space.segments)
            self.compile_seconds = _compile(space, table, places)
            fill_masks(space, table, places)
            self._space = space
        self._steps = self._go_wider()

    @property
    def best(self) -> tuple[int, Shape]:
        cost, preorder = self._best
        return cost, shape_from(np.frombuffer(preorder, np.int64).tolist(), self._arities)

    @property
    def work(self) -> int:
        return 0 if self._space is None else int(self._space.status[WORK])

    @property
    def bytes(self) -> int:
        return self._kept + (0 if self._space is None else bytes_of(self._space))

    @property
    def most_bytes(self) -> int:
        return 0 if self._space is None else bytes_of(self._space) + _MOST_KEPT

    def _go_wider(self) -> Generator[None]:
        if self._space is None:
            return
        root = all_rows(self._space)
        for widths in STAGES:
            yield from self._search(root, 0, widths)

    def _search(self, rows: Words, depth: int, widths: Widths) -> Steps:
        """The best tree of a branch that is found with these widths."""
        key = rows.tobytes(), depth if self._by_depth else 0, widths
        known = self._known.get(key)
        if known is None:
            known = yield from (
                self._search_on(rows, depth, widths) if widths else self._grow(rows, depth)
            )
            self._make_room(len(key[0]) + len(known[1]))
            self._known[key] = known
        if depth == 0 and known[0] < self._best[0]:
            self._best = known
        return known

    def _search_on(self, rows: Words, depth: int, widths: Widths) -> Steps:
        best = yield from self._search(rows, depth, widths[:-1])
        if best[0] <= 2 * self._split or depth >= self._deepest:
            return best
        costs = yield from self._price(rows, depth)
        order = np.argsort(costs, kind="stable")[: widths[-1]].tolist()
        order = [feature for feature in order if costs[feature] < INFINITE]
        for feature in order:
            tried = yield from self._split_on(rows, depth, feature, widths[:-1], best[0])
            best = min(best, tried, key=lambda costed: costed[0])
            if depth == 0 and best[0] < self._best[0]:
                self._best = best
        if best[1] == _LEAF:
            return best
        # The children of the best split are searched as widely as their parent.
        first = int(np.frombuffer(best[1], np.int64, 1)[0])
        tried = yield from self._split_on(rows, depth, first, widths, best[0])
        return min(best, tried, key=lambda costed: costed[0])

    def _split_on(self, rows: Words, depth: int, feature: int, widths: Widths, goal: int) -> Steps:
        """The best tree that is found with this split; it is left as soon as it cannot cost less
        than ``goal``."""
        cost, preorder = self._split, [np.int64(feature).tobytes()]
        for code in range(self._arities[feature]):
            if cost >= goal:
                return INFINITE, _LEAF
            child = self._child(rows, feature, code)
            more, tree = yield from self._search(child, depth + 1, widths)
            yield  # what is known already takes time, too, where a feature has many codes
            cost += more
            preorder.append(tree)
        return cost, b"".join(preorder)

    def _child(self, rows: Words, feature: int, code: int) -> Words:
        """The rows of a child."""
        space = self._room
        first, end = int(space.columns[feature]), int(space.columns[feature + 1])
        masks = space.masks.reshape(-1, space.stride)
        if code > 0:
            return np.asarray(rows & masks[:, first + code - 1])
        return np.asarray(rows & ~np.bitwise_or.reduce(masks[:, first:end], axis=1))

    def close(self) -> None:
        self._space, self._kept = None, 0
        self._known.clear()
        self._priced.clear()
        self._steps.close()

    @property
    def _room(self) -> GreedySpace:
        assert self._space is not None
        return self._space

    def _grow(self, rows: Words, depth: int) -> Steps:
        """The greedy tree of a branch."""
        cost = grow_greedy(self._room, rows, depth)
        preorder = self._room.features[: self._room.status[LENGTH]].tobytes()
        yield
        return int(cost), preorder

    def _price(self, rows: Words, depth: int) -> Generator[None, None, Ints]:
        """The costs of all splits whose children have greedy trees."""
        key = rows.tobytes(), depth if self._by_depth else 0
        costs = self._priced.get(key)
        if costs is None:
            costs, child = np.zeros(len(self._arities), np.int64), 0
            while child < self._room.values[-1]:
                child = price_splits(self._room, rows, depth, child, costs)
                yield
            self._make_room(len(key[0]) + costs.nbytes)
            self._priced[key] = costs
        return costs

    def _make_room(self, size: int) -> None:
        """Have room for a result of so many bytes, if need be by forgetting the others."""
        self._kept += size + _OBJECTS
        if self._kept > _MOST_KEPT:
            self._known.clear()
            self._priced.clear()
            self._kept = size + _OBJECTS


def _compile(space: GreedySpace, table: Table, places: Ints) -> float:
    words, ints = np.zeros(1, np.uint64), np.zeros(1, np.int64)
    return (
        ensure_compiled(fill_masks, space, table, places)
        + ensure_compiled(grow_greedy, space, words, 0)
        + ensure_compiled(price_splits, space, words, 0, 0, ints)
    )
