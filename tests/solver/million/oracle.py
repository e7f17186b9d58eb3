"""The least errors of all trees of each number of splits, by recursion over sets of rows.

It shares no code with the product and imports nothing of it. Sets of rows are the bits of an
integer. A split is the list of the sets into which it parts all rows: codes of a feature, the two
sides of a cut, or those of a hyperplane are alike to it. Errors are misclassified weight or, in
regression, squared error; sums of whole numbers are exact in its floats.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numba import njit

MOST_ROWS = 62
NO_LIMIT = 99
"""A depth that no tree reaches."""

_SLOTS, _ENTRIES, _NUMBERS = 2**16, 2**14, 2**18


class Ways(NamedTuple):
    """The rows, and all ways to split them.

    Way ``i`` has the parts from ``first[i]`` to ``first[i + 1]``. ``classes`` is 0 in regression.
    """

    parts: Any
    first: Any
    weights: Any
    labels: Any
    values: Any
    classes: int
    min_leaf: int
    everything: int


class Memo(NamedTuple):
    """What is known of sets of rows: a hash table whose slots belong to the call of their stamp."""

    rows: Any
    levels: Any
    stamps: Any
    places: Any
    starts: Any
    lengths: Any
    numbers: Any
    used: Any  # the stamp, entries, numbers


def _new_memo() -> Memo:
    slots = (np.zeros(_SLOTS, np.int64) for _ in range(4))
    entries = (np.zeros(_ENTRIES, np.int64) for _ in range(2))
    return Memo(*slots, *entries, np.zeros(_NUMBERS), np.zeros(3, np.int64))


@njit(cache=True)  # type: ignore[misc]
def _slot(rows: int, levels: int, memo: Memo) -> int:
    """Where a set of rows with so many levels is, or may be put."""
    at = (rows * 0x9E3779B97F4A7C1 + levels * 0x632BE5AB) >> 11 & (_SLOTS - 1)
    while memo.stamps[at] == memo.used[0]:
        if memo.rows[at] == rows and memo.levels[at] == levels:
            return at
        at = (at + 1) & (_SLOTS - 1)
    return at


@njit(cache=True)  # type: ignore[misc]
def _leaf(rows: int, ways: Ways) -> float:
    """Errors of a leaf."""
    if ways.classes > 0:
        held, whole = np.zeros(ways.classes, np.int64), 0
        for row in range(len(ways.weights)):
            if rows >> row & 1:
                held[ways.labels[row]] += ways.weights[row]
                whole += ways.weights[row]
        return float(whole - held.max())
    loss = 0.0
    for output in range(ways.values.shape[1]):
        weight, first, second = 0, 0, 0
        for row in range(len(ways.weights)):
            if rows >> row & 1:
                value = ways.values[row, output]
                weight += ways.weights[row]
                first += ways.weights[row] * value
                second += ways.weights[row] * value * value
        loss += (weight * second - first * first) / weight
    return loss


@njit(cache=True)  # type: ignore[misc]
def _weight(rows: int, ways: Ways) -> int:
    total = 0
    for row in range(len(ways.weights)):
        if rows >> row & 1:
            total += ways.weights[row]
    return total


@njit(cache=True)  # type: ignore[misc]
def _allowed(rows: int, way: int, ways: Ways) -> bool:
    """Whether at least two parts have rows, and none of them is too small."""
    inside = 0
    for i in range(ways.first[way], ways.first[way + 1]):
        part = ways.parts[i] & rows
        if part != 0:
            inside += 1
            if ways.min_leaf > 1 and _weight(part, ways) < ways.min_leaf:
                return False
    return inside > 1


@njit(cache=True)  # type: ignore[misc]
def _together(some: Any, size: int, entry: int, memo: Memo) -> int:
    """Add a tree at another place: ``some`` has the least errors by splits; the new size."""
    start, more = memo.starts[entry], memo.lengths[entry]
    for total in range(size + more - 2, -1, -1):  # from above, so that it is done in place
        least = np.inf
        for there in range(max(0, total - size + 1), min(more - 1, total) + 1):
            least = min(least, some[total - there] + memo.numbers[start + there])
        some[total] = least
    return size + more - 1


@njit(cache=True)  # type: ignore[misc]
def _best(rows: int, levels: int, ways: Ways, memo: Memo) -> int:
    """The entry of some rows: least errors of trees of at most so many splits and levels."""
    at = _slot(rows, levels, memo)
    if memo.stamps[at] == memo.used[0]:
        return memo.places[at]
    n = len(ways.weights)
    found, some = np.full(n + 2, np.inf), np.empty(n + 2)
    found[0], length = _leaf(rows, ways), 1
    if levels > 0 and found[0] > 0:
        below = levels if levels == NO_LIMIT else levels - 1
        for way in range(len(ways.first) - 1):
            if not _allowed(rows, way, ways):
                continue
            some[0], size = 0.0, 1
            for i in range(ways.first[way], ways.first[way + 1]):
                part = ways.parts[i] & rows
                if part != 0:
                    size = _together(some, size, _best(part, below, ways, memo), memo)
            for splits in range(size):
                found[splits + 1] = min(found[splits + 1], some[splits])
            length = max(length, size + 1)
    for splits in range(1, length):
        found[splits] = min(found[splits], found[splits - 1])
    while length > 1 and found[length - 1] == found[length - 2]:
        length -= 1
    place, start = memo.used[1], memo.used[2]
    if place == _ENTRIES or start + length > _NUMBERS:
        raise MemoryError("the problem is too large for the oracle")
    memo.used[1] += 1
    memo.used[2] += length
    memo.starts[place], memo.lengths[place] = start, length
    memo.numbers[start : start + length] = found[:length]
    at = _slot(rows, levels, memo)  # another one than before, where the recursion took that
    memo.rows[at], memo.levels[at] = rows, levels
    memo.stamps[at], memo.places[at] = memo.used[0], place
    return place


@njit(cache=True)  # type: ignore[misc]
def _errors(levels: int, ways: Ways, memo: Memo) -> Any:
    """The least errors of all trees, by splits."""
    memo.used[0] += 1
    memo.used[1], memo.used[2] = 0, 0
    entry = _best(ways.everything, levels, ways, memo)
    start = memo.starts[entry]
    return memo.numbers[start : start + memo.lengths[entry]].copy()


@njit(cache=True)  # type: ignore[misc]
def _cheapest(some: Any, size: int, error: int, split: int) -> tuple[int, int]:
    """The least cost by a list of errors, and the fewest splits of that cost."""
    cost, splits = error * np.int64(some[0]), 0
    for number in range(1, size):
        other = error * np.int64(some[number]) + split * number
        if other < cost:
            cost, splits = other, number
    return cost, splits


@njit(cache=True)  # type: ignore[misc]
def _first(levels: int, error: int, split: int, ways: Ways, memo: Memo) -> Any:
    """The optimal tree of fewest splits whose splits come first, in preorder; −1 is a leaf."""
    n = len(ways.weights)
    some, shape, used = np.empty(n + 2), np.empty(64 * (n + 2), np.int64), 0
    rows_left, levels_left = np.zeros(64 * (n + 2), np.int64), np.zeros(64 * (n + 2), np.int64)
    rows_left[0], levels_left[0], left = ways.everything, levels, 1
    while left > 0:
        left -= 1
        rows, level, chosen = rows_left[left], levels_left[left], -1
        below = level if level == NO_LIMIT else level - 1
        if rows != 0:
            entry = _best(rows, level, ways, memo)
            start = memo.starts[entry]
            cost, splits = _cheapest(memo.numbers[start:], memo.lengths[entry], error, split)
            if splits > 0:
                for way in range(len(ways.first) - 1):
                    if not _allowed(rows, way, ways):
                        continue
                    some[0], size = 0.0, 1
                    for i in range(ways.first[way], ways.first[way + 1]):
                        part = ways.parts[i] & rows
                        if part != 0:
                            size = _together(some, size, _best(part, below, ways, memo), memo)
                    other, more = _cheapest(some, size, error, split)
                    if other + split == cost and more + 1 == splits:
                        chosen = way
                        break
        shape[used] = chosen
        used += 1
        if chosen >= 0:
            for i in range(ways.first[chosen + 1] - 1, ways.first[chosen] - 1, -1):
                rows_left[left], levels_left[left] = ways.parts[i] & rows, below
                left += 1
    return shape[:used].copy()


_MEMO = _new_memo()


class Oracle:
    """All that there is to know of the best trees of some rows.

    Parameters
    ----------
    ways : sequence of sequences of int
        For each split the sets of rows that its branches take.
    weights : sequence of int
        Of the rows.
    labels : sequence of int
        Class of each row; in regression empty.
    values : sequence of sequences of int
        In regression: the targets of each row.
    depth : int, optional
    min_leaf : int
        Least weight of a leaf that has rows and is not the only one.

    Attributes
    ----------
    errors : list of float
        The least errors of the trees of at most 0, 1, 2, … splits.
    """

    def __init__(
        self,
        ways: Sequence[Sequence[int]],
        weights: Sequence[int],
        labels: Sequence[int],
        values: Sequence[Sequence[int]] = (),
        depth: int | None = None,
        min_leaf: int = 1,
    ) -> None:
        if len(weights) > MOST_ROWS:
            raise ValueError("too many rows")
        first = [0]
        for parts in ways:
            first.append(first[-1] + len(parts))
        self.total = sum(weights)
        self._ways = Ways(
            np.array([part for parts in ways for part in parts], np.int64),
            np.array(first, np.int64),
            np.array(weights, np.int64),
            np.array(labels, np.int64),
            np.array(values, np.int64).reshape(len(values), len(values[0]) if len(values) else 0),
            0 if len(values) else max(labels) + 1,
            min_leaf,
            (1 << len(weights)) - 1,
        )
        self._levels = NO_LIMIT if depth is None else depth
        self.errors: list[float] = _errors(self._levels, self._ways, _MEMO).tolist()

    def within(self, splits: int | None) -> list[float]:
        """The least errors of the trees within a limit of splits."""
        return self.errors if splits is None else self.errors[: splits + 1]

    def optimum(self, lam: Fraction, most: int | None = None) -> tuple[Fraction, int]:
        """The least objective of classification, and the fewest splits that reach it."""
        error, split = lam.denominator, lam.numerator * self.total
        cost, splits = min(
            (error * int(errors) + split * number, number)
            for number, errors in enumerate(self.within(most))
        )
        return Fraction(cost, error * self.total), splits

    def least_squares(self, lam: float, most: int | None = None) -> tuple[float, int]:
        """As :meth:`optimum`, of regression, but for the rounding of floats."""
        costs = [
            errors / self.total + lam * number for number, errors in enumerate(self.within(most))
        ]
        least = min(costs)
        return least, next(i for i, cost in enumerate(costs) if cost <= least * (1 + 1e-12))

    def first_tree(self, lam: Fraction) -> list[int] | None:
        """The optimal tree of fewest splits whose ways come first, in preorder; −1 is a leaf.

        None if the costs do not fit into 64 bits.
        """
        error, split = lam.denominator, lam.numerator * self.total
        if error * self.total + split * len(self._ways.weights) >= 2**62:
            return None
        _errors(self._levels, self._ways, _MEMO)  # another problem may have been asked since
        found: list[int] = _first(self._levels, error, split, self._ways, _MEMO).tolist()
        return found

    def path(self, lam_min: Fraction, most: int | None = None) -> list[tuple[Fraction, int, int]]:
        """The λ-path: where each best tree begins, its errors, and its splits."""
        errors, lam = [int(number) for number in self.within(most)], lam_min
        now = self.optimum(lam, most)[1]
        steps = [(lam, errors[now], now)]
        while now > 0:
            lam = min(
                Fraction(errors[fewer] - errors[now], self.total * (now - fewer))
                for fewer in range(now)
            )
            now = self.optimum(lam, most)[1]
            steps.append((lam, errors[now], now))
        return steps


def by_codes(columns: Iterable[Sequence[int]], arities: Iterable[int]) -> list[list[int]]:
    """The ways to split rows by the codes of a feature."""
    ways = []
    for column, arity in zip(columns, arities, strict=True):
        parts = [0] * arity
        for row, code in enumerate(column):
            parts[code] |= 1 << row
        ways.append(parts)
    return ways


def by_cuts(columns: Iterable[Sequence[int]]) -> list[list[int]]:
    """The ways to cut rows between two numbers of a column."""
    ways = []
    for column in columns:
        below, everything = 0, (1 << len(column)) - 1
        for number in sorted(set(column))[:-1]:
            below |= sum(1 << row for row, other in enumerate(column) if other == number)
            ways.append([below, everything & ~below])
    return ways


def by_intervals(column: Sequence[int], degree: int) -> list[list[int]]:
    """The ways in which a polynomial of one column can part rows: it changes its sign at most as
    often as its degree says."""
    everything, places = (1 << len(column)) - 1, sorted(set(column))
    rows = [sum(1 << r for r, other in enumerate(column) if other == number) for number in places]
    changes = {(0, 0, 0), (1, 0, 0)}  # the side of the last place, how often it changed, the set
    for place in rows:
        changes = {
            (side, number + (side != last), chosen | place * side)
            for last, number, chosen in changes
            for side in (0, 1)
            if number + (side != last) <= degree
        }
    found = {chosen for _, _, chosen in changes} - {0, everything}
    return [[chosen, everything & ~chosen] for chosen in sorted(found)]


def by_lines(points: Sequence[tuple[int, int]]) -> list[list[int]]:
    """The ways in which a line can part points of the plane.

    Two sets that a line separates strictly have a common tangent that separates them: it goes
    through a point of each, and the points on it are those of the one set up to some place, then
    those of the other. So all ways come from the lines through two points, slightly turned.
    """
    everything, found = (1 << len(points)) - 1, set()
    places = sorted(set(points))
    at = {p: sum(1 << row for row, other in enumerate(points) if other == p) for p in places}
    for i, (x, y) in enumerate(places):
        for u, v in places[i + 1 :]:
            left, line = 0, []
            for p, q in places:
                side = (u - x) * (q - y) - (v - y) * (p - x)
                if side > 0:
                    left |= at[p, q]
                if side == 0:
                    line.append(at[p, q])  # in order along the line, as the places are sorted
            on = sum(line)
            start = 0
            for rows in (0, *line):
                start |= rows
                found |= {left | start, left | (on & ~start)}
    return [[rows, everything & ~rows] for rows in sorted(found - {0, everything})]
