"""The encoding of a table for which the user has named none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from solver.features.column_inference import FEW_VALUES, Override, infer_columns
from solver.features.columns import Columns

AUTO = "auto"
"""The name of an encoding or a solver that is to be chosen."""
MOST_CUTS = 150
"""The most cuts of all numbers together that BRANCHES gets by default; more become quantiles."""
BINS = 8
"""The quantiles of each column then."""


def choose_encoding(
    features: Columns,
    columns: Mapping[str, Override] | None,
    *,
    cuts_numbers: bool,
    few_values: int = FEW_VALUES,
) -> tuple[str, dict[str, Any]]:
    """The name and options of an encoding that loses least of what the solver can take.

    ``auto`` is this choice everywhere: in tables, sweeps and estimators. It is

    * ``onehot`` without numbers and dates;
    * ``continuous``, which loses nothing, for a solver that cuts numbers itself;
    * ``thresholds``, which loses no cut of the training rows, if there are at most
      :data:`MOST_CUTS` of them: a search takes longer with each feature;
    * ``quantiles`` with k = :data:`BINS` otherwise: few features, and cuts where the rows are.

    Parameters
    ----------
    features : pandas.DataFrame, or mapping of str to pandas.Series
        The table without its target.
    columns : mapping, optional
        Overrides of how columns are read.
    cuts_numbers : bool
        Whether the solver takes numbers as they are.
    few_values : int
        Whole numbers with at most this many distinct values are categories; 0 for an estimator,
        as arrays hold numbers only.
    """
    specs = infer_columns(features, columns, few_values=few_values)
    numbers = [column for column, spec in specs.items() if spec.kind != "category"]
    if not numbers:
        return "onehot", {}
    if cuts_numbers:
        return "continuous", {}
    cuts = sum(features[column].nunique() - 1 for column in numbers)
    return ("thresholds", {}) if cuts <= MOST_CUTS else ("quantiles", {"k": BINS})
