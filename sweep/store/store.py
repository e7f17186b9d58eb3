"""A sweep's folder: the sweep's file, plan, rows, and checkpoints of unfinished runs.

One driver at a time writes to it. Anybody may read it at any time.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path, PurePosixPath
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from solver.errors import InputError
from solver.search_shards import Shard
from solver.solution import Status
from sweep.filesystem import Folder, Place, StorageError, open_folder
from sweep.plan.plan import Block
from sweep.plan.task_keys import canonical
from sweep.rows.result_rows import Checkpoint, Finished
from sweep.rows.schema import SCHEMA
from sweep.spec.spec import SweepFile, parse_spec
from sweep.store import certificate_files as proofs
from sweep.store import (
    checksummed_parquet,
    rashomon_files,
    search_states,
    shard_files,
    task_key_index,
)
from sweep.store.lease import FOLDER as LEASES
from sweep.store.lease import Lease, LostLeaseError, is_live
from sweep.store.part_files import DAMAGED, GRACE, Parts
from sweep.store.search_states import Held, States
from sweep.store.shard_files import KeptShards
from sweep.store.task_key_index import Index

FORMAT = "treesweep-store"
VERSION = 1

FLUSH_COST = 5.0
"""Rows are written when they have cost more than this many seconds of computing …"""

FLUSH_SECONDS = 2.0
"""… or have waited this long."""

MANY_PARTS = 256
"""This many parts are compacted during a sweep, a tenth of them at its end."""

SWEEP_FILE, MANIFEST, PLAN, CHECKPOINTS = (
    "sweep.yaml",
    "manifest.json",
    "plan.parquet",
    "checkpoints",
)

_CHECKPOINT = pa.schema(
    [
        ("key", pa.string()),
        ("tree", pa.string()),
        ("objective", pa.string()),
        ("lower_bound", pa.string()),
        ("seconds", pa.float64()),
        ("iterations", pa.int64()),
        ("nodes", pa.int64()),
        ("path", pa.string()),
        ("elapsed", pa.float64()),
    ]
)


class Store:
    """A sweep's folder, opened by its driver. Use it as a context manager.

    Raises InputError if another driver is at work, or a part is of another version.

    Parameters
    ----------
    place : str, Path or Folder
        The folder, see :func:`create`.
    tell : callable
        Gets messages for the user, e.g. about damage.
    """

    def __init__(self, place: Place | Folder, tell: Callable[[str], None]) -> None:
        self.folder = open_folder(place)
        self._tell = tell
        self.lease = Lease(self.folder, tell)
        self.lease.acquire()
        try:
            self.parts = Parts(self.folder, self.lease.token)
            self.parts.create()
            if self.lease.taken_over:
                self.parts.fence()
            self.answers = self._read_index()
            self.states = States(self.folder)
            for folder in ("", CHECKPOINTS, proofs.FOLDER, rashomon_files.FOLDER):
                self.folder.remove_leftovers(folder)
            self._checkpoints = {PurePosixPath(n).stem for n, _ in self.folder.names(CHECKPOINTS)}
            self._origins: dict[str, str] = {}
            self.states.drop_all_but(self._may_go_on)
            self.shards = KeptShards(self.folder, tell)
            self.shards.drop_all_but(self._is_open)
        except BaseException:
            self.lease.release()
            raise
        self._buffer: list[Finished] = []
        self._cost = 0.0
        self._flushed = time.monotonic()
        self._n_parts = len(self.parts.names())
        self._has_superseded = False
        self._n_kept = 0
        self._compacted: float | None = None

    def __enter__(self) -> Store:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, LostLeaseError):
            self.lease.release()  # the store belongs to another driver
        elif error is not None:
            with suppress(StorageError):  # the first error matters more
                self.close()
        else:
            self.close()

    def _read_index(self) -> Index:
        """The index of all rows. Damaged parts are moved away."""
        columns = [*task_key_index.COLUMNS, proofs.BYTES, rashomon_files.BYTES]
        try:
            rows = self.parts.read(columns)
        except checksummed_parquet.DamagedError:
            for damage in self.parts.set_aside():
                self._tell(str(damage))
            rows = self.parts.read(columns)
        lost = pc.or_(proofs.lost(self.folder, rows), rashomon_files.lost(self.folder, rows))
        return Index(rows, lost.to_numpy())

    def tell_lost(self, number: int) -> None:
        """Report how many tasks run again because a certificate or a set is lost."""
        if number == 1:
            self._tell("a file of 1 task is not there or not whole; it is run again")
        elif number:
            self._tell(f"files of {number} tasks are not there or not whole; they are run again")

    def add(self, finished: Finished) -> None:
        """Buffer finished rows until :meth:`maybe_flush`."""
        self._has_superseded |= self.answers.add(finished.rows)
        self._buffer.append(finished)
        self._cost += finished.seconds

    @property
    def n_waiting(self) -> int:
        """The number of buffered rows."""
        return sum(map(len, self._buffer))

    @property
    def waiting_bytes(self) -> int:
        """The memory of the buffered rows, in bytes."""
        files = (content for finished in self._buffer for content in finished.files.values())
        return sum(int(f.rows.nbytes) for f in self._buffer) + sum(map(len, files))

    def drop_waiting(self) -> int:
        """Forget the buffered rows, so that their tasks run again later. Returns how many."""
        number, self._buffer = self.n_waiting, []
        return number

    def maybe_flush(self) -> None:
        """Write the buffered rows if they have cost enough or waited long enough."""
        waited = time.monotonic() - self._flushed
        if self._buffer and (self._cost > FLUSH_COST or waited > FLUSH_SECONDS):
            self.flush()

    def flush(self) -> None:
        """Write the buffered rows durably.

        Raises StorageError if that fails now; they stay in the buffer. Raises LostLeaseError if
        another driver has taken over; nothing is written.
        """
        if self._buffer:
            self.lease.check()
            for finished in self._buffer:  # first: no row may name a missing file
                for name, content in finished.files.items():
                    self.folder.write(name, content)
            table = pa.Table.from_batches([finished.rows for finished in self._buffer], SCHEMA)
            self.parts.append(table)
            self._buffer, self._cost = [], 0.0
            self._n_parts += 1
            with suppress(StorageError):  # leftovers do no harm
                self._drop_what_led_to(table)
        self._flushed = time.monotonic()
        if self._n_parts >= max(MANY_PARTS, self._n_kept + MANY_PARTS // 2):
            self._try_to_compact()

    def _drop_what_led_to(self, table: pa.Table) -> None:
        """Remove checkpoints, shards and states of stored runs."""
        if self._checkpoints:
            statuses = zip(*(table[name].to_pylist() for name in ("key", "status")), strict=True)
            for key, status in statuses:
                if key in self._checkpoints and Status(status).has_tree:
                    self.folder.remove(_checkpoint_name(key))
                    self._checkpoints.discard(key)
        if self.shards:
            for key in table["key"].to_pylist():
                if not self._is_open(key):
                    self.shards.drop(key)
        if self.states or self._origins:
            for key in table["key"].to_pylist():
                if not self._may_go_on(key):
                    self._drop_origin(key)
                    self.states.drop(key)

    def compact(self) -> None:
        """Merge small parts, and drop rows that do not count (``row_precedence``)."""
        superseded = self.answers.is_replaced if self._has_superseded else None
        self.parts.compact(superseded, self.lease.check)
        self._n_parts = self._n_kept = len(self.parts.names())
        self._compacted = time.monotonic()

    def _try_to_compact(self) -> None:
        """Compact now, or later if there is no room."""
        try:
            self.compact()
        except StorageError as error:
            self._n_kept = self._n_parts
            self._tell(f"the parts are not compacted yet: {error}")

    def close(self) -> None:
        """Write the buffered rows, compact if worthwhile, and give the lease back."""
        try:
            self.flush()
            if self._has_superseded or self._n_parts > MANY_PARTS // 10:
                self._try_to_compact()
            if self._compacted is not None:
                time.sleep(max(0.0, self._compacted + GRACE - time.monotonic()))
                self.parts.discard_old()
        finally:
            self.lease.release()

    def save_checkpoint(self, checkpoint: Checkpoint) -> None:
        """Write or replace the checkpoint of an unfinished run."""
        self.lease.check()
        table = pa.Table.from_pylist([asdict(checkpoint)], schema=_CHECKPOINT)
        checksummed_parquet.write_table(self.folder, _checkpoint_name(checkpoint.key), table)
        self._checkpoints.add(checkpoint.key)

    def checkpoint(self, key: str) -> Checkpoint | None:
        """The checkpoint of an unfinished run."""
        if key not in self._checkpoints:
            return None
        return read_checkpoint(self.folder, _checkpoint_name(key), self._tell)

    # Shards

    def save_shard(self, key: str, shard: Shard, finished: Finished) -> None:
        """Store the row of a shard until its task is finished."""
        self.lease.check()
        if self._is_open(key):
            self.shards.keep(key, shard, finished.rows)

    def _is_open(self, key: str) -> bool:
        answer = self.answers.get(key)
        return answer is None or not answer.status.has_tree

    # States

    def _may_go_on(self, key: str) -> bool:
        """Whether a state may be of use: the task is unfinished, or a limit ended it."""
        answer = self.answers.get(key)
        return answer is None or answer.status.is_limit or answer.status is Status.KILLED

    def _is_ended(self, key: str) -> bool:
        return key in self.answers

    def save_state(self, key: str, path: Path, iterations: int) -> str | None:
        """Store a fetched state, see :meth:`States.incoming`.

        Returns why it is not stored, if the user should know.
        """
        self.lease.check()
        why = None
        if not self._may_go_on(key):
            path.unlink(missing_ok=True)
        elif self._is_ended(key) and (
            self.states.size_of(self._is_ended) + path.stat().st_size > search_states.KEPT
        ):
            path.unlink(missing_ok=True)
            why = (
                f"the states of ended runs take {search_states.KEPT / 2**30:.0f} GiB; no more "
                "are kept, delete what you do not need from "
                f"{self.folder.where(search_states.FOLDER)}"
            )
        elif self.states.adopt(key, path, iterations):
            self._drop_origin(key)
        return why

    def _drop_origin(self, key: str) -> None:
        """Remove the state, under a smaller limit, that a task resumed from."""
        origin = self._origins.pop(key, key)
        if origin != key:
            self.states.drop(origin)

    def reject_state(self, key: str) -> None:
        """Remove the useless state that a task was given."""
        self.states.drop(self._origins.pop(key, key))

    def state(
        self, block: Block, lam_exact: str, key: str, identity: Mapping[str, str]
    ) -> Held | None:
        """The furthest state that a task can resume from: its own, or that of the same task under
        smaller limits."""
        if not self.states:
            return None
        smaller = [block.maker.key(lam_exact, x) for x in self.answers.limits_within(block)]
        states = [self.states.held(k, identity) for k in (key, *smaller)]
        found = [held for held in states if held is not None]
        best = max(found, key=lambda held: held.reached.iterations, default=None)
        if best is not None:
            self._origins[key] = best.key
        return best


def _checkpoint_name(key: str) -> str:
    return f"{CHECKPOINTS}/{key}.parquet"


def read_checkpoint(
    folder: Folder, name: str, tell: Callable[[str], None] = lambda text: None
) -> Checkpoint | None:
    """Read a checkpoint; None if there is none or it is damaged. The run then starts anew."""
    try:
        table = checksummed_parquet.read_table(folder, name, remedy="its search begins anew")
        return Checkpoint(**table.to_pylist()[0])
    except checksummed_parquet.DamagedError as error:
        tell(str(error))
        return None
    except (FileNotFoundError, StorageError, IndexError, TypeError):
        return None


def create(place: Place | Folder, sweep: SweepFile, tell: Callable[[str], None]) -> Store:
    """Create the folder of a sweep, or open it again.

    Raises InputError if the folder has another sweep, other files, or another driver.
    """
    root = open_folder(place)
    if root.exists(MANIFEST):
        held = read_manifest(root)
        if held["sweep"] != sweep.spec.name:
            raise InputError(
                f"{root} holds the sweep {held['sweep']!r}, not {sweep.spec.name!r}; "
                "choose another folder with --out"
            )
    else:
        _refuse_foreign(root)
    root.make()
    store = Store(root, tell)
    content = {
        "format": FORMAT,
        "version": VERSION,
        "sweep": sweep.spec.name,
        "spec_sha256": hashlib.sha256(sweep.text.encode()).hexdigest(),
        "base": str(sweep.base),
    }
    try:
        root.write(SWEEP_FILE, sweep.text.encode())
        root.write(MANIFEST, json.dumps(content | {_SUM: _sum(content)}, indent=2).encode())
    except BaseException:
        store.lease.release()
        raise
    return store


_OWN = {
    SWEEP_FILE, PLAN, CHECKPOINTS, proofs.FOLDER, rashomon_files.FOLDER, search_states.FOLDER,
    shard_files.FOLDER, DAMAGED, LEASES, "rows", "rows.json", ".generations", "driver.json",
    "driver.log", "report",
}  # fmt: skip
"""What may be in a sweep's folder, other than its manifest."""

_SUM = "sha256"
_NEEDED = {"sweep", "spec_sha256", "base"}


def _sum(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(canonical(content).encode()).hexdigest()


def _refuse_foreign(root: Folder) -> None:
    # Own files without a manifest: a crash came first, or somebody removed it.
    foreign = [n for n in (*(e.name for e in root.names()), *root.folders()) if n not in _OWN]
    if foreign:
        raise InputError(
            f"{root} is not empty and holds no sweep (it has {sorted(foreign)[0]!r}); "
            "choose another folder with --out"
        )


def read_manifest(place: Place | Folder) -> dict[str, Any]:
    """The manifest of a sweep's folder.

    Raises InputError if it is no sweep's folder, or of another version.
    """
    root = open_folder(place)
    path = root.where(MANIFEST)
    try:
        manifest = json.loads(root.read(MANIFEST))
    except FileNotFoundError:
        if not root.is_there():
            raise InputError(f"there is no folder {root}") from None
        raise InputError(f"{root} is no sweep's folder (it has no {MANIFEST})") from None
    except ValueError:
        raise InputError(f"{path} is damaged: it is not valid JSON; {_ANEW}") from None
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise InputError(f"{path} is damaged: it is not that of a sweep's folder; {_ANEW}")
    expected, version = manifest.pop(_SUM, None), manifest.get("version")
    if expected not in (None, _sum(manifest)):
        raise InputError(f"{path} is damaged: its checksum does not match; {_ANEW}")
    if version != VERSION:
        raise InputError(
            f"{root} has store version {version}, this treesweep reads version {VERSION}; use the "
            "treesweep that wrote it, or choose another folder with --out"
        )
    if expected is None or not manifest.keys() >= _NEEDED:
        raise InputError(f"{path} is damaged: something is missing in it; {_ANEW}")
    return dict(manifest)


_ANEW = (
    f"remove it and run the sweep's file again, with the same --out: 'treesweep run {SWEEP_FILE}'"
)


def stored_sweep(place: Place | Folder) -> SweepFile:
    """The sweep of a folder. Raises as :func:`read_manifest`."""
    root = open_folder(place)
    manifest, content = _read_sweep(root)
    return parse_spec(content.decode(), manifest["base"], root.where(SWEEP_FILE))


def sweep_sum(place: Place | Folder) -> str:
    """The SHA-256 of a folder's sweep: of its file's text and the base of its relative paths.

    Raises as :func:`stored_sweep`.
    """
    manifest, _ = _read_sweep(open_folder(place))
    return _sum({name: manifest[name] for name in ("spec_sha256", "base")})


def _read_sweep(root: Folder, retry_after: float = 0.5) -> tuple[dict[str, Any], bytes]:
    """The manifest and the sweep's file. A driver may be between writing the two."""
    manifest = read_manifest(root)
    where = root.where(SWEEP_FILE)
    try:
        content = root.read(SWEEP_FILE)
    except FileNotFoundError:
        raise InputError(f"{where} is not there; {_ANEW}") from None
    if hashlib.sha256(content).hexdigest() == manifest["spec_sha256"]:
        return manifest, content
    if retry_after and is_live(root):
        time.sleep(retry_after)
        return _read_sweep(root, 0.0)
    raise InputError(
        f"{where} is not what was written there; if you have changed it, run the changed file: "
        f"'treesweep run SPEC.yaml --out {root}'"
    )
