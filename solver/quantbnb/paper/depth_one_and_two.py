"""Trees of depth 1 and 2: Algorithm 1 of the paper, in portions that pause where a slice ends."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from solver.quantbnb.paper import box_bounds
from solver.quantbnb.paper.box_narrowing import least_after, narrowed
from solver.quantbnb.paper.state import (
    EFFORT,
    ITERATIONS,
    Answers,
    Boxes,
    Flags,
    Ints,
    Params,
    Scratch,
    Table,
    joined,
    new_answers,
    new_scratch,
)
from solver.trees.tree import Shape

_CHUNK_BYTES = 2**22
_SLICE_EFFORT = 2**21  # rows looked at: about 20 ms


class Found(NamedTuple):
    """The best tree known, and its cost; no shape: nothing better than that cost."""

    cost: float
    shape: Shape | None


Work = Generator[None, None, Found]
Report = Callable[[Found, float], None]


def unheard(found: Found, bound: float) -> None:
    """Nobody wants to know how a search inside another goes."""


class ShallowSearch:
    """Searches up to depth 2 on one table.

    ``budget`` are the iterations left in this slice, ``allowed`` the bytes that the boxes may take;
    a search that needs more sets ``full`` and pauses.
    """

    def __init__(self, table: Table, arities: NDArray[np.int64], params: Params) -> None:
        self.table, self.params, self.arities = table, params, arities
        self.first_cut = np.cumsum(np.maximum(arities - 1, 0)) - np.maximum(arities - 1, 0)
        self.order: Ints = np.argsort(table.codes, axis=1, kind="stable").astype(np.int32)
        self.scratch: Scratch = new_scratch(table, params.pieces)
        self.stats = np.zeros(5, np.int64)
        self.generations: list[int] = []
        self.budget = 0
        self.effort_limit = 0
        self.held = 0
        self.most_held = 0
        self.allowed = 2**24
        self.full = False
        # A smallest weight of leaves that no row keeps alone: exact costs of fewer rows are then
        # no bound on those of more.
        self._relaxes = params.min_leaf > table.weights.min(initial=math.inf)

    @property
    def fixed_bytes(self) -> int:
        """Memory of what neither grows nor shrinks."""
        return sum(array.nbytes for array in (*self.table, *self.scratch, self.order))

    def greedy(self, order: Ints, depth: int) -> Found:
        """A first tree: the best stump, then those of its sides; what does not pay is a leaf.

        In regression this is CART.
        """
        relaxed, alone = box_bounds.leaf_costs(self.table, self.params, self.scratch, order[0])
        leaf = Found(alone, -1 if alone < math.inf else None)
        tree = np.zeros(2, np.int64)
        if depth == 0 or relaxed <= self.params.split or relaxed == 0.0:
            return leaf
        box_bounds.best_stump(self.table, self.params, self.scratch, self.stats, order, tree)
        feature, cut = tree.tolist()
        if feature < 0:
            return leaf
        left = self.greedy(self._below(order, feature, cut), depth - 1)
        right = self.greedy(self._beyond(order, feature, cut), depth - 1)
        cost = self.params.split + left.cost + right.cost
        if cost >= leaf.cost or left.shape is None or right.shape is None:
            return leaf
        return Found(cost, (self._number(feature, cut), (left.shape, right.shape)))

    def refresh(self, iterations: int) -> None:
        """Begin a slice of N iterations, each of which may take very little or very long."""
        self.budget = iterations
        self.effort_limit = int(self.stats[EFFORT]) + _SLICE_EFFORT

    def _pause(self) -> Generator[None, None, None]:
        """Wait for the next slice if this one has nothing left."""
        while self.budget <= 0 or self.stats[EFFORT] >= self.effort_limit:
            yield

    def _rest(self, more: int) -> Generator[None, None, None]:
        """Wait until there is room for this many more bytes."""
        while self.fixed_bytes + self.held + more > self.allowed:
            self.full = True
            yield
        self.held += more
        self.most_held = max(self.most_held, self.held)

    def _stump(self, order: Ints, best: Found) -> Work:
        """Depth 1, directly."""
        yield from self._pause()
        self.budget -= 1
        tree = np.zeros(2, np.int64)
        cost = box_bounds.best_stump(self.table, self.params, self.scratch, self.stats, order, tree)
        if cost >= best.cost:
            return best
        return Found(cost, (self._number(int(tree[0]), int(tree[1])), (-1, -1)))

    def _number(self, feature: int, cut: int) -> int:
        return int(self.first_cut[feature]) + cut

    def _shape(self, boxes: Boxes, answers: Answers, at: int) -> Shape:
        """The best tree seen of a box."""
        cut, f1, c1, f2, c2 = answers.tree[at].tolist()
        left: Shape = -1 if f1 < 0 else (self._number(f1, c1), (-1, -1))
        right: Shape = -1 if f2 < 0 else (self._number(f2, c2), (-1, -1))
        return self._number(int(boxes.feature[at]), cut), (left, right)

    def _chunks(self, boxes: Boxes) -> list[Boxes]:
        """Boxes in portions whose answers take little memory; a portion is one step."""
        features, s = len(self.arities), self.params.pieces
        size = max(1, min(256, _CHUNK_BYTES // (16 * max(features, 1) * s)))
        return [boxes.take(slice(at, at + size)) for at in range(0, boxes.size, size)]

    def _evaluate(
        self, order: Ints, boxes: Boxes, bounding: bool
    ) -> Generator[None, None, Answers]:
        """Upper and lower bounds of boxes on some rows, see :func:`box_bounds.evaluate`."""
        answers = new_answers(boxes.size, len(self.arities), self.params.pieces)
        yield from self._rest(answers.nbytes)
        cursor = np.zeros(3, np.int64)
        while True:
            done = int(self.stats[ITERATIONS])
            finished = box_bounds.evaluate(
                self.table,
                self.params,
                self.scratch,
                self.stats,
                order,
                boxes,
                answers,
                cursor,
                bounding,
                self.budget,
                self.effort_limit,
            )
            self.budget -= int(self.stats[ITERATIONS]) - done
            if finished:
                self.held -= answers.nbytes
                return answers
            yield

    def _better(self, boxes: Boxes, answers: Answers, best: Found) -> Found:
        """The best tree of the boxes seen so far; the first in a tie."""
        at = int(np.argmin(answers.value))
        if answers.value[at] >= best.cost:
            return best
        return Found(float(answers.value[at]), self._shape(boxes, answers, at))

    def shallow(self, order: Ints, boxes: Boxes, best: Found, report: Report = unheard) -> Work:
        """Algorithm 1: the best of boxes of trees of depth 2, if it costs less than ``best``."""
        alive = boxes
        while alive.size:
            following: list[Boxes] = []
            if report is not unheard:
                self.generations.append(alive.size)
            chunks = self._chunks(alive)
            waiting, least = least_after([float(part.bound.min()) for part in chunks]), math.inf
            for at, part in enumerate(chunks):
                chunk = part.take(part.bound <= best.cost)
                if not chunk.size:
                    continue
                answers = yield from self._evaluate(order, chunk, True)
                best = self._better(chunk, answers, best)
                # A remaining small box has been evaluated as a whole.
                large = chunk.high - chunk.low > self.params.pieces
                kept = narrowed(chunk, answers, self.params.pieces, best.cost, large)[0]
                yield from self._rest(kept.nbytes)
                following.append(kept)
                least = min(least, float(kept.bound.min(initial=math.inf)))
                report(best, min(best.cost, waiting[at], least))
            self.held -= alive.nbytes if alive is not boxes else 0
            alive = joined(following, len(self.arities))
        return best

    def _below(self, order: Ints, feature: int, cut: int) -> Ints:
        """The rows up to a cut, sorted by each feature."""
        return self._selected(order, self.table.codes[feature] <= cut)

    def _beyond(self, order: Ints, feature: int, cut: int) -> Ints:
        """The rows beyond a cut, sorted by each feature."""
        return self._selected(order, self.table.codes[feature] > cut)

    def _selected(self, order: Ints, inside: Flags) -> Ints:
        """Some rows, still sorted by each feature."""
        self.stats[EFFORT] += order.size
        return np.ascontiguousarray(order[inside[order]].reshape(len(order), -1))
