"""Rows: what is taken over from an answer, and the file they are kept in."""

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from benchmarks.harness import Job
from benchmarks.peers import ADAPTERS
from benchmarks.problem_tables import Table
from benchmarks.row_store import SCHEMA, Store, make_row
from solver.errors import InputError
from tests.helpers.benchmark_rows import made_up

TABLE = Table("test/and", np.array([[0, 0], [0, 1], [1, 0], [1, 1]]), np.array([0, 0, 0, 1]), 2)
LAM = Fraction("0.05")
TREE = [[0, 1, 2], [0], [1, 3, 4], [0], [1]]


def row_of(name="gosdt", **answer):
    job = Job(Path("and.parquet"), None, "codes", LAM, name, 1.0, 2**30, None)
    told = {
        "status": "optimal",
        "tree": TREE,
        "lower_bound": 0.1,
        "lower_bound_exact": None,
        "claimed_errors": 0.0,
        "seconds": 0.5,
        "peak_bytes": 1000,
    }
    return make_row(TABLE, job, ADAPTERS[name], 0, told | answer)


def test_a_tree_is_scored_anew():
    row = row_of(lower_bound=0.0999999)
    found = [row[n] for n in ("status", "objective_exact", "errors", "splits", "depth", "gap_lams")]
    assert found == ["optimal", "1/10", 0, 2, 2, 0.0]
    assert row["counted_seconds"] == 0.5
    assert json.loads(row["tree"]) == TREE


def test_a_false_claim_is_an_error():
    row = row_of(claimed_errors=1.0)
    assert row["status"] == "error"
    assert row["error"] == "claims 1 errors, its tree makes 0"
    assert row["counted_seconds"] == 1.0


@pytest.mark.parametrize(
    ("answer", "status"),
    [({"seconds": 1.5}, "time_limit"), ({"peak_bytes": 2**31}, "memory_limit")],
)
def test_a_proof_beyond_a_limit_does_not_count(answer, status):
    row = row_of(**answer)
    assert (row["status"], row["counted_seconds"]) == (status, 1.0)


def test_the_gap_is_in_units_of_lambda():
    row = row_of(status="time_limit", lower_bound=0.05, lower_bound_exact="1/20")
    assert row["gap_lams"] == 1.0
    row = row_of(status="time_limit", lower_bound=None)
    assert row["gap_lams"] is None


def test_no_tree_no_figures():
    row = row_of(status="memory_limit", tree=None, error="killed")
    assert (row["objective_exact"], row["gap_lams"], row["counted_seconds"]) == (None, None, 1.0)
    row = row_of(status="not_applicable", tree=None, seconds=0.0)
    assert row["counted_seconds"] is None


def test_rows_are_on_disk_after_each_one(tmp_path):
    store = Store(tmp_path / "out", resume=False)
    for number in range(2):
        store.add(made_up("gosdt", repeat=number))
        kept = pq.read_table(tmp_path / "out" / "results.parquet")
        assert kept.num_rows == number + 1
        assert kept.schema.equals(SCHEMA)
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["results.parquet"]


def test_results_are_not_overwritten(tmp_path):
    Store(tmp_path, resume=False).add(made_up("gosdt"))
    with pytest.raises(InputError, match="--resume"):
        Store(tmp_path, resume=False)
    again = Store(tmp_path, resume=True)
    assert len(again.find("binary/toy", Fraction(1, 100), "gosdt", 0)) == 1
    assert again.find("binary/toy", Fraction(1, 100), "gosdt", 1) == []
    assert "processor" in again.about
