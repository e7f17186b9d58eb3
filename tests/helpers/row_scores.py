"""Scores of trees on raw rows, by the plain scorer."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from solver.objective.exact_objective import Errors
from solver.trees.tree import Tree
from solver.verify.scorer import Score, end_of, missed_at


def score_rows(
    tree: Tree, rows: Iterable[dict[str, Any]], labels: Iterable[Any], lam: Fraction
) -> Score:
    """Score a tree on raw rows in canonical form, one dictionary of columns a row."""
    pairs = [*zip(rows, labels, strict=True)]
    errors: Errors = sum(missed_at(tree, end_of(tree, row), label) for row, label in pairs)
    loss = Fraction(errors) / len(pairs)
    return Score(errors, tree.splits, loss, loss + lam * tree.splits)
