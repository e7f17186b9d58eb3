"""Stumps of both sides of a rule, against counting row by row."""

from __future__ import annotations

import numpy as np

from solver.kernels.constants import Words
from solver.kernels.jit import kernel
from solver.proper.error_costs import rows_of
from solver.proper.state import Rows
from solver.proper.stumps import count_rows, leaf_errors, total_weight


@kernel
def _leaf(rows: Rows, region: Words, inside: np.ndarray) -> tuple[int, int]:
    count_rows(rows, region, inside)
    return leaf_errors(rows, inside), total_weight(rows, inside)


def test_errors_and_weight_of_a_leaf() -> None:
    random = np.random.default_rng(0)
    counts = random.integers(0, 6, (100, 3))
    rows = rows_of(counts)
    for _ in range(20):
        held = random.random(100) < 0.4
        packed = np.packbits(np.append(held, np.zeros(28, bool)), bitorder="little")
        inside = np.zeros(len(rows.planes), np.int64)
        weights = counts[held].sum(axis=0)
        assert _leaf(rows, packed.view(np.uint64), inside) == (
            weights.sum() - weights.max(),
            weights.sum(),
        )
