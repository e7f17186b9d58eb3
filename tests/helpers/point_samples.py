"""Samples for hypothesis: points, rules of theirs, and counts of two classes at each point."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from solver.proper.paper.geometry import members
from solver.proper.paper.rules import Axis, Rule, gen_rules
from solver.proper.paper.tree_recursion import Objective
from solver.theory.proper_framework.optimum import additive

Point = tuple[int, ...]


@st.composite
def point_sets(draw: Any, most: int = 6, dimensions: int = 3) -> list[Point]:
    """Distinct points, often in degenerate position, in one to three dimensions."""
    d = draw(st.integers(1, dimensions))
    widest = draw(st.sampled_from([1, 2, 4, 40]))
    point = st.tuples(*[st.integers(0, widest)] * d)
    return draw(st.lists(point, min_size=1, max_size=most, unique=True))


def cut(after: int, most: int = 4) -> Rule:
    """Of points on a line, the cut just above one of them."""
    everything = (1 << most) - 1
    below = (2 << after) - 1
    return Rule(Axis(0), 1 << after, everything ^ below, below)


@dataclass(frozen=True)
class Sample:
    """Points, rules of theirs, and the weight of two classes at every point."""

    points: list[tuple[int, ...]]
    rules: list[Rule]
    counts: list[tuple[int, int]]

    @property
    def everything(self) -> int:
        """The set of all points."""
        return (1 << len(self.points)) - 1

    def errors(self, xs: int) -> int:
        """Misclassified weight of a leaf, f of equation 22."""
        columns = zip(*(self.counts[i] for i in members(xs)), strict=True)
        return min((sum(column) for column in columns), default=0)

    def objective(self, price: int = 0) -> Objective[Any]:
        """Errors, and a price a split."""
        return additive(self.errors, price)


@st.composite
def samples(draw: Any, most: int = 4, points: int = 7) -> Sample:
    """Rules that the points give rise to; also more than K for choices of K."""
    places = draw(point_sets(most=points, dimensions=2))
    kinds = draw(st.sampled_from(["axis", "hyperplane", "hyperplane", "mixed"]))
    rules = gen_rules(places, kinds) if len(places) < 6 or kinds != "mixed" else []
    rules = rules or gen_rules(places, "axis")
    if rules:
        chosen = st.sampled_from(rules)
        rules = draw(st.lists(chosen, max_size=most, unique=True))
    counts = draw(
        st.lists(
            st.tuples(st.integers(0, 2), st.integers(0, 2)),
            min_size=len(places),
            max_size=len(places),
        )
    )
    return Sample(places, rules, counts)
