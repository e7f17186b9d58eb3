"""Mode ``paper`` alone: its answers, its bounds on the way, its slices and its counts."""

from __future__ import annotations

from fractions import Fraction
from functools import cache

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from solver.errors import InputError
from solver.kernels.constants import FULL, PROVEN, RUNNING
from solver.objective.exact_objective import CostScale, SquaredCostScale
from solver.quantbnb.paper.engine import PaperEngine
from solver.quantbnb.paper.state import BOUNDS, EFFORT, tabulate_classes, tabulate_squares
from tests import naive

THOROUGH = settings(
    max_examples=150, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
)


def prices_for(counts, lam):
    weight = int(counts.sum())
    errors = weight - int(counts.sum(axis=0).max())
    return CostScale.build(Fraction(lam), weight, errors, max(len(counts) - 1, 0))


def classifier(codes, counts, arities, lam=0, depth=2, **options) -> PaperEngine:
    table = tabulate_classes(codes, counts)
    return PaperEngine(table, arities, prices_for(counts, lam), depth, **options)


def finish(engine: PaperEngine, iterations: int = 1000, target_cost: float = -1) -> PaperEngine:
    while (outcome := engine.step(iterations, target_cost)) != PROVEN:
        if outcome == FULL:
            assert engine.grow(None)
    return engine


def random_classes(seed: int, rows: int, features: int, arity: int, classes: int):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, arity, (rows, features)).astype(np.int32)
    target = (codes[:, : features // 2 + 1].sum(axis=1) + (rng.random(rows) < 0.2)) % classes
    counts = np.eye(classes, dtype=np.int64)[target] * rng.integers(1, 4, (rows, 1))
    return codes, counts, np.full(features, arity, np.int64)


@st.composite
def problems(draw):
    """Few rows with ties and constant columns, for a depth that the plain search can do."""
    depth = draw(st.sampled_from([0, 1, 2, 2, 3, 4]))
    rows = draw(st.integers(1, {0: 20, 1: 20, 2: 16, 3: 9, 4: 7}[depth]))
    features = draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    arities = rng.integers(1, draw(st.sampled_from([3, 6, 13])), features)
    codes = rng.integers(0, arities, (rows, features)).astype(np.int32)
    lam = draw(st.sampled_from(["0", "0", "0.01", "1/17", "0.3"]))
    options = {
        "bound": draw(st.sampled_from(BOUNDS)),
        "pieces": draw(st.sampled_from([2, 3, 3])),
        "min_leaf": draw(st.sampled_from([1, 1, 2, 5])),
    }
    return rng, codes, arities.astype(np.int64), Fraction(lam), depth, options


def with_cuts(codes, arities):
    """The same rows with one feature of two codes for each cut."""
    cuts = [(f, c) for f, arity in enumerate(arities) for c in range(arity - 1)]
    return [[int(row[f] > c) for f, c in cuts] for row in codes.tolist()], len(cuts)


@THOROUGH
@given(problems(), st.integers(1, 4))
def test_the_answer_is_that_of_the_plain_search(problem, classes):
    rng, codes, arities, lam, depth, options = problem
    counts = np.zeros((len(codes), classes), np.int64)
    for _ in range(2):  # some rows have weight in two classes
        counts[np.arange(len(codes)), rng.integers(0, classes, len(codes))] += rng.integers(1, 4)
    engine = finish(classifier(codes, counts, arities, lam, depth, **options), 7)
    binary, cuts = with_cuts(codes, arities)
    best = naive.optimum(
        binary, counts.tolist(), [2] * cuts, lam, depth=depth, min_leaf_size=options["min_leaf"]
    )
    tree = engine._best
    assert Fraction(tree.loss) / int(counts.sum()) + lam * tree.splits == best.objective
    assert tree.splits == best.splits
    assert (
        engine.lower_bound
        == engine.upper_bound
        == engine.cost_scale.cost(int(tree.loss), tree.splits)
    )


def least_squares(codes, values, weights, depth, smallest, price):
    """The least weighted squared error plus price of splits, by trying everything, exactly."""

    def error(rows):
        total = Fraction(0)
        for column in zip(*(values[r] for r in rows), strict=True):
            ws = [weights[r] for r in rows]
            mean = Fraction(sum(w * v for w, v in zip(ws, column, strict=True)), sum(ws))
            total += sum(w * (v - mean) ** 2 for w, v in zip(ws, column, strict=True))
        return total

    @cache
    def least(rows, depth):
        light = sum(weights[r] for r in rows) < smallest and len(rows) < len(codes)
        best = None if light else error(rows)
        if depth == 0:
            return best
        for f in range(len(codes[0])):
            for value in sorted({codes[r][f] for r in rows})[1:]:
                left = least(tuple(r for r in rows if codes[r][f] < value), depth - 1)
                right = least(tuple(r for r in rows if codes[r][f] >= value), depth - 1)
                if left is not None and right is not None:
                    cost = price + left + right
                    best = cost if best is None else min(best, cost)
        return best

    return least(tuple(range(len(codes))), depth)


@THOROUGH
@given(problems(), st.integers(1, 3))
def test_regression_finds_the_least_squared_error(problem, outputs):
    rng, codes, arities, lam, depth, options = problem
    values = rng.integers(-20, 20, (len(codes), outputs))
    weights = rng.integers(1, 4, len(codes))
    table = tabulate_squares(codes, weights, values + 1000.0)
    cost_scale = SquaredCostScale(lam, int(weights.sum()), Fraction(1, 2**30))
    engine = finish(PaperEngine(table, arities, cost_scale, depth, **options), 7)
    smallest = options["min_leaf"]
    best = least_squares(
        codes.tolist(), values.tolist(), weights.tolist(), depth, smallest, lam * weights.sum()
    )
    assert engine.upper_bound == pytest.approx(float(best), abs=1e-6)
    assert engine.lower_bound == engine.upper_bound


@THOROUGH
@given(problems())
def test_bounds_close_in_on_the_way(problem):
    rng, codes, arities, lam, depth, options = problem
    counts = np.eye(3, dtype=np.int64)[rng.integers(0, 3, len(codes))]
    best = finish(classifier(codes, counts, arities, lam, depth, **options)).upper_bound
    engine = classifier(codes, counts, arities, lam, depth, **options)
    lower_bound, upper_bound, outcome, boxes = 0, engine.upper_bound, RUNNING, 0
    while outcome != PROVEN:
        assert lower_bound <= engine.lower_bound <= best <= engine.upper_bound <= upper_bound
        assert engine.nodes <= boxes + 1
        lower_bound, upper_bound, boxes = engine.lower_bound, engine.upper_bound, engine.nodes
        outcome = engine.step(1, -1)
    assert engine.upper_bound == best


@pytest.mark.parametrize("bound", BOUNDS)
@pytest.mark.parametrize("depth", [2, 3])
def test_slices_do_not_change_the_search(bound, depth):
    problem = random_classes(3, 60, 3, 20, 3)
    whole, sliced = (classifier(*problem, depth=depth, bound=bound) for _ in range(2))
    finish(whole, 10**9)
    finish(sliced, 3)
    assert whole.extra == sliced.extra
    assert whole.shape() == sliced.shape()
    assert whole.iterations == sliced.iterations > 100


def test_a_slice_ends_when_its_iterations_take_long():
    engine = classifier(*random_classes(3, 3000, 6, 900, 3), depth=3, bound="l2")
    read = int(engine.search.stats[EFFORT])
    assert engine.step(10**9, -1) == RUNNING
    assert 2**21 <= engine.search.stats[EFFORT] - read < 2**22


def test_a_tighter_bound_takes_up_fewer_boxes():
    problem = random_classes(5, 400, 4, 200, 2)
    boxes = [finish(classifier(*problem, bound=bound)).extra["boxes"] for bound in BOUNDS]
    assert boxes == sorted(boxes, reverse=True)
    assert boxes[0] > boxes[-1]


def test_a_tree_that_is_good_enough_ends_the_search():
    engine = classifier(*random_classes(5, 200, 4, 50, 2))
    engine.step(20, -1)
    assert engine.lower_bound < engine.upper_bound
    iterations = engine.iterations
    assert engine.step(100, engine.upper_bound) == PROVEN
    assert engine.iterations == iterations


def test_a_tree_to_start_with_is_the_first_upper_bound():
    codes, counts, arities = random_classes(5, 200, 4, 50, 2)
    best = finish(classifier(codes, counts, arities))
    helped = classifier(codes, counts, arities, initial_tree=best.shape())
    assert helped.upper_bound == best.upper_bound
    finish(helped)
    assert helped.upper_bound == best.upper_bound
    assert helped.extra["boxes"] <= best.extra["boxes"]


def test_memory_is_asked_for_and_refused_beyond_a_limit():
    problem = random_classes(5, 200, 4, 50, 2)
    engine = classifier(*problem, depth=3, room=1)
    before = engine.bytes
    assert engine.step(10**6, -1) == FULL
    assert not engine.grow(before)
    assert engine.step(10**6, -1) == FULL
    assert (engine.bytes, engine.nodes) == (before, 0)
    assert engine.grow(10 * before)
    assert engine.step(1, -1) == RUNNING
    finish(engine)
    assert engine.bytes > before
    assert engine.search.held == 0


def test_regression_begins_with_cart():
    rng = np.random.default_rng(2)
    codes = np.argsort(rng.random((80, 3)), axis=0).astype(np.int32)
    values = rng.normal(size=(80, 1)) + (codes[:, :1] > 30)
    table = tabulate_squares(codes, np.ones(80, np.int64), values)
    cost_scale = SquaredCostScale(Fraction(0), 80, Fraction(1, 2**30))
    engine = PaperEngine(table, np.full(3, 80), cost_scale, 3, initial_tree=None)
    model = DecisionTreeRegressor(max_depth=3, random_state=0).fit(codes, values)
    assert engine.upper_bound == pytest.approx(((values[:, 0] - model.predict(codes)) ** 2).sum())


def test_prices_that_doubles_cannot_hold_are_refused():
    codes, counts, arities = random_classes(5, 20, 2, 5, 2)
    with pytest.raises(InputError, match="more than 53 bits"):
        classifier(codes, counts * 10**6, arities, lam=Fraction(1, 10**9 + 7))


def test_the_search_cannot_go_on_elsewhere():
    engine = classifier(*random_classes(5, 20, 2, 5, 2))
    engine.propagate_bounds()
    assert engine.state() is None
    assert engine.before == (0, 0)
    assert not engine.inherits


def test_no_features_leave_a_leaf():
    engine = classifier(np.zeros((3, 0), np.int32), np.eye(3, dtype=np.int64), np.zeros(0, int))
    assert engine.step(1, -1) == PROVEN
    assert engine.shape() == -1


def published(shared_data, name):
    table = pd.read_parquet(shared_data / "continuous" / "class" / f"{name}.parquet")
    table = table[table["split"] == "train"]
    columns = [c for c in table.columns if c.startswith("f")]
    codes = np.column_stack([np.unique(table[c], return_inverse=True)[1] for c in columns])
    target = np.unique(table.iloc[:, -1], return_inverse=True)[1]
    counts = np.eye(target.max() + 1, dtype=np.int64)[target]
    return codes.astype(np.int32), counts, codes.max(axis=0).astype(np.int64) + 1


def cart(codes, counts, arities, depth):
    """CART as a shape, and what share of the rows it gets right."""
    target = counts.argmax(axis=1)
    model = DecisionTreeClassifier(max_depth=depth, random_state=0).fit(codes, target)
    tree, first = model.tree_, np.cumsum(arities - 1) - (arities - 1)

    def shape(node):
        if tree.children_left[node] < 0:
            return -1
        cut = int(first[tree.feature[node]]) + int(tree.threshold[node])
        return cut, (shape(tree.children_left[node]), shape(tree.children_right[node]))

    return shape(0), model.score(codes, target)


@pytest.mark.parametrize(
    "name, depth",
    [
        ("avila", 2),
        ("bank", 2),
        ("bank", 3),
        ("bidding", 2),
        ("fault", 2),
        ("htru", 2),
        ("magic", 2),
        ("occupancy", 2),
        ("raisin", 2),
        ("segment", 2),
    ],
)
def test_published_accuracies(shared_data, name, depth):
    """Table 6, to the printed digit, and the same from CART as from nothing."""
    figures = pd.read_csv(shared_data / "published-quantbnb.csv", index_col="dataset")
    codes, counts, arities = published(shared_data, name)
    initial_tree, accuracy = cart(codes, counts, arities, depth)
    engine = classifier(codes, counts, arities, depth=depth, initial_tree=initial_tree)
    assert 1 - engine._best.loss / len(codes) == pytest.approx(accuracy)
    finish(engine, 2000)
    reached = round(100 * (1 - engine._best.loss / len(codes)), 1)
    assert reached == figures.loc[name, f"depth{depth}_accuracy_percent"]


@pytest.mark.parametrize("name, cart_percent", [("bank", 90.9), ("raisin", 86.8), ("fault", 54.0)])
def test_published_accuracies_of_cart(shared_data, name, cart_percent):
    """Table 6 at depth 2: what the search starts from."""
    codes, counts, arities = published(shared_data, name)
    assert round(100 * cart(codes, counts, arities, 2)[1], 1) == cart_percent
