"""The base classes of classifiers and regressors: how they read a target and predict."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, MultiOutputMixin, RegressorMixin
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_y, check_consistent_length, check_is_fitted

from solver.errors import InputError
from solver.estimators.base import SparseTree, read_weights
from solver.features.category_values import array_of, key_of, refuse_masked
from solver.features.columns import is_missing
from solver.features.number_format import count
from solver.problem.target import find_labels, read_labels, read_target_array
from solver.trees.tree import TaskType


class SparseTreeClassifier(ClassifierMixin, SparseTree):
    """Predicts labels; see :class:`treesweep.BranchesClassifier`."""

    def predict(self, X: Any) -> NDArray[Any]:
        """The label of every row: the majority class of its leaf. In a tie it is the first label.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
        """
        ends = self.apply(X)
        predictions = np.array([node.prediction for node in self.tree_.nodes])
        return np.asarray(self.classes_[predictions[ends]])

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """The share of every class in the training weight of each row's leaf.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples, n_classes)
            In the order of ``classes_``.
        """
        check_is_fitted(self)
        return self.tree_.predict_proba(self._read(X, reset=False))

    def score(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> float:
        """The accuracy: the share of the weight of rows whose label is predicted. ``y`` may have
        labels of every kind that ``fit`` takes. A row with a label that is not in ``classes_``
        counts as wrong.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
        """
        ends, column = self.apply(X), _label_column(y)
        check_consistent_length(ends, column, sample_weight)
        predictions = np.array([node.prediction for node in self.tree_.nodes])
        right = predictions[ends] == find_labels(column, self.tree_.classes)
        weights = read_weights(sample_weight, right).whole
        return int(weights[right].sum()) / int(weights.sum())

    def _read_target(self, frame: pd.DataFrame, y: Any) -> tuple[tuple[Any, ...], NDArray[Any]]:
        column = _label_column(y)
        if len(column) != len(frame):  # scikit-learn takes long to see that they agree
            check_consistent_length(frame, column)
        try:
            if rows := int(is_missing(column).sum()):
                raise InputError(f"y contains NaN in {count(rows, 'row')}; every row needs a label")
            if pd.api.types.infer_dtype(column) in ("floating", "mixed-integer-float"):
                check_classification_targets(column.to_numpy(dtype=np.float64))
            labels, codes = read_labels(column, fewest=1)
        except InputError as error:
            message = str(error).replace("target 'y'", "y", 1).replace("column 'y'", "y", 1)
            raise InputError(message) from None
        self.classes_ = _labels_like(y, labels)
        return labels, codes


def _label_column(y: Any) -> pd.Series[Any]:
    """The labels as given, one by one: numpy would drop trailing NUL characters."""
    if hasattr(y, "to_pandas"):
        y = y.to_pandas()
    pandas = isinstance(y, (pd.Series, pd.Index, pd.api.extensions.ExtensionArray))
    given = y if pandas else array_of(y, "y")
    flat = column_or_1d(given, warn=True)
    if pandas:
        return pd.Series(given, name="y").reset_index(drop=True)
    return pd.Series(flat, name="y", dtype=object if flat.dtype.kind in "OU" else None)


def _labels_like(y: Any, labels: tuple[Any, ...]) -> NDArray[Any]:
    """The classes as an array with the dtype of ``y``, if that keeps them unchanged."""
    dtype = getattr(y, "dtype", None)
    if isinstance(dtype, np.dtype) and dtype.kind in "iufb":
        typed = np.array(labels, dtype=dtype)
        if typed.tolist() == [*labels]:
            return typed
    typed = np.array(labels)
    alike = [(type(a), key_of(a)) for a in typed.tolist()] == [(type(b), key_of(b)) for b in labels]
    if alike and (typed.dtype.kind != "U" or not isinstance(dtype, np.dtype) or dtype.kind == "U"):
        return typed
    objects = np.empty(len(labels), dtype=object)
    objects[:] = labels
    return objects


class SparseTreeRegressor(MultiOutputMixin, RegressorMixin, SparseTree):
    """Predicts numbers; see :class:`treesweep.QuantBnBRegressor`."""

    _task: ClassVar[TaskType] = "regression"

    def predict(self, X: Any) -> NDArray[np.float64]:
        """The mean target of the training rows in the leaf of every row.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,), or (n_samples, n_outputs) where there are several
        """
        check_is_fitted(self)
        return np.asarray(self.tree_.predict(self._read(X, reset=False)))

    def score(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> float:
        """R² of the predictions, the mean over the targets; see scikit-learn's ``r2_score``.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        sample_weight : array-like of shape (n_samples,), optional
        """
        refuse_masked(y, "y")
        weights = None if sample_weight is None else read_weights(sample_weight, X).whole
        return float(super().score(X, y, weights))

    def _read_target(self, frame: pd.DataFrame, y: Any) -> tuple[tuple[Any, ...], NDArray[Any]]:
        if hasattr(y, "to_pandas"):
            y = y.to_pandas()
        _check_y(y, multi_output=True, y_numeric=True, estimator=self)
        check_consistent_length(frame, y)
        try:
            numbers = read_target_array(y, "y")
        except InputError as error:
            raise InputError(str(error).replace("target 'y'", "y", 1)) from None
        self.n_outputs_ = numbers.shape[1]
        return (), numbers
