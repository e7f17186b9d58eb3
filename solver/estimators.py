"""scikit-learn estimators: optimal trees where a classifier is expected."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Bunch, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_sample_weight,
    check_consistent_length,
    check_is_fitted,
    validate_data,
)

from solver.catalogue import regularization_path, solve
from solver.columns import Override
from solver.encodings import fit_encoder
from solver.errors import InputError
from solver.exact import as_lambda, integer_weights
from solver.limits import Limits
from solver.path import Path
from solver.problem import Problem
from solver.solution import Status

_AUTO = ("quantiles", {"k": 8})


class BranchesClassifier(ClassifierMixin, BaseEstimator):
    """The classification tree of least training loss + λ·splits, by BRANCHES.

    Parameters
    ----------
    lam : float, str or Fraction, default=0.01
        λ, the price of a split: a split must set right more than this share of the training
        weight. It is kept as an exact fraction; a float stands for its shortest decimal.
    encoding : str, default="auto"
        What turns columns into tests, a name in :data:`solver.ENCODINGS`. ``auto`` cuts numbers
        and dates into eight bins of about equal weight (``quantiles`` with k=8) and asks
        categories one value at a time. ``categorical`` splits on all values of a column at once.
    encoding_options : dict, optional
        Options of the encoding, e.g. ``{"k": 4}``.
    columns : dict, optional
        How columns are to be read where the default does not suit, e.g.
        ``{"zip": "category", "id": "drop"}``; the columns of an array are ``x0``, ``x1``, …
    max_depth : int, optional
        Most splits on a path.
    max_splits : int, optional
        Most splits of the tree.
    min_leaf_size : float, optional
        Least weight of a leaf; without sample weights, rows.
    mode : {"full", "paper"}, default="full"
        All bounds of this implementation, or those of the paper only.
    time_limit : float, default=60
        Seconds of search; None for no limit.
    memory_limit : int, default=1073741824
        Bytes of the search's arrays; None for no limit.
    node_limit : int, optional
        Branches that the search may hold. Unlike the time limit, this and the memory limit end
        the search at the same tree on every machine.
    lam_min : float, str or Fraction, optional
        Find the trees that are optimal for some λ from here up as well, see ``lam_path_``. The
        time limit is then that of the whole path, the other limits hold for each of its solves.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The labels.
    n_features_in_ : int
        Columns of X.
    feature_names_in_ : array of str
        Names of the columns of X, where they are all text.
    encoder_ : Encoder
        The fitted encoding.
    tree_ : Tree
        The tree; it can be stored as JSON and predicts without scikit-learn. Its counts are
        weights in whole units, see :meth:`fit`.
    solution_ : Solution
        Everything the search reports.
    objective_ : Fraction
        Training loss + λ·splits.
    lower_bound_ : Fraction
        Proven: no tree of these tests and limits has a smaller objective.
    status_ : Status
        ``optimal`` or the limit that ended the search.
    lam_path_ : Bunch
        Only with ``lam_min``: what :meth:`regularization_path` returns. ``tree_`` is that of its
        trees which is the best at ``lam``.

    See Also
    --------
    solver.solve : The search itself.
    solver.regularization_path : The search for a path.

    Notes
    -----
    The tree is optimal for the encoded problem; with ``thresholds`` no cut of the training data
    is left out, at a price. A missing number counts as below every threshold and has a test of
    its own; a missing category is a category. If a limit ends the search before the proof, a
    ``ConvergenceWarning`` says how far the tree can be from optimal.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from solver import BranchesClassifier
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = BranchesClassifier(lam=0.02).fit(X, y)
    >>> model.status_.value, model.get_n_leaves()
    ('optimal', 4)
    """

    def __init__(
        self,
        lam: float | str | Fraction = 0.01,
        *,
        encoding: str = "auto",
        encoding_options: Mapping[str, Any] | None = None,
        columns: Mapping[str, Override] | None = None,
        max_depth: int | None = None,
        max_splits: int | None = None,
        min_leaf_size: float | None = None,
        mode: str = "full",
        time_limit: float | None = 60.0,
        memory_limit: int | None = 2**30,
        node_limit: int | None = None,
        lam_min: float | str | Fraction | None = None,
    ) -> None:
        self.lam = lam
        self.encoding = encoding
        self.encoding_options = encoding_options
        self.columns = columns
        self.max_depth = max_depth
        self.max_splits = max_splits
        self.min_leaf_size = min_leaf_size
        self.mode = mode
        self.time_limit = time_limit
        self.memory_limit = memory_limit
        self.node_limit = node_limit
        self.lam_min = lam_min

    def fit(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> BranchesClassifier:
        """Find the tree.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            An array must be numeric, NaN for a missing number. A DataFrame may also have text,
            booleans, pandas categories and dates.
        y : array-like of shape (n_samples,)
            Labels of any kind.
        sample_weight : array-like of shape (n_samples,), optional
            Whole numbers and short decimals count exactly, by a common factor that makes them
            whole. Others are rounded to multiples of their sum / 2³² (of a larger part where λ
            has many digits).

        Returns
        -------
        BranchesClassifier
            Itself.

        Raises
        ------
        ValueError
            If parameters or data cannot be used; one line says why.

        Warns
        -----
        ConvergenceWarning
            If a limit ended the search before the proof.
        """
        frame, labels = self._validate(X, y)
        lam, least = self._read_lams()
        weights, smallest = _whole_weights(sample_weight, frame, least, self.min_leaf_size)
        self.classes_, codes = np.unique(labels, return_inverse=True)
        frame, codes, weights = frame[weights > 0], codes[weights > 0], weights[weights > 0]
        encoding, options = self.encoding, self.encoding_options or {}
        if encoding == "auto":
            encoding, options = _AUTO[0], {**_AUTO[1], **options}
        self.encoder_ = fit_encoder(
            encoding,
            frame,
            codes,
            n_classes=len(self.classes_),
            columns=self.columns,
            weights=weights,
            **options,
        )
        problem = Problem.from_codes(
            self.encoder_.transform(frame),
            codes,
            weights=weights,
            arities=[test.arity for test in self.encoder_.tests],
            tests=self.encoder_.tests,
            classes=self.classes_.tolist(),
            columns=self.encoder_.columns,
            target_name=str(getattr(y, "name", None) or "target"),
            encoding=encoding,
        )
        limits = Limits(
            seconds=self.time_limit,
            bytes=self.memory_limit,
            nodes=self.node_limit,
            depth=self.max_depth,
            splits=self.max_splits,
            min_leaf_size=smallest,
        )
        self.__dict__.pop("lam_path_", None)  # of an earlier fit
        if self.lam_min is None:
            self.solution_ = solve(problem, lam, "branches", limits, mode=self.mode)
        else:
            path = regularization_path(problem, least, "branches", limits, mode=self.mode)
            self.lam_path_ = _as_bunch(path)
            self.solution_ = path.solution_at(lam)
        self.tree_ = self.solution_.tree
        self.objective_ = self.solution_.objective
        self.lower_bound_ = self.solution_.lower_bound
        self.status_ = self.solution_.status
        self._warn_unless_proven()
        return self

    def regularization_path(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        lam_min: float | str | Fraction | None = None,
    ) -> Bunch:
        """Every tree that is optimal for some λ; nothing is fitted.

        Parameters
        ----------
        X, y, sample_weight
            As for :meth:`fit`.
        lam_min : float, str or Fraction, optional
            The smallest λ; by default the estimator's ``lam_min``, and ``lam`` without one.

        Returns
        -------
        Bunch
            One entry a tree, from ``lam_min`` up, in ``lams`` (where it begins to be the best,
            exact Fractions), ``losses`` (training loss, Fractions), ``splits``, ``trees`` and
            ``proven`` (whether no tree is better up to the next λ); the last tree is a leaf.
            ``status`` is ``optimal`` if all are proven, else the limit that ended the search;
            ``path`` is the :class:`solver.Path`, with lower bounds at every λ.

        Raises
        ------
        ValueError
            If parameters or data cannot be used; one line says why.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from solver import BranchesClassifier
        >>> X, y = load_iris(return_X_y=True, as_frame=True)
        >>> path = BranchesClassifier().regularization_path(X, y, lam_min=0.02)
        >>> [str(lam) for lam in path.lams], path.splits.tolist(), path.status.value
        (['1/50', '1/30', '37/150', '1/3'], [3, 2, 1, 0], 'optimal')
        """
        if lam_min is None:
            lam_min = self.lam if self.lam_min is None else self.lam_min
        model = clone(self).set_params(lam=lam_min, lam_min=lam_min)
        path: Bunch = model.fit(X, y, sample_weight).lam_path_
        return path

    def _read_lams(self) -> tuple[Fraction, Fraction]:
        """λ, and the least λ that is solved."""
        lam = as_lambda(self.lam)
        least = lam if self.lam_min is None else as_lambda(self.lam_min)
        if lam < least:
            raise InputError(
                f"lam = {self.lam} is below lam_min = {self.lam_min}, where the path begins; "
                "lower lam_min or raise lam"
            )
        return lam, least

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

    def apply(self, X: Any) -> NDArray[np.int64]:
        """The position in ``tree_.nodes`` of the node at which each row ends.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        return self.tree_.apply(self._read(X, reset=False))

    def get_depth(self) -> int:
        """Splits on the longest path."""
        check_is_fitted(self)
        return self.tree_.depth

    def get_n_leaves(self) -> int:
        """Leaves of the tree."""
        check_is_fitted(self)
        return self.tree_.leaves

    def _validate(self, X: Any, y: Any) -> tuple[pd.DataFrame, NDArray[Any]]:
        """The rows as a table, and the labels."""
        frame = self._read(X, reset=True, y=y)
        labels = column_or_1d(y, warn=True)
        check_consistent_length(frame, labels)
        missing = pd.isna(labels)
        if missing.any():
            raise InputError(f"y contains NaN in {missing.sum()} rows; every row needs a label")
        check_classification_targets(labels)
        return frame, labels

    def _read(self, X: Any, *, reset: bool, y: Any = "no_validation") -> pd.DataFrame:
        """Rows as a table with the names of the fit; scikit-learn's checks are done on the way."""
        if hasattr(X, "to_pandas") and not isinstance(X, pd.DataFrame):
            X = X.to_pandas()
        if y is None or isinstance(X, pd.DataFrame):
            validate_data(self, X, y, reset=reset, skip_check_array=True)
        if not isinstance(X, pd.DataFrame):
            values = validate_data(self, X, reset=reset, ensure_all_finite="allow-nan")
            names = [f"x{j}" for j in range(values.shape[1])]
            X = pd.DataFrame(values, columns=names)
        if not len(X):
            raise InputError("Found array with 0 sample(s): the table has no rows")
        if reset:
            self._names = [str(name) for name in X.columns]
        # An array may follow a table, as scikit-learn has it: columns are then told by position.
        table: pd.DataFrame = X.set_axis(self._names, axis="columns")
        return table

    def _warn_unless_proven(self) -> None:
        """Say how far the tree, or the path, may be from optimal."""
        status = self.status_ if self.lam_min is None else self.lam_path_.status
        if status is Status.OPTIMAL:
            return
        ended = f"the search ended by its {status.replace('_', ' ')}"
        remedy = "or use fewer bins (encoding_options={'k': …})"
        if self.lam_min is None:
            gap = self.solution_.gap
            assert gap is not None
            message = (
                f"{ended}; the objective {float(self.objective_):.6g} is at most "
                f"{float(gap):.6g} above the optimum; raise the limit, λ, {remedy}"
            )
        else:
            steps = self.lam_path_.proven
            proven = f"{steps.sum()} of {len(steps)} steps of the λ-path are proven"
            message = f"{ended}; {proven}; raise the limit, lam_min, {remedy}"
            if status is Status.STOPPED:  # and nobody can stop it
                message = f"{proven}; the others need weights of fewer digits"
        warnings.warn(message, ConvergenceWarning, stacklevel=3)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        return tags


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


def _whole_weights(
    sample_weight: ArrayLike | None,
    frame: pd.DataFrame,
    lam: Fraction,
    min_leaf_size: float | None,
) -> tuple[NDArray[np.int64], int | None]:
    """Whole weights, and the least size of a leaf in their unit."""
    try:
        smallest = None if min_leaf_size is None else Fraction(str(min_leaf_size))
    except ValueError:
        raise InputError(f"min_leaf_size = {min_leaf_size!r} must be a number") from None
    if sample_weight is None:
        return np.ones(len(frame), dtype=np.int64), _ceil(smallest)
    given = _check_sample_weight(sample_weight, frame, dtype=np.float64, ensure_non_negative=True)
    total, grid = float(given.sum()), _finest_grid(lam, len(frame))
    try:
        whole = integer_weights(given)
        exact = whole.sum() <= grid or bool(np.all(given == np.floor(given)))
    except InputError:
        if not total > 0:
            raise
        exact = False
    if exact:
        heaviest = int(given.argmax())
        factor = int(whole[heaviest]) / Fraction(repr(float(given[heaviest])))
        return whole, _ceil(None if smallest is None else smallest * factor)
    whole = np.rint(given / total * grid).astype(np.int64)
    whole[(whole == 0) & (given > 0)] = 1
    if smallest is not None:
        # What rounding took from a leaf's rows must not forbid the leaf.
        smallest = smallest * grid / Fraction(repr(total)) - Fraction(len(frame), 2)
    return whole, _ceil(smallest)


def _ceil(value: Fraction | None) -> int | None:
    return None if value is None else math.ceil(value)


def _finest_grid(lam: Fraction, n_rows: int) -> int:
    """The largest sum of weights, up to 2³², whose costs fit into 64 bits at this λ."""
    affordable = n_rows if lam == 0 else min(n_rows, int(1 / lam))
    return min(2**32, 2**59 // ((affordable + 1) * (lam.denominator + 2 * lam.numerator)))
