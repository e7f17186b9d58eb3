"""Merges equal rows, and finds features that separate the rows as others do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from solver.features.node_tests import NodeTest
from solver.features.ranks_and_cuts import Scale

_CODES_AT_A_TIME = 2**22
_TWO = b"two"


class Copy(NamedTuple):
    """A feature that was dropped since an earlier one separates the rows alike.

    Parameters
    ----------
    test : NodeTest or Scale
    feature : int
        The position of the one that was kept, among those that were kept.
    codes : tuple of int
        Its own code for each code of the other one; −1 for a code that no row has.
    """

    test: NodeTest | Scale
    feature: int
    codes: tuple[int, ...]


def collapse(
    codes: NDArray[np.int32], labels: NDArray[Any], weights: NDArray[np.int64], n_classes: int
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Merge equal rows; the result is in a canonical order, so row order does not matter."""
    order, begins = _ascending(codes)
    first = order[begins]
    counts = np.zeros(len(first) * n_classes, dtype=np.int64)
    np.add.at(counts, _numbered(order, begins) * n_classes + labels, weights)
    return codes.take(first, axis=0), counts.reshape(-1, n_classes)


def _ascending(codes: NDArray[np.int32]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """The order in which the rows ascend, and at which places in it another row begins."""
    first, *others = _row_words(codes)
    order = np.argsort(first)
    begins = _changes(first[order])
    for word in others:
        if begins.all():
            break
        # Few rows have the same words so far and differ in this one: only they are sorted.
        differs = _changes(word[order]) & ~begins
        if not differs.any():
            continue
        run = np.cumsum(begins)
        mixed = np.zeros(len(order) + 1, np.bool_)
        mixed[run[differs]] = True
        tied = np.flatnonzero(mixed[run])
        rows = order[tied]
        places = np.argsort(word[rows])
        ranks = np.cumsum(_changes(word[rows[places]]))
        keys = run[tied] * (ranks[-1] + 1)
        keys[places] += ranks
        places = np.argsort(keys)
        order[tied], begins[tied] = rows[places], _changes(keys[places])
    return order, begins


def _changes(ascending: NDArray[Any]) -> NDArray[np.bool_]:
    """Whether each of some ascending numbers is the first of its kind."""
    changes = np.ones(len(ascending), np.bool_)
    np.not_equal(ascending[1:], ascending[:-1], out=changes[1:])
    return changes


def _numbered(order: NDArray[np.int64], begins: NDArray[np.bool_]) -> NDArray[np.int64]:
    """For each row the number of its kind, of what :func:`_ascending` gives."""
    group = np.empty(len(order), np.int64)
    group[order] = np.cumsum(begins) - 1
    return group


def collapse_numbers(
    codes: NDArray[np.int32], values: NDArray[np.float64], weights: NDArray[np.int64]
) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.float64]]:
    """As :func:`collapse`, of rows that also have the same targets."""
    ranks = [np.unique(column, return_inverse=True) for column in values.T]
    places = np.stack([place for _, place in ranks], axis=1).astype(np.int32)
    labels = np.zeros(len(codes), np.int64)
    rows, counts = collapse(np.hstack([codes, places]), labels, weights, 1)
    codes, places = rows[:, : codes.shape[1]], rows[:, codes.shape[1] :]
    merged = np.stack([found[places[:, i]] for i, (found, _) in enumerate(ranks)], axis=1)
    return np.ascontiguousarray(codes), counts, merged


def equal_rows(codes: NDArray[np.int32]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """A number for every row, equal exactly if the rows are, and the first row of each number."""
    order, begins = _ascending(codes)
    return _numbered(order, begins), np.minimum.reduceat(order, np.flatnonzero(begins))


def _row_words(codes: NDArray[np.int32]) -> NDArray[np.uint64]:
    """Rows as few 64-bit words as their codes allow, at least one: an array (words, rows).

    They are equal exactly if the rows are, and they sort as the rows do.
    """
    largest = int(codes.max(initial=0))
    if largest <= 1:
        packed = np.packbits(codes.astype(bool), axis=1)
    else:
        size = 1 if largest < 2**8 else 2 if largest < 2**16 else 4
        packed = codes.astype(f">u{size}").view(np.uint8).reshape(len(codes), -1)
    n_words = max(-(-packed.shape[1] // 8), 1)
    words = np.zeros((len(codes), 8 * n_words), dtype=np.uint8)
    words[:, : packed.shape[1]] = packed
    return words.view(">u8").T.astype(np.uint64, order="C")


def distinct_features(
    codes: NDArray[np.int32], names: Sequence[str], ordered: Sequence[bool]
) -> tuple[list[int], tuple[str, ...], dict[str, str]]:
    """Positions of the features to keep, names of the constant ones, and of duplicates."""
    keep: list[int] = []
    constant: list[str] = []
    duplicate: dict[str, str] = {}
    first_like: dict[bytes, int] = {}
    first_with: dict[tuple[bytes, bytes], int] = {}

    @cache
    def largest() -> list[int]:
        return codes.max(axis=0).tolist()  # type: ignore[no-any-return]

    @cache
    def partition(j: int) -> bytes:
        return _TWO if largest()[j] <= 1 else _partition(codes[:, j], ordered[j])

    for j, sides in enumerate(_sides(codes, ordered)):
        if sides is None:
            constant.append(names[j])
            continue
        first = first_like.setdefault(sides, j)
        if first != j:  # only such features are compared in full
            first_with.setdefault((sides, partition(first)), first)
            first = first_with.setdefault((sides, partition(j)), j)
        if first != j:
            duplicate[names[j]] = names[first]
        else:
            keep.append(j)
    return keep, tuple(constant), duplicate


def _sides(codes: NDArray[np.int32], ordered: Sequence[bool]) -> Iterator[bytes | None]:
    """For each feature the rows with another code than the middle row, and where the order counts
    on which side they are; None: it is constant.

    These bytes are equal for features that separate the rows alike, and seldom for others.
    """
    step = max(1, _CODES_AT_A_TIME // max(len(codes), 1))
    for begin in range(0, codes.shape[1], step):
        # Codes lie row by row: several features are fetched at a time.
        block = np.ascontiguousarray(codes[:, begin : begin + step].T)
        middle = block[:, len(codes) // 2, None]
        others = np.packbits(block != middle, axis=1)
        below = np.packbits(block < middle, axis=1) if any(ordered) else others
        varied = np.asarray(others.any(axis=1))
        inner = np.asarray(below.any(axis=1) & (below != others).any(axis=1))
        for j, rows in enumerate(others):
            told = rows.tobytes()
            if ordered[begin + j] and inner[j]:
                told += min(below[j].tobytes(), (rows ^ below[j]).tobytes())
            yield told if varied[j] else None


def _partition(column: NDArray[np.int32], ordered: bool) -> bytes:
    """Bytes that, among features of equal sides, are equal for those that separate the rows alike.

    If there are more than two parts, their codes are numbered by first appearance.
    """
    ranks, size = _places(column) if ordered else _parts(column)
    if size == 2:
        return _TWO
    if ordered:
        # The order counts too, but not which end is up.
        return b"ordered" + min(ranks.tobytes(), (size - 1 - ranks).tobytes())
    return b"parts" + ranks.tobytes()


def _parts(column: NDArray[np.int32]) -> tuple[NDArray[np.int32], int]:
    """The codes of a feature, numbered by first appearance, and how many there are."""
    ranks, values = pd.factorize(column)
    return ranks.astype(np.int32), len(values)


def _places(column: NDArray[np.int32]) -> tuple[NDArray[np.int32], int]:
    """The codes of a feature, numbered in their order, and how many there are."""
    places = np.zeros(int(column.max()) + 1, np.int32)
    places[column] = 1
    np.cumsum(places, out=places)
    return places[column] - np.int32(1), int(places[-1])


def copies_of(
    codes: NDArray[np.int32],
    tests: Sequence[NodeTest | Scale],
    arities: NDArray[np.int32],
    keep: Sequence[int],
    duplicate: Mapping[str, str],
) -> tuple[Copy, ...]:
    """The duplicates that :func:`distinct_features` has found."""
    places = {tests[j].name: place for place, j in enumerate(keep)}
    copies = []
    for j, test in enumerate(tests):
        if test.name in duplicate:
            place = places[duplicate[test.name]]
            own = np.full(arities[keep[place]], -1, np.int32)
            own[codes[:, keep[place]]] = codes[:, j]
            copies.append(Copy(test, place, tuple(own.tolist())))
    return tuple(copies)
