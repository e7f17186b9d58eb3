"""Make the row of a run."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from typing import Any

import pyarrow as pa

from solver.monitor import Snapshot
from solver.search_shards import Shard
from solver.solution import Solution, Status
from solver.trees.tree import Tree
from sweep.plan.plan import NodeInfo
from sweep.plan.software_versions import git_revision, versions
from sweep.plan.task_keys import canonical, strict_json
from sweep.rows import schema
from sweep.rows.metric_columns import train_quality
from sweep.rows.path_checkpoint import solves_of
from sweep.rows.schema import FILES

_COLUMNS = schema.SCHEMA.names


@dataclass(frozen=True)
class Checkpoint:
    """The progress of an interrupted run."""

    key: str
    tree: str  # the incumbent, as JSON
    objective: str  # a fraction
    lower_bound: str  # a fraction
    seconds: float  # search time so far, with that of earlier attempts
    iterations: int
    nodes: int = 0
    path: str | None = None
    """The solved λ of a λ-path, see :func:`sweep.rows.path_checkpoint.dump_solves`. The other
    fields then belong to the λ that was being solved."""
    elapsed: float | None = None
    """Of ``seconds`` those that count against a limit, if shards have searched side by side."""

    @property
    def spent(self) -> float:
        """The seconds that count against a limit."""
        return self.seconds if self.elapsed is None else self.elapsed

    @property
    def gap(self) -> Fraction:
        """objective − lower_bound."""
        return Fraction(self.objective) - Fraction(self.lower_bound)


@dataclass(frozen=True)
class Cell:
    """A task as it is sent to a worker. The worker has the data of its node."""

    key: str
    lam: str
    lam_label: str
    solver: str
    solver_version: str
    options: dict[str, Any]
    limits: dict[str, Any]
    attempt: int
    checkpoint: Checkpoint | None = None
    question: str | None = None
    """What the states of the search are known by, see
    :func:`sweep.plan.task_keys.question_limits`; None if the solver has no states."""
    state: str | None = None
    """The token of the state to resume from, which the driver sends."""
    shard: Shard | None = None
    """The part of the task to solve; None for all of it."""
    incumbent: str | None = None
    """The initial tree of a shard, as JSON: the best that another shard has found."""
    spent: float = 0.0
    """Seconds that were searched before the task was divided into the shards of this one."""

    @property
    def parts(self) -> int:
        """The number of parts that the task is divided into."""
        return 1 if self.shard is None else self.shard.number

    @property
    def identity(self) -> dict[str, str]:
        """The search that a state must belong to."""
        return {
            "task": self.question or self.key,
            "solver": self.solver,
            "solver_version": self.solver_version,
        }


@dataclass(frozen=True)
class Finished:
    """Finished runs as they are sent and stored: rows in the schema of the store.

    ``seconds`` is their cost by a monotonic clock, ``files`` are what rows name: bytes by path.
    """

    rows: pa.RecordBatch
    seconds: float
    files: dict[str, bytes]

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def keys(self) -> list[str]:
        """The tasks' keys."""
        found: list[str] = self.rows["key"].to_pylist()
        return found

    def where(self, mask: pa.Array) -> Finished:
        """Some of the rows."""
        return replace(self, rows=self.rows.filter(mask))

    def first(self, number: int) -> Finished:
        """The first rows."""
        rows = self.rows.slice(0, number)
        known = {path for name in FILES for path in rows[name].to_pylist()}
        held = {path: content for path, content in self.files.items() if path in known}
        return replace(self, rows=rows, files=held)


def as_finished(rows: Sequence[dict[str, Any]], seconds: float = 0.0) -> Finished:
    """Finished runs from a dict each."""
    files = {
        row[name]: row[content] for row in rows for name, content in FILES.items() if content in row
    }
    return Finished(pa.RecordBatch.from_pylist([*rows], schema=schema.SCHEMA), seconds, files)


@dataclass(frozen=True)
class Provenance:
    """Where and when a task ran."""

    host: str | None
    worker: str | None
    started: datetime
    began: float = field(default_factory=time.monotonic)

    @property
    def finished(self) -> datetime:
        """Now, measured by a monotonic clock since the start."""
        return self.started + timedelta(seconds=time.monotonic() - self.began)


def now() -> datetime:
    """The time in UTC."""
    return datetime.now(UTC)


def blank(info: NodeInfo, cell: Cell, provenance: Provenance) -> dict[str, Any]:
    """A row without results."""
    row: dict[str, Any] = dict.fromkeys(_COLUMNS)
    row.update(vars(info))
    row.update(
        schema_version=schema.VERSION,
        key=cell.key,
        lam=float(Fraction(cell.lam)),
        lam_exact=cell.lam,
        lam_label=cell.lam_label,
        solver=cell.solver,
        solver_version=cell.solver_version,
        solver_options=canonical(cell.options),
        limits=canonical(cell.limits),
        host=provenance.host,
        worker=provenance.worker,
        attempt=cell.attempt,
        started=provenance.started,
        finished=provenance.finished,
        versions=versions(),
        git_revision=git_revision(),
    )
    return row


def failed(
    info: NodeInfo, cell: Cell, provenance: Provenance, error: str, status: Status = Status.ERROR
) -> dict[str, Any]:
    """The row of a run that gave no result."""
    return {**blank(info, cell, provenance), "status": status.value, "error": error}


def resumed(
    solution: Solution, checkpoint: Checkpoint | None, from_state: bool = False
) -> Solution:
    """Add the effort and the bound of an earlier attempt to a solution.

    With ``from_state`` the search resumed from a state, and has counted the earlier iterations.
    """
    if checkpoint is None:
        return solution
    bound = solution.lower_bound
    if bound is not None:
        bound = max(bound, Fraction(checkpoint.lower_bound))
    done = bound is not None and solution.objective - bound <= solution.tolerance
    status = Status.OPTIMAL if done else solution.status
    return with_effort(replace(solution, lower_bound=bound, status=status), checkpoint, from_state)


def with_effort(solution: Solution, checkpoint: Checkpoint, from_state: bool = False) -> Solution:
    """Add the effort of an earlier attempt to a solution, see :func:`resumed`."""
    return replace(
        solution,
        seconds=solution.seconds + checkpoint.seconds,
        iterations=solution.iterations + (0 if from_state else checkpoint.iterations),
        trace=tuple(p._replace(seconds=p.seconds + checkpoint.seconds) for p in solution.trace),
    )


def solved(
    info: NodeInfo,
    cell: Cell,
    provenance: Provenance,
    solution: Solution,
    n_features: int,
    n_features_encoded: int,
    tested: Mapping[str, Any],
) -> dict[str, Any]:
    """The row of a solution; ``tested`` is from :func:`sweep.rows.metric_columns.held_out_quality`.

    Raises TypeError or ValueError if the solver's extra is not plain data or not finite.
    """
    row = blank(info, cell, provenance)
    row.update(
        n_features=n_features,
        n_features_encoded=n_features_encoded,
        **claims_and_effort(solution),
        **train_quality(solution),
        total_weight=solution.total_weight,
        splits=solution.splits,
        leaves=solution.leaves,
        depth=solution.depth,
        tree=solution.tree.to_json(),
    )
    row.update(tested)
    return row


def claims_and_effort(solution: Solution) -> dict[str, Any]:
    """The columns of status, bounds and effort. Raises as :func:`solved`."""
    return {
        "status": solution.status.value,
        **_exact("objective", solution.objective),
        **_exact("lower_bound", solution.lower_bound),
        **_exact("gap", solution.gap),
        "iterations": solution.iterations,
        "nodes": solution.nodes,
        "seconds": solution.seconds,
        "compile_seconds": solution.compile_seconds,
        "peak_bytes": solution.peak_bytes,
        "trace": [point._asdict() for point in solution.trace],
        "extra": _as_extra(solution.extra),
    }


def _as_extra(extra: Mapping[str, Any]) -> str | None:
    return strict_json(extra) if extra else None


def _exact(name: str, value: Fraction | None) -> dict[str, Any]:
    if value is None:
        return {name: None, f"{name}_exact": None}
    return {name: float(value), f"{name}_exact": str(value)}


def checkpoint_of(row: Mapping[str, Any], before: Checkpoint | None = None) -> Checkpoint:
    """The checkpoint of a stopped run, from its row and the checkpoint that it began with."""
    elapsed = None
    if before is not None and before.elapsed is not None:
        elapsed = row["seconds"] - (before.seconds - before.elapsed)
    return Checkpoint(
        elapsed=elapsed,
        key=row["key"],
        tree=row["tree"],
        objective=row["objective_exact"],
        lower_bound=row["lower_bound_exact"] or "0",
        seconds=row["seconds"],
        iterations=row["iterations"],
        nodes=row["nodes"],
        path=solves_of(row),
    )


def checkpoint_at(
    seen: Snapshot,
    key: str,
    checkpoint: Checkpoint | None,
    from_state: bool = False,
    path: str | None = None,
) -> Checkpoint:
    """The checkpoint of a running search, with earlier attempts as in :func:`resumed`.

    ``path`` has the solved λ of a λ-path.
    """
    bound, seconds, iterations = seen.lower_bound, seen.seconds, seen.iterations
    elapsed = None
    if checkpoint is not None:
        if path is None:  # else the bound is at another λ
            bound = max(bound, Fraction(checkpoint.lower_bound))
        seconds += checkpoint.seconds
        if checkpoint.elapsed is not None:
            elapsed = seen.seconds + checkpoint.elapsed
        iterations += 0 if from_state else checkpoint.iterations
    return Checkpoint(
        key=key,
        tree=seen.tree.to_json(),
        objective=str(seen.objective),
        lower_bound=str(bound),
        seconds=seconds,
        iterations=iterations,
        nodes=seen.nodes,
        elapsed=elapsed,
        path=path,
    )


def of_part(reached: Checkpoint) -> Checkpoint:
    """The part of a shard's checkpoint that holds for the whole task: its tree."""
    return replace(reached, lower_bound="0", seconds=0.0, iterations=0, nodes=0)


def initial_tree(checkpoint: Checkpoint | None) -> Tree | None:
    """The incumbent of a checkpoint."""
    return None if checkpoint is None else Tree.from_json(checkpoint.tree)
