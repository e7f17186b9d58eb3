"""BinOCT (Verwer, Zhang 2019), formulated here and solved by HiGHS."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from solver.base import Capabilities
from solver.external.job_messages import Splits
from solver.external.mip import MixedIntegerSolver, Program, ancestors


class BinProgram(Program):
    """The program of a job; its objective is the loss.

    Variables: ``f[n, j]``, node n splits on feature j; ``p[l, k]``, leaf l predicts class k;
    ``r[i, l]``, row i comes to leaf l; ``e[l, k]``, the weight of class k that leaf l predicts
    wrong. Only f and p are whole: given f, each row has one leaf. Features are binary, so a
    threshold, which the paper encodes in bits, has one value and is left out.
    """

    prices_splits = False

    def build(self) -> None:
        """See the base class."""
        n_rows, n_features = self.x.shape
        n_leaves = self.n_inner + 1
        self.f = self.variables(self.n_inner, n_features, whole=True)
        p = self.variables(n_leaves, self.n_classes, whole=True)
        r = self.variables(n_rows, n_leaves)
        e = self.variables(n_leaves, self.n_classes, cost=1 / self.total, most=self.total)
        for n in range(self.n_inner):
            self.add(1, 1, (self.f[n], 1))
            for right in (False, True):
                leaves = [leaf for leaf in range(n_leaves) if (n, right) in self._above(leaf)]
                for j in range(n_features):
                    # One constraint for all rows of a value, as in the paper.
                    wrong = np.flatnonzero(self.x[:, j] != right)
                    terms = (r[wrong][:, leaves], 1), (self.f[n, j], len(wrong))
                    self.add(-np.inf, len(wrong), *terms)
        for i in range(n_rows):
            self.add(1, 1, (r[i], 1))
        for leaf in range(n_leaves):
            self.add(1, 1, (p[leaf], 1))
            for k in range(self.n_classes):
                own = self.y == k
                weight = float(self.weights[own].sum())
                rows = r[own, leaf], self.weights[own].astype(float)
                self.add(-np.inf, 0, rows, (p[leaf, k], -weight), (e[leaf, k], -1))

    def _above(self, leaf: int) -> list[tuple[int, bool]]:
        return ancestors(self.n_inner + leaf)

    def tree(self, solution: NDArray[np.float64], node: int = 0) -> Splits:
        """See the base class."""
        if node >= self.n_inner:
            return -1
        feature = int(solution[self.f[node]].argmax())
        return [feature, self.tree(solution, 2 * node + 1), self.tree(solution, 2 * node + 2)]


class BinOct(MixedIntegerSolver):
    """A mixed-integer program over complete trees: every node above the last level splits, also
    where it is of no use.

    It has no λ.

    References
    ----------
    Verwer, Zhang (2019), Learning Optimal Classification Trees Using a Binary Linear Program
    Formulation.
    """

    name: ClassVar[str] = "binoct"
    summary: ClassVar[str] = "BinOCT, a mixed-integer program (HiGHS); its claims are unproven"
    capabilities: ClassVar[Capabilities] = Capabilities(
        features=frozenset({"binary"}),
        limits=frozenset({"depth"}),
        needs=frozenset({"depth"}),
        proves=False,
        greatest_depth=10,
    )
    program: ClassVar[type[Program]] = BinProgram
