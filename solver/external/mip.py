"""What mixed-integer programs over HiGHS have in common: variables, constraints, and the answer.

HiGHS computes in floats and stops at its own tolerances: what it says is a claim.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from solver.external.base import ExternalSolver, version_of
from solver.external.job_messages import FINISHED, TIMED_OUT, Answer, Job, Splits

_OPTIMAL, _LIMIT = 0, 1  # the status codes of scipy.optimize.milp

Terms = tuple[ArrayLike, float | NDArray[np.float64]]
"""Variables, and the coefficient of each or of all."""


class Program(ABC):
    """A mixed-integer program over a complete binary tree of the job's depth.

    Nodes are numbered from 0, level by level; the children of n are 2n + 1 and 2n + 2. Equal rows
    of equal class are one row with a weight; ``first`` is the first such row of the job.
    ``constant`` is what the objective lacks to be loss + λ·splits.
    """

    constant: float = 0.0
    prices_splits: bool = True
    """Whether λ is part of it; without it, it proves something at λ = 0 only."""

    def __init__(self, job: Job) -> None:
        self.job, self._began = job, time.perf_counter()
        assert job.limits.depth is not None
        table = np.column_stack([job.codes, job.labels])
        rows, self.first, self.weights = np.unique(
            table, axis=0, return_index=True, return_counts=True
        )
        self.x, self.y = rows[:, :-1], rows[:, -1]
        self.total = int(self.weights.sum())
        self.n_classes = int(self.y.max()) + 1
        self.n_inner = 2**job.limits.depth - 1
        self.n_nodes = 2 * self.n_inner + 1
        self._costs: list[NDArray[np.float64]] = []
        self._ranges: list[NDArray[np.float64]] = []
        self._wholes: list[NDArray[np.float64]] = []
        self._size = 0
        self._entries: list[tuple[NDArray[np.int64], NDArray[np.float64]]] = []
        self._limits: list[tuple[float, float]] = []
        self.build()

    @abstractmethod
    def build(self) -> None:
        """Make the variables and constraints."""

    @abstractmethod
    def tree(self, solution: NDArray[np.float64], node: int = 0) -> Splits:
        """The tree of a solution."""

    def variables(
        self,
        *shape: int,
        cost: ArrayLike = 0.0,
        least: float = 0.0,
        most: float = 1.0,
        whole: bool = False,
    ) -> NDArray[np.int64]:
        """New variables within a range, by number; ``cost`` is that of each or of all."""
        size = int(np.prod(shape))
        self._costs.append(np.broadcast_to(np.asarray(cost, float), shape).ravel())
        self._ranges.append(np.tile([least, most], (size, 1)))
        self._wholes.append(np.full(size, float(whole)))
        self._size += size
        return np.arange(self._size - size, self._size).reshape(shape)

    def add(self, least: float, most: float, *terms: Terms) -> None:
        """A constraint on the sum of some terms."""
        numbers = [np.ravel(np.asarray(variables, np.int64)) for variables, _ in terms]
        factors = [
            np.broadcast_to(np.ravel(factor), own.shape)
            for own, (_, factor) in zip(numbers, terms, strict=True)
        ]
        self._entries.append((np.concatenate(numbers), np.concatenate(factors)))
        self._limits.append((least, most))

    def price_mistakes(self, comes: NDArray[np.int64], predicts: NDArray[np.int64]) -> None:
        """Price each row's weight where ``comes[i, l]``, it comes to leaf l, without ``predicts[l,
        k]``, that leaf predicts its class k. A variable a row keeps the bound close."""
        shares = self.weights / self.total
        wrong = self.variables(*comes.shape, cost=shares[:, None])
        for i, k in enumerate(self.y):
            for leaf, row_comes in enumerate(comes[i]):
                terms = (predicts[leaf, k], -1), (wrong[i, leaf], -1)
                self.add(-np.inf, 0, (row_comes, 1), *terms)

    def solve(self, optimize: Any) -> Any:
        """The result of ``scipy.optimize.milp``."""
        from scipy.sparse import csr_array

        column, value = (np.concatenate(parts) for parts in zip(*self._entries, strict=True))
        ends = np.cumsum([0, *(len(own) for own, _ in self._entries)])
        matrix = csr_array((value, column, ends), shape=(len(self._limits), self._size))
        least, most = np.array(self._limits).T
        options: dict[str, Any] = {"mip_rel_gap": 0.0, "disp": False}
        if self.job.limits.seconds is not None:
            spent = time.perf_counter() - self._began  # making the program takes time, too
            options["time_limit"] = max(self.job.limits.seconds - spent, 0.01)
        return optimize.milp(
            np.concatenate(self._costs),
            integrality=np.concatenate(self._wholes),
            bounds=optimize.Bounds(*np.concatenate(self._ranges).T),
            constraints=[optimize.LinearConstraint(matrix, least, most)],
            options=options,
        )


class MixedIntegerSolver(ExternalSolver):
    """A formulation of ours, solved by HiGHS; it takes no initial tree."""

    package: ClassVar[str] = "scipy"
    module: ClassVar[str] = "scipy.optimize"
    version: ClassVar[str] = f"1, scipy {version_of('scipy')}"

    @classmethod
    @abstractmethod
    def program(cls, job: Job) -> Program:
        """The program of a job."""

    @classmethod
    def fit(cls, job: Job) -> Answer:
        """See the base class."""
        program = cls.program(job)
        found = program.solve(cls.load())
        if found.status not in (_OPTIMAL, _LIMIT):
            raise RuntimeError(f"HiGHS ended with status {found.status}: {found.message}")
        status = FINISHED if found.status == _OPTIMAL else TIMED_OUT
        is_optimal = status == FINISHED and (program.prices_splits or job.lam == 0)
        bound = found.mip_dual_bound  # None if the limit came before the first bound
        return Answer(
            tree=-1 if found.x is None else program.tree(found.x),
            status=status,
            optimal=is_optimal,
            objective=program.constant + float(found.fun) if is_optimal else None,
            lower_bound=None if bound is None else max(0.0, program.constant + float(bound)),
        )


def ancestors(node: int) -> list[tuple[int, bool]]:
    """The nodes above, the next one first, and whether the node is on their right."""
    found = []
    while node:
        above = (node - 1) // 2
        found.append((above, node == 2 * above + 2))
        node = above
    return found
