"""What the nodes of a tree should say of the training rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from solver.trees.tree import Node, Tree


class NodeTotals:
    """Counts the training rows of each node: pictures, tables and R² are made of what nodes say.

    Rows are added where they end, and are passed on to the nodes above at the end.
    """

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._rows = [0] * len(tree.nodes)
        self._labels: list[Counter[Any]] = [Counter() for _ in tree.nodes]
        # Of each output of regression: the sums of the targets and of their squares.
        empty = [(Fraction(0), Fraction(0))] * len(tree.outputs)
        self._sums = [empty[:] for _ in tree.nodes]

    def add(self, end: int, label: Any, rows: int) -> None:
        """Add equal training rows that end at a node."""
        self._rows[end] += rows
        if not rows:
            return
        if not self._tree.outputs:
            self._labels[end][label] += rows
            return
        for i, (total, squares) in enumerate(self._sums[end]):
            y = Fraction(label[i])
            self._sums[end][i] = total + rows * y, squares + rows * y * y

    def faults(self) -> Iterator[str]:
        """What nodes say falsely, the first of them."""
        self._pass_on()
        for position, node in enumerate(self._tree.nodes):
            said, found = self._figures(position, node)
            if said != found:
                yield f"its node {position} says {said} of its training rows, the data say {found}"
                return

    def _pass_on(self) -> None:
        """Add the rows of children to their parents; children come after them."""
        for position in range(len(self._tree.nodes) - 1, -1, -1):
            for child in self._tree.nodes[position].children:
                self._rows[position] += self._rows[child]
                self._labels[position] += self._labels[child]
                self._sums[position] = [
                    (a + c, b + d)
                    for (a, b), (c, d) in zip(self._sums[position], self._sums[child], strict=True)
                ]

    def _figures(self, position: int, node: Node) -> tuple[str, str]:
        """What a node says, and what it should say."""
        rows = self._rows[position]
        if not self._tree.outputs:
            found = self._labels[position]
            counts = [found.pop(label, 0) for label in self._tree.classes]
            more = [f"of {label!r}" for label in found]
            return f"counts {list(node.counts)}", " ".join([f"counts {counts}", *more])
        error = sum(
            squares - 2 * Fraction(v) * total + rows * Fraction(v) ** 2
            for v, (total, squares) in zip(node.value, self._sums[position], strict=True)
        )
        said = f"{node.counts[0]} rows, squared error {node.squared_error}"
        # A node without rows says nothing of its own.
        return said, f"{rows} rows, squared error {error if rows else node.squared_error}"
