"""Tests of what a check finds in a store: lambda_paths.py and certificates.py of sweep/verify."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sweep.filesystem import open_folder
from sweep.rows.schema import SCHEMA
from sweep.spec.spec import parse_spec
from sweep.store import checksummed_parquet
from sweep.store.certificate_files import read_certificate, relative_path
from sweep.verify.verify import Verification, verify_sweep
from tests.helpers import without_dask

Row = dict[str, Any]

SPEC = """
name: paths
datasets: [monks-1]
encodings: [onehot]
lambdas: [0.05, 0.01]
solvers:
  - {solver: branches, lam: path, proof: true}
  - {solver: branches, proof: true, options: {depth: 3}}
  - {solver: cart, lam: path}
  - cart
validation: {kind: kfold, folds: 2}
"""


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("paths") / "out"
    without_dask.finish(folder, parse_spec(SPEC))
    return Path(folder)


@pytest.fixture
def out(sound: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(sound, tmp_path / "out", symlinks=True))


def changed(out: Path, change: Callable[[Row], None], which: int = 0) -> Row:
    """Change one row: by default that of a path with a proof."""
    (part,) = (out / "rows").glob("*.parquet")
    rows = pq.read_table(part).to_pylist()
    change(rows[which])
    part.write_bytes(checksummed_parquet.to_bytes(pa.Table.from_pylist(rows, schema=SCHEMA)))
    return dict(rows[which])


def problems(found: Verification) -> str:
    return "\n".join(finding.problem for finding in found.findings)


def test_a_sound_store_has_no_findings(sound: Path) -> None:
    rows = pq.read_table(sound / "rows").to_pylist()
    assert rows[0]["path"] is not None
    steps = sum(len(row["path"] or ()) for row in rows)
    found = verify_sweep(sound)
    assert (found.rows, found.trees, found.proofs, found.findings) == (12, 12 + steps, 0, [])
    told: list[str] = []
    found = verify_sweep(sound, proof=True, tell=told.append)
    assert (found.proofs, found.findings) == (6, [])
    assert len(told) == 6
    assert "λ = path from 0.01" in told[0]


def step(number: int, **values: Any) -> Callable[[Row], None]:
    return lambda row: row["path"][number].update(values)


def point(number: int, **values: Any) -> Callable[[Row], None]:
    return lambda row: row["path_points"][number].update(values)


def _swap_trees(row: Row) -> None:
    row["path"][1]["tree"], row["path"][2]["tree"] = row["path"][2]["tree"], row["path"][1]["tree"]


def _better(row: Row) -> None:
    """A step that claims an error less, with all that follows from it."""
    first, second, *_ = row["path"]
    second["errors"] -= 1
    meets = Fraction(second["errors"] - first["errors"], row["total_weight"])
    meets /= first["splits"] - second["splits"]
    first["lam_end"] = second["lam"] = str(meets)


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda row: row.update(path=None), "was asked for a path and has none"),
        (lambda row: row.update(path=[]), "the first step of its path has lam None"),
        (lambda row: row.update(path_points=None), "was asked for a path and has none"),
        (step(0, lam="1/99"), "the first step of its path has lam 1/99, the row 1/100"),
        (step(0, test_errors=99), "the first step of its path has test_errors 99"),
        (step(1, lam="x"), "its path cannot be read"),
        (step(1, errors=None), "its path cannot be read"),
        (step(1, tree=None), "its path cannot be read"),
        (point(0, lam=None), "its path cannot be read"),
        (step(1, test_errors=99), "test_errors is 99, the tree and the data say"),
        (step(1, depth=9), "depth is 9, the tree and the data say"),
        (step(1, leaves=9), "leaves is 9, the tree and the data say"),
        (_swap_trees, "the tree and the data say"),
        (_better, "that branches proved"),
        (step(1, lam="1/15"), "the next begins at 1/15"),
        (step(1, proven=False), "is called not proven"),
        (lambda row: row["path"].pop(1), "their objectives are equal at"),
        (lambda row: row["path"].pop(), "does not end with the tree without a split"),
        (lambda row: row["path_points"].clear(), "is called proven"),
        (lambda row: row["path_points"].pop(2), "is called proven"),  # a corner; others are spare
        (point(1, lower_bound="9/10"), "its lower bound 9/10 at λ ="),
        (point(1, lower_bound=None), "bounds and none"),
        (point(-1, lower_bound="1/9"), "is called proven"),
        (lambda row: row.update(status="time_limit"), "the status is time_limit"),
        (lambda row: row.update(proof=None), "was asked for a proof and has none"),
        (lambda row: row.update(proof=None, error="no\nwhy not"), "has none (why not)"),
        (lambda row: row.update(proof="proofs/x.parquet"), "its certificate is 'proofs/x.parquet'"),
        (lambda row: row.update(proof_bytes=3), "bytes, the row says 3"),
    ],
)  # fmt: skip
def test_each_wrong_thing_is_found(out: Path, change: Callable[[Row], None], message: str) -> None:
    row = changed(out, change)
    found = verify_sweep(out)
    assert message in problems(found)
    assert row["key"] in {finding.key for finding in found.findings}


def test_a_path_that_was_not_asked_for_is_found(out: Path) -> None:
    path = pq.read_table(out / "rows").to_pylist()[0]["path"]
    changed(out, lambda row: row.update(path=path), which=1)
    assert "it has a path unasked" in problems(verify_sweep(out))


def test_a_bound_of_a_path_above_what_another_run_reached_is_found(out: Path) -> None:
    """The objective of a single run is below what a path claims to have proven there."""

    def claim_less(row: Row) -> None:
        assert (row["solver"], row["lam_exact"], row["path"]) == ("cart", "1/100", None)
        value = Fraction(row["objective_exact"]) - Fraction(1, 10)
        row.update(objective=float(value), objective_exact=str(value))

    changed(out, claim_less, which=5)
    assert "branches proved" in problems(verify_sweep(out))


# Certificates


def rewrite(out: Path, change: Callable[[dict[str, Any], dict[str, Any]], None]) -> None:
    """Change the certificate of the first row, and its size in the row."""
    row = pq.read_table(out / "rows").to_pylist()[0]
    path = out / row["proof"]
    columns, meta = read_certificate(open_folder(out), row["proof"])
    plain = {name: list(values) for name, values in columns.items()}
    change(plain, meta)
    old = pq.read_schema(path)
    table = pa.table(plain, schema=pa.schema([old.field(name) for name in plain]))
    table = table.replace_schema_metadata({"treesweep-certificate": json.dumps(meta)})
    path.write_bytes(checksummed_parquet.to_bytes(table))
    changed(out, lambda row: row.update(proof_bytes=path.stat().st_size))


def test_a_certificate_that_is_gone_or_damaged_is_found(out: Path) -> None:
    row = pq.read_table(out / "rows").to_pylist()[0]
    path = out / row["proof"]
    content = path.read_bytes()
    path.write_bytes(content[:50] + bytes([content[50] ^ 255]) + content[51:])
    assert "is damaged" in problems(verify_sweep(out, proof=True))
    path.unlink()
    assert "is not there" in problems(verify_sweep(out))


def test_a_certificate_of_another_run_is_refused(out: Path) -> None:
    rows = pq.read_table(out / "rows").to_pylist()
    other = next(row for row in rows if row["fold"] == 1 and row["proof"] and row["path"])
    content = (out / other["proof"]).read_bytes()
    (out / relative_path(rows[0]["key"])).write_bytes(content)
    changed(out, lambda row: row.update(proof_bytes=len(content)))
    assert verify_sweep(out).findings == []
    (finding,) = verify_sweep(out, proof=True).findings
    assert finding.key == rows[0]["key"]
    assert "certificate" in finding.problem


def test_a_dishonest_certificate_is_refused_with_its_row(out: Path) -> None:
    def more(columns: dict[str, Any], meta: dict[str, Any]) -> None:
        columns["bound"][0] += 1

    rewrite(out, more)
    (finding,) = verify_sweep(out, proof=True).findings
    assert "its certificate is refused: row 0" in finding.problem


def test_a_certificate_that_proves_less_than_the_row_claims_is_found(out: Path) -> None:
    def less(columns: dict[str, Any], meta: dict[str, Any]) -> None:
        columns["bound"][0] -= 1

    rewrite(out, less)
    assert "its certificate proves the lower bound" in problems(verify_sweep(out, proof=True))


def test_a_certificate_without_a_corner_is_found(out: Path) -> None:
    def fewer(columns: dict[str, Any], meta: dict[str, Any]) -> None:
        kept = [i for i, lam in enumerate(columns["lam"]) if lam != columns["lam"][-1]]
        for name, values in columns.items():
            columns[name] = [values[i] for i in kept]

    rewrite(out, fewer)
    assert "its certificate proves nothing at λ =" in problems(verify_sweep(out, proof=True))


def test_a_certificate_of_a_smaller_depth_is_refused(out: Path) -> None:
    """It proves that no shallow tree is better, and the row says that of all trees."""
    rows = pq.read_table(out / "rows").to_pylist()
    shallow = next(row for row in rows if "depth" in row["limits"])
    content = (out / shallow["proof"]).read_bytes()
    (out / relative_path(rows[0]["key"])).write_bytes(content)
    changed(out, lambda row: row.update(proof_bytes=len(content)))
    assert "for trees up to depth 3, its limit is None" in problems(verify_sweep(out, proof=True))
