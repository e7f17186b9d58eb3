"""Rows as points with whole coordinates."""

from __future__ import annotations

from contextlib import suppress

import pandas as pd
import pytest

from solver.encodings import fit_encoder
from solver.errors import InputError, UnsupportedError
from solver.problem.problem import Problem
from solver.proper.integer_points import Points, check_points


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


TABLES: dict[str, dict[str, list[object]]] = {
    "numbers": {"a": [1.5, 2.5, 3.5, 9.0], "b": [5, 7, 6, 5]},
    "two values each": {"a": [0, 0, 1, 1], "b": [0, 1, 0, 1]},
    "a constant number": {"a": [1.5, 2.5, 3.5, 9.0], "k": [7.5] * 4},
    "a constant category": {"k": ["p"] * 4, "a": [1.5, 2.5, 3.5, 9.0]},
    "a category": {"a": [1.5, 2.5, 3.5, 9.0], "c": ["p", "q", "q", "p"]},
    "a missing number": {"a": [1.5, 2.5, 3.5, 9.0], "m": [1.0, None, 2.0, 4.0]},
    "one number or none": {"a": [1.5, 2.5, 3.5, 9.0], "m": [1.0, None, 1.0, 1.0]},
    "few whole numbers": {"a": [1, 2, 3, 1], "b": [1, 2, 2, 1]},
}


@pytest.mark.parametrize("encoding", ["continuous", "thresholds", "quantiles", "mdlp", "onehot"])
@pytest.mark.parametrize("columns", TABLES.values(), ids=TABLES)
def test_an_encoder_is_refused_in_the_words_of_its_problem(
    columns: dict[str, list[object]], encoding: str
) -> None:
    frame = pd.DataFrame(columns)
    refusals: list[str | None] = []
    with suppress(UnsupportedError):  # onehot cuts no numbers
        encoder = fit_encoder(encoding, frame, [0, 1, 0, 1], n_classes=2)
        problem = Problem.from_table(frame.assign(y=[0, 1, 0, 1]), "y", encoder=encoder)
        for check in (lambda: check_points(encoder), lambda: Points.of(problem)):
            try:
                check()
            except UnsupportedError as error:
                refusals.append(str(error))
            else:
                refusals.append(None)
        assert len(set(refusals)) == 1
        assert encoding == "continuous" or not problem.n_features or refusals[0]


def test_numbers_that_an_encoding_takes_for_categories() -> None:
    encoder = fit_encoder("onehot", pd.DataFrame({"a": [1, 2, 3]}), [0, 1, 0], n_classes=2)
    with pytest.raises(UnsupportedError, match=r"'a' is read as a category by .*use .*continuous"):
        check_points(encoder)
