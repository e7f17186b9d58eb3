"""Class weights and importances of all classifiers, against scikit-learn's and by hand."""

from __future__ import annotations

import io
from contextlib import redirect_stderr
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.class_weight import compute_sample_weight

from solver import InputError
from solver.estimators import (
    BranchesClassifier,
    OSDTClassifier,
    ProperTreeClassifier,
    QuantBnBClassifier,
    QuantBnBRegressor,
)

CLASSIFIERS = {
    "branches": BranchesClassifier(lam="0.02"),
    "osdt": OSDTClassifier(lam="0.02"),
    "proper": ProperTreeClassifier(lam="0.02"),
    "quantbnb": QuantBnBClassifier(lam="0.02"),
}
RNG = np.random.default_rng(3)
X = pd.DataFrame({"a": RNG.integers(0, 6, 60), "b": RNG.integers(0, 6, 60), "c": 1})
Y = np.where((X["a"] > 3) & (X["b"] > 2), "rare", "often")


@pytest.mark.parametrize("name", CLASSIFIERS)
@pytest.mark.parametrize(
    "given", ["balanced", {"rare": 7, "often": 1}, {"rare": 0.3}, {"rare": Fraction(1, 3), "x": 1}]
)
def test_class_weights_are_weights_of_rows(name: str, given: Any) -> None:
    if given != "balanced" and "x" in given:
        given = given | {"often": 2}  # all classes have one, so others do not matter
    weights = RNG.integers(1, 4, len(Y))
    model = CLASSIFIERS[name].set_params(class_weight=given).fit(X, Y, weights)
    counts = pd.Series(Y).value_counts()
    factors = {
        label: Fraction(len(Y), 2 * int(counts[label])) if given == "balanced"
        else Fraction(str(given.get(label, 1)))
        for label in ("often", "rare")
    }  # fmt: skip
    exact = [factors[label] * int(weight) for label, weight in zip(Y, weights, strict=True)]
    alone = CLASSIFIERS[name].set_params(class_weight=None)
    expected = alone.fit(X, Y, pd.Series(exact, dtype=object))
    assert model.tree_ == expected.tree_
    assert model.objective_exact_ == expected.objective_exact_
    wrong = [e for e, label, p in zip(exact, Y, model.predict(X), strict=True) if label != p]
    loss = sum(wrong, Fraction(0)) / sum(exact, Fraction(0))
    assert model.objective_exact_ == loss + Fraction(1, 50) * model.tree_.splits


def test_balanced_is_what_scikit_learn_calls_so() -> None:
    model = BranchesClassifier(class_weight="balanced").fit(X, Y)
    assert model.tree_.weight_scale is not None
    found = [Fraction(count) / model.tree_.weight_scale for count in model.tree_.nodes[0].counts]
    theirs = compute_sample_weight("balanced", Y)
    for label, weight in zip(model.classes_, found, strict=True):
        assert float(weight) == pytest.approx(theirs[label == Y].sum())


@pytest.mark.parametrize(
    "given, message",
    [
        ("even", r"class_weight = 'even' must be 'balanced' or a dict; write e\.g\."),
        ([1, 2], r"class_weight = \[1, 2\] must be 'balanced' or a dict"),
        ({"rar": 2}, "class_weight has the label 'rar', which is no class of y, and none for 'oft"),
        ({"rare": -1}, "class_weight has the weight -1; give numbers that are 0 or more"),
        ({"rare": "many"}, "class_weight has the weight 'many'; give numbers"),
        ({"rare": float("nan")}, "class_weight has the weight nan; give numbers"),
        ({"rare": True}, "class_weight has the weight True; give numbers"),
    ],
)
def test_bad_class_weights_are_refused(given: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        BranchesClassifier(class_weight=given).fit(X, Y)


def test_class_weights_with_rounded_weights_are_refused() -> None:
    model = BranchesClassifier(class_weight="balanced")
    with pytest.raises(InputError, match="too many digits to be multiplied by class_weight"):
        model.fit(X, Y, RNG.random(len(Y)))


def test_numbers_name_classes_whatever_their_type() -> None:
    y = (Y == "rare").astype(float)
    model = BranchesClassifier(lam="0.02", class_weight={1: 5, np.int64(0): 2}).fit(X, y)
    again = BranchesClassifier(lam="0.02").fit(X, y, np.where(y == 1, 5, 2))
    assert model.tree_ == again.tree_


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_floats_stand_beside_exact_figures(name: str) -> None:
    model = CLASSIFIERS[name].set_params(class_weight=None).fit(X, Y)
    assert f"{model.objective_:.3f} {model.lower_bound_:.3f}"
    assert type(model.objective_) is type(model.lower_bound_) is float
    assert model.objective_ == float(model.objective_exact_)
    assert model.lower_bound_ == float(model.lower_bound_exact_)


def test_importances_are_those_of_scikit_learn_for_the_same_tree() -> None:
    theirs = DecisionTreeClassifier(max_depth=1).fit(X, Y)
    ours = QuantBnBClassifier(lam=0, max_depth=1).fit(X, Y)
    assert ours.get_n_leaves() == 2
    assert ours.feature_importances_.tolist() == theirs.feature_importances_.tolist()
    deep = DecisionTreeRegressor(max_depth=2, random_state=0).fit(X, X["a"])
    model = QuantBnBRegressor(max_depth=2).fit(X, X["a"])
    assert model.feature_importances_ == pytest.approx(deep.feature_importances_)


def test_importances_of_features_that_are_useful_together_only() -> None:
    table = pd.DataFrame({"a": [0, 0, 1, 1], "b": [0, 1, 0, 1], "c": 1})
    y = [0, 1, 1, 0]
    model = BranchesClassifier(lam="0.01").fit(table, y)
    importances = model.feature_importances_
    assert model.get_n_leaves() == 4
    assert importances.sum() == pytest.approx(1)
    assert importances[2] == 0
    stump = BranchesClassifier(lam=1).fit(table, y)
    assert stump.feature_importances_.tolist() == [0, 0, 0]


def test_importances_of_a_split_on_several_columns_are_shared() -> None:
    table = pd.DataFrame({"a": [0.0, 1, 2, 3, 1, 2, 3], "b": [0.5, 1.5, 2.5, 3.5, 0.1, 1.2, 2.2]})
    y = [0, 0, 0, 0, 1, 1, 1]
    model = ProperTreeClassifier(rules="hyperplane", max_splits=1).fit(table, y)
    assert model.get_n_leaves() == 2
    assert model.feature_importances_.tolist() == [0.5, 0.5]


def test_verbose_tells_about_the_search() -> None:
    with redirect_stderr(io.StringIO()) as told:
        BranchesClassifier(lam="0.02", verbose=True).fit(X, Y)
    assert "objective" in told.getvalue()
