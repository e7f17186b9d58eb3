"""Tests of sweep/verify/rashomon_sets.py."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from shutil import copytree
from typing import Any

import pyarrow as pa
import pytest

from pipelines.sweeps import read_results
from solver import Limits
from solver.errors import InputError
from solver.rashomon.find_set import rashomon_set
from sweep.filesystem import open_folder
from sweep.store import checksummed_parquet
from sweep.store.rashomon_files import read_set
from sweep.store.sweep_status import sweep_status
from sweep.verify.rashomon_sets import _check_claims
from sweep.verify.verify import Verification, verify_sweep
from tests.helpers.without_dask import finish, parse_spec, run_here

SPEC = """
name: good
datasets: [monks-1]
encodings: [onehot]
lambdas: [0.05, 0.02]
solvers:
  - {solver: branches, rashomon: {within: 0.1}, options: {depth: 4}}
  - cart
validation: {kind: holdout, test: 0.25}
"""

_META = b"treesweep-rashomon"


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("good") / "out"
    finish(folder, parse_spec(SPEC))
    return folder


@pytest.fixture
def out(sound: Path, tmp_path: Path) -> Path:
    copytree(sound, tmp_path / "out", symlinks=True)
    return tmp_path / "out"


def problems(found: Verification) -> str:
    return "\n".join(finding.problem for finding in found.findings)


def test_sound_sets_are_counted_anew(sound: Path) -> None:
    found = verify_sweep(sound)
    assert (found.rows, found.sets, found.findings) == (4, 2, [])
    found = verify_sweep(sound, proof=True)
    assert (found.sets, found.findings) == (2, [])


def test_results_give_the_sets_back(sound: Path) -> None:
    results = read_results(sound)
    rows = results.frame[results.frame["rashomon"].notna()]
    assert len(rows) == 2
    for row in rows.to_dict("records"):
        found = results.rashomon_set(row["key"])
        fresh = rashomon_set(found.problem, row["lam_exact"], "0.1", limits=Limits(depth=4))
        assert (found.lam, found.histogram) == (fresh.lam, fresh.histogram)
        assert str(found.n_trees) == row["rashomon_trees"]
        assert next(found.trees()) == next(fresh.trees())
    with pytest.raises(InputError, match="no task that has been run has a key that begins"):
        results.rashomon_set("zzz")
    other = results.frame[results.frame["rashomon"].isna()]["key"].iloc[0]
    with pytest.raises(InputError, match="has no good trees, its status is 'heuristic'"):
        results.rashomon_set(other)


def test_the_least_leaf_need_not_be_a_whole_number(sound: Path) -> None:
    results, folder = read_results(sound), open_folder(sound)
    row = next(r for r in results.frame.to_dict("records") if isinstance(r["rashomon"], str))
    found, stored = results.rashomon_set(row["key"]), read_set(folder, row["rashomon"])
    leaves = [sum(n.counts) for tree in found.trees() for n in tree.nodes if n.feature is None]
    for more, sound_set in ((0, True), (0.5, False), (1, False)):
        limits = json.dumps({**json.loads(row["limits"]), "min_leaf_size": min(leaves) + more})
        problems = [*_check_claims(row | {"limits": limits}, stored, found.problem)]
        assert (problems == []) == sound_set


def test_the_set_of_another_task_is_refused(sound: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    shutil.copytree(sound, out, symlinks=True)
    first, second = sorted((out / "rashomon").iterdir())
    shutil.copyfile(second, first)
    with pytest.raises(InputError, match="it is the answer to another question than the row's"):
        read_results(out).rashomon_set(first.stem)
    assert read_results(out).rashomon_set(second.stem).n_trees


def test_a_lost_file_of_a_row_that_answers_nothing_today_is_no_finding(tmp_path: Path) -> None:
    text = SPEC.replace("[0.05, 0.02]", "[0.1]").replace(", options: {depth: 4}", "")
    out, limits = tmp_path / "out", "limits: {{nodes: {}}}\n"
    run_here(out, parse_spec(text + limits.format(1_000_000)))
    more = parse_spec(text + limits.format(2_000_000))
    run_here(out, more)
    (file,) = (out / "rashomon").iterdir()
    file.unlink()
    assert [found.key for found in verify_sweep(out).findings] == [file.stem]
    run_here(out, more)
    assert not file.exists()
    checked = verify_sweep(out, proof=True)
    assert (checked.findings, checked.sets) == ([], 1)


LIMITED = """
name: cut
datasets: [monks-1]
encodings: [onehot]
lambdas: [0.02]
solvers:
  - {solver: branches, rashomon: {within: 3}}
limits: {nodes: 3000}
"""


def test_a_set_that_a_limit_has_cut_short_is_sound(tmp_path: Path) -> None:
    finish(tmp_path / "out", parse_spec(LIMITED))
    results = read_results(tmp_path / "out")
    (row,) = results.frame.to_dict("records")
    assert (row["status"], row["gap"]) == ("node_limit", 0.0)
    found = results.rashomon_set(row["key"])
    assert (found.complete, found.status, found.asked) == (False, "node_limit", 3)
    assert row["rashomon_within"] == str(found.within)
    assert found.within < 3
    fresh = rashomon_set(found.problem, "0.02", found.within)
    assert found.histogram == fresh.histogram
    for proof in (False, True):
        checked = verify_sweep(tmp_path / "out", proof=proof)
        assert (checked.sets, checked.findings) == (1, [])
    assert sweep_status(tmp_path / "out").cut_short == 1


def test_a_set_of_few_splits_is_sound(tmp_path: Path) -> None:
    text = LIMITED.replace("within: 3}}", "within: 0.1}, options: {splits: 3}}")
    finish(tmp_path / "out", parse_spec(text.replace("3000", "1000000")))
    results = read_results(tmp_path / "out")
    (row,) = results.frame.to_dict("records")
    assert row["status"] == "optimal"
    found = results.rashomon_set(row["key"])
    assert {cell.splits for cell in found.histogram} <= {0, 1, 2, 3}
    fresh = rashomon_set(found.problem, "0.02", "0.1", limits=Limits(splits=3))
    assert found.histogram == fresh.histogram
    checked = verify_sweep(tmp_path / "out", proof=True)
    assert (checked.sets, checked.findings) == (1, [])
    assert sweep_status(tmp_path / "out").cut_short == 0


Change = Callable[[pa.Table, dict[str, Any]], pa.Table]


def rewrite(out: Path, change: Change) -> str:
    """Change a set's file and its checksum."""
    (name, *_) = sorted(f"rashomon/{path.name}" for path in (out / "rashomon").iterdir())
    folder = open_folder(out)
    table = checksummed_parquet.read_table(folder, name)
    meta = json.loads(table.schema.metadata[_META])
    table = change(table, meta).replace_schema_metadata({_META: json.dumps(meta)})
    checksummed_parquet.write_table(folder, name, table)
    return name


def drop_splits(table: pa.Table, meta: dict[str, Any]) -> pa.Table:
    return table.slice(0, 1).set_column(0, "features", pa.array([[]], pa.list_(pa.int32()))) \
        .set_column(1, "children", pa.array([[]], pa.list_(pa.int64())))  # fmt: skip


def one_more(table: pa.Table, meta: dict[str, Any]) -> pa.Table:
    meta["histogram"][0][2] = str(int(meta["histogram"][0][2]) + 1)
    return table


def other_question(table: pa.Table, meta: dict[str, Any]) -> pa.Table:
    meta["within"] = "1/20"
    return table


def other_price(table: pa.Table, meta: dict[str, Any]) -> pa.Table:
    meta["lam"] = "1/3"
    return table


def no_numbers(table: pa.Table, meta: dict[str, Any]) -> pa.Table:
    del meta["histogram"]
    return table


@pytest.mark.parametrize(
    "change, message",
    [
        (drop_splits, "its graph holds|its graph is refused"),
        (one_more, "trees?, the row says"),
        (other_question, "its tolerance is 1/20, the row's 1/10"),
        (other_price, "the answer to another question"),
        (no_numbers, "holds no good trees"),
    ],
)
def test_a_tampered_set_is_named(
    out: Path, change: Change, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = rewrite(out, change)
    # The size of the file is another one: that alone is found, so the row follows it here.
    monkeypatch.setattr("sweep.verify.rashomon_sets.check_presence", lambda row, folder: iter(()))
    found = verify_sweep(out)
    assert len(found.findings) == 1
    assert re.search(message, problems(found))
    assert name in problems(found)


def test_a_new_search_finds_trees_that_are_missing(
    out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sweep.verify.rashomon_sets._check_claims", lambda *given: iter(()))
    monkeypatch.setattr("sweep.verify.rashomon_sets.check_presence", lambda row, folder: iter(()))
    name = rewrite(out, one_more)
    assert verify_sweep(out).findings == []
    assert f"{name}: a new search finds" in problems(verify_sweep(out, proof=True))


def test_a_flipped_byte_or_a_lost_file_is_named(out: Path) -> None:
    first, second = sorted((out / "rashomon").iterdir())
    content = bytearray(first.read_bytes())
    content[len(content) // 2] ^= 1
    first.write_bytes(content)
    second.unlink()
    text = problems(verify_sweep(out))
    assert f"{first.name} is damaged (its checksum does not match)" in text
    assert f"the file of its good trees rashomon/{second.name} is not there" in text
