"""Encodings: what turns a table into a problem.

Here: thresholds, categories, quantiles, MDLP, and fitting an encoder.
Not here: reading raw columns (``solver.features``).
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from solver.encodings.category_tests import (
    indicator,
    indicators,
    indicators_but_first,
    indicators_but_last,
    multiway,
)
from solver.encodings.encoder import Encoder, Encoding, EncodingOption
from solver.encodings.mdlp import mdlp_cuts
from solver.encodings.thresholds import (
    Distribution,
    all_cuts,
    quantile_cuts,
    scale_of,
    threshold_tests,
)
from solver.errors import InputError, UnsupportedError
from solver.features.category_values import override, sort_categories
from solver.features.column_inference import Override, infer_columns
from solver.features.columns import Columns, ColumnSpec, Factorized, columns_by_name
from solver.features.node_tests import NodeTest
from solver.features.ranks_and_cuts import Scale
from solver.objective.integer_weights import WholeWeights

__all__ = [
    "ENCODINGS",
    "Encoder",
    "Encoding",
    "EncodingOption",
    "fit_columns",
    "fit_encoder",
    "fit_transform",
    "get_encoding",
]

_BINS = EncodingOption(4, 2, "number of bins of each column of numbers")

ENCODINGS: dict[str, Encoding] = {
    encoding.name: encoding
    for encoding in (
        Encoding(
            "categorical",
            "one feature for each column, with a branch for every value (multiway splits)",
            "categorical",
            multiway,
        ),
        Encoding("onehot", "one yes/no feature for every value", "binary", indicators),
        Encoding(
            "onehot-drop-first",
            "as onehot, without the first value of every column",
            "binary",
            indicators_but_first,
        ),
        Encoding(
            "onehot-drop-last",
            "as onehot, without the last value of every column",
            "binary",
            indicators_but_last,
        ),
        Encoding(
            "thresholds",
            "a feature for every cut of a number; categories as in onehot",
            "binary",
            indicators,
            all_cuts,
        ),
        Encoding(
            "quantiles",
            "numbers cut into k bins of about equal weight; categories as in onehot",
            "binary",
            indicators,
            quantile_cuts,
            {"k": _BINS},
        ),
        Encoding(
            "mdlp",
            "numbers cut where a cut separates classes (Fayyad, Irani); categories as in onehot",
            "binary",
            indicators,
            mdlp_cuts,
            uses_classes=True,
        ),
        Encoding(
            "continuous",
            "numbers as they are, cut by the solver itself; categories as in onehot",
            "continuous",
            indicators,
        ),
    )
}
"""All encodings by name. Each one has a summary and options.

Examples
--------
>>> import treesweep
>>> treesweep.ENCODINGS["quantiles"].summary
'numbers cut into k bins of about equal weight; categories as in onehot'
>>> list(treesweep.ENCODINGS["quantiles"].options)
['k']
"""


def get_encoding(name: str) -> Encoding:
    """The encoding of a name; InputError if there is none."""
    if name not in ENCODINGS:
        close = difflib.get_close_matches(str(name), ENCODINGS, 1)
        hint = f"did you mean {close[0]!r}? There" if close else "there"
        raise InputError(f"there is no encoding {name!r}; {hint} are: {', '.join(ENCODINGS)}")
    return ENCODINGS[name]


def fit_columns(
    encoding: str,
    features: Columns,
    columns: Mapping[str, Override] | None = None,
    read: dict[str, Factorized] | None = None,
) -> dict[str, ColumnSpec]:
    """How an encoding reads the columns of a table.

    :func:`fit_encoder` takes the result as ``columns``, so that all folds are read alike. For
    ``read`` see :func:`solver.features.column_inference.infer_columns`.

    Raises
    ------
    InputError
        As :func:`solver.features.column_inference.infer_columns`, or if there are no features.
    UnsupportedError
        If a column is a number or a date and the encoding does not cut these.
    """
    description = get_encoding(encoding)
    specs = infer_columns(features, columns, few_values=description.few_values, read=read)
    if not specs:
        raise InputError("the table has no feature, only the target; nothing can be split on")
    uncut = [name for name, spec in specs.items() if spec.kind != "category"]
    if uncut and not description.takes_numbers:
        cutting = ", ".join(e.name for e in ENCODINGS.values() if e.takes_numbers)
        more = f" (and {len(uncut) - 1} more)" if len(uncut) > 1 else ""
        raise UnsupportedError(
            f"column {uncut[0]!r}{more} is a {specs[uncut[0]].kind}, which encoding {encoding!r} "
            f"does not cut; use an encoding that does ({cutting}), or make it a category: "
            f"{override(uncut[0], 'category')}"
        )
    return specs


def fit_encoder(
    encoding: str,
    features: Columns,
    target: ArrayLike,
    *,
    n_classes: int,
    columns: Mapping[str, Override] | None = None,
    weights: WholeWeights | None = None,
    **options: Any,
) -> Encoder:
    """Fit an encoding on training rows.

    Parameters
    ----------
    encoding : str
        A name in :data:`ENCODINGS`.
    features : pandas.DataFrame, or mapping of str to pandas.Series
        Raw training rows without the target.
    target : array-like of int, shape (n,)
        Class of every row, 0 … n_classes − 1. Only ``mdlp`` uses it.
    n_classes : int
        Number of classes. In regression it is 0, and ``target`` is 0 for every row.
    columns : mapping, optional
        Overrides of how columns are read, see
        :func:`solver.features.column_inference.infer_columns`; or the result of
        :func:`fit_columns`.
    weights : WholeWeights, optional
        Positive weight of every row; for ``quantiles`` and ``mdlp`` a row of weight 2 counts as two
        rows.
    **options
        Options of the encoding.

    Raises
    ------
    InputError
        If the encoding, an option or an override is unknown, there are no features, or a column
        does not fit the encoding.

    Examples
    --------
    >>> import pandas as pd
    >>> import treesweep
    >>> table = pd.DataFrame({"colour": ["red", "green", "blue"]})
    >>> encoder = treesweep.fit_encoder("onehot", table, [0, 1, 1], n_classes=2)
    >>> len(encoder.tests)
    3
    """
    return _fit(encoding, features, target, n_classes, columns, weights, options)[0]


def fit_transform(
    encoding: str,
    features: Columns,
    target: ArrayLike,
    *,
    n_classes: int,
    columns: Mapping[str, Override] | None = None,
    weights: WholeWeights | None = None,
    **options: Any,
) -> tuple[Encoder, NDArray[np.int32]]:
    """As :func:`fit_encoder`, and the codes of the training rows.

    The codes are those of :meth:`Encoder.transform`. Once it is known how to read a column, it is
    read once.
    """
    encoder, read = _fit(encoding, features, target, n_classes, columns, weights, options)
    return encoder, encoder.encode(len(next(iter(read.values()))[0]), read.__getitem__)


def _fit(
    encoding: str,
    features: Columns,
    target: ArrayLike,
    n_classes: int,
    columns: Mapping[str, Override] | None,
    weights: WholeWeights | None,
    options: Mapping[str, Any],
) -> tuple[Encoder, dict[str, Factorized]]:
    """The encoder, and its columns as they were read."""
    description = get_encoding(encoding)
    settings = description.check_options(options)
    if description.uses_classes and n_classes == 0:
        raise UnsupportedError(
            f"encoding {encoding!r} cuts numbers where it tells classes apart, and regression has "
            "none; use continuous, thresholds or quantiles"
        )
    read: dict[str, Factorized] = {}
    raw = columns_by_name(features)
    specs = fit_columns(encoding, raw, columns, read)
    classes = _classes_of(target, len(next(iter(raw.values()))), n_classes)
    if weights is None:
        weights = WholeWeights.ones(len(classes))
    tests: list[NodeTest | Scale] = []
    without: list[str] = []
    for name, spec in specs.items():
        before = len(tests)
        if spec.kind != "number" or name not in read:
            ranks, values = spec.factorize(raw[name])
            read[name] = ranks.astype(np.int32), values
        rows, values = read[name]
        if spec.kind == "category":
            present = np.zeros(len(values), np.bool_)
            present[rows] = True
            tests += description.fit_categories(name, sort_categories(values[present]))
        else:
            spread = Distribution.of_ranks(
                rows, values, classes, weights.whole, n_classes, weights.scale
            )
            if description.fit_cuts is not None:
                cuts = description.fit_cuts(spread, settings)
                tests += threshold_tests(name, spread, cuts, spec.kind)
            elif len(spread.values):
                tests.append(scale_of(name, spread, spec.kind))
            if spread.has_missing:
                tests.append(indicator(name, None))
        if len(tests) == before:
            without.append(name)
    return Encoder(encoding, settings, tuple(tests), specs, tuple(without)), read


def _classes_of(target: ArrayLike, n_rows: int, n_classes: int) -> NDArray[np.int64]:
    """The class of every row; InputError if one is no class."""
    classes = np.asarray(target)
    if classes.shape != (n_rows,):
        raise InputError(
            f"target has shape {classes.shape}, the table {n_rows} rows; give one each"
        )
    if classes.dtype.kind not in "iub":
        raise InputError(
            f"target has dtype {classes.dtype}; give whole numbers from 0 to n_classes - 1, as "
            "np.unique(target, return_inverse=True) does"
        )
    if n_rows and not 0 <= classes.min() <= classes.max() < max(n_classes, 1):
        raise InputError(
            f"target has values from {classes.min()} to {classes.max()}; classes are numbers from "
            f"0 to n_classes - 1 = {n_classes - 1}"
        )
    return classes.astype(np.int64)
