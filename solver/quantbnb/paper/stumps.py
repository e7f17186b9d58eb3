"""The best split of some rows on one feature: ``L1(I, f)`` by one pass over sorted rows."""

from __future__ import annotations

import math

from solver.kernels.jit import helper
from solver.quantbnb.paper.state import Ints, Params, Scratch, Table


@helper
def gather(
    table: Table, rows: Ints, size: int, feature: int, low: int, high: int, out: Ints
) -> int:
    """Copy the rows whose code lies above ``low`` and up to ``high``, in order; their number."""
    n = 0
    for i in range(size):
        row = rows[i]
        out[n] = row
        code = table.codes[feature, row]
        n += low < code <= high
    return n


@helper
def stump_of_classes(
    table: Table, params: Params, scratch: Scratch, size: int, feature: int
) -> tuple[float, float, float, float, int]:
    """See :func:`stump`; the loss is the misclassified weight."""
    ids, codes = scratch.ids, table.codes
    for k in range(len(scratch.counts)):
        scratch.counts[k] = 0.0
    weight, most = 0.0, 0.0
    for i in range(size):
        row = ids[i]
        scratch.counts[table.labels[row]] += table.weights[row]
        most = max(most, scratch.counts[table.labels[row]])
        weight += table.weights[row]
        scratch.kept[i] = most
    kept_as_leaf = most
    for k in range(len(scratch.counts)):
        scratch.counts[k] = 0.0
    kept_at_best, kept, cut = kept_as_leaf, -1.0, -1
    beyond, most = 0.0, 0.0
    for i in range(size - 1, 0, -1):
        row = ids[i]
        scratch.counts[table.labels[row]] += table.weights[row]
        most = max(most, scratch.counts[table.labels[row]])
        beyond += table.weights[row]
        code = codes[feature, ids[i - 1]]
        if code != codes[feature, row]:
            together = scratch.kept[i - 1] + most
            kept_at_best = max(kept_at_best, together)
            large = beyond >= params.min_leaf and weight - beyond >= params.min_leaf
            if large and together > kept:
                kept, cut = together, code
    allowed = math.inf if cut < 0 else weight - kept
    return weight, weight - kept_as_leaf, weight - kept_at_best, allowed, cut


@helper
def stump_of_squares(
    table: Table, params: Params, scratch: Scratch, size: int, feature: int
) -> tuple[float, float, float, float, int]:
    """See :func:`stump`; the loss is the weighted squared error, summed over the outputs.

    The values are centred, so that ``Σ w·y² − |Σ w·y|²/Σ w`` loses few digits.
    """
    ids, codes, outputs = scratch.ids, table.codes, table.values.shape[1]
    for k in range(outputs):
        scratch.totals[k] = 0.0
        scratch.sums[k] = 0.0
    weight, squares = 0.0, 0.0
    for i in range(size):
        row = ids[i]
        weight += table.weights[row]
        for k in range(outputs):
            scratch.totals[k] += table.weights[row] * table.values[row, k]
            squares += table.weights[row] * table.values[row, k] * table.values[row, k]
    if size == 0:
        return 0.0, 0.0, 0.0, math.inf, -1
    explained = 0.0
    for k in range(outputs):
        explained += scratch.totals[k] * scratch.totals[k]
    leaf = max(squares - explained / weight, 0.0)
    least, allowed, cut, before = leaf, math.inf, -1, 0.0
    for i in range(size - 1):
        row = ids[i]
        before += table.weights[row]
        explained_below, explained_above = 0.0, 0.0
        for k in range(outputs):
            scratch.sums[k] += table.weights[row] * table.values[row, k]
            rest = scratch.totals[k] - scratch.sums[k]
            explained_below += scratch.sums[k] * scratch.sums[k]
            explained_above += rest * rest
        code = codes[feature, row]
        if code != codes[feature, ids[i + 1]]:
            loss = squares - explained_below / before - explained_above / (weight - before)
            loss = max(loss, 0.0)
            least = min(least, loss)
            large = before >= params.min_leaf and weight - before >= params.min_leaf
            if large and loss < allowed:
                allowed, cut = loss, code
    return weight, leaf, least, allowed, cut


@helper
def stump(
    table: Table, params: Params, scratch: Scratch, size: int, feature: int
) -> tuple[float, float, float, float, int]:
    """The losses of the first ``size`` rows of ``scratch.ids``, which are sorted by ``feature``.

    Returns
    -------
    weight : float
        Of these rows.
    leaf : float
        ``L0``, their loss as a leaf.
    least : float
        ``L1`` (6): as a leaf or split on the feature, whatever the weights of the leaves.
    allowed : float
        The least loss split on the feature with leaves of enough weight; infinite without one.
    cut : int
        Where that is; −1 if nowhere.
    """
    if table.values.shape[1] == 0:
        return stump_of_classes(table, params, scratch, size, feature)
    return stump_of_squares(table, params, scratch, size, feature)


@helper
def relaxed_cost(params: Params, leaf: float, least: float) -> float:
    """``L1`` with prices, for bounds: it never rises when rows are taken away.

    The smallest weight of a leaf is left out, since fewer rows may not be able to keep it.
    """
    return min(params.error * leaf, params.split + params.error * least)


@helper
def allowed_cost(params: Params, weight: float, leaf: float, allowed: float) -> tuple[float, bool]:
    """``L1`` with prices among the trees that are allowed, and whether it is that of a split."""
    alone = math.inf if 0.0 < weight < params.min_leaf else params.error * leaf
    split = params.split + params.error * allowed
    return min(alone, split), split < alone
