"""Quant-BnB as users call it: tables of numbers in, trees and paths out."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

import solver
from solver import InputError, Limits, Monitor, Problem, Snapshot, Status, UnsupportedError


def table(rows: int = 60, seed: int = 3) -> pd.DataFrame:
    """Numbers, some of them missing, and a category."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 60, rows),
            "income": np.round(rng.lognormal(10, 1, rows), -3),
            "place": rng.choice(["north", "south"], rows),
        }
    )
    frame.loc[rng.random(rows) < 0.1, "income"] = np.nan
    risky = (frame["age"] < 35) ^ (frame["income"].fillna(0) > 20_000)
    frame["loan"] = np.where(risky ^ (rng.random(rows) < 0.15), "default", "paid")
    return frame


@pytest.mark.parametrize("limits", [Limits(depth=2), Limits(depth=2, min_leaf_size=9)])
@pytest.mark.parametrize("lam", ["0", "0.02", "1/60"])
def test_as_good_as_with_every_threshold_a_feature(lam: str, limits: Limits) -> None:
    frame = table()
    numbers = Problem.from_table(frame, "loan", "continuous")
    cuts = Problem.from_table(frame, "loan", "thresholds")
    assert numbers.feature_kind == "continuous"
    own = solver.solve(numbers, lam, "quantbnb", limits)
    other = solver.solve(cuts, lam, "branches", limits)
    assert own.status is other.status is Status.OPTIMAL
    assert own.objective == own.lower_bound == other.objective
    if lam != "0":
        assert own.splits == other.splits
    predicted = own.tree.predict(frame)
    assert (predicted != frame["loan"]).sum() == own.errors


@pytest.mark.parametrize("limits", [Limits(depth=2), Limits(depth=3, min_leaf_size=4)])
def test_path_is_that_of_the_thresholds(limits: Limits) -> None:
    frame = table(36)
    paths = [
        solver.regularization_path(Problem.from_table(frame, "loan", encoding), 0, name, limits)
        for encoding, name in (("continuous", "quantbnb"), ("thresholds", "branches"))
    ]
    assert paths[0].status is Status.OPTIMAL
    assert paths[0].lams == paths[1].lams
    assert paths[0].splits == paths[1].splits
    assert paths[0].losses == paths[1].losses


def test_path_goes_on_from_a_state() -> None:
    problem = Problem.from_table(table(200), "loan", "continuous")
    whole = solver.regularization_path(problem, 0, "quantbnb", Limits(depth=3))
    seen: list[dict[str, Any]] = []

    def keep(snapshot: Snapshot) -> None:
        assert snapshot.state is not None
        seen.append({name: array.copy() for name, array in snapshot.state().items()})

    monitor = Monitor(snapshot=keep, interval=0)
    solver.regularization_path(problem, 0, "quantbnb", Limits(depth=3), monitor=monitor)
    for state in seen[:: max(1, len(seen) // 5)]:
        again = solver.regularization_path(problem, 0, "quantbnb", Limits(depth=3), state=state)
        assert [step.tree for step in again.steps] == [step.tree for step in whole.steps]
    assert seen


@pytest.mark.parametrize("nodes", [1, 40, 400])
def test_goes_on_from_a_state(nodes: int) -> None:
    problem, lam = Problem.from_table(table(200), "loan", "continuous"), Fraction(1, 500)
    whole = solver.solve(problem, lam, "quantbnb", Limits(depth=3))
    seen: list[Snapshot] = []
    monitor = Monitor(snapshot=seen.append)
    part = solver.solve(problem, lam, "quantbnb", Limits(depth=3, nodes=nodes), monitor=monitor)
    assert (part.status, part.nodes) == (Status.NODE_LIMIT, nodes)
    assert part.lower_bound <= whole.objective <= part.objective  # type: ignore[operator]
    state = seen[-1].state
    assert state is not None
    rest = solver.solve(problem, lam, "quantbnb", Limits(depth=3), state=state())
    assert (rest.tree, rest.nodes) == (whole.tree, whole.nodes)
    with pytest.raises(InputError, match="another λ"):
        solver.solve(problem, "0.1", "quantbnb", Limits(depth=3), state=state())


def test_depth_is_that_of_the_limits_and_is_asked_for() -> None:
    problem = Problem.from_table(table(), "loan", "continuous")
    found = [solver.solve(problem, 0, "quantbnb", Limits(depth=depth)) for depth in (1, 2, 3)]
    assert [solution.tree.depth for solution in found] == [1, 2, 3]
    with pytest.raises(UnsupportedError, match=r"the limit 'depth'; write .*Limits\(depth=2\)"):
        solver.solve(problem, 0, "quantbnb")
    with pytest.raises(InputError, match="set the limit depth to 16 or less"):
        solver.solve(problem, 0, "quantbnb", Limits(depth=17))


def test_bound_grows_while_it_searches() -> None:
    """Though it starts at nothing, long before the end it says something."""
    rng = np.random.default_rng(0)
    codes, labels = rng.integers(0, 300, (400, 5)), rng.integers(0, 2, 400)
    problem = Problem.from_codes(codes, labels, ordered=True)
    whole = solver.solve(problem, 0, "quantbnb", Limits(depth=3))
    parts = [
        solver.solve(problem, 0, "quantbnb", Limits(depth=3, nodes=whole.nodes * share // 10))
        for share in range(1, 10)
    ]
    bounds = [float(part.lower_bound or 0) for part in parts]
    assert bounds == sorted(bounds)
    assert bounds[2] > 0.5 * float(whole.objective)
    assert parts[2].objective < Fraction(6, 5) * whole.objective


def test_memory_that_is_not_there_gives_a_greedy_tree() -> None:
    problem = Problem.from_table(table(200), "loan", "continuous")
    solution = solver.solve(problem, "0.01", "quantbnb", Limits(depth=3, bytes=10_000))
    assert solution.status is Status.MEMORY_LIMIT
    assert solution.lower_bound < solution.objective < problem.leaf_errors / 200  # type: ignore[operator]
    assert solution.tree.depth in (1, 2, 3)
    limited = solver.solve(problem, "0.01", "quantbnb", Limits(depth=3, nodes=1, min_leaf_size=30))
    leaves = [sum(node.counts) for node in limited.tree.nodes if node.is_leaf]
    assert min(leaves) >= 30


def test_refuses_what_it_cannot_do() -> None:
    multiway = Problem.from_codes([[0], [1], [2]], [0, 1, 1])
    with pytest.raises(UnsupportedError, match="needs binary or continuous features"):
        solver.solve(multiway, 0, "quantbnb", Limits(depth=2))
    limits = Limits(depth=2, splits=2)
    with pytest.raises(UnsupportedError, match="'splits' in mode paper"):
        classes = Problem.from_codes([[0], [1]], [0, 1])
        solver.solve(classes, 0, "quantbnb", limits, mode="paper")
    for solve in (solver.solve, solver.regularization_path):
        with pytest.raises(UnsupportedError, match="'splits' in regression"):
            numbers = Problem.from_codes([[0], [1]], [0.0, 1.5], task="regression", ordered=True)
            solve(numbers, 0, "quantbnb", limits)


def test_a_limit_on_splits_is_kept_whatever_ends_the_search() -> None:
    problem = Problem.from_table(table(200), "loan", "continuous")
    best = [
        solver.solve(problem, 0, "quantbnb", Limits(depth=3, splits=splits)) for splits in range(8)
    ]
    assert all(found.status is Status.OPTIMAL for found in best)
    losses = [found.objective for found in best]
    assert losses == sorted(losses, reverse=True)
    for splits, whole in enumerate(best):
        assert whole.splits <= splits
        for stop in ({"nodes": 1}, {"nodes": 100}, {"bytes": 10_000}, {"seconds": 0.0}):
            part = solver.solve(problem, 0, "quantbnb", Limits(depth=3, splits=splits, **stop))
            assert part.splits <= splits
            assert part.lower_bound <= whole.objective <= part.objective  # type: ignore[operator]
        if splits > 1:
            little = Limits(depth=3, splits=splits, bytes=10_000)
            greedy = solver.solve(problem, 0, "quantbnb", little)
            assert greedy.objective < Fraction(problem.leaf_errors, 200)


def test_path_of_few_splits() -> None:
    """Every tree of the path is the best of few splits at its λ."""
    problem = Problem.from_table(table(200), "loan", "continuous")
    limits = Limits(depth=3, splits=4)
    path = solver.regularization_path(problem, 0, "quantbnb", limits)
    assert path.status is Status.OPTIMAL
    assert max(path.splits) <= 4
    for step in path.steps:
        found = solver.solve(problem, step.start, "quantbnb", limits)
        assert found.objective == Fraction(step.errors, 200) + step.start * step.splits
