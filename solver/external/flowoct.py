"""FlowOCT (Aghaei, Gómez, Vayanos 2021), formulated here and solved by HiGHS."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from solver.base import Capabilities
from solver.external.base import ExternalSolver, version_of
from solver.external.job import FINISHED, TIMED_OUT, Answer, Job, Splits

_OPTIMAL, _LIMIT = 0, 1  # the status codes of scipy.optimize.milp


class FlowOct(ExternalSolver):
    """A mixed-integer program over a complete binary tree: a row that is predicted well is a unit
    of flow from the root to the sink.

    Equal rows are one row with a weight. HiGHS computes in floats and stops at its own tolerances:
    what it says is a claim. It takes no initial tree here.

    References
    ----------
    Aghaei, Gómez, Vayanos (2021), Strong Optimal Classification Trees, formulation (4).
    """

    name: ClassVar[str] = "flowoct"
    package: ClassVar[str] = "scipy"
    module: ClassVar[str] = "scipy.optimize"
    version: ClassVar[str] = f"1, scipy {version_of('scipy')}"
    summary: ClassVar[str] = "FlowOCT, a mixed-integer program, over HiGHS; claims without proof"
    capabilities: ClassVar[Capabilities] = Capabilities(
        features=frozenset({"binary"}),
        limits=frozenset({"depth", "splits"}),
        needs=frozenset({"depth"}),
        proves=False,
        greatest_depth=10,
    )

    @classmethod
    def fit(cls, job: Job) -> Answer:
        """See the base class."""
        optimize = cls.load()
        program = _Program(job)
        options = {"mip_rel_gap": 0.0, "disp": False}
        if job.limits.seconds is not None:
            options["time_limit"] = job.limits.seconds
        found = optimize.milp(
            program.cost,
            integrality=program.integrality,
            bounds=optimize.Bounds(0, 1),
            constraints=program.constraints(optimize),
            options=options,
        )
        if found.status not in (_OPTIMAL, _LIMIT):
            raise RuntimeError(f"HiGHS ended with status {found.status}: {found.message}")
        status = FINISHED if found.status == _OPTIMAL else TIMED_OUT
        bound = found.mip_dual_bound  # None if the limit came before the first bound
        return Answer(
            tree=-1 if found.x is None else program.tree(found.x),
            status=status,
            optimal=status == FINISHED,
            lower_bound=None if bound is None else max(0.0, 1 + float(bound)),
        )


class _Program:
    """The program of a job. Nodes are numbered from 0, level by level; the children of n are 2n + 1
    and 2n + 2. The objective is loss + λ·splits − 1.

    Variables, all from 0 to 1: ``b[n, f]``, node n splits on feature f; ``p[n]``, n predicts;
    ``w[n, k]``, n predicts class k; ``z[i, n]``, row i comes to n; ``t[i, n]``, it is predicted
    well there. The flows z and t need not be whole: given the others, a greatest flow is.
    """

    def __init__(self, job: Job) -> None:
        self.job = job
        assert job.limits.depth is not None
        table = np.column_stack([job.codes, job.labels])
        rows, weights = np.unique(table, axis=0, return_counts=True)
        self.x, self.y, self.weights = rows[:, :-1], rows[:, -1], weights
        self.n_nodes = 2 ** (job.limits.depth + 1) - 1
        self.n_inner = 2**job.limits.depth - 1
        n_rows, n_classes = len(rows), int(job.labels.max()) + 1
        sizes = {
            "b": (self.n_inner, self.x.shape[1]),
            "p": (self.n_nodes,),
            "w": (self.n_nodes, n_classes),
            "z": (n_rows, self.n_nodes),
            "t": (n_rows, self.n_nodes),
        }
        self.at: dict[str, NDArray[np.int64]] = {}
        start = 0
        for name, shape in sizes.items():
            size = int(np.prod(shape))
            self.at[name] = np.arange(start, start + size).reshape(shape)
            start += size
        self.cost = np.zeros(start)
        self.cost[self.at["b"]] = float(job.lam)
        self.cost[self.at["z"][:, 0]] = -weights / weights.sum()
        self.integrality = np.zeros(start)
        for name in "bpw":
            self.integrality[self.at[name]] = 1

    def constraints(self, optimize: Any) -> list[Any]:
        """All constraints, as a sparse matrix."""
        from scipy.sparse import csr_array

        entries: list[tuple[int, int, float]] = []
        lower: list[float] = []
        upper: list[float] = []

        def add(plus: Any, minus: Any, least: float, most: float) -> None:
            number = len(lower)
            entries.extend((number, int(v), 1.0) for v in np.ravel(plus))
            entries.extend((number, int(v), -1.0) for v in np.ravel(minus))
            lower.append(least)
            upper.append(most)

        b, p, w, z, t = (self.at[name] for name in "bpwzt")
        for n in range(self.n_nodes):
            above = [p[m] for m in _ancestors(n)]
            splits = b[n] if n < self.n_inner else []
            add([*splits, p[n], *above], [], 1, 1)
            add(w[n], p[n], 0, 0)
        for i in range(len(self.y)):
            ones = self.x[i] == 1
            for n in range(self.n_nodes):
                add(t[i, n], w[n, self.y[i]], -np.inf, 0)
                if n >= self.n_inner:
                    add(z[i, n], t[i, n], 0, 0)
                    continue
                left, right = 2 * n + 1, 2 * n + 2
                add(z[i, n], [z[i, left], z[i, right], t[i, n]], 0, 0)
                add(z[i, left], b[n][~ones], -np.inf, 0)
                add(z[i, right], b[n][ones], -np.inf, 0)
        if self.job.limits.splits is not None:
            add(b, [], 0, self.job.limits.splits)
        row, column, value = zip(*entries, strict=True)
        matrix = csr_array((value, (row, column)), shape=(len(lower), len(self.cost)))
        return [optimize.LinearConstraint(matrix, lower, upper)]

    def tree(self, solution: NDArray[np.float64], node: int = 0) -> Splits:
        """The tree of a solution."""
        if node >= self.n_inner:
            return -1
        chosen = solution[self.at["b"][node]]
        feature = int(chosen.argmax())
        if chosen[feature] < 0.5:
            return -1
        return [feature, self.tree(solution, 2 * node + 1), self.tree(solution, 2 * node + 2)]


def _ancestors(node: int) -> list[int]:
    found = []
    while node:
        node = (node - 1) // 2
        found.append(node)
    return found
