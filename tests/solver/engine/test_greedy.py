"""The first tree keeps the limits and never loses to a leaf."""

from fractions import Fraction

import numpy as np
import pytest

from solver.engine import greedy
from solver.engine.greedy import greedy_tree
from solver.engine.tree_constraints import TreeConstraints
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
