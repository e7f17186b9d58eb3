"""How far a sweep is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from solver.errors import InputError
from sweep.plan.plan import make_plan
from sweep.rows.result_rows import Checkpoint, as_finished
from sweep.store import store as stores
from sweep.store.plan_file import survey
from sweep.store.sweep_status import sweep_status
from tests.helpers import without_dask

Row = dict[str, Any]


def test_status_counts_what_is_done_failed_and_missing(
    tmp_path: Path, small_rows: list[Row]
) -> None:
    sweep = without_dask.small_sweep()
    with stores.create(tmp_path / "out", sweep, print) as store:
        survey(make_plan(sweep), store)
        empty = sweep_status(store.folder.place)
        assert (empty.total, empty.done, empty.missing, empty.live) == (24, 0, 24, True)
        for row in small_rows[:5]:
            store.add(as_finished([row]))
        bad = dict.fromkeys(["objective", "gap", "tree", "seconds"])
        store.add(as_finished([{**small_rows[5], **bad, "status": "error", "error": "Traceback"}]))
        store.save_checkpoint(Checkpoint(small_rows[6]["key"], "{}", "1/2", "1/4", 1.0, 2, 3))
        store.flush()
        found = sweep_status(store.folder.place)
    assert (found.total, found.done, found.failed, found.missing) == (24, 5, 1, 18)
    assert (found.unfinished, found.worst_gap) == (1, 0.25)
    assert found.seconds == pytest.approx(sum(row["seconds"] for row in small_rows[:5]) + 1.0)
    assert found.sweep == "small"
    dead = sweep_status(tmp_path / "out")
    assert not dead.live
    assert json.loads(json.dumps(dead.to_dict()))["done"] == 5
    assert dead.updated is not None


def test_status_counts_answers_without_their_certificate(
    tmp_path: Path, small_rows: list[Row]
) -> None:
    sweep = without_dask.small_sweep()
    first, second = small_rows[:2]
    with stores.create(tmp_path / "out", sweep, print) as store:
        survey(make_plan(sweep), store)
        store.add(as_finished([{**first, "error": "it has no certificate: why"}, second]))
        store.flush()
        found = sweep_status(tmp_path / "out")
    assert (found.done, found.failed, found.uncertified) == (2, 0, 1)


def test_status_of_what_is_no_sweep(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no folder"):
        sweep_status(tmp_path / "none")
    with pytest.raises(InputError, match="is no sweep's folder"):
        sweep_status(tmp_path)


def test_status_counts_answers_that_have_lost_their_certificate(tmp_path: Path) -> None:
    text = without_dask.SPEC.replace("[monks-1, balance-scale]", "[monks-1]")
    text = text.replace("[branches, cart]", "[{solver: branches, proof: true}]")
    sweep = without_dask.small_sweep(text.replace("[0.1, 0.05, 0.02]", "1"))
    without_dask.finish(tmp_path / "out", sweep)
    assert sweep_status(tmp_path / "out").uncertified == 0
    first, second = (tmp_path / "out" / "proofs").iterdir()
    first.unlink()
    found = sweep_status(tmp_path / "out")
    assert (found.done, found.uncertified) == (2, 1)
    second.unlink()
    assert sweep_status(tmp_path / "out").uncertified == 2
