"""What the nodes of a tree predict, by the rows that reach them."""

from __future__ import annotations

from itertools import accumulate
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from solver.objective.exact_squared_error import Moments
from solver.trees.tree import Node


class Parts(NamedTuple):
    """The nodes of a tree, parents before their children: one entry of each list a node."""

    reached: list[NDArray[np.int64]]
    """Rows of the problem."""
    parents: list[int]
    """Of the root −1."""
    features: list[int | None]
    children: list[list[int]]


def majority_nodes(parts: Parts, counts: NDArray[np.int64]) -> list[Node]:
    """The nodes of classification; ``counts`` are those of the problem.

    A node predicts the class of most weight, the first one in a tie; without rows as its parent.
    """
    reached, parents, features, children = parts
    weights: list[list[int]] = [[0] * counts.shape[1] for _ in children]
    leaves = [i for i, below in enumerate(children) if not below and len(reached[i])]
    # The rows of all leaves are summed at once: leaf by leaf takes most of the time of a tree.
    rows = counts.take(np.concatenate([reached[i] for i in leaves]), axis=0)
    begins = [0, *accumulate(len(reached[i]) for i in leaves[:-1])]
    for i, own in zip(leaves, np.add.reduceat(rows, begins, axis=0).tolist(), strict=True):
        weights[i] = own
    for i in reversed(range(len(children))):
        if children[i]:
            weights[i] = list(map(sum, zip(*(weights[j] for j in children[i]), strict=True)))
    nodes: list[Node] = []
    for i, own in enumerate(weights):
        empty = parents[i] >= 0 and not len(reached[i])
        prediction = nodes[parents[i]].prediction if empty else own.index(max(own))
        nodes.append(Node(tuple(own), prediction, features[i], tuple(children[i])))
    return nodes


def mean_nodes(parts: Parts, counts: NDArray[np.int64], moments: Moments) -> list[Node]:
    """The nodes of regression: each predicts the mean of its rows; without rows as its parent."""
    nodes: list[Node] = []
    for rows, parent, feature, below in zip(*parts, strict=True):
        weight = tuple(counts[rows].sum(axis=0).tolist())
        own = len(rows) or parent < 0
        value = moments.means(rows) if own else nodes[parent].value
        error = moments.squared_error(rows, value)
        nodes.append(Node(weight, 0, feature, tuple(below), value, error))
    return nodes
