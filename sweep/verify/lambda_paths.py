"""Check the rows of λ-paths."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from solver.objective.exact_objective import objective
from solver.path.envelope import Envelope
from solver.problem.problem import Problem
from solver.solution import Status
from sweep.rows.path_columns import check_steps, objective_at, stored_claims
from sweep.spec.requested_outputs import asks_path

_SHARED = ("errors", "splits", "leaves", "depth", "test_errors", "tree")


def check_path_columns(row: Mapping[str, Any]) -> Iterator[str]:
    """Check a path by its row alone."""
    wanted = asks_path(json.loads(row["solver_options"]))
    if (row["path"] is not None) != wanted or (row["path_points"] is not None) != wanted:
        yield "it was asked for a path and has none" if wanted else "it has a path unasked"
        return
    if not wanted:
        return
    try:
        stored_claims(row)
    except (TypeError, ValueError, ZeroDivisionError) as error:
        yield f"its path cannot be read: {error}"
        return
    first = row["path"][0] if row["path"] else {}
    for name, value in (("lam", row["lam_exact"]), *((n, row[n]) for n in _SHARED)):
        if first.get(name) != value:
            yield f"the first step of its path has {name} {first.get(name)}, the row {value}"
            return


def check_stored_path(row: Mapping[str, Any], problem: Problem) -> Iterator[str]:
    """Check that the steps are an envelope, and their proofs. Their trees are checked already."""
    steps, points = stored_claims(row)
    weight, floor = row["total_weight"], problem.unavoidable_errors
    status = Status(row["status"])
    complaints = check_steps(steps, points, weight, floor, status, problem.tolerance)
    yield from complaints
    if complaints or status is Status.HEURISTIC:
        return
    bounds = Envelope.of(points, Fraction(floor) / weight, Fraction(steps[-1].errors) / weight)
    first = steps[0]
    bound = bounds.at(first.start)
    if first.proven:
        best = objective(first.errors, first.splits, weight, first.start)
        bound = max(bound, best - problem.tolerance)
    if Fraction(row["lower_bound_exact"]) != bound:
        yield f"the lower bound is {row['lower_bound_exact']}, its path proves {bound}"


def path_claims(row: Mapping[str, Any]) -> Iterator[tuple[str, str, str | None]]:
    """The λ, objective and lower bound (as stored) of each point of a path."""
    if row["path"] is None or row["path_points"] is None:
        return
    try:
        steps, points = stored_claims(row)
        for point, stored in zip(points, row["path_points"], strict=True):
            best = objective_at(steps, point.lam, row["total_weight"])
            if best is not None:
                yield str(point.lam), str(best), stored["lower_bound"]
    except (TypeError, ValueError, ZeroDivisionError):
        return  # check_path_columns reports it
