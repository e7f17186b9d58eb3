"""Who is blamed for a worker's death, and what becomes of the others."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

from sweep.graph.backlog import Backlog
from sweep.graph.failures import Casualties, Death
from sweep.graph.retirement import MOST_SPARED
from sweep.graph.worker_slots import Bundle, Seat
from sweep.plan.plan import Plan, Task, make_plan
from sweep.spec.spec import parse_spec
from sweep.worker.current_task import Record
from sweep.worker.process import TIME_EXIT

SPEC = """
name: casualties
datasets: [monks-1, monks-2]
encodings: [onehot]
lambdas: {from: 0.5, to: 0.1, count: 6}
solvers: [branches]
limits: {seconds: 5, memory: 1GiB}
"""


ADDRESS = "tcp://a:1"


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
    found = Casualties(client, "run", plan, backlog, unknown.append, lambda text: None)
    found.end_of(ADDRESS).code = -9
    return found, backlog, unknown


def again(found: Casualties, one: Seat, code: int = -9) -> list[Death]:
    """A worker dies whose end is known, with nothing that only another worker can tell."""
    found.end_of(ADDRESS).code = code
    found.lost(one)
    return found.judge({})


def seat(*bundles: Bundle, reserved: Task | None = None) -> Seat:
    futures: list[Any] = [object() for _ in bundles]
    return Seat(ADDRESS, "a", dict(zip(futures, bundles, strict=True)), reserved=reserved)


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
    found.lost(seat(bundle(plan, 8, 0, 1, 2), bundle(plan, 9, 7, 8)))
    assert (found.n_tasks, len(backlog), bool(found)) == (5, 0, False)
    assert found.judge({}) == []  # there is nobody to ask
    verdicts(found, {"a": "tcp://a:2"})
    assert [task.number for task in found.suspects] == [1]
    assert (found.n_tasks, len(backlog), unknown) == (1, 4, [])
    assert found.deaths(plan.task(1)) == 1
    assert found.deaths(plan.task(0)) == 0


def test_a_machine_that_is_gone_tells_nothing(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sweep.graph.failure_attribution.PATIENCE", 0.0)
    found, backlog, unknown = case(plan)
    found.lost(seat(bundle(plan, 8, 3, 4)))
    time.sleep(0.01)
    verdicts(found, {})
    assert [task.number for task in found.suspects] == [3] == [task.number for task in unknown]
    assert len(backlog) == 1


def test_one_that_was_alone_is_the_culprit(plan: Plan) -> None:
    found, backlog, _ = case(plan)
    (death,) = again(found, seat(bundle(plan, 8, 2, alone=True)))
    assert death.task.number == 2
    assert (found.n_tasks, len(backlog)) == (0, 0)


def test_the_row_says_how_both_workers_ended(plan: Plan) -> None:
    found, _, _ = case(plan, Record(8, 0))
    found.lost(seat(bundle(plan, 8, 2)))
    verdicts(found, {"a": "tcp://a:2"})
    (death,) = again(found, seat(bundle(plan, 8, 2, alone=True)), code=-11)
    assert death.error == (
        "killed: the worker was killed by signal 9 (SIGKILL); then, again with this task alone, it "
        "was killed by signal 11 (SIGSEGV)"
    )


def test_the_word_of_the_nanny_is_waited_for_but_not_for_ever(
    plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    found, _, _ = case(plan)
    one = seat(bundle(plan, 8, 2, alone=True))
    one.address = "tcp://a:3"
    found.end_of(one.address).stimulus = "handle-worker-cleanup-1.5"
    found.lost(one)
    assert found.judge({}) == []
    assert found.n_tasks == 1
    monkeypatch.setattr("sweep.graph.failure_attribution.EXIT_PATIENCE", -1.0)
    (death,) = found.judge({})
    assert "the scheduler lost the connection to it" in death.error
    assert "how its process ended is not known" in death.error


@pytest.mark.parametrize("code", [0, -15, 255])
def test_no_task_is_blamed_for_a_worker_that_was_asked_to_end(plan: Plan, code: int) -> None:
    found, backlog, _ = case(plan, Record(8, 0))
    for _ in range(MOST_SPARED):
        found.end_of(ADDRESS).code = code
        found.lost(seat(bundle(plan, 8, 3, 4), bundle(plan, 9, 2, alone=True)))
        deadline = time.monotonic() + 5
        while not found.suspects and time.monotonic() < deadline:
            assert found.judge({"a": "tcp://a:2"}) == []
        assert [task.number for task in found.suspects] == [2]
        assert sorted(backlog.take([], [], 5)) == [3, 4]
        assert found.deaths(plan.task(2)) == 0
        assert found  # so that the tasks go on from their checkpoints
        found.suspects.clear()
    # One that is there each time may be why.
    (death,) = again(found, seat(bundle(plan, 8, 2, alone=True)), code)
    assert death.task.number == 2


@pytest.mark.parametrize("code", [-9, -11, 1, 70])
def test_a_worker_that_was_not_well_is_no_accident(plan: Plan, code: int) -> None:
    found, _, _ = case(plan)
    assert again(found, seat(bundle(plan, 8, 2, alone=True)), code)


def test_a_worker_that_its_nanny_or_the_driver_ended_is_no_accident(plan: Plan) -> None:
    found, _, _ = case(plan)
    found.end_of(ADDRESS).used = 2**30
    (death,) = again(found, seat(bundle(plan, 8, 2, alone=True)), -15)
    assert "it used 1,024 MiB, near the worker's memory_limit" in death.error
    found.end_of(ADDRESS).forced = "it had been at a task for 99 s"
    (death,) = again(found, seat(bundle(plan, 8, 2, alone=True)), 0)
    assert "was ended: it had been at a task for 99 s" in death.error


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
    (death,) = again(found, seat(bundle(plan, 8, 4, alone=True)))
    assert words in death.error


def test_one_that_took_too_long_needs_no_second_death(plan: Plan) -> None:
    found, backlog, _ = case(plan, Record(8, 1))
    found.ran_late(plan.task(4).key, 61.0)
    (death,) = judged(found, seat(bundle(plan, 8, 3, 4, 5)))
    assert death.task.number == 4
    assert len(backlog) == 2


def test_nor_does_one_whose_guard_was_not_heard(plan: Plan) -> None:
    found, backlog, _ = case(plan, Record(8, 1))
    found.end_of(ADDRESS).code = TIME_EXIT
    (death,) = judged(found, seat(bundle(plan, 8, 3, 4, 5)))
    assert death.task.number == 4
    assert "treesweep's guard of time" in death.error
    assert len(backlog) == 2


def judged(found: Casualties, one: Seat) -> list[Death]:
    found.lost(one)
    for _ in range(250):
        deaths = found.judge({"a": "tcp://a:2"})
        if deaths:
            return deaths
        time.sleep(0.02)
    raise AssertionError("nobody is to blame")


def test_data_that_kill_twice_take_their_tasks_along_and_no_others(plan: Plan) -> None:
    found, backlog, _ = case(plan)
    backlog.give_back(0, [1, 2])
    backlog.give_back(1, [6])
    assert again(found, seat(reserved=plan.task(0))) == []
    assert [task.number for task in found.suspects] == [0]
    found.suspects.popleft()
    found.suspects.append(plan.task(3))
    deaths = again(found, seat(reserved=plan.task(0)))
    assert sorted(death.task.number for death in deaths) == [0, 1, 2, 3]
    assert all("while its dataset was read" in death.error for death in deaths)
    assert all("signal 9 (SIGKILL)" in death.error for death in deaths)
    assert len(backlog) == 1
    assert not found.suspects
