"""Checks of a problem that is given as codes: codes, targets, tests and labels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from solver.errors import InputError
from solver.features.category_values import Category, key_of, refuse_masked
from solver.features.columns import KINDS, ColumnSpec
from solver.features.node_tests import CategoryTest, NodeTest, ThresholdTest, parse_test
from solver.features.number_format import count
from solver.features.oblique_tests import SurfaceTest
from solver.features.ranks_and_cuts import Scale, ThresholdsOnDemand
from solver.problem.target import check_classes, read_target_array
from solver.trees.tree import TaskType

MANY_CODES = 2**16
"""Codes that are neither named nor given tests may be more only where there are more rows."""


def read_codes(codes: ArrayLike) -> NDArray[np.int32]:
    """Codes of features as a matrix."""
    given = _whole_numbers(codes, "codes")
    if given.size and (given.min() < 0 or given.max() >= 2**31 - 1):
        raise InputError("a feature code is negative or not below its arity")
    return np.ascontiguousarray(given, dtype=np.int32)


def read_arities(
    arities: ArrayLike | None,
    matrix: NDArray[np.int32],
    tests: Sequence[NodeTest | Scale] | None,
) -> NDArray[np.int32]:
    """The number of codes of each feature; by default that of its test, or the largest + 1."""
    n_features = matrix.shape[1]
    known = None if tests is None else [test.arity for test in tests]
    if arities is None:
        arities = matrix.max(axis=0, initial=-1).astype(np.int64) + 1 if known is None else known
    sizes = _whole_numbers(arities, "arities")
    if sizes.shape != (n_features,) or (known is not None and len(known) != n_features):
        raise InputError(f"arities and tests must be as many as the features, {n_features}")
    if (matrix >= np.minimum(sizes, 2**31 - 1).astype(np.int32)).any():
        raise InputError("a feature code is negative or not below its arity")
    for j, size in enumerate(sizes.tolist()):
        if known is not None and size != known[j]:
            raise InputError(f"feature {j} has arity {size}, but its test has {known[j]} branches")
        if known is None and size > max(len(matrix), MANY_CODES):
            raise InputError(
                f"feature {j} has {count(size, 'code')} in {count(len(matrix), 'row')}; number its "
                "codes 0, 1, …"
            )
    return sizes.astype(np.int32)


def read_tests(tests: Any) -> tuple[NodeTest | Scale, ...]:
    """Tests as a stored tree has them."""
    if isinstance(tests, str) or not isinstance(tests, Iterable):
        raise InputError(f"tests = {tests!r} must be a list of tests")
    found = tuple(map(_read_test, tests))
    if any(isinstance(test, Scale) for test in found):  # then each split is one cut
        for test in found:
            if not isinstance(test, Scale) and test.arity > 2:
                raise InputError(
                    f"tests has {test.name!r} of {test.arity} branches together with numbers that "
                    "are to be cut; give it as tests of two branches"
                )
    return found


def _read_test(test: Any) -> NodeTest | Scale:
    if not isinstance(test, (CategoryTest, ThresholdTest, SurfaceTest, Scale)):
        raise InputError(f"tests has {test!r}, which is no test of solver.features.node_tests")
    try:
        if names := [name for name in _columns_of(test) if not isinstance(name, str)]:
            raise ValueError(f"{names[0]!r} is no name of a column")
        if not isinstance(test, Scale):
            read = parse_test(test.to_dict())
            if isinstance(test, ThresholdTest) and float(test.threshold) != test.threshold:
                raise ValueError(f"{test.threshold!r} is no float")
            return read
        if isinstance(test.thresholds, ThresholdsOnDemand):
            return test  # each is between two numbers of the column
        if not np.all(np.isfinite(test.thresholds)) or np.any(np.diff(test.thresholds) <= 0):
            raise ValueError(f"the thresholds of {test.column!r} do not ascend")
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"tests has one that no tree can ask: {error}") from None
    return test


def _columns_of(test: Any) -> tuple[Any, ...]:
    return (test.column,) if isinstance(test, Scale) else test.columns


def read_columns(
    columns: Mapping[str, ColumnSpec] | None, tests: Sequence[NodeTest | Scale]
) -> dict[str, ColumnSpec]:
    """How the columns of tests are read; by default as the tests need it.

    Raises
    ------
    InputError
        If tests that ask for categories and others read a column that is not described, or one
        asks for what its column, as described, never is.
    """
    specs: Any = {} if columns is None else columns
    if not isinstance(specs, Mapping) or {type(spec) for spec in specs.values()} - {ColumnSpec}:
        raise InputError(f"columns = {columns!r} must have a ColumnSpec for each name")
    known = dict(specs)
    for name, described in known.items():
        if described.kind not in KINDS:
            raise InputError(
                f"columns has {name!r} as {described.kind!r}; allowed: {', '.join(KINDS)}"
            )
    _check_fit(known, tests)
    asked: dict[str, list[Category]] = {}
    kinds: dict[str, set[str]] = {}
    for test in tests:
        for name in _columns_of(test):
            if name in known:
                continue
            values = asked.setdefault(name, [])
            if isinstance(test, CategoryTest):
                values += [value for group in test.groups for value in group]
            kinds.setdefault(name, set()).add(_kind_of(test))
    for name, found in kinds.items():
        if len(found) > 1:
            raise InputError(
                f"tests read the column {name!r} as {' and as '.join(sorted(found))}",
                "say in columns how it is read",
            )
        (kind,) = found
        spec = ColumnSpec.of_categories(asked[name])
        known[name] = spec if kind == "category" and spec.values != "mixed" else ColumnSpec(kind)
    return known


def _check_fit(columns: Mapping[str, ColumnSpec], tests: Sequence[NodeTest | Scale]) -> None:
    """Refuse tests for what a column, as it is described, never is."""
    asked: dict[str, list[Category]] = {}
    for test in tests:
        for name in _columns_of(test):
            if name not in columns:
                continue
            kind = columns[name].kind
            if isinstance(test, CategoryTest):
                asked.setdefault(name, []).extend(v for group in test.groups for v in group)
            elif kind == "category" or (
                kind != _kind_of(test) and not isinstance(test, SurfaceTest)
            ):
                raise InputError(f"tests cut the column {name!r}, which columns has as {kind}")
    for name, values in asked.items():
        spec = columns[name]
        if spec.kind == "category":
            found = spec.read(pd.Series(values, dtype=object, name=name))
            never = [v for v, read in zip(values, found, strict=True) if key_of(v) != key_of(read)]
        else:
            plain = (int, float) if spec.kind == "number" else ()
            never = [
                v
                for v in values
                if v is not None and (isinstance(v, bool) or not isinstance(v, plain))
            ]
            if not never:  # a number may mean missing
                read = spec.read(pd.Series(values, dtype=object, name=name))
                gone = zip(values, np.isnan(read), strict=True)
                never = [v for v, is_missing in gone if is_missing and v is not None]
        if never:
            raise InputError(
                f"tests ask whether {name!r} is {never[0]!r}, which it never is as columns has it"
            )


def _kind_of(test: NodeTest | Scale) -> str:
    if isinstance(test, CategoryTest):
        return "category"
    return "number" if isinstance(test, SurfaceTest) else test.unit


def read_classes(classes: Sequence[Any] | None, labels: NDArray[Any]) -> tuple[Any, ...]:
    """The labels of the target codes; by default the codes."""
    most = int(labels.max())
    if classes is None:
        if most >= max(len(labels), MANY_CODES):
            raise InputError(
                f"target has the code {most} in {count(len(labels), 'row')}; number its classes "
                "0, 1, …"
            )
        classes = range(most + 1)
    known = check_classes(classes)
    if labels.min() < 0 or most >= len(known):
        raise InputError("a target code names no class")
    return known


def read_target(
    target: ArrayLike, names: Sequence[str], task: TaskType
) -> tuple[NDArray[np.float64] | None, NDArray[Any]]:
    """The targets of regression, or None, and a class for every row, which is then 0."""
    if task == "classification":
        return None, _whole_numbers(target, "target")
    values = read_target_array(target, ", ".join(names))
    return values, np.zeros(len(values), np.int64)


def output_names(names: str | Sequence[str], target: ArrayLike, task: TaskType) -> tuple[str, ...]:
    """A name for every target."""
    given = (names,) if isinstance(names, str) or not isinstance(names, Sequence) else tuple(names)
    if not all(isinstance(name, str) for name in given):
        raise InputError(f"target_name = {names!r} must be a text, or a list of texts")
    try:
        shape = np.shape(target)
    except ValueError:
        raise InputError("the rows of target differ in length") from None
    several = shape[1] if task == "regression" and len(shape) == 2 else 1
    if len(given) == 1 and several > 1:
        return tuple(f"{given[0]}_{i}" for i in range(several))
    if len(given) != several:
        raise InputError(f"{len(given)} names for {several} targets")
    return given


def default_test(column: str, arity: int, ordered: bool) -> NodeTest | Scale:
    if ordered:
        cuts = np.arange(arity - 1)
        thresholds, missing = cuts.astype(np.float64) + 0.5, np.zeros(len(cuts), np.int8)
        return Scale(column, thresholds, missing, values=np.arange(arity, dtype=np.float64))
    return CategoryTest(column, tuple((c,) for c in range(arity)))


def _whole_numbers(values: ArrayLike, name: str) -> NDArray[Any]:
    """An array of integers; whole floats and booleans are taken as such."""
    refuse_masked(values, name)
    try:
        array = np.asarray(values)
    except ValueError:
        raise InputError(f"the rows of {name} differ in length") from None
    whole = array.dtype.kind in "iub" or (
        array.dtype.kind == "f" and bool(np.all(np.isfinite(array) & (array == np.floor(array))))
    )
    if array.size and not whole:
        raise InputError(f"{name} must be whole numbers 0, 1, …; encode the table first")
    # Small integers keep their type: copying a large table takes most of the time.
    return array if array.dtype.kind in "iu" and array.itemsize < 8 else array.astype(np.int64)
