"""The big store is true: its rows are what the solvers give, its keys and plan are a sweep's."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import make_big_store, read_big_store
from sweep.store.read_results import read_results
from sweep.store.sweep_status import sweep_status
from sweep.verify.verify import verify_sweep

SMALL = make_big_store.Shape(2, 60, ("onehot",), "[branches, cart]", 2, folds=2)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("big") / "store"
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(make_big_store.SHAPES, "small", SMALL)
        patch.setattr(make_big_store, "PART_ROWS", 64)
        patch.setattr(make_big_store, "FAILING", 0.05)
        assert make_big_store.main([str(folder), "--rows", "320", "--shape", "small"]) == 0
    return folder


def test_a_check_finds_nothing_wrong(store: Path) -> None:
    found = verify_sweep(store)
    assert found.findings == []
    assert found.rows == 320


def test_status_and_results_agree_with_it(store: Path) -> None:
    status, rows = sweep_status(store), read_results(store)
    assert (status.total, status.done + status.failed, status.missing) == (320, 320, 0)
    assert status.failed == (rows["status"] == "error").sum() > 0
    assert set(rows["status"]) == {"optimal", "heuristic", "time_limit", "error"}
    assert rows["key"].is_unique


def test_an_unfinished_one_lacks_the_largest_lambdas(tmp_path: Path) -> None:
    rows, parts = make_big_store.write_store(tmp_path / "part", SMALL, 20, done=0.5)
    status = sweep_status(tmp_path / "part")
    assert (rows, parts) == (80, 1)
    assert (status.total, status.missing) == (160, 80)


def test_the_readers_are_measured(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert read_big_store.main([str(store), "--only", "status"]) == 0
    last = capsys.readouterr().out.strip().splitlines()[-1]
    assert last.startswith("rows=320 status_seconds=")
    assert float(last.rsplit("=", 1)[1]) > 10
    assert read_big_store.main([str(store), "--only", "stat"]) == 2
    assert "there is no reader 'stat'" in capsys.readouterr().err
