"""The BRANCHES search: owns the arrays, slices the work, builds the solution."""

from __future__ import annotations

import time
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from solver.base import Option, Snapshot, Solver, Traits, Watch
from solver.branches.paper import kernels
from solver.branches.paper.counting import split_counts
from solver.branches.paper.greedy import greedy_tree
from solver.branches.paper.layout import Layout, lay_out
from solver.branches.paper.memo import rehash
from solver.branches.paper.pool import (
    INFINITE,
    ITERATIONS,
    NODES,
    Pool,
    Rules,
    Scratch,
    bytes_of,
    grow,
    grown_sizes,
    new_pool,
    new_scratch,
    room_of,
)
from solver.exact import Prices, objective
from solver.jit import ensure_compiled
from solver.limits import Limits
from solver.problem import Problem
from solver.solution import Solution, Status, TracePoint
from solver.tree import Shape, Tree

_SLICE_SECONDS = 0.03
_LONGEST_TRACE = 512
_MOST_CODES = 256
_LARGEST_TABLE = 2**20


class Branches(Solver):
    """BRANCHES: best-first dynamic programming over branches with purification bounds.

    Among optimal trees it returns one of the fewest splits; which of these is settled by the
    order of the search, which is the same on every machine. At λ = 0 splits are free, so the
    first tree without avoidable errors ends the search.

    References
    ----------
    Chaouki, Read, Bifet, "BRANCHES: A Fast Dynamic Programming and Branch & Bound Algorithm for
    Optimal Decision Trees", Algorithm 1, Propositions 4.1 and 4.2, Theorem 4.3.
    """

    name: ClassVar[str] = "branches"
    version: ClassVar[str] = "1"
    summary: ClassVar[str] = "optimal sparse trees by best-first dynamic programming (BRANCHES)"
    traits: ClassVar[Traits] = Traits(
        features=frozenset({"binary", "categorical"}),
        limits=frozenset({"depth", "splits", "min_leaf_size"}),
    )
    options: ClassVar[Mapping[str, Option]] = {
        "mode": Option(
            "full",
            "paper: the paper's bounds and memo; full: also row-set memo, equivalent points, class "
            "counts, support and lookahead",
            ("full", "paper"),
        ),
    }

    def _solve(
        self,
        problem: Problem,
        lam: Fraction,
        limits: Limits,
        start: Tree | None,
        watch: Watch,
        state: Mapping[str, NDArray[Any]] | None,
    ) -> Solution:
        search = Search(problem, lam, limits, paper=self.settings["mode"] == "paper")
        if start is not None:
            search.offer(problem.grow(shape_of(start)))
        status = search.run(watch)
        return search.solution(status, self.name, self.version)

    @classmethod
    def warm_up(cls) -> None:
        """Compile the kernels on a problem of four rows."""
        problem = Problem.from_codes([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 0, 0, 1])
        cls().solve(problem, Fraction(1, 20))


def shape_of(tree: Tree) -> Shape:
    """The splits of a tree without its counts."""
    shapes: list[Shape] = [-1] * len(tree.nodes)
    # Children come after their parents; no recursion, for a tree can be a chain of thousands.
    for position in reversed(range(len(tree.nodes))):
        node = tree.nodes[position]
        if node.feature is not None:
            shapes[position] = node.feature, tuple(shapes[child] for child in node.children)
    return shapes[0]


class Offer(NamedTuple):
    """A tree that did not come out of the search."""

    cost: int
    objective: Fraction
    tree: Tree


class Search:
    """One search, from its first array to its solution.

    Parameters
    ----------
    problem : Problem
    lam : Fraction
    limits : Limits
    paper : bool
        Keep to the paper's bounds, memo and order of children.

    Raises
    ------
    InputError
        If λ and the weights do not fit into 64-bit costs.
    """

    def __init__(self, problem: Problem, lam: Fraction, limits: Limits, paper: bool) -> None:
        self.problem, self.lam, self.limits = problem, lam, limits
        self.began = time.perf_counter()
        most = max(len(problem.codes) - 1, 0)
        if limits.splits is not None:
            most = min(most, limits.splits)
        self.prices = Prices.build(lam, problem.total_weight, problem.leaf_errors, most)
        self.layout: Layout = lay_out(problem)
        self.rules = self._rules(paper)
        self.scratch: Scratch = new_scratch(
            self.layout.masks.shape[1],
            problem.n_features,
            int(self.layout.offsets[-1]),
            problem.n_classes,
            self.rules,
        )
        self.pool: Pool = new_pool(self.rules.budgets)
        self.compile_seconds = self._compile()
        self.began += self.compile_seconds
        self.enough = -1
        if lam == 0:
            self.enough = self.prices.error * (problem.unavoidable_errors + 1) - 1
        self.peak_bytes = bytes_of(self.layout, self.scratch, self.pool)
        self.trace: list[TracePoint] = []
        self.seconds = 0.0
        self.offered: list[Offer] = []
        self.greedy_offered = False
        kernels.plant(self.layout, self.rules, self.pool, self.scratch, problem.unavoidable_errors)

    def _rules(self, paper: bool) -> Rules:
        splits, prices = self.limits.splits, self.prices
        # No optimal tree has prices.tie splits or more, so a looser limit is none.
        bounded = splits is not None and splits < _most_splits(self.problem, self.lam)
        max_arity = max(2, int(self.problem.arities.max(initial=2)))
        return Rules(
            error=prices.error,
            split=prices.split,
            budgets=splits + 1 if bounded and splits else 1,
            depth=self._deepest(),
            min_leaf=self.limits.min_leaf_size or 0,
            max_arity=max_arity,
            paper=paper,
            lookahead=not paper and _pairs_pay(self.problem, max_arity),
        )

    def _deepest(self) -> int:
        if self.limits.splits == 0:
            return 0
        return INFINITE if self.limits.depth is None else self.limits.depth

    def _compile(self) -> float:
        state = (self.layout, self.rules, self.pool, self.scratch)
        return (
            ensure_compiled(kernels.plant, *state, 0)
            + ensure_compiled(kernels.step, *state, 0, 0)
            + ensure_compiled(rehash, self.pool)
            + ensure_compiled(
                split_counts,
                self.layout,
                self.scratch,
                np.zeros((1, 1), np.int64),
            )
        )

    @property
    def proven(self) -> int:
        """The lower bound of the root, as an integer cost."""
        return int(self.pool.node_lower[0, -1])

    @property
    def achieved(self) -> int:
        """The cost of the best tree of the search itself."""
        return int(self.pool.node_upper[0, -1])

    @property
    def best_cost(self) -> int:
        """The cost of the best tree known."""
        return min([self.achieved, *(offer.cost for offer in self.offered)])

    def offer(self, tree: Tree) -> None:
        """Take a tree from elsewhere as an incumbent. It never cuts the search short."""
        if self._allowed(tree):
            cost = self.prices.cost(tree.errors, tree.splits)
            self.offered.append(Offer(cost, self._objective(tree), tree))

    def _objective(self, tree: Tree) -> Fraction:
        return objective(tree.errors, tree.splits, self.problem.total_weight, self.lam)

    def _allowed(self, tree: Tree) -> bool:
        smallest = self.limits.min_leaf_size or 0
        sizes = [sum(node.counts) for node in tree.nodes if node.is_leaf]
        return (
            (self.limits.depth is None or tree.depth <= self.limits.depth)
            and (self.limits.splits is None or tree.splits <= self.limits.splits)
            and (tree.splits == 0 or all(not 0 < size < smallest for size in sizes))
        )

    def run(self, watch: Watch) -> Status:
        """Search until the optimum is proven or a limit is met."""
        if self.lam == 0:
            self._offer_greedy()
        iterations, next_snapshot = 16, watch.interval
        while (status := self._ended(watch)) is None:
            done, seconds = int(self.pool.used[ITERATIONS]), self._now()
            outcome = kernels.step(
                self.layout,
                self.rules,
                self.pool,
                self.scratch,
                self._node_budget(iterations),
                self.enough,
            )
            self._record()
            if outcome == kernels.FULL and not self._grow():
                status = Status.MEMORY_LIMIT
                break
            done = int(self.pool.used[ITERATIONS]) - done
            iterations = _next_budget(done, self.seconds - seconds)
            if self.seconds > _SLICE_SECONDS:
                self._offer_greedy()
            if watch.snapshot is not None and self.seconds >= next_snapshot:
                watch.snapshot(self.snapshot())
                next_snapshot = self.seconds + watch.interval
        if status is not Status.OPTIMAL:
            self._offer_greedy()
        self._record()
        reached, bound = self._bounds()
        return Status.OPTIMAL if reached == bound else status

    def _now(self) -> float:
        return time.perf_counter() - self.began

    def _out_of_time(self) -> bool:
        return self.limits.seconds is not None and self._now() >= self.limits.seconds

    def _offer_greedy(self) -> None:
        """Offer a greedy tree, once. Small searches end before it is worth its time."""
        if not self.greedy_offered:
            self.greedy_offered = True
            shape = greedy_tree(self.layout, self.rules, self.scratch, self._out_of_time)
            self.offer(self.problem.grow(shape))

    def _ended(self, watch: Watch) -> Status | None:
        """Whether to end now, and why."""
        if self.proven == self.achieved or self.best_cost <= self.enough:
            return Status.OPTIMAL
        if self._out_of_time():
            return Status.TIME_LIMIT
        if self.limits.nodes is not None and self.pool.used[NODES] >= max(self.limits.nodes, 1):
            return Status.NODE_LIMIT
        if self.limits.bytes is not None and self.peak_bytes > self.limits.bytes:
            return Status.MEMORY_LIMIT
        return Status.STOPPED if watch.stop() else None

    def _node_budget(self, iterations: int) -> int:
        """Iterations of the next slice: one adds at most one node, so none oversteps the limit."""
        if self.limits.nodes is None:
            return iterations
        return max(1, min(iterations, self.limits.nodes - int(self.pool.used[NODES])))

    def _grow(self) -> bool:
        """Make room for at least one more iteration; False if the memory limit forbids it."""
        used = self.pool.used
        needed = {
            "node": int(used[0]) + 1,
            "action": int(used[1]) + self.problem.n_features,
            "child": int(used[2]) + int(self.layout.offsets[-1]),
            "literals": int(used[3]) + len(self.scratch.literals),
        }
        if self.limits.bytes is not None:
            room, sizes = room_of(self.pool), grown_sizes(self.pool, needed)
            share = max(sizes[name] / room[name] for name in room)
            if bytes_of(self.layout, self.scratch) + bytes_of(self.pool) * share > (
                self.limits.bytes
            ):
                return False
        memo = self.pool.memo
        self.pool = grow(self.pool, needed)
        if self.pool.memo is not memo:
            rehash(self.pool)
        self.peak_bytes = bytes_of(self.layout, self.scratch, self.pool)
        return True

    def _bounds(self) -> tuple[Fraction, Fraction]:
        """Objective of the best tree, and the proven lower bound."""
        best = self._best_offer()
        reached = self.prices.lower_bound(self.achieved) if best is None else best.objective
        floor = Fraction(self.problem.unavoidable_errors, self.problem.total_weight)
        bound = max(self.prices.lower_bound(self.proven), floor)
        return reached, min(bound, reached)

    def _record(self) -> None:
        """Stop the clock, and add to the trace what changed."""
        self.seconds = self._now()
        reached, bound = self._bounds()
        point = TracePoint(self.seconds, float(reached), float(bound))
        if self.trace and self.trace[-1][1:] == point[1:]:
            return
        self.trace.append(point)
        if len(self.trace) > _LONGEST_TRACE:
            del self.trace[1:-1:2]

    def tree(self) -> Tree:
        """The best tree known; the search's own at a tie."""
        best = self._best_offer()
        if best is not None:
            return best.tree
        return self.problem.grow(self._shape(0, self.rules.budgets - 1))

    def _best_offer(self) -> Offer | None:
        """The best tree from elsewhere, if it beats the search's own."""
        best = min(self.offered, key=lambda offer: offer.cost, default=None)
        return best if best is not None and best.cost < self.achieved else None

    def _shape(self, node: int, budget: int) -> Shape:
        """The known tree of a node that :attr:`achieved` is the cost of."""
        pool = self.pool
        action = int(pool.node_best[node, budget])
        if action == -1:
            return -1
        if action < 0:
            return self._stump(-2 - action)
        feature = int(pool.action_feature[action])
        first = int(pool.action_children[action])
        arity = int(self.problem.arities[feature])
        parts: list[Shape] = []
        for child, share in zip(
            range(first, first + arity), self._shares(first, arity, budget), strict=True
        ):
            known = int(pool.child_node[child])
            stump = int(pool.child_stump[child, 1])
            if known >= 0:
                parts.append(self._shape(known, share))
            elif stump >= 0 and (share > 0 or self.rules.budgets == 1):
                parts.append(self._stump(stump))
            else:
                parts.append(-1)
        return feature, tuple(parts)

    def _stump(self, feature: int) -> Shape:
        return feature, (-1,) * int(self.problem.arities[feature])

    def _shares(self, first: int, arity: int, budget: int) -> list[int]:
        """Split budgets of the children at which the sum of their known trees is least."""
        if self.rules.budgets == 1:
            return [0] * arity
        best: list[tuple[int, list[int]]] = [(0, [])] * budget
        for child in range(first, first + arity):
            known = int(self.pool.child_node[child])
            costs = (
                self.pool.node_upper[known].tolist()
                if known >= 0
                else [int(self.pool.child_leaf[child])]
                + [
                    int(self.pool.child_stump[child, 0])
                    if self.pool.child_stump[child, 1] >= 0
                    else int(self.pool.child_leaf[child])
                ]
                * (budget - 1)
            )
            best = [
                min(
                    (best[b - share][0] + costs[share], [*best[b - share][1], share])
                    for share in range(b + 1)
                )
                for b in range(budget)
            ]
        return best[budget - 1][1]

    def snapshot(self) -> Snapshot:
        """What is known now."""
        reached, bound = self._bounds()
        return Snapshot(
            tree=self.tree(),
            objective=reached,
            lower_bound=bound,
            seconds=self.seconds,
            iterations=int(self.pool.used[ITERATIONS]),
            nodes=int(self.pool.used[NODES]),
        )

    def solution(self, status: Status, name: str, version: str) -> Solution:
        """The answer, with the counts of the tree itself."""
        tree = self.tree()
        return Solution(
            tree=tree,
            status=status,
            lam=self.lam,
            objective=self._objective(tree),
            lower_bound=self._bounds()[1],
            errors=tree.errors,
            total_weight=self.problem.total_weight,
            seconds=self.seconds,
            solver=name,
            version=version,
            compile_seconds=self.compile_seconds,
            iterations=int(self.pool.used[ITERATIONS]),
            nodes=int(self.pool.used[NODES]),
            peak_bytes=self.peak_bytes,
            trace=tuple(self.trace),
        )


def _pairs_pay(problem: Problem, max_arity: int) -> bool:
    """Whether counting pairs of features is worth its time and room.

    Its time grows with the square of the number of codes, what it saves does not.
    """
    few = int(problem.arities.sum()) <= _MOST_CODES
    return few and max_arity**2 * problem.n_classes <= _LARGEST_TABLE


def _most_splits(problem: Problem, lam: Fraction) -> int:
    """Splits that no optimal tree exceeds: it would cost more than the tree without a split."""
    if lam == 0:
        return len(problem.codes) - 1
    return min(len(problem.codes) - 1, int(problem.leaf_errors / (lam * problem.total_weight)))


def _next_budget(done: int, seconds: float) -> int:
    """Iterations that should take one slice's time, after a slice that did ``done`` of them."""
    return max(1, min(4 * done, int(_SLICE_SECONDS * done / max(seconds, 1e-6))))
