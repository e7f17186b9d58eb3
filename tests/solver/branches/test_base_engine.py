"""The best tree of a search never gets worse, and depends neither on the clock nor on a resume."""

import dataclasses
import random
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

import solver
from solver.branches.base_engine import next_reading
from solver.branches.engine import ThresholdEngine
from solver.engine import driver
from solver.engine.driver import Search
from solver.limits import Limits
from solver.monitor import Monitor
from solver.problem.problem import Problem
from solver.trees.tree import shape_from, shape_of
from solver.verify.scorer import score

LAM = Fraction("0.003")
LIMITS = [Limits(), Limits(depth=5), Limits(splits=9), Limits(min_leaf_size=5)]


@pytest.fixture(scope="module")
def noise() -> Problem:
    """Labels that no feature explains: branches get better trees on paths that miss the root."""
    chance = random.Random(1)
    rows = [[chance.randrange(2) for _ in range(14)] for _ in range(300)]
    return Problem.from_codes(rows, [chance.randrange(2) for _ in range(300)])


@pytest.mark.parametrize("mode", ["full", "paper"])
@pytest.mark.parametrize("limits", LIMITS, ids=str)
def test_no_snapshot_is_worse_than_an_earlier_one(noise, limits, mode, monkeypatch):
    monkeypatch.setattr(driver, "_next_budget", lambda done, seconds: 5)
    seen = []
    monitor = Monitor(snapshot=seen.append, interval=0.0)
    limits = dataclasses.replace(limits, nodes=1200)
    found = solver.solve(noise, LAM, limits=limits, monitor=monitor, mode=mode)
    objectives = [*(snapshot.objective for snapshot in seen), found.objective]
    assert len(seen) > 100
    assert all(later <= earlier for earlier, later in pairwise(objectives))


@pytest.mark.parametrize("limits", LIMITS, ids=str)
def test_snapshots_slices_and_resumes_do_not_choose_the_tree(noise, limits, monkeypatch):
    state, tree, seen = None, None, []
    monitor = Monitor(snapshot=seen.append, interval=0.0)
    for nodes in (50, 400, 401, 1000):
        within = dataclasses.replace(limits, nodes=nodes)
        whole = solver.solve(noise, LAM, limits=within)
        with monkeypatch.context() as patch:
            patch.setattr(driver, "_next_budget", lambda done, seconds: 7)
            part = solver.solve(
                noise, LAM, limits=within, monitor=monitor, state=state, initial_tree=tree
            )
        assert part.tree == whole.tree
        tree = part.tree
        state = {name: array.copy() for name, array in seen[-1].state().items()}
    objectives = [snapshot.objective for snapshot in seen]
    assert objectives == sorted(objectives, reverse=True)


@pytest.mark.parametrize("limits", LIMITS, ids=str)
def test_a_tree_costs_what_was_read_and_no_more_than_the_root(noise, limits):
    def make(*search):
        return ThresholdEngine(*search, solver.get_solver("branches")().settings)

    search = Search(noise, LAM, limits, make, None)
    engine = search.engine
    for _ in range(40):
        search._grow()
        engine.step(10, -1)
        tree = noise.grow(engine.shape())
        assert engine.tree_cost == search.cost_scale.cost(tree.errors, tree.splits)
        assert engine.tree_cost <= engine.upper_bound
        assert score(noise, tree, LAM).splits == tree.splits
        _, cost = engine.read_tree()
        assert engine.tree_cost <= cost or engine.iterations < next_reading(engine.iterations - 1)


def test_trees_are_read_when_the_iterations_reach_certain_numbers():
    assert [next_reading(n) for n in (0, 1023, 1024, 5000, 2**20)] == [
        1024, 1024, 2048, 5120, 2**20 + 2**18,
    ]  # fmt: skip


def test_a_tree_in_preorder_comes_back():
    def preorder(shape):
        if isinstance(shape, int):
            return [-1]
        return [shape[0], *(at for child in shape[1] for at in preorder(child))]

    shape = (1, (-1, (0, (-1, (1, (-1, -1, -1)))), -1))
    assert shape_from(preorder(shape), [2, 3]) == shape
    for wrong in ([], [0, -1], [-1, -1], [2, -1, -1], [-2], [0, -1, -1, -1]):
        with pytest.raises(solver.InputError, match="the state's tree"):
            shape_from(wrong, [2, 3])


def test_the_tree_of_a_damaged_state_is_refused(noise):
    seen = []
    monitor = Monitor(snapshot=seen.append, interval=1e9)
    solver.solve(noise, LAM, limits=Limits(nodes=50), monitor=monitor)
    state = {name: array.copy() for name, array in seen[-1].state().items()}
    assert shape_from(state["tree"].tolist(), noise.arities.tolist()) == shape_of(seen[-1].tree)
    for wrong in ([14, -1, -1], [0, -1], [[0, -1, -1]]):
        damaged = {**state, "tree": np.array(wrong, np.int64)}
        with pytest.raises(solver.InputError, match="the state's tree"):
            solver.solve(noise, LAM, state=damaged)
