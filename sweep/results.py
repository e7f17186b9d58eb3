"""Reading a sweep's results, by column."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from solver.errors import InputError
from sweep.keys import BUDGETS, KEY_COLUMNS, canonical
from sweep.parts import Parts
from sweep.schema import SCHEMA
from sweep.storage import Place, open_folder
from sweep.store import read_manifest

_ORDER = ("finished", "attempt")


def read_results(
    path: Place, *, columns: Sequence[str] | None = None, every_run: bool = False
) -> pd.DataFrame:
    """The rows of a sweep's store, finished or not, while it is written to or not.

    Parameters
    ----------
    path : str or Path
        The sweep's folder, or where it is on S3: ``s3://bucket/prefix``.
    columns : sequence of str, optional
        The columns to give; all by default. Only these are read, and what it takes to tell tasks
        apart: of a large store a few columns are read in seconds, all of them may not fit into
        memory.
    every_run : bool
        Also give runs that a later one has replaced: failed ones that were tried again, and those
        of the same task under a smaller limit of seconds, bytes or nodes.

    Returns
    -------
    pandas.DataFrame
        One row a task, with the columns of :data:`sweep.schema.COLUMNS`, in the order in which
        they were finished.

    Raises
    ------
    InputError
        If it is no sweep's folder, a part file is damaged, or there is no such column.

    Examples
    --------
    >>> frame = read_results("results/first-look")  # doctest: +SKIP
    >>> frame = read_results("results/first-look", columns=["lam", "objective"])  # doctest: +SKIP
    """
    folder = open_folder(path)
    read_manifest(folder)
    wanted = SCHEMA.names if columns is None else list(columns)
    for name in wanted:
        if name not in SCHEMA.names:
            raise InputError(f"a store has no column {name!r}; it has: {', '.join(SCHEMA.names)}")
    needed = [*_ORDER, *(() if every_run else KEY_COLUMNS)]
    table = Parts(folder).read(list(dict.fromkeys([*wanted, *needed])))
    rows = in_order(table)
    if not every_run:
        rows = rows[last_of_each(tasks_of(table)[rows])]
    frame: pd.DataFrame = table.select(wanted).to_pandas()
    return frame.iloc[rows].reset_index(drop=True)


def in_order(table: pa.Table) -> NDArray[np.int64]:
    """The numbers of the rows in the order in which they were finished."""
    columns = {name: table[name].to_numpy() for name in _ORDER}
    return np.lexsort((columns["attempt"], columns["finished"]))


def codes_of(column: pa.ChunkedArray) -> tuple[NDArray[np.int64], pa.Array]:
    """A column as numbers of its distinct values, in the order in which they come; null is one of
    them."""
    if pa.types.is_dictionary(column.type):
        column = column.unify_dictionaries()
    else:  # this gives all chunks the same dictionary
        column = pc.dictionary_encode(column, null_encoding="encode")
    if not column.num_chunks:
        return np.zeros(0, np.int64), pa.array([], column.type.value_type)
    codes = [chunk.indices.to_numpy(zero_copy_only=False) for chunk in column.chunks]
    return np.concatenate(codes).astype(np.int64), column.chunk(0).dictionary


def groups_of(parts: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Numbers from 0 that are equal where all the given numbers from 0 are equal."""
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


def tasks_of(table: pa.Table) -> NDArray[np.int64]:
    """Numbers that are equal for rows of the same task: those that differ in the budgets
    (seconds, bytes, nodes) and in the attempt only.

    Parameters
    ----------
    table : pyarrow.Table
        With :data:`sweep.keys.KEY_COLUMNS`.
    """
    parts = []
    for name in KEY_COLUMNS:
        codes, values = codes_of(table[name])
        if name == "limits":
            questions: dict[str, int] = {}
            same = [questions.setdefault(_question(v.as_py()), len(questions)) for v in values]
            codes = np.array(same, np.int64)[codes]
        parts.append(codes)
    return groups_of(parts)


def last_of_each(groups: NDArray[np.int64]) -> NDArray[np.int64]:
    """The places at which each number stands for the last time, in rising order."""
    last = np.full(int(groups.max(initial=-1)) + 1, -1, np.int64)
    last[groups] = np.arange(len(groups))  # of equal places the last one written stays
    return np.sort(last[last >= 0])


def latest_by_key(table: pa.Table) -> pa.Table:
    """Of the rows of each key the one of the latest attempt.

    Parameters
    ----------
    table : pyarrow.Table
        With the columns ``key`` and ``attempt``.
    """
    if pc.count_distinct(table["key"]).as_py() == len(table):
        return table
    keys, _ = codes_of(table["key"])
    order = np.argsort(table["attempt"].to_numpy(), kind="stable")
    return table.take(pa.array(order[last_of_each(keys[order])]))


def latest(frame: pd.DataFrame) -> pd.DataFrame:
    """Of the rows of each task the one that was finished last, see :func:`tasks_of`."""
    table = pa.Table.from_pandas(frame[list(KEY_COLUMNS)], preserve_index=False)
    return frame.iloc[last_of_each(tasks_of(table))].reset_index(drop=True)


def _question(limits: str) -> str:
    """The limits that change what is asked for."""
    return canonical({n: v for n, v in json.loads(limits).items() if n not in BUDGETS})
