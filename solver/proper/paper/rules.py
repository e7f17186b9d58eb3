"""Splitting rules as a tagged type, and all rules of some points: ``genRules`` (section 5.2).

A rule is known by its defining points and its two sides. Hyperplanes pass through D defining
points; the paper does not say on which side those lie. Here each way in which a small motion
separates them is a rule.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from solver.proper.paper.geometry import Cloud, Hyperplane, Point, Points, embed, members


@dataclass(frozen=True)
class Axis:
    """Tag of a rule parallel to the axes: whether a column exceeds the number of one point."""

    column: int


@dataclass(frozen=True)
class Plane:
    """Tag of a hyperplane through D points."""


@dataclass(frozen=True)
class Surface:
    """Tag of a surface of degree M through G = C(D + M, D) − 1 points."""

    degree: int


Kind: TypeAlias = Axis | Plane | Surface
"""What a rule is. A mixture is a list of rules of several kinds (end of section 5.2)."""


@dataclass(frozen=True)
class Rule:
    """A splitting rule r : R.

    Parameters
    ----------
    kind : Kind
    defining : Points
        The points that define it. It may be a descendant of a rule only if they all are on one side
        of that rule.
    positive, negative : Points
        r⁺ and r⁻: the points on either side. Every point is on one of them.
    """

    kind: Kind
    defining: Points
    positive: Points
    negative: Points


def gen_rules(coordinates: Sequence[Point], kinds: str, degree: int = 2) -> list[Rule]:
    """``genRules``: the rules that are needed to separate every region in every way.

    For every set of the (distinct) points, and every way in which a rule of the kind separates it,
    one of these rules is defined by points of the set and separates it so. Hence the proper trees
    of these rules are all trees whose splits are dichotomies of the points that reach them.
    ``kinds`` is ``axis``, ``hyperplane``, ``polynomial`` (of the degree), or ``mixed`` for all
    three.

    Notes
    -----
    A rule is left out if another one has the same sides and a subset of its defining points: that
    one can replace it anywhere.
    """
    kept: Undominated = {}
    for rule in find_rules(coordinates, kinds, degree):
        if rule is not None:
            put(kept, rule)
    return [rule for alike in kept.values() for rule in alike]


def find_rules(coordinates: Sequence[Point], kinds: str, degree: int) -> Iterator[Rule | None]:
    """The rules of :func:`gen_rules` and those that they can replace, one after the other.

    It yields None if it finds no new rule for a while, so that callers can check a clock.
    """
    if kinds in ("axis", "mixed"):
        yield from _axis_rules(coordinates)
    if kinds in ("hyperplane", "mixed"):
        yield from _plane_rules(Plane(), coordinates)
    if kinds in ("polynomial", "mixed"):
        yield from _plane_rules(Surface(degree), embed(coordinates, degree))


def _axis_rules(coordinates: Sequence[Point]) -> Iterator[Rule]:
    """``genRules_AODT``: a cut just above every point on every axis.

    A cut of some points is the one just above the last point below it.
    """
    everything = (1 << len(coordinates)) - 1
    for column in range(len(coordinates[0])):
        for i, point in enumerate(coordinates):
            above = sum(1 << j for j, p in enumerate(coordinates) if p[column] > point[column])
            if above:
                yield _rule(Axis(column), 1 << i, above, everything ^ above)


def _plane_rules(kind: Kind, coordinates: Sequence[Point]) -> Iterator[Rule | None]:
    """``genRules_HODT``: hyperplanes through as many points as define one, in every flat.

    A region spans a flat of some dimension k. As in :meth:`Cloud.dichotomies`, each way to separate
    it is that of a hyperplane of the flat through k independent points of the region, and of a
    dichotomy of the points on it. In general position, with more than D points in the region, k is
    D and this is the rule of the paper. The smaller flats are for regions of fewer points, or of
    points in one plane. Points outside the flat do not matter there: the first dichotomy of all
    points that separates the flat so decides them.
    """
    cloud = Cloud(coordinates)
    sides_of_all: set[Points] = set()
    for side in cloud.find_dichotomies(cloud.everything):
        sides_of_all.add(side)
        yield None
    whole = sorted(sides_of_all, key=_even_last)
    for flat in cloud.flats():
        yield None
        extended: dict[Points, Points] = {}
        for side in whole:
            extended.setdefault(side & flat, side)
        for hyperplane in cloud.hyperplanes(flat):
            sides = [extended[side] for side in _fallen(cloud, hyperplane) if 0 < side < flat]
            for defining in cloud.bases(hyperplane.on):
                for side in sides:
                    yield _rule(kind, defining, side, cloud.everything ^ side)


def _fallen(cloud: Cloud, hyperplane: Hyperplane) -> list[Points]:
    """The positive sides of a hyperplane, with the points on it on either."""
    return sorted(hyperplane.above | fallen for fallen in cloud.dichotomies(hyperplane.on))


def _even_last(side: Points) -> tuple[int, Points]:
    return side.bit_count(), side


def _rule(kind: Kind, defining: Points, side: Points, other: Points) -> Rule:
    """A rule with the first of all points on its negative side: two rules never differ in sign."""
    return Rule(kind, defining, side, other) if other & 1 else Rule(kind, defining, other, side)


Undominated: TypeAlias = dict[Points, list[Rule]]
"""Rules by their positive side, none of which another can replace."""


def put(kept: Undominated, rule: Rule) -> int:
    """Add a rule unless another one can replace it, and drop those that it can replace.

    Returns by how much the number of rules has grown.
    """
    alike = kept.setdefault(rule.positive, [])
    if any(other.defining & ~rule.defining == 0 for other in alike):
        return 0
    before = len(alike)
    alike[:] = [other for other in alike if rule.defining & ~other.defining] + [rule]
    return len(alike) - before


def describe(rule: Rule) -> str:
    """A rule in words, for people who follow an example."""
    through = ", ".join(map(str, members(rule.defining)))
    match rule.kind:
        case Axis(column):
            what = f"cut of column {column} above"
        case Plane():
            what = "hyperplane through"
        case Surface(degree):
            what = f"surface of degree {degree} through"
    return f"{what} {through}: {members(rule.positive)} | {members(rule.negative)}"
