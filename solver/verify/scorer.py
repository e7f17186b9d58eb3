"""The plain scorer: every solution is checked with it.

It walks rows through a tree one at a time and counts, in plain Python. It can be read in a minute
and shares no code with the searches.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from itertools import chain
from typing import Any, NamedTuple

from solver.features.oblique_tests import SurfaceTest
from solver.features.ranks_and_cuts import CutTests
from solver.objective.exact_objective import Errors
from solver.problem.problem import Problem
from solver.trees.tree import Tree


class Score(NamedTuple):
    """What a tree costs on a problem."""

    errors: Errors
    splits: int
    loss: Fraction
    objective: Fraction


def score(problem: Problem, tree: Tree, lam: Fraction) -> Score:
    """Score a tree at a λ on the problem's encoded rows; its features are positions in
    ``problem.tests``."""
    reached = _reached(problem, tree)
    counts = problem.counts.tolist()
    if problem.values is None:
        labels = [node.prediction for node in tree.nodes]
        right = sum(weights[labels[leaf]] for leaf, weights in zip(reached, counts, strict=True))
        errors: Errors = problem.total_weight - right
    else:
        errors = _squared_errors(problem.values.tolist(), counts, reached, tree)
    splits = sum(1 for node in tree.nodes if node.feature is not None)
    return _total(errors, splits, problem.total_weight, lam)


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


def _reached(problem: Problem, tree: Tree) -> Iterator[int]:
    """The leaf that each encoded row ends in. Only the columns that the tree reads are unpacked."""
    used = {node.feature for node in tree.nodes if node.feature is not None}
    surfaces = {f: test for f in used if isinstance(test := tree.tests[f], SurfaceTest)}
    cuts = problem.tests if isinstance(problem.tests, CutTests) else None
    places = {test: cuts.locate(test) if cuts else (test, None) for test in used - set(surfaces)}
    columns = {column: problem.codes[:, column].tolist() for column, _ in places.values()}
    for feature, surface in surfaces.items():
        # What the rows of a surface exceed is a column of answers, and the answers are branches.
        columns[-1 - feature] = _sides(problem, surface)
        places[feature] = -1 - feature, None
    splits = [
        None
        if node.feature is None
        else (columns[places[node.feature][0]], places[node.feature][1], node.children)
        for node in tree.nodes
    ]
    for row in range(len(problem.codes)):
        at = 0
        while (split := splits[at]) is not None:
            column, code, children = split
            value = column[row]
            at = children[value if code is None else value > code]
        yield at


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
    targets: list[list[float]], weights: list[list[int]], reached: Iterable[int], tree: Tree
) -> Fraction:
    """Σ w·‖y − prediction‖², exactly.

    The denominator of a float is a power of two. Over the largest of them all are whole numbers,
    which add without finding a common denominator each time.
    """
    values = [node.value for node in tree.nodes]
    numbers = chain(chain.from_iterable(targets), chain.from_iterable(values))
    unit = max((number.as_integer_ratio()[1] for number in numbers), default=1)

    def whole(vector: Iterable[float]) -> list[int]:
        ratios = (number.as_integer_ratio() for number in vector)
        return [numerator * (unit // denominator) for numerator, denominator in ratios]

    predictions = [whole(value) for value in values]
    total = 0
    for target, (weight,), leaf in zip(targets, weights, reached, strict=True):
        pairs = zip(whole(target), predictions[leaf], strict=True)
        total += weight * sum((y - guess) ** 2 for y, guess in pairs)
    return Fraction(total, unit * unit)


def _squared_distance(target: Iterable[float], value: Iterable[float]) -> Fraction:
    pairs = zip(target, value, strict=True)
    return sum(((Fraction(a) - Fraction(b)) ** 2 for a, b in pairs), Fraction(0))


def _total(errors: Errors, splits: int, weight: int, lam: Fraction) -> Score:
    loss = Fraction(errors) / weight
    return Score(errors, splits, loss, loss + lam * splits)
