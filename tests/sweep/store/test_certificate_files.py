"""Tests of sweep/store/certificate_files.py."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import solver
from solver.branches import Branches
from solver.errors import InputError
from solver.verify.certificate import Certificate, Claim
from sweep.filesystem import open_folder
from sweep.store import certificate_files, checksummed_parquet

LAM = Fraction(1, 50)
CODES = [[0, 0, 1], [0, 1, 1], [1, 0, 0], [1, 1, 1]] * 3


@pytest.fixture(scope="module")
def problem() -> solver.Problem:
    return solver.Problem.from_codes(CODES, [0, 1, 1, 0] * 3)


@pytest.fixture(scope="module")
def certificate(problem: solver.Problem) -> Certificate:
    solution = solver.solve(problem, LAM)
    return Branches().certify(
        problem, certificate_files.claims_of(solution, None), solver.Limits(), None
    )


def test_a_certificate_comes_back_as_it_was(tmp_path: Path, certificate: Certificate) -> None:
    folder = open_folder(tmp_path)
    folder.write(certificate_files.relative_path("k"), certificate_files.to_bytes(certificate))
    path = tmp_path / certificate_files.relative_path("k")
    assert [p.name for p in path.parent.iterdir()] == ["k.parquet"]
    columns, meta = certificate_files.read_certificate(folder, certificate_files.relative_path("k"))
    assert meta == certificate.meta
    assert set(columns) == set(certificate.columns())
    for name, expected in certificate.columns().items():
        assert list(columns[name]) == list(expected)
        if isinstance(expected, np.ndarray):
            assert columns[name].dtype == expected.dtype  # type: ignore[union-attr]
    # Plain types, for any reader.
    kinds = {field.name: str(field.type) for field in pq.read_schema(path)}
    assert kinds == {
        "lam": "string", "level": "int32", "feature": "int32", "code": "int32",
        "bound": "int64", "rule": "string",
    }  # fmt: skip


def test_a_damaged_certificate_is_named(tmp_path: Path, certificate: Certificate) -> None:
    folder, path = open_folder(tmp_path), tmp_path / "c.parquet"
    content = certificate_files.to_bytes(certificate)
    with pytest.raises(InputError, match=r"c\.parquet is not there"):
        certificate_files.read_certificate(folder, "c.parquet")
    for damaged in (b"", content[:-30], content[:20] + bytes([content[20] ^ 255]) + content[21:]):
        path.write_bytes(damaged)
        with pytest.raises(InputError, match=r"c\.parquet is damaged"):
            certificate_files.read_certificate(folder, "c.parquet")
    checksummed_parquet.write_table(folder, "c.parquet", pa.table({"lam": ["1/2"]}))
    with pytest.raises(InputError, match="is no certificate"):
        certificate_files.read_certificate(folder, "c.parquet")
    table = pa.table({"lam": ["1/2", None]}, metadata={"treesweep-certificate": "{}"})
    checksummed_parquet.write_table(folder, "c.parquet", table)
    with pytest.raises(InputError, match="is not what a solver writes"):
        certificate_files.read_certificate(folder, "c.parquet")


def test_what_is_proven_is_claimed_and_nothing_else(problem: solver.Problem) -> None:
    done = solver.solve(problem, LAM)
    assert certificate_files.claims_of(done, None) == [Claim(LAM, done.errors, done.splits)]
    cut = solver.solve(problem, LAM, limits=solver.Limits(nodes=0))
    assert certificate_files.claims_of(cut, None) == []
    path = solver.regularization_path(problem, LAM)
    claims = certificate_files.claims_of(done, path)
    assert [claim.lam for claim in claims] == list(path.lams)
    assert [(claim.errors, claim.splits) for claim in claims] == [
        (step.errors, step.splits) for step in path.steps
    ]
    rough = solver.regularization_path(problem, LAM, "cart")
    assert certificate_files.claims_of(done, rough) == []
