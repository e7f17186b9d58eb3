"""BRANCHES as a scikit-learn classifier."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, ClassVar

from solver.estimators.class_weights import ClassWeight
from solver.estimators.classifier_and_regressor import SparseTreeClassifier
from solver.features.column_inference import Override


class BranchesClassifier(SparseTreeClassifier):
    """The classification tree of least training loss + λ·splits, by BRANCHES.

    Parameters
    ----------
    lam : float, str or Fraction, default=0.01
        λ, the price of a split. A larger tree is better only if each added split lowers the loss by
        more than λ on average. λ is an exact fraction. A float is read as its shortest decimal: 0.1
        is exactly 1/10.
    encoding : str, default="auto"
        What turns columns into tests, a name in :data:`solver.ENCODINGS`. ``auto`` tests
        one category at a time. If numbers and dates have at most 150 cuts in all, every cut is
        a test (``thresholds``). Otherwise numbers and dates are cut into eight bins of about
        equal weight (``quantiles`` with k=8), because more cuts make the search longer.
        ``categorical`` splits on all values of a column at once.
    encoding_options : dict, optional
        Options of the encoding, e.g. ``{"k": 4}``.
    columns : dict, optional
        How to read columns that the default reads wrongly, e.g.
        ``{"zip": "category", "id": "drop"}``. The columns of an array are ``x0``, ``x1``, …
    max_depth : int, optional
        Most splits on a path.
    max_splits : int, optional
        Most splits of the tree.
    min_leaf_size : float, optional
        Least weight of a leaf; without sample weights, least number of rows.
    mode : {"full", "paper"}, default="full"
        All bounds of this implementation, or only those of the paper.
    time_limit : float, default=60
        Seconds of search; None for no limit.
    memory_limit : int, default=1073741824
        Bytes of the search's arrays; None for no limit.
    node_limit : int, optional
        Most branches that the search may hold. A branch is a combination of tests, with the rows
        that pass them. If this limit or the memory limit ends the search, the tree is the same on
        every machine.
    lam_min : float, str or Fraction, optional
        Also find all trees that are optimal for some λ ≥ ``lam_min``, see ``lam_path_``. The time
        limit then holds for the whole path; the other limits hold for the search at each λ.
    class_weight : dict or "balanced", optional
        The weight of each label; 1 for a label that is not named. The weight of a row is multiplied
        by the weight of its label. ``balanced`` gives every class the same total weight, as in
        scikit-learn. The weight of a label is then the exact fraction rows / (classes × rows of the
        class).
    verbose : bool, default=False
        Show each better objective on stderr, or a bar in a notebook.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The labels.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : array of str
        Names of the columns of X, if all are strings.
    encoder_ : Encoder
        The fitted encoding.
    tree_ : Tree
        The tree. It can be stored as JSON and predicts without scikit-learn. Its counts are whole
        numbers: numbers of rows, or, with sample weights, sums of weights multiplied by
        ``tree_.weight_scale``.
    solution_ : Solution
        The whole result of the search.
    objective_ : float
        Training loss + λ·splits.
    lower_bound_ : float
        Proven: no tree that uses the encoded tests and keeps the limits has a smaller objective.
    objective_exact_, lower_bound_exact_ : Fraction
        The same without rounding.
    feature_importances_ : array of shape (n_features,)
        The share of each column in the decrease of the Gini impurity, or of the squared error.
    status_ : Status
        ``optimal``, or the limit that ended the search.
    lam_path_ : Bunch
        The result of :meth:`regularization_path`, only if ``lam_min`` is given. ``tree_`` is its
        best tree at ``lam``.

    See Also
    --------
    solver.solve : The search itself.
    solver.regularization_path : The search for a path.

    Notes
    -----
    The tree is optimal for the encoded problem. With ``encoding="thresholds"`` no cut of the
    training data is lost, but the search takes longer. A missing number counts as below every
    threshold and has a test of its own; a missing category is a category. If a limit ends the
    search before the proof, a ``ConvergenceWarning`` says how far the tree can be from optimal.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from treesweep import BranchesClassifier
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = BranchesClassifier(lam=0.02).fit(X, y)
    >>> model.status_.value, model.get_n_leaves()
    ('optimal', 3)
    """

    _solver: ClassVar[str] = "branches"

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
        self.mode = mode

    def _options(self) -> dict[str, Any]:
        return {"mode": self.mode}
