"""The search of the paper: alive sets of boxes, narrowed from iteration to iteration.

Depth 2 is Algorithm 1, depth 3 Appendix C. From depth 4 on it is Algorithm 1 with trees of the
depth below in the place of stumps, bounded by W0. Every search is a generator that rests where a
slice ends.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from solver.quantbnb.paper import kernels
from solver.quantbnb.paper.layout import (
    ITERATIONS,
    Answers,
    Boxes,
    Costs,
    Flags,
    Ints,
    Rules,
    Scratch,
    Table,
    all_boxes,
    joined,
    new_answers,
    new_scratch,
    spaced,
)
from solver.tree import Shape

_CHUNK_BYTES = 2**22


class Found(NamedTuple):
    """The best tree known, and what it costs; no shape: nothing better than that cost."""

    cost: float
    shape: Shape | None


class Wide(NamedTuple):
    """Trees of depth 3, ``(f0, [a0, b0], Φ1, Φ2)`` in the paper; a child may also be a leaf."""

    feature: int
    low: int
    high: int
    left: Boxes
    right: Boxes
    bound: float


class Side(NamedTuple):
    """What is known of one child of the root of a tree of depth 3, at one of the root's cuts.

    Parameters
    ----------
    best : Found
        ``V``: the best tree seen on these rows.
    leaf : float
        Their cost as a leaf.
    narrowed : Boxes
        The parts of the boxes of this child, each with its lower bound on these rows.
    lefts, rights : array of shape (boxes, features)
        Lower bounds of the parts by the features of the grandchildren.
    """

    best: Found
    leaf: float
    narrowed: Boxes
    lefts: Costs
    rights: Costs

    @property
    def bound(self) -> float:
        """The least cost that a tree on these rows, or on more, may have."""
        return min(self.leaf, float(self.narrowed.bound.min(initial=math.inf)))

    @property
    def nbytes(self) -> int:
        """Memory of all arrays."""
        return self.narrowed.nbytes + self.lefts.nbytes + self.rights.nbytes


Work = Generator[None, None, Found]
Report = Callable[[Found, float], None]


def _unheard(found: Found, bound: float) -> None:
    """Nobody wants to know how a search inside another goes."""


class PaperSearch:
    """The searches of all depths on one table.

    Parameters
    ----------
    table : Table
    arities : array of shape (features,)
    rules : Rules

    Attributes
    ----------
    budget : int
        Iterations left in this slice.
    allowed : int
        Bytes that the boxes may take; a search that needs more sets ``full`` and rests.
    """

    def __init__(self, table: Table, arities: NDArray[np.int64], rules: Rules) -> None:
        self.table, self.rules, self.arities = table, rules, arities
        self.first_cut = np.cumsum(np.maximum(arities - 1, 0)) - np.maximum(arities - 1, 0)
        self.order: Ints = np.argsort(table.codes, axis=1, kind="stable").astype(np.int32)
        self.scratch: Scratch = new_scratch(table, rules.pieces)
        self.stats = np.zeros(4, np.int64)
        self.generations: list[int] = []
        self.budget = 0
        self.held = 0
        self.most_held = 0
        self.allowed = 2**24
        self.full = False
        # A smallest weight of leaves that no row keeps alone: exact costs of fewer rows are then
        # no bound on those of more.
        self._relaxes = rules.min_leaf > table.weights.min(initial=math.inf)

    @property
    def fixed_bytes(self) -> int:
        """Memory of what neither grows nor shrinks."""
        return sum(array.nbytes for array in (*self.table, *self.scratch, self.order))

    def greedy(self, order: Ints, depth: int) -> Found:
        """A first tree: the best stump, then those of its sides; what does not pay is a leaf.

        In regression this is CART.
        """
        relaxed, alone = kernels.leaf_costs(self.table, self.rules, self.scratch, order[0])
        leaf = Found(alone, -1 if alone < math.inf else None)
        tree = np.zeros(2, np.int64)
        if depth == 0 or relaxed <= self.rules.split or relaxed == 0.0:
            return leaf
        kernels.best_stump(self.table, self.rules, self.scratch, self.stats, order, tree)
        feature, cut = tree.tolist()
        if feature < 0:
            return leaf
        left = self.greedy(self._below(order, feature, cut), depth - 1)
        right = self.greedy(self._beyond(order, feature, cut), depth - 1)
        cost = self.rules.split + left.cost + right.cost
        if cost >= leaf.cost or left.shape is None or right.shape is None:
            return leaf
        return Found(cost, (self._number(feature, cut), (left.shape, right.shape)))

    def solve(
        self, order: Ints, depth: int, cutoff: float = math.inf, report: Report = _unheard
    ) -> Work:
        """The best tree of at most this depth on some rows, if it costs less than ``cutoff``.

        Parameters
        ----------
        order : array of shape (features, rows)
            The rows, sorted by each feature.
        report : callable
            Told of progress: the best tree and the proven lower bound.
        """
        best = Found(cutoff, None)
        if order.shape[0]:
            relaxed, alone = kernels.leaf_costs(self.table, self.rules, self.scratch, order[0])
            best = Found(alone, -1) if alone < cutoff else best
            if depth == 0 or relaxed <= self.rules.split or relaxed == 0.0:
                return best
            if depth == 1:
                return (yield from self._stump(order, best))
            if depth == 2:
                return (yield from self.shallow(order, all_boxes(self.arities), best, report))
            if depth == 3:
                return (yield from self._wide(order, best, report))
            return (yield from self._deep(order, depth, best, report))
        return best

    def _rest(self, more: int) -> Generator[None, None, None]:
        """Wait until there is room for so many more bytes."""
        while self.fixed_bytes + self.held + more > self.allowed:
            self.full = True
            yield
        self.held += more
        self.most_held = max(self.most_held, self.held)

    def _stump(self, order: Ints, best: Found) -> Work:
        """Depth 1, directly."""
        while self.budget <= 0:
            yield
        self.budget -= 1
        tree = np.zeros(2, np.int64)
        cost = kernels.best_stump(self.table, self.rules, self.scratch, self.stats, order, tree)
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
        features, s = len(self.arities), self.rules.pieces
        size = max(1, min(256, _CHUNK_BYTES // (16 * max(features, 1) * s)))
        return [boxes.take(slice(at, at + size)) for at in range(0, boxes.size, size)]

    def _evaluate(
        self, order: Ints, boxes: Boxes, bounding: bool
    ) -> Generator[None, None, Answers]:
        """Upper and lower bounds of boxes on some rows, see :func:`kernels.evaluate`."""
        answers = new_answers(boxes.size, len(self.arities), self.rules.pieces)
        yield from self._rest(answers.nbytes)
        cursor = np.zeros(3, np.int64)
        while True:
            done = int(self.stats[ITERATIONS])
            finished = kernels.evaluate(
                self.table,
                self.rules,
                self.scratch,
                self.stats,
                order,
                boxes,
                answers,
                cursor,
                bounding,
                self.budget,
            )
            self.budget -= int(self.stats[ITERATIONS]) - done
            if finished:
                self.held -= answers.nbytes
                return answers
            yield

    def _better(self, boxes: Boxes, answers: Answers, best: Found) -> Found:
        """The best tree after some boxes were looked at; the first at a tie."""
        at = int(np.argmin(answers.value))
        if answers.value[at] >= best.cost:
            return best
        return Found(float(answers.value[at]), self._shape(boxes, answers, at))

    def shallow(self, order: Ints, boxes: Boxes, best: Found, report: Report = _unheard) -> Work:
        """Algorithm 1: the best of boxes of trees of depth 2, if it costs less than ``best``."""
        alive = boxes
        while alive.size:
            following: list[Boxes] = []
            if report is not _unheard:
                self.generations.append(alive.size)
            chunks = self._chunks(alive)
            for at, part in enumerate(chunks):
                chunk = part.take(part.bound <= best.cost)
                if not chunk.size:
                    continue
                answers = yield from self._evaluate(order, chunk, True)
                best = self._better(chunk, answers, best)
                # What is left of a small box has been looked at as a whole.
                large = chunk.high - chunk.low > self.rules.pieces
                kept = narrowed(chunk, answers, self.rules.pieces, best.cost, large)[0]
                yield from self._rest(kept.nbytes)
                following.append(kept)
                report(best, _least_bound([*chunks[at + 1 :], *following], best.cost))
            self.held -= alive.nbytes if alive is not boxes else 0
            alive = joined(following, len(self.arities))
        return best

    def _wide(self, order: Ints, best: Found, report: Report) -> Work:
        """Appendix C: the best tree of depth 3, if it costs less than ``best``."""
        children = all_boxes(self.arities)
        alive = [
            Wide(int(f), 0, int(self.arities[f]) - 2, children, children, 0.0)
            for f in children.feature
        ]
        while alive:
            following: list[Wide] = []
            if report is not _unheard:
                self.generations.append(len(alive))
            for at, wide in enumerate(alive):
                if wide.bound <= best.cost:
                    if wide.high - wide.low <= self.rules.pieces:
                        best = yield from self._examine(order, wide, best)
                    else:
                        best = yield from self._narrow(order, wide, best, following)
                if wide.left is not children:
                    self.held -= wide.left.nbytes + wide.right.nbytes
                bounds = [other.bound for other in (*alive[at + 1 :], *following)]
                report(best, min([best.cost, *bounds]))
            alive = following
        return best

    def _examine(self, order: Ints, wide: Wide, best: Found) -> Work:
        """Look at all trees of a box of depth 3 whose root has few cuts left.

        Where the paper goes through all trees of both children, Algorithm 1 does: a feature of
        few values would else bring the children with all their cuts.
        """
        for cut in range(wide.low, wide.high + 1):
            left = yield from self._child(
                self._below(order, wide.feature, cut), wide.left, best.cost - self.rules.split
            )
            if left.shape is None:
                continue
            rest = best.cost - self.rules.split - left.cost
            right = yield from self._child(self._beyond(order, wide.feature, cut), wide.right, rest)
            if right.shape is not None:
                shape = self._number(wide.feature, cut), (left.shape, right.shape)
                best = Found(self.rules.split + left.cost + right.cost, shape)
        return best

    def _child(self, order: Ints, boxes: Boxes, cutoff: float) -> Work:
        """The best leaf or tree of depth 2 in some boxes, if it costs less than ``cutoff``."""
        _, alone = kernels.leaf_costs(self.table, self.rules, self.scratch, order[0])
        best = Found(alone, -1) if alone < cutoff else Found(cutoff, None)
        if best.cost <= self.rules.split:
            return best
        return (yield from self.shallow(order, boxes._replace(bound=0 * boxes.bound), best))

    def _narrow(self, order: Ints, wide: Wide, best: Found, out: list[Wide]) -> Work:
        """Split the root's interval and narrow what its children may be (Proposition C.1)."""
        s, price = self.rules.pieces, self.rules.split
        ends = np.array([wide.low], np.int32), np.array([wide.high], np.int32)
        cuts = spaced(*ends, s)[0].tolist()
        lefts: list[Side] = []
        rights: list[Side] = []
        # From the most rows to the fewest: the upper bound on more rows prunes on fewer.
        most = best.cost - price
        for cut in reversed(cuts):
            rows = self._below(order, wide.feature, cut)
            side = yield from self._side(rows, wide.left, most, cut < cuts[-1])
            most = min(most, side.best.cost)
            lefts.insert(0, side)
        most = best.cost - price
        for cut in cuts:
            rows = self._beyond(order, wide.feature, cut)
            side = yield from self._side(rows, wide.right, most, cut > cuts[0])
            most = min(most, side.best.cost)
            rights.append(side)
        for cut, left, right in zip(cuts, lefts, rights, strict=True):
            cost = price + left.best.cost + right.best.cost
            if cost < best.cost and left.best.shape is not None and right.best.shape is not None:
                shape = self._number(wide.feature, cut), (left.best.shape, right.best.shape)
                best = Found(cost, shape)
        for j in range(s):
            left, right = lefts[j], rights[j + 1]  # the fewest rows that the children may have
            bounds = left.bound, right.bound
            if price + sum(bounds) > best.cost:
                continue
            spare = best.cost - price
            phi1 = _prune(left, min(lefts[j + 1].best.cost, spare - bounds[1]))
            phi2 = _prune(right, min(rights[j].best.cost, spare - bounds[0]))
            yield from self._rest(phi1.nbytes + phi2.nbytes)
            out.append(Wide(wide.feature, cuts[j], cuts[j + 1], phi1, phi2, price + sum(bounds)))
        self.held -= sum(side.nbytes for side in (*lefts, *rights))
        return best

    def _side(
        self, order: Ints, boxes: Boxes, most: float, bounding: bool
    ) -> Generator[None, None, Side]:
        """What is known of one child of the root on its rows; boxes above ``most`` are left out."""
        relaxed, alone = kernels.leaf_costs(self.table, self.rules, self.scratch, order[0])
        best = Found(alone, -1)
        parts, lefts, rights = [], [], []
        for chunk in self._chunks(boxes):
            answers = yield from self._evaluate(order, chunk, bounding)
            best = self._better(chunk, answers, best)
            if bounding:
                everywhere = np.ones(chunk.size, np.bool_)
                kept, left, right = narrowed(chunk, answers, self.rules.pieces, most, everywhere)
                yield from self._rest(kept.nbytes + left.nbytes + right.nbytes)
                parts.append(kept)
                lefts.append(left)
                rights.append(right)
        none = np.zeros((0, len(self.arities)))
        return Side(
            best,
            relaxed,
            joined(parts, len(self.arities)),
            np.concatenate([none, *lefts]),
            np.concatenate([none, *rights]),
        )

    def _deep(self, order: Ints, depth: int, best: Found, report: Report) -> Work:
        """Algorithm 1 for more than depth 3: the best trees of the depth below as stumps, W0."""
        s, price = self.rules.pieces, self.rules.split
        features = np.flatnonzero(self.arities >= 2).tolist()
        alive = [(f, 0, int(self.arities[f]) - 2, 0.0) for f in features]
        while alive:
            following: list[tuple[int, int, int, float]] = []
            if report is not _unheard:
                self.generations.append(len(alive))
            for at, (feature, low, high, bound) in enumerate(alive):
                if bound > best.cost:
                    continue
                small = high - low <= s
                ends = np.array([low], np.int32), np.array([high], np.int32)
                cuts = range(low, high + 1) if small else spaced(*ends, s)[0].tolist()
                found: list[tuple[Found, Found]] = []
                for cut in cuts:
                    left = yield from self.solve(self._below(order, feature, cut), depth - 1)
                    right = yield from self.solve(self._beyond(order, feature, cut), depth - 1)
                    found.append((left, right))
                    cost = price + left.cost + right.cost
                    if cost < best.cost and left.shape is not None and right.shape is not None:
                        shape = self._number(feature, cut), (left.shape, right.shape)
                        best = Found(cost, shape)
                for j in range(0 if small else s):
                    least = price + found[j][0].cost + found[j + 1][1].cost
                    if self._relaxes:
                        least = 0.0
                    if least <= best.cost:
                        following.append((feature, cuts[j], cuts[j + 1], least))
                pending = [other[3] for other in (*alive[at + 1 :], *following)]
                report(best, min([best.cost, *pending]))
            alive = following
        return best

    def _below(self, order: Ints, feature: int, cut: int) -> Ints:
        """The rows up to a cut, sorted by each feature."""
        inside = self.table.codes[feature] <= cut
        return _selected(order, inside)

    def _beyond(self, order: Ints, feature: int, cut: int) -> Ints:
        """The rows beyond a cut, sorted by each feature."""
        inside = self.table.codes[feature] > cut
        return _selected(order, inside)


def narrowed(
    boxes: Boxes, answers: Answers, pieces: int, most: float, which: Flags
) -> tuple[Boxes, Costs, Costs]:
    """The parts of boxes that may hold a tree of at most some cost, with what each part may be.

    Parameters
    ----------
    boxes, answers : Boxes, Answers
        A box of at most ``pieces + 1`` cuts stays whole.
    pieces : int
        The paper's ``s``.
    most : float
        The cost.
    which : array of shape (boxes,)
        The boxes to look at.

    Returns
    -------
    boxes : Boxes
        Each with its lower bound; their children split on the features kept (14), (15).
    lefts, rights : array of shape (boxes, features)
        The lower bounds by feature of either child.
    """
    s, features = pieces, boxes.left.shape[1]
    cuts = spaced(boxes.low, boxes.high, s)
    lows, highs = cuts[:, :-1].copy(), cuts[:, 1:].copy()
    small = boxes.high - boxes.low <= s
    lows[small, 0], highs[small, 0] = boxes.low[small], boxes.high[small]
    lefts = answers.left.reshape(-1, features)
    rights = answers.right.reshape(-1, features)
    left = (lefts <= most) & np.isfinite(lefts)
    right = (rights <= most) & np.isfinite(rights)
    kept = np.flatnonzero(left.any(axis=1) & right.any(axis=1) & np.repeat(which, s))
    parts = Boxes(
        feature=np.repeat(boxes.feature, s)[kept],
        low=lows.ravel()[kept].astype(np.int32),
        high=highs.ravel()[kept].astype(np.int32),
        left=left[kept],
        right=right[kept],
        bound=lefts[kept].min(axis=1, initial=math.inf),
    )
    return parts, lefts[kept], rights[kept]


def _prune(side: Side, most: float) -> Boxes:
    """The boxes of a child that may hold a tree of at most some cost (48), (49)."""
    left, right = side.lefts <= most, side.rights <= most
    left &= np.isfinite(side.lefts)
    right &= np.isfinite(side.rights)
    boxes = side.narrowed._replace(left=left, right=right)
    return boxes.take(np.flatnonzero(left.any(axis=1) & right.any(axis=1)))


def _least_bound(parts: list[Boxes], most: float) -> float:
    """The least lower bound of boxes, at most that of the best tree."""
    return min([most, *(float(part.bound.min(initial=math.inf)) for part in parts)])


def _selected(order: Ints, inside: Flags) -> Ints:
    """Some rows, still sorted by each feature."""
    return np.ascontiguousarray(order[inside[order]].reshape(len(order), -1))
