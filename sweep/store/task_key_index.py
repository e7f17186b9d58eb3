"""An index of the runs that count, by key, see :mod:`sweep.store.row_precedence`.

Keys of 32 bytes and their runs are sorted arrays; a million keys take 46 MB. New rows are collected
in a dict and merged later.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from solver.solution import Status
from sweep.plan import task_keys
from sweep.plan.plan import Block
from sweep.store import row_precedence

COLUMNS = ("key", "status", "limits", "attempt", "path_cut_by")
"""The columns that an index needs."""

_ENDS = [(status, is_cut) for is_cut in (False, True) for status in Status]
"""How a run may end: its status, and whether a limit ended a search within its λ-path."""
_CODE = {(status.value, is_cut): code for code, (status, is_cut) in enumerate(_ENDS)}
_FINALITY = np.array([row_precedence.finality(status) for status, _ in _ENDS])
_DIGEST = np.dtype("S32")

_MOST_RECENT = 50_000


class RunSummary(NamedTuple):
    """The run of a key that counts: status, limits (JSON) and attempt."""

    status: Status
    limits: str
    attempt: int


class _Run(NamedTuple):
    """The run of a key that counts. ``end`` and ``limits`` are codes, ``last`` is the key's last
    attempt, ``lost`` says that its certificate is lost."""

    end: int
    limits: int
    attempt: int
    last: int
    lost: bool = False


class _Runs(NamedTuple):
    """Keys with the columns of :class:`_Run`."""

    digests: NDArray[np.bytes_]
    ends: NDArray[np.uint8]
    limits: NDArray[np.int32]
    attempts: NDArray[np.int32]
    last: NDArray[np.int32]
    lost: NDArray[np.bool_]


class Index:
    """The run of each key that counts.

    Parameters
    ----------
    rows : pyarrow.Table
        With :data:`COLUMNS`.
    lost : array of bool, optional
        Which rows have lost their certificate. Where such a run counts, it is reported as failed,
        so that its task runs again. Only a run that is as final replaces it.
    """

    def __init__(self, rows: pa.Table, lost: NDArray[np.bool_] | None = None) -> None:
        self._texts: list[str] = []
        self._budgets: list[dict[str, Any]] = []
        self._codes: dict[str, int] = {}
        self._recent: dict[str, _Run] = {}
        found = self._columns(rows)
        self._sorted = _best(found if lost is None else found._replace(lost=lost))

    def __len__(self) -> int:
        return len(self._merged().digests)

    def __contains__(self, key: str) -> bool:
        return self._run(key) is not None

    def count_lost(self, block: Block, places: Sequence[int]) -> int:
        """How many tasks (given by their positions in a block) have an answer without its
        certificate."""
        if not self._merged().lost.any():
            return 0
        found = np.zeros(len(places), dtype=bool)
        for limits in (block.limits, *self.limits_within(block)):
            names = block.maker.keys([block.axis.texts[place] for place in places], limits)
            at, known = self._look_up(names)
            known[known] = self._sorted.lost[at[known]]
            found |= known
        return int(found.sum())

    def get(self, key: str) -> RunSummary | None:
        """The run of a key that counts."""
        run = self._run(key)
        if run is None:
            return None
        status = Status.ERROR if run.lost else _ENDS[run.end][0]
        return RunSummary(status, self._texts[run.limits], run.attempt)

    def attempts(self, key: str) -> int:
        """How often a key has run."""
        run = self._run(key)
        return run.last if run else 0

    def _run(self, key: str) -> _Run | None:
        if key in self._recent or not len(self._sorted.digests):
            return self._recent.get(key)
        at, found = self._look_up([key])
        return self._at(at[0]) if found[0] else None

    def _at(self, place: np.intp) -> _Run:
        return _Run(*(column[place].item() for column in self._sorted[1:]))

    def keys(self) -> list[str]:
        """All keys, in order."""
        return [bytes(digest).ljust(32, b"\0").hex() for digest in self._merged().digests]

    def add(self, rows: pa.RecordBatch | pa.Table) -> bool:
        """Add new rows. Returns whether a key has more than one row now."""
        repeats = False
        columns = [rows[name].to_pylist() for name in COLUMNS]
        at, found = self._look_up(columns[0])
        for place, (key, status, limits, attempt, cut) in enumerate(zip(*columns, strict=True)):
            new = _Run(_CODE[status, cut is not None], self._code(limits), attempt, attempt)
            old = self._recent.get(key) or (self._at(at[place]) if found[place] else None)
            if old is not None:
                repeats = True
                last = max(old.last, attempt)
                is_better = _rank(new) >= _rank(old)
                new = (new if is_better else old)._replace(last=last)
            self._recent[key] = new
        if len(self._recent) > _MOST_RECENT:
            self._merged()
        return repeats

    def is_replaced(self, rows: pa.Table) -> NDArray[np.bool_]:
        """Which rows (with ``key`` and ``attempt``) do not count."""
        self._merged()
        at, found = self._look_up(rows["key"].to_pylist())
        replaced = np.zeros(len(at), dtype=bool)
        replaced[found] = rows["attempt"].to_numpy()[found] != self._sorted.attempts[at[found]]
        return replaced

    def answers_to(self, block: Block) -> list[str | None]:
        """For each task of a block the key of the stored row that answers it, or None.

        It is the task's own key, or that of the same task under smaller limits that ended no search
        of that run.
        """
        self._merged()
        keys = block.keys()
        _, finalities = self._ends_of(keys)
        is_answered = finalities > row_precedence.FAILED
        found = [key if done else None for key, done in zip(keys, is_answered, strict=True)]
        for text in sorted(self._texts):  # whatever the order of the parts
            if text != block.limits:
                self._answer_otherwise(block, text, found, finalities)
        return found

    def _answer_otherwise(
        self, block: Block, text: str, found: list[str | None], own: NDArray[np.int64]
    ) -> None:
        """Fill in answers under other limits, for tasks without a final one of their own."""
        stored = self._budgets[self._codes[text]]
        open_ones = np.flatnonzero(own < row_precedence.FINAL)
        if not len(open_ones) or not task_keys.extends(block.solver.limits, stored):
            return
        wanted = block.solver.limits
        good = np.array(
            [not is_cut and task_keys.answers(end, stored, wanted) for end, is_cut in _ENDS]
        )
        texts = block.axis.texts
        others = block.maker.keys([texts[i] for i in open_ones], text)
        ends, finalities = self._ends_of(others)
        better = good[ends] & row_precedence.takes_over(finalities, own[open_ones])
        for i in np.flatnonzero(better):
            found[open_ones[i]] = others[i]
            own[open_ones[i]] = finalities[i]

    def limits_within(self, block: Block) -> list[str]:
        """The other limits (JSON) of stored runs that a task of a block can resume from."""
        return [
            text
            for text, stored in zip(self._texts, self._budgets, strict=True)
            if text != block.limits and task_keys.extends(block.solver.limits, stored)
        ]

    def _ends_of(self, names: Sequence[str]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        """The code of how each key's run ended, and how final that is."""
        at, found = self._look_up(names)
        ends = np.zeros(len(at), np.uint8)
        finalities = np.full(len(at), row_precedence.MISSING)
        ends[found] = self._sorted.ends[at[found]]
        lost = self._sorted.lost[at[found]]
        finalities[found] = np.where(lost, row_precedence.FAILED, _FINALITY[ends[found]])
        return ends, finalities

    def _look_up(self, names: Sequence[str]) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
        """The positions of keys among the sorted ones, and which keys are found."""
        there, digests = self._sorted.digests, _digests(names)
        at = np.searchsorted(there, digests)
        found = np.zeros(len(digests), dtype=bool)
        inside = at < len(there)
        found[inside] = there[at[inside]] == digests[inside]
        return at, found

    def _merged(self) -> _Runs:
        """All runs, sorted, with the new ones merged."""
        if self._recent:
            recent = map(np.array, zip(*self._recent.values(), strict=True))
            new: list[NDArray[Any]] = [_digests([*self._recent]), *recent]
            known: list[Any] = [*self._sorted]
            both = [
                np.concatenate([old, column.astype(old.dtype)])
                for old, column in zip(known, new, strict=True)
            ]
            self._sorted = _best(_Runs(*both))
            self._recent = {}
        return self._sorted

    def _columns(self, rows: pa.Table) -> _Runs:
        parts = [_digests(chunk.to_pylist()) for chunk in rows["key"].chunks]
        attempts = rows["attempt"].to_numpy().astype(np.int32)
        return _Runs(
            np.concatenate([np.zeros(0, _DIGEST), *parts]),
            _coded_ends(rows).astype(np.uint8),
            _coded(rows["limits"], self._code),
            attempts,
            attempts,
            np.zeros(len(rows), dtype=bool),
        )

    def _code(self, limits: str) -> int:
        """The code of limits (JSON)."""
        if limits not in self._codes:
            self._codes[limits] = len(self._texts)
            self._texts.append(limits)
            self._budgets.append(json.loads(limits))
        return self._codes[limits]


def _rank(run: _Run) -> tuple[int, int]:
    """The run of a key with the highest rank counts."""
    return int(_FINALITY[run.end]), run.attempt


def _best(runs: _Runs) -> _Runs:
    """The run of each key that counts, sorted by key."""
    order = row_precedence.runs_in_order(runs.digests, _FINALITY[runs.ends], runs.attempts)
    ordered = runs.digests[order]
    ends = np.ones(len(order), dtype=bool)
    ends[:-1] = ordered[1:] != ordered[:-1]
    starts = np.flatnonzero(np.roll(ends, 1))
    last = np.maximum.reduceat(runs.last[order], starts) if len(order) else runs.last
    kept: list[Any] = [column[order[ends]] for column in runs]
    return _Runs(*kept)._replace(last=last)


def _coded_ends(rows: pa.Table) -> NDArray[np.int32]:
    """The codes of how runs ended."""
    plain = _coded(rows["status"], lambda status: _CODE[status, False])
    is_cut = pc.is_valid(rows["path_cut_by"]).to_numpy()
    return np.asarray(plain + len(Status) * is_cut, np.int32)


def _coded(column: pa.ChunkedArray, code: Callable[[str], int]) -> NDArray[np.int32]:
    """Codes for the few different texts of a column."""
    encoded = column.dictionary_encode().unify_dictionaries()
    if not encoded.num_chunks or not len(encoded):
        return np.zeros(0, np.int32)
    codes = np.array([code(text) for text in encoded.chunk(0).dictionary.to_pylist()], np.int32)
    parts = [chunk.indices.to_numpy(zero_copy_only=False) for chunk in encoded.chunks]
    return np.asarray(codes[np.concatenate(parts)])


def _digests(names: Sequence[str]) -> NDArray[np.bytes_]:
    """Keys as their 32 bytes."""
    return np.frombuffer(bytes.fromhex("".join(names)), dtype=_DIGEST)
