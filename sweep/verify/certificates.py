"""Check certificates with the independent checker."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from threadpoolctl import threadpool_limits

from solver.errors import InputError
from solver.features.number_format import count
from solver.objective.exact_objective import objective
from solver.path.envelope import Envelope, Point
from solver.problem.problem import Problem
from solver.solution import Status
from solver.verify.certificate_checker import Refused, check
from sweep.filesystem import Folder
from sweep.rows.path_columns import objective_at, stored_claims
from sweep.spec.requested_outputs import asks_proof
from sweep.store.certificate_files import BYTES, read_certificate, relative_path
from sweep.verify.datasets import FoldKey, Tables


def check_presence(row: Mapping[str, Any], folder: Folder) -> Iterator[str]:
    """Check that a row that asks for a proof has one, and that the file exists."""
    name = row["proof"]
    if name is None:
        if asks_proof(json.loads(row["solver_options"])) and _proven(row):
            why = f" ({row['error'].strip().splitlines()[-1]})" if row["error"] else ""
            yield f"it was asked for a proof and has none{why}"
    else:
        yield from check_file(
            folder, "its certificate", name, relative_path(row["key"]), row[BYTES]
        )


def check_file(folder: Folder, what: str, name: str, own: str, size: int) -> Iterator[str]:
    """Check that the file that a row names is its own, and has the size that the row says."""
    if name != own:
        yield f"{what} is {name!r} instead of {own!r}"
        return
    try:
        found = folder.size(name)
    except FileNotFoundError:
        yield f"{what} {name} is not there"
        return
    if found != size:
        yield f"{what} {name} has {count(found, 'byte')}, the row says {size}"


def check_certificate(row: Mapping[str, Any], folder: Folder, tables: Tables) -> Iterator[str]:
    """Check that a certificate proves the bounds of its row, after :func:`check_presence`."""
    problem = tables.problem(FoldKey.of(row), row["encoding"], row["encoding_options"])
    try:
        columns, meta = read_certificate(folder, row["proof"])
        # Threads only slow down its many small products of matrices.
        with threadpool_limits(1):
            proven = check(problem.codes, problem.arities, problem.counts, columns, meta)
    except InputError as error:
        yield str(error)
        return
    except Refused as error:
        yield f"its certificate is refused: {error}"
        return
    most, covered = json.loads(row["limits"]).get("depth"), meta.get("depth")
    if covered is not None and (most is None or covered < most):
        yield f"its certificate is one for trees up to depth {covered}, its limit is {most}"
        return
    for lam, bound in _proven(row).items():
        if proven.get(lam) != bound:
            found = "nothing" if lam not in proven else f"the lower bound {proven[lam]}"
            yield f"its certificate proves {found} at λ = {lam}, the row claims {bound}"
            return
    if row["path"] is not None:
        yield from _check_steps(row, proven, problem)


def _check_steps(
    row: Mapping[str, Any], proven: Mapping[Fraction, Fraction], problem: Problem
) -> Iterator[str]:
    """Check that a certificate proves all steps that are called proven."""
    weight, leaf = row["total_weight"], Fraction(problem.leaf_errors, problem.total_weight)
    floor = Fraction(problem.unavoidable_errors, problem.total_weight)
    bounds = Envelope.of((Point(lam, bound) for lam, bound in proven.items()), floor, leaf)
    for step in stored_claims(row)[0]:
        best = objective(step.errors, step.splits, weight, step.start)
        if step.proven and bounds.at(step.start) != best:
            yield f"its certificate does not prove the step of its path from λ = {step.start}"


def _proven(row: Mapping[str, Any]) -> dict[Fraction, Fraction]:
    """The λ at which a row claims a proof, and the objectives there."""
    if row["path"] is None:
        if row["status"] != Status.OPTIMAL:
            return {}
        return {Fraction(row["lam_exact"]): Fraction(row["objective_exact"])}
    steps, points = stored_claims(row)
    found: dict[Fraction, Fraction] = {}
    corners = {step.start for step in steps}
    for point in points:
        best = objective_at(steps, point.lam, row["total_weight"])
        if point.lam in corners and best is not None and point.lower_bound == best:
            found[point.lam] = best
    return found
