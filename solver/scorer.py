"""The plain scorer that nothing is trusted without.

It walks rows through a tree one at a time and counts, in plain Python, so that it can be read in
a minute and shares no code with the searches.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any, NamedTuple

from solver.exact import Errors
from solver.problem import Problem
from solver.scales import CutTests
from solver.tree import Tree


class Score(NamedTuple):
    """What a tree costs on a problem."""

    errors: Errors
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
    errors: Errors = 0
    cuts = problem.tests if isinstance(problem.tests, CutTests) else None
    targets = [()] * len(problem.codes) if problem.values is None else problem.values.tolist()
    rows = zip(problem.codes.tolist(), problem.counts.tolist(), targets, strict=True)
    for row, counts, target in rows:
        node = tree.nodes[0]
        while node.feature is not None:
            if cuts is None:
                branch = row[node.feature]
            else:
                feature, code = cuts.locate(node.feature)
                branch = int(row[feature] > code)
            node = tree.nodes[node.children[branch]]
        if problem.values is None:
            errors += sum(counts) - counts[node.prediction]
        else:
            errors += counts[0] * _squared_distance(target, node.value)
    splits = sum(1 for node in tree.nodes if node.feature is not None)
    return _total(errors, splits, problem.total_weight, lam)


def score_rows(
    tree: Tree, rows: Iterable[dict[str, Any]], labels: Iterable[Any], lam: Fraction
) -> Score:
    """Score a tree on raw rows in canonical form, one dictionary of columns a row.

    The label of regression is a sequence of its targets.

    This asks the tests themselves, so it also checks the encoding that the problem was made with.
    """
    errors: Errors = 0
    total = 0
    for row, label in zip(rows, labels, strict=True):
        node = tree.nodes[0]
        while node.feature is not None:
            test = tree.tests[node.feature]
            branch = int(test.branches([row[test.column]])[0])  # type: ignore[arg-type]
            if branch < 0:
                break
            node = tree.nodes[node.children[branch]]
        if tree.outputs:
            errors += _squared_distance(label, node.value)
        else:
            errors += tree.classes[node.prediction] != label
        total += 1
    splits = sum(1 for node in tree.nodes if node.feature is not None)
    return _total(errors, splits, total, lam)


def _squared_distance(target: Iterable[float], value: Iterable[float]) -> Fraction:
    pairs = zip(target, value, strict=True)
    return sum(((Fraction(a) - Fraction(b)) ** 2 for a, b in pairs), Fraction(0))


def _total(errors: Errors, splits: int, weight: int, lam: Fraction) -> Score:
    loss = Fraction(errors) / weight
    return Score(errors, splits, loss, loss + lam * splits)
