"""Testing on rows that trees were not grown on."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pipelines.cli.problem_options import held_out_words
from pipelines.single_table.held_out import HeldOut, check_validation, validate, validate_path
from pipelines.single_table.solve import Request, find_path_request, load, settle
from solver import InputError, Problem, Tree, regularization_path, solve
from solver.trees.tree import Node
from sweep.spec.folds import Fold, held_out
from tests.helpers.commands import refused, run


@pytest.fixture
def table(tmp_path: Path) -> Path:
    draw = np.random.default_rng(3)
    frame = pd.DataFrame(draw.integers(0, 3, (90, 4)), columns=list("abcd"))
    frame["y"] = np.where(draw.random(90) < 0.2, "n", np.where(frame["a"] > 1, "y", "n"))
    frame["z"] = frame["a"] * 2.5 + draw.random(90)
    frame["w"] = draw.integers(0, 4, 90)
    frame.to_csv(tmp_path / "t.csv", index=False)
    return tmp_path / "t.csv"


@pytest.mark.parametrize("weights", [None, "w"])
@pytest.mark.parametrize(("holdout", "folds"), [(0.3, None), (None, 4)])
def test_figures_are_those_of_predictions_on_unseen_rows(
    table: Path, holdout: float | None, folds: int | None, weights: str | None
) -> None:
    columns = {"z": "drop"} | ({} if weights else {"w": "drop"})
    request = settle(Request(str(table), "0.02", target="y", columns=columns, weights=weights))
    validation = check_validation(holdout, folds)
    assert validation is not None
    found = validate(request, validation, lambda: False, None)
    assert found is not None
    frame = pd.read_csv(table)
    loaded = load(request)
    seen = np.zeros(len(frame), dtype=int)
    for fold, (quality, baseline) in enumerate(zip(found.quality, found.baseline, strict=True)):
        described = {**validation, "stratify": True}
        test = held_out(described, Fold(0, fold), loaded.dataset.labels[1])
        seen += test
        train = frame[~test]
        mass = frame["w"] if weights else pd.Series(1, frame.index)
        problem = Problem.from_table(
            train[[*"abcd", "y"]], "y", "onehot", weights=mass[~test].to_numpy()
        )
        tree = solve(problem, "0.02", "branches").tree
        right = (tree.predict(frame[test]) == frame["y"][test]).to_numpy()
        assert quality == pytest.approx((right * mass[test]).sum() / mass[test].sum())
        majority = mass[~test].groupby(train["y"]).sum().idxmax()
        right = (frame["y"][test] == majority).to_numpy()
        assert baseline == pytest.approx((right * mass[test]).sum() / mass[test].sum())
    assert (seen == 1).all() if folds else seen.sum() == 27


def test_a_path_is_tested_step_by_step(table: Path) -> None:
    request = settle(Request(str(table), "0.005", target="y", columns={"z": "drop", "w": "drop"}))
    validation = check_validation(None, 3)
    assert validation is not None
    path = find_path_request(request).path
    found = validate_path(request, validation, path, lambda: False, None)
    assert found is not None
    assert len(found) == len(path.steps) > 2
    frame = pd.read_csv(table)[[*"abcd", "y"]]
    codes = load(request).dataset.labels[1]
    for fold in range(3):
        test = held_out({**validation, "stratify": True}, Fold(0, fold), codes)
        problem = Problem.from_table(frame[~test], "y", "onehot")
        own = regularization_path(problem, "0.005")
        for step, tested in zip(path.steps, found, strict=True):
            lam = Fraction(9) if step.end is None else (step.start + step.end) / 2
            tree = own.solution_at(lam).tree
            right = (tree.predict(frame[test]) == frame["y"][test]).mean()
            assert tested.quality[fold] == pytest.approx(right)
    # The tree without a split is the baseline.
    assert found[-1].quality == found[-1].baseline


def test_the_steps_of_a_path_stand_beside_their_accuracy(table: Path) -> None:
    given = ["path", table, "--target", "y", "--lam-min", "0.01", "--column", "z=drop"]
    data = json.loads(run(*given, "--cv", "3", "--json").stdout)
    assert len(data["held_out"]) == len(data["steps"])
    shown = run(*given, "--cv", "3").stdout
    assert "unseen accuracy" in shown
    assert "mean ± standard error over 3 folds; the majority class has" in shown
    assert f"{data['held_out'][0]['mean']:.3f}"[:5] in shown
    assert "on the rows held out; the majority" in run(*given, "--holdout", "0.25").stdout
    assert "unseen" not in run(*given).stdout
    assert "exclude each other" in refused(*given, "--cv", "3", "--holdout", "0.25")
    numbers = ["path", table, "--target", "z", "--task", "regression", "--lam-min", "0.05"]
    shown = run(*numbers, "--column", "y=drop", "--column", "w=drop", "--cv", "3").stdout
    assert "unseen RMSE" in shown
    assert "the mean has" in shown


def test_regression_is_measured_by_its_error(table: Path) -> None:
    given = ["solve", table, "--target", "z", "--task", "regression", "--lam", "0.01",
             "--column", "y=drop", "--column", "w=drop", "--cv", "3"]  # fmt: skip
    data = json.loads(run(*given, "--json").stdout)["held_out"]
    assert len(data["folds"]) == 3
    assert data["mean"] < data["baseline"] / 2
    shown = run(*given).stdout
    assert f"RMSE {data['mean']:.3g}"[:8] in shown
    assert "(± standard error) over 3 folds on unseen rows; the mean has" in shown
    assert data["standard_deviation"] == pytest.approx(np.std(data["folds"], ddof=1))
    assert data["standard_error"] == pytest.approx(data["standard_deviation"] / 3**0.5)
    assert f" ± {data['standard_error']:.3g}"[:7] in shown


def test_no_share_below_one_is_shown_as_one() -> None:
    leaf = Tree((Node((1, 0), 0),), {}, ("a", "b"))
    assert held_out_words(HeldOut((0.99999, 1.0), (0.99999, 0.99999)), leaf) == (
        "0.9999 ± 5.000e-06",
        "0.9999",
    )


def test_the_accuracy_stands_beside_that_of_the_majority(table: Path) -> None:
    given = ["solve", table, "--target", "y", "--lam", "0.02", "--column", "z=drop"]
    shown = run(*given, "--holdout", "0.25").stdout
    assert "on unseen rows; the majority class has" in shown
    assert "held out" not in run(*given).stdout


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["--holdout", "0.2", "--cv", "3"], "exclude each other"),
        (["--holdout", "1.5"], "--holdout 1.5"),
        (["--cv", "1"], "--cv 1"),
        (["--cv", "500"], "too few"),
    ],
)
def test_bad_input_is_one_line(table: Path, given: list[str], words: str) -> None:
    assert words in refused("solve", table, "--target", "y", "--lam", "0.1", *given)


def test_a_stopped_validation_has_no_figure(table: Path) -> None:
    request = settle(Request(str(table), "0.02", target="y"))
    assert validate(request, {"kind": "kfold", "folds": 3, "seed": 0}, lambda: True, None) is None


def test_validation_is_checked() -> None:
    assert check_validation(None, None) is None
    with pytest.raises(InputError):
        check_validation(0.0, None)
