"""The engine of a shard of a regression: some of the cuts of every feature at the root."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from solver.objective.exact_objective import INFINITE
from solver.quantbnb.lookahead_work import last_shard_work
from solver.quantbnb.own_thresholds import own_thresholds
from solver.quantbnb.regression.engine import SquaresEngine
from solver.quantbnb.regression.state import LIMIT
from solver.search_shards import Shard
from solver.trees.tree import Shape, Tree, shape_of


class SquaresShardEngine(SquaresEngine):
    """The search for trees that begin with some of the cuts.

    It looks for nothing that costs as much as a tree from another shard. Cuts are dealt out by
    :func:`solver.quantbnb.own_thresholds.own_thresholds`. See :class:`SquaresEngine` for the
    parameters.
    """

    def __init__(self, *parts: Any, shard: Shard) -> None:
        super().__init__(*parts)
        self.shard = shard
        self.given: tuple[float, Shape] | None = None
        weights = self.sums[:, 0]
        for feature, column in enumerate(self.codes.T):
            below = np.cumsum(np.bincount(column, weights))
            places = np.cumsum(np.bincount(column))
            own = own_thresholds(below[:-1], below[-1], feature, shard)
            first, last = INFINITE, 0  # no cut
            if len(own):  # nobody else has cuts beyond those of 0 and INFINITE
                first = int(places[own[0]]) if own[0] > 0 else 0
                last = int(places[own[-1]]) if own[-1] + 2 < len(below) else INFINITE
            self.levels.own[0, feature] = first, last

    def use(self, cost: float, tree: Tree, given: bool) -> None:
        """As :class:`solver.engine.driver.Engine`; it looks for nothing that costs as much."""
        if not given or (self.given is not None and cost >= self.given[0]):
            return
        self.given = cost, shape_of(tree)
        price = self.levels.price[0]
        price[LIMIT] = min(price[LIMIT], math.ldexp(cost, -self.unit))

    @property
    def upper_bound(self) -> float:
        """The cost of the best tree, the given one included."""
        own = super().upper_bound
        return own if self.given is None else min(own, self.given[0])

    @property
    def found(self) -> bool:
        """Whether the best tree is one of the shard's own."""
        return self.given is None or super().upper_bound < self.given[0]

    def shape(self) -> Shape:
        return super().shape() if self.given is None or self.found else self.given[1]

    @property
    def rollout_work(self) -> int:
        """As :class:`solver.engine.driver.Engine`: in the last shard, for all others, too."""
        return last_shard_work(self.shard, self.work)

    def state(self) -> None:
        """None: it begins again, with the best tree that the others know."""
