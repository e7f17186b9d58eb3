"""Many trees as a table, and as TimberTrek shows them (Wang et al., IEEE VIS 2022)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Any

import pandas as pd

from solver.errors import UnsupportedError
from solver.features.category_values import show_column
from solver.features.node_tests import NodeTest
from solver.objective.exact_objective import objective
from solver.trees.export import export_text
from solver.trees.tree import Tree

_FEATURE, _CHILDREN = "f", "c"


def tree_table(trees: Iterable[Tree], total_weight: int, lam: Fraction) -> pd.DataFrame:
    """A row for each classification tree, in their order.

    Returns
    -------
    DataFrame
        ``objective``, ``objective_exact``, ``errors``, ``splits``, ``leaves``, ``depth``, ``root``
        (the first test; null for a leaf), ``columns`` (a tuple), ``rules`` (text) and ``tree``
        (JSON).
    """
    names = ("objective", "objective_exact", "errors", "splits", "leaves", "depth", "root",
             "columns", "rules", "tree")  # fmt: skip
    records = []
    for tree in trees:
        exact, first = objective(int(tree.errors), tree.splits, total_weight, lam), None
        if tree.nodes[0].feature is not None:
            first = tree.tests[tree.nodes[0].feature].name
        size = int(tree.errors), tree.splits, tree.leaves, tree.depth
        written = tuple(tree.columns), export_text(tree), tree.to_json()
        records.append((float(exact), str(exact), *size, first, *written))
    return pd.DataFrame(records, columns=list(names))


def to_timbertrek(trees: Iterable[Tree], total_weight: int, lam: Fraction) -> dict[str, Any]:
    """Trees as decision paths for TimberTrek.

    Parameters
    ----------
    trees : iterable of Tree
        Of one problem with two classes and binary features. A tree without a split is left out:
        it has no path.
    total_weight : int
        Of the training rows.
    lam : Fraction
        λ.

    Returns
    -------
    dict
        What TimberTrek's page takes as a JSON file, and ``timbertrek.visualize`` in a notebook:
        ``trie``, the features along all paths with the numbers of the trees at their ends;
        ``featureMap``, the column, condition and short name of each feature; ``treeMap``, for each
        number a tree, its objective and its accuracy. The first child is where the condition
        holds, ``+`` the second class. TreeFARMS writes such files as well; it prices leaves, so its
        objectives are λ more.

    Raises
    ------
    UnsupportedError
        For more classes, or tests with more branches.
    """
    trie: dict[str, Any] = {_FEATURE: "root", _CHILDREN: []}
    features: dict[NodeTest, str] = {}
    shown: dict[str, list[Any]] = {}
    for tree in trees:
        if len(tree.classes) > 2 or any(test.arity != 2 for test in tree.tests.values()):
            raise UnsupportedError(
                "TimberTrek shows trees of two classes and binary features; use the encoding "
                "'onehot', 'thresholds', 'quantiles' or 'mdlp'"
            )
        if not tree.splits:
            continue
        number = len(shown) + 1
        for path in dict.fromkeys(_paths(tree, features)):
            _enter(trie, path, number)
        exact = objective(int(tree.errors), tree.splits, total_weight, lam)
        right = round(1 - int(tree.errors) / total_weight, 5)
        if tree.errors:
            right = min(right, 0.99999)  # 1 would say that it makes no error
        shown[str(number)] = [_node(tree, 0, features), round(float(exact), 5), right]
    names = {number: _words(test) for test, number in features.items()}
    return {"trie": trie, "featureMap": names, "treeMap": shown}


def _number(tree: Tree, position: int, features: dict[NodeTest, str]) -> str:
    """The number of the feature that a node asks, which is new if nobody has asked it."""
    feature = tree.nodes[position].feature
    assert feature is not None
    return features.setdefault(tree.tests[feature], str(len(features)))


def _paths(tree: Tree, features: dict[NodeTest, str]) -> Iterator[tuple[str, ...]]:
    """The features on the way to each leaf."""
    pending: list[tuple[int, tuple[str, ...]]] = [(0, ())]
    while pending:
        position, path = pending.pop()
        if tree.nodes[position].feature is None:
            yield path
            continue
        longer = (*path, _number(tree, position, features))
        pending += [(child, longer) for child in tree.nodes[position].children]


def _enter(trie: dict[str, Any], path: tuple[str, ...], number: int) -> None:
    """Put a tree at the end of a path."""
    place = trie
    for feature in path:
        below = next((one for one in place[_CHILDREN] if one[_FEATURE] == feature), None)
        if below is None:
            below = {_FEATURE: feature, _CHILDREN: []}
            place[_CHILDREN].append(below)
        place = below
    place[_CHILDREN].append({_FEATURE: "_", "t": number})


def _node(tree: Tree, position: int, features: dict[NodeTest, str]) -> dict[str, Any]:
    """A node with its rows; the rows that a leaf gets right, −1 elsewhere."""
    node = tree.nodes[position]
    if node.feature is None:
        sign = "+" if node.prediction == 1 else "-"
        return {_FEATURE: [sign, sum(node.counts), node.counts[node.prediction]]}
    holds_not, holds = (_node(tree, child, features) for child in node.children)
    return {
        _FEATURE: [_number(tree, position, features), sum(node.counts), -1],
        _CHILDREN: [holds, holds_not],
    }


def _words(test: NodeTest) -> list[str]:
    """The column, the condition and the short name of a feature."""
    column = show_column(test.columns[0])
    return [column, test.describe(1).removeprefix(column).strip(), column]
