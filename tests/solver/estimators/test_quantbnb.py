"""QuantBnBClassifier and QuantBnBRegressor: scikit-learn's contract, and the solver's optimum."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

import solver
from solver import InputError, Limits, Problem, Status, Tree
from solver.estimators import QuantBnBClassifier, QuantBnBRegressor

IRIS_X, IRIS_Y = load_iris(return_X_y=True, as_frame=True)
NAMED = load_iris().target_names[IRIS_Y]
DIABETES_X, DIABETES_Y = load_diabetes(return_X_y=True, as_frame=True)


class MeasuredClassifier(QuantBnBClassifier):
    """The same without the tag for categories, for which the checks round their numbers."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = False
        return tags


class MeasuredRegressor(QuantBnBRegressor):
    """As :class:`MeasuredClassifier`."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = False
        return tags


@parametrize_with_checks(
    [
        QuantBnBClassifier(),
        MeasuredClassifier(),
        QuantBnBClassifier(lam=0.02, lam_min=0.01, min_leaf_size=2),
        QuantBnBRegressor(),
        MeasuredRegressor(),
        QuantBnBRegressor(lam=0.02, lam_min=0.01, min_leaf_size=2),
    ]
)
def test_scikit_learn_contract(estimator: Any, check: Callable[[Any], None]) -> None:
    check(estimator)


def test_tags() -> None:
    for model, kind in [(QuantBnBClassifier(), "classifier"), (QuantBnBRegressor(), "regressor")]:
        tags = get_tags(model)
        assert tags.estimator_type == kind
        assert tags.input_tags.allow_nan
        assert tags.input_tags.categorical
    assert get_tags(QuantBnBRegressor()).target_tags.multi_output


@pytest.mark.parametrize("depth", [1, 2])
def test_labels_are_what_solve_finds(depth: int) -> None:
    model = QuantBnBClassifier(lam="0.02", max_depth=depth).fit(IRIS_X, NAMED)
    problem = Problem.from_table(IRIS_X.assign(species=NAMED), "species", "continuous")
    solution = solver.solve(problem, "0.02", "quantbnb", Limits(depth=depth))
    assert model.status_ is Status.OPTIMAL
    assert model.objective_exact_ == model.lower_bound_exact_ == solution.objective
    assert model.tree_.nodes == solution.tree.nodes
    assert (model.get_depth(), model.get_n_leaves()) == (solution.depth, solution.leaves)
    assert 1 - model.score(IRIS_X, NAMED) == pytest.approx(float(solution.loss))
    assert model.predict_proba(IRIS_X).shape == (150, 3)
    assert (Tree.from_json(model.tree_.to_json()).predict(IRIS_X) == model.predict(IRIS_X)).all()


def test_few_splits() -> None:
    problem = Problem.from_table(IRIS_X.assign(species=NAMED), "species", "continuous")
    for splits in range(4):
        model = QuantBnBClassifier(lam="0.001", max_depth=3, max_splits=splits).fit(IRIS_X, NAMED)
        limits = Limits(depth=3, splits=splits)
        solution = solver.solve(problem, "0.001", "quantbnb", limits)
        assert model.tree_.nodes == solution.tree.nodes
        assert model.get_n_leaves() == splits + 1


@pytest.mark.parametrize("outputs", [1, 2])
def test_numbers_are_what_solve_finds(outputs: int) -> None:
    y: Any = DIABETES_Y
    names = ["target", "square"][:outputs]
    if outputs == 2:
        y = pd.DataFrame({"target": DIABETES_Y, "square": (DIABETES_Y / 100) ** 2})
    weights = np.random.RandomState(0).randint(1, 4, len(DIABETES_Y))
    model = QuantBnBRegressor(lam="5", min_leaf_size=40).fit(DIABETES_X, y, weights)
    table = DIABETES_X.join(y)
    problem = Problem.from_table(table, names, "continuous", task="regression", weights=weights)
    solution = solver.solve(problem, "5", "quantbnb", Limits(depth=2, min_leaf_size=40))
    assert model.status_ is Status.OPTIMAL
    assert model.objective_exact_ == solution.objective
    assert 0 <= model.objective_exact_ - model.lower_bound_exact_ <= model.solution_.tolerance
    assert model.tree_.nodes == solution.tree.nodes
    assert model.tree_.outputs == tuple(names)
    assert model.n_outputs_ == outputs
    predicted = model.predict(DIABETES_X)
    assert predicted.shape == y.shape
    wrong = ((predicted - y.to_numpy()) ** 2).reshape(len(y), -1).sum(axis=1) @ weights
    assert wrong == pytest.approx(float(solution.errors))
    assert min(node.counts[0] for node in model.tree_.nodes) >= 40
    if outputs == 1:
        assert model.score(DIABETES_X, y, weights) == pytest.approx(model.solution_.r2)
        assert model.solution_.rmse == pytest.approx(np.sqrt(wrong / weights.sum()))


@pytest.mark.parametrize("depth", [1, 2])
def test_no_regression_tree_is_better(depth: int) -> None:
    X, y = DIABETES_X.iloc[:, 2:6], DIABETES_Y
    mine = QuantBnBRegressor(max_depth=depth).fit(X, y)
    other = DecisionTreeRegressor(max_depth=depth, random_state=0).fit(X, y)
    assert mine.score(X, y) >= other.score(X, y) - 1e-12
    if depth == 1:
        assert mine.score(X, y) == pytest.approx(other.score(X, y))


def test_paths() -> None:
    found = QuantBnBClassifier(max_depth=3).regularization_path(IRIS_X, NAMED, lam_min="0.001")
    assert found.status is Status.OPTIMAL
    assert found.proven.all()
    assert found.splits.tolist() == sorted(found.splits, reverse=True)
    model = QuantBnBClassifier(lam="0.02", lam_min="0.001", max_depth=3).fit(IRIS_X, NAMED)
    assert model.tree_ in model.lam_path_.trees
    alone = QuantBnBClassifier(lam="0.02", max_depth=3).fit(IRIS_X, NAMED)
    assert model.objective_exact_ == alone.objective_exact_
    steps = QuantBnBRegressor().regularization_path(DIABETES_X, DIABETES_Y, lam_min="10")
    assert steps.proven.all()
    assert steps.splits[-1] == 0
    assert [float(loss) for loss in steps.losses] == sorted(map(float, steps.losses))
    for lam, loss, splits in zip(steps.lams, steps.losses, steps.splits, strict=True):
        one = QuantBnBRegressor(lam=lam).fit(DIABETES_X, DIABETES_Y)
        reached = loss + lam * int(splits)
        assert abs(one.objective_exact_ - reached) <= 2 * one.solution_.tolerance


def test_work_where_estimators_work() -> None:
    grid: dict[str, list[Any]] = {"lam": ["1/150", 0.02], "max_depth": [1, 2]}
    search = GridSearchCV(QuantBnBClassifier(), grid, cv=3).fit(IRIS_X, NAMED)
    assert search.best_params_["max_depth"] == 2
    assert search.best_score_ > 0.9
    grid = {"max_depth": [1, 2], "min_leaf_size": [None, 20]}
    search = GridSearchCV(QuantBnBRegressor(), grid, cv=3).fit(DIABETES_X, DIABETES_Y)
    assert search.best_params_["max_depth"] == 2


def test_clone_and_pickle() -> None:
    for model, y in [
        (QuantBnBClassifier(lam=Fraction(1, 9), columns={"x1": "drop"}), IRIS_Y),
        (QuantBnBRegressor(max_depth=1), IRIS_X["petal width (cm)"]),
    ]:
        assert clone(model).get_params() == model.get_params()
        X = IRIS_X.to_numpy()[:, :3]
        model.fit(X, y)
        again = pickle.loads(pickle.dumps(model))
        assert (again.predict(X) == model.predict(X)).all()
        assert again.solution_ == model.solution_


def test_tables_with_categories_and_missing_values() -> None:
    table = pd.DataFrame({"odor": ["foul", None, "none", "foul"] * 3, "cap": [1.0, np.nan] * 6})
    model = QuantBnBClassifier(lam="0.01").fit(table, ["no", "yes", "yes", "no"] * 3)
    assert model.objective_exact_ == Fraction(1, 100)
    assert model.predict(table.head(2)).tolist() == ["no", "yes"]
    numbers = QuantBnBRegressor().fit(table, [1.5, 4.0, 2.0, 1.5] * 3)
    assert numbers.predict(table).tolist() == [1.5, 4.0, 2.0, 1.5] * 3
    assert numbers.objective_exact_ == 0


def test_rows_of_no_weight_are_not_there() -> None:
    weights = (np.arange(150) % 3 > 0).astype(float)
    kept = weights > 0
    for model, y in [(QuantBnBClassifier(), NAMED), (QuantBnBRegressor(), IRIS_X.iloc[:, 3])]:
        all_rows = clone(model).fit(IRIS_X.iloc[:, :3], y, weights)
        some_rows = clone(model).fit(IRIS_X.iloc[kept, :3], np.asarray(y)[kept])
        assert all_rows.tree_.nodes == some_rows.tree_.nodes


def test_warn_when_nothing_is_proven() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    said = r"the search ended by its node limit; the objective .* or lower max_depth"
    for model in (QuantBnBClassifier, QuantBnBRegressor):
        limited = model(lam=0.001, max_depth=3, node_limit=1)
        with pytest.warns(ConvergenceWarning, match=said):
            limited.fit(X, y)
        assert limited.status_ is Status.NODE_LIMIT
        assert limited.lower_bound_exact_ < limited.objective_exact_
        assert limited.score(X, y) > 0.5


@pytest.mark.parametrize(
    "options, message",
    [
        ({"encoding": "categorical"}, "needs binary or continuous features"),
        ({"max_depth": -1}, "limit depth = -1"),
        ({"lam": 0.001, "lam_min": 0.01}, "lam = 0.001 is below lam_min = 0.01.*lower lam_min"),
        ({"lam": "much"}, "λ = 'much' is not a number"),
    ],
)
@pytest.mark.parametrize("kind", [QuantBnBClassifier, QuantBnBRegressor])
def test_bad_parameters(kind: Any, options: dict[str, Any], message: str) -> None:
    X = pd.DataFrame({"a": pd.Categorical(["u", "v", "w"])})
    with pytest.raises(InputError, match=message):
        kind(**options).fit(X, [0, 1, 1])


@pytest.mark.parametrize("y", [[1.0, np.nan, 2.0], [1.0, np.inf, 2.0], ["a", "b", "c"]])
def test_targets_that_are_no_numbers(y: list[Any]) -> None:
    with pytest.raises(ValueError, match=r"NaN|infinity|y cannot be read as numbers"):
        QuantBnBRegressor().fit([[1.0], [2.0], [3.0]], y)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.array(["2020-01-01", "NaT", "2020-01-02"], "M8[ns]"), "y cannot be .* it has dates"),
        (pd.to_datetime(["2020-01-01", "2020-01-02", "2020-01-03"]), "y cannot be .* it has dates"),
        ([Decimal("0.1"), Decimal("0.10000000000000000001"), 1], "y has the numbers 0.1 and 0.10"),
        ([Decimal(2**53 + 1), Decimal(2**53), 1], r"y has whole numbers beyond 2\^53"),
        ([str(2**53 + 1), str(2**53), "1"], r"y has whole numbers beyond 2\^53"),
        (np.ma.array([1.0, 2.0, 3.0], mask=[0, 1, 0]), "y: values are masked"),
    ],
)
def test_targets_are_read_as_those_of_a_table(y: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        QuantBnBRegressor().fit([[1.0], [2.0], [3.0]], y)


def test_a_score_refuses_masked_values() -> None:
    masked = np.ma.array([1.0, 2.0], mask=[0, 1])
    regressor = QuantBnBRegressor(lam=1, max_depth=1).fit([[1.0], [2.0]], [1.0, 2.0])
    for y, weights in ((masked, None), ([1.0, 2.0], masked)):
        with pytest.raises(InputError, match="values are masked"):
            regressor.score([[1.0], [2.0]], y, weights)


@pytest.mark.parametrize("dtype", ["float32", "Float32", "float[pyarrow]"])
def test_narrow_targets_are_short_decimals(dtype: str) -> None:
    y = pd.Series([0.1, 0.2], dtype=dtype)
    assert QuantBnBRegressor().fit([[1.0], [2.0]], y).predict([[1.0], [2.0]]).tolist() == [0.1, 0.2]


def test_what_both_share_has_the_same_defaults() -> None:
    mine, other = QuantBnBClassifier().get_params(), QuantBnBRegressor().get_params()
    assert set(mine) - set(other) == {"class_weight", "max_splits"}
    assert {name for name in other if mine[name] != other[name]} == {"lam"}
