"""Which stored row answers a task: one rule for all readers and for the driver.

The most final row answers: a result (``optimal``, ``heuristic``) goes before a run that a limit
ended, and that before a failure. Of equally final rows, one with the task's own key goes before one
under smaller limits, which ended nothing in that run (:func:`sweep.plan.task_keys.answers`). Of the
runs of one key, the later attempt counts. Dates decide nothing: the clocks of workers may differ.

Names are not part of a key. A row has the names that today's plan gives its task.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from solver.solution import Status

MISSING, FAILED, LIMITED, FINAL = -1, 0, 1, 2

RUN_COLUMNS = ("key", "status", "attempt")
"""The columns that decide which row answers a task."""

NAMED = ("key", "dataset", "lam_label", "limits")
"""The columns that a row takes from its task today; they may have been others when it was stored.
The key depends on the limits."""

TASK_COLUMNS = (*NAMED, "answered_by")
"""The columns of a plan that name its tasks and the rows that answer them."""


def finality(status: Status) -> int:
    """How final a run with this status is."""
    if not status.has_tree:
        return FAILED
    return LIMITED if status.is_limit or status is Status.STOPPED else FINAL


def runs_in_order(
    keys: NDArray[np.generic], finalities: NDArray[np.integer], attempts: NDArray[np.integer]
) -> NDArray[np.intp]:
    """Sort runs by key, and within a key so that the one that counts is last."""
    return np.lexsort((attempts, finalities, keys))


def takes_over(other: NDArray[np.integer], own: NDArray[np.integer]) -> NDArray[np.bool_]:
    """Where a row under other limits answers a task instead of the row of its own key."""
    return np.asarray(other > np.maximum(own, FAILED))


def rows_of_keys(keys: pa.Array | pa.ChunkedArray, rows: pa.Table) -> NDArray[np.int64]:
    """For each key the number of the row that counts, or −1. ``rows`` has :data:`RUN_COLUMNS`."""
    distinct = rows["key"].unique()
    codes = pc.index_in(rows["key"], value_set=distinct).to_numpy().astype(np.int64)
    order = runs_in_order(codes, _finalities(rows["status"]), rows["attempt"].to_numpy())
    best = np.full(len(distinct) + 1, -1, np.int64)  # the last entry is that of no key
    best[codes[order]] = order  # of equal places the last one written stays
    return np.asarray(best[pc.fill_null(pc.index_in(keys, value_set=distinct), -1).to_numpy()])


def rows_of_tasks(tasks: pa.Table, rows: pa.Table) -> NDArray[np.int64]:
    """For each task the number of its answer, or of the row that says how it failed, or −1.

    ``tasks`` has ``key`` and ``answered_by``, ``rows`` has :data:`RUN_COLUMNS`. A task that had no
    answer when the plan was made runs under its own key.
    """
    return rows_of_keys(pc.coalesce(tasks["answered_by"], tasks["key"]), rows)


def of_tasks(rows: pd.DataFrame, tasks: pd.DataFrame, sweep: str) -> pd.DataFrame:
    """Rows, one a task, with the task's :data:`NAMED` and the sweep's name of today."""
    names = {name: tasks[name].array for name in NAMED if name in rows}
    return rows.assign(**names, **({"sweep": sweep} if "sweep" in rows else {}))


def called_today(rows: pa.Table, tasks: pa.Table) -> pa.Table:
    """Stored rows, with dataset and λ label as today's plan calls them.

    A new column ``planned`` tells whether a row belongs to a task of the plan. Other rows keep
    their stored names. ``tasks`` has :data:`TASK_COLUMNS`.
    """
    known = pa.chunked_array([*tasks["key"].chunks, *tasks["answered_by"].chunks], pa.string())
    place = pc.index_in(rows["key"], value_set=known, skip_nulls=True)
    for name in ("dataset", "lam_label"):
        names = pa.chunked_array([*tasks[name].chunks, *tasks[name].chunks], pa.string())
        found = pc.coalesce(names.take(place), rows[name])
        rows = rows.set_column(rows.column_names.index(name), name, found)
    return rows.append_column("planned", pc.is_valid(place))


def _finalities(column: pa.ChunkedArray) -> NDArray[np.int64]:
    texts = pa.array([status.value for status in Status])
    numbers = np.array([finality(status) for status in Status])
    codes = pc.fill_null(pc.index_in(column, value_set=texts), -1).to_numpy()
    return np.asarray(np.append(numbers, FAILED)[codes])
