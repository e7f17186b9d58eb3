"""A problem: encoded features, target, integer weights, and what each feature stands for."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from solver.columns import ColumnSpec, Override, text_names
from solver.encodings import Encoder, fit_encoder
from solver.errors import InputError
from solver.exact import integer_weights, weight_scale
from solver.labels import read_labels
from solver.nodetests import CategoryTest, NodeTest
from solver.tree import Node, Shape, Tree


@dataclass(frozen=True)
class Preparation:
    """What building the problem did to the table, for the report.

    Parameters
    ----------
    constant : tuple of str
        Names of the features with one value, which no split can use.
    duplicate : dict
        For each feature that parts the rows as an earlier one does, that earlier one's name.
    collapsed : int
        Rows that were merged with an equal row into one row of greater weight.
    without_feature : tuple of str
        Raw columns that the encoding made no feature of, e.g. because ``mdlp`` found no cut.
    """

    constant: tuple[str, ...]
    duplicate: dict[str, str]
    collapsed: int
    without_feature: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Problem:
    """What a solver gets.

    Parameters
    ----------
    codes : array of int32, shape (rows, features)
        Distinct encoded rows; the code of a feature is the branch of its test.
    counts : array of int64, shape (rows, classes)
        Weight of each class among the table's rows that equal this one.
    arities : array of int32, shape (features,)
        Number of codes of each feature.
    tests : tuple
        For each feature, the test on a raw row that it stands for.
    classes : tuple
        Labels, sorted.
    n_rows : int
        Rows of the table before equal rows were collapsed.
    weight_scale : int
        What the given weights were multiplied by to be whole; ``counts`` are in this unit.

    Notes
    -----
    Constant and duplicate features are dropped here, once. Two features are duplicates if they
    part the rows alike, whatever the order of the codes: ``x`` and ``not x`` are the same split.
    """

    codes: NDArray[np.int32]
    counts: NDArray[np.int64]
    arities: NDArray[np.int32]
    tests: tuple[NodeTest, ...]
    classes: tuple[Any, ...]
    n_rows: int
    preparation: Preparation
    columns: dict[str, ColumnSpec] = field(default_factory=dict)
    target: str = "target"
    encoding: str = "codes"
    weight_scale: int = 1

    @classmethod
    def from_table(
        cls,
        frame: Any,
        target: str,
        encoding: str = "onehot",
        *,
        weights: ArrayLike | None = None,
        columns: Mapping[str, Override] | None = None,
        classes: Sequence[Any] | None = None,
        encoder: Encoder | None = None,
        **options: Any,
    ) -> Problem:
        """Encode a table.

        Parameters
        ----------
        frame : pandas.DataFrame, or anything with ``to_pandas()``
            One row an example.
        target : str
            Name of the column to predict.
        encoding : str
            Name of an encoding, see :data:`solver.encodings.ENCODINGS`.
        weights : array-like, optional
            Weight of every row. Rows of weight 0 are left out.
        columns : mapping, optional
            Overrides of how columns are read, e.g. ``{"age": "number", "id": "drop"}``; see
            :func:`solver.columns.infer_columns`.
        classes : sequence, optional
            All labels, where this table may lack some (a training fold).
        encoder : Encoder, optional
            An encoder that is fitted already; ``encoding`` and ``options`` are then ignored.
        **options
            Options of the encoding, e.g. ``k=8``.

        Raises
        ------
        InputError
            If the target is missing, has missing values or a single class, or the table has no
            rows or no usable features.
        """
        table = text_names(frame if isinstance(frame, pd.DataFrame) else frame.to_pandas())
        target = str(target)
        if target not in table.columns:
            raise InputError(
                f"the table has no column {target!r} for the target; "
                f"its columns are {', '.join(map(str, table.columns))}"
            )
        if len(table) == 0:
            raise InputError("the table has no rows")
        scale = 1
        if weights is not None:
            given, weights = weights, integer_weights(weights)  # type: ignore[arg-type]
            scale = weight_scale(given)  # type: ignore[arg-type]
            if weights.shape != (len(table),):
                raise InputError(f"{len(weights)} weights for {len(table)} rows")
            table, weights = table[weights > 0], weights[weights > 0]
        labels, codes = read_labels(table[target], classes)
        features = table.drop(columns=[target])
        if encoder is None:
            encoder = fit_encoder(
                encoding,
                features,
                codes,
                n_classes=len(labels),
                columns=columns,
                weights=weights,
                **options,
            )
        problem = cls.from_codes(
            encoder.transform(features),
            codes,
            weights=weights,
            arities=[test.arity for test in encoder.tests],
            tests=encoder.tests,
            classes=labels,
            columns=encoder.columns,
            target_name=target,
            encoding=encoder.name,
        )
        preparation = replace(problem.preparation, without_feature=encoder.without_feature)
        return replace(problem, preparation=preparation, weight_scale=scale)

    @classmethod
    def from_codes(
        cls,
        codes: ArrayLike,
        target: ArrayLike,
        *,
        weights: ArrayLike | None = None,
        arities: Sequence[int] | None = None,
        tests: Sequence[NodeTest] | None = None,
        classes: Sequence[Any] | None = None,
        columns: dict[str, ColumnSpec] | None = None,
        target_name: str = "target",
        encoding: str = "codes",
    ) -> Problem:
        """Build a problem from a matrix of codes 0, 1, … and target codes 0, 1, …

        Parameters
        ----------
        codes : array-like of int, shape (n, features)
        target : array-like of int, shape (n,)
        weights : array-like, optional
            See :func:`solver.exact.integer_weights`.
        arities : sequence of int, optional
            Number of codes of each feature; by default the largest code + 1.
        tests : sequence, optional
            By default feature ``j`` is the column ``x{j}`` and its codes are its categories.

        Raises
        ------
        InputError
            If the shapes do not fit, a code is not a whole number or out of range, or there are
            no rows.
        """
        given, labels = _whole_numbers(codes, "codes"), _whole_numbers(target, "target")
        if given.size and (given.min() < 0 or given.max() >= 2**31):
            raise InputError("a feature code is negative or not below its arity")
        matrix = np.ascontiguousarray(given, dtype=np.int32)
        if matrix.ndim != 2 or labels.shape != (matrix.shape[0],):
            raise InputError(
                f"codes must be (rows × features) and target (rows,); got {matrix.shape} and "
                f"{labels.shape}"
            )
        if not len(matrix):
            raise InputError("the table has no rows")
        n_rows, n_features = matrix.shape
        if arities is None:
            arities = [int(c) + 1 for c in matrix.max(axis=0)] if n_features else []
        sizes = np.array(arities, dtype=np.int32)
        if sizes.shape != (n_features,) or (tests is not None and len(tests) != n_features):
            raise InputError(f"arities and tests must be as many as the features, {n_features}")
        if n_features and np.any(matrix.max(axis=0) >= sizes):
            raise InputError("a feature code is negative or not below its arity")
        if classes is None:
            classes = tuple(range(int(labels.max()) + 1))
        if labels.min() < 0 or labels.max() >= len(classes):
            raise InputError("a target code names no class")
        if tests is None:
            tests = [
                CategoryTest(f"x{j}", tuple((c,) for c in range(size)))
                for j, size in enumerate(sizes.tolist())
            ]
            columns = {f"x{j}": ColumnSpec("category") for j in range(n_features)}
        row_weights = np.ones(n_rows, np.int64) if weights is None else integer_weights(weights)  # type: ignore[arg-type]
        if row_weights.shape != (n_rows,):
            raise InputError(f"{len(row_weights)} weights for {n_rows} rows")
        kept = row_weights > 0
        rows, counts = _collapse(matrix[kept], labels[kept], row_weights[kept], len(classes))
        names = [test.name for test in tests]
        keep, constant, duplicate = _distinct_features(rows, names)
        return cls(
            codes=np.ascontiguousarray(rows[:, keep]),
            counts=counts,
            arities=sizes[keep],
            tests=tuple(tests[j] for j in keep),
            classes=tuple(classes),
            n_rows=n_rows,
            preparation=Preparation(constant, duplicate, int(kept.sum()) - len(rows)),
            columns=dict(columns or {}),
            target=target_name,
            encoding=encoding,
            weight_scale=1 if weights is None else weight_scale(weights),  # type: ignore[arg-type]
        )

    @cached_property
    def class_weights(self) -> NDArray[np.int64]:
        """Weight of each class."""
        return np.asarray(self.counts.sum(axis=0))

    @cached_property
    def total_weight(self) -> int:
        """W, the sum of all weights."""
        return int(self.counts.sum())

    @cached_property
    def leaf_errors(self) -> int:
        """Errors of the tree without a split."""
        return self.total_weight - int(self.class_weights.max())

    @cached_property
    def unavoidable_errors(self) -> int:
        """Errors of every tree: equal rows with different labels (equivalent points)."""
        return int((self.counts.sum(axis=1) - self.counts.max(axis=1)).sum())

    @property
    def feature_kind(self) -> str:
        """``binary`` if every feature has at most two codes, else ``categorical``."""
        return "binary" if bool(np.all(self.arities <= 2)) else "categorical"

    @property
    def n_features(self) -> int:
        """Number of features after constant and duplicate ones were dropped."""
        return int(self.codes.shape[1])

    @property
    def n_classes(self) -> int:
        """Number of labels, those without a row included."""
        return len(self.classes)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the content: equal problems have equal digests on every machine."""
        content = hashlib.sha256()
        for part in (self.codes, self.counts, self.arities):
            content.update(repr((part.shape, part.dtype.str)).encode())
            content.update(np.ascontiguousarray(part).tobytes())
        return content.hexdigest()

    def grow(self, shape: Shape) -> Tree:
        """Turn the shape of a tree into a tree with counts, tests and predictions.

        Predictions are the majority classes, the first one at a tie.
        """
        features: list[int | None] = []
        children: list[list[int]] = []
        counts: list[tuple[int, ...]] = []
        empty: list[bool] = []
        # A stack and no recursion: a chain of one-hot tests can be thousands of splits deep.
        pending: list[tuple[Shape, NDArray[np.int64], int]] = [
            (shape, np.arange(len(self.codes)), -1)
        ]
        while pending:
            part, rows, parent = pending.pop()
            position = len(features)
            if parent >= 0:
                children[parent].append(position)
            children.append([])
            empty.append(len(rows) == 0)
            if isinstance(part, tuple):
                feature, shapes = part
                features.append(feature)
                counts.append(())
                codes = self.codes[rows, feature]
                pending += reversed(
                    [(child, rows[codes == c], position) for c, child in enumerate(shapes)]
                )
            else:
                features.append(None)
                counts.append(tuple(self.counts[rows].sum(axis=0).tolist()))
        for position in reversed(range(len(features))):  # children come after their parents
            if features[position] is not None:
                below = (counts[child] for child in children[position])
                counts[position] = tuple(map(sum, zip(*below, strict=True)))
        predictions = [max(range(len(c)), key=c.__getitem__) for c in counts]
        for position, below_it in enumerate(children):
            for child in below_it:
                if empty[child]:
                    predictions[child] = predictions[position]
        nodes = map(Node, counts, predictions, features, map(tuple, children))
        used = {feature: self.tests[feature] for feature in features if feature is not None}
        read = {test.column for test in used.values()}
        columns = {name: spec for name, spec in self.columns.items() if name in read}
        return Tree(tuple(nodes), used, self.classes, columns, self.target)


def _whole_numbers(values: ArrayLike, name: str) -> NDArray[Any]:
    """An array of integers; whole floats and booleans are taken as such."""
    try:
        array = np.asarray(values)
    except ValueError:
        raise InputError(f"the rows of {name} differ in length") from None
    whole = array.dtype.kind in "iub" or (
        array.dtype.kind == "f" and bool(np.all(np.isfinite(array) & (array == np.floor(array))))
    )
    if array.size and not whole:
        raise InputError(f"{name} must be whole numbers 0, 1, …; encode the table first")
    # Small integers stay what they are: a copy of a large table is what takes the time.
    return array if array.dtype.kind in "iu" and array.itemsize < 8 else array.astype(np.int64)


def _collapse(
    codes: NDArray[np.int32], labels: NDArray[Any], weights: NDArray[np.int64], n_classes: int
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Merge equal rows; the result is in a canonical order, so row order does not matter."""
    group, first = _equal_rows(codes)
    rows = codes[first]
    counts = np.zeros((len(rows), n_classes), dtype=np.int64)
    np.add.at(counts, (group, labels), weights)
    if not rows.shape[1]:
        return rows, counts
    # Sorting whole rows as byte strings is one sort instead of one a feature; big-endian bytes
    # sort as the numbers do.
    whole = np.ascontiguousarray(rows, dtype=">i4").view(f"V{4 * rows.shape[1]}").ravel()
    order = np.argsort(whole, kind="stable")
    return rows[order], counts[order]


def _equal_rows(codes: NDArray[np.int32]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """A number for every row, equal exactly if the rows are, and the first row of each number."""
    group = np.zeros(len(codes), dtype=np.int64)
    size = min(len(codes), 1)
    for word in _row_words(codes).T:
        numbers, distinct = pd.factorize(word)
        if size > 1:
            numbers, distinct = pd.factorize(group * len(distinct) + numbers)
        group, size = numbers.astype(np.int64), len(distinct)
    first = np.empty(size, dtype=np.int64)
    first[group[::-1]] = np.arange(len(codes))[::-1]
    return group, first


def _row_words(codes: NDArray[np.int32]) -> NDArray[np.uint64]:
    """Rows as few 64-bit words as their codes allow, equal exactly if the rows are."""
    largest = int(codes.max(initial=0))
    if largest <= 1:
        packed = np.packbits(codes.astype(bool), axis=1)
    else:
        packed = codes.astype(np.uint8 if largest < 2**8 else np.uint32).view(np.uint8)
        packed = packed.reshape(len(codes), -1)
    n_words = -(-packed.shape[1] // 8)
    words = np.zeros((len(codes), 8 * n_words), dtype=np.uint8)
    words[:, : packed.shape[1]] = packed
    return words.view(np.uint64).reshape(len(codes), n_words)


def _distinct_features(
    codes: NDArray[np.int32], names: Sequence[str]
) -> tuple[list[int], tuple[str, ...], dict[str, str]]:
    """Positions of the features to keep, names of the constant ones, and of duplicates."""
    keep: list[int] = []
    constant: list[str] = []
    duplicate: dict[str, str] = {}
    first_with: dict[bytes, int] = {}
    for j in range(codes.shape[1]):
        column = codes[:, j]
        # Numbering the codes by first appearance makes x and "not x" the same partition.
        ranks, values = pd.factorize(column)
        if len(values) == 1:
            constant.append(names[j])
            continue
        partition = ranks.astype(np.int32).tobytes()
        if partition in first_with:
            duplicate[names[j]] = names[first_with[partition]]
        else:
            first_with[partition] = j
            keep.append(j)
    return keep, tuple(constant), duplicate
