"""The problem of mode ``paper`` in memory: bit vectors of rows, sorted by class."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from solver.kernels.constants import Words
from solver.kernels.pass_by_reference import by_reference
from solver.problem.problem import Problem


@by_reference
class Layout(NamedTuple):
    """A problem as bit vectors, read-only.

    A row is a distinct pair (features, class). Rows are sorted by class and each class begins a new
    word, so one pass over the words of a branch counts all its classes.

    Parameters
    ----------
    masks : (values, words)
        For every code of every feature its rows.
    offsets : (features + 1,)
        ``masks[offsets[f] + code]`` belongs to that code of feature ``f``.
    segments : (classes + 1,)
        Words ``segments[k]:segments[k + 1]`` hold the rows of class ``k``.
    planes : (bits, words)
        Bit ``b`` of every row's weight; no planes if all weights equal ``unit``.
    unit : int
        The weight of one bit of a row.
    rows : (words,)
        All rows.
    """

    masks: Words
    offsets: NDArray[np.int64]
    segments: NDArray[np.int64]
    planes: Words
    unit: int
    rows: Words


def lay_out(problem: Problem) -> Layout:
    """Build the bit vectors of a problem."""
    classes, sources = np.nonzero(problem.counts.T)
    weights = problem.counts[sources, classes]
    sizes = np.bincount(classes, minlength=problem.n_classes)
    segments = np.zeros(problem.n_classes + 1, dtype=np.int64)
    segments[1:] = np.cumsum((sizes + 63) // 64)
    first_row = np.cumsum(sizes) - sizes
    positions = segments[classes] * 64 + np.arange(len(classes)) - first_row[classes]
    n_words = int(segments[-1])

    def pack(chosen: NDArray[np.bool_]) -> Words:
        bits = np.zeros(n_words * 64, dtype=np.uint8)
        bits[positions[chosen]] = 1
        return np.packbits(bits, bitorder="little").view(np.uint64)

    offsets = np.zeros(problem.n_features + 1, dtype=np.int64)
    offsets[1:] = np.cumsum(problem.arities)
    masks = np.zeros((int(offsets[-1]), n_words), dtype=np.uint64)
    for feature in range(problem.n_features):
        column = problem.codes[sources, feature]
        for code in range(int(problem.arities[feature])):
            masks[offsets[feature] + code] = pack(column == code)
    unit = int(np.gcd.reduce(weights))
    scaled = weights // unit
    n_planes = 0 if scaled.max() == 1 else int(scaled.max()).bit_length()
    planes = np.zeros((n_planes, n_words), dtype=np.uint64)
    for bit in range(n_planes):
        planes[bit] = pack((scaled >> bit) & 1 == 1)
    return Layout(
        masks=masks,
        offsets=offsets,
        segments=segments,
        planes=planes,
        unit=unit,
        rows=pack(np.ones(len(classes), dtype=bool)),
    )
