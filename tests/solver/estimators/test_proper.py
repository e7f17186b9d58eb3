"""ProperTreeClassifier: scikit-learn's contract, and the solver's optimum."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

import solver
from solver import InputError, Limits, Problem, Status
from solver.estimators import ProperTreeClassifier, QuantBnBClassifier
from solver.features.oblique_tests import HyperplaneTest
from solver.trees.tree import Tree

IRIS_X, IRIS_Y = load_iris(return_X_y=True, as_frame=True)
PETALS = IRIS_X.iloc[50:, 2:]
"""Two columns of the two kinds that no line parts."""
KINDS = load_iris().target_names[IRIS_Y[50:]]


class MeasuredClassifier(ProperTreeClassifier):
    """The same without the tag for categories, for which the checks round their numbers."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = False
        return tags


@parametrize_with_checks(
    [
        ProperTreeClassifier(),
        MeasuredClassifier(),
        ProperTreeClassifier(lam=0.02, lam_min=0.01, min_leaf_size=2),
        # A limit of memory ends at the same tree on every machine, and soon.
        ProperTreeClassifier(rules="hyperplane", memory_limit=2**16),
        ProperTreeClassifier(rules="mixed", memory_limit=2**16),
    ]
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_scikit_learn_contract(estimator: Any, check: Callable[[Any], None]) -> None:
    check(estimator)


def test_tags() -> None:
    for rules in ("axis", "hyperplane", "polynomial", "mixed"):
        tags = get_tags(ProperTreeClassifier(rules=rules))
        assert tags.estimator_type == "classifier"
        assert tags.input_tags.allow_nan == tags.input_tags.categorical == (rules == "axis")


@pytest.mark.parametrize("rules", ["axis", "hyperplane"])
def test_labels_are_what_solve_finds(rules: str) -> None:
    model = ProperTreeClassifier("0.02", rules=rules).fit(PETALS, KINDS)
    problem = Problem.from_table(PETALS.assign(species=KINDS), "species", "continuous")
    solution = solver.solve(problem, "0.02", "proper", Limits(splits=2), rules=rules)
    assert model.status_ is Status.OPTIMAL
    assert model.objective_exact_ == model.lower_bound_exact_ == solution.objective
    assert model.tree_.nodes == solution.tree.nodes
    assert (model.get_depth(), model.get_n_leaves()) == (solution.depth, solution.leaves)
    assert 1 - model.score(PETALS, KINDS) == pytest.approx(float(solution.loss))
    assert (Tree.from_json(model.tree_.to_json()).predict(PETALS) == model.predict(PETALS)).all()


def test_a_line_beside_cuts() -> None:
    """One oblique split is better than one cut; cuts with a depth are those of Quant-BnB."""
    line = ProperTreeClassifier(rules="hyperplane", max_splits=1).fit(PETALS, KINDS)
    cut = ProperTreeClassifier(max_splits=1).fit(PETALS, KINDS)
    assert isinstance(line.tree_.tests[line.tree_.nodes[0].feature], HyperplaneTest)
    assert line.objective_exact_ < cut.objective_exact_
    cuts = ProperTreeClassifier(max_splits=3, max_depth=2).fit(IRIS_X, IRIS_Y)
    assert (
        cuts.objective_exact_
        == QuantBnBClassifier(max_depth=2).fit(IRIS_X, IRIS_Y).objective_exact_
    )


def test_the_published_algorithm_finds_the_same() -> None:
    X, y = PETALS[::7], KINDS[::7]
    found = [
        ProperTreeClassifier(rules="hyperplane", mode=m).fit(X, y) for m in ("search", "paper")
    ]
    assert found[0].status_ == found[1].status_ == "optimal"
    assert found[0].objective_exact_ == found[1].objective_exact_


def test_weights_and_the_size_of_leaves() -> None:
    weights = np.random.RandomState(0).randint(0, 4, len(KINDS))
    model = ProperTreeClassifier(rules="hyperplane", max_splits=1, min_leaf_size=70)
    model.fit(PETALS, KINDS, weights)
    problem = Problem.from_table(PETALS.assign(y=KINDS), "y", "continuous", weights=weights)
    limits = Limits(splits=1, min_leaf_size=70)
    solution = solver.solve(problem, "0.01", "proper", limits, rules="hyperplane")
    assert model.objective_exact_ == solution.objective
    assert min(sum(node.counts) for node in model.tree_.nodes if node.is_leaf) >= 70
    wrong = (model.predict(PETALS) != KINDS) @ weights
    assert model.objective_exact_ == Fraction(int(wrong), int(weights.sum())) + Fraction(1, 100)


def test_paths() -> None:
    model = ProperTreeClassifier(rules="hyperplane", max_splits=1)
    found = model.regularization_path(PETALS, KINDS, lam_min="0.001")
    assert found.status is Status.OPTIMAL
    assert found.splits.tolist() == [1, 0]
    assert found.lams[1] == Fraction(1, 2) - found.losses[0]
    both = ProperTreeClassifier(lam="0.02", lam_min="0.01", rules="hyperplane", max_splits=1)
    assert both.fit(PETALS, KINDS).tree_ in both.lam_path_.trees


def test_work_where_estimators_work() -> None:
    grid = {
        "rules": ["axis", "hyperplane"],
        "max_splits": np.array([0, 1]),
        "degree": np.array([1]),
    }
    search = GridSearchCV(ProperTreeClassifier(), grid, cv=3).fit(PETALS, KINDS)
    assert search.best_params_["max_splits"] == 1
    assert search.best_score_ > 0.9


def test_clone_and_pickle() -> None:
    model = ProperTreeClassifier(lam=Fraction(1, 9), rules="mixed", degree=1, max_splits=1)
    assert clone(model).get_params() == model.get_params()
    model.fit(PETALS, KINDS)
    again = pickle.loads(pickle.dumps(model))
    assert (again.predict(PETALS) == model.predict(PETALS)).all()
    assert again.solution_ == model.solution_


def test_missing_values() -> None:
    table = pd.DataFrame({"a": [0.0, 1, 2, 3] * 3, "b": [1.0, np.nan, 1, 2] * 3})
    y = ["p", "q", "p", "q"] * 3
    assert ProperTreeClassifier().fit(table, y).objective_exact_ == Fraction(1, 50)
    lines = ProperTreeClassifier(rules="hyperplane")
    with pytest.raises(InputError, match=r"NaN in column 'b'.*drop the column, fill it in, or use"):
        lines.fit(table, y)
    lines.set_params(columns={"b": "drop"}).fit(table, y)
    assert lines.predict(table).shape == (12,)
    for wish in ("drop", {"kind": "drop"}):
        ProperTreeClassifier(rules="hyperplane", columns={"b": wish}).fit(table, list("xyxy") * 3)
    with pytest.raises(InputError, match="NaN in column 'a'"):
        lines.predict(table.replace({"a": {0.0: np.nan}}))


def test_warn_when_nothing_is_proven() -> None:
    limited = ProperTreeClassifier(0.001, rules="hyperplane", node_limit=1)
    said = r"the search ended by its node limit; the objective .* or lower max_splits or degree"
    with pytest.warns(ConvergenceWarning, match=said):
        limited.fit(PETALS, KINDS)
    assert limited.status_ is Status.NODE_LIMIT
    assert limited.lower_bound_exact_ < limited.objective_exact_


@pytest.mark.parametrize(
    "options, message",
    [
        ({"rules": "oblique"}, "option rules = 'oblique' .* one of axis, hyperplane"),
        ({"mode": "fast"}, "option mode = 'fast' .* one of search, paper"),
        ({"max_splits": -1}, "limit splits = -1"),
        ({"max_splits": 1.5}, "limit splits = 1.5"),
        ({"max_splits": None}, "solver 'proper' needs the limit 'splits'"),
        ({"degree": 0}, "option degree = 0"),
        ({"max_depth": -1}, "limit depth = -1"),
        ({"rules": "hyperplane"}, "'a' holds no numbers.* use rules axis"),
        ({"lam": "much"}, "λ = 'much' is not a number"),
    ],
)
def test_bad_parameters(options: dict[str, Any], message: str) -> None:
    X = pd.DataFrame({"a": pd.Categorical(["u", "v", "w"])})
    with pytest.raises(InputError, match=message):
        ProperTreeClassifier(**options).fit(X, [0, 1, 1])
