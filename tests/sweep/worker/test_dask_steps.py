"""Tests of sweep/worker/dask_steps.py, outside of a cluster."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from distributed import Reschedule

from solver.errors import InputError
from sweep.datasets import DatasetRef, load_dataset
from sweep.plan.plan import Plan, make_plan
from sweep.plan.software_versions import fingerprint
from sweep.rows.result_rows import Cell
from sweep.spec.spec import parse_spec
from sweep.worker import dask_steps, tasks
from sweep.worker.run_settings import Run

SPEC = """
name: steps
datasets: [monks-1]
encodings: [onehot]
lambdas: [0.1]
solvers: [cart]
"""


@pytest.fixture(scope="module")
def plan() -> Plan:
    return make_plan(parse_spec(SPEC))


class Worker:
    """What a step needs of one."""

    address = "tcp://a:1"

    def __init__(self) -> None:
        self.told: list[dict[str, Any]] = []

    def log_event(self, topic: str, message: dict[str, Any]) -> None:
        assert topic == "run"
        self.told.append(message)

    def get_current_task(self) -> str:
        return "solve-1"


@pytest.fixture
def worker(monkeypatch: pytest.MonkeyPatch) -> Worker:
    found = Worker()
    monkeypatch.setattr(dask_steps, "get_worker", lambda: found)
    monkeypatch.setattr(dask_steps, "_RETRY_SECONDS", 0.0)
    return found


CAR = DatasetRef(name="car")


@pytest.mark.parametrize("suspect", [False, True])
def test_the_driver_hears_what_begins_and_ends(
    worker: Worker, prepared: tasks.Prepared, cells: list[Cell], suspect: bool
) -> None:
    run = Run("run", fingerprint=fingerprint())
    assert dask_steps.solve(run, suspect, prepared, cells).keys == [cell.key for cell in cells]
    at = {"kind": "at", "worker": "tcp://a:1"}
    assert worker.told[0] == {**at, "key": "solve-1"}
    assert worker.told[-1] == {**at, "key": None}


def test_a_worker_of_another_version_does_nothing(worker: Worker) -> None:
    run = Run("run", fingerprint={**fingerprint(), "numba": "0.1"})
    with pytest.raises(Reschedule):
        dask_steps.load(run, False, CAR, load_dataset(CAR).digest, None)
    told, at = worker.told
    assert (told["kind"], told["fingerprint"]) == ("refused", fingerprint())
    assert (at["kind"], at["key"]) == ("at", dask_steps.NOTHING)


@pytest.mark.parametrize("is_over", [False, True])
def test_a_worker_that_leaves_begins_nothing(
    worker: Worker, monkeypatch: pytest.MonkeyPatch, is_over: bool
) -> None:
    monkeypatch.setattr(dask_steps, "is_leaving", lambda: True)
    monkeypatch.setattr(dask_steps, "is_over", lambda run: is_over)
    load: Callable[[], Any] = lambda: dask_steps.load(  # noqa: E731
        Run("run"), False, CAR, load_dataset(CAR).digest, None
    )
    if is_over:  # then it is soon done
        assert load().name == "car"
    else:
        with pytest.raises(Reschedule):
            load()
        assert [told["key"] for told in worker.told] == [dask_steps.NOTHING]


def test_a_dataset_is_read_or_comes_from_the_driver(worker: Worker) -> None:
    dataset, run = load_dataset(CAR), Run("run")
    assert dask_steps.load(run, False, CAR, dataset.digest, None).digest == dataset.digest
    nowhere = DatasetRef(name="none", path="/nowhere.csv", target="y")
    assert dask_steps.load(run, False, nowhere, dataset.digest, dataset) is dataset
    with pytest.raises(InputError, match="it is gone"):
        dask_steps.load(run, False, nowhere, dataset.digest, "it is gone")
    with pytest.raises(dask_steps.UnreadableError):
        dask_steps.load(run, False, nowhere, dataset.digest, None)
    with pytest.raises(dask_steps.UnreadableError, match="not the one"):
        dask_steps.load(run, False, CAR, "0" * 64, None)
    assert [told["key"] for told in worker.told] == 5 * ["solve-1", None]
