"""The benchmark of regression trees runs and says what it measures."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmarks import regression


@pytest.fixture
def data(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    folder = tmp_path / "continuous" / "regress"
    folder.mkdir(parents=True)
    for name in ("casp", "qsar"):
        table = pd.DataFrame(rng.normal(size=(60, 4)), columns=["f0", "f1", "target_0", "target_1"])
        table["split"] = ["train"] * 50 + ["test"] * 10
        table.to_parquet(folder / f"{name}.parquet")
    return tmp_path


def lines(capsys: pytest.CaptureFixture[str]) -> list[list[str]]:
    printed = capsys.readouterr().out.splitlines()
    return [line[2:-2].split(" | ") for line in printed if line.startswith("|")]


def test_table_of_fits(
    data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    argv = ["regression.py", str(data), "--depth", "1", "2", "--sets", "qsar", "--times", "2"]
    monkeypatch.setattr(sys, "argv", argv)
    regression.main()
    head, _, *rows = lines(capsys)
    found = [dict(zip(head, row, strict=True)) for row in rows]
    assert [(row["rows"], row["outputs"], row["depth"]) for row in found] == [
        ("50", "2", "1"),
        ("50", "2", "2"),
    ]
    assert all(row["status"] == "optimal" for row in found)
    assert float(found[0]["squared error"]) > float(found[1]["squared error"])


def test_table_of_growth(
    data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    argv = ["regression.py", str(data), "--sets", "qsar", "--growth", "--times", "1"]
    monkeypatch.setattr(sys, "argv", argv)
    regression.main()
    _, _, *rows = lines(capsys)
    assert [row[:2] for row in rows[-2:]] == [["qsar", "50"], ["qsar ×10", "500"]]
    once, ten_times = (float(row[4]) for row in rows[-2:])
    assert ten_times == pytest.approx(10 * once, rel=1e-5)
