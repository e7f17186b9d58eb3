"""OCT (Bertsimas, Dunn 2017) with axis splits, formulated here and solved by HiGHS."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from solver.base import Capabilities
from solver.external.job_messages import Splits
from solver.external.mip import MixedIntegerSolver, Program, ancestors


class OctProgram(Program):
    """The program of a job; its objective is loss + λ·splits.

    Variables: ``d[n]``, node n splits; ``a[n, j]``, on feature j; ``b[n]``, its threshold: rows
    below go left, and all go right where nothing splits; ``z[i, l]``, row i comes to leaf l;
    ``u[l]``, rows may come to leaf l; ``c[l, k]``, it predicts class k; ``e[l]``, the weight that
    it predicts wrong. Features are ranks scaled to 0 … 1.
    """

    def build(self) -> None:
        """See the base class."""
        n_rows, n_features = self.x.shape
        n_leaves = self.n_inner + 1
        self.greatest = np.maximum(self.x.max(axis=0), 1)
        self.d = self.variables(self.n_inner, cost=float(self.job.lam), whole=True)
        self.a = self.variables(self.n_inner, n_features, whole=True)
        self.b = self.variables(self.n_inner)
        self.z = self.variables(n_rows, n_leaves, whole=True)
        self.u = self.variables(n_leaves, whole=True)
        self.c = self.variables(n_leaves, self.n_classes, whole=True)
        self.e = self.variables(n_leaves, cost=1 / self.total, most=self.total)
        for n in range(self.n_inner):
            self.add(0, 0, (self.a[n], 1), (self.d[n], -1))
            self.add(-np.inf, 0, (self.b[n], 1), (self.d[n], -1))
            if n:
                self.add(-np.inf, 0, (self.d[n], 1), (self.d[(n - 1) // 2], -1))
        if self.job.limits.splits is not None:
            self.add(0, self.job.limits.splits, (self.d, 1))
        for leaf in range(n_leaves):
            self._bring_rows(leaf)
            self._predict(leaf)
        for i in range(n_rows):
            self.add(1, 1, (self.z[i], 1))

    def _bring_rows(self, leaf: int) -> None:
        """A row comes to a leaf only by the right side of each split above."""
        gaps = 1 / self.greatest
        least, most = gaps.min(), gaps.max()
        for i, values in enumerate(self.x / self.greatest):
            self.add(-np.inf, 0, (self.z[i, leaf], 1), (self.u[leaf], -1))
            for n, right in ancestors(self.n_inner + leaf):
                if right:
                    terms = (self.a[n], values), (self.b[n], -1), (self.z[i, leaf], -1)
                    self.add(-1, np.inf, *terms)
                else:
                    above = (self.a[n], values + gaps - least), (self.b[n], -1)
                    self.add(-np.inf, 1 + most - least, *above, (self.z[i, leaf], 1 + most))

    def _predict(self, leaf: int) -> None:
        """A leaf with rows has a class, the errors that go with it, and its least weight."""
        weights = self.weights.astype(float)
        self.add(0, 0, (self.c[leaf], 1), (self.u[leaf], -1))
        least = float(self.job.least_rows)
        self.add(0, np.inf, (self.z[:, leaf], weights), (self.u[leaf], -least))
        for k in range(self.n_classes):
            others = np.flatnonzero(self.y != k)
            wrong = self.z[others, leaf], weights[others]
            size = float(weights[others].sum())
            self.add(-np.inf, size, wrong, (self.c[leaf, k], size), (self.e[leaf], -1))

    def tree(self, solution: NDArray[np.float64], node: int = 0) -> Splits:
        """See the base class."""
        if node >= self.n_inner or solution[self.d[node]] < 0.5:
            return -1
        feature = int(solution[self.a[node]].argmax())
        right = self.tree(solution, 2 * node + 2)
        # Below the threshold are the ranks up to the cut.
        cut = int(np.floor(solution[self.b[node]] * self.greatest[feature] + 1e-4)) - 1
        if cut < 0:  # nothing goes left
            return right
        test = [feature, cut] if self.job.ordered else [feature]
        return [*test, self.tree(solution, 2 * node + 1), right]


class Oct(MixedIntegerSolver):
    """A mixed-integer program over a complete binary tree, in which each row has a leaf.

    References
    ----------
    Bertsimas, Dunn (2017), Optimal Classification Trees, section 2 (OCT).
    """

    name: ClassVar[str] = "oct"
    summary: ClassVar[str] = "OCT, a mixed-integer program (HiGHS); its claims are unproven"
    capabilities: ClassVar[Capabilities] = Capabilities(
        features=frozenset({"binary", "continuous"}),
        limits=frozenset({"depth", "splits", "min_leaf_size"}),
        needs=frozenset({"depth"}),
        proves=False,
        greatest_depth=10,
    )
    program: ClassVar[type[Program]] = OctProgram
