"""The largest gap of a λ-path over all λ. Its row or checkpoint has the gap at one λ only."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from solver.objective.exact_objective import Errors
from solver.path.envelope import Point, best_lines
from solver.solution import Status
from sweep.rows.path_checkpoint import parse_solves
from sweep.rows.path_columns import Claimed, objective_at, stored_bounds, stored_claims
from sweep.rows.result_rows import Checkpoint


class _Tree(NamedTuple):
    errors: Errors
    splits: int


PATH = ("key", "attempt", "task", "status", "total_weight", "tolerance", "path", "path_points")
"""The columns that :func:`row_gap` and :func:`open_paths` read, and those that tell rows apart."""


def largest_gap(rows: pa.Table) -> float | None:
    """The largest gap of rows, of paths at their own λ. A gap within the tolerance counts as 0."""
    closed = pc.less_equal(rows["gap"], pc.fill_null(rows["tolerance"], 0.0))
    found: float | None = pc.max(pc.if_else(closed, 0.0, rows["gap"])).as_py()
    return found


def open_paths(rows: pa.Table) -> pa.Table:
    """The rows of λ-paths that may not be proven completely."""
    names = [s.value for s in Status if s is Status.STOPPED or s.is_limit]
    is_open = pc.is_in(rows["status"], pa.array(names))
    return rows.filter(pc.and_(pc.is_valid(rows["path"]), is_open))


def largest_gap_of_all(rows: pa.Table) -> float | None:
    """The largest gap of rows, of paths over all their λ."""
    has_path = rows["path"].null_count < len(rows)
    found = [largest_gap(rows), *map(row_gap, open_paths(rows).to_pylist() if has_path else ())]
    return max((float(gap) for gap in found if gap is not None), default=None)


def worst_gap(
    steps: Sequence[Claimed],
    points: Iterable[Point],
    weight: int,
    tolerance: Fraction = Fraction(0),
) -> Fraction:
    """The largest gap between a path's objective and its lower bound, over all λ of the path.

    Both are linear between breakpoints, so only these are compared. ``weight`` is that of all
    training rows.
    """
    bounds = stored_bounds(steps, points, weight, tolerance)
    low = steps[0].start
    lams = {step.start for step in steps} | {lam for lam, _ in bounds.corners if lam > low}
    proven = [(step.start, step.end) for step in steps if step.proven]
    worst = Fraction(0)
    for lam in lams:
        if any(start <= lam and (end is None or lam <= end) for start, end in proven):
            continue
        reached = objective_at(steps, lam, weight)
        assert reached is not None
        worst = max(worst, reached - bounds.at(lam))
    return worst


def row_gap(row: Mapping[str, Any]) -> Fraction | None:
    """The gap of a path's row; None if it cannot be read (``treesweep verify`` reports that)."""
    weight, tolerance = row["total_weight"], Fraction(row["tolerance"] or 0)
    try:
        steps, points = stored_claims(row)
        return worst_gap(steps, points, weight, tolerance) if steps else None
    except (TypeError, ValueError, ZeroDivisionError):
        return None


def checkpoint_gap(checkpoint: Checkpoint, lam_min: Fraction | None) -> Fraction:
    """The gap of an unfinished search; of a path over all λ ≥ ``lam_min``.

    If ``lam_min`` is unknown (None), it is the gap at the λ that was being solved.
    """
    solves = parse_solves(checkpoint.path)
    if checkpoint.path is None or lam_min is None or not solves:
        return checkpoint.gap
    root = solves[0].tree.nodes[0]
    weight = sum(root.counts)
    lines = [_Tree(root.errors, 0)]
    lines += [_Tree(solved.tree.errors, solved.tree.splits) for solved in solves]
    kept = best_lines(lines, lam_min, weight)
    starts = [start for _, start in kept]
    steps = [
        Claimed(start, end, line.errors, line.splits, False)
        for (line, start), end in zip(kept, [*starts[1:], None], strict=True)
    ]
    points = [Point(solved.lam, solved.lower_bound) for solved in solves]
    return max(checkpoint.gap, worst_gap(steps, points, weight))
