"""The row of a path cell as a staircase over λ, and as rows at single λ.

A path cell stands for all λ from its λ_min up. Whatever compares runs at the same λ takes it at
the λ of the others; what follows the path takes it at its breakpoints.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple, TypeAlias

import pandas as pd

from pipelines.report.data import formats
from pipelines.report.data.cross_validation import merge
from pipelines.report.data.formats import is_number
from solver.objective.exact import Errors, objective
from solver.path.envelope import Envelope, Point
from solver.solution import Status
from solver.trees.tree import Tree
from sweep.spec.lambda_axis import shown
from sweep.spec.task_options import asks_path

Row: TypeAlias = dict[str, Any]

COLUMNS = ("path", "path_points", "proof")
"""Columns of path cells: null in all other rows, absent in stores of version 1."""

_COSTS = ("seconds", "iterations", "nodes", "peak_bytes")
"""What the path took as a whole: no single λ did."""


class StairStep(NamedTuple):
    """A step: a tree, and the λ (from ``start`` to just below ``end``) at which it is best."""

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


@dataclass(frozen=True)
class Stairs:
    """The path of one run.

    Parameters
    ----------
    steps : tuple of StairStep
        From λ_min up.
    bounds : Envelope or None
        The proven lower bound at every λ; None if the solver proves nothing.
    points : tuple of Fraction
        The λ at which something was proven.
    status : str
    total_weight, n_test : int
    fold : int or None
    row : dict
        The row of the store.
    """

    steps: tuple[StairStep, ...]
    bounds: Envelope | None
    points: tuple[Fraction, ...]
    status: str
    total_weight: int
    n_test: int
    fold: int | None
    row: Row

    @classmethod
    def from_row(cls, row: Row) -> Stairs:
        """Read the row of a path cell that has a tree."""
        steps = tuple(_step(step, int(row["n_test"])) for step in row["path"])
        losses = row.get("path_test_loss")
        if isinstance(losses, Iterable):  # neither None nor NaN
            steps = tuple(
                step._replace(test_loss=Fraction(float(loss)))
                for step, loss in zip(steps, losses, strict=True)
            )
        weight = int(row["total_weight"])
        points = [
            Point(Fraction(point["lam"]), Fraction(point["lower_bound"]))
            for point in row["path_points"]
            if point["lower_bound"] is not None
        ]
        # What no tree gets right is not stored. It matters below the first point only.
        leaf_loss = Fraction(steps[-1].errors) / weight
        return cls(
            steps=steps,
            bounds=Envelope.of(points, Fraction(0), leaf_loss) if points else None,
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
        """Share of the held-out rows that each step's tree gets wrong, or its mean squared error
        on them; None without any."""
        found = [step.test_loss for step in self.steps if step.test_loss is not None]
        return found if len(found) == len(self.steps) else None

    def step_at(self, lam: Fraction) -> StairStep:
        """The step whose tree is best at a λ from λ_min on."""
        return next(step for step in reversed(self.steps) if step.start <= lam)

    def objective_at(self, lam: Fraction, step: StairStep | None = None) -> Fraction:
        """The least objective known at a λ, or that of a certain step."""
        taken = step or self.step_at(lam)
        return objective(taken.errors, taken.splits, self.total_weight, lam)

    def bound_at(self, lam: Fraction) -> Fraction | None:
        """What is proven at a λ."""
        return None if self.bounds is None else self.bounds.at(lam)

    def claims_at(self, lam: Fraction) -> bool:
        """Whether the path says that no tree is better at a λ."""
        return any(
            step.proven and step.start <= lam and (step.end is None or lam <= step.end)
            for step in self.steps
        )

    def row_at(self, lam: Fraction) -> Row:
        """The row of a run at one λ that ended with this path's tree and bound."""
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

    def _quality(self, step: StairStep) -> Row:
        """How good the tree of a step is, in the columns of a row."""
        loss = float(Fraction(step.errors) / self.total_weight)
        if isinstance(step.errors, int):
            wrong = step.test_errors
            return {
                "loss": loss,
                "errors": step.errors,
                "train_accuracy": float(1 - Fraction(step.errors, self.total_weight)),
                "test_errors": wrong,
                "test_accuracy": None
                if wrong is None or not self.n_test
                else 1 - wrong / self.n_test,
            }
        tree = Tree.from_json(step.tree)
        outputs, whole = len(tree.outputs), tree.nodes[0].squared_error
        found = {
            "loss": loss,
            "train_r2": float(1 - step.errors / whole) if whole else None,
            "train_rmse": math.sqrt(loss / outputs),
        }
        if step.test_loss is None:
            return found | {"test_r2": None, "test_rmse": None}
        # The variance of the held-out targets follows from what the row says of its own tree.
        share, root = self.row["test_r2"], self.row["test_rmse"]
        rmse = math.sqrt(step.test_loss / outputs)
        varies = is_number(share) and share < 1
        r2 = 1 - (rmse / root) ** 2 * (1 - share) if varies else (share if rmse == root else None)
        return found | {"test_r2": r2, "test_rmse": rmse}

    def row_of(self, start: Fraction, end: Fraction | None) -> Row:
        """The row of an interval within a step: proven if the step is, with the largest gap."""
        row = self.row_at(start)
        proven = self.step_at(start).proven
        gap = None if self.bounds is None else Fraction(row["gap_exact"])
        if gap is not None and end is not None:
            # A line above a concave bound: the distance is largest at an end.
            gap = max(gap, self.objective_at(end) - self.bounds.at(end)) if self.bounds else gap
        status = Status.OPTIMAL.value if proven else self.status
        return row | {"status": status} | _both("gap", gap)


def _step(step: Row, n_test: int) -> StairStep:
    end, wrong = step["lam_end"], step["test_errors"]
    tested = is_number(wrong) and n_test > 0
    return StairStep(
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


def read_stairs(rows: pd.DataFrame) -> list[Stairs]:
    """The paths of all path cells with a tree."""
    found = rows[rows["exact"] & rows["ok"]]
    return [Stairs.from_row(_plain(row)) for row in found.to_dict("records")]


def _plain(row: dict[Any, Any]) -> Row:
    return {str(name): value for name, value in row.items()}


def at_intervals(rows: pd.DataFrame, stairs: Sequence[Stairs]) -> pd.DataFrame:
    """The rows of a path cell at the breakpoints of all its folds.

    Each is for an interval of λ, which ``lam_end_exact`` ends (None for the last). Failed runs are
    repeated, as they fail at every λ.

    Parameters
    ----------
    rows : DataFrame
        One dataset, encoding and solver.
    stairs : sequence of Stairs
        From :func:`read_stairs`.
    """
    found = []
    failed = [_plain(row) for row in rows[~rows["ok"]].to_dict("records")]
    for start, end, _ in merge([one.starts for one in stairs]):
        named = {
            "lam_key": str(start),
            "lam_text": formats.interval(start, end),
            "lam_exact": str(start),
            "lam_end_exact": None if end is None else str(end),
            "lam": float(start),
        }
        found += [one.row_of(start, end) | named for one in stairs]
        found += [row | named for row in failed]
    return pd.DataFrame(found)


def at_grid(rows: pd.DataFrame, missing: pd.DataFrame) -> pd.DataFrame:
    """All rows, with those of path cells at the λ of the other cells of their table and fold.

    Where a table has none, they are taken at λ_min and at round λ above it.

    Parameters
    ----------
    rows, missing : DataFrame
        ``Results.rows`` and ``Results.missing``.
    """
    if not rows["exact"].any():
        return rows
    grids = _grids(rows, missing)
    parts: list[Row] = []
    for dataset, group in rows[rows["exact"]].groupby("dataset", sort=False):
        records = [_plain(row) for row in group.to_dict("records")]
        stairs = [Stairs.from_row(row) if row["ok"] else None for row in records]
        usual = _round_lams([one for one in stairs if one is not None])
        for row, one in zip(records, stairs, strict=True):
            grid = grids.get(_place(row), {} if any(k[0] == dataset for k in grids) else usual)
            for key, (lam, text) in grid.items():
                named = {"lam_key": key, "lam_text": text, "lam": float(lam), "lam_exact": str(lam)}
                if one is None:
                    parts.append(row | named)
                elif lam >= one.steps[0].start:
                    parts.append(one.row_at(lam) | named)
    plain = rows[~rows["exact"]]
    if not parts:
        return plain
    expanded = pd.DataFrame(parts, columns=rows.columns)
    return pd.concat([plain, expanded], ignore_index=True) if len(plain) else expanded


def at_breakpoints(rows: pd.DataFrame) -> pd.DataFrame:
    """All rows, with those of path cells at each breakpoint and wherever something was proven."""
    plain = rows[~rows["exact"]]
    found = []
    for one in read_stairs(rows):
        lams = sorted({*one.starts, *(lam for lam in one.points if lam >= one.starts[0])})
        for lam in lams:
            found.append(one.row_at(lam) | {"lam_key": str(lam), "lam_text": shown(lam)})
    if not found:
        return plain
    expanded = pd.DataFrame(found, columns=rows.columns)
    return pd.concat([plain, expanded], ignore_index=True) if len(plain) else expanded


_Grid: TypeAlias = dict[str, tuple[Fraction, str]]


def _place(row: Row) -> tuple[Any, ...]:
    """What rows at the same λ of a grid have in common: ``2/n`` is another λ in each fold."""
    repeat, fold = (int(row[n]) if is_number(row[n]) else None for n in ("repeat", "fold"))
    return row["dataset"], repeat, fold


def _grids(rows: pd.DataFrame, missing: pd.DataFrame) -> dict[tuple[Any, ...], _Grid]:
    """For each table and fold the λ of its grid: key, λ and text."""
    columns = ["dataset", "repeat", "fold", "lam_key", "lam_exact", "lam_text"]
    grids: dict[tuple[Any, ...], _Grid] = {}
    for part in (rows, missing):
        own = part.loc[~part["exact"].astype(bool), columns].drop_duplicates()
        for row in own.to_dict("records"):
            grid = grids.setdefault(_place(_plain(row)), {})
            grid[str(row["lam_key"])] = Fraction(row["lam_exact"]), str(row["lam_text"])
    return grids


def _round_lams(stairs: Iterable[Stairs]) -> _Grid:
    """1, 2 and 5 times powers of ten from λ_min to the last breakpoint."""
    starts = [one.starts for one in stairs]
    if not starts:
        return {}
    low, high = max(own[0] for own in starts), max(own[-1] for own in starts)
    least = min((start for own in starts for start in own if start > 0), default=high)
    powers = range(-20, 3)
    values = (Fraction(step) * Fraction(10) ** power for power in powers for step in (1, 2, 5))
    lams = {low} | {value for value in values if max(low, least) < value <= high}
    return {str(lam): (lam, shown(lam)) for lam in sorted(lams)}
