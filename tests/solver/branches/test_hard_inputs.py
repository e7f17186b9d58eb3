"""Inputs at the limits of the full search's arrays and numbers."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

import solver
from solver.branches import Branches
from solver.branches.engine import ThresholdEngine
from solver.branches.kernels import stack_frame
from solver.engine.driver import Search
from solver.engine.greedy import GREEDY
from solver.kernels.packed_rows import tabulate
from solver.limits import Limits
from solver.monitor import Monitor
from solver.problem.problem import Problem
from tests import naive


@pytest.mark.parametrize("seed", range(12))
def test_weights_beyond_32_bits(seed):
    generator = np.random.default_rng(seed)
    codes = generator.integers(0, 2 + seed % 2, (24, 5))
    target = (codes[:, :3].sum(axis=1) + (generator.random(24) < 0.2)) % 2
    problem = Problem.from_codes(codes, target, weights=generator.integers(1, 2**33, 24))
    lam = Fraction(int(generator.integers(2, 40)), 1000)
    best = naive.optimum(
        problem.codes.tolist(), problem.counts.tolist(), problem.arities.tolist(), lam
    )
    solution = solver.solve(problem, lam)
    assert (solution.objective, solution.splits) == (best.objective, best.splits)


def test_more_columns_than_pairs_are_kept_of_until_most_are_dropped():
    generator = np.random.default_rng(1)
    codes = (generator.random((200, 1200)) < 0.02).astype(int)
    codes[:, :40] = generator.integers(0, 2, (200, 40))
    target = codes[:, :2].sum(axis=1) % 2
    problem = Problem.from_codes(codes, target)
    assert problem.n_features > 1024

    def make(*search):
        engine = ThresholdEngine(*search, Branches().settings)
        engine.step(1, -1)
        head, joint = engine.stack.head[0], engine.stack.joint
        assert not head[stack_frame.HAS_JOINT] or len(joint) >= head[stack_frame.N_COLUMNS] ** 2
        return engine

    search = Search(problem, Fraction(8, 100), Limits(), make, GREEDY)
    assert search.run(Monitor()) == "optimal"
    assert (search.tree().errors, search.tree().splits) == (0, 3)


def test_a_feature_with_as_many_codes_as_rows_takes_memory_of_their_order():
    generator = np.random.default_rng(3)
    codes = generator.integers(0, 2, (6000, 6))
    target = (codes[:, 1] + codes[:, 2] + (generator.random(6000) < 0.1)) % 2
    codes[:, 0] = generator.permutation(6000) // 2
    problem = Problem.from_codes(codes, target)
    solution = solver.solve(problem, "0.001")
    assert solution.status == "optimal"
    assert solution.peak_bytes < 2**25
    assert solution.iterations < 1000


def test_a_table_holds_the_codes_of_its_rows():
    generator = np.random.default_rng(4)
    codes = generator.integers(0, [2, 5, 2, 70, 2], (300, 5))
    problem = Problem.from_codes(codes, generator.integers(0, 3, 300))
    table, _ = tabulate(problem)
    sources = np.nonzero(problem.counts.T)[1]
    for feature, (begin, end) in enumerate(itertools.pairwise(table.columns)):
        columns = np.arange(begin, end)
        bits = (table.bits[:, columns // 64] >> (columns % 64).astype(np.uint64)) & np.uint64(1)
        expected = problem.codes[sources, feature][:, None] == np.arange(1, end - begin + 1)
        assert np.array_equal(bits.astype(bool), expected)
