"""TAO as a solver of the catalogue: CART's tree, made better node by node."""

from __future__ import annotations

import time
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, ClassVar

from numpy.typing import NDArray

from solver.base import Option, Solver, Traits, Watch
from solver.cart import Cart
from solver.exact import Prices
from solver.limits import Limits
from solver.problem import Problem
from solver.scorer import score
from solver.solution import Solution, Status, TracePoint
from solver.tao.alternation import Alternation, Cut
from solver.tao.losses import Misclassified
from solver.tree import Shape, Tree, shape_of


class Tao(Solver):
    """Tree alternating optimisation, from the tree that CART grows within the limits.

    At every split the best cut is taken for the rows that come to it and the subtrees that stand
    below it, or the split is given up where it is not worth λ; then the next split, from the
    leaves to the root, again and again until none changes. The objective falls all the way, so
    that it is never above that of any pruning of CART's tree. It proves nothing: status
    ``heuristic``, no lower bound.

    Features of more than two unordered values are not taken: a split on another feature would
    have another number of subtrees, and there is none to put in a new one's place.

    References
    ----------
    Carreira-Perpiñán & Tavallali (2018), "Alternating optimization of decision trees, with
    application to learning sparse oblique trees".
    """

    name: ClassVar[str] = "tao"
    version: ClassVar[str] = f"1, {Cart.version}"
    summary: ClassVar[str] = "CART's tree, improved node by node (TAO); no proof"
    traits: ClassVar[Traits] = Traits(
        features=frozenset({"binary"}), limits=frozenset({"depth", "min_leaf_size"}), proves=False
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
        start: Tree | None,
        watch: Watch,
        state: Mapping[str, NDArray[Any]] | None,
    ) -> Solution:
        began = time.perf_counter()

        def is_over() -> bool:
            late = limits.seconds is not None and time.perf_counter() - began > limits.seconds
            return late or watch.stop()

        shapes = [self._cart.grow(problem, Fraction(0), limits)]
        if start is not None and _keeps(start, limits):
            shapes.append(shape_of(start))
        best: Alternation | None = None
        passes, trace = 0, []
        for shape in shapes:
            tree = _plant(problem, lam, limits, shape)
            is_changing = True
            while is_changing:
                is_changing = tree.improve(is_over) and not is_over()
                passes += 1
            if best is None or (tree.cost, tree.splits[0]) < (best.cost, best.splits[0]):
                best = tree
        assert best is not None
        found = problem.grow(best.shape(lambda cut: cut.feature))
        points = score(problem, found, lam)
        seconds = time.perf_counter() - began
        trace.append(TracePoint(seconds, float(points.objective), None))
        return Solution(
            tree=found,
            status=Status.HEURISTIC,
            lam=lam,
            objective=points.objective,
            lower_bound=None,
            errors=points.errors,
            total_weight=problem.total_weight,
            seconds=seconds,
            solver=self.name,
            version=self.version,
            iterations=passes,
            trace=tuple(trace),
        )


def _plant(problem: Problem, lam: Fraction, limits: Limits, shape: Shape) -> Alternation:
    tree = Alternation(
        problem.codes,
        problem.arities,
        Misclassified(problem.counts),
        Prices.plain(lam, problem.total_weight),
        limits.min_leaf_size or 0,
    )
    tree.plant(shape, lambda number: Cut(number, 0))
    return tree


def _keeps(tree: Tree, limits: Limits) -> bool:
    """Whether a tree keeps the limits that are honoured."""
    smallest = limits.min_leaf_size or 0
    sizes = [sum(node.counts) for node in tree.nodes if node.is_leaf]
    return (limits.depth is None or tree.depth <= limits.depth) and (
        tree.splits == 0 or all(size == 0 or size >= smallest for size in sizes)
    )
