"""What the estimators of each task add: how a target is read, and predicted."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, MultiOutputMixin, RegressorMixin
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_y, check_consistent_length, check_is_fitted

from solver.columns import raw_kinds
from solver.errors import InputError
from solver.estimators.base import SparseTree
from solver.tree import Task
from solver.unicode import check_storable
from solver.values import lost_number


class SparseTreeClassifier(ClassifierMixin, SparseTree):
    """Predicts labels; see :class:`solver.BranchesClassifier`."""

    def predict(self, X: Any) -> NDArray[Any]:
        """The label of every row: the majority at its leaf, the first label at a tie.

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

    def _read_target(self, frame: pd.DataFrame, y: Any) -> NDArray[Any]:
        labels: NDArray[Any] = column_or_1d(y, warn=True)
        check_consistent_length(frame, labels)
        missing = pd.isna(labels)
        if missing.any():
            raise InputError(f"y contains NaN in {missing.sum()} rows; every row needs a label")
        for label in labels:
            if isinstance(label, str):
                check_storable(label, "the label")
        _refuse_merged(y, labels)
        check_classification_targets(labels)
        return labels

    def _number_target(self, target: NDArray[Any]) -> NDArray[Any]:
        self.classes_, codes = np.unique(target, return_inverse=True)
        return codes

    def _labels(self) -> list[Any]:
        labels: list[Any] = self.classes_.tolist()
        return labels


def _refuse_merged(y: Any, labels: NDArray[Any]) -> None:
    """Refuse labels that numpy takes, or has taken, for one."""
    given = np.array(y, dtype=object).ravel() if isinstance(y, (list, tuple)) else labels
    if given.dtype == object:
        kinds = raw_kinds(pd.Series(given))
        if len(kinds) > 1:
            raise InputError(f"y mixes {' and '.join(kinds)}; make its labels alike")
    if labels.dtype.kind == "f" and (lost := lost_number(y, labels)) is not None:
        raise InputError(f"y has the whole number {lost}, which is no float; write it as text")


class SparseTreeRegressor(MultiOutputMixin, RegressorMixin, SparseTree):
    """Predicts numbers; see :class:`solver.QuantBnBRegressor`."""

    _task: ClassVar[Task] = "regression"

    def predict(self, X: Any) -> NDArray[np.float64]:
        """The mean of the training rows at every row's leaf.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,), or (n_samples, n_outputs) where there are several
        """
        check_is_fitted(self)
        return np.asarray(self.tree_.predict(self._read(X, reset=False)))

    def _read_target(self, frame: pd.DataFrame, y: Any) -> NDArray[Any]:
        values: NDArray[Any] = _check_y(y, multi_output=True, y_numeric=True, estimator=self)
        check_consistent_length(frame, values)
        numbers = values.reshape(len(values), -1).astype(np.float64)
        if (lost := lost_number(y, numbers)) is not None:
            raise InputError(f"y has the whole number {lost}, which is no float; round it")
        return numbers

    def _number_target(self, target: NDArray[Any]) -> NDArray[Any]:
        self.n_outputs_ = target.shape[1]
        return target
