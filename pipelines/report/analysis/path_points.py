"""The points of λ-paths: the figures at each λ, as means over folds and their spread."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pipelines.report.data.group_statistics import (
    Groups,
    Ints,
    firsts,
    floats,
    groups,
    lam_ranks,
    mean_texts,
)
from pipelines.report.data.metrics import REGRESSION, open_gap, root, scores
from solver.solution import Status

CELL = ["dataset", "encoding_label", "solver_label"]

_NUMBERS = (
    "objective", "gap", "loss", "train_accuracy", "test_accuracy", "train_r2", "test_r2",
    "train_rmse", "test_rmse", "splits", "leaves", "depth", "seconds", "iterations", "peak_bytes",
)  # fmt: skip

_SHARES = ("train_accuracy", "test_accuracy", "train_r2", "test_r2")

_USED = (
    *CELL, "task", "lam", "lam_key", "lam_text", "lam_exact", "lam_end_exact", "ok", "status",
    "repeat", "fold", "tree_limits", "objective_exact", "lower_bound_exact", "tolerance", "errors",
    "total_weight", "tree",
    *_NUMBERS,
)  # fmt: skip

_TEXTS = (
    "dataset", "encoding", "solver", "task", "lam_key", "lam_text", "lam_exact", "lam_start_exact",
    "lam_end_exact", "tree_limits", "status", "objective_exact", "lower_bound_exact",
)  # fmt: skip


@dataclass(frozen=True)
class Points:
    """The points of some cells, and the rows that they are made of."""

    table: pd.DataFrame  # one row a point, cell by cell, each from large to small λ
    cells: Ints  # where the points of each cell begin, and where the last one ends
    rows: pd.DataFrame  # by point, then by repeat and fold
    points: Ints  # the point of each of these rows

    def of_cell(self, number: int) -> pd.DataFrame:
        """The points of a cell."""
        return self.table.iloc[self.cells[number] : self.cells[number + 1]].reset_index(drop=True)


def make_points(rows: pd.DataFrame) -> Points:
    """The points of all cells (dataset, encoding and solver) of some rows.

    With a column ``lam_end_exact`` each point is an interval of an exact path. ``expected`` is the
    number of runs; ``test_score`` is the score that validation compares, see
    :mod:`pipelines.report.data.metrics`, and ``test_error`` its standard error. Spreads are
    standard deviations of accuracies, in regression of R².
    """
    rows, points, count = _in_order(rows)
    over = Groups(points, count)
    ok = rows["ok"].to_numpy(bool)
    first = rows.iloc[firsts(points)]
    table: dict[str, Any] = {
        "dataset": first["dataset"].array,
        "encoding": first["encoding_label"].array,
        "solver": first["solver_label"].array,
        "task": first["task"].array,
        "lam": over.mean(floats(rows["lam"])),
        "lam_key": first["lam_key"].array,
        "lam_text": first["lam_text"].array,
        "lam_exact": mean_texts(rows["lam_exact"], points, count),
        **_intervals(first),
        "tree_limits": first["tree_limits"].array,
        "runs": over.tally(ok),
        "failed": over.tally(~ok),
        "expected": over.tally(np.ones(len(rows), bool)),
        **_statuses(rows, over),
        **_figures(rows, ok, over),
    }
    # Plain objects keep None; a column of texts would have NaN instead.
    frame = pd.DataFrame(
        {name: pd.Series(list(table[name]), dtype=object) if name in _TEXTS else values
         for name, values in table.items()}
    )  # fmt: skip
    cell = groups(frame, ["dataset", "encoding", "solver"])
    starts = np.searchsorted(cell, np.arange(int(cell.max(initial=-1)) + 2))
    return Points(frame, starts, rows, points)


def _in_order(rows: pd.DataFrame) -> tuple[pd.DataFrame, Ints, int]:
    """The rows by point, the point of each, and the number of points."""
    rows = rows[[name for name in _USED if name in rows]]
    cell = groups(rows, CELL)
    point = groups(rows.assign(_cell=cell), ["_cell", "lam_key"])
    order = np.lexsort((floats(rows["fold"]), floats(rows["repeat"]), point))
    over = Groups(point[order], int(point.max(initial=-1)) + 1)
    lam = pd.DataFrame(
        {"lam_exact": mean_texts(rows["lam_exact"].iloc[order], over.numbers, over.count)}
    )
    # So far points are in the order of the rows; now by cell, and λ from large to small.
    at = firsts(point)
    places = np.lexsort((np.arange(len(at)), -lam_ranks(lam), cell[at]))
    number = np.empty(len(places), np.int64)
    number[places] = np.arange(len(places))
    final = number[point[order]]
    by_point = np.argsort(final, kind="stable")
    return rows.iloc[order[by_point]], final[by_point], len(places)


def _intervals(first: pd.DataFrame) -> dict[str, Any]:
    """The start and end of each interval of λ; null for a single λ."""
    n = len(first)
    nothing = [None] * n
    if "lam_end_exact" not in first:
        return {"lam_start_exact": nothing, "lam_end": np.full(n, np.nan), "lam_end_exact": nothing}
    ends = [end if isinstance(end, str) else None for end in first["lam_end_exact"]]
    return {
        "lam_start_exact": first["lam_exact"],
        "lam_end": [np.inf if end is None else float(Fraction(end)) for end in ends],
        "lam_end_exact": ends,
    }


def _statuses(rows: pd.DataFrame, over: Groups) -> dict[str, Any]:
    """How the runs at each point ended, in numbers and in words."""
    codes = groups(rows, ["status"])
    names = rows["status"].astype(object).iloc[firsts(codes)].tolist()
    counts = {name: over.tally(codes == number) for number, name in enumerate(names)}
    combined = pd.DataFrame({name: counts[name] for name in sorted(names)})
    kinds = groups(combined, list(combined.columns))
    words = [
        ", ".join(f"{name} {number}" for name, number in zip(sorted(names), numbers, strict=True)
                  if number)
        for numbers in combined.iloc[firsts(kinds)].itertuples(index=False, name=None)
    ]  # fmt: skip
    none = np.zeros(over.count, np.int64)
    return {
        "optimal": counts.get(Status.OPTIMAL.value, none),
        "heuristic": counts.get(Status.HEURISTIC.value, none),
        "status": np.array(words, dtype=object)[kinds],
    }


def _figures(rows: pd.DataFrame, ok: NDArray[np.bool_], over: Groups) -> dict[str, Any]:
    """Means and extremes of the runs with a tree."""
    values = {name: np.where(ok, floats(rows[name]), np.nan) for name in _NUMBERS}
    values["gap"] = open_gap(values["gap"], rows)
    for part in ("train", "test"):
        values[f"{part}_r2"] = over.if_all(values[f"{part}_r2"], values[f"{part}_rmse"])
    good = Groups(over.numbers[ok], over.count)
    exact, bound = (
        mean_texts(rows.loc[ok, f"{name}_exact"], good.numbers, over.count)
        for name in ("objective", "lower_bound")
    )
    low = np.array([np.nan if text is None else float(Fraction(text)) for text in bound], float)
    numbers = (rows["task"] == REGRESSION).to_numpy(bool)
    score = scores(values, numbers)
    tests = over.tally(np.isfinite(score))
    shares = {
        part: np.where(numbers, values[f"{part}_r2"], values[f"{part}_accuracy"])
        for part in ("train", "test")
    }
    most = {name: over.most(values[name]) for name in ("gap", "depth", "seconds", "peak_bytes")}
    mean = {
        name: (over.mean_share if name in _SHARES else over.mean)(values[name]) for name in _NUMBERS
    }
    return {
        "objective": mean["objective"],
        "objective_exact": exact,
        "tolerance": over.mean(np.where(ok, floats(rows["tolerance"]), np.nan)),
        "objective_min": over.least(values["objective"]),
        "objective_max": over.most(values["objective"]),
        "lower_bound": low,
        "lower_bound_exact": bound,
        "gap_max": np.where(np.isnan(low), np.nan, most["gap"]),
        "loss": mean["loss"],
        "train_accuracy": mean["train_accuracy"],
        "train_r2": mean["train_r2"],
        "train_rmse": root(over.mean(values["train_rmse"] ** 2)),
        "train_spread": over.deviation(shares["train"]),
        "test_accuracy": mean["test_accuracy"],
        "test_r2": mean["test_r2"],
        "test_rmse": root(over.mean(values["test_rmse"] ** 2)),
        "test_spread": over.deviation(shares["test"]),
        "test_score": over.mean(score),
        "test_error": over.deviation(score) / np.sqrt(np.maximum(tests, 1)),
        "splits": mean["splits"],
        "splits_min": over.least(values["splits"]),
        "splits_max": over.most(values["splits"]),
        "leaves": mean["leaves"],
        "depth": mean["depth"],
        "depth_max": most["depth"],
        "seconds": mean["seconds"],
        "seconds_max": most["seconds"],
        "iterations": mean["iterations"],
        "peak_bytes": most["peak_bytes"],
    }
