"""Binary space partitions, against another way to make all of them and the randomised algorithm."""

from __future__ import annotations

import random
from collections.abc import Sequence
from fractions import Fraction
from itertools import permutations
from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solver.errors import InputError
from solver.proper.paper.tree_recursion import Leaf, Memo, Node, count, roots, trees
from solver.theory.proper_family.bsp import (
    Segments,
    best_partition,
    ordered_partition,
    parts,
    random_partition,
    size,
)

End = tuple[Fraction, Fraction]
Ends = tuple[End, End]
Given = tuple[int, int, int, int]


def left(a: End, b: End, c: End) -> Fraction:
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


def smallest(segments: frozenset[Ends], leaf_size: int) -> int:
    """The least size by cutting coordinates, every segment's line tried, nothing remembered."""
    if len(segments) <= leaf_size:
        return 1
    sizes = []
    for a, b in segments:
        sides: tuple[set[Ends], set[Ends]] = (set(), set())
        for c, d in segments:
            at_c, at_d = left(a, b, c), left(a, b, d)
            if min(at_c, at_d) < 0 < max(at_c, at_d):
                t = at_c / (at_c - at_d)
                middle = c[0] + t * (d[0] - c[0]), c[1] + t * (d[1] - c[1])
                sides[at_c < 0].add((c, middle))
                sides[at_c > 0].add((middle, d))
            elif at_c or at_d:
                sides[min(at_c, at_d) < 0].add((c, d))
        sizes.append(1 + sum(smallest(frozenset(side), leaf_size) for side in sides))
    return min(sizes)


def ends(segments: Sequence[Given]) -> frozenset[Ends]:
    return frozenset(
        ((Fraction(a), Fraction(b)), (Fraction(c), Fraction(d))) for a, b, c, d in segments
    )


coordinate = st.integers(0, 5)
segment = st.tuples(coordinate, coordinate, coordinate, coordinate).filter(lambda s: s[:2] != s[2:])
leaf_sizes: st.SearchStrategy[Literal[0, 1]] = st.sampled_from((0, 1))


@settings(max_examples=80, deadline=None)
@given(st.lists(segment, max_size=4, unique=True), leaf_sizes)
def test_equals_cutting_coordinates(given: list[Given], leaf_size: Literal[0, 1]) -> None:
    """On a small grid, so that segments touch, cross, overlap and lie on one line."""
    segments = Segments(given, leaf_size)
    found = best_partition(segments)
    assert found.cost == size(found.tree) == smallest(ends(given), leaf_size)
    orders = permutations(range(len(given)))
    assert found.cost <= min(size(ordered_partition(segments, order)) for order in orders)


@settings(max_examples=40, deadline=None)
@given(st.lists(segment, max_size=4), leaf_sizes)
def test_every_tree_keeps_every_bit(given: list[Given], leaf_size: Literal[0, 1]) -> None:
    """The parts of a segment are one whole again, and equal segments are no hindrance."""
    segments = Segments(given, leaf_size)
    everything = list(trees(segments.space, segments.all))
    assert len(everything) == count(segments.space, segments.all) == len(set(everything))
    for tree in everything[:50]:
        for i in range(len(given)):
            mine = [part for part in parts(tree) if part.segment == i]
            assert [part.end for part in mine] == [*(part.start for part in mine[1:]), 1]
            assert mine[0].start == 0
    best = best_partition(segments)
    assert best.cost == min(map(size, everything), default=1)
    assert best == best_partition(segments, Memo())


@settings(max_examples=40, deadline=None)
@given(st.lists(segment, max_size=4), leaf_sizes)
def test_orders_are_trees_of_the_recursion(given: list[Given], leaf_size: Literal[0, 1]) -> None:
    segments = Segments(given, leaf_size)
    everything = set(trees(segments.space, segments.all))
    sizes = {size(tree) for tree in everything}
    for order in permutations(range(len(given))):
        # Of several segments on one line an order may name another one as the root.
        assert size(ordered_partition(segments, order)) in sizes


WINDMILL = [(0, 0, 7, 0), (8, -2, 5, 5), (6, 8, 2, 1)]


def test_three_segments_in_a_ring() -> None:
    """Each line cuts the next segment, so one is always cut, whichever comes first."""
    segments = Segments(WINDMILL, leaf_size=0)
    for order in permutations(range(3)):
        assert len(parts(ordered_partition(segments, order))) >= 4
    found = best_partition(segments)
    assert len(parts(found.tree)) == 4
    assert found.cost == 2 * 4 + 1  # a node for each part, and the empty leaves
    assert best_partition(Segments(WINDMILL)).cost == 5


def test_an_order_of_all_segments_cannot_do_what_the_recursion_can() -> None:
    """Two regions may want two segments that both reach into them in opposite orders; no
    permutation of the segments gives that tree. (Of the parts, one does: Corollary 3.6.)"""
    given = [(2, 3, 5, 0), (5, 4, 0, 2), (4, 3, 3, 1), (3, 3, 4, 0), (2, 4, 1, 5)]
    segments = Segments(given)
    assert best_partition(segments).cost == smallest(ends(given), 1) == 9
    assert min(size(ordered_partition(segments, order)) for order in permutations(range(5))) == 11


def disjoint(n: int, seed: int) -> list[Given]:
    """Random segments that have no point in common, each in its own cell of a grid of cells."""
    rng = random.Random(seed)
    cells = rng.sample([(x, y) for x in range(8) for y in range(8)], n)
    found = []
    for x, y in cells:
        a, b = rng.sample([(i, j) for i in range(10) for j in range(10)], 2)
        found.append((x * 10 + a[0], y * 10 + a[1], x * 10 + b[0], y * 10 + b[1]))
    return found


@pytest.mark.parametrize("n", [4, 16, 48])
def test_randomised_algorithm(n: int) -> None:
    """The mean number of parts keeps to the bound on its expectation, n + 2n(1/2 + … + 1/n)."""
    segments = Segments(disjoint(n, seed=n), leaf_size=0)
    made = [len(parts(random_partition(segments, seed))) for seed in range(30)]
    bound = n + 2 * n * sum(1 / k for k in range(2, n + 1))
    assert n <= sum(made) / len(made) <= bound
    assert len(set(made)) > 1 or n == 4
    again = random_partition(segments, 7)
    assert again == random_partition(segments, 7)


@pytest.mark.parametrize("n", [5, 6, 7])
def test_randomised_algorithm_is_never_better(n: int) -> None:
    for seed in range(3):
        segments = Segments(disjoint(n, seed))
        least = best_partition(segments).cost
        assert all(size(random_partition(segments, s)) >= least for s in range(50))
        if n < 7:
            # Of segments that do not cross none was found for which the orders are too few.
            orders = permutations(range(n))
            assert min(size(ordered_partition(segments, order)) for order in orders) == least


def test_no_segment_one_and_two() -> None:
    for leaf_size in (0, 1):
        none = Segments([], leaf_size)
        assert best_partition(none) == (1, Leaf(()))
    assert best_partition(Segments([(0, 0, 1, 0)])).cost == 1
    assert best_partition(Segments([(0, 0, 1, 0)], leaf_size=0)).cost == 3
    parallel = [(0, y, 1, y) for y in range(5)]
    assert best_partition(Segments(parallel)).cost == 5  # every second one is a node
    assert best_partition(Segments(parallel, leaf_size=0)).cost == 2 * 5 + 1


@pytest.mark.parametrize(
    ("given", "n_parts", "n_nodes"),
    [
        ([(0, 0, 2, 0), (1, -1, 1, 1)], 3, 3),  # they cross: whichever comes first, one is cut
        ([(0, 0, 2, 0), (1, 0, 1, 1)], 2, 2),  # the end of one touches the other: none is
        ([(0, 0, 2, 0), (2, 0, 3, 1)], 2, 2),  # end to end
        ([(0, 0, 1, 0), (2, 0, 3, 0)], 2, 1),  # on one line: a single node
        ([(0, 0, 2, 0), (1, 0, 3, 0)], 2, 1),  # overlapping
        ([(0, 0, 1, 1), (1, 1, 0, 0)], 2, 1),  # the same, turned round
    ],
)
def test_pairs(given: list[Given], n_parts: int, n_nodes: int) -> None:
    found = best_partition(Segments(given, leaf_size=0))
    assert len(parts(found.tree)) == n_parts
    assert len(list(roots(found.tree))) == n_nodes
    assert found.cost == 2 * n_nodes + 1


def test_fractions_decide() -> None:
    """In floats 0.9·0.1 − 0.3·0.3 is not 0, and the second segment would not lie on the line."""
    assert 0.9 * 0.1 - 0.3 * 0.3 != 0
    tree = best_partition(Segments([(0, 0, 0.3, 0.1), (0.6, 0.2, 0.9, 0.3)])).tree
    assert isinstance(tree, Node)
    assert len(tree.root.on) == 2


def test_no_segments() -> None:
    with pytest.raises(InputError, match="two different ends"):
        Segments([(1, 1, 1, 1)])
    with pytest.raises(InputError, match="two different ends"):
        Segments([(1, 1, 2)])
    with pytest.raises(InputError, match="'x', which is not a finite number"):
        Segments([(0, 0, 1, "x")])


def test_no_order() -> None:
    with pytest.raises(InputError, match=r"\[0, 0, 1\] is no order of the 3 segments"):
        ordered_partition(Segments(WINDMILL), [0, 0, 1])
