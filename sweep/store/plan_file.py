"""The plan of a sweep as a file in its folder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from shlex import quote

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from solver.errors import InputError
from sweep.filesystem import Folder, Place, open_folder
from sweep.plan.plan import Block, Plan
from sweep.plan.task_keys import canonical
from sweep.store import checksummed_parquet
from sweep.store.lease import is_live
from sweep.store.row_precedence import TASK_COLUMNS
from sweep.store.store import PLAN, Store, sweep_sum

SCHEMA = pa.schema(
    [
        ("key", pa.string()),
        ("dataset", pa.string()),
        ("encoding", pa.string()),
        ("encoding_options", pa.string()),
        ("lam", pa.float64()),
        ("lam_exact", pa.string()),
        ("lam_label", pa.string()),
        ("solver", pa.string()),
        ("solver_options", pa.string()),
        ("limits", pa.string()),
        ("fold", pa.int32()),
        ("repeat", pa.int32()),
        ("answered_by", pa.string()),
        ("reason", pa.string()),
        ("tasks", pa.int64()),
    ]
)
"""One row a task. ``answered_by`` is the key of the row that answered it when the plan was made.
A row with a ``reason`` and no ``key`` stands for ``tasks`` cells that cannot run."""

_CHUNK = 50_000

_SWEEP = "treesweep-sweep"
"""Key of the metadata with the SHA-256 of the plan's sweep. It differs from that of the folder if
a driver died between writing the two files."""


def survey(plan: Plan, store: Store) -> tuple[NDArray[np.int64], int]:
    """Write a plan to the store.

    Returns the numbers of the tasks without an answer, and how many tasks have one.
    """
    remaining: list[NDArray[np.int64]] = []
    answered = 0
    pending: list[pa.Table] = []
    lost = 0
    with checksummed_parquet.created(store.folder, PLAN, SCHEMA) as writer:
        for block in plan.blocks:
            table, open_ones = _survey_block(block, store)
            remaining.append(open_ones)
            lost += store.answers.count_lost(block, (open_ones - block.start).tolist())
            answered += len(table) - len(open_ones)
            pending.append(table)
            if sum(map(len, pending)) >= _CHUNK:
                writer.write_table(pa.concat_tables(pending))
                pending = []
        writer.write_table(pa.concat_tables([SCHEMA.empty_table(), *pending, _refused(plan)]))
        writer.add_key_value_metadata({_SWEEP: sweep_sum(store.folder)})
    store.tell_lost(lost)
    return np.concatenate([np.zeros(0, np.int64), *remaining]), answered


def _survey_block(block: Block, store: Store) -> tuple[pa.Table, NDArray[np.int64]]:
    answers, axis = store.answers.answers_to(block), block.axis
    columns: dict[str, object] = {
        **vars(block.node.info),
        "key": block.keys(),
        "lam": axis.values,
        "lam_exact": axis.texts,
        "lam_label": axis.labels,
        "solver": block.solver.name,
        "solver_options": canonical(block.solver.options),
        "limits": block.limits,
        "answered_by": answers,
        "reason": None,
        "tasks": 1,
    }
    table = pa.table([_column(columns[f.name], f.type, len(axis)) for f in SCHEMA], schema=SCHEMA)
    unanswered = np.array([answer is None for answer in answers], dtype=bool)
    return table, block.start + np.flatnonzero(unanswered)


def _column(content: object, kind: pa.DataType, n_rows: int) -> pa.Array:
    """A column from its values, or from the one value of all rows."""
    if isinstance(content, (list, np.ndarray)):
        return pa.array(content, kind)
    return pa.repeat(pa.scalar(content, kind), n_rows)


def _refused(plan: Plan) -> pa.Table:
    return pa.Table.from_pylist([entry._asdict() for entry in plan.impossible], schema=SCHEMA)


def plan_tables(place: Place | Folder, columns: Sequence[str] | None = None) -> Iterator[pa.Table]:
    """The stored plan in pieces of at most 50,000 rows. Raises as :func:`read_plan`."""
    yield from _open_plan(open_folder(place)).batches(_CHUNK, columns)


def _open_plan(folder: Folder) -> checksummed_parquet.Opened:
    """The plan, if it belongs to the folder's sweep."""
    wanted = sweep_sum(folder)
    makes = f"'treesweep resume {quote(str(folder))}' makes it"
    try:
        file = checksummed_parquet.Opened(folder, PLAN, f"{makes} anew")
    except FileNotFoundError:
        why = f"{folder} has no plan yet; {makes}"
    else:
        if file.metadata.get(_SWEEP.encode()) == wanted.encode():
            return file
        why = f"the plan of {folder} is that of an earlier sweep; {makes} anew"
    if is_live(folder):
        why = f"the driver of {folder} is still making the plan; look again in a moment"
    raise InputError(why)


def planned_tasks(folder: Folder, columns: Sequence[str] = TASK_COLUMNS) -> pa.Table:
    """The tasks of the stored plan that can run. ``columns`` must have ``key``.

    Raises as :func:`read_plan`.
    """
    tables = [t.filter(pc.is_valid(t["key"])) for t in plan_tables(folder, columns)]
    empty = pa.schema([SCHEMA.field(name) for name in columns]).empty_table()
    return pa.concat_tables([empty, *tables])


def read_plan(path: Place) -> pd.DataFrame:
    """Read the plan of a sweep as it was last run: a table with one row for each task.

    Raises
    ------
    InputError
        If ``path`` is not a sweep's folder, or the plan is missing or damaged.

    Examples
    --------
    >>> import treesweep
    >>> plan = treesweep.read_plan("results/first")
    >>> len(plan), sorted(plan["solver"].unique())
    (8, ['branches', 'cart'])
    """
    frame: pd.DataFrame = pa.concat_tables([*plan_tables(path)]).to_pandas()
    return frame
