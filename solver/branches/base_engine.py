"""What the engines of both modes share: the best tree that was read out of their graph."""

from __future__ import annotations

from abc import abstractmethod

from solver.engine.driver import Engine
from solver.kernels.constants import RUNNING
from solver.objective.exact_objective import INFINITE
from solver.trees.tree import Shape, shape_from


class GraphEngine(Engine):
    """An engine that reads its trees out of a graph of branches, and keeps the best one.

    A tree that is read out may cost less than the root is known to cost, because one of its
    branches was improved on another path. If the root then finds a tree that beats only its known
    cost, the next tree read out costs more. So the search's tree is the best one read so far. When
    trees are read is determined by the search and never by the clock: after each improvement of the
    root, and when the iterations reach certain numbers.
    """

    arities: list[int]
    preorder: list[int] | None = None
    """The best tree: its splits in preorder, −1 for a leaf."""
    tree_cost: int = INFINITE
    reads: bool = True
    """Whether anybody asks for trees."""
    limits_nodes: bool = False
    """Whether a step ends when it has made as many nodes as it may do iterations."""
    pauses: bool = False
    """Whether a step ends early, as something has taken long."""
    _known: int = INFINITE  # cost of the root when a tree was read last

    @abstractmethod
    def read_tree(self) -> tuple[list[int], int]:
        """The best tree known now in preorder, and its cost."""

    @abstractmethod
    def advance(self, iterations: int, target_cost: int, known_cost: int) -> int:
        """As :meth:`step`; it stops early when the root costs less than ``known_cost``."""

    @property
    @abstractmethod
    def upper_bound(self) -> int: ...

    def step(self, iterations: int, target_cost: int) -> int:
        if not self.reads:
            return self.advance(iterations, target_cost, -1)
        end, outcome = self.iterations + iterations, RUNNING
        most = self.nodes + iterations if self.limits_nodes else INFINITE
        self.pauses = False
        while outcome == RUNNING and self.iterations < end and self.nodes < most:
            if self.pauses:
                break
            due = next_reading(self.iterations)
            budget = min(min(end, due) - self.iterations, most - self.nodes)
            outcome = self.advance(budget, target_cost, self._known)
            if self.upper_bound < self._known or self.iterations == due:
                self._read()
        return outcome

    def shape(self) -> Shape:
        if self.preorder is None or self.tree_cost > self.upper_bound:
            self._read()
        assert self.preorder is not None
        return shape_from(self.preorder, self.arities)

    def _read(self) -> None:
        # At a tie the tree that the search itself ends with.
        is_new, self._known = self.upper_bound < self._known, min(self._known, self.upper_bound)
        preorder, cost = self.read_tree()
        if self.preorder is None or cost < self.tree_cost or (is_new and cost == self.tree_cost):
            self.preorder, self.tree_cost = preorder, cost

    def forget_tree(self) -> None:
        """Keep no tree: it belongs to another λ."""
        self.preorder, self.tree_cost, self._known = None, INFINITE, INFINITE

    def restore_tree(self, preorder: list[int], cost: int) -> None:
        """Keep the tree of a state."""
        self.preorder, self.tree_cost, self._known = preorder, cost, self.upper_bound


def next_reading(iterations: int) -> int:
    """When to read a tree next: after 1/8 to 1/4 more iterations, and never less than 1024."""
    apart = max(1024, 1 << max(iterations.bit_length() - 3, 0))
    return (iterations // apart + 1) * apart
