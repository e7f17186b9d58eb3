"""Optimal trees on numbers, held against the plain search and the published accuracies."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from solver.errors import InputError
from solver.quantbnb import engine as module
from solver.quantbnb.engine import Engine, Split
from tests.naive import least_numeric_cost

Draw = Callable[[st.SearchStrategy[int]], int]


def predict(tree: Split | int, x: NDArray[np.float64]) -> NDArray[np.int64]:
    if isinstance(tree, int):
        return np.full(len(x), tree)
    left = x[:, tree.feature] < tree.threshold
    return np.where(left, predict(tree.left, x), predict(tree.right, x))


def depth_of(tree: Split | int) -> int:
    return 0 if isinstance(tree, int) else 1 + max(depth_of(tree.left), depth_of(tree.right))


def cost_of(search: Engine) -> int:
    tree = search.tree()
    errors = int(search.weights[predict(tree, search.x) != search.y].sum())
    splits = 0 if isinstance(tree, int) else tree.splits
    return search.rules.error * errors + search.rules.split * splits


def solved(*arguments: object, slice_: int = 1000) -> Engine:
    search = Engine(*arguments)  # type: ignore[arg-type]
    while search.step(slice_):
        assert search.proven <= search.achieved
    assert search.proven == search.achieved
    return search


@st.composite
def problems(draw: Draw) -> tuple[object, ...]:
    """Few rows, with ties, several classes and weights."""
    depth = draw(st.sampled_from([1, 2, 2, 3, 4]))
    n = draw(st.integers(1, {1: 40, 2: 40, 3: 14, 4: 9}[depth]))
    p = draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    x = rng.integers(0, draw(st.sampled_from([1, 2, 3, 6, 100])), (n, p)) / 7
    y = rng.integers(0, draw(st.integers(1, 5)), n)
    weights = rng.integers(1, draw(st.sampled_from([2, 4, 100])), n)
    error = draw(st.sampled_from([1, 1, 2, 5]))
    split = draw(st.sampled_from([0, 0, 1, 3, 17]))
    return x, y, weights, depth, error, split


@settings(max_examples=300, deadline=None)
@given(problems())
def test_cost_is_that_of_the_plain_search(problem: tuple[object, ...]) -> None:
    x, y, weights, *rest = problem
    search = solved(*problem)
    plain = least_numeric_cost(x.tolist(), y.tolist(), weights.tolist(), *rest)  # type: ignore[attr-defined]
    assert search.achieved == plain
    # With a free split, one that is of no use may be left out of the tree.
    assert cost_of(search) == plain
    assert depth_of(search.tree()) <= problem[3]  # type: ignore[operator]


@pytest.mark.parametrize("seed", range(12))
def test_many_blocks_of_rows(seed: int) -> None:
    """Rows that fill several groups of blocks, with long runs of equal values."""
    rng = np.random.default_rng(seed)
    n, classes = int(rng.integers(400, 3000)), int(rng.integers(2, 6))
    x = np.floor(rng.random((n, 2)) ** 2 * rng.integers(3, 9))
    y = np.where(rng.random(n) < 0.4, rng.integers(0, classes, n), (x.sum(axis=1) * 7) % classes)
    y = y.astype(np.int64)
    # The plain search sees one row for all that are equal but for the weight.
    table = pd.DataFrame(np.column_stack((x, y))).value_counts().reset_index()
    few, labels = table[[0, 1]].to_numpy(float), table[2].to_numpy(np.int64)
    counts = table["count"].to_numpy(np.int64)
    best = _least_depth2(few, labels, counts)
    assert solved(x, y, None, 2).achieved == best
    assert solved(few, labels, counts, 2).achieved == best


def _least_depth2(x: NDArray[np.float64], y: NDArray[np.int64], w: NDArray[np.int64]) -> int:
    def errors(rows: NDArray[np.bool_]) -> int:
        return int(w[rows].sum() - np.bincount(y[rows], w[rows], minlength=1).max(initial=0))

    masks = [x[:, f] < v for f in range(x.shape[1]) for v in np.unique(x[:, f])]
    return min(
        sum(min(errors(side & m) + errors(side & ~m) for m in masks) for side in (a, ~a))
        for a in masks
    )


@pytest.mark.parametrize("n", [511, 512, 513, 32_766, 33_000])
def test_every_value_is_different(n: int) -> None:
    """Also more values than fit into 16 bits, and rows that just fill their blocks."""
    rng = np.random.default_rng(n)
    place = np.arange(n)
    y = (place * 4 // n) % 3
    x = np.column_stack((rng.random(n), place))
    shuffled = rng.permutation(n)
    search = solved(x[shuffled], y[shuffled], None, 2)
    assert search.achieved == 0 == cost_of(search)


def test_weights_are_repeated_rows() -> None:
    rng = np.random.default_rng(5)
    x, y = rng.integers(0, 30, (300, 3)).astype(float), rng.integers(0, 3, 300)
    weights = rng.integers(1, 9, 300)
    one, many = solved(x, y, weights, 3), solved(x.repeat(weights, 0), y.repeat(weights), None, 3)
    assert one.achieved == many.achieved


def hard() -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    rng = np.random.default_rng(1)
    x = rng.random((700, 3))
    y = ((x[:, 0] > 0.5).astype(int) + (x[:, 1] > x[:, 2])) % 2
    return x, np.where(rng.random(700) < 0.2, 1 - y, y)


@pytest.mark.parametrize("depth", [2, 3])
def test_slices_change_nothing(depth: int) -> None:
    x, y = hard()
    whole = solved(x, y, None, depth, slice_=10**9)
    sliced = Engine(x, y, None, depth)
    before = (0, 10**9)
    while sliced.step(17):
        now = sliced.proven, sliced.achieved
        assert before[0] <= now[0] <= whole.achieved <= now[1] <= before[1]
        if sliced.evaluations < 500:
            assert cost_of(sliced) == now[1]
        before = now
    assert sliced.evaluations == whole.evaluations
    assert sliced.tree() == whole.tree()


def test_pools_grow(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = hard()
    whole = solved(x, y, None, 3)
    monkeypatch.setattr(module, "_POINTS", 4)
    small = solved(x, y, None, 3)
    assert small.levels.code.shape[1] > 4
    assert (small.tree(), small.evaluations) == (whole.tree(), whole.evaluations)


def test_order_of_rows_changes_nothing() -> None:
    x, y = hard()
    mixed = np.random.default_rng(2).permutation(len(y))
    assert solved(x, y, None, 3).achieved == solved(x[mixed], y[mixed], None, 3).achieved


def test_threshold_lies_between_neighbouring_numbers() -> None:
    above = np.nextafter(1.0, 2.0)
    split = Split(0, 1.0, above, 0, 1)
    assert split.threshold == above
    assert Split(0, -1e308, 1e308, 0, 1).threshold == 0.0


@pytest.mark.parametrize(
    ("x", "weights", "depth", "words"),
    [
        (np.array([[np.nan], [1.0]]), None, 2, "not finite"),
        (np.array([[0.0], [1.0]]), None, 0, "depth"),
        (np.array([[0.0], [1.0]]), np.array([2**30, 2**30]), 2, "too large"),
    ],
)
def test_refuses(x: NDArray[np.float64], weights: object, depth: int, words: str) -> None:
    with pytest.raises(InputError, match=words):
        Engine(x, np.array([0, 1]), weights, depth)  # type: ignore[arg-type]


@pytest.mark.parametrize("depth", [2, 3])
def test_published_accuracies(shared_data: Path, depth: int) -> None:
    published = pd.read_csv(shared_data / "published-quantbnb.csv", index_col="dataset")
    for name, accuracy in published[f"depth{depth}_accuracy_percent"].items():
        table = pd.read_parquet(shared_data / "continuous" / "class" / f"{name}.parquet")
        table = table[table["split"] == "train"]
        x = table.drop(columns=["split", "target"]).to_numpy(float)
        y = np.unique(table["target"], return_inverse=True)[1]
        search = solved(x, y, None, depth, slice_=10_000)
        assert cost_of(search) == search.achieved
        assert round(100 * (1 - search.achieved / len(y)), 1) == accuracy, name
