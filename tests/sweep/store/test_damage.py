"""Tests of what a store makes of damaged files: lost certificates, changed bytes."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from solver.errors import InputError
from sweep.filesystem import open_folder
from sweep.plan.plan import make_plan
from sweep.rows.result_rows import Checkpoint, as_finished
from sweep.store import certificate_files
from sweep.store import store as stores
from sweep.store.plan_file import read_plan, survey
from sweep.store.read_results import read_results
from sweep.store.search_state_format import read_state, write_state
from sweep.store.sweep_status import sweep_status
from sweep.verify.verify import verify_sweep
from tests.helpers import without_dask


@pytest.mark.parametrize("damage", ["gone", "cut"])
def test_a_certificate_that_is_lost_is_made_again(tmp_path: Path, damage: str) -> None:
    spec = without_dask.SPEC.replace("[branches, cart]", "[{solver: branches, proof: true}]")
    sweep = without_dask.small_sweep(spec)
    rows = without_dask.finish(tmp_path / "out", sweep)
    path = tmp_path / "out" / rows[0]["proof"]
    if damage == "gone":
        path.unlink()
    else:
        path.write_bytes(path.read_bytes()[:-1])
    told: list[str] = []
    with stores.create(tmp_path / "out", sweep, told.append) as store:
        remaining, _ = survey(make_plan(sweep), store)
        assert remaining.tolist() == [0]
        assert store.answers.attempts(rows[0]["key"]) == 1
        store.add(as_finished([{**rows[0], "attempt": 2}]))
    assert told == ["a file of 1 task is not there or not whole; it is run again"]
    assert len(read_results(tmp_path / "out", every_run=True)) == len(rows)
    assert verify_sweep(tmp_path / "out", proof=True).findings == []


def test_a_set_of_good_trees_that_is_lost_is_made_again(tmp_path: Path) -> None:
    spec = without_dask.SPEC.replace("[branches, cart]", "[{solver: branches, rashomon: {}}]")
    sweep = without_dask.small_sweep(spec)
    rows = without_dask.finish(tmp_path / "out", sweep)
    path = tmp_path / "out" / rows[0]["rashomon"]
    content = path.read_bytes()
    path.unlink()
    assert sweep_status(tmp_path / "out").uncertified == 1
    without_dask.run_here(tmp_path / "out", sweep)
    assert path.read_bytes() == content
    assert sweep_status(tmp_path / "out").uncertified == 0
    assert len(read_results(tmp_path / "out", every_run=True)) == len(rows)
    assert verify_sweep(tmp_path / "out").findings == []


def test_a_lost_certificate_of_no_planned_task_is_not_said_to_be_made_again(tmp_path: Path) -> None:
    spec = without_dask.SPEC.replace("[branches, cart]", "[{solver: branches, proof: true}]")
    rows = without_dask.finish(tmp_path / "out", without_dask.small_sweep(spec))
    (tmp_path / "out" / rows[0]["proof"]).unlink()
    other = without_dask.small_sweep(without_dask.SPEC.replace("[branches, cart]", "[cart]"))
    told: list[str] = []
    with stores.create(tmp_path / "out", other, told.append) as store:
        remaining, _ = survey(make_plan(other), store)
        assert len(remaining) == 12
    assert told == []


def test_any_byte_of_any_file_that_is_changed_is_found_or_changes_nothing(tmp_path: Path) -> None:
    """Never a wrong row, never anything else than one clear line."""
    spec = without_dask.SPEC.replace("[branches, cart]", "[{solver: branches, proof: true}]")
    sweep, out = without_dask.small_sweep(spec), tmp_path / "out"
    rows = without_dask.finish(out, sweep)
    with stores.create(out, sweep, print) as store:
        store.save_checkpoint(Checkpoint("a", "{}", "1/2", "1/4", 1.0, 5, 6))
    wanted, plan = read_results(out), read_plan(out)
    state = statefile_of(tmp_path)
    chance = random.Random(0)
    found = dict.fromkeys(("rows", "plan", "manifest", "sweep", "proof", "checkpoint", "state"), 0)
    files = {
        "rows": next((out / "rows").glob("*.parquet")),
        "plan": out / "plan.parquet",
        "manifest": out / "manifest.json",
        "sweep": out / "sweep.yaml",
        "proof": out / rows[0]["proof"],
        "checkpoint": out / "checkpoints" / "a.parquet",
        "state": state,
    }
    folder = open_folder(out)
    proof, _ = certificate_files.read_certificate(folder, rows[0]["proof"])
    arrays, about = read_state(state, {"a": "b"})

    def check(kind: str) -> None:
        if kind in ("rows", "manifest"):
            pd.testing.assert_frame_equal(read_results(out), wanted)
        elif kind == "plan":
            pd.testing.assert_frame_equal(read_plan(out), plan)
        elif kind == "sweep":
            assert stores.stored_sweep(out).text == sweep.text
        elif kind == "proof":
            columns, _ = certificate_files.read_certificate(folder, rows[0]["proof"])
            assert all(list(columns[name]) == list(proof[name]) for name in proof)
        elif kind == "checkpoint":
            if stores.read_checkpoint(folder, "checkpoints/a.parquet") is None:
                raise InputError("checkpoints/a.parquet is ignored")
        else:
            read, told = read_state(state, {"a": "b"})
            assert told == about
            assert all((read[name] == arrays[name]).all() for name in arrays)

    for kind, path in files.items():
        content = path.read_bytes()
        places = sorted(chance.sample(range(len(content)), min(150, len(content))))
        for place in places:
            changed = bytearray(content)
            changed[place] ^= chance.randrange(1, 256)
            path.write_bytes(changed)
            complaint = complaint_of(check, kind)
            assert complaint is None or (path.name in complaint and "\n" not in complaint)
            found[kind] += complaint is not None
        for size in (0, 1, len(content) // 2, len(content) - 1):
            path.write_bytes(content[:size])
            with pytest.raises(InputError, match=path.name):
                check(kind)
        path.write_bytes(content)
        check(kind)
        assert found[kind] >= 0.8 * len(places), kind


def complaint_of(check: Callable[[str], None], kind: str) -> str | None:
    try:
        check(kind)
    except InputError as error:
        return str(error)
    return None


def statefile_of(folder: Path) -> Path:
    path = folder / "state.npz"
    arrays = {"hashes": np.arange(500, dtype=np.int64) ** 3, "bits": np.ones((3, 7), bool)}
    write_state(path, arrays, {"a": "b"}, {"iterations": 5})
    return path
