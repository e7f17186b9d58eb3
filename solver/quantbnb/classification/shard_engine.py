"""The engine of a shard: some of the thresholds of every feature at the root."""

from __future__ import annotations

from typing import Any

import numpy as np

from solver.kernels.constants import Ints
from solver.objective.exact_objective import INFINITE
from solver.quantbnb.classification.engine import QuantEngine
from solver.quantbnb.classification.state import LIMIT, Levels
from solver.search_shards import Shard
from solver.trees.tree import Shape


class QuantShardEngine(QuantEngine):
    """The search for trees that begin with some of the thresholds.

    The thresholds of each feature are dealt out in ranges of about equal weight. The lowest range
    of the next feature belongs to the next shard, so no shard has the middle of all features. Every
    shard finds the best tree of less depth itself. It looks for nothing that costs as much as a
    tree from another shard.
    """

    proves_fewest_splits = True  # else, at λ = 0, a tree's size would depend on who finds one first

    def __init__(self, *parts: Any, shard: Shard) -> None:
        self.shard = shard
        self.given: tuple[int, Shape] | None = None
        self._cap = INFINITE  # what the limit at the root was lowered to for a given tree
        super().__init__(*parts)

    def _first_levels(self, number: int, points: int) -> Levels:
        levels = super()._first_levels(number, points)
        for feature in range(len(self.arities)):
            levels.own[0, feature] = self._range(feature)
        if self.given is not None:
            levels.frame[0, LIMIT] = min(levels.frame[0, LIMIT], self._cap)
        return levels

    def _range(self, feature: int) -> tuple[int, int]:
        """The first and the last code of the own thresholds; 0 and INFINITE: there is no other
        shard's beyond. No threshold lies between 1 and 0."""
        weights = np.zeros(self.arities[feature] + 1, np.int64)
        np.add.at(weights, self.codes[self.rows, feature] + 1, self.weights)
        below: Ints = np.cumsum(weights)
        number = self.shard.number
        ranges = np.minimum((below[1:-1] / below[-1] * number).astype(np.int64), number - 1)
        own = np.flatnonzero((ranges + feature) % number == self.shard.index) + 1
        if not len(own):
            return 1, 0
        ends = int(own[0]), int(own[-1])
        return ends[0] if ends[0] > 1 else 0, ends[1] if ends[1] < len(ranges) else INFINITE

    def use(self, cost: float, shape: Shape, given: bool) -> None:
        """As :class:`solver.engine.driver.Engine`; it looks for nothing that costs as much."""
        if not given or (self.given is not None and cost >= self.given[0]):
            return
        self.given = int(cost), shape
        if cost < self.levels.frame[0, LIMIT]:
            self.levels.frame[0, LIMIT] = self._cap = int(cost)

    @property
    def upper_bound(self) -> int:
        """The cost of the best tree, the given one included."""
        own = super().upper_bound
        return own if self.given is None else min(own, self.given[0])

    @property
    def found(self) -> bool:
        """Whether the best tree is one of the shard's own."""
        return super().upper_bound < self._cap

    def shape(self) -> Shape:
        return super().shape() if self.given is None or self.found else self.given[1]

    def state(self) -> None:  # type: ignore[override]
        """None: a shard begins again, with the best tree that the others know."""
        return None
