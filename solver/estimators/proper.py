"""Proper decision trees as a scikit-learn classifier."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from solver.errors import InputError
from solver.estimators.class_weights import ClassWeight
from solver.estimators.classifier_and_regressor import SparseTreeClassifier
from solver.features.column_inference import Override


class ProperTreeClassifier(SparseTreeClassifier):
    """The tree of least training loss + λ·splits with splits of one kind and limited size.

    ``rules`` chooses the kind of the splits: cuts of one column, hyperplanes in all columns, or
    surfaces of some degree. "Optimal" means: the best of all trees that have at most ``max_splits``
    splits and keep the other limits.

    Parameters
    ----------
    lam, encoding_options, columns, max_depth, min_leaf_size, time_limit, lam_min,
    class_weight, verbose
        As those of :class:`treesweep.BranchesClassifier`. At λ = 0 only ``max_splits`` and
        ``max_depth`` limit the tree.
    rules : {"axis", "hyperplane", "polynomial", "mixed"}, default="axis"
        What a split may be. ``mixed`` allows all three. If several rules separate the rows in the
        same way, it takes the simplest one.
    degree : int, default=2
        Degree of the surfaces of ``polynomial`` and ``mixed``.
    max_splits : int, default=2
        Most splits of the tree. There are about n^G ways to separate n rows: G is 1 for cuts, D for
        hyperplanes in D columns and C(D + degree, D) − 1 for surfaces. Each further split
        multiplies the time by about n^G. So use few rows and columns, unless ``rules`` is ``axis``.
    mode : {"search", "paper"}, default="search"
        ``search`` is the search of this implementation. ``paper`` is the published algorithm, for a
        comparison on small tables.
    encoding : str, default="continuous"
        What turns columns into tests, a name in :data:`solver.ENCODINGS` other than
        ``categorical``. Hyperplanes and surfaces need ``continuous``, which leaves numbers and
        dates as they are.
    memory_limit : int, default=1073741824
        Bytes of the search's arrays; None for half of the machine's memory.
    node_limit : int, optional
        Most rules that the search may evaluate. If this limit or the memory limit ends the search,
        the tree is the same on every machine.

    Attributes
    ----------
    classes_, n_features_in_, feature_names_in_, encoder_, tree_, solution_, objective_, status_,
    lam_path_, objective_exact_, lower_bound_exact_, feature_importances_
        As those of :class:`treesweep.BranchesClassifier`.
    lower_bound_ : float
        Proven: no tree that has splits of this kind and keeps the limits has a smaller objective.

    See Also
    --------
    treesweep.QuantBnBClassifier : Cuts of one column only, limited by depth.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from treesweep import ProperTreeClassifier
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> X, y = X.iloc[50:, 2:], y[50:]
    >>> cuts = ProperTreeClassifier(max_splits=1).fit(X, y)
    >>> lines = ProperTreeClassifier(rules="hyperplane", max_splits=1).fit(X, y)
    >>> str(cuts.objective_exact_), str(lines.objective_exact_), lines.status_.value
    ('7/100', '1/25', 'optimal')
    """

    _solver: ClassVar[str] = "proper"
    _remedy: ClassVar[str] = "or lower max_splits or degree"

    def __init__(
        self,
        lam: float | str | Fraction = 0.01,
        *,
        rules: str = "axis",
        degree: int = 2,
        max_splits: int = 2,
        mode: str = "search",
        encoding: str = "continuous",
        encoding_options: Mapping[str, Any] | None = None,
        columns: Mapping[str, Override] | None = None,
        max_depth: int | None = None,
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
        self.class_weight = class_weight
        self.rules = rules
        self.degree = degree
        self.max_splits = max_splits
        self.mode = mode

    def _options(self) -> dict[str, Any]:
        # numpy's whole numbers, as a grid search has them, are taken as Python's.
        degree: Any = self.degree
        if isinstance(degree, np.integer):
            degree = int(degree)
        return {"rules": self.rules, "mode": self.mode, "degree": degree}

    def _read(self, X: Any, *, reset: bool, y: Any = "no_validation") -> pd.DataFrame:
        """Read the rows; hyperplanes and surfaces refuse missing numbers."""
        table = super()._read(X, reset=reset, y=y)
        if self.rules != "axis":
            for column in table.columns[table.isna().any()]:
                wish = (self.columns or {}).get(column)
                kind = wish.get("kind") if isinstance(wish, Mapping) else wish
                if kind != "drop":
                    raise InputError(
                        f"X contains NaN in column {column!r}, and rules {self.rules} need every "
                        "number; drop the column, fill it in, or use rules axis"
                    )
        return table

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.rules == "axis"
        tags.input_tags.categorical = self.rules == "axis"
        return tags
