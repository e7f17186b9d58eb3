"""Tests of benchmarks/branches_in_shards.py."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import solver
from benchmarks.branches_in_shards import LEVELS, divide, list_schedule, record


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


def test_the_longest_subproblem_is_given_first() -> None:
    assert list_schedule([1.0, 2.0, 3.0], 1) == 6.0
    assert list_schedule([2.0, 2.0, 3.0, 3.0], 2) == 5.0
    assert list_schedule([2.0, 2.0, 3.0, 3.0], 64) == 3.0


def test_subproblems_of_a_deeper_level_are_parts_of_those_above() -> None:
    draw = np.random.default_rng(3)
    codes = draw.integers(0, 2, (60, 6))
    problem = solver.Problem.from_codes(codes, codes[:, 0] ^ draw.integers(0, 2, 60))
    levels, cost = record(problem, Fraction("0.02"))
    assert cost > 0
    assert len(levels) == len(LEVELS)
    totals = [sum(known.values()) for known in levels]
    assert totals == [pytest.approx(totals[0])] * len(LEVELS)
    assert len(levels[0]) <= 1 + 6
    assert len(levels[0]) < len(levels[1])
    assert max(levels[0].values()) >= max(levels[1].values()) - 1e-9
