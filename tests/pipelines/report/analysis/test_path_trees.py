"""What changes between two trees."""

from __future__ import annotations

import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

import solver
from pipelines.report.analysis.path_trees import find_change, splits_of
from solver.features.oblique_tests import HyperplaneTest
from solver.trees.tree import Shape, Tree

CODES = [[a, b, c, d] for a in (0, 1) for b in (0, 1) for c in (0, 1, 2) for d in (0, 1)]
PROBLEM = solver.Problem.from_codes(CODES, [sum(row) % 2 for row in CODES])
LEAF = -1


def grow(shape: Shape) -> Tree:
    return PROBLEM.grow(shape)


def test_a_split_below_a_leaf_is_added_and_the_rest_stays() -> None:
    change = find_change(grow((0, (LEAF, LEAF))), grow((0, (LEAF, (1, (LEAF, LEAF))))))
    assert change.kept == 1
    assert [(split.asks, split.place) for split in change.added] == [("x1", "where x0 = 1")]
    assert change.moved == change.removed == ()


def test_the_other_way_round_it_is_removed() -> None:
    change = find_change(grow((0, (LEAF, (1, (LEAF, LEAF))))), grow((0, (LEAF, LEAF))))
    assert [split.asks for split in change.removed] == ["x1"]
    assert change.kept == 1
    assert change.added == ()


def test_from_a_leaf_everything_is_new() -> None:
    change = find_change(grow(LEAF), grow((2, (LEAF, (0, (LEAF, LEAF)), LEAF))))
    assert [split.place for split in change.added] == ["at the root", "where x2 = 1"]
    assert change.kept == 0


def test_the_order_of_the_questions_above_does_not_matter() -> None:
    # Both ask x3 where x0 = 1 and x1 = 1; the roots have changed places.
    old = grow((0, (LEAF, (1, (LEAF, (3, (LEAF, LEAF)))))))
    new = grow((1, (LEAF, (0, (LEAF, (3, (LEAF, LEAF)))))))
    change = find_change(old, new)
    assert change.kept == 1
    assert sorted(split.asks for split in change.moved) == ["x0", "x1"]
    assert change.added == change.removed == ()


def test_one_question_for_another_at_the_same_place() -> None:
    change = find_change(grow((0, (LEAF, LEAF))), grow((1, (LEAF, LEAF))))
    assert [split.asks for split in change.added] == ["x1"]
    assert [split.asks for split in change.removed] == ["x0"]


def test_sums_of_columns_are_named_with_all_digits() -> None:
    frame = pd.DataFrame({"a": [0.0, 1, 2, 3], "b": [4.0, 1, 2, 3], "c": [0, 1, 0, 1]})
    problem = solver.Problem.from_table(frame, "c", "continuous")
    line = HyperplaneTest.of(["a", "b"], [0.333333333, -1.0], 0.123456)
    change = find_change(problem.grow(-1), problem.grow((line, (-1, (0, (-1, -1))))))
    assert [split.asks for split in change.added] == ["0.333333333·a − b > 0.123456", "a > 0.5"]
    assert change.added[1].place == "where 0.333333333·a − b > 0.123456"
    assert find_change(problem.grow((line, (-1, -1))), problem.grow((line, (-1, -1)))).kept == 1


def test_a_place_far_down_is_named_by_its_last_conditions() -> None:
    deep = grow((0, (LEAF, (1, (LEAF, (2, (LEAF, LEAF, (3, (LEAF, LEAF)))))))))
    assert list(splits_of(deep))[-1].place == "where x0 = 1 and x1 = 1 and x2 = 2"


shapes: st.SearchStrategy[Shape] = st.recursive(
    st.just(LEAF),
    lambda below: st.tuples(st.sampled_from([0, 1, 3]), st.tuples(below, below)),
    max_leaves=8,
)


@given(shapes, shapes)
def test_the_numbers_of_splits_add_up(a: Shape, b: Shape) -> None:
    old, new = grow(a), grow(b)
    change = find_change(old, new)
    assert change.kept + len(change.moved) + len(change.removed) == old.splits
    assert change.kept + len(change.moved) + len(change.added) == new.splits
    same = find_change(old, old)
    assert (same.moved, same.added, same.removed) == ((), (), ())
