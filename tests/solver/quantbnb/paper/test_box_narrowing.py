"""Intervals that are split, and boxes that are left out."""

from __future__ import annotations

import math

import numpy as np

from solver.quantbnb.paper.box_narrowing import least_after, narrowed, pruned
from solver.quantbnb.paper.state import all_boxes, joined, new_answers, spaced

ALL = np.ones(2, np.bool_)


def test_cuts_are_almost_equi_spaced() -> None:
    low, high = np.array([1, 0], np.int32), np.array([4, 10], np.int32)
    assert spaced(low, high, 2).tolist() == [[1, 2, 4], [0, 5, 10]]
    assert spaced(low, high, 3).tolist() == [[1, 2, 3, 4], [0, 3, 6, 10]]


def test_features_without_a_cut_are_in_no_box() -> None:
    boxes = all_boxes(np.array([5, 1, 2]))
    assert boxes.feature.tolist() == [0, 2]
    assert boxes.high.tolist() == [3, 0]
    assert boxes.left.tolist() == [[True, False, True]] * 2
    assert joined([], 3).size == 0
    assert joined([boxes, boxes], 3).size == 4


def test_parts_above_the_cost_are_left_out_and_small_boxes_stay_whole() -> None:
    boxes = all_boxes(np.array([12, 3]))
    answers = new_answers(2, 2, 2)
    answers.left[0] = [[5, 9], [7, 12]]
    answers.right[0] = [[5, 9], [12, 7]]
    answers.left[1, 0] = answers.right[1, 0] = [6, 6]
    parts, lefts, rights = narrowed(boxes, answers, 2, 9.0, ALL)
    assert parts.feature.tolist() == [0, 0, 1]
    assert parts.low.tolist() == [0, 5, 0]
    assert parts.high.tolist() == [5, 10, 1]
    assert parts.left.tolist() == [[True, True], [True, False], [True, True]]
    assert parts.right.tolist() == [[True, True], [False, True], [True, True]]
    assert parts.bound.tolist() == [5, 7, 6]
    fewer = pruned(parts, lefts, rights, 6.0)
    assert fewer.feature.tolist() == [0, 1]
    assert fewer.left.tolist() == [[True, False], [True, True]]
    # Without a cost to beat, what no tree is known of stays out all the same.
    assert narrowed(boxes, answers, 2, math.inf, ALL)[0].size == 3
    assert narrowed(boxes, answers, 2, 9.0, ~ALL)[0].size == 0


def test_the_least_bound_of_those_to_come() -> None:
    assert least_after([3.0, 1.0, 2.0]) == [1.0, 2.0, math.inf]
    assert least_after([]) == []
