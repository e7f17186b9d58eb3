"""TAO as a solver of the catalogue: improves CART's tree node by node."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from numpy.typing import NDArray

from solver.base import Capabilities, Solver
from solver.baselines.cart import Cart
from solver.baselines.tao.alternation import Alternation, Cut, Pricing
from solver.baselines.tao.losses import Losses, Misclassified, SquaredErrors
from solver.engine.tree_constraints import keeps_limits
from solver.lambda_series import Series, Solve
from solver.limits import Limits
from solver.monitor import Monitor
from solver.objective.exact_objective import CostScale, objective
from solver.objective.exact_squared_error import in_unit_range
from solver.options import Option
from solver.problem.problem import Problem
from solver.solution import Solution, Status, TracePoint
from solver.trees.tree import Shape, Tree, shape_of


class Tao(Solver):
    """Tree alternating optimisation, from the tree that CART grows within the limits.

    At every split it takes the best cut for the rows and the subtrees there, or removes the split
    if it is not worth λ. It repeats this from the leaves to the root until nothing changes. The
    objective only falls, so it is never above that of any pruning of CART's tree. It proves
    nothing: status ``heuristic``, no lower bound.

    Features of more than two unordered values are refused: a split on another feature would need
    another number of subtrees.

    References
    ----------
    Carreira-Perpiñán & Tavallali (2018), "Alternating optimization of decision trees, with
    application to learning sparse oblique trees".
    """

    name: ClassVar[str] = "tao"
    version: ClassVar[str] = f"2, {Cart.version}"
    summary: ClassVar[str] = "CART's tree, improved node by node (TAO); no proof"
    capabilities: ClassVar[Capabilities] = Capabilities(
        features=frozenset({"binary", "continuous"}),
        limits=frozenset({"depth", "min_leaf_size"}),
        proves=False,
        tasks=frozenset({"classification", "regression"}),
    )
    options: ClassVar[Mapping[str, Option]] = Cart.options

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._cart = Cart(**options)

    def _solve(
        self,
        problem: Problem,
        lam: Fraction,
        limits: Limits,
        initial_tree: Tree | None,
        monitor: Monitor,
        state: Mapping[str, NDArray[Any]] | None,
    ) -> Solution:
        began = time.perf_counter()

        status = Status.HEURISTIC

        def is_over() -> bool:
            nonlocal status
            if status is Status.HEURISTIC:
                if limits.seconds is not None and time.perf_counter() - began > limits.seconds:
                    status = Status.TIME_LIMIT
                elif monitor.stop():
                    status = Status.STOPPED
            return status is not Status.HEURISTIC

        shapes = [self._cart.grow(problem, Fraction(0), limits)]
        if initial_tree is not None and keeps_limits(initial_tree, limits):
            shapes.append(shape_of(initial_tree))

        def cost(tree: Tree) -> tuple[Fraction, int]:
            return objective(tree.errors, tree.splits, problem.total_weight, lam), tree.splits

        trees: list[Tree] = []
        passes = 0
        for shape in shapes:
            searched = _plant(problem, lam, limits, shape)
            trees.append(_grow(problem, searched))
            is_better = True
            while is_better:
                is_changed = searched.improve(is_over)
                passes += 1
                # A pass of regression counts in floats: whether the tree is better is counted
                # anew, exactly, or a pass and the next might undo each other without end.
                grown = _grow(problem, searched) if is_changed else trees[-1]
                is_better = cost(grown) < cost(trees[-1])
                if is_better:
                    trees[-1] = grown
                is_better = is_better and not is_over()
        found = min(trees, key=cost)
        reached = objective(found.errors, found.splits, problem.total_weight, lam)
        seconds = time.perf_counter() - began
        return Solution(
            tree=found,
            status=status,
            lam=lam,
            objective=reached,
            lower_bound=None,
            errors=found.errors,
            total_weight=problem.total_weight,
            seconds=seconds,
            solver=self.name,
            version=self.version,
            iterations=passes,
            trace=(TracePoint(seconds, float(reached), None),),
            tolerance=problem.tolerance,
        )

    def series(self, problem: Problem) -> Solve:
        """Each solve improves the tree of an earlier one, too."""
        return _TaoSeries(self, problem)


class _TaoSeries(Series):
    def carries(self, limits: Limits) -> bool:
        return True


@dataclass(frozen=True)
class _FloatPrices:
    """Of regression: ``squared error + split·splits``, in float64."""

    split: float

    def cost(self, errors: float, splits: int) -> float:
        """Errors and splits together."""
        return errors + self.split * splits


def _grow(problem: Problem, searched: Alternation) -> Tree:
    return problem.grow(searched.shape(lambda cut: problem.cut_number(*cut)))


def _plant(problem: Problem, lam: Fraction, limits: Limits, shape: Shape) -> Alternation:
    losses: Losses
    cost_scale: Pricing
    if problem.values is None:
        losses = Misclassified(problem.counts)
        cost_scale = CostScale.plain(lam, problem.total_weight)
    else:
        weights = problem.counts[:, 0]
        targets, k = in_unit_range(problem.values, weights)
        losses = SquaredErrors(targets, weights)
        cost_scale = _FloatPrices(math.ldexp(float(lam * problem.total_weight), 2 * k))
    smallest = int(limits.min_leaf_size or 0)
    tree = Alternation(problem.codes, problem.arities, losses, cost_scale, smallest)
    tree.set_shape(shape, lambda number: Cut(*problem.locate_cut(number)))
    return tree
