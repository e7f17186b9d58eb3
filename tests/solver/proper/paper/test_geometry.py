"""Dichotomies and flats, against the plainest ones."""

from math import comb

import numpy as np
import pytest
from hypothesis import given, settings

from solver.proper.paper.geometry import (
    Cloud,
    _determinant,
    embed,
    members,
    points_of_a_surface,
    subsets,
)
from tests import naive_geometry
from tests.helpers.point_samples import point_sets


@settings(deadline=None, max_examples=60)
@given(point_sets())
def test_dichotomies_are_those_of_the_naive_geometry(points):
    cloud = Cloud(points)
    found = cloud.dichotomies(cloud.everything)
    assert {side for side in found if side and not side & 1} == naive_geometry.dichotomies(
        points, "hyperplane"
    )
    assert {cloud.everything ^ side for side in found} == found >= {0, cloud.everything}


def test_of_some_of_the_points():
    cloud = Cloud([(0, 0), (5, 1), (1, 1), (2, 2), (3, 3)])
    assert {s for s in cloud.dichotomies(0b11101) if not s & 1} == {0, 0b10000, 0b11000, 0b11100}


def test_flats_of_a_square_with_its_centre():
    cloud = Cloud([(0, 0), (2, 0), (0, 2), (2, 2), (1, 1)])
    lines = [0b00011, 0b00101, 0b11001, 0b10110, 0b01010, 0b01100]
    assert sorted(cloud.flats()) == sorted([*lines, 0b11111])
    assert cloud.dimension(0b11001) == 1
    assert cloud.dimension(0b00001) == 0
    assert [*cloud.bases(0b11001)] == [0b01001, 0b10001, 0b11000]


def test_equal_points_are_refused():
    with pytest.raises(ValueError, match="never part"):
        Cloud([(0, 1), (0, 1)])


@pytest.mark.parametrize("dimensions, degree", [(1, 3), (2, 1), (2, 2), (3, 2)])
def test_terms_are_as_many_as_points_fix_a_surface(dimensions, degree):
    (lifted,) = embed([tuple(range(2, 2 + dimensions))], degree)
    assert len(lifted) == points_of_a_surface(dimensions, degree)
    assert len(lifted) == comb(dimensions + degree, degree) - 1


def test_determinants():
    random = np.random.RandomState(5)
    for size in range(5):
        for _ in range(20):
            matrix = random.randint(-3, 4, (size, size))
            exact = _determinant([tuple(row) for row in matrix.tolist()])
            assert exact == round(np.linalg.det(matrix))
    assert _determinant([(10**40, 1), (1, 10**40)]) == 10**80 - 1


def test_subsets():
    assert sorted(subsets(0b101)) == [0, 1, 4, 5]
    assert members(0b101) == [0, 2]
