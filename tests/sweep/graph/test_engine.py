"""Whole sweeps, on an embedded cluster and on processes that were started by themselves."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from distributed import Client, KilledWorker

from solver.errors import InputError
from sweep.clusters import Address, Local
from sweep.events import Outcome, Progress, Silent
from sweep.graph.engine import resume_sweep, run_sweep
from sweep.graph.submit_and_collect import Window
from sweep.plan.plan import Plan
from sweep.rows.schema import PROOF_CONTENT, SCHEMA
from sweep.spec.spec import parse_spec
from sweep.store.plan_file import read_plan
from sweep.store.read_results import read_results
from sweep.store.sweep_status import sweep_status
from sweep.verify.verify import verify_sweep
from sweep.worker.stop_requests import take_over

VARYING = [
    "seconds", "compile_seconds", "peak_bytes", "host", "worker", "attempt", "started", "finished",
    "trace", "extra", "git_revision",
]  # fmt: skip


class Heard(Silent):
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.plans: list[tuple[Plan, int]] = []
        self.rows: list[dict[str, Any]] = []
        self.told: list[Progress] = []
        self.ends: list[Outcome] = []

    def planned(self, plan: Plan, remaining: int) -> None:
        self.plans.append((plan, remaining))

    def finished(self, rows: pa.RecordBatch) -> None:
        self.rows += rows.to_pylist()

    def progress(self, progress: Progress) -> None:
        self.told.append(progress)

    def ended(self, outcome: Outcome) -> None:
        self.ends.append(outcome)


def alike(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.drop(columns=VARYING).sort_values("key", ignore_index=True)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory, rowmaker: Any) -> tuple[Path, Heard]:
    folder = tmp_path_factory.mktemp("engine") / "out"
    heard = Heard()
    run_sweep(rowmaker.small_sweep(), folder, Local(workers=2), listener=heard)
    return folder, heard


def test_the_rows_are_those_of_the_tasks_functions(
    finished: tuple[Path, Heard], small_rows: list[dict[str, Any]]
) -> None:
    folder, _ = finished
    expected = pa.Table.from_pylist(small_rows, schema=SCHEMA).to_pandas()
    found = read_results(folder)
    pd.testing.assert_frame_equal(alike(found), alike(expected))
    assert verify_sweep(folder).findings == []
    assert (found["attempt"] == 1).all()
    assert found["worker"].str.startswith("tls://127.0.0.1").all()


def test_a_listener_hears_all_of_it(finished: tuple[Path, Heard]) -> None:
    folder, heard = finished
    ((plan, remaining),) = heard.plans
    assert (plan.n_tasks, remaining) == (24, 24)
    assert len(heard.rows) == 24
    last = heard.told[-1]
    assert (last.done, last.failed, last.running, last.worst_gap) == (24, 0, 0, 0.0)
    assert not last.active
    (outcome,) = heard.ends
    assert (outcome.ran, outcome.failed, outcome.exit_code) == (24, 0, 0)
    status = sweep_status(folder)
    assert (status.done, status.missing, status.live) == (24, 0, False)


def test_again_does_nothing_and_a_changed_sweep_runs_what_is_new(
    finished: tuple[Path, Heard], rowmaker: Any
) -> None:
    folder, _ = finished
    before = read_results(folder)
    outcome = run_sweep(rowmaker.small_sweep(), folder)
    assert (outcome.ran, outcome.answered) == (0, 24)
    pd.testing.assert_frame_equal(read_results(folder), before)
    more = rowmaker.SPEC.replace("[0.1, 0.05, 0.02]", "[0.1, 0.05, 0.02, 0.3]")
    outcome = run_sweep(parse_spec(more), folder, Local(workers=1))
    assert (outcome.ran, outcome.answered) == (8, 24)
    assert len(read_results(folder)) == 32
    assert len(read_plan(folder)) == 32
    larger = more.replace("seconds: 60", "seconds: 90")
    assert run_sweep(parse_spec(larger), folder).ran == 0
    assert resume_sweep(folder).ran == 0
    status = sweep_status(folder)
    assert (status.total, status.done) == (32, 32)


def test_nothing_is_written_if_the_scheduler_cannot_be_reached(
    tmp_path: Path, rowmaker: Any
) -> None:
    config = Address(
        kind="address", address="tcp://127.0.0.1:9", insecure=True, connect_timeout=0.5
    )
    with pytest.raises(InputError, match="cannot reach a Dask scheduler"):
        run_sweep(rowmaker.small_sweep(), tmp_path / "out", config)
    assert not (tmp_path / "out").exists()


def test_a_folder_that_is_not_there_cannot_be_resumed(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no folder"):
        resume_sweep(tmp_path / "none")
    with pytest.raises(InputError, match="is no sweep's folder"):
        resume_sweep(tmp_path)


def test_separate_processes_give_the_same_rows(
    tmp_path: Path, rowmaker: Any, small_rows: list[dict[str, Any]], processes: Any
) -> None:
    config = Address(kind="address", address=processes.address, insecure=True)
    outcome = run_sweep(rowmaker.small_sweep(), tmp_path / "out", config)
    assert (outcome.ran, outcome.failed) == (24, 0)
    found = read_results(tmp_path / "out")
    expected = pa.Table.from_pylist(small_rows, schema=SCHEMA).to_pandas()
    pd.testing.assert_frame_equal(alike(found), alike(expected))
    assert 1 <= found["worker"].nunique() <= 2


def test_an_earlier_driver_that_workers_hear_later_stops_nothing(
    tmp_path: Path, rowmaker: Any, processes: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was stopped while it told them of its run, and went on when its lease was lost."""
    config = Address(kind="address", address=processes.address, insecure=True)
    tell, heard = Window._tell_workers, list[str]()

    def tell_late(self: Window, function: Any, *more: Any, **where: Any) -> None:
        if function is take_over and not heard:
            earlier = f"{self.run.name.rpartition('-')[0]}-earlier"
            heard.extend(self.client.run(take_over, earlier))
        else:
            tell(self, function, *more, **where)

    monkeypatch.setattr(Window, "_tell_workers", tell_late)
    outcome = run_sweep(rowmaker.small_sweep(), tmp_path / "out", config)
    assert len(heard) == 2
    assert (outcome.ran, outcome.failed) == (24, 0)


PATHS = """
name: paths
datasets: [monks-1, balance-scale]
encodings: [onehot]
lambdas: [0.05, 0.02]
solvers: [{solver: branches, lam: path, proof: true}, {solver: cart, lam: path}]
validation: {kind: holdout}
"""


def test_paths_and_their_proofs_come_from_workers(tmp_path: Path, rowmaker: Any) -> None:
    sweep, heard = parse_spec(PATHS), Heard()
    config = Local(workers=1, dask={"temporary-directory": str(tmp_path / "scratch")})
    outcome = run_sweep(sweep, tmp_path / "out", config, listener=heard)
    assert (outcome.ran, outcome.failed) == (4, 0)
    assert not [*(tmp_path / "scratch").rglob("treesweep-*")]
    found = read_results(tmp_path / "out")
    expected = rowmaker.make_rows(sweep)
    sizes = {row["key"]: row["proof_bytes"] for row in expected}
    for row in expected:
        row.pop(PROOF_CONTENT, None)
    frame = pa.Table.from_pylist(expected, schema=SCHEMA).to_pandas()
    times = ["proof_seconds"]
    pd.testing.assert_frame_equal(
        alike(found).drop(columns=times), alike(frame).drop(columns=times)
    )
    proven = found[found["solver"] == "branches"]
    for key, name in zip(proven["key"], proven["proof"], strict=True):
        assert (tmp_path / "out" / name).stat().st_size == sizes[key]
    verified = verify_sweep(tmp_path / "out", proof=True)
    assert (verified.proofs, verified.findings) == (2, [])
    assert run_sweep(sweep, tmp_path / "out").ran == 0
    status = sweep_status(tmp_path / "out")
    assert (status.total, status.done, status.statuses) == (4, 4, {"optimal": 2, "heuristic": 2})


def test_a_batch_that_fails_while_its_result_is_fetched_is_run_again(
    tmp_path: Path, rowmaker: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its worker has died; Dask ran it again and that worker died as well."""
    fetch, failed = Client._gather, []

    async def gather(self: Client, futures: list[Any], *arguments: Any, **options: Any) -> Any:
        key = str(futures[0].key)
        if not failed and key.startswith("solve-"):
            failed.append(key)
            gone: Any = SimpleNamespace(address="tls://127.0.0.1:1")
            error = KilledWorker(key, gone, 0)
            futures[0]._state.set_error(error, None)
            raise error
        return await fetch(self, futures, *arguments, **options)

    monkeypatch.setattr(Client, "_gather", gather)
    outcome = run_sweep(rowmaker.small_sweep(), tmp_path / "out", Local(workers=1))
    assert failed
    assert (outcome.ran, len(read_results(tmp_path / "out"))) == (24, 24)
