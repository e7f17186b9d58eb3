"""Which stored row answers a task: one rule, for all who read rows or decide what to run.

A row *stands* higher the more it settles: a final result (``optimal``, ``heuristic``) above one
that a limit ended, and that above a failure. The row of a task is the one that stands highest. Of
equals, a row under the task's own key comes before one of the same task under smaller limits, see
:func:`sweep.plan.task_keys.answers`; of the runs of one key the later attempt counts. No date
decides anything: the clocks of workers may differ.

A key says nothing of names. What a row is called is what today's plan calls its task.
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
"""The columns of rows that say which of them answers."""

NAMED = ("key", "dataset", "lam_label", "limits")
"""The columns of a row that are those of its task, whatever they were when it was stored. The key
follows from the limits."""

TASK_COLUMNS = (*NAMED, "answered_by")
"""The columns of a plan that say which rows answer its tasks, and what these are called."""


def standing(status: Status) -> int:
    """How much a run settles that ended so."""
    if not status.has_tree:
        return FAILED
    return LIMITED if status.is_limit or status is Status.STOPPED else FINAL


def runs_in_order(
    keys: NDArray[np.generic], standings: NDArray[np.integer], attempts: NDArray[np.integer]
) -> NDArray[np.intp]:
    """Runs by key; of each key the one that counts is last, of equal ones the last stored."""
    return np.lexsort((attempts, standings, keys))


def takes_over(other: NDArray[np.integer], own: NDArray[np.integer]) -> NDArray[np.bool_]:
    """Where a row under other limits answers a task, not the row of its own key, by what they
    stand."""
    return np.asarray(other > np.maximum(own, FAILED))


def rows_of_keys(keys: pa.Array | pa.ChunkedArray, rows: pa.Table) -> NDArray[np.int64]:
    """For each key the number of the row that counts; −1 if it has none.

    Parameters
    ----------
    rows : pyarrow.Table
        With :data:`RUN_COLUMNS`.
    """
    distinct = rows["key"].unique()
    codes = pc.index_in(rows["key"], value_set=distinct).to_numpy().astype(np.int64)
    order = runs_in_order(codes, _standings(rows["status"]), rows["attempt"].to_numpy())
    best = np.full(len(distinct) + 1, -1, np.int64)  # the last entry is that of no key
    best[codes[order]] = order  # of equal places the last one written stays
    return np.asarray(best[pc.fill_null(pc.index_in(keys, value_set=distinct), -1).to_numpy()])


def rows_of_tasks(tasks: pa.Table, rows: pa.Table) -> NDArray[np.int64]:
    """For each task the number of the row that answers it, or that says how it failed, or −1.

    A task that had no answer when the plan was made is run under its own key.

    Parameters
    ----------
    tasks : pyarrow.Table
        With ``key`` and ``answered_by``.
    rows : pyarrow.Table
        With :data:`RUN_COLUMNS`.
    """
    return rows_of_keys(pc.coalesce(tasks["answered_by"], tasks["key"]), rows)


def of_tasks(rows: pd.DataFrame, tasks: pd.DataFrame, sweep: str) -> pd.DataFrame:
    """The rows of some tasks, each under the names of its task.

    Parameters
    ----------
    rows : DataFrame
        A row a task, with any columns of the store.
    tasks : DataFrame
        With :data:`NAMED`.
    sweep : str
        The sweep's name.
    """
    names = {name: tasks[name].array for name in NAMED if name in rows}
    return rows.assign(**names, **({"sweep": sweep} if "sweep" in rows else {}))


def called_today(rows: pa.Table, tasks: pa.Table) -> pa.Table:
    """Rows as they are stored, but for the names that today's plan has for their tasks.

    The column ``planned`` says whether a row belongs to a task of the plan; others keep the names
    that they were stored with.

    Parameters
    ----------
    tasks : pyarrow.Table
        With :data:`TASK_COLUMNS`.
    """
    known = pa.chunked_array([*tasks["key"].chunks, *tasks["answered_by"].chunks], pa.string())
    place = pc.index_in(rows["key"], value_set=known, skip_nulls=True)
    for name in ("dataset", "lam_label"):
        names = pa.chunked_array([*tasks[name].chunks, *tasks[name].chunks], pa.string())
        found = pc.coalesce(names.take(place), rows[name])
        rows = rows.set_column(rows.column_names.index(name), name, found)
    return rows.append_column("planned", pc.is_valid(place))


def _standings(column: pa.ChunkedArray) -> NDArray[np.int64]:
    texts = pa.array([status.value for status in Status])
    numbers = np.array([standing(status) for status in Status])
    codes = pc.fill_null(pc.index_in(column, value_set=texts), -1).to_numpy()
    return np.asarray(np.append(numbers, FAILED)[codes])


def _whole(column: pa.ChunkedArray) -> pa.Array:
    found = column.combine_chunks()
    return pa.concat_arrays(found.chunks) if isinstance(found, pa.ChunkedArray) else found
