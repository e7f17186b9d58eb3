"""The quality of trees: accuracy, or R² and RMSE in regression.

Validation compares scores: the accuracy on held-out rows, or minus the mean squared error. The RMSE
over several folds is the root of their mean squared error.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from pipelines.report.data import formatting
from pipelines.report.data.group_statistics import Floats, Groups, floats
from solver.features.number_format import share, significant

REGRESSION = "regression"
COLUMNS = ("train_accuracy", "test_accuracy", "train_r2", "test_r2", "train_rmse", "test_rmse")
TEST_COLUMNS = ("test_accuracy", "test_r2", "test_rmse")


class QualityColumns(NamedTuple):
    """The quality that charts show: its columns, its title, and whether it is in percent."""

    train: str
    test: str
    title: str
    percent: bool

    @property
    def name(self) -> str:
        """The title within a sentence."""
        return self.title if not self.percent else self.title.lower()


def quality_columns(table: pd.DataFrame) -> QualityColumns:
    """The quality that a chart of some points shows."""
    if is_regression(table):
        return QualityColumns("train_r2", "test_r2", "R²", False)
    return QualityColumns("train_accuracy", "test_accuracy", "Accuracy", True)


def is_regression(table: pd.DataFrame) -> bool:
    """Whether any of these rows or points is of regression."""
    return bool((table["task"] == REGRESSION).any())


def is_tested(table: pd.DataFrame) -> bool:
    """Whether any row or point was scored on held-out rows."""
    return any(bool(table[name].notna().any()) for name in ("test_accuracy", "test_rmse"))


def fill_tasks(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows with a task and a loss in each: a classification's loss follows from its errors."""
    numbers = (rows["task"].astype(object) == REGRESSION).to_numpy(bool)
    names = pd.Index(["classification", REGRESSION])
    task = pd.Categorical.from_codes(numbers.astype(np.int64), names)
    loss = floats(rows["loss"])
    wrong = floats(rows["errors"]) / floats(rows["total_weight"])
    return rows.assign(task=task, loss=np.where(np.isnan(loss), wrong, loss))


def scores(values: Mapping[str, Floats], numbers: Any) -> Floats:
    """What validation compares, the more the better."""
    return np.where(numbers, -(values["test_rmse"] ** 2), values["test_accuracy"])


def open_gap(gap: Floats, rows: pd.DataFrame) -> Floats:
    """The gaps of some rows; those within the tolerance of regression are 0."""
    return np.where(gap <= np.nan_to_num(floats(rows["tolerance"])), 0.0, gap)


def at_least(best: float, error: float = 0.0) -> float:
    """The least score that comes within an error of the best one. What rounding may cause is
    measured by these two: in regression other scores may be larger by many powers of ten."""
    return best - error - 1e-12 * (abs(best) + abs(error))


def r2(value: Any) -> str:
    """A share of the variance."""
    return (
        share(float(value), 3).replace("-", "−") if formatting.is_number(value) else formatting.NONE
    )


def rmse(value: Any) -> str:
    """A root mean squared error with four significant digits."""
    return significant(float(value)) if formatting.is_number(value) else formatting.NONE


def rmse_error(point: Any) -> str:
    """The standard error of a point's test RMSE: that of its square, by the slope of the root."""
    root, error = point["test_rmse"], point["test_error"]
    if not formatting.is_number(error) or not root:
        return ""
    return f" ± {significant(float(error) / (2 * float(root)), 2)}"


def test_words(point: Any) -> str:
    """Quality on held-out rows with its standard error: ``93.1 % ± 0.4``, ``RMSE 9.1 ± 0.3, …``"""
    if point["task"] == REGRESSION:
        return f"RMSE {rmse(point['test_rmse'])}{rmse_error(point)}, R² {r2(point['test_r2'])}"
    return formatting.percent(point["test_accuracy"]) + spread_words(point["test_error"])


def spread_words(error: Any) -> str:
    """The standard error of a share: `` ± 0.4``; empty without one."""
    return f" ± {formatting.points(error)}" if formatting.is_number(error) else ""


def train_words(point: Any) -> str:
    """Quality on training rows: ``97.0 %``, ``RMSE 7.2, R² 0.81``."""
    if point["task"] == REGRESSION:
        return f"RMSE {rmse(point['train_rmse'])}, R² {r2(point['train_r2'])}"
    return formatting.percent(point["train_accuracy"])


def train_sentence(point: Any) -> str:
    """The quality on training rows as a sentence without its full stop."""
    if point["task"] == REGRESSION:
        return (
            f"It explains {formatting.percent(point['train_r2'])} of the variance of the training "
            f"rows (RMSE {rmse(point['train_rmse'])})"
        )
    return f"It gets {formatting.percent(point['train_accuracy'])} of the training rows right"


def root(values: Floats) -> Floats:
    """Roots of means of squares; missing ones stay so."""
    return np.sqrt(np.maximum(values, 0.0))


def number(value: Any) -> float | None:
    """A finite number, or None."""
    return float(value) if formatting.is_number(value) else None


def mean_tests(rows: pd.DataFrame, over: Groups) -> dict[str, Floats]:
    """The quality on held-out rows of groups of rows. There is no mean R² if a row lacks it."""
    values = {name: floats(rows[name]) for name in TEST_COLUMNS}
    values["test_r2"] = over.if_all(values["test_r2"], values["test_rmse"])
    return {name: over.mean_share(values[name]) for name in ("test_accuracy", "test_r2")} | {
        "test_rmse": root(over.mean(values["test_rmse"] ** 2))
    }
