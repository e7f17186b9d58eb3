"""The cost of a tree of cuts, and splits that separate no rows."""

from __future__ import annotations

import numpy as np
import pytest

from solver.quantbnb.paper.state import Table, tabulate_classes, tabulate_squares
from solver.quantbnb.paper.tree_cost import priced

FIRST_CUT = np.array([0, 3])  # four codes, then two
CODES = np.array([[0, 0], [1, 1], [2, 0], [3, 1]], np.int32)


@pytest.fixture
def classes() -> Table:
    return tabulate_classes(CODES, np.array([[3, 0], [0, 2], [1, 1], [4, 0]]))


def test_errors_are_weights(classes: Table) -> None:
    assert priced(classes, FIRST_CUT, -1) == (-1, 3.0, 0)
    tree = (0, (-1, (1, (-1, -1))))
    assert priced(classes, FIRST_CUT, tree) == (tree, 1.0, 2)


def test_splits_that_leave_all_rows_together_are_taken_out(classes: Table) -> None:
    inner = (3, (-1, -1))
    # Of the rows up to cut 0 none lies beyond cut 2, and of those beyond none up to it.
    tree = (0, ((2, (-1, -1)), (0, (-1, inner))))
    assert priced(classes, FIRST_CUT, tree).shape == (0, (-1, inner))
    assert priced(classes, FIRST_CUT, tree).splits == 2


def test_squared_errors_are_around_the_mean_of_each_leaf() -> None:
    weights = np.array([1, 1, 2, 1])
    table = tabulate_squares(CODES, weights, np.array([[1.0, 0], [3.0, 0], [6.0, 1], [9.0, 1]]))
    assert np.allclose((table.values * weights[:, None]).sum(axis=0), 0)
    found = priced(table, FIRST_CUT, (1, (-1, -1)))
    assert found.loss == pytest.approx(2 * 1 + (2 * 1 + 4))
    assert found.splits == 1
