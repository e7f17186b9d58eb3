"""Equal rows, merged in the order of their codes; held against a dictionary."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from solver.problem.deduplication import collapse


@pytest.mark.parametrize("largest", [1, 2, 255, 70_000])
@pytest.mark.parametrize("features", [1, 3, 4, 5, 9, 70, 150])
def test_rows_are_merged_in_ascending_order(largest: int, features: int) -> None:
    random = np.random.default_rng([largest, features])
    for few in (1, 2, largest + 1):  # with few values the first words of many rows are equal
        codes = random.integers(0, few, (60, features)).astype(np.int32) * (largest // few)
        codes[:, -1] = random.integers(0, largest + 1, 60)
        labels, weights = random.integers(0, 3, 60), random.integers(1, 5, 60)
        naive: dict[tuple[int, ...], Counter[int]] = {}
        for row, label, weight in zip(codes.tolist(), labels.tolist(), weights, strict=True):
            naive.setdefault(tuple(row), Counter())[label] += int(weight)
        rows, counts = collapse(codes, labels, weights, 3)
        assert [*map(tuple, rows.tolist())] == sorted(naive)
        assert counts.tolist() == [[naive[row][k] for k in range(3)] for row in sorted(naive)]
