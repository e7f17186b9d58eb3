"""When a worker's work counts as overdue."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import pytest

from sweep.graph import timeouts
from sweep.graph.timeouts import Overdue


class Clock:
    """A monotonic clock that a test sets."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now


class Ender:
    """A client that notes which workers were ended."""

    def __init__(self) -> None:
        self.ended: list[str] = []
        self.told = threading.Event()

    def restart_workers(self, workers: list[str], **terms: Any) -> None:
        self.ended += workers
        self.told.set()


def a_task(seconds: float | None, proof: bool = False) -> Any:
    options = {"proof": True} if proof else {}
    limits = {} if seconds is None else {"seconds": seconds}
    return SimpleNamespace(solver=SimpleNamespace(limits=limits, options=options))


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(timeouts, "time", found)
    return found


def look(monitor: Overdue, clock: Clock, until: int, work: str, *tasks: Any) -> float | None:
    """Look once a second until something is overdue."""
    while clock.now < until:
        clock.now += 1
        ran = monitor.check("a", work, tasks)
        if ran is not None:
            return ran
    return None


def test_work_is_overdue_after_its_longest_limit_and_the_grace(clock: Clock) -> None:
    client = Ender()
    monitor = Overdue(client, grace=30)  # type: ignore[arg-type]
    assert look(monitor, clock, 1000, "one", a_task(10), a_task(20)) == 91
    assert client.told.wait(5)
    assert client.ended == ["a"]
    assert look(monitor, clock, 1000, "one", a_task(10), a_task(20)) is None  # it is ended once
    assert client.ended == ["a"]


def test_each_piece_of_work_has_its_own_time(clock: Clock) -> None:
    client = Ender()
    monitor = Overdue(client, grace=30)  # type: ignore[arg-type]
    for number in range(20):
        assert look(monitor, clock, 60 * (number + 1), str(number), a_task(20)) is None
    monitor.forget("a")
    assert look(monitor, clock, 60 * 20 + 80, "19", a_task(20)) is None
    assert not client.ended


def test_without_a_limit_and_with_certificates_nothing_is_overdue(clock: Clock) -> None:
    client = Ender()
    monitor = Overdue(client, grace=30)  # type: ignore[arg-type]
    assert look(monitor, clock, 1000, "one", a_task(1), a_task(None)) is None
    assert look(monitor, clock, 2000, "two", a_task(1), a_task(1, proof=True)) is None
    assert not client.ended


def test_the_time_in_which_the_driver_was_stopped_does_not_count(clock: Clock) -> None:
    client = Ender()
    monitor = Overdue(client, grace=30)  # type: ignore[arg-type]
    assert look(monitor, clock, 10, "one", a_task(20)) is None
    clock.now += 3600
    assert look(monitor, clock, 3670, "one", a_task(20)) is None
    assert look(monitor, clock, 4000, "one", a_task(20)) is not None
