"""OSDT as a scikit-learn classifier."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from types import NoneType
from typing import Any, ClassVar

from solver.errors import InputError
from solver.estimators.classifier_and_regressor import SparseTreeClassifier
from solver.features.columns import Override
from solver.osdt.engine import BOUNDS


class OSDTClassifier(SparseTreeClassifier):
    """The classification tree of least training loss + λ·splits, by OSDT.

    It proves the same optimum as :class:`treesweep.BranchesClassifier`, by another algorithm, and
    mostly takes longer: it is there to check the other, and to look into the search.

    Parameters
    ----------
    lam : float, str or Fraction, default=0.01
        λ, the price of a split: a split must set right more than this share of the training
        weight. It is kept as an exact fraction; a float stands for its shortest decimal.
    encoding : str, default="auto"
        What turns columns into yes/no tests, a name in :data:`solver.ENCODINGS` other than
        ``categorical``. ``auto`` cuts numbers and dates into eight bins of about equal weight
        (``quantiles`` with k=8) and asks categories one value at a time.
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
    policy : str, default="curiosity"
        Which tree of the queue is split next: ``curiosity``, ``lower_bound``, ``objective``,
        ``entropy``, ``gini``, ``breadth_first`` or ``depth_first``.
    init : {"none", "cart"}, default="none"
        Where the search begins: with the tree without a split, or with CART's tree as the best
        one known. It is the solver's option ``warm_start``; that name is scikit-learn's for
        going on from an earlier fit.
    bounds : dict, optional
        Bounds of the search that are to be switched, e.g. ``{"lookahead": False,
        "similar_support": True}``; their names are in :data:`solver.osdt.engine.BOUNDS`. All but
        ``similar_support`` are on. The optimum does not depend on them, the time does.
    time_limit : float, default=60
        Seconds of search; None for no limit.
    memory_limit : int, default=1073741824
        Bytes of the search's arrays; None for no limit.
    node_limit : int, optional
        Trees that the search may hold. Unlike the time limit, this and the memory limit end
        the search at the same tree on every machine.
    lam_min : float, str or Fraction, optional
        Find the trees that are optimal for some λ from here up as well, see ``lam_path_``. The
        time limit is then that of the whole path, the other limits hold for each of its solves.

    Attributes
    ----------
    classes_, n_features_in_, feature_names_in_, encoder_, tree_, status_, lam_path_
        As those of :class:`treesweep.BranchesClassifier`.
    solution_ : Solution
        Everything the search reports, with λ as the price of a split; ``extra`` tells of trees
        evaluated, of what each bound pruned, and of the queue, see :class:`solver.osdt.Osdt`.
    objective_ : Fraction
        Training loss + λ·splits.
    lower_bound_ : Fraction
        Proven: no tree of these tests and limits has a smaller objective.

    See Also
    --------
    treesweep.BranchesClassifier : The same optimum, mostly sooner; multiway splits as well.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from treesweep import OSDTClassifier
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = OSDTClassifier(lam=0.02).fit(X, y)
    >>> model.status_.value, model.get_n_leaves(), str(model.objective_)
    ('optimal', 4, '17/150')
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
        )
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
