"""Made-up rows of a comparison."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

from benchmarks.row_store import SCHEMA


def made_up(solver: str, **fields: Any) -> dict[str, Any]:
    """A proven row of one second with objective 1/4; ``fields`` override.

    The bound of a proven row follows its objective.
    """
    row: dict[str, Any] = dict.fromkeys(SCHEMA.names)
    row |= {
        "file": "binary/toy",
        "n_rows": 100,
        "n_features": 9,
        "n_classes": 2,
        "lam": 0.01,
        "lam_exact": "1/100",
        "solver": solver,
        "repeat": 0,
        "status": "optimal",
        "objective": 0.25,
        "objective_exact": "1/4",
        "splits": 3,
        "depth": 2,
        "lower_bound": 0.25,
        "lower_bound_exact": "1/4",
        "gap_lams": 0.0,
        "seconds": 1.0,
        "counted_seconds": 1.0,
        "settings": json.dumps({"seconds": 60.0, "memory": 2**31, "depth": None}),
    }
    if fields.get("objective_exact") and fields.get("status", "optimal") == "optimal":
        objective = Fraction(fields["objective_exact"])
        row |= {"lower_bound_exact": str(objective)}
        row |= dict.fromkeys(("objective", "lower_bound"), float(objective))
    return row | fields


def open_row(solver: str, **fields: Any) -> dict[str, Any]:
    """A row that met the time limit and has no lower bound."""
    limit = {"status": "time_limit", "seconds": 60.2, "counted_seconds": 60.0}
    none = {"lower_bound": None, "lower_bound_exact": None, "gap_lams": None}
    return made_up(solver, **(limit | none | fields))


def skipped(solver: str, **fields: Any) -> dict[str, Any]:
    """A row that was not run."""
    none = dict.fromkeys(
        ("objective", "objective_exact", "splits", "depth", "lower_bound", "lower_bound_exact")
        + ("gap_lams", "seconds", "counted_seconds")
    )
    return made_up(solver, **({"status": "not_applicable"} | none | fields))
