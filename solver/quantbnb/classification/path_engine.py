"""The engine of a λ-path: one search at each λ, which learns from those before."""

from __future__ import annotations

from typing import Any, NamedTuple

from numpy.typing import NDArray

from solver.kernels.jit import ensure_compiled, is_compiled
from solver.quantbnb.classification import best_first_search
from solver.quantbnb.classification.carried_bounds import (
    Archive,
    bound_firsts,
    most_splits,
    nothing,
)
from solver.quantbnb.classification.engine import QuantEngine
from solver.quantbnb.classification.given_tree import GivenTreeEngine
from solver.quantbnb.classification.state import Levels, Part, Sweep, Table, new_parts
from solver.trees.tree import Tree


class SortedRows(NamedTuple):
    """The arrays of the rows, which are those of every λ."""

    table: Table
    parts: Part
    scratch: Sweep


class QuantPathEngine(GivenTreeEngine):
    """The search at one λ of a path.

    It looks for nothing that costs as much as the path's own tree there, and leaves thresholds at
    the root out that searches at other λ exclude. Bounds of parts exceed what this search needs,
    for those to come. With a least weight of leaves no bounds are carried.

    ``archive`` has the bounds of other λ, ``last`` is an earlier engine of the same problem. See
    :class:`QuantEngine` for the others.
    """

    exceeds = True

    def __init__(self, *parts: Any, archive: Archive, last: QuantPathEngine | None) -> None:
        self.archive, self.last = archive, last
        self.filled = None if last is None else last.sorted_rows
        super().__init__(*parts)
        self.last = None  # its arrays are free
        if self.carries:
            self.known = archive.for_price(self.params, self.depth)
            self.most = most_splits(self.depth - 1)

    @property
    def carries(self) -> bool:
        """Whether bounds are taken from other λ, and kept for them."""
        return self.depth > 1 and self.params.min_leaf == 1

    def _compile(self) -> float:
        seconds = super()._compile()
        if is_compiled(bound_firsts):
            return seconds
        lower = self.levels.lower[0]
        return seconds + ensure_compiled(bound_firsts, nothing(1), self.params, 0, lower)

    def _first_levels(self, number: int, points: int) -> Levels:
        levels = super()._first_levels(number, points)
        if points > 1 and self.carries:
            bound_firsts(self.known, self.params, most_splits(self.depth), levels.lower[0])
        return levels

    def use(self, cost: float, tree: Tree, given: bool) -> None:
        """As :class:`solver.engine.driver.Engine`; the same tree is given after a state, too."""
        super().use(cost, tree, given)
        if self.given is not None:
            self._cap = self.given[0]

    @property
    def inherits(self) -> bool:
        """Whether the best tree is the one given, of another λ; :meth:`shape` has it at hand."""
        return self.given is not None and not self.found

    @property
    def bytes(self) -> int:
        return super().bytes + self.archive.bytes

    def grow(self, limit: int | None) -> bool:
        """As :class:`solver.engine.driver.Engine`; it forgets bounds rather than end."""
        if super().grow(limit):
            return True
        self.forget()
        return super().grow(limit)

    def forget(self) -> None:
        """Forget the bounds of other λ, to have room."""
        self.archive.forget()
        self.known = nothing(len(self.arities))

    def _weigh_rows(self) -> None:
        last = self.last
        if last is None:
            super()._weigh_rows()
            return
        self.rows, self.classes, self.weights = last.rows, last.classes, last.weights
        self.unit, self.leaf_errors, self.sizes = last.unit, last.leaf_errors, last.sizes

    def _make_table(self) -> None:
        if self.filled is None:
            super()._make_table()
            return
        self.table, self.parts, self.scratch = self.filled
        if len(self.parts.rows) != self._floors:
            self.parts = new_parts(self.sizes, self._floors)
            for new, old in zip(self.parts, self.filled.parts, strict=True):
                new[0] = old[0]
        self.scratch.evaluations[:] = self._progress[:3]
        self._filled = len(self.arities)
        best_first_search.restore_parts(self.table, self.parts, self.levels, self.top)

    @property
    def sorted_rows(self) -> SortedRows | None:
        """The arrays of the rows, once they are filled."""
        if self.table is None or self._filled < len(self.arities):
            return self.filled
        return SortedRows(self.table, self.parts, self.scratch)

    def keep(self) -> None:
        """Keep the bounds for other λ."""
        if self.carries:
            self.archive.add(self.params, self.depth, self.levels)

    def state(self) -> dict[str, NDArray[Any]]:
        """As :class:`QuantEngine`, with the bounds of other λ."""
        return {**QuantEngine.state(self), **self.archive.state()}
