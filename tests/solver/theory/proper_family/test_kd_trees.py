"""K-D trees, against inserting the points in every order and against real searches."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import count as numbers
from itertools import permutations, product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solver.errors import InputError
from solver.proper.paper.tree_recursion import Leaf, Memo, Node, Tree, count, leaves, roots, trees
from solver.theory.proper_family.kd_trees import (
    Points,
    Region,
    best_axes,
    best_kd_tree,
    found_again,
    height,
    looked_at,
    surface,
)

Point = tuple[int, ...]

# Seven points as in the paper's Figure 9: A in the middle on the first axis, B and C of the two
# halves on the second one, the other four below them on the first again.
SEVEN = [(5, 4), (2, 3), (8, 5), (1, 1), (3, 6), (9, 2), (7, 7)]


Plain = tuple[int, Any, Any] | None
"""A tree by insertion: the number of a point, and what is on either side."""


def inserted(points: Sequence[Point], order: Sequence[int], axes: Sequence[int]) -> Plain:
    """Bentley's insertion, point by point."""

    def insert(tree: Plain, new: int, level: int) -> Plain:
        if tree is None:
            return new, None, None
        at, left, right = tree
        axis = axes[level % len(axes)]
        if points[new][axis] < points[at][axis]:
            return at, insert(left, new, level + 1), right
        return at, left, insert(right, new, level + 1)

    tree: Plain = None
    for new in order:
        tree = insert(tree, new, 0)
    return tree


def plain(tree: Tree) -> Plain:
    if isinstance(tree, Leaf):
        return None
    return tree.root.point, plain(tree.left), plain(tree.right)


def depths(tree: Plain, depth: int = 1) -> list[int]:
    if tree is None:
        return []
    return [depth, *depths(tree[1], depth + 1), *depths(tree[2], depth + 1)]


def search(points: Sequence[Point], tree: Plain, axes: Sequence[int], query: Point) -> int:
    """A best-first search for the nearest neighbour: how many points it looks at."""
    box = [(min(c), max(c)) for c in zip(*points, strict=True)]
    ties = numbers()
    nearest = float("inf")
    looked = 0
    queue = [(0, next(ties), tree, 0, box)]
    while queue:
        apart, _, at, level, cell = heapq.heappop(queue)
        if apart > nearest:
            break
        if at is None:
            continue
        looked += 1
        here = points[at[0]]
        nearest = min(nearest, sum((a - b) ** 2 for a, b in zip(here, query, strict=True)))
        axis = axes[level % len(axes)]
        low, high = cell[axis]
        for below, side in ((at[1], (low, here[axis])), (at[2], (here[axis], high))):
            part = [*cell[:axis], side, *cell[axis + 1 :]]
            gap = sum(max(a - x, x - b, 0) ** 2 for x, (a, b) in zip(query, part, strict=True))
            heapq.heappush(queue, (gap, next(ties), below, level + 1, part))
    return looked


def flat(dimension: int, n: int) -> st.SearchStrategy[list[Point]]:
    """Points of a small grid: many have a coordinate in common, some are the same."""
    return st.lists(st.tuples(*[st.integers(0, 4)] * dimension), min_size=1, max_size=n)


@settings(max_examples=60, deadline=None)
@given(flat(2, 5), st.sampled_from(((0, 1), (1, 0), (0,), (0, 0, 1))))
def test_all_trees_are_those_of_insertion(points: list[Point], axes: tuple[int, ...]) -> None:
    kd = Points(points)
    everything = {inserted(points, order, axes) for order in permutations(range(len(points)))}
    made = [plain(tree) for tree in trees(kd.space, kd.start(axes))]
    assert len(made) == len(set(made)) == count(kd.space, kd.start(axes))
    assert set(made) == everything


@settings(max_examples=60, deadline=None)
@given(flat(2, 5) | flat(3, 4), st.data())
def test_equals_every_order_of_insertion(points: list[Point], data: st.DataObject) -> None:
    axes = tuple(range(len(points[0])))
    corner = st.tuples(*[st.integers(-1, 6)] * len(axes))
    queries = data.draw(st.lists(corner, min_size=1, max_size=4))
    kd = Points(points)
    everything = [inserted(points, order, axes) for order in permutations(range(len(points)))]

    shallow = best_kd_tree(kd, height)
    assert shallow.cost == min(max(depths(tree)) for tree in everything)
    again = best_kd_tree(kd, looked_at(found_again))
    assert again.cost == min(sum(depths(tree)) for tree in everything)
    assert again.cost == sum(depths(plain(again.tree)))

    nearest = best_kd_tree(kd, looked_at(kd.reached(queries)))
    of_searches = [sum(search(points, tree, axes, q) for q in queries) for tree in everything]
    assert nearest.cost == min(of_searches)
    assert nearest.cost == sum(search(points, plain(nearest.tree), axes, q) for q in queries)


def test_seven_points_of_figure_9() -> None:
    found = best_kd_tree(Points(SEVEN), looked_at(found_again))
    assert found.cost == 1 + 2 * 2 + 4 * 3
    assert [(cut.point, cut.axis) for cut in roots(found.tree)] == [
        (0, 0), (1, 1), (3, 0), (4, 0), (2, 1), (5, 0), (6, 0),
    ]  # fmt: skip
    assert best_kd_tree(Points(SEVEN), height).cost == 3


def test_what_is_asked_decides_what_is_best() -> None:
    """Searches near two corners are served better by a tree that is not balanced."""
    kd = Points(SEVEN)
    queries = [(10, 3), (10, 3), (10, 3), (0, 0)]
    objective = looked_at(kd.reached(queries))
    suited, balanced = best_kd_tree(kd, objective), best_kd_tree(kd, height)
    assert suited.cost == 9
    assert objective(balanced.tree) == 12
    assert height(suited.tree) == 4
    assert suited.cost == sum(search(SEVEN, plain(suited.tree), (0, 1), q) for q in queries)
    orders = permutations(range(7))
    assert suited.cost == min(
        sum(search(SEVEN, tree, (0, 1), q) for q in queries)
        for tree in {inserted(SEVEN, order, (0, 1)) for order in orders}
    )


@settings(max_examples=25, deadline=None)
@given(flat(2, 5), st.sampled_from((looked_at(found_again), looked_at(surface), height)))
def test_best_axes_are_the_best_of_all(points: list[Point], objective: Any) -> None:
    kd = Points(points)
    chosen = best_axes(kd, objective)
    everything = [
        best_kd_tree(kd, objective, axes).cost for axes in product((0, 1), repeat=len(points))
    ]
    assert chosen.found.cost == min(everything)
    assert best_kd_tree(kd, objective, chosen.axes) == chosen.found


def test_best_axes_of_a_flat_cloud() -> None:
    """Points on a line along the second axis: cuts on the first one part nothing."""
    kd = Points([(0, y) for y in range(7)])
    found, axes = best_axes(kd, height)
    assert found.cost == 3
    assert axes[:2] == (1, 1)  # the third level has one point in each region
    assert best_kd_tree(kd, height, (1,)).cost == 3
    assert best_kd_tree(kd, height, (0,)).cost == 7
    assert best_kd_tree(kd, height, (0, 1)).cost > 3


@settings(max_examples=40, deadline=None)
@given(flat(2, 5), st.integers(0, 3))
def test_buckets(points: list[Point], bucket: int) -> None:
    kd = Points(points, bucket)
    queries = [(0, 0), (3, 4)]
    objectives: list[Any] = [looked_at(found_again), looked_at(kd.reached(queries)), height]
    everything = list(trees(kd.space, kd.start((0, 1))))
    for objective in objectives:
        found = best_kd_tree(kd, objective)
        assert found.cost == min(map(objective, everything)) == objective(found.tree)
    for tree in everything[:20]:
        regions: list[Region] = list(leaves(tree))
        assert all(len(region.points) <= bucket for region in regions)
        held = [i for region in regions for i in region.points]
        assert sorted([*held, *(cut.point for cut in roots(tree))]) == list(range(len(points)))


def test_surfaces() -> None:
    square = Region((), (Fraction(0), Fraction(0)), (Fraction(3), Fraction(4)))
    assert surface(square) == 7
    box = Region((), (Fraction(0),) * 3, (Fraction(1), Fraction(2), Fraction(3)))
    assert surface(box) == 11
    assert surface(Region((), (Fraction(0),), (Fraction(9),))) == 1
    # A cell of 4 × 2 cut at its middle on the long side: 6 and twice an empty leaf of cost 0.
    kd = Points([(0, 0), (2, 1), (4, 2)], bucket=1)
    tree = best_kd_tree(kd, looked_at(surface)).tree
    assert [cut.point for cut in roots(tree)] == [1]
    assert looked_at(surface)(tree) == 6 + 4 + 4


def test_a_memo_can_be_watched() -> None:
    memo = Memo()
    best_kd_tree(Points(SEVEN), height, memo=memo)
    assert 0 < memo.rate < 1


@pytest.mark.parametrize("of", [height, looked_at(found_again)])
def test_one_point_two_and_the_same_thrice(of: Callable[[Tree], Any]) -> None:
    assert isinstance(best_kd_tree(Points([(1, 2)]), of).tree, Node)
    assert best_kd_tree(Points([(1, 2), (1, 2)]), height).cost == 2
    thrice = best_kd_tree(Points([("0.1", 2)] * 3), looked_at(found_again))
    assert thrice.cost == 1 + 2 + 3
    assert isinstance(best_kd_tree(Points([(1, 2)], bucket=1), of).tree, Leaf)
    assert best_axes(Points([(1, 2)], bucket=1), height).axes == ()


def test_bad_points() -> None:
    for bad in ([], [()], [(1, 2), (1,)]):
        with pytest.raises(InputError, match="the same number of coordinates"):
            Points(bad)
    with pytest.raises(InputError, match=r"axes \[2\] are not of 0 to 1"):
        best_kd_tree(Points([(1, 2)]), height, (2,))
    with pytest.raises(InputError, match=r"query \(1,\) has not 2 coordinates"):
        Points([(1, 2)]).reached([(1,)])
