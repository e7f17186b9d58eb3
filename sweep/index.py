"""What a store knows of each key: how its latest run ended.

Keys are kept as their 32 bytes, sorted, the rest beside them: a million take 41 MB. Rows that have
just come wait in a dict until they are worth merging.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from solver.solution import Status
from sweep import keys
from sweep.plan import Block

COLUMNS = ("key", "status", "limits", "attempt")
"""The columns of rows that an index is made of."""

_STATUSES = list(Status)
_CODE = {status.value: code for code, status in enumerate(_STATUSES)}
_HAS_TREE = np.array([status.has_tree for status in _STATUSES])
_DIGEST = np.dtype("S32")

_MOST_RECENT = 50_000


class Answer(NamedTuple):
    """What is known of a key: how its latest run ended, under which limits (JSON)."""

    status: Status
    limits: str
    attempt: int


class _Rows(NamedTuple):
    """Keys and, for each, the codes of its status and limits, and the attempt."""

    digests: NDArray[np.bytes_]
    statuses: NDArray[np.uint8]
    limits: NDArray[np.int32]
    attempts: NDArray[np.int32]


class Index:
    """The latest run of each key.

    Parameters
    ----------
    rows : pyarrow.Table
        With :data:`COLUMNS`.
    """

    def __init__(self, rows: pa.Table) -> None:
        self._texts: list[str] = []
        self._budgets: list[dict[str, Any]] = []
        self._codes: dict[str, int] = {}
        self._recent: dict[str, Answer] = {}
        found = self._columns(rows)
        self._sorted = _latest(found, np.lexsort((found.attempts, found.digests)))

    def __len__(self) -> int:
        return len(self._merged().digests)

    def __contains__(self, key: str) -> bool:
        return self.get(key) is not None

    def get(self, key: str) -> Answer | None:
        """What is known of a key."""
        if key in self._recent:
            return self._recent[key]
        table, digest = self._sorted, _digests([key])
        at = int(np.searchsorted(table.digests, digest)[0])
        if at == len(table.digests) or table.digests[at] != digest[0]:
            return None
        status, limits = _STATUSES[table.statuses[at]], self._texts[table.limits[at]]
        return Answer(status, limits, int(table.attempts[at]))

    def attempts(self, key: str) -> int:
        """How often a key has been run before."""
        known = self.get(key)
        return known.attempt if known else 0

    def keys(self) -> list[str]:
        """All keys, in order."""
        return [bytes(digest).ljust(32, b"\0").hex() for digest in self._merged().digests]

    def add(self, rows: pa.RecordBatch | pa.Table) -> bool:
        """Take rows that have come; says whether one of them replaces another."""
        names = rows["key"].to_pylist()
        _, found = self._find(_digests(names))
        replaces = bool(found.any()) or any(name in self._recent for name in names)
        others = (rows[name].to_pylist() for name in COLUMNS[1:])
        for key, status, limits, attempt in zip(names, *others, strict=True):
            self._recent[key] = Answer(Status(status), self._texts[self._code(limits)], attempt)
        if len(self._recent) > _MOST_RECENT:
            self._merged()
        return replaces

    def is_replaced(self, rows: pa.Table) -> NDArray[np.bool_]:
        """Which of some rows (with ``key`` and ``attempt``) a later attempt has replaced."""
        self._merged()
        _, latest, found = self._look_up(rows["key"].to_pylist())
        return np.asarray(found & (rows["attempt"].to_numpy() < latest))

    def answers_to(self, block: Block) -> list[str | None]:
        """For each task of a block the key of the stored row that answers it, or None.

        It is the task's own, or that of the same task under smaller limits that were not hit.
        """
        self._merged()
        own = block.keys()
        status, _, found = self._look_up(own)
        tree = found & _HAS_TREE[status]
        answers = [key if good else None for key, good in zip(own, tree.tolist(), strict=True)]
        for text in self._texts:
            if found.all():
                break
            if text != block.limits:
                self._answer_otherwise(block, text, answers, found)
        return answers

    def _answer_otherwise(
        self, block: Block, text: str, answers: list[str | None], done: NDArray[np.bool_]
    ) -> None:
        """Fill in the answers that tasks without a row of their own have under other limits."""
        stored = self._budgets[self._codes[text]]
        if not keys.extends(block.solver.limits, stored):
            return
        good = np.array([keys.answers(s, stored, block.solver.limits) for s in _STATUSES])
        open_ones = np.flatnonzero(~done)
        texts = block.axis.texts
        others = block.maker.keys([texts[i] for i in open_ones], text)
        status, _, found = self._look_up(others)
        for i in np.flatnonzero(found & good[status]):
            answers[open_ones[i]] = others[i]
            done[open_ones[i]] = True

    def limits_within(self, block: Block) -> list[str]:
        """The other limits of stored rows whose runs a task of a block can go on from."""
        return [
            text
            for text, stored in zip(self._texts, self._budgets, strict=True)
            if text != block.limits and keys.extends(block.solver.limits, stored)
        ]

    def _look_up(
        self, names: Sequence[str]
    ) -> tuple[NDArray[np.uint8], NDArray[np.int32], NDArray[np.bool_]]:
        """Status and attempt of each key, and whether it is there."""
        at, found = self._find(_digests(names))
        at = np.where(found, at, 0)
        if not len(self._sorted.digests):
            return np.zeros(len(at), np.uint8), np.zeros(len(at), np.int32), found
        return self._sorted.statuses[at], self._sorted.attempts[at], found

    def _find(self, digests: NDArray[np.bytes_]) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
        """Where digests are among the sorted ones, and which are."""
        there = self._sorted.digests
        at = np.searchsorted(there, digests)
        found = np.zeros(len(digests), dtype=bool)
        inside = at < len(there)
        found[inside] = there[at[inside]] == digests[inside]
        return at, found

    def _merged(self) -> _Rows:
        """All that is known, in order."""
        if self._recent:
            recent, old = self._recent, self._sorted
            answers = recent.values()
            new = _Rows(
                _digests([*recent]),
                np.array([_CODE[a.status.value] for a in answers], np.uint8),
                np.array([self._codes[a.limits] for a in answers], np.int32),
                np.array([a.attempt for a in answers], np.int32),
            )
            both = _Rows(*(np.concatenate([a, b]) for a, b in zip(old, new, strict=True)))
            # What has come later counts, whatever its attempt says.
            self._sorted = _latest(both, np.argsort(both.digests, kind="stable"))
            self._recent = {}
        return self._sorted

    def _columns(self, rows: pa.Table) -> _Rows:
        parts = [_digests(chunk.to_pylist()) for chunk in rows["key"].chunks]
        return _Rows(
            np.concatenate([np.zeros(0, _DIGEST), *parts]),
            _coded(rows["status"], _CODE.__getitem__).astype(np.uint8),
            _coded(rows["limits"], self._code),
            rows["attempt"].to_numpy().astype(np.int32),
        )

    def _code(self, limits: str) -> int:
        """The number of a text of limits."""
        if limits not in self._codes:
            self._codes[limits] = len(self._texts)
            self._texts.append(limits)
            self._budgets.append(json.loads(limits))
        return self._codes[limits]


def _latest(rows: _Rows, order: NDArray[np.intp]) -> _Rows:
    """Of the rows of each key, put in an order by key, the last one."""
    ordered = rows.digests[order]
    last = np.ones(len(order), dtype=bool)
    last[:-1] = ordered[1:] != ordered[:-1]
    kept = order[last]
    return _Rows(ordered[last], rows.statuses[kept], rows.limits[kept], rows.attempts[kept])


def _coded(column: pa.ChunkedArray, code: Callable[[str], int]) -> NDArray[np.int32]:
    """Numbers for the few different texts of a column."""
    encoded = column.dictionary_encode().unify_dictionaries()
    if not encoded.num_chunks or not len(encoded):
        return np.zeros(0, np.int32)
    codes = np.array([code(text) for text in encoded.chunk(0).dictionary.to_pylist()], np.int32)
    parts = [chunk.indices.to_numpy(zero_copy_only=False) for chunk in encoded.chunks]
    return np.asarray(codes[np.concatenate(parts)])


def _digests(names: Sequence[str]) -> NDArray[np.bytes_]:
    """Keys as their 32 bytes."""
    return np.frombuffer(bytes.fromhex("".join(names)), dtype=_DIGEST)
