"""Tests of sweep/store/search_states.py and of what a store makes of the states of searches."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sweep.plan.plan import Task, make_plan
from sweep.plan.task_keys import canonical, extends, question_limits
from sweep.rows.result_rows import Checkpoint, as_finished
from sweep.store import search_states
from sweep.store import store as stores
from sweep.store.plan_file import survey
from sweep.store.search_state_format import read_state, write_state
from sweep.store.sweep_status import sweep_status
from sweep.verify.verify import verify_sweep
from tests.helpers import without_dask

SPEC = """
name: states
datasets: [monks-1]
encodings: [onehot]
lambdas: [0.1]
solvers: [branches]
limits: {seconds: 60}
"""


class Desk:
    """A store of one task, and states for it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.row = without_dask.make_rows(without_dask.small_sweep(SPEC))[0]

    def open(self) -> stores.Store:
        return stores.create(self.folder, without_dask.small_sweep(SPEC), print)

    def task(self, limits: str = "seconds: 60") -> tuple[Any, Task]:
        plan = make_plan(without_dask.small_sweep(SPEC.replace("seconds: 60", limits)))
        return plan.block_of(0), plan.task(0)

    def identity(self, limits: str = "seconds: 60") -> dict[str, str]:
        block, task = self.task(limits)
        question = block.maker.key(str(task.lam.exact), question_limits(task.solver.limits))
        return {"task": question, "solver": "branches"}

    def bring(self, store: stores.Store, at: int, key: str | None = None) -> str | None:
        """Let a state come from a worker."""
        key = key or self.task()[1].key
        path = store.states.incoming(f"token-{at}")
        reached = asdict(Checkpoint(key, "{}", "1/2", "1/4", 1.5, at))
        write_state(path, {"at": np.array([at])}, self.identity(), reached)
        return store.save_state(key, path, at)

    def held(self, store: stores.Store, limits: str = "seconds: 60") -> int | None:
        block, task = self.task(limits)
        found = store.state(block, str(task.lam.exact), task.key, self.identity(limits))
        if found is None:
            return None
        path = self.folder / search_states.state_name(found.key)
        with found.open() as file:
            assert file.read() == path.read_bytes()
        at = int(read_state(path, self.identity())[0]["at"][0])
        assert found.reached.iterations == at
        return at

    def end(self, store: stores.Store, status: str, limits: str = "seconds: 60") -> None:
        _, task = self.task(limits)
        now = datetime.now(UTC)
        own = {"key": task.key, "limits": canonical(task.solver.limits), "status": status}
        store.add(as_finished([{**self.row, **own, "started": now, "finished": now}]))
        store.flush()


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path / "out")


def test_the_furthest_state_is_kept_and_a_later_driver_finds_it(desk: Desk) -> None:
    with desk.open() as store:
        assert desk.held(store) is None
        for at in (3, 7, 5):
            assert desk.bring(store, at) is None
        assert desk.held(store) == 7
    (desk.folder / "states" / ".torn.1.tmp").write_text("half")
    with desk.open() as store:
        assert desk.held(store) == 7
    assert [p.suffix for p in (desk.folder / "states").iterdir()] == [".npz"]


@pytest.mark.parametrize(
    "status, kept",
    [("optimal", False), ("time_limit", True), ("memory_limit", True), ("node_limit", True),
     ("killed", True), ("error", False)],
)  # fmt: skip
def test_a_state_stays_as_long_as_it_may_be_of_use(desk: Desk, status: str, kept: bool) -> None:
    with desk.open() as store:
        desk.bring(store, 3)
        desk.end(store, status)
        assert (desk.held(store) == 3) == kept
        desk.bring(store, 4)  # late
        assert (desk.held(store) == 4) == kept
        assert bool(store.folder.names("states")) == kept


def test_what_a_killed_driver_has_left_of_a_finished_task_is_removed(desk: Desk) -> None:
    with desk.open() as store:
        desk.bring(store, 3)
        key = desk.task()[1].key
        content = store.folder.read(search_states.state_name(key))
        desk.end(store, "optimal")
        store.folder.write(search_states.state_name(key), content)
    with desk.open() as store:
        assert not store.folder.names("states")
        assert desk.held(store) is None


def test_a_larger_limit_goes_on_from_the_state_of_a_smaller_one(desk: Desk) -> None:
    with desk.open() as store:
        desk.bring(store, 3)
        desk.end(store, "time_limit")
        assert desk.held(store, "seconds: 90") == 3
        assert desk.held(store, "{seconds: 90, depth: 3}".strip("{}")) is None
        assert desk.held(store, "seconds: 30") is None
        # Once the larger one has a state of its own, the smaller one's is of no more use.
        desk.bring(store, 9, desk.task("seconds: 90")[1].key)
        assert desk.held(store, "seconds: 90") == 9
        assert len(store.folder.names("states")) == 1
        desk.end(store, "optimal", "seconds: 90")
        assert not store.folder.names("states")


def test_a_state_that_turned_out_to_be_of_no_use_goes(desk: Desk) -> None:
    with desk.open() as store:
        desk.bring(store, 3)
        desk.end(store, "time_limit")
        assert desk.held(store, "seconds: 90") == 3
        store.reject_state(desk.task("seconds: 90")[1].key)
        assert not store.folder.names("states")


def test_a_damaged_state_is_told_and_goes(desk: Desk) -> None:
    with desk.open() as store:
        desk.bring(store, 3)
        path = desk.folder / search_states.state_name(desk.task()[1].key)
        path.write_bytes(path.read_bytes()[:-9])
        assert desk.held(store) is None
        (note,) = store.states.notes()
        assert note.startswith("a search begins again from its best tree: ")
        assert not path.exists()
        assert store.states.notes() == []


def test_states_of_ended_runs_have_a_limit_together(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search_states, "KEPT", 100)
    with desk.open() as store:
        assert desk.bring(store, 3) is None
        desk.end(store, "time_limit")
        why = desk.bring(store, 4)
        assert why is not None
        assert "no more are kept" in why
        assert desk.held(store) == 3


def test_budgets_are_no_part_of_the_question() -> None:
    assert question_limits({"seconds": 3, "depth": 2, "bytes": 5}) == '{"depth":2}'
    assert extends({"seconds": 9}, {"seconds": 3})
    assert extends({}, {"seconds": 3})
    assert not extends({"seconds": 9}, {})
    assert not extends({"seconds": 9, "depth": 2}, {"seconds": 3})


def test_status_counts_states_and_verify_reads_them(desk: Desk) -> None:
    with desk.open() as store:
        survey(make_plan(without_dask.small_sweep(SPEC)), store)
        desk.end(store, "optimal")
        other = "f" * 64
        desk.bring(store, 3, other)
        status = sweep_status(desk.folder)
        path = desk.folder / search_states.state_name(other)
        assert (status.states, status.state_bytes) == (1, path.stat().st_size)
        assert verify_sweep(desk.folder).findings == []
        path.write_bytes(path.read_bytes()[:-9])
        (finding,) = verify_sweep(desk.folder).findings
        assert finding.key == other
        assert "is damaged" in finding.problem
