"""Tests of benchmarks/quantbnb_in_shards.py."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmarks.quantbnb_in_shards import main


def test_shards_in_turns_find_the_cost_of_the_whole(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(1)
    table = pd.DataFrame(rng.normal(size=(120, 3)), columns=[*"abc"])
    table["target"] = ((table["a"] > 0.2) ^ (table["c"] > 0)).astype(int)
    table["split"] = "train"
    (tmp_path / "continuous" / "class").mkdir(parents=True)
    table.to_parquet(tmp_path / "continuous" / "class" / "xor.parquet")
    assert main([str(tmp_path), "--sets", "xor", "--depth", "2", "--shards", "1", "2", "5"]) == 0
    lines = capsys.readouterr().out.splitlines()[-3:]
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]
    assert [row[3] for row in rows] == ["1", "2", "5"]
    assert (rows[0][4], rows[0][5]) == ("1.00", "1.00")
    assert all(float(row[4]) > 0.5 for row in rows)
