"""Tests of sweep/verify/rows_to_check.py: samples of rows, and signs of life."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from sweep.filesystem import open_folder
from sweep.store.part_files import Parts
from sweep.store.plan_file import planned_tasks
from sweep.verify import rows_to_check
from sweep.verify.rows_to_check import Ticker, sampled_rows
from sweep.verify.verify import verify_sweep
from tests.helpers import without_dask


def test_all_rows_come_by_dataset_and_fold(tmp_path: Path) -> None:
    rows = without_dask.finish(tmp_path / "out")
    tasks = planned_tasks(open_folder(tmp_path / "out"))
    found = [*sampled_rows(Parts(tmp_path / "out"), tasks)]
    assert {row["key"] for row in found} == {row["key"] for row in rows}
    places = [(row["data_hash"], row["repeat"], row["fold"]) for row in found]
    assert places == sorted(places)


def test_a_sample_is_about_as_large_as_asked_for_and_always_the_same(tmp_path: Path) -> None:
    rows = without_dask.finish(tmp_path / "out")
    parts, tasks = Parts(tmp_path / "out"), planned_tasks(open_folder(tmp_path / "out"))
    some = [row["key"] for row in sampled_rows(parts, tasks, 12)]
    assert some == [row["key"] for row in sampled_rows(parts, tasks, 12)]
    assert 3 <= len(some) <= 20
    few = {row["key"] for row in sampled_rows(parts, tasks, 4)}
    assert few <= set(some)
    assert len([*sampled_rows(parts, tasks, 10 * len(rows))]) == len(rows)
    assert verify_sweep(tmp_path / "out", sample=12).rows == len(some)


def test_signs_of_life(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    three = threading.Event()

    def tell(text: str) -> None:
        said.append(text)
        if len(said) == 3:
            three.set()

    monkeypatch.setattr(rows_to_check, "EVERY", 1000.0)
    clock = Ticker(tell)
    clock.tick("too early")
    monkeypatch.setattr(rows_to_check, "EVERY", 0.01)
    time.sleep(0.02)
    clock.tick("now")
    assert said == ["now"]
    threads = threading.active_count()
    with clock.during("a proof"):
        assert three.wait(60)
    assert said[1] == "a proof"
    assert said[2].startswith("a proof: ")
    assert said[2].endswith(" s so far")
    assert threading.active_count() == threads
