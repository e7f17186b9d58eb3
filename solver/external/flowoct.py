"""FlowOCT (Aghaei, Gómez, Vayanos 2021), formulated here and solved by HiGHS."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from solver.base import Capabilities
from solver.external.job_messages import Job, Splits
from solver.external.mip import MixedIntegerSolver, Program, ancestors


class FlowProgram(Program):
    """The program of a job; its objective is loss + λ·splits − 1.

    Variables, all from 0 to 1: ``b[n, f]``, node n splits on feature f; ``p[n]``, n predicts;
    ``w[n, k]``, n predicts class k; ``z[i, n]``, row i comes to n; ``t[i, n]``, it is predicted
    well there. The flows z and t need not be whole: given the others, a greatest flow is.
    """

    constant = 1.0

    def build(self) -> None:
        """See the base class."""
        n_rows, n_features = self.x.shape
        self.b = b = self.variables(self.n_inner, n_features, cost=float(self.job.lam), whole=True)
        p = self.variables(self.n_nodes, whole=True)
        w = self.variables(self.n_nodes, self.n_classes, whole=True)
        gain = np.zeros((n_rows, self.n_nodes))
        gain[:, 0] = -self.weights / self.total
        z = self.variables(n_rows, self.n_nodes, cost=gain)
        t = self.variables(n_rows, self.n_nodes)
        for n in range(self.n_nodes):
            above = [p[m] for m, _ in ancestors(n)]
            splits = b[n] if n < self.n_inner else []
            self.add(1, 1, ([*splits, p[n], *above], 1))
            self.add(0, 0, (w[n], 1), (p[n], -1))
        for i in range(n_rows):
            ones = self.x[i] == 1
            for n in range(self.n_nodes):
                self.add(-np.inf, 0, (t[i, n], 1), (w[n, self.y[i]], -1))
                if n >= self.n_inner:
                    self.add(0, 0, (z[i, n], 1), (t[i, n], -1))
                    continue
                left, right = 2 * n + 1, 2 * n + 2
                self.add(0, 0, (z[i, n], 1), ([z[i, left], z[i, right], t[i, n]], -1))
                self.add(-np.inf, 0, (z[i, left], 1), (b[n][~ones], -1))
                self.add(-np.inf, 0, (z[i, right], 1), (b[n][ones], -1))
        if self.job.limits.splits is not None:
            self.add(0, self.job.limits.splits, (b, 1))

    def tree(self, solution: NDArray[np.float64], node: int = 0) -> Splits:
        """See the base class."""
        if node >= self.n_inner:
            return -1
        chosen = solution[self.b[node]]
        feature = int(chosen.argmax())
        if chosen[feature] < 0.5:
            return -1
        return [feature, self.tree(solution, 2 * node + 1), self.tree(solution, 2 * node + 2)]


class FlowOct(MixedIntegerSolver):
    """A mixed-integer program over a complete binary tree: a row that is predicted well is a unit
    of flow from the root to the sink.

    References
    ----------
    Aghaei, Gómez, Vayanos (2021), Strong Optimal Classification Trees, formulation (4).
    """

    name: ClassVar[str] = "flowoct"
    summary: ClassVar[str] = "FlowOCT, a mixed-integer program (HiGHS); its claims are unproven"
    capabilities: ClassVar[Capabilities] = Capabilities(
        features=frozenset({"binary"}),
        limits=frozenset({"depth", "splits"}),
        needs=frozenset({"depth"}),
        proves=False,
        greatest_depth=10,
    )

    @classmethod
    def program(cls, job: Job) -> Program:
        """See the base class."""
        return FlowProgram(job)
