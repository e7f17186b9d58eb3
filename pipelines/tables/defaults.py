"""The solver and the encoding of a table for which the user has named none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from solver.base import Solver
from solver.catalogue import get_solver
from solver.encodings import get_encoding
from solver.features.column_inference import infer_columns
from solver.trees.tree import TaskType

AUTO = "auto"
MOST_CUTS = 150
"""The most cuts of all numbers together that BRANCHES gets by default; more become quantiles."""
BINS = 8
"""The quantiles of each column then."""


def choose_solver(name: str, encoding: str, task: TaskType) -> type[Solver]:
    """The solver of a name; for ``auto`` the first in the catalogue that proves, and can do the
    task with the encoding."""
    if name != AUTO:
        return get_solver(name)
    kind = "binary" if encoding == AUTO else get_encoding(encoding).feature_kind
    if task == "regression" or kind == "continuous":
        return get_solver("quantbnb")
    return get_solver("branches")


def choose_encoding(
    name: str, solver: type[Solver], features: pd.DataFrame, columns: Mapping[str, Any]
) -> tuple[str, dict[str, Any]]:
    """The encoding of a name and its options; for ``auto`` one that loses least of what the solver
    can take.

    Numbers stay as they are for a solver that cuts them itself. Else every cut is a feature, or the
    cuts between quantiles where these are more than :data:`MOST_CUTS`.
    """
    if name != AUTO:
        return name, {}
    specs = infer_columns(features, columns)
    numbers = [column for column, spec in specs.items() if spec.kind != "category"]
    if not numbers:
        return "onehot", {}
    if "continuous" in solver.capabilities.features:
        return "continuous", {}
    cuts = sum(features[column].nunique() - 1 for column in numbers)
    return ("thresholds", {}) if cuts <= MOST_CUTS else ("quantiles", {"k": BINS})
