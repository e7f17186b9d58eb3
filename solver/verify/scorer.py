"""The plain scorer: every solution is checked with it.

It sends rows down a tree, split by split, and counts those that end in a leaf of their class. It
can be read in a minute and shares no code with the searches.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from itertools import chain
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from solver.features.oblique_tests import SurfaceTest
from solver.features.ranks_and_cuts import CutTests
from solver.objective.exact_objective import Errors
from solver.problem.problem import Problem
from solver.trees.tree import Tree

Rows: TypeAlias = NDArray[np.int64]


class Score(NamedTuple):
    """What a tree costs on a problem."""

    errors: Errors
    splits: int
    loss: Fraction
    objective: Fraction


def score(problem: Problem, tree: Tree, lam: Fraction) -> Score:
    """Score a tree at a λ on the problem's encoded rows; its features are positions in
    ``problem.tests``."""
    leaves = _rows_of_leaves(problem, tree)
    if problem.values is None:
        errors: Errors = problem.total_weight - _right(problem, tree, leaves)
    else:
        errors = _squared_errors(problem, problem.values.tolist(), tree, leaves)
    splits = sum(1 for node in tree.nodes if node.feature is not None)
    return _total(errors, splits, problem.total_weight, lam)


class ScoreOnce:
    """As :func:`score`, but the rows go down the same tree once for all λ.

    A λ-path proves the same tree at several λ.
    """

    def __init__(self) -> None:
        self._scored: list[tuple[Problem, Tree, Score]] = []

    def __call__(self, problem: Problem, tree: Tree, lam: Fraction) -> Score:
        """See :func:`score`."""
        for known, same, found in self._scored:
            if known is problem and same is tree:
                return found._replace(objective=found.loss + lam * found.splits)
        found = score(problem, tree, lam)
        self._scored.append((problem, tree, found))
        return found


def end_of(tree: Tree, row: Mapping[str, Any]) -> int:
    """The node at which a raw row ends, a dictionary of its columns in canonical form.

    This asks the tests themselves, so it also checks the encoding of the problem.
    """
    at = 0
    while (feature := tree.nodes[at].feature) is not None:
        test = tree.tests[feature]
        asked = ([row[column]] for column in test.columns)
        branch = int(test.branches(*asked)[0])  # type: ignore[arg-type]
        if branch < 0:
            break
        at = tree.nodes[at].children[branch]
    return at


def missed_at(tree: Tree, end: int, label: Any) -> Errors:
    """The error of a row with this label that ends at a node. The label of regression is a sequence
    of targets."""
    node = tree.nodes[end]
    if tree.outputs:
        return _squared_distance(label, node.value)
    return int(tree.classes[node.prediction] != label)


def _rows_of_leaves(problem: Problem, tree: Tree) -> Iterator[tuple[int, Rows]]:
    """Each leaf, and the encoded rows that end in it."""
    columns: dict[int, NDArray[Any]] = {}
    cuts = problem.tests if isinstance(problem.tests, CutTests) else None
    pending: list[tuple[int, Rows]] = [(0, np.arange(len(problem.codes)))]
    while pending:
        at, rows = pending.pop()
        node = tree.nodes[at]
        if node.feature is None:
            yield at, rows
            continue
        test = tree.tests[node.feature]
        if isinstance(test, SurfaceTest):
            if node.feature not in columns:
                columns[node.feature] = np.array(_sides(problem, test))
            branches = columns[node.feature][rows]
        else:
            column, code = cuts.locate(node.feature) if cuts else (node.feature, None)
            branches = problem.codes[rows, column]
            if code is not None:
                branches = branches > code
        parts = [rows.compress(branches == branch) for branch in range(len(node.children))]
        if sum(map(len, parts)) != len(rows):
            raise IndexError(f"node {at} has no branch for one of its rows")
        pending += zip(node.children, parts, strict=True)


def _right(problem: Problem, tree: Tree, leaves: Iterable[tuple[int, Rows]]) -> int:
    """The weight of the rows whose class is that of their leaf; 64 bits hold that of all rows."""
    ends, rows = zip(*leaves, strict=True)
    predicted = [tree.nodes[end].prediction for end in ends]
    classes = np.repeat(predicted, [len(part) for part in rows])
    return int(problem.counts[np.concatenate(rows), classes].sum())


def _sides(problem: Problem, surface: SurfaceTest) -> list[int]:
    """The branch of each encoded row at a test on several columns, one float after the other."""
    sides = []
    terms = list(zip(surface.weights, surface.powers, strict=True))
    for row in zip(*(problem.numbers(c).tolist() for c in surface.columns), strict=True):
        total = 0.0
        for weight, powers in terms:
            term = weight
            for number, power in zip(row, powers, strict=True):
                for _ in range(power):
                    term *= number
            total += term
        sides.append(int(total > surface.threshold))
    return sides


def _squared_errors(
    problem: Problem,
    targets: list[list[float]],
    tree: Tree,
    leaves: Iterable[tuple[int, Rows]],
) -> Fraction:
    """Σ w·‖y − prediction‖², exactly.

    The denominator of a float is a power of two. Over the largest of them all are whole numbers,
    which add without finding a common denominator each time.
    """
    weights = problem.counts[:, 0].tolist()
    numbers = chain(chain.from_iterable(targets), *(node.value for node in tree.nodes))
    unit = max((number.as_integer_ratio()[1] for number in numbers), default=1)

    def whole(vector: Iterable[float]) -> list[int]:
        ratios = (number.as_integer_ratio() for number in vector)
        return [numerator * (unit // denominator) for numerator, denominator in ratios]

    total = 0
    for leaf, rows in leaves:
        prediction = whole(tree.nodes[leaf].value)
        for row in rows.tolist():
            pairs = zip(whole(targets[row]), prediction, strict=True)
            total += weights[row] * sum((y - guess) ** 2 for y, guess in pairs)
    return Fraction(total, unit * unit)


def _squared_distance(target: Iterable[float], value: Iterable[float]) -> Fraction:
    pairs = zip(target, value, strict=True)
    return sum(((Fraction(a) - Fraction(b)) ** 2 for a, b in pairs), Fraction(0))


def _total(errors: Errors, splits: int, weight: int, lam: Fraction) -> Score:
    loss = Fraction(errors) / weight
    return Score(errors, splits, loss, loss + lam * splits)
