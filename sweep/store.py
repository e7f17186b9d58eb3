"""A sweep's folder: the sweep's file, the plan, the rows, and checkpoints of unfinished runs.

One driver at a time writes to it; anybody may read it at any time.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Any

import pyarrow as pa

from solver.errors import InputError
from solver.solution import Status
from sweep import files, index, proofs, states
from sweep.index import Index
from sweep.lock import DriverLock
from sweep.parts import GRACE, Parts, is_current
from sweep.plan import Block
from sweep.rows import Checkpoint, Finished
from sweep.schema import SCHEMA
from sweep.spec import SweepFile, load_spec
from sweep.states import Held, States

FORMAT = "treesweep-store"
VERSION = 2

FLUSH_COST = 5.0
"""Rows are written once they have cost more than so many seconds of computing …"""

FLUSH_SECONDS = 2.0
"""… or after so long."""

MANY_PARTS = 256
"""So many parts are compacted while the sweep runs, and a tenth of that at its end."""

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
    ]
)


class Store:
    """A sweep's folder, opened by its driver. Use it as a context manager.

    Parameters
    ----------
    root : Path
        The folder; see :func:`create` and :func:`reopen`.

    Raises
    ------
    InputError
        If another driver is at work, or a part is damaged.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.lock = DriverLock(root)
        self.lock.acquire()
        try:
            self.parts = Parts(root)
            self.parts.create()
            self.answers = Index(self.parts.read(index.COLUMNS))
            self.states = States(root)
            proofs.remove_leftovers(root)
            self._origins: dict[str, str] = {}
            self.states.drop_all_but(self._may_go_on)
        except BaseException:
            self.lock.release()
            raise
        self._buffer: list[Finished] = []
        self._checkpoints = {path.stem for path in (root / CHECKPOINTS).glob("*.parquet")}
        self._cost = 0.0
        self._flushed = time.monotonic()
        self._n_parts = len(self.parts.paths())
        self._has_superseded = False
        self._compacted: float | None = None

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def add(self, finished: Finished) -> None:
        """Take finished rows; they are written soon, see :meth:`maybe_flush`."""
        self._has_superseded |= self.answers.add(finished.rows)
        self._buffer.append(finished)
        self._cost += finished.seconds

    def maybe_flush(self) -> None:
        """Write the buffered rows if they have cost enough or waited long enough."""
        waited = time.monotonic() - self._flushed
        if self._buffer and (self._cost > FLUSH_COST or waited > FLUSH_SECONDS):
            self.flush()

    def flush(self) -> None:
        """Write the buffered rows; they are on the disk when this returns.

        Raises
        ------
        InputError
            If the disk is full. The rows stay in the buffer.
        """
        if self._buffer:
            for finished in self._buffer:  # first: no row may name a file that is not there
                for key, content in finished.certificates.items():
                    proofs.save_certificate(self.root, key, content)
            table = pa.Table.from_batches([finished.rows for finished in self._buffer], SCHEMA)
            self.parts.append(table)
            self._buffer, self._cost = [], 0.0
            self._n_parts += 1
            self._drop_what_led_to(table)
        self._flushed = time.monotonic()
        if self._n_parts >= MANY_PARTS:
            self.compact()

    def _drop_what_led_to(self, table: pa.Table) -> None:
        """Remove checkpoints and states of runs that are stored."""
        if self._checkpoints:
            statuses = zip(*(table[name].to_pylist() for name in ("key", "status")), strict=True)
            for key, status in statuses:
                if key in self._checkpoints and Status(status).has_tree:
                    self._checkpoint(key).unlink(missing_ok=True)
                    self._checkpoints.discard(key)
        if self.states or self._origins:
            for key in table["key"].to_pylist():
                if not self._may_go_on(key):
                    self._drop_origin(key)
                    self.states.drop(key)

    def compact(self) -> None:
        """Merge small parts and drop rows that a later attempt has replaced."""
        self.parts.compact(self.answers.is_replaced if self._has_superseded else None)
        self._n_parts = len(self.parts.paths())
        self._compacted = time.monotonic()

    def close(self) -> None:
        """Write what is buffered, compact if it is worth it, and let other drivers in."""
        try:
            self.flush()
            if self._has_superseded or self._n_parts > MANY_PARTS // 10 or self._is_mixed():
                self.compact()
            if self._compacted is not None:
                time.sleep(max(0.0, self._compacted + GRACE - time.monotonic()))
                self.parts.discard_old()
        finally:
            self.lock.release()

    def _is_mixed(self) -> bool:
        """Whether parts differ in their columns, which readers other than ours do not expect."""
        return len({is_current(path) for path in self.parts.paths()}) > 1

    def _checkpoint(self, key: str) -> Path:
        return self.root / CHECKPOINTS / f"{key}.parquet"

    def save_checkpoint(self, checkpoint: Checkpoint) -> None:
        """Keep what an unfinished run has reached, in place of what it had reached before."""
        path = self._checkpoint(checkpoint.key)
        path.parent.mkdir(exist_ok=True)
        self._checkpoints.add(checkpoint.key)
        files.write_table(path, pa.Table.from_pylist([asdict(checkpoint)], schema=_CHECKPOINT))

    def checkpoint(self, key: str) -> Checkpoint | None:
        """What an unfinished run had reached."""
        return read_checkpoint(self._checkpoint(key)) if key in self._checkpoints else None

    # States

    def _may_go_on(self, key: str) -> bool:
        """Whether a state of this task may be of use: it is open, or a limit ended it."""
        answer = self.answers.get(key)
        return answer is None or answer.status.is_limit or answer.status is Status.KILLED

    def _is_ended(self, key: str) -> bool:
        return key in self.answers

    def save_state(self, key: str, path: Path, iterations: int) -> str | None:
        """Keep a state that has been fetched, see :meth:`sweep.states.States.incoming`.

        Returns
        -------
        str or None
            Why it is not kept, if that is worth telling.
        """
        why = None
        if not self._may_go_on(key):
            path.unlink(missing_ok=True)
        elif self._is_ended(key) and (
            self.states.size_of(self._is_ended) + path.stat().st_size > states.KEPT
        ):
            path.unlink(missing_ok=True)
            why = (
                f"the states of ended runs take {states.KEPT / 2**30:.0f} GiB; no more are kept, "
                f"delete what you do not need from {self.states.folder}"
            )
        elif self.states.adopt(key, path, iterations):
            self._drop_origin(key)
        return why

    def _drop_origin(self, key: str) -> None:
        """Remove the state of a smaller limit that a task went on from: it is further now."""
        origin = self._origins.pop(key, key)
        if origin != key:
            self.states.drop(origin)

    def reject_state(self, key: str) -> None:
        """Remove the state that a task was given: it is of no use."""
        self.states.drop(self._origins.pop(key, key))

    def state(
        self, block: Block, lam_exact: str, key: str, identity: Mapping[str, str]
    ) -> Held | None:
        """The furthest state that a task can go on from: its own, or that of the same task under
        smaller limits of seconds, bytes or nodes."""
        if not self.states:
            return None
        keys_of = [key]
        for text in self.answers.limits_within(block):
            keys_of.append(block.maker.key(lam_exact, text))
        found = [held for k in keys_of if (held := self.states.held(k, identity)) is not None]
        best = max(found, key=lambda held: held.reached.iterations, default=None)
        if best is not None:
            self._origins[key] = best.key
        return best

    def has_checkpoints(self) -> bool:
        """Whether any run is unfinished."""
        return bool(self._checkpoints)


def read_checkpoint(path: Path) -> Checkpoint | None:
    """Read a checkpoint; None if there is none.

    A damaged one is as good as none: the run then starts from its beginning.
    """
    try:
        return Checkpoint(**files.read_table(path).to_pylist()[0])
    except (FileNotFoundError, InputError, IndexError, TypeError):
        return None


def create(root: Path, sweep: SweepFile) -> Store:
    """Make a sweep's folder, or open the folder of the same sweep.

    Raises
    ------
    InputError
        If the folder holds another sweep or something else, or another driver is at work on it.
    """
    if (root / MANIFEST).exists():
        held = read_manifest(root)
        if held["sweep"] != sweep.spec.name:
            raise InputError(
                f"{root} holds the sweep {held['sweep']!r}, not {sweep.spec.name!r}; "
                "choose another folder with --out"
            )
    elif root.exists():
        _refuse_foreign(root)
    try:
        root.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot make the folder {root}: {error.strerror or error}") from None
    store = Store(root)
    files.write_text(root / SWEEP_FILE, sweep.text)
    content = {
        "format": FORMAT,
        "version": VERSION,
        "sweep": sweep.spec.name,
        "spec_sha256": hashlib.sha256(sweep.text.encode()).hexdigest(),
        "base": str(sweep.base),
    }
    files.write_json(root / MANIFEST, content)
    return store


def _refuse_foreign(root: Path) -> None:
    if not root.is_dir():
        raise InputError(f"{root} is a file; choose another folder with --out")
    # A crash while the folder was made may have left these.
    own = {SWEEP_FILE, ".lock", "driver.json", "rows", ".generations"}
    foreign = [p.name for p in root.iterdir() if p.name not in own and not p.name.endswith(".tmp")]
    if foreign:
        raise InputError(
            f"{root} is not empty and holds no sweep (it has {sorted(foreign)[0]!r}); "
            "choose another folder with --out"
        )


def read_manifest(root: Path) -> dict[str, Any]:
    """What a sweep's folder says of itself.

    Raises
    ------
    InputError
        If it is no sweep's folder, or one of a later version.
    """
    path = root / MANIFEST
    if not path.exists():
        raise InputError(f"{root} is no sweep's folder (it has no {MANIFEST})")
    manifest = files.read_json(path)
    if not isinstance(manifest, Mapping) or manifest.get("format") != FORMAT:
        raise InputError(f"{path} is damaged: it is not that of a sweep's folder")
    if manifest["version"] > VERSION:
        raise InputError(
            f"{root} has store version {manifest['version']}, this treesweep knows up to "
            f"{VERSION}; upgrade treesweep"
        )
    return dict(manifest)


def stored_sweep(root: Path) -> SweepFile:
    """The sweep that a folder holds; errors as :func:`read_manifest`."""
    manifest = read_manifest(root)
    return load_spec(root / SWEEP_FILE, base=manifest["base"])
