"""Trees that a search has kept, read by a kernel and node by node."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from solver.engine.tree_constraints import TreeConstraints
from solver.objective.exact_objective import CostScale
from solver.quantbnb.classification.engine import QuantEngine
from solver.trees.tree import Shape

Rows = list[int]


class Naive:
    """Reads a tree node by node."""

    def __init__(self, codes: NDArray[np.int32], counts: NDArray[np.int64], least: int) -> None:
        self.codes: list[list[int]] = codes.tolist()
        self.counts: list[list[int]] = counts.tolist()
        self.least = least
        self.arities: list[int] = (codes.max(axis=0) + 1).tolist()

    def weights(self, rows: Rows) -> list[int]:
        return [sum(weights) for weights in zip(*(self.counts[row] for row in rows), strict=True)]

    def parted(self, rows: Rows, feature: int, code: int) -> tuple[Rows, Rows]:
        left = [row for row in rows if self.codes[row][feature] < code]
        return left, [row for row in rows if row not in left]

    def best_code(self, rows: Rows, feature: int) -> int:
        codes = sorted({self.codes[row][feature] for row in rows})
        best, most = codes[0], -1
        for code in codes[1:]:
            left, right = map(self.weights, self.parted(rows, feature, code))
            if min(sum(left), sum(right)) >= self.least and max(left) + max(right) > most:
                best, most = code, max(left) + max(right)
        return best

    def shape(self, tree: list[list[int]], at: int, rows: Rows) -> tuple[Shape, int]:
        """A subtree, and its class if it is a leaf."""
        weights = self.weights(rows)
        if at >= len(tree) or tree[at][0] < 0:
            return -1, weights.index(max(weights))
        feature, code = tree[at]
        if code < 0:
            code = self.best_code(rows, feature)
        left, right = self.parted(rows, feature, code)
        if not left or not right:
            return self.shape(tree, 2 * at + 1 if left else 2 * at + 2, rows)
        below, above = self.shape(tree, 2 * at + 1, left), self.shape(tree, 2 * at + 2, right)
        if below[1] == above[1] >= 0:
            return -1, below[1]
        low = max(self.codes[row][feature] for row in left)
        high = min(self.codes[row][feature] for row in right)
        first = sum(arity - 1 for arity in self.arities[:feature])
        return (first + (low + high - 1) // 2, (below[0], above[0])), -1


@pytest.mark.parametrize("seed", range(60))
def test_a_tree_is_read_as_node_by_node(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, features, classes, depth = (int(rng.integers(2, most)) for most in (40, 4, 4, 6))
    codes = rng.integers(0, 8, (n, features)).astype(np.int32)
    counts = rng.integers(0, 4, (n, classes))
    counts[[0, 1], [0, 1]] += 9  # a leaf has errors
    naive = Naive(codes, counts, int(rng.integers(1, 9)))
    scale = CostScale.build(Fraction(0), int(counts.sum()), int(counts.sum()), n)
    constraints = TreeConstraints(1, 2, naive.least, 2)
    engine = QuantEngine(codes, counts, np.array(naive.arities, np.int32), scale, constraints)
    for _ in range(20):
        tree = np.stack([rng.integers(0, features, 2**depth), rng.integers(-1, 9, 2**depth)], 1)
        tree[rng.random(2**depth) < 0.1, 0] = -1
        engine.levels = engine.levels._replace(tree=np.ascontiguousarray(tree)[None, :-1])
        assert engine.shape() == naive.shape(tree[:-1].tolist(), 0, list(range(n)))[0]
