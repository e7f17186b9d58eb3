"""Read the results of a sweep, by column."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from solver.errors import InputError
from sweep.filesystem import Place, open_folder
from sweep.rows.schema import SCHEMA
from sweep.store.part_files import Parts
from sweep.store.plan_file import planned_tasks
from sweep.store.row_precedence import RUN_COLUMNS, of_tasks, rows_of_tasks
from sweep.store.store import read_manifest


def read_results(
    path: Place, *, columns: Sequence[str] | None = None, every_run: bool = False
) -> pd.DataFrame:
    """The results of a sweep, finished or not, while it is written to or not.

    Parameters
    ----------
    path : str or Path
        The sweep's folder, or where it is on S3: ``s3://bucket/prefix``.
    columns : sequence of str, optional
        The columns to give; all by default. Only these are read, and what it takes to tell which
        row answers a task: of a large store a few columns are read in seconds, all of them may not
        fit into memory.
    every_run : bool
        Give all stored rows as they were stored, instead: also those that another one has
        replaced, and those of tasks that the sweep had in an earlier version of its file.

    Returns
    -------
    pandas.DataFrame
        One row for each task of the sweep as it was last run that has been run, in the order of the
        plan, with the columns of :data:`sweep.rows.schema.COLUMNS`. It is the row that answers the
        task, see :mod:`sweep.store.row_precedence`, under the names, the limits and the key that
        the task has now. With ``every_run`` the rows in the order in which they were stored.

    Raises
    ------
    InputError
        If it is no sweep's folder, has no plan yet, a file is damaged, or there is no such column.

    Examples
    --------
    >>> frame = read_results("results/first-look")  # doctest: +SKIP
    >>> frame = read_results("results/first-look", columns=["lam", "objective"])  # doctest: +SKIP
    """
    folder = open_folder(path)
    sweep = read_manifest(folder)["sweep"]
    wanted = check_columns(columns)
    if every_run:
        stored: pd.DataFrame = Parts(folder).read(wanted).to_pandas()
        return stored
    tasks = planned_tasks(folder)
    table = Parts(folder).read(list(dict.fromkeys([*wanted, *RUN_COLUMNS])))
    place = rows_of_tasks(tasks, table)
    known = place >= 0
    # Convert only the rows that are returned: the types of columns must not depend on others.
    used = np.zeros(len(table), dtype=bool)
    used[place[known]] = True
    frame: pd.DataFrame = table.select(wanted).filter(pa.array(used)).to_pandas()
    rows = frame.iloc[np.cumsum(used)[place[known]] - 1].reset_index(drop=True)
    return of_tasks(rows, tasks.filter(pa.array(known)).to_pandas(), sweep)


def check_columns(columns: Sequence[str] | None) -> list[str]:
    """The columns to read, all by default. InputError if there is no such column."""
    wanted = SCHEMA.names if columns is None else list(columns)
    for name in wanted:
        if name not in SCHEMA.names:
            raise InputError(f"a store has no column {name!r}; it has: {', '.join(SCHEMA.names)}")
    return wanted


def dictionary_codes(column: pa.ChunkedArray) -> tuple[NDArray[np.int64], pa.Array]:
    """The codes of a column's values, and its distinct values in order of appearance, with null."""
    if pa.types.is_dictionary(column.type):
        column = column.unify_dictionaries()
    else:  # this gives all chunks the same dictionary
        column = pc.dictionary_encode(column, null_encoding="encode")
    if not column.num_chunks:
        return np.zeros(0, np.int64), pa.array([], column.type.value_type)
    codes = [chunk.indices.to_numpy(zero_copy_only=False) for chunk in column.chunks]
    return np.concatenate(codes).astype(np.int64), column.chunk(0).dictionary


def combine_codes(parts: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """The group of each row, from 0: rows with equal codes in all columns are in one group."""
    first, *others = parts
    found, count = first.astype(np.int64), int(first.max(initial=-1)) + 1
    for other in others:
        size = int(other.max(initial=-1)) + 1
        found = found * size + other
        count *= size
        if count > 2 * len(found):  # keeps the numbers small
            _, found = np.unique(found, return_inverse=True)
            count = int(found.max(initial=-1)) + 1
    return found
