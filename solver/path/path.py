"""The exact λ-path: the trees that are optimal for some λ, and the breakpoints between them."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from solver.notebook_display import RichDisplay
from solver.objective.exact_objective import Errors, as_lambda, objective
from solver.path.envelope import Envelope, Point
from solver.solution import Solution, Status
from solver.trees.tree import Tree


@dataclass(frozen=True)
class Step:
    """A step of a λ-path: a tree, and the interval of λ in which it is the best known tree.

    Parameters
    ----------
    start, end : Fraction
        The tree is the best known for ``start ≤ λ ≤ end``. At ``end`` the next step, which has
        fewer splits, is equally good. The last step has no end (None).
    errors, splits : int
        Of the tree, on the training rows.
    tree : Tree
    proven : bool
        Whether no tree is better anywhere from ``start`` to ``end``.

    Examples
    --------
    >>> import treesweep
    >>> problem = treesweep.Problem.from_codes([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 0, 0, 1])
    >>> path = treesweep.regularization_path(problem, lam_min="0.05")
    >>> for step in path.steps:
    ...     print(step.start, step.end, step.splits, step.errors, step.proven)
    1/20 1/8 2 0 True
    1/8 None 0 1 True
    """

    start: Fraction
    end: Fraction | None
    errors: Errors
    splits: int
    tree: Tree
    proven: bool


@dataclass(frozen=True)
class Path(RichDisplay):
    """The λ-path of a problem, from ``lam_min`` to infinity.

    Parameters
    ----------
    lam_min : Fraction
    total_weight : int
        Of the training rows: ``loss = errors / total_weight``.
    leaf_errors : int
        Errors of the tree without a split.
    unavoidable_errors : int
        Errors that every tree makes, because no feature distinguishes the rows.
    steps : tuple of Step
        From the smallest λ on.
    points : tuple of Point
        The lower bounds that were proven at single λ, from the smallest λ on: by a search; or since
        errors and splits are whole numbers, and trees of few splits were counted.
    status : Status
        ``optimal`` if every step is proven; ``heuristic`` if the solver proves nothing; otherwise
        what ended the search. The status is also ``stopped`` if the search cannot decide which tree
        is best at a breakpoint. This happens if the λ of the breakpoint has too many digits for the
        integers of the search, and searches at neighbouring λ do not decide it.
    seconds : float
        Time of all searches, without compilation.
    solves : int
        Number of searches, each at one λ. A stored path counts its points.
    tolerance : Fraction
        Two objectives count as equal if they differ by at most the tolerance, see
        :attr:`solver.problem.problem.Problem.tolerance`.
    rounding : Fraction
        The largest change of an objective that rounding the weights may have caused. Lower bounds
        are reduced by it.
    cut_by : Status, optional
        The limit that ended the search at some λ; None if no limit did. The path may be proven
        nevertheless. Under a larger limit that search might have found another one of several
        equally good trees.

    Examples
    --------
    >>> import treesweep
    >>> problem = treesweep.Problem.from_codes([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 0, 0, 1])
    >>> path = treesweep.regularization_path(problem, lam_min="0.05")
    >>> path.step_at("0.2").splits, str(path.objective_at("0.2"))
    (0, '1/4')
    """

    lam_min: Fraction
    total_weight: int
    leaf_errors: Errors
    unavoidable_errors: Errors
    steps: tuple[Step, ...]
    points: tuple[Point, ...]
    status: Status
    seconds: float
    solves: int
    solver: str
    version: str
    iterations: int = 0
    nodes: int = 0
    peak_bytes: int = 0
    compile_seconds: float = 0.0
    tolerance: Fraction = Fraction(0)
    rounding: Fraction = Fraction(0)
    cut_by: Status | None = None

    @property
    def lams(self) -> tuple[Fraction, ...]:
        """Where each step begins: ``lam_min``, then the breakpoints."""
        return tuple(step.start for step in self.steps)

    @property
    def losses(self) -> tuple[Fraction, ...]:
        """The training loss of each step's tree."""
        return tuple(Fraction(step.errors) / self.total_weight for step in self.steps)

    @property
    def splits(self) -> tuple[int, ...]:
        """The splits of each step's tree."""
        return tuple(step.splits for step in self.steps)

    @property
    def trees(self) -> tuple[Tree, ...]:
        """The tree of each step."""
        return tuple(step.tree for step in self.steps)

    def step_at(self, lam: Any) -> Step:
        """The best step at a λ. At a breakpoint it is the step with fewer splits. Raises ValueError
        below ``lam_min``."""
        lam = as_lambda(lam)
        if lam < self.lam_min:
            raise ValueError(f"the path begins at λ = {self.lam_min}, not at {lam}")
        return self.steps[bisect_right(self.steps, lam, key=lambda step: step.start) - 1]

    def objective_at(self, lam: Any) -> Fraction:
        """The least objective known at a λ."""
        lam = as_lambda(lam)
        step = self.step_at(lam)
        return objective(step.errors, step.splits, self.total_weight, lam)

    def lower_bound_at(self, lam: Any) -> Fraction | None:
        """The proven lower bound at a λ; None if there is none."""
        return (
            None
            if self.status is Status.HEURISTIC
            else max(self._bounds.at(as_lambda(lam)), Fraction(0))
        )

    def solution_at(self, lam: Any) -> Solution:
        """The solution at one λ; ValueError below ``lam_min``.

        Its status is ``optimal`` if the tree is proven at this λ; otherwise it is the status of the
        path. Its time, iterations, nodes and memory are those of the whole path.
        """
        lam = as_lambda(lam)
        step, reached, bound = self.step_at(lam), self.objective_at(lam), self.lower_bound_at(lam)
        if step.proven and bound is not None:
            bound = max(bound, reached - self.tolerance)
        closed = bound is not None and reached - bound <= self.tolerance
        return Solution(
            tree=step.tree,
            status=Status.OPTIMAL if closed else self.status,
            lam=lam,
            objective=reached,
            lower_bound=bound,
            errors=step.errors,
            total_weight=self.total_weight,
            seconds=self.seconds,
            solver=self.solver,
            version=self.version,
            compile_seconds=self.compile_seconds,
            iterations=self.iterations,
            nodes=self.nodes,
            peak_bytes=self.peak_bytes,
            tolerance=self.tolerance,
        )

    @cached_property
    def _bounds(self) -> Envelope:
        floor = Fraction(self.unavoidable_errors) / self.total_weight - self.rounding
        leaf_loss = Fraction(self.leaf_errors) / self.total_weight - self.rounding
        return Envelope.of(self.points, floor, leaf_loss)

    def to_dict(self) -> dict[str, Any]:
        """As plain data; numbers that must be exact are also given as fraction strings."""
        return {
            "solver": self.solver,
            "version": self.version,
            "status": self.status.value,
            "lam_min": float(self.lam_min),
            "lam_min_exact": str(self.lam_min),
            "total_weight": self.total_weight,
            "leaf_errors": plain_errors(self.leaf_errors),
            "unavoidable_errors": plain_errors(self.unavoidable_errors),
            "tolerance": float(self.tolerance),
            "seconds": self.seconds,
            "compile_seconds": self.compile_seconds,
            "solves": self.solves,
            "iterations": self.iterations,
            "nodes": self.nodes,
            "peak_bytes": self.peak_bytes,
            "steps": [
                {
                    "lam": float(step.start),
                    "lam_exact": str(step.start),
                    "lam_end": None if step.end is None else float(step.end),
                    "lam_end_exact": None if step.end is None else str(step.end),
                    "errors": plain_errors(step.errors),
                    "loss": float(step.errors / self.total_weight),
                    "splits": step.splits,
                    "leaves": step.tree.leaves,
                    "depth": step.tree.depth,
                    "proven": step.proven,
                    "tree": step.tree.to_dict(),
                }
                for step in self.steps
            ],
            "points": [
                {
                    "lam_exact": str(point.lam),
                    "lower_bound_exact": None
                    if point.lower_bound is None
                    else str(point.lower_bound),
                }
                for point in self.points
            ],
        }


def plain_errors(errors: Errors) -> int | float:
    """As JSON has it: a whole number, or the squared error of regression, rounded."""
    return errors if isinstance(errors, int) else float(errors)
