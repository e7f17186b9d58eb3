"""Check the columns of a row that need neither its tree nor its data."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from solver.catalogue import SOLVERS
from solver.solution import Status
from sweep.rows import schema
from sweep.spec.lambda_axis import SAME
from sweep.spec.requested_outputs import asked_rashomon, asks_proof

_EFFORT = ("iterations", "nodes", "seconds", "compile_seconds", "peak_bytes")

_LIMIT_OF = {Status.TIME_LIMIT: "seconds", Status.NODE_LIMIT: "nodes"}
"""The limit that ends a search so. A search may lack memory without a limit of bytes."""

_OF_FILES = {
    name: [c.name for c in schema.COLUMNS if c.name.startswith(f"{name}_")] for name in schema.FILES
}
"""The columns that say more of the file that another column names."""


def check_lam(row: Mapping[str, Any]) -> Iterator[str]:
    """Check that λ is what its names say: reports show these."""
    if row["lam"] != float(Fraction(row["lam_exact"])):
        yield f"λ is {row['lam']} and exactly {row['lam_exact']}"
    for name in row["lam_label"].split(SAME):
        rows = row["n_train"] if name.endswith("/n") else 1
        if Fraction(name.removesuffix("/n")) / rows != Fraction(row["lam_exact"]):
            yield f"λ is called {name} and is exactly {row['lam_exact']}"


def check_extra(row: Mapping[str, Any]) -> Iterator[str]:
    """Check that ``extra`` is a JSON object, if there is any."""
    if row["extra"] is not None and not isinstance(json.loads(row["extra"]), dict):
        yield f"extra is {row['extra']!r:.80}, no JSON object"


def check_end(row: Mapping[str, Any], status: Status) -> Iterator[str]:
    """Check that the search can have ended so: what ended it decides whether it runs again.

    What ended solvers of others is their claim.
    """
    limits = json.loads(row["limits"])
    if '"claim"' in (row["extra"] or ""):
        return
    cut_by = row["path_cut_by"] and Status(row["path_cut_by"])
    for column, end in {"status": status, "path_cut_by": cut_by}.items():
        if end in _LIMIT_OF and limits.get(_LIMIT_OF[end]) is None:
            yield f"the {column} is {end}, and there is no limit of {_LIMIT_OF[end]}"
    proves = row["solver"] in SOLVERS and SOLVERS[row["solver"]].capabilities.proves
    if proves and status is Status.HEURISTIC:
        yield f"the status is {status}, and {row['solver']} is no heuristic"


def check_effort(row: Mapping[str, Any]) -> Iterator[str]:
    """Check that what a search says of its effort can be: nobody can compute it again."""
    for name in _EFFORT:
        value = row[name]
        if value is None or not (math.isfinite(value) and value >= 0):
            yield f"{name} is {value}"


def check_unasked(row: Mapping[str, Any]) -> Iterator[str]:
    """Check that a row with a tree has no columns of what it does not have, nor an error."""
    options = json.loads(row["solver_options"])
    asked = {"proof": asks_proof(options), "rashomon": asked_rashomon(options) is not None}
    if row["error"] is not None and not any(asked[of] and row[of] is None for of in asked):
        yield f"a row of status {row['status']} says {row['error'].strip()[-80:]!r}"
    absent = [name for of, names in _OF_FILES.items() if not asked[of] for name in names]
    absent += ["path_cut_by"] if row["path"] is None else []
    for name in absent:
        if row[name] is not None:
            yield f"{name} is {row[name]}, such a row has none"
    validation = json.loads(row["validation"])
    seed = None if validation is None else validation["seed"]
    if row["seed"] != seed:
        yield f"the seed is {row['seed']}, its validation has {seed}"
