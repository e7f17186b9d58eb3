"""The solution of a solve, and its status."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from typing import Any, NamedTuple

from solver.notebook_display import RichDisplay
from solver.objective.exact_objective import Errors
from solver.trees.tree import Tree

BELOW_ONE = math.nextafter(1, 0)
"""The largest float below 1."""


class Status(StrEnum):
    """How a run ended.

    A solver gives ``optimal``, ``heuristic`` (it proves nothing), ``time_limit``, ``memory_limit``,
    ``node_limit`` or ``stopped``. A sweep also gives ``error`` (the run raised an error) and
    ``killed`` (its worker process died).

    Examples
    --------
    >>> import treesweep
    >>> problem = treesweep.Problem.from_codes([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 0, 0, 1])
    >>> treesweep.solve(problem, lam="0.05").status is treesweep.Status.OPTIMAL
    True
    >>> treesweep.solve(problem, lam="0.05", solver="cart").status.value
    'heuristic'
    """

    OPTIMAL = "optimal"
    HEURISTIC = "heuristic"
    TIME_LIMIT = "time_limit"
    MEMORY_LIMIT = "memory_limit"
    NODE_LIMIT = "node_limit"
    STOPPED = "stopped"
    ERROR = "error"
    KILLED = "killed"

    @property
    def has_tree(self) -> bool:
        """Whether a run of this status carries a tree."""
        return self not in (Status.ERROR, Status.KILLED)

    @property
    def is_whole(self) -> bool:
        """Whether the run ended by itself, with a proof or as a heuristic."""
        return self in (Status.OPTIMAL, Status.HEURISTIC)

    @property
    def is_limit(self) -> bool:
        """Whether a larger limit could give a better answer."""
        return self in (Status.TIME_LIMIT, Status.MEMORY_LIMIT, Status.NODE_LIMIT)


class TracePoint(NamedTuple):
    """Objective and lower bound at a moment of the search."""

    seconds: float
    objective: float
    lower_bound: float | None


def share_without(part: float | Fraction, whole: float | Fraction) -> float:
    """The share of a whole that is not this part, such as R². It is below 1 unless the part is 0:
    rounding to a float never hides what remains."""
    share = float(1 - part / whole)
    return min(share, BELOW_ONE) if part else share


def share_of(part: int, whole: int) -> float:
    """The share that some of a number of things are. It is 1 for all of them only, however many
    they are."""
    return share_without(Fraction(whole - part), whole)


@dataclass(frozen=True)
class Solution(RichDisplay):
    """The best tree found and what is proven about it.

    Parameters
    ----------
    tree : Tree
    status : Status
        ``optimal`` if and only if the objective and the lower bound are equal, within the
        tolerance.
    lam : Fraction
        The price of a split.
    objective : Fraction
        loss + λ·splits, minimised.
    lower_bound : Fraction or None
        Proven: no tree within the limits has a smaller objective. None for heuristics.
    errors : int or Fraction
        Misclassified weight of the training rows; in regression their squared error.
    total_weight : int
        Weight of all training rows.
    seconds : float
        Search time without compilation.
    compile_seconds : float
        Time spent compiling kernels.
    iterations : int
        Passes of the solver's main loop. For BRANCHES it is the number of branches that were
        expanded.
    nodes : int
        The size of the search at its end, counted as in :class:`treesweep.Limits`: for BRANCHES the
        branches in the memo.
    peak_bytes : int
        Memory of the search's own arrays.
    trace : tuple of TracePoint
        The changes of the objective and of the lower bound, with their times.
    tolerance : Fraction
        Two objectives count as equal if they differ by at most the tolerance. It is above 0 only if
        numbers were rounded: the floats of a regression, or weights with too many digits.
    extra : dict
        Further results of the solver by name: JSON data without NaN and infinity.

    Examples
    --------
    >>> import treesweep
    >>> problem = treesweep.Problem.from_codes([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 0, 0, 1])
    >>> solution = treesweep.solve(problem, lam="0.05")
    >>> str(solution.objective), str(solution.lower_bound), solution.gap == 0
    ('1/10', '1/10', True)
    >>> solution.errors, solution.splits, solution.depth
    (0, 2, 2)
    """

    tree: Tree
    status: Status
    lam: Fraction
    objective: Fraction
    lower_bound: Fraction | None
    errors: Errors
    total_weight: int
    seconds: float
    solver: str
    version: str
    compile_seconds: float = 0.0
    iterations: int = 0
    nodes: int = 0
    peak_bytes: int = 0
    trace: tuple[TracePoint, ...] = ()
    extra: dict[str, Any] = field(default_factory=dict)
    tolerance: Fraction = Fraction(0)

    @property
    def gap(self) -> Fraction | None:
        """objective − lower_bound; None for heuristics."""
        return None if self.lower_bound is None else self.objective - self.lower_bound

    @property
    def loss(self) -> Fraction:
        """Misclassified share of the training weight; in regression the mean squared error."""
        return Fraction(self.errors) / self.total_weight

    @property
    def accuracy(self) -> Fraction:
        """1 − loss, in classification."""
        return 1 - self.loss

    @property
    def r2(self) -> float | None:
        """In regression: the share of the squared error that the splits remove; None if all targets
        are equal. It is 1 only if no error remains."""
        whole = self.tree.nodes[0].squared_error
        return share_without(self.errors, whole) if whole else None

    @property
    def rmse(self) -> float:
        """In regression: root of the mean squared error of a target, in the target's unit."""
        return math.sqrt(self.loss / len(self.tree.outputs))

    @property
    def splits(self) -> int:
        """Number of splits of the tree."""
        return self.tree.splits

    @property
    def leaves(self) -> int:
        """Number of leaves of the tree."""
        return self.tree.leaves

    @property
    def depth(self) -> int:
        """Longest path of the tree."""
        return self.tree.depth

    def to_dict(self) -> dict[str, Any]:
        """Plain data; exact numbers also as fraction strings."""
        bound, gap = self.lower_bound, self.gap
        return {
            "solver": self.solver,
            "version": self.version,
            "status": self.status.value,
            "lam": float(self.lam),
            "lam_exact": str(self.lam),
            "objective": float(self.objective),
            "objective_exact": str(self.objective),
            "lower_bound": None if bound is None else float(bound),
            "lower_bound_exact": None if bound is None else str(bound),
            "gap": None if gap is None else float(gap),
            "gap_exact": None if gap is None else str(gap),
            **self._quality(),
            "total_weight": self.total_weight,
            "splits": self.splits,
            "leaves": self.leaves,
            "depth": self.depth,
            "seconds": self.seconds,
            "compile_seconds": self.compile_seconds,
            "iterations": self.iterations,
            "nodes": self.nodes,
            "peak_bytes": self.peak_bytes,
            "tolerance": float(self.tolerance),
            "trace": [point._asdict() for point in self.trace],
            "extra": self.extra,
            "tree": self.tree.to_dict(),
        }

    def _quality(self) -> dict[str, Any]:
        if isinstance(self.errors, int):
            return {"errors": self.errors, "accuracy": float(self.accuracy)}
        return {
            "errors": float(self.errors),
            "errors_exact": str(self.errors),
            "r2": self.r2,
            "rmse": self.rmse,
        }
