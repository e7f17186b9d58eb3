"""The commands on a sweep whose folder is on S3."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import fs

from sweep.filesystem import open_folder
from sweep.store.part_files import Parts
from sweep.store.read_results import read_results
from tests.helpers.commands import refused, run

SPEC = """\
name: small
datasets: [monks-1]
encodings: [onehot]
lambdas: [0.05, 0.01]
solvers: [{solver: branches, proof: true}, cart]
"""
UNEQUAL = [
    "seconds", "compile_seconds", "proof_seconds", "host", "worker", "started", "finished", "trace",
    "extra",
]  # fmt: skip
"""Columns that are of the run, not of its result."""


def results(place: str) -> pd.DataFrame:
    rows = read_results(place, every_run=True).drop(columns=[*UNEQUAL, "attempt"])
    return rows.sort_values("key", ignore_index=True)


def test_a_sweep_on_s3_is_as_one_on_a_disk(bucket: str, tmp_path: Path) -> None:
    (tmp_path / "small.yaml").write_text(SPEC)
    (tmp_path / "one.yaml").write_text("kind: local\nworkers: 1\n")
    where = ["--cluster", tmp_path / "one.yaml"]
    place = f"{bucket}/sweeps/small"
    result = run("run", tmp_path / "small.yaml", "--out", place, *where)
    assert result.exit_code == 0, result.output
    assert f"treesweep report {place}" in result.output
    assert run("run", tmp_path / "small.yaml", "--out", tmp_path / "disk", *where).exit_code == 0
    wanted = results(str(tmp_path / "disk"))
    pd.testing.assert_frame_equal(results(place), wanted)

    found = json.loads(run("status", place, "--json").stdout)
    assert (found["folder"], found["done"], found["live"]) == (place, 4, False)
    result = run("verify", place, "--proof")
    assert result.exit_code == 0, result.output
    assert "4 rows checked" in result.output
    assert "2 proofs checked" in result.output

    assert "name one with --out" in refused("report", place)
    assert "name one with --out" in refused("report", tmp_path / "disk", "--out", f"{place}/report")
    result = run("report", place, "--out", tmp_path / "report")
    assert result.exit_code == 0, result.output
    assert "monks-1" in (tmp_path / "report" / "index.html").read_text()

    # A part is damaged, and the plan; what they held is made again.
    folder = open_folder(place)
    generation = folder.pointed("rows")
    assert generation is not None
    (part, size), *_ = folder.names(generation)
    content = bytearray(folder.read(part))
    content[size // 2] ^= 1
    folder.write(part, bytes(content))
    folder.write("plan.parquet", folder.read("plan.parquet")[:-1])
    for command in ("status", "verify"):
        assert f"'treesweep resume {place}'" in refused(command, place)
    result = run("resume", place, *where)
    assert result.exit_code == 0, result.output
    assert "is damaged" in result.output
    pd.testing.assert_frame_equal(results(place), wanted)
    assert [name for name, _ in folder.names("damaged")] == [f"damaged/{part.rpartition('/')[2]}"]
    assert run("verify", place, "--proof").exit_code == 0


@pytest.mark.usefixtures("bucket")
@pytest.mark.parametrize("command", ["resume", "status", "verify"])
def test_what_is_wrong_with_an_address_is_said_in_a_line(command: str) -> None:
    assert "there is no folder" in refused(command, "s3://treesweep-no-such-bucket/x")
    assert "is no address of objects" in refused(command, "s3://key:secret@bucket")


@pytest.mark.usefixtures("bucket")
def test_a_bucket_that_is_not_there_is_named_before_anything_runs(tmp_path: Path) -> None:
    (tmp_path / "small.yaml").write_text(SPEC)
    line = refused("run", tmp_path / "small.yaml", "--out", "s3://treesweep-no-such-bucket/x")
    assert "there is no bucket 'treesweep-no-such-bucket'" in line


def test_another_sweep_on_s3_is_left_alone(bucket: str, tmp_path: Path) -> None:
    (tmp_path / "small.yaml").write_text(SPEC)
    folder = open_folder(f"{bucket}/theirs")
    folder.write("thesis.tex", b"...")
    line = refused("run", tmp_path / "small.yaml", "--out", folder.place)
    assert "thesis.tex" in line
    assert [name for name, _ in folder.names()] == ["thesis.tex"]


def test_other_readers_can_read_a_store_on_s3(bucket: str, s3_server: str) -> None:
    """As docs/reference/store.md says."""
    folder = open_folder(f"{bucket}/out")
    parts = Parts(folder, "test")
    parts.create()
    rows = pa.table({"key": ["a", "b"]})
    for number in range(2):
        parts.append(rows.slice(number, 1))
    s3 = fs.S3FileSystem(endpoint_override=s3_server)
    place = folder.place.removeprefix("s3://")
    with s3.open_input_file(f"{place}/rows.json") as file:
        where = f"{place}/" + json.loads(file.read())["folder"]
    assert pd.read_parquet(where, filesystem=s3)["key"].tolist() == ["a", "b"]
