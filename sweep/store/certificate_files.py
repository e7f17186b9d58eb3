"""Certificates of optimality, one file a task: ``proofs/KEY.parquet``.

The columns are those of :class:`solver.verify.certificate.Certificate`. Its ``meta`` is JSON in the
file's metadata, under ``treesweep-certificate``.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from solver.errors import InputError
from solver.limits import Limits
from solver.monitor import Monitor
from solver.path.path import Path as LamPath
from solver.problem.problem import Problem
from solver.solution import Solution, Status
from solver.verify.certificate import Certificate, Claim
from sweep.filesystem import Folder
from sweep.plan.task_keys import canonical
from sweep.store import checksummed_parquet

FOLDER = "proofs"

BYTES = "proof_bytes"
"""The column with the size of a row's certificate."""

_META = b"treesweep-certificate"

_AGAIN = "remove it, then 'treesweep resume' makes it again"

Columns = dict[str, NDArray[Any] | list[Any]]


class Certifier(Protocol):
    """A solver that can certify what it has proven."""

    def certify(
        self, problem: Problem, claims: Sequence[Claim], limits: Limits, monitor: Monitor
    ) -> Certificate:
        """The certificate of all claims."""


def claims_of(solution: Solution, path: LamPath | None) -> list[Claim]:
    """What a run has proven: its tree, or the breakpoints of its path that are proven optimal.

    The objective is concave in λ, so it is known between two proven breakpoints.
    """
    if path is None:
        proven = solution.status is Status.OPTIMAL
        return [Claim(solution.lam, int(solution.errors), solution.splits)] if proven else []
    closed = {
        point.lam for point in path.points if point.lower_bound == path.objective_at(point.lam)
    }
    return [Claim(s.start, int(s.errors), s.splits) for s in path.steps if s.start in closed]


def to_bytes(certificate: Certificate) -> bytes:
    """A certificate as a Parquet file."""
    table = pa.table({name: pa.array(column) for name, column in certificate.columns().items()})
    table = table.replace_schema_metadata({_META: canonical(certificate.meta)})
    return checksummed_parquet.to_bytes(table)


def read_certificate(folder: Folder, name: str) -> tuple[Columns, dict[str, Any]]:
    """The columns and the meta of a stored certificate.

    Raises InputError if the file is missing, damaged, or not a certificate.
    """
    path = folder.where(name)
    try:
        table = checksummed_parquet.read_table(folder, name, remedy=_AGAIN)
    except FileNotFoundError:
        raise InputError(f"the certificate {path} is not there") from None
    try:
        meta = json.loads((table.schema.metadata or {})[_META])
    except (KeyError, ValueError):
        raise InputError(f"{path} is no certificate: its metadata do not say of what") from None
    if not isinstance(meta, dict) or any(column.null_count for column in table.columns):
        raise InputError(f"{path} is damaged: it is not what a solver writes")
    return {name: _plain(table[name]) for name in table.column_names}, meta


def _plain(column: pa.ChunkedArray) -> NDArray[Any] | list[Any]:
    numeric = pa.types.is_integer(column.type)
    return np.asarray(column.to_numpy()) if numeric else list(column.to_pylist())


def relative_path(key: str) -> str:
    """The path of a task's certificate in the sweep's folder."""
    return f"{FOLDER}/{key}.parquet"


def lost(
    folder: Folder, rows: pa.Table, files: str = FOLDER, column: str = BYTES
) -> pa.ChunkedArray:
    """Which rows (with ``key`` and a ``column`` of sizes) name a file of the folder ``files`` that
    is missing or has another size; by default a certificate."""
    claimed = rows[column]
    if claimed.null_count == len(claimed):
        return pc.is_valid(claimed)
    found = {PurePosixPath(name).stem: size for name, size in folder.names(files)}
    at = pc.index_in(rows["key"], pa.array(list(found), pa.string()))
    sizes = pa.array(list(found.values()), pa.int64()).take(at)
    whole = pc.fill_null(pc.equal(sizes, claimed), False)
    return pc.and_(pc.is_valid(claimed), pc.invert(whole))
