"""CART with cost-complexity pruning, by scikit-learn: the heuristic to compare with."""

from __future__ import annotations

import time
from collections.abc import Mapping
from fractions import Fraction
from importlib import metadata
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from solver.base import Option, Solver, Traits, Watch
from solver.limits import Limits
from solver.problem import Problem
from solver.scorer import score
from solver.solution import Solution, Status
from solver.tree import Shape, Tree


class Cart(Solver):
    """CART, pruned by scikit-learn's minimal cost-complexity pruning at ``ccp_alpha = λ``.

    It proves nothing: status ``heuristic``, no lower bound. scikit-learn prunes by impurity, not
    by errors, so its tree is scored by our objective like every other.

    References
    ----------
    Breiman, Friedman, Olshen, Stone (1984), Classification and Regression Trees.
    """

    name: ClassVar[str] = "cart"
    version: ClassVar[str] = f"scikit-learn {metadata.version('scikit-learn')}"
    summary: ClassVar[str] = "greedy tree with cost-complexity pruning (scikit-learn); no proof"
    traits: ClassVar[Traits] = Traits(
        features=frozenset({"binary"}), limits=frozenset({"depth", "min_leaf_size"}), proves=False
    )
    options: ClassVar[Mapping[str, Option]] = {
        "criterion": Option("gini", "impurity that splits minimise", ("gini", "entropy")),
        "seed": Option(
            0, "a whole number from 0; breaks ties between features", kind=int, minimum=0
        ),
    }

    def _solve(
        self,
        problem: Problem,
        lam: Fraction,
        limits: Limits,
        start: Tree | None,
        watch: Watch,
        state: Mapping[str, NDArray[Any]] | None,
    ) -> Solution:
        began = time.perf_counter()
        tree = problem.grow(self.grow(problem, lam, limits))
        points = score(problem, tree, lam)
        return Solution(
            tree=tree,
            status=Status.HEURISTIC,
            lam=lam,
            objective=points.objective,
            lower_bound=None,
            errors=points.errors,
            total_weight=problem.total_weight,
            seconds=time.perf_counter() - began,
            solver=self.name,
            version=self.version,
        )

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        # Not with this module, which every command imports: it takes a second. Nor with the first
        # fit, whose time is measured.
        from sklearn.tree import DecisionTreeClassifier

        self._model = DecisionTreeClassifier

    def grow(self, problem: Problem, lam: Fraction, limits: Limits) -> Shape:
        """The tree of scikit-learn, pruned at λ, within the limits that are honoured."""
        least = limits.min_leaf_size or 0
        if limits.depth == 0 or problem.n_features == 0 or 2 * least > problem.total_weight:
            return -1
        rows, classes = np.nonzero(problem.counts)
        model = self._model(
            criterion=self.settings["criterion"],
            random_state=self.settings["seed"],
            max_depth=limits.depth,
            min_weight_fraction_leaf=least / problem.total_weight,
            ccp_alpha=float(lam),
        )
        model.fit(problem.codes[rows], classes, sample_weight=problem.counts[rows, classes])
        grown = model.tree_

        # Children come after their parent, so from the end they are known when it is met.
        shapes: list[Shape] = [-1] * grown.node_count
        for node in reversed(range(grown.node_count)):
            left, right = int(grown.children_left[node]), int(grown.children_right[node])
            if left >= 0:
                shapes[node] = int(grown.feature[node]), (shapes[left], shapes[right])
        return shapes[0]
