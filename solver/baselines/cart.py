"""CART with cost-complexity pruning, by scikit-learn: the heuristic to compare with."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from fractions import Fraction
from importlib import metadata
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from solver.base import Capabilities, Solver
from solver.limits import Limits
from solver.monitor import Monitor
from solver.objective.exact_objective import objective
from solver.objective.exact_squared_error import in_unit_range
from solver.options import Option
from solver.problem.problem import Problem
from solver.solution import Solution, Status
from solver.trees.tree import Shape, Tree


class Cart(Solver):
    """CART, pruned by scikit-learn's minimal cost-complexity pruning at ``ccp_alpha = λ``.

    It proves nothing: status ``heuristic``, no lower bound. scikit-learn prunes classification
    trees by impurity, not by errors, so the tree is scored by our objective like any other. In
    regression the impurity is the squared error, and the pruned tree is the best of all prunings.

    scikit-learn gets the ranks of the numbers: ranks separate the rows equally and are not rounded
    to float32. A threshold is the middle of the ranks on both sides.

    References
    ----------
    Breiman, Friedman, Olshen, Stone (1984), Classification and Regression Trees.
    """

    name: ClassVar[str] = "cart"
    version: ClassVar[str] = f"scikit-learn {metadata.version('scikit-learn')}"
    summary: ClassVar[str] = "greedy tree with cost-complexity pruning (scikit-learn); no proof"
    capabilities: ClassVar[Capabilities] = Capabilities(
        features=frozenset({"binary", "continuous"}),
        limits=frozenset({"depth", "splits", "min_leaf_size"}),
        proves=False,
        tasks=frozenset({"classification", "regression"}),
    )
    options: ClassVar[Mapping[str, Option]] = {
        "criterion": Option(
            "gini",
            "the impurity that splits minimise; classification only (regression: squared error)",
            ("gini", "entropy"),
        ),
        "seed": Option(
            0, "a whole number from 0; breaks ties between features", kind=int, minimum=0
        ),
    }

    def _solve(
        self,
        problem: Problem,
        lam: Fraction,
        limits: Limits,
        initial_tree: Tree | None,
        monitor: Monitor,
        state: Mapping[str, NDArray[Any]] | None,
    ) -> Solution:
        began = time.perf_counter()
        tree = problem.grow(self.grow(problem, lam, limits))
        return Solution(
            tree=tree,
            status=Status.HEURISTIC,
            lam=lam,
            objective=objective(tree.errors, tree.splits, problem.total_weight, lam),
            lower_bound=None,
            errors=tree.errors,
            total_weight=problem.total_weight,
            seconds=time.perf_counter() - began,
            solver=self.name,
            version=self.version,
            tolerance=problem.tolerance,
        )

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        # Not with this module, which every command imports: it takes a second. Nor with the first
        # fit, whose time is measured.
        from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

        self._classifier, self._regressor = DecisionTreeClassifier, DecisionTreeRegressor

    def grow(self, problem: Problem, lam: Fraction, limits: Limits) -> Shape:
        """The tree of scikit-learn, pruned at λ, within the limits that are honoured."""
        least = limits.min_leaf_size or 0
        if (
            limits.depth == 0
            or limits.splits == 0
            or problem.n_features == 0
            or 2 * least > problem.total_weight
        ):
            return -1
        limited: dict[str, Any] = {
            "random_state": self.settings["seed"],
            "max_depth": limits.depth,
            # It takes the memory of that many at once.
            "max_leaf_nodes": limits.splits and min(limits.splits, len(problem.codes)) + 1,
            "min_weight_fraction_leaf": least / problem.total_weight,
        }
        if problem.values is None:
            rows, classes = np.nonzero(problem.counts)
            weights = problem.counts[rows, classes]
            criterion = self.settings["criterion"]
            model = self._classifier(criterion=criterion, ccp_alpha=float(lam), **limited)
            model.fit(problem.codes[rows], classes, sample_weight=weights)
        else:
            weights = problem.counts[:, 0]
            values, k = in_unit_range(problem.values, weights)
            # scikit-learn's impurity is the mean over the outputs, ours the sum.
            alpha = math.ldexp(float(lam), 2 * k) / len(problem.outputs)
            model = self._regressor(ccp_alpha=alpha, **limited)
            model.fit(problem.codes, values, sample_weight=weights)
        grown = model.tree_

        # Children come after their parent, so from the end they are known when it is met.
        shapes: list[Shape] = [-1] * grown.node_count
        for node in reversed(range(grown.node_count)):
            left, right = int(grown.children_left[node]), int(grown.children_right[node])
            if left >= 0:
                cut = problem.cut_number(int(grown.feature[node]), int(grown.threshold[node]))
                shapes[node] = cut, (shapes[left], shapes[right])
        return shapes[0]
