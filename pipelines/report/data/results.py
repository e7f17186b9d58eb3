"""The results of a sweep: its rows with readable labels, and the planned tasks without a row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pipelines.report.data import exact_paths, metrics
from pipelines.report.data.group_statistics import firsts, floats, groups, lam_ranks
from pipelines.report.data.labels import at_each_name, label_encodings, label_rows, label_solvers
from pipelines.report.data.store_reader import read_plan_columns, read_rows
from solver.catalogue import SOLVERS
from solver.encodings import ENCODINGS
from sweep.filesystem import open_folder
from sweep.store.row_precedence import RUN_COLUMNS, of_tasks, rows_of_tasks
from sweep.store.store import read_manifest

LABELS = {"encoding_label": "encoding", "solver_label": "solver"}
"""Columns that have shorter names in the report's tables."""


@dataclass(frozen=True)
class Results:
    """The rows of a sweep and what is missing.

    ``rows`` has one row for each planned task that has been run, with the store's columns and

    * ``encoding_label``, ``solver_label``: the name with the options that tell it from others,
    * ``lam_key``: equal for one λ of the sweep; ``2/n`` is one λ over all folds,
    * ``lam_text``: λ as it is shown,
    * ``problem``: equal where objectives can be compared exactly, apart from λ,
    * ``ok``: whether the run has a tree,
    * ``exact``: whether it is the run of a path cell, which stands for all λ from its own up.
    """

    name: str  # of the sweep
    rows: pd.DataFrame
    missing: pd.DataFrame  # planned tasks without a row, with the same labels
    impossible: pd.DataFrame  # dataset, encoding_label, solver_label, reason, tasks
    planned: bool  # whether there is a plan
    unplanned: int  # number of stored rows of no planned task: another λ, limit or dataset
    stored_keys: Mapping[str, str]  # of tasks that a row of another key answers: under other limits
    datasets: tuple[str, ...]  # in the order of the sweep's file, as those below
    encodings: tuple[str, ...]
    solvers: tuple[str, ...]

    @property
    def n_ok(self) -> int:
        """Number of rows with a tree."""
        return int(self.rows["ok"].sum())

    @property
    def n_failed(self) -> int:
        """Number of rows without one."""
        return len(self.rows) - self.n_ok

    @cached_property
    def at_grid(self) -> pd.DataFrame:
        """The rows for comparisons at equal λ: those of path cells at the λ of the others."""
        return exact_paths.at_grid(self.by_lambda, self.missing_by_lambda)

    @cached_property
    def by_lambda(self) -> pd.DataFrame:
        """The rows to be grouped by ``lam_key``: a row whose λ has several names is there once
        under each."""
        return at_each_name(self.rows)

    @cached_property
    def missing_by_lambda(self) -> pd.DataFrame:
        """The same for the planned tasks without a row."""
        return at_each_name(self.missing)

    @property
    def n_impossible(self) -> int:
        """Number of cells that cannot be run."""
        return int(self.impossible["tasks"].sum())

    @property
    def validated(self) -> bool:
        """Whether any run was scored on held-out rows."""
        return metrics.is_tested(self.rows)

    def sort(self, frame: pd.DataFrame) -> pd.DataFrame:
        """A table in the order of the sweep's file, λ from large to small."""
        return frame.iloc[self.order(frame)].reset_index(drop=True)

    def order(self, frame: pd.DataFrame) -> NDArray[np.int64]:
        """The places of a table's rows in this order."""
        ranks = {
            "dataset": {name: i for i, name in enumerate(self.datasets)},
            "encoding_label": {name: i for i, name in enumerate(self.encodings)},
            "solver_label": {name: i for i, name in enumerate(self.solvers)},
        }
        by = [c for c in ("dataset", "encoding_label", "lam", "solver_label") if c in frame]
        by += [c for c in ("repeat", "fold") if c in frame]
        keys = [
            floats(frame[name].astype(object).map(ranks[name])) if name in ranks
            else -lam_ranks(frame) if name == "lam" else floats(frame[name])
            for name in by
        ]  # fmt: skip
        return np.lexsort(keys[::-1])


def load_results(store: str | Path) -> Results:
    """Read a sweep's folder; errors as :func:`sweep.store.read_results.read_results`."""
    name = read_manifest(open_folder(store))["sweep"]
    plan = read_plan_columns(store)
    return label_results(read_rows(store), plan, name)


def label_results(
    rows: pd.DataFrame, plan: pd.DataFrame | None, sweep: str | None = None
) -> Results:
    """Label rows and compare them with the plan.

    Parameters
    ----------
    rows : DataFrame
        As stored; without a plan from :func:`sweep.store.read_results.read_results`.
    plan : DataFrame or None
        From :func:`sweep.store.plan_file.read_plan`. It says which rows count, and their names.
    sweep : str, optional
        Name of the sweep; by default that of the rows.
    """
    unplanned, stored_keys = 0, {}
    name = sweep or (str(rows["sweep"].iloc[-1]) if len(rows) else "sweep")
    rows = metrics.fill_tasks(rows)
    if plan is None:
        wanted, tasks, missing = rows.iloc[:0], rows.copy(), rows.iloc[:0].copy()
        impossible = pd.DataFrame(columns=["dataset", "encoding", "encoding_options", "solver",
                                           "reason", "tasks"])  # fmt: skip
    else:
        wanted = plan[plan["key"].notna()]
        impossible = plan[plan["key"].isna()]
        place, unplanned = match_rows(rows, wanted)
        known = place >= 0
        missing, place = wanted[~known], place[known]
        columns = dict(rows.items())
        del rows  # Each column is freed once its tasks are taken from it: both may be large.
        taken = {key: columns.pop(key).array.take(place) for key in [*columns]}
        tasks = pd.DataFrame(taken, copy=False)
        pairs = zip(wanted["key"][known], tasks["key"], strict=True)
        stored_keys = {task: stored for task, stored in pairs if task != stored}
        tasks = of_tasks(tasks, wanted[known], name)
    solvers = label_solvers(tasks, missing, plan is not None)
    encodings = label_encodings(tasks if plan is None else plan)
    tasks, missing = (label_rows(part, encodings, solvers) for part in (tasks, missing))
    pairs = zip(impossible["encoding"], impossible["encoding_options"], strict=True)
    impossible = impossible.assign(
        encoding_label=[encodings[pair] for pair in pairs], solver_label=impossible["solver"]
    )[["dataset", "encoding_label", "solver_label", "reason", "tasks"]]
    if plan is None:
        orders: list[Mapping[str, Any] | None] = [{}, ENCODINGS, SOLVERS]
        ordered = tasks
    else:
        orders = [None, None, None]
        ordered = label_rows(wanted, encodings, solvers)
    parts = [ordered, impossible]
    return Results(
        name=name,
        rows=tasks.reset_index(drop=True),
        missing=missing.reset_index(drop=True),
        impossible=impossible.reset_index(drop=True),
        planned=plan is not None,
        unplanned=unplanned,
        stored_keys=stored_keys,
        datasets=_names(parts, "dataset", orders[0]),
        encodings=_names(parts, "encoding_label", orders[1]),
        solvers=_names(parts, "solver_label", orders[2]),
    )


def match_rows(rows: pd.DataFrame, wanted: pd.DataFrame) -> tuple[NDArray[np.int64], int]:
    """The row number of each planned task, −1 without one, and the number of stored keys of no
    task."""
    runs = pa.table([_column(rows[name]) for name in RUN_COLUMNS], RUN_COLUMNS)
    answers = ("key", "answered_by")
    tasks = pa.table([_column(wanted[name]) for name in answers], answers)
    planned = pa.chunked_array([chunk for name in answers for chunk in tasks[name].chunks])
    is_planned = pc.is_in(runs["key"].unique(), value_set=planned)
    unplanned = len(is_planned) - (pc.sum(is_planned).as_py() or 0)
    return rows_of_tasks(tasks, runs), unplanned


def _column(values: pd.Series[Any]) -> pa.ChunkedArray:
    """A column of texts or of numbers, without categories."""
    found = pa.array(values, from_pandas=True)
    whole = found if isinstance(found, pa.ChunkedArray) else pa.chunked_array([found])
    return whole.cast(pa.int64() if pa.types.is_integer(found.type) else pa.string())


def _names(
    parts: list[pd.DataFrame], column: str, catalogue: Mapping[str, Any] | None
) -> tuple[str, ...]:
    """The distinct names in order, or in the order of a catalogue and then of the alphabet."""
    values = pd.concat([part[column].drop_duplicates().astype(object) for part in parts])
    names = [str(name) for name in dict.fromkeys(values.dropna())]
    if catalogue is None:
        return tuple(names)
    rank = {name: i for i, name in enumerate(catalogue)}
    return tuple(sorted(names, key=lambda n: (rank.get(n.split(" (")[0], len(rank)), n)))


_FAILURE = ["status", "error", "dataset", "encoding_label", "solver_label", "lam_text"]


def failure_groups(rows: pd.DataFrame) -> list[dict[str, Any]]:
    """Failed runs, grouped by the last line of their error, most frequent first. Each group has
    ``status``, ``reason``, ``count``, ``cells`` (in words) and one full ``text``."""
    failed = rows.loc[~rows["ok"], _FAILURE].astype(object)
    # Equal failures of equal cells are looked at once: a sweep may fail everywhere.
    same = groups(failed, _FAILURE)
    counts, failed = np.bincount(same), failed.iloc[firsts(same)]
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for row, count in zip(failed.to_dict("records"), counts.tolist(), strict=False):
        text = row["error"] if isinstance(row["error"], str) and row["error"].strip() else ""
        lines = text.strip().splitlines()
        reason = lines[-1].strip() if lines else "no message"
        entry = found.setdefault(
            (row["status"], reason),
            {"status": row["status"], "reason": reason, "count": 0, "cells": {}, "text": text},
        )
        entry["count"] += count
        cell = f"{row['dataset']}, {row['encoding_label']}, {row['solver_label']}"
        entry["cells"].setdefault(cell, {})[row["lam_text"]] = None
    for entry in found.values():
        entry["cells"] = [
            f"{cell}: λ = {', '.join(list(lams)[:8])}{', …' if len(lams) > 8 else ''}"
            for cell, lams in entry["cells"].items()
        ]
    return sorted(found.values(), key=lambda e: -e["count"])
