"""BinOCT (Verwer, Zhang 2019), formulated here and solved by HiGHS."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from solver.base import Capabilities
from solver.external.job_messages import Job, Splits
from solver.external.mip import MixedIntegerSolver, Program, ancestors


class BinProgram(Program):
    """The program of a job; its objective is the loss.

    Variables: ``f[n, j]``, node n splits on feature j; ``p[l, k]``, leaf l predicts class k;
    ``r[i, l]``, row i comes to leaf l. Only f and p are whole: given f, each row has one leaf.
    Features are binary, so a threshold, which the paper encodes in bits, has one value and is left
    out.

    The paper has one constraint for all rows of a value, and counts the mistakes of a leaf. Here
    each row has its own, which makes the bound closer. And of trees that divide the rows alike,
    most are left out.
    """

    prices_splits = False

    def build(self) -> None:
        """See the base class."""
        n_leaves = self.n_inner + 1
        self.f = self.variables(self.n_inner, self.x.shape[1], whole=True)
        p = self.variables(n_leaves, self.n_classes, whole=True)
        r = self.variables(len(self.x), n_leaves)
        for n in range(self.n_inner):
            self.add(1, 1, (self.f[n], 1))
            for right in (False, True):
                leaves = [
                    leaf for leaf in range(n_leaves) if (n, right) in ancestors(self.n_inner + leaf)
                ]
                for i, values in enumerate(self.x):
                    self.add(-np.inf, 1, (r[i, leaves], 1), (self.f[n, values != right], 1))
        for i in range(len(self.x)):
            self.add(1, 1, (r[i], 1))
        for leaf in range(n_leaves):
            self.add(1, 1, (p[leaf], 1))
        self.price_mistakes(r, p)
        self._leave_out_copies()

    def _leave_out_copies(self) -> None:
        """No feature is twice on a path, if there are enough. If both children split on the same
        feature, it is not before that of their parent: the three could change places."""
        depth = (self.n_inner + 1).bit_length() - 1
        if self.x.shape[1] < depth:
            return
        for n in range(self.n_inner):
            for above, _ in ancestors(n):
                for one, other in zip(self.f[n], self.f[above], strict=True):
                    self.add(-np.inf, 1, ([one, other], 1))
        for n in range(self.n_inner // 2):
            for j in range(self.x.shape[1] - 1):
                children = self.f[[2 * n + 1, 2 * n + 2], j]
                self.add(-np.inf, 2, (children, 1), (self.f[n, j + 1 :], 1))

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

    @classmethod
    def program(cls, job: Job) -> Program:
        """See the base class."""
        return BinProgram(job)
