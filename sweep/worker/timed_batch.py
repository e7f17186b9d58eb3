"""The cells of a batch, one after the other. If one takes long, the rest go back to the driver."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence

from sweep.rows.result_rows import Cell

REST = "rest"
"""The kind of the event that tells how many cells of a batch have begun: no other one will."""


class BatchCells:
    """Gives the cells of a batch until its time is over.

    The driver sizes a batch by what others have taken, and one long search in it would keep the
    cells behind it from workers that are free.

    Parameters
    ----------
    cells : sequence of Cell
    seconds : float
        When the rest is given back.
    give_back : callable
        Told once how many cells have begun, if others are left then; in a thread of its own.
    """

    def __init__(
        self, cells: Sequence[Cell], seconds: float, give_back: Callable[[int], None]
    ) -> None:
        self._cells, self._end, self._begun = cells, len(cells), 0
        self._give_back, self._lock = give_back, threading.Lock()
        self._timer = threading.Timer(seconds, self._close)
        self._timer.daemon = True

    def __enter__(self) -> BatchCells:
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()

    def __iter__(self) -> Iterator[Cell]:
        for number, cell in enumerate(self._cells):
            with self._lock:
                if number == self._end:
                    return
                self._begun = number + 1
            if number == 0 and len(self._cells) > 1:
                self._timer.start()
            yield cell

    def _close(self) -> None:
        with self._lock:
            is_left = self._begun < self._end
            self._end = self._begun
        if is_left:
            self._give_back(self._begun)
