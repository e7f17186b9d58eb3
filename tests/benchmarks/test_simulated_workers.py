"""Tests of benchmarks/simulated_workers.py."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import solver
from benchmarks.simulated_workers import Workers
from solver.engine import driver


def test_simulated_workers_find_the_optimum_and_hear_of_each_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(driver, "_SLICE_SECONDS", 0.0)  # slices of one step
    monkeypatch.setattr(driver, "_NEWS_SECONDS", 0.0)
    draw = np.random.default_rng(3)
    codes = draw.integers(0, 2, (60, 6))
    problem = solver.Problem.from_codes(codes, codes[:, 0] ^ draw.integers(0, 2, 60))
    whole = solver.solve(problem, "0.02")
    nodes = []
    for delay in (0.0, 1e9):  # with the longer one nobody hears anything
        workers = Workers(3, delay)
        found, span = workers.run(problem, Fraction("0.02"))
        assert (found.objective, found.lower_bound) == (whole.objective, whole.objective)
        assert sorted(workers.ended) == [0, 1, 2]
        assert span == max(end for _, end in workers.ended.values()) > 0
        nodes.append(found.nodes)
    assert nodes[0] < nodes[1]
