"""A problem: encoded features, target, integer weights, and what each feature stands for."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from solver.encodings import Encoder, fit_transform
from solver.encodings.auto_encoding import AUTO, choose_encoding
from solver.errors import InputError, columns_like
from solver.features.column_inference import Override
from solver.features.columns import ColumnSpec, columns_by_name
from solver.features.node_tests import NodeTest
from solver.features.number_format import at_least, count
from solver.features.oblique_tests import SurfaceTest
from solver.features.ranks_and_cuts import Axis, CutTests, Scale
from solver.features.to_pandas import as_frame
from solver.objective.exact_objective import CostScale
from solver.objective.exact_squared_error import TOLERANCE, Moments, check_spread, tolerance_of
from solver.objective.integer_weights import (
    LARGEST_ERROR,
    WholeWeights,
    round_weights,
    whole_weights,
)
from solver.problem.deduplication import (
    Copy,
    collapse,
    collapse_numbers,
    copies_of,
    distinct_features,
    equal_rows,
)
from solver.problem.from_codes_checks import (
    default_test,
    output_names,
    read_arities,
    read_classes,
    read_codes,
    read_columns,
    read_target,
    read_tests,
)
from solver.problem.node_outcomes import Parts, majority_nodes, mean_nodes
from solver.problem.target import read_labels, read_targets
from solver.trees.tree import Shape, TaskType, Tree, columns_read


@dataclass(frozen=True)
class Preparation:
    """How the table was changed to build the problem, for the report.

    ``constant`` are features with one value, which no split can use. ``duplicate`` has for each
    feature that separates the rows as an earlier one does, that feature's name, and ``copies`` its
    own test. ``collapsed`` counts rows that were merged with an equal row. ``without_feature`` are
    raw columns without a feature, e.g. because ``mdlp`` found no cut.
    """

    constant: tuple[str, ...]
    duplicate: dict[str, str]
    collapsed: int
    without_feature: tuple[str, ...] = ()
    copies: tuple[Copy, ...] = ()


@dataclass(frozen=True, eq=False)
class Problem:
    """The input of a solver.

    Parameters
    ----------
    codes : array of int32, shape (rows, features)
        Encoded rows, without duplicates. A code is the branch that the row takes at the test.
    counts : array of int64, shape (rows, classes)
        Weight of each class among the table's rows that have these codes. In regression the shape
        is (rows, 1): the weight of the table's rows that have these codes and targets.
    arities : array of int32, shape (features,)
        Number of codes of each feature.
    tests : sequence
        For each encoded feature, its test on a raw row. For *ordered* features each cut between two
        neighbouring codes is a test, see :mod:`solver.features.ranks_and_cuts`.
    classes : tuple
        Labels, sorted; none in regression.
    n_rows : int
        Rows of the table before equal rows were merged.
    weight_scale : Fraction
        The given weights times this factor are the whole numbers of ``counts``.
    weighted : bool
        Whether rows have weights other than 1. Then ``counts`` are not numbers of rows.
    weight_error : Fraction
        The largest change of the loss of a tree that rounding the weights may have caused; 0 if
        weights are exact. In regression this is a share of the squared range of the targets.
    values : array of float64, shape (rows, outputs), or None
        Targets of regression.
    outputs : tuple of str
        Names of the target columns of regression; empty in classification.
    axes : tuple of Axis
        If features are ordered: the columns of numbers, without constant ones.

    Notes
    -----
    A problem drops constant and duplicate features when it is made. Two features are duplicates if
    they separate the rows in the same way, whatever the order of the codes: ``x`` and ``not x`` are
    the same split. Ordered features are duplicates if their codes are equal or reversed.

    Examples
    --------
    >>> import pandas as pd
    >>> import treesweep
    >>> table = pd.DataFrame({"outlook": ["sun", "rain", "rain"], "play": ["no", "yes", "yes"]})
    >>> problem = treesweep.Problem.from_table(table, target="play", encoding="onehot")
    >>> problem.n_rows, problem.n_features, problem.classes
    (3, 1, ('no', 'yes'))
    """

    codes: NDArray[np.int32]
    counts: NDArray[np.int64]
    arities: NDArray[np.int32]
    tests: Sequence[NodeTest]
    classes: tuple[Any, ...]
    n_rows: int
    preparation: Preparation
    columns: dict[str, ColumnSpec] = field(default_factory=dict)
    target: str = "target"
    encoding: str = "codes"
    weight_scale: Fraction = Fraction(1)
    weight_error: Fraction = Fraction(0)
    values: NDArray[np.float64] | None = None
    outputs: tuple[str, ...] = ()
    axes: tuple[Axis, ...] = ()
    weighted: bool = False

    @classmethod
    def from_table(
        cls,
        frame: Any,
        target: str | Sequence[str],
        encoding: str = "onehot",
        *,
        task: TaskType = "classification",
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
            Each row is an example.
        target : str or sequence of str
            Name of the column to predict; in regression also several.
        task : {"classification", "regression"}
            ``regression`` predicts numbers, with the least squared error.
        encoding : str
            Name of an encoding, see :data:`solver.encodings.ENCODINGS`. In classification ``auto``
            makes a feature of every cut of a number, or cuts only at quantiles if there would be
            too many features. In regression it leaves numbers as they are, for ``quantbnb``. See
            :func:`solver.encodings.auto_encoding.choose_encoding`.
        weights : array-like, optional
            Weight of every row. Rows of weight 0 are left out.
        columns : mapping, optional
            Overrides of how columns are read, e.g. ``{"age": "number", "id": "drop"}``; see
            :func:`solver.features.column_inference.infer_columns`.
        classes : sequence, optional
            All labels, if this table may lack some (a training fold).
        encoder : Encoder, optional
            A fitted encoder; ``encoding`` and ``options`` are then ignored.
        **options
            Options of the encoding, e.g. ``k=8``.

        Raises
        ------
        InputError
            If the target is missing, has missing values or a single class, or the table has no
            rows or no usable features.
        """
        table = as_frame(frame)
        features = columns_by_name(table)
        targets = target_names(target, features, task)
        if len(table) == 0:
            raise InputError("the table has no rows")
        rows = _row_weights(weights, len(table))
        if not np.all(rows.whole > 0):
            features = {name: column[rows.whole > 0] for name, column in features.items()}
            rows = rows.positive
        goals = {name: features.pop(name) for name in targets}
        labels: tuple[Any, ...] = ()
        if task == "regression":
            known: NDArray[Any] = read_targets(goals)
            codes = np.zeros(len(known), np.int64)
        else:
            labels, known = read_labels(goals[targets[0]], classes)
            codes = known
        if encoder is None:
            if encoding == AUTO:
                cuts = task == "regression"
                encoding, chosen = choose_encoding(features, columns, cuts_numbers=cuts)
                options = {**chosen, **options}
            training = encoding, features, codes
            encoder, encoded = fit_transform(
                *training, n_classes=len(labels), columns=columns, weights=rows, **options
            )
        elif not isinstance(encoder, Encoder):
            raise InputError(f"encoder = {encoder!r} is none; give one of fit_encoder")
        else:
            inputs = pd.DataFrame(features, goals[targets[0]].index)
            encoder = encoder.without_numbers_unknown(inputs)
            encoded = encoder.transform(inputs)
        problem = cls.from_codes(
            encoded,
            known,
            weights=rows,
            tests=encoder.tests,
            classes=labels,
            columns=encoder.columns,
            target_name=targets if task == "regression" else targets[0],
            encoding=encoder.name,
            task=task,
        )
        preparation = replace(problem.preparation, without_feature=encoder.without_feature)
        return replace(problem, preparation=preparation)

    @classmethod
    def from_codes(
        cls,
        codes: ArrayLike,
        target: ArrayLike,
        *,
        weights: ArrayLike | WholeWeights | None = None,
        arities: Sequence[int] | None = None,
        tests: Sequence[NodeTest | Scale] | None = None,
        classes: Sequence[Any] | None = None,
        columns: dict[str, ColumnSpec] | None = None,
        target_name: str | Sequence[str] = "target",
        encoding: str = "codes",
        task: TaskType = "classification",
        ordered: bool = False,
    ) -> Problem:
        """Build a problem from a matrix of codes 0, 1, … and target codes 0, 1, …

        Parameters
        ----------
        codes : array-like of int, shape (n, features)
        target : array-like of int, shape (n,), or of float, shape (n,) or (n, outputs)
            Classes, or the targets of regression.
        weights : array-like, optional
            See :func:`solver.objective.integer_weights.whole_weights`.
        arities : sequence of int, optional
            Number of codes of each feature. By default that of its test, or the largest code + 1.
        tests : sequence, optional
            By default feature ``j`` is the column ``x{j}`` and its codes are its categories.
        columns : dict, optional
            How the columns of the tests are read. By default this follows from the tests.
        classes : sequence, optional
            The label of each target code: different texts, numbers or booleans. By default the
            code.
        ordered : bool
            Whether the codes are numbers that the solver cuts. Only without ``tests``.

        Raises
        ------
        InputError
            If the shapes do not fit, a code is not a whole number or out of range, there are no
            rows, tests or labels do not fit the codes, or targets of regression cannot be squared.
        """
        matrix = read_codes(codes)
        names = output_names(target_name, target, task)
        values, labels = read_target(target, names, task)
        if matrix.ndim != 2 or labels.shape != (matrix.shape[0],):
            raise InputError(
                f"codes must be (rows × features) and target (rows,); got {matrix.shape} and "
                f"{np.shape(target)}"
            )
        if not len(matrix):
            raise InputError("the table has no rows")
        n_rows = len(matrix)
        tests = None if tests is None else read_tests(tests)
        sizes = read_arities(arities, matrix, tests)
        known = () if values is not None else read_classes(classes, labels)
        if tests is None:
            tests = [default_test(f"x{j}", size, ordered) for j, size in enumerate(sizes.tolist())]
        scales = [isinstance(test, Scale) for test in tests]
        given = _row_weights(weights, n_rows)
        kept, row_weights = given.whole > 0, given.whole
        if not kept.all():
            matrix, labels, row_weights = matrix[kept], labels[kept], row_weights[kept]
        if values is None:
            rows, counts = collapse(matrix, labels, row_weights, len(known))
        else:
            rows, counts, values = collapse_numbers(matrix, values[kept], row_weights)
            check_spread(values, counts[:, 0], ", ".join(names))
        keep, constant, duplicate = distinct_features(rows, [test.name for test in tests], scales)
        features = tuple(tests[j] for j in keep)
        copies = copies_of(rows, tests, sizes, keep, duplicate)
        return cls(
            codes=np.ascontiguousarray(rows[:, keep]),
            counts=counts,
            arities=sizes[keep],
            tests=CutTests(features) if any(scales) else features,  # type: ignore[arg-type]
            classes=known,
            n_rows=n_rows,
            preparation=Preparation(
                constant, duplicate, int(kept.sum()) - len(rows), copies=copies
            ),
            columns=read_columns(columns, tests),
            target=", ".join(names),
            encoding=encoding,
            weight_scale=given.scale,
            weight_error=given.error,
            values=values,
            outputs=names if values is not None else (),
            axes=_axes(tests, rows),
            weighted=given.scale != 1 or bool(np.any(row_weights != 1)),
        )

    @property
    def task(self) -> TaskType:
        """``classification`` or ``regression``."""
        return "classification" if self.values is None else "regression"

    @property
    def ordered(self) -> bool:
        """Whether features are ordered: each test is then a cut (``features.ranks_and_cuts``)."""
        return isinstance(self.tests, CutTests)

    @cached_property
    def class_weights(self) -> NDArray[np.int64]:
        """Weight of each class."""
        by_class = np.ascontiguousarray(self.counts.T)  # long rows: numpy is slow along short ones
        return np.asarray(by_class.sum(axis=1))

    @cached_property
    def total_weight(self) -> int:
        """W, the sum of all weights."""
        return int(self.counts.sum())

    @cached_property
    def moments(self) -> Moments:
        """Exact sums of the targets of regression."""
        assert self.values is not None
        return Moments(self.values, self.counts[:, 0])

    @cached_property
    def leaf_errors(self) -> int | Fraction:
        """Errors, or squared error, of the tree without a split."""
        if self.values is None:
            return self.total_weight - int(self.class_weights.max())
        return self.grow(-1).errors

    @cached_property
    def unavoidable_errors(self) -> int | Fraction:
        """Errors, or squared error, that no tree avoids: equal rows have different targets."""
        if self.values is None:
            return self.total_weight - int(np.ascontiguousarray(self.counts.T).max(axis=0).sum())
        group, first = equal_rows(self.codes)
        order = np.argsort(group, kind="stable")
        groups = np.split(order, np.cumsum(np.bincount(group, minlength=len(first)))[:-1])
        alike = [rows for rows in groups if len(rows) > 1]
        errors = [self.moments.squared_error(rows, self.moments.means(rows)) for rows in alike]
        return sum(errors, Fraction(0)) * (1 - TOLERANCE)

    @cached_property
    def tolerance(self) -> Fraction:
        """Objectives this close count as equal; 0 for classification with exact weights."""
        return self.float_tolerance + 2 * self.rounding

    @cached_property
    def rounding(self) -> Fraction:
        """The largest change of a tree's objective that rounding the weights may have caused."""
        if self.values is None or not self.weight_error:
            return self.weight_error
        spans = self.values.max(axis=0) - self.values.min(axis=0)
        squares = sum((Fraction(span) ** 2 for span in spans.tolist()), Fraction(0))
        return self.weight_error * squares

    @cached_property
    def float_tolerance(self) -> Fraction:
        """The part of :attr:`tolerance` that is due to a search's floats; 0 for classification."""
        return tolerance_of(self.leaf_errors, self.total_weight)

    def fitted(self, lam: Fraction, max_splits: int | None = None) -> Problem:
        """The problem with weights rounded, if needed, so that costs at this λ fit into 64 bits.

        Costs at larger λ then fit as well. If nothing has to be rounded, it is this problem.
        :attr:`tolerance` says what rounding may change.

        Raises
        ------
        InputError
            If rounding would change losses by more than 5·10⁻⁷.
        """
        most = len(self.codes) - 1 if max_splits is None else min(len(self.codes) - 1, max_splits)
        if self.values is not None or CostScale.fit(lam, self.total_weight, self.leaf_errors, most):
            return self
        cells = self.counts.ravel().tolist()
        total = CostScale.largest_total(lam, self.total_weight, most)
        rounded, error = round_weights(cells, [1] * len(cells), max(total, 1))
        error += self.weight_error
        if error > LARGEST_ERROR:
            raise InputError(
                f"at λ = {lam} weights of so many digits can only be counted to within "
                f"{at_least(error, 2)} of their sum; write the weights or λ with fewer digits, or "
                "raise λ"
            )
        counts = np.array(rounded, np.int64).reshape(self.counts.shape)
        scale = self.weight_scale * Fraction(int(counts.sum()), self.total_weight)
        return replace(self, counts=counts, weight_scale=scale, weight_error=error, weighted=True)

    @cached_property
    def feature_kind(self) -> str:
        """``binary`` if every feature has at most two codes, else ``categorical``, or
        ``continuous`` where features are ordered."""
        if np.all(self.arities <= 2):
            return "binary"
        return "continuous" if self.ordered else "categorical"

    @cached_property
    def max_arity(self) -> int:
        """Most branches of a test, at least 2."""
        return 2 if self.ordered else max(2, int(self.arities.max(initial=2)))

    def branch_codes(
        self, test: int | NodeTest, rows: NDArray[np.int64] | slice = slice(None)
    ) -> NDArray[np.int32]:
        """The branch that each of some rows takes at a test, an array of shape (rows,).

        The test need not belong to a feature: it may read several numbers, or belong to a dropped
        duplicate.
        """
        if isinstance(test, SurfaceTest):
            return test.branches(*(self.numbers(column)[rows] for column in test.columns))
        if isinstance(test, NodeTest):
            copy = next(copy for copy in self.preparation.copies if copy.test == test)
            return np.array(copy.codes, np.int32)[self.codes[rows, copy.feature]]
        if not isinstance(self.tests, CutTests):
            return self.codes[rows, test]
        feature, code = self.tests.locate(test)
        return (self.codes[rows, feature] > code).astype(np.int32)

    def numbers(self, column: str) -> NDArray[np.float64]:
        """The numbers of a raw column, an array of shape (rows,).

        Raises
        ------
        InputError
            If the column is constant, has no numbers, has missing numbers, or is not encoded as
            ``continuous``.
        """
        for axis in self.axes:
            if axis.scale.column == column and (numbers := axis.numbers) is not None:
                return numbers
        raise InputError(f"the problem does not know the numbers of column {column!r}")

    def cut_number(self, feature: int, code: int) -> int:
        """The position of a cut in ``tests``. The cut sends a row to branch 0 if the row's code
        of the feature is at most the argument ``code``. An unordered feature has only one test."""
        return self.tests.first[feature] + code if isinstance(self.tests, CutTests) else feature

    def locate_cut(self, number: int) -> tuple[int, int]:
        """The feature and the code of a cut, see :meth:`cut_number`."""
        return self.tests.locate(number) if isinstance(self.tests, CutTests) else (number, 0)

    @property
    def n_features(self) -> int:
        """Number of features after constant and duplicate ones were dropped."""
        return int(self.codes.shape[1])

    @property
    def n_classes(self) -> int:
        """Number of labels, including labels without a row; 0 for regression."""
        return len(self.classes)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the content: equal problems have equal digests on every machine."""
        content = hashlib.sha256()
        values = () if self.values is None else (self.values,)
        for part in (self.codes, self.counts, self.arities, *values):
            content.update(repr((part.shape, part.dtype.str)).encode())
            content.update(np.ascontiguousarray(part).tobytes())
        return content.hexdigest()

    @cached_property
    def _stored_weight_error(self) -> Fraction:
        """The weight error as a stored tree has it."""
        return Fraction(at_least(self.weight_error, 3)) if self.weight_error else self.weight_error

    def grow(self, shape: Shape) -> Tree:
        """Turn the shape of a tree into a tree with counts, tests and predictions.

        A shape is −1 for a leaf, or (feature, shapes of the children) for a split. A node predicts
        the majority class of its rows (the first class in a tie), or the mean of their targets. A
        node without rows predicts as its parent does.
        """
        others: dict[NodeTest, int] = {}  # tests that are no features, and their numbers
        parts = Parts([], [], [], [])
        reached, parents, features, children = parts
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
            reached.append(rows)
            parents.append(parent)
            if isinstance(part, tuple):
                test, shapes = part
                if not isinstance(test, int) and isinstance(test, NodeTest):
                    features.append(others.setdefault(test, len(self.tests) + len(others)))
                else:
                    features.append(test)
                codes = self.branch_codes(test, rows)
                for c in range(len(shapes) - 1, -1, -1):
                    pending.append((shapes[c], rows.compress(codes == c), position))
            else:
                features.append(None)
        if self.values is None:
            nodes = majority_nodes(parts, self.counts)
        else:
            nodes = mean_nodes(parts, self.counts, self.moments)
        asked = dict.fromkeys(f for f in features if f is not None and f < len(self.tests))
        if isinstance(self.tests, CutTests):
            used = dict(zip(asked, self.tests.tests_of(asked), strict=True))
        else:
            used = {f: self.tests[f] for f in asked}
        used.update({number: test for test, number in others.items()})
        columns = columns_read(self.columns, used.values())
        return Tree(
            tuple(nodes),
            used,
            self.classes,
            columns,
            self.target,
            self.outputs,
            self.weight_scale if self.weighted else None,
            self._stored_weight_error,
        )


def target_names(
    target: str | Sequence[str], columns: Collection[str], task: TaskType
) -> tuple[str, ...]:
    """The target columns of a table.

    Raises
    ------
    InputError
        If one is missing or given twice, or classification has several.
    """
    if isinstance(target, str) or not isinstance(target, Sequence):
        target = [target]
    names = tuple(map(str, target))
    for name in names:
        if name not in columns:
            raise InputError(
                f"the table has no column {name!r} for the target; "
                f"its columns are {columns_like(name, columns)}"
            )
    if not names or len(set(names)) < len(names):
        raise InputError("target must name one column, or several different ones")
    if task not in ("classification", "regression"):
        raise InputError(f"there is no task {task!r}; there are: classification, regression")
    if task == "classification" and len(names) > 1:
        raise InputError(f"classification has one target, not {len(names)}; or say regression")
    return names


def _axes(tests: Sequence[NodeTest | Scale], rows: NDArray[np.int32]) -> tuple[Axis, ...]:
    """The columns of numbers among the features, without constant ones."""
    scales = {j: test for j, test in enumerate(tests) if isinstance(test, Scale)}
    columns = np.ascontiguousarray(rows[:, list(scales)].T)
    varied = np.asarray((columns != columns[:, :1]).any(axis=1))
    axes = zip(scales.values(), columns, varied, strict=True)
    return tuple(Axis(scale, codes) for scale, codes, is_varied in axes if is_varied)


def _row_weights(weights: ArrayLike | WholeWeights | None, n_rows: int) -> WholeWeights:
    """A whole number for every row."""
    if weights is None:
        return WholeWeights.ones(n_rows)
    found = weights if isinstance(weights, WholeWeights) else whole_weights(weights)
    if len(found.whole) != n_rows:
        raise InputError(f"{count(len(found.whole), 'weight')} for {count(n_rows, 'row')}")
    return found
