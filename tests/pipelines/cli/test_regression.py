"""Regression on the command line: ``solve``, ``path`` and ``predict``."""

from __future__ import annotations

import io
import json
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import solver
from pipelines.single_table.resumable_search import search_identity
from solver.limits import Limits
from solver.objective.exact_objective import as_lambda
from solver.problem.problem import Problem
from tests.helpers.commands import refused, run

HOW = ["--task", "regression", "--encoding", "continuous", "--solver", "quantbnb"]


@pytest.fixture
def wages(tmp_path: Path) -> Path:
    """Pay follows age and the trade; days only the age."""
    path = tmp_path / "wages.csv"
    rows = [
        (age, "ab"[age % 2], 1000.0 + 400 * (age > 29) + 100 * (age % 2) + age % 3, age // 10)
        for age in range(20, 40)
    ]
    pd.DataFrame(rows, columns=["age", "trade", "pay", "days"]).to_csv(path, index=False)
    return path


def test_solve_tells_r2_rmse_and_means(wages: Path) -> None:
    given = ["solve", wages, "--target", "pay", "--column", "days=drop", *HOW]
    shown = run(*given, "--lam", "10", "--max-depth", 2).stdout
    assert "20 rows, 2 features, regression of pay" in shown
    assert "age ≤ 29" in shown
    assert "trade = a: 1,001 (5 rows, ± 0.748)" in shown
    assert "fit        R² 0.9999, RMSE 0.8246 on these rows" in shown
    assert "squared error a row + λ 10 × 3 splits" in shown
    assert "the rounding of floats" in shown
    data = json.loads(run(*given, "--lam", "10", "--max-depth", 2, "--json").stdout)
    assert (data["task"], data["n_classes"], data["status"]) == ("regression", 0, "optimal")
    tree = solver.Tree.from_dict(data["tree"])
    frame = pd.read_csv(wages)
    error = frame["pay"] - tree.predict(frame)
    assert data["rmse"] == pytest.approx(math.sqrt((error**2).mean()))
    assert data["r2"] == pytest.approx(1 - (error**2).sum() / (20 * frame["pay"].var(ddof=0)))
    assert Fraction(data["errors_exact"]) == tree.errors
    assert 0 <= data["gap"] <= data["tolerance"]


def test_predict_gives_numbers_and_measures_them(wages: Path, tmp_path: Path) -> None:
    tree = tmp_path / "tree.json"
    run("solve", wages, "--target", "pay", *HOW, "--lam", "10", "--max-depth", 1, "--save", tree)
    result = run("predict", tree, wages)
    table = pd.read_csv(io.StringIO(result.stdout))
    pay = pd.read_csv(wages)["pay"]
    means = [pay[:10].mean()] * 10 + [pay[10:].mean()] * 10
    assert table["prediction"].tolist() == pytest.approx(means)
    rmse = math.sqrt(((pay - means) ** 2).mean())
    assert result.stderr == f"R² 0.9413, RMSE {rmse:.2f}: 20 rows of column 'pay'\n"
    bare = tmp_path / "bare.csv"
    pd.DataFrame({"age": [20, 50]}).to_csv(bare, index=False)
    result = run("predict", tree, bare)
    assert (result.exit_code, result.stderr) == (0, "")
    assert "leave out --proba" in refused("predict", tree, bare, "--proba")


def test_several_targets(wages: Path, tmp_path: Path) -> None:
    tree = tmp_path / "tree.json"
    given = ["solve", wages, "--target", "pay", "--target", "days", *HOW, "--lam", "10"]
    shown = run(*given, "--max-depth", 1, "--save", tree).stdout
    assert "regression of pay, days" in shown
    assert "age ≤ 29: pay 1,051, days 2.00 (10 rows, RMSE" in shown
    result = run("predict", tree, wages)
    table = pd.read_csv(io.StringIO(result.stdout))
    assert list(table.columns) == ["prediction(pay)", "prediction(days)"]
    first, second = result.stderr.splitlines()
    assert first.startswith("R² 0.9413, RMSE 49.")
    assert second == "R² 1.0000, RMSE 0: 20 rows of column 'days'"


def test_path_shows_rmse_along_lambda(wages: Path) -> None:
    given = ["path", wages, "--target", "pay", *HOW, "--lam-min", "10", "--max-depth", 2]
    shown = run(*given).stdout
    header, *rows = (line.split() for line in shown.splitlines()[2:])
    assert header == [
        "λ",
        "from",
        "to",
        "splits",
        "leaves",
        "depth",
        "loss",
        "RMSE",
        "R²",
        "proven",
    ]
    assert rows[0][2:5] == ["3", "4", "2"]
    assert [row[-1] for row in rows[:3]] == ["yes"] * 3
    assert "up to the rounding of floats" in shown
    data = json.loads(run(*given, "--json").stdout)
    assert [step["splits"] for step in data["steps"]] == [3, 1, 0]
    assert data["steps"][-1]["errors"] == pytest.approx(data["leaf_errors"])


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (["--target", "half"], "say --task regression"),
        (["--target", "pay", "--target", "days"], "say --task regression"),
        (["--target", "trade", *HOW, "--max-depth", 2], "cannot be read as numbers"),
        (
            ["--target", "pay", *HOW[:2], "--encoding", "thresholds", "--solver", "branches"],
            "cannot do regression",
        ),
    ],
)
def test_what_does_not_fit_is_refused(wages: Path, given: list[str], why: str) -> None:
    frame = pd.read_csv(wages)
    frame.assign(half=frame["pay"] + 0.5).to_csv(wages, index=False)
    columns = [f"--column={name}=category" for name in ("age",) if "--encoding" not in given]
    assert why in refused("solve", wages, *given, *columns, "--lam", "0.1")


def test_a_state_is_of_one_target() -> None:
    solver_ = solver.get_solver("quantbnb")()
    codes = [[0], [1], [2]]
    problems = [
        Problem.from_codes(codes, np.array(y), task="regression", ordered=True)
        for y in ([0.0, 1.0, 2.0], [0.0, 1.0, 3.0])
    ]
    first, second = (
        search_identity(problem, as_lambda(1), solver_, Limits()) for problem in problems
    )
    assert first["data"] != second["data"]
    assert {**first, "data": ""} == {**second, "data": ""}
