"""The benchmark of proper decision trees, on sizes that take no time."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmarks import proper
from benchmarks.proper import Case


def lines(capsys: pytest.CaptureFixture[str]) -> list[list[str]]:
    rows = capsys.readouterr().out.splitlines()[2:]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]


def test_seconds_to_the_proof(capsys: pytest.CaptureFixture[str]) -> None:
    proper.timed((Case("hyperplane", 12, 2, 1, 60),), [0.0, 0.5], 60)
    rows = [dict(zip(proper.COLUMNS, row, strict=True)) for row in lines(capsys)]
    assert [row["noise"] for row in rows] == ["0.0", "0.5"]
    assert all(row["status"] == "optimal" for row in rows)
    assert all(row["different rules"] == "66" for row in rows)
    assert all(int(row["errors"]) <= int(row["CART"]) for row in rows)


def test_the_published_algorithm_beside(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proper, "PAPER", (Case("axis", 8, 2, 2),))
    proper.paper([0.5], 60)
    (row,) = lines(capsys)
    assert int(row[proper.PAIRS.index("combinations")]) > 0


def test_hits_of_the_memo(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proper, "MEMO", (Case("axis", 30, 2, 4),))
    proper.memo([0.5], 60)
    (row,) = lines(capsys)
    lookups, hits = (int(row[proper.HITS.index(name)]) for name in ("lookups", "hits"))
    assert 0 <= hits <= lookups
    assert lookups > 0


def test_regression_beside_other_solvers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    random = np.random.default_rng(0)
    table = pd.DataFrame(random.normal(size=(30, 3)), columns=["f0", "f1", "target_0"])
    table["split"] = ["train"] * 25 + ["test"] * 5
    (tmp_path / "continuous" / "regress").mkdir(parents=True)
    table.to_parquet(tmp_path / "continuous" / "regress" / "qsar.parquet")
    cases = (
        proper.Squares("qsar", "axis", 3, depth=2),
        proper.Squares("qsar", "hyperplane", 1, rows=8, features=2, paper=True),
    )
    monkeypatch.setattr(proper, "SQUARES", cases)
    proper.regression(tmp_path, 60)
    first, second = (dict(zip(proper.FITS, row, strict=True)) for row in lines(capsys))
    assert (first["rows"], first["features"], first["outputs"], first["depth"]) == (
        "25", "2", "1", "2",
    )  # fmt: skip
    assert first["status"] == second["status"] == "optimal"
    assert float(first["squared error"]) <= float(first["CART"])
    assert float(first["quantbnb s"]) > 0 < float(second["paper s"])
    assert (first["paper s"], second["quantbnb s"]) == ("", "")
