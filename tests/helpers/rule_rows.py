"""Rows of trees with axis-parallel, oblique and curved splits, on the petals of iris."""

from __future__ import annotations

import json
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np

from solver.features.oblique_tests import HyperplaneTest, PolynomialTest
from solver.problem.problem import Problem
from solver.trees.tree import Shape, Tree
from sweep.datasets import Dataset, load_dataset
from sweep.datasets.dataset_reference import DatasetRef, parse_reference
from sweep.spec import folds
from sweep.worker.encode import encode
from tests.helpers.report_rows import run_row

PETALS = ("petal length (cm)", "petal width (cm)")
FOLDS = 3
_LEAF = -1


def reference(name: str = "petals", features: tuple[str, ...] | None = PETALS) -> DatasetRef:
    """The dataset as a sweep's file names it."""
    more = {} if features is None else {"features": list(features)}
    return parse_reference({"name": name, "source": "iris", **more})


@cache
def dataset(features: tuple[str, ...] | None = PETALS) -> Dataset:
    return load_dataset(reference("petals", features))


LINE = HyperplaneTest.of(PETALS, [0.4123456789, 1.25], 4.1)
CURVE = PolynomialTest(
    PETALS, (1.0, 1.5, 0.0625, -0.125), 7.25, ((1, 0), (0, 1), (2, 0), (1, 1))
)  # fmt: skip


def shape(problem: Problem, rules: str, splits: int) -> Shape:
    """A tree of a family with so many splits, as good as a person sees them."""
    length, width = _cut(problem, PETALS[0], 2.5), _cut(problem, PETALS[1], 1.7)
    root: Any = length
    if splits == 1:
        root = {"hyperplane": LINE, "polynomial": CURVE}.get(rules, width)
        return (root, (_LEAF, _LEAF))
    second: Any = {"hyperplane": LINE, "polynomial": CURVE, "mixed": CURVE}.get(rules, width)
    below: Any = _LEAF
    if splits > 2:
        below = (_cut(problem, PETALS[0], 4.9), (_LEAF, _LEAF))
    return (root, (_LEAF, (second, (below, _LEAF))))


def _cut(problem: Problem, column: str, at: float) -> int:
    """The feature of the cut of a column that is next to a number."""
    own = [
        (abs(test.threshold - at), feature)  # type: ignore[union-attr]
        for feature, test in enumerate(problem.tests)
        if test.column == column
    ]
    return min(own)[1]


def rule_row(
    rules: str = "axis",
    splits: int = 1,
    fold: int | None = None,
    solver: str = "proper",
    features: tuple[str, ...] | None = PETALS,
    **more: Any,
) -> dict[str, Any]:
    """The row of a run of a solver with an option for its rules; of any other, axis-parallel."""
    data = dataset(features)
    described = {"kind": "kfold", "seed": 0, "stratify": True, "folds": FOLDS}
    validation = None if fold is None else described
    place = folds.Fold(None if fold is None else 0, fold)
    problem, test = encode(data, "continuous", {}, validation, place)
    tree: Tree = problem.grow(shape(problem, rules, splits))
    truth = data.frame[data.targets[0]].to_numpy()
    wrong = int(np.sum((tree.predict(data.frame) != truth)[test]))
    objective, proves = Fraction(int(tree.errors), problem.total_weight), solver == "proper"
    options: dict[str, Any] = {}
    limits = {"depth": 3}
    if proves:
        options, limits = {"rules": rules, "degree": 2, "mode": "search"}, {"splits": splits}
    return {
        **run_row("petals", "onehot", "cart"),
        "key": f"petals/{solver}/{rules}/{splits}/{fold}",
        "data_hash": data.digest,
        "n_rows": len(data.frame),
        "n_train": int((~test).sum()),
        "n_test": int(test.sum()),
        "n_classes": 3,
        "n_features": problem.n_features,
        "encoding": "continuous",
        "lam": 0.0,
        "lam_exact": "0",
        "lam_label": "0",
        "solver": solver,
        "solver_options": json.dumps(options, sort_keys=True),
        "limits": json.dumps(limits),
        "status": "optimal" if proves else "heuristic",
        "validation": json.dumps(validation),
        "repeat": place.repeat,
        "fold": fold,
        "seed": None if fold is None else 0,
        "errors": int(tree.errors),
        "total_weight": problem.total_weight,
        "objective": float(objective),
        "objective_exact": str(objective),
        "lower_bound": float(objective) if proves else None,
        "lower_bound_exact": str(objective) if proves else None,
        "gap": 0.0 if proves else None,
        "gap_exact": "0" if proves else None,
        "train_accuracy": 1 - tree.errors / problem.total_weight,
        "test_errors": None if fold is None else wrong,
        "test_accuracy": None if fold is None else 1 - wrong / int(test.sum()),
        "splits": tree.splits,
        "leaves": tree.leaves,
        "depth": tree.depth,
        "tree": tree.to_json(),
        **more,
    }


def rule_rows(
    n_folds: int | None = FOLDS, features: tuple[str, ...] | None = PETALS
) -> list[dict[str, Any]]:
    """All families in three sizes, and CART."""
    numbers: list[int | None] = [None] if n_folds is None else [*range(n_folds)]
    own = [
        rule_row(rules, splits, fold, features=features)
        for fold in numbers
        for rules in ("axis", "hyperplane", "polynomial", "mixed")
        for splits in (1, 2, 3)
    ]
    return own + [rule_row("axis", 3, fold, "cart", features) for fold in numbers]
