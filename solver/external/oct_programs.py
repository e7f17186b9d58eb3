"""The programs of OCT and OCT-H (Bertsimas, Dunn 2017), with two changes that keep their trees.

A node has one constraint for a row and all leaves on a side, where the paper has one for each leaf.
A mistake is a variable of its row and leaf, where the paper counts those of a leaf. Both make the
bound closer.
"""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
from numpy.typing import NDArray

from solver.external.job_messages import Job, Splits
from solver.external.mip import Program, ancestors

Variables = NDArray[np.int64]


class OctProgram(Program):
    """A program of a job; its objective is loss + λ·splits.

    Variables: ``d[n]``, node n splits, else all its rows go right; ``z[i, l]``, row i comes to leaf
    l; ``u[l]``, rows may come to leaf l; ``c[l, k]``, it predicts class k. A subclass adds those of
    a split.
    """

    whole_paths: bool = True
    """Whether z has to be whole, because the splits alone do not make it so."""

    def build(self) -> None:
        """See the base class."""
        n_rows, n_leaves = len(self.x), self.n_inner + 1
        self.d = self.variables(self.n_inner, cost=float(self.job.lam), whole=True)
        self.z = self.variables(n_rows, n_leaves, whole=self.whole_paths)
        self.u = self.variables(n_leaves, whole=True)
        self.c = self.variables(n_leaves, self.n_classes, whole=True)
        for n in range(self.n_inner):
            if n:
                self.add(-np.inf, 0, (self.d[n], 1), (self.d[(n - 1) // 2], -1))
            self.split(n, *(self._rows_to(n, right) for right in (False, True)))
        if self.job.limits.splits is not None:
            self.add(0, self.job.limits.splits, (self.d, 1))
        self.price_mistakes(self.z, self.c)
        for leaf in range(n_leaves):
            self._predict(leaf)
        for i in range(n_rows):
            self.add(1, 1, (self.z[i], 1))

    def _rows_to(self, n: int, right: bool) -> Variables:
        """The variables by which each row comes to some leaf on a side of a node."""
        leaves = range(self.n_inner + 1)
        return self.z[:, [leaf for leaf in leaves if (n, right) in ancestors(self.n_inner + leaf)]]

    @abstractmethod
    def split(self, n: int, left: Variables, right: Variables) -> None:
        """Make the split of a node, with which a row comes to leaves on its right side only."""

    def _predict(self, leaf: int) -> None:
        """A leaf with rows has a class, and its least weight."""
        self.add(0, 0, (self.c[leaf], 1), (self.u[leaf], -1))
        least = float(self.job.least_rows)
        weights = self.weights.astype(float)
        self.add(0, np.inf, (self.z[:, leaf], weights), (self.u[leaf], -least))
        for row_comes in self.z[:, leaf]:
            self.add(-np.inf, 0, (row_comes, 1), (self.u[leaf], -1))

    def tree(self, solution: NDArray[np.float64], node: int = 0) -> Splits:
        """See the base class."""
        if node >= self.n_inner or solution[self.d[node]] < 0.5:
            return -1
        left, right = self.tree(solution, 2 * node + 1), self.tree(solution, 2 * node + 2)
        test = self.test(solution, node)
        return right if test is None else [*test, left, right]

    @abstractmethod
    def test(self, solution: NDArray[np.float64], node: int) -> list[object] | None:
        """The test of a node that splits; None if all rows go right."""


class BinaryProgram(OctProgram):
    """With binary features: ``a[n, j]``, node n splits on feature j. The thresholds are known, so
    nothing needs a big M, and z need not be whole."""

    whole_paths = False

    def build(self) -> None:
        """See the base class."""
        self.a = self.variables(self.n_inner, self.x.shape[1], whole=True)
        super().build()

    def split(self, n: int, left: Variables, right: Variables) -> None:
        """See the base class."""
        self.add(0, 0, (self.a[n], 1), (self.d[n], -1))
        for i, values in enumerate(self.x):
            send_left = self.a[n][values == 0]
            self.add(-np.inf, 0, (left[i], 1), (send_left, -1))
            self.add(-np.inf, 1, (right[i], 1), (send_left, 1))

    def test(self, solution: NDArray[np.float64], node: int) -> list[object] | None:
        """See the base class."""
        feature = int(solution[self.a[node]].argmax())
        return [feature, 0] if self.job.ordered else [feature]


class RankProgram(OctProgram):
    """With numbers: ``a[n, j]``, node n splits on feature j; ``b[n]``, its threshold: rows below it
    go left. Features are ranks scaled to 0 … 1."""

    def build(self) -> None:
        """See the base class."""
        self.greatest = np.maximum(self.x.max(axis=0), 1)
        self.a = self.variables(self.n_inner, self.x.shape[1], whole=True)
        self.b = self.variables(self.n_inner)
        super().build()

    def split(self, n: int, left: Variables, right: Variables) -> None:
        """See the base class."""
        self.add(0, 0, (self.a[n], 1), (self.d[n], -1))
        self.add(-np.inf, 0, (self.b[n], 1), (self.d[n], -1))
        gaps = 1 / self.greatest
        least, most = gaps.min(), gaps.max()
        for i, values in enumerate(self.x / self.greatest):
            above = (self.a[n], values + gaps - least), (self.b[n], -1)
            self.add(-np.inf, 1 + most - least, *above, (left[i], 1 + most))
            self.add(-1, np.inf, (self.a[n], values), (self.b[n], -1), (right[i], -1))

    def test(self, solution: NDArray[np.float64], node: int) -> list[object] | None:
        """See the base class."""
        feature = int(solution[self.a[node]].argmax())
        # Below the threshold are the ranks up to the cut.
        cut = int(np.floor(solution[self.b[node]] * self.greatest[feature] + 1e-4)) - 1
        return [feature, cut] if cut >= 0 else None


class HyperplaneProgram(OctProgram):
    """With the columns of numbers, from −1/2 to 1/2: the weights of a hyperplane are ``p[n, j]`` −
    ``q[n, j]``, their sizes add up to 1 at most, and ``b[n]`` is its threshold. A row goes right if
    its sum is b or more, and left if it is less by the margin.

    A hyperplane can be turned round, with its subtrees exchanged, so one row is in the last leaf.
    The paper also has a binary variable for each column that a hyperplane uses, because it prices
    these. Here λ is the price of a split.
    """

    def __init__(self, job: Job) -> None:
        self.margin = float(job.options["margin"])
        super().__init__(job)

    def build(self) -> None:
        """See the base class."""
        assert self.job.numbers is not None
        self.numbers = self.job.numbers[self.first]
        shape = self.n_inner, self.numbers.shape[1]
        self.p, self.q = self.variables(*shape), self.variables(*shape)
        self.b = self.variables(self.n_inner, least=-0.5, most=0.5)
        super().build()
        self.add(1, 1, (self.z[0, -1], 1))

    def split(self, n: int, left: Variables, right: Variables) -> None:
        """See the base class."""
        self.add(-np.inf, 0, (self.p[n], 1), (self.q[n], 1), (self.d[n], -1))
        self.add(-np.inf, 0, (self.b[n], 1), (self.d[n], -0.5))
        self.add(0, np.inf, (self.b[n], 1), (self.d[n], 0.5))
        for i, values in enumerate(self.numbers):
            above = (self.p[n], values), (self.q[n], -values), (self.b[n], -1)
            self.add(-np.inf, 1, *above, (left[i], 1 + self.margin))
            self.add(-1, np.inf, *above, (right[i], -1))

    def test(self, solution: NDArray[np.float64], node: int) -> list[object] | None:
        """See the base class."""
        weights = solution[self.p[node]] - solution[self.q[node]]
        return [weights.tolist(), float(solution[self.b[node]]) - self.margin / 2]
