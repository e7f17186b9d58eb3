"""Trees as scikit-learn's own, for tools that read these: SHAP, dtreeviz, converters to ONNX."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.tree._tree import NODE_DTYPE
from sklearn.tree._tree import Tree as NodeTable

from solver.errors import InputError
from solver.features.category_values import Category, kind_of
from solver.features.columns import ColumnSpec
from solver.features.node_tests import CategoryTest, NodeTest, ThresholdTest
from solver.trees.tree import Node, Tree
from solver.trees.tree_view import TreeSource, tree_of

_LARGEST = float(np.finfo(np.float32).max)
_FIELDS = {
    "left_child", "right_child", "feature", "threshold", "impurity", "n_node_samples",
    "weighted_n_node_samples", "missing_go_to_left",
}  # fmt: skip


def to_sklearn(
    tree: TreeSource, feature_names: Sequence[str] | None = None
) -> DecisionTreeClassifier | DecisionTreeRegressor:
    """Convert the tree to a fitted tree of scikit-learn.

    It predicts the same, with two exceptions. Scikit-learn reads numbers as float32, so a number
    that is very near to a threshold may take the other branch. If the values 0 and 1 of a column
    are categories, the tree of scikit-learn cuts the column at 0.5. A value not seen in training
    (also a missing value, if training had none) then takes one of the two branches, and does not
    stop at the split.

    A tree stores the weights of its rows and not their number. If the rows have weights,
    ``tree_.n_node_samples`` is not the number of rows in a node, but their weight
    (``tree_.weighted_n_node_samples``), rounded to a whole number.

    Parameters
    ----------
    tree : Tree, Solution, Step or fitted estimator
    feature_names : sequence of str, optional
        The columns of X, in order. By default those of the estimator's fit, or the columns that
        the tree reads.

    Raises
    ------
    InputError
        If a test is not a cut of one number: a test of categories other than 0 and 1 (False and
        True), of a date, or of several columns. Also if a column is not in ``feature_names``, or if
        scikit-learn has changed the format of its trees.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from treesweep import QuantBnBClassifier, to_sklearn
    >>> X, y = load_iris(return_X_y=True)
    >>> model = QuantBnBClassifier(lam=0.01).fit(X, y)
    >>> bool((to_sklearn(model).predict(X) == model.predict(X)).all())
    True
    """
    model = tree_of(tree)
    fitted = getattr(tree, "_names", None) if feature_names is None else feature_names
    names = [str(name) for name in (fitted if fitted is not None else model.columns)]
    if set(NODE_DTYPE.names) != _FIELDS:
        raise InputError(
            "this version of scikit-learn stores trees in a way that is not known here"
        )
    found = _empty(tree, model, names)
    n_outputs = len(model.outputs) or 1
    widths = np.full(n_outputs, len(model.classes) or 1, dtype=np.intp)
    table = NodeTable(len(names), widths, n_outputs)
    table.__setstate__({
        "max_depth": model.depth,
        "node_count": len(model.nodes),
        "nodes": _nodes(model, names),
        "values": np.array([_value(node) for node in model.nodes]),
    })  # fmt: skip
    found.tree_ = table
    return found


def _empty(
    source: TreeSource, tree: Tree, names: Sequence[str]
) -> DecisionTreeClassifier | DecisionTreeRegressor:
    """An estimator with all that scikit-learn sets before it grows a tree."""
    found: Any
    if tree.outputs:
        found = DecisionTreeRegressor()
        found.n_outputs_ = len(tree.outputs)
    else:
        found = DecisionTreeClassifier()
        found.n_outputs_ = 1
        own = getattr(source, "classes_", None)
        found.classes_ = np.array(tree.classes) if own is None else own
        found.n_classes_ = np.intp(len(tree.classes))
    found.n_features_in_ = found.max_features_ = len(names)
    if not hasattr(source, "n_features_in_") or hasattr(source, "feature_names_in_"):
        found.feature_names_in_ = np.array(names, dtype=object)
    return found


def _nodes(tree: Tree, names: Sequence[str]) -> NDArray[Any]:
    nodes = np.zeros(len(tree.nodes), dtype=NODE_DTYPE)
    scale = tree.weight_scale or 1
    for position, node in enumerate(tree.nodes):
        weight = float(sum(node.counts) / scale)
        left, right, feature, threshold, missing_left = -1, -1, -2, -2.0, False
        if node.feature is not None:
            test = tree.tests[node.feature]
            threshold, missing_left, branch = _cut(test, tree.columns)
            feature = _place(test, names)
            left, right = node.children[branch], node.children[1 - branch]
        entry = nodes[position]
        entry["left_child"], entry["right_child"] = left, right
        entry["feature"], entry["threshold"] = feature, threshold
        entry["missing_go_to_left"] = missing_left
        entry["impurity"] = _impurity(node)
        entry["weighted_n_node_samples"], entry["n_node_samples"] = weight, round(weight)
    return nodes


class _Cut(NamedTuple):
    """A test as scikit-learn has it: numbers up to a threshold go to the left."""

    threshold: float
    missing_left: bool
    left: int  # the branch that the left child is


def _cut(test: NodeTest, columns: Mapping[str, ColumnSpec]) -> _Cut:
    if isinstance(test, ThresholdTest) and test.unit == "number" and abs(test.threshold) < _LARGEST:
        # Rounded to float32 as the numbers are: what is at most the threshold stays so.
        return _Cut(float(np.float32(test.threshold)), test.missing == 0, 0)
    if isinstance(test, CategoryTest) and test.arity == 2:
        if test.groups == ((), (None,)) and test.rest == 0:
            return _Cut(_LARGEST, False, 0)
        values = _bits(test, columns[test.column])
        if values in ([{0}, {1}], [{1}, {0}]):
            left = values.index({0})
            with_none = [branch for branch, group in enumerate(test.groups) if None in group]
            of_missing = with_none[0] if with_none else test.rest
            return _Cut(0.5, of_missing == left, left)
    raise InputError(
        f"scikit-learn's trees cannot ask {test.name!r}: they know cuts of numbers only",
        "encode the table in numbers, e.g. with encoding='thresholds', or use export_python",
    )


def _bits(test: CategoryTest, spec: ColumnSpec) -> list[set[Category]]:
    """The values of both branches, if these are all that there are."""
    if test.is_indicator and isinstance(yes := test.groups[1][0], bool):
        if spec.values == "mixed":  # the rest holds other values than the other boolean
            return []
        return [{not yes}, {yes}]
    values: list[set[Category]] = [
        {value for value in group if value is not None} for group in test.groups
    ]
    return values if all(kind_of(value) != "text" for group in values for value in group) else []


def _place(test: NodeTest, names: Sequence[str]) -> int:
    (column,) = test.columns
    if column not in names:
        raise InputError(
            f"the tree reads the column {column!r}, which is not in feature_names",
            f"name the columns of X in their order, e.g. feature_names=[{column!r}, …]",
        )
    return list(names).index(column)


def _value(node: Node) -> NDArray[np.float64]:
    """What a node predicts, of shape (outputs, classes or 1)."""
    if node.value:
        return np.array(node.value).reshape(-1, 1)
    total = sum(node.counts)
    shares = [count / total if total else 0.0 for count in node.counts]
    if not total:
        shares[node.prediction] = 1.0
    return np.array([shares])


def _impurity(node: Node) -> float:
    """Gini impurity, or the mean squared error."""
    total = sum(node.counts)
    if not total:
        return 0.0
    if node.value:
        return float(node.squared_error / total) / len(node.value)
    return 1.0 - sum((count / total) ** 2 for count in node.counts)
