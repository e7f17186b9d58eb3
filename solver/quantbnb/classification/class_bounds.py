"""Bounds by the weights of the classes alone: every leaf has but one class right."""

from __future__ import annotations

from solver.kernels.constants import Ints
from solver.kernels.jit import helper
from solver.objective.exact_objective import INFINITE
from solver.quantbnb.classification.state import Params, Sweep, Table


@helper
def take_largest(counts: Ints, first: int) -> int:
    """Move the largest number from a place on to this place; 0 if there is none."""
    if first >= len(counts):
        return 0
    at = first
    for k in range(first + 1, len(counts)):
        if counts[k] > counts[at]:
            at = k
    counts[first], counts[at] = counts[at], counts[first]
    return int(counts[first])


@helper
def class_bound(table: Table, params: Params, scratch: Sweep, side: int, most: int) -> int:
    """The least cost of a part with 1 to ``most`` splits, as every leaf has one class right."""
    classes = table.sizes[2]
    rest = 0
    for k in range(classes):
        scratch.counts[k] = scratch.totals[side * classes + k]
        rest += scratch.counts[k]
    counts = scratch.counts[:classes]
    rest -= take_largest(counts, 0)
    splits, best = 1, INFINITE
    while splits <= most and splits * params.split < best:
        rest -= take_largest(counts, splits)
        best = min(best, splits * params.split + rest * params.error)
        splits += 1
    return best
