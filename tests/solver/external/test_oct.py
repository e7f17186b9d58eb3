"""OCT-H, the hyperplanes of ``oct``, against ``proper`` and against all trees with a margin."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linprog

from solver import InputError, Limits, Problem, Solution, Status, Tree, solve
from solver.errors import PeerError
from solver.external.base import ExternalSolver
from solver.external.job_messages import Answer, Job
from solver.external.oct import Oct
from solver.features.oblique_tests import HyperplaneTest
from tests.helpers.random_examples import examples
from tests.helpers.solutions import check_solution
from tests.solver.external.test_peers import ask_here

LAMBDAS = (Fraction(0), Fraction(1, 50), Fraction(1, 9))


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """No children: each takes a second to be loaded."""
    monkeypatch.setattr(ExternalSolver, "ask", ask_here)


def oct_h(problem: Problem, lam: Fraction, limits: Limits, **options: Any) -> Solution:
    found = Oct(rules="hyperplane", **options).solve(problem, lam, limits)
    check_solution(problem, found, lam, limits)
    return found


def claim_of(found: Solution) -> dict[str, Any]:
    claim: dict[str, Any] = found.extra["claim"]
    return claim


def table_of(columns: dict[str, list[float]], labels: list[Any], **more: Any) -> Problem:
    return Problem.from_table(pd.DataFrame(columns | {"y": labels}), "y", "continuous", **more)


def random_case(seed: int) -> tuple[Problem, Fraction, Limits]:
    """Points of a small grid: what separates them can do it with a margin."""
    rng = np.random.default_rng(seed)
    depth = 1 + seed % 2
    rows = int(rng.integers(4, 13 if depth == 1 else 9))
    columns = 2 + (seed % 7 == 0)
    grid = int(rng.integers(2, 6 if columns == 2 else 4))
    problem = Problem.from_codes(
        rng.integers(0, grid, (rows, columns)),
        rng.integers(0, 2 + seed // 2 % 2, rows),
        weights=rng.integers(1, 4, rows) if seed % 3 else None,
        ordered=True,
    )
    least = {"min_leaf_size": 2} if seed % 5 == 0 else {}
    splits = int(rng.integers(1, 4)) if depth == 2 else 1
    return problem, LAMBDAS[seed // 4 % 3], Limits(depth=depth, splits=splits, **least)


def check_against_proper(seeds: range) -> None:
    for seed in seeds:
        problem, lam, limits = random_case(seed)
        best = solve(problem, lam, "proper", limits, rules="hyperplane")
        assert best.status is Status.OPTIMAL
        found = oct_h(problem, lam, limits)
        assert found.objective == best.objective
        if "claim" in found.extra:  # else there was nothing to split
            claim = claim_of(found)
            assert (claim["status"], "note" in claim) == ("optimal", False)
            assert claim["objective"] == pytest.approx(float(best.objective))
            assert claim["lower_bound"] == pytest.approx(float(best.objective))


@pytest.mark.usefixtures("here")
def test_it_finds_the_optimum_of_proper_where_the_margin_excludes_nothing() -> None:
    check_against_proper(range(40))


@pytest.mark.slow
@pytest.mark.usefixtures("here")
def test_it_finds_the_optimum_of_proper_on_many_tables() -> None:
    check_against_proper(range(100, 100 + examples(100)))


def gap(points: np.ndarray, mask: int) -> float:
    """The widest gap that a hyperplane leaves between the points of a mask and the others, if the
    sizes of its weights sum to 1 and columns are scaled to 0 … 1."""
    above = np.array([bool(mask >> i & 1) for i in range(len(points))])
    dimensions = points.shape[1]
    # Variables: the positive and negative parts of the weights, the lower and the upper threshold.
    sides = [
        np.column_stack([sign * points[own], -sign * points[own], *ends])
        for sign, own, ends in (
            (1, ~above, (-np.ones((~above).sum()), np.zeros((~above).sum()))),
            (-1, above, (np.zeros(above.sum()), np.ones(above.sum()))),
        )
    ]
    size = np.r_[np.ones(2 * dimensions), 0, 0]
    found = linprog(
        np.r_[np.zeros(2 * dimensions), 1, -1],
        A_ub=np.vstack([*sides, size]),
        b_ub=np.r_[np.zeros(len(points)), 1],
        bounds=[(0, 1)] * (2 * dimensions) + [(-2, 2)] * 2,
    )
    return -float(found.fun)


def best_with_margin(
    points: np.ndarray, labels: np.ndarray, price: Fraction, depth: int, margin: float
) -> tuple[Fraction, float]:
    """The least cost of a tree whose hyperplanes have the margin, over all partitions of the
    points, and how close a gap comes to the margin."""
    nearest = math.inf

    @cache
    def best(rows: tuple[int, ...], levels: int) -> Fraction:
        nonlocal nearest
        leaf = Fraction(len(rows) - int(np.bincount(labels[list(rows)]).max()))
        if not levels or not leaf:
            return leaf
        found = [leaf]
        for mask in range(1, 2 ** (len(rows) - 1)):
            wide = gap(points[list(rows)], mask)
            nearest = min(nearest, abs(wide - margin))
            if wide >= margin:
                sides = [tuple(r for i, r in enumerate(rows) if mask >> i & 1 == s) for s in (0, 1)]
                found.append(price + sum((best(side, levels - 1) for side in sides), Fraction(0)))
        return min(found)

    return best(tuple(range(len(points))), depth), nearest


@pytest.mark.usefixtures("here")
def test_its_optimum_is_that_of_the_trees_whose_hyperplanes_have_the_margin() -> None:
    compared = obstacles = 0
    for seed in range(16):
        rng = np.random.default_rng(seed)
        depth = 1 + seed % 2
        points = rng.integers(0, 1000, ((9, 6)[depth - 1], 2))
        labels = rng.integers(0, 2, len(points))
        labels[:2] = 0, 1
        problem = table_of(
            {"a": points[:, 0].tolist(), "b": points[:, 1].tolist()}, labels.tolist()
        )
        lam, margin, limits = Fraction(1, 40), (0.05, 0.2)[seed // 2 % 2], Limits(depth=depth)
        scaled = (points - points.min(axis=0)) / np.ptp(points, axis=0)
        cost, nearest = best_with_margin(scaled, labels, lam * len(points), depth, margin)
        if nearest < 1e-4:
            continue  # floats decide
        found = oct_h(problem, lam, limits, margin=margin)
        assert found.objective == cost / len(points)
        assert claim_of(found)["status"] == "optimal"
        compared += 1
        free = Limits(depth=depth, splits=2**depth - 1)
        obstacles += solve(problem, lam, "proper", free, rules="hyperplane").objective < cost / len(
            points
        )
    assert (compared >= 12, obstacles >= 3) == (True, True)


@pytest.mark.usefixtures("here")
def test_a_row_closer_than_the_margin_is_on_no_side() -> None:
    problem = table_of({"a": [0, 499, 500, 1000]}, [0, 0, 1, 1])
    lam, limits = Fraction(1, 100), Limits(depth=1, splits=1)
    assert solve(problem, lam, "proper", limits, rules="hyperplane").errors == 0
    wide, narrow = (oct_h(problem, lam, limits, margin=margin) for margin in (0.005, 0.0005))
    assert (wide.errors, narrow.errors) == (1, 0)
    assert {claim_of(wide)["status"], claim_of(narrow)["status"]} == {"optimal"}


@pytest.mark.usefixtures("here")
def test_its_tree_has_a_hyperplane_of_the_columns_as_they_are() -> None:
    a, b = [0.1, 0.2, 0.3, 0.4, 0.15, 0.35], [3e6, 1e6, 4e6, 2e6, 0.0, 5e6]
    labels = ["up" if y > 1.2e7 * x else "down" for x, y in zip(a, b, strict=True)]
    found = oct_h(table_of({"a": a, "b": b}, labels), Fraction(1, 20), Limits(depth=2))
    assert (found.errors, found.splits) == (0, 1)
    (test,) = found.tree.tests.values()
    assert isinstance(test, HyperplaneTest)
    assert test.columns == ("a", "b")
    frame = pd.DataFrame({"a": a, "b": b})
    assert found.tree.predict(frame).tolist() == labels
    assert Tree.from_json(found.tree.to_json()).predict(frame).tolist() == labels


@pytest.mark.usefixtures("here")
def test_two_columns_of_one_order_are_both_used() -> None:
    # Cuts of one column separate the rows as those of the other; hyperplanes of both do more.
    a = [0, 1, 2, 3, 4, 5]
    b = [0, 10, 11, 21, 22, 32]
    labels = [int(2 * y > 13 * x) for x, y in zip(a, b, strict=True)]
    problem = table_of({"a": a, "b": b}, labels)
    assert problem.n_features == 1
    limits = Limits(depth=1, splits=1)
    best = solve(problem, Fraction(1, 100), "proper", limits, rules="hyperplane")
    found = oct_h(problem, Fraction(1, 100), limits)
    assert (found.errors, found.objective) == (0, best.objective)


@pytest.mark.usefixtures("here")
def test_there_may_be_nothing_to_split() -> None:
    limits = Limits(depth=2)
    one_class = Problem.from_codes([[0, 0], [1, 2]], [0, 0], ordered=True)
    one_row = Problem.from_codes([[3, 1]], [0], ordered=True)
    constant = Problem.from_codes([[1, 1], [1, 1]], [0, 1], ordered=True)
    for problem in (one_class, one_row, constant):
        found = oct_h(problem, Fraction(0), limits)
        assert (found.splits, found.extra) == (0, {})
    partly = Problem.from_codes([[1, 0], [1, 1], [1, 2]], [0, 1, 0], ordered=True)
    assert oct_h(partly, Fraction(0), limits).errors == 0


@pytest.mark.usefixtures("here")
def test_weights_count() -> None:
    rows = [[0], [1], [2], [3]]
    for weights, errors in (([1, 1, 1, 1], 1), ([5, 9, 3, 5], 3), ([3, 3, 9, 2], 3)):
        problem = Problem.from_codes(rows, [0, 1, 0, 1], weights=weights, ordered=True)
        limits = Limits(depth=1, splits=1)
        found = oct_h(problem, Fraction(0), limits)
        best = solve(problem, Fraction(0), "proper", limits, rules="hyperplane")
        assert found.errors == best.errors == errors


@pytest.mark.usefixtures("here")
def test_a_limit_of_time_leaves_a_tree_and_a_bound() -> None:
    rng = np.random.default_rng(3)
    problem = Problem.from_codes(rng.integers(0, 30, (60, 2)), rng.integers(0, 2, 60), ordered=True)
    solver = Oct(rules="hyperplane")
    found = solver.solve(problem, Fraction(1, 100), Limits(depth=2, seconds=1))
    assert found.status is Status.TIME_LIMIT
    claim = claim_of(found)
    assert claim["status"] == "time_limit"
    limits = Limits(depth=2, splits=3, seconds=60)
    # The bound is of trees with a margin, so it may be above the optimum of all trees.
    assert claim.get("lower_bound", 0) <= float(found.objective)
    best = solve(problem, Fraction(1, 100), "proper", limits, rules="hyperplane")
    assert best.lower_bound is not None
    assert found.objective >= best.lower_bound


def test_a_child_gets_the_numbers() -> None:
    problem = Problem.from_codes([[0, 0], [0, 1], [1, 0], [2, 2]], [0, 1, 1, 0], ordered=True)
    found = oct_h(problem, Fraction(1, 50), Limits(depth=2))
    assert (found.errors, claim_of(found)["status"]) == (0, "optimal")


@pytest.mark.parametrize("margin", [0, -1, 1e-5, 1.5, math.inf, math.nan, "0.1", True])
def test_a_margin_that_floats_cannot_keep_is_refused(margin: Any) -> None:
    with pytest.raises(InputError, match="option margin = "):
        Oct(rules="hyperplane", margin=margin)


def test_one_margin_is_one_task() -> None:
    assert json.dumps(Oct(margin=1).settings) == json.dumps(Oct(margin=1.0).settings)


@pytest.mark.usefixtures("here")
def test_columns_without_numbers_have_no_hyperplanes() -> None:
    codes = Problem.from_codes([[0, 0], [0, 1], [1, 0]], [0, 1, 1])
    with pytest.raises(InputError, match=r"column 'x0' holds no numbers, .* or use rules axis"):
        oct_h(codes, Fraction(0), Limits(depth=1))
    lacking = table_of({"a": [0.0, 1.0, math.nan], "b": [1, 2, 3]}, [0, 1, 1])
    with pytest.raises(InputError, match="column 'a' lacks the number in some rows"):
        oct_h(lacking, Fraction(0), Limits(depth=1))


NONSENSE = (
    5, [[1.0, 0.0], 0.0, -1], [[1.0, 0.0, 0.0], 0.0, -1, -1], [["a", "b"], 0.0, -1, -1],
    [[1.0, 0.0], "x", -1, -1], "tree", [None, 0.0, -1, -1],
)  # fmt: skip


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("tree", NONSENSE)
def test_what_is_no_tree_of_hyperplanes_is_refused(
    tree: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fit(job: Job) -> Answer:
        return Answer(tree)

    monkeypatch.setattr(Oct, "fit", fit)
    problem = Problem.from_codes([[0, 0], [0, 1], [1, 0], [2, 2]], [0, 1, 1, 0], ordered=True)
    with pytest.raises(PeerError, match="is no node of a tree"):
        oct_h(problem, Fraction(0), Limits(depth=2))


def useless(tree: Any) -> Iterator[Any]:
    """A tree below a split that has all rows on one side, of either side."""
    yield [[0.0, 0.0], 1.0, tree, -1]
    yield [[0.0, 0.0], -1.0, -1, tree]


@pytest.mark.usefixtures("here")
def test_a_split_with_an_empty_side_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = Problem.from_codes([[0, 0], [0, 1], [1, 0], [2, 2]], [0, 1, 1, 0], ordered=True)
    own = [[1.0, 0.0], 0.25, -1, -1]  # x0 beyond 1.5
    for tree in (own, *useless(own)):
        monkeypatch.setattr(Oct, "fit", lambda job, tree=tree: Answer(tree))
        found = oct_h(problem, Fraction(0), Limits(depth=2))
        assert (found.splits, found.errors) == (1, 1)


@pytest.mark.usefixtures("here")
def test_its_cuts_leave_no_leaf_without_rows() -> None:
    """At λ = 0 a split that divides nothing is free, and HiGHS asks only leaves with rows for the
    smallest weight."""
    sizes = [0.2, 0.2, 0.2, 9, 9, 0.1, 9, 0.2, 9, 0.3, 9]
    problem = table_of({"a": sizes}, [*"yyyzzynynny"])
    limits = Limits(depth=2, min_leaf_size=1)
    found = Oct().solve(problem, Fraction(0), limits)
    check_solution(problem, found, Fraction(0), limits)
    assert all(sum(node.counts) >= 1 for node in found.tree.nodes)


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    "tree", [[0, 0, [0, 0, -1, -1], [0, 1, -1, -1]], [0, 0, [0, 1, -1, -1], -1]]
)
def test_a_cut_that_divides_nothing_is_left_out(tree: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = Problem.from_codes([[0], [1], [2]], [0, 1, 0], ordered=True)
    monkeypatch.setattr(Oct, "fit", lambda job: Answer(tree))
    found = Oct().solve(problem, Fraction(0), Limits(depth=2))
    assert all(any(node.counts) for node in found.tree.nodes)
    assert found.errors == (0 if tree[-1] != -1 else 1)
