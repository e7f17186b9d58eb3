"""Exact squared errors, held against sums of fractions; regression problems and their trees."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solver import InputError, Limits, Problem, Status, Tree
from solver.catalogue import get_solver
from solver.objective.exact_squared_error import Moments, in_unit_range
from solver.trees.cost_complexity_pruning import prunings
from solver.verify.scorer import score
from solver.verify.solution_checks import disagreement
from tests.helpers.row_scores import score_rows

NUMBERS = st.floats(-1e100, 1e100) | st.sampled_from([0.0, -0.0, 5e-324, 1 / 3, 1e9 + 0.1, 1e-200])


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_moments_are_sums_of_fractions(data: st.DataObject) -> None:
    n, outputs = data.draw(st.integers(1, 8)), data.draw(st.integers(1, 3))
    values = np.array([[data.draw(NUMBERS) for _ in range(outputs)] for _ in range(n)])
    weights = np.array([data.draw(st.integers(1, 10**6)) for _ in range(n)])
    rows = np.array(data.draw(st.lists(st.integers(0, n - 1), unique=True)), np.int64)
    moments = Moments(values, weights)
    means = moments.means(rows)
    total = sum((Fraction(int(w)) for w in weights[rows]), Fraction(0))
    error = Fraction(0)
    for output, mean in enumerate(means):
        column = [Fraction(v) for v in values[rows, output]]
        pairs = list(zip(weights[rows].tolist(), column, strict=True))
        exact = sum((w * v for w, v in pairs), Fraction(0)) / total if total else Fraction(0)
        assert mean == float(exact)
        error += sum((w * (v - Fraction(mean)) ** 2 for w, v in pairs), Fraction(0))
    assert moments.squared_error(rows, means) == error


@pytest.mark.parametrize("unit", [1e-100, 3.0, 1e100])
def test_targets_in_unit_range(unit: float) -> None:
    values = unit * np.array([[1.0, 7.0], [2.0, 7.0], [4.0, 7.0]])
    scaled, k = in_unit_range(values, np.array([2, 1, 1]))
    assert 0.5 <= np.abs(scaled).max() <= 1
    back = np.ldexp(scaled, -k)
    assert back / unit == pytest.approx(np.array([[-1, 0], [0, 0], [2, 0]]), abs=1e-14)
    same, _ = in_unit_range(np.full((2, 1), unit), np.array([1, 1]))
    assert same.tolist() == [[0.0], [0.0]]


def regression(**options: Any) -> Problem:
    frame = pd.DataFrame(
        {
            "x": [1.0, 2.0, 3.0, 4.0, 4.0],
            "y": [0.1, 0.1, 5.0, 7.0, 9.0],
            "z": [1.0, 2.0, 3.0, 4.0, 4.5],
        }
    )
    return Problem.from_table(frame, ["y", "z"], "continuous", task="regression", **options)


def test_a_tree_predicts_means_and_knows_its_squared_error() -> None:
    problem = regression()
    assert (problem.task, problem.outputs, problem.n_classes) == ("regression", ("y", "z"), 0)
    tree = problem.grow((1, (-1, -1)))
    assert tree.task == "regression"
    assert [node.value for node in tree.nodes[1:]] == [(0.1, 1.5), (7.0, 11.5 / 3)]
    spread = sum((z - 11.5 / 3) ** 2 for z in (3, 4, 4.5))
    assert float(tree.errors) == pytest.approx(0.5 + 8 + spread)
    assert score(problem, tree, Fraction(1, 7))[:2] == (tree.errors, 1)
    frame = pd.DataFrame({"x": [0.0, np.nan, 9.0]})
    assert tree.predict(frame)[[0, 2]].tolist() == [[0.1, 1.5], [7.0, 11.5 / 3]]
    rows = [{"x": value} for value in (1.0, 4.0)]
    assert score_rows(tree, rows, [(0.1, 1.5), (8.0, 11.5 / 3)], Fraction(0)).errors == 1
    assert problem.leaf_errors == problem.grow(-1).errors
    # The two rows with x = 4 cannot be told apart.
    assert float(problem.unavoidable_errors) == pytest.approx(2 + 0.125)
    assert problem.unavoidable_errors <= problem.grow((0, (-1, (1, (-1, (2, (-1, -1))))))).errors
    assert 0 < problem.tolerance < problem.leaf_errors / 10**9
    assert [pruned.splits for pruned in prunings(tree)] == [1, 0]


def test_a_regression_tree_survives_json() -> None:
    tree = regression().grow((1, (-1, -1)))
    again = Tree.from_json(tree.to_json())
    assert again == tree
    assert again.errors == tree.errors
    assert json.loads(tree.to_json())["version"] == 1


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"value": [1.0]}, "one finite value for each output"),
        ({"value": [1.0, math.nan]}, "one finite value for each output"),
        ({"squared_error": "-1"}, "negative"),
        ({"squared_error": "1/0"}, "damaged"),
        ({"weight": -1}, "negative"),
    ],
)
def test_damaged_trees_are_refused(change: dict[str, Any], words: str) -> None:
    data = regression().grow((1, (-1, -1))).to_dict()
    data["nodes"][1] |= change
    with pytest.raises(InputError, match=words):
        Tree.from_dict(data)


def test_equal_rows_are_merged_only_with_equal_targets() -> None:
    problem = Problem.from_codes(
        [[0], [0], [0], [1]], [1.0, 2.0, 1.0, 3.0], weights=[1, 1, 5, 0], task="regression"
    )
    assert problem.values is not None
    assert problem.values.tolist() == [[1.0], [2.0]]
    assert problem.counts.tolist() == [[6], [1]]
    assert problem.outputs == ("target",)


def test_order_of_rows_changes_nothing() -> None:
    rng = np.random.default_rng(3)
    codes, targets = rng.integers(0, 5, (40, 3)), rng.random((40, 2))
    order = rng.permutation(40)
    one = Problem.from_codes(codes, targets, task="regression", ordered=True)
    other = Problem.from_codes(codes[order], targets[order], task="regression", ordered=True)
    moved = Problem.from_codes(codes, targets + 1, task="regression", ordered=True)
    assert one.digest == other.digest != moved.digest
    assert one.outputs == ("target_0", "target_1")


@pytest.mark.parametrize(
    ("target", "options", "words"),
    [
        ("y", {"task": "regresion"}, "no task 'regresion'"),
        (["y", "z"], {}, "classification has one target"),
        (["y", "y"], {"task": "regression"}, "several different ones"),
        (["y", "w"], {"task": "regression"}, "no column 'w'"),
        ("y", {}, "say that this is regression"),
        ("text", {"task": "regression"}, "cannot be read as numbers"),
        ("flat", {"task": "regression"}, "nothing to learn"),
        ("gap", {"task": "regression"}, "missing or infinite"),
        ("when", {"task": "regression"}, "'when' cannot be read as numbers: it has dates; regr"),
        ("huge", {"task": "regression"}, "larger unit"),
        ("tiny", {"task": "regression"}, "smaller unit"),
        ("y", {"task": "regression", "encoding": "mdlp"}, "tells classes apart"),
    ],
)
def test_clear_errors(target: Any, options: dict[str, Any], words: str) -> None:
    frame = pd.DataFrame(
        {
            "x": [1.0, 2.0, 3.0],
            "y": [0.5, 1.5, 2.5],
            "z": [1.0, 2.0, 2.0],
            "text": ["a", "b", "c"],
            "flat": [1.0, 1.0, 1.0],
            "gap": [1.0, np.nan, 2.0],
            "when": pd.to_datetime(["2024-01-01", "2024-01-02", "2024-01-03"]),
            "huge": [1.0, 2.0, 1e200],
            "tiny": [0.0, 5e-324, 1e-101],
        }
    )
    with pytest.raises(InputError, match=words):
        Problem.from_table(frame, target, **{"encoding": "continuous", **options})


@pytest.mark.parametrize("mode", ["fast", "paper"])
def test_far_from_zero_objectives_are_within_the_tolerance(mode: str) -> None:
    """Floats near 10⁹ are 10⁻⁷ apart: that means are rounded to them costs next to none."""
    target = np.array([0.0, 1.0, 1.0, 3.0, 3.0, 4.0, 9.0, 9.5, 9.0]) + 1e9
    codes = np.arange(9)[:, None]
    problem = Problem.from_codes(codes, target, task="regression", ordered=True)
    limits = Limits(depth=2)
    solution = get_solver("quantbnb")(mode=mode).solve(problem, Fraction(0), limits)
    assert solution.status is Status.OPTIMAL
    assert disagreement(problem, solution, Fraction(0), limits) is None
    assert float(solution.errors) == pytest.approx(5 / 6)


def test_targets_that_differ_in_their_last_digits_only_are_refused() -> None:
    """Floats near 10¹⁵ are an eighth apart: a mean rounded to one is no longer the best guess."""
    target = np.array([[0.0, 7e15], [1.0, 7e15], [3.0, 7e15]])
    codes = [[0], [1], [2]]
    far = target + [1e15, 0.0]
    with pytest.raises(InputError, match="'y_0, y_1' differs in its last digits only; subtract"):
        Problem.from_codes(codes, far, target_name="y", task="regression", ordered=True)
    # A constant is its own mean, however large.
    Problem.from_codes(codes, target, target_name="y", task="regression", ordered=True)
