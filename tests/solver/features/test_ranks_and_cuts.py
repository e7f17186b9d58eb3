"""Ordered features and their cuts, held against the encoding that makes a feature of every cut."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solver import Problem
from solver.encodings.round_thresholds import roundest_moments, roundest_numbers
from solver.features.ranks_and_cuts import CutTests, Scale, ThresholdsOnDemand
from solver.trees.tree import Shape
from solver.verify.scorer import score
from tests.helpers.row_scores import score_rows


@st.composite
def frames(draw: st.DrawFn) -> pd.DataFrame:
    """Numbers with ties and missing values, a yes/no column, text, and a target."""
    n = draw(st.integers(2, 12))
    number = st.one_of(st.none(), st.sampled_from([-1e300, -0.0, 0.0, 0.1, 0.3, 2.0, 1e300]))
    columns = {
        "a": draw(st.lists(number, min_size=n, max_size=n)),
        "b": draw(st.lists(st.integers(0, 2), min_size=n, max_size=n)),
        "c": draw(st.lists(st.booleans(), min_size=n, max_size=n)),
        "d": draw(st.lists(st.sampled_from("xyz"), min_size=n, max_size=n)),
    }
    target = ["u", "v", *draw(st.lists(st.sampled_from("uv"), min_size=n - 2, max_size=n - 2))]
    frame = pd.DataFrame(columns)
    frame["a"] = frame["a"].astype(float)
    return frame.assign(target=target)


@settings(max_examples=100, deadline=None)
@given(frames(), st.randoms(use_true_random=False))
def test_cuts_are_the_features_of_thresholds(frame: pd.DataFrame, random: object) -> None:
    cut = Problem.from_table(frame, "target", "continuous", columns={"a": "number"})
    flat = Problem.from_table(frame, "target", "thresholds", columns={"a": "number"})
    assert cut.total_weight == flat.total_weight
    assert cut.unavoidable_errors == flat.unavoidable_errors
    names = {test.name for test in flat.tests}
    rows = frame.drop(columns="target").astype(object).where(frame.notna(), None)
    for i, test in enumerate(cut.tests):
        shape: Shape = (i, (-1, -1))
        tree = cut.grow(shape)
        # A cut that thresholds has not is one of the duplicates that it has dropped.
        assert test.name in names | set(flat.preparation.duplicate)
        found = score(cut, tree, random.choice([0, 1]))  # type: ignore[attr-defined]
        canonical = tree.columns[test.column].read(frame[test.column])
        plain = [{test.column: value} for value in canonical]
        assert score_rows(tree, plain, frame["target"], 0).errors == found.errors  # type: ignore[arg-type]
    assert len(rows) == cut.n_rows


def test_the_codes_of_a_scale_are_those_of_its_cuts() -> None:
    scale = Scale("x", np.array([0.5, 2.0, 7.0]), np.array([0, 1, 0], np.int8))
    values = np.array([-1.0, 0.5, 0.6, 2.0, 6.9, 8.0])
    codes = scale.branches(values)
    assert codes.tolist() == [0, 0, 1, 1, 2, 3]
    for code in range(scale.arity - 1):
        assert scale.cut(code).branches(values).tolist() == (codes > code).tolist()
    assert scale.branches(np.array([np.nan])).tolist() == [0]


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.floats(-1e300, 1e300), unique=True, max_size=12),
    st.lists(st.floats(allow_infinity=True), max_size=12),
    st.sampled_from([roundest_numbers, roundest_moments]),
)
def test_thresholds_on_demand_are_those_of_all_gaps(values, others, choose) -> None:
    known = np.unique(np.array(values, np.float64))
    asked = ThresholdsOnDemand(known, choose)
    whole = choose(known[:-1], known[1:])
    assert [asked[gap] for gap in range(len(asked))] == whole.tolist()
    assert np.asarray(asked).tolist() == whole.tolist()
    numbers = np.array([*values, *others, *whole.tolist()], np.float64)
    missing = np.zeros(len(whole), np.int8)
    codes = Scale("x", asked, missing).branches(numbers)
    assert codes.tolist() == Scale("x", whole, missing).branches(numbers).tolist()
    assert repr(Scale("x", asked, missing)) == repr(Scale("x", whole, missing))
    with pytest.raises(IndexError):
        asked[len(asked)]


def test_cuts_of_several_columns_are_those_of_each() -> None:
    numbers = np.array([0.1, 0.3, 2.0, 86_000.0, 200_000.0])
    one, other = (ThresholdsOnDemand(numbers, c) for c in (roundest_numbers, roundest_moments))
    kept, missing = np.array([0.5, 7.0]), np.zeros(4, np.int8)
    scales = [
        Scale("x", one, missing),
        Scale("d", other, missing, "date"),
        Scale("y", kept, missing),
    ]
    tests = CutTests([scales[0], scales[0].cut(1), *scales[1:]])
    each = [*map(scales[0].cut, range(4)), scales[0].cut(1), *map(scales[1].cut, range(4))]
    each += map(scales[2].cut, range(2))
    for cuts in ([], [10, 0, 4, 7, 3, 9, 5], range(len(tests))):
        assert tests.tests_of(cuts) == [each[cut] for cut in cuts]
    assert [*tests] == each


def test_a_missing_number_is_below_every_cut_and_has_a_feature_of_its_own() -> None:
    frame = pd.DataFrame({"x": [np.nan, 1.0, 2.0, 3.0], "y": ["a", "b", "b", "a"]})
    problem = Problem.from_table(frame, "y", "continuous")
    assert [feature.name for feature in problem.tests] == ["x>1", "x>2", "x=missing"]
    assert problem.arities.tolist() == [3, 2]
    tree = problem.grow((2, ((1, (-1, -1)), -1)))
    assert tree.errors == 0
    assert tree.predict(frame).tolist() == ["a", "b", "b", "a"]


def test_cuts_are_numbered_feature_by_feature() -> None:
    problem = Problem.from_codes([[0, 2, 1], [1, 0, 0], [0, 1, 1]], [0, 1, 1], ordered=True)
    tests = problem.tests
    assert isinstance(tests, CutTests)
    # x2 is x0 the other way round: with two codes that is the same feature.
    assert problem.preparation.duplicate == {"x2": "x0"}
    assert [tests.locate(i) for i in range(len(tests))] == [(0, 0), (1, 0), (1, 1)]
    assert [test.name for test in tests[1:]] == ["x1>0.5", "x1>1.5"]
    assert tests[-1] == tests[2]
    with pytest.raises(IndexError, match="no cut 3"):
        tests[3]
    assert problem.branch_codes(2).tolist() == (problem.codes[:, 1] > 1).tolist()


def test_a_feature_that_runs_the_other_way_is_a_duplicate() -> None:
    x = [0, 1, 2, 1]
    reverse = [2 - code for code in x]
    other = [1, 0, 2, 0]  # parts the rows alike, but in another order
    codes = np.column_stack([x, reverse, other])
    problem = Problem.from_codes(codes, [0, 1, 1, 0], ordered=True)
    assert problem.preparation.duplicate == {"x1": "x0"}
    assert problem.n_features == 2
    assert problem.feature_kind == "continuous"
    assert problem.max_arity == 2


def test_problems_of_other_thresholds_look_different() -> None:
    cuts = Scale("x", np.array([0.5]), np.array([0], np.int8))
    moved = Scale("x", np.array([0.25]), np.array([0], np.int8))
    assert repr(CutTests([cuts])) == repr(CutTests([cuts]))
    assert repr(CutTests([cuts])) != repr(CutTests([moved]))
