"""An independent checker of optimality certificates: numpy, and nothing of the search.

A certificate lists the branches that a search had to open, in that order, each with a lower bound
on the cost of every tree there. This module opens them again, many at a time. It derives each claim
from counting and from the claims of rows that end before it, and refuses one that does not follow:
all claims are true, by induction, or a row is refused. The theorems: ``docs/guides/proofs.md``.

With λ = p/d and W the total weight, a cost is the integer ``e·errors + q·splits``, ``e = d`` and
``q = p·W``. The gain of a tree for a branch is ``e·weight − cost``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

FORMAT, VERSION = "treesweep-certificate", 2
SPLITS, COUNTS, KNOWN = RULES = ("splits", "counts", "known")
_INFINITE = np.int64(2**62)  # beyond every cost, depth and weight

Ints = NDArray[np.int64]
Words = NDArray[np.uint64]
Bounds = dict[Fraction, Fraction]


class Refused(ValueError):
    """A certificate does not prove what it claims: ``row`` (−1: no single row), and ``why``."""

    def __init__(self, row: int, why: str) -> None:
        super().__init__(f"row {row}: {why}" if row >= 0 else why)
        self.row, self.why = row, why


def check(codes: Any, arities: Any, counts: Any, columns: Any, meta: Any) -> Bounds:
    """Verify a certificate against the data; raise :class:`Refused` if a claim does not follow.

    ``codes`` are points × features, ``arities`` tells how many codes a feature has, and ``counts``
    are weights, points × classes. ``columns`` and ``meta`` are those of a certificate. Returns λ →
    lower bound on the objective of every tree within the limit on depth, both exact.
    """
    data = _read_data(codes, arities, counts, meta)
    rows, lams = _read_script(columns, data)
    proven: Bounds = {}
    starts = np.append(np.flatnonzero(rows[0] == 0), len(lams))
    for first, end in np.c_[starts[:-1], starts[1:]].tolist():
        proof = _Proof(_priced(data, str(lams[first]), first), rows[:, first:end], first)
        lam, bound = Fraction(lams[first]), proof.check()
        proven[lam] = max(bound, proven.get(lam, bound))
    return proven


class _Data(NamedTuple):
    """The problem. Entries, a point and one of its classes each, lie together by class."""

    codes: NDArray[np.signedinteger]  # entries × features; the last of both are padding, −1
    weights: NDArray[np.floating]  # single precision where all sums are exact in it, else double
    keys: Words  # random numbers: equal sums of words times these tell of equal sets
    classes: list[int]  # the first entry of each class, and the end
    bits: Words  # (feature, code) × words: the entries that have the code; the last is padding
    first: Ints  # of each feature, the first place in ``bits``
    arities: Ints
    order: Ints  # the features, those of many codes first
    arity: int  # the largest, at least 2
    total: int  # W
    depth: int
    error: int = 1  # price of an error
    split: int = 0  # price of a split
    kind: type[np.signedinteger] = np.int64  # holds 2·e·W + 4·q: no number of pairs is beyond ±


def _places(mask: NDArray[np.bool_], offset: int = 0) -> Ints:
    """The places of each row that are set, and −1 up to the length of the longest."""
    sizes = mask.sum(axis=1, keepdims=True)
    place = np.argsort(~mask, axis=1, kind="stable")[:, : sizes.max(initial=0)]
    return np.where(np.arange(place.shape[1]) < sizes, place + offset, -1)


def _ranges(values: Any, wanted: Any) -> tuple[Ints, Ints]:
    """All places in sorted values of those that are wanted: which is there, and the place."""
    first, end = (np.searchsorted(values, wanted, side=side) for side in ("left", "right"))
    owner = np.repeat(np.arange(len(first)), end - first)
    return owner, np.arange(len(owner)) + (end - np.cumsum(end - first))[owner]


class _Batch:
    """Branches of one level (the first axis), and what is proven of the children of their splits.

    The children, columns, are the first codes of all live features, those of many codes first, then
    the second ones, and so on. A feature is live if it may pay here or below. A column of padding
    has no points: its gain is 0, so it never pays.
    """

    def __init__(self, data: _Data, level: int, sets: Words, live: Any) -> None:
        self.data, self.level, self.error, self.split = data, level, data.error, data.split
        inside = np.unpackbits(sets.view(np.uint8), axis=1).view(bool)
        parts = [_places(inside[:, a:b], a) for a, b in np.c_[data.classes[:-1], data.classes[1:]]]
        ends = np.cumsum([0, *(part.shape[1] for part in parts)]).tolist()
        self.slices = list(map(slice, ends, ends[1:]))
        self.entries = np.concatenate(parts, axis=1)
        self.weights = data.weights[self.entries]
        totals = np.stack([self.weights[:, s].sum(axis=1) for s in self.slices]).astype(np.int64)
        self.leaf: Ints = self.error * (totals.sum(axis=0) - totals.max(axis=0))
        self.lost = np.zeros_like(self.weights)  # errors that no tree avoids, at some entries
        self.least: Ints = 0 * self.leaf  # what it costs at least, however its children are bounded
        self._begin(data.order[_places((live & (level < data.depth))[:, data.order[:-1]])])

    def select(self, at: Ints) -> None:
        """Go on with these branches: some, in their order, or all, some of them more than once."""
        if len(at) != len(self.leaf):
            vars(self).update({k: x[at] for k, x in vars(self).items() if hasattr(x, "dtype")})

    def _begin(self, features: Ints) -> None:
        """Which entry is in which child of the features, and the children's weights by class."""
        data, self.features = self.data, features
        most = data.arities[features].max(axis=0, initial=1)  # codes at each place
        code, place = np.nonzero(np.arange(most.max(initial=0))[:, None] < most)
        self.planes = np.bincount(code, minlength=1).tolist()
        self.codes = codes = data.codes[self.entries[:, :, None], features[:, None]]
        self.hot = np.array(codes[..., place] == code.astype(codes.dtype), self.weights.dtype)
        sums = [self.weights[:, None, s] @ self.hot[:, s] for s in self.slices]
        self.by_class: Ints = np.concatenate(sums, axis=1).astype(np.int64)
        self.weight: Ints = self.by_class.sum(axis=1)
        self.tests = np.where(self.weight > 0, data.first[features[:, place]] + code, -1)
        self._bound_by_classes()

    def _drop(self) -> None:
        """Drop the features that cannot pay."""
        pays = self.splits(self.lower, self.weight) < _INFINITE
        if (pays != (self.features >= 0)).any():
            place = _places(pays)
            self._begin(np.where(place < 0, -1, np.take_along_axis(self.features, place, axis=1)))

    def _fold(self, combine: np.ufunc, values: Any) -> Any:
        """Combine what the children of each feature have."""
        out, start = values[:, : self.planes[0]], self.planes[0]
        for n in self.planes[1:]:
            part, start = values[:, start : start + n], start + n
            out = np.append(combine(out[:, :n], part), out[:, n:], axis=1)
        return out

    def splits(self, lower: Ints, weight: Ints) -> Ints:
        """Lower bound of each split (Theorem 1); infinite where it cannot pay (Theorem 2)."""
        gain: Ints = self.error * weight - lower
        pays = self._fold(np.add, gain) - self._fold(np.maximum, gain) > self.split
        return np.where(pays, self.split + self._fold(np.add, lower), np.iinfo(lower.dtype).max)

    def bound(self) -> Ints:
        """What is proven of the branches: each is a leaf, or split at best (Theorem 1)."""
        best: Ints = self.splits(self.lower, self.weight).min(axis=1, initial=_INFINITE)
        return np.maximum(self.least, np.minimum(self.leaf, best))

    def _bound_by_classes(self) -> None:
        """Bound the children: ``s`` splits predict ``s·(arity − 1) + 1`` classes (Theorem 3)."""
        last, step, data = len(self.slices) - 1, self.data.arity - 1, self.data
        self.floor: Ints = (self.lost[:, None] @ self.hot)[:, 0].astype(np.int64)
        kept = np.cumsum(-np.sort(-self.by_class, axis=1), axis=1)
        self.lower = self.child_leaf = self.error * (self.weight - kept[:, 0])
        end = 1 + min(max(1, last), self.error * data.total // max(self.split, 1))
        for splits in range(1, end if self.level + 1 < data.depth else 1):
            errors = np.maximum(self.floor, self.weight - kept[:, min(last, splits * step)])
            self.lower = np.minimum(self.lower, splits * self.split + self.error * errors)

    def bound_by_points(self) -> None:
        """Bound the children by errors on points that no live feature tells apart (Theorem 4)."""
        self._drop()
        codes, sizes = self.codes, [s.stop - s.start for s in self.slices]
        names = codes @ np.random.default_rng(2).integers(0, 2**36, codes.shape[2]).astype("f8")
        codes = np.take_along_axis(codes, (order := np.argsort(names, axis=1))[..., None], axis=1)
        first = np.insert((codes[:, 1:] != codes[:, :-1]).any(axis=2), 0, True, axis=1)
        n, owner = len(sizes), np.repeat(np.arange(len(sizes)), sizes)[order]
        weights = np.take_along_axis(self.weights, order, axis=1).ravel()
        place = n * np.cumsum(first) + owner.ravel()  # groups begin with an empty one
        groups = np.bincount(place, weights, n + n * int(first.sum())).reshape(-1, n)[1:]
        self.lost[np.nonzero(first)[0], order[first]] = groups.sum(axis=1) - groups.max(axis=1)
        self.least = np.maximum(self.least, self.error * self.lost.sum(axis=1).astype(np.int64))
        self._bound_by_classes()

    def bound_by_pairs(self) -> None:
        """Bound the children by the cells of their splits (Theorem 5), then by others (Theorem 6).

        Entry (j, c) of an array is the cell of child ``c`` in column ``j``; after a fold, (g, c) is
        child ``c`` split by feature ``g``. Its own feature gives one cell, and never pays.
        """
        self._drop()
        split, error, kind = self.split, self.error, self.data.kind
        weight, floor = self.weight[:, None].astype(kind), self.floor[:, None].astype(kind)
        self.shared = weight * np.eye(weight.shape[2], dtype=kind)  # of every pair of children
        if self.level + 2 > self.data.depth or not self.features.size:
            return
        held = [self.shared * 0] * min(len(self.slices), self.data.arity)  # the largest classes
        self.shared = held[0]
        for part in self.slices:
            hot = self.hot[:, part]
            cell = ((hot * self.weights[:, part, None]).swapaxes(1, 2) @ hot).astype(kind)
            self.shared = self.shared + cell
            for i, above in enumerate(held):
                held[i], cell = np.maximum(above, cell), np.minimum(above, cell)
        errors, stump = self.shared - held[0], weight - self._fold(np.add, held[0])
        # What splits a cell splits either child around it as well, but for the weight beside it.
        spare = weight - stump.min(axis=1, keepdims=True)
        spare = np.minimum(spare.swapaxes(1, 2), spare)
        second = np.minimum(self.shared - np.minimum(spare, sum(held)), errors)
        low, value, three = error * errors, split + error * stump, floor
        if self.level + 2 < self.data.depth:
            low = np.minimum(np.minimum(low, split + error * second), 2 * split)
            saved, both = self._fold(np.maximum, errors - second), self._fold(np.minimum, errors)
            if self.data.arity == 2:
                value = np.minimum(value, 4 * split + error * floor)
                three = np.maximum(floor, np.minimum(self._fold(np.add, second), both))
            two = 2 * split + error * np.maximum(floor, stump - saved)
            value = np.minimum(value, np.minimum(two, 3 * split + error * three))
        value = np.maximum(value, self.splits(low, self.shared)).min(axis=1)
        self.lower = np.maximum(self.lower, np.minimum(self.child_leaf, value))
        similar = (self.lower - error * self.weight).astype(kind)[:, :, None] + error * self.shared
        self.lower = np.maximum(self.lower, similar.max(axis=1))  # Theorem 6


class _Proof:
    """The rows at one λ. Each may use, as if true, the claims of rows that end before it."""

    def __init__(self, data: _Data, rows: Ints, start: int) -> None:
        self.data, self.start, n = data, start, rows.shape[1]
        self.level, self.feature, self.code, claim, splits = rows
        self.test = data.first[self.feature] + self.code  # its place in ``bits``
        self.claim = np.minimum(claim, data.error * data.total + 1)  # more is as false as this
        self.wanted = np.where(splits, _INFINITE, self.claim)  # a bound that needs no more work
        self.parent, ends = np.full((2, n), n)
        all_entries = np.packbits(np.arange(32 * len(data.keys)) < data.classes[-1])
        self.sets = np.repeat(all_entries.view(np.uint64)[None], n, axis=0)
        self.levels, self.refused = list[Ints](), list[tuple[int, int]]()  # and what follows
        for level in range(int(self.level.max()) + 1):
            at = np.flatnonzero(self.level == level)
            stops = np.append(np.flatnonzero(self.level <= level), n)
            ends[at] = stops[np.searchsorted(stops, at) + 1]
            if level:
                self.parent[at] = above = self.levels[-1][np.searchsorted(self.levels[-1], at) - 1]
                self.sets[at] = self.sets[above] & data.bits[self.test[at]]
            self.levels.append(at)
        for row in np.flatnonzero(~self.sets.any(axis=1))[:1].tolist():
            raise Refused(start + row, f"{self._name(row)}: no point is in this branch")
        # How many rows have ended before a row begins, and before it ends.
        self.began, self.ended = np.arange(n) - self.level, ends - 1 - self.level
        self.key, self.size = self.sets.view("u4") @ data.keys, np.bitwise_count(self.sets).sum(1)

    def check(self) -> Fraction:
        """Verify all rows, a level at a time; return what is proven of all points."""
        live, known = np.ones((1, len(self.data.order) - 1), bool), np.zeros(1, np.int64)
        for level, rows in enumerate(self.levels):
            below = [*self.levels, rows[:0]][level + 1]
            # With a limit on depth, equal sets of points are equal at equal levels only.
            used = below if self.data.depth < _INFINITE else np.arange(len(self.claim))
            used = used[np.lexsort((self.ended[used], self.key[used]))]
            stronger = (np.diff(self.key[used]) != 0) | (np.diff(self.claim[used]) > 0)
            self.used = used = used[np.append(True, stronger)[: len(used)]]
            self.used_key, self.below, self.above = self.key[used], below, self.parent[below]
            self.live, self.known = np.zeros((len(below), len(live[0])), bool), 0 * below
            width, size = 8 + live @ self.data.arities[:-1], self.size[rows]
            left = np.flatnonzero(self.wanted[rows] > known)
            # Up to 8 rows of the same points and live features are counted together.
            same = np.c_[self.sets[rows[left]].view("u1"), np.packbits(live[left], axis=1)]
            name = np.unique(same.view(f"V{same.shape[1]}"), return_inverse=True)[1].ravel()
            order = np.lexsort((name, size[left], width[left]))
            left, group = left[order], name[order] * len(left) + np.arange(len(left)) // 8
            starts = np.flatnonzero(np.diff(group, prepend=-1))
            while len(starts):
                count = 2**18 // int(width[left[-1]] * (width[left[-1]] + size[left].max()))
                starts, at = np.split(starts, [-max(1, count)])
                of = np.repeat(np.arange(len(at)), np.diff(at, append=len(left)))
                left, one, members = left[: at[0]], left[at], left[at[0] :]
                batch = _Batch(self.data, level, self.sets[rows[one]], live[one])
                self._open(batch, rows[members], of, known[members])
            live, known = self.live, self.known
        for row, bound in sorted(self.refused)[:1]:
            why = f"the claim is {self.claim[row]}, but only {bound} follows"
            raise Refused(self.start + row, f"{self._name(row)}: {why}")
        return Fraction(int(self.claim[0]), self.data.error * self.data.total)

    def _open(self, batch: _Batch, rows: Ints, of: Ints, known: Ints) -> None:
        """Check the claims of rows, ``of`` which branch each; tell those below what is known."""
        for bound_children in (batch.bound_by_points, batch.bound_by_pairs, list):
            left = self.wanted[rows] > np.maximum(known, batch.bound()[of])
            rows, known, (kept, of) = rows[left], known[left], np.unique(of[left], False, True)
            batch.select(kept)
            bound_children()
        batch.select(of)
        sets = self.sets[rows, None] & self.data.bits[batch.tests]
        branch, child = np.nonzero(keys := sets.view("u4") @ self.data.keys)
        which, at = _ranges(self.used_key, keys[branch, child])
        branch, child, used = branch[which], child[which], self.used[at]
        same = self.ended[used] < self.ended[rows[branch]]
        at = np.flatnonzero(same & (self.claim[used] > batch.lower[branch, child]))
        same = (self.sets[used[at]] == sets[branch[at], child[at]]).all(axis=1)
        branch, child, used = branch[at[same]], child[at[same]], used[at[same]]
        asking, asks = _ranges(self.above, rows)
        tests, n = self.below[asks], len(self.claim)
        # What is proven before a row begins: running maxima, in each branch in order of time.
        owner = np.append(each := np.arange(len(rows)), branch)
        time = n * owner + np.append(0 * each, self.ended[used] + 1)
        beside = batch.weight[branch, child, None] - batch.shared[branch, child]  # Theorem 6
        proven = np.append(batch.lower, self.claim[used, None] - beside * batch.error, axis=0)
        time, owner, proven = time[order := np.argsort(time)], owner[order], proven[order]
        for shift in (2 ** np.arange(len(owner).bit_length())).tolist():
            at = np.flatnonzero(owner[shift:] == owner[:-shift])
            proven[at + shift] = np.maximum(proven[at + shift], proven[at])
        batch.lower = proven[np.searchsorted(time, n * (each + 1)) - 1]
        lower = proven[np.searchsorted(time, n * asking + self.began[tests], "right") - 1]
        false = self.claim[rows] > (bound := np.maximum(known, batch.bound()))
        self.refused += zip(rows[false].tolist(), bound[false].tolist(), strict=True)
        query, place = np.nonzero(batch.splits(lower, batch.weight[asking]) < _INFINITE)
        self.live[asks[query], batch.features[asking[query], place]] = True
        query, child = np.nonzero(batch.tests[asking] == self.test[tests, None])
        self.known[asks[query]] = lower[query, child]

    def _name(self, row: int) -> str:
        """The tests of a branch."""
        rows = [row]
        while self.level[rows[0]]:
            rows.insert(0, self.parent[rows[0]])
        return " ∧ ".join(f"x{self.feature[r]}={self.code[r]}" for r in rows[1:]) or "all points"


def _priced(data: _Data, text: str, row: int) -> _Data:
    """The problem at a λ. A price of a split beyond all errors is as good as any."""
    if not re.fullmatch("[0-9]{1,40}(/0*[1-9][0-9]{0,39})?", text):
        raise Refused(row, f"λ = {text} is no fraction like 1/100")
    price, error = Fraction(text).as_integer_ratio()
    if error * data.total >= 2**60:
        raise Refused(row, f"λ = {text} and these weights need integers beyond 64 bits")
    split = min(price, error + 1) * data.total
    kind = np.min_scalar_type(~(2 * error * data.total + 4 * split)).type
    return data._replace(error=error, split=split, kind=kind)


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
    depth = int(_INFINITE) if meta.get("depth", -1) is None else meta.get("depth")
    if type(depth) is not int or not 0 <= depth <= _INFINITE:
        raise Refused(-1, f"its depth is {depth!r}; the limit must be null, or 0 or more")
    label, point = np.nonzero(counts.T)
    n, arity = len(point), max(2, int(arities.max(initial=0)))
    padded = np.pad(codes[point].astype(np.min_scalar_type(-arity)), (0, 1), constant_values=-1)
    weights = np.append(counts[point, label], 0).astype("f4" if total < 2**24 else "f8")
    classes = np.searchsorted(label, np.arange(counts.shape[1] + 1)).tolist()
    order, arities = np.append(np.argsort(-arities, kind="stable"), -1), np.append(arities, 0)
    first, (byte, bit) = np.cumsum(arities) - arities, np.divmod(np.arange(n)[:, None], 8)
    bits = np.zeros((int(first[-1]) + 1, n // 64 + 1), np.uint64)
    np.bitwise_or.at(bits.view("u1"), (first[:-1] + codes[point], byte), 128 >> bit.astype("u1"))
    keys = np.random.default_rng(1).integers(0, 2**64, 2 * bits.shape[1], np.uint64)
    return _Data(padded, weights, keys, classes, bits, first, arities, order, arity, total, depth)


def _read_script(columns: Any, data: _Data) -> tuple[Ints, Any]:
    """Level, feature, code, bound and rule of the rows, if each has a place; and their λ."""
    names = ("level", "feature", "code", "bound", "lam", "rule")
    if not isinstance(columns, Mapping) or not set(names) <= set(columns):
        raise Refused(-1, f"one of the columns {', '.join(names)} is absent")
    level, feature, code, bound = (_whole(columns[name], name, 1) for name in names[:4])
    lam, rule = (np.array(columns[name], object) for name in names[4:])
    if len({c.shape for c in (lam, rule, level, feature, code, bound)}) > 1 or not len(lam):
        raise Refused(-1, "the columns of the certificate are empty, or of different lengths")
    inside = (code >= 0) & (code < data.arities[feature.clip(-1, len(data.arities) - 1)])
    depth = min(data.depth, len(data.weights))
    beyond = level > np.append(0, level + (rule == SPLITS))[:-1].clip(max=depth)
    faults = {
        "its level does not follow from the row above": (level < 0) | beyond,
        "there is no such test": np.where(level == 0, (feature != -1) | (code != -1), ~inside),
        "its bound or its rule is no claim": (bound < 0) | [name not in RULES for name in rule],
        "its λ is not that of the row above": (level > 0) & (np.roll(lam, 1) != lam),
    }
    found = [(int(wrong.argmax()), why) for why, wrong in faults.items() if wrong.any()]
    if found:
        raise Refused(*min(found))
    return np.stack([level, feature, code, bound, rule == SPLITS]), lam
