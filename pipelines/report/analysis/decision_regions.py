"""Decision regions of trees in the plane of two columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pipelines.report.analysis.rule_families import AXIS, FamilySet, FamilyTree, RawRows
from solver.features.node_tests import NodeTest, ThresholdTest
from solver.features.oblique_tests import HyperplaneTest, SurfaceTest
from solver.trees.tree import Tree

MOST_SIZES, MOST_PAIRS = 3, 2
"""The largest number of sizes of trees, and of pairs of columns, that are drawn."""

_MOST_COLUMNS = 6
"""Pairs are tried among this many columns: those of most splits."""

_MOST_TRIED = 2000
"""The faithfulness of a plane is estimated on about this many rows."""

_MARGIN = 0.12
_PIXELS = 240
"""Pixels of a region along each side."""


class Span(NamedTuple):
    """The range of a column."""

    low: float
    high: float


@dataclass(frozen=True, eq=False)
class Plane:
    """The plane of two columns; all others are held at fixed values."""

    columns: tuple[str, str]  # of the horizontal and the vertical axis
    spans: tuple[Span, Span]
    held: dict[str, float]  # the medians of the other columns that the trees read
    faithful: float  # share of the rows whose predictions are the same in this plane


@dataclass(frozen=True, eq=False)
class Regions:
    """The predictions of a tree all over a plane.

    ``heights`` says for each split by how much its number exceeds the threshold. The split is where
    this is 0; it is missing (NaN) where the tree does not reach the split.
    """

    across: NDArray[np.float64]  # (pixels,): the middles of the pixels
    up: NDArray[np.float64]  # (pixels,)
    classes: NDArray[np.int64]  # (pixels, pixels): predicted classes, rows from the bottom up
    heights: list[NDArray[np.float64]]  # (pixels, pixels) each


def chosen_trees(trees: Sequence[FamilyTree]) -> list[list[FamilyTree]]:
    """The trees to draw, a list for each size.

    Draws the sizes that most families have, in a tie the smaller ones. The last list has the best
    larger axis-parallel tree, and the trees of solvers without a choice of rules.
    """
    main = [shown for shown in trees if shown.given] or list(trees)
    others = [shown for shown in trees if shown not in main]
    by_size: dict[int, list[FamilyTree]] = {}
    for shown in main:
        by_size.setdefault(shown.size, []).append(shown)
    kept = sorted(by_size, key=lambda size: (-len(by_size[size]), size))[:MOST_SIZES]
    lines = [by_size[size] for size in sorted(kept)]
    larger = [t for t in main if t.rules == AXIS and t.size > max(kept, default=0)]
    last = []
    for family in dict.fromkeys(shown.family for shown in (*larger, *others)):
        own = [shown for shown in (*larger, *others) if shown.family == family]
        last.append(max(own, key=lambda shown: (shown.train_accuracy, -shown.size)))
    return [*lines, last] if last else lines


def find_planes(found: FamilySet, trees: Sequence[FamilyTree]) -> list[Plane]:
    """The planes to draw: the pairs of columns that show most of the trees' predictions. There is
    none if a column is not a number or its range is unknown."""
    used = _used_columns(trees)
    if not used or any(s.kind != "number" for t in trees for s in t.tree.columns.values()):
        return []
    rows = found.rows
    if rows is None:
        if len(used) != 2:
            return []
        x, y = sorted(used)
        across, up = _span_of_trees(trees, x), _span_of_trees(trees, y)
        return [] if across is None or up is None else [Plane((x, y), (across, up), {}, 1.0)]
    numbers = _numbers(rows, trees)
    known = [str(name) for name in numbers.columns]
    names = [name for name in known if name in used]
    names += [name for name in known if name not in used][: max(2 - len(names), 0)]
    if len(names) < 2:
        return []
    spans = {name: _span(numbers[name].to_numpy(np.float64)) for name in names}
    medians = numbers.median()
    some = numbers.iloc[:: max(1, len(numbers) // _MOST_TRIED)]
    tried = sorted(names, key=lambda name: -used.get(name, 0.0))[:_MOST_COLUMNS]
    planes = []
    for x, y in combinations([name for name in names if name in tried], 2):
        held = {name: float(medians[name]) for name in used if name not in (x, y)}
        faithful = _faithfulness(trees, some, held)
        planes.append(Plane((x, y), (spans[x], spans[y]), held, faithful))
    planes.sort(key=lambda plane: -plane.faithful)
    return planes[:MOST_PAIRS]


def find_regions(tree: Tree, plane: Plane, pixels: int = _PIXELS) -> Regions:
    """The predictions of a tree at the middles of ``pixels`` × ``pixels`` pixels."""
    across, up = (
        span.low + (np.arange(pixels) + 0.5) * (span.high - span.low) / pixels
        for span in plane.spans
    )
    x, y = np.meshgrid(across, up)
    frame = pd.DataFrame({plane.columns[0]: x.ravel(), plane.columns[1]: y.ravel()})
    frame = frame.assign(**plane.held)
    ends = tree.apply(frame)
    heights = []
    reached = {node: ends == node for node in range(len(tree.nodes))}
    for position in reversed(range(len(tree.nodes))):
        node = tree.nodes[position]
        for child in node.children:
            reached[position] |= reached[child]
        if node.feature is not None:
            height = _height(tree.tests[node.feature], frame)
            height[~reached[position]] = np.nan
            heights.append(height.reshape(pixels, pixels))
    classes = _predictions(tree)[ends].reshape(pixels, pixels)
    return Regions(across, up, classes, heights[::-1])


def _height(test: NodeTest, frame: pd.DataFrame) -> NDArray[np.float64]:
    """By how much the number that a test reads exceeds its threshold."""
    if isinstance(test, ThresholdTest):
        return frame[test.column].to_numpy(np.float64) - test.threshold
    assert isinstance(test, SurfaceTest)
    columns = [frame[name].to_numpy(np.float64) for name in test.columns]
    total = np.full(len(frame), -test.threshold)
    for weight, powers in zip(test.weights, test.powers, strict=True):
        total += weight * np.prod([c**p for c, p in zip(columns, powers, strict=True)], axis=0)
    return total


def find_mistakes(tree: Tree, rows: RawRows) -> NDArray[np.bool_]:
    """Which rows a tree gets wrong, by all of their columns."""
    place = {label: i for i, label in enumerate(tree.classes)}
    truth = np.array([place.get(label, -1) for label in rows.labels])[rows.target]
    return np.asarray(_predictions(tree)[tree.apply(rows.features)] != truth)


def _predictions(tree: Tree) -> NDArray[np.int64]:
    return np.array([node.prediction for node in tree.nodes], dtype=np.int64)


def _used_columns(trees: Sequence[FamilyTree]) -> dict[str, float]:
    """The share of the splits that each column is in, summed over trees."""
    used: dict[str, float] = {}
    for shown in trees:
        for node in shown.tree.nodes:
            if node.feature is not None:
                for column in shown.tree.tests[node.feature].columns:
                    used[column] = used.get(column, 0.0) + 1 / shown.size
    return used


def _numbers(rows: RawRows, trees: Sequence[FamilyTree]) -> pd.DataFrame:
    """The numeric columns as the trees read them, in the order of the table."""
    specs = {name: spec for shown in trees for name, spec in shown.tree.columns.items()}
    found = {}
    for name in map(str, rows.features.columns):
        if name in specs:
            found[name] = specs[name].read(rows.features[name])
        elif pd.api.types.is_numeric_dtype(rows.features[name].dtype):
            found[name] = rows.features[name].to_numpy(np.float64, na_value=np.nan)
    return pd.DataFrame(found)


def _faithfulness(
    trees: Sequence[FamilyTree], numbers: pd.DataFrame, held: dict[str, float]
) -> float:
    if not held:
        return 1.0
    same = []
    for shown in trees:
        say = _predictions(shown.tree)
        whole, cut = (say[shown.tree.apply(f)] for f in (numbers, numbers.assign(**held)))
        same.append(float(np.mean(whole == cut)))
    return float(np.mean(same))


def _span(values: NDArray[np.float64]) -> Span:
    finite = values[np.isfinite(values)]
    low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 1.0)
    margin = _MARGIN * (high - low) or abs(low) or 1.0
    return Span(low - margin, high + margin)


def _span_of_trees(trees: Sequence[FamilyTree], column: str) -> Span | None:
    """The range of a column, estimated from the trees: twice that of their cuts."""
    tests = [test for shown in trees for test in shown.tree.tests.values()]
    cuts = [t.threshold for t in tests if isinstance(t, ThresholdTest) and t.column == column]
    if not cuts:
        cuts = [crossing for test in tests for crossing in _crossings(test, column)]
    if not cuts:
        return None
    low, high = min(cuts), max(cuts)
    reach = (high - low) / 2 or abs(low) or 1.0
    return Span(low - reach, high + reach)


def _crossings(test: NodeTest, column: str) -> Iterator[float]:
    """Where a hyperplane meets the axis of a column."""
    if isinstance(test, HyperplaneTest) and column in test.columns:
        alone = tuple(int(name == column) for name in test.columns)
        for weight, powers in zip(test.weights, test.powers, strict=True):
            if powers == alone and weight:
                yield test.threshold / weight
