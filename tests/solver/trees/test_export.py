"""Trees as text, DOT, SVG and figures."""

from __future__ import annotations

import io
import re
import xml.etree.ElementTree as ET
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from solver.errors import InputError
from solver.estimators import BranchesClassifier
from solver.features.columns import ColumnSpec
from solver.features.node_tests import CategoryTest, ThresholdTest
from solver.features.oblique_tests import HyperplaneTest, PolynomialTest
from solver.problem.problem import Problem
from solver.solve_problem import regularization_path, solve
from solver.trees.export import export_dot, export_svg, export_text, plot_tree
from solver.trees.tree import Node, Tree
from solver.trees.tree_view import fold_terms, in_short, layout, tree_view

ODOR = CategoryTest("odor", (("almond",), ("foul",), ("none",), (None,)))
AGE = ThresholdTest('age <years> & "more" $x$', 30.5)
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def tree() -> Tree:
    """odor (multiway, one branch without rows), and age below ``none``."""
    nodes = (
        Node((10, 9), 0, 0, (1, 2, 3, 6)),
        Node((4, 0), 0),
        Node((0, 5), 1),
        Node((6, 4), 0, 1, (4, 5)),
        Node((6, 1), 0),
        Node((0, 3), 1),
        Node((0, 0), 0),
    )
    columns = {"odor": ColumnSpec("category"), AGE.column: ColumnSpec("number")}
    return Tree(nodes, {0: ODOR, 1: AGE}, ("edible", "日本 <b>"), columns, "class")


def oblique(name: str = "length") -> Tree:
    """A hyperplane, and below it a surface of many terms."""
    plane = HyperplaneTest.of([name, "width"], [0.345123456, -1.2789], 3.2141592)
    powers = ((1, 0), (0, 1), (2, 0), (1, 1), (0, 2))
    weights = (1.25, -0.3434343434, 0.123456789, 1.0, -2.0)
    curve = PolynomialTest((name, "width"), weights, 3.5, powers)
    nodes = (
        Node((10, 9), 0, 7, (1, 2)),
        Node((9, 0), 0),
        Node((1, 9), 1, 8, (3, 4)),
        Node((1, 0), 0),
        Node((0, 9), 1),
    )
    columns = {name: ColumnSpec("number"), "width": ColumnSpec("number")}
    return Tree(nodes, {7: plane, 8: curve}, ("no", "yes"), columns)


def leaf() -> Tree:
    return Tree((Node((7, 1), 0),), {}, ("no", "yes"))


def test_text_gives_every_leaf_in_the_users_words(tree: Tree) -> None:
    assert export_text(tree).splitlines() == [
        "odor = almond: edible (4 rows)",
        "odor = foul: 日本 <b> (5 rows)",
        "odor = none",
        f"|   {AGE.column} ≤ 30.5: edible (7 rows, 1 wrong)",
        f"|   {AGE.column} > 30.5: 日本 <b> (3 rows)",
        "odor = missing: edible (no rows)",
    ]


def test_text_of_a_single_leaf() -> None:
    assert export_text(leaf()) == "no (8 rows, 1 wrong)"


def test_text_breaks_long_sums_before_their_terms_and_keeps_all_digits() -> None:
    assert export_text(oblique()).splitlines() == [
        "0.345123456·length − 1.2789·width ≤ 3.2141592: no (9 rows)",
        "0.345123456·length − 1.2789·width > 3.2141592",
        "|   1.25·length − 0.3434343434·width + 0.123456789·length² + length·width",
        "|       − 2·width² ≤ 3.5: no (1 row)",
        "|   1.25·length − 0.3434343434·width + 0.123456789·length² + length·width",
        "|       − 2·width² > 3.5: yes (9 rows)",
    ]
    longer = export_text(oblique("length of the petals"))
    assert max(map(len, longer.splitlines())) < 110
    assert "\n|       + length of the petals·width − 2·width² ≤ 3.5: no" in longer


def test_drawn_sums_have_all_digits_and_lines_of_their_own() -> None:
    root = ET.fromstring(export_svg(oblique("length of the petals (mm)")))
    texts = [element.text for element in root.iter(f"{SVG}text")]
    assert "0.345123456·length of the petals (mm)" in texts
    assert {"+ 0.123456789·", "length of the petals (mm)²"} <= set(texts)
    assert {"≤ 3.2141592", "> 3.2141592", "≤ 3.5", "> 3.5"} <= set(texts)
    told = [element.text or "" for element in root.iter(f"{SVG}title")]
    assert any(
        "0.345123456·length of the petals (mm) − 1.2789·width > 3.2141592" in t for t in told
    )
    drawn = [text.get_text() for text in plot_tree(oblique()).axes[0].texts]
    assert "0.345123456·length − 1.2789·width" in drawn
    assert 'label="0.345123456·length − 1.2789·width"' in export_dot(oblique())


@pytest.mark.parametrize("name", ["length", "length of the petals (mm)", "a" * 70])
def test_boxes_of_sums_do_not_overlap(name: str) -> None:
    plan = layout(tree_view(oblique(name)))
    for i, a in enumerate(plan.boxes):
        assert a.height / 2 <= a.y <= plan.height - a.height / 2
        for b in plan.boxes[i + 1 :]:
            apart = abs(a.y - b.y) >= (a.height + b.height) / 2
            assert apart or a.x + a.width <= b.x or b.x + b.width <= a.x


def test_sums_are_broken_before_terms_then_before_factors() -> None:
    terms = ("2·length", "+ 3·width", "− 4·length²·width")
    assert fold_terms(terms, 60) == ["2·length + 3·width − 4·length²·width"]
    assert fold_terms(terms, 20) == ["2·length + 3·width", "− 4·length²·width"]
    assert fold_terms(terms, 14) == ["2·length", "+ 3·width", "− 4·length²·", "width"]
    assert fold_terms(("a" * 20,), 8) == ["a" * 20]


def test_long_sums_are_cut_in_words_where_one_sees_it() -> None:
    test = HyperplaneTest.of(["a", "b"], [1.000001, -1.000002], 0.1 + 0.2)
    assert in_short(test, 1) == "1.000001·a − 1.000002·b > 0.30000000000000004"
    assert in_short(test, 0, 12) == "1.000001·a… ≤ 0.30000000000000004"
    assert in_short(AGE, 0) == AGE.describe(0)


def test_merging_adds_up_leaves_of_the_same_class_under_one_split(tree: Tree) -> None:
    lines = export_text(tree, merge=True).splitlines()
    assert lines[0] == "odor in {almond, missing}: edible (4 rows)"
    assert len(lines) == 5
    root = tree_view(tree, merge=True)
    assert root.children[0].leaves == 2
    assert sum(box.node.leaves for box in layout(root).boxes) == tree.leaves
    assert sum(box.node.wrong for box in layout(root).boxes if not box.node.children) == tree.errors


def test_merging_leaves_binary_splits_alone() -> None:
    nodes = (Node((3, 1), 0, 0, (1, 2)), Node((2, 0), 0), Node((1, 1), 0))
    tree = Tree(nodes, {0: ThresholdTest("x", 1.0)}, ("a", "b"))
    assert export_text(tree, merge=True) == export_text(tree)
    assert len(export_text(tree).splitlines()) == 2


def test_dot_escapes_names_and_links_every_node(tree: Tree) -> None:
    dot = export_dot(tree)
    assert dot.startswith("digraph tree {")
    assert dot.endswith("}")
    assert dot.count(" -> ") == len(tree.nodes) - 1
    assert 'label="age <years> &amp; \\"more\\" $x$"' in dot
    assert 'label="= almond"' in dot


def test_svg_is_well_formed_and_holds_names_as_text(tree: Tree) -> None:
    root = ET.fromstring(export_svg(tree, title='<script>"&'))
    assert root.findtext(f"{SVG}title") == '<script>"&'
    texts = [element.text for element in root.iter(f"{SVG}text")]
    assert {"odor", "edible", "日本 <b>", "= almond", "> 30.5", "7 rows, 1 wrong"} <= set(texts)
    assert len(list(root.iter(f"{SVG}rect"))) == len(tree.nodes)
    assert not any("id" in element.attrib for element in root.iter())


def test_long_names_are_cut_but_kept_in_the_tooltip() -> None:
    name = "a very long name " * 20
    nodes = (Node((3, 3), 0, 0, (1, 2)), Node((3, 0), 0), Node((0, 3), 1))
    tree = Tree(nodes, {0: ThresholdTest(name, 1.0)}, (name, "b"))
    root = ET.fromstring(export_svg(tree))
    assert max(len(e.text or "") for e in root.iter(f"{SVG}text")) <= 32
    assert any(name in (e.text or "") for e in root.iter(f"{SVG}title"))
    assert float(root.attrib["width"]) < 1000


def test_boxes_do_not_overlap_and_lie_in_the_picture(tree: Tree) -> None:
    plan = layout(tree_view(tree))
    for i, a in enumerate(plan.boxes):
        assert 0 <= a.x < a.x + a.width <= plan.width
        assert 0 <= a.y <= plan.height
        for b in plan.boxes[i + 1 :]:
            assert abs(a.y - b.y) >= 15 or a.x + a.width <= b.x or b.x + b.width <= a.x


@pytest.mark.filterwarnings("ignore:Glyph:UserWarning")
def test_plot_draws_without_pyplot_or_formulas(tree: Tree) -> None:
    figure = plot_tree(tree)
    texts = [text.get_text() for text in figure.axes[0].texts]
    assert "odor" in texts
    assert 'age <years> & "more" $x$' in texts
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png")
    assert buffer.getvalue().startswith(b"\x89PNG")


def test_plot_draws_on_given_axes() -> None:
    from matplotlib.figure import Figure

    figure = Figure()
    axes = figure.subplots()
    assert plot_tree(leaf(), ax=axes) is figure
    assert [text.get_text() for text in axes.texts] == ["no", "8 rows, 1 wrong"]


def regression(outputs: tuple[str, ...] = ("strength",), scale: float = 1.0) -> Tree:
    """Age cut twice; the middle leaf has two rows of one target."""
    values = [(20.0,), (10.0,), (40.0,), (39.5,), (41.0,)]
    errors = [Fraction(4000), Fraction(90), Fraction(12), Fraction(0), Fraction(9, 2)]
    weights = [13, 10, 3, 2, 1]
    children = [(1, 2), (), (3, 4), (), ()]
    features = [0, None, 1, None, None]
    nodes = tuple(
        Node((weight,), 0, feature, below, tuple(v * scale for v in value * len(outputs)), error)
        for weight, feature, below, value, error in zip(
            weights, features, children, values, errors, strict=True
        )
    )
    tests = {0: ThresholdTest("age", 30.5), 1: ThresholdTest("age", 44.0)}
    return Tree(nodes, tests, (), {"age": ColumnSpec("number")}, ", ".join(outputs), outputs)


def test_leaves_of_regression_show_mean_rows_and_spread() -> None:
    assert export_text(regression()).splitlines() == [
        "age ≤ 30.5: 10.0 (10 rows, ± 3.00)",
        "age > 30.5",
        "|   age ≤ 44: 39.5 (2 rows)",
        "|   age > 44: 41.0 (1 row, ± 2.12)",
    ]
    assert export_text(regression(scale=1000.0)).splitlines()[0].startswith("age ≤ 30.5: 10,000 (")


def test_several_outputs_are_named() -> None:
    first = export_text(regression(("strength", "cost"))).splitlines()[0]
    assert first == "age ≤ 30.5: strength 10.0, cost 10.0 (10 rows, RMSE 2.12)"


def test_pictures_of_regression_are_the_darker_the_larger_the_number() -> None:
    tree = regression()
    picture = ET.fromstring(export_svg(tree))
    fills = {rect.get("fill") for rect in picture.iter(f"{SVG}rect")}
    assert {"#F4F8FC", "#9FC8E4", "#FFFFFF"} <= fills
    assert len(fills) == 4
    titles = [title.text for title in picture.iter(f"{SVG}title")]
    assert "> 30.5" not in titles
    assert "age ≤ 30.5: predicts 10.0 (10 rows, ± 3.00)" in titles
    assert 'label="39.5\\n2 rows"' in export_dot(tree)
    assert plot_tree(tree).axes[0].texts[0].get_text() == "age"


def test_leaves_of_one_multiway_split_with_equal_means_are_merged() -> None:
    nodes = (
        Node((6,), 0, 0, (1, 2, 3, 4), (1.0,), Fraction(9)),
        Node((2,), 0, value=(1.0,), squared_error=Fraction(2)),
        Node((2,), 0, value=(2.5,), squared_error=Fraction(1)),
        Node((2,), 0, value=(-0.5,), squared_error=Fraction(0)),
        Node((0,), 0, value=(1.0,), squared_error=Fraction(0)),
    )
    tree = Tree(nodes, {0: ODOR}, (), {"odor": ColumnSpec("category")}, "y", ("y",))
    assert export_text(tree, merge=True).splitlines() == [
        "odor in {almond, missing}: 1.00 (2 rows, ± 1.00)",
        "odor = foul: 2.50 (2 rows, ± 0.707)",
        "odor = none: -0.50 (2 rows)",
    ]


@pytest.mark.parametrize(
    ("weights", "texts"),
    [
        (None, ("2 rows, 1 wrong", "2 rows")),
        ([1, 1, 1, 1], ("2 rows, 1 wrong", "2 rows")),
        ([1.0, 1.0, 1.0, 1.0], ("2 rows, 1 wrong", "2 rows")),
        ([0.5, 2, 0.5, 0.75], ("weight 2.5, 0.5 wrong", "weight 1.25")),
        ([2, 3, 4, 5], ("weight 5, 2 wrong", "weight 9")),
        ([500.25, 2000, 1, 0], ("weight 2,500.25, 500.25 wrong", "weight 1")),
        ([1e-9, 2e-9, 1e-9, 0], ("weight 3e-9, 1e-9 wrong", "weight 1e-9")),
        ([Fraction(1, 3), 1, 1, 1], ("weight ≈ 1.33333, ≈ 0.333333 wrong", "weight 2")),
    ],
)
def test_weights_are_shown_in_the_unit_in_which_they_were_given(
    weights: list[float] | None, texts: tuple[str, str]
) -> None:
    problem = Problem.from_codes([[0], [0], [1], [1]], [1, 0, 1, 1], weights=weights)
    tree = Tree.from_json(problem.grow((0, (-1, -1))).to_json())
    first, second = texts
    assert export_text(tree) == f"x0 = 0: 0 ({first})\nx0 = 1: 1 ({second})"
    assert f'"0\\n{first}"' in export_dot(tree)
    assert f">{first}<" in export_svg(tree)
    figure = plot_tree(tree)
    assert first in [text.get_text() for text in figure.axes[0].texts]


def test_weights_that_were_rounded_are_shown_as_such() -> None:
    weights = [20 / 3, 1e9, 1e-9, 1 / 7]
    problem = Problem.from_codes([[0], [0], [1], [1]], [1, 0, 1, 1], weights=weights)
    assert problem.weight_error
    text = export_text(problem.grow((0, (-1, -1))))
    assert text.startswith("x0 = 0: 0 (weight ≈ 1,000,000,007, ≈ 6.66667 wrong)")


@pytest.mark.parametrize(
    ("weights", "texts"),
    [
        (["1e20", "1", "2"], ("weight ≈ 1.00000e+20, ≤ 6.7e+04 wrong", "weight ≤ 6.7e+04")),
        (["1e16", "1.5", "1"], ("weight ≈ 1.00000e+16, ≤ 4.2 wrong", "weight ≤ 4.2")),
        ([str(2**53 + 1), "1.5", "1"], ("weight ≈ 9.00720e+15, ≤ 3.6 wrong", "weight ≤ 3.6")),
    ],
)
def test_a_rounded_weight_shows_no_digit_that_is_not_certain(
    weights: list[str], texts: tuple[str, str]
) -> None:
    given = [Decimal(weight) for weight in weights]
    problem = Problem.from_codes([[0], [0], [1]], [0, 1, 0], weights=given)
    tree = problem.grow((0, (-1, -1)))
    for same in (tree, Tree.from_json(tree.to_json())):
        assert export_text(same) == f"x0 = 0: 0 ({texts[0]})\nx0 = 1: 0 ({texts[1]})"


@given(
    st.lists(st.tuples(st.integers(1, 10**9), st.integers(0, 25)), min_size=4, max_size=4),
    st.sampled_from(["0.01", "0.12345678901"]),
)
def test_what_a_rounded_weight_shows_is_true(pairs: list[tuple[int, int]], lam: str) -> None:
    weights = [Fraction(digits, 10**power) for digits, power in pairs]
    problem = Problem.from_codes([[0], [0], [1], [1]], [0, 1, 0, 1], weights=weights)
    try:
        problem = problem.fitted(Fraction(lam))
    except InputError:
        assume(False)
    assume(problem.weight_error)
    for leaf, rows in zip(tree_view(problem.grow((0, (-1, -1)))).children, (0, 2), strict=True):
        words = leaf.outcome.removeprefix("weight ").removesuffix(" wrong")
        true = sum(weights[rows : rows + 2]), weights[rows + 1 - leaf.label_index]
        for text, weight in zip(words.split(", "), true, strict=True):
            sign, digits = text.split(" ")
            number = Decimal(digits.replace(",", ""))
            half = Fraction(10) ** number.as_tuple().exponent / 2
            assert weight <= number if sign == "≤" else abs(weight - Fraction(number)) <= half


def test_a_rounded_weight_shows_no_spread() -> None:
    rows, targets, task = [[0], [0], [1], [1]], [1.0, 3.0, 5.0, 5.0], {"task": "regression"}
    problem = Problem.from_codes(rows, targets, weights=[1e20, 1, 1, 1e20], **task)
    text = export_text(problem.grow((0, (-1, -1))))
    assert text == "x0 = 0: 1.00 (weight ≈ 1.00000e+20)\nx0 = 1: 5.00 (weight ≈ 1.00000e+20)"


def test_a_rounded_spread_has_no_unit_of_weights() -> None:
    rows, targets = [[0], [0], [1], [1]], [1.0, 3.0, 5.0, 5.0]
    task: dict[str, Any] = {"task": "regression", "target_name": "y"}
    problem = Problem.from_codes(rows, targets, weights=[0.5] * 4, **task)
    text = export_text(problem.grow((0, (-1, -1))))
    assert text == "x0 = 0: 2.00 (weight 1, ± 1.00)\nx0 = 1: 5.00 (weight 1)"


@pytest.mark.parametrize("export", [export_text, export_dot, export_svg])
def test_estimators_solutions_and_steps_are_shown_as_their_tree(export: Any) -> None:
    codes, target = [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 0, 0, 1]
    problem = Problem.from_codes(codes, target)
    solution, path = solve(problem, "0.05"), regularization_path(problem, "0.05")
    assert export(solution) == export(solution.tree)
    assert export(path.steps[0]) == export(path.steps[0].tree)
    model = BranchesClassifier(lam=0.05).fit(codes, target)
    assert export(model) == export(model.tree_)
    assert "x0" in export(model)


def test_figures_of_an_estimator_and_a_solution() -> None:
    codes, target = [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 0, 0, 1]
    solution = solve(Problem.from_codes(codes, target), "0.05")
    for source in (solution, BranchesClassifier(lam=0.05).fit(codes, target)):
        words = [text.get_text() for text in plot_tree(source).axes[0].texts]
        assert {"x0", "x1"} <= set(words)


@pytest.mark.parametrize("export", [export_text, export_dot, export_svg, plot_tree])
@pytest.mark.parametrize("source", [BranchesClassifier(), "x0 = 0: 0", None])
def test_refuses_what_has_no_tree(export: Any, source: Any) -> None:
    with pytest.raises(InputError, match=r"there is no tree in \w+; give a tree, a solution or a"):
        export(source)


def test_texts_that_a_renderer_would_show_alike_are_told_apart() -> None:
    frame = pd.DataFrame({"c": ["&lt;", "<", "a b", "a  b"], "y": [*"nyny"]})
    tree = solve(Problem.from_table(frame, "y", "categorical"), "0.0001").tree
    assert {'label="= &amp;lt;"', 'label="= <"'} <= set(
        re.findall(r'label="= [^"]*"', export_dot(tree))
    )
    assert 'xml:space="preserve"' in export_svg(tree)
