"""Tests of sweep/graph/dataset_futures.py, also with workers that do not see the data."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from sweep.clusters import Local, open_cluster
from sweep.datasets import Dataset, DatasetRef
from sweep.graph import dataset_futures as module
from sweep.graph.dataset_futures import Data, Sources
from sweep.graph.engine import run_sweep
from sweep.plan.plan import Plan, make_plan
from sweep.spec.spec import load_spec, parse_spec
from sweep.store.read_results import read_results
from sweep.worker.run_settings import Run
from tests.helpers import wait_until
from tests.helpers.dask_processes import CAN_HIDE, Lab, Notes, hidden
from tests.helpers.waiting_cart import meeting

SPEC = """
name: shipped
datasets: [monks-1, {name: private, path: private/loans.csv, target: default}]
encodings: [onehot]
lambdas: [0.1, 0.02]
solvers: [cart]
validation: {kind: kfold, folds: 2, seed: 0}
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A sweep with a file that is the driver's alone."""
    folder = tmp_path / "project"
    (folder / "private").mkdir(parents=True)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({c: rng.choice(["x", "y", "z", None], 300) for c in "abc"})
    frame["default"] = np.where(frame["a"] == "x", "yes", rng.choice(["yes", "no"], 300))
    frame.to_csv(folder / "private" / "loans.csv", index=False)
    (folder / "sweep.yaml").write_text(SPEC)
    return folder


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    found = Lab(tmp_path)
    yield found
    found.close()


@pytest.mark.slow
@pytest.mark.skipif(not CAN_HIDE, reason="hiding a folder takes root and unshare")
def test_data_that_no_worker_sees_are_sent_once(tmp_path: Path, project: Path, lab: Lab) -> None:
    wrap = hidden(project / "private")
    both = meeting(tmp_path / "met", 2, at="yes")
    for name in ("one", "two"):
        lab.worker(name, wrap=wrap, environment=both)
    notes = Notes()
    # While none is done, a worker cannot do all tasks of the private data.
    text = (project / "sweep.yaml").read_text()
    (project / "sweep.yaml").write_text(text.replace("[0.1, 0.02]", "[0.2, 0.1, 0.05, 0.02]"))
    sweep = load_spec(project / "sweep.yaml")
    outcome = run_sweep(sweep, tmp_path / "out", lab.config(), listener=notes)
    assert (outcome.ran, outcome.failed) == (16, 0)
    found = read_results(tmp_path / "out")
    assert len(set(found.loc[found["dataset"] == "private", "worker"])) == 2
    sent = [line for line in notes.lines if "was sent to" in line]
    assert sent == ["dataset 'private' was sent to the workers"]
    here = run_sweep(sweep, tmp_path / "here")
    assert here.failed == 0
    columns = ["key", "data_hash", "objective_exact", "tree", "test_errors"]
    one, two = (
        read_results(tmp_path / out)[columns].sort_values("key", ignore_index=True)
        for out in ("out", "here")
    )
    pd.testing.assert_frame_equal(one, two)


def test_data_that_workers_see_are_read_there(tmp_path: Path, project: Path, lab: Lab) -> None:
    cache = tmp_path / "cache"
    lab.worker("one", environment={"TREESWEEP_CACHE": str(cache)})
    notes = Notes()
    sweep = load_spec(project / "sweep.yaml")
    outcome = run_sweep(sweep, tmp_path / "out", lab.config(), listener=notes)
    assert (outcome.ran, outcome.failed) == (8, 0)
    assert not cache.exists()
    assert not [line for line in notes.lines if "sent" in line]


class Step:
    """What ``submit`` gives."""

    def __init__(self, key: str, arguments: tuple[Any, ...]) -> None:
        self.key, self.arguments, self.status = key, arguments, "pending"


class Scheduler:
    """A client, as far as these need one."""

    def __init__(self) -> None:
        self.steps: list[Step] = []

    def submit(self, function: Any, *arguments: Any, key: str, priority: int) -> Step:
        self.steps.append(Step(key, arguments))
        return self.steps[-1]

    @property
    def names(self) -> list[str]:
        return [step.key.split("-")[0] for step in self.steps]


TWO = """
name: two
datasets: [monks-1, monks-2]
encodings: [onehot]
lambdas: [0.1]
solvers: [cart]
validation: {kind: kfold, folds: 2, seed: 0}
"""


@pytest.fixture
def case() -> tuple[Any, Scheduler, Plan]:
    client, plan = Scheduler(), make_plan(parse_spec(TWO))
    return Data(client, plan, Run("run"), are_here=False, notes=[]), client, plan  # type: ignore[arg-type]


def test_a_dataset_is_loaded_once_and_encoded_once_for_each_fold(case: Any) -> None:
    data, client, plan = case
    for _ in range(2):
        for node in plan.nodes:
            data.of(node, 0)
    assert client.names == ["load", "encode", "encode", "load", "encode", "encode"]
    assert len({step.key for step in client.steps}) == 6
    assert client.steps[1].arguments[2] is client.steps[0]
    assert data.nodes_of(client.steps[0].key, plan.nodes[1]) == [0, 1]
    assert data.nodes_of(client.steps[2].key, plan.nodes[1]) == [1]


def test_a_step_that_failed_is_submitted_anew(case: Any) -> None:
    data, client, plan = case
    data.of(plan.nodes[0], 0)
    data.again(client.steps[1].key, suspect=True)
    sources = data.of(plan.nodes[0], 0)
    assert client.names == ["load", "encode", "encode"]
    assert not sources.will_never_come
    assert [step.arguments[1] for step in client.steps] == [False, False, True]
    client.steps[0].status = "error"
    client.steps[2].status = "lost"  # so Dask calls what waits for a table that failed
    assert sources.will_never_come
    for _ in range(2):  # as two batches tell
        data.again(client.steps[0].key, suspect=True)
        data.of(plan.nodes[0], 0)
    data.of(plan.nodes[2], 0)
    assert client.names[3:] == ["load", "encode", "load", "encode"]
    assert [step.arguments[1] for step in client.steps[3:]] == [True, True, False, False]


def test_a_problem_whose_table_is_lost_is_made_anew(case: Any) -> None:
    data, client, plan = case
    data.of(plan.nodes[0], 0)
    load, encode = client.steps
    encode.status = "finished"
    load.status = "error"  # with the next batch, Dask lets the problem fail as well
    sources = data.of(plan.nodes[0], 0)
    assert client.names == ["load", "encode", "load", "encode"]
    assert not sources.has_lost_table
    assert not sources.will_never_come


def test_what_a_worker_cannot_read_is_sent(case: Any) -> None:
    data, client, plan = case
    for node in plan.nodes[:2]:
        data.of(node, 0)
    for step in client.steps:
        step.status = "error"
    for node in plan.nodes[:2]:  # as the batches of both tell
        data.send(node, client.steps[0])
        data.of(node, 0)
    assert client.names[3:] == ["load", "encode", "encode"]
    sent = client.steps[3].arguments[-1]
    assert isinstance(sent, Dataset)
    assert sent.digest == plan.nodes[0].info.data_hash
    assert data.notes == ["dataset 'monks-1' was sent to the workers"]


def test_a_file_that_has_changed_since_is_not_sent(
    case: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, client, plan = case
    other = module.load_dataset(plan.nodes[2].reference)
    monkeypatch.setattr(module, "load_dataset", lambda reference: other)
    data.of(plan.nodes[0], 0)
    client.steps[0].status = client.steps[1].status = "error"
    data.send(plan.nodes[0], client.steps[0])
    data.of(plan.nodes[0], 0)
    assert client.steps[2].arguments[-1] == (
        "dataset 'monks-1' has changed since the sweep was planned; run the sweep again"
    )


def test_workers_do_not_fetch_from_the_internet(case: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    data, client, plan = case
    table = module.load_dataset(plan.nodes[0].reference)
    monkeypatch.setattr(module, "load_dataset", lambda reference: table)
    fetched = replace(plan.nodes[0], reference=DatasetRef(name="openml:40975"))
    data.of(fetched, 0)
    assert client.steps[0].arguments[-1] is table


def test_what_was_not_used_for_long_is_released(case: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    data, client, plan = case
    monkeypatch.setattr(module, "_CACHE_NODES", 2)
    for number in (0, 1, 0, 2, 0, 1):
        data.of(plan.nodes[number], 0)
    assert [step.key.split("-")[1] for step in client.steps if "encode" in step.key] == [
        "0", "1", "2", "1",
    ]  # fmt: skip


def _load_once(mark: Path) -> int:
    if mark.exists():
        os._exit(9)
    mark.touch()
    return os.getpid()


@pytest.mark.slow
def test_a_problem_that_dask_lets_wait_for_ever_is_known(tmp_path: Path) -> None:
    """Its table is lost and cannot be loaded again, then the problem is lost too."""
    with open_cluster(Local(workers=2)) as client:
        one, other = client.scheduler_info(n_workers=-1)["workers"]
        here, there = ({"workers": [w], "allow_other_workers": True} for w in (one, other))
        loaded = client.submit(_load_once, tmp_path / "mark", key="load", **here)
        encoded = client.submit(abs, loaded, key="encode", **here)
        client.submit(abs, encoded, key="solve", **there).result()  # has a copy of the problem only
        sources = Sources(encoded, loaded)
        assert not sources.will_never_come
        os.kill(encoded.result(), signal.SIGKILL)
        wait_until(lambda: loaded.status == "error")
        if encoded.status == "finished":  # not the other, but a new worker has loaded it
            os.kill(client.run(os.getpid, workers=[other])[other], signal.SIGKILL)
        wait_until(lambda: sources.will_never_come)


@pytest.mark.slow
def test_a_batch_that_dask_lets_wait_for_a_failed_table_is_known(tmp_path: Path) -> None:
    """Its problem was there until it was submitted."""
    with open_cluster(Local(workers=3)) as client:
        client.amm.stop()  # every 2 s it drops spare copies
        one, *others = client.scheduler_info(n_workers=-1)["workers"]
        first = {"workers": [one], "allow_other_workers": True}
        loaded = client.submit(_load_once, tmp_path / "mark", key="load", **first)
        encoded = client.submit(abs, loaded, key="encode", **first)
        for worker in others:  # both have a copy of the problem, and the table dies with one only
            client.submit(abs, encoded, key=f"copy to {worker}", workers=[worker]).result()
        os.kill(encoded.result(), signal.SIGKILL)
        wait_until(lambda: loaded.status == "error")
        sources = Sources(encoded, loaded)
        assert sources.has_lost_table
        solved = client.submit(abs, encoded, key="solve")
        wait_until(lambda: encoded.status == "error")
        assert sources.will_never_come
        time.sleep(0.3)
        assert not solved.done()
