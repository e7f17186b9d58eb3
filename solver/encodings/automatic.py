"""The encoding of a table for which the user has named none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from solver.features.column_inference import Override, infer_columns

AUTO = "auto"
"""The name of an encoding or a solver that is to be chosen."""
MOST_CUTS = 150
"""The most cuts of all numbers together that BRANCHES gets by default; more become quantiles."""
BINS = 8
"""The quantiles of each column then."""


def choose_encoding(
    features: pd.DataFrame, columns: Mapping[str, Override] | None, *, cuts_numbers: bool
) -> tuple[str, dict[str, Any]]:
    """The name and options of an encoding that loses least of what the solver can take.

    Numbers stay as they are if the solver ``cuts_numbers`` itself. Else every cut is a feature, or
    the cuts between quantiles where these are more than :data:`MOST_CUTS`.
    """
    specs = infer_columns(features, columns)
    numbers = [column for column, spec in specs.items() if spec.kind != "category"]
    if not numbers:
        return "onehot", {}
    if cuts_numbers:
        return "continuous", {}
    cuts = sum(features[column].nunique() - 1 for column in numbers)
    return ("thresholds", {}) if cuts <= MOST_CUTS else ("quantiles", {"k": BINS})
