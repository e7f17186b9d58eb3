"""BranchesClassifier: scikit-learn's contract, weights, labels, tables, and limits."""

from __future__ import annotations

import datetime as dt
import pickle
import warnings
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

import solver
from solver import InputError, Limits, Problem, Status, Tree
from solver.estimators import BranchesClassifier
from solver.objective.exact_objective import as_lambda

IRIS_X, IRIS_Y = load_iris(return_X_y=True, as_frame=True)
NAMED = load_iris().target_names[IRIS_Y]

TABLE = pd.DataFrame(
    {
        "odor": pd.Categorical(["almond", "foul", None, "foul", "almond", "none", "none", "foul"]),
        "height": [1.0, 2.0, np.nan, 8.0, 9.0, np.nan, 3.0, 7.0],
        "ring": [True, False, True, True, False, False, True, False],
        "found": pd.to_datetime(["2020-01-01", "2021-06-01"] * 4),
    }
)
EDIBLE = pd.Series(["yes", "no", "yes", "no", "yes", "yes", "yes", "no"], name="edible")


class Measured(BranchesClassifier):
    """The same without the tag for categories, for which the checks round their numbers."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = False
        return tags


# A subclass without an __init__ of its own has the parameters of its parent.
@parametrize_with_checks(
    [
        BranchesClassifier(),
        Measured(max_depth=3),  # without a limit one check searches until its time is over
        BranchesClassifier(mode="paper"),
        BranchesClassifier(lam=0.02, lam_min=0.01),
    ]
)
def test_scikit_learn_contract(estimator: Any, check: Callable[[Any], None]) -> None:
    check(estimator)


def test_tags() -> None:
    tags = get_tags(BranchesClassifier())
    assert tags.input_tags.allow_nan
    assert tags.input_tags.categorical
    assert not tags.input_tags.sparse
    assert tags.estimator_type == "classifier"


def test_it_is_what_solve_finds() -> None:
    model = BranchesClassifier(lam="0.01", encoding="quantiles", encoding_options={"k": 4})
    model.fit(IRIS_X, NAMED)
    problem = Problem.from_table(IRIS_X.assign(species=NAMED), "species", "quantiles", k=4)
    solution = solver.solve(problem, "0.01")
    assert model.status_ is Status.OPTIMAL
    assert model.objective_exact_ == model.lower_bound_exact_ == solution.objective
    assert model.tree_.nodes == solution.tree.nodes
    assert model.classes_.tolist() == ["setosa", "versicolor", "virginica"]
    assert model.feature_names_in_.tolist() == list(IRIS_X.columns)
    assert model.n_features_in_ == 4
    assert (model.get_depth(), model.get_n_leaves()) == (solution.depth, solution.leaves)
    assert 1 - model.score(IRIS_X, NAMED) == pytest.approx(float(solution.loss))


def test_prediction_is_the_most_probable_class() -> None:
    model = BranchesClassifier(lam=0.05).fit(IRIS_X, NAMED)
    proba = model.predict_proba(IRIS_X)
    assert proba.shape == (150, 3)
    assert proba.sum(axis=1) == pytest.approx(np.ones(150))
    assert (model.classes_[proba.argmax(axis=1)] == model.predict(IRIS_X)).all()
    ends = model.apply(IRIS_X)
    assert all(model.tree_.nodes[end].is_leaf for end in ends)


@pytest.mark.parametrize(
    "labels",
    [
        np.array([0, 1]),
        np.array([-1.0, 1.0]),
        np.array([False, True]),
        np.array(["no", "yes"]),
        np.array(["no", "yes"], dtype=object),
        pd.Series(["no", "yes"], dtype="category"),
        pd.Series(["no", "yes"], dtype="string"),
        ["no", "yes"],
    ],
    ids=lambda labels: f"{type(labels).__name__}-{getattr(labels, 'dtype', '')}",
)
def test_labels_of_any_kind(labels: Any) -> None:
    wanted = np.asarray(labels)
    target = np.tile(wanted, 10)
    X = np.tile([[0.0], [1.0]], (10, 1))
    predicted = BranchesClassifier().fit(X, target).predict([[1.0], [0.0]])
    assert predicted.tolist() == wanted[::-1].tolist()


def test_stored_tree_predicts_raw_rows_with_the_same_labels() -> None:
    model = BranchesClassifier(lam=0.02).fit(IRIS_X, NAMED)
    tree = Tree.from_json(model.tree_.to_json())
    assert (tree.predict(IRIS_X) == model.predict(IRIS_X)).all()
    assert tree.classes == ("setosa", "versicolor", "virginica")


def test_tables_with_categories_dates_and_missing_values() -> None:
    model = BranchesClassifier(lam="0.01").fit(TABLE, EDIBLE)
    assert model.objective_exact_ == Fraction(1, 100)
    assert model.tree_.target == "edible"
    assert model.predict(TABLE).tolist() == EDIBLE.tolist()
    odd = pd.DataFrame(
        {"odor": ["foul", "fishy", None], "height": [np.nan] * 3, "ring": [True] * 3}
    ).assign(found=pd.Timestamp("2020-05-05"))
    assert model.predict(odd).tolist() == ["no", "yes", "yes"]
    multiway = BranchesClassifier(
        lam="0.01", encoding="categorical", columns={"height": "drop", "found": "drop"}
    )
    assert multiway.fit(TABLE, EDIBLE).get_n_leaves() == 4


def test_missing_numbers_in_arrays() -> None:
    X = np.array([[np.nan], [1.0], [2.0], [np.nan]] * 5)
    y = np.array([1, 0, 0, 1] * 5)
    model = BranchesClassifier().fit(X, y)
    assert model.predict([[np.nan], [3.0]]).tolist() == [1, 0]


def test_arrays_and_tables_are_told_by_position() -> None:
    model = BranchesClassifier(lam=0.02).fit(IRIS_X, NAMED)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        from_array = model.predict(IRIS_X.to_numpy())
    assert (from_array == model.predict(IRIS_X)).all()
    numbered = IRIS_X.set_axis(range(4), axis="columns")
    assert (BranchesClassifier(lam=0.02).fit(numbered, NAMED).predict(numbered) == from_array).all()
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(IRIS_X[IRIS_X.columns[::-1]])


def test_tables_of_other_libraries() -> None:
    pa = pytest.importorskip("pyarrow")
    model = BranchesClassifier(lam=0.02).fit(pa.Table.from_pandas(IRIS_X), NAMED)
    assert (
        model.predict(IRIS_X) == BranchesClassifier(lam=0.02).fit(IRIS_X, NAMED).predict(IRIS_X)
    ).all()


def test_weights_are_repetitions() -> None:
    rng = np.random.RandomState(0)
    weights = rng.randint(0, 4, len(IRIS_Y))
    weighted = BranchesClassifier(lam="0.02").fit(IRIS_X, NAMED, sample_weight=weights)
    rows = np.repeat(np.arange(150), weights)
    repeated = BranchesClassifier(lam="0.02").fit(IRIS_X.iloc[rows], NAMED[rows])
    assert weighted.tree_ == repeated.tree_
    halves = BranchesClassifier(lam="0.02").fit(IRIS_X, NAMED, sample_weight=weights / 2)
    assert halves.objective_exact_ == weighted.objective_exact_


def test_weights_with_many_digits_are_rounded_finely() -> None:
    rng = np.random.RandomState(0)
    weights = rng.uniform(0.1, 1, len(IRIS_Y))
    model = BranchesClassifier(lam="0.02").fit(IRIS_X, NAMED, sample_weight=weights)
    assert model.status_ is Status.OPTIMAL
    wrong = model.predict(IRIS_X) != NAMED
    loss = weights[wrong].sum() / weights.sum()
    assert float(model.solution_.loss) == pytest.approx(loss, abs=1e-12)
    assert model.solution_.tolerance < 1e-12


@pytest.mark.parametrize("lam", ["0.01234567890123", 0.1 + 0.2, 1 / 3, "0.0001234567890123456"])
@pytest.mark.parametrize("lam_min", [None, "0.00001234567890123"])
def test_a_lambda_and_weights_of_many_digits_are_not_rounded_away(lam: Any, lam_min: Any) -> None:
    X, y = load_breast_cancer(return_X_y=True)
    weights = np.where(y == 0, 20 / 3, 1 / 7)
    model = BranchesClassifier(lam=lam, lam_min=lam_min, max_depth=2)
    model.fit(X[:, :4], y, sample_weight=weights)
    assert model.status_ is Status.OPTIMAL
    assert model.solution_.tolerance < 1e-9
    exact = [Fraction(repr(w)) for w in weights.tolist()]
    wrong = model.predict(X[:, :4]) != y
    loss = sum(w for w, is_wrong in zip(exact, wrong, strict=True) if is_wrong) / sum(exact)
    true = loss + as_lambda(lam) * model.solution_.splits
    assert abs(model.objective_exact_ - true) <= model.solution_.tolerance / 2
    codes = model.encoder_.transform(pd.DataFrame(X[:, :4], columns=model.encoder_.columns))
    best = least_objective_of_depth_2(codes, np.eye(2)[y] * weights[:, None], float(lam))
    assert float(true) == pytest.approx(best, abs=1e-9)


def least_objective_of_depth_2(codes: Any, counts: Any, lam: float) -> float:
    """Over all trees of yes/no features, in floats."""

    def leaf(rows: Any) -> float:
        return float(counts[rows].sum() - counts[rows].sum(axis=0).max()) / counts.sum()

    def best(rows: Any, depth: int) -> float:
        splits = codes.T.astype(bool) if depth else ()
        sides = ([rows & ~split, rows & split] for split in splits)
        return min([leaf(rows), *(lam + sum(best(s, depth - 1) for s in side) for side in sides)])

    return best(np.ones(len(codes), bool), 2)


def test_whole_weights_beyond_floats_count_as_they_are() -> None:
    X, weights = pd.DataFrame({"a": ["q", "q", "r"]}), np.array([2**53 + 1, 2**53, 0])
    model = BranchesClassifier(lam="0.9").fit(X, ["b", "a", "a"], sample_weight=weights)
    off = abs(model.objective_exact_ - Fraction(2**53, 2**54 + 1))
    assert off <= model.solution_.tolerance / 2
    short = BranchesClassifier(lam="0.02").fit(IRIS_X, NAMED, np.full(150, 0.1, np.float16))
    assert short.solution_.tolerance == 0


def test_a_smallest_leaf_and_weights_that_cannot_be_exact_are_refused() -> None:
    weights = np.random.RandomState(0).uniform(0.1, 1, len(IRIS_Y))
    with pytest.raises(InputError, match="too many digits to tell whether a leaf"):
        BranchesClassifier(min_leaf_size=4).fit(IRIS_X, NAMED, sample_weight=weights)
    short = np.round(weights, 3)
    free, limited = (
        BranchesClassifier(lam=0.001, max_depth=3, min_leaf_size=size).fit(IRIS_X, NAMED, short)
        for size in (None, 4.5)
    )
    least, limited_least = (
        min(size for size in np.bincount(model.apply(IRIS_X), short) if size > 0)
        for model in (free, limited)
    )
    assert least < 4.5 <= limited_least
    assert free.status_ is limited.status_ is Status.OPTIMAL


def test_smallest_leaf_is_in_the_unit_of_the_weights() -> None:
    X, y = [[0.0], [1.0], [1.0], [1.0]], [0, 1, 1, 1]
    for factor in (1, 0.1, 3, 1 / 3, 0.7):
        weights = np.full(4, factor)
        kept = BranchesClassifier(min_leaf_size=factor).fit(X, y, sample_weight=weights)
        assert kept.get_n_leaves() == 2
        barred = BranchesClassifier(min_leaf_size=1.01 * factor).fit(X, y, sample_weight=weights)
        assert barred.get_n_leaves() == 1


def test_limits_on_the_tree() -> None:
    full = BranchesClassifier(lam=0.001).fit(IRIS_X, NAMED)
    assert full.get_depth() > 2
    shallow = BranchesClassifier(lam=0.001, max_depth=2).fit(IRIS_X, NAMED)
    assert shallow.get_depth() == 2
    few = BranchesClassifier(lam=0.001, max_splits=1).fit(IRIS_X, NAMED)
    assert few.get_n_leaves() == 2
    heavy = BranchesClassifier(lam=0.001, min_leaf_size=40).fit(IRIS_X, NAMED)
    assert min(sum(n.counts) for n in heavy.tree_.nodes if n.is_leaf) >= 40
    assert full.objective_exact_ <= shallow.objective_exact_ <= few.objective_exact_


@pytest.mark.parametrize("limit", [{"time_limit": 0}, {"node_limit": 3}, {"memory_limit": 10_000}])
def test_warns_when_nothing_is_proven(limit: dict[str, Any]) -> None:
    X, y = load_breast_cancer(return_X_y=True)
    with pytest.warns(ConvergenceWarning, match="the search ended by its .* limit; the objective"):
        model = BranchesClassifier(lam=0.01, **limit).fit(X, y)
    assert model.status_.is_limit
    assert model.lower_bound_exact_ < model.objective_exact_
    assert model.score(X, y) > 0.6


def test_does_not_warn_when_proven() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = BranchesClassifier(lam=0.02).fit(IRIS_X, NAMED)
    assert model.status_ == "optimal"


def test_works_where_classifiers_work() -> None:
    search = GridSearchCV(
        make_pipeline(StandardScaler(), BranchesClassifier()),
        {
            "branchesclassifier__lam": ["1/150", 0.02, Fraction(1, 2)],
            "branchesclassifier__max_depth": np.arange(1, 3),
        },
        cv=3,
    )
    search.fit(IRIS_X, NAMED)
    assert search.best_params_["branchesclassifier__max_depth"] == 2
    assert search.best_score_ > 0.9
    assert cross_val_score(BranchesClassifier(lam=0.02), IRIS_X, NAMED, cv=3).mean() > 0.9


def test_clone_and_pickle() -> None:
    columns = {"height": "drop"}
    model = BranchesClassifier(lam=Fraction(1, 9), columns=columns, time_limit=5)
    assert clone(model).get_params() == model.get_params()
    model.fit(TABLE, EDIBLE)
    again = pickle.loads(pickle.dumps(model))
    assert (again.predict(TABLE) == model.predict(TABLE)).all()
    assert again.solution_ == model.solution_
    with pytest.raises(NotFittedError):
        clone(model).predict(TABLE)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"lam": -1}, "λ = -1 is negative"),
        ({"lam": "cheap"}, "λ = 'cheap' is not a number"),
        ({"encoding": "none"}, "there is no encoding 'none'"),
        ({"encoding_options": {"bins": 3}}, "has no option 'bins'"),
        ({"encoding_options": "k"}, "encoding_options = 'k' must be a mapping"),
        ({"columns": "a"}, "columns = 'a' must be a mapping"),
        ({"columns": {"x9": "drop"}}, "not a feature of the table"),
        ({"max_depth": -1}, "limit depth = -1"),
        ({"max_splits": 1.5}, "limit splits = 1.5"),
        ({"min_leaf_size": "few"}, "min_leaf_size = 'few' must be a number"),
        ({"min_leaf_size": float("nan")}, "min_leaf_size = nan must be a number"),
        ({"min_leaf_size": -1}, "limit min_leaf_size = -1"),
        ({"mode": "fast"}, "option mode = 'fast'"),
        ({"time_limit": "1h"}, "limit seconds = '1h'"),
        ({"lam_min": "low"}, "λ = 'low' is not a number"),
        ({"lam": 0.001, "lam_min": 0.01}, "lam = 0.001 is below lam_min = 0.01.*lower lam_min"),
    ],
)
def test_bad_parameters(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        BranchesClassifier(**options).fit([[0.0], [1.0]], [0, 1])


@pytest.mark.parametrize(
    "X, y, weights, message",
    [
        ([["a"], ["b"]], [0, 1], None, "numeric"),
        ([[np.inf], [1.0]], [0, 1], None, "infinity"),
        ([[0.0], [1.0]], [0, np.nan], None, "y contains NaN in 1 row;"),
        ([[0.0], [1.0]], ["a", None], None, "y contains NaN in 1 row;"),
        ([[0.0], [1.0]], [0.5, 1.5], None, "Unknown label type"),
        ([[0.0], [1.0]], [0, 1, 1], None, "inconsistent numbers of samples"),
        ([[0.0], [1.0]], [0, 1], [1, -1], "Negative values"),
        (np.ma.array([[0.0], [1.0]], mask=[[0], [1]]), [0, 1], None, "X: values are masked"),
        ([[0.0], [1.0]], np.ma.array([0, 1], mask=[0, 1]), None, "y: values are masked"),
        ([[0.0], [1.0]], [0, 1], np.ma.array([1, 1], mask=[0, 1]), "weights: values are masked"),
        ([[0.0], [1.0]], [0, 1], [0, 0], "zero"),
        ([[0.0], [1.0]], [0, 1], [1], "sample_weight"),
        ([[0.0], [1.0]], [0, 1], {0: 1, 1: 2}, "sample_weight is a dict; give a list"),
        ([[0.0], [1.0]], [0, 1], (w for w in (1, 2)), "sample_weight is a generator; give"),
        (TABLE.head(0), [], None, "0 sample"),
        (TABLE, EDIBLE.head(3), None, "inconsistent numbers of samples"),
        (TABLE.assign(odor=[[1]] * 8), EDIBLE, None, "column 'odor' holds list values"),
        (TABLE.assign(height=np.inf), EDIBLE, None, "column 'height' has an infinite value"),
    ],
)
def test_bad_data(X: Any, y: Any, weights: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        BranchesClassifier().fit(X, y, sample_weight=weights)


@pytest.mark.parametrize(
    "weights, message",
    [
        (np.ma.array([1.0, 9.0], mask=[0, 1]), "weights: values are masked"),
        ([1.0, -1.0], "Negative values"),
        ([1.0, np.nan], "NaN"),
        ([0, 0], "non-zero"),
        ([[1.0], [1.0]], "1D"),
        ([1.0], "inconsistent numbers of samples"),
    ],
)
def test_bad_weights_of_a_score(weights: Any, message: str) -> None:
    classifier = BranchesClassifier(lam="0.01").fit([[1.0], [2.0]], ["a", "b"])
    with pytest.raises(ValueError, match=message):
        classifier.score([[1.0], [1.0]], ["a", "b"], weights)
    assert classifier.score([[1.0], [1.0]], ["a", "b"], [1, 3]) == 0.25


def test_limits_of_solve_and_of_the_estimator_agree() -> None:
    problem = Problem.from_table(IRIS_X.assign(y=IRIS_Y), "y", "auto")
    assert problem.encoding == "thresholds"
    solution = solver.solve(problem, 0.001, limits=Limits(depth=2))
    model = BranchesClassifier(lam=0.001, max_depth=2).fit(IRIS_X, IRIS_Y)
    assert model.tree_.nodes == solution.tree.nodes


def test_path_is_what_the_solver_finds_and_fits_nothing() -> None:
    model = BranchesClassifier(encoding="quantiles", encoding_options={"k": 4})
    before = dict(vars(model))
    found = model.regularization_path(IRIS_X, NAMED, lam_min="0.002")
    assert vars(model) == before
    problem = Problem.from_table(IRIS_X.assign(species=NAMED), "species", "quantiles", k=4)
    path = solver.regularization_path(problem, "0.002")
    assert found.status is path.status is Status.OPTIMAL
    assert tuple(found.lams) == path.lams
    assert tuple(found.losses) == path.losses
    assert tuple(found.splits) == path.splits
    assert len(path.steps) > 4
    assert found.proven.all()
    for tree, loss in zip(found.trees, found.losses, strict=True):
        wrong = tree.predict(IRIS_X) != NAMED
        assert Fraction(int(wrong.sum()), 150) == loss
    assert found.path.step_at(Fraction(1, 10)).splits == 2


def test_path_begins_at_lam_if_nothing_else_is_said() -> None:
    model = BranchesClassifier(lam="0.05")
    assert model.regularization_path(IRIS_X, NAMED).lams[0] == Fraction(1, 20)
    model.set_params(lam_min="0.04")
    assert model.regularization_path(IRIS_X, NAMED).lams[0] == Fraction(1, 25)
    # λ may be above lam_min in the call, whatever the estimator's own λ is.
    assert model.regularization_path(IRIS_X, NAMED, lam_min="0.1").lams[0] == Fraction(1, 10)


def test_fit_with_a_path_has_the_tree_of_its_lambda() -> None:
    plain = BranchesClassifier(lam="0.1").fit(IRIS_X, NAMED)
    assert not hasattr(plain, "lam_path_")
    model = BranchesClassifier(lam="0.1", lam_min="0.01").fit(IRIS_X, NAMED)
    path = model.lam_path_
    assert path.status == "optimal"
    assert len(path.trees) > 3
    assert model.tree_ in path.trees
    assert model.objective_exact_ == model.lower_bound_exact_ == plain.objective_exact_
    assert model.get_n_leaves() == plain.get_n_leaves() < path.trees[0].leaves
    # It stores well, is forgotten by a fit without it, and clones as a parameter.
    again = pickle.loads(pickle.dumps(model))
    assert again.lam_path_.path == path.path
    assert clone(model).get_params()["lam_min"] == "0.01"
    assert not hasattr(model.set_params(lam_min=None).fit(IRIS_X, NAMED), "lam_path_")


def test_path_with_weights_of_many_digits() -> None:
    weights = np.random.RandomState(0).uniform(0.1, 1, len(IRIS_Y))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = BranchesClassifier().regularization_path(IRIS_X, NAMED, weights, lam_min=0.005)
    assert found.status is Status.OPTIMAL
    wrong = found.trees[0].predict(IRIS_X) != NAMED
    assert float(found.losses[0]) == pytest.approx(weights[wrong].sum() / weights.sum(), rel=1e-6)
    middle = ((found.lams[1] + found.lams[2]) / 2).limit_denominator(1000)
    model = BranchesClassifier(lam=middle).fit(IRIS_X, NAMED, sample_weight=weights)
    assert model.get_n_leaves() == found.trees[1].leaves


def test_lambdas_of_a_path_are_a_grid_to_search() -> None:
    lams = BranchesClassifier().regularization_path(IRIS_X, NAMED, lam_min=0.02).lams
    search = GridSearchCV(BranchesClassifier(), {"lam": lams}, cv=3).fit(IRIS_X, NAMED)
    assert search.best_params_["lam"] in lams
    assert search.best_score_ > 0.9


@pytest.mark.parametrize("limit", [{"time_limit": 0}, {"node_limit": 3}])
def test_warns_when_the_path_is_not_proven(limit: dict[str, Any]) -> None:
    X, y = load_breast_cancer(return_X_y=True)
    with pytest.warns(ConvergenceWarning, match="limit; [01] of . steps of the λ-path are proven"):
        model = BranchesClassifier(lam=0.01, lam_min=0.01, **limit).fit(X, y)
    assert model.lam_path_.status.is_limit
    assert model.status_.is_limit
    assert model.lower_bound_exact_ < model.objective_exact_


BIG = 2**53


@pytest.mark.parametrize(
    "X, y, message",
    [
        (np.array([[BIG], [BIG + 1]], dtype=object), [0, 1], f"exact as numbers, e.g. {BIG + 1}"),
        ([[BIG, 0.5], [BIG + 1, 0.5]], [0, 1], f"exact as numbers, e.g. {BIG + 1}"),
        (np.array([[BIG], [BIG + 1]]), [0, 1], r"whole numbers beyond 2\^53"),
        ([[1], [2], [3], [4]], np.array([True, 1, False, 0], dtype=object), "y mixes numbers and"),
        ([[1], [2], [3], [4]], [True, 1, False, 0], "y mixes numbers and booleans"),
        ([[1], [2], [3]], ["1", 1, "a"], "y mixes text and numbers"),
    ],
)
def test_values_that_would_merge_are_refused(X: Any, y: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        BranchesClassifier().fit(X, y)


@pytest.mark.parametrize("first", [BIG, float(BIG)])
def test_large_classes_stay_apart(first: float) -> None:
    y = [first, BIG + 1, first, BIG + 1]
    model = BranchesClassifier(lam="0.01").fit([[1], [2], [1], [2]], y)
    assert model.predict([[1], [2]]).tolist() == [BIG, BIG + 1]


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        (["a", "a\0"], ["a", "a\0"]),
        (pd.Series([True, False], dtype="boolean"), [False, True]),
        (pd.Series([1, 2], dtype="Int64"), [1, 2]),
        ([1, 2**63], [1, 2**63]),
        ([-1, 2**63 + 1], [-1, 2**63 + 1]),
        (np.array([5, 2**63 + 1], np.uint64), [5, 2**63 + 1]),
    ],
)
def test_labels_stay_what_they_are(labels: Any, classes: list[Any]) -> None:
    model = BranchesClassifier(lam=0).fit([[1.0], [2.0]], labels)
    assert [repr(label) for label in model.classes_.tolist()] == [*map(repr, classes)]
    assert model.predict([[1.0], [2.0]]).tolist() == list(labels)
    assert Tree.from_json(model.tree_.to_json()).classes == tuple(classes)


def test_a_missing_label_is_no_class() -> None:
    with pytest.raises(InputError, match="y contains NaN in 1 row;"):
        BranchesClassifier().fit(pd.DataFrame({"a": list("qrs")}), ["a", float("nan"), "nan"])


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([dt.date(2020, 1, 1), dt.date(2020, 1, 2)], "y holds dates; give it labels"),
        (np.array(["2020-01-01", "2021-01-01"], "M8[D]"), "y holds dates; give it labels"),
        (["a\udc80", "b"], "y: the value 'a.udc80' holds a lone surrogate"),
        ([b"a", b"b"], "y holds bytes values, which no test can read; make its labels text"),
        ([Decimal("sNaN"), 1], "y has a signaling NaN; leave the value empty"),
        ([Decimal("1e999999"), 1], "y has a number beyond 2.1024; make its labels text"),
        ([Decimal("0.1"), Decimal("0.10000000000000000001")], "y has the numbers 0.1 and 0.10"),
    ],
)
def test_labels_that_cannot_be_read_are_refused(labels: Any, message: str) -> None:
    with pytest.raises(InputError, match=f"^{message}"):
        BranchesClassifier().fit([[1.0], [2.0]], labels)


NEAR = ["0.1", "0.10000000000000000001"]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([[Decimal(NEAR[0])], [Decimal(NEAR[1])]] * 2, "'x0' has the numbers 0.1 and 0.10"),
        ([[NEAR[0]], [NEAR[1]]] * 2, "'x0' has the numbers 0.1 and 0.10"),
        ([[True], [1], [False], [0]], "'x0' mixes booleans and numbers"),
        ([[5, 2**53 + 1], [5, 2**53], [5, 3], [5, 4]], "'x1' has whole numbers beyond 2.53"),
    ],
)
def test_values_that_numpy_merges_are_refused(rows: list[Any], message: str) -> None:
    array = np.array(rows, dtype=object)
    with pytest.raises(InputError, match=message):
        BranchesClassifier(lam=0).fit(array, list("abcd"))
    model = BranchesClassifier(lam=0).fit(np.zeros((4, array.shape[1])) + [[0], [1]] * 2, [*"abab"])
    with pytest.raises(InputError, match=message):
        model.predict(array)
    if not isinstance(rows[0][0], str):  # scikit-learn refuses lists of text
        with pytest.raises(InputError, match=message):
            BranchesClassifier(lam=0).fit(rows, list("abcd"))


def test_columns_of_objects_are_read_as_the_user_wants() -> None:
    array = np.array([[True, "0"], [1, "0.0"], [False, "0"], [0, "0"]], dtype=object)
    model = BranchesClassifier(lam=0, columns={"x0": "category", "x1": "drop"})
    assert model.fit(array, list("abcd")).predict(array).tolist() == list("abcd")


def test_columns_of_a_table_are_not_mistaken() -> None:
    """By position the estimator would answer otherwise than its tree, which goes by name."""
    table = pd.DataFrame([["a", "c"], ["b", "c"]])
    model = BranchesClassifier(lam=0, encoding="onehot").fit(table, ["x", "y"])
    assert model.predict(table).tolist() == ["x", "y"]
    with pytest.raises(InputError, match="X has the column '1' in the place of '0'; bring its"):
        model.predict(table[[1, 0]])
    with pytest.raises(InputError, match="X has the column '1' in the place of '0'; bring its"):
        model.predict(table.set_axis([1, 2], axis="columns"))
    with pytest.raises(InputError, match="X has the column '5' in the place of '0'; bring its"):
        model.predict(table.set_axis([5, 6], axis="columns"))


def test_an_array_of_objects_is_read_as_the_table_of_the_fit():
    train = pd.DataFrame({"zip": ["01234", "01234", "56789"]})
    model = BranchesClassifier(lam=0, encoding="onehot").fit(train, ["a", "a", "b"])
    for rows in (pd.DataFrame({"zip": ["1234", "56789"]}), train[1:]):
        assert model.predict(rows.to_numpy()).tolist() == model.predict(rows).tolist()
    marked = BranchesClassifier(
        lam=0, encoding="thresholds", columns={"n": {"kind": "number", "missing": [-1]}}
    )
    numbers = pd.DataFrame({"n": pd.Series([-1, 2, 3], dtype=object)})
    marked.fit(numbers, ["a", "b", "b"])
    assert marked.predict(numbers.to_numpy()).tolist() == ["a", "b", "b"]
    with pytest.raises(InputError, match="column 'n' has whole numbers beyond"):
        marked.predict(np.array([[2**53 + 1]], dtype=object))


def test_a_list_of_narrow_rows_is_what_the_array_is():
    rows = np.array([[0.29999998211860657], [0.30000001192092896]], np.float32)
    for given in (rows, list(rows), [row.tolist() for row in rows.astype(str).astype(float)]):
        model = BranchesClassifier(lam=0, encoding="thresholds").fit(given, ["x", "y"])
        for asked in (rows, list(rows)):
            assert model.predict(asked).tolist() == ["x", "y"]


def test_masked_rows_in_a_list_are_refused():
    rows = [np.ma.array([99.0], mask=[True]), np.ma.array([1.0], mask=[False])]
    with pytest.raises(InputError, match="values are masked"):
        BranchesClassifier().fit(rows, ["x", "y"])
    with pytest.raises(InputError, match="values are masked"):
        Problem.from_codes(rows, [0, 1])
    with pytest.raises(InputError, match="values are masked"):
        Problem.from_codes([[0], [1]], [0, 1], weights=[1.0, np.ma.masked])


def test_a_fit_that_fails_leaves_the_model_as_it_was():
    model = BranchesClassifier(lam=0).fit(pd.DataFrame({"a": [0, 1]}), ["healthy", "ill"])
    before = dict(model.__dict__)
    with pytest.raises(ValueError):
        model.fit(pd.DataFrame({"b": [0, 1]}), ["no", "yes"], sample_weight=[np.nan, 1])
    assert model.__dict__ == before
    assert model.predict(pd.DataFrame({"a": [0, 1]})).tolist() == ["healthy", "ill"]


@pytest.mark.parametrize(
    "labels", [[1, 2, 2], [True, False, False], [10**20, 1, 1], ["a", "a\0", "a\0"]]
)
def test_labels_that_fit_takes_have_a_score(labels):
    labels = pd.Series(labels, dtype=object)
    model = BranchesClassifier(lam=0, encoding="onehot").fit([[0], [1], [1]], labels)
    assert model.score([[0], [1], [1]], labels) == 1
    assert model.score([[0], [1], [0]], labels, sample_weight=[1, 1, 2]) == 0.5


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_score_reads_weights_as_fit_does(dtype: Any) -> None:
    table, y = pd.DataFrame({"a": [1, 2, 3]}), ["u", "v", "u"]
    weights = np.array([0.1, 0.1, 0.7], dtype)
    model = BranchesClassifier(lam=0.5, encoding="thresholds").fit(table, y, weights)
    assert model.solution_.loss == Fraction(1, 9)
    assert model.score(table, y, weights) == 8 / 9
