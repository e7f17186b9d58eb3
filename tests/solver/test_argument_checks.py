"""What a program passes to ``solve``."""

from __future__ import annotations

import pandas as pd
import pytest

from solver import Problem, solve
from solver.errors import InputError


def test_an_initial_tree_of_another_table_is_refused() -> None:
    frame = pd.DataFrame({"a": ["u", "v", "w"], "y": [0, 1, 0]})
    other = pd.DataFrame({"b": ["u", "v", "u"], "c": ["q", "r", "q"], "y": [0, 1, 0]})
    problem = Problem.from_table(frame, "y", "onehot")
    tree = solve(Problem.from_table(other, "y", "onehot"), "0.1").tree
    with pytest.raises(InputError, match="initial_tree asks b=u, which is no feature of this prob"):
        solve(problem, "0.1", initial_tree=tree)
    own = solve(problem, "0.1", "cart").tree
    assert solve(problem, "0.1", initial_tree=own).status == "optimal"
