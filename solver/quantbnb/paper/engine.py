"""The paper's search as an engine: costs on the problem's scale, slices, and counts."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solver.engine.driver import Engine
from solver.errors import InputError
from solver.kernels.constants import FULL, PROVEN, RUNNING
from solver.kernels.jit import ensure_compiled
from solver.objective.exact_objective import CostScale, SquaredCostScale
from solver.quantbnb.paper import box_bounds
from solver.quantbnb.paper.any_depth import PaperSearch
from solver.quantbnb.paper.depth_one_and_two import Found
from solver.quantbnb.paper.state import (
    BOUNDS,
    BOXES,
    ITERATIONS,
    ROWS,
    STUMPS,
    Params,
    Table,
    all_boxes,
    new_answers,
)
from solver.quantbnb.paper.tree_cost import Priced, priced
from solver.trees.tree import Shape

_EXACT = 2**53


class PaperEngine(Engine):
    """One search in mode ``paper``.

    The kernels compute in doubles. In classification all costs are whole numbers below 2⁵³, so the
    search is exact; in regression they are rounded within the tolerance of the cost scale.

    Parameters
    ----------
    table : Table
        From ``tabulate_classes`` or ``tabulate_squares``.
    depth, min_leaf : int
        Longest path of the tree, and smallest weight of a leaf.
    bound : str
        The lower bound, one of :data:`solver.quantbnb.paper.state.BOUNDS`.
    pieces : int
        The paper's ``s``, at least 2.
    initial_tree : Shape, optional
        A tree within the limits; the paper uses CART's. None: grow one by the best stumps, which in
        regression is CART.
    room : int, optional
        Bytes that it may take before it must ask.

    Raises
    ------
    InputError
        If costs would not be exact.
    """

    def __init__(
        self,
        table: Table,
        arities: NDArray[np.int64],
        cost_scale: CostScale | SquaredCostScale,
        depth: int,
        min_leaf: int = 1,
        bound: str = "w1",
        pieces: int = 3,
        initial_tree: Shape | None = -1,
        room: int | None = None,
    ) -> None:
        self.table, self.arities = table, np.asarray(arities, np.int64)
        self.cost_scale, self.bound, self.depth = cost_scale, bound, depth
        self.tie, error, split = _scaled_costs(cost_scale, table, depth)
        self.params = Params(error, split, float(min_leaf), pieces, BOUNDS.index(bound))
        self.compile_seconds = _compile(table, self.arities, self.params)
        self.search = PaperSearch(table, self.arities, self.params)
        if room is not None:
            self.search.allowed = min(self.search.allowed, room)
        if initial_tree is None and len(self.arities):
            initial_tree = self.search.greedy(self.search.order, depth).shape
        self._best = min(self._priced(-1), self._priced(initial_tree or -1), key=self._cost)
        self._lower, self._ended = 0.0, False
        self._work = self.search.solve(
            self.search.order, depth, self._cost(self._best), self._report
        )

    def _priced(self, shape: Shape) -> Priced:
        return priced(self.table, self.search.first_cut, shape)

    def _cost(self, tree: Priced) -> float:
        return self.params.error * tree.loss + self.params.split * tree.splits

    def _report(self, found: Found, bound: float) -> None:
        """Take the results of the search."""
        if found.shape is not None:
            tree = self._priced(found.shape)
            self._best = min(self._best, tree, key=self._cost)
        self._lower = max(self._lower, bound)

    @property
    def upper_bound(self) -> float:
        """The cost of the best tree; a whole number in classification."""
        if isinstance(self.cost_scale, CostScale):
            return self.cost_scale.cost(int(self._best.loss), self._best.splits)
        return self._cost(self._best)

    @property
    def lower_bound(self) -> float:
        """The lower bound of all trees; below the best cost until the search has ended.

        When it is asked for depends on the clock, which must not choose how far the search goes.
        """
        if self._ended:
            return self.upper_bound
        if isinstance(self.cost_scale, CostScale):
            # Whole multiples of the tie: see CostScale.lower_bound.
            scaled = int(min(self._lower, self._cost(self._best))) // self.tie
            return max(min(scaled * self.cost_scale.tie, self.upper_bound - 1), 0)
        return max(min(self._lower, math.nextafter(self.upper_bound, -math.inf)), 0.0)

    @property
    def iterations(self) -> int:
        """Cuts and terms of lower bounds weighed."""
        return int(self.search.stats[ITERATIONS])

    @property
    def nodes(self) -> int:
        """Boxes taken up."""
        return int(self.search.stats[BOXES])

    @property
    def bytes(self) -> int:
        """Memory of all arrays, where it was the most."""
        return self.search.fixed_bytes + self.search.most_held

    def shape(self) -> Shape:
        return self._best.shape

    def step(self, iterations: int, target_cost: float) -> int:
        """Do some iterations; see :meth:`solver.engine.driver.Engine.step`."""
        if self._ended or self.upper_bound <= target_cost:
            return PROVEN
        self.search.refresh(iterations)
        try:
            next(self._work)
        except StopIteration as end:
            self._report(end.value, 0.0)
            self._ended = True
            return PROVEN
        if self.search.full:
            self.search.full = False
            return FULL
        return PROVEN if self.upper_bound <= target_cost else RUNNING

    def grow(self, limit: int | None) -> bool:
        """Allow more memory; False if that would exceed ``limit`` bytes."""
        allowed = 2 * max(self.search.allowed, self.bytes)
        if limit is not None:
            allowed = min(allowed, limit)
        if allowed <= max(self.search.allowed, self.bytes):
            return False
        self.search.allowed = allowed
        return True

    @property
    def extra(self) -> dict[str, Any]:
        """The counts of Table 3, as plain data.

        ``boxes`` taken up, ``stumps`` (the L1(I, f) computed), ``rows`` read for them, and
        ``alive``, the sizes of the paper's AL(k).
        """
        stats = self.search.stats
        return {
            "mode": "paper",
            "bound": self.bound,
            "boxes": int(stats[BOXES]),
            "stumps": int(stats[STUMPS]),
            "rows": int(stats[ROWS]),
            "alive": list(self.search.generations),
        }


def _scaled_costs(
    cost_scale: CostScale | SquaredCostScale, table: Table, depth: int
) -> tuple[int, float, float]:
    """CostScale for doubles: the tie is only as large as the number of splits asks for."""
    if isinstance(cost_scale, SquaredCostScale):
        return 1, 1.0, cost_scale.split
    tie = min(2 ** min(depth, 62), cost_scale.tie)
    error = tie * (cost_scale.error // cost_scale.tie)
    split = tie * (cost_scale.split // cost_scale.tie) + 1
    if error * cost_scale.total_weight + tie * split >= _EXACT:
        raise InputError(
            f"mode paper computes in doubles, and λ = {cost_scale.lam} with a total weight of "
            f"{cost_scale.total_weight} needs more than 53 bits; write λ with fewer digits, or use "
            "mode fast"
        )
    return tie, float(error), float(split)


def _compile(table: Table, arities: NDArray[np.int64], params: Params) -> float:
    """Compile all kernels; the seconds it took."""
    search = PaperSearch(table, arities, params)
    common = (table, params, search.scratch)
    boxes, counts = all_boxes(arities), np.zeros(3, np.int64)
    answers = new_answers(boxes.size, len(arities), params.pieces)
    return (
        ensure_compiled(box_bounds.leaf_costs, *common, search.stats.astype(np.int32))
        + ensure_compiled(box_bounds.best_stump, *common, search.stats, search.order, counts)
        + ensure_compiled(
            box_bounds.evaluate,
            *common,
            search.stats,
            search.order,
            boxes,
            answers,
            counts,
            True,
            0,
            0,
        )
    )
