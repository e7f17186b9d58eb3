"""The progress of a sweep, running or not, from its folder alone."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import PurePosixPath
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from solver.solution import Status
from sweep.filesystem import Folder, Place, open_folder
from sweep.rows.largest_path_gap import PATH, checkpoint_gap, largest_gap, open_paths, row_gap
from sweep.rows.result_rows import Checkpoint
from sweep.store import rashomon_files
from sweep.store.certificate_files import BYTES, lost
from sweep.store.lease import is_live, read_heartbeat
from sweep.store.part_files import Parts
from sweep.store.plan_file import plan_tables, planned_tasks
from sweep.store.row_precedence import rows_of_keys, rows_of_tasks
from sweep.store.search_states import state_sizes
from sweep.store.shard_files import kept_shards
from sweep.store.store import CHECKPOINTS, read_checkpoint, read_manifest


@dataclass(frozen=True)
class SweepStatus:
    """The progress of a sweep.

    Examples
    --------
    >>> import treesweep
    >>> now = treesweep.status("results/first")
    >>> now.statuses, now.worst_gap
    ({'optimal': 4, 'heuristic': 4}, 0.0)
    """

    sweep: str  #: its name
    folder: str
    live: bool  #: whether a driver is running
    driver: str | None  #: the running driver, or the last one
    updated: float | None  #: the driver's last heartbeat, in seconds since 1970
    total: int  #: tasks of the plan
    done: int  #: tasks with an answer
    failed: int  #: tasks that ended in an error or killed their worker
    running: int  #: tasks on workers
    missing: int  #: tasks without an answer that are not running
    impossible: int  #: combinations that their solver or encoding cannot do
    unfinished: int  #: tasks without an answer that have saved work to resume
    states: int  #: number of stored states of searches
    state_bytes: int  #: size of the stored states
    statuses: dict[str, int]  #: number of tasks by the status of their row
    uncertified: int  #: answered tasks whose certificate, or its file, is missing
    cut_short: int  #: tasks whose good trees have a smaller tolerance than asked
    worst_gap: float | None  #: largest gap of the tasks that have begun (of a λ-path: at any λ)
    seconds: float  #: search time of all tasks, including unfinished searches
    rate: float | None  #: tasks per second, if a driver is running
    eta: float | None  #: estimated seconds to the end, if a driver is running
    workers: int
    memory: int  #: bytes in use by the workers
    dashboard: str | None  #: the address of Dask's dashboard, if a driver is running

    def to_dict(self) -> dict[str, Any]:
        """As plain data for JSON."""
        return asdict(self)


def sweep_status(path: Place) -> SweepStatus:
    """Read how far a sweep is.

    Raises
    ------
    InputError
        If it is no sweep's folder, or a part file is damaged.
    """
    folder = open_folder(path)
    name = read_manifest(folder)["sweep"]
    live = is_live(folder)
    impossible = _impossible(folder)
    tasks, place, rows = _answers(folder)
    statuses = _counts(rows["status"])
    failed = sum(n for s, n in statuses.items() if not Status(s).has_tree)
    done = len(rows) - failed
    unanswered = _unanswered(tasks, place, rows)
    searches = _open_searches(folder, unanswered)
    gaps = [*(gap for _, gap in searches), *_answered_gaps(folder, rows)]
    states = state_sizes(folder)
    heartbeat = read_heartbeat(folder)
    numbers = heartbeat.numbers if heartbeat and live else {}
    left = len(tasks) - done - failed
    running = min(int(numbers.get("running", 0)), left)
    return SweepStatus(
        sweep=name,
        folder=str(folder),
        live=live,
        driver=heartbeat.name if heartbeat else None,
        updated=heartbeat.updated if heartbeat else None,
        total=len(tasks),
        done=done,
        failed=failed,
        running=running,
        missing=left - running,
        impossible=impossible,
        unfinished=len(searches) + _in_shards(folder, unanswered),
        states=len(states),
        state_bytes=sum(states.values()),
        statuses=statuses,
        uncertified=_uncertified(folder, rows),
        cut_short=_cut_short(rows),
        worst_gap=max(gaps) if gaps else None,
        seconds=float(pc.sum(rows["seconds"]).as_py() or 0.0)
        + math.fsum(kept.seconds for kept, _ in searches),
        rate=numbers.get("rate"),
        eta=numbers.get("eta"),
        workers=int(numbers.get("workers", 0)),
        memory=int(numbers.get("memory", 0)),
        dashboard=numbers.get("dashboard"),
    )


def answered_gap(folder: Folder) -> float | None:
    """The largest gap of all answered tasks; None if nothing is proven of any of them."""
    return max(_answered_gaps(folder, _answers(folder)[2]), default=None)


def open_searches(folder: Folder) -> list[tuple[Checkpoint, float]]:
    """The checkpoints of tasks without an answer, each with its gap; that of a path is over all of
    its λ."""
    return _open_searches(folder, _unanswered(*_answers(folder)))


def _unanswered(tasks: pa.Table, place: NDArray[np.int64], rows: pa.Table) -> pa.ChunkedArray:
    """The keys of the tasks that no row with a tree answers."""
    answered = np.zeros(len(tasks), dtype=bool)
    answered[place >= 0] = _has_tree(rows).to_numpy()
    return tasks["key"].filter(pa.array(~answered))


def _answers(folder: Folder) -> tuple[pa.Table, NDArray[np.int64], pa.Table]:
    """The planned tasks, the place of the row that answers each (−1: none), and these rows."""
    tasks = planned_tasks(folder, ("key", "answered_by"))
    columns = [
        "key",
        "status",
        "gap",
        "tolerance",
        "seconds",
        "attempt",
        "error",
        BYTES,
        rashomon_files.BYTES,
    ]
    stored = Parts(folder).read(columns, _without_texts)
    place = rows_of_tasks(tasks, stored)
    return tasks, place, stored.take(pa.array(place[place >= 0]))


def _answered_gaps(folder: Folder, answers: pa.Table) -> list[float]:
    most = largest_gap(answers)
    return [*_path_gaps(folder, answers), *([] if most is None else [most])]


def _uncertified(folder: Folder, rows: pa.Table) -> int:
    """Of how many answers a file could not be made, or is no longer there."""
    failed = pc.and_(rows["error"], _has_tree(rows))
    gone = pc.or_(lost(folder, rows), rashomon_files.lost(folder, rows))
    return int(pc.sum(pc.or_(failed, gone)).as_py() or 0)


def _cut_short(rows: pa.Table) -> int:
    """Of how many answers a limit ended the search for good trees, after some were found."""
    limits = pa.array([status.value for status in Status if status.is_limit])
    limited = pc.is_in(rows["status"], value_set=limits)
    return int(pc.sum(pc.and_(limited, rows[rashomon_files.BYTES].is_valid())).as_py() or 0)


def _in_shards(folder: Folder, unanswered: pa.ChunkedArray) -> int:
    """How many unanswered tasks have finished shards but no checkpoint."""
    checkpoints = {PurePosixPath(name).stem for name, _ in folder.names(CHECKPOINTS)}
    return len(_among(kept_shards(folder).keys() - checkpoints, unanswered))


def _among(keys: Iterable[str], tasks: pa.ChunkedArray) -> list[str]:
    """Which keys are among those of the tasks."""
    found = pa.array([*keys], pa.string())
    return list(found.filter(pc.is_in(found, value_set=tasks)).to_pylist())


def _impossible(folder: Folder) -> int:
    """The number of cells that cannot be run."""
    tables = plan_tables(folder, ["key", "tasks"])
    return sum(pc.sum(t.filter(pc.is_null(t["key"]))["tasks"]).as_py() or 0 for t in tables)


def _counts(column: pa.ChunkedArray) -> dict[str, int]:
    """The number of each value, the most frequent first."""
    found = {str(entry["values"]): entry["counts"] for entry in pc.value_counts(column).to_pylist()}
    return dict(sorted(found.items(), key=lambda item: -item[1]))


def _without_texts(part: pa.Table) -> pa.Table:
    """Rows with a flag in place of the text of the error."""
    place = part.schema.get_field_index("error")
    return part.set_column(place, "error", pc.is_valid(part["error"]))


def _has_tree(rows: pa.Table) -> pa.ChunkedArray:
    return pc.is_in(rows["status"], pa.array([s.value for s in Status if s.has_tree]))


def _open_searches(folder: Folder, unanswered: pa.ChunkedArray) -> list[tuple[Checkpoint, float]]:
    """The checkpoints of unanswered tasks with their gaps."""
    names = {PurePosixPath(name).stem: name for name, _ in folder.names(CHECKPOINTS)}
    found = [read_checkpoint(folder, names[key]) for key in _among(names, unanswered)]
    kept = [checkpoint for checkpoint in found if checkpoint is not None]
    keys = pa.array([one.key for one in kept if one.path is not None], pa.string())
    lams: dict[str, Fraction] = {}
    for table in plan_tables(folder, ["key", "lam_exact"]) if len(keys) else ():
        own = table.filter(pc.is_in(table["key"], keys))
        lams.update(zip(own["key"].to_pylist(), map(Fraction, own["lam_exact"].to_pylist()),
                        strict=True))  # fmt: skip
    return [(one, float(checkpoint_gap(one, lams.get(one.key)))) for one in kept]


def _path_gaps(folder: Folder, answers: pa.Table) -> list[float]:
    """The gaps of answered λ-paths that are not proven completely."""
    names = [s.value for s in Status if s is Status.STOPPED or s.is_limit]
    keys = answers["key"].filter(pc.is_in(answers["status"], pa.array(names))).unique()
    if not len(keys):
        return []

    def wanted(part: pa.Table) -> pa.Table:
        return open_paths(part.filter(pc.is_in(part["key"], keys)))

    rows = Parts(folder).read([*PATH], wanted)
    place = rows_of_keys(keys, rows)
    rows = rows.take(pa.array(place[place >= 0]))
    gaps = (row_gap(row) for batch in rows.to_batches(200) for row in batch.to_pylist())
    return [float(gap) for gap in gaps if gap is not None]
