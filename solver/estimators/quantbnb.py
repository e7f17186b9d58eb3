"""Quant-BnB as a scikit-learn classifier and as a regressor."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, ClassVar

from solver.estimators.base import SparseTree
from solver.estimators.class_weights import ClassWeight
from solver.estimators.classifier_and_regressor import SparseTreeClassifier, SparseTreeRegressor
from solver.features.column_inference import Override


class _QuantBnB(SparseTree):
    """What the classifier and the regressor share."""

    _solver: ClassVar[str] = "quantbnb"
    _remedy: ClassVar[str] = "or lower max_depth"

    def _options(self) -> dict[str, Any]:
        return {}


class QuantBnBClassifier(SparseTreeClassifier, _QuantBnB):
    """The tree of least training loss + λ·splits up to a depth, without binning numbers.

    Quant-BnB considers every threshold between two values of a column, without bins.

    Parameters
    ----------
    lam, encoding_options, columns, min_leaf_size, time_limit, lam_min,
    class_weight, verbose
        As those of :class:`treesweep.BranchesClassifier`. At λ = 0 only the limits restrict the
        tree.
    encoding : str, default="continuous"
        What turns columns into tests, a name in :data:`solver.ENCODINGS` other than
        ``categorical``. ``continuous`` leaves numbers and dates as they are and tests one category
        at a time.
    max_depth : int, default=2
        Most splits on a path. The time grows steeply: depth 2 takes fractions of a second, and
        depth 3 takes seconds to minutes. Use a larger depth for small tables only.
    max_splits : int, optional
        Most splits of the tree.
    memory_limit : int, default=1073741824
        Bytes of the search's arrays; None for half of the machine's memory.
    node_limit : int, optional
        Most thresholds that the search may evaluate. If this limit or the memory limit ends the
        search, the tree is the same on every machine.

    Attributes
    ----------
    classes_, n_features_in_, feature_names_in_, encoder_, tree_, solution_, objective_, status_,
    lam_path_, objective_exact_, lower_bound_exact_, feature_importances_
        As those of :class:`treesweep.BranchesClassifier`.
    lower_bound_ : float
        Proven: no tree within the limits has a smaller objective.

    See Also
    --------
    treesweep.BranchesClassifier : Trees of any depth, on yes/no features.
    treesweep.QuantBnBRegressor : The same for regression.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from treesweep import QuantBnBClassifier
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = QuantBnBClassifier(lam=0.01).fit(X, y)
    >>> model.status_.value, model.get_n_leaves(), str(model.objective_exact_)
    ('optimal', 3, '3/50')
    """

    def __init__(
        self,
        lam: float | str | Fraction = 0.01,
        *,
        encoding: str = "continuous",
        encoding_options: Mapping[str, Any] | None = None,
        columns: Mapping[str, Override] | None = None,
        max_depth: int = 2,
        max_splits: int | None = None,
        min_leaf_size: float | None = None,
        time_limit: float | None = 60.0,
        memory_limit: int | None = 2**30,
        node_limit: int | None = None,
        lam_min: float | str | Fraction | None = None,
        class_weight: ClassWeight = None,
        verbose: bool = False,
    ) -> None:
        super().__init__(
            lam,
            encoding=encoding,
            encoding_options=encoding_options,
            columns=columns,
            max_depth=max_depth,
            min_leaf_size=min_leaf_size,
            time_limit=time_limit,
            memory_limit=memory_limit,
            node_limit=node_limit,
            lam_min=lam_min,
            verbose=verbose,
        )
        self.max_splits = max_splits
        self.class_weight = class_weight


class QuantBnBRegressor(SparseTreeRegressor, _QuantBnB):
    """The regression tree of least squared error + λ·splits up to a depth.

    Quant-BnB considers every threshold between two values of a column, without bins. A leaf
    predicts the mean target of its training rows.

    Parameters
    ----------
    lam : float, str or Fraction, default=0
        λ, the price of a split, in units of the loss. A split is worth its price if it lowers the
        mean squared error, summed over the outputs, by more than λ. At 0 only the depth limits the
        tree.
    encoding, encoding_options, columns, max_depth, min_leaf_size, time_limit, memory_limit,
    lam_min, verbose
        As those of :class:`treesweep.QuantBnBClassifier`.
    node_limit : int, optional
        Most batches of thresholds that the search may evaluate.

    Attributes
    ----------
    n_features_in_, feature_names_in_, encoder_, tree_, solution_, lam_path_,
    objective_exact_, lower_bound_exact_, feature_importances_
        As those of :class:`treesweep.BranchesClassifier`; ``solution_.rmse`` and ``solution_.r2``
        measure the fit to the training rows.
    n_outputs_ : int
        How many numbers the tree predicts for a row.
    objective_ : float
        Mean squared error + λ·splits of the tree, without the rounding errors of the search.
    lower_bound_ : float
        Proven: no tree within the limits has a smaller objective.
    status_ : Status
        ``optimal``, or the limit that ended the search. The search works on floats. Two objectives
        count as equal if they differ by at most ``solution_.tolerance``.

    See Also
    --------
    treesweep.QuantBnBClassifier : The same for classification.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from treesweep import QuantBnBRegressor
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = QuantBnBRegressor(max_depth=2).fit(X, y)
    >>> model.status_.value, model.get_n_leaves(), round(model.score(X, y), 3)
    ('optimal', 4, 0.436)
    """

    def __init__(
        self,
        lam: float | str | Fraction = 0,
        *,
        encoding: str = "continuous",
        encoding_options: Mapping[str, Any] | None = None,
        columns: Mapping[str, Override] | None = None,
        max_depth: int = 2,
        min_leaf_size: float | None = None,
        time_limit: float | None = 60.0,
        memory_limit: int | None = 2**30,
        node_limit: int | None = None,
        lam_min: float | str | Fraction | None = None,
        verbose: bool = False,
    ) -> None:
        super().__init__(
            lam,
            encoding=encoding,
            encoding_options=encoding_options,
            columns=columns,
            max_depth=max_depth,
            min_leaf_size=min_leaf_size,
            time_limit=time_limit,
            memory_limit=memory_limit,
            node_limit=node_limit,
            lam_min=lam_min,
            verbose=verbose,
        )
