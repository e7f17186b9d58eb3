"""Certificates of what a run has proven, as files beside the rows: ``proofs/KEY.parquet``.

The columns are those of :class:`solver.certificate.Certificate`; its ``meta`` stand as JSON in the
schema's metadata under ``treesweep-certificate``.
"""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from solver.base import Watch
from solver.certificate import Certificate, Claim
from solver.errors import InputError
from solver.limits import Limits
from solver.path import Path as LamPath
from solver.problem import Problem
from solver.solution import Solution, Status
from sweep import files
from sweep.keys import canonical

FOLDER = "proofs"

CONTENT = "proof_content"
"""Under this name a row on its way to the store has the bytes of its certificate."""

_META = b"treesweep-certificate"

Columns = dict[str, NDArray[Any] | list[Any]]


class Certifier(Protocol):
    """A solver that can certify what it has proven."""

    def certify(
        self, problem: Problem, claims: Sequence[Claim], limits: Limits, watch: Watch
    ) -> Certificate:
        """The certificate of all claims."""


def claims_of(solution: Solution, path: LamPath | None) -> list[Claim]:
    """What a run has proven: its tree, or the corners of its path at which a search ended so.

    These are enough: the objective is concave in λ, so it is known between two proven corners.
    """
    if path is None:
        proven = solution.status is Status.OPTIMAL
        return [Claim(solution.lam, solution.errors, solution.splits)] if proven else []
    closed = {
        point.lam for point in path.points if point.lower_bound == path.objective_at(point.lam)
    }
    return [Claim(s.start, s.errors, s.splits) for s in path.steps if s.start in closed]


def to_bytes(certificate: Certificate) -> bytes:
    """A certificate as a Parquet file."""
    table = pa.table({name: pa.array(column) for name, column in certificate.columns().items()})
    table = table.replace_schema_metadata({_META: canonical(certificate.meta)})
    sink = io.BytesIO()
    pq.write_table(table, sink, compression="zstd", write_page_checksum=True)
    return sink.getvalue()


def read_certificate(path: Path) -> tuple[Columns, dict[str, Any]]:
    """The columns and the meta of a stored certificate.

    Raises
    ------
    InputError
        If it is not there, is damaged, or is no certificate.
    """
    try:
        table = files.read_table(path)
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
    """Where the certificate of a task is, from the sweep's folder."""
    return f"{FOLDER}/{key}.parquet"


def save_certificate(root: Path, key: str, content: bytes) -> None:
    """Put a certificate beside the rows; it is on the disk when this returns.

    Raises
    ------
    InputError
        If the disk is full.
    """
    path = root / relative_path(key)
    path.parent.mkdir(exist_ok=True)
    files.replace(path, lambda to: _write(to, content))


def _write(path: Path, content: bytes) -> None:
    path.write_bytes(content)


def remove_leftovers(root: Path) -> None:
    """Remove what a crash has left half written."""
    for leftover in (root / FOLDER).glob(".*.tmp"):
        leftover.unlink(missing_ok=True)
