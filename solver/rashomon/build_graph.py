"""Builds the graph of a Rashomon set: slices, limits, and memory that grows."""

from __future__ import annotations

import time
from fractions import Fraction
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from solver.engine.growable_arrays import within_memory
from solver.errors import InputError
from solver.kernels.constants import FULL, PROVEN
from solver.kernels.hash_tables import fill_slots, slots_for
from solver.kernels.jit import ensure_compiled
from solver.limits import Limits
from solver.monitor import Monitor, Snapshot
from solver.objective.integer_weights import least_weight
from solver.problem.problem import Problem
from solver.rashomon.kernels.counting import count_trees, make_cells
from solver.rashomon.kernels.expand_graph import SIZE, Graph, enter_root, expand_graph, make_graph
from solver.rashomon.kernels.state import (
    EXPANDED,
    NO_LIMIT,
    NODES,
    SLICE_END,
    Memo,
    make_frames,
    make_space,
)
from solver.solution import Solution, Status

_SLICE = 256


class LimitError(InputError):
    """A limit is reached before all good trees are found; ``status`` says which one."""

    def __init__(self, status: Status, message: str) -> None:
        super().__init__(message)
        self.status = status


class Prices(NamedTuple):
    """The integer costs of a unit of weight in error, and of a split."""

    error: int
    split: int
    total_weight: int

    @classmethod
    def of(cls, lam: Fraction, total_weight: int) -> Prices:
        """The smallest ones at a λ.

        Raises
        ------
        InputError
            If sums of them do not fit into 64-bit integers.
        """
        price = lam * total_weight
        prices = cls(price.denominator, price.numerator, total_weight)
        if prices.error * total_weight + 2 * prices.split >= 2**60:
            raise InputError(
                f"λ = {lam} with a total weight of {total_weight} needs integers beyond 64 bits; "
                "write λ with fewer digits or use smaller weights"
            )
        return prices

    def budget(self, most: Fraction) -> int:
        """The most that a tree with an objective of ``most`` or less costs."""
        return int(most * self.error * self.total_weight)


class Search:
    """The search for all good trees of a problem.

    Parameters
    ----------
    problem : Problem
    lam : Fraction
    limits : Limits
        Of seconds, bytes, nodes, depth and the size of leaves.
    monitor : Monitor
        Asked between slices whether to stop, and told how far the search is.
    best : Solution
        An optimal tree.
    seconds : float
        What was spent before; the limit of seconds holds for all together.
    """

    def __init__(
        self,
        problem: Problem,
        lam: Fraction,
        limits: Limits,
        monitor: Monitor,
        best: Solution,
        seconds: float,
    ) -> None:
        prices = Prices.of(lam, problem.total_weight)
        self.problem, self.prices, self.monitor, self.best = problem, prices, monitor, best
        self.limits = within_memory(limits)
        min_leaf = max(
            1, least_weight(limits.min_leaf_size or 0, problem.weight_scale, problem.weight_error)
        )
        most = prices.error * problem.total_weight
        self.space = make_space(problem, *prices[:2], min_leaf, self._levels(most))
        everything = np.full(-(-len(problem.codes) // 64) * 64, False)
        everything[: len(problem.codes)] = True
        self.space.memo.sets[0] = np.packbits(everything, bitorder="little").view(np.uint64)
        self.graph = self._new_graph()
        left = NO_LIMIT if limits.depth is None else limits.depth
        self._root = left
        self._compile()
        self._began = time.perf_counter() - seconds
        self._told = self._began

    def _levels(self, most: int) -> int:
        """Splits that a path of a tree within a cost may have, and two more."""
        levels = len(self.problem.codes)
        if self.prices.split:
            levels = min(levels, most // self.prices.split)
        return levels + 2

    def _new_graph(self) -> Graph:
        room, arity = len(self.space.memo.hashes), self.problem.max_arity
        return make_graph(room, len(self.problem.codes), arity)

    def _compile(self) -> None:
        ensure_compiled(enter_root, self.space, self.graph, self._root, 0)
        ensure_compiled(expand_graph, self.space, self.graph)
        ensure_compiled(fill_slots, self.space.slots, self.space.memo.hashes, 0)
        cells = make_cells(self.graph, 1, 1, np.zeros(1, np.int64))
        ensure_compiled(count_trees, self.space, self.graph, cells, np.uint64(0), 1)

    def expand(self, most: Fraction) -> None:
        """Build the graph of all trees with an objective of ``most`` or less.

        What an earlier call has proven of subproblems is used again.
        """
        budget = self.prices.budget(most)
        self.space = self.space._replace(frames=make_frames(self._levels(budget), self.problem))
        if self.space.used[NODES]:
            self.graph = self._new_graph()
            self.graph.budget[0], self.graph.following[0] = budget, -1
            self.graph.heads[-1] = 0
            self.graph.used[SIZE] = len(self.graph.heads) - 1
        else:
            enter_root(self.space, self.graph, self._root, budget)
        status = FULL + 1
        while status != PROVEN:
            self.check_limits()
            self.space.used[SLICE_END] = self.space.used[EXPANDED] + _SLICE
            status = expand_graph(self.space, self.graph)
            if status == FULL:
                self.check_limits()
                self._grow()

    @property
    def seconds(self) -> float:
        """Of all searches, without compilation."""
        return time.perf_counter() - self._began

    def check_limits(self) -> None:
        """Raise LimitError if a limit is reached, InputError if the search is to be stopped."""
        limits, nodes, now = self.limits, int(self.space.used[NODES]), time.perf_counter()
        if self.monitor.stop():
            raise InputError("the search for good trees was stopped before its end")
        if self.monitor.snapshot is not None and now > self._told + self.monitor.interval:
            self._told, best = now, self.best
            tree, proven = best.tree, best.objective
            iterations = int(self.space.used[EXPANDED])
            self.monitor.snapshot(Snapshot(tree, proven, proven, self.seconds, iterations, nodes))
        if limits.seconds is not None and self.seconds > limits.seconds:
            self._end(Status.TIME_LIMIT, f"{limits.seconds} s")
        if limits.nodes is not None and nodes > limits.nodes:
            self._end(Status.NODE_LIMIT, f"{limits.nodes} nodes")
        if self.bytes + self._added() > (limits.bytes or 0):
            self._end(Status.MEMORY_LIMIT, f"{limits.bytes} bytes")

    def _end(self, status: Status, limit: str) -> NoReturn:
        nodes = int(self.space.used[NODES])
        raise LimitError(
            status,
            f"not all good trees are found within the limit of {limit} ({nodes} subproblems so "
            "far); raise the limit, take a larger λ, a smaller tolerance or a limit on depth",
        )

    @property
    def bytes(self) -> int:
        """Memory of the memo and the graph."""
        arrays = [*self.space.memo, *self.graph, self.space.slots, self.space.points.masks]
        return sum(array.nbytes for array in arrays)

    @property
    def _memo_is_full(self) -> bool:
        return int(self.space.used[NODES]) + 2 >= len(self.space.memo.hashes)

    def _added(self) -> int:
        """The memory that the next step adds."""
        return sum(array.nbytes for array in self.space.memo) if self._memo_is_full else 0

    def _grow(self) -> None:
        """Double what is full."""
        memo, graph = self.space.memo, self.graph
        if self._memo_is_full:
            room = 2 * len(memo.hashes)
            slots = np.full(slots_for(room), -1, np.int64)
            memo = Memo(*(_longer(array, room) for array in memo))
            fill_slots(slots, memo.hashes, int(self.space.used[NODES]))
            self.space = self.space._replace(memo=memo, slots=slots)
            self.graph = graph._replace(
                budget=_longer(graph.budget, room, -1),
                following=_longer(graph.following, room),
                order=_longer(graph.order, room),
                ends=_longer(graph.ends, room),
            )
            return
        self.graph = graph._replace(
            feature=_longer(graph.feature, 2 * len(graph.feature)),
            first_child=_longer(graph.first_child, 2 * len(graph.feature)),
            children=_longer(graph.children, 2 * len(graph.children)),
        )


def _longer(array: NDArray[Any], length: int, fill: int = 0) -> NDArray[Any]:
    longer = np.full((length, *array.shape[1:]), fill, array.dtype)
    longer[: len(array)] = array
    return longer
