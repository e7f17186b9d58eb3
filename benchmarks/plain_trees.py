"""Trees of all solvers in one plain form, and the scorer that no solver's figures are taken for.

A tree is a list of nodes, the root first. A leaf is ``[class]``; a split is ``[feature, child of
code 0, child of code 1, …]``, where a feature is a column of the table and a child a position in
the list.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from benchmarks.problem_tables import Table

Nodes = list[list[int]]


class Score(NamedTuple):
    """What a tree costs on a table."""

    errors: int
    splits: int
    depth: int
    objective: Fraction


def score(nodes: Nodes, table: Table, lam: Fraction) -> Score:
    """Walk every row from the root and count.

    Raises
    ------
    ValueError
        If the nodes form no tree.
    """
    depths: dict[int, int] = {}
    pending = [(0, 0)]
    while pending:
        position, depth = pending.pop()
        if position in depths:
            raise ValueError("a node has two parents")
        depths[position] = depth
        pending += [(child, depth + 1) for child in nodes[position][1:]]
    errors = 0
    for row, label in zip(table.codes.tolist(), table.labels.tolist(), strict=True):
        node = nodes[0]
        while len(node) > 1:
            node = nodes[node[1 + row[node[0]]]]
        errors += node[0] != label
    splits = sum(len(nodes[position]) > 1 for position in depths)
    objective = Fraction(errors, table.n_rows) + lam * splits
    return Score(errors, splits, max(depths.values()), objective)


def flatten(root: Any, read: Callable[[Any], tuple[int, Sequence[Any]]]) -> Nodes:
    """Bring a nested tree into the plain form.

    Parameters
    ----------
    root : Any
        A solver's own node.
    read : callable
        Gives a node's class and no children, or its feature and its children by code.
    """
    nodes: Nodes = []
    pending: list[tuple[Any, list[int] | None]] = [(root, None)]
    while pending:
        item, parent = pending.pop()
        if parent is not None:
            parent.append(len(nodes))
        first, children = read(item)
        node = [first]
        nodes.append(node)
        pending += [(child, node) for child in reversed(children)]
    return nodes
