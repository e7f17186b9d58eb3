"""Branches of two splits that are closed without opening: their bounds hold, they save openings,
and change no answer."""

import dataclasses
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import solver
from solver import Limits, Problem, get_solver
from solver.branches.engine import ThresholdEngine
from solver.branches.kernels.state import NODES
from solver.branches.solver import Branches
from solver.engine import driver
from solver.kernels.constants import FULL, PROVEN
from solver.search_shards import merge
from solver.verify.certificate import Claim
from solver.verify.certificate_checker import check
from tests.helpers.branches_memo import DEFAULTS, check_bounds, check_solve, engine_of, finish
from tests.helpers.random_examples import examples
from tests.helpers.shard_party import solve_together
from tests.helpers.strategies import Table, random_table, structural_limits, tables

binary = tables(max_rows=40, max_features=7, max_arity=2, max_classes=3)
others = st.sampled_from(
    [
        {},
        {},
        {"support": False},
        {"slack": 0, "similar_support": False},
        {"memo": "literals", "duplicates": False},
        {"incumbent": False, "equivalent_points": False},
        {"child_order": "paper", "class_counts": False, "row_duals": True},
    ]
)


def prices(table: Table) -> st.SearchStrategy[Fraction]:
    """A split costs a quarter of an error to a few: many branches have room for two more."""
    weight = sum(table.weights)
    quarters = st.just(1) | st.integers(1, 16)
    return quarters.map(lambda price: Fraction(price, 4 * weight))


def free(limits: Limits) -> Limits:
    """Only the limit on depth: under the others branches of two splits are opened."""
    return dataclasses.replace(limits, splits=None, min_leaf_size=None)


@settings(max_examples=examples(100), deadline=None)
@given(table=binary, data=st.data())
def test_all_bounds_of_the_memo_hold(table: Table, data: st.DataObject) -> None:
    limits = free(data.draw(structural_limits()))
    engine = engine_of(table.problem(), data.draw(prices(table)), limits, data.draw(others))
    check_bounds(finish(engine), nodes=80)


@settings(max_examples=examples(150), deadline=None)
@given(table=binary, data=st.data())
def test_the_answer_is_the_oracle_s(table: Table, data: st.DataObject) -> None:
    """With and without, under all limits."""
    lam, limits = data.draw(prices(table)), data.draw(structural_limits())
    options, best = data.draw(others), table.optimum(lam, limits)
    for on in (True, False):
        found = solver.solve(table.problem(), lam, limits=limits, two_splits=on, **options)
        assert found.status == "optimal"
        assert found.lower_bound == found.objective == best.objective
        assert found.splits == best.splits


@settings(max_examples=examples(80), deadline=None)
@given(table=binary, data=st.data())
def test_bounds_only_close_in(table: Table, data: st.DataObject) -> None:
    """In every step, and for every branch; no step makes more than one branch."""
    limits, options = free(data.draw(structural_limits())), data.draw(others)
    engine = engine_of(table.problem(), data.draw(prices(table)), limits, options)
    lower, upper = engine.memo.node_lower[:1].copy(), engine.memo.node_upper[:1].copy()
    while (outcome := engine.step(1, -1)) != PROVEN:
        assert outcome != FULL or engine.grow(None)
        now, before = int(engine.memo.used[NODES]), len(lower)
        assert now <= before + 1
        assert (engine.memo.node_lower[:before] >= lower).all()
        assert (engine.memo.node_upper[:before] <= upper).all()
        lower, upper = engine.memo.node_lower[:now].copy(), engine.memo.node_upper[:now].copy()
        assert (lower <= upper).all()


@settings(max_examples=examples(60), deadline=None)
@given(table=binary, data=st.data())
def test_a_path_is_the_oracle_s(table: Table, data: st.DataObject) -> None:
    """Up and down in λ: the trees of two splits are carried over, and so are their bounds."""
    limits = free(data.draw(structural_limits()))
    solve = get_solver("branches")(**data.draw(others)).series(table.problem())
    for lam in data.draw(st.lists(prices(table), min_size=2, max_size=5)):
        check_solve(solve, table, lam, limits, data.draw(st.none() | st.integers(1, 20)))


@settings(max_examples=examples(40), deadline=None)
@given(table=binary, data=st.data())
def test_shards_find_the_same_tree(table: Table, data: st.DataObject) -> None:
    """The first of the best trees, whatever is known of them."""
    lam, limits = data.draw(prices(table)), free(data.draw(structural_limits()))
    number, best = data.draw(st.integers(2, 4)), table.optimum(lam, limits)
    trees = []
    for on in (True, False):
        search = Branches(two_splits=on)
        parts = solve_together(search, table.problem(), lam, limits, number, on)
        merged = merge(parts)
        assert merged.lower_bound == merged.objective == best.objective
        trees.append(merged.tree)
    assert trees[0] == trees[1]


@settings(max_examples=examples(60), deadline=None)
@given(table=binary, data=st.data())
def test_a_state_goes_on_as_if_the_search_had_not_stopped(
    table: Table, data: st.DataObject
) -> None:
    problem, lam = table.problem(), data.draw(prices(table))
    limits, chosen = data.draw(structural_limits()), data.draw(others)
    whole = finish(engine_of(problem, lam, limits, chosen))
    engine = engine_of(problem, lam, limits, chosen)
    while (outcome := engine.step(data.draw(st.integers(1, 9)), -1)) != PROVEN:
        assert outcome != FULL or engine.grow(None)
        last = {name: array.copy() for name, array in engine.state().items()}
        scale, constraints = engine.cost_scale, engine.constraints
        engine = ThresholdEngine(problem, scale, constraints, DEFAULTS | chosen, last)
    assert engine.memo.used.tolist() == whole.memo.used.tolist()
    assert engine.lower_bound == whole.lower_bound == whole.upper_bound
    assert engine.shape() == whole.shape()


@settings(max_examples=examples(60), deadline=None)
@given(table=binary, data=st.data())
def test_certificates_are_accepted(table: Table, data: st.DataObject) -> None:
    """A checker opens these branches, and proves at least what the search claims of them."""
    problem, lam = table.problem(), data.draw(prices(table))
    limits = free(data.draw(structural_limits()))
    found = solver.solve(problem, lam, limits=limits)
    claims = [Claim(lam, found.errors, found.splits)]
    made = get_solver("branches")().certify(problem, claims, limits)
    proven = check(problem.codes, problem.arities, problem.counts, made.columns(), made.meta)
    assert proven == {lam: found.objective}


def test_they_save_openings() -> None:
    """On many random tables, as the tests above draw them: they do meet such branches."""
    saved = 0
    for seed in range(100):
        table = random_table(seed, max_rows=40, max_features=7, max_arity=2, max_classes=3)
        problem, lam = table.problem(), Fraction(1 + seed % 8, 4 * sum(table.weights))
        on, off = (
            finish(engine_of(problem, lam, Limits(), {"two_splits": chosen}))
            for chosen in (True, False)
        )
        assert on.upper_bound == off.upper_bound == on.lower_bound == off.lower_bound
        saved += on.iterations < min(off.iterations, on.nodes)
    assert saved >= 25


@pytest.fixture(scope="module")
def noisy() -> Problem:
    """Labels of two features, with noise: hundreds of openings."""
    generator = np.random.default_rng(7)
    codes = generator.integers(0, 2, (200, 12))
    labels = codes[:, 0] ^ codes[:, 1] ^ (generator.random(200) < 0.3)
    return Problem.from_codes(codes, labels, weights=generator.integers(1, 4, 200))


@pytest.mark.parametrize(
    ("limits", "options"),
    [
        (Limits(splits=4), {}),
        (Limits(min_leaf_size=5), {}),
        (Limits(depth=2), {}),
        (Limits(), {"pairs": False}),
    ],
)
def test_where_they_are_opened(noisy: Problem, limits: Limits, options: dict[str, Any]) -> None:
    """Under these limits, and without pairs, the option changes nothing."""
    on, off = (
        solver.solve(noisy, "1/40", limits=limits, two_splits=on, **options) for on in (True, False)
    )
    assert (on.objective, on.tree) == (off.objective, off.tree)
    assert (on.iterations, on.nodes) == (off.iterations, off.nodes)


@pytest.mark.parametrize("limits", [Limits(), Limits(depth=4), Limits(min_leaf_size=1)])
def test_where_they_are_not(noisy: Problem, limits: Limits) -> None:
    on, off = (solver.solve(noisy, "1/40", limits=limits, two_splits=on) for on in (True, False))
    assert (on.objective, on.splits) == (off.objective, off.splits)
    assert on.iterations < off.iterations


@pytest.mark.parametrize("nodes", [1, 10, 40])
def test_a_node_limit_counts_them(noisy: Problem, nodes: int) -> None:
    found = solver.solve(noisy, "1/40", limits=Limits(nodes=nodes))
    assert found.status == "node_limit"
    assert found.nodes <= nodes


def test_slices_do_not_shrink_by_them(noisy: Problem, monkeypatch: pytest.MonkeyPatch) -> None:
    """They take time, but no iterations, by which alone a slice must not be judged."""
    done = list[int]()

    def next_budget(used: int, seconds: float) -> int:
        done.append(used)
        return 1

    monkeypatch.setattr(driver, "_next_budget", next_budget)
    found = solver.solve(noisy, "1/40")
    assert found.iterations < found.nodes <= sum(done)
