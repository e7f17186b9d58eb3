"""The columns of λ-paths, and the checks of a path before it is stored."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any, NamedTuple

from solver.features.number_format import count
from solver.objective.exact_objective import Errors, objective
from solver.path.envelope import Envelope, Point
from solver.path.path import Path, Step
from solver.problem.problem import Problem
from solver.solution import Status
from solver.trees.tree import Tree
from solver.verify.scorer import score


def path_disagreement(problem: Problem, path: Path, lam: Fraction) -> str | None:
    """What is wrong with a solver's path, by the plain scorer; None if nothing."""
    if path.lam_min != lam:
        return f"the path begins at λ = {path.lam_min}, not at {lam}"
    for step in path.steps:
        found = score(problem, step.tree, step.start)
        if (step.errors, step.splits) != (found.errors, found.splits):
            return (
                f"the step of the path at λ = {step.start} claims "
                f"{count(step.errors, 'error')} with {count(step.splits, 'split')}; the plain "
                f"scorer finds {found.errors} with {found.splits}"
            )
    own = [Claimed(s.start, s.end, s.errors, s.splits, s.proven) for s in path.steps]
    floor = problem.unavoidable_errors
    weight, slack = problem.total_weight, problem.tolerance
    complaints = check_steps(own, path.points, weight, floor, path.status, slack)
    return next(iter(complaints), None)


class Claimed(NamedTuple):
    """The claims of a path about one step."""

    start: Fraction
    end: Fraction | None
    errors: Errors
    splits: int
    proven: bool


def stored_claims(row: Mapping[str, Any]) -> tuple[list[Claimed], list[Point]]:
    """The steps and points of a stored row, for :func:`check_steps`.

    Raises TypeError, ValueError or ZeroDivisionError if :func:`path_columns` did not write them.
    """
    claims = []
    for step in row["path"]:
        start, end = Fraction(step["lam"]), as_fraction(step["lam_end"])
        errors, splits, proven = step["errors"], step["splits"], step["proven"]
        if row["task"] == "regression" and step["tree"] is not None:
            errors = Tree.from_json(step["tree"]).errors
        if None in (errors, splits, proven, step["tree"]):
            raise TypeError(f"the step at λ = {start} is not complete")
        claims.append(Claimed(start, end, errors, splits, proven))
    points = [Point(Fraction(p["lam"]), as_fraction(p["lower_bound"])) for p in row["path_points"]]
    return claims, points


def stored_path(row: Mapping[str, Any]) -> Path:
    """The λ-path of a stored row. Raises as :func:`stored_claims`.

    What :func:`stored_bounds` says about the bounds holds for these, too.
    """
    claims, points = stored_claims(row)
    trees = [Tree.from_json(step["tree"]) for step in row["path"]]
    weight, tolerance = int(row["total_weight"]), Fraction(row["tolerance"] or 0)
    cut_by = row.get("path_cut_by")  # pandas may have made it NaN
    for claim in (claims[0], claims[-1]):
        if claim.proven:
            reached = objective(claim.errors, claim.splits, weight, claim.start)
            points.append(Point(claim.start, reached - tolerance))
    return Path(
        lam_min=claims[0].start,
        total_weight=weight,
        leaf_errors=claims[-1].errors,
        unavoidable_errors=0,
        steps=tuple(Step(*c[:4], tree, c.proven) for c, tree in zip(claims, trees, strict=True)),
        points=tuple(sorted(points, key=lambda point: point.lam)),
        status=Status(row["status"]),
        seconds=float(row["seconds"]),
        solves=len(row["path_points"]),
        solver=row["solver"],
        version=row["solver_version"],
        iterations=int(row["iterations"]),
        nodes=int(row["nodes"]),
        peak_bytes=int(row["peak_bytes"]),
        compile_seconds=float(row["compile_seconds"]),
        tolerance=tolerance,
        cut_by=Status(cut_by) if isinstance(cut_by, str) else None,
    )


def stored_bounds(
    steps: Sequence[Claimed], points: Iterable[Point], weight: int, tolerance: Fraction
) -> Envelope:
    """The lower bound at every λ that a stored path proves.

    The unavoidable errors are not stored. They prove the objective at λ = 0, and from where on no
    split can pay, without a point there. If they do, the first or last step is called proven, and
    its objective at its start is a bound, less the tolerance. Where the path is open, the bound may
    be lower than that of the search.
    """
    bounds = Envelope.of(points, Fraction(0), Fraction(steps[-1].errors) / weight)
    for step in (steps[0], steps[-1]):
        if step.proven:
            reached = objective(step.errors, step.splits, weight, step.start)
            bounds.add(step.start, reached - tolerance)
    return bounds


def check_steps(
    steps: Sequence[Claimed],
    points: Sequence[Point],
    weight: int,
    floor: Errors,
    status: Status,
    tolerance: Fraction,
) -> list[str]:
    """The contradictions in a path: between its steps, its bounds, and what it calls proven.

    ``weight`` is that of all training rows, ``floor`` the unavoidable errors. Objectives are equal
    within ``tolerance``.
    """
    found: list[str] = []
    if not steps or steps[-1].splits != 0 or steps[-1].end is not None:
        return ["the path does not end with the tree without a split"]
    for left, right in pairwise(steps):
        if left.splits <= right.splits:
            return [f"the step at λ = {right.start} has no fewer splits than the one before"]
        meets = Fraction(right.errors - left.errors) / (weight * (left.splits - right.splits))
        if not left.end == right.start == meets:
            found.append(
                f"the step from λ = {left.start} ends at {left.end} and the next begins at "
                f"{right.start}; their objectives are equal at {meets}"
            )
        if meets <= left.start:
            found.append(f"the step from λ = {left.start} is nowhere the best")
    if found:
        return found
    kinds = {point.lower_bound is not None for point in points}
    # A limit may have ended all solves before they had bounds.
    wrong = {Status.HEURISTIC: True, Status.OPTIMAL: False}.get(status)
    if len(kinds) > 1 or wrong in kinds:
        return [f"the points of a path of status {status} have bounds and none"]
    for point in points:
        best = objective_at(steps, point.lam, weight)
        if best is None:
            found.append(f"a point lies at λ = {point.lam}, before the path begins")
        elif point.lower_bound is not None and point.lower_bound > best:
            found.append(
                f"the bound {point.lower_bound} at λ = {point.lam} is above the objective {best}"
            )
    return found or _check_proven(steps, points, weight, floor, status, tolerance)


def _check_proven(
    steps: Sequence[Claimed],
    points: Sequence[Point],
    weight: int,
    floor: Errors,
    status: Status,
    tolerance: Fraction,
) -> list[str]:
    """Check that the steps called proven are those that the points prove."""
    bounds = Envelope.of(points, Fraction(floor) / weight, Fraction(steps[-1].errors) / weight)
    has_proof = any(point.lower_bound is not None for point in points)
    corners = [
        has_proof
        and objective(s.errors, s.splits, weight, s.start) - bounds.at(s.start) <= tolerance
        for s in steps
    ]
    found = [
        f"the step from λ = {step.start} is called {'proven' if step.proven else 'not proven'}"
        for step, here, there in zip(steps, corners, [*corners[1:], True], strict=True)
        if step.proven != (here and there)
    ]
    if (status is Status.OPTIMAL) != all(step.proven for step in steps):
        found.append(f"the status is {status}, not what the steps' proofs say")
    return found


def objective_at(steps: Sequence[Claimed], lam: Fraction, weight: int) -> Fraction | None:
    """The objective of the best step at a λ; None before the path begins."""
    for step in reversed(steps):
        if step.start <= lam:
            return objective(step.errors, step.splits, weight, lam)
    return None


def path_columns(path: Path, tested: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The columns that only a path has.

    ``tested`` is the :func:`sweep.rows.metric_columns.held_out_quality` of each step's tree.
    """
    wrong = [columns.get("test_errors") for columns in tested]
    outputs = len(path.steps[0].tree.outputs)
    losses = [c["test_rmse"] ** 2 * outputs for c in tested if "test_rmse" in c]
    shares = [c["test_r2"] for c in tested if "test_r2" in c]
    return {
        "path": [_step(step, missed) for step, missed in zip(path.steps, wrong, strict=True)],
        "path_test_loss": losses or None,
        "path_test_r2": shares or None,
        "path_points": [
            {"lam": str(point.lam), "lower_bound": as_text(point.lower_bound)}
            for point in path.points
        ],
        "path_cut_by": None if path.cut_by is None else path.cut_by.value,
    }


def _step(step: Step, test_errors: int | None) -> dict[str, Any]:
    return {
        "lam": str(step.start),
        "lam_end": as_text(step.end),
        "errors": step.errors if isinstance(step.errors, int) else None,
        "splits": step.splits,
        "leaves": step.tree.leaves,
        "depth": step.tree.depth,
        "proven": step.proven,
        "test_errors": test_errors,
        "tree": step.tree.to_json(),
    }


def as_text(value: Fraction | None) -> str | None:
    """A fraction as stored text."""
    return None if value is None else str(value)


def as_fraction(text: str | None) -> Fraction | None:
    """The inverse of :func:`as_text`."""
    return None if text is None else Fraction(text)
