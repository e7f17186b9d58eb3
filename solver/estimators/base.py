"""What the scikit-learn estimators share, whatever their solver and task."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Mapping
from fractions import Fraction
from html import escape
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils import Bunch, estimator_html_repr
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from solver.encodings import fit_transform
from solver.encodings.auto_encoding import AUTO, choose_encoding
from solver.errors import InputError
from solver.estimators.class_weights import weigh_classes
from solver.estimators.importances import feature_importances
from solver.estimators.to_sklearn import to_sklearn
from solver.features.category_values import array_of, refuse_masked
from solver.features.column_inference import Override
from solver.features.columns import ColumnSpec
from solver.features.number_format import at_least, count
from solver.features.to_pandas import as_frame, check_names
from solver.limits import Limits
from solver.notebook_display import to_html
from solver.objective.exact_objective import as_lambda
from solver.objective.integer_weights import WholeWeights, whole_weights
from solver.path.path import Path
from solver.problem.problem import Problem
from solver.solution import Status
from solver.solve_problem import regularization_path, solve
from solver.trees.tree import TaskType


class SparseTree(BaseEstimator):
    """The tree of least training loss + λ·splits, by some solver.

    A subclass names its solver, chooses its options and documents the parameters; see
    :class:`treesweep.BranchesClassifier`.
    """

    _solver: ClassVar[str]
    _task: ClassVar[TaskType] = "classification"
    _remedy: ClassVar[str] = "or use fewer bins (encoding='quantiles', encoding_options={'k': …})"
    """What else helps where a limit has ended the search."""

    def __init__(
        self,
        lam: float | str | Fraction,
        *,
        encoding: str,
        encoding_options: Mapping[str, Any] | None,
        columns: Mapping[str, Override] | None,
        max_depth: int | None,
        min_leaf_size: float | None,
        time_limit: float | None,
        memory_limit: int | None,
        node_limit: int | None,
        lam_min: float | str | Fraction | None,
        verbose: bool,
    ) -> None:
        self.lam = lam
        self.encoding = encoding
        self.encoding_options = encoding_options
        self.columns = columns
        self.max_depth = max_depth
        self.min_leaf_size = min_leaf_size
        self.time_limit = time_limit
        self.memory_limit = memory_limit
        self.node_limit = node_limit
        self.lam_min = lam_min
        self.verbose = verbose

    @abstractmethod
    def _options(self) -> dict[str, Any]:
        """The options of the solver; InputError if a parameter has a wrong type."""

    @abstractmethod
    def _read_target(self, frame: pd.DataFrame, y: Any) -> tuple[tuple[Any, ...], NDArray[Any]]:
        """The classes and the class of each row; in regression no classes, and the targets of shape
        (rows, outputs)."""

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Find the tree.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            An array must be numeric; a missing number is NaN. A DataFrame may also have text,
            booleans, pandas categories and dates.
        y : array-like of shape (n_samples,)
            A classifier takes labels of any kind. A regressor takes numbers; their shape may also
            be (n_samples, n_outputs).
        sample_weight : array-like of shape (n_samples,), optional
            A float is read as its shortest decimal: 0.1 is exactly 1/10. The search adds up weights
            in 64-bit integers. Weights with too many digits for this are rounded;
            ``solution_.tolerance`` then says how much better another tree might be.

        Raises
        ------
        ValueError
            If parameters or data cannot be used. Weights cannot be used if rounding them would
            change the loss of a tree by more than 5·10⁻⁷. Weights that must be rounded cannot be
            used together with ``min_leaf_size``.

        Warns
        -----
        ConvergenceWarning
            If a limit ended the search before the proof.
        """
        before = dict(self.__dict__)
        try:
            self._fit(X, y, sample_weight)
        except BaseException:  # half of this fit and half of an earlier one would answer falsely
            self.__dict__.clear()
            self.__dict__.update(before)
            raise
        self._warn_unless_proven()
        return self

    def _fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None) -> None:
        frame = self._read(X, reset=True, y=y)
        labels, target = self._read_target(frame, y)
        lam, least = self._read_lams()
        options = self._options()
        weights = weigh_classes(
            getattr(self, "class_weight", None),  # classifiers have one
            labels,
            target,
            read_weights(sample_weight, frame),
        )
        counted = weights.whole > 0
        if not counted.all():
            frame, target, weights = frame[counted], target[counted], weights.positive
        problem = self._encode(frame, labels, target, weights, _target_names(y))
        limits = Limits(
            seconds=self.time_limit,
            bytes=self.memory_limit,
            nodes=self.node_limit,
            depth=self.max_depth,
            splits=getattr(self, "max_splits", None),  # a limit that not every solver has
            min_leaf_size=self.min_leaf_size,
        )
        self.__dict__.pop("lam_path_", None)  # of an earlier fit
        if self.lam_min is None:
            self.solution_ = solve(
                problem, lam, self._solver, limits, verbose=self.verbose, **options
            )
        else:
            path = regularization_path(
                problem, least, self._solver, limits, verbose=self.verbose, **options
            )
            self.lam_path_ = _as_bunch(path)
            self.solution_ = path.solution_at(lam)
        self.tree_ = self.solution_.tree
        assert self.solution_.lower_bound is not None  # these solvers prove
        self.objective_exact_ = self.solution_.objective
        self.lower_bound_exact_ = self.solution_.lower_bound
        self.objective_ = float(self.objective_exact_)
        self.lower_bound_ = float(self.lower_bound_exact_)
        self.status_ = self.solution_.status

    def _encode(
        self,
        frame: pd.DataFrame,
        labels: tuple[Any, ...],
        numbers: NDArray[Any],
        weights: WholeWeights,
        names: str | tuple[str, ...],
    ) -> Problem:
        """Fit the encoding, and build the problem."""
        encoding, how = self.encoding, self.encoding_options or {}
        if not isinstance(how, Mapping):
            raise InputError(f"encoding_options = {how!r} must be a mapping, e.g. {{'k': 8}}")
        if encoding == AUTO:
            encoding, chosen = choose_encoding(
                frame, self.columns, cuts_numbers=False, few_values=0
            )
            how = {**chosen, **how}
        self.encoder_, codes = fit_transform(
            encoding,
            frame,
            numbers if labels else np.zeros(len(frame), np.int64),
            n_classes=len(labels),
            columns=self.columns,
            weights=weights,
            **how,
        )
        return Problem.from_codes(
            codes,
            numbers,
            weights=weights,
            tests=self.encoder_.tests,
            classes=labels,
            columns=self.encoder_.columns,
            target_name=names,
            encoding=encoding,
            task=self._task,
        )

    def regularization_path(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        lam_min: float | str | Fraction | None = None,
    ) -> Bunch:
        """Find every tree that is optimal for some λ ≥ ``lam_min``, without fitting the estimator.

        Parameters
        ----------
        X, y, sample_weight
            As for :meth:`fit`.
        lam_min : float, str or Fraction, optional
            The smallest λ; by default the estimator's ``lam_min``, or else its ``lam``.

        Returns
        -------
        Bunch
            ``lams``, ``losses``, ``splits``, ``trees`` and ``proven`` have one entry for each tree,
            in the order of increasing λ. ``lams`` has the smallest λ at which the tree is the best,
            and ``losses`` has its training loss; both are exact Fractions. ``proven`` says whether
            no tree is better up to the next λ. The last tree is a leaf. ``status`` is ``optimal``
            if all trees are proven; otherwise it is the limit that ended the search. ``path`` is
            the :class:`solver.Path`, which has a lower bound at every λ.

        Raises
        ------
        ValueError
            If parameters or data cannot be used; one line says why.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from treesweep import BranchesClassifier
        >>> X, y = load_iris(return_X_y=True, as_frame=True)
        >>> path = BranchesClassifier().regularization_path(X, y, lam_min=0.02)
        >>> [str(lam) for lam in path.lams], path.splits.tolist(), path.status.value
        (['1/50', '22/75', '1/3'], [2, 1, 0], 'optimal')
        """
        if lam_min is None:
            lam_min = self.lam if self.lam_min is None else self.lam_min
        model = clone(self).set_params(lam=lam_min, lam_min=lam_min)
        path: Bunch = model.fit(X, y, sample_weight).lam_path_
        return path

    def _read_lams(self) -> tuple[Fraction, Fraction]:
        """λ, and the least λ to solve."""
        lam = as_lambda(self.lam)
        least = lam if self.lam_min is None else as_lambda(self.lam_min)
        if lam < least:
            raise InputError(
                f"lam = {self.lam} is below lam_min = {self.lam_min}, where the path begins; "
                "lower lam_min or raise lam"
            )
        return lam, least

    def apply(self, X: Any) -> NDArray[np.int64]:
        """The index in ``tree_.nodes`` of the node where each row ends.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        return self.tree_.apply(self._read(X, reset=False))

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """The share of each column of X in the decrease of impurity, as in scikit-learn; see
        :func:`solver.estimators.importances.feature_importances`."""
        check_is_fitted(self)
        return feature_importances(self.tree_, self._names)

    def to_sklearn(self) -> DecisionTreeClassifier | DecisionTreeRegressor:
        """Convert the tree to a fitted tree of scikit-learn, see :func:`treesweep.to_sklearn`."""
        check_is_fitted(self)
        return to_sklearn(self)

    def _html_repr(self) -> str:
        """What notebooks show: the tree, once there is one."""
        if not hasattr(self, "solution_"):
            return str(estimator_html_repr(self))
        return f"<p><code>{escape(repr(self))}</code></p>{to_html(self.solution_)}"

    def get_depth(self) -> int:
        """Splits on the longest path."""
        check_is_fitted(self)
        return self.tree_.depth

    def get_n_leaves(self) -> int:
        """Leaves of the tree."""
        check_is_fitted(self)
        return self.tree_.leaves

    def _read(self, X: Any, *, reset: bool, y: Any = "no_validation") -> pd.DataFrame:
        """Rows as a table with the column names of the fit, after scikit-learn's checks."""
        if hasattr(X, "to_pandas"):
            X = as_frame(X)
        objects = False
        if isinstance(X, pd.DataFrame):
            check_names(X)  # scikit-learn would end in an error of another package
        if y is None or isinstance(X, pd.DataFrame):
            validate_data(self, X, y, reset=reset, skip_check_array=True)
        if not isinstance(X, pd.DataFrame):
            values = validate_data(self, X, reset=reset, ensure_all_finite="allow-nan")
            names = [f"x{j}" for j in range(values.shape[1])]
            given = array_of(X, "X")
            objects = given.dtype == object
            if not objects:
                X = pd.DataFrame(values, columns=names)
            else:  # its values are read one by one, numpy merges some; by the tree as in the fit
                X = pd.DataFrame(given.reshape(values.shape), columns=names, dtype=object)
                X = X.apply(self._read_objects) if reset else X
        elif not reset:
            self._check_places(X)
        if not len(X):
            raise InputError("Found array with 0 sample(s): the table has no rows")
        given_names = X.columns.tolist()
        if reset:
            self._names = [str(name) for name in given_names]
            self._is_numbered = _is_numbered(X)
        # As in scikit-learn, an array may follow a table: columns are then matched by position.
        is_named = given_names == self._names
        frame: pd.DataFrame = X if is_named else X.set_axis(self._names, axis="columns")
        if objects and not reset:
            for name, spec in self.encoder_.columns.items():
                spec.read(frame[name])  # refuses also what the tree does not ask for
        return frame

    def _read_objects(self, column: pd.Series[Any]) -> Any:
        """An object column of an array as numbers, unless the user overrides its kind."""
        return column if column.name in (self.columns or {}) else ColumnSpec("number").read(column)

    def _check_places(self, X: pd.DataFrame) -> None:
        """Refuse reordered columns: the tree finds columns by name."""
        numbered = self._is_numbered and _is_numbered(X)
        for name, fitted in zip(map(str, X.columns), self._names, strict=True):
            if name != fitted and (numbered or name in self._names):
                raise InputError(
                    f"X has the column {name!r} in the place of {fitted!r}; bring its columns into "
                    f"the order of the fit: {', '.join(self._names)}"
                )

    def _warn_unless_proven(self) -> None:
        """Warn how far the tree, or the path, may be from optimal."""
        status = self.status_ if self.lam_min is None else self.lam_path_.status
        if status is Status.OPTIMAL:
            return
        ended = f"the search ended by its {status.replace('_', ' ')}"
        if self.lam_min is None:
            gap = self.solution_.gap
            assert gap is not None
            message = (
                f"{ended}; the objective {self.objective_:.6g} is at most "
                f"{at_least(gap, 6)} above the optimum; raise the limit, λ, {self._remedy}"
            )
        else:
            steps = self.lam_path_.proven
            proven = f"{steps.sum()} of {count(len(steps), 'step')} of the λ-path are proven"
            message = f"{ended}; {proven}; raise the limit, lam_min, {self._remedy}"
            if status is Status.STOPPED:  # and nobody can stop it
                message = f"{proven}; the others need weights of fewer digits"
        warnings.warn(message, ConvergenceWarning, stacklevel=3)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        return tags


def _is_numbered(table: pd.DataFrame) -> bool:
    """Whether some column names are not strings; scikit-learn does not compare these."""
    return not all(isinstance(name, str) for name in table.columns)


def check_weights(sample_weight: ArrayLike, rows: Any) -> NDArray[np.float64]:
    """The weights of rows as floats; an error if there are not as many, or one is negative, missing
    or masked."""
    refuse_masked(sample_weight, "weights")
    try:
        checked = _check_sample_weight(sample_weight, rows, ensure_non_negative=True)
    except TypeError:
        kind = type(sample_weight).__name__
        raise InputError(
            f"sample_weight is a {kind}; give a list or an array of one number a row"
        ) from None
    return np.asarray(checked, dtype=np.float64)


def read_weights(sample_weight: ArrayLike | None, rows: Any) -> WholeWeights:
    """Whole weights of the rows; errors as :func:`check_weights`."""
    if sample_weight is None:
        return WholeWeights.ones(len(rows))
    checked = check_weights(sample_weight, rows)
    # It returns float64, which changes whole numbers beyond 2^53 and shorter floats.
    return whole_weights(checked if isinstance(sample_weight, Real) else sample_weight)


def _target_names(y: Any) -> str | tuple[str, ...]:
    """The name of the target, or the names of several."""
    if isinstance(y, pd.DataFrame):
        return tuple(map(str, y.columns))
    return str(getattr(y, "name", None) or "target")


def _as_bunch(path: Path) -> Bunch:
    """A path in the form of scikit-learn's ``cost_complexity_pruning_path``."""
    return Bunch(
        lams=np.array(path.lams, dtype=object),
        losses=np.array(path.losses, dtype=object),
        splits=np.array(path.splits),
        trees=path.trees,
        proven=np.array([step.proven for step in path.steps]),
        status=path.status,
        path=path,
    )
