"""What notebooks show of trees, solutions, paths and estimators."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context

import treesweep
from solver.notebook_display import to_html
from treesweep import Limits, Problem, regularization_path, solve

EVIL = "<script>alert('1')</script> & \"x\""
TABLE = pd.DataFrame(
    {EVIL: ["a", EVIL, "b", "a"] * 6, "n": [*range(24)], "y": ["no", EVIL, "yes", "no"] * 6}
)


@pytest.fixture(scope="module")
def problem() -> Problem:
    return Problem.from_table(TABLE, "y", "onehot", columns={"n": "category"})


def parsed(html: str | None) -> ET.Element:
    assert html is not None
    assert "<script" not in html
    assert "href" not in html
    assert "http" not in html.replace("http://www.w3.org/2000/svg", "")
    return ET.fromstring(f"<div>{html}</div>")


def words(html: str | None) -> str:
    return " ".join(parsed(html).itertext())


def test_a_solution_shows_its_figures_and_its_tree(problem: Problem) -> None:
    solution = solve(problem, "0.05", limits=Limits(seconds=20))
    told = words(solution._repr_html_())
    assert str(solution.objective) in told
    assert "optimal: no tree within the limits has a smaller objective" in told
    assert EVIL in told
    assert words(solution.tree._repr_html_()) in told


def test_a_search_that_was_ended_says_how_far_it_may_be_off(problem: Problem) -> None:
    rng = np.random.default_rng(0)
    noise = Problem.from_codes(rng.integers(0, 2, (200, 12)), rng.integers(0, 2, 200))
    solution = solve(noise, "0.001", limits=Limits(nodes=2))
    assert solution.status == "node_limit"
    assert "open (node limit): the objective is at most" in words(solution._repr_html_())
    assert "heuristic: nothing is proven" in words(solve(problem, "0.05", "cart")._repr_html_())


def test_a_path_shows_its_steps(problem: Problem) -> None:
    path = regularization_path(problem, "0.01")
    found = parsed(path._repr_html_())
    assert len(path.steps) > 1
    rows = found.findall("table/tr")
    assert len(rows) == len(path.steps) + 1
    assert [row[2].text for row in rows[1:]] == [str(n) for n in path.splits]
    for step, row in zip(path.steps, rows[1:], strict=True):
        assert step.start <= Fraction(row[0].text or "")
        assert step.end is None or Fraction(row[0].text or "") < Fraction(row[1].text) <= step.end
    (picture,) = found.findall("{http://www.w3.org/2000/svg}svg")
    assert len(picture.findall("{http://www.w3.org/2000/svg}g")) == len(path.steps)
    numbers = [float(v) for v in re.findall(r'[xy][12]?="(-?[\d.]+)"', path._repr_html_() or "")]
    assert min(numbers) >= 0
    assert max(numbers) <= 520


@pytest.mark.parametrize("lam_min", [0, "0.9"])
def test_paths_from_zero_and_of_one_step_are_shown(problem: Problem, lam_min: Any) -> None:
    path = regularization_path(problem, lam_min, limits=Limits(depth=2))
    assert len(parsed(path._repr_html_()).findall("table/tr")) == len(path.steps) + 1


def test_large_trees_are_told() -> None:
    codes = [[int(bit) for bit in f"{number:08b}"] for number in range(256)]
    problem = Problem.from_codes(codes, [sum(row) % 2 for row in codes])
    shape: Any = -1
    for feature in range(7):
        shape = (feature, (shape, shape))
    told = words(problem.grow(shape)._repr_html_())
    assert "A tree of 127 splits, depth 7. treesweep.export_text shows all of it." in told


def test_regression_is_shown() -> None:
    table = pd.DataFrame({"a": [1.0, 2, 3, 4], "y": [1.0, 1.5, 7, 8]})
    problem = Problem.from_table(table, "y", "continuous", task="regression")
    told = words(solve(problem, "0.1", "quantbnb", Limits(depth=1))._repr_html_())
    assert "R²" in told
    assert "RMSE" in told


def test_estimators_show_their_tree_once_there_is_one() -> None:
    model = treesweep.BranchesClassifier(lam="0.05")
    with config_context(display="diagram"):
        assert "sk-" in model._repr_html_()  # scikit-learn's own
        model.fit(TABLE[["n"]], TABLE["y"])
        assert "optimal: no tree" in words(model._repr_html_())
        assert model._repr_mimebundle_()["text/html"] == model._repr_html_()


def test_other_objects_have_no_html() -> None:
    assert to_html(3) is None
