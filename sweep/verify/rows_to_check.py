"""Read many rows for a check: in batches, in a good order, or a sample; and show the progress."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sweep.store.part_files import Parts
from sweep.store.row_precedence import called_today

_AT_ONCE = 2000
"""Rows that are converted to dicts at a time."""

_ORDER = ("data_hash", "repeat", "fold", "encoding")
"""In this order, rows of the same table and fold are together."""

EVERY = 10.0
"""Seconds between two messages."""


def sampled_rows(
    parts: Parts, tasks: pa.Table, sample: int | None = None
) -> Iterator[dict[str, Any]]:
    """The rows of a store, or about ``sample`` of them, with the names of today's ``tasks``.

    Keys, which are evenly distributed, decide which rows are in a sample. See
    :func:`sweep.store.row_precedence.called_today`.
    """
    share = 1.0
    if sample is not None:
        share = sample / max(len(parts.read(["attempt"])), 1)
    for part in parts.tables():
        chosen = part if share >= 1 else part.filter(pa.array(_below(part["key"], share)))
        chosen = called_today(chosen.sort_by([(name, "ascending") for name in _ORDER]), tasks)
        for batch in chosen.to_batches(max_chunksize=_AT_ONCE):
            yield from batch.to_pylist()


def _below(keys: pa.ChunkedArray, share: float) -> NDArray[np.bool_]:
    """Whether keys, as numbers, are in the first share of all keys."""
    limit = int(share * 16**8)
    found = [not _is_key(key) or int(key[:8], 16) < limit for key in keys.to_pylist()]
    return np.array(found, dtype=bool)


def _is_key(key: str | None) -> bool:
    """Whether it starts like a key. All other rows are in the sample."""
    return key is not None and len(key) >= 8 and set(key[:8]) <= set("0123456789abcdef")


class Ticker:
    """Sends a message every :data:`EVERY` seconds."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self._last = time.monotonic()

    def tick(self, text: str) -> None:
        """Send a message if the last one is old enough."""
        if time.monotonic() - self._last >= EVERY:
            self._tell(text)
            self._last = time.monotonic()

    @contextmanager
    def during(self, text: str) -> Iterator[None]:
        """Send a message, then the time that the work has taken so far."""
        self._tell(text)
        began, ended = time.monotonic(), threading.Event()

        def follow() -> None:
            while not ended.wait(EVERY):
                self._tell(f"{text}: {time.monotonic() - began:.0f} s so far")

        thread = threading.Thread(target=follow, daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()
            self._last = time.monotonic()
