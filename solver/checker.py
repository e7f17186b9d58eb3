"""An independent checker of optimality certificates: numpy, and nothing of the search.

A certificate is the script of a proof: the branches that a search had to open, in that order, each
with a lower bound on what every tree costs there. This module opens them anew, derives what
counting proves of each, and refuses the first claim that does not follow; it takes nothing from a
certificate but where to look next. The theorems are in ``docs/proofs.md``.

A cost is the integer ``e·errors + q·splits`` with λ = p/d, ``e = d`` and ``q = p·W``, W the total
weight; divided by ``d·W`` it is the objective. ``f(b)`` is the least cost of a tree for branch
``b`` within the limit on depth, and ``gain(b) = e·weight(b) − f(b)``. Bounds of ``f`` are from
below, so gains are from above.
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
_FRACTION = re.compile("[0-9]{1,40}(/0*[1-9][0-9]{0,39})?")
_INFINITE = 2**62  # beyond every cost, depth and weight

Ints = NDArray[np.int64]
Script = dict[str, list[Any]]  # the columns of a certificate, and ``column`` of each row's test
Floats = NDArray[Any]  # float32 where all sums of weights are exact in it, else float64


class Refused(ValueError):
    """A certificate does not prove what it claims: ``row`` (−1: no single row), and ``why``."""

    def __init__(self, row: int, why: str) -> None:
        super().__init__(f"row {row}: {why}" if row >= 0 else why)
        self.row, self.why = row, why


def check(
    codes: Any,
    arities: Any,
    counts: Any,
    columns: Mapping[str, Any],
    meta: Mapping[str, Any],
    progress: Callable[[int], None] | None = None,
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
        Called with the number of the row in hand, now and then.

    Returns
    -------
    dict
        λ → lower bound on the objective of every tree within the limit, both exact.

    Raises
    ------
    Refused
        At the first row whose claim does not follow from the data and the rows before it.
    """
    data = _read_data(codes, arities, counts)
    data = data._replace(depth=_read_depth(meta, data.total))
    script = _read_script(columns, data)
    begins = [row for row, level in enumerate(script["level"]) if level == 0]
    proven: dict[Fraction, Fraction] = {}
    for begin, end in zip(begins, [*begins[1:], len(script["level"])], strict=True):
        lam = script["lam"][begin]
        data = data._replace(error=lam.denominator, split=lam.numerator * data.total)
        most_splits = max(len(data.hot), data.counts.shape[1] + 4)
        if data.error * data.total + data.split * most_splits >= 2**61:
            raise Refused(begin, f"λ = {lam} and these weights need integers beyond 64 bits")
        replay = _Replay(data, script)
        for row in range(begin, end):
            replay.enter(row)
            if progress is not None and row % 256 == 0:
                progress(row)
        while replay.open:
            replay.leave()
        bound = Fraction(script["bound"][begin], data.error * data.total)
        proven[lam] = max(bound, proven.get(lam, bound))
    return proven


class _Data(NamedTuple):
    """The problem. A column is one code of one feature; ``hot`` is 1 at the points that have it."""

    hot: Floats  # points × columns
    counts: Floats  # points × classes
    feature: Ints  # of each column
    keys: NDArray[np.uint64]  # a random number for each point
    arity: int  # the largest, at least 2
    total: int  # W
    depth: int = _INFINITE
    error: int = 1  # what an error costs, and a split
    split: int = 0


class _Branch:
    """An open branch, and what is proven of the children of its live splits.

    Live are the features that may pay, here or in a branch below. Their columns, the children,
    lie in planes: the first codes of all live features, then the second ones, and so on; features
    of many codes come first, so each plane is as long as the number of features that reach it.
    """

    def __init__(
        self, data: _Data, row: int, name: str, points: Ints, level: int, live: Ints, known: int
    ) -> None:
        self.data, self.row, self.name, self.points, self.level = data, row, name, points, level
        self.least = known  # what it costs at least, however its children are bounded
        counts = data.counts[points]
        self.counts = counts[:, counts.any(axis=0)]
        totals = self.counts.sum(axis=0).astype(np.int64)
        self.weight = int(totals.sum())
        self.leaf = data.error * (self.weight - int(totals.max()))
        self.shared: Ints | None = None  # weight of every pair of children
        if level >= data.depth or self.leaf == 0:
            live = live[:0]
        hot = data.hot[points][:, live]
        by_class: Ints = (self.counts.T @ hot).astype(np.int64)
        order = self._arrange(data.feature[live], by_class.any(axis=0))
        self.columns, hot, by_class = live[order], hot[:, order], by_class[:, order]
        self.child_weight: Ints = by_class.sum(axis=0)
        self.child_leaf: Ints = data.error * (self.child_weight - by_class.max(axis=0))
        self.lower = np.zeros_like(self.columns)
        hot = self._open(hot, by_class)
        self.keys: list[int] = (data.keys[points] @ hot.astype(np.uint64)).tolist()
        self.names: dict[int, bytes] = {}  # of children that may be known

    def _arrange(self, feature: Ints, occupied: Any) -> Ints:
        """The planes of the occupied columns of features that are not constant."""
        n_codes = np.bincount(feature[occupied], minlength=int(feature.max(initial=0)) + 1)
        chosen = np.flatnonzero(occupied & (n_codes[feature] > 1))
        chosen = chosen[np.argsort(feature[chosen], kind="stable")]
        owner = feature[chosen]
        plane = np.arange(len(chosen)) - np.searchsorted(owner, owner)
        self.planes: list[int] = np.bincount(plane, minlength=1).tolist()
        order: Ints = chosen[np.lexsort((owner, -n_codes[owner], plane))]
        return order

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
        if self.planes[0] == 0:
            return hot
        floor = self._find_unavoidable(hot)
        if floor.any():
            self._bound_by_classes(by_class, floor)
            hot, by_class, floor = self._drop(hot, by_class, floor)
        if self.planes[0] and self.level + 2 <= self.data.depth:
            self._bound_by_pairs(hot, floor)
            (hot,) = self._drop(hot)
        return hot

    def splits(self) -> Ints:
        """Lower bound of each split (Theorem 1); infinite where it cannot pay (Theorem 2)."""
        error, split = self.data.error, self.data.split
        sums = self._fold(np.add, self.lower)
        largest_gain = self._fold(np.maximum, error * self.child_weight - self.lower)
        # The weights of the children sum up to that of the branch.
        pays = error * self.weight - sums - largest_gain > split
        return np.where(pays, split + sums, _INFINITE)

    def paying(self) -> NDArray[np.bool_]:
        """Columns of the features that may pay, here or in a branch below (Theorem 2)."""
        pays = self.splits() < _INFINITE
        return np.concatenate([pays[:size] for size in self.planes])

    def _drop(self, *arrays: Any) -> tuple[Any, ...]:
        """Drop the features that cannot pay."""
        keep = self.paying()
        ends = np.cumsum(self.planes)
        self.planes = [int(part.sum()) for part in np.split(keep, ends[:-1])]
        self.columns, self.lower = self.columns[keep], self.lower[keep]
        self.child_weight, self.child_leaf = self.child_weight[keep], self.child_leaf[keep]
        if self.shared is not None:
            self.shared = self.shared[keep][:, keep]
        return tuple(array[..., keep] for array in arrays)

    def bound(self) -> int:
        """What is proven of the branch: it is a leaf, or split at best (Theorem 1)."""
        return max(self.least, min(self.leaf, int(self.splits().min(initial=_INFINITE))))

    def _bound_by_classes(self, by_class: Ints, floor: Ints) -> None:
        """Bound the children: ``s`` splits predict ``s·(arity − 1) + 1`` classes (Theorem 3)."""
        split, error, arity = self.data.split, self.data.error, self.data.arity
        self.lower = self.child_leaf
        if self.level + 1 >= self.data.depth:
            return
        kept = np.cumsum(-np.sort(-by_class, axis=0), axis=0)
        splits, most = 0, 0
        while most < len(by_class):
            splits += 1
            most = min(len(by_class), splits * (arity - 1) + 1)
            errors = np.maximum(floor, self.child_weight - kept[most - 1])
            self.lower = np.minimum(self.lower, splits * split + error * errors)

    def _find_unavoidable(self, hot: Floats) -> Ints:
        """Errors of each child on points that no live feature tells apart (Theorem 4)."""
        bits = np.packbits(hot > 0, axis=1)
        order = np.lexsort(bits.T)
        new = (bits[order[1:]] != bits[order[:-1]]).any(axis=1)
        starts = np.concatenate([[0], np.flatnonzero(new) + 1])
        groups = np.add.reduceat(self.counts[order], starts, axis=0)
        lost = groups.sum(axis=1) - groups.max(axis=1)
        self.least = max(self.least, self.data.error * int(lost.sum()))
        floor: Ints = (lost @ hot[order[starts]]).astype(np.int64)
        return floor

    def _count_cells(self, hot: Floats) -> tuple[Ints, Ints, Ints]:
        """Of every pair of columns: weight, errors as a leaf, and least errors after one split."""
        n, n_classes, arity = hot.shape[1], self.counts.shape[1], self.data.arity
        weight = np.zeros((n, n), np.int64)
        largest = [weight] * (arity if n_classes > arity else 1)
        for weights in self.counts.T:
            part = hot[weights > 0]
            cell = ((part * weights[weights > 0, None]).T @ part).astype(np.int64)
            weight = weight + cell
            for i, held in enumerate(largest):
                largest[i], cell = np.maximum(held, cell), np.minimum(held, cell)
        second = weight - sum(largest) if n_classes > arity else np.zeros_like(weight)
        return weight, weight - largest[0], second

    def _bound_by_pairs(self, hot: Floats, floor: Ints) -> None:
        """Bound the children by the cells of their splits (Theorem 5).

        Entry (j, c) of an array is the cell of child ``c`` in column ``j``, and after a fold entry
        (g, c) is child ``c`` split by feature ``g``. By its own feature it has one cell, which
        never pays.
        """
        split, error, arity = self.data.split, self.data.error, self.data.arity
        self.shared, errors, second = self._count_cells(hot)
        weight, stump = self.child_weight, self._fold(np.add, errors)
        # What splits a cell well, splits either child that the cell is part of as well but for
        # the weight beside the cell; and no single split of a child leaves less than its best.
        spare = weight - stump.min(axis=0)
        second = np.maximum(second, self.shared - np.minimum(spare[:, None], spare))
        second = np.minimum(second, errors)
        low, value = error * errors, split + error * stump
        if self.level + 2 < self.data.depth:
            low = np.minimum(np.minimum(low, split + error * second), 2 * split)
            saved = self._fold(np.maximum, errors - second)
            two = 2 * split + error * np.maximum(floor, stump - saved)
            more = 3 * split + error * floor
            if arity == 2:
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
                np.maximum(self.lower, bound - self.data.error * beside, out=self.lower)


class _Replay:
    """One script in progress: the branches that are open, and what is proven of sets of points."""

    def __init__(self, data: _Data, script: Script) -> None:
        self.data, self.script = data, script
        self.open: list[_Branch] = []
        self.seen: set[int] = set()  # sums of keys: only to find sets of points quickly
        self.claims: dict[bytes, int] = {}

    def enter(self, row: int) -> None:
        """Open the branch of a row, unless its claim is known to be true already."""
        data, column, name, known = self.data, self.script["column"][row], "all points", 0
        points, live = np.arange(len(data.hot)), np.arange(len(data.feature))
        level = self.script["level"][row]
        while len(self.open) > level:
            self.leave()
        if level > 0:
            above = self.open[-1]
            self._look_up(above)
            name = f"{above.name} ∧ " if level > 1 else ""
            name += f"x{self.script['feature'][row]}={self.script['code'][row]}"
            points = self._part(above.points, column)
            if len(points) == 0:
                raise Refused(row, f"{name}: no point is in this branch")
            for child in np.flatnonzero(above.columns == column):
                known = int(above.lower[child])
            if self.script["rule"][row] == KNOWN and self.script["bound"][row] <= known:
                self._learn(level, points, known)
                return
            live = above.columns[above.paying()]
        self.open.append(_Branch(data, row, name, points, level, live, known))

    def leave(self) -> None:
        """Check the claim of the branch opened last."""
        branch = self.open.pop()
        self._look_up(branch)
        bound, claim = branch.bound(), self.script["bound"][branch.row]
        if claim > bound:
            rule = self.script["rule"][branch.row]
            why = f"the claim is {claim} ({rule}), but only {bound} follows"
            raise Refused(branch.row, f"{branch.name}: {why}")
        self._learn(branch.level, branch.points, bound)
        for above in self.open[-1:]:
            for child in np.flatnonzero(above.columns == self.script["column"][branch.row]):
                above.raise_child(int(child), bound)

    def _part(self, points: Ints, column: int) -> Ints:
        """The points that have a code."""
        part: Ints = points[self.data.hot[points, column] > 0]
        return part

    def _name(self, level: int, points: Ints) -> bytes:
        """A set of points, and the level if depth is limited: then it is another problem."""
        at = level if self.data.depth < _INFINITE else 0
        return np.append(points, at).astype(np.int32).tobytes()

    def _look_up(self, branch: _Branch) -> None:
        """Tell a branch what was proven elsewhere of its children's points, and the reverse."""
        for child in [at for at, key in enumerate(branch.keys) if key in self.seen]:
            if child not in branch.names:
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


def _read_data(codes: Any, arities: Any, counts: Any) -> _Data:
    """The points of positive weight."""
    codes, counts = _whole(codes, "codes", 2), _whole(counts, "counts", 2)
    arities, total = _whole(arities, "arities", 1), sum(map(int, counts.ravel()))
    if counts.min(initial=0) < 0 or not 0 < total < 2**53:
        raise Refused(-1, "weights must be 0 or more, and add up to less than 2^53, but not to 0")
    if codes.shape != (len(counts), len(arities)) or not ((codes >= 0) & (codes < arities)).all():
        raise Refused(-1, "codes fit neither counts nor arities")
    codes, counts = codes[counts.any(axis=1)], counts[counts.any(axis=1)]
    exact = np.float32 if total < 2**24 else np.float64
    arity, feature = max([2, *arities.tolist()]), np.repeat(np.arange(len(arities)), arities)
    hot = np.zeros((len(codes), len(feature)), exact)
    np.put_along_axis(hot, np.cumsum(arities) - arities + codes, 1, axis=1)
    keys = np.random.default_rng(1).integers(0, 2**64, len(codes), np.uint64)
    return _Data(hot, counts.astype(exact), feature, keys, arity, total)


def _read_depth(meta: Any, total: int) -> int:
    """The limit on depth of a certificate for this version and these data."""
    meta = meta if isinstance(meta, Mapping) else {}
    for name, wanted in (("format", FORMAT), ("version", VERSION), ("total_weight", total)):
        if meta.get(name) != wanted:
            raise Refused(-1, f"its {name} is {meta.get(name)!r}, not {wanted!r}")
    depth = meta.get("depth", -1)
    if depth is not None and (type(depth) is not int or not 0 <= depth < _INFINITE):
        raise Refused(-1, f"the limit on depth is {depth!r}; it must be null, or 0 or more")
    return _INFINITE if depth is None else depth


def _read_script(columns: Any, data: _Data) -> Script:
    """The rows, if each has a place in the proof."""
    names = ("lam", "rule", "level", "feature", "code", "bound")
    if not isinstance(columns, Mapping) or not set(names) <= set(columns):
        raise Refused(-1, f"one of the columns {', '.join(names)} is absent")
    lam, rule = (np.array([*columns[name], None], object)[:-1] for name in names[:2])
    level, feature, code, bound = (_whole(columns[name], name, 1) for name in names[2:])
    if not len(lam) or len({len(c) for c in (lam, rule, level, feature, code, bound)}) > 1:
        raise Refused(-1, "the columns of the certificate are empty, or of different lengths")
    column = np.searchsorted(data.feature, feature) + code
    test = (code >= 0) & (column < len(data.feature))
    test[test] = data.feature[column[test]] == feature[test]
    deepest = np.minimum(np.roll(level + (rule == SPLITS), 1), min(data.depth, len(data.hot)))
    deepest[0] = 0
    faults = {
        "its level does not follow from the row above": (level < 0) | (level > deepest),
        "there is no such test": np.where(level == 0, (feature != -1) | (code != -1), ~test),
        "its bound or its rule is no claim": (bound < 0) | [name not in RULES for name in rule],
        "its λ is no fraction like 1/100": [not _FRACTION.fullmatch(str(text)) for text in lam],
        "its λ is not that of the row above": (level > 0) & (np.roll(lam, 1) != lam),
    }
    for why, wrong in faults.items():
        if np.any(wrong):
            raise Refused(int(np.argmax(wrong)), why)
    lams = {text: Fraction(text) for text in set(lam)}
    table = zip(names[2:], (level, feature, code, bound), strict=True)
    script: Script = {name: values.tolist() for name, values in table}
    return script | {"lam": [lams[t] for t in lam], "rule": [*rule], "column": column.tolist()}
