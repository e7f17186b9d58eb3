"""Tests of the transfer and the cache of datasets, with workers that do not see the data."""

from __future__ import annotations

import hashlib
import os
import stat
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from distributed.comm.addressing import get_address_host

from solver.errors import InputError
from sweep.datasets import DatasetRef, load_dataset
from sweep.datasets.arrow_serialization import pack
from sweep.graph import dataset_transfer
from sweep.graph.dataset_transfer import Shipper
from sweep.graph.engine import run_sweep
from sweep.spec.spec import load_spec
from sweep.store.results import read_results
from sweep.worker import dataset_cache
from sweep.worker.dataset_cache import TableCache
from sweep.worker.process import request_stop
from tests.helpers import wait_until
from tests.helpers.dask_processes import CAN_HIDE, Lab, Notes, hidden
from tests.helpers.meeting import meeting

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
def test_data_that_no_worker_sees_are_sent_once_to_each_host(
    tmp_path: Path, project: Path, lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrap = hidden(project / "private")
    caches = {host: tmp_path / f"cache-{host}" for host in ("127.0.0.1", "127.0.0.2")}
    all_three = meeting(tmp_path / "met", 3, at="yes")
    for name, host in [("one", "127.0.0.1"), ("two", "127.0.0.1"), ("three", "127.0.0.2")]:
        environment = {"TREESWEEP_CACHE": str(caches[host]), **all_three}
        lab.worker(name, host=host, wrap=wrap, environment=environment)
    notes, calls, asking = Notes(), Counter[tuple[str, str]](), set[str]()
    ask, asked = Shipper._ask, Shipper.asked

    def noted(shipper: Shipper, digest: str, address: str) -> None:
        asking.add(address)
        asked(shipper, digest, address)

    def counted(shipper: Shipper, address: str, function: Any, *arguments: Any) -> Any:
        host = get_address_host(address)
        if host == "127.0.0.1":  # it begins when both workers of this host have asked
            wait_until(lambda: [*map(get_address_host, asking)].count(host) == 2, seconds=120)
        calls[host, function.__name__] += 1
        return ask(shipper, address, function, *arguments)

    monkeypatch.setattr(Shipper, "asked", noted)
    monkeypatch.setattr(Shipper, "_ask", counted)
    # Two of them hold four tasks of the private data at most; the third one gets another.
    text = (project / "sweep.yaml").read_text()
    (project / "sweep.yaml").write_text(text.replace("[0.1, 0.02]", "[0.2, 0.1, 0.05, 0.02]"))
    sweep = load_spec(project / "sweep.yaml")
    outcome = run_sweep(sweep, tmp_path / "out", lab.config(), listener=notes)
    assert (outcome.ran, outcome.failed) == (16, 0)
    found = read_results(tmp_path / "out")
    did = set(found.loc[found["dataset"] == "private", "worker"])
    assert sorted(map(get_address_host, did)) == ["127.0.0.1", "127.0.0.1", "127.0.0.2"]
    sent = sorted(line for line in notes.lines if "was sent to" in line)
    assert [line.split(" (")[0] for line in sent] == [
        f"dataset 'private' was sent to {host}" for host in caches
    ]
    for call in ("take_piece", "finish_table"):
        assert [calls[host, call] for host in caches] == [1, 1]
    for cache in caches.values():
        (table,) = (cache / "tables").iterdir()
        assert stat.S_IMODE(table.parent.stat().st_mode) == 0o700
        assert stat.S_IMODE(table.stat().st_mode) == 0o600
    here = run_sweep(sweep, tmp_path / "here")
    assert here.failed == 0
    columns = ["key", "data_hash", "objective_exact", "tree", "test_errors"]
    one, two = (
        read_results(tmp_path / out)[columns].sort_values("key", ignore_index=True)
        for out in ("out", "here")
    )
    pd.testing.assert_frame_equal(one, two)
    # In the next sweep they are there.
    notes.lines.clear()
    before = calls.total()
    run_sweep(sweep, tmp_path / "again", lab.config(), listener=notes)
    assert not [line for line in notes.lines if "sent" in line]
    assert calls.total() == before


def test_data_that_workers_see_are_read_there(tmp_path: Path, project: Path, lab: Lab) -> None:
    cache = tmp_path / "cache"
    lab.worker("one", environment={"TREESWEEP_CACHE": str(cache)})
    notes = Notes()
    sweep = load_spec(project / "sweep.yaml")
    outcome = run_sweep(sweep, tmp_path / "out", lab.config(), listener=notes)
    assert (outcome.ran, outcome.failed) == (8, 0)
    assert not cache.exists()
    assert not [line for line in notes.lines if "sent" in line]


class Place:
    """A worker, as far as the cache needs one."""

    def __init__(self, folder: Path, answer: Any = None) -> None:
        self.local_directory, self.address = str(folder / "own"), "tcp://127.0.0.1:1"
        self.questions: list[dict[str, Any]] = []
        self._answer = answer

    def log_event(self, topic: str, message: dict[str, Any]) -> None:
        self.questions.append(message)
        if self._answer:
            self._answer()


CAR = DatasetRef(name="car")


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TREESWEEP_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(dataset_cache, "TABLES", TableCache())
    return tmp_path / "cache" / "tables"


def deliver(tables: TableCache, place: Any, content: bytes, digest: str, sha256: str) -> bool:
    half = len(content) // 2
    tables.take(place, digest, "t", 0, content[:half])
    tables.take(place, digest, "t", half, content[half:])
    return tables.finish(place, digest, "t", sha256)


def packed(folder: Path) -> tuple[str, bytes, str]:
    dataset = load_dataset("car")
    pack(dataset, folder / "car.arrow")
    content = (folder / "car.arrow").read_bytes()
    return dataset.digest, content, hashlib.sha256(content).hexdigest()


def test_a_table_arrives_in_pieces_and_damaged_ones_do_not(tmp_path: Path, cache: Path) -> None:
    digest, content, sha256 = packed(tmp_path)
    tables, place = TableCache(), Place(tmp_path)
    assert not deliver(tables, place, content[:-1], digest, sha256)
    assert list(cache.iterdir()) == []
    assert tables.read(place, CAR, digest) is None  # type: ignore[arg-type]
    assert deliver(tables, place, content, digest, sha256)
    found = tables.read(place, CAR, digest)  # type: ignore[arg-type]
    assert found is not None
    assert found.digest == digest
    table = cache / f"{digest}.arrow"
    table.write_bytes(content[: len(content) // 2])
    assert tables.read(place, CAR, digest) is None  # type: ignore[arg-type]
    assert not table.exists()


def test_a_table_under_the_name_of_another_is_not_taken(tmp_path: Path, cache: Path) -> None:
    _, content, sha256 = packed(tmp_path)
    tables, place = TableCache(), Place(tmp_path)
    assert deliver(tables, place, content, "0" * 64, sha256)
    assert tables.read(place, CAR, "0" * 64) is None  # type: ignore[arg-type]


def test_old_tables_make_room(tmp_path: Path, cache: Path) -> None:
    digest, content, sha256 = packed(tmp_path)
    tables, place = TableCache(), Place(tmp_path)
    tables.folder(place)  # type: ignore[arg-type]
    ages = {"a.arrow": 29, "b.arrow": 31, ".c.part": 2, ".d.part": 0.5}
    for name, days in ages.items():
        (cache / name).touch()
        then = time.time() - days * 86_400
        os.utime(cache / name, (then, then))
    assert deliver(tables, place, content, digest, sha256)
    assert {p.name for p in cache.iterdir()} == {"a.arrow", ".d.part", f"{digest}.arrow"}


def test_a_folder_that_others_can_write_to_is_not_used(tmp_path: Path, cache: Path) -> None:
    cache.mkdir(parents=True)
    cache.chmod(0o777)
    place = Place(tmp_path)
    assert TableCache().folder(place) == Path(place.local_directory) / "treesweep-tables"  # type: ignore[arg-type]
    cache.rmdir()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    cache.symlink_to(elsewhere)
    assert TableCache().folder(place) != cache  # type: ignore[arg-type]


def test_a_refusal_is_told(tmp_path: Path, cache: Path) -> None:
    tables = TableCache()
    place = Place(tmp_path, lambda: tables.refuse("0" * 64, "it has changed"))
    with pytest.raises(InputError, match="it has changed"):
        tables.wait_for(place, CAR, "0" * 64, "run")  # type: ignore[arg-type]
    assert place.questions == [
        {"kind": "table", "digest": "0" * 64, "address": "tcp://127.0.0.1:1"}
    ]


def test_nobody_waits_for_a_driver_without_end(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dataset_cache, "PATIENCE", 0.3)
    with pytest.raises(InputError, match=r"'car' was not sent by the driver in 0\.3 s; put its"):
        TableCache().wait_for(Place(tmp_path), CAR, "0" * 64, "run")  # type: ignore[arg-type]


def test_a_stopped_run_waits_no_more(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = Place(tmp_path, lambda: request_stop("stopped-run"))
    assert not TableCache().wait_for(place, CAR, "0" * 64, "stopped-run")  # type: ignore[arg-type]


class Workers:
    """A client whose workers are functions of this process."""

    def __init__(self, place: Place) -> None:
        self.place, self.called = place, list[str]()

    def run(self, function: Any, *arguments: Any, workers: list[str]) -> dict[str, Any]:
        self.called.append(function.__name__)
        more = {} if function is dataset_cache.refuse_table else {"dask_worker": self.place}
        return {workers[0]: function(*arguments, **more)}


def test_a_file_that_has_changed_since_is_refused(tmp_path: Path, cache: Path) -> None:
    client = Workers(Place(tmp_path))
    shipper = Shipper(client, {"0" * 64: CAR})  # type: ignore[arg-type]
    shipper.asked("0" * 64, "tcp://127.0.0.1:1")
    wait_until(lambda: client.called == ["has_table", "refuse_table"])
    with pytest.raises(InputError, match="'car' has changed since the sweep was planned"):
        dataset_cache.TABLES.wait_for(
            Place(tmp_path, lambda: shipper.asked("0" * 64, "tcp://127.0.0.1:1")),  # type: ignore[arg-type]
            CAR, "0" * 64, "run",
        )  # fmt: skip
    shipper.close()


class Dying(Workers):
    """Its first worker is lost after it has taken one piece."""

    def run(self, function: Any, *arguments: Any, workers: list[str]) -> dict[str, Any]:
        if self.called.count("take_piece") == 1 and workers[0].endswith(":1"):
            self.called.append("lost")
            raise OSError("the worker is gone")
        return super().run(function, *arguments, workers=workers)


def test_another_worker_gets_the_table_if_the_first_one_dies(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dataset_transfer, "CHUNK", 1000)
    digest = load_dataset("car").digest
    client = Dying(Place(tmp_path))
    shipper = Shipper(client, {digest: CAR})  # type: ignore[arg-type]
    shipper.asked(digest, "tcp://127.0.0.1:1")
    wait_until(lambda: "lost" in client.called)
    wait_until(lambda: any("was not sent to tcp://127.0.0.1:1" in n for n in shipper.notes()))
    place = Place(tmp_path, lambda: shipper.asked(digest, "tcp://127.0.0.1:2"))
    found = dataset_cache.load_or_ask(OPENML, digest, "run", place)  # type: ignore[arg-type]
    assert found is not None
    assert found.digest == digest
    assert found.name == OPENML.name
    assert client.called.count("take_piece") > 2  # it was sent in pieces
    wait_until(lambda: len(list(cache.glob("*.arrow"))) == 1)
    shipper.close()


OPENML = DatasetRef(name="openml:40975")


def test_workers_do_not_fetch_from_the_internet(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fetched(*_: Any) -> Any:
        raise AssertionError("a worker has fetched it")

    monkeypatch.setattr(dataset_cache, "load_dataset", fetched)
    digest, content, sha256 = packed(tmp_path)
    deliver(dataset_cache.TABLES, Place(tmp_path), content, digest, sha256)
    found = dataset_cache.load_or_ask(OPENML, digest, "run", Place(tmp_path))  # type: ignore[arg-type]
    assert found is not None
    assert found.digest == digest
