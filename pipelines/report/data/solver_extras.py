"""What solvers report beside their trees (the store's column ``extra``), as the report reads it.

Every entry is optional, and a solver may put there what it likes: what is not as expected is taken
for missing.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import pandas as pd

from pipelines.report.data.compressed_texts import unpack

MEASURES = ("seconds", "objective", "lower_bound", "evaluated", "queue", "trees", "leaves")
"""Columns of an execution's trace."""


def extra_of(value: Any) -> dict[str, Any]:
    """The entries of a stored value; none if there is none, or it cannot be read."""
    if not isinstance(value, (str, bytes)):
        return {}
    try:
        found = json.loads(unpack(value))
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def number(value: Any) -> float:
    """A number, or a fraction in text; missing if it is neither."""
    if isinstance(value, bool):
        return math.nan
    try:
        return float(Fraction(value)) if isinstance(value, str) else float(value)
    except (TypeError, ValueError, ArithmeticError):
        return math.nan


def count_of(extra: Mapping[str, Any], name: str) -> float:
    """A figure among the entries; missing if there is none."""
    return number(extra.get(name))


def trace_of(extra: Mapping[str, Any]) -> pd.DataFrame:
    """The moments of an execution in their order, with :data:`MEASURES`; there may be none."""
    points = extra.get("trace")
    rows = [p for p in points if isinstance(p, dict)] if isinstance(points, list) else []
    table = pd.DataFrame(
        [[number(point.get(name)) for name in MEASURES] for point in rows], columns=[*MEASURES]
    )
    return table[table["seconds"].notna()].sort_values("seconds", kind="stable", ignore_index=True)


def pruned_of(extra: Mapping[str, Any]) -> dict[str, float]:
    """How often each bound has pruned."""
    found = extra.get("pruned")
    if not isinstance(found, dict):
        return {}
    return {str(name): number(value) for name, value in found.items()}
