"""The graphs of all good trees, one file a task: ``rashomon/KEY.parquet``.

A row is a subproblem, parents before their children: ``features`` are those of its splits, and
``children`` the rows of the subproblems below each split in turn, one for each code, −1 where no
row of the table has the code. What the set is and its numbers of trees are JSON in the file's
metadata, under ``treesweep-rashomon``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from solver.errors import InputError
from solver.features.number_format import count
from solver.problem.problem import Problem
from solver.rashomon.question import Cell, Question
from solver.solution import Status
from sweep.filesystem import Folder
from sweep.plan.task_keys import canonical
from sweep.spec.requested_outputs import asked_rashomon
from sweep.store import certificate_files, checksummed_parquet

if TYPE_CHECKING:
    from solver.rashomon.rashomon_set import RashomonSet

FOLDER = "rashomon"

BYTES = "rashomon_bytes"
"""The column with the size of a row's file."""

CLAIMS = ("lam_exact", "solver_options", "objective_exact", "rashomon_trees", "rashomon_within")
"""The columns of a row that its file must agree with."""

USED = ("status", "limits", "seconds", "rashomon_seconds", *CLAIMS)
"""The columns of a row that are needed to restore its set."""

_META = b"treesweep-rashomon"

_AGAIN = "remove it, then 'treesweep resume' makes it again"


class StoredSet(NamedTuple):
    """What a file says.

    Parameters
    ----------
    question : Question
        Its tolerance is less than the task's where a limit ended the search.
    optimum : Fraction
    histogram : tuple of Cell
        How many good trees have which errors and splits, the best first.
    features, children : list of lists of int
        Of each subproblem.
    """

    question: Question
    optimum: Fraction
    histogram: tuple[Cell, ...]
    features: list[list[int]]
    children: list[list[int]]

    def disagreements(self, row: Mapping[str, Any]) -> Iterator[str]:
        """What a row says otherwise; it needs :data:`CLAIMS`."""
        asked = asked_rashomon(json.loads(row["solver_options"])) or {}
        lam, within, unit = self.question
        if (lam, unit) != (Fraction(row["lam_exact"]), asked.get("unit")) or within > Fraction(
            asked["within"]
        ):
            yield "it is the answer to another question than the row's"
            return
        if str(within) != row["rashomon_within"]:
            yield f"its tolerance is {within}, the row's {row['rashomon_within']}"
        if self.optimum != Fraction(row["objective_exact"]):
            yield f"its optimum is {self.optimum}, the row's {row['objective_exact']}"
        trees = sum(cell.trees for cell in self.histogram)
        if str(trees) != row["rashomon_trees"]:
            yield f"it has {count(trees, 'tree')}, the row says {row['rashomon_trees']}"

    def restore(self, problem: Problem, row: Mapping[str, Any]) -> RashomonSet:
        """The set of a row, which needs :data:`USED`. Raises InputError if it is none of this
        problem."""
        # A driver imports this module, and needs no kernels.
        from solver.rashomon.rashomon_set import RashomonSet
        from solver.rashomon.stored_graph import StoredGraph

        graph = StoredGraph(
            ends=np.cumsum([len(row) for row in self.features], dtype=np.int64),
            feature=np.array([one for row in self.features for one in row], np.int64),
            children=np.array([one for row in self.children for one in row], np.int64),
        )
        found = RashomonSet.of_graph(
            problem, self.question, self.optimum, graph, row["seconds"] + row["rashomon_seconds"],
            json.loads(row["limits"]).get("splits"),
        )  # fmt: skip
        asked = asked_rashomon(json.loads(row["solver_options"])) or {}
        found.status, found.asked = Status(row["status"]), Fraction(asked["within"])
        if found.histogram != self.histogram:
            raise InputError("the graph of the good trees is not that of this table")
        return found


def to_bytes(found: RashomonSet) -> bytes:
    """A set as a Parquet file. Equal sets give equal files."""
    graph = found.graph
    ends = np.concatenate([[0], graph.ends])
    places = np.concatenate([[0], np.cumsum(found.problem.arities[graph.feature])])
    table = pa.table(
        {
            "features": pa.ListArray.from_arrays(
                pa.array(ends, pa.int32()), pa.array(graph.feature, pa.int32())
            ),
            "children": pa.ListArray.from_arrays(
                pa.array(places[ends], pa.int32()), pa.array(graph.children, pa.int64())
            ),
        }
    )
    meta = {
        "lam": str(found.lam),
        "within": str(found.within),
        "unit": found.unit,
        "optimum": str(found.optimum),
        "n_trees": str(found.n_trees),
        "histogram": [[cell.errors, cell.splits, str(cell.trees)] for cell in found.histogram],
    }
    table = table.replace_schema_metadata({_META: canonical(meta)})
    return checksummed_parquet.to_bytes(table)


def read_set(folder: Folder, name: str) -> StoredSet:
    """A stored set. Raises InputError if the file is missing, damaged, or holds no set."""
    path = folder.where(name)
    try:
        table = checksummed_parquet.read_table(folder, name, remedy=_AGAIN)
    except FileNotFoundError:
        raise InputError(f"the file of the good trees {path} is not there") from None
    try:
        meta = json.loads((table.schema.metadata or {})[_META])
        question = Question.of(meta["lam"], meta["within"], meta["unit"])
        histogram = tuple(Cell(int(a), int(b), int(n)) for a, b, n in meta["histogram"])
        found = StoredSet(
            question,
            Fraction(meta["optimum"]),
            histogram,
            *(_whole(table[name]) for name in ("features", "children")),
        )
    except (KeyError, TypeError, ValueError, ZeroDivisionError):
        raise InputError(f"{path} holds no good trees: it is not what a search writes") from None
    return found


def _whole(column: pa.ChunkedArray) -> list[list[int]]:
    """Lists of whole numbers. Raises ValueError for anything else."""
    kind = column.type
    if not (pa.types.is_list(kind) and pa.types.is_integer(kind.value_type)):
        raise ValueError(kind)
    found: list[Any] = column.to_pylist()
    if any(row is None or None in row for row in found):
        raise ValueError("null")
    return found


def relative_path(key: str) -> str:
    """The path of a task's file in the sweep's folder."""
    return f"{FOLDER}/{key}.parquet"


def lost(folder: Folder, rows: pa.Table) -> pa.ChunkedArray:
    """Which rows (with ``key`` and :data:`BYTES`) name a file that is missing or has another
    size."""
    return certificate_files.lost(folder, rows, FOLDER, BYTES)
