"""All features of a table: those of its problem, and the duplicates that the problem left out."""

from __future__ import annotations

from typing import NamedTuple

from solver.features.node_tests import NodeTest
from solver.problem.problem import Problem
from solver.trees.tree import Shape


class TableFeature(NamedTuple):
    """A feature of the table.

    Parameters
    ----------
    name : str
    columns : tuple of str
        The raw columns that it reads.
    place : int
        The feature of the problem that stands for it.
    test : int or NodeTest
        The same number, or the test of a duplicate.
    full_test : NodeTest
        Its test.
    codes : tuple of int
        Its code for each code of the problem's feature; −1 for one that no row has.
    """

    name: str
    columns: tuple[str, ...]
    place: int
    test: int | NodeTest
    full_test: NodeTest
    codes: tuple[int, ...]

    def split(self, children: tuple[Shape, ...]) -> Shape:
        """The split by this feature, of children in the order of the problem's codes."""
        own: list[Shape] = [-1] * self.full_test.arity
        for code, child in zip(self.codes, children, strict=True):
            if code >= 0:
                own[code] = child
        return self.test, tuple(own)


def table_features(problem: Problem) -> list[TableFeature]:
    """The features of a table, those of the problem first."""
    own = [
        TableFeature(t.name, t.columns, j, j, t, tuple(range(t.arity)))
        for j, t in enumerate(problem.tests)
    ]
    return own + [
        TableFeature(test.name, test.columns, place, test, test, codes)
        for test, place, codes in problem.preparation.copies
        if isinstance(test, NodeTest)  # ordered features have no good trees
    ]
