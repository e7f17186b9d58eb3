"""Mode paper finds the optimum of its search space: against the naive recursion."""

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solver import Limits
from solver.engine.driver import cost_scale_of
from solver.engine.tree_constraints import TreeConstraints
from solver.kernels.constants import FULL, PROVEN, RUNNING
from solver.proper.paper.search import Found, PaperEngine, _thin
from solver.search_shards import Shard
from tests.helpers.point_problems import XOR, cases
from tests.helpers.random_examples import examples

WHOLE = Shard(0, 1)


def begin(case, thinning=False, memo=False, shard=WHOLE, degree=2):
    problem = case.problem
    limits = Limits(depth=case.depth, splits=case.splits, min_leaf_size=case.min_leaf)
    cost_scale = cost_scale_of(problem, case.lam, max(len(problem.codes) - 1, 0))
    return PaperEngine(
        problem, cost_scale, TreeConstraints.of(problem, case.lam, limits), case.splits,
        case.family, degree, shard, thinning, memo, lambda partition: partition,
    )  # fmt: skip


def run(engine, iterations=1000):
    while (outcome := engine.step(iterations, -1)) != PROVEN:
        if outcome == FULL:
            assert engine.grow(None)
        engine.propagate_bounds()
        assert engine.lower_bound < engine.upper_bound
    assert engine.lower_bound == engine.upper_bound
    return engine


def outcome_of(case, engine):
    """Errors and splits of the tree, which the engine's parting is followed for."""
    counts = case.problem.counts.tolist()
    smallest = []

    def follow(partition, rows, levels):
        assert levels >= 0
        if partition == -1:
            classes = [sum(counts[r][k] for r in rows) for k in range(3)]
            smallest.append(sum(classes))
            return sum(classes) - max(classes), 0
        mask, (below, above) = partition
        one = follow(below, [r for r in rows if not mask >> r & 1], levels - 1)
        two = follow(above, [r for r in rows if mask >> r & 1], levels - 1)
        return one[0] + two[0], one[1] + two[1] + 1

    levels = case.splits if case.depth is None else case.depth
    found = follow(engine.shape(), range(len(counts)), levels)
    assert len(smallest) == 1 or min(smallest) >= case.min_leaf
    return found


def check(case, engine):
    errors, splits = outcome_of(case, engine)
    optimum = case.optimum
    assert (errors + case.lam * sum(case.weights) * splits, splits) == optimum[:2]
    assert engine.upper_bound == engine.cost_scale.cost(errors, splits)


@settings(deadline=None, max_examples=150)
@given(cases(), st.booleans(), st.booleans(), st.integers(1, 300))
def test_it_equals_the_naive_optimum(case, thinning, memo, iterations):
    check(case, run(begin(case, thinning, memo), iterations))


@pytest.mark.slow
@settings(deadline=None, max_examples=examples(300))
@given(cases(rows=7), st.booleans(), st.booleans())
def test_it_equals_the_naive_optimum_hundreds_of_times(case, thinning, memo):
    check(case, run(begin(case, thinning, memo)))


@settings(deadline=None, max_examples=40)
@given(cases(), st.integers(1, 4))
def test_shards_share_out_the_combinations(case, number):
    whole = run(begin(case))
    parts = [run(begin(case, shard=Shard(index, number))) for index in range(number)]
    best = min(parts, key=lambda part: part.upper_bound)
    assert (best.upper_bound, best.shape()) == (whole.upper_bound, whole.shape())


@pytest.mark.parametrize(
    "family, splits", [("axis", 3), ("hyperplane", 2), ("polynomial", 1), ("mixed", 1)]
)
def test_how_many_splits_xor_takes(family, splits):
    case = replace(XOR, family=family)
    assert outcome_of(case, run(begin(case))) == (0, splits)


def test_a_higher_degree_parts_more():
    """Three changes along a line need degree 3."""
    case = replace(
        XOR,
        points=((0,), (1,), (2,), (3,)),
        target=(0, 1, 0, 1),
        weights=(1,) * 4,
        splits=1,
        family="polynomial",
    )
    assert outcome_of(case, run(begin(case, degree=2)))[0] == 1
    assert outcome_of(case, run(begin(case, degree=3)))[0] == 0


def test_steps_do_no_more_than_they_may():
    engine = begin(replace(XOR, family="hyperplane"))
    while engine.step(3, -1) == RUNNING:
        before = engine.iterations
        engine.step(1, -1)
        assert engine.iterations <= before + 1


def test_all_combinations_are_tried_where_nothing_is_proven_before():
    case = replace(XOR, target=(0, 1, 0, 1, 2), weights=(1,) * 5, splits=2)
    extra = run(begin(case)).extra
    rules = extra["rules"]
    assert extra["combinations"] == rules + rules * (rules - 1) // 2
    assert 0 < extra["combinations_with_a_tree"] <= extra["combinations"]
    shards = [run(begin(case, shard=Shard(index, 3))).combinations for index in range(3)]
    assert sum(shards) == extra["combinations"]
    assert min(shards) > 0


def test_a_high_price_ends_it_at_once():
    assert run(begin(replace(XOR, lam=Fraction(1, 2)))).combinations == 0


def test_a_memo_counts_by_size():
    extra = run(begin(XOR, memo=True)).extra
    assert 0 < extra["memo_hits_1"] < extra["memo_lookups_1"]
    assert extra["memo_hits_2"] <= extra["memo_lookups_2"]
    assert "memo_lookups_1" not in run(begin(XOR)).extra


def test_memory_is_asked_for():
    engine = begin(replace(XOR, family="mixed"))
    engine._room = 2000
    outcomes = {engine.step(1, -1) for _ in range(400)}
    assert FULL in outcomes
    assert not engine.grow(engine.bytes)
    assert engine.grow(None)
    run(engine)


@pytest.mark.parametrize("thinning", [False, True])
def test_a_limit_of_depth_that_matters(thinning):
    """Three cuts single out the one point of its class, but not within two levels."""
    case = replace(
        XOR, points=((1, 0), (0, 0), (0, 1), (1, 2), (2, 0)), target=(0, 2, 2, 2, 2), depth=2
    )
    assert outcome_of(case, run(begin(case, thinning)))[0] == 1
    deeper = replace(case, depth=None)
    assert outcome_of(deeper, run(begin(deeper, thinning))) == (0, 3)


def test_thinning_keeps_the_cheapest_of_every_depth():
    found = [Found(3, 1, -1), Found(1, 3, -1), Found(2, 3, -1), Found(2, 2, -1), Found(3, 1, 0)]
    assert _thin(found) == [found[1], found[3], found[0]]
