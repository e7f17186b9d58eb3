"""Four lines as in Figure 5 of the paper, whose coordinates are not printed.

Known of the figure: each line passes through two points, the four lines make three proper trees,
these part the plane in two ways, and r0 is the root of none of them (section 4.4), nor is it
related to r2 (K02 = 0). `search` finds such lines among random points on a small grid; what
it finds first is :data:`POINTS`.
"""

from __future__ import annotations

from itertools import combinations, count
from random import Random

from solver.proper.paper.ancestry import ancestry
from solver.proper.paper.rules import Plane, Rule
from solver.proper.paper.tree_recursion import Tree, leaves
from solver.theory.proper_framework.tree_generators import gen_dts

Place = tuple[int, int]

POINTS: tuple[Place, ...] = ((0, 8), (1, 5), (3, 8), (5, 5), (8, 0), (1, 4), (4, 3), (7, 4))
"""Line r0 passes through the first two, r1 through the next two, and so on."""


def height(a: Place, b: Place, c: tuple[int, int]) -> int:
    """Positive if c lies to the left of the line from a to b, 0 if on it."""
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


def cells(lines: list[tuple[Place, Place]]) -> list[tuple[int, ...]]:
    """The parts into which the lines cut the plane, as the side of each line that they are on.

    No two lines are parallel and no three meet: so each cell has a corner, where two lines cross,
    and all four combinations of their sides meet there.
    """
    found = set()
    for (i, (a, b)), (j, (c, d)) in combinations(enumerate(lines), 2):
        # a + t·(b − a) on the second line: t = above / (above − below), over a common divisor.
        above, below = height(c, d, a), height(c, d, b)
        divisor = above - below
        corner = tuple(x * divisor + above * (y - x) for x, y in zip(a, b, strict=True))
        sides = []
        for p, q in lines:
            scaled = [(x * divisor, y * divisor) for x, y in (p, q)]
            sides.append(height(scaled[0], scaled[1], corner))
        assert divisor
        assert [k for k, side in enumerate(sides) if side == 0] == [i, j]
        for at_i in (1, -1):
            for at_j in (1, -1):
                signs = [1 if side > 0 else -1 for side in sides]
                signs[i], signs[j] = at_i, at_j
                found.add(tuple(signs))
    return sorted(found)


def in_general_position(points: tuple[Place, ...]) -> bool:
    """Whether no three points are collinear, no two lines parallel, and no three meet."""
    if len(set(points)) < len(points) or not all(height(*t) for t in combinations(points, 3)):
        return False
    try:
        return len(cells([*zip(points[::2], points[1::2], strict=True)])) == 11
    except AssertionError:
        return False


def rules_of(points: tuple[Place, ...]) -> tuple[list[Rule], int]:
    """The four rules, over the eight points and the cells of the plane, and the set of the cells.

    The defining points of a line count to its positive side, which no other line asks.
    """
    lines = [*zip(points[::2], points[1::2], strict=True)]
    plane = cells(lines)
    rules = []
    for i, (a, b) in enumerate(lines):
        above = [height(a, b, p) >= 0 for p in points] + [cell[i] > 0 for cell in plane]
        positive = sum(1 << bit for bit, side in enumerate(above) if side)
        everything = (1 << len(above)) - 1
        rules.append(Rule(Plane(), 0b11 << 2 * i, positive, everything ^ positive))
    return rules, ((1 << len(plane)) - 1) << len(points)


def partitions(trees: list[Tree]) -> set[frozenset[int]]:
    """The different ways in which the trees part the space."""
    return {frozenset(leaves(tree)) for tree in trees}


def is_like_the_figure(points: tuple[Place, ...]) -> bool:
    """Whether all is so that the paper says of its figure."""
    if not in_general_position(points):
        return False
    rules, plane = rules_of(points)
    trees = gen_dts(rules, plane)
    return (
        len(trees) == 3
        and len(partitions(trees)) == 2
        and all(tree.root != rules[0] for tree in trees)
        and ancestry(rules[0], rules[2]) == 0
    )


def search(side: int = 9) -> tuple[Place, ...]:
    """The first eight random points of a grid whose lines are like the figure's."""
    for seed in count():
        random = Random(seed)
        points = tuple((random.randrange(side), random.randrange(side)) for _ in range(8))
        if is_like_the_figure(points):
            return points
