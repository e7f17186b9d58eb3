"""Tests for a column of categories."""

from __future__ import annotations

from collections.abc import Sequence

from solver.features.category_values import Category
from solver.features.node_tests import CategoryTest


def multiway(column: str, values: Sequence[Category]) -> list[CategoryTest]:
    """One test with a branch for every value."""
    return [CategoryTest(column, tuple((value,) for value in values))]


def indicator(column: str, value: Category) -> CategoryTest:
    """Whether a value is this one: 0 for no, also for an unseen value, 1 for yes."""
    return CategoryTest(column, ((), (value,)), rest=0)


def indicators(column: str, values: Sequence[Category]) -> list[CategoryTest]:
    """One yes/no test for every value."""
    return [indicator(column, value) for value in values]


def indicators_but_first(column: str, values: Sequence[Category]) -> list[CategoryTest]:
    """As :func:`indicators`, without the first value."""
    return indicators(column, values[1:])


def indicators_but_last(column: str, values: Sequence[Category]) -> list[CategoryTest]:
    """As :func:`indicators`, without the last value (the missing one if there is one)."""
    return indicators(column, values[:-1])
