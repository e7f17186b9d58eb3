"""Tests of checkpointing, and of the transfer of states, in this process."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from threading import Thread
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from solver.monitor import Snapshot
from solver.problem.problem import Problem
from solver.search_shards import Shard
from solver.solution import Solution, Status
from sweep.rows.result_rows import Cell, Checkpoint
from sweep.state_transfer import worker_side
from sweep.state_transfer.driver_side import Transfer, Transfers
from sweep.state_transfer.worker_side import WorkerFiles
from sweep.store.search_state_format import read_state, write_state
from sweep.worker import checkpointing
from sweep.worker.checkpointing import Keeper
from sweep.worker.run_settings import Run
from sweep.worker.stop_requests import give_up
from tests.helpers import PATIENCE

ADDRESS = "tcp://127.0.0.1:1"
TREE = Problem.from_codes([[0], [1]], [0, 1]).grow(-1)
CELL = Cell("k", "1/10", "0.1", "branches", "2", {}, {}, 1, question="q")


class Worker:
    """What a keeper needs of one."""

    def __init__(self, folder: Path) -> None:
        self.address, self.local_directory = ADDRESS, str(folder)
        self.told: list[dict[str, Any]] = []

    def log_event(self, topic: str, message: dict[str, Any]) -> None:
        self.told.append(message)

    def kinds(self) -> list[str]:
        return [message["kind"] for message in self.told]


@pytest.fixture
def worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    own = WorkerFiles()
    monkeypatch.setattr(checkpointing, "STATE_FILES", own)
    monkeypatch.setattr(worker_side, "STATE_FILES", own)
    return Worker(tmp_path / "worker")


def seen(at: int, seconds: float, state: bool = True) -> Snapshot:
    arrays = {"at": np.array([at])}
    half = Fraction(1, 2)
    return Snapshot(TREE, half, half / 2, seconds, at, at, (lambda: arrays) if state else None)


def solution(at: int, seconds: float, status: Status = Status.TIME_LIMIT) -> Solution:
    half = Fraction(1, 2)
    bound = half if status is Status.OPTIMAL else half / 2
    figures = (Fraction(1, 10), half, bound, 1, 2, seconds)
    return Solution(TREE, status, *figures, "branches", "2", iterations=at)


def keeper_of(worker: Any, cell: Cell = CELL, **more: Any) -> tuple[Keeper, Callable[..., None]]:
    keeper = Keeper(Run("run", 30.0, **more), cell, worker)
    snapshot = keeper.monitor().snapshot
    assert snapshot is not None
    return keeper, snapshot


def test_a_keeper_offers_states_one_at_a_time(worker: Any) -> None:
    start = Checkpoint("k", "{}", "1/2", "3/8", 100.0, 40)
    _, snapshot = keeper_of(worker, replace(CELL, checkpoint=start))
    snapshot(seen(1, 30.0))
    assert worker.kinds() == ["snapshot", "state"]
    token = worker.told[1]["token"]
    _, about = read_state(worker_side.STATE_FILES.path(token), CELL.identity)
    # The earlier attempt was another search: its time, bound and iterations count.
    assert (about.reached["seconds"], about.reached["iterations"]) == (130.0, 41)
    assert about.reached["lower_bound"] == "3/8"
    snapshot(seen(2, 60.0))
    assert worker.kinds() == ["snapshot", "state", "snapshot"]
    worker_side.discard(token)
    snapshot(seen(3, 90.0))
    assert worker.kinds()[3:] == ["snapshot", "state"]


def test_the_last_state_is_offered_if_the_search_could_go_on(worker: Any) -> None:
    for status, seconds, at, offered in (
        (Status.TIME_LIMIT, 40.0, 9, True),
        (Status.STOPPED, 40.0, 9, True),
        (Status.OPTIMAL, 40.0, 9, False),
        (Status.TIME_LIMIT, 2.0, 9, False),  # sooner done again
        (Status.TIME_LIMIT, 40.0, 10, False),  # the arrays are not those of the snapshot
    ):
        worker.told.clear()
        keeper, snapshot = keeper_of(worker)
        snapshot(seen(5, 30.0))
        snapshot(seen(9, 40.0))
        keeper.end(solution(at, seconds, status))
        assert worker.kinds() == ["snapshot", "state"] + ["state"] * offered
        assert not worker_side.STATE_FILES.path(worker.told[1]["token"]).exists()
        if offered:
            state, _ = read_state(
                worker_side.STATE_FILES.path(worker.told[2]["token"]), CELL.identity
            )
            assert state["at"] == [9]


def test_a_last_state_is_not_offered_twice(worker: Any) -> None:
    keeper, snapshot = keeper_of(worker)
    snapshot(seen(9, 40.0))
    keeper.end(solution(9, 40.0))
    assert worker.kinds() == ["snapshot", "state"]
    assert worker_side.STATE_FILES.path(worker.told[1]["token"]).exists()


def test_a_state_that_would_take_too_long_is_not_even_made(worker: Any) -> None:
    _, snapshot = keeper_of(worker)
    made = []

    def make() -> dict[str, Any]:
        made.append(1)
        return {"a": np.broadcast_to(np.zeros(1), 10**10)}  # 80 GB, if it were written

    for at in range(1, 5):
        snapshot(replace(seen(at, 30.0 * at), state=make))
    assert made == [1]
    assert worker.kinds() == ["snapshot"] * 4


def test_what_cannot_be_kept_is_told_once(worker: Any) -> None:
    keeper, snapshot = keeper_of(worker, largest_state=10)
    for at in range(1, 4):
        snapshot(seen(at, 30.0 * at))
    keeper.end(solution(3, 90.0))
    assert worker.kinds() == ["snapshot", "note", "snapshot", "snapshot"]
    assert "of 'branches' (λ = 0.1) is not kept" in worker.told[1]["text"]
    assert not list(Path(worker.local_directory, "treesweep-states").iterdir())


def test_solvers_without_states_send_none(worker: Any) -> None:
    for cell, state in ((replace(CELL, question=None), True), (CELL, False)):
        worker.told.clear()
        keeper, snapshot = keeper_of(worker, cell)
        snapshot(seen(1, 30.0, state))
        keeper.end(solution(1, 30.0))
        assert worker.kinds() == ["snapshot"]


def test_a_state_of_no_use_is_told(worker: Any) -> None:
    cell = replace(CELL, state="run-1")
    keeper, _ = keeper_of(worker, cell)
    write_state(worker_side.STATE_FILES.path("run-1"), {}, {"task": "another"})
    size = worker_side.STATE_FILES.path("run-1").stat().st_size
    content = worker_side.STATE_FILES.path("run-1").read_bytes()
    assert worker_side.take_chunk("run", "run-1", 0, content, size, worker)
    assert keeper.received() is None
    assert worker.kinds() == ["wanted", "bad-state"]
    assert (worker.told[0]["token"], worker.told[0]["address"]) == ("run-1", ADDRESS)
    assert not worker_side.STATE_FILES.path("run-1").exists()
    assert not keeper.resumed()


class Client:
    """Calls functions on the only worker; after so many calls it is lost."""

    def __init__(self, worker: Any, calls: float = float("inf")) -> None:
        self.worker, self.calls = worker, calls

    def run(self, function: Callable[..., Any], *given: Any, workers: list[str]) -> Any:
        assert workers == [ADDRESS]
        self.calls -= 1
        if self.calls < 0:
            raise OSError("connection lost")
        more = {"dask_worker": self.worker} if function is worker_side.take_chunk else {}
        return {ADDRESS: function(*given, **more)}


def wait_until(done: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not done():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.fixture
def content(monkeypatch: pytest.MonkeyPatch) -> bytes:
    monkeypatch.setattr(worker_side, "CHUNK", 1000)
    return np.random.default_rng(0).bytes(10_500)


def transfer(path: Path, size: int) -> Transfer:
    def source() -> Any:
        return pa.OSFile(str(path))

    return Transfer("k", "run-1", ADDRESS, size, 5, path, source)


def test_a_file_comes_in_chunks_and_goes_from_the_worker(
    worker: Any, tmp_path: Path, content: bytes
) -> None:
    worker_side.STATE_FILES.open(worker, "run")
    worker_side.STATE_FILES.path("run-1").write_bytes(content)
    client = Client(worker)
    transfers = Transfers(client, "run")  # type: ignore[arg-type]
    transfers.fetch(transfer(tmp_path / "here", len(content)))
    assert len(transfers.coming) == 1
    found: list[Transfer] = []
    wait_until(lambda: bool(found.extend(transfers.arrivals()) or found))
    assert found[0].path.read_bytes() == content
    assert not transfers.coming
    wait_until(lambda: not worker_side.STATE_FILES.path("run-1").exists())


@pytest.mark.parametrize("calls, size", [(4, 10_500), (99, 20_000)])
def test_half_a_file_is_thrown_away(
    worker: Any, tmp_path: Path, content: bytes, calls: int, size: int
) -> None:
    worker_side.STATE_FILES.open(worker, "run")
    worker_side.STATE_FILES.path("run-1").write_bytes(content)
    transfers = Transfers(Client(worker, calls), "run")  # type: ignore[arg-type]
    transfers.fetch(transfer(tmp_path / "here", size))
    wait_until(lambda: not transfers.coming)
    assert transfers.arrivals() == []
    assert not (tmp_path / "here").exists()
    assert any("connection lost" in note for note in transfers.notes()) == (calls == 4)


def test_a_file_goes_to_the_search_that_waits_for_it(
    worker: Any, tmp_path: Path, content: bytes
) -> None:
    (tmp_path / "here").write_bytes(content)
    transfers = Transfers(Client(worker), "run")  # type: ignore[arg-type]
    # The first chunk may come before the worker has begun anything of this run.
    transfers.deliver(transfer(tmp_path / "here", len(content)))
    wait_until(lambda: worker.local_directory in str(worker_side.STATE_FILES.path("run-1")))
    found = worker_side.STATE_FILES.wait_for("run-1", lambda: False)
    assert found is not None
    assert found.read_bytes() == content


def test_a_search_does_not_wait_for_what_will_not_come(
    worker: Any, tmp_path: Path, content: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").write_bytes(content)
    client = Client(worker, 3)
    transfers = Transfers(client, "run")  # type: ignore[arg-type]
    waiting: list[Any] = []
    worker_side.STATE_FILES.open(worker, "run")
    thread = Thread(
        target=lambda: waiting.append(worker_side.STATE_FILES.wait_for("run-1", lambda: False))
    )
    thread.start()
    transfers.deliver(transfer(tmp_path / "here", len(content)))
    notes: list[str] = []
    wait_until(lambda: bool(notes.extend(transfers.notes()) or notes))
    assert "does not go on from its state: OSError: connection lost" in notes[0]
    worker_side.refuse("run-1")  # as the driver tells a worker that it can reach
    thread.join(timeout=PATIENCE)
    assert waiting == [None]
    assert worker_side.STATE_FILES.wait_for("run-2", lambda: True) is None
    monkeypatch.setattr(worker_side, "CHUNK_TIMEOUT", 0.1)
    monkeypatch.setattr(worker_side, "_POLL", 0.05)
    assert worker_side.STATE_FILES.wait_for("run-3", lambda: False) is None


def test_a_new_run_clears_the_files(worker: Any) -> None:
    worker_side.STATE_FILES.open(worker, "run")
    worker_side.STATE_FILES.path("run-1").write_text("old")
    worker_side.STATE_FILES.open(worker, "run")
    assert worker_side.read_chunk("run-1", 1) == b"ld"
    worker_side.STATE_FILES.open(worker, "other")
    assert worker_side.read_chunk("run-1", 0) is None


def test_closed_transfers_carry_nothing(worker: Any, tmp_path: Path) -> None:
    transfers = Transfers(SimpleNamespace(), "run")  # type: ignore[arg-type]
    transfers.close()
    transfers.fetch(transfer(tmp_path / "here", 10))
    wait_until(lambda: not transfers.coming)
    assert transfers.notes() == []


def test_of_a_shard_only_the_tree_is_told_and_it_ends_with_its_task(worker: Any) -> None:
    cell = replace(CELL, question=None, shard=Shard(1, 4))
    keeper, snapshot = keeper_of(worker, cell)
    snapshot(seen(7, 40.0))
    (told,) = worker.told
    reached = told["checkpoint"]
    assert (reached["tree"], reached["objective"]) == (TREE.to_json(), "1/2")
    # A bound of a part is none of the whole, and the others' effort is not known here.
    assert (reached["lower_bound"], reached["seconds"], reached["iterations"]) == ("0", 0.0, 0)
    give_up("run", "another")
    assert not keeper.monitor().stop()
    give_up("run", "k")
    assert keeper.monitor().stop()
    assert not keeper_of(worker, replace(cell, key="third"))[0].monitor().stop()
