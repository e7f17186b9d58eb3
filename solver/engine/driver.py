"""Runs one search with any engine: slices, clock, limits, snapshots, solution."""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

from numpy.typing import NDArray

from solver.engine.good_trees import GoodTrees
from solver.engine.tree_constraints import TreeConstraints, keeps_limits
from solver.kernels.constants import FULL, PROVEN, RUNNING
from solver.limits import Limits
from solver.monitor import Monitor, News, Peers, Proven, Snapshot
from solver.objective.exact_objective import (
    INFINITE,
    CostScale,
    SquaredCostScale,
    objective,
)
from solver.problem.problem import Problem
from solver.solution import Solution, Status, TracePoint
from solver.trees.tree import Shape, Tree

_SLICE_SECONDS = 0.03
_LONGEST_TRACE = 512
_NEWS_SECONDS = 0.04
_LATEST = 0.04  # seconds after a limit of time
_ROLLOUT_WORK = 2**25  # at a time, some 30 ms
_ZERO = Fraction(0)


class Engine(ABC):
    """Owns the arrays and kernels of a search.

    Costs are those of :class:`solver.objective.exact_objective.CostScale`; in regression floats, as
    in :class:`solver.objective.exact_objective.SquaredCostScale`.
    """

    compile_seconds: float = 0.0
    before: tuple[int, int] = 0, 0
    """Iterations and nodes of the earlier searches at other λ."""
    proves_fewest_splits: bool = False
    """Whether it goes on to the proof at λ = 0, where the first tree without avoidable errors would
    do."""
    looks_beside: bool = False
    """Whether :attr:`rollout_work` may come to be more than 0."""

    @property
    @abstractmethod
    def lower_bound(self) -> float:
        """The lower bound of the root."""

    @property
    @abstractmethod
    def upper_bound(self) -> float:
        """The cost of the best tree of the engine itself."""

    @property
    @abstractmethod
    def iterations(self) -> int:
        """Iterations done."""

    @property
    @abstractmethod
    def nodes(self) -> int:
        """Distinct branches seen."""

    @property
    @abstractmethod
    def bytes(self) -> int:
        """Memory of all arrays."""

    @property
    def found(self) -> bool:
        """Whether the best tree is the engine's own."""
        return True

    @property
    def extra(self) -> Mapping[str, Any]:
        """What else the solution tells of the search."""
        return {}

    def use(self, cost: float, tree: Tree, given: bool) -> None:  # noqa: B027 (most do not)
        """Know of a tree from elsewhere, before the search or between its steps; ``given`` if the
        caller or another shard offered it.

        When the other trees are offered may depend on the clock, which must not steer the search.
        """

    @abstractmethod
    def step(self, iterations: int, target_cost: int) -> int:
        """Do some iterations with at most one new node each; return RUNNING, PROVEN, or FULL.

        FULL asks for :meth:`grow`. The search stops at a tree that costs ``target_cost`` or less;
        −1: it goes on to the proof.
        """

    def propagate_bounds(self) -> None:  # noqa: B027 (most have nothing to do)
        """Bring :attr:`lower_bound` up to date; changes nothing in the search."""

    @abstractmethod
    def grow(self, limit: int | None) -> bool:
        """Make room for at least one more iteration; False if that would exceed ``limit`` bytes."""

    @abstractmethod
    def shape(self) -> Shape:
        """A tree that costs :attr:`upper_bound`, or less."""

    @property
    def inherits(self) -> bool:
        """Whether it knows of trees found at another λ: then :meth:`shape` may cost more."""
        return False

    def find_again(self, late: Callable[[], bool]) -> None:  # noqa: B027 (the same)
        """Make :meth:`shape` cost :attr:`upper_bound`, which may come from a tree at another λ.

        ``late`` says when to stop at what is found, unless that cost is proven to be the least.
        """

    def learn(self, proven: Proven) -> None:  # noqa: B027 (the same)
        """Use what another shard has proven, see :class:`solver.monitor.News`."""

    def learned(self) -> Proven:
        """What this shard has proven since it was last asked; nothing if empty."""
        return b""

    def help(self, iterations: int) -> int:
        """Do some of the work of other shards, once this one is done; as :meth:`step`.

        PROVEN: there is nothing left to help with. The bounds of this shard stay as they are.
        """
        return PROVEN

    def settle_ties(self, iterations: int) -> int:
        """Choose among equally good trees, once the best cost is proven; as :meth:`step`.

        PROVEN: it is chosen.
        """
        return PROVEN

    @property
    def rollout_work(self) -> int:
        """How much work :class:`GoodTrees` may do so far: a share of the work of the search."""
        return 0

    def state(self) -> dict[str, NDArray[Any]] | None:
        """All that a new engine needs to continue exactly here; None if it cannot."""
        return None


class Greedy(NamedTuple):
    """Grows a quick first tree.

    ``compile`` compiles the kernels once and returns the seconds it took. ``grow`` returns a tree
    within the constraints; its last argument says when time is up. With ``at_once`` it runs before
    the search where splits are free and its tree may suffice. ``improve`` looks for better ones.
    """

    compile: Callable[[], float]
    grow: Callable[[Problem, Any, TreeConstraints, Callable[[], bool]], Shape]
    at_once: bool = True
    improve: Callable[[Problem, Any, TreeConstraints, int | None], GoodTrees] | None = None


class Offer(NamedTuple):
    """A tree that did not come out of the search; ``given`` if the caller offered it."""

    cost: float
    objective: Fraction
    tree: Tree
    given: bool


class Search:
    """One search, from its first array to its solution.

    ``make_engine`` makes the engine from the problem, the cost scale and the constraints.
    InputError if λ and the weights do not fit into 64-bit costs.
    """

    def __init__(
        self,
        problem: Problem,
        lam: Fraction,
        limits: Limits,
        make_engine: Callable[[Problem, Any, TreeConstraints], Engine],
        greedy: Greedy | None,
    ) -> None:
        self.problem, self.lam, self.limits, self.greedy = problem, lam, limits, greedy
        self.began = time.perf_counter()
        most = max(len(problem.codes) - 1, 0)
        if limits.splits is not None:
            most = min(most, limits.splits)
        self.cost_scale = cost_scale_of(problem, lam, most)
        self.constraints = TreeConstraints.of(problem, lam, limits)
        self.engine = make_engine(problem, self.cost_scale, self.constraints)
        # Work at another λ does not count; work before a stop does.
        self.iterations_before, self.nodes_before = self.engine.before
        self.compile_seconds = self.engine.compile_seconds + (greedy.compile() if greedy else 0.0)
        self.began += self.compile_seconds
        self.compiled = self.engine.compile_seconds
        free = lam == 0 and not self.engine.proves_fewest_splits
        self.target_cost = self.cost_scale.target_cost(problem.unavoidable_errors) if free else -1
        self.peak_bytes = self.engine.bytes
        self.trace: list[TracePoint] = []
        self.seconds = 0.0
        self.offered: list[Offer] = []
        self._best: Offer | None = None  # of those offered: the cheapest, of these one given
        self.greedy_offered = False
        self.deadline = math.inf  # of finding a tree again
        self.next_news, self.told_cost = 0.0, math.inf
        self.rollouts: GoodTrees | None = None
        self.at_counts = False  # whether iterations say when to look for them, and not the clock
        self.untold: Tree | None = None  # found by them
        self._known_costs: tuple[float, float, Fraction | None] | None = None
        self._known_bounds = _ZERO, _ZERO

    @property
    def best_cost(self) -> float:
        """The cost of the best tree known."""
        known, best = self.engine.upper_bound, self._best
        return known if best is None else min(known, best.cost)

    def offer(self, tree: Tree, given: bool = True) -> bool:
        """Take a tree from elsewhere as an incumbent, if the limits allow it. It never cuts the
        search short, but the engine may use it."""
        if allowed := keeps_limits(tree, self.limits):
            cost = self._cost(tree)
            offer, best = Offer(cost, self._objective(tree), tree, given), self._best
            self.offered.append(offer)
            if best is None or (cost, not given) < (best.cost, not best.given):
                self._best = offer
            self.engine.use(cost, tree, given)
        return allowed

    def _objective(self, tree: Tree) -> Fraction:
        return objective(tree.errors, tree.splits, self.problem.total_weight, self.lam)

    def run(self, monitor: Monitor) -> Status:
        """Search until the optimum is proven or a limit is met."""
        if self.lam == 0 and self.greedy is not None and self.greedy.at_once:
            self._offer_greedy()
        # Where memory is limited, too, the clock must not decide whether there is room for them.
        is_counted = self.target_cost >= 0 or None not in (self.limits.nodes, self.limits.bytes)
        self.at_counts = is_counted and self.engine.looks_beside and monitor.peers is None
        self._look_beside(monitor)  # as a search that was stopped here would have
        budget, next_snapshot = 16, monitor.interval
        while (status := self._ended(monitor)) is None:
            iterations, nodes, seconds = self.engine.iterations, self.engine.nodes, self._now()
            outcome = self.engine.step(self._iterations_of_slice(budget), self.target_cost)
            self._leave_out_compiling()
            self._record()
            if outcome == FULL and not self._grow():
                status = Status.MEMORY_LIMIT
                break
            budget = _next_budget(self._done(iterations, nodes), self.seconds - seconds)
            self._look_beside(monitor)
            if monitor.peers is not None:
                self._exchange(monitor.peers)
            if monitor.snapshot is not None and self.seconds >= next_snapshot:
                monitor.snapshot(self.snapshot())
                next_snapshot = self.seconds + monitor.interval
        if monitor.peers is not None:
            self._tell(monitor.peers)
        if status is Status.OPTIMAL:
            self._finish(monitor)
        if status is not Status.OPTIMAL:
            self._offer_greedy()
            if status is Status.NODE_LIMIT:  # the clock must not decide what it returns
                self._improve(INFINITE, monitor)
                if self._out_of_time():
                    status = Status.TIME_LIMIT
                status = Status.STOPPED if monitor.stop() else status
            # Searching again for a known tree would end the search that is to be continued.
            told = status is Status.STOPPED and monitor.snapshot is not None
            if told and monitor.snapshot is not None:
                monitor.snapshot(self.snapshot())
            if status in (Status.TIME_LIMIT, Status.STOPPED):
                self.deadline = self._now() + _LATEST
            if self.engine.inherits:  # should a better one not be found again in time
                self.offer(self.problem.grow(self.engine.shape()), given=False)
            self._offer_found()
        self._record()
        reached, bound = self._bounds()
        if reached - bound <= self.cost_scale.tolerance:
            return Status.OPTIMAL
        if monitor.snapshot is not None and not told:
            monitor.snapshot(self.snapshot())
        return status

    def _finish(self, monitor: Monitor) -> None:
        """Do the work of other shards until they are done, then choose among equally good trees."""
        if monitor.peers is not None:
            self._go_on(self.engine.help, monitor)
        self._go_on(self.engine.settle_ties, monitor)
        if monitor.peers is not None:
            self._tell(monitor.peers)

    def _go_on(self, work: Callable[[int], int], monitor: Monitor) -> None:
        """Do what is left to do after the proof, until it is done or a limit is met."""
        budget = 1
        while not (self._out_of_time() or self._has_all_nodes() or monitor.stop()):
            iterations, nodes, seconds = self.engine.iterations, self.engine.nodes, self._now()
            if work(budget) != RUNNING:
                return
            self._record()
            budget = _next_budget(self._done(iterations, nodes), self.seconds - seconds)
            if monitor.peers is not None:
                self._exchange(monitor.peers)

    def _exchange(self, peers: Peers) -> None:
        """Use what other shards tell, and tell them what is new here."""
        for news in peers.hear():
            if news.tree is not None and self.offer(news.tree):
                self.told_cost = min(self.told_cost, self._cost(news.tree))
            if news.proven:
                self.engine.learn(news.proven)
        if self.seconds >= self.next_news:
            self._tell(peers)
            self.next_news = self.seconds + _NEWS_SECONDS

    def _tell(self, peers: Peers) -> None:
        if not peers.listens():
            return
        tree = self._untold_tree()
        proven = self.engine.learned()
        if tree is not None or proven:
            peers.tell(News(tree, proven))

    def _untold_tree(self) -> Tree | None:
        """The engine's tree, if it is better than those that other shards know."""
        known = min([self.told_cost, *(offer.cost for offer in self.offered)])
        found, self.untold = self.untold, None
        if self.engine.upper_bound >= known:
            return found
        tree = self._own_tree()
        self.told_cost = self._cost(tree)
        if self.told_cost < self.engine.upper_bound:
            self.offer(tree)  # the engine knew of none as good
        return tree if self.told_cost < known else None

    def _leave_out_compiling(self) -> None:
        """Kernels that are compiled when the search first needs them take none of its time."""
        late = self.engine.compile_seconds - self.compiled
        self.compiled += late
        self._leave_out(late)

    def _leave_out(self, seconds: float) -> None:
        self.compile_seconds += seconds
        self.began += seconds

    def _now(self) -> float:
        return time.perf_counter() - self.began

    def _out_of_time(self) -> bool:
        return self.limits.seconds is not None and self._now() >= self.limits.seconds

    def _offer_greedy(self) -> None:
        """Offer a greedy tree, once. Small searches end before it is worth its time."""
        if self.greedy is not None and not self.greedy_offered:
            self.greedy_offered = True
            shape = self.greedy.grow(
                self.problem, self.cost_scale, self.constraints, self._out_of_time
            )
            self.offer(self.problem.grow(shape), given=False)

    def _look_beside(self, monitor: Monitor) -> None:
        """Look for good trees between two slices."""
        if self.engine.inherits:  # from a search at another λ, which found a better one
            return
        if self.at_counts:
            if self.engine.iterations % _apart(self.engine.iterations) == 0:
                self._improve(INFINITE, monitor)
        elif self.seconds > _SLICE_SECONDS:
            if self.lam > 0:  # else it might end the search, on a slow machine only
                self._offer_greedy()
            self._improve(_ROLLOUT_WORK, monitor)

    def _improve(self, work: int, monitor: Monitor) -> None:
        """Look for a better tree for so much work, if the engine allows it."""
        if self.greedy is None or self.greedy.improve is None or self.engine.rollout_work == 0:
            return
        if self.rollouts is None:
            most = self.limits.bytes
            self.rollouts = self.greedy.improve(
                self.problem,
                self.cost_scale,
                self.constraints,
                None if most is None else most - self.engine.bytes,
            )
            self._leave_out(self.rollouts.compile_seconds)
        work = min(self.engine.rollout_work, self.rollouts.work + work)
        is_better = self.rollouts.improve(work, lambda: self._out_of_time() or monitor.stop())
        self.peak_bytes = max(self.peak_bytes, self.engine.bytes + self.rollouts.bytes)
        if not is_better:
            return
        cost, shape = self.rollouts.best
        if cost < self.best_cost:
            self.untold = self.problem.grow(shape)
            self.offer(self.untold, given=monitor.peers is not None and monitor.peers.listens())

    def _offer_found(self) -> None:
        """Offer the engine's own tree if it is better than the engine knows."""
        tree = self._own_tree()
        if self._cost(tree) < self.engine.upper_bound:
            self.offer(tree, given=False)

    def _ended(self, monitor: Monitor) -> Status | None:
        """Whether to end now, and why."""
        if self.engine.lower_bound >= self.engine.upper_bound or self.best_cost <= self.target_cost:
            return Status.OPTIMAL
        if self._out_of_time():
            return Status.TIME_LIMIT
        if self._has_all_nodes():
            return Status.NODE_LIMIT
        if self.limits.bytes is not None and self.peak_bytes > self.limits.bytes:
            return Status.MEMORY_LIMIT
        return Status.STOPPED if monitor.stop() else None

    def _has_all_nodes(self) -> bool:
        return self.limits.nodes is not None and self._new_nodes() >= max(self.limits.nodes, 1)

    def _iterations_of_slice(self, iterations: int) -> int:
        """Iterations of the next slice: one adds at most one node, so none oversteps the limit."""
        if self.at_counts:
            apart = _apart(self.engine.iterations)
            iterations = min(iterations, apart - self.engine.iterations % apart)
        if self.limits.nodes is None:
            return iterations
        return max(1, min(iterations, self.limits.nodes - self._new_nodes()))

    def _done(self, iterations: int, nodes: int) -> int:
        """How much of its budget a slice has used that began with so many iterations and nodes.

        It makes at most as many nodes as it may do iterations, and some need no iteration.
        """
        return max(self.engine.iterations - iterations, self.engine.nodes - nodes)

    def _new_nodes(self) -> int:
        return self.engine.nodes - self.nodes_before

    def _grow(self) -> bool:
        """Make room for at least one more iteration; False if the memory limit forbids it."""
        most, others, grown = self.limits.bytes, 0, False
        if self.rollouts is not None and most is not None:
            grown, others = self.engine.grow(most - self.rollouts.most_bytes), self.rollouts.bytes
            if not grown:
                self.rollouts.close()
                others = 0
        grown = grown or self.engine.grow(most)
        self.peak_bytes = max(self.peak_bytes, self.engine.bytes + others)
        return grown

    def _bounds(self) -> tuple[Fraction, Fraction]:
        """Objective of the best tree, and the lower bound."""
        best, upper, lower = self._best_offer(), self.engine.upper_bound, self.engine.lower_bound
        costs = upper, lower, None if best is None else best.objective
        if costs == self._known_costs:
            return self._known_bounds
        scale = self.cost_scale
        closed = lower >= upper and not scale.tolerance
        if best is None or closed:
            own = scale.reached(upper)  # type: ignore[arg-type]
        reached = own if best is None else best.objective
        if closed and (best is None or own >= reached):
            bound = reached
        else:
            bound = max(scale.lower_bound(lower), self._floor)  # type: ignore[arg-type]
            if closed:
                bound = max(bound, own)  # where λ's own digits do not fit, this says more
            bound = min(bound, reached)
        self._known_costs, self._known_bounds = costs, (reached, bound)
        return self._known_bounds

    @cached_property
    def _floor(self) -> Fraction:
        """The loss that no tree avoids."""
        return Fraction(self.problem.unavoidable_errors, self.problem.total_weight)

    def _reported_bounds(self) -> tuple[Fraction, Fraction]:
        """Objective of the best tree, and the lower bound under the weights as they were given."""
        reached, bound = self._bounds()
        if not self.problem.rounding:
            return reached, bound
        return reached, max(bound - self.problem.rounding, _ZERO)

    def _record(self) -> None:
        """Stop the clock, and add to the trace what changed."""
        self.engine.propagate_bounds()
        self.seconds = self._now()
        reached, bound = self._reported_bounds()
        point = TracePoint(self.seconds, float(reached), float(bound))
        if self.trace and self.trace[-1][1:] == point[1:]:
            return
        self.trace.append(point)
        if len(self.trace) > _LONGEST_TRACE:
            del self.trace[1:-1:2]

    def tree(self) -> Tree:
        """The best tree known; the search's own at a tie."""
        best = self._best_offer()
        return self._own_tree() if best is None else best.tree

    @property
    def found(self) -> bool:
        """Whether the best tree is the engine's own, and not one that was only offered."""
        return self.engine.found and self._best_offer() is None

    def _own_tree(self) -> Tree:
        if self.engine.inherits:
            self.engine.find_again(lambda: self._now() > self.deadline)
        return self.problem.grow(self.engine.shape())

    def _cost(self, tree: Tree) -> float:
        return self.cost_scale.cost(tree.errors, tree.splits)

    def _best_offer(self) -> Offer | None:
        """The best tree from elsewhere, if it beats the search's own."""
        best = self._best
        if best is None or best.cost > self.engine.upper_bound:
            return None
        # At a tie its own tree, but one that it only knows of may have to be found again. When
        # other trees are offered depends on the clock, which must not choose the answer.
        known = self.engine.inherits and best.given
        return best if best.cost < self.engine.upper_bound or known else None

    def snapshot(self) -> Snapshot:
        """A snapshot, which does not change the search."""
        tree = self._tree_so_far()
        return Snapshot(
            tree=tree,
            objective=self._objective(tree),
            lower_bound=self._reported_bounds()[1],
            seconds=self.seconds,
            iterations=self.engine.iterations - self.iterations_before,
            nodes=self.engine.nodes,
            state=None if self.engine.state() is None else self.state,
        )

    def _tree_so_far(self) -> Tree:
        """The best tree at hand, without searching again for a tree from another λ.

        It is not offered: when a snapshot is taken must not choose the answer.
        """
        own = self.problem.grow(self.engine.shape())
        return min([own, *(offer.tree for offer in self.offered)], key=self._cost)

    def state(self) -> dict[str, NDArray[Any]]:
        """The engine's state; its arrays may be views of live arrays."""
        return self.engine.state() or {}

    def solution(self, status: Status, name: str, version: str) -> Solution:
        """The answer, with the counts of the tree itself."""
        tree = self.tree()
        reached = self._objective(tree)
        self.peak_bytes = max(self.peak_bytes, self.engine.bytes)
        return Solution(
            tree=tree,
            status=status,
            lam=self.lam,
            objective=reached,
            lower_bound=min(self._reported_bounds()[1], reached),
            errors=tree.errors,
            total_weight=self.problem.total_weight,
            seconds=self.seconds,
            solver=name,
            version=version,
            compile_seconds=self.compile_seconds,
            iterations=self.engine.iterations - self.iterations_before,
            nodes=self.engine.nodes,
            peak_bytes=self.peak_bytes,
            trace=tuple(self.trace),
            tolerance=self.problem.tolerance,
            extra=dict(self.engine.extra),
        )


def cost_scale_of(problem: Problem, lam: Fraction, max_splits: int) -> CostScale | SquaredCostScale:
    """What a search minimises; InputError if λ and the weights do not fit into 64-bit costs."""
    if problem.task == "regression":
        # Beyond the loss of a leaf no split pays, and floats of its price could overflow.
        lam = min(lam, 2 * Fraction(problem.leaf_errors) / problem.total_weight)
        return SquaredCostScale(lam, problem.total_weight, problem.float_tolerance)
    return CostScale.build(lam, problem.total_weight, problem.leaf_errors, max_splits)


def _apart(iterations: int) -> int:
    """Iterations between two looks for trees that may end the search, or may lack room."""
    return max(64, 1 << max(iterations.bit_length() - 5, 0))


def _next_budget(done: int, seconds: float) -> int:
    """Iterations that should take one slice's time, after a slice that did ``done`` of them."""
    return max(1, min(4 * done, int(_SLICE_SECONDS * done / max(seconds, 1e-6))))
