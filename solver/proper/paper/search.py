"""Mode ``paper``: the published algorithm, over all choices of K rules (Theorem 1.1).

The search space is that of mode ``search``: all trees of at most K splits in which every split is a
dichotomy of the points that reach it. It equals the proper trees of the rules of
:func:`solver.proper.paper.rules.gen_rules`:

- A rule separates a region by a dichotomy or not at all; a side without points is filtered out as
  a leaf that is too small.
- Each dichotomy of a region is that of a rule whose defining points lie in the region, hence on
  the right sides of all its ancestors: it may stand there.

Rows at one place are one point with the counts of all of them. In regression a leaf predicts the
mean, and costs are exact fractions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import combinations
from math import comb
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from solver.engine.driver import Engine
from solver.engine.tree_constraints import TreeConstraints
from solver.kernels.constants import FULL, PROVEN, RUNNING
from solver.objective.exact_objective import CostScale, SquaredCostScale
from solver.problem.problem import Problem
from solver.proper.integer_points import Points
from solver.proper.paper.ancestry import splits
from solver.proper.paper.geometry import Point, members
from solver.proper.paper.rules import Rule, Undominated, find_rules, put
from solver.proper.paper.tree_recursion import Memo
from solver.proper.separating_tests import Partition
from solver.search_shards import Shard
from solver.trees.tree import Shape, Tree

_REMEMBERED = 2**16  # answers in the memo, which is then emptied
_BYTES_PER_RULE = 600  # with its defining points and sides as Python ints
_BYTES_PER_STEP = 100  # of finding rules: a dichotomy or a hyperplane may be kept
_BYTES_PER_ANSWER = 400


Cost: TypeAlias = int | Fraction
"""Exact. In classification as :class:`solver.objective.exact_objective.CostScale` has it, in
regression the squared error and the prices of the splits."""

Sums: TypeAlias = list[int]
"""What the cost of a leaf follows from, summed over its points."""


class Found(NamedTuple):
    """A complete subtree: its cost, its longest path, and the tree. Its masks are of points, not
    rows."""

    cost: Cost
    depth: int
    tree: Partition


class Places(NamedTuple):
    """The different points of a problem.

    Parameters
    ----------
    coordinates : list of tuples of int
    sums : list of lists of int
        The weight of each class; in regression w, w·|y|² and w·y of every output, as whole numbers
        of the units of :attr:`solver.problem.problem.Problem.moments`.
    rows : list of int
        For each point a mask of the problem's rows there.
    """

    coordinates: list[Point]
    sums: list[Sums]
    rows: list[int]

    @classmethod
    def of(cls, problem: Problem, family: str) -> Places:
        """The points that the rules of a family see; for cuts, the codes as coordinates are
        enough."""
        codes = problem.codes if family == "axis" else Points.of(problem).coordinates
        places: dict[Point, int] = {}
        for row in codes.tolist():
            places.setdefault(tuple(row), len(places))
        own = _moments(problem) if problem.values is not None else problem.counts.astype(object)
        sums = np.zeros((len(places), own.shape[1]), object)
        rows = [0] * len(places)
        for number, row in enumerate(codes.tolist()):
            place = places[tuple(row)]
            sums[place] += own[number]
            rows[place] |= 1 << number
        return cls(list(places), sums.tolist(), rows)


def _moments(problem: Problem) -> NDArray[np.object_]:
    """For each row w, w·|y|² and w·y of every output, as whole numbers of the moments' units."""
    moments = problem.moments
    second = moments.second.sum(axis=1)
    return np.column_stack([moments.weights.astype(object), second, moments.first])


def _misclassified(sums: Sums) -> tuple[int, int]:
    """The errors of a leaf, and its weight."""
    weight = sum(sums)
    return weight - max(sums), weight


def _squared_error(sums: Sums) -> tuple[Fraction, int]:
    """The squared error of a leaf that predicts the mean, and its weight."""
    weight, second, *first = sums
    return Fraction(weight * second - sum(one * one for one in first), weight), weight


class PaperEngine(Engine):
    """``odt_K`` for K = 0, 1, … up to ``most`` as an engine: a combination of rules is an
    iteration.

    The shard holds the combinations that begin with a range of first rules.

    Parameters
    ----------
    thinning : bool
        Whether subtrees are thinned by the preorder of cost and depth (section 4.8.2), and only the
        result is held against the limit on depth. Otherwise the limit goes down with the recursion
        and one subtree remains.
    memo : bool
        Whether the best subtrees of rules and points are remembered (section 4.7.2). Mostly those
        of one rule are asked for again, which are as quickly made again.
    realise : callable
        Turns a partition into a shape.

    Raises
    ------
    InputError
        If a column lacks numbers that the family needs.
    """

    proves_fewest_splits = True

    def __init__(
        self,
        problem: Problem,
        cost_scale: CostScale | SquaredCostScale,
        constraints: TreeConstraints,
        most: int,
        family: str,
        degree: int,
        shard: Shard,
        thinning: bool,
        memo: bool,
        realise: Callable[[Partition], Shape],
    ) -> None:
        self.cost_scale, self.shard = cost_scale, shard
        self._loss: Callable[[Sums], tuple[Cost, int]] = _misclassified
        self._error: Cost
        self._split: Cost
        if isinstance(cost_scale, CostScale):
            self._error, self._split = cost_scale.error, cost_scale.split
        else:
            self._loss, self._error = _squared_error, problem.moments.unit**2
            self._split = cost_scale.lam * cost_scale.total_weight
        self.realise, self.thinning = realise, thinning
        self.places = Places.of(problem, family)
        self.everything = (1 << len(self.places.rows)) - 1
        self.most = min(most, len(self.places.rows) - 1)
        self.depth, self.min_leaf = min(constraints.depth, max(self.most, 0)), constraints.min_leaf
        # One for each number of rules of a subtree.
        self.memos = {size: Memo() for size in range(1, self.most)} if memo else {}
        self._weighed: dict[int, tuple[Cost, int]] = {}
        self._unavoidable = sum(self._loss(sums)[0] for sums in self.places.sums)
        self._best = Found(self._weigh(self.everything)[0], 0, -1)
        self._shape: tuple[Cost, Shape] = self._best.cost, -1
        self.finder = find_rules(self.places.coordinates, family, degree)
        self._kept: Undominated = {}
        self._stumps: dict[int, Cost | None] = {}
        self.n_rules = 0
        self.rules: list[Rule] = []
        self.size = 1
        self._choices: Iterator[tuple[int, ...]] | None = None
        self._done = 0
        self.combinations = 0
        self.with_a_tree = 0
        self.given: float | None = None
        self._room = 2**20

    def use(self, cost: float, tree: Tree, given: bool) -> None:
        """Know of a tree from elsewhere. It cuts nothing short: the paper has no incumbent, and so
        the same tree is found whatever was given."""
        self.given = cost if self.given is None else min(cost, self.given)

    @property
    def found(self) -> bool:
        """Whether the best tree is the engine's own."""
        return self.given is None or self.upper_bound <= self.given

    # -- leaves ----------------------------------------------------------------------------------

    def _weigh(self, points: int) -> tuple[Cost, int]:
        """Cost and weight of some points as a leaf: f of Definition 4.12, and what N_min asks."""
        if points not in self._weighed:
            if len(self._weighed) >= _REMEMBERED:
                self._weighed.clear()
            inside = (self.places.sums[i] for i in members(points))
            loss, weight = self._loss([sum(column) for column in zip(*inside, strict=True)])
            self._weighed[points] = self._error * loss, weight
        return self._weighed[points]

    def _fits(self, points: int) -> bool:
        return points != 0 and self._weigh(points)[1] >= self.min_leaf

    # -- sodt ------------------------------------------------------------------------------------

    def _relation(self, ancestor: int, rule: int) -> int:
        """The ancestry relation (Definition 3.3) of two rules by their numbers."""
        defining, above = self._defining[rule], self._positive[ancestor]
        if not defining & above:
            return -1
        return 0 if defining & ~above else 1

    def _ask(self, rules: tuple[int, ...], points: int, depth: int) -> list[Found]:
        """The remaining subtrees of these rules and points, from the memo if there is one.

        Leaves are not remembered: they would always be found again.
        """
        memo = self.memos.get(len(rules))
        if memo is None:
            return self._sodt((rules, points, depth))
        if len(memo.answers) >= _REMEMBERED:
            memo.answers.clear()
        found: list[Found] = memo.ask((rules, points, depth), self._sodt)
        return found

    def _sodt(self, state: tuple[tuple[int, ...], int, int]) -> list[Found]:
        """``sodt`` (Theorem 4.13) with N_min and depth as filters in it (section 4.8.1).

        Both filters are reflected: below a side that is too small, or a path that is too long,
        nothing is better. Without thinning it finds at most one tree; with thinning the limit on
        depth holds for the whole tree only.
        """
        rules, points, depth = state
        if not rules:
            return [Found(self._weigh(points)[0], 0, -1)]
        if len(rules) >= 1 << depth:
            return []
        found = []
        if not self.thinning:
            depth -= 1
        for left, root, right in splits(rules, self._relation):
            above = points & self._positive[root]
            below = points ^ above
            if not self._fits(above) or not self._fits(below):
                continue
            for u in self._ask(tuple(left), above, depth):
                for v in self._ask(tuple(right), below, depth):
                    cost = u.cost + v.cost + self._split
                    longest = 1 + max(u.depth, v.depth)
                    found.append(Found(cost, longest, (self._positive[root], (v.tree, u.tree))))
        return _thin(found) if self.thinning else [min(found, key=_cost)] if found else []

    # -- odt_K -----------------------------------------------------------------------------------

    def step(self, iterations: int, target_cost: int) -> int:
        """As :class:`solver.engine.driver.Engine`: an iteration finds or combines rules."""
        if self.lower_bound >= self.upper_bound or self.upper_bound <= target_cost:
            return PROVEN
        if self._choices is None and not self._find_rules(iterations):
            return FULL if self.bytes > self._room else RUNNING
        for _ in range(iterations):
            chosen = next(self._choices, None) if self._choices is not None else None
            if chosen is None:
                self.size += 1
                self._begin_size()
                break
            self.combinations += 1
            subtrees = self._sodt((chosen, self.everything, self.depth))
            found = [one for one in subtrees if one.depth <= self.depth]
            if found:
                self.with_a_tree += 1
                self._best = min(self._best, *found, key=_cost)
        ended = self.lower_bound >= self.upper_bound or self.upper_bound <= target_cost
        return PROVEN if ended else RUNNING

    def _find_rules(self, iterations: int) -> bool:
        """Find some more; whether all are found."""
        for _ in range(iterations):
            try:
                rule = next(self.finder)
            except StopIteration:
                self._begin()
                return True
            self._done += 1
            if rule is not None and self._stump(rule) is not None:
                self.n_rules += put(self._kept, rule)
            if self.bytes > self._room:
                return False
        return False

    def _stump(self, rule: Rule) -> Cost | None:
        """The cost of a rule's two leaves; None if one of them is too small, and so in every
        region."""
        side = rule.positive
        if side not in self._stumps:
            fits = self._fits(side) and self._fits(rule.negative)
            cost = self._weigh(side)[0] + self._weigh(rule.negative)[0]
            self._stumps[side] = cost if fits else None
        return self._stumps[side]

    def _begin(self) -> None:
        """Once all rules are known: order them by their best stumps."""
        order = [(self._stumps[side], side) for side in self._kept]
        self.rules = [rule for _, side in sorted(order) for rule in self._kept[side]]
        self._kept, self._stumps = {}, {}
        self._positive = [rule.positive for rule in self.rules]
        self._defining = [rule.defining for rule in self.rules]
        self._begin_size()

    def _begin_size(self) -> None:
        self._choices = self._combinations() if self.size <= self.most else iter(())

    def _combinations(self) -> Iterator[tuple[int, ...]]:
        """``kcombs`` of the numbers of the rules, those of the shard.

        Each shard has a range of first rules; all shards have about as many combinations.
        """
        rules, index, number = len(self.rules), self.shard.index, self.shard.number
        total = comb(rules, self.size)
        for first in range(rules):
            before = total - comb(rules - first, self.size)
            if before * number // max(total, 1) == index:
                for others in combinations(range(first + 1, rules), self.size - 1):
                    yield first, *others

    # -- bounds ----------------------------------------------------------------------------------

    @property
    def lower_bound(self) -> float:
        """All remaining trees have at least as many splits as the current combinations."""
        if self.size > self.most:
            return self.upper_bound
        least = self._error * self._unavoidable + self._split * self.size
        return min(self.upper_bound, _rounded(least))

    @property
    def upper_bound(self) -> float:
        return _rounded(self._best.cost)

    @property
    def iterations(self) -> int:
        """Steps of finding rules, and combinations tried."""
        return self._done + self.combinations

    @property
    def nodes(self) -> int:
        """Combinations tried."""
        return self.combinations

    @property
    def bytes(self) -> int:
        """Memory of rules and memo, about."""
        answers = len(self._weighed) + sum(len(memo.answers) for memo in self.memos.values())
        found = _BYTES_PER_RULE * self.n_rules + _BYTES_PER_STEP * self._done
        return found + _BYTES_PER_ANSWER * answers

    @property
    def extra(self) -> dict[str, Any]:
        """What was counted: rules, combinations, how many of these make a proper tree; and for
        subtrees of each number of rules the lookups and the hits of the memo."""
        counted: dict[str, Any] = {
            "mode": "paper",
            "rules": self.n_rules,
            "combinations": self.combinations,
            "combinations_with_a_tree": self.with_a_tree,
        }
        for size, memo in self.memos.items():
            counted[f"memo_lookups_{size}"] = memo.lookups
            counted[f"memo_hits_{size}"] = memo.hits
        return counted

    def grow(self, limit: int | None) -> bool:
        room = 2 * max(self._room, self.bytes)
        room = room if limit is None else min(room, limit)
        if room <= self.bytes:
            return False
        self._room = room
        return True

    def shape(self) -> Shape:
        if self._shape[0] != self._best.cost:
            self._shape = self._best.cost, self.realise(self.partition())
        return self._shape[1]

    def partition(self) -> Partition:
        """The best tree, as the rows it parts."""
        return self._of_rows(self._best.tree)

    def _of_rows(self, tree: Partition) -> Partition:
        if isinstance(tree, int):
            return tree
        points, (below, above) = tree
        rows = sum(self.places.rows[i] for i in members(points))
        return rows, (self._of_rows(below), self._of_rows(above))


def _cost(found: Found) -> Cost:
    return found.cost


def _rounded(cost: Cost) -> float:
    return cost if isinstance(cost, int) else float(cost)


def _thin(found: list[Found]) -> list[Found]:
    """The subtrees that no other equals or beats in both cost and depth, as ``thin_r``."""
    kept: list[Found] = []
    for one in sorted(found, key=lambda one: one[:2]):
        if not kept or one.depth < kept[-1].depth:
            kept.append(one)
    return kept
