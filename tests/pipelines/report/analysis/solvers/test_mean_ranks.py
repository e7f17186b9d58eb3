"""Mean ranks over datasets, against scipy's tests."""

from __future__ import annotations

import math
import random
from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

from pipelines.report.analysis.solvers.mean_ranks import (
    FEWEST_DATASETS,
    LEVEL,
    MeanRanks,
    mean_ranks,
)
from pipelines.report.analysis.solvers.solver_comparison import Instance


def instance(dataset: str, solver: str, seconds: float, excess: float, accuracy: float) -> Instance:
    return Instance(
        "", dataset, "onehot", "", "", "0.1", solver, "proven", seconds, 60.0, excess, 0.0, 0.0,
        1.0, accuracy,
    )  # fmt: skip


def problems(seed: int, solvers: int, datasets: int) -> dict[str, list[list[Instance]]]:
    rng = random.Random(seed)
    figures = [0.0, 0.25, 0.5, 1.0]
    return {
        "binary": [
            [
                instance(f"d{d}", f"s{s}", rng.random(), rng.choice(figures), rng.choice(figures))
                for s in range(solvers)
            ]
            for d in range(datasets)
        ]
    }


@pytest.mark.parametrize("seed", range(20))
def test_ranks_and_p_are_those_of_scipy(seed: int) -> None:
    k, n = 3 + seed % 4, 5 + seed
    given = problems(seed, k, n)
    found = {one.measure: one for one in mean_ranks(given)}
    columns = {
        "search time": lambda i: i.seconds,
        "objective": lambda i: i.excess,
        "held-out accuracy": lambda i: -i.test_accuracy,
    }
    assert found.keys() == columns.keys()
    for measure, figure in columns.items():
        table = np.array([[figure(i) for i in one] for one in given["binary"]])
        own = found[measure]
        means = stats.rankdata(table, axis=1).mean(axis=0)
        assert own.ranks == pytest.approx({f"s{s}": means[s] for s in range(k)})
        assert all(a <= b for a, b in pairwise(own.ranks.values()))
        assert own.p == pytest.approx(stats.friedmanchisquare(*table.T).pvalue)
        quantile = stats.studentized_range.ppf(1 - LEVEL, k, np.inf) / 2**0.5
        expected = quantile * (k * (k + 1) / (6 * n)) ** 0.5
        assert own.difference == pytest.approx(expected, rel=1e-3)


def test_equal_means_are_a_tie_whatever_rounding_makes_of_their_floats() -> None:
    """Of 5 rows in each of two folds, one solver gets 0 and 4 wrong, the other 1 and 3."""
    wrong = {"a": (0, 4), "b": (1, 3)}
    found = [
        [instance(f"d{d}", s, 1.0, n[fold] / 5, 1 - n[fold] / 5) for s, n in wrong.items()]
        for d in range(6) for fold in (0, 1)
    ]  # fmt: skip
    assert len({math.fsum(1 - n / 5 for n in own) for own in wrong.values()}) == 2
    for one in mean_ranks({"binary": found}):
        assert one.ranks == {"a": 1.5, "b": 1.5}, one.measure


def test_groups_that_are_not_told_apart_are_the_largest() -> None:
    ranks = {"a": 1.0, "b": 1.6, "c": 2.2, "d": 4.0}
    assert MeanRanks("", "", 9, ranks, 0, 0.7).alike == [("a", "b"), ("b", "c")]
    assert MeanRanks("", "", 9, ranks, 0, 1.3).alike == [("a", "c")]
    assert MeanRanks("", "", 9, ranks, 0, 0.1).alike == []


def test_few_datasets_or_missing_figures_give_none() -> None:
    assert mean_ranks(problems(0, 3, FEWEST_DATASETS - 1)) == []
    assert mean_ranks(problems(0, 1, 9)) == []
    given = problems(0, 3, 9)
    given["binary"] = [
        [instance(i.dataset, i.solver, i.seconds, 0.0, float("nan")) for i in one]
        for one in given["binary"]
    ]
    # Of equal figures all ranks are the same, and nothing tells the solvers apart.
    measures = {one.measure: one for one in mean_ranks(given)}
    assert measures.keys() == {"search time", "objective"}
    assert set(measures["objective"].ranks.values()) == {2.0}
    assert measures["objective"].p == 1.0
    # A dataset without a problem that all solvers have does not count.
    given["binary"] = [one[: 2 + (number < 4)] for number, one in enumerate(given["binary"])]
    assert mean_ranks(given) == []
