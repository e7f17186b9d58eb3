"""An independent checker of optimality certificates: numpy, and nothing of the search.

A certificate lists the branches that a search had to open, in that order, each with a lower bound
on the cost of every tree there. This module opens them again, derives what counting proves of
each, and refuses the first claim that does not follow. A certificate only tells it where to look
next. The theorems are in ``docs/proofs.md``.

With λ = p/d and W the total weight, a cost is the integer ``e·errors + q·splits``, ``e = d`` and
``q = p·W``; divided by ``d·W`` it is the objective. The gain of a tree for a branch is
``e·weight − cost``; lower bounds on costs are upper bounds on gains.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

FORMAT, VERSION = "treesweep-certificate", 1
SPLITS, COUNTS, KNOWN = RULES = ("splits", "counts", "known")
_INFINITE = 2**62  # beyond every cost, depth and weight

Ints = NDArray[np.int64]
Floats = NDArray[np.floating]  # float32 where all sums of weights are exact in it, else float64
Table = Mapping[str, Any]
Progress = Callable[[int], None] | None


class Refused(ValueError):
    """A certificate does not prove what it claims: ``row`` (−1: no single row), and ``why``."""

    def __init__(self, row: int, why: str) -> None:
        super().__init__(f"row {row}: {why}" if row >= 0 else why)
        self.row, self.why = row, why


def check(
    codes: Any, arities: Any, counts: Any, columns: Table, meta: Table, progress: Progress = None
) -> dict[Fraction, Fraction]:
    """Verify a certificate against the data.

    Parameters
    ----------
    codes, arities : arrays of int, shapes (points, features) and (features,)
        The code of a feature is the branch of its test that the point takes.
    counts : array of int, shape (points, classes)
        Weight of each class at each point.
    columns, meta : mapping
        The certificate: ``lam``, ``level``, ``feature``, ``code``, ``bound`` and ``rule``; and
        ``format``, ``version``, ``depth`` (limit on depth, or None) and ``total_weight``.
    progress : callable, optional
        Called now and then with the number of the current row.

    Returns
    -------
    dict
        λ → lower bound on the objective of every tree within the limit, both exact.

    Raises
    ------
    Refused
        At the first row whose claim does not follow from the data and the rows before it.
    """
    data = _read_data(codes, arities, counts, meta)
    replay = _Replay(data, _read_script(columns, data))
    for row in range(len(replay.script["level"])):
        replay.enter(row)
        if progress is not None and row % 256 == 0:
            progress(row)
    replay.leave(0)
    return replay.proven


class _Data(NamedTuple):
    """The problem. A column is one code of one feature; ``hot`` is 1 at the points that have it."""

    hot: Floats  # points × columns
    counts: Floats  # points × classes
    feature: Ints  # of each column
    keys: NDArray[np.uint64]  # a random number for each point
    arity: int  # the largest, at least 2
    total: int  # W
    depth: int = _INFINITE
    error: int = 1  # price of an error
    split: int = 0  # price of a split


class _Branch:
    """An open branch, and what is proven of the children of its live splits.

    A feature is live if it may pay here or in a branch below. Its columns, the children, lie in
    planes: the first codes of all live features, then the second ones, and so on. Features of many
    codes come first, so each plane is as long as the number of features that reach it.
    """

    def __init__(
        self, data: _Data, row: int, name: str, points: Ints, level: int, live: Ints, known: int
    ) -> None:
        self.data, self.row, self.name, self.points, self.level = data, row, name, points, level
        self.error, self.split = data.error, data.split
        self.least = known  # what it costs at least, however its children are bounded
        counts = data.counts[points]
        self.counts = counts[:, counts.any(axis=0)]
        totals = self.counts.sum(axis=0).astype(np.int64)
        self.weight = int(totals.sum())
        self.leaf = self.error * (self.weight - int(totals.max()))
        self.shared: Ints | None = None  # weight of every pair of children
        if level >= data.depth or self.leaf == 0:
            live = live[:0]
        hot = data.hot[points][:, live]
        by_class: Ints = (self.counts.T @ hot).astype(np.int64)
        order = self._arrange(data.feature[live], by_class.any(axis=0))
        self.columns, hot, by_class = live[order], hot[:, order], by_class[:, order]
        self.child_weight: Ints = by_class.sum(axis=0)
        self.child_leaf: Ints = self.error * (self.child_weight - by_class.max(axis=0))
        hot = self._open(hot, by_class)
        self.keys: list[int] = (data.keys[points] @ hot.astype(np.uint64)).tolist()
        self.names: dict[int, bytes] = {}  # of children that may be known

    def _arrange(self, feature: Ints, occupied: Any) -> Ints:
        """The planes of the occupied columns of features that are not constant."""
        n_codes = np.bincount(feature[occupied], minlength=int(feature.max(initial=0)) + 1)
        chosen = np.flatnonzero(occupied & (n_codes[feature] > 1))
        owner = feature[chosen]
        plane = np.arange(len(chosen)) - np.searchsorted(owner, owner)
        self.planes: list[int] = np.bincount(plane, minlength=1).tolist()
        return chosen[np.lexsort((owner, -n_codes[owner], plane))]

    def _fold(self, combine: np.ufunc, values: Ints) -> Ints:
        """Combine what the children of each feature have."""
        out, at = values[: self.planes[0]].copy(), self.planes[0]
        for size in self.planes[1:]:
            combine(out[:size], values[at : at + size], out=out[:size])
            at += size
        return out

    def _open(self, hot: Floats, by_class: Ints) -> Floats:
        """Bound all children by their class weights, by equivalent points, and by pairs."""
        self._bound_by_classes(by_class, np.zeros_like(self.columns))
        hot, by_class = self._drop(hot, by_class)
        floor = self._find_unavoidable(hot)
        if floor.any():
            self._bound_by_classes(by_class, floor)
            hot, by_class, floor = self._drop(hot, by_class, floor)
        if self.planes[0] and self.level + 2 <= self.data.depth:
            self._bound_by_pairs(hot, floor)
            (hot,) = self._drop(hot)
        return hot

    def _bound_by_classes(self, by_class: Ints, floor: Ints) -> None:
        """Bound the children: ``s`` splits predict ``s·(arity − 1) + 1`` classes (Theorem 3)."""
        self.lower, n_classes = self.child_leaf, len(by_class)
        kept = np.cumsum(-np.sort(-by_class, axis=0), axis=0)
        end = 1 + min(max(1, n_classes - 1), self.error * self.weight // max(self.split, 1))
        for splits in range(1, end if self.level + 1 < self.data.depth else 1):
            most = min(n_classes, splits * (self.data.arity - 1) + 1)
            errors = np.maximum(floor, self.child_weight - kept[most - 1])
            self.lower = np.minimum(self.lower, splits * self.split + self.error * errors)

    def splits(self) -> Ints:
        """Lower bound of each split (Theorem 1); infinite where it cannot pay (Theorem 2)."""
        sums = self._fold(np.add, self.lower)
        largest_gain = self._fold(np.maximum, self.error * self.child_weight - self.lower)
        pays = self.error * self.weight - sums - largest_gain > self.split  # Σ weights = weight
        return np.where(pays, self.split + sums, _INFINITE)

    def paying(self) -> NDArray[np.bool_]:
        """Columns of the features that may pay, here or in a branch below (Theorem 2)."""
        pays = self.splits() < _INFINITE
        return np.concatenate([pays[:size] for size in self.planes])

    def _drop(self, *arrays: Any) -> tuple[Any, ...]:
        """Drop the features that cannot pay."""
        keep = self.paying()
        self.planes = [int(p.sum()) for p in np.split(keep, np.cumsum(self.planes)[:-1])]
        self.columns, self.lower = self.columns[keep], self.lower[keep]
        self.child_weight, self.child_leaf = self.child_weight[keep], self.child_leaf[keep]
        if self.shared is not None:
            self.shared = self.shared[keep][:, keep]
        return tuple(array[..., keep] for array in arrays)

    def bound(self) -> int:
        """What is proven of the branch: it is a leaf, or split at best (Theorem 1)."""
        return max(self.least, min(self.leaf, int(self.splits().min(initial=_INFINITE))))

    def _find_unavoidable(self, hot: Floats) -> Ints:
        """Errors of each child on points that no live feature tells apart (Theorem 4)."""
        bits = np.packbits(hot > 0, axis=1)
        order = np.lexsort((self.points, *bits.T))
        starts = np.flatnonzero(np.append(True, (bits[order[1:]] != bits[order[:-1]]).any(axis=1)))
        groups = np.add.reduceat(self.counts[order], starts, axis=0)
        lost = groups.sum(axis=1) - groups.max(axis=1)
        self.least = max(self.least, self.error * int(lost.sum()))
        return np.asarray(lost @ hot[order[starts]], np.int64)

    def _count_cells(self, hot: Floats) -> tuple[Ints, Ints, Ints]:
        """Of every pair of columns: weight, errors as a leaf, and least errors after one split."""
        n, n_classes, arity = hot.shape[1], self.counts.shape[1], self.data.arity
        weight = np.zeros((n, n), np.int64)
        largest = [weight] * min(n_classes, arity)
        for weights in self.counts.T:
            part = hot[weights > 0]
            cell = ((part * weights[weights > 0, None]).T @ part).astype(np.int64)
            weight = weight + cell
            for i, held in enumerate(largest):
                largest[i], cell = np.maximum(held, cell), np.minimum(held, cell)
        return weight, weight - largest[0], weight - sum(largest)

    def _bound_by_pairs(self, hot: Floats, floor: Ints) -> None:
        """Bound the children by the cells of their splits (Theorem 5).

        Entry (j, c) of an array is the cell of child ``c`` in column ``j``; after a fold, (g, c) is
        child ``c`` split by feature ``g``. Its own feature gives one cell, and never pays.
        """
        split, error = self.split, self.error
        self.shared, errors, second = self._count_cells(hot)
        weight, stump = self.child_weight, self._fold(np.add, errors)
        # What splits a cell well, splits either child that the cell is part of as well but for
        # the weight beside the cell; and no single split of a child leaves less than its best.
        spare = weight - stump.min(axis=0)
        second = np.clip(self.shared - np.minimum(spare[:, None], spare), second, errors)
        low, value = error * errors, split + error * stump
        if self.level + 2 < self.data.depth:
            low = np.minimum(np.minimum(low, split + error * second), 2 * split)
            saved = self._fold(np.maximum, errors - second)
            two = 2 * split + error * np.maximum(floor, stump - saved)
            more = 3 * split + error * floor
            if self.data.arity == 2:
                n = self.planes[0]
                three = np.minimum(second[:n] + second[n:], np.minimum(errors[:n], errors[n:]))
                more = np.minimum(split + more, 3 * split + error * np.maximum(floor, three))
            value = np.minimum(value, np.minimum(two, more))
        lows = self._fold(np.add, low)
        largest_gain = self._fold(np.maximum, error * self.shared - low)
        pays = error * weight - lows - largest_gain > split
        value = np.where(pays, np.maximum(value, split + lows), _INFINITE)
        self.lower = np.maximum(self.lower, np.minimum(self.child_leaf, value.min(axis=0)))
        similar = self.lower[:, None] - error * (weight[:, None] - self.shared)
        self.lower = np.maximum(self.lower, similar.max(axis=0))  # Theorem 6

    def raise_child(self, child: int, bound: int) -> None:
        """Take a proven bound of a child, and what it proves of similar ones (Theorem 6)."""
        if bound > self.lower[child]:
            self.lower[child] = bound
            if self.shared is not None:
                beside = self.child_weight[child] - self.shared[child]
                np.maximum(self.lower, bound - self.error * beside, out=self.lower)


class _Replay:
    """A script in progress: the branches that are open, and what is proven of sets of points."""

    def __init__(self, data: _Data, script: dict[str, list[Any]]) -> None:
        self.data, self.script = data, script
        self.proven: dict[Fraction, Fraction] = {}
        self.open: list[_Branch] = []
        self.seen: set[int] = set()  # sums of keys: only to find sets of points quickly
        self.claims: dict[bytes, int] = {}

    def enter(self, row: int) -> None:
        """Open the branch of a row, unless its claim is known to be true already."""
        level, column, bound, _, rule, name = (values[row] for values in self.script.values())
        self.leave(level)
        if level == 0:
            self._begin(row)
        points, live, known = np.arange(len(self.data.hot)), np.arange(len(self.data.feature)), 0
        for above in self.open[-1:]:
            self._look_up(above)
            name = f"{above.name} ∧ {name}" if level > 1 else name
            points = self._part(above.points, column)
            if len(points) == 0:
                raise Refused(row, f"{name}: no point is in this branch")
            for child in np.flatnonzero(above.columns == column):
                known = int(above.lower[child])
            if rule == KNOWN and bound <= known:
                return self._learn(level, points, known)
            live = np.sort(above.columns[above.paying()])
        self.open.append(_Branch(self.data, row, name, points, level, live, known))

    def _begin(self, row: int) -> None:
        """Begin the proof for one λ. A price of a split beyond all errors is as good as any."""
        text = str(self.script["lam"][row])
        if not re.fullmatch("[0-9]{1,40}(/0*[1-9][0-9]{0,39})?", text):
            raise Refused(row, f"λ = {text} is no fraction like 1/100")
        lam = Fraction(text)
        error, split = lam.denominator, min(lam.numerator, lam.denominator + 1) * self.data.total
        if error * self.data.total >= 2**60:
            raise Refused(row, f"λ = {text} and these weights need integers beyond 64 bits")
        self.data, self.claims = self.data._replace(error=error, split=split), {}

    def leave(self, level: int) -> None:
        """Check the claims of the branches that are open from a level on, the last one first."""
        while len(self.open) > level:
            branch = self.open.pop()
            self._look_up(branch)
            bound, claim = branch.bound(), self.script["bound"][branch.row]
            if claim > bound:
                why = f"{branch.name}: the claim is {claim}, but only {bound} follows"
                raise Refused(branch.row, why)
            self._learn(branch.level, branch.points, bound)
            for above in self.open[-1:]:
                for child in np.flatnonzero(above.columns == self.script["column"][branch.row]):
                    above.raise_child(int(child), bound)
            if branch.level == 0:
                lam = Fraction(self.script["lam"][branch.row])
                proven = Fraction(claim, self.data.error * self.data.total)
                self.proven[lam] = max(proven, self.proven.get(lam, proven))

    def _part(self, points: Ints, column: int) -> Ints:
        """The points that have a code."""
        return points.compress(self.data.hot[points, column] > 0)

    def _name(self, level: int, points: Ints) -> bytes:
        """A set of points, and the level if depth is limited: then it is another problem."""
        return np.append(points, level * (self.data.depth < _INFINITE)).astype(np.int32).tobytes()

    def _look_up(self, branch: _Branch) -> None:
        """Tell a branch what was proven elsewhere of its children's points, and the reverse."""
        seen = [child for child, key in enumerate(branch.keys) if key in self.seen]
        for child in set(seen).difference(branch.names):
            part = self._part(branch.points, int(branch.columns[child]))
            branch.names[child] = self._name(branch.level + 1, part)
        known = {at: name for at, name in branch.names.items() if name in self.claims}
        for child, name in known.items():
            branch.raise_child(child, self.claims[name])
        for child, name in known.items():
            self.claims[name] = int(branch.lower[child])

    def _learn(self, level: int, points: Ints, bound: int) -> None:
        """Keep what is proven of a set of points."""
        self.seen.add(int(self.data.keys[points].sum()))
        name = self._name(level, points)
        self.claims[name] = max(bound, self.claims.get(name, bound))


def _whole(values: Any, name: str, n_axes: int) -> Ints:
    """Read an array of integers."""
    try:
        array = np.asarray(values)
        if array.ndim == n_axes and (array.dtype.kind in "iu" or array.size == 0):
            if array.size == 0 or -1 <= int(array.min()) <= int(array.max()) < _INFINITE:
                return array.astype(np.int64)
    except (ValueError, TypeError):
        pass
    raise Refused(-1, f"{name} must be integers from −1 to 2^62, with {n_axes} axes")


def _read_data(codes: Any, arities: Any, counts: Any, meta: Any) -> _Data:
    """The points of positive weight, and the limit on depth of a certificate for them."""
    codes, counts = _whole(codes, "codes", 2), _whole(counts, "counts", 2)
    arities, total = _whole(arities, "arities", 1), sum(map(int, counts.ravel()))
    if counts.min(initial=0) < 0 or not 0 < total < 2**53:
        raise Refused(-1, "weights must be 0 or more, and add up to less than 2^53, but not to 0")
    if codes.shape != (len(counts), len(arities)) or ((codes < 0) | (codes >= arities)).any():
        raise Refused(-1, "codes fit neither counts nor arities")
    meta = meta if isinstance(meta, Mapping) else {}
    for name, wanted in (("format", FORMAT), ("version", VERSION), ("total_weight", total)):
        if meta.get(name) != wanted:
            raise Refused(-1, f"its {name} is {meta.get(name)!r}, not {wanted!r}")
    depth = _INFINITE if meta.get("depth", -1) is None else meta.get("depth")
    if type(depth) is not int or not 0 <= depth <= _INFINITE:
        raise Refused(-1, f"its depth is {depth!r}; the limit must be null, or 0 or more")
    codes, counts = codes[counts.any(axis=1)], counts[counts.any(axis=1)]
    arity, feature = max([2, *arities.tolist()]), np.repeat(np.arange(len(arities)), arities)
    hot = np.zeros((len(codes), len(feature)), np.float32 if total < 2**24 else np.float64)
    np.put_along_axis(hot, np.cumsum(arities) - arities + codes, 1, axis=1)
    keys = np.random.default_rng(1).integers(0, 2**64, len(codes), np.uint64)
    return _Data(hot, counts.astype(hot.dtype), feature, keys, arity, total, depth)


def _read_script(columns: Any, data: _Data) -> dict[str, list[Any]]:
    """The rows, if each has a place in the proof; with the column and the name of its test."""
    names = ("level", "feature", "code", "bound", "lam", "rule")
    if not isinstance(columns, Mapping) or not set(names) <= set(columns):
        raise Refused(-1, f"one of the columns {', '.join(names)} is absent")
    level, feature, code, bound = (_whole(columns[name], name, 1) for name in names[:4])
    lam, rule = (np.array(columns[name], object) for name in names[4:])
    if len({c.shape for c in (lam, rule, level, feature, code, bound)}) > 1 or not len(lam):
        raise Refused(-1, "the columns of the certificate are empty, or of different lengths")
    column = np.searchsorted(data.feature, feature) + code
    inside = (code >= 0) & (column < len(data.feature))
    inside[inside] = data.feature[column[inside]] == feature[inside]
    deepest = np.append(0, level + (rule == SPLITS))[:-1].clip(max=min(data.depth, len(data.hot)))
    faults = {
        "its level does not follow from the row above": (level < 0) | (level > deepest),
        "there is no such test": np.where(level == 0, (feature != -1) | (code != -1), ~inside),
        "its bound or its rule is no claim": (bound < 0) | [name not in RULES for name in rule],
        "its λ is not that of the row above": (level > 0) & (np.roll(lam, 1) != lam),
    }
    found = [(int(wrong.argmax()), why) for why, wrong in faults.items() if wrong.any()]
    if found:
        raise Refused(*min(found))
    tests = ["all points" if f < 0 else f"x{f}={v}" for f, v in zip(feature, code, strict=True)]
    script = {"level": level, "column": column, "bound": bound, "lam": lam, "rule": rule}
    return {name: values.tolist() for name, values in script.items()} | {"test": tests}
