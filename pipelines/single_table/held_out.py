"""How trees predict rows that they were not grown on: ``--holdout`` and ``--cv``."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pipelines.single_table.solve import Loaded, Request, load, read_lambda
from solver.base import Solver
from solver.catalogue import get_solver
from solver.errors import InputError
from solver.limits import Limits
from solver.monitor import Monitor, Snapshot
from solver.objective.integer_weights import whole_weights
from solver.path.path import Path
from solver.path.path_search import find_path
from solver.problem.problem import Problem
from solver.trees.tree import Tree
from sweep.spec.folds import Fold, held_out


class HeldOut(NamedTuple):
    """The quality of trees on rows that were held out, one figure a fold.

    In classification the share of the weight that is predicted rightly, in regression the root mean
    squared error of one output. The baseline predicts the majority class, or the mean, of the
    training rows.
    """

    quality: tuple[float, ...]
    baseline: tuple[float, ...]

    @property
    def mean(self) -> float:
        """The mean over the folds."""
        return statistics.fmean(self.quality)

    @property
    def deviation(self) -> float | None:
        """The standard deviation over the folds; None for a single one."""
        return statistics.stdev(self.quality) if len(self.quality) > 1 else None

    @property
    def error(self) -> float | None:
        """The standard error of the mean over the folds; None for a single one."""
        own = self.deviation
        return None if own is None else own / math.sqrt(len(self.quality))

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "folds": list(self.quality),
            "mean": self.mean,
            "standard_deviation": self.deviation,
            "standard_error": self.error,
            "baseline": statistics.fmean(self.baseline),
        }


def check_validation(holdout: float | None, folds: int | None) -> dict[str, Any] | None:
    """The validation that two options ask for, as :func:`sweep.spec.folds.held_out` reads it.

    Raises InputError if both are given, or one is out of range.
    """
    if holdout is not None and folds is not None:
        raise InputError("--holdout and --cv exclude each other; leave one out")
    if holdout is not None:
        if not 0 < holdout < 1:
            raise InputError(f"--holdout {holdout} must be a share of the rows, e.g. 0.25")
        return {"kind": "holdout", "test": holdout, "seed": 0}
    if folds is not None:
        if folds < 2:
            raise InputError(f"--cv {folds} must be the number of folds, 2 or more")
        return {"kind": "kfold", "folds": folds, "seed": 0}
    return None


def validate(
    request: Request,
    validation: Mapping[str, Any],
    stop: Callable[[], bool],
    follow: Callable[[Snapshot], None] | None,
) -> HeldOut | None:
    """Grow a tree on the training rows of each fold and test it on the others.

    Folds are stratified by class. Each search gets the limits of the request. None if it was
    stopped. Raises InputError as :func:`pipelines.single_table.solve.solve_request`, or if there
    are too few rows.
    """
    loaded = load(request)
    number = _check_rows(loaded, validation)
    quality, baseline = [], []
    for test in _folds(loaded, validation, number):
        solver, problem, lam, limits, monitor = _prepare(loaded, request, ~test, stop, follow)
        tree = solver.solve(problem, lam, limits, monitor=monitor).tree
        if stop():
            return None
        quality.append(_quality(tree, loaded, test))
        baseline.append(_baseline(loaded, test))
    return HeldOut(tuple(quality), tuple(baseline))


def validate_path(
    request: Request,
    validation: Mapping[str, Any],
    path: Path,
    stop: Callable[[], bool],
    follow: Callable[[Snapshot], None] | None,
) -> list[HeldOut] | None:
    """Test each step of a λ-path: find the path of each fold's training rows, and take its tree at
    the λ in the middle of the step; the last step is the tree without a split.

    The path of each fold gets the limits of the request. Otherwise as :func:`validate`.
    """
    loaded = load(request)
    number = _check_rows(loaded, validation)
    middles = [None if step.end is None else (step.start + step.end) / 2 for step in path.steps]
    quality: list[list[float]] = [[] for _ in middles]
    baseline = []
    for test in _folds(loaded, validation, number):
        solver, problem, lam, limits, monitor = _prepare(loaded, request, ~test, stop, follow)
        own = find_path(problem, lam, solver.series(problem), limits, monitor)
        if stop():
            return None
        baseline.append(_baseline(loaded, test))
        for found, middle in zip(quality, middles, strict=True):
            # λ_min = k/n is a larger one in a fold.
            step = own.steps[-1] if middle is None else own.step_at(max(middle, own.lam_min))
            found.append(_quality(step.tree, loaded, test))
    return [HeldOut(tuple(found), tuple(baseline)) for found in quality]


def _check_rows(loaded: Loaded, validation: Mapping[str, Any]) -> int:
    """The number of folds; InputError if there are too few rows for them."""
    number: int = validation.get("folds", 1)
    if len(loaded.frame) < max(number, 2):
        raise InputError(f"{len(loaded.frame)} rows are too few for {number} folds")
    return number


def _folds(
    loaded: Loaded, validation: Mapping[str, Any], number: int
) -> Iterator[NDArray[np.bool_]]:
    described = {**validation, "stratify": loaded.dataset.task == "classification"}
    for fold in range(number):
        yield held_out(described, Fold(0, fold), loaded.dataset.labels[1])


def _prepare(
    loaded: Loaded,
    request: Request,
    rows: NDArray[np.bool_],
    stop: Callable[[], bool],
    follow: Callable[[Snapshot], None] | None,
) -> tuple[Solver, Problem, Fraction, Limits, Monitor]:
    """The solver, and what it is given to search on some of the rows."""
    limits, problem = Limits(**request.limits), loaded.problem(rows)
    lam = read_lambda(request.lam, problem.n_rows)
    solver = get_solver(request.solver)(**request.solver_options)
    monitor = Monitor(stop=stop, snapshot=follow, interval=0.5)
    return solver, problem.fitted(lam, limits.splits), lam, limits, monitor


def _weights(loaded: Loaded, rows: NDArray[np.bool_]) -> NDArray[np.float64]:
    if loaded.weights is None:
        return np.ones(int(rows.sum()))
    weights = np.array(whole_weights(loaded.weights).whole, dtype=np.float64)[rows]
    if not weights.sum():
        raise InputError("a fold has only rows of weight 0; take fewer folds")
    return weights


def _quality(tree: Tree, loaded: Loaded, test: NDArray[np.bool_]) -> float:
    predicted = tree.predict(loaded.frame[test])
    weights = _weights(loaded, test)
    if loaded.dataset.task == "regression":
        return _rmse(np.reshape(predicted, (len(predicted), -1)), loaded, test)
    places = {label: place for place, label in enumerate(loaded.dataset.classes)}
    right = np.array([places[label] for label in predicted]) == loaded.dataset.labels[1][test]
    return float(np.average(right, weights=weights))


def _baseline(loaded: Loaded, test: NDArray[np.bool_]) -> float:
    weights = _weights(loaded, ~test)
    if loaded.dataset.task == "regression":
        mean = np.average(loaded.dataset.numbers[~test], axis=0, weights=weights)
        return _rmse(np.broadcast_to(mean, loaded.dataset.numbers[test].shape), loaded, test)
    codes = loaded.dataset.labels[1]
    majority = int(np.argmax(np.bincount(codes[~test], weights)))
    return float(np.average(codes[test] == majority, weights=_weights(loaded, test)))


def _rmse(predicted: NDArray[np.float64], loaded: Loaded, test: NDArray[np.bool_]) -> float:
    """The root mean squared error of one output."""
    squared = ((predicted - loaded.dataset.numbers[test]) ** 2).mean(axis=1)
    return float(np.sqrt(np.average(squared, weights=_weights(loaded, test))))
