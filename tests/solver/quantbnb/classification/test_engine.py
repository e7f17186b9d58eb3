"""Optimal trees on numbers, held against the plain search and the published accuracies."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from solver.engine.tree_constraints import TreeConstraints
from solver.errors import InputError
from solver.kernels.constants import FULL, PROVEN
from solver.objective.exact_objective import CostScale
from solver.quantbnb.classification import engine as module
from solver.quantbnb.classification import sorted_table
from solver.quantbnb.classification.engine import QuantEngine
from solver.trees.tree import Shape
from tests.naive import least_numeric_cost

Ints = NDArray[np.int64]


class Rows:
    """Rows as a problem has them: distinct, with ranks for numbers and weights of classes."""

    def __init__(self, x: NDArray[Any], y: Ints, weights: Ints | None = None) -> None:
        self.x, self.y = x, y
        self.weights = np.ones(len(y), np.int64) if weights is None else weights
        ranks = [np.unique(column, return_inverse=True)[1] for column in x.T]
        codes = np.column_stack(ranks) if ranks else np.zeros((len(y), 0), int)
        self.codes, group = np.unique(codes, axis=0, return_inverse=True)
        self.codes = self.codes.astype(np.int32)
        self.counts = np.zeros((len(self.codes), int(y.max()) + 1), np.int64)
        np.add.at(self.counts, (group.ravel(), y), self.weights)
        self.arities = np.array([rank.max() + 1 for rank in ranks], np.int32)
        totals = self.counts.sum(axis=0)
        self.total, self.leaf_errors = int(totals.sum()), int(totals.sum() - totals.max())

    def cost_scale(self, lam: Fraction = Fraction(0)) -> CostScale:
        return CostScale.build(lam, self.total, self.leaf_errors, len(self.codes) - 1)

    def engine(
        self,
        depth: int,
        lam: Fraction = Fraction(0),
        min_leaf: int = 1,
        splits: int | None = None,
        state: dict[str, NDArray[Any]] | None = None,
    ) -> QuantEngine:
        """``splits`` is a limit of at least 1."""
        constraints = TreeConstraints(1 if splits is None else splits + 1, depth, min_leaf, 2)
        return QuantEngine(
            self.codes, self.counts, self.arities, self.cost_scale(lam), constraints, state=state
        )

    def look(self, shape: Shape, rows: Any = None) -> tuple[int, int, int, int]:
        """Errors, splits, depth and least weight of a leaf."""
        rows = np.arange(len(self.codes)) if rows is None else rows
        totals = self.counts[rows].sum(axis=0)
        weight = int(totals.sum())
        if not isinstance(shape, tuple):
            return weight - int(totals.max()), 0, 0, weight
        cut, children = shape
        first = np.concatenate(([0], (self.arities - 1).cumsum()))
        feature = int(np.searchsorted(first, cut, side="right")) - 1
        codes = self.codes[rows, feature]
        code = cut - int(first[feature])
        below, above = codes[codes <= code].max(), codes[codes > code].min()
        assert abs((below + above) / 2 - code - 0.5) <= 0.5  # the cut is in the middle of its gap
        left = self.look(children[0], rows[codes <= code])
        right = self.look(children[1], rows[codes > code])
        return (
            left[0] + right[0],
            1 + left[1] + right[1],
            1 + max(left[2], right[2]),
            min(left[3], right[3]),
        )


def run(engine: QuantEngine, slice_: int = 1000) -> QuantEngine:
    while (outcome := engine.step(slice_, -1)) != PROVEN:
        if outcome == FULL:
            assert engine.grow(None)
        engine.propagate_bounds()
        assert engine.lower_bound <= engine.upper_bound
    engine.propagate_bounds()
    assert engine.lower_bound == engine.upper_bound
    return engine


def solved(rows: Rows, *arguments: Any, slice_: int = 1000) -> QuantEngine:
    return run(rows.engine(*arguments), slice_)


@st.composite
def problems(draw: Any, limited: bool = False) -> tuple[Rows, int, Fraction, int, int | None]:
    """Few rows, with ties, several classes and weights; with a limit on splits, or without."""
    depth = draw(st.sampled_from([0, 1, 2, 2, 3, 4]))
    n = draw(st.integers(1, {0: 40, 1: 40, 2: 40, 3: 14, 4: 9}[depth]))
    p = draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    x = rng.integers(0, draw(st.sampled_from([1, 2, 3, 6, 100])), (n, p)) / 7
    y = rng.integers(0, draw(st.integers(1, 5)), n)
    weights = rng.integers(1, draw(st.sampled_from([2, 4, 100])), n)
    weights *= draw(st.sampled_from([1, 1, 6]))
    lam = draw(st.sampled_from([0, 0, 1, 2, 3, 8])) * Fraction(1, draw(st.sampled_from([200, 40])))
    total = int(weights.sum())
    min_leaf = draw(st.sampled_from([1, 1, 2, total // 10, total // 4, total // 2, total]))
    most = draw(st.integers(1, 8)) if limited else None
    return Rows(x, y, weights), depth, lam, max(min_leaf, 1), most


@settings(max_examples=300, deadline=None)
@given(problems())
def test_cost_is_that_of_the_plain_search(problem: Any) -> None:
    check(*problem)


@settings(max_examples=300, deadline=None)
@given(problems(limited=True))
def test_cost_is_that_of_the_plain_search_of_few_splits(problem: Any) -> None:
    check(*problem)


def check(rows: Rows, depth: int, lam: Fraction, min_leaf: int, most: int | None = None) -> None:
    engine, cost_scale = solved(rows, depth, lam, min_leaf, most), rows.cost_scale(lam)
    plain = least_numeric_cost(
        rows.x.tolist(), rows.y.tolist(), rows.weights.tolist(), depth,
        cost_scale.error, cost_scale.split, min_leaf, most,
    )  # fmt: skip
    errors, splits, deep, smallest = rows.look(engine.shape())
    assert engine.upper_bound == plain == cost_scale.cost(errors, splits)
    assert deep <= depth
    assert splits <= (splits if most is None else most)
    assert splits == 0 or smallest >= min_leaf


@settings(max_examples=60, deadline=None)
@given(problems(limited=True))
def test_a_search_of_few_splits_goes_on_from_a_state_of_any_moment(problem: Any) -> None:
    rows, *given_ = problem
    whole, engine, before = solved(rows, *given_), rows.engine(*given_), 0
    while (outcome := engine.step(1, -1)) != PROVEN:
        if outcome == FULL:
            assert engine.grow(None)
        if engine.iterations == before:
            continue
        before = engine.iterations
        engine.propagate_bounds()
        assert engine.lower_bound <= whole.upper_bound <= engine.upper_bound
        found = rows.look(engine.shape())
        assert rows.cost_scale(given_[1]).cost(*found[:2]) <= engine.upper_bound
        assert found[1] <= given_[-1]
        saved = {name: array.copy() for name, array in engine.state().items()}
        engine = rows.engine(*given_, state=saved)
    assert (engine.shape(), engine.iterations) == (whole.shape(), whole.iterations)


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_as_many_splits_as_a_depth_allows_are_no_limit(depth: int) -> None:
    rows = hard(200)
    free = solved(rows, depth)
    for splits in (2**depth - 1, 2**depth, 10**6):
        engine = solved(rows, depth, Fraction(0), 1, splits)
        assert (engine.shape(), engine.iterations) == (free.shape(), free.iterations)
    if depth > 1:
        fewer = [solved(rows, depth, Fraction(0), 1, most) for most in range(1, 2**depth)]
        costs = [engine.upper_bound for engine in fewer]
        assert costs == sorted(costs, reverse=True)
        assert costs[-1] == free.upper_bound < costs[-2]


def test_few_splits_limit_the_depth() -> None:
    rows = hard(100)
    for splits in (1, 2, 3):
        deep = solved(rows, 10**6, Fraction(0), 1, splits)
        assert deep.depth == splits
        assert deep.upper_bound == solved(rows, splits, Fraction(0), 1, splits).upper_bound


@pytest.mark.parametrize("splits", range(2, 7))
def test_few_splits_take_hardly_more_work_than_any(splits: int) -> None:
    """Before the known cost of leaves was used, it took up to 128 times as much."""
    rows = hard(300)
    assert solved(rows, 3, Fraction(0), 1, splits).iterations < 2 * solved(rows, 3).iterations


def test_thresholds_that_only_lighter_leaves_allow_bound_parts_of_more_rows() -> None:
    """An interval without an allowed threshold was dropped as if it held none at all."""
    codes = [(1, 0, 2), (4, 2, 1), (3, 5, 2), (5, 5, 4), (4, 1, 5), (5, 2, 4), (1, 0, 5),
             (3, 5, 3), (3, 3, 2), (0, 4, 5), (3, 3, 3), (4, 5, 5)]  # fmt: skip
    y = np.array([0, 1, 0, 0, 1, 1, 0, 0, 1, 1, 1, 1])
    weights = np.array([66, 79, 64, 12, 86, 93, 85, 51, 29, 27, 77, 16])
    rows = Rows(np.array(codes) / 7, y, weights)
    engine = solved(rows, 3, Fraction(0), 68)
    assert rows.look(engine.shape()) == (0, 3, 3, 127)
    check(rows, 3, Fraction(0), 68)


@pytest.mark.parametrize("min_leaf", [1, 40])
@pytest.mark.parametrize("seed", range(8))
def test_many_blocks_of_rows(seed: int, min_leaf: int) -> None:
    """Rows that fill several groups of blocks, with long runs of equal values."""
    rng = np.random.default_rng(seed)
    n, classes = int(rng.integers(400, 3000)), int(rng.integers(2, 6))
    x = np.floor(rng.random((n, 2)) ** 2 * rng.integers(3, 9))
    y = np.where(rng.random(n) < 0.4, rng.integers(0, classes, n), (x.sum(axis=1) * 7) % classes)
    rows = Rows(x, y.astype(np.int64))
    cost_scale = rows.cost_scale()
    fewer = solved(rows, 2, Fraction(0), min_leaf, 2).upper_bound
    assert fewer == least_of_cuts(rows, 2, cost_scale.error, cost_scale.split, min_leaf, 2)
    best = least_of_cuts(rows, 2, cost_scale.error, cost_scale.split, min_leaf)
    for times in (1, 50):
        engine = repeated(rows, times, 2, Fraction(0), min_leaf)
        assert (
            run(engine).upper_bound // engine.cost_scale.error == best // cost_scale.error * times
        )


def least_of_cuts(
    rows: Rows, depth: int, error: int, split: int, min_leaf: int, splits: int | None = None
) -> int:
    """As :func:`tests.naive.least_numeric_cost`, for many rows and few different numbers."""
    arities = rows.arities.tolist()
    cuts = [rows.codes[:, f] <= c for f, arity in enumerate(arities) for c in range(arity - 1)]
    known: dict[tuple[bytes, int, int], int] = {}

    def least(part: NDArray[np.bool_], depth: int, splits: int) -> int:
        splits = min(splits, 2**depth - 1)
        most = 2 ** (depth - 1) - 1 if depth else 0
        key = part.tobytes(), depth, splits
        if key not in known:
            totals = rows.counts[part].sum(axis=0)
            known[key] = error * int(totals.sum() - totals.max())
            for cut in cuts if splits else []:
                left, right = part & cut, part & ~cut
                if min(rows.counts[side].sum() for side in (left, right)) < min_leaf:
                    continue
                for some in range(max(0, splits - 1 - most), min(most, splits - 1) + 1):
                    cost = least(left, depth - 1, some) + least(right, depth - 1, splits - 1 - some)
                    known[key] = min(known[key], split + cost)
        return known[key]

    everything = np.ones(len(rows.codes), bool)
    return least(everything, depth, 2**depth if splits is None else splits)


def repeated(
    rows: Rows,
    times: int,
    depth: int,
    lam: Fraction,
    min_leaf: int,
    spread: int = 1,
    splits: int | None = None,
    **more: Any,
) -> QuantEngine:
    """A search of the same rows, each several times, and with gaps between the codes."""
    codes = np.repeat(rows.codes * spread, times, axis=0)
    counts = np.repeat(rows.counts, times, axis=0)
    totals = counts.sum(axis=0)
    total, leaf_errors = int(totals.sum()), int(totals.sum() - totals.max())
    cost_scale = CostScale.build(lam, total, leaf_errors, len(codes) - 1)
    budgets = 1 if splits is None else splits + 1
    constraints = TreeConstraints(budgets, depth, min_leaf * times, 2)
    return QuantEngine(codes, counts, rows.arities * spread, cost_scale, constraints, **more)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_hundreds_of_searches_that_are_interrupted(seed: int) -> None:
    """All at once: many rows, weights, λ, leaf sizes, few and many codes, few splits, states."""
    rng = np.random.default_rng(seed)
    for _ in range(100):
        depth = int(rng.choice([1, 2, 2, 3]))
        p, values = int(rng.integers(1, 5 - depth)), int(rng.choice([2, 3, 5]))
        n, classes = int(rng.integers(5, 1500)), int(rng.choice([1, 2, 3, 7, 30]))
        x = rng.integers(0, values, (n, p))
        y = np.where(rng.random(n) < 0.5, rng.integers(0, classes, n), 7 * x.sum(axis=1) % classes)
        rows = Rows(x.astype(float), y, rng.integers(1, rng.choice([2, 4, 100]), n))
        lam = int(rng.choice([0, 0, 1, 8])) * Fraction(1, int(rng.choice([2000, 200, 40])))
        min_leaf = max(1, rows.total // int(rng.choice([10**9, 50, 10, 6, 4, 3])))
        times, spread = int(rng.choice([1, 7, 30])), int(rng.choice([1, 1, 50_000]))
        most = [None, None, 1, 2, 3, 4, 5, 6][int(rng.integers(8))]
        given = rows, times, depth, lam, min_leaf, spread, most
        engine = repeated(*given)
        while (outcome := engine.step(int(rng.integers(1, 40)), -1)) != PROVEN:
            if outcome == FULL:
                assert engine.grow(None)
            engine.propagate_bounds()
            assert engine.lower_bound <= engine.upper_bound
            if rng.random() < 0.1:
                saved = {name: array.copy() for name, array in engine.state().items()}
                engine = repeated(*given, state=saved)
        engine.propagate_bounds()
        cost_scale = engine.cost_scale
        best = least_of_cuts(
            rows, depth, cost_scale.error * times, cost_scale.split, min_leaf, most
        )
        assert engine.lower_bound == engine.upper_bound == best


@pytest.mark.parametrize("n", [511, 512, 513, 32_766, 33_000])
def test_every_value_is_different(n: int) -> None:
    """Also more values than fit into 16 bits, and rows that just fill their blocks."""
    rng = np.random.default_rng(n)
    place = np.arange(n)
    y = (place * 4 // n) % 3
    x = np.column_stack((rng.random(n), place))
    shuffled = rng.permutation(n)
    rows = Rows(x[shuffled], y[shuffled])
    engine = solved(rows, 2)
    assert rows.look(engine.shape())[:2] == (0, 3)
    assert engine.upper_bound == rows.cost_scale().cost(0, 3)


@pytest.mark.parametrize("min_leaf", [1, 7])
def test_long_ranks_give_the_search_of_short_ones(
    min_leaf: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(8)
    rows = Rows(rng.integers(0, 60, (700, 3)).astype(float), rng.integers(0, 3, 700))
    searches = []
    for largest in (2**15 - 2, 0):
        monkeypatch.setattr(sorted_table, "_LARGEST_SHORT", largest)
        engine = solved(rows, 3, Fraction(1, 50), min_leaf)
        assert engine.table is not None
        assert (len(engine.table.long_ranks) > 0) == (largest == 0)
        searches.append((engine.shape(), engine.upper_bound, engine._progress.tolist()))
    assert searches[0] == searches[1]


def test_weights_are_repeated_rows() -> None:
    rng = np.random.default_rng(5)
    x, y = rng.integers(0, 30, (300, 3)).astype(float), rng.integers(0, 3, 300)
    weights = rng.integers(1, 9, 300)
    one, many = Rows(x, y, weights), Rows(x.repeat(weights, 0), y.repeat(weights))
    assert solved(one, 3).upper_bound == solved(many, 3).upper_bound


def test_large_weights() -> None:
    """Beyond 32 bits, with and without a common factor."""
    rng = np.random.default_rng(6)
    x, y = rng.integers(0, 9, (60, 2)).astype(float), rng.integers(0, 3, 60)
    weights = rng.integers(1, 9, 60)
    small, large = Rows(x, y, weights), Rows(x, y, weights * 10**9)
    first, second = solved(small, 2), solved(large, 2)
    assert first.shape() == second.shape()
    assert first.iterations == second.iterations
    odd = Rows(x, y, weights * 10**9 + rng.integers(0, 2, 60))
    errors = odd.look(solved(odd, 2).shape())[0]
    assert abs(errors - 10**9 * small.look(first.shape())[0]) <= 60


def hard(n: int = 700) -> Rows:
    rng = np.random.default_rng(1)
    x = rng.random((n, 3))
    y = ((x[:, 0] > 0.5).astype(int) + (x[:, 1] > x[:, 2])) % 2
    return Rows(x, np.where(rng.random(n) < 0.2, 1 - y, y))


@pytest.mark.parametrize(("depth", "min_leaf"), [(2, 1), (3, 1), (3, 100)])
def test_slices_change_nothing(depth: int, min_leaf: int) -> None:
    rows = hard(300)
    whole, sliced = (rows.engine(depth, Fraction(0), min_leaf) for _ in range(2))
    run(whole, 10**9)
    before = 0, 2**61
    while (outcome := sliced.step(17, -1)) != PROVEN:
        if outcome == FULL:
            sliced.grow(None)
        sliced.propagate_bounds()
        now = sliced.lower_bound, sliced.upper_bound
        assert before[0] <= now[0] <= whole.upper_bound <= now[1] <= before[1]
        if sliced.iterations < 500:
            errors, splits, _, smallest = rows.look(sliced.shape())
            assert rows.cost_scale().cost(errors, splits) <= now[1]
            assert splits == 0 or smallest >= min_leaf
        before = now
    assert sliced.iterations == whole.iterations
    assert sliced.shape() == whole.shape()


@pytest.mark.parametrize("depth", [2, 3, 4])
def test_goes_on_from_a_state(depth: int) -> None:
    rows = hard(60)
    whole = solved(rows, depth)
    engine, stop = rows.engine(depth), whole.iterations // 9 + 1
    while engine.step(min(7, stop - engine.iterations % stop), -1) != PROVEN:
        if engine.table is None:
            engine.grow(None)
        if engine.iterations % stop == 0:  # also before anything is done
            engine.propagate_bounds()
            saved = {name: array.copy() for name, array in engine.state().items()}
            again = rows.engine(depth, state=saved)
            assert again.lower_bound == engine.lower_bound
            assert again.upper_bound == engine.upper_bound
            assert (again.shape(), again.nodes) == (engine.shape(), engine.nodes)
            run(again, 5)
            assert again.iterations == whole.iterations
            for name, array in again.state().items():
                assert name == "halves" or np.array_equal(array, whole.state()[name])
        if engine.step(1, -1) == FULL:
            engine.grow(None)


def test_refuses_states_of_others() -> None:
    rows = hard(60)
    engine = rows.engine(3)
    engine.grow(None)
    engine.step(10, -1)
    state = engine.state()
    with pytest.raises(InputError, match="another λ"):
        rows.engine(3, Fraction(1, 100), state=state)
    with pytest.raises(InputError, match="damaged"):
        rows.engine(4, state=state)
    with pytest.raises(InputError, match="depth"):
        rows.engine(2, state={**state, **rows.engine(1).state()})
    with pytest.raises(InputError, match="damaged"):
        rows.engine(3, state={**state, "cost": state["cost"][:, 1:]})
    for most in (3, 4, 5, 6):
        limited = rows.engine(3, Fraction(0), 1, most)
        limited.grow(None)
        for _ in range(2):
            limited.step(10, -1)
        assert rows.engine(3, Fraction(0), 1, most, limited.state()).iterations > 0
        for other in {None, 3, 4, 5, 6} - {most}:
            with pytest.raises(InputError, match=r"splits|damaged"):
                rows.engine(3, Fraction(0), 1, other, limited.state())
    with pytest.raises(InputError, match="another problem"):
        rows.engine(3, state={**state, "problem": np.array("other")})


def test_pools_grow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_POINTS", 64)  # fewer than this search needs
    rows = hard()
    whole = solved(rows, 3)
    assert whole.levels.code.shape[1] > module._POINTS
    roomy = rows.engine(3)
    roomy.grow(None)
    for _ in range(8):
        roomy.grow(None)
    run(roomy)
    assert (roomy.shape(), roomy.iterations) == (whole.shape(), whole.iterations)


@pytest.mark.parametrize("splits", [None, 3, 5])
def test_memory_is_known_before_it_is_taken(splits: int | None) -> None:
    engine = hard().engine(3, Fraction(0), 1, splits)
    before = engine.bytes
    needed = before + engine.table_bytes + engine._level_bytes(module._POINTS)
    assert engine.step(1, -1) == FULL
    assert not engine.grow(needed - 1)
    assert engine.bytes == before
    assert engine.grow(needed)
    parts = (engine.table, engine.parts, engine.scratch, engine.levels)
    held = sum(array.nbytes for part in parts for array in part)  # type: ignore[union-attr]
    assert held + engine._columns.nbytes == engine.bytes == needed - before
    assert not engine.grow(needed + 1)


def test_ends_when_it_is_good_enough() -> None:
    rows = hard()
    best = solved(rows, 3)
    engine = rows.engine(3)
    engine.grow(None)
    while engine.upper_bound > 2 * best.upper_bound:
        engine.step(10**9, 2 * best.upper_bound)
    assert engine.iterations < best.iterations // 10


def test_order_of_rows_changes_nothing() -> None:
    rows = hard()
    mixed = np.random.default_rng(2).permutation(len(rows.y))
    assert solved(rows, 3).shape() == solved(Rows(rows.x[mixed], rows.y[mixed]), 3).shape()


def test_nothing_to_split() -> None:
    one, same = np.zeros(1, np.int64), np.zeros(5, np.int64)
    labels = np.array([0, 1, 1])
    for rows in (
        Rows(np.zeros((1, 2)), one),
        Rows(np.zeros((3, 0)), labels),
        Rows(np.zeros((3, 2)), labels),
        Rows(np.arange(5.0)[:, None], same),
    ):
        for depth in (0, 1, 2, 2**61):
            engine = solved(rows, depth)
            assert engine.shape() == -1
            assert engine.upper_bound == rows.cost_scale().error * rows.leaf_errors


def test_hundreds_of_classes() -> None:
    y = np.arange(300)
    rows = Rows(np.column_stack((y, y % 7)).astype(float), y)
    engine = solved(rows, 2, Fraction(1, 1000))
    assert rows.look(engine.shape())[:2] == (296, 3)


def test_refuses_a_great_depth() -> None:
    with pytest.raises(InputError, match="set the limit depth to 16 or less"):
        hard().engine(17)


@pytest.mark.parametrize("depth", [2, 3])
def test_published_accuracies(shared_data: Path, depth: int) -> None:
    published = pd.read_csv(shared_data / "published-quantbnb.csv", index_col="dataset")
    for name, accuracy in published[f"depth{depth}_accuracy_percent"].items():
        table = pd.read_parquet(shared_data / "continuous" / "class" / f"{name}.parquet")
        table = table[table["split"] == "train"]
        x = table.drop(columns=["split", "target"]).to_numpy(float)
        rows = Rows(x, np.unique(table["target"], return_inverse=True)[1])
        engine = solved(rows, depth, slice_=10_000)
        errors, splits, _, _ = rows.look(engine.shape())
        assert rows.cost_scale().cost(errors, splits) == engine.upper_bound
        assert round(100 * (1 - errors / rows.total), 1) == accuracy, name
