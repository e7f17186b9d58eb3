"""Tests of benchmarks/branches_in_shards.py."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

import solver
from benchmarks.branches_in_shards import divide


def test_shards_in_turns_give_one_tree() -> None:
    draw = np.random.default_rng(3)
    codes = draw.integers(0, 2, (60, 6))
    problem = solver.Problem.from_codes(codes, codes[:, 0] ^ draw.integers(0, 2, 60))
    whole = solver.solve(problem, "0.02")
    found = [divide(problem, Fraction("0.02"), number, 8) for number in (2, 3)]
    assert len({str(one.tree) for one in found}) == 1
    tree = problem.grow(found[0].tree[1])  # type: ignore[arg-type]
    assert (tree.errors, tree.splits) == (whole.errors, whole.splits)
    assert [len(one.iterations) for one in found] == [2, 3]
