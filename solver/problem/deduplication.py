"""Merges equal rows, and finds features that separate the rows as others do."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from solver.features.node_tests import NodeTest
from solver.features.ranks_and_cuts import Scale

_MOST_SORTED_WORDS = 16  # of a row; more take longer to sort one by one than at once
_CODES_AT_A_TIME = 2**22


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
    group, first = equal_rows(codes)
    counts = np.zeros((len(first), n_classes), dtype=np.int64)
    np.add.at(counts, (group, labels), weights)
    if not codes.shape[1]:
        return codes[first], counts
    rows = codes.take(first, axis=0)
    order = _sorting(rows)
    return rows.take(order, axis=0), counts.take(order, axis=0)


def _sorting(rows: NDArray[np.int32]) -> NDArray[np.int64]:
    """The order in which the rows, all different, ascend."""
    words = _row_words(rows)
    if words.shape[1] <= _MOST_SORTED_WORDS:
        ordered = words.byteswap() if sys.byteorder == "little" else words
        order = np.argsort(ordered[:, 0])
        # Few rows have the same first word, and only they are compared by the others.
        tied = _in_runs(ordered[order, 0])
        rows_tied = order[tied]
        order[tied] = rows_tied[np.lexsort(ordered[rows_tied].T[::-1])]
        return order
    # Sorting whole rows as byte strings is one sort instead of one a word.
    return np.argsort(words.view(f"V{words.shape[1] * 8}").ravel(), kind="stable")


def _in_runs(ascending: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Whether each of some ascending numbers equals a neighbour."""
    same = np.zeros(len(ascending) + 1, np.bool_)
    np.equal(ascending[1:], ascending[:-1], out=same[1:-1])
    return same[1:] | same[:-1]


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
    group = np.zeros(len(codes), dtype=np.int64)
    size = min(len(codes), 1)
    for word in _row_words(codes).T:
        numbers, distinct = pd.factorize(word)
        if size > 1:
            numbers, distinct = pd.factorize(group * len(distinct) + numbers)
        group, size = numbers.astype(np.int64), len(distinct)
        if size == len(codes):
            break  # no two are equal
    first = np.empty(size, dtype=np.int64)
    first[group[::-1]] = np.arange(len(codes))[::-1]
    return group, first


def _row_words(codes: NDArray[np.int32]) -> NDArray[np.uint64]:
    """Rows as few 64-bit words as their codes allow, equal exactly if the rows are.

    Bytes are big-endian: they sort as the rows do.
    """
    largest = int(codes.max(initial=0))
    if largest <= 1:
        packed = np.packbits(codes.astype(bool), axis=1)
    else:
        size = 1 if largest < 2**8 else 2 if largest < 2**16 else 4
        packed = codes.astype(f">u{size}").view(np.uint8).reshape(len(codes), -1)
    n_words = -(-packed.shape[1] // 8)
    words = np.zeros((len(codes), 8 * n_words), dtype=np.uint8)
    words[:, : packed.shape[1]] = packed
    return words.view(np.uint64).reshape(len(codes), n_words)


def distinct_features(
    codes: NDArray[np.int32], names: Sequence[str], ordered: Sequence[bool]
) -> tuple[list[int], tuple[str, ...], dict[str, str]]:
    """Positions of the features to keep, names of the constant ones, and of duplicates."""
    keep: list[int] = []
    constant: list[str] = []
    duplicate: dict[str, str] = {}
    first_with: dict[bytes, int] = {}
    for j, partition in enumerate(_partitions(codes, ordered)):
        if partition is None:
            constant.append(names[j])
            continue
        if partition in first_with:
            duplicate[names[j]] = names[first_with[partition]]
        else:
            first_with[partition] = j
            keep.append(j)
    return keep, tuple(constant), duplicate


def _partitions(codes: NDArray[np.int32], ordered: Sequence[bool]) -> Iterator[bytes | None]:
    """For each feature bytes that are equal if it separates the rows alike; None: it is constant.

    Two parts are told by the rows of the second one, so x and "not x" are the same. If there are
    more, their codes are numbered by first appearance.
    """
    step = max(1, _CODES_AT_A_TIME // max(len(codes), 1))
    for begin in range(0, codes.shape[1], step):
        # Codes lie row by row: several features are fetched at a time.
        block = np.ascontiguousarray(codes[:, begin : begin + step].T)
        binary: NDArray[np.bool_] = block.max(axis=1) <= 1
        second = np.packbits(np.not_equal(block, block[:, :1]), axis=1)
        varied = np.asarray(second.any(axis=1))
        for j, column in enumerate(block):
            if binary[j] or not varied[j]:
                yield second[j].tobytes() if varied[j] else None
                continue
            ranks, size = _places(column) if ordered[begin + j] else _parts(column)
            if size == 2:
                yield second[j].tobytes()
            elif ordered[begin + j]:
                # The order counts too, but not which end is up.
                yield b"ordered" + min(ranks.tobytes(), (size - 1 - ranks).tobytes())
            else:
                yield b"parts" + ranks.tobytes()


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
