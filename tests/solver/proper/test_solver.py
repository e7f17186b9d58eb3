"""The solver against every tree of small problems, for all families of rules."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import solver
from solver.engine import driver
from solver.errors import InputError
from solver.limits import Limits
from solver.monitor import Monitor, News, Peers, Snapshot
from solver.problem.problem import Problem
from solver.proper.engine import FAMILIES
from solver.proper.integer_points import Points
from solver.proper.solver import Proper
from solver.search_shards import FOUND, Shard, merge
from solver.solution import Solution, Status
from solver.verify.scorer import score
from tests.helpers.random_examples import examples
from tests.helpers.shard_party import Party, solve_and_divide, solve_together
from tests.naive_geometry import best_cost

TWO, THREE = Limits(splits=2), Limits(splits=3)


def problem_of(rows: list[list[Any]], labels: list[Any], weights: Any = None) -> Problem:
    frame = pd.DataFrame(rows, columns=[f"x{i}" for i in range(len(rows[0]))]).assign(y=labels)
    return Problem.from_table(frame, "y", "continuous", weights=weights)


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    n, d = draw(st.integers(3, 9)), draw(st.sampled_from([1, 2, 2, 3]))
    numbers = st.integers(0, draw(st.sampled_from([1, 2, 4, 100])))
    rows = draw(st.lists(st.lists(numbers, min_size=d, max_size=d), min_size=n, max_size=n))
    labels = draw(st.lists(st.integers(0, draw(st.integers(1, 3))), min_size=n, max_size=n))
    labels[:2] = [0, 1]
    weights = draw(st.none() | st.lists(st.integers(1, 4), min_size=n, max_size=n))
    return problem_of(rows, labels, weights)


families = st.sampled_from(FAMILIES)
lams = st.sampled_from(
    [Fraction(0), Fraction(1, 100), Fraction(1, 17), Fraction(1, 5), Fraction(3)]
)
limit_sets = st.builds(
    Limits,
    splits=st.integers(0, 4),
    depth=st.none() | st.integers(0, 3),
    min_leaf_size=st.sampled_from([None, None, 2, 3]),
)


def agrees(problem: Problem, family: str, lam: Fraction, limits: Limits, memo: bool) -> bool:
    """Whether the answer is as good as the best of all trees, with as few splits, and no more is
    claimed of it than the scorer finds."""
    found = solver.solve(problem, lam, "proper", limits, rules=family, memo=memo)
    points = (
        [tuple(map(int, row)) for row in Points.of(problem).coordinates] if problem.axes else [()]
    )
    best = best_cost(
        points, problem.counts.tolist(), lam * problem.total_weight, limits.splits or 0,
        limits.depth, limits.min_leaf_size or 1, family,
    )  # fmt: skip
    assert found.status is Status.OPTIMAL
    assert found.objective == found.lower_bound
    assert (found.objective * problem.total_weight, found.splits) == (best.cost, best.splits)
    own = score(problem, found.tree, lam)
    assert (own.errors, own.splits) == (found.errors, found.splits)
    return (own.errors, own.splits) == (best.errors, best.splits)


@settings(max_examples=200, deadline=None)
@given(problem=problems(), family=families, lam=lams, limits=limit_sets, memo=st.booleans())
def test_agrees_with_all_trees(
    problem: Problem, family: str, lam: Fraction, limits: Limits, memo: bool
) -> None:
    assert agrees(problem, family, lam, limits, memo)


@pytest.mark.slow
@settings(max_examples=examples(300), deadline=None)
@given(problem=problems(), family=families, lam=lams, limits=limit_sets, memo=st.booleans())
def test_agrees_with_all_trees_on_hundreds(
    problem: Problem, family: str, lam: Fraction, limits: Limits, memo: bool
) -> None:
    assert agrees(problem, family, lam, limits, memo)


@settings(max_examples=60, deadline=None)
@given(
    problem=problems(), family=families, lam=lams, limits=limit_sets, number=st.integers(2, 5),
    hand_over=st.booleans(),
)  # fmt: skip
def test_parts_give_an_equally_good_tree(
    problem: Problem, family: str, lam: Fraction, limits: Limits, number: int, hand_over: bool
) -> None:
    own = Proper(rules=family)
    whole = own.solve(problem, lam, limits)
    parts: list[Solution] = []
    best = None
    for index in reversed(range(number)) if hand_over else range(number):
        part = own.part(Shard(index, number)).solve(problem, lam, limits, initial_tree=best)
        parts.append(part)
        if hand_over and (best is None or part.objective < score(problem, best, lam).objective):
            best = part.tree
    merged = merge(parts[::-1] if hand_over else parts)
    assert (merged.objective, merged.splits) == (whole.objective, whole.splits)
    assert (merged.status, merged.lower_bound) == (whole.status, whole.lower_bound)
    own_trees = [p.tree for p in parts if p.objective == merged.objective and p.extra[FOUND]]
    assert merged.tree in own_trees or not own_trees
    assert FOUND not in whole.extra


@settings(max_examples=80, deadline=None)
@given(
    problem=problems(), family=families, lam=lams, limits=limit_sets, number=st.integers(2, 4),
    in_turns=st.booleans(),
)  # fmt: skip
def test_parts_that_hear_of_each_other_give_an_equally_good_tree(
    problem: Problem, family: str, lam: Fraction, limits: Limits, number: int, in_turns: bool
) -> None:
    own = Proper(rules=family)
    whole = own.solve(problem, lam, limits)
    merged = merge(solve_together(own, problem, lam, limits, number, in_turns))
    assert (merged.objective, merged.splits) == (whole.objective, whole.splits)
    assert (merged.status, merged.lower_bound) == (whole.status, whole.lower_bound)


@settings(max_examples=80, deadline=None)
@given(
    problem=problems(), family=families, lam=lams, limits=limit_sets, number=st.integers(2, 4),
    steps=st.integers(0, 40),
)  # fmt: skip
def test_a_search_that_is_divided_while_it_runs_gives_an_equally_good_tree(
    problem: Problem, family: str, lam: Fraction, limits: Limits, number: int, steps: int
) -> None:
    own = Proper(rules=family)
    whole = own.solve(problem, lam, limits)
    stages = [(1, steps), (2, steps // 2), (2 * number, 0)]
    merged = merge(solve_and_divide(own, problem, lam, limits, stages))
    assert (merged.objective, merged.splits) == (whole.objective, whole.splits)
    assert (merged.status, merged.lower_bound) == (whole.status, whole.lower_bound)


def test_a_part_that_is_done_helps_the_others() -> None:
    problem, own, party = blobs(60, 2), Proper(rules="hyperplane"), Party(2)
    whole = own.solve(problem, Fraction(0), THREE)
    first, second = (own.part(Shard(index, 2)) for index in range(2))
    did = first.solve(problem, Fraction(0), THREE, monitor=party.monitor(0))
    left = second.solve(problem, Fraction(0), THREE, monitor=party.monitor(1))
    assert left.lower_bound == whole.lower_bound
    assert left.nodes < 0.1 * whole.nodes
    assert did.nodes < 1.3 * whole.nodes


def test_a_part_that_helps_ends_at_a_limit_with_its_own_proof() -> None:
    part, told = Proper(rules="hyperplane").part(Shard(0, 2)), list[News]()
    monitor = Monitor(lambda: bool(told), peers=Peers(told.append, list))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(driver, "_NEWS_SECONDS", math.inf)  # it tells when its own part is done
        found = part.solve(blobs(60, 2), Fraction(0), THREE, monitor=monitor)
    alone = part.solve(blobs(60, 2), Fraction(0), THREE)
    assert found.status is Status.OPTIMAL
    assert (found.lower_bound, found.nodes) == (alone.lower_bound, alone.nodes)


def blobs(n: int, d: int, seed: int = 0) -> Problem:
    random = np.random.default_rng(seed)
    x = random.normal(size=(n, d)).round(3)
    y = (x[:, 0] * x[:, -1] > 0) ^ (random.random(n) < 0.15)
    return problem_of(x.tolist(), y.tolist())


@pytest.mark.parametrize("nodes", range(23, 30))
def test_a_rule_evaluated_twice_keeps_the_limit_on_nodes(nodes: int) -> None:
    limits = Limits(splits=3, min_leaf_size=8, nodes=nodes)
    assert solver.solve(blobs(30, 2), 0, "proper", limits).nodes == nodes


@pytest.mark.parametrize("depth, splits", [(1, 1), (2, 2), (2, 3), (3, 3)])
def test_cuts_of_a_depth_agree_with_quantbnb(depth: int, splits: int) -> None:
    problem, limits = blobs(150, 3), Limits(depth=depth)
    both = replace(limits, splits=splits)
    for lam in ("0", "0.01"):
        other = solver.solve(problem, lam, "quantbnb", both)
        found = solver.solve(problem, lam, "proper", both)
        assert (found.status, found.objective) == (Status.OPTIMAL, other.objective)
        # At λ = 0 quantbnb takes the first tree without avoidable errors.
        assert lam == "0" or found.splits == other.splits


def test_a_richer_family_is_never_worse() -> None:
    problem = blobs(18, 2)
    costs = [
        solver.solve(problem, "0.01", "proper", TWO, rules=rules).objective
        for rules in ("axis", "hyperplane", "polynomial", "mixed")
    ]
    assert costs[0] >= costs[1] >= costs[2] == costs[3]


def test_mixed_takes_the_simplest_test() -> None:
    problem = problem_of([[0, 0], [1, 5], [2, 1], [3, 4]], [0, 0, 1, 1])
    found = solver.solve(problem, "0.01", "proper", TWO, rules="mixed")
    assert [test.kind for test in found.tree.tests.values()] == ["threshold"]
    problem = problem_of([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 1])
    found = solver.solve(problem, "0.01", "proper", TWO, rules="mixed")
    assert [test.kind for test in found.tree.tests.values()] == ["hyperplane"]
    problem = problem_of([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0])
    found = solver.solve(problem, "0.01", "proper", TWO, rules="mixed")
    assert [test.kind for test in found.tree.tests.values()] == ["polynomial"]
    assert (found.errors, found.splits) == (0, 1)


@pytest.mark.parametrize("nodes", [0, 1, 5, 40])
def test_anytime(nodes: int) -> None:
    problem = blobs(80, 2)
    optimum = solver.solve(problem, "0.001", "proper", THREE, rules="hyperplane").objective
    limits = replace(THREE, nodes=nodes)
    found = solver.solve(problem, "0.001", "proper", limits, rules="hyperplane")
    assert found.lower_bound is not None
    assert found.lower_bound <= optimum <= found.objective
    assert found.status is Status.NODE_LIMIT
    assert found.nodes <= max(nodes, 1)


def test_snapshots_do_not_choose_the_tree() -> None:
    """Nor do the slices that they end."""
    problem = blobs(24, 2, seed=2)
    whole = solver.solve(problem, 0, "proper", THREE, rules="hyperplane")
    seen: list[Snapshot] = []
    monitor = Monitor(snapshot=seen.append, interval=0)
    found = solver.solve(problem, 0, "proper", THREE, monitor=monitor, rules="hyperplane")
    assert seen
    assert found.tree == whole.tree


def test_no_memory_for_the_rules() -> None:
    limits = replace(TWO, bytes=100_000)
    found = solver.solve(blobs(200, 2), "0.01", "proper", limits, rules="hyperplane")
    assert found.status is Status.MEMORY_LIMIT
    assert found.splits > 0  # CART's tree
    assert found.lower_bound is not None
    assert found.lower_bound < found.objective


def test_the_memo_counts() -> None:
    problem = blobs(40, 2)
    limits = Limits(splits=4)
    plain = solver.solve(problem, "0", "proper", limits, rules="hyperplane")
    found = solver.solve(problem, "0", "proper", limits, rules="hyperplane", memo=True)
    assert found.tree == plain.tree
    assert 0 <= found.extra["memo_hits"] <= found.extra["memo_lookups"]
    assert "memo_hits" not in plain.extra


def test_columns_without_numbers_are_refused() -> None:
    frame = pd.DataFrame({"a": [1.0, 2, 3], "c": ["p", "q", "p"], "y": [0, 1, 1]})
    problem = Problem.from_table(frame, "y", "continuous")
    with pytest.raises(InputError, match="'c' holds no numbers"):
        solver.solve(problem, "0.1", "proper", TWO, rules="hyperplane")
    assert solver.solve(problem, "0.1", "proper", TWO).status is Status.OPTIMAL


@settings(max_examples=60, deadline=None)
@given(data=st.data(), rules=st.sampled_from(["hyperplane", "polynomial", "mixed"]))
def test_numbers_hundreds_of_powers_of_ten_apart(data: st.DataObject, rules: str) -> None:
    """The optimum, or a refusal where no test of doubles parts the rows so."""
    n = data.draw(st.integers(4, 7))
    numbers = st.builds(
        lambda sign, power: sign * 10.0**power,
        st.sampled_from([-1, 1]),
        st.integers(-290, 290) | st.integers(-3, 3),
    )
    rows = data.draw(st.lists(st.tuples(numbers, numbers), min_size=n, max_size=n))
    labels = data.draw(st.lists(st.integers(0, 1), min_size=n, max_size=n))
    frame = pd.DataFrame(rows, columns=["a", "b"]).assign(y=[0, 1, *labels[2:]])
    problem, lam = Problem.from_table(frame, "y", "continuous"), Fraction(1, 100)
    try:
        found = solver.solve(problem, lam, "proper", TWO, rules=rules)
    except InputError as error:
        if "beyond double precision" not in str(error):
            raise
        return
    points = [tuple(Fraction(repr(number)) for number in row) for row in rows]
    counts = [[int(y == 0), int(y == 1)] for y in frame["y"]]
    best = best_cost(points, counts, lam * n, 2, family=rules)
    assert (found.status, found.objective * n) == (Status.OPTIMAL, best.cost)
    assert int((found.tree.predict(frame) != frame["y"]).sum()) == found.errors


def test_a_tree_that_is_as_good_as_the_best_is_the_answer() -> None:
    rows = [[8, 4, 8], [5, 1, 3], [7, 0, 9], [1, 1, 2], [5, 8, 8], [0, 7, 6]]
    problem = problem_of(rows, [1, 0, 1, 1, 1, 0], [3, 1, 3, 3, 2, 2])
    lam, own = Fraction(1, 20), Proper()
    whole = own.solve(problem, lam, TWO)
    parts = [own.part(Shard(index, 2)).solve(problem, lam, TWO) for index in range(2)]
    first = next(p for p in parts if p.objective == whole.objective)
    assert merge(parts).tree == first.tree
    low, high = problem.cut_number(2, 0), problem.cut_number(2, 2)
    one = problem.grow((low, (-1, (high, (-1, -1)))))
    other = problem.grow((high, ((low, (-1, -1)), -1)))
    assert one.errors == other.errors == whole.errors
    for start in (one, other):
        found = own.solve(problem, lam, TWO, initial_tree=start)
        assert (found.status, found.objective) == (whole.status, whole.objective)
        assert found.tree == own.solve(problem, lam, TWO, initial_tree=start).tree


@pytest.mark.parametrize(("rules", "n"), [("axis", 120), ("hyperplane", 120), ("polynomial", 24)])
def test_a_perfect_rule_ends_the_search(rules: str, n: int) -> None:
    """With room for more splits, which could only find equally good trees."""
    x = np.random.default_rng(0).integers(0, 1000, (n, 2))
    sides = {
        "axis": x[:, 0] > 400,
        "hyperplane": 3 * x[:, 0] + 2 * x[:, 1] > 2400,
        "polynomial": ((x - 500) ** 2).sum(axis=1) < 160_000,
    }
    problem = Problem.from_codes(x, sides[rules].astype(int), ordered=True)
    found = solver.solve(problem, "0.01", "proper", THREE, rules=rules)
    assert (found.status, found.splits, found.errors) == (Status.OPTIMAL, 1, 0)
    assert found.nodes <= 1


@settings(max_examples=40, deadline=None)
@given(problem=problems(), family=families, lam=lams, limits=limit_sets, memo=st.booleans())
def test_slices_change_neither_tree_nor_counts(
    problem: Problem, family: str, lam: Fraction, limits: Limits, memo: bool
) -> None:
    own = Proper(rules=family, memo=memo)
    whole = own.solve(problem, lam, limits)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(driver.Search, "_iterations_of_slice", lambda search, iterations: 1)
        slow = own.solve(problem, lam, limits)
    assert (slow.tree, slow.nodes, slow.extra) == (whole.tree, whole.nodes, whole.extra)


def test_the_memo_is_counted_before_it_is_taken() -> None:
    limits = replace(THREE, bytes=10**6)
    found = solver.solve(blobs(40, 2), 0, "proper", limits, memo=True)
    assert (found.status, found.peak_bytes <= 10**6) == (Status.MEMORY_LIMIT, True)
    assert solver.solve(blobs(40, 2), 0, "proper", limits).status is Status.OPTIMAL


@pytest.mark.parametrize("rules", ["axis", "mixed"])
def test_memory_is_known_before_it_is_taken(rules: str) -> None:
    """All cuts of 50,000 rows as masks are 300 MB; of many turns in 14 columns petabytes."""
    values = np.arange(50_000)
    problem = Problem.from_codes(values[:, None], values % 2, ordered=True)
    limits = replace(TWO, bytes=10**7)
    solution = Proper(rules=rules).solve(problem, Fraction(1, 10**6), limits)
    assert solution.status is Status.MEMORY_LIMIT
    assert solution.peak_bytes <= 10**7
    wide = blobs(100, 14)
    solution = Proper(rules="hyperplane").solve(wide, Fraction(1, 100), limits)
    assert solution.status is Status.MEMORY_LIMIT
