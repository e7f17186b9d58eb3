"""The search of the paper, for trees of any depth.

Depth 3 is Appendix C. From depth 4 on it is Algorithm 1 with the best trees of the depth below
instead of stumps, bounded by W0.
"""

from __future__ import annotations

import math
from collections.abc import Generator
from typing import NamedTuple

import numpy as np

from solver.quantbnb.paper import box_bounds
from solver.quantbnb.paper.box_narrowing import least_after, narrowed, pruned
from solver.quantbnb.paper.depth_one_and_two import Found, Report, ShallowSearch, Work, unheard
from solver.quantbnb.paper.state import Boxes, Costs, Ints, all_boxes, joined, spaced


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

    ``best`` is ``V``, the best tree seen on its rows, ``leaf`` their cost as a leaf. ``narrowed``
    are the parts of its boxes with their lower bounds; ``lefts`` and ``rights``, (boxes, features),
    bound them by the features of the grandchildren.
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
    def parts(self) -> tuple[Boxes, Costs, Costs]:
        """The parts of the boxes with their lower bounds by feature."""
        return self.narrowed, self.lefts, self.rights

    @property
    def nbytes(self) -> int:
        """Memory of all arrays."""
        return self.narrowed.nbytes + self.lefts.nbytes + self.rights.nbytes


class PaperSearch(ShallowSearch):
    """Searches of all depths on one table; see :class:`ShallowSearch`."""

    def solve(
        self, order: Ints, depth: int, cutoff: float = math.inf, report: Report = unheard
    ) -> Work:
        """The best tree of at most this depth on some rows, if it costs less than ``cutoff``.

        ``order``, (features, rows), are the rows sorted by each feature; ``report`` is told the
        best tree and the proven lower bound.
        """
        best = Found(cutoff, None)
        if order.shape[0]:
            relaxed, alone = box_bounds.leaf_costs(self.table, self.params, self.scratch, order[0])
            best = Found(alone, -1) if alone < cutoff else best
            if depth == 0 or relaxed <= self.params.split or relaxed == 0.0:
                return best
            if depth == 1:
                return (yield from self._stump(order, best))
            if depth == 2:
                return (yield from self.shallow(order, all_boxes(self.arities), best, report))
            if depth == 3:
                return (yield from self._wide(order, best, report))
            return (yield from self._deep(order, depth, best, report))
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
            if report is not unheard:
                self.generations.append(len(alive))
            waiting, least = least_after([wide.bound for wide in alive]), math.inf
            for at, wide in enumerate(alive):
                known = len(following)
                if wide.bound <= best.cost:
                    if wide.high - wide.low <= self.params.pieces:
                        best = yield from self._examine(order, wide, best)
                    else:
                        best = yield from self._narrow(order, wide, best, following)
                if wide.left is not children:
                    self.held -= wide.left.nbytes + wide.right.nbytes
                least = min([least, *(part.bound for part in following[known:])])
                report(best, min(best.cost, waiting[at], least))
            alive = following
        return best

    def _examine(self, order: Ints, wide: Wide, best: Found) -> Work:
        """Look at all trees of a box of depth 3 whose root has few cuts left.

        The paper goes through all trees of both children; here Algorithm 1 does. A feature of few
        values would otherwise bring the children with all their cuts.
        """
        for cut in range(wide.low, wide.high + 1):
            yield from self._pause()
            left = yield from self._child(
                self._below(order, wide.feature, cut), wide.left, best.cost - self.params.split
            )
            if left.shape is None:
                continue
            rest = best.cost - self.params.split - left.cost
            right = yield from self._child(self._beyond(order, wide.feature, cut), wide.right, rest)
            if right.shape is not None:
                shape = self._number(wide.feature, cut), (left.shape, right.shape)
                best = Found(self.params.split + left.cost + right.cost, shape)
        return best

    def _child(self, order: Ints, boxes: Boxes, cutoff: float) -> Work:
        """The best leaf or tree of depth 2 in some boxes, if it costs less than ``cutoff``.

        Their bounds hold: they are of rows that are all among these.
        """
        _, alone = box_bounds.leaf_costs(self.table, self.params, self.scratch, order[0])
        best = Found(alone, -1) if alone < cutoff else Found(cutoff, None)
        if best.cost <= self.params.split:
            return best
        return (yield from self.shallow(order, boxes, best))

    def _narrow(self, order: Ints, wide: Wide, best: Found, out: list[Wide]) -> Work:
        """Split the root's interval and narrow what its children may be (Proposition C.1)."""
        s, price = self.params.pieces, self.params.split
        ends = np.array([wide.low], np.int32), np.array([wide.high], np.int32)
        cuts = spaced(*ends, s)[0].tolist()
        lefts: list[Side] = []
        rights: list[Side] = []
        # From the most rows to the fewest: the upper bound on more rows prunes on fewer.
        most = best.cost - price
        for cut in reversed(cuts):
            yield from self._pause()
            rows = self._below(order, wide.feature, cut)
            side = yield from self._side(rows, wide.left, most, cut < cuts[-1])
            most = min(most, self._reachable(side))
            lefts.insert(0, side)
        most = best.cost - price
        for cut in cuts:
            yield from self._pause()
            rows = self._beyond(order, wide.feature, cut)
            side = yield from self._side(rows, wide.right, most, cut > cuts[0])
            most = min(most, self._reachable(side))
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
            phi1 = pruned(*left.parts, min(self._reachable(lefts[j + 1]), spare - bounds[1]))
            phi2 = pruned(*right.parts, min(self._reachable(rights[j]), spare - bounds[0]))
            yield from self._rest(phi1.nbytes + phi2.nbytes)
            out.append(Wide(wide.feature, cuts[j], cuts[j + 1], phi1, phi2, price + sum(bounds)))
        self.held -= sum(side.nbytes for side in (*lefts, *rights))
        return best

    def _reachable(self, side: Side) -> float:
        """An upper bound on the best tree of fewer rows than a side's.

        Unless its leaves may get too small there.
        """
        return math.inf if self._relaxes else side.best.cost

    def _side(
        self, order: Ints, boxes: Boxes, most: float, bounding: bool
    ) -> Generator[None, None, Side]:
        """The :class:`Side` of one child of the root on its rows, without boxes above ``most``."""
        relaxed, alone = box_bounds.leaf_costs(self.table, self.params, self.scratch, order[0])
        best = Found(alone, -1)
        parts, lefts, rights = [], [], []
        # Their bounds are of rows that are all among these, and hold.
        for chunk in self._chunks(boxes.take(boxes.bound <= most)):
            answers = yield from self._evaluate(order, chunk, bounding)
            best = self._better(chunk, answers, best)
            if bounding:
                everywhere = np.ones(chunk.size, np.bool_)
                kept, left, right = narrowed(chunk, answers, self.params.pieces, most, everywhere)
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
        s, price = self.params.pieces, self.params.split
        features = np.flatnonzero(self.arities >= 2).tolist()
        alive = [(f, 0, int(self.arities[f]) - 2, 0.0) for f in features]
        while alive:
            following: list[tuple[int, int, int, float]] = []
            if report is not unheard:
                self.generations.append(len(alive))
            waiting, least = least_after([bound for *_, bound in alive]), math.inf
            for at, (feature, low, high, bound) in enumerate(alive):
                if bound > best.cost:
                    continue
                small = high - low <= s
                ends = np.array([low], np.int32), np.array([high], np.int32)
                cuts = range(low, high + 1) if small else spaced(*ends, s)[0].tolist()
                found: list[tuple[Found, Found]] = []
                for cut in cuts:
                    yield from self._pause()
                    left = yield from self.solve(self._below(order, feature, cut), depth - 1)
                    right = yield from self.solve(self._beyond(order, feature, cut), depth - 1)
                    found.append((left, right))
                    cost = price + left.cost + right.cost
                    if cost < best.cost and left.shape is not None and right.shape is not None:
                        shape = self._number(feature, cut), (left.shape, right.shape)
                        best = Found(cost, shape)
                for j in range(0 if small else s):
                    bound = price + found[j][0].cost + found[j + 1][1].cost
                    if self._relaxes:
                        bound = 0.0
                    if bound <= best.cost:
                        following.append((feature, cuts[j], cuts[j + 1], bound))
                        least = min(least, bound)
                report(best, min(best.cost, waiting[at], least))
            alive = following
        return best
