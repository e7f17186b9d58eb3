"""Who is blamed for a worker's death, and what becomes of the others."""

from __future__ import annotations

from typing import Any

import pytest

from sweep.graph import failure_attribution as module
from sweep.graph.failure_attribution import MOST_SPARED, Case, Failures
from sweep.plan.plan import Plan, Task, make_plan
from sweep.spec.spec import parse_spec
from sweep.worker.dask_steps import AT, NOTHING
from sweep.worker.exit_reasons import ENDED, GUARDED
from sweep.worker.worker_watchdogs import TIME_EXIT

REMOVED = {"action": "remove-worker", "expected": False}

SPEC = """
name: failures
datasets: [monks-1, monks-2]
encodings: [onehot]
lambdas: {from: 0.5, to: 0.1, count: 6}
solvers: [branches]
limits: {seconds: 5, memory: 1GiB}
"""


@pytest.fixture(scope="module")
def plan() -> Plan:
    return make_plan(parse_spec(SPEC))


def numbers(tasks: list[Task]) -> list[int]:
    return [task.number for task in tasks]


def at(found: Failures, worker: str, key: str | None) -> None:
    """A worker tells what it is at."""
    found.hear({"kind": AT, "worker": worker, "key": key})


def ends(found: Failures, worker: str, code: int | None = -9) -> None:
    """The nanny of a worker tells how it ended."""
    found.hear({"kind": ENDED, "worker": worker, "code": code})


def guarded(found: Failures, worker: str, task: Task, why: str, is_final: bool) -> None:
    """A worker tells that a guard ends it."""
    told = {"task": task.key, "why": why, "is_final": is_final}
    found.hear({"kind": GUARDED, "worker": worker, **told})


def spared(found: Failures) -> list[int]:
    """The tasks that wait again."""
    tasks, found.spared = found.spared, []
    return numbers(tasks)


def dies(
    found: Failures, worker: str, tasks: list[Task], code: int | None = -9, alone: bool = True
) -> list[Case]:
    """A worker dies in a batch."""
    key = f"solve-{worker}"
    at(found, worker, key)
    ends(found, worker, code)
    found.killed(tasks, alone, key, worker)
    return [*found.judge()]


def test_the_batch_that_ran_is_suspected_and_the_others_wait_again(plan: Plan) -> None:
    found, (one, two, three) = Failures([]), plan.tasks_of([0, 1, 2])
    at(found, "a", "solve-1")
    found.killed([one, two], False, "solve-1", "a")
    assert spared(found) == []
    found.killed([three], False, "solve-2", "a")
    assert spared(found) == [2]
    assert [numbers(tasks) for tasks in found.again] == [[0, 1]]
    assert (found.n_tasks, found.deaths(one), found.deaths(three)) == (2, 1, 0)


def test_suspects_that_have_not_run_stay_suspects(plan: Plan) -> None:
    found, (one, two) = Failures([]), plan.tasks_of([0, 1])
    at(found, "a", "solve-1")
    found.killed([one], True, "solve-2", "a")
    found.wait_again([two], True)
    assert [numbers(tasks) for tasks in found.again] == [[0], [1]]
    assert (spared(found), found.deaths(one)) == ([], 0)


def test_a_batch_is_suspected_if_nothing_was_heard(plan: Plan) -> None:
    found = Failures([])
    found.killed([plan.task(0)], False, "solve-1", "a")
    assert [numbers(tasks) for tasks in found.again] == [[0]]
    at(found, "b", "solve-2")
    at(found, "b", None)  # what ran before has ended well
    found.killed([plan.task(1)], False, "solve-3", "b")
    assert [numbers(tasks) for tasks in found.again] == [[0], [1]]


def test_a_worker_that_hands_steps_back_dies_of_none(plan: Plan) -> None:
    found, task = Failures([]), plan.task(0)
    for key in ("solve-1", None, NOTHING):
        at(found, "a", key)
    found.killed([task], False, "solve-2", "a")
    assert spared(found) == [0]
    assert (found.n_tasks, found.deaths(task)) == (0, 0)
    assert found.workers_of({"solve-1", "solve-2"}) == set()


def test_one_that_was_alone_and_not_heard_of_is_not_blamed(plan: Plan) -> None:
    found, task = Failures([]), plan.task(2)
    dies(found, "a", [task], alone=False)
    found.again.clear()
    ends(found, "b")
    found.killed([task], True, "solve-b", "b")
    assert [*found.judge()] == []
    assert [numbers(tasks) for tasks in found.again] == [[2]]


def test_the_row_says_how_both_workers_ended(plan: Plan) -> None:
    found, task = Failures([]), plan.task(2)
    assert dies(found, "a", [task], alone=False) == []
    (death,) = dies(found, "b", [task], code=-11)
    assert death.tasks == [task]
    assert death.error == (
        "killed: the worker was killed by signal 9 (SIGKILL); then, again with this task alone, it "
        "was killed by signal 11 (SIGSEGV)"
    )
    assert found.deaths(task) == 2


def test_the_word_of_the_nanny_is_waited_for_but_not_for_ever(
    plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    found, task = Failures([]), plan.task(2)
    dies(found, "a", [task], alone=False)
    found.again.clear()
    found.hear({**REMOVED, "worker": "b", "stimulus_id": "handle-worker-cleanup-1.5"})
    assert dies(found, "b", [task], code=None) == []
    assert found.n_tasks == 1
    monkeypatch.setattr(module, "EXIT_PATIENCE", -1.0)
    (death,) = found.judge()
    assert death.tasks == [task]
    assert "the scheduler lost the connection to it" in death.error
    assert "how its process ended is not known" in death.error
    assert "worker b is gone" in found.notes[-1]


@pytest.mark.parametrize("code", [0, -15, 255])
def test_no_task_is_blamed_for_a_worker_that_was_asked_to_end(plan: Plan, code: int) -> None:
    found, task = Failures([]), plan.task(2)
    for number in range(MOST_SPARED):
        assert dies(found, f"a{number}", [task], code) == []
        assert numbers(found.again.popleft()) == [2]
        assert found.deaths(task) == 0
    # One that is there each time may be why.
    assert dies(found, "b", [task], code) == []
    (death,) = dies(found, "c", [task], code)
    assert death.tasks == [task]


@pytest.mark.parametrize("code", [-9, -11, 1, 70])
def test_a_worker_that_was_not_well_is_no_accident(plan: Plan, code: int) -> None:
    found = Failures([])
    dies(found, "a", [plan.task(2)], code, alone=False)
    assert dies(found, "b", [plan.task(2)], code)


@pytest.mark.parametrize(
    "event, words",
    [
        ({"worker": "b", "rss": 2**30}, "it used 1,024 MiB, near the worker's memory_limit"),
        ({"action": "worker-ttl-timed-out", "workers": ["b"]}, "it sent no heartbeat"),
    ],
)
def test_a_worker_that_dask_ended_is_no_accident(
    plan: Plan, event: dict[str, Any], words: str
) -> None:
    found, task = Failures([]), plan.task(2)
    dies(found, "a", [task], alone=False)
    found.hear(event)
    (death,) = dies(found, "b", [task], -15)
    assert words in death.error


def test_a_task_that_took_too_much_memory_says_so(plan: Plan) -> None:
    found, (one, two) = Failures([]), plan.tasks_of([3, 4])
    why = "it used 3 MiB of memory and the memory limit is 1 MiB"
    guarded(found, "a", two, why, is_final=False)
    at(found, "a", "solve-a")
    found.killed([one, two], False, "solve-a", "a")
    assert spared(found) == [3]
    assert [numbers(tasks) for tasks in found.again] == [[4]]
    (death,) = dies(found, "b", [two])
    assert death.error == f"killed: {why}"


def test_one_that_took_too_long_needs_no_second_death(plan: Plan) -> None:
    found, (one, two, three) = Failures([]), plan.tasks_of([3, 4, 5])
    guarded(found, "a", two, "it ran 61 s, its limit is 5 s", is_final=True)
    found.killed([one, two, three], False, "solve-a", "a")
    (death,) = found.judge()
    assert (spared(found), death.tasks) == ([3, 5], [two])
    assert death.error == "killed: it ran 61 s, its limit is 5 s"
    assert not found.again


def test_one_whose_guard_was_not_heard_is_run_again(plan: Plan) -> None:
    found, task = Failures([]), plan.task(4)
    dies(found, "a", [task], TIME_EXIT, alone=False)
    (death,) = dies(found, "b", [task], TIME_EXIT)
    assert "treesweep's guard of time" in death.error


def test_data_that_kill_twice_take_their_tasks_along(plan: Plan) -> None:
    found = Failures([])
    for worker in ("a", "b"):
        assert found.case_of(0) is None
        at(found, worker, f"load-{worker}")
        ends(found, worker, 9)
        assert found.killed_data([0], f"load-{worker}", worker)
        assert found.killed_data([0], f"load-{worker}", worker)  # as another batch tells
        assert not found.killed_data([1], "encode-1", worker)
    case = found.case_of(0)
    assert case is not None
    assert found.case_of(1) is None
    case.tasks += plan.tasks_of([0, 1])
    assert found.n_tasks == 2
    (death,) = found.judge()
    assert numbers(death.tasks) == [0, 1]
    assert "while its dataset was read or encoded, the worker ended with exit code 9" in death.error
    assert found.n_tasks == 0


def test_data_that_others_have_read_since_are_not_blamed() -> None:
    found = Failures([])
    for worker in ("a", "b", "c"):
        at(found, worker, f"load-{worker}")
        ends(found, worker, 9)
        assert found.killed_data([0, 1], f"load-{worker}", worker)
        assert found.case_of(0) is found.case_of(1) is None
        found.data_were_read(1)
    at(found, "d", "load-d")
    ends(found, "d", 9)
    for _ in range(2):  # another batch tells it after a task has run
        assert found.killed_data([0, 1], "load-d", "d")
        assert found.case_of(0) is None
        found.data_were_read(1)
    for worker in ("e", "f"):
        at(found, worker, f"load-{worker}")
        ends(found, worker, 9)
        assert found.killed_data([0, 1], f"load-{worker}", worker)
    case = found.case_of(0)
    assert case is not None
    assert case is found.case_of(1)
    (death,) = found.judge()
    assert death is case
    assert len(death.ends) == 2


def test_data_of_a_worker_that_was_asked_to_end_are_encoded_again(plan: Plan) -> None:
    found = Failures([])
    for worker in ("a", "b"):
        at(found, worker, f"encode-{worker}")
        ends(found, worker, -15)
        found.killed_data([0], f"encode-{worker}", worker)
    case = found.case_of(0)
    assert case is not None
    case.tasks += [plan.task(1)]
    assert [*found.judge()] == []
    assert spared(found) == [1]
    assert found.case_of(0) is None


def test_the_end_of_a_worker_is_told_once() -> None:
    found = Failures([])
    found.hear({**REMOVED, "worker": "a", "stimulus_id": "nanny-close-1"})
    found.hear({**REMOVED, "worker": "b", "stimulus_id": "retire-workers-1", "expected": True})
    assert [*found.judge()] == found.notes == []
    ends(found, "a")
    for _ in range(2):
        assert [*found.judge()] == []
    (note,) = found.notes
    # What becomes of its tasks is not known yet: one of them may be recorded as killed.
    assert note == "worker a is gone: it was killed by signal 9 (SIGKILL)"
