"""The plain scorer that nothing is trusted without.

It walks rows through a tree one at a time and counts, in plain Python, so that it can be read in
a minute and shares no code with the searches.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any, NamedTuple

from solver.problem import Problem
from solver.tree import Tree


class Score(NamedTuple):
    """What a tree costs on a problem."""

    errors: int
    splits: int
    loss: Fraction
    objective: Fraction


def score(problem: Problem, tree: Tree, lam: Fraction) -> Score:
    """Score a tree on the problem's encoded rows.

    Parameters
    ----------
    problem : Problem
    tree : Tree
        Its features are positions in ``problem.tests``.
    lam : Fraction
        The price of a split.
    """
    errors = 0
    for row, counts in zip(problem.codes.tolist(), problem.counts.tolist(), strict=True):
        node = tree.nodes[0]
        while node.feature is not None:
            node = tree.nodes[node.children[row[node.feature]]]
        errors += sum(counts) - counts[node.prediction]
    splits = sum(1 for node in tree.nodes if node.feature is not None)
    return _total(errors, splits, problem.total_weight, lam)


def score_rows(
    tree: Tree, rows: Iterable[dict[str, Any]], labels: Iterable[Any], lam: Fraction
) -> Score:
    """Score a tree on raw rows in canonical form, one dictionary of columns a row.

    This asks the tests themselves, so it also checks the encoding that the problem was made with.
    """
    errors = total = 0
    for row, label in zip(rows, labels, strict=True):
        node = tree.nodes[0]
        while node.feature is not None:
            test = tree.tests[node.feature]
            branch = int(test.branches([row[test.column]])[0])  # type: ignore[arg-type]
            if branch < 0:
                break
            node = tree.nodes[node.children[branch]]
        errors += tree.classes[node.prediction] != label
        total += 1
    splits = sum(1 for node in tree.nodes if node.feature is not None)
    return _total(errors, splits, total, lam)


def _total(errors: int, splits: int, weight: int, lam: Fraction) -> Score:
    loss = Fraction(errors, weight)
    return Score(errors, splits, loss, loss + lam * splits)
