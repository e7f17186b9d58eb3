"""The first tree keeps the limits and never loses to a leaf."""

from fractions import Fraction

import numpy as np
import pytest

from solver.engine import greedy
from solver.engine.greedy import greedy_tree
from solver.engine.tree_constraints import TreeConstraints
from solver.kernels.packed_rows import tabulate
from solver.limits import Limits
from solver.objective.exact_objective import CostScale
from solver.problem.problem import Problem
from solver.verify.scorer import score


def make_problem(seed: int) -> Problem:
    generator = np.random.default_rng(seed)
    codes = generator.integers(0, 3, (120, 5))
    target = (codes[:, 0] + codes[:, 1] * codes[:, 2] + generator.integers(0, 2, 120)) % 3
    return Problem.from_codes(codes, target)


def first_tree(problem, lam, limits, late=False):
    cost_scale = CostScale.build(lam, problem.total_weight, problem.leaf_errors, len(problem.codes))
    constraints = TreeConstraints.of(problem, lam, limits)
    return problem.grow(greedy_tree(problem, cost_scale, constraints, lambda: late))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    "limits",
    [Limits(), Limits(depth=2), Limits(splits=3), Limits(min_leaf_size=10), Limits(depth=0)],
    ids=str,
)
def test_first_tree_keeps_the_limits_and_pays(seed, limits):
    problem, lam = make_problem(seed), Fraction(1, 100)
    tree = first_tree(problem, lam, limits)
    assert limits.depth is None or tree.depth <= limits.depth
    assert limits.splits is None or tree.splits <= limits.splits
    sizes = [sum(node.counts) for node in tree.nodes if node.is_leaf]
    assert min(size for size in sizes if size) >= (limits.min_leaf_size or 0)
    leaf = Fraction(problem.leaf_errors, problem.total_weight)
    assert score(problem, tree, lam).objective <= leaf
    if limits == Limits():
        assert tree.splits > 0


def test_out_of_time_gives_a_leaf():
    assert first_tree(make_problem(0), Fraction(1, 100), Limits(), late=True).splits == 0


def test_no_other_thread_takes_the_kernel_for_compiled_before_it_is(monkeypatch):
    seen = []
    monkeypatch.setattr(greedy, "_compiled", False)
    monkeypatch.setattr(greedy, "ensure_compiled", lambda *_: seen.append(greedy._compiled) or 0.0)
    greedy.compile_greedy()
    assert (seen, greedy._compiled) == ([False], True)


@pytest.mark.parametrize("seed", range(40))
def test_the_split_is_that_of_least_impurity_among_those_allowed(seed):
    """All codes at once give what one feature after the other does, to the last bit."""
    generator = np.random.default_rng(seed)
    n, n_classes = int(generator.integers(1, 90)), int(generator.integers(2, 5))
    arities = generator.integers(1, 13, int(generator.integers(1, 9)))
    codes = np.column_stack([generator.integers(0, arity, n) for arity in arities])
    problem = Problem.from_codes(codes, generator.integers(0, n_classes, n))
    table, _ = tabulate(problem)
    counter = greedy._Counter(problem, table)
    rows = np.sort(generator.permutation(len(table.labels))[: generator.integers(1, n + 1)])
    totals, counts = counter.weigh(rows), counter.count(rows)
    assert counts.shape == (table.values[-1], np.count_nonzero(totals))
    best = dict.fromkeys((1, 2, 5), (-1, -1.0))
    for feature, arity in enumerate(problem.arities):
        own = np.zeros((arity, problem.n_classes), np.int64)
        np.add.at(own, (counter.codes(rows, feature), table.labels[rows]), table.weights[rows])
        first = int(table.values[feature])
        assert np.array_equal(counts[first : first + arity], own[:, totals > 0])
        assert np.array_equal(own.sum(axis=0), totals)
        weights = own.sum(axis=1)
        filled = weights[weights > 0]
        gain = float(((own.astype(float) ** 2).sum(axis=1) / np.maximum(weights, 1)).sum())
        for min_leaf, (_, most) in best.items():
            if len(filled) > 1 and filled.min() >= min_leaf and gain > most:
                best[min_leaf] = feature, gain
    for min_leaf, (feature, _) in best.items():
        assert counter.best_split(min_leaf, counts) == feature
