"""All dichotomies of some points by the rules of a family.

A hyperplane that separates points can be moved, without touching any of them, until it passes
through d of them that fix it. So the dichotomies of points that span d dimensions are those of the
hyperplanes through d points, where the points on each hyperplane are separated in turn by
hyperplanes within it (He and Little, "An efficient, provably exact algorithm for the 0-1 loss
linear classification problem", 2023, for points in general position). A surface of a degree is a
hyperplane of the lifted points. A rule of a region is a rule of all points, restricted to it.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

from solver.errors import InputError
from solver.kernels.constants import Ints, Words
from solver.kernels.jit import ensure_compiled
from solver.kernels.packed_rows import packed, unpacked
from solver.proper import hyperplane_sides
from solver.proper.hyperplane_sides import (
    DEGENERATE,
    DONE,
    ENDED,
    FRESH,
    FULL,
    KNOWN,
    UNSURE,
    put_all,
)
from solver.proper.mask_sets import MaskSet, new_set, rehash, set_bytes

_KEPT = 2**26
"""Bytes of dichotomies of flats that are kept."""


class Finder(ABC):
    """Finds dichotomies of points, in slices.

    ``known`` are some of them, (dichotomies, words), which then come first.
    """

    dimensions = 1
    done = 0
    """Steps so far."""

    def __init__(self, points: int, known: Words | None = None) -> None:
        self.points = points
        self.words = -(-points // 64)
        self.full = packed(np.ones(points, bool))
        self.ended = False
        before = 0 if known is None else len(known)
        # More than nothing is only taken where a limit of memory is known, see grow.
        self.found = new_set(self.words, before)
        if known is not None:
            self.found.masks[:before] = known
            rehash(self.found, before)
        few = np.zeros((1, self.words), np.uint64)
        self.compile_seconds = ensure_compiled(put_all, self.found, few, self.full)
        self.compile_seconds += ensure_compiled(rehash, self.found, 0)

    @property
    def masks(self) -> Words:
        """Found sides without the first point, shape (dichotomies, words)."""
        return self.found.masks[: self.found.used[0]]

    @property
    def bytes(self) -> int:
        """Memory of all arrays."""
        return sum(array.nbytes for array in self.found)

    @abstractmethod
    def step(self, steps: int) -> bool:
        """Do some steps; False if :meth:`grow` must be called first."""

    def grow(self, limit: int | None) -> bool:
        """Make room for more dichotomies; False if that would exceed ``limit`` bytes."""
        room = _larger(self.found, 1)
        if limit is not None and set_bytes(self.words, room) > limit:
            return False
        self.found = _moved(self.found, room)
        return True

    def _has_room(self, number: int) -> bool:
        return len(self.found.masks) - int(self.found.used[0]) >= number


class Cuts(Finder):
    """Finds the dichotomies of rows by one column, in the order of the columns and their cuts.

    ``codes`` has the shape (rows, columns).
    """

    def __init__(self, codes: NDArray[np.int32]) -> None:
        super().__init__(len(codes))
        self.codes = codes
        self._column = -1
        self._groups: list[NDArray[np.int64]] = []  # rows of equal codes, of the cuts to come
        self._above = np.zeros(len(codes), bool)
        self.ended = codes.shape[1] == 0

    def step(self, steps: int) -> bool:
        """Make some cuts; False if :meth:`grow` must be called first."""
        while not self.ended and steps > 0:
            if not self._has_room(1):
                return False
            if len(self._groups) > 1:
                self._above[self._groups.pop()] = False
                put_all(self.found, packed(self._above)[None], self.full)
                self.done += 1
                steps -= 1
            elif self._column + 1 == self.codes.shape[1]:
                self.ended = True
            else:
                self._column += 1
                self._begin()
        return True

    def _begin(self) -> None:
        codes = self.codes[:, self._column]
        order = np.argsort(codes, kind="stable")
        first = np.flatnonzero(np.diff(codes[order])) + 1
        self._groups = np.split(order, first)[::-1]
        self._above[:] = True


class Flats:
    """Dichotomies of points that share a flat, kept for all hyperplanes that the flat lies in."""

    def __init__(self) -> None:
        self._masks: dict[bytes, Words] = {}
        self.bytes = 0

    def find(self, points: Ints) -> Words | None:
        """The dichotomies of some points, if they are kept."""
        return self._masks.get(points.tobytes())

    def keep(self, points: Ints, masks: Words) -> None:
        """Keep the dichotomies of some points, if there is room."""
        if self.bytes + masks.nbytes <= _KEPT:
            self._masks[points.tobytes()] = masks.copy()
            self.bytes += masks.nbytes


class Dichotomies(Finder):
    """Finds the dichotomies of points by hyperplanes, in slices.

    ``coordinates`` are distinct points, Python ints of shape (points, D). ``known`` dichotomies
    come first. ``flats`` are those of a larger set of points, in which these have the numbers
    ``names``.

    Raises
    ------
    InputError
        If the points span more dimensions than
        :data:`solver.proper.hyperplane_sides.MOST_DIMENSIONS`.
    """

    def __init__(
        self,
        coordinates: NDArray[np.object_],
        known: Words | None = None,
        flats: Flats | None = None,
        names: Ints | None = None,
    ) -> None:
        super().__init__(len(coordinates), known)
        self._outermost = flats is None
        self.flats = Flats() if flats is None else flats
        self.names = np.arange(self.points) if names is None else names
        self.coordinates = spanning(coordinates)
        self.dimensions = self.coordinates.shape[1]
        if self.dimensions > hyperplane_sides.MOST_DIMENSIONS:
            raise InputError(
                f"hyperplanes in {self.dimensions} dimensions are too many for solver 'proper'; "
                f"choose columns or a degree that give at most {hyperplane_sides.MOST_DIMENSIONS}"
            )
        self.ended = self.dimensions == 0
        self.seen = new_set(self.words, 1 if self.dimensions < 2 else 16)
        if self.dimensions == 1:
            line = self.coordinates[:, 0].tolist()
            self._order = sorted(range(self.points), key=line.__getitem__)
            self._below = np.zeros(self.points, bool)
        elif self.dimensions > 1:
            self.cloud = hyperplane_sides.new_cloud(self.coordinates)
            self.walk = hyperplane_sides.new_walk(self.cloud, self.words)
            self.compile_seconds += self._compile()
        self._pending: Words | None = None
        self._inner: Dichotomies | None = None
        self._on = np.arange(0)  # the points that the inner search parts

    def _compile(self) -> float:
        arrays = self.cloud, self.walk, self.found, self.seen, self.full
        return ensure_compiled(hyperplane_sides.walk_on, *arrays, 0)

    @property
    def bytes(self) -> int:
        """Memory of all large arrays."""
        total = super().bytes + sum(array.nbytes for array in self.seen)
        if self.dimensions > 1:
            total += self.walk.turn.nbytes
        if self._outermost:
            total += self.flats.bytes
        return total + (0 if self._inner is None else self._inner.bytes)

    def step(self, steps: int) -> bool:
        """Walk over some sets of points; False if :meth:`grow` must be called first."""
        if self._inner is not None:
            if not self._inner.ended:
                return self._inner.step(steps)
            self.flats.keep(self._inner.names, self._inner.masks)
            self._pending, self._inner = self._ways(self._inner.masks), None
        if not self._put_pending():
            return False
        if self.ended:
            return True
        if self.dimensions == 1:
            return self._cut_the_line(steps)
        walk = self.walk
        outcome = hyperplane_sides.walk_on(
            self.cloud, walk, self.found, self.seen, self.full, steps
        )
        self.done = int(walk.place[DONE])
        self.ended = outcome == ENDED or bool(walk.place[FRESH] < 0)
        # What Python does takes as long as many steps, so the slice ends with it.
        if outcome == UNSURE:
            walk.side[:] = hyperplane_sides.exact_sides(self.coordinates, walk.chosen)
            walk.place[KNOWN] = 1
        if outcome == DEGENERATE:
            self.ended = False
            self._part_hyperplane()
        return outcome != FULL

    def _part_hyperplane(self) -> None:
        """Begin to separate the points on the current hyperplane, within it."""
        self._on = np.flatnonzero(unpacked(self.walk.on, self.points))
        names = self.names[self._on]
        masks = self.flats.find(names)
        if masks is None:
            on = self.coordinates[self._on]
            self._inner = Dichotomies(on, flats=self.flats, names=names)
        else:
            self._pending = self._ways(masks)

    def _ways(self, masks: Words) -> Words:
        """How the points on the hyperplane at hand can fall: as hyperplanes in it part them, or
        all to one side."""
        on = self._on
        parted = np.array([unpacked(mask, len(on)) for mask in masks])
        ways = np.zeros((2 * len(parted) + 2, self.points), bool)
        ways[1, on] = True
        if len(parted):
            ways[2 : len(parted) + 2, on] = parted
            ways[len(parted) + 2 :, on] = ~parted
        return np.stack([packed(way) for way in ways]) | self.walk.above

    def _put_pending(self) -> bool:
        if self._pending is not None:
            if not self._has_room(len(self._pending)):
                return False
            put_all(self.found, self._pending, self.full)
            self._pending = None
            self.ended = bool(self.walk.place[FRESH] < 0)
        return True

    def grow(self, limit: int | None) -> bool:
        """Make room for more dichotomies; False if that would exceed ``limit`` bytes."""
        if self._inner is not None:
            others = self.bytes - self._inner.bytes
            return self._inner.grow(None if limit is None else limit - others)
        needed = 2**self.dimensions if self._pending is None else len(self._pending)
        found = _larger(self.found, needed)
        seen = _larger(self.seen, 1)
        total = set_bytes(self.words, found) + set_bytes(self.words, seen)
        if self.dimensions > 1:
            total += self.walk.turn.nbytes
        if limit is not None and total > limit:
            return False
        self.found, self.seen = _moved(self.found, found), _moved(self.seen, seen)
        return True

    def _cut_the_line(self, steps: int) -> bool:
        while not self.ended and steps > 0:
            if not self._has_room(1):
                return False
            self._below[self._order[self.done]] = True
            put_all(self.found, packed(self._below)[None], self.full)
            self.done += 1
            steps -= 1
            self.ended = self.done == self.points - 1
        return True


def _larger(members: MaskSet, needed: int) -> int:
    """Room that a set gets when it needs place for more masks."""
    room, used = len(members.masks), int(members.used[0])
    return room if room - used >= needed else max(2 * room, used + needed, 16)


def _moved(members: MaskSet, room: int) -> MaskSet:
    """A set with more room."""
    if room == len(members.masks):
        return members
    larger = new_set(members.masks.shape[1], room)
    n = int(members.used[0])
    larger.masks[:n] = members.masks[:n]
    rehash(larger, n)
    return larger


def spanning(coordinates: NDArray[np.object_]) -> NDArray[np.object_]:
    """Columns that are enough to separate the points by hyperplanes, relative to the first point.

    Points in a flat of d dimensions stay distinct, and hyperplanes stay hyperplanes, with only d
    columns that are independent on it.
    """
    moved = coordinates - coordinates[0]
    basis: list[tuple[int, list[int]]] = []  # pivot column, row
    for row in moved:
        if len(basis) == moved.shape[1]:
            break
        rest = list(row)
        for pivot, other in basis:
            if rest[pivot]:
                factor, own = rest[pivot], other[pivot]
                rest = [own * a - factor * b for a, b in zip(rest, other, strict=True)]
        divisor = math.gcd(*rest) if rest else 0
        if divisor:
            pivot = next(i for i, value in enumerate(rest) if value)
            basis.append((pivot, [value // divisor for value in rest]))
    columns = sorted(pivot for pivot, _ in basis)
    kept: NDArray[np.object_] = moved[:, columns]
    for column in range(kept.shape[1]):
        kept[:, column] //= math.gcd(*kept[:, column])
    return kept
