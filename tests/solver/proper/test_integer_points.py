"""Rows as points with whole coordinates."""

from __future__ import annotations

import pandas as pd
import pytest

from solver.errors import InputError
from solver.problem.problem import Problem
from solver.proper.integer_points import Points


def points(**columns: list[object]) -> Points:
    return Points.of(Problem.from_table(pd.DataFrame(columns), "y", "continuous"))


def test_decimals_over_their_common_denominator() -> None:
    found = points(a=[0.1, 0.25, 0.3], b=[1e3, 2e3, -1.0], y=[0, 1, 0])
    assert found.columns == ("a", "b")
    assert sorted(found.coordinates.tolist()) == [[2, 1000], [5, 2000], [6, -1]]


def test_a_column_of_the_same_order_is_kept() -> None:
    found = points(a=[1, 2, 3], square=[1.0, 4, 9], y=[0, 1, 0])
    assert sorted(found.coordinates.tolist()) == [[1, 1], [2, 4], [3, 9]]


def test_terms() -> None:
    found = points(a=[1, 2, 3], b=[5, 7, 6], y=[0, 1, 0])
    assert found.powers(2) == ((1, 0), (0, 1), (2, 0), (1, 1), (0, 2))
    assert sorted(found.lifted(2).tolist()) == [
        [1, 5, 1, 5, 25], [2, 7, 4, 14, 49], [3, 6, 9, 18, 36]
    ]  # fmt: skip


def test_what_has_no_hyperplane() -> None:
    with pytest.raises(InputError, match=r"'a' lacks the number in some rows"):
        points(a=[1.0, None, 3.0], b=[1, 2, 2], y=[0, 1, 0])
    with pytest.raises(InputError, match=r"'c' holds no numbers"):
        points(a=[1.0, 2.0, 3.0], c=["p", "q", "p"], y=[0, 1, 0])


def test_what_has_no_numbers_left() -> None:
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "y": [0, 1, 0]})
    with pytest.raises(InputError, match=r"'a' is cut by the encoding 'thresholds'.*continuous"):
        Points.of(Problem.from_table(frame, "y", "thresholds"))
