"""How much each column of X has to do with a tree's predictions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from solver.trees.tree import Node, Tree


def feature_importances(tree: Tree, names: Sequence[str]) -> NDArray[np.float64]:
    """The share of each column in the decrease of impurity, as scikit-learn defines it.

    The impurity of a node is its weight times its Gini impurity, or its squared error in
    regression. A split's decrease belongs to its column; that of a split on several columns is
    shared out equally. (Misclassified rows would not do: the first of two splits that are only
    useful together does not lower their number.)

    Returns
    -------
    array of float64, shape (columns,)
        Its sum is 1, or 0 if no split lowers the impurity.
    """
    found = np.zeros(len(names))
    places = {name: place for place, name in enumerate(names)}
    for node in tree.nodes:
        if node.feature is None:
            continue
        columns = tree.tests[node.feature].columns
        decrease = _impurity(node) - sum(_impurity(tree.nodes[child]) for child in node.children)
        for column in columns:
            found[places[column]] += max(decrease, 0.0) / len(columns)
    total = found.sum()
    return found / total if total else found


def _impurity(node: Node) -> float:
    if node.value:
        return float(node.squared_error)
    total = sum(node.counts)
    return total - sum(count * count for count in node.counts) / total if total else 0.0
