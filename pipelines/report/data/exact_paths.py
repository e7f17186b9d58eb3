"""The exact λ-path of a run: its steps, and rows as of runs at single λ.

A path cell stands for all λ from its λ_min up. Comparisons of runs at equal λ take it at the λ of
the other runs; the path's own table and charts take it at its breakpoints.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pandas as pd

from pipelines.report.data import formatting
from pipelines.report.data.exact_path_cross_validation import merge
from pipelines.report.data.formatting import is_number
from pipelines.report.data.group_statistics import Floats, floats
from pipelines.report.data.metrics import open_gap
from solver.objective.exact_objective import Errors, objective
from solver.path.envelope import Envelope, Point
from solver.solution import Status, share_without
from solver.trees.tree import Tree
from sweep.rows.path_columns import Claimed, as_fraction, stored_bounds
from sweep.spec.lambda_axis import shown
from sweep.spec.requested_outputs import asks_path

Row: TypeAlias = dict[str, Any]
COLUMNS = ("path", "path_points", "proof")
"""Columns of path cells: null in all other rows."""

_COSTS = ("seconds", "iterations", "nodes", "peak_bytes")
"""Costs of the whole path: they belong to no single λ."""


class PathStep(NamedTuple):
    """A tree and the λ at which it is best, from ``start`` to just below ``end``."""

    start: Fraction
    end: Fraction | None
    errors: Errors
    splits: int
    leaves: int
    depth: int
    proven: bool
    test_errors: int | None
    tree: str
    test_loss: Fraction | None = None
    test_r2: float | None = None  # of regression


@dataclass(frozen=True)
class ExactPath:
    """The exact λ-path of one run."""

    steps: tuple[PathStep, ...]  # from λ_min up
    bounds: Envelope | None  # the lower bound at every λ; None if the solver proves nothing
    points: tuple[Fraction, ...]  # the λ with a proven lower bound
    status: str
    total_weight: int
    n_test: int
    fold: int | None
    row: Row  # as stored

    @classmethod
    def from_row(cls, row: Row) -> ExactPath:
        """Read the row of a path cell that has a tree."""
        steps = tuple(_step(step, int(row["n_test"])) for step in row["path"])
        losses, shares = row.get("path_test_loss"), row.get("path_test_r2")
        if isinstance(losses, Iterable) and isinstance(shares, Iterable):  # neither None nor NaN
            steps = tuple(
                step._replace(
                    test_loss=Fraction(float(loss)),
                    test_r2=float(share) if is_number(share) else None,
                )
                for step, loss, share in zip(steps, losses, shares, strict=True)
            )
        weight = int(row["total_weight"])
        points = [
            Point(Fraction(point["lam"]), Fraction(point["lower_bound"]))
            for point in row["path_points"]
            if point["lower_bound"] is not None
        ]
        # The row's own bound is that at λ_min.
        own = as_fraction(row["lower_bound_exact"]) if is_number(row["lower_bound"]) else None
        tolerance = Fraction(row["tolerance"]) if is_number(row.get("tolerance")) else Fraction(0)
        known = [*points, Point(steps[0].start, own)]
        claims = [Claimed(s.start, s.end, s.errors, s.splits, s.proven) for s in steps]
        return cls(
            steps=steps,
            bounds=stored_bounds(claims, known, weight, tolerance) if points else None,
            points=tuple(point.lam for point in points),
            status=str(row["status"]),
            total_weight=weight,
            n_test=int(row["n_test"]),
            fold=int(row["fold"]) if is_number(row["fold"]) else None,
            row=row,
        )

    @property
    def starts(self) -> list[Fraction]:
        """λ_min, then the breakpoints."""
        return [step.start for step in self.steps]

    @property
    def test_losses(self) -> list[Fraction] | None:
        """Each tree's share of wrong held-out rows, or its mean squared error on them; None if a
        step has none."""
        found = [step.test_loss for step in self.steps if step.test_loss is not None]
        return found if len(found) == len(self.steps) else None

    def step_at(self, lam: Fraction) -> PathStep:
        """The step whose tree is best at a λ from λ_min on."""
        return next(step for step in reversed(self.steps) if step.start <= lam)

    def objective_at(self, lam: Fraction) -> Fraction:
        """The best objective known at a λ."""
        step = self.step_at(lam)
        return objective(step.errors, step.splits, self.total_weight, lam)

    def bound_at(self, lam: Fraction) -> Fraction | None:
        """The lower bound at a λ."""
        return None if self.bounds is None else self.bounds.at(lam)

    def claims_at(self, lam: Fraction) -> bool:
        """Whether the path says that no tree is better at a λ."""
        return any(
            step.proven and step.start <= lam and (step.end is None or lam <= step.end)
            for step in self.steps
        )

    @property
    def largest_gap(self) -> float | None:
        """The largest gap at any λ of the path; None if nothing is proven."""
        if self.bounds is None:
            return None
        gaps = [self.row_of(s.start, s.end)["gap"] for s in self.steps if not s.proven]
        return max((gap for gap in gaps if gap > self.tolerance), default=0.0)

    def row_at(self, lam: Fraction) -> Row:
        """The row of a run at one λ with this path's tree and bound."""
        step, value, bound = self.step_at(lam), self.objective_at(lam), self.bound_at(lam)
        gap = None if bound is None else value - bound
        closed = gap is not None and gap <= self.tolerance
        return {
            **self.row,
            "lam": float(lam),
            "lam_exact": str(lam),
            "status": (Status.OPTIMAL.value if closed or self.claims_at(lam) else self.status),
            **_both("objective", value),
            **_both("lower_bound", bound),
            **_both("gap", gap),
            **self._quality(step),
            "splits": step.splits,
            "leaves": step.leaves,
            "depth": step.depth,
            "tree": step.tree,
            **dict.fromkeys((*_COSTS, *COLUMNS)),
        }

    @property
    def tolerance(self) -> float:
        """Objectives that differ by no more are equal; 0 for classification."""
        found = self.row.get("tolerance")
        return float(found) if found is not None and is_number(found) else 0.0

    def _quality(self, step: PathStep) -> Row:
        """The quality of a step's tree, in the columns of a row."""
        loss = float(Fraction(step.errors) / self.total_weight)
        if isinstance(step.errors, int):
            wrong, n_test = step.test_errors, self.n_test
            return {
                "loss": loss,
                "errors": step.errors,
                "train_accuracy": float(1 - Fraction(step.errors, self.total_weight)),
                "test_errors": wrong,
                "test_accuracy": 1 - wrong / n_test if wrong is not None and n_test else None,
            }
        tree = Tree.from_json(step.tree)
        outputs, whole = len(tree.outputs), tree.nodes[0].squared_error
        found = {
            "loss": loss,
            "train_r2": share_without(step.errors, whole) if whole else None,
            "train_rmse": math.sqrt(loss / outputs),
        }
        if step.test_loss is None:
            return found | {"test_r2": None, "test_rmse": None}
        return found | {"test_r2": step.test_r2, "test_rmse": math.sqrt(step.test_loss / outputs)}

    def row_of(self, start: Fraction, end: Fraction | None) -> Row:
        """The row of an interval within a step, with its largest gap; proven if the step is."""
        row = self.row_at(start)
        proven = self.step_at(start).proven
        gap = None if self.bounds is None else Fraction(row["gap_exact"])
        if self.bounds is not None and gap is not None and end is not None:
            # The objective is a line above a concave bound: the gap is largest at an end.
            gap = max(gap, self.objective_at(end) - self.bounds.at(end))
        status = Status.OPTIMAL.value if proven else self.status
        return row | {"status": status} | _both("gap", gap)


def _step(step: Row, n_test: int) -> PathStep:
    end, wrong = step["lam_end"], step["test_errors"]
    tested = is_number(wrong) and n_test > 0
    return PathStep(
        start=Fraction(step["lam"]),
        end=None if end is None else Fraction(end),
        errors=(
            int(step["errors"])
            if is_number(step["errors"])
            else Fraction(Tree.from_json(str(step["tree"])).errors)
        ),
        splits=int(step["splits"]),
        leaves=int(step["leaves"]),
        depth=int(step["depth"]),
        proven=bool(step["proven"]),
        test_errors=int(wrong) if is_number(wrong) else None,
        tree=str(step["tree"]),
        test_loss=Fraction(int(wrong), n_test) if tested else None,
    )


def _both(name: str, value: Fraction | None) -> Row:
    return {
        name: None if value is None else float(value),
        f"{name}_exact": None if value is None else str(value),
    }


def asks_for_path(options: Any) -> bool:
    """Whether a cell's ``solver_options`` ask for a whole path."""
    return isinstance(options, str) and asks_path(json.loads(options))


def read_exact_paths(rows: pd.DataFrame) -> list[ExactPath]:
    """The paths of all path cells with a tree."""
    return [ExactPath.from_row(row) for row in records(rows[rows["exact"] & rows["ok"]])]


def records(rows: pd.DataFrame) -> list[Row]:
    """Each row as a dictionary; pandas takes its time for it even if there is none."""
    return [_plain(row) for row in rows.to_dict("records")] if len(rows) else []


def run_gaps(rows: pd.DataFrame) -> Floats:
    """The largest gap of each run with a tree: of a path at any of its λ; NaN if nothing is
    proven."""
    gaps = open_gap(floats(rows["gap"]), rows)
    for place in np.flatnonzero(rows["exact"].to_numpy(bool)):
        gap = ExactPath.from_row(_plain(rows.iloc[place].to_dict())).largest_gap
        gaps[place] = np.nan if gap is None else gap
    return gaps


def _plain(row: dict[Any, Any]) -> Row:
    return {str(name): value for name, value in row.items()}


def at_intervals(exact_paths: Sequence[ExactPath], failed: Sequence[Row]) -> list[Row]:
    """The rows of a path cell (one dataset, encoding and solver) at the breakpoints of all folds.

    Each row is for an interval of λ. ``lam_end_exact`` is its end, None for the last. Failed runs
    are repeated in every interval.
    """
    found: list[Row] = []
    for start, end, _ in merge([one.starts for one in exact_paths]):
        named = {
            "lam_key": str(start),
            "lam_text": formatting.interval(start, end),
            "lam_exact": str(start),
            "lam_end_exact": None if end is None else str(end),
            "lam": float(start),
        }
        found += [one.row_of(start, end) | named for one in exact_paths]
        found += [row | named for row in failed]
    return found


def at_grid(rows: pd.DataFrame, missing: pd.DataFrame) -> pd.DataFrame:
    """All rows, with those of path cells at the λ of the other cells of their dataset and fold.

    Without other cells these λ are λ_min and round numbers above it.
    """
    if not rows["exact"].any():
        return rows
    grids = _grids(rows, missing)
    parts: list[Row] = []
    for dataset, group in rows[rows["exact"]].groupby("dataset", sort=False):
        runs = records(group)
        exact_paths = [ExactPath.from_row(row) if row["ok"] else None for row in runs]
        usual = _round_lams([one for one in exact_paths if one is not None])
        for row, one in zip(runs, exact_paths, strict=True):
            grid = grids.get(_place(row), {} if any(k[0] == dataset for k in grids) else usual)
            for key, (lam, text) in grid.items():
                named = {"lam_key": key, "lam_text": text, "lam": float(lam), "lam_exact": str(lam)}
                if one is None:
                    parts.append(row | named)
                elif lam >= one.steps[0].start:
                    parts.append(one.row_at(lam) | named)
    return _expanded(rows, parts)


def at_breakpoints(rows: pd.DataFrame) -> pd.DataFrame:
    """All rows, with those of path cells at each breakpoint and each proven lower bound."""
    found = []
    for one in read_exact_paths(rows):
        lams = sorted({*one.starts, *(lam for lam in one.points if lam >= one.starts[0])})
        for lam in lams:
            found.append(one.row_at(lam) | {"lam_key": str(lam), "lam_text": shown(lam)})
    return _expanded(rows, found)


def _expanded(rows: pd.DataFrame, parts: list[Row]) -> pd.DataFrame:
    """All rows, with other ones in place of those of path cells."""
    plain = rows[~rows["exact"]]
    if not parts:
        return plain
    expanded = pd.DataFrame(parts, columns=rows.columns)
    return pd.concat([plain, expanded], ignore_index=True) if len(plain) else expanded


_Grid: TypeAlias = dict[str, tuple[Fraction, str]]


def _place(row: Row) -> tuple[Any, ...]:
    """Dataset, repeat and fold: the grid ``2/n`` is another λ in each fold."""
    repeat, fold = (int(row[n]) if is_number(row[n]) else None for n in ("repeat", "fold"))
    return row["dataset"], repeat, fold


def _grids(rows: pd.DataFrame, missing: pd.DataFrame) -> dict[tuple[Any, ...], _Grid]:
    """The grid of each dataset and fold: key, λ and text of each λ."""
    columns = ["dataset", "repeat", "fold", "lam_key", "lam_exact", "lam_text"]
    grids: dict[tuple[Any, ...], _Grid] = {}
    for part in (rows, missing):
        own = part.loc[~part["exact"].astype(bool), columns].drop_duplicates()
        for row in own.to_dict("records"):
            grid = grids.setdefault(_place(_plain(row)), {})
            grid[str(row["lam_key"])] = Fraction(row["lam_exact"]), str(row["lam_text"])
    return grids


def _round_lams(exact_paths: Iterable[ExactPath]) -> _Grid:
    """1, 2 and 5 times powers of ten from λ_min to the last breakpoint."""
    starts = [one.starts for one in exact_paths]
    if not starts:
        return {}
    low, high = max(own[0] for own in starts), max(own[-1] for own in starts)
    least = min((start for own in starts for start in own if start > 0), default=high)
    powers = range(-20, 3)
    values = (Fraction(step) * Fraction(10) ** power for power in powers for step in (1, 2, 5))
    lams = {low} | {value for value in values if max(low, least) < value <= high}
    return {str(lam): (lam, shown(lam)) for lam in sorted(lams)}
