"""Count the trees of a stored Rashomon set anew, in plain Python and without the search.

What is counted is proven good: the rows of each subproblem follow from the splits above it, and
what its trees cost from these rows. That no good tree is missing is not checked here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import NamedTuple

from solver.problem.problem import Problem
from solver.verify.certificate_checker import Refused

Pair = tuple[int, int]
"""Weight in error, and splits."""

Numbers = dict[Pair, int]


class Subproblem(NamedTuple):
    """A row of a stored graph; ``children`` are those of all its splits in turn."""

    features: Sequence[int]
    children: Sequence[int]


class Rules(NamedTuple):
    """Which trees may be counted.

    Parameters
    ----------
    lam : Fraction
    most : Fraction
        The largest objective of a good tree.
    depth : int or None
        The most splits on a path.
    splits : int or None
        The most splits of a tree.
    min_leaf_size : int
    copies : sequence of int
        How many features of the table each feature of the problem stands for.
    """

    lam: Fraction
    most: Fraction
    depth: int | None
    splits: int | None
    min_leaf_size: int
    copies: Sequence[int]


class _Split(NamedTuple):
    feature: int
    children: tuple[int, ...]  # without those that have no rows


class _Node(NamedTuple):
    leaf: int
    splits: list[_Split]


def recount(problem: Problem, graph: Sequence[Subproblem], rules: Rules) -> Numbers:
    """How many trees a graph holds, by errors and splits.

    Raises
    ------
    Refused
        If it holds a tree twice, or a split of which no tree is good.
    """
    error, split = _prices(problem, rules.lam)
    nodes = _follow(problem, graph, rules, _Weights(problem))
    least = [0] * len(nodes)
    for at, node in reversed([*enumerate(nodes)]):
        costs = (split + sum(least[child] for child in one.children) for one in node.splits)
        least[at] = min([node.leaf * error, *costs])
    budgets = _budgets(nodes, least, split, int(rules.most * error * problem.total_weight))
    most_splits = len(problem.codes) if rules.splits is None else rules.splits
    found: list[Numbers] = [{} for _ in nodes]
    for at, node in reversed([*enumerate(nodes)]):
        numbers: Numbers = defaultdict(int)
        if node.leaf * error <= budgets[at]:
            numbers[node.leaf, 0] += 1
        for one in node.splits:
            parts = [found[child] for child in one.children]
            for (errors, splits), number in _product(
                parts, budgets[at] - split, error, split
            ).items():
                if splits < most_splits:
                    numbers[errors, splits + 1] += rules.copies[one.feature] * number
        found[at] = dict(numbers)
    return found[0]


def _budgets(nodes: Sequence[_Node], least: Sequence[int], split: int, most: int) -> list[int]:
    """The most that a tree of each subproblem costs in a good tree."""
    budgets = [most, *[0] * (len(nodes) - 1)]
    for at, node in enumerate(nodes):
        for one in node.splits:
            spare = budgets[at] - split - sum(least[child] for child in one.children)
            if spare < 0:
                raise Refused(at, "it has a split of which no tree is good")
            for child in one.children:
                budgets[child] = max(budgets[child], spare + least[child])
    return budgets


def _prices(problem: Problem, lam: Fraction) -> tuple[int, int]:
    """What a unit of weight in error and a split cost, as integers."""
    price = lam * problem.total_weight
    return price.denominator, price.numerator


def _product(parts: Sequence[Numbers], most: int, error: int, split: int) -> Numbers:
    """In how many ways trees cost ``most`` or less together, by errors and splits."""
    joint: Numbers = {(0, 0): 1}
    for part in parts:
        longer: Numbers = defaultdict(int)
        for (a, k), number in joint.items():
            for (b, j), other in part.items():
                if (a + b) * error + (k + j) * split <= most:
                    longer[a + b, k + j] += number * other
        joint = longer
    return joint


class _Weights:
    """Sets of points as the bits of an integer, and their weights."""

    def __init__(self, problem: Problem) -> None:
        self.everything = (1 << len(problem.codes)) - 1
        self.masks = [
            [_bits(problem.codes[:, feature] == code) for code in range(arity)]
            for feature, arity in enumerate(problem.arities.tolist())
        ]
        self._planes = [
            [_bits((column >> bit) & 1 == 1) for bit in range(int(column.max()).bit_length())]
            for column in problem.counts.T
        ]

    def of(self, points: int) -> list[int]:
        """The weight of each class."""
        return [
            sum((points & plane).bit_count() << bit for bit, plane in enumerate(planes))
            for planes in self._planes
        ]


def _bits(flags: Sequence[bool]) -> int:
    return sum(1 << at for at, flag in enumerate(flags) if flag)


def _follow(
    problem: Problem, graph: Sequence[Subproblem], rules: Rules, weights: _Weights
) -> list[_Node]:
    """The subproblems with their rows followed from the root."""
    waiting: dict[int, tuple[int, int | None]] = {0: (weights.everything, rules.depth)}
    nodes = []
    for at, row in enumerate(graph):
        if at not in waiting:
            raise Refused(at, "no split leads to it")
        points, left = waiting.pop(at)
        totals = weights.of(points)
        splits = [*_splits(problem, row, len(graph), at)]
        if len({one[0] for one in splits}) < len(splits):
            raise Refused(at, "it has a split twice")
        if splits and left == 0:
            raise Refused(at, "its trees are deeper than the limit")
        below = None if left is None else left - 1
        found = []
        for feature, children in splits:
            for child, mask in zip(children, weights.masks[feature], strict=True):
                own = points & mask
                if (own == 0) != (child < 0) or own == points:
                    raise Refused(at, "a split does not divide its rows as its feature does")
                if child >= 0 and waiting.setdefault(child, (own, below)) != (own, below):
                    raise Refused(at, "it takes branches with different rows for one")
                if own and sum(weights.of(own)) < rules.min_leaf_size:
                    raise Refused(at, "it has leaves smaller than the limit")
            found.append(_Split(feature, tuple(child for child in children if child >= 0)))
        nodes.append(_Node(sum(totals) - max(totals), found))
    if waiting:
        raise Refused(-1, "a split leads to no subproblem")
    return nodes


def _splits(
    problem: Problem, row: Subproblem, end: int, at: int
) -> Iterator[tuple[int, Sequence[int]]]:
    """The features and the children of a subproblem's splits."""
    arities = problem.arities.tolist()
    if any(not 0 <= feature < len(arities) for feature in row.features):
        raise Refused(at, "it has a split by a feature that is not there")
    if sum(arities[feature] for feature in row.features) != len(row.children):
        raise Refused(at, "a split has not as many children as its feature has codes")
    if any(not (child == -1 or at < child < end) for child in row.children):
        raise Refused(at, "its subproblems are not in their order")
    first = 0
    for feature in row.features:
        yield feature, row.children[first : first + arities[feature]]
        first += arities[feature]
