"""Whatever is wrong with a store is found."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

from sweep.plan.plan import make_plan
from sweep.rows.result_rows import as_finished
from sweep.rows.schema import SCHEMA
from sweep.store import store as stores
from sweep.store.part_files import Parts
from sweep.store.plan_file import survey
from tests.faults.chaos.compare_stores import Damage, Ledger, compare, results
from tests.faults.chaos.damage_store import sabotage
from tests.helpers import without_dask


@pytest.fixture(scope="module")
def rows() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = without_dask.make_rows(without_dask.small_sweep())
    return found


@pytest.fixture
def out(tmp_path: Path, rows: list[dict[str, Any]]) -> Path:
    sweep = without_dask.small_sweep()
    with stores.create(tmp_path / "out", sweep, print) as store:
        survey(make_plan(sweep), store)
        store.add(as_finished([dict(row) for row in rows]))
    return tmp_path / "out"


@pytest.fixture
def quiet(out: Path) -> pd.DataFrame:
    return results(out)


Change = Callable[[list[dict[str, Any]]], Any]


def doctor(out: Path, change: Change) -> None:
    """Write the rows of a store anew, after a change to them."""
    parts = Parts(out)
    rows = parts.read().to_pylist()
    change(rows)
    for name in parts.names():
        parts.folder.remove(name)
    parts.append(pa.Table.from_pylist(rows, schema=SCHEMA))


def test_an_equal_store_is_well(out: Path, quiet: pd.DataFrame) -> None:
    damage = Damage()
    compare(quiet, out, damage)
    assert not damage
    assert damage.line(7) == "faults=7 lost=0 doubled=0 differing=0"


def test_times_and_places_may_differ(out: Path, quiet: pd.DataFrame) -> None:
    def change(rows: list[dict[str, Any]]) -> None:
        for row in rows:
            row.update(host="another", attempt=row["attempt"] + 2, seconds=row["seconds"] + 1)

    doctor(out, change)
    damage = Damage()
    compare(quiet, out, damage, verify=False)
    assert not damage


@pytest.mark.parametrize(
    "change, line",
    [
        (lambda rows: rows.pop(3), "faults=0 lost=1 doubled=0 differing=0"),
        (lambda rows: rows.append(rows[3]), "faults=0 lost=0 doubled=1 differing=0"),
        (
            lambda rows: rows.append({**rows[3], "attempt": rows[3]["attempt"] + 1}),
            "faults=0 lost=0 doubled=1 differing=0",
        ),
        (lambda rows: rows[3].update(errors=99), "faults=0 lost=0 doubled=0 differing=1"),
        (
            lambda rows: rows[3].update(tree=rows[-1]["tree"]),
            "faults=0 lost=0 doubled=0 differing=1",
        ),
        (
            lambda rows: rows[3].update(status="killed", tree=None),
            "faults=0 lost=1 doubled=0 differing=0",
        ),
    ],
)
def test_what_is_wrong_is_counted(
    out: Path, quiet: pd.DataFrame, change: Change, line: str
) -> None:
    doctor(out, change)
    damage = Damage()
    compare(quiet, out, damage, verify=False)
    assert damage
    assert damage.line(0) == line


@pytest.mark.parametrize("seed", range(3))
def test_sabotage_is_found(out: Path, quiet: pd.DataFrame, seed: int) -> None:
    damage = Damage()
    sabotage(out, random.Random(seed))
    compare(quiet, out, damage, verify=False)
    assert damage.line(1) == "faults=1 lost=1 doubled=1 differing=1"


def test_a_result_that_was_seen_must_stay_unless_its_part_was_damaged(out: Path) -> None:
    ledger, damage = Ledger(), Damage()
    ledger.look(out, damage)
    assert not damage
    key = results(out)["key"].iloc[2]

    def do_again(rows: list[dict[str, Any]]) -> None:
        (row,) = [row for row in rows if row["key"] == key]
        row["started"] = row["started"] + pd.Timedelta(seconds=1)

    doctor(out, do_again)
    ledger.look(out, damage)
    assert damage.lost == {key}
    damage = Damage()
    ledger.strike([key])
    doctor(out, do_again)
    ledger.look(out, damage)
    assert not damage
