"""Sweeps of eight cuts at once, held against running sums of one subset at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from solver.kernels.jit import kernel
from solver.quantbnb.regression.simd import LANES, sum_lanes
from solver.quantbnb.regression.state import Params, Parts, Scratch, new_parts, new_scratch
from solver.quantbnb.regression.stump_pairs import _sweep


def _run(parts: Parts, params: Params, scratch: Scratch, rows: int) -> None:
    sum_lanes(scratch.bits, rows, parts.sums[0], params.outputs + 1, scratch.totals[0])
    for k in range(LANES):
        for q in range(params.outputs + 1):
            scratch.totals[1, q, k] = parts.total[0, q] - scratch.totals[0, q, k]
    _sweep(parts, params, scratch, 0, rows, 0, scratch.least[0], scratch.gains[0])


run: Any = kernel(_run)


def best_gain(codes: Any, sums: Any, least: float) -> float:
    """Largest decrease of the squared error by a cut of rows in the order of their codes."""
    best, total = 0.0, sums.sum(axis=0)
    for i in np.flatnonzero(np.diff(codes)):
        left = sums[: i + 1].sum(axis=0)
        right = total - left
        if min(left[0], right[0]) >= least:
            halves = (left[1:] ** 2).sum() / left[0] + (right[1:] ** 2).sum() / right[0]
            best = max(best, halves - (total[1:] ** 2).sum() / total[0])
    return float(best)


@pytest.mark.parametrize("outputs", [1, 2, 3, 4, 6])
@pytest.mark.parametrize("values", [1, 2, 40, 10**6])
def test_a_sweep_finds_the_best_cut_of_every_lane(outputs: int, values: int) -> None:
    rng = np.random.default_rng(outputs)
    n = 300
    codes = np.sort(rng.integers(0, values, n)).astype(np.int32)
    weights = rng.integers(1, 4, n)
    order = rng.permutation(n)  # row of each place
    parts, scratch = new_parts(1, 1, n, outputs), new_scratch(n, outputs)
    parts.codes[0, 0, order] = codes
    parts.order[0, 0] = 2 * order + np.append(codes[1:] != codes[:-1], True)
    parts.sums[0] = weights[:, None] * np.column_stack(
        (np.ones(n), rng.integers(-1000, 1000, (n, outputs)))
    )
    parts.total[0, : outputs + 1] = parts.sums[0].sum(axis=0)
    scratch.bits[:] = rng.integers(0, 256, n)
    scratch.bits[:] &= 0b01111111  # the last lane is empty
    scratch.least[0] = rng.integers(1, 60, (2, LANES))
    run(parts, Params(0.0, 1.0, outputs, 1), scratch, n)
    for lane in range(LANES):
        inside = (scratch.bits[order] >> lane) & 1 == 1
        for side, rows in enumerate((inside, ~inside)):
            best = best_gain(codes[rows], parts.sums[0, order[rows]], scratch.least[0, side, lane])
            assert scratch.gains[0, side, lane] == pytest.approx(best, rel=1e-12)
