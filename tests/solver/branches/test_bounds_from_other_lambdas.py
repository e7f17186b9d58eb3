"""Searches at one λ after another: carried bounds are valid and change no answer."""

from fractions import Fraction

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import solver
from solver import Limits, get_solver
from solver.branches.bounds_from_other_lambdas import Archive, bound_nodes, compile_carrying
from solver.engine.tree_constraints import INFINITE
from solver.objective.exact_objective import CostScale
from solver.verify.scorer import score
from tests.helpers.random_examples import examples
from tests.helpers.strategies import Table, cost_scale, structural_limits, tables
from tests.solver.branches.test_params import OTHER

UNKNOWN = np.zeros((1, 2), np.int64)
"""The fewest errors of one node, of which nothing is known."""


def check_series(table: Table, data: st.DataObject, options: dict[str, object]) -> None:
    problem, limits = table.problem(), data.draw(structural_limits())
    solve = get_solver("branches")(**options).series(problem)
    for lam in data.draw(st.lists(cost_scale(sum(table.weights)), min_size=2, max_size=5)):
        cut = data.draw(st.booleans())
        budget = Limits(
            nodes=data.draw(st.integers(1, 6)) if cut else None,
            depth=limits.depth,
            splits=limits.splits,
            min_leaf_size=limits.min_leaf_size,
        )
        best = table.optimum(lam, limits)
        found = solve(lam, budget)
        assert found.lower_bound is not None
        assert found.lower_bound <= best.objective <= found.objective
        assert score(problem, found.tree, lam).objective == found.objective
        if not cut:
            assert found.status == "optimal"
            assert found.objective == best.objective
            if lam > 0:
                assert found.splits == best.splits


@settings(max_examples=examples(150), deadline=None)
@given(table=tables(), data=st.data())
def test_a_series_of_prices(table: Table, data: st.DataObject) -> None:
    check_series(table, data, {})


@settings(max_examples=examples(100), deadline=None)
@given(table=tables(), data=st.data())
def test_a_series_with_any_settings(table: Table, data: st.DataObject) -> None:
    chosen = data.draw(st.sets(st.sampled_from(sorted(OTHER))))
    check_series(table, data, {name: OTHER[name] for name in chosen})


@settings(max_examples=examples(60), deadline=None)
@given(
    table=tables(max_rows=40, max_features=7, max_arity=2, max_classes=2),
    data=st.data(),
)
def test_a_series_on_binary_features(table: Table, data: st.DataObject) -> None:
    check_series(table, data, {})


def test_bounds_between_two_prices_are_interpolated_and_rounded_up() -> None:
    """Costs 10 and 30 at prices 1/10 and 3/10 of a hundred rows: 20 in the middle, exactly."""
    archive, none = Archive(), np.array([INFINITE])
    for tenths, errors in ((1, 10), (3, 30)):
        known = CostScale.plain(Fraction(tenths, 1000), 100)
        archive.add(known, 1, np.array([errors * known.error]), none, np.array([-1]))
    between = CostScale.plain(Fraction(2, 1000), 100)
    lower, upper, _ = archive.carry(between, 1, np.zeros((2, 2), np.int64))
    assert lower.tolist() == [20 * between.error, 0]  # the second node was not there before
    assert upper.tolist() == [INFINITE, INFINITE]


def test_errors_between_two_prices_are_whole() -> None:
    """The chord of 5 and 8 says 6.5, which no whole errors and splits cost; 7 is the least."""
    archive, none = Archive(), np.array([INFINITE])
    for price, errors in ((1, 5), (3, 8)):
        known = CostScale.plain(Fraction(price, 100), 100)
        archive.add(known, 1, np.array([errors * known.error]), none, np.array([-1]))
    between = CostScale.plain(Fraction(2, 100), 100)
    assert archive.carry(between, 1, UNKNOWN)[0].tolist() == [7 * between.error]


@settings(max_examples=examples(300), deadline=None)
@given(
    known=st.lists(st.tuples(st.integers(0, 6), st.integers(0, 40)), max_size=5),
    fewest=st.tuples(st.integers(0, 12), st.integers(0, 12)),
    error=st.integers(1, 5),
    split=st.integers(1, 20),
    cost=st.integers(0, 60) | st.just(INFINITE),
)
def test_bounds_are_the_cheapest_pairs_of_errors_and_splits(
    known: list[tuple[int, int]], fewest: tuple[int, int], error: int, split: int, cost: int
) -> None:
    prices = np.array([float(price) for price, _ in known])
    bounds = np.array([[float(bound)] for _, bound in known]).reshape(-1, 1)
    compile_carrying()
    lower, upper = np.zeros(1, np.int64), np.array([cost])
    bound_nodes(prices, bounds, np.array([fewest]), error, split, upper, lower)

    def errors(splits: int) -> int:
        least = max([0, *(bound - price * splits for price, bound in known)])
        return max(least, fewest[splits]) if splits < len(fewest) else least

    least = min(error * errors(splits) + split * splits for splits in range(300))
    assert lower[0] == min(least, cost)  # the known tree may cost less


def test_a_bound_at_one_price_holds_above_it_and_in_proportion_below() -> None:
    archive = Archive()
    known = CostScale.plain(Fraction(1, 100), 100)
    archive.add(known, 1, np.array([7 * known.error]), np.array([INFINITE]), np.array([-1]))
    above, below = CostScale.plain(Fraction(1, 10), 100), CostScale.plain(Fraction(1, 200), 100)
    assert archive.carry(above, 1, UNKNOWN)[0].tolist() == [7 * above.error]
    assert archive.carry(below, 1, UNKNOWN)[0].tolist() == [7 * below.error // 2]


def test_a_tree_is_kept_as_errors_and_splits() -> None:
    archive = Archive()
    known = CostScale.build(Fraction(1, 100), 100, 40, 9)
    archive.add(known, 1, np.array([0]), np.array([known.cost(3, 4)]), np.array([5]))
    now = CostScale.build(Fraction(1, 50), 100, 40, 9)
    _, upper, best = archive.carry(now, 1, UNKNOWN)
    assert upper.tolist() == [now.cost(3, 4)]
    assert best.tolist() == [5]


def test_iterations_of_a_solve_are_its_own() -> None:
    rng = np.random.default_rng(0)
    problem = solver.Problem.from_codes(rng.integers(0, 2, (80, 8)), rng.integers(0, 2, 80))
    solve = get_solver("branches")().series(problem)
    first = solve(Fraction(1, 100), Limits())
    second = solve(Fraction(1, 2), Limits())
    assert first.iterations > 10
    assert second.iterations < first.iterations
