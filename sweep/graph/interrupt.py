"""Ctrl-C once: come to an end. Twice: leave."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from types import FrameType

EXIT_CODE = 130


class Interrupts:
    """While this is open, SIGINT and SIGTERM set ``requested``; a second one ends the process.

    The store stays intact when the process ends, since files are written beside and renamed.

    Parameters
    ----------
    last_words : callable
        Called before the process ends, e.g. to put a terminal right.
    """

    def __init__(self, last_words: Callable[[], None] = lambda: None) -> None:
        self.requested = False
        self._last_words = last_words
        self._before: dict[int, object] = {}

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.requested:
            try:
                self._last_words()
            finally:
                os._exit(EXIT_CODE)
        self.requested = True

    def __enter__(self) -> Interrupts:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._before[number] = signal.signal(number, self._handle)
        return self

    def __exit__(self, *_: object) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)  # type: ignore[arg-type]
