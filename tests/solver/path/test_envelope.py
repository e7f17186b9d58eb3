"""Envelopes of lines and of bounds, against evaluating everything."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from solver.objective.exact_objective import neighbours
from solver.path.envelope import Envelope, Line, Point, best_lines
from solver.problem.problem import Problem

TREE = Problem.from_codes([[0]], [0]).grow(-1)


def fractions(largest: int, denominator: int) -> st.SearchStrategy[Fraction]:
    """From 0 to ``largest``; half of them have small denominators, so that some are equal.

    ``st.fractions`` draws them more slowly: these tests took three times as long.
    """

    def up_to(limit: int) -> st.SearchStrategy[Fraction]:
        pairs = [(p, q) for q in range(1, limit + 1) for p in range(largest * q + 1)]
        return st.sampled_from(sorted({Fraction(*pair) for pair in pairs}))

    return up_to(denominator) | up_to(3)


lams = fractions(3, 40)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(
    st.lists(st.tuples(lams, fractions(1, 20)), max_size=8),
    fractions(1, 10),
    fractions(1, 10),
    st.lists(lams, min_size=1, max_size=5),
)
def test_bound_is_the_best_chord_or_level(
    pairs: list[tuple[Fraction, Fraction]], floor: Fraction, more: Fraction, at: list[Fraction]
) -> None:
    leaf_loss = floor + more
    points = [Point(lam, min(value, leaf_loss)) for lam, value in pairs]
    envelope = Envelope.of([*points, Point(Fraction(1), None)], floor, leaf_loss)
    known = [*points, Point(Fraction(0), floor), Point(more, leaf_loss)]
    for lam in [*at, *(point.lam for point in points)]:
        left = [p for p in known if p.lam <= lam]
        right = [p for p in known if p.lam > lam]
        chords = [
            p.lower_bound + (q.lower_bound - p.lower_bound) * (lam - p.lam) / (q.lam - p.lam)
            for p in left
            for q in right
        ]
        assert envelope.at(lam) == max([*chords, *(p.lower_bound for p in left)])
    corners = envelope.corners
    slopes = [(d - b) / (c - a) for (a, b), (c, d) in pairwise(corners)]
    assert all(slope > 0 for slope in slopes)
    assert slopes == sorted(set(slopes), reverse=True)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(
    st.lists(st.tuples(lams, fractions(1, 20)), max_size=5),
    lams,
    fractions(1, 40),
    st.integers(1, 9),
)
def test_whole_errors_are_excluded_only_if_the_bounds_exclude_them(
    pairs: list[tuple[Fraction, Fraction]], lam: Fraction, value: Fraction, weight: int
) -> None:
    envelope = Envelope.of([Point(*pair) for pair in pairs], Fraction(0), Fraction(1))
    most = {}
    for splits in range(15):
        for errors in range(weight + 1):
            if Fraction(errors, weight) + lam * splits < value and all(
                Fraction(errors, weight) + at * splits >= v for at, v in envelope.corners
            ):
                most[splits] = errors
    at_lam, reached = lam.as_integer_ratio(), value.as_integer_ratio()
    between = envelope.sides(at_lam).between(at_lam, reached)
    better = None if between is None else between.better(weight, 15)
    if better is not None:
        found = dict(better)
        assert all(errors <= found.get(splits, -1) for splits, errors in most.items())


@pytest.mark.parametrize("right_errors, excluded", [(3, False), (4, True), (5, False), (6, True)])
def test_between_proven_lines_whole_errors_may_be_too_many(
    right_errors: int, excluded: bool
) -> None:
    """The left tree has 3 splits and no errors, the right one has 1 split; the weight is 10."""
    low, high = Fraction(right_errors - 1, 20), Fraction(right_errors + 1, 20)
    corner = Fraction(right_errors, 20)
    points = [Point(low, 3 * low), Point(high, Fraction(right_errors, 10) + high)]
    envelope = Envelope.of(points, Fraction(0), Fraction(1))
    # A tree of two splits and half of the errors, rounded down, would be better.
    lam, value = corner.as_integer_ratio(), (3 * corner).as_integer_ratio()
    between = envelope.sides(lam).between(lam, value)
    assert between is not None
    better = between.better(10, 3)
    assert better == ([] if excluded else [(2, (right_errors - 1) // 2)])


def test_before_the_first_corner_nothing_is_known() -> None:
    envelope = Envelope([(Fraction(1), Fraction(1, 4))])
    assert (envelope.at(Fraction(1, 2)), envelope.at(Fraction(2))) == (0, Fraction(1, 4))
    envelope.add(Fraction(1, 2), Fraction(1, 8))
    assert envelope.at(Fraction(3, 4)) == Fraction(3, 16)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(
    st.lists(st.tuples(st.integers(0, 30), st.integers(0, 8)), min_size=1, max_size=10),
    lams,
    st.lists(lams, min_size=1, max_size=5),
)
def test_best_lines_are_least_where_they_say(
    pairs: list[tuple[int, int]], lam_min: Fraction, at: list[Fraction]
) -> None:
    weight = 7
    kept = best_lines([Line(errors, splits, TREE) for errors, splits in pairs], lam_min, weight)
    starts = [start for _, start in kept]
    assert starts[0] == lam_min
    assert starts == sorted(set(starts))
    for lam in {lam_min, *starts, *(lam_min + more for more in at)}:
        best = min((Fraction(errors, weight) + lam * splits, splits) for errors, splits in pairs)
        line = [line for line, start in kept if start <= lam][-1]
        assert (Fraction(line.errors, weight) + lam * line.splits, line.splits) == best


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.fractions(Fraction(1, 1000), 2, max_denominator=1000), st.integers(1, 30))
def test_neighbours_are_the_nearest_simple_fractions(lam: Fraction, largest: int) -> None:
    assume(lam.denominator > largest)
    simple = [
        Fraction(p, q) for q in range(1, largest + 1) for p in (lam * q // 1, lam * q // 1 + 1)
    ]
    below, above = neighbours(lam, largest)
    assert below == max(near for near in simple if near < lam)
    assert above == min(near for near in simple if near > lam)


@pytest.mark.parametrize("lam", ["1/1000003", "999999/1000003"])
def test_neighbours_at_the_ends(lam: str) -> None:
    below, above = neighbours(Fraction(lam), 1000)
    assert below < Fraction(lam) < above
    assert max(below.denominator, above.denominator) <= 1000
