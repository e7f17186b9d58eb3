"""Tests of benchmarks/numbers_path.py."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from benchmarks import numbers_path
from benchmarks.quantbnb_in_shards import read_problem
from solver import Limits
from solver.path import path_search

LAM = "1/200"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A folder with one set of numbers, three classes and noise."""
    draw = np.random.default_rng(5)
    table = pd.DataFrame(draw.normal(size=(150, 3)), columns=["a", "b", "c"])
    table["target"] = (table["a"] > 0).astype(int) + (table["b"] * table["c"] > 0)
    noisy = draw.random(150) < 0.1
    table.loc[noisy, "target"] = draw.integers(0, 3, noisy.sum())
    table["split"] = "train"
    folder = tmp_path / "continuous" / "class"
    folder.mkdir(parents=True)
    table.to_parquet(folder / "small.parquet")
    return tmp_path


def test_both_paths_are_the_same_and_the_first_one_carries(data: Path) -> None:
    problem = read_problem(data, "small", False)
    (alone, path, without), seconds = numbers_path.measure(problem, Fraction(LAM), 2, 1)
    assert path.lams == without.lams
    assert path.losses == without.losses
    assert (path.steps[0].errors, path.steps[0].splits) == (alone.errors, alone.splits)
    assert path.iterations < without.iterations
    assert len(seconds) == 3


def test_it_fails_where_the_paths_differ(
    data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    order = [str(data), "--sets", "small", "--cells", f"2:{LAM}", "--repeat", "1"]
    assert numbers_path.main(order) == 0
    assert "| small | 2 | 1/200 |" in capsys.readouterr().out
    shallow = iter((False, True))

    def find_path(problem: Any, lam: Any, series: Any, limits: Any) -> Any:
        return path_search.find_path(
            problem, lam, series, Limits(depth=1) if next(shallow) else limits
        )

    monkeypatch.setattr(numbers_path, "find_path", find_path)
    assert numbers_path.main(order) == 1
    assert "not all paths are the same" in capsys.readouterr().err
