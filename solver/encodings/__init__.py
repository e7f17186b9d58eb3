"""Encodings: what turns a table into a problem."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from solver.columns import ColumnSpec, Override, infer_columns, sort_categories, text_names
from solver.encodings.base import Encoder, Encoding, EncodingOption
from solver.encodings.categories import (
    indicator,
    indicators,
    indicators_but_first,
    indicators_but_last,
    multiway,
)
from solver.encodings.cuts import Distribution, all_cuts, quantile_cuts, threshold_tests
from solver.encodings.mdlp import mdlp_cuts
from solver.errors import InputError
from solver.nodetests import NodeTest

__all__ = ["ENCODINGS", "Encoder", "Encoding", "EncodingOption", "fit_encoder", "get_encoding"]

_BINS = EncodingOption(4, 2, "number of bins of each column of numbers")

ENCODINGS: dict[str, Encoding] = {
    encoding.name: encoding
    for encoding in (
        Encoding(
            "categorical",
            "one feature a column, with a branch for every value (multiway splits)",
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
            "every cut of a number, which loses nothing; categories as in onehot",
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
            "numbers cut where it tells classes apart (Fayyad and Irani); categories as in onehot",
            "binary",
            indicators,
            mdlp_cuts,
        ),
    )
}


def get_encoding(name: str) -> Encoding:
    """The encoding of a name.

    Raises
    ------
    InputError
        If there is none.
    """
    if name not in ENCODINGS:
        close = difflib.get_close_matches(str(name), ENCODINGS, 1)
        hint = f"did you mean {close[0]!r}? There" if close else "there"
        raise InputError(f"there is no encoding {name!r}; {hint} are: {', '.join(ENCODINGS)}")
    return ENCODINGS[name]


def fit_encoder(
    encoding: str,
    features: pd.DataFrame,
    target: NDArray[np.int64],
    *,
    n_classes: int,
    columns: Mapping[str, Override] | None = None,
    weights: NDArray[np.int64] | None = None,
    **options: Any,
) -> Encoder:
    """Fit an encoding on training rows.

    Parameters
    ----------
    encoding : str
        A name in :data:`ENCODINGS`.
    features : pandas.DataFrame
        Raw training rows without the target.
    target : array of int, shape (n,)
        Class of every row, 0 … n_classes − 1. Only ``mdlp`` looks at it.
    n_classes : int
    columns : mapping, optional
        Overrides of how columns are read, see :func:`solver.columns.infer_columns`.
    weights : array of int64, optional
        Positive weight of every row; ``quantiles`` and ``mdlp`` count it as that many rows.
    **options
        Options of the encoding.

    Raises
    ------
    InputError
        If the encoding, an option or an override is unknown, there are no features, or a column
        does not fit the encoding.
    """
    description = get_encoding(encoding)
    settings = description.check_options(options)
    frame = text_names(features)
    specs = infer_columns(frame, columns, few_values=description.few_values)
    if not specs:
        raise InputError("the table has no feature, only the target; nothing can be split on")
    if weights is None:
        weights = np.ones(len(frame), dtype=np.int64)
    tests: list[NodeTest] = []
    without: list[str] = []
    for name, spec in specs.items():
        before = len(tests)
        if spec.kind == "category":
            codes, values = spec.factorize(frame[name])
            tests += description.fit_categories(name, sort_categories(values[np.unique(codes)]))
        else:
            numbers = spec.read(frame[name])
            if description.fit_cuts is None:
                raise _uncut(description, name, spec, numbers)
            spread = Distribution.of(numbers, target, weights, n_classes)
            cuts = description.fit_cuts(spread, settings)
            tests += threshold_tests(name, spread, cuts, spec.kind)
            if spread.has_missing:
                tests.append(indicator(name, None))
        if len(tests) == before:
            without.append(name)
    return Encoder(encoding, settings, tuple(tests), specs, tuple(without))


def _uncut(
    encoding: Encoding, name: str, spec: ColumnSpec, numbers: NDArray[np.float64]
) -> InputError:
    cutting = ", ".join(e.name for e in ENCODINGS.values() if e.fit_cuts is not None)
    return InputError(
        f"column {name!r} is a {spec.kind} with {len(pd.unique(numbers))} values, which encoding "
        f"{encoding.name!r} does not cut; use an encoding that does ({cutting}), or make the "
        f"column a category: columns: {{{name}: category}}"
    )
