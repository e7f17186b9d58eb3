"""Lookahead finds good trees that keep the limits, and says what they cost."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solver.engine import driver
from solver.engine.driver import cost_scale_of
from solver.engine.tree_constraints import TreeConstraints, keeps_limits
from solver.limits import Limits
from solver.objective.exact_objective import SquaredCostScale
from solver.problem.problem import Problem
from solver.quantbnb import QuantBnB, lookahead_trees
from solver.quantbnb.lookahead_trees import STAGES, LookaheadTrees
from solver.search_shards import merge
from solver.solution import Status
from solver.trees.tree import Tree
from tests.helpers.shard_party import solve_together
from tests.naive import least_numeric_cost

NOW = 10**15  # more work than all stages of these problems


def never() -> bool:
    return False


def noise(seed: int, rows: int = 30, features: int = 3, task: str = "classification") -> Problem:
    """Numbers of which some are constant, with weights; rows may be duplicate or contradictory."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, rng.integers(1, 12, features), (rows, features)) * 3
    labels = (codes.sum(axis=1) // 7 + rng.integers(0, 2, rows)) % 3
    weights = rng.integers(1, 4, rows)
    if task == "regression":
        labels = labels + rng.normal(size=rows)
    return Problem.from_codes(codes, labels, weights=weights, task=task, ordered=True)  # type: ignore[arg-type]


def lookahead(
    problem: Problem, lam: Fraction, limits: Limits, room: int | None = None
) -> LookaheadTrees:
    scale = cost_scale_of(problem, lam, len(problem.codes))
    return LookaheadTrees(problem, scale, TreeConstraints.of(problem, lam, limits), room)


def loss(problem: Problem, tree: Tree, lam: Fraction) -> float:
    return float(Fraction(tree.errors) / problem.total_weight + lam * tree.splits)


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    task=st.sampled_from(["classification", "regression"]),
    lam=st.sampled_from([Fraction(0), Fraction(1, 300), Fraction(1, 30)]),
    depth=st.integers(4, 5),
    smallest=st.sampled_from([None, 3, 8]),
)
def test_its_trees_keep_the_limits_and_cost_what_it_says(
    seed: int, task: str, lam: Fraction, depth: int, smallest: int | None
) -> None:
    problem, limits = noise(seed, task=task), Limits(depth=depth, min_leaf_size=smallest)
    found, known = lookahead(problem, lam, limits), math.inf
    scale, work, tree = cost_scale_of(problem, lam, len(problem.codes)), 0, None
    while found.work >= work:
        work += 10**6
        if found.improve(work, never):
            cost, shape = found.best
            tree = problem.grow(shape)
            assert keeps_limits(tree, limits)
            slack = 2 * scale.slack if isinstance(scale, SquaredCostScale) else 0.0
            assert abs(cost - scale.cost(tree.errors, tree.splits)) <= slack
            assert cost < known
            known = cost
    assert tree is not None
    # As good as the best tree of the longest horizon, and no better than the best of all.
    horizon = max(h for h, _ in STAGES if h < depth)
    shallow = QuantBnB().solve(problem, lam, Limits(depth=horizon, min_leaf_size=smallest))
    whole = QuantBnB().solve(problem, lam, limits)
    assert whole.status is Status.OPTIMAL
    own, slack = loss(problem, tree, lam), 1e-12 + float(problem.tolerance)
    assert float(whole.objective) - slack <= own <= float(shallow.objective) + slack


def test_a_horizon_of_all_levels_but_one_finds_the_best_tree_of_a_checkerboard() -> None:
    """Parity of three numbers: the first split gains nothing, and two levels show no better one.

    Three levels do, below whatever the first split is.
    """
    codes = np.array([[a, b, c, d] for a in (0, 1) for b in (0, 1) for c in (0, 1) for d in (0, 1)])
    problem = Problem.from_codes(codes, codes[:, :3].sum(axis=1) % 2, ordered=True)
    found = lookahead(problem, Fraction(0), Limits(depth=4))
    assert found.improve(NOW, never)
    assert problem.grow(found.best[1]).errors == 0


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_a_stage_is_what_a_plain_lookahead_finds(seed: int) -> None:
    """The split at the root is the first one of a best tree of two levels; so are all others."""
    problem, lam = noise(seed, rows=16, features=2), Fraction(1, 100)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lookahead_trees, "STAGES", ((2, 0),))
        found = lookahead(problem, lam, Limits(depth=4))
        assert found.improve(NOW, never)
    scale = cost_scale_of(problem, lam, len(problem.codes))
    every = (1 << len(problem.codes)) - 1
    assert found.best[0] in plain_lookahead(problem, scale.error, scale.split, every, 4)


def plain_lookahead(problem: Problem, error: int, split: int, rows: int, depth: int) -> set[int]:
    """The costs of a lookahead of two levels, whichever of equally good splits it takes."""

    def least(rows: int, depth: int) -> int:
        places = [(i, k) for i, k in zip(*np.nonzero(problem.counts), strict=True) if rows >> i & 1]
        x, y = [problem.codes[i].tolist() for i, _ in places], [int(k) for _, k in places]
        weights = [int(problem.counts[place]) for place in places]
        return least_numeric_cost(x, y, weights, depth, error, split)

    best = least(rows, min(depth, 2))
    if depth <= 2:
        return {best}
    costs: set[int] = set()
    for column in problem.codes.T.tolist():
        for code in {c for i, c in enumerate(column) if rows >> i & 1}:
            left = sum(1 << i for i, c in enumerate(column) if c <= code) & rows
            if left == rows or split + least(left, 1) + least(rows ^ left, 1) > best:
                continue
            below = [
                plain_lookahead(problem, error, split, r, depth - 1) for r in (left, rows ^ left)
            ]
            costs |= {min(best, split + a + b) for a in below[0] for b in below[1]}
    return costs or {best}


def test_it_finds_the_same_in_pieces_and_when_results_are_forgotten(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    problem, lam, limits = noise(3, rows=300, features=4), Fraction(1, 1000), Limits(depth=5)
    at_once, pieces, short = (lookahead(problem, lam, limits) for _ in range(3))
    at_once.improve(NOW, never)
    while pieces.work < at_once.work:
        pieces.improve(pieces.work + 1, never)
    pieces.improve(NOW, never)
    assert (at_once.best, at_once.work) == (pieces.best, pieces.work)
    monkeypatch.setattr(lookahead_trees, "_MOST_KEPT", 1)
    short.improve(NOW, never)
    assert short.best == at_once.best
    assert short.work > at_once.work


def test_it_ends_when_it_is_asked_to() -> None:
    asked = iter([False, False, True])
    found = lookahead(noise(3, rows=300), Fraction(1, 1000), Limits(depth=5))
    found.improve(NOW, lambda: next(asked))
    assert next(asked, None) is None
    before = found.work
    assert before < lookahead_all(noise(3, rows=300)).work
    found.close()
    assert not found.improve(NOW, never)
    assert (found.work, found.bytes, found.most_bytes) == (before, 0, 0)


def lookahead_all(problem: Problem) -> LookaheadTrees:
    found = lookahead(problem, Fraction(1, 1000), Limits(depth=5))
    found.improve(NOW, never)
    return found


@pytest.mark.parametrize(
    ("limits", "room"),
    [(Limits(depth=3), None), (Limits(depth=5, splits=4), None), (Limits(depth=5), 10**6)],
)
def test_it_does_nothing_where_it_would_not_pay(limits: Limits, room: int | None) -> None:
    found = lookahead(noise(3, rows=300), Fraction(1, 1000), limits, room)
    assert not found.improve(NOW, never)
    assert (found.best, found.work) == ((math.inf, -1), 0)


def test_it_leaves_tables_alone_that_take_long_to_fill(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lookahead_trees, "_MOST_RANKS", 1000)
    found = lookahead(noise(3, rows=300), Fraction(1, 1000), Limits(depth=5))
    assert not found.improve(NOW, never)
    assert found.most_bytes == 0


@pytest.mark.parametrize("columns", [0, 1])
def test_it_takes_tables_without_any_split(columns: int) -> None:
    problem = Problem.from_codes(np.zeros((5, columns), int), [0, 1, 1, 0, 1], ordered=True)
    found = lookahead(problem, Fraction(0), Limits(depth=5))
    found.improve(NOW, never)
    assert found.best[1] == -1


def test_the_arrays_of_a_wide_table_are_work() -> None:
    """There are ranks of all rows for each pair of features."""
    codes = np.random.default_rng(1).integers(0, 9, (64, 400))
    problem = Problem.from_codes(codes, codes[:, 0] % 2, ordered=True)
    found = lookahead(problem, Fraction(1, 100), Limits(depth=4))
    found.improve(1, never)
    assert found.work > 64 * 400**2


@pytest.fixture
def soon() -> Iterator[None]:
    """Look ahead from the first slice on, and for as long as it takes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(driver, "_SLICE_SECONDS", 0.0)
        for kind in ("classification", "regression"):
            patch.setattr(f"solver.quantbnb.{kind}.engine.lookahead_work", lambda work: NOW)
            patch.setattr(
                f"solver.quantbnb.{kind}.shard_engine.last_shard_work",
                lambda shard, work: NOW if shard.index == shard.number - 1 else 0,
            )
        yield


@pytest.mark.usefixtures("soon")
@pytest.mark.parametrize("task", ["classification", "regression"])
def test_a_search_that_ends_early_has_its_trees(task: str) -> None:
    problem, lam, limits = noise(5, rows=150, task=task), Fraction(1, 1000), Limits(depth=5)
    found = lookahead(problem, lam, limits)
    assert found.improve(NOW, never)
    ended = QuantBnB().solve(problem, lam, replace(limits, nodes=50))
    assert ended.status is Status.NODE_LIMIT
    assert float(ended.objective) <= loss(problem, problem.grow(found.best[1]), lam) + 1e-12


@pytest.mark.parametrize("task", ["classification", "regression"])
@pytest.mark.parametrize("lam", [Fraction(0), Fraction(1, 100)])
def test_the_speed_of_the_machine_does_not_choose_the_tree(
    task: str, lam: Fraction, monkeypatch: pytest.MonkeyPatch
) -> None:
    for kind in ("classification", "regression"):
        path = f"solver.quantbnb.{kind}.engine.lookahead_work"
        monkeypatch.setattr(path, lambda work: 10**5 * work)
    for seed in range(60):
        problem, nodes = tied(seed, task), 300 if lam == 0 else 60
        slow, fast = (
            solve_at_speed(problem, lam, Limits(depth=5, nodes=nodes), iterations)
            for iterations in (1, 10**9)
        )
        assert slow == fast


def tied(seed: int, task: str) -> Problem:
    """Few distinct numbers and targets: many trees are equally good."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, rng.integers(3, 20), (rng.integers(8, 25), 4))
    _, rows = np.unique(codes, axis=0, return_inverse=True)
    labels = rng.integers(0, 2, len(codes))[rows]
    return Problem.from_codes(codes, labels, task=task, ordered=True)  # type: ignore[arg-type]


def solve_at_speed(
    problem: Problem, lam: Fraction, limits: Limits, iterations: int
) -> tuple[Tree, Status, Fraction | None]:
    """Solve on a machine that does so many iterations in a slice, and is slow if it does one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(driver, "_next_budget", lambda done, seconds: iterations)
        patch.setattr(driver, "_SLICE_SECONDS", 0.0 if iterations == 1 else math.inf)
        found = QuantBnB().solve(problem, lam, limits)
    return found.tree, found.status, found.lower_bound


@pytest.mark.usefixtures("soon")
@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    task=st.sampled_from(["classification", "regression"]),
    lam=st.sampled_from([Fraction(0), Fraction(1, 300), Fraction(1, 30)]),
    number=st.integers(1, 4),
    in_turns=st.booleans(),
)
def test_searches_and_shards_prove_the_same_with_its_trees(
    seed: int, task: str, lam: Fraction, number: int, in_turns: bool
) -> None:
    problem, limits = noise(seed, rows=20, features=2, task=task), Limits(depth=4)
    whole = QuantBnB().solve(problem, lam, limits)
    parts = merge(solve_together(QuantBnB(), problem, lam, limits, number, in_turns))
    assert whole.status is parts.status is Status.OPTIMAL
    if task == "regression":
        assert abs(whole.objective - parts.objective) <= problem.tolerance
        return
    scale = cost_scale_of(problem, lam, len(problem.codes))
    rows, classes = np.nonzero(problem.counts)
    least = least_numeric_cost(
        problem.codes[rows].tolist(), classes.tolist(), problem.counts[rows, classes].tolist(),
        4, scale.error, scale.split,
    )  # fmt: skip
    for found in (whole, parts):
        assert found.objective == scale.reached(least)
