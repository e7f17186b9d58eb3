"""An engine that looks for nothing that costs as much as a given tree."""

from __future__ import annotations

from solver.objective.exact_objective import INFINITE
from solver.quantbnb.classification.engine import QuantEngine
from solver.quantbnb.classification.state import LIMIT, Levels
from solver.trees.tree import Shape, Tree, shape_of


class GivenTreeEngine(QuantEngine):
    """The search for a tree that is better than the best one given.

    A single undivided search does not use given trees, or its state would need them.
    """

    given: tuple[int, Shape] | None = None
    _cap = INFINITE  # what the limit at the root was lowered to for a given tree

    def _first_levels(self, number: int, points: int) -> Levels:
        levels = super()._first_levels(number, points)
        if self.given is not None:
            levels.frame[0, LIMIT] = min(levels.frame[0, LIMIT], self._cap)
        return levels

    def use(self, cost: float, tree: Tree, given: bool) -> None:
        """As :class:`solver.engine.driver.Engine`; it looks for nothing that costs as much."""
        if not given or (self.given is not None and cost >= self.given[0]):
            return
        self.given = int(cost), shape_of(tree)
        if cost < self.levels.frame[0, LIMIT]:
            self.levels.frame[0, LIMIT] = self._cap = int(cost)

    @property
    def upper_bound(self) -> int:
        """The cost of the best tree, the given one included."""
        own = super().upper_bound
        return own if self.given is None else min(own, self.given[0])

    @property
    def found(self) -> bool:
        """Whether the best tree is one of the engine's own."""
        return super().upper_bound < self._cap

    def shape(self) -> Shape:
        return super().shape() if self.given is None or self.found else self.given[1]
