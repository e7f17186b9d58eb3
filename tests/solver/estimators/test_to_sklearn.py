"""Trees as scikit-learn's own predict the same, and the tools for these read them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.inspection import permutation_importance
from sklearn.tree import export_graphviz, export_text, plot_tree

from solver import InputError, Problem, solve
from solver.estimators import (
    BranchesClassifier,
    OSDTClassifier,
    ProperTreeClassifier,
    QuantBnBClassifier,
    QuantBnBRegressor,
    to_sklearn,
)

RNG = np.random.default_rng(11)
MODELS: list[Any] = [
    BranchesClassifier(lam="0.01"),
    BranchesClassifier(lam="0.01", encoding="thresholds", max_depth=3),
    OSDTClassifier(lam="0.03"),
    QuantBnBClassifier(lam="0.001", max_depth=3),
    ProperTreeClassifier(lam="0.01", max_splits=3),
    QuantBnBRegressor(max_depth=2),
]


def tables(seed: int) -> tuple[pd.DataFrame, pd.Series[Any], pd.DataFrame]:
    """A table with missing numbers, a target of three classes, and other rows."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.integers(-4, 5, (80, 4)) / 4, columns=["a", "b", "c", "long name"])
    y = ((X["a"] > 0.3).astype(int) + (X["b"] > X["c"])).rename("y")
    X = X.mask(rng.random(X.shape) < 0.1)
    return X, y, pd.DataFrame(rng.integers(-9, 10, (300, 4)) / 8, columns=X.columns)


@pytest.mark.parametrize("model", MODELS, ids=repr)
@pytest.mark.parametrize("seed", range(4))
def test_it_predicts_the_same(model: Any, seed: int) -> None:
    X, y, new = tables(seed)
    model = clone(model).fit(X, y)
    theirs = model.to_sklearn()
    rows = pd.concat([X, new, new.mask(np.eye(300, 4) > 0)])
    assert theirs.predict(rows).tolist() == model.predict(rows).tolist()
    assert theirs.apply(rows).tolist() == model.apply(rows).tolist()
    assert theirs.get_n_leaves() == model.get_n_leaves()
    assert theirs.get_depth() == model.get_depth()
    assert theirs.feature_importances_ == pytest.approx(model.feature_importances_)
    if hasattr(model, "classes_"):
        assert theirs.predict_proba(rows).tolist() == model.predict_proba(rows).tolist()


def test_tools_for_scikit_learns_trees_read_it() -> None:
    X, y, _ = tables(1)
    model = QuantBnBClassifier(lam="0.01").fit(X, y)
    theirs = to_sklearn(model)
    assert "|--- c <= 0.10" in export_text(theirs, feature_names=list(X.columns))
    assert export_graphviz(theirs).startswith("digraph Tree")
    assert len(plot_tree(theirs)) >= len(model.tree_.nodes)
    found = permutation_importance(theirs, X, y, n_repeats=2, random_state=0)
    assert found.importances_mean.max() > 0


def test_arrays_need_no_names_and_labels_keep_their_type() -> None:
    X, y, new = tables(2)
    labels = np.array(["low", "middle", "high"])[y]
    model = QuantBnBClassifier(lam="0.01").fit(X.to_numpy(), labels)
    theirs = model.to_sklearn()
    assert not hasattr(theirs, "feature_names_in_")
    assert theirs.classes_.tolist() == model.classes_.tolist()
    assert theirs.predict(new.to_numpy()).tolist() == model.predict(new.to_numpy()).tolist()


def test_solutions_and_trees_are_read_by_the_names_of_the_columns() -> None:
    X, y, new = tables(3)
    solution = solve(Problem.from_table(X.assign(y=y), "y", "thresholds"), "0.02")
    theirs = to_sklearn(solution, feature_names=list(X.columns))
    assert theirs.predict(new).tolist() == solution.tree.predict(new).tolist()
    with pytest.raises(InputError, match="which is not in feature_names; name the columns of X"):
        to_sklearn(solution.tree, feature_names=["else"])


def test_numbers_of_regression_with_several_outputs() -> None:
    X, y, new = tables(4)
    both = pd.DataFrame({"y": y, "z": X["a"].fillna(0)})
    model = QuantBnBRegressor(max_depth=2).fit(X, both)
    assert model.to_sklearn().predict(new).tolist() == model.predict(new).tolist()


def test_columns_of_0_and_1_may_be_categories() -> None:
    table = pd.DataFrame(RNG.integers(0, 2, (60, 3)), columns=["a", "b", "c"])
    y = table["a"] & table["b"]
    columns = dict.fromkeys(table, "category")
    model = BranchesClassifier(lam="0.01", encoding="categorical", columns=columns).fit(table, y)
    assert model.get_n_leaves() == 3
    assert model.to_sklearn().predict(table).tolist() == y.tolist()
    for labels in (y, 1 - y):
        model = BranchesClassifier(lam="0.01").fit(table.astype(bool), labels)
        assert model.get_n_leaves() == 3
        assert model.to_sklearn().predict(table.astype(bool)).tolist() == labels.tolist()


@pytest.mark.parametrize(
    "column",
    [["x", "y", "x", "z"] * 9, pd.to_datetime(["2020-01-01", "2021-01-01"] * 18), [1, 2, 3, 1] * 9],
)
def test_tests_that_are_no_cuts_of_numbers_are_refused(column: Any) -> None:
    table = pd.DataFrame({"c": column})
    is_date = pd.api.types.is_datetime64_any_dtype(table["c"])
    y = (table["c"] == table["c"].iloc[0]).astype(int)
    model = BranchesClassifier(columns=None if is_date else {"c": "category"}).fit(table, y)
    assert model.get_n_leaves() == 2
    with pytest.raises(InputError, match="scikit-learn's trees cannot ask 'c"):
        model.to_sklearn()


@pytest.mark.parametrize("yes", [True, False])
def test_one_boolean_against_other_values_is_no_cut(yes: bool) -> None:
    X = pd.DataFrame({"a": pd.Series([True, False, 2] * 2, dtype=object)})
    y = [value is yes for value in X["a"]]
    model = BranchesClassifier(lam="0.01", columns={"a": "category"}).fit(X, y)
    assert model.predict(X).tolist() == y
    with pytest.raises(InputError, match="know cuts of numbers only"):
        model.to_sklearn()


def test_converters_to_onnx_read_it() -> None:
    convert = pytest.importorskip("skl2onnx", reason="skl2onnx is not installed").to_onnx
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    X, y, new = tables(5)
    model = QuantBnBClassifier(lam="0.01").fit(X.to_numpy(np.float32), y)
    numbers = new.to_numpy(np.float32)
    session = runtime.InferenceSession(convert(model.to_sklearn(), numbers[:1]).SerializeToString())
    (found, *_) = session.run(None, {"X": numbers})
    assert found.tolist() == model.predict(numbers).tolist()


def test_shap_explains_what_the_tree_predicts() -> None:
    shap = pytest.importorskip("shap", reason="shap is for Linux only in the dev extra")
    X, y, _ = tables(6)
    X = X.fillna(0)
    model = QuantBnBClassifier(lam="0.01").fit(X, y)
    shares = shap.TreeExplainer(model.to_sklearn())(X)
    predicted = shares.base_values + shares.values.sum(axis=1)
    assert predicted == pytest.approx(model.predict_proba(X))
    explained = abs(shares.values).max(axis=(0, 2)) > 0
    assert explained.tolist() == (model.feature_importances_ > 0).tolist()
