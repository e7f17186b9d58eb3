"""A quick first tree: grown greedily, then pruned optimally for λ."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from solver.branches.paper.counting import split_counts
from solver.branches.paper.layout import Layout, Words
from solver.branches.paper.pool import Ints, Rules, Scratch
from solver.tree import Shape


def greedy_tree(
    layout: Layout, rules: Rules, scratch: Scratch, out_of_time: Callable[[], bool]
) -> Shape:
    """Grow by Gini impurity (as CART does), then replace every subtree that does not pay.

    Parameters
    ----------
    out_of_time : callable
        Asked before every split; from then on only leaves are added.

    Returns
    -------
    Shape
        A tree within the limits of ``rules`` on depth, leaf size and splits.
    """
    counts = np.zeros((int(layout.offsets[-1]), len(layout.segments) - 1), dtype=np.int64)

    def grow(bits: Words, depth: int) -> Curve:
        totals = _class_weights(layout, scratch, bits, counts)
        leaf = rules.error * int(totals.sum() - totals.max())
        curve: Curve = [(leaf, -1)]
        if leaf <= rules.split or depth >= min(rules.depth, _DEEPEST) or out_of_time():
            return curve
        feature = _best_split(layout, rules, counts, totals)
        if feature < 0:
            return curve
        first, last = int(layout.offsets[feature]), int(layout.offsets[feature + 1])
        children = [grow(bits & layout.masks[value], depth + 1) for value in range(first, last)]
        return _join(rules, leaf, feature, children)

    return min(grow(layout.rows.copy(), 0), key=lambda entry: entry[0])[1]


_DEEPEST = 300
_LONGEST_CURVE = 64

Curve = list[tuple[int, Shape]]
"""The best pruned subtree (cost, shape) for every number of splits 0, 1, …"""


def _class_weights(layout: Layout, scratch: Scratch, bits: Words, counts: Ints) -> Ints:
    """Fill in ``counts`` for a branch; its class weights."""
    scratch.bits[:] = bits
    split_counts(layout, scratch, counts)
    if len(layout.offsets) == 1:
        return np.zeros(counts.shape[1], dtype=np.int64)
    return np.asarray(counts[layout.offsets[0] : layout.offsets[1]].sum(axis=0))


def _best_split(layout: Layout, rules: Rules, counts: Ints, totals: Ints) -> int:
    """The feature of least weighted Gini impurity among the splits allowed; −1 if none."""
    weights = counts.sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        purity: NDArray[np.float64] = (counts.astype(float) ** 2).sum(axis=1) / weights
    purity[weights == 0] = 0.0
    best, most = -1, -1.0
    for feature in range(len(layout.offsets) - 1):
        part = slice(int(layout.offsets[feature]), int(layout.offsets[feature + 1]))
        filled = weights[part][weights[part] > 0]
        if len(filled) < 2 or filled.min() < rules.min_leaf:
            continue
        gain = float(purity[part].sum())
        if gain > most:
            best, most = feature, gain
    return best


def _join(rules: Rules, leaf: int, feature: int, children: list[Curve]) -> Curve:
    """The curve of a split from those of its children (or the leaf instead)."""
    if rules.budgets == 1:
        cheapest = [min(curve, key=lambda entry: entry[0]) for curve in children]
        cost = rules.split + sum(entry[0] for entry in cheapest)
        shape: Shape = (feature, tuple(entry[1] for entry in cheapest))
        return [(cost, shape)] if cost < leaf else [(leaf, -1)]
    longest = min(rules.budgets, _LONGEST_CURVE)
    sums: list[tuple[int, tuple[Shape, ...]]] = [(0, ())]
    for curve in children:
        merged: dict[int, tuple[int, tuple[Shape, ...]]] = {}
        for a, (cost, shapes) in enumerate(sums):
            for b, (more, shape) in enumerate(curve):
                total = (cost + more, (*shapes, shape))
                if a + b + 1 < longest and (a + b not in merged or total[0] < merged[a + b][0]):
                    merged[a + b] = total
        sums = [merged[n] for n in range(len(merged))]
    return [
        (leaf, -1),
        *((rules.split + cost, (feature, shapes)) for cost, shapes in sums),
    ]
