"""OSDT as a scikit-learn classifier."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from types import NoneType
from typing import Any, ClassVar

from solver.errors import InputError
from solver.estimators.class_weights import ClassWeight
from solver.estimators.classifier_and_regressor import SparseTreeClassifier
from solver.features.column_inference import Override
from solver.osdt.engine import BOUNDS


class OSDTClassifier(SparseTreeClassifier):
    """The classification tree of least training loss + λ·splits, by OSDT.

    It proves the same optimum as :class:`treesweep.BranchesClassifier` by another algorithm, which
    is usually slower. Use it to check the results of BRANCHES, and to study the search of OSDT.

    Parameters
    ----------
    lam, encoding_options, columns, max_depth, max_splits, min_leaf_size, time_limit, memory_limit,
    lam_min, class_weight, verbose
        As those of :class:`treesweep.BranchesClassifier`.
    encoding : str, default="auto"
        As in :class:`treesweep.BranchesClassifier`, but not ``categorical``: all features must be
        binary.
    policy : str, default="curiosity"
        Which tree of the queue is split next: ``curiosity``, ``lower_bound``, ``objective``,
        ``entropy``, ``gini``, ``breadth_first`` or ``depth_first``.
    init : {"none", "cart"}, default="none"
        Whether the search starts from the tree without a split or from CART's tree. The solver
        calls this option ``warm_start``. In scikit-learn ``warm_start`` means to continue an
        earlier fit.
    bounds : dict, optional
        Switches bounds on or off, e.g. ``{"lookahead": False, "similar_support": True}``;
        :data:`solver.osdt.engine.BOUNDS` lists their names. By default all bounds but
        ``similar_support`` are on. A bound changes the search time, but not the optimum.
    node_limit : int, optional
        Most trees that the search may hold. If this limit or the memory limit ends the search, the
        tree is the same on every machine.

    Attributes
    ----------
    classes_, n_features_in_, feature_names_in_, encoder_, tree_, objective_, lower_bound_, status_,
    lam_path_, objective_exact_, lower_bound_exact_, feature_importances_
        As those of :class:`treesweep.BranchesClassifier`.
    solution_ : Solution
        The whole result. ``extra`` has the number of evaluated trees, how often each bound pruned,
        and the length of the queue, see :class:`solver.osdt.Osdt`.

    See Also
    --------
    treesweep.BranchesClassifier : Finds the same optimum, usually faster; also has multiway splits.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from treesweep import OSDTClassifier
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = OSDTClassifier(lam=0.02).fit(X, y)
    >>> model.status_.value, model.get_n_leaves(), str(model.objective_exact_)
    ('optimal', 3, '2/25')
    """

    _solver: ClassVar[str] = "osdt"

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
        policy: str = "curiosity",
        init: str = "none",
        bounds: Mapping[str, bool] | None = None,
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
        self.max_splits = max_splits
        self.policy = policy
        self.init = init
        self.bounds = bounds

    def _options(self) -> dict[str, Any]:
        if not isinstance(self.bounds, (Mapping, NoneType)):
            raise InputError(
                f"bounds = {self.bounds!r} must be a dict, e.g. {{'lookahead': False}}"
            )
        switched = dict(self.bounds or {})
        unknown = [name for name in switched if name not in BOUNDS]
        if unknown:
            raise InputError(f"there is no bound {unknown[0]!r}; there are: {', '.join(BOUNDS)}")
        if self.init not in ("none", "cart"):
            raise InputError(f"init = {self.init!r} must be one of none, cart")
        return {"policy": self.policy, "warm_start": self.init, **switched}
