"""Problems: collapsed rows, dropped features, and what is refused."""

from __future__ import annotations

import pickle
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solver import InputError, Limits, Problem, Tree, export_text, solve
from solver.features.columns import ColumnSpec
from solver.features.node_tests import CategoryTest, ThresholdTest
from solver.features.oblique_tests import HyperplaneTest
from solver.features.ranks_and_cuts import Scale
from tests.helpers.strategies import tables

FRAME = pd.DataFrame(
    {
        "colour": ["red", "blue", "red", "green", "blue", "red"],
        "size": ["s", "s", "l", "l", "l", "s"],
        "same": ["x"] * 6,
        "buys": ["yes", "no", "no", "no", "no", "yes"],
    }
)


def test_from_table() -> None:
    problem = Problem.from_table(FRAME, "buys", "categorical")
    assert problem.classes == ("no", "yes")
    assert problem.n_rows == 6
    assert (problem.total_weight, problem.leaf_errors, problem.unavoidable_errors) == (6, 2, 0)
    assert [test.name for test in problem.tests] == ["colour", "size"]
    assert problem.arities.tolist() == [3, 2]
    assert problem.feature_kind == "categorical"
    assert problem.preparation.constant == ("same",)
    assert problem.preparation.collapsed == 1
    assert len(problem.codes) == 5
    assert (problem.target, problem.encoding) == ("buys", "categorical")


def test_equal_features_are_dropped_whatever_their_codes() -> None:
    problem = Problem.from_codes([[0, 1, 0, 2], [1, 0, 0, 0], [1, 0, 1, 0]], [0, 1, 1])
    assert [test.column for test in problem.tests] == ["x0", "x2"]
    assert problem.preparation.duplicate == {"x1": "x0", "x3": "x0"}
    assert problem.feature_kind == "binary"


def test_rows_of_no_weight_are_left_out() -> None:
    codes, target = [[0, 0], [1, 0], [1, 1]], [0, 1, 0]
    problem = Problem.from_codes(codes, target, weights=[1, 2, 0])
    assert problem.codes.tolist() == [[0], [1]]
    assert problem.preparation.constant == ("x1",)
    assert problem.counts.tolist() == [[1, 0], [0, 2]]
    table = pd.DataFrame({"a": ["u", "v", "w"], "y": [0, 1, 0]})
    weighted = Problem.from_table(table, "y", "categorical", weights=[1, 2, 0])
    assert weighted.weight_scale == 1
    halves = Problem.from_table(table, "y", "categorical", weights=[0.5, 1.25, 0])
    assert (halves.weight_scale, halves.total_weight) == (4, 7)
    assert weighted.arities.tolist() == [2]


def test_unavoidable_errors() -> None:
    problem = Problem.from_codes([[0], [0], [0], [1]], [0, 1, 2, 0], weights=[5, 3, 1, 1])
    assert problem.unavoidable_errors == 4
    assert problem.leaf_errors == 4
    assert problem.class_weights.tolist() == [6, 3, 1]


@settings(max_examples=80, deadline=None, derandomize=True)
@given(st.data())
def test_collapsing_keeps_every_row(data: st.DataObject) -> None:
    table = data.draw(tables())
    problem = table.problem()
    assert problem.total_weight == sum(table.weights)
    assert problem.preparation.collapsed == len(table.target) - len(problem.codes)
    assert len({tuple(row) for row in problem.codes.tolist()}) == len(problem.codes)
    kept = [int(test.column[1:]) for test in problem.tests]
    expected: dict[tuple[int, ...], list[int]] = {}
    for row, label, weight in zip(table.codes, table.target, table.weights, strict=True):
        counts = expected.setdefault(tuple(row[j] for j in kept), [0] * table.n_classes)
        counts[label] += weight
    pairs = zip(problem.codes.tolist(), problem.counts.tolist(), strict=True)
    assert {tuple(row): counts for row, counts in pairs} == expected
    # What was dropped tells no rows apart that the kept features do not.
    names = {f"x{j}": j for j in range(len(table.arities))}
    for name in problem.preparation.constant:
        assert len({row[names[name]] for row in table.codes}) == 1
    for name, earlier in problem.preparation.duplicate.items():
        both = {(row[names[name]], row[names[earlier]]) for row in table.codes}
        assert len(both) == len({a for a, _ in both}) == len({b for _, b in both})
    dropped = len(problem.preparation.constant) + len(problem.preparation.duplicate)
    assert dropped + problem.n_features == len(table.arities)


def test_digest_tells_content() -> None:
    one = Problem.from_codes([[0, 1], [1, 1], [1, 0]], [0, 1, 1])
    other_order = Problem.from_codes([[1, 0], [0, 1], [1, 1]], [1, 0, 1])
    heavier = Problem.from_codes([[0, 1], [1, 1], [1, 0]], [0, 1, 1], weights=[1, 1, 2])
    wider = Problem.from_codes([[0, 1], [1, 1], [1, 0]], [0, 1, 1], arities=[2, 3])
    assert one.digest == other_order.digest == pickle.loads(pickle.dumps(one)).digest
    assert len({one.digest, heavier.digest, wider.digest}) == 3


def test_grow_counts_and_predicts() -> None:
    problem = Problem.from_codes([[0, 0], [0, 1], [1, 0]], [0, 1, 1], arities=[3, 2])
    tree = problem.grow((0, ((1, (-1, -1)), -1, -1)))
    assert [node.counts for node in tree.nodes] == [
        (1, 2), (1, 1), (1, 0), (0, 1), (0, 1), (0, 0),
    ]  # fmt: skip
    # In preorder; the first class at a tie; a node without rows predicts its parent's class.
    assert [node.prediction for node in tree.nodes] == [1, 0, 0, 1, 1, 1]
    assert tree.nodes[0].children == (1, 4, 5)
    assert sorted(tree.tests) == [0, 1]
    assert sorted(tree.columns) == ["x0", "x1"]


def test_grow_goes_deeper_than_python_may_recurse() -> None:
    problem = Problem.from_codes(np.eye(3000, dtype=int), np.arange(3000) % 2)
    shape: Any = -1
    for feature in range(2999):
        shape = feature, (shape, -1)
    assert problem.grow(shape).depth == 2999


def test_tables_of_other_libraries() -> None:
    pa = pytest.importorskip("pyarrow")
    table = pa.Table.from_pandas(FRAME)
    one, other = (Problem.from_table(t, "buys", "onehot") for t in (FRAME, table))
    assert one.digest == other.digest


@pytest.mark.parametrize(
    "codes, target, options, message",
    [
        ([], [], {}, "codes must be"),
        (np.zeros((0, 2)), [], {}, "no rows"),
        ([0, 1], [0, 1], {}, "codes must be"),
        ([[0], [1]], [0], {}, "codes must be"),
        ([[0], [1, 2]], [0, 1], {}, "differ in length"),
        ([[0.5], [1]], [0, 1], {}, "codes must be whole numbers"),
        ([[np.nan], [1]], [0, 1], {}, "codes must be whole numbers"),
        ([["a"], ["b"]], [0, 1], {}, "codes must be whole numbers"),
        ([[0], [1]], ["no", "yes"], {}, "target must be whole numbers"),
        ([[0], [-1]], [0, 1], {}, "negative"),
        ([[0], [2**40]], [0, 1], {}, "below its arity"),
        ([[0], [2]], [0, 1], {"arities": [2]}, "below its arity"),
        ([[0], [1]], [0, 1], {"arities": [2, 2]}, "as many as the features, 1"),
        ([[0], [1]], [0, 1], {"tests": []}, "as many as the features, 1"),
        ([[0], [1]], [0, -1], {}, "names no class"),
        ([[0], [1]], [0, 2], {"classes": ["a", "b"]}, "names no class"),
        ([[0], [1]], [0, 1], {"weights": [1, 2, 3]}, "3 weights for 2 rows"),
        ([[0], [1]], [0, 1], {"weights": [1, -2]}, "negative"),
        ([[0], [1]], [0, 1], {"weights": [0, 0]}, "all weights are zero"),
    ],
)
def test_bad_codes(codes: Any, target: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Problem.from_codes(codes, target, **options)


@pytest.mark.parametrize(
    "frame, options, message",
    [
        (FRAME, {"target": "sells"}, "no column 'sells' for the target; its columns are 'colour'"),
        (FRAME.head(0), {"target": "buys"}, "no rows"),
        (FRAME[["buys"]], {"target": "buys"}, "no feature"),
        (FRAME, {"target": "same"}, "single class 'x'"),
        (FRAME, {"target": "buys", "encoding": "onehotly"}, "no encoding 'onehotly'"),
        (FRAME, {"target": "buys", "encoding": "onehot", "k": 3}, "no option 'k'"),
        (FRAME, {"target": "buys", "columns": {"shape": "drop"}}, "not a feature of the table"),
        (FRAME, {"target": "buys", "weights": [1]}, "1 weight for 6 rows"),
        (FRAME, {"target": "buys", "encoder": 5}, "encoder = 5 is none"),
        (FRAME.assign(buys=[None, *["a"] * 3, "b", "b"]), {"target": "buys"}, "missing in 1 of 6"),
    ],
)
def test_bad_tables(frame: pd.DataFrame, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Problem.from_table(frame, **options)


MOMENTS = pd.to_datetime(["2024-01-01T00:00:00.000000000", "2024-01-01T00:00:00.000000050"])


@pytest.mark.parametrize("encoding", ["onehot", "thresholds", "continuous", "categorical"])
@pytest.mark.parametrize(
    "values",
    [
        list(MOMENTS),
        [True, 1],
        [2**53, 2**53 + 1],
        ["a", 1],
    ],
)
def test_values_that_would_merge_are_refused(values: list[Any], encoding: str) -> None:
    column = pd.Series(values * 3, dtype=None if values[0] is MOMENTS[0] else object)
    table = pd.DataFrame({"x": column, "y": [0, 1] * 3})
    with pytest.raises(InputError, match="column 'x'"):
        Problem.from_table(table, "y", encoding)
    problem = Problem.from_table(table, "y", encoding, columns={"x": "category"})
    assert problem.unavoidable_errors == 0
    tree = problem.grow((0, (-1, -1)))
    assert tree.predict(table).tolist() == table["y"].tolist()
    assert Tree.from_json(tree.to_json()).predict(table).tolist() == table["y"].tolist()


def test_the_text_missing_is_no_missing_value() -> None:
    table = pd.DataFrame({"x": ["missing", None, "b", "b"], "y": [0, 1, 0, 1]})
    problem = Problem.from_table(table, "y", "onehot")
    assert [test.name for test in problem.tests] == ["x=b", "x='missing'", "x=missing"]
    tree = problem.grow((2, (-1, -1)))
    assert "x = missing" in export_text(tree)
    assert "missing'" not in export_text(tree)


@pytest.mark.parametrize(
    "given, message",
    [
        ({"classes": ["a", "a"]}, "classes has the label 'a' twice"),
        ({"classes": ["x", "y", "x"]}, "classes has the label 'x' twice"),
        ({"classes": [1, 1.0]}, "classes has the label 1.0 twice"),
        ({"classes": ["x", None]}, "classes has None, which is no label"),
        ({"classes": ["x", float("nan")]}, "classes has nan, which is no label"),
        ({"classes": ["x", ("y",)]}, r"classes has .* which is no label"),
        ({"classes": "ab"}, "classes = 'ab' must be a list of labels"),
        ({"classes": 2}, "classes = 2 must be a list of labels"),
        ({"classes": ["x"]}, "a target code names no class"),
        ({"classes": [1, "1"]}, "classes mixes numbers and text"),
        ({"classes": [True, "True"]}, "classes mixes booleans and text"),
        ({"classes": [True, 1]}, "classes mixes booleans and numbers"),
        ({"tests": [ThresholdTest("a", np.nan)]}, "no number is the threshold nan"),
        ({"tests": [ThresholdTest("a", 1.5, missing=2)]}, "'a' has no branch 2"),
        ({"tests": [CategoryTest("a", (("x", "y"), ("y",), ("z",)))]}, "'a' has a value twice"),
        ({"tests": [CategoryTest("a", (("x",), (np.nan,), ("z",)))]}, "'a' has a value that is no"),
        ({"tests": [Scale("a", np.array([2.0, 1.0]), np.zeros(2))]}, "of 'a' do not ascend"),
        (
            {
                "codes": [[0], [1], [1]],
                "tests": [ThresholdTest("a", 1.5)],
                "columns": {"a": ColumnSpec("category")},
            },
            "tests cut the column 'a', which columns has as category",
        ),
        ({"target_name": 5}, "target_name = 5 must be a text"),
        ({"target": [0, [1], 1]}, "the rows of target differ in length"),
        ({"codes": np.ma.array([[0], [1], [2]], mask=[[0], [0], [1]])}, "values are masked"),
        ({"tests": [ThresholdTest("a", 1.5)], "arities": [3]}, "arity 3, but its test has 2"),
        ({"tests": [ThresholdTest("a", 1.5)]}, "not below its arity"),
        ({"tests": ["a"]}, "tests has 'a', which is no test"),
        ({"tests": [ThresholdTest("a", 1.5)] * 2}, "as many as the features, 1"),
        ({"arities": [3, 3]}, "as many as the features, 1"),
        ({"arities": [2]}, "not below its arity"),
        ({"arities": [3.9]}, "arities must be whole numbers"),
        ({"arities": [2**40]}, "feature 0 has 1099511627776 codes in 3 rows"),
        ({"codes": [[0], [1], [2**31 - 1]]}, "a feature code is negative or"),
        ({"codes": [[0], [1], [2**30]]}, "feature 0 has 1073741825 codes in 3 rows"),
        ({"target": [0, 1, 2**40]}, "target has the code 1099511627776 in 3 rows"),
    ],
)
def test_arguments_that_do_not_fit_together(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Problem.from_codes(**{"codes": [[0], [1], [2]], "target": [0, 1, 1], **given})


def test_a_test_of_three_branches_is_refused_where_numbers_are_cut() -> None:
    """A tree that cut its codes in two said that it had three branches."""
    scale = Scale("a", np.array([0.5]), np.zeros(1, np.int8))
    codes, target = [[0, 0], [1, 0], [0, 1], [1, 1], [0, 2], [1, 2]], [0, 0, 0, 1, 2, 2]
    three = CategoryTest("b", (("x",), ("y",), ("z",)))
    with pytest.raises(InputError, match="of 3 branches together with numbers that are to be cut"):
        Problem.from_codes(codes, target, tests=[scale, three])
    two = CategoryTest("b", (("x", "y"), ("z",)))
    halves = [[a, int(b == 2)] for a, b in codes]
    assert Problem.from_codes(halves, target, tests=[scale, two]).max_arity == 2


def test_the_arity_of_a_feature_is_that_of_its_test() -> None:
    test = CategoryTest("a", (("x",), ("y",), ("z",)))
    problem = Problem.from_codes([[0], [1]], [0, 1], tests=[test])
    assert problem.arities.tolist() == [3]


@pytest.mark.parametrize(
    ("test", "values"),
    [
        (CategoryTest("a", (("x", None), ("1",))), [None, "1"]),
        (CategoryTest("a", ((1, "1"), (True, 2.5))), ["1", True]),
        (ThresholdTest("a", 0.5), [0.25, 1]),
        (ThresholdTest("a", 86400.0, unit="date"), ["1970-01-01", "1970-01-03"]),
        (HyperplaneTest.of(("a", "b"), [1.0, 1.0], 2.5), [1, 2]),
    ],
)
def test_tests_say_how_their_columns_are_read(test: Any, values: list[Any]) -> None:
    problem = Problem.from_codes([[0], [1]], [0, 1], tests=[test])
    tree = Tree.from_json(problem.grow((0, (-1, -1))).to_json())
    frame = pd.DataFrame({"a": pd.Series(values, dtype=object), "b": [1, 1]})
    assert tree.predict(frame).tolist() == [0, 1]


def test_tests_that_read_a_column_otherwise_need_its_description() -> None:
    tests = [CategoryTest("a", ((1,), (2,))), ThresholdTest("a", 0.5)]
    given: dict[str, Any] = {"codes": [[0, 0], [1, 1]], "target": [0, 1], "tests": tests}
    with pytest.raises(InputError, match="column 'a' as category and as number; say in columns"):
        Problem.from_codes(**given)
    Problem.from_codes(**given, columns={"a": ColumnSpec("number")})


@pytest.mark.parametrize("classes", [np.array([5, 6]), np.array(["p", "q"]), [True, False]])
def test_given_classes_are_stored(classes: Any) -> None:
    tree = Problem.from_codes([[0], [1]], [0, 1], classes=classes).grow((0, (-1, -1)))
    assert Tree.from_json(tree.to_json()).classes == tuple(classes)
    assert tree.classes == tuple(classes)


@pytest.mark.parametrize("classes", [["yes", "no", "yes"], ["yes", "no", None]])
def test_classes_of_a_table_differ(classes: list[Any]) -> None:
    with pytest.raises(InputError, match="classes has"):
        Problem.from_table(FRAME, "buys", classes=classes)


@pytest.mark.parametrize("table", [{"a": [1, 2], "y": [0, 1]}, [[1, 0]], np.eye(2), None])
def test_what_is_no_table(table: Any) -> None:
    with pytest.raises(InputError, match="give a pandas DataFrame, or what has to_pandas"):
        Problem.from_table(table, "y")


@pytest.mark.parametrize("columns", ["colour", ["colour"]])
def test_columns_are_a_mapping(columns: Any) -> None:
    with pytest.raises(InputError, match=r"columns = .* must be a mapping"):
        Problem.from_table(FRAME, "buys", columns=columns)


def test_a_constant_target_has_no_share_to_explain() -> None:
    problem = Problem.from_codes([[0], [1]], [2.5, 2.5], task="regression", ordered=True)
    solution = solve(problem, "0.1", "quantbnb", Limits(depth=1))
    assert (solution.errors, solution.objective, solution.status) == (0, 0, "optimal")
    assert solution.to_dict()["r2"] is None


@pytest.mark.parametrize("unit", ["number", "date"])
def test_a_test_says_how_its_column_is_read(unit: str) -> None:
    tests = [ThresholdTest("a", 1.5, unit=unit), CategoryTest("b", ((1,), (2,)))]
    problem = Problem.from_codes([[0, 0], [1, 0], [1, 1]], [0, 1, 0], tests=tests)
    tree = problem.grow((0, (-1, (1, (-1, -1)))))
    table = pd.DataFrame({"a": pd.to_datetime([1, 2, 2], unit="s"), "b": ["1", "1", "2"]})
    if unit == "number":
        table["a"] = [1, 2, 2]
    assert Tree.from_json(tree.to_json()).predict(table).tolist() == [0, 1, 0]


def test_boolean_codes_predict_booleans() -> None:
    codes = np.array([[False], [True]])
    tree = Problem.from_codes(codes, [0, 1]).grow((0, (-1, -1)))
    assert tree.predict(pd.DataFrame(codes, columns=["x0"])).tolist() == [0, 1]


def _cut(threshold: Any, unit: str = "number") -> ThresholdTest:
    return ThresholdTest("x0", threshold, unit=unit)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"tests": 5}, "tests = 5 must be a list"),
        ({"tests": [_cut(Fraction(1, 3))]}, "no tree can ask: .* is no float"),
        ({"tests": [_cut(Decimal("0.1"))]}, "no tree can ask: .* is no float"),
        ({"tests": [CategoryTest(5, ((0,), (1,)))]}, "no tree can ask: 5 is no name of a column"),
        ({"columns": {"x0": "category"}}, "must have a ColumnSpec for each name"),
        ({"columns": {"x0": ColumnSpec("x")}}, "columns has 'x0' as 'x'; allowed: category"),
        ({"columns": "x"}, "must have a ColumnSpec for each name"),
        (
            {"tests": [_cut(1.0, "date")], "columns": {"x0": ColumnSpec("number")}},
            "cut the column 'x0', which columns has as number",
        ),
        (
            {"tests": [_cut(1.0)], "columns": {"x0": ColumnSpec("date")}},
            "cut the column 'x0', which columns has as date",
        ),
        *(
            ({"tests": [CategoryTest("x0", ((), (v,)), 0)], "columns": {"x0": spec}}, "never is")
            for v, spec in (
                (True, ColumnSpec("category", "number")),
                (True, ColumnSpec("number")),
                (1, ColumnSpec("date")),
                (0, ColumnSpec("category", "boolean")),
                ("?", ColumnSpec("category", "text", ("?",))),
                (1, ColumnSpec("number", missing=(1,))),
            )
        ),
    ],
)
def test_tests_and_columns_that_do_not_fit_are_refused(more: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Problem.from_codes([[0], [1]], [0, 1], **more)


def test_a_threshold_of_numpy_is_stored_as_a_float() -> None:
    problem = Problem.from_codes([[0], [1]], [0, 1], tests=[_cut(np.float32(0.1))])
    tree = problem.grow((0, (-1, -1)))
    assert Tree.from_json(tree.to_json()) == tree
    assert tree.tests[0] == _cut(float(np.float32(0.1)))
    none = CategoryTest("x0", ((), (None,)), 0)
    Problem.from_codes([[0], [1]], [0, 1], tests=[none], columns={"x0": ColumnSpec("number")})


def test_a_number_that_means_missing_does_so_when_the_tree_predicts() -> None:
    """1 stands for 01, which the tree itself never asks for."""
    column = {"kind": "category", "missing": [1]}
    frame = pd.DataFrame({"d": ["01", "02", "03"] * 3, "t": list("cab") * 3})
    problem = Problem.from_table(frame, "t", "onehot-drop-first", columns={"d": column})
    solution = solve(problem, "0.01")
    assert solution.errors == 0
    assert list(solution.tree.predict(frame)) == list(frame["t"])


def test_a_period_among_numbers_is_refused_by_its_name() -> None:
    frame = pd.DataFrame({"d": [pd.Period("2020", "Y"), 5, 5, 7], "t": list("abab")})
    with pytest.raises(InputError, match="'d' has the period 2020 among values of other types"):
        Problem.from_table(frame, "t", "onehot", columns={"d": "category"})


def test_a_narrow_and_a_wide_category_that_a_file_writes_alike_are_one() -> None:
    values = pd.Series([np.float32(0.1), 0.1, "x", "x"], dtype=object).astype("category")
    frame = pd.DataFrame({"d": values, "t": list("aabb")})
    problem = Problem.from_table(frame, "t", "onehot", columns={"d": "category"})
    assert solve(problem, "0.01").errors == 0
    with pytest.raises(InputError, match="target 'd' mixes text and numbers"):
        Problem.from_table(frame, "d", "onehot")
