"""Tests of sweep/clusters/liveness.py, with a client that only pretends."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from distributed.core import Status

from solver.errors import InputError
from sweep.clusters import Address, Local, liveness
from sweep.clusters.liveness import ClusterWatch
from sweep.events import Silent
from tests.helpers.dask_processes import Notes


class Pretender:
    """A client and its cluster, as far as a watch needs them."""

    def __init__(self) -> None:
        self.status = "running"
        self.scheduler_comm = object()
        self.cluster: Any = self
        self.scaled: list[int] = []
        self.there: dict[str, Any] | None = {}
        self.hidden = 0  # how many answers to come are without the workers
        self.asked: list[tuple[Any, ...]] = []
        self.workers = {
            name: SimpleNamespace(status=status)
            for name, status in enumerate((Status.running, Status.failed, Status.closed))
        }

    def scale(self, workers: int) -> None:
        self.scaled.append(workers)

    def scheduler_info(self, n_workers: int) -> dict[str, Any]:
        if self.there is None:
            return {}
        self.hidden -= 1
        return {"workers": {} if self.hidden >= 0 else self.there, "n_workers": len(self.there)}

    def retire_workers(self, addresses: list[str], **options: bool) -> None:
        self.asked.append((*addresses, options))

    def processing(self, workers: list[str]) -> dict[str, list[str]]:
        return {address: [f"step at {address}"] for address in workers}


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [0.0]
    monkeypatch.setattr(liveness.time, "monotonic", lambda: now[0])
    return now


def test_nobody_is_waited_for_without_end(clock: list[float]) -> None:
    client = Pretender()
    client.cluster = None
    config = Address(kind="address", address="tcp://a:1", insecure=True, worker_timeout=10)
    watching = ClusterWatch(client, config, Silent())  # type: ignore[arg-type]
    for seconds, workers in [(0, 0), (9, 0), (10, 1), (11, 0), (20, 0)]:
        clock[0] = seconds
        watching.check(workers, 9)
    clock[0] = 22
    with pytest.raises(InputError, match="has had no worker for 10 s; start workers and resume"):
        watching.check(0, 9)


def test_lost_workers_of_a_local_cluster_are_replaced(clock: list[float]) -> None:
    client = Pretender()
    watching = ClusterWatch(client, Local(workers=2), Silent())  # type: ignore[arg-type]
    for seconds, workers in [(1, 0), (6, 1), (7, 1), (12, 1), (18, 2)]:
        clock[0] = seconds
        watching.check(workers, 9)
    assert client.scaled == [2, 2]
    assert [*client.workers] == [0]  # the nannies that have given up


@pytest.mark.parametrize("hidden", [0, 1, 1000])
def test_an_answer_without_the_workers_does_not_mean_that_there_are_none(hidden: int) -> None:
    """The client's own question comes between: it does not ask for workers."""
    client, notes = Pretender(), Notes()
    watching = ClusterWatch(client, Local(workers=2), notes)  # type: ignore[arg-type]
    client.there = {a: {"nthreads": 1, "metrics": {"memory": 5}} for a in "ab"}
    watching.look(None)
    client.hidden = hidden
    watching.look(None)
    watching.check(watching.n_willing, 9)
    assert (watching.n_workers, watching.threads, watching.memory) == (2, 2, 10)
    assert not notes.lines


def test_nobody_ends_a_local_worker_that_is_slow_to_start_or_to_answer() -> None:
    settings = Local().settings()
    # Only one that sends no heartbeat for minutes: it hangs with the interpreter's lock held.
    assert settings["distributed.scheduler.worker-ttl"] == "5 minutes"
    assert settings["distributed.deploy.lost-worker-timeout"] == "365d"
    name = "distributed.deploy.lost-worker-timeout"
    assert Local(dask={name: "9s"}).settings()[name] == "9s"


def test_a_lost_scheduler_is_told() -> None:
    client = Pretender()
    client.status = "closed"
    with pytest.raises(InputError, match="connection to the Dask scheduler is lost"):
        ClusterWatch(client, Local(), Silent()).check(1, 9)  # type: ignore[arg-type]


@pytest.fixture
def three(monkeypatch: pytest.MonkeyPatch) -> tuple[Pretender, Notes, ClusterWatch]:
    """A cluster of three workers, and what is told of them."""
    monkeypatch.setattr(liveness, "start", lambda call, *words, **options: call(*words, **options))
    client, notes = Pretender(), Notes()
    client.there = {a: {"nthreads": 1, "metrics": {"memory": 5}} for a in "abc"}
    config = Address(kind="address", address="tcp://a:1", insecure=True)
    return client, notes, ClusterWatch(client, config, notes)  # type: ignore[arg-type]


def test_it_knows_the_workers_as_long_as_the_scheduler_answers(three: Any) -> None:
    client, _, watch = three
    for there in (client.there, None):
        client.there = there
        assert watch.look(needed=()) == set()
        assert (watch.n_workers, watch.n_willing, watch.threads, watch.memory) == (3, 3, 3, 15)


def test_a_worker_that_leaves_is_retired_when_nothing_of_it_is_needed(three: Any) -> None:
    client, notes, watch = three
    for _ in range(2):
        watch.hear({"kind": "leaving", "worker": "b"})
    assert notes.lines == ["worker b leaves, its time is over"]
    for needed in (None, {"b"}):
        watch.look(needed)
        assert client.asked == []
    for _ in range(2):
        watch.look({"a"})
        assert client.asked == [("b", {})]
    watch.hear({"action": "retire-workers", "could-not-retire": ["b"]})
    watch.look({"a"})
    assert client.asked == 2 * [("b", {})]


def test_the_last_workers_are_not_retired(three: Any) -> None:
    client, _, watch = three
    for address in client.there:
        watch.hear({"kind": "leaving", "worker": address})
    watch.look(())
    assert client.asked == []


def test_a_worker_of_another_version_gets_no_work(three: Any) -> None:
    client, notes, watch = three
    for _ in range(2):
        watch.hear({"kind": "refused", "worker": "b", "fingerprint": {"numba": "0.1"}})
    assert client.asked == [("b", {"close_workers": False, "remove": False})]
    (note,) = notes.lines
    assert note.startswith("worker b has another version: ")
    assert watch.look(()) == {"step at b"}  # given to it just before it refused
    assert (watch.n_workers, watch.n_willing) == (3, 2)
    del client.there["b"]
    assert watch.look(()) == set()
    assert (watch.n_workers, watch.n_willing) == (2, 2)
