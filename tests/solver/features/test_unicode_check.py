"""Text that no file can hold is refused when a table is read."""

from __future__ import annotations

import pandas as pd
import pytest

from solver import Problem
from solver.errors import InputError
from solver.estimators import BranchesClassifier

GOOD = {"a": ["x", "y", "x", "y"], "b": ["u", "u", "v", "v"], "y": ["p", "q", "p", "q"]}


@pytest.mark.parametrize(
    "change, words",
    [
        ({"a": ["x", "\ud800", "x", "y"]}, r"column 'a': the value '\\ud800' holds a lone"),
        ({"y": ["p", "q\udfff", "p", "q"]}, r"the (value|label) 'q\\udfff' holds a lone"),
    ],
)
def test_a_table_with_half_a_character_is_refused(change: dict[str, list[str]], words: str) -> None:
    table = pd.DataFrame({**GOOD, **change}, dtype=object)
    with pytest.raises(InputError, match=words) as caught:
        Problem.from_table(table, target="y", encoding="onehot")
    str(caught.value).encode()
    with pytest.raises(InputError, match=words):
        BranchesClassifier(encoding="onehot").fit(table.drop(columns="y"), table["y"])


def test_a_column_of_such_a_name_is_refused() -> None:
    table = pd.DataFrame(GOOD)
    table.columns = pd.Index(["a", "b\ud8ab", "y"], dtype=object)  # else pandas refuses it itself
    with pytest.raises(InputError, match=r"the column name 'b\\ud8ab' holds a lone surrogate"):
        Problem.from_table(table, target="y", encoding="onehot")


def test_whole_characters_are_no_trouble() -> None:
    table = pd.DataFrame({**GOOD, "😀": ["😀", "🌳", "😀", "🌳"]})
    problem = Problem.from_table(table, target="y", encoding="onehot")
    assert problem.classes == ("p", "q")
