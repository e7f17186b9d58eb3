"""What becomes of tasks whose worker leaves because its time is over."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

from solver.solution import Status
from sweep.graph.backlog import Backlog
from sweep.graph.retirement import MOST_SPARED, Leavers
from sweep.graph.worker_slots import Bundle, Seat
from sweep.plan.plan import Plan, make_plan
from sweep.rows.rows import Finished, as_finished
from sweep.spec.spec import parse_spec

SPEC = """
name: leaving
datasets: [monks-1]
encodings: [onehot]
lambdas: [0.4, 0.3, 0.2]
solvers: [cart]
"""


class Retirer:
    """A client that is asked to end workers."""

    def __init__(self) -> None:
        self.retired: list[str] = []

    def retire_workers(self, addresses: list[str]) -> None:
        self.retired += addresses


@pytest.fixture(scope="module")
def plan() -> Plan:
    return make_plan(parse_spec(SPEC))


def case() -> tuple[Leavers, Backlog, Retirer]:
    client: Any = Retirer()
    backlog = Backlog(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))
    return Leavers(client, backlog), backlog, client


def seat(plan: Plan, *tasks: int, leaving: bool = True) -> Seat:
    future: Any = object()
    chosen = [plan.task(i) for i in tasks]
    bundles = {future: Bundle(1, plan.nodes[0], chosen, alone=False)} if tasks else {}
    return Seat("tcp://a:1", "a", bundles, leaving=leaving)


@pytest.fixture(scope="module")
def finished(plan: Plan, rowmaker: Any) -> Finished:
    """Two tasks of three, the second of them stopped."""
    rows = [dict(row) for row in rowmaker.make_rows(parse_spec(SPEC))[:2]]
    rows[1]["status"] = Status.STOPPED.value
    return as_finished(rows)


def test_what_was_stopped_waits_for_its_state_and_goes_on(plan: Plan, finished: Finished) -> None:
    leavers, backlog, _ = case()
    assert not leavers
    leavers.see([plan.task(i) for i in range(3)], finished)
    assert (leavers.n_tasks, len(backlog), bool(leavers)) == (1, 0, True)
    leavers.release([], coming=1)
    assert (leavers.n_tasks, len(backlog)) == (1, 0)
    leavers.release([], coming=0)
    assert (leavers.n_tasks, len(backlog)) == (0, 1)
    assert backlog.take([], [], 5) == [plan.task(1).number]


def test_what_ended_by_itself_does_not_run_again(plan: Plan, rowmaker: Any) -> None:
    leavers, backlog, _ = case()
    rows = rowmaker.make_rows(parse_spec(SPEC))
    leavers.see([plan.task(i) for i in range(3)], as_finished(rows))
    leavers.release([], coming=0)
    assert (leavers.n_tasks, len(backlog), bool(leavers)) == (0, 0, False)


def test_a_worker_is_ended_once_when_nothing_of_it_is_needed(plan: Plan) -> None:
    leavers, _, client = case()
    busy, idle, staying = seat(plan, 0), seat(plan), seat(plan, leaving=False)
    leavers.release([busy, staying], coming=0)
    leavers.release([idle], coming=1)
    assert client.retired == []
    leavers.release([idle], coming=0)
    leavers.release([idle], coming=0)
    deadline = time.monotonic() + 5
    while not client.retired and time.monotonic() < deadline:
        time.sleep(0.01)
    assert client.retired == ["tcp://a:1"]


def test_to_be_at_work_when_time_is_over_is_no_fault_at_first(plan: Plan) -> None:
    leavers, backlog, _ = case()
    assert not leavers.spares(seat(plan, 0, leaving=False))
    for n in range(MOST_SPARED):
        assert leavers.spares(seat(plan, 0, 1))
        assert len(backlog) == 2
        assert sorted(backlog.take([], [], 5)) == [0, 1], n
    assert not leavers.spares(seat(plan, 0, 1))
    assert len(backlog) == 0


def test_of_two_shards_of_a_task_only_the_one_that_was_stopped_waits(
    plan: Plan, finished: Finished
) -> None:
    leavers, backlog, _ = case()
    shards = [plan.task(i)._replace(key="the same") for i in range(3)]
    leavers.see(shards, finished)
    leavers.release([], coming=0)
    assert backlog.take([], [], 5) == [1]
