"""Who is blamed for a worker's death, and what becomes of the others."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

from sweep.backlog import Backlog
from sweep.blackbox import Record
from sweep.casualties import Casualties
from sweep.plan import Plan, Task, make_plan
from sweep.seats import Bundle, Seat
from sweep.spec import parse_spec

SPEC = """
name: casualties
datasets: [monks-1, monks-2]
encodings: [onehot]
lambdas: {from: 0.5, to: 0.1, count: 6}
solvers: [branches]
limits: {seconds: 5, memory: 1GiB}
"""


class Witness:
    """A client that calls a function on a worker; the worker says what it has been told."""

    def __init__(self, record: Record | None) -> None:
        self.record = record

    def run(self, function: Any, *arguments: Any, workers: list[str]) -> dict[str, Any]:
        return {workers[0]: self.record}


@pytest.fixture(scope="module")
def plan() -> Plan:
    return make_plan(parse_spec(SPEC))


def case(plan: Plan, record: Record | None = None) -> tuple[Casualties, Backlog, list[Task]]:
    backlog = Backlog(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))
    unknown: list[Task] = []
    client: Any = Witness(record)
    return Casualties(client, "run", plan, backlog, unknown.append), backlog, unknown


def seat(*bundles: Bundle, reserved: Task | None = None) -> Seat:
    futures: list[Any] = [object() for _ in bundles]
    return Seat("tcp://a:1", "a", dict(zip(futures, bundles, strict=True)), reserved=reserved)


def bundle(plan: Plan, number: int, *tasks: int, alone: bool = False) -> Bundle:
    chosen = [plan.task(i) for i in tasks]
    return Bundle(number, chosen[0].node, chosen, alone)


def verdicts(found: Casualties, workers: dict[str, str]) -> None:
    for _ in range(100):
        assert found.judge(workers) == []
        if found.suspects:
            return
        time.sleep(0.02)
    raise AssertionError("nobody is suspected")


def test_the_one_it_was_at_is_suspected_and_the_others_wait_again(plan: Plan) -> None:
    found, backlog, unknown = case(plan, Record(8, 1))
    assert found.lost(seat(bundle(plan, 8, 0, 1, 2), bundle(plan, 9, 7, 8))) == []
    assert (found.n_tasks, len(backlog), bool(found)) == (5, 0, False)
    assert found.judge({}) == []  # there is nobody to ask
    verdicts(found, {"a": "tcp://a:2"})
    assert [task.number for task in found.suspects] == [1]
    assert (found.n_tasks, len(backlog), unknown) == (1, 4, [])
    assert found.deaths(plan.task(1)) == 1
    assert found.deaths(plan.task(0)) == 0


def test_a_machine_that_is_gone_tells_nothing(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sweep.inquests.PATIENCE", 0.0)
    found, backlog, unknown = case(plan)
    found.lost(seat(bundle(plan, 8, 3, 4)))
    time.sleep(0.01)
    verdicts(found, {})
    assert [task.number for task in found.suspects] == [3] == [task.number for task in unknown]
    assert len(backlog) == 1


def test_one_that_was_alone_is_the_culprit(plan: Plan) -> None:
    found, backlog, _ = case(plan)
    (death,) = found.lost(seat(bundle(plan, 8, 2, alone=True)))
    assert death.task.number == 2
    assert "again with this task alone" in death.error
    assert (found.n_tasks, len(backlog)) == (0, 0)


@pytest.mark.parametrize(
    "tell, words",
    [
        (lambda c, key: c.ran_late(key, 61.0), "it ran 61 s, its limit is 5 s"),
        (lambda c, key: c.used_memory(key, 3 * 2**30), "it used 3,072 MiB of memory"),
    ],
)
def test_what_is_known_of_a_death_is_said(plan: Plan, tell: Any, words: str) -> None:
    found, _, _ = case(plan)
    task = plan.task(4)
    tell(found, task.key)
    (death,) = found.lost(seat(bundle(plan, 8, 4, alone=True)))
    assert words in death.error


def test_one_that_took_too_long_needs_no_second_death(plan: Plan) -> None:
    found, backlog, _ = case(plan)
    found.ran_late(plan.task(4).key, 61.0)
    (death,) = found.lost(seat(bundle(plan, 8, 3, 4, 5)))
    assert death.task.number == 4
    assert len(backlog) == 2


def test_data_that_kill_twice_take_their_tasks_along_and_no_others(plan: Plan) -> None:
    found, backlog, _ = case(plan)
    backlog.give_back(0, [1, 2])
    backlog.give_back(1, [6])
    assert found.lost(seat(reserved=plan.task(0))) == []
    assert [task.number for task in found.suspects] == [0]
    found.suspects.popleft()
    found.suspects.append(plan.task(3))
    deaths = found.lost(seat(reserved=plan.task(0)))
    assert sorted(death.task.number for death in deaths) == [0, 1, 2, 3]
    assert all("while its dataset was read" in death.error for death in deaths)
    assert len(backlog) == 1
    assert not found.suspects
