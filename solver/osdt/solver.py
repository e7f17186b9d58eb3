"""OSDT as a solver: its options, its search, and what it reports on the search."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, ClassVar

from numpy.typing import NDArray

from solver.base import Capabilities, Solver
from solver.baselines.cart import Cart
from solver.engine.driver import Search
from solver.engine.greedy import GREEDY
from solver.engine.growable_arrays import within_memory
from solver.engine.tree_constraints import TreeConstraints
from solver.limits import Limits
from solver.monitor import Monitor
from solver.objective.exact_objective import CostScale
from solver.options import Option
from solver.osdt.engine import OsdtEngine
from solver.osdt.paper_search import PaperEngine
from solver.osdt.scheduling_policies import POLICIES
from solver.problem.problem import Problem
from solver.solution import Solution, Status
from solver.trees.tree import Tree, shape_of

_LONGEST_TRACE = 512
_RATIO = 1.1  # of the times of two neighbouring points of the trace between which nothing changed


def _bound(default: bool, doc: str, mode: str | None = None) -> Option:
    """The switch of a bound: without some of them the search sees far too many trees."""
    return Option(default, doc, (True, False), mode=mode, in_contract=False)


class Osdt(Solver):
    """OSDT: branch and bound over sets of leaves.

    A tree is a set of leaves: some stay, the others are to be split. Its children split one of the
    latter in every way that may pay. A queue holds the trees whose lower bound is below the best
    objective known. Every bound of the thesis is an option; without it the optimum is the same. The
    bounds ``dominance`` and ``two_steps`` are ours.

    Among optimal trees it returns one of the fewest splits. The order of the search decides which,
    and is the same on every machine.

    Notes
    -----
    ``extra`` of the solution describes the search: ``trees_evaluated`` (those whose bound was below
    the best objective), ``trees_evaluated_to_optimum``, ``seconds_to_optimum``, ``pruned`` (how
    often by each bound), ``trace`` (of incumbent, lower bound, queue and both caches) and the
    objective with λ as the price of a split and of a leaf, as fractions. A binary tree has one leaf
    more than splits, so the latter is λ greater for every tree and the optimum is the same.

    ``nodes``, and the limit on them, count trees in the cache.

    Mode ``paper`` is Algorithm 2 as printed: a reference in plain Python, which counts trees as the
    thesis does, and is slow.

    References
    ----------
    Hu, "Optimal Sparse Decision Trees", thesis, Duke University (2019), Algorithms 2 and 3;
    Hu, Rudin, Seltzer, NeurIPS 2019.
    """

    name: ClassVar[str] = "osdt"
    version: ClassVar[str] = "1"
    summary: ClassVar[str] = "optimal sparse trees by branch and bound over sets of leaves (OSDT)"
    capabilities: ClassVar[Capabilities] = Capabilities(
        features=frozenset({"binary"}),
        limits=frozenset({"depth", "splits", "min_leaf_size"}),
        resumes=True,
    )
    options: ClassVar[Mapping[str, Option]] = {
        "mode": Option(
            "full",
            "full: a step splits one leaf; paper: Algorithm 2, a step splits several leaves",
            ("full", "paper"),
        ),
        "policy": Option("curiosity", "which tree of the queue to split next", POLICIES),
        "warm_start": Option("none", "cart: begin with CART's tree", ("none", "cart")),
        "hierarchical": _bound(
            True, "prune trees by their lower bounds (Theorem 1); without it all trees are searched"
        ),
        "lookahead": _bound(
            True, "count one more split for each leaf that is still to be split (Lemma 2)"
        ),
        "support": _bound(True, "do not split leaves with few errors (Theorem 3)"),
        "incremental_accuracy": _bound(
            True, "if a split gains too little, one of its leaves must be split again (Theorem 4)"
        ),
        "accuracy": _bound(
            True, "make no leaf in which too little is classified correctly (Theorem 5)"
        ),
        "permutation": _bound(
            True, "search a tree once, whatever the order of its leaves (Corollary 6)"
        ),
        "similar_support": _bound(
            False,
            "bounds from other features that split a leaf almost in the same way (Theorem 7)",
            mode="full",
        ),
        "equivalent_points": _bound(
            True, "bounds from errors on rows that no feature distinguishes (Theorem 9)"
        ),
        "dominance": _bound(
            True,
            "of all trees that have the same leaves to split, keep the cheapest; needs permutation "
            "(not in the thesis)",
            mode="full",
        ),
        "two_steps": _bound(
            True,
            "use the bound of a leaf in all trees that have this leaf (not in the OSDT thesis)",
            mode="full",
        ),
    }

    def _solve(
        self,
        problem: Problem,
        lam: Fraction,
        limits: Limits,
        initial_tree: Tree | None,
        monitor: Monitor,
        state: Mapping[str, NDArray[Any]] | None,
    ) -> Solution:
        cart = Cart() if self.settings["warm_start"] == "cart" and state is None else None
        search = OsdtSearch(problem, lam, limits, self.settings, state)
        if initial_tree is not None:
            search.offer(problem.grow(shape_of(initial_tree)))
        if cart is not None:
            search.offer(problem.grow(cart.grow(problem, lam, limits)))
        status = search.run(monitor)
        return search.solution(status, self.name, self.version)

    @classmethod
    def warm_up(cls) -> None:
        """Compile the kernels on a problem of four rows."""
        problem = Problem.from_codes([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 0, 0, 1])
        cls().solve(problem, Fraction(1, 20))


class OsdtSearch(Search):
    """One search; ``settings`` are the options of :class:`Osdt`.

    Without a limit of bytes the arrays take at most half of the machine's memory: the caches grow
    by gigabytes a minute.
    """

    engine: OsdtEngine | PaperEngine

    def __init__(
        self,
        problem: Problem,
        lam: Fraction,
        limits: Limits,
        settings: Mapping[str, Any],
        state: Mapping[str, NDArray[Any]] | None,
    ) -> None:
        def make(
            problem: Problem, cost_scale: CostScale, constraints: TreeConstraints
        ) -> OsdtEngine | PaperEngine:
            if settings["mode"] == "paper":
                return PaperEngine(problem, cost_scale, constraints, limits, settings)
            return OsdtEngine(problem, cost_scale, constraints, limits, settings, state)

        super().__init__(problem, lam, within_memory(limits), make, GREEDY)
        self.settings = settings
        self.measures: list[dict[str, float]] = []

    def run(self, monitor: Monitor) -> Status:
        """Search until the optimum is proven or a limit is met."""
        self._record()
        return super().run(monitor)

    def _record(self) -> None:
        super()._record()
        point, measures = self.trace[-1], self.measures
        known = [point.objective, point.lower_bound]
        if (
            measures
            and known == [measures[-1]["objective"], measures[-1]["lower_bound"]]
            and self.seconds < _RATIO * measures[-1]["seconds"]
        ):
            return
        measures.append(
            {
                "seconds": self.seconds,
                "objective": point.objective,
                "lower_bound": float(point.lower_bound or 0),
                **self.engine.measure(),
            }
        )
        if len(measures) > _LONGEST_TRACE:
            del measures[1:-1:2]

    def solution(self, status: Status, name: str, version: str) -> Solution:
        """The answer; ``extra`` tells of the search, see :class:`Osdt`."""
        found = super().solution(status, name, version)
        final = float(found.objective)
        reached = next(point.seconds for point in self.trace if point.objective == final)
        found.extra.update(
            objective_splits=str(found.objective),
            objective_leaves=str(found.objective + self.lam),
            trees_evaluated=self.engine.evaluated,
            trees_evaluated_to_optimum=self.engine.evaluated_to_best,
            seconds_to_optimum=reached,
            pruned=self.engine.pruned,
            trace=self.measures,
        )
        return found
