"""Mode ``paper``: Algorithm 2 of the thesis as it is printed, in plain Python.

A reference and not a fast search. All leaves of a tree that are to be split are split at once, in
every combination of features, and of the new leaves every choice is to be split next. The thesis
counts each such choice as a tree evaluated. Leaves are known by their clauses, as there.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import compress, product
from sys import getsizeof
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from solver.engine.driver import Engine
from solver.engine.tree_constraints import TreeConstraints
from solver.kernels.constants import FULL, PROVEN, RUNNING
from solver.limits import Limits
from solver.objective.exact_objective import INFINITE, CostScale
from solver.osdt.engine import BOUNDS, SHORT_QUEUE, Splits, assemble, params_of
from solver.osdt.scheduling_policies import impurity, rank
from solver.problem.problem import Problem
from solver.trees.tree import Shape
from solver.trees.tree import Tree as GrownTree

_ENTRY = 120
"""Bytes of a small object, or of an entry of a set, about."""


class Tree(NamedTuple):
    """A tree of the queue: ``closed`` is the cost of its splits and of the leaves that stay,
    ``bound`` that of any tree that comes of it, at least; ``splits`` are told as a chain: those of
    the last level, and the chain above."""

    kept: tuple[int, ...]
    open: tuple[int, ...]
    number: int
    closed: int
    bound: int
    splits: Any


@dataclass(slots=True)
class Leaf:
    """What the leaf cache knows of a conjunction of clauses, ``2 * feature + code`` each."""

    clauses: tuple[int, ...]
    rows: NDArray[np.int64]
    weight: int
    error: int
    floor: int
    impurity: float
    children: dict[int, tuple[int, int]] | None = None


class PaperEngine(Engine):
    """One search; the arguments are those of :class:`solver.osdt.engine.OsdtEngine`.

    An iteration is one choice that is looked at, one split of a leaf, or one tree taken from the
    queue.
    """

    def __init__(
        self,
        problem: Problem,
        cost_scale: CostScale,
        constraints: TreeConstraints,
        limits: Limits,
        settings: Mapping[str, Any],
    ) -> None:
        self.params = params_of(problem, cost_scale, constraints, limits.splits, settings)
        self._problem = problem
        self._minority = problem.counts.sum(axis=1) - problem.counts.max(axis=1)
        self._leaves: list[Leaf] = []
        self._numbers: dict[tuple[int, ...], int] = {}
        self._seen: set[tuple[int, ...]] = set()
        self._queue: list[tuple[float, int, Tree]] = []
        self._current: Tree | None = None
        self._bytes = self._room = 0
        self._iterations = self._popped = 0
        self._known = INFINITE
        self.evaluated = self.evaluated_to_best = 1
        self.pruned = dict.fromkeys(BOUNDS, 0)
        self._lower_bound = 0
        root = self._leaf((), np.arange(len(problem.codes)))
        self._best = self._leaves[root].error
        self._best_splits: Any = None
        self._search = self._trees()
        if self._may_split(root) and self.params.splits > 0:
            self._enqueue(Tree((), (root,), 0, 0, self._bound(0, (root,)), None), self._best)
        self.propagate_bounds()

    @property
    def lower_bound(self) -> int:
        """Below the best cost until the queue is empty."""
        return self._lower_bound

    @property
    def upper_bound(self) -> int:
        return self._best

    @property
    def iterations(self) -> int:
        return self._iterations

    @property
    def nodes(self) -> int:
        """Trees evaluated, each of which is in the cache."""
        return self.evaluated

    @property
    def bytes(self) -> int:
        """About what its objects take."""
        return self._bytes

    def measure(self) -> dict[str, int]:
        """How far the search is, for the trace."""
        return {
            "evaluated": self.evaluated,
            "queue": len(self._queue),
            "trees": self.nodes,
            "leaves": len(self._leaves),
            "pruned": sum(self.pruned.values()),
        }

    def use(self, cost: float, tree: GrownTree, given: bool) -> None:
        """If the tree was given, search for one that costs no more."""
        if given:
            self._known = min(self._known, int(cost) + 1)

    def propagate_bounds(self) -> None:
        """Find the least lower bound of the queue; in a long one the last stays."""
        left = [tree.bound for _, _, tree in self._queue] if len(self._queue) < SHORT_QUEUE else [0]
        if self._current is not None:
            left.append(self._current.bound)
        if not left:
            self._lower_bound = self._best
        elif self.params.hierarchical:
            self._lower_bound = max(self._lower_bound, min(*left, self._best - 1))

    def step(self, iterations: int, target_cost: int) -> int:
        best = self._best
        for _ in range(iterations):
            if self._bytes >= self._room:
                return FULL
            if not next(self._search, False):
                return PROVEN
            self._iterations += 1
            if self._best < best or self._best <= target_cost:
                return RUNNING
        return RUNNING

    def grow(self, limit: int | None) -> bool:
        # One iteration splits the rows once, and makes few other objects.
        spare = 16 * len(self._problem.codes) + 500 * _ENTRY
        room = max(2 * self._bytes, 2 * spare)
        if limit is not None:
            room = min(room, limit - spare)
        self._room = room
        return self._bytes < room

    def shape(self) -> Shape:
        splits: Splits = {}
        chain = self._best_splits
        while chain is not None:
            (leaves, features), chain = chain
            for leaf, feature in zip(leaves, features, strict=True):
                splits[leaf] = feature, *self._children(leaf)[feature]
        return assemble(splits)

    def _trees(self) -> Iterator[bool]:
        """The search, which pauses after each iteration."""
        while self._queue:
            _, _, tree = heappop(self._queue)
            self._current = tree
            yield True
            # Algorithm 1 asks again here; the counts of Table 6.2 are of a search that did.
            if not self._is_too_dear(tree.closed, tree.open, tree.bound):
                for leaf in tree.open:
                    yield from self._expand(leaf)
                for features in product(*(self._children(leaf) for leaf in tree.open)):
                    yield from self._split(tree, features)
            self._current = None

    def _split(self, tree: Tree, features: Sequence[int]) -> Iterator[bool]:
        """Split all leaves that are to be split, and try each choice of new ones to go on with."""
        pairs = [self._children(leaf)[f] for leaf, f in zip(tree.open, features, strict=True)]
        new = [leaf for pair in pairs for leaf in pair]
        number = tree.number + len(tree.open)
        splits = (tree.open, features), tree.splits
        closed = tree.closed + self.params.split * len(tree.open)
        objective = closed + sum(self._leaves[leaf].error for leaf in new)
        if objective < self._best:
            self._best, self._best_splits = objective, splits
            self.evaluated_to_best = self.evaluated
        unfinished = [self._gains_too_little(*both) for both in zip(tree.open, pairs, strict=True)]
        for choice in product(
            *((False, True) if self._may_split(leaf) else (False,) for leaf in new)
        ):
            yield True
            if number + sum(choice) > self.params.splits or not any(choice):
                continue
            if any(
                gap and not (choice[2 * at] or choice[2 * at + 1])
                for at, gap in enumerate(unfinished)
            ):
                self.pruned["incremental_accuracy"] += 1
                continue
            open_ = tuple(compress(new, choice))
            stay = tuple(compress(new, (not split for split in choice)))
            kept = (*tree.kept, *stay)
            if not self._is_new(kept, open_):
                continue
            self.evaluated += 1
            cost = closed + sum(self._leaves[leaf].error for leaf in stay)
            bound = self._bound(cost, open_)
            if not self._is_too_dear(cost, open_, bound):
                self._enqueue(Tree(kept, open_, number, cost, bound, splits), objective)

    def _leaf(self, clauses: tuple[int, ...], rows: NDArray[np.int64]) -> int:
        """The number of a leaf, in the cache or new."""
        if clauses in self._numbers:
            return self._numbers[clauses]
        counts = self._problem.counts[rows].sum(axis=0)
        weight, floor = int(counts.sum()), self.params.error * int(self._minority[rows].sum())
        self._leaves.append(
            Leaf(
                clauses=clauses,
                rows=rows,
                weight=weight,
                error=self.params.error * (weight - int(counts.max())),
                floor=floor if self.params.equivalent_points else 0,
                impurity=impurity(self.params, counts[None], 0, len(counts)) if weight else 0.0,
            )
        )
        self._numbers[clauses] = len(self._leaves) - 1
        self._bytes += 5 * _ENTRY + rows.nbytes + getsizeof(clauses)
        return len(self._leaves) - 1

    def _children(self, number: int) -> dict[int, tuple[int, int]]:
        """The two new leaves of a split on each feature that may be used."""
        return self._leaves[number].children or {}

    def _expand(self, number: int) -> Iterator[bool]:
        """Find the children of a leaf, a feature an iteration."""
        leaf = self._leaves[number]
        if leaf.children is not None:
            return
        children = {}
        used = {clause // 2 for clause in leaf.clauses}
        for feature in range(self._problem.n_features):
            yield True
            pair = None if feature in used else self._part(leaf, feature)
            if pair is not None:
                children[feature] = pair
        leaf.children = children

    def _part(self, leaf: Leaf, feature: int) -> tuple[int, int] | None:
        """The two leaves of a split; None if no tree needs them (Theorem 5)."""
        ones = self._problem.codes[leaf.rows, feature] == 1
        sides = leaf.rows[~ones], leaf.rows[ones]
        left, right = (
            self._leaf(tuple(sorted((*leaf.clauses, 2 * feature + code))), rows)
            for code, rows in enumerate(sides)
        )
        for side in (self._leaves[left], self._leaves[right]):
            if 0 < side.weight < self.params.min_leaf:
                return None
            right_cost = self.params.error * side.weight - side.error
            if self.params.accuracy and right_cost <= self.params.split:
                self.pruned["accuracy"] += 1
                return None
        return left, right

    def _may_split(self, number: int) -> bool:
        """Whether some tree may split a leaf (Theorem 3).

        That it has no feature left is found out when it is split first, and not before.
        """
        leaf = self._leaves[number]
        if len(leaf.clauses) >= min(self.params.depth, self._problem.n_features):
            return False
        if self.params.support and leaf.error <= self.params.split:
            self.pruned["support"] += 1
            return False
        return leaf.children is None or len(leaf.children) > 0

    def _gains_too_little(self, number: int, pair: tuple[int, int]) -> bool:
        """Whether one of a split's leaves must be split again (Theorem 4)."""
        gain = self._leaves[number].error - sum(self._leaves[leaf].error for leaf in pair)
        return self.params.incremental_accuracy and gain <= self.params.split

    def _is_new(self, kept: Sequence[int], open_: Sequence[int]) -> bool:
        """Whether a tree is not in the cache (Corollary 6).

        Trees of the same leaves that go on with others of them are different trees (chapter 3).
        """
        if self.params.permutation:
            key = (*sorted(kept), -1, *sorted(open_))
            if key in self._seen:
                self.pruned["permutation"] += 1
                return False
            self._seen.add(key)
            self._bytes += _ENTRY + getsizeof(key)
        return True

    def _bound(self, closed: int, open_: Sequence[int]) -> int:
        """Theorem 1 with equivalent points (Theorem 9) and lookahead (Lemma 2)."""
        ahead = self.params.split * len(open_) if self.params.lookahead else 0
        return closed + ahead + sum(self._leaves[leaf].floor for leaf in open_)

    def _is_too_dear(self, closed: int, open_: Sequence[int], bound: int) -> bool:
        """Whether a tree is pruned; counted for the first bound that suffices."""
        limit = min(self._best, self._known)
        if not self.params.hierarchical or bound < limit:
            return False
        if closed >= limit:
            self.pruned["hierarchical"] += 1
        elif self.params.lookahead and closed + self.params.split * len(open_) >= limit:
            self.pruned["lookahead"] += 1
        else:
            self.pruned["equivalent_points"] += 1
        return True

    def _enqueue(self, tree: Tree, objective: int) -> None:
        kept = [self._leaves[leaf] for leaf in tree.kept]
        self._popped += 1
        key = rank(
            self.params,
            self._popped,
            tree.number,
            tree.closed,
            tree.bound,
            objective,
            sum(leaf.weight for leaf in kept),
            math.fsum(leaf.impurity for leaf in kept),
        )
        heappush(self._queue, (key, self._popped, tree))
        self._bytes += 5 * _ENTRY + 8 * (len(tree.kept) + len(tree.open))
