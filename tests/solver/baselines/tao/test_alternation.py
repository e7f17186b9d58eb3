"""Tests of solver/baselines/tao/alternation.py against looking at every move."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from solver.baselines.tao.alternation import LEAF, Alternation, Cut
from solver.baselines.tao.losses import Losses, Misclassified, SquaredErrors
from solver.objective.exact_objective import CostScale


class Floats:
    """CostScale in float64."""

    def __init__(self, split: float) -> None:
        self.split = split

    def cost(self, errors: float, splits: int) -> float:
        return errors + self.split * splits


class Made:
    """A random table of ordered codes, its prices and its losses."""

    def __init__(self, seed: int, is_regression: bool, most: int = 9) -> None:
        rng = np.random.RandomState(seed)
        self.n_rows, n_features = rng.randint(8, 60), rng.randint(1, 5)
        self.arities = rng.randint(2, most + 1, n_features).astype(np.int32)
        self.codes = rng.randint(0, self.arities, (self.n_rows, n_features)).astype(np.int32)
        self.weights = rng.randint(1, 4, self.n_rows)
        lam = Fraction(int(rng.randint(0, 6)), 100)
        self.losses: Losses
        self.cost_scale: Any
        if is_regression:
            values = rng.normal(size=(self.n_rows, rng.randint(1, 3))) + self.codes[:, :1]
            self.losses = SquaredErrors(values - values.mean(axis=0), self.weights)
            self.cost_scale = Floats(float(lam) * self.weights.sum())
        else:
            counts = np.zeros((self.n_rows, 3), np.int64)
            labels = (self.codes.sum(axis=1) // 2 + (rng.rand(self.n_rows) < 0.2)) % 3
            counts[np.arange(self.n_rows), labels] = self.weights
            self.losses = Misclassified(counts)
            self.cost_scale = CostScale.plain(lam, int(self.weights.sum()))
        self.rng = rng

    def shape(self, depth: int) -> Any:
        """A random tree; a split is numbered feature · 100 + code."""
        if depth == 0 or self.rng.rand() < 0.1:
            return LEAF
        feature = self.rng.randint(len(self.arities))
        number = 100 * feature + self.rng.randint(self.arities[feature] - 1)
        return number, (self.shape(depth - 1), self.shape(depth - 1))

    def tree(self, shape: Any, smallest: int = 0) -> Alternation:
        made = Alternation(self.codes, self.arities, self.losses, self.cost_scale, smallest)
        made.set_shape(shape, lambda number: Cut(*divmod(number, 100)))
        return made


def number_of(cut: Cut) -> int:
    return 100 * cut.feature + cut.code


def grown(made: Made, shape: Any, rows: Any) -> Any:
    """(shape, rows, prediction) of every node, leaves fitted, as nested tuples."""
    if not isinstance(shape, tuple):
        return None, rows, made.losses.fit(rows)[0] if len(rows) else None
    feature, code = divmod(shape[0], 100)
    goes_left = made.codes[rows, feature] <= code
    parts = rows[goes_left], rows[~goes_left]
    return shape[0], rows, tuple(grown(made, s, r) for s, r in zip(shape[1], parts, strict=True))


def errors_of(made: Made, node: Any, rows: Any) -> tuple[Any, dict[int, int]]:
    """What rows cost in a subtree whose leaves stay as they are, and the weight of its leaves."""
    number, _, below = node
    if number is None:
        if not len(rows):
            return 0, {}
        costs = made.losses.costs(rows, below)
        return costs.sum(), {id(node): made.weights[rows].sum()}
    feature, code = divmod(number, 100)
    goes_left = made.codes[rows, feature] <= code
    left, right = (
        errors_of(made, child, part)
        for child, part in zip(below, (rows[goes_left], rows[~goes_left]), strict=True)
    )
    return left[0] + right[0], left[1] | right[1]


def splits_of(node: Any) -> int:
    return 0 if node[0] is None else 1 + sum(map(splits_of, node[2]))


def best_move(made: Made, node: Any, smallest: int) -> Any:
    """The least cost of all that a split may become, its descendants as they are."""
    _, rows, (left, right) = node
    splits = splits_of(node)
    found = [made.cost_scale.cost(errors_of(made, node, rows)[0], splits)]
    found.append(made.cost_scale.cost(made.losses.fit(rows)[1], 0))
    for child in (left, right):
        errors, sizes = errors_of(made, child, rows)
        if all(size >= smallest for size in sizes.values()):
            found.append(made.cost_scale.cost(errors, splits_of(child)))
    for feature, arity in enumerate(made.arities.tolist()):
        for code in range(arity - 1):
            other = (100 * feature + code, rows, (left, right))
            errors, sizes = errors_of(made, other, rows)
            if all(size >= smallest for size in sizes.values()):
                found.append(made.cost_scale.cost(errors, splits))
    return min(found)


def nodes_of(tree: Alternation, made: Made) -> list[tuple[int, Any]]:
    """Every split with its plain form."""
    root = grown(made, tree.shape(number_of), np.arange(made.n_rows))
    found, pending = [], [(0, root)]
    while pending:
        i, node = pending.pop()
        if node[0] is not None:
            found.append((i, node))
            pending += zip(tree.children[i], node[2], strict=True)
    return found


@pytest.mark.parametrize("is_regression", [False, True], ids=["classes", "numbers"])
@pytest.mark.parametrize("seed", range(40))
def test_a_move_is_the_best_of_all(seed: int, is_regression: bool) -> None:
    made = Made(seed, is_regression)
    for smallest in (0, 4):
        shape = made.shape(3)
        tree = made.tree(shape)
        sizes = [made.weights[tree.rows[i]].sum() for level in tree._levels() for i in level]
        if smallest and min(sizes) < smallest:
            continue
        tree = made.tree(shape, smallest)
        for i, node in nodes_of(tree, made):
            move = min(tree.moves(i))
            assert move.cost == pytest.approx(best_move(made, node, smallest), rel=1e-9)


@pytest.mark.parametrize("is_regression", [False, True], ids=["classes", "numbers"])
@pytest.mark.parametrize("seed", range(30))
def test_the_cost_falls_until_no_move_is_left(seed: int, is_regression: bool) -> None:
    made = Made(seed, is_regression, most=[2, 9, 60][seed % 3])
    tree = made.tree(made.shape(4))
    before, passes = tree.cost, 0
    while tree.improve():
        after = tree.cost
        assert after <= before + made.losses.tolerance
        before, passes = after, passes + 1
        assert passes < 100
    # What it says of itself is what the tree is.
    root = grown(made, tree.shape(number_of), np.arange(made.n_rows))
    errors = errors_of(made, root, np.arange(made.n_rows))[0]
    assert tree.errors[0] == pytest.approx(errors, rel=1e-9)
    assert tree.splits[0] == splits_of(root)
    for i, node in nodes_of(tree, made):
        assert len(node[1]) == len(tree.rows[i])
        assert min(len(child[1]) for child in node[2]) > 0
        assert best_move(made, node, 0) >= (
            made.cost_scale.cost(errors_of(made, node, node[1])[0], splits_of(node))
            - made.losses.tolerance
        )


@pytest.mark.parametrize("seed", range(10))
def test_in_a_hurry_it_prunes_as_well_as_can_be(seed: int) -> None:
    made = Made(seed, is_regression=False)
    tree = made.tree(made.shape(4))

    def pruned(node: Any) -> Any:
        leaf = made.cost_scale.cost(made.losses.fit(node[1])[1], 0)
        if node[0] is None:
            return leaf
        return min(leaf, made.cost_scale.cost(0, 1) + sum(map(pruned, node[2])))

    least = pruned(grown(made, tree.shape(number_of), np.arange(made.n_rows)))
    tree.improve(stop=lambda: True)
    assert tree.cost == least


def test_rows_that_do_not_care_leave_the_cut_in_the_middle() -> None:
    codes = np.array([[0], [1], [8], [9]], np.int32)
    counts = np.array([[1, 0], [1, 0], [0, 1], [0, 1]])
    tree = Alternation(
        codes, np.array([10], np.int32), Misclassified(counts), CostScale.plain(Fraction(0), 4)
    )
    tree.set_shape((0, (LEAF, LEAF)), lambda number: Cut(0, number))
    assert tree.cost == 1
    assert tree.improve()
    assert (tree.cost, tree.cut[0]) == (0, 4)
    assert not tree.improve()
