"""Tests of sweep/clusters/worker_retirement.py, with a worker that only pretends."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from sweep.clusters.worker_retirement import RETIRE_AT, RetireInTime
from sweep.worker import stop_requests


class Pretender:
    """A worker, as far as the plugin needs one; it is its own clock too."""

    address = "tcp://a:1"

    def __init__(self) -> None:
        self.io_loop = self
        self.calls: list[tuple[float, Callable[[], None]]] = []
        self.events: list[tuple[str, dict[str, Any]]] = []

    def call_later(self, delay: float, function: Any, *arguments: Any) -> None:
        self.calls.append((delay, lambda: function(*arguments)))

    def log_event(self, topic: str, message: dict[str, Any]) -> None:
        self.events.append((topic, message))


@pytest.fixture
def leaving(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    event = threading.Event()
    monkeypatch.setattr(stop_requests, "_leaving", event)
    return event


def test_a_worker_leaves_in_time(leaving: threading.Event, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(RETIRE_AT, str(int(time.time()) + 100))
    worker = Pretender()
    RetireInTime(stagger=30).setup(worker)  # type: ignore[arg-type]
    ((delay, leave),) = worker.calls
    assert 68 <= delay <= 100
    assert not stop_requests.is_stopped("any run")
    leave()
    assert worker.events == [("all", {"kind": "leaving", "worker": "tcp://a:1"})]
    assert stop_requests.is_stopped("any run")


def test_a_worker_that_is_started_too_late_leaves_at_once(
    leaving: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(RETIRE_AT, str(int(time.time()) - 5))
    worker = Pretender()
    RetireInTime(stagger=30).setup(worker)  # type: ignore[arg-type]
    assert [delay for delay, _ in worker.calls] == [0.0]


@pytest.mark.parametrize("value", [None, "soon"])
def test_elsewhere_workers_stay(value: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(RETIRE_AT, raising=False)
    if value is not None:
        monkeypatch.setenv(RETIRE_AT, value)
    worker = Pretender()
    RetireInTime(stagger=30).setup(worker)  # type: ignore[arg-type]
    assert worker.calls == []
