"""Tree alternating optimisation of one tree, on arrays of codes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from solver.baselines.tao.losses import Losses, Rows

LEAF = -1

_BLOCK = 64  # features whose cuts are priced together


class Pricing(Protocol):
    """What a tree costs."""

    def cost(self, errors: Any, splits: int) -> Any:
        """Errors and splits together."""


class Move(NamedTuple):
    """A replacement of a node, and the cost of its subtree with unchanged leaves."""

    cost: Any
    splits: int
    kind: str  # stay, leaf, left, right or cut
    feature: int = LEAF
    cut: int = 0


class Cut(NamedTuple):
    """Rows whose code of a feature is at most ``code`` go to the left."""

    feature: int
    code: int


class Alternation:
    """A binary tree whose nodes are improved one after the other while the others stay fixed.

    For each row at a split, both subtrees predict something. The split becomes the cut that sends
    the rows where they cost least in total; rows with equal cost on both sides do not matter. A
    leaf, or one of the subtrees alone, may replace the split, which saves splits. The cost falls
    with every move, up to the rounding of the losses: the caller must stop when it does not.

    ``codes``, (rows, features), are ordered: a cut separates small from large ones. ``arities`` are
    their numbers. ``min_leaf_size`` is the smallest weight of a leaf.

    References
    ----------
    Carreira-Perpiñán & Tavallali (2018), "Alternating optimization of decision trees, with
    application to learning sparse oblique trees". Theorem 3.1: nodes that are not descendants of
    each other can be optimised separately; Theorem 3.2: each is a two-class problem, left or right.
    """

    def __init__(
        self,
        codes: NDArray[np.int32],
        arities: NDArray[np.int32],
        losses: Losses,
        cost_scale: Pricing,
        min_leaf_size: int = 0,
    ) -> None:
        self._columns = np.ascontiguousarray(codes.T)
        self._arities = arities.tolist()
        self._is_binary = bool(np.all(arities == 2))
        self._losses, self._cost_scale, self._smallest = losses, cost_scale, min_leaf_size
        # Of each node; a node that was cut off is left where it is.
        self.feature: list[int] = []
        self.cut: list[int] = []
        self.children: list[tuple[int, int]] = []
        self.prediction: list[Any] = []
        self.rows: list[Rows] = []
        self.errors: list[Any] = []
        self.splits: list[int] = []

    def set_shape(self, shape: Any, cut_of: Callable[[int], Cut]) -> None:
        """Start from a tree of binary splits; ``cut_of`` gives the cut for a number in the
        shape."""
        self._add()
        pending = [(0, shape)]
        while pending:
            i, part = pending.pop()
            if not isinstance(part, tuple):
                continue
            self.feature[i], self.cut[i] = cut_of(part[0])
            self.children[i] = self._add(), self._add()
            pending += zip(self.children[i], part[1], strict=True)
        self._settle(0, np.arange(self._columns.shape[1]))

    def shape(self, number_of: Callable[[Cut], int]) -> Any:
        """The tree as a Shape."""
        shapes: list[Any] = [LEAF] * len(self.feature)
        for level in reversed(list(self._levels())):
            for i in level:
                if self.feature[i] != LEAF:
                    number = number_of(Cut(self.feature[i], self.cut[i]))
                    left, right = self.children[i]
                    shapes[i] = number, (shapes[left], shapes[right])
        return shapes[0]

    @property
    def cost(self) -> Any:
        """What the tree costs."""
        return self._cost_scale.cost(self.errors[0], self.splits[0])

    def improve(self, stop: Callable[[], bool] = lambda: False) -> bool:
        """Improve all nodes once, from the deepest level up; return whether any node changed.

        ``stop`` is called at each node. Once it returns True the other splits are only pruned,
        which takes no time.
        """
        changed = False
        for level in reversed(list(self._levels())):
            for i in level:
                if self.feature[i] != LEAF:
                    changed |= self._improve(i, stop())
        return changed

    def moves(self, i: int) -> Iterator[Move]:
        """The replacements of a split: itself, a leaf, one of its subtrees, or the best cut."""
        rows, (left, right) = self.rows[i], self.children[i]
        splits = 1 + self.splits[left] + self.splits[right]
        price, total = self._cost_scale.cost, self._losses.total
        left_ends, left_costs = self._walk(left, rows)
        right_ends, right_costs = self._walk(right, rows)
        goes_left = self._columns[self.feature[i]][rows] <= self.cut[i]
        now = total(np.where(goes_left, left_costs, right_costs))
        yield Move(price(now, splits), splits, "stay")
        yield Move(price(self._losses.fit(rows)[1], 0), 0, "leaf")
        for kind, child, ends, costs in (
            ("left", left, left_ends, left_costs),
            ("right", right, right_ends, right_costs),
        ):
            if self._are_large_enough(rows, ends):
                below = self.splits[child]
                yield Move(price(total(costs), below), below, kind)
        for errors, cut in self._cuts(rows, left_costs - right_costs, total(right_costs), now):
            goes_left = self._columns[cut.feature][rows] <= cut.code
            if self._are_large_enough(rows, np.where(goes_left, left_ends, right_ends)):
                yield Move(price(errors, splits), splits, "cut", *cut)
                break

    def _improve(self, i: int, is_hurried: bool) -> bool:
        """Make a split as good as it can be; whether it has changed."""
        left, right = self.children[i]
        self.splits[i] = 1 + self.splits[left] + self.splits[right]
        self.errors[i] = self.errors[left] + self.errors[right]
        if is_hurried:
            now = Move(
                self._cost_scale.cost(self.errors[i], self.splits[i]), self.splits[i], "stay"
            )
            leaf = self._losses.fit(self.rows[i])[1]
            moves = iter([now, Move(self._cost_scale.cost(leaf, 0), 0, "leaf")])
        else:
            moves = self.moves(i)
        now = best = next(moves)
        for move in moves:
            # Of equally good ones the first with the fewest splits.
            if (move.cost, move.splits) < (best.cost, best.splits):
                best = move
        saved = now.cost - best.cost
        if saved <= self._losses.tolerance and not (saved >= 0 and best.splits < now.splits):
            return False
        if best.kind == "leaf":
            self.feature[i] = LEAF
        elif best.kind == "cut":
            self.feature[i], self.cut[i] = best.feature, self._centre(i, best)
        else:
            self._replace(i, left if best.kind == "left" else right)
        self._settle(i, self.rows[i])
        return True

    def _cuts(
        self, rows: Rows, gains: NDArray[Any], base: Any, most: Any
    ) -> Iterator[tuple[Any, Cut]]:
        """Cuts with fewer errors than ``most``, best first; then by feature and code.

        ``gains`` says how much more each row costs on the left than on the right, ``base`` what all
        cost on the right.
        """
        care = np.flatnonzero(gains)
        if not len(care):
            return
        rows, gains = rows[care], gains[care]
        found: list[tuple[Any, int, int]] = []
        for feature, (codes, errors) in enumerate(self._sweeps(rows, gains)):
            errors = errors + base
            if not self._smallest and len(errors):
                # The best cut alone will do.
                best = int(errors.argmin())
                codes, errors = codes[best : best + 1], errors[best : best + 1]
            better = errors < most
            pairs = zip(errors[better].tolist(), codes[better].tolist(), strict=True)
            found += [(cost, feature, code) for cost, code in pairs]
        for cost, feature, code in sorted(found):
            yield cost, Cut(feature, code)

    def _sweeps(
        self, rows: Rows, gains: NDArray[Any]
    ) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
        """For each feature the codes to cut at, ascending, and what each cut adds to the cost of
        all rows on the right. Sums of integers are exact in float64: the total weight is below
        2**53."""
        if not self._is_binary:
            for feature, column in enumerate(self._columns):
                yield self._sweep(column[rows], self._arities[feature], gains)
            return
        at = np.zeros(1, np.int64)
        for first in range(0, len(self._columns), _BLOCK):
            is_left = self._columns[first : first + _BLOCK, rows] == 0
            for added in (is_left @ gains.astype(np.float64)).astype(gains.dtype):
                yield at, np.array([added])

    @staticmethod
    def _sweep(
        codes: NDArray[np.int32], arity: int, gains: NDArray[Any]
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        if arity <= 4 * len(codes):
            at = np.arange(arity - 1, dtype=np.int32)
            sums = np.bincount(codes, weights=gains, minlength=arity)[:-1].cumsum()
        else:
            order = codes.argsort(kind="stable")
            at, sums = codes[order], gains[order].cumsum()
            last = np.append(at[1:] != at[:-1], False)  # to have all at the left is no cut
            at, sums = at[last], sums[last].astype(np.float64)
        return at, sums.astype(gains.dtype)

    def _are_large_enough(self, rows: Rows, ends: NDArray[np.int64]) -> bool:
        """Whether each leaf that gets some of the rows gets enough."""
        if not self._smallest:
            return True
        sizes = np.bincount(ends, weights=self._losses.weights[rows])
        return not np.any((sizes > 0) & (sizes < self._smallest))

    def _centre(self, i: int, move: Move) -> int:
        """The code in the middle between the rows of a node on both sides of a cut."""
        codes = self._columns[move.feature][self.rows[i]]
        left = codes <= move.cut
        return int(codes[left].max() + codes[~left].min()) // 2

    def _walk(self, i: int, rows: Rows) -> tuple[NDArray[np.int64], NDArray[Any]]:
        """The leaf of a subtree at which each row would end, and what it would cost there."""
        ends = np.zeros(len(rows), np.int64)
        costs = np.zeros(len(rows), self._losses.costs(rows[:0], self.prediction[i]).dtype)
        pending = [(i, np.arange(len(rows)))]
        while pending:
            at, part = pending.pop()
            if self.feature[at] == LEAF:
                ends[part] = at
                costs[part] = self._losses.costs(rows[part], self.prediction[at])
                continue
            goes_left = self._columns[self.feature[at]][rows[part]] <= self.cut[at]
            left, right = self.children[at]
            pending += [(left, part[goes_left]), (right, part[~goes_left])]
        return ends, costs

    def _settle(self, i: int, rows: Rows) -> None:
        """Send rows down from a node: fit the leaves again, and drop splits of a single side."""
        pending, visited = [(i, rows)], []
        while pending:
            at, part = pending.pop()
            self.rows[at] = part
            self.prediction[at], self.errors[at] = self._losses.fit(part)
            self.splits[at] = 0
            while self.feature[at] != LEAF:
                goes_left = self._columns[self.feature[at]][part] <= self.cut[at]
                left, right = self.children[at]
                if goes_left.any() and not goes_left.all():
                    visited.append(at)
                    pending += [(left, part[goes_left]), (right, part[~goes_left])]
                    break
                self._replace(at, left if goes_left.all() else right)
        for at in reversed(visited):  # children come after their parents
            left, right = self.children[at]
            self.errors[at] = self.errors[left] + self.errors[right]
            self.splits[at] = 1 + self.splits[left] + self.splits[right]

    def _replace(self, i: int, by: int) -> None:
        """Replace a node by a subtree below it."""
        self.feature[i], self.cut[i] = self.feature[by], self.cut[by]
        self.children[i] = self.children[by]

    def _add(self) -> int:
        """A new leaf."""
        self.feature.append(LEAF)
        self.cut.append(0)
        self.children.append((LEAF, LEAF))
        self.prediction.append(None)
        self.rows.append(np.zeros(0, np.int64))
        self.errors.append(0)
        self.splits.append(0)
        return len(self.feature) - 1

    def _levels(self) -> Iterator[list[int]]:
        """The nodes of each depth, from the root."""
        level = [0]
        while level:
            yield level
            level = [c for i in level if self.feature[i] != LEAF for c in self.children[i]]
