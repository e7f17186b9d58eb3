"""The kernel grows the greedy trees of the plainest recursion."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solver.engine.greedy_kernel import (
    LENGTH,
    GreedySpace,
    all_rows,
    fill_masks,
    grow_greedy,
    new_space,
    places_of,
    price_splits,
)
from solver.engine.tree_constraints import TreeConstraints
from solver.kernels.constants import Ints
from solver.kernels.packed_rows import tabulate
from solver.limits import Limits
from solver.objective.exact_objective import INFINITE, CostScale
from solver.problem.problem import Problem
from solver.trees.tree import Shape, shape_from


class Case(NamedTuple):
    """A problem, and the limits of its trees."""

    problem: Problem
    lam: Fraction
    limits: Limits

    @property
    def cost_scale(self) -> CostScale:
        problem = self.problem
        return CostScale.build(
            self.lam, problem.total_weight, problem.leaf_errors, len(problem.codes)
        )

    def space(self) -> GreedySpace:
        table, unit = tabulate(self.problem)
        scale, constraints = (
            self.cost_scale,
            TreeConstraints.of(self.problem, self.lam, self.limits),
        )
        space = new_space(
            table, self.problem.n_classes, scale.split, scale.error, unit, constraints
        )
        fill_masks(space, table, places_of(table, space.segments))
        return space

    def grow(self, rows: Ints, depth: int) -> tuple[int, Shape]:
        """The greedy tree of some rows of the problem, grown from the problem's own counts."""
        scale, counts = self.cost_scale, self.problem.counts[rows].sum(axis=0)
        leaf = scale.error * int(counts.sum() - counts.max())
        if leaf <= scale.split or depth >= (self.limits.depth or 99):
            return leaf, -1
        least: tuple[int, Shape] = (leaf, -1)
        purest, split = -1.0, -1
        for feature in range(self.problem.n_features):
            parts = self.parts(rows, feature)
            weights = [self.problem.counts[part].sum(axis=0) for part in parts]
            sizes = [int(weight.sum()) for weight in weights]
            small = self.limits.min_leaf_size or 0
            if sum(size > 0 for size in sizes) < 2 or any(0 < size < small for size in sizes):
                continue
            errors = sum(int(weight.sum() - weight.max()) for weight in weights)
            cost = scale.split + scale.error * errors
            if cost < least[0]:
                least = cost, (feature, (-1,) * len(parts))
            purity = sum(
                float((weight.astype(float) ** 2).sum()) / size
                for weight, size in zip(weights, sizes, strict=True)
                if size
            )
            if purity > purest:
                purest, split = purity, feature
        if split < 0 or least[0] <= 2 * scale.split:
            return least
        children = [self.grow(part, depth + 1) for part in self.parts(rows, split)]
        cost = scale.split + sum(child[0] for child in children)
        return min(
            least, (cost, (split, tuple(child[1] for child in children))), key=lambda t: t[0]
        )

    def parts(self, rows: Ints, feature: int) -> list[Ints]:
        """The rows of each code."""
        codes = self.problem.codes[rows, feature]
        return [rows[codes == code] for code in range(int(self.problem.arities[feature]))]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    generator = np.random.default_rng(draw(st.integers(0, 2**32)))
    n, features = draw(st.integers(1, 150)), draw(st.integers(1, 20))
    codes = generator.integers(0, generator.integers(2, 5, features), (n, features))
    target = (codes[:, 0] + generator.integers(0, draw(st.integers(1, 4)), n)) % 4
    weights = generator.integers(1, draw(st.sampled_from([2, 4, 1000])), n)
    problem = Problem.from_codes(codes, target, weights=weights)
    limits = draw(st.sampled_from([Limits(), Limits(depth=2), Limits(min_leaf_size=3)]))
    return Case(problem, Fraction(1, draw(st.integers(5, 200))), limits)


@settings(max_examples=150, deadline=None)
@given(cases())
def test_it_grows_the_tree_of_the_plain_recursion(case: Case) -> None:
    space = case.space()
    cost = grow_greedy(space, all_rows(space), 0)
    preorder = space.features[: space.status[LENGTH]].tolist()
    found = cost, shape_from(preorder, case.problem.arities.tolist())
    assert found == case.grow(np.arange(len(case.problem.codes)), 0)


@settings(max_examples=100, deadline=None)
@given(cases())
def test_a_split_costs_what_its_children_do(case: Case) -> None:
    space, costs = case.space(), np.zeros(case.problem.n_features, np.int64)
    begin = 0
    while begin < len(costs):
        begin = price_splits(space, all_rows(space), 0, begin, costs)
    rows, small = np.arange(len(case.problem.codes)), case.limits.min_leaf_size or 0
    for feature, cost in enumerate(costs):
        parts = case.parts(rows, feature)
        sizes = [int(case.problem.counts[part].sum()) for part in parts]
        if sum(size > 0 for size in sizes) < 2 or any(0 < size < small for size in sizes):
            assert cost == INFINITE
        else:
            children = sum(case.grow(part, 1)[0] for part in parts)
            assert cost == case.cost_scale.split + children


@pytest.mark.parametrize("rows", [64, 65, 5000])
def test_a_chain_deeper_than_its_room_ends_in_leaves(rows: int) -> None:
    """Each feature parts one row from the others, so that the greedy tree is a chain."""
    n = min(rows, 90)
    codes = np.zeros((rows, n), np.int64)
    codes[np.arange(n), np.arange(n)] = 1
    target = np.arange(rows) % 2
    case = Case(Problem.from_codes(codes, target), Fraction(1, 10**6), Limits())
    space = case.space()
    cost = grow_greedy(space, all_rows(space), 0)
    tree = case.problem.grow(shape_from(space.features[: space.status[LENGTH]].tolist(), [2] * n))
    assert case.cost_scale.cost(tree.errors, tree.splits) == cost
    assert tree.depth <= 64
