"""Tables of other libraries, value for value."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from solver.errors import InputError
from solver.estimators.branches import BranchesClassifier
from solver.features.to_pandas import as_frame
from solver.problem.problem import Problem
from solver.solve_problem import solve

BIG = 2**53


@pytest.mark.parametrize("values", [[BIG + 1, BIG, None], [2**64 - 1, 2**64 - 2, None]])
def test_whole_numbers_beside_a_missing_one_stay_what_they_are(values):
    table = pa.table({"a": pa.array(values, pa.uint64()), "t": ["x", "y", "z"]})
    frame = as_frame(table)
    assert [*frame["a"][:2]] == values[:2]
    assert frame["a"].isna().tolist() == [False, False, True]
    problem = Problem.from_table(table, "t", "onehot", columns={"a": "category"})
    solution = solve(problem, 0)
    assert solution.objective == 0
    assert solution.tree.predict(table).tolist() == ["x", "y", "z"]
    with pytest.raises(InputError, match="whole numbers beyond 2\\^53"):
        Problem.from_table(table, "t", "thresholds")
    with pytest.raises(InputError, match="whole numbers beyond 2\\^53"):
        BranchesClassifier(encoding="thresholds").fit(table.select(["a"]), ["x", "y", "z"])


def test_other_columns_are_as_pandas_has_them():
    table = pa.table({"a": [1, None], "b": [1e300, None], "c": ["x", None]})
    pd.testing.assert_frame_equal(as_frame(table), table.to_pandas())


@pytest.mark.parametrize("given", [np.zeros((2, 1)), [[1]], {"a": [1]}, pd.Series([1]), None])
def test_what_is_no_table_is_refused(given):
    table = pd.DataFrame({"a": [1, 2], "t": ["x", "y"]})
    tree = solve(Problem.from_table(table, "t", "onehot"), 0).tree
    for ask in (tree.predict, tree.apply, tree.predict_proba):
        with pytest.raises(InputError, match="give a pandas DataFrame, or what has to_pandas"):
            ask(given)


def test_a_fit_refuses_two_columns_of_one_name():
    table = pd.DataFrame([[1, 2], [2, 1]], columns=["a", "a"])
    with pytest.raises(InputError, match="two columns named 'a'; rename one"):
        BranchesClassifier().fit(table, ["x", "y"])
    fitted = BranchesClassifier().fit(table.set_axis(["a", "b"], axis=1), ["x", "y"])
    with pytest.raises(InputError, match="two columns named 'a'; rename one"):
        fitted.predict(table)
