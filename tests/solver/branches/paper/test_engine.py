"""The paper's search alone: its answers, its bounds on the way, and its iterations."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from solver.branches.paper.engine import PaperEngine
from solver.branches.paper.state import resize
from solver.engine.tree_constraints import TreeConstraints
from solver.kernels.constants import FULL, PROVEN, RUNNING
from solver.limits import Limits
from solver.objective.exact_objective import CostScale, objective
from solver.problem.problem import Problem
from solver.theory.branches_complexity import theorem_4_4
from tests.helpers.strategies import cost_scale, random_table, structural_limits, tables

THOROUGH = settings(
    max_examples=150, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
)


def make_engine(problem: Problem, lam: Fraction, limits: Limits | None = None) -> PaperEngine:
    limits = limits or Limits()
    most = max(len(problem.codes) - 1, 0)
    if limits.splits is not None:
        most = min(most, limits.splits)
    costs = CostScale.build(lam, problem.total_weight, problem.leaf_errors, most)
    return PaperEngine(problem, costs, TreeConstraints.of(problem, lam, limits))


def finish(engine: PaperEngine, iterations: int = 10_000) -> int:
    """Search to the proof; how often the engine had to grow."""
    grown = 0
    while (outcome := engine.step(iterations, -1)) != PROVEN:
        if outcome == FULL:
            assert engine.grow(None)
            grown += 1
    assert engine.lower_bound == engine.upper_bound
    return grown


@pytest.fixture(scope="module")
def hard() -> Problem:
    """Noisy labels: thousands of iterations."""
    generator = np.random.default_rng(7)
    codes = generator.integers(0, 2, (200, 10))
    return Problem.from_codes(codes, (codes[:, :4].sum(axis=1) + generator.integers(0, 2, 200)) % 3)


@THOROUGH
@given(st.integers(0, 2**32 - 1), st.data())
def test_evaluations_are_within_the_bounds_of_the_paper(seed, data):
    table = random_table(seed, max_rows=20, max_features=3, max_arity=3, max_classes=3)
    problem = table.problem()
    lam = data.draw(cost_scale(problem.total_weight).filter(bool))
    engine = make_engine(problem, lam)
    finish(engine)
    counts = engine.extra
    assert counts["expansions"] <= engine.iterations
    if not problem.n_features:
        assert counts == {"expansions": 0, "evaluations": 0}
        return
    q, arity = problem.n_features, max(engine.arities)
    best = problem.grow(engine.shape())
    loss = Fraction(best.errors, problem.total_weight)
    assert counts["evaluations"] <= theorem_4_4(q, arity, lam, best.splits, loss)


def test_expansions_and_evaluations_are_counted_as_in_the_paper():
    # The exclusive or of the first two: λ = 1/10 has the root and both children expanded.
    codes = [[a, b, c] for a in (0, 1) for b in (0, 1) for c in (0, 1)]
    engine = make_engine(Problem.from_codes(codes, [a ^ b for a, b, _ in codes]), Fraction(1, 10))
    finish(engine)
    expansions = engine.extra["expansions"]
    # The root evaluates the 6 children of 3 features, each branch of depth 1 the 4 of two.
    assert engine.extra["evaluations"] == 6 + 4 * (expansions - 1)


@THOROUGH
@given(tables(), structural_limits(), st.data())
def test_the_answer_is_that_of_the_oracle(table, limits, data):
    problem = table.problem()
    lam = data.draw(cost_scale(problem.total_weight))
    engine = make_engine(problem, lam, limits)
    finish(engine)
    tree = problem.grow(engine.shape())
    best = table.optimum(lam, limits)
    reached = objective(tree.errors, tree.splits, problem.total_weight, lam)
    assert (reached, tree.splits) == (best.objective, best.splits)
    assert limits.depth is None or tree.depth <= limits.depth
    sizes = [sum(node.counts) for node in tree.nodes if node.is_leaf and sum(node.counts)]
    assert tree.splits == 0 or min(sizes) >= (limits.min_leaf_size or 0)


@THOROUGH
@given(tables(), structural_limits(), st.data())
def test_bounds_hold_and_close_in_on_the_way(table, limits, data):
    problem = table.problem()
    lam = data.draw(cost_scale(problem.total_weight))
    engine = make_engine(problem, lam, limits)

    def cost(errors: int | Fraction, splits: int) -> int | Fraction:
        return engine.params.error * errors + engine.params.split * splits

    best = table.optimum(lam, limits)
    errors = (best.objective - lam * best.splits) * problem.total_weight
    lower_bound, upper_bound, outcome = 0, engine.upper_bound, RUNNING
    while outcome != PROVEN:
        assert lower_bound <= engine.lower_bound <= cost(errors, best.splits)
        tree = problem.grow(engine.shape())
        assert cost(errors, best.splits) <= cost(tree.errors, tree.splits) <= engine.upper_bound
        assert engine.upper_bound <= upper_bound
        lower_bound, upper_bound = engine.lower_bound, engine.upper_bound
        outcome = engine.step(1, -1)


@pytest.mark.parametrize(
    ("name", "lam", "iterations", "nodes"),
    [("monks-1-full", "0.01", 275, 275), ("car-f", "0.005", 180_450, 160_520)],
)
def test_the_iterations_on_published_tables_stay_what_they_are(
    shared_data, name, lam, iterations, nodes
):
    table = pd.read_parquet(shared_data / "encoded" / f"{name}.parquet")
    codes, target = table.drop(columns="target").to_numpy(), table["target"].to_numpy()
    engine = make_engine(Problem.from_codes(codes, target), Fraction(lam))
    finish(engine)
    assert (engine.iterations, engine.nodes) == (iterations, nodes)


def test_slices_and_growth_do_not_change_the_search(hard):
    whole, sliced = (make_engine(hard, Fraction(1, 100), Limits(splits=6)) for _ in range(2))
    assert finish(whole) > 0
    finish(sliced, iterations=7)
    assert whole.iterations == sliced.iterations > 1000
    assert whole.pool.used.tolist() == sliced.pool.used.tolist()
    assert whole.shape() == sliced.shape()


def test_a_slice_has_as_many_iterations_as_it_may(hard):
    engine = make_engine(hard, Fraction(1, 100))
    assert engine.step(5, -1) == RUNNING
    assert engine.iterations == 5
    assert engine.nodes <= 6


def test_a_tree_that_is_good_enough_ends_the_search(hard):
    engine = make_engine(hard, Fraction(1, 100))
    engine.step(50, -1)
    assert engine.lower_bound < engine.upper_bound
    assert engine.step(1, engine.upper_bound) == PROVEN
    assert engine.iterations == 50


def test_growth_beyond_the_memory_limit_is_refused_and_changes_nothing(hard):
    engine = make_engine(hard, Fraction(1, 1000))
    while engine.step(1000, -1) != FULL:
        pass
    before, used = engine.bytes, engine.pool.used.tolist()
    assert not engine.grow(before)
    assert (engine.bytes, engine.pool.used.tolist()) == (before, used)
    assert engine.step(1000, -1) == FULL
    assert engine.grow(4 * before)
    assert before < engine.bytes <= 4 * before
    engine.step(1, -1)
    assert engine.pool.used.tolist() != used


def test_a_tree_of_thousands_of_splits_in_a_chain_is_read_out():
    engine = make_engine(Problem.from_codes([[0, 1], [1, 0]], [0, 1]), Fraction(1, 100))
    length = 5000
    sizes = {"node": length + 1, "action": length, "child": 2 * length, "literals": 1}
    engine.pool = resize(engine.pool, sizes)
    nodes = np.arange(length)
    engine.pool.node_best[:length, 0] = nodes
    engine.pool.node_best[length, 0] = -1
    engine.pool.action_children[:] = 2 * nodes
    engine.pool.child_node[0::2] = -1
    engine.pool.child_node[1::2] = nodes + 1
    shape, splits = engine.shape(), 0
    while isinstance(shape, tuple):
        feature, (left, shape) = shape
        assert (feature, left) == (0, -1)
        splits += 1
    assert splits == length


def test_the_search_cannot_go_on_elsewhere(hard):
    engine = make_engine(hard, Fraction(1, 100))
    engine.step(100, -1)
    lower_bound = engine.lower_bound
    engine.propagate_bounds()
    assert engine.lower_bound == lower_bound
    assert engine.state() is None
