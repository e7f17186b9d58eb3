"""OSDTClassifier: scikit-learn's contract, its own parameters, and the same optimum."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

import solver
from solver import InputError, Problem, Status
from solver.estimators import BranchesClassifier, OSDTClassifier
from solver.estimators.classifier_and_regressor import SparseTreeClassifier
from solver.osdt.engine import BOUNDS

IRIS_X, IRIS_Y = load_iris(return_X_y=True, as_frame=True)
NAMED = load_iris().target_names[IRIS_Y]


class Measured(OSDTClassifier):
    """The same without the tag for categories, for which the checks round their numbers."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = False
        return tags


# Some checks fit noise: without a limit on nodes a search goes on to the limit of seconds.
@parametrize_with_checks(
    [
        OSDTClassifier(node_limit=3000),
        Measured(node_limit=3000),
        OSDTClassifier(init="cart", bounds={"dominance": False}, node_limit=3000),
        OSDTClassifier(lam=0.02, lam_min=0.01, node_limit=3000),
    ]
)
def test_scikit_learn_contract(estimator: Any, check: Callable[[Any], None]) -> None:
    check(estimator)


def test_it_is_what_solve_finds() -> None:
    model = OSDTClassifier(
        lam="0.02", encoding="quantiles", encoding_options={"k": 4}, policy="gini"
    )
    model.fit(IRIS_X, NAMED)
    problem = Problem.from_table(IRIS_X.assign(species=NAMED), "species", "quantiles", k=4)
    solution = solver.solve(problem, "0.02", "osdt", policy="gini")
    assert model.status_ is Status.OPTIMAL
    assert model.objective_exact_ == model.lower_bound_exact_ == solution.objective
    assert model.tree_.nodes == solution.tree.nodes
    assert model.solution_.extra["trees_evaluated"] == solution.extra["trees_evaluated"]
    assert (model.get_depth(), model.get_n_leaves()) == (solution.depth, solution.leaves)
    assert 1 - model.score(IRIS_X, NAMED) == pytest.approx(float(solution.loss))


@pytest.mark.parametrize(
    "options",
    [{}, {"max_depth": 2}, {"max_splits": 2}, {"min_leaf_size": 30}, {"init": "cart"}],
    ids=str,
)
def test_it_agrees_with_branches(options: dict[str, Any]) -> None:
    weights = np.random.RandomState(0).randint(0, 4, len(IRIS_Y))
    mine = OSDTClassifier(lam="0.02", **options).fit(IRIS_X, NAMED, weights)
    shared = {name: value for name, value in options.items() if name != "init"}
    other = BranchesClassifier(lam="0.02", **shared).fit(IRIS_X, NAMED, weights)
    assert mine.status_ is other.status_ is Status.OPTIMAL
    assert mine.objective_exact_ == other.objective_exact_
    assert mine.get_n_leaves() == other.get_n_leaves()


def test_the_objective_with_leaves_is_one_lambda_more() -> None:
    model = OSDTClassifier(lam="0.02").fit(IRIS_X, NAMED)
    leaves = Fraction(model.solution_.extra["objective_leaves"])
    assert leaves == model.objective_exact_ + Fraction(1, 50)
    assert leaves == model.solution_.loss + Fraction(model.get_n_leaves(), 50)


def test_bounds_can_be_switched() -> None:
    plain = OSDTClassifier(lam="0.02").fit(IRIS_X, NAMED)
    for name in BOUNDS:
        if name != "hierarchical":  # without it every tree there is would be seen
            switched = OSDTClassifier(lam="0.02", bounds={name: name == "similar_support"})
            switched.fit(IRIS_X, NAMED)
            assert switched.objective_exact_ == plain.objective_exact_, name
    slow = OSDTClassifier(lam="0.02", bounds={"lookahead": False, "two_steps": False})
    slow.fit(IRIS_X, NAMED)
    evaluated = [m.solution_.extra["trees_evaluated"] for m in (plain, slow)]
    assert evaluated[0] < evaluated[1]
    assert slow.solution_.extra["pruned"]["lookahead"] == 0


def test_init_begins_with_carts_tree() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    cold, warm = (OSDTClassifier(lam=0.05, init=init).fit(X[:, :6], y) for init in ("none", "cart"))
    assert warm.status_ is cold.status_ is Status.OPTIMAL
    assert warm.solution_.trace[0].objective < cold.solution_.trace[0].objective
    assert warm.tree_ == cold.tree_


def test_path_is_that_of_branches() -> None:
    mine = OSDTClassifier().regularization_path(IRIS_X, NAMED, lam_min="0.01")
    other = BranchesClassifier().regularization_path(IRIS_X, NAMED, lam_min="0.01")
    assert mine.status is Status.OPTIMAL
    assert mine.proven.all()
    assert (mine.lams == other.lams).all()
    assert (mine.losses == other.losses).all()
    assert (mine.splits == other.splits).all()
    model = OSDTClassifier(lam="0.1", lam_min="0.01").fit(IRIS_X, NAMED)
    assert model.tree_ in model.lam_path_.trees
    plain = OSDTClassifier(lam="0.1").fit(IRIS_X, NAMED)
    assert model.objective_exact_ == model.lower_bound_exact_ == plain.objective_exact_


def test_works_where_classifiers_work() -> None:
    grid = {"lam": ["1/150", 0.02], "max_depth": np.arange(1, 3), "policy": ["gini", "objective"]}
    search = GridSearchCV(OSDTClassifier(), grid, cv=3).fit(IRIS_X, NAMED)
    assert search.best_params_["max_depth"] == 2
    assert search.best_score_ > 0.9


def test_clone_and_pickle() -> None:
    model = OSDTClassifier(lam=Fraction(1, 9), bounds={"support": False}, columns={"x1": "drop"})
    assert clone(model).get_params() == model.get_params()
    model.fit(IRIS_X.to_numpy(), IRIS_Y)
    again = pickle.loads(pickle.dumps(model))
    assert (again.predict(IRIS_X.to_numpy()) == model.predict(IRIS_X.to_numpy())).all()
    assert again.solution_ == model.solution_


def test_tags_and_categories() -> None:
    assert get_tags(OSDTClassifier()).input_tags.categorical
    table = pd.DataFrame({"odor": ["foul", None, "none", "foul"] * 2, "cap": [1.0, np.nan] * 4})
    model = OSDTClassifier(lam="0.01").fit(table, ["no", "yes", "yes", "no"] * 2)
    assert model.objective_exact_ == Fraction(1, 100)
    assert model.predict(table.head(2)).tolist() == ["no", "yes"]


@pytest.mark.parametrize("limit", [{"time_limit": 0}, {"node_limit": 3}, {"memory_limit": 10_000}])
def test_warns_when_nothing_is_proven(limit: dict[str, Any]) -> None:
    X, y = load_breast_cancer(return_X_y=True)
    model = OSDTClassifier(lam=0.01, **limit)
    with pytest.warns(ConvergenceWarning, match="the search ended by its .* limit; the objective"):
        model.fit(X, y)
    assert model.status_.is_limit
    assert model.lower_bound_exact_ < model.objective_exact_
    assert model.score(X, y) > 0.6


@pytest.mark.parametrize(
    "options, message",
    [
        ({"encoding": "categorical"}, "needs binary features, the encoding gives categorical"),
        ({"policy": "fastest"}, "option policy = 'fastest'"),
        ({"init": True}, "init = True must be one of none, cart"),
        ({"bounds": {"best": True}}, "there is no bound 'best'; there are: hierarchical, "),
        ({"bounds": {"policy": "gini"}}, "there is no bound 'policy'"),
        ({"bounds": {"support": 1}}, "option support = 1"),
        ({"bounds": "support"}, "bounds = 'support' must be a dict"),
        ({"lam": 0.001, "lam_min": 0.01}, "lam = 0.001 is below lam_min = 0.01.*lower lam_min"),
    ],
)
def test_bad_parameters(options: dict[str, Any], message: str) -> None:
    X = pd.DataFrame({"a": pd.Categorical(["u", "v", "w"])})
    with pytest.raises(InputError, match=message):
        OSDTClassifier(**options).fit(X, [0, 1, 1])


def test_what_both_classifiers_share_is_written_once() -> None:
    assert issubclass(BranchesClassifier, SparseTreeClassifier)
    assert {"fit", "predict", "predict_proba"}.isdisjoint(vars(OSDTClassifier))
    mine, other = OSDTClassifier().get_params(), BranchesClassifier().get_params()
    shared = set(mine) & set(other)
    assert {n: mine[n] for n in shared} == {n: other[n] for n in shared}
    assert set(other) - shared == {"mode"}
    assert set(mine) - shared == {"policy", "init", "bounds"}
