"""The one choice of an encoding."""

from __future__ import annotations

import pandas as pd
import pytest

from solver.encodings.auto_encoding import BINS, MOST_CUTS, choose_encoding
from solver.problem.problem import Problem
from treesweep import BranchesClassifier, OSDTClassifier


def numbers(cuts: int) -> pd.DataFrame:
    rows = range(2 * MOST_CUTS)
    return pd.DataFrame(
        {"x": [min(i, cuts) + 0.5 for i in rows], "job": ["ab"[i % 2] for i in rows]}
    )


@pytest.mark.parametrize(
    ("table", "chosen"),
    [
        (numbers(MOST_CUTS), ("thresholds", {})),
        (numbers(MOST_CUTS + 1), ("quantiles", {"k": BINS})),
        (numbers(9)[["job"]], ("onehot", {})),
    ],
)
def test_tables_and_estimators_choose_alike(
    table: pd.DataFrame, chosen: tuple[str, dict[str, int]]
) -> None:
    assert choose_encoding(table, None, cuts_numbers=False) == chosen
    target = [int(i % 5 == 0) for i in range(len(table))]
    name, options = chosen
    asked = Problem.from_table(table.assign(y=target), "y", name, **options)
    assert Problem.from_table(table.assign(y=target), "y", "auto").tests == asked.tests
    for estimator in (BranchesClassifier, OSDTClassifier):
        model = estimator(lam=0.5).fit(table, target)
        assert [*model.encoder_.tests] == [
            *estimator(lam=0.5, encoding=name, encoding_options=options)
            .fit(table, target)
            .encoder_.tests
        ]


def test_a_solver_that_cuts_numbers_gets_them_as_they_are() -> None:
    assert choose_encoding(numbers(9), None, cuts_numbers=True) == ("continuous", {})


def test_whole_numbers_of_few_values_are_numbers_to_an_estimator() -> None:
    table = pd.DataFrame({"n": [0, 1, 2] * 5})
    assert choose_encoding(table, None, cuts_numbers=False) == ("onehot", {})
    assert choose_encoding(table, None, cuts_numbers=False, few_values=0) == ("thresholds", {})
