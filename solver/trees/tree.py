"""A decision tree: a flat list of nodes in preorder, readable without the code that made it."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from solver.errors import InputError, columns_like
from solver.features.category_values import Category
from solver.features.columns import ColumnSpec, text_names
from solver.features.node_tests import CategoryTest, NodeTest, parse_test
from solver.features.oblique_tests import SurfaceTest
from solver.features.to_pandas import as_frame
from solver.features.unicode_check import check_storable
from solver.notebook_display import RichDisplay

TaskType: TypeAlias = Literal["classification", "regression"]

FORMAT = "treesweep-tree"
VERSION = 1


@dataclass(frozen=True)
class Node:
    """A node of a tree.

    Parameters
    ----------
    counts : tuple of int
        Training weight per class; in regression the training weight.
    prediction : int
        Index of the predicted class, that of the parent without training rows; 0 in regression.
    feature : int or None
        Encoded feature of the split; None at a leaf. Its codes are the positions in ``children``.
    children : tuple of int
        Positions of the children in the tree's list of nodes.
    value : tuple of float
        Prediction of regression: the mean of every output over the training rows.
    squared_error : Fraction
        Regression: Σ w·‖y − value‖² over the training rows, exactly.
    """

    counts: tuple[int, ...]
    prediction: int
    feature: int | None = None
    children: tuple[int, ...] = ()
    value: tuple[float, ...] = ()
    squared_error: Fraction = Fraction(0)

    @property
    def is_leaf(self) -> bool:
        """Whether the node ends a path."""
        return self.feature is None

    @property
    def errors(self) -> int | Fraction:
        """Training weight that is misclassified here, or the squared error of regression."""
        return self.squared_error if self.value else sum(self.counts) - self.counts[self.prediction]


@dataclass(frozen=True)
class Tree(RichDisplay):
    """A classification or regression tree with all that it needs to predict on raw rows.

    Parameters
    ----------
    nodes : tuple of Node
        In preorder; the root is first.
    tests : dict
        For each encoded feature of the tree, its test on a raw row.
    classes : tuple
        Labels, in the order of the class counts; none in regression.
    columns : dict
        How the values of each raw column of the tree are read.
    target : str
        Name of the target column.
    outputs : tuple of str
        Names of the target columns of regression, in the order of the nodes' values.
    weight_scale : Fraction or None
        The factor by which the given weights were multiplied to become the whole numbers of the
        nodes; None if nodes count rows. Trees that differ only in it are equal.
    weight_error : Fraction
        The largest error that rounding the weights may have caused in the share of a node in the
        total weight. It is 0 if no weight was rounded.

    Examples
    --------
    >>> import pandas as pd
    >>> import treesweep
    >>> problem = treesweep.Problem.from_codes([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 0, 0, 1])
    >>> tree = treesweep.solve(problem, lam="0.05").tree
    >>> again = treesweep.Tree.from_json(tree.to_json())
    >>> again.predict(pd.DataFrame({"x0": [1, 0], "x1": [1, 1]})).tolist()
    [1, 0]
    """

    nodes: tuple[Node, ...]
    tests: dict[int, NodeTest]
    classes: tuple[Any, ...]
    columns: dict[str, ColumnSpec] = field(default_factory=dict)
    target: str = "target"
    outputs: tuple[str, ...] = ()
    weight_scale: Fraction | None = field(default=None, compare=False)
    weight_error: Fraction = field(default=Fraction(0), compare=False)

    @property
    def task(self) -> TaskType:
        """``classification`` or ``regression``."""
        return "regression" if self.outputs else "classification"

    @cached_property
    def splits(self) -> int:
        """Number of internal nodes; a multiway split is one split."""
        return sum(not node.is_leaf for node in self.nodes)

    @property
    def leaves(self) -> int:
        """Number of end nodes, including empty ones of multiway splits."""
        return sum(node.is_leaf for node in self.nodes)

    @property
    def depth(self) -> int:
        """Number of splits on the longest path."""
        depths = [0] * len(self.nodes)
        for position, node in enumerate(self.nodes):
            for child in node.children:
                depths[child] = depths[position] + 1
        return max(depths)

    @cached_property
    def errors(self) -> int | Fraction:
        """Misclassified training weight by the tree's counts; in regression squared error."""
        return sum(node.errors for node in self.nodes if node.is_leaf)

    @property
    def texts(self) -> dict[str, set[str]]:
        """For each column that the tree reads, the categories that are texts and that its splits
        name (empty for numbers). For each target, its labels that are texts.

        Texts that a file would read as missing, such as ``NA``, are there even if no split names
        them.
        """
        found = {name: set(spec.texts) for name, spec in self.columns.items()}
        found |= {name: set() for name in self.outputs}
        found.setdefault(self.target, set()).update(c for c in self.classes if isinstance(c, str))
        for test in self.tests.values():
            if isinstance(test, CategoryTest):
                values = (value for group in test.groups for value in group)
                found[test.column].update(value for value in values if isinstance(value, str))
        return found

    def apply(self, frame: pd.DataFrame) -> NDArray[np.int64]:
        """The node at which each raw row ends.

        A row with an unseen category stops at the internal node that tests its column.

        Raises
        ------
        InputError
            If a column of the tree is missing or cannot be read.
        """
        frame = text_names(as_frame(frame))
        values: dict[str, NDArray[Any]] = {}
        for column in dict.fromkeys(c for test in self.tests.values() for c in test.columns):
            if column not in frame.columns:
                raise InputError(
                    f"the table has no column {column!r}, which the tree reads; "
                    f"its columns are {columns_like(column, frame.columns)}"
                )
            try:
                values[column] = self.columns[column].read(frame[column])
            except InputError as error:  # how the column is read cannot be changed any more
                remedy = "correct it, or write it as in the training rows"
                raise InputError(error.what, remedy) from None
        ends = np.zeros(len(frame), dtype=np.int64)
        pending: list[tuple[int, NDArray[np.int64]]] = [(0, np.arange(len(frame)))]
        while pending:
            position, rows = pending.pop()
            ends[rows] = position
            node = self.nodes[position]
            if node.feature is None or not len(rows):
                continue
            test = self.tests[node.feature]
            taken = test.branches(*(values[column][rows] for column in test.columns))
            for branch, child in enumerate(node.children):
                pending.append((child, rows[taken == branch]))
        return ends

    def predict(self, frame: pd.DataFrame) -> NDArray[Any]:
        """The label (in regression the numbers) of every raw row. Raises InputError as
        :meth:`apply` does.

        Regression gives float64, of shape (rows,) for one output, else (rows, outputs).
        """
        if self.outputs:
            values = np.array([node.value for node in self.nodes])[self.apply(frame)]
            return values[:, 0] if len(self.outputs) == 1 else values
        predictions = np.array([node.prediction for node in self.nodes])
        labels = np.empty(len(self.classes), dtype=object)
        labels[:] = self.classes
        kinds = {type(label) for label in self.classes}
        if len(kinds) == 1 and kinds <= {int, float, bool}:
            typed = np.array(self.classes)  # whole numbers beyond 64 bits would become floats
            labels = typed if typed.tolist() == labels.tolist() else labels
        return np.asarray(labels[predictions[self.apply(frame)]])

    def predict_proba(self, frame: pd.DataFrame) -> NDArray[np.float64]:
        """Class frequencies (rows × classes) of the training rows at each row's end node.

        At a node without training rows the predicted class has frequency 1.
        """
        table = np.zeros((len(self.nodes), len(self.classes)))
        for position, node in enumerate(self.nodes):
            total = sum(node.counts)
            if total:
                table[position] = [count / total for count in node.counts]
            else:
                table[position, node.prediction] = 1.0
        return np.asarray(table[self.apply(frame)])

    def to_dict(self) -> dict[str, Any]:
        """As plain data: the documented, versioned format of stored trees."""
        nodes: list[dict[str, Any]] = []
        for node in self.nodes:
            entry: dict[str, Any] = {"counts": list(node.counts), "prediction": node.prediction}
            if self.outputs:
                weight, error = node.counts[0], str(node.squared_error)
                entry = {"weight": weight, "value": list(node.value), "squared_error": error}
            if node.feature is not None:
                entry["feature"] = node.feature
                entry["test"] = self.tests[node.feature].to_dict()
                entry["children"] = list(node.children)
            nodes.append(entry)
        return {
            "format": FORMAT,
            "version": VERSION,
            "target": self.target,
            **({"outputs": list(self.outputs)} if self.outputs else {}),
            "classes": list(self.classes),
            "columns": {name: spec.to_dict() for name, spec in self.columns.items()},
            **({"weight_scale": str(self.weight_scale)} if self.weight_scale is not None else {}),
            **({"weight_error": str(self.weight_error)} if self.weight_error else {}),
            "nodes": nodes,
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Tree:
        """Read a tree from plain data.

        Raises
        ------
        InputError
            If it is not a tree, is damaged, or is of a later version.
        """
        if data.get("format") != FORMAT:
            raise InputError("this is not a treesweep tree (its 'format' is missing)")
        try:
            if data["version"] > VERSION:
                raise InputError(
                    f"the tree has format version {data['version']}, this treesweep reads up to "
                    f"{VERSION}; upgrade treesweep"
                )
            tests: dict[int, NodeTest] = {}
            nodes: list[Node] = []
            for entry in data["nodes"]:
                feature = entry.get("feature")
                children = tuple(entry.get("children", ()))
                if feature is not None:
                    test = parse_test(entry["test"])
                    if tests.setdefault(feature, test) != test:
                        raise ValueError(f"feature {feature} stands for two tests")
                if len(children) != (0 if feature is None else tests[feature].arity):
                    raise ValueError("a node has not one child for each branch of its test")
                read = _read_numbers if data.get("outputs") else _read_counts
                nodes.append(replace(read(entry, data), feature=feature, children=children))
            _check_links(nodes)
            columns = {n: ColumnSpec.from_dict(c) for n, c in data["columns"].items()}
            for column in (column for test in tests.values() for column in test.columns):
                if column not in columns:
                    raise ValueError(f"column {column!r} is read but not described")
            classes, outputs = tuple(data["classes"]), tuple(data.get("outputs", ()))
            scale = Fraction(data["weight_scale"]) if "weight_scale" in data else None
            if scale is not None and scale <= 0:
                raise ValueError("weights were not multiplied by a positive number")
            error = Fraction(data.get("weight_error", 0))
            if error < 0 or (error and scale is None):
                raise ValueError("the rounding of its weights cannot be")
            target = data["target"]
            tree = cls(tuple(nodes), tests, classes, columns, target, outputs, scale, error)
            _check_names(tree)
            return tree
        except (KeyError, TypeError, ValueError, AttributeError, ZeroDivisionError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError(f"the tree is damaged: {error!r}") from None

    def to_json(self) -> str:
        """The plain form as one line of JSON."""
        return json.dumps(self.to_dict(), ensure_ascii=False, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Tree:
        """Read a tree from JSON; raises as :meth:`from_dict`."""
        try:
            data = json.loads(text)
        except TypeError:
            raise InputError(
                f"a value of type {type(text).__name__} is no JSON text", "use Tree.from_dict"
            ) from None
        except (ValueError, RecursionError) as error:
            raise InputError(f"the tree is not valid JSON: {error}") from None
        if not isinstance(data, dict):
            raise InputError("this is not a treesweep tree (not a JSON object)")
        return cls.from_dict(data)


def _read_counts(entry: dict[str, Any], data: dict[str, Any]) -> Node:
    """The outcome of a node of classification."""
    if len(entry["counts"]) != len(data["classes"]) or not all(map(_is_count, entry["counts"])):
        raise ValueError("a node has not one count for each class")
    if not _is_count(entry["prediction"]) or entry["prediction"] >= len(data["classes"]):
        raise ValueError("a prediction names no class")
    return Node(tuple(entry["counts"]), entry["prediction"])


def _read_numbers(entry: dict[str, Any], data: dict[str, Any]) -> Node:
    """The outcome of a node of regression."""
    value = tuple(map(float, entry["value"]))
    if len(value) != len(data["outputs"]) or not all(map(math.isfinite, value)):
        raise ValueError("a node has not one finite value for each output")
    error = Fraction(entry["squared_error"])
    if error < 0 or not _is_count(entry["weight"]):
        raise ValueError("a node has a negative weight or squared error")
    return Node((entry["weight"],), 0, value=value, squared_error=error)


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 0


def _check_names(tree: Tree) -> None:
    """Labels are text, numbers or booleans, and names are text, all of it such as files hold."""
    names = (tree.target, *tree.outputs, *tree.columns)
    plain = all(isinstance(label, (str, int, float)) for label in tree.classes)
    if not plain or not all(isinstance(name, str) for name in names):
        raise ValueError("a label or a name is none")
    for text in (text for text in (*names, *tree.classes) if isinstance(text, str)):
        check_storable(text, "the name")


def _check_links(nodes: Sequence[Node]) -> None:
    """Every node but the root is the child of exactly one earlier node."""
    parents = [-1] * len(nodes)
    for position, node in enumerate(nodes):
        for child in node.children:
            if not position < child < len(nodes) or parents[child] >= 0:
                raise ValueError("the nodes do not form a tree")
            parents[child] = position
    if not nodes or parents.count(-1) != 1:
        raise ValueError("the nodes do not form a tree")


Shape = int | tuple[int | NodeTest, Sequence["Shape"]]
"""A tree without counts: −1 for a leaf, or (feature, one shape per code).

A test that is no feature of the problem stands for itself: one on several columns, or one that
separates the rows as a feature does.
"""


def shape_of(tree: Tree) -> Shape:
    """The splits of a tree without its counts."""
    shapes: list[Shape] = [-1] * len(tree.nodes)
    # Children come after their parents; no recursion, for a tree can be a chain of thousands.
    for position in reversed(range(len(tree.nodes))):
        node = tree.nodes[position]
        if node.feature is not None:
            test = tree.tests[node.feature]
            asked = test if isinstance(test, SurfaceTest) else node.feature
            shapes[position] = asked, tuple([shapes[child] for child in node.children])
    return shapes[0]


def shape_from(preorder: list[int], arities: list[int]) -> Shape:
    """The tree of its splits in preorder; InputError if they are no tree."""
    # A list and no recursion: an optimal tree can be a chain of thousands of splits.
    shapes: list[Shape] = []
    for feature in reversed(preorder):
        if not -1 <= feature < len(arities) or (feature >= 0 and len(shapes) < arities[feature]):
            raise InputError("the state's tree is no tree; it is damaged")
        if feature < 0:
            shapes.append(-1)
        else:
            shapes.append((feature, tuple(shapes.pop() for _ in range(arities[feature]))))
    if len(shapes) != 1:
        raise InputError("the state's tree is no tree; it is damaged")
    return shapes[0]


def columns_read(
    columns: Mapping[str, ColumnSpec], tests: Iterable[NodeTest]
) -> dict[str, ColumnSpec]:
    """The columns that some tests read, and of each no more than they ask for."""
    asked: dict[str, list[Category]] = {}
    for test in tests:
        for column in test.columns:
            asked.setdefault(column, [])
        if isinstance(test, CategoryTest):
            asked[test.column] += [value for group in test.groups for value in group]
    return {name: spec.narrow(asked[name]) for name, spec in columns.items() if name in asked}
