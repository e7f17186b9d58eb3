"""Rules from points: their number in the paper, and all that any region needs."""

from collections import Counter
from math import comb

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solver.proper.paper.geometry import embed, members, subsets
from solver.proper.paper.rules import Axis, Plane, Surface, _plane_rules, describe, gen_rules
from tests import naive_geometry
from tests.helpers.point_samples import point_sets

FAMILIES = ["axis", "hyperplane", "polynomial", "mixed"]


def check_regions(points, kinds, most):
    """Every dichotomy of every region of at most so many points is a rule that is defined there."""
    rules = gen_rules(points, kinds)
    for region in subsets((1 << len(points)) - 1):
        inside = members(region)
        if not 0 < len(inside) <= most:
            continue
        naive = naive_geometry.dichotomies([points[i] for i in inside], kinds)
        wanted = {sum(1 << i for j, i in enumerate(inside) if way >> j & 1) for way in naive}
        first = region & -region
        found = set()
        for rule in rules:
            side = rule.positive & region
            side = region ^ side if side & first else side
            assert not side or side in wanted, "no rule parts a region as the kind cannot"
            if side and not rule.defining & ~region:
                found.add(side)
        assert found == wanted


@settings(deadline=None, max_examples=60)
@given(point_sets(most=5, dimensions=2), st.sampled_from(FAMILIES))
def test_every_dichotomy_of_every_region_is_a_rule_defined_there(points, kinds):
    check_regions(points, kinds, most=5)


def test_of_a_grid_too():
    """All lines through two corners pass through a third point, which a region may lack."""
    check_regions([(x, y) for x in range(3) for y in range(3)], "hyperplane", most=5)


def test_a_cut_at_each_point_on_each_axis():
    points = [(t, (3 * t + 2) % 7) for t in range(7)]
    rules = gen_rules(points, "axis")
    assert len(rules) == 2 * (7 - 1)  # nothing is above the last one
    assert {rule.defining.bit_count() for rule in rules} == {1}


def test_hyperplanes_through_d_points_with_those_on_either_side():
    points = [(t, t * t) for t in range(6)]
    rules = [*filter(None, _plane_rules(Plane(), points))]
    through = Counter(rule.defining for rule in rules if rule.defining.bit_count() == 2)
    assert len(through) == comb(6, 2)
    # Of a side of the hull with no point on one side, one way of four parts nothing.
    assert Counter(through.values()) == {4: comb(6, 2) - 6, 3: 6}
    assert {rule.positive for rule in gen_rules(points, "hyperplane")} == {
        rule.positive for rule in rules
    }


def test_conics_through_five_points():
    points = [(0, 0), (7, 1), (3, 8), (5, 4), (1, 6), (9, 9)]
    rules = [*filter(None, _plane_rules(Surface(2), embed(points, 2)))]
    through = {rule.defining for rule in rules if rule.defining.bit_count() == 5}
    assert len(through) == comb(6, 5)
    assert {rule.kind for rule in gen_rules(points, "polynomial")} == {Surface(2)}


def test_a_mixture_prefers_the_simplest_kind():
    rules = gen_rules([(0, 0), (1, 1), (0, 1), (1, 0)], "mixed")
    kinds = {rule.positive: type(rule.kind) for rule in reversed(rules)}
    assert kinds[0b1010] is Axis
    assert kinds[0b0010] is Plane
    assert kinds[0b1100] is Surface


@pytest.mark.parametrize("kinds", FAMILIES)
def test_one_point_has_no_rule(kinds):
    assert gen_rules([(3, 4)], kinds) == []


def test_rules_in_words():
    axis, *_ = gen_rules([(0, 0), (1, 1)], "axis")
    assert describe(axis) == "cut of column 0 above 0: [1] | [0]"
    assert "through" in describe(gen_rules([(0, 0), (1, 1)], "hyperplane")[0])
    assert "degree 2" in describe(gen_rules([(0, 0), (1, 1)], "polynomial")[0])
