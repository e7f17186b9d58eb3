"""The cells of a batch, and which of them go back."""

from __future__ import annotations

import threading
from typing import Any

from sweep.worker.timed_batch import BatchCells


def cells(number: int) -> list[Any]:
    return [*range(number)]


def test_a_quick_batch_gives_nothing_back() -> None:
    told: list[int] = []
    with BatchCells(cells(5), 3600.0, told.append) as begun:
        assert [*begun] == [0, 1, 2, 3, 4]
    assert not told


def test_what_has_not_begun_goes_back_while_a_cell_takes_long() -> None:
    told, is_told = list[int](), threading.Event()

    def give_back(begun: int) -> None:
        told.append(begun)
        is_told.set()

    solved = []
    with BatchCells(cells(5), 0.01, give_back) as begun:
        for cell in begun:
            solved.append(cell)
            assert is_told.wait(30)  # it takes long
    assert solved == cells(told[0])
    assert 1 <= told[0] < 5
    assert len(told) == 1


def timers() -> set[threading.Thread]:
    return {thread for thread in threading.enumerate() if isinstance(thread, threading.Timer)}


def test_of_one_cell_nothing_is_left_to_go_back() -> None:
    before = timers()
    with BatchCells(cells(1), 60.0, lambda begun: None) as begun:
        assert [*begun] == [0]
        assert timers() <= before
