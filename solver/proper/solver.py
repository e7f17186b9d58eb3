"""Proper decision trees as a solver: its options, and how its search begins."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, ClassVar

from numpy.typing import NDArray

from solver.base import NO_OPTIONS, Capabilities, Solver
from solver.baselines.cart import Cart
from solver.encodings import Encoder
from solver.engine.driver import Search
from solver.engine.growable_arrays import within_memory
from solver.engine.tree_constraints import TreeConstraints
from solver.limits import Limits
from solver.monitor import Monitor
from solver.options import Option
from solver.problem.problem import Problem
from solver.proper.engine import FAMILIES, ProperEngine
from solver.proper.integer_points import check_points
from solver.proper.paper.search import PaperEngine
from solver.proper.separating_tests import Partition, shape_of_partition
from solver.search_shards import FOUND, Shard
from solver.solution import Solution
from solver.trees.tree import Shape, TaskType, Tree


class Proper(Solver):
    """Optimal trees of a given size for axis-parallel, hyperplane, polynomial or mixed splits.

    A split separates its rows as some rule of the family can: a cut of one column, a hyperplane of
    all columns, a surface of a degree. Optimal means that no tree of at most N splits, the limit,
    has a smaller objective. Many rules separate the training rows alike: the stored hyperplane or
    surface is in the middle between both sides, the stored cut is the middle one.

    It needs a limit on splits: time and memory grow steeply with it.

    The search enumerates the different partitions of all rows in exact arithmetic. Then it goes
    down by regions: a root, and the other splits shared between its two sides, whose partitions are
    among those of all rows. Numbers stand for their shortest decimals.

    Among optimal trees it returns one of the fewest splits: an incumbent, or else the first one
    that the search finds. Slices of time do not decide which. Another incumbent or number of shards
    may lead to another one of them; the merge takes that of the first shard that found it.

    In regression a leaf predicts the mean of its rows. Costs are whole numbers as well, of a unit
    so small that rounding is within the tolerance (:mod:`solver.proper.squared_costs`). So a tree
    with fewer splits may exist whose objective is the same within the tolerance.

    Mode ``paper`` is the published algorithm for comparison: the best tree of each choice of K
    rules, for K up to the limit on splits. The optimum is the same; it is for some dozens of rows.

    Notes
    -----
    ``nodes`` and the limit on them count rules evaluated at the root of a region,
    ``iterations`` also the sets of points that rules pass through. ``extra`` has the numbers of
    ``rules`` and ``regions``, and with ``memo`` its lookups and hits. In mode ``paper`` nodes are
    choices of rules, and ``extra`` has the ``combinations`` and how many of them make a proper
    tree.

    There are about n^G partitions of n rows, G = 1 for cuts, D for hyperplanes in D columns and
    C(D + M, D) − 1 for surfaces of degree M. The memory is that many masks of n bits for every two
    splits. Without a limit of bytes they take at most half of the machine's memory.

    References
    ----------
    He and Little, "Proper decision trees: An axiomatic framework for solving optimal decision tree
    problems with arbitrary splitting rules".
    """

    name: ClassVar[str] = "proper"
    version: ClassVar[str] = "1"
    summary: ClassVar[str] = "optimal trees of a given size with cuts, hyperplanes or surfaces"
    capabilities: ClassVar[Capabilities] = Capabilities(
        features=frozenset({"binary", "continuous"}),
        limits=frozenset({"depth", "splits", "min_leaf_size"}),
        needs=frozenset({"splits"}),
        tasks=frozenset({"classification", "regression"}),
        shards=True,
    )
    options: ClassVar[Mapping[str, Option]] = {
        "rules": Option(
            "axis",
            "axis: cuts of one column; hyperplane; polynomial: surfaces; mixed: any of the three",
            FAMILIES,
            in_contract=False,
        ),
        "degree": Option(
            2, "degree of the polynomial surfaces, a whole number ≥ 1", kind=int, minimum=1
        ),
        "mode": Option(
            "search",
            "search: from the root down, with bounds; paper: try all choices of rules",
            ("search", "paper"),
            in_contract=False,
        ),
        "memo": Option(
            False, "remember the best tree of each region; count lookups and hits", (False, True)
        ),
        "thinning": Option(
            False,
            "mode paper: keep only the cheapest subtrees of every depth (section 4.8.2)",
            (False, True),
            mode="paper",
            in_contract=False,
        ),
    }

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._cart = Cart()  # its imports take a second, which is none of the search's

    @classmethod
    def check_encoder(cls, encoder: Encoder, options: Mapping[str, Any] = NO_OPTIONS) -> None:
        """See the base class; other rules than cuts need the numbers of all columns."""
        if options.get("rules", "axis") != "axis":
            check_points(encoder)

    def _solve(
        self,
        problem: Problem,
        lam: Fraction,
        limits: Limits,
        initial_tree: Tree | None,
        monitor: Monitor,
        state: Mapping[str, NDArray[Any]] | None,
    ) -> Solution:
        family, degree = self.settings["rules"], self.settings["degree"]
        limits = within_memory(limits)
        assert limits.splits is not None
        splits = limits.splits

        def make(
            problem: Problem, cost_scale: Any, constraints: TreeConstraints
        ) -> ProperEngine | PaperEngine:
            common = (
                problem,
                cost_scale,
                constraints,
                splits,
                family,
                degree,
                self.shard or Shard(0, 1),
            )
            memo = self.settings["memo"]

            def realise(partition: Partition) -> Shape:
                return shape_of_partition(problem, partition, family, degree)

            if self.settings["mode"] == "paper":
                return PaperEngine(*common, self.settings["thinning"], memo, realise)
            return ProperEngine(*common, memo, realise)

        search = Search(problem, lam, limits, make, None)
        search.offer(problem.grow(self._cart.grow(problem, lam, limits)), given=False)
        if initial_tree is not None:
            search.offer(initial_tree)
        status = search.run(monitor)
        solution = search.solution(status, self.name, self.version)
        if self.is_divided:
            solution.extra[FOUND] = search.engine.found
        return solution

    def divides(self, lam: Fraction, limits: Limits, task: TaskType = "classification") -> bool:
        """See the base class; mode ``search`` does."""
        return bool(self.settings["mode"] == "search")

    @classmethod
    def warm_up(cls) -> None:
        """Compile the kernels on a tiny problem."""
        codes, limits = [[0, 0], [0, 1], [1, 0], [2, 2]], Limits(splits=2)
        for task in ("classification", "regression"):
            problem = Problem.from_codes(codes, [0, 1, 1, 0], ordered=True, task=task)
            cls(rules="hyperplane").solve(problem, Fraction(1, 20), limits)
