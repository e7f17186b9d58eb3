"""Splitting rules as a tagged type, and all that points give rise to: ``genRules`` (section 5.2).

A rule is known by the points that define it and by how it parts all points. Hyperplanes pass
through their defining points, D of them, and the paper leaves open on which side those lie; here
each way in which a small motion lets them fall is a rule of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from solver.proper.framework.geometry import Cloud, Hyperplane, Point, Points, embed, members


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
        The points that define it. It may be a descendant of another rule only if that one has all
        of them on one side.
    positive, negative : Points
        r⁺ and r⁻: the points on either side. Every point is on one of them.
    """

    kind: Kind
    defining: Points
    positive: Points
    negative: Points


def gen_rules(coordinates: Sequence[Point], kinds: str, degree: int = 2) -> list[Rule]:
    """``genRules``: the rules that are needed to part every region in every way.

    For every set of the points, and every way in which a rule of the kind parts that set, there is
    one among these that is defined by points of the set and parts it so. Hence the trees of these
    rules that are proper are all trees whose splits are dichotomies of what reaches them.

    Parameters
    ----------
    coordinates : sequence of tuples of int
        Distinct points.
    kinds : str
        ``axis``, ``hyperplane``, ``polynomial`` (of the degree), or ``mixed`` for all three.

    Notes
    -----
    Of rules with the same two sides those are left out whose defining points contain those of
    another: wherever they may stand, the other may.
    """
    kept: Undominated = {}
    for rule in find_rules(coordinates, kinds, degree):
        if rule is not None:
            put(kept, rule)
    return [rule for alike in kept.values() for rule in alike]


def find_rules(coordinates: Sequence[Point], kinds: str, degree: int) -> Iterator[Rule | None]:
    """The rules of :func:`gen_rules` and those that these can replace, one after the other.

    None comes where there is no new rule after some time, for those who watch a clock.
    """
    if kinds in ("axis", "mixed"):
        yield from _axis_rules(coordinates)
    if kinds in ("hyperplane", "mixed"):
        yield from _plane_rules(Plane(), coordinates)
    if kinds in ("polynomial", "mixed"):
        yield from _plane_rules(Surface(degree), embed(coordinates, degree))


def _axis_rules(coordinates: Sequence[Point]) -> Iterator[Rule]:
    """``genRules_AODT``: a cut just above every point on every axis.

    A cut of some of the points is the one just above the last point below it.
    """
    everything = (1 << len(coordinates)) - 1
    for column in range(len(coordinates[0])):
        for i, point in enumerate(coordinates):
            above = sum(1 << j for j, p in enumerate(coordinates) if p[column] > point[column])
            if above:
                yield _rule(Axis(column), 1 << i, above, everything ^ above)


def _plane_rules(kind: Kind, coordinates: Sequence[Point]) -> Iterator[Rule | None]:
    """``genRules_HODT``: hyperplanes through as many points as define one, in every flat.

    A region spans a flat, of dimension k say. As for :meth:`Cloud.dichotomies`, each way to part
    it is that of a hyperplane of the flat through k independent points of the region, and of a
    dichotomy of those on it. In general position, and with more than D points in the region, k is
    D and this is the rule of the paper. The smaller flats are for regions of fewer points, or of
    points in one plane: there what lies outside the flat never matters, and the rule parts it as
    the first dichotomy of all points does that parts the flat so.
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
    """Add a rule, unless one that is there can replace it; drop those that it can replace.

    Returns
    -------
    int
        How many rules there are now more.
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
