"""The engine of a shard: some of the features at the root, and help for the other shards."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from solver.branches.engine import ThresholdEngine
from solver.branches.kernels import ao_star, stack_frame
from solver.branches.kernels.lp_dual_bounds import take_duals, tell_duals
from solver.branches.kernels.shard_bound_exchange import NO_ROWS, absorb, gather
from solver.branches.kernels.state import DUE, NODES, SEARCH, SHARE, SMALL, WORK
from solver.branches.kernels.tie_order import begin_with, make_child
from solver.engine.tree_constraints import TreeConstraints
from solver.kernels.constants import FULL, PROVEN, RUNNING, Ints
from solver.kernels.jit import ensure_compiled
from solver.objective.exact_objective import INFINITE, CostScale
from solver.problem.problem import Problem
from solver.search_shards import Shard
from solver.trees.tree import Shape, Tree, shape_from, shape_of

_RECORDS = 2**16
_NO_DUALS, _IMPROVING, _FINAL = range(3)
_MOST_TOLD = 2**27  # bytes of news
_SOON = 2**29  # work of rollouts
_PATIENCE = 32  # times the work of the search that a shard leaves the program to the first one
_NOTHING = 24  # bytes that tell only how far the duals are


class _Child(NamedTuple):
    """A child of a frame, on the way to the tree that comes first."""

    frame: int
    node: int  # of the frame
    feature: int
    value: int
    cost: int
    rows: Ints


class ShardEngine(ThresholdEngine):
    """The search for trees that begin with some of the features.

    It is in three phases. It proves that no tree of its own features costs less than the best one.
    When that is done, it proves the same of other shards' features (:meth:`help`). Then the best
    cost is known, and it looks for the first tree of that cost that begins with its own features
    (:meth:`settle_ties`). In all of them it uses the bounds of branches that other shards have
    proven.

    ``most_bytes`` is the limit on memory. See :class:`ThresholdEngine` for the others.
    """

    _sooner = 512
    """After how many times less work the first shard begins to improve the duals."""
    _head_start = 16
    """How many times the work of all shards the first one may take for them."""

    def __init__(
        self,
        problem: Problem,
        cost_scale: CostScale,
        constraints: TreeConstraints,
        settings: Mapping[str, Any],
        shard: Shard,
        most_bytes: int | None,
        state: Mapping[str, NDArray[Any]] | None = None,
    ) -> None:
        self.shard, self.most_bytes = shard, most_bytes
        self.given: tuple[int, Shape] | None = None
        self._told = np.zeros(0, np.int64)
        self._records = np.zeros(_RECORDS, np.int64)
        self._own: list[int] | None = None
        self._others: list[list[int]] = []
        self._helping = -1
        self._spare, self._learned, self._slice = -1, 0, 1
        self._ties: Iterator[None] | None = None
        self._settled = False
        self._first: Shape | None = None
        super().__init__(problem, cost_scale, constraints, settings, state)
        self._told = np.zeros(len(self.memo.node_hash), np.int64)
        self._told_duals = np.zeros(len(self.table.labels), np.int64)
        self._told_splits = np.zeros(problem.n_features, np.int64)
        if self._improves_duals:
            self.program.status[DUE] //= self._sooner
            self.program.status[SHARE] = self._head_start * shard.number

    def _compile(self) -> float:
        space, few = self.space, np.zeros(1, np.int64)
        return (
            super()._compile()
            + ensure_compiled(gather, space, few, few)
            + ensure_compiled(absorb, space, few, few, 0)
            + ensure_compiled(ao_star.look_again, space)
            + ensure_compiled(tell_duals, space, few)
            + ensure_compiled(take_duals, space, few)
            + ensure_compiled(begin_with, space, 0, 0, 0, 0)
            + ensure_compiled(make_child, space, 0, 0, 0, 0)
        )

    @property
    def rollout_work(self) -> int:
        """As :class:`solver.engine.driver.Engine`: in the last shard, for all others, too.

        Until the best tree is found, all shards search branches that it would exclude. So half a
        second of work is allowed soon: about as much as all shards have done, and this one again.
        """
        if not self._is_divided:
            return super().rollout_work if self.shard.index == 0 else 0
        if self.shard.index < self.shard.number - 1:
            return 0
        of_all = (self.shard.number + 1) * int(self.program.status[SEARCH])
        return min(of_all, super().rollout_work + _SOON)

    # What it searches

    @property
    def _is_divided(self) -> bool:
        """Whether the features are dealt out; if not, the first shard searches all of them.

        At λ = 0 the first tree without avoidable errors ends the search. Under a limit on splits
        bounds are rows over budgets, and equally good trees share them out differently.
        """
        return self.params.budgets == 1 and self.cost_scale.lam > 0

    @property
    def _improves_duals(self) -> bool:
        """Whether it improves the duals for all shards, which are divided.

        The duals hold for the whole table, so one shard is enough. It begins after 1/512 of
        the work that an undivided search does before, and it may take nearly all of its time:
        the others search meanwhile, and help it later.
        """
        return self.shard.index == 0 and self.shard.number > 1 and self._is_divided

    def step(self, iterations: int, target_cost: int) -> int:
        if self._own is not None:
            return super().step(iterations, target_cost)
        outcome = super().step(1, target_cost)
        if self.stack.head[0, stack_frame.N_CANDIDATES] >= 0:
            self._deal()
        return outcome

    def _deal(self) -> None:
        """Keep a range of the features at the root; the first shard has the first features."""
        index, number = self.shard.index, self.shard.number
        count = int(self.stack.head[0, stack_frame.N_CANDIDATES])
        features = self.stack.candidates[0, :count].tolist()
        parts = [features, *([[]] * (number - 1))]
        if self._is_divided:
            ends = [count * i // number for i in range(number + 1)]
            parts = [features[a:b] for a, b in pairwise(ends)]
        self._own = parts[index]
        self._others = parts[index + 1 :] + parts[:index]
        self.stack.candidates[0, : len(self._own)] = self._own
        self.stack.head[0, stack_frame.N_CANDIDATES] = len(self._own)

    def use(self, cost: float, tree: Tree, given: bool) -> None:
        """As :class:`solver.engine.driver.Engine`; it looks for nothing that costs more.

        Trees that cost as much are of interest for :meth:`settle_ties`. To look for them then took
        a fifth of all iterations on lymphography-full at λ = 0.005, and takes hardly any now.
        """
        if not given or not self._is_divided:
            return
        if self.given is None or cost < self.given[0]:
            self.given = int(cost), shape_of(tree)
            if self._ties is None:
                head = self.stack.head[0]
                head[stack_frame.LIMIT] = min(head[stack_frame.LIMIT], int(cost) + 1)

    @property
    def known_bound(self) -> int:
        """A lower bound of the trees of all shards, as far as they have told theirs."""
        features = [feature for part in self._others for feature in part]
        return min(self.lower_bound, int(self.stack.split_lower[0, features].min(initial=INFINITE)))

    @property
    def upper_bound(self) -> int:
        """The cost of the best tree, the given one included."""
        own = int(self.memo.node_upper[0, -1])
        return own if self.given is None else min(own, self.given[0])

    @property
    def nodes(self) -> int:
        """Distinct branches entered, those that others have told excepted."""
        return int(self.memo.used[NODES]) - self._learned - (self._spare >= 0)

    def state(self) -> dict[str, NDArray[Any]] | None:  # type: ignore[override]
        """None of one shard of several, which begins again with what the others know."""
        return super().state() if self.shard.number == 1 and self._ties is None else None

    def grow(self, limit: int | None) -> bool:
        grown = super().grow(limit)
        self._told.resize(len(self.memo.node_hash), refcheck=False)
        return grown

    def _needed(self) -> dict[str, int]:
        needed = super()._needed()
        needed["literals"] += len(self.table.values)  # of a record
        return needed

    # What shards tell each other

    def learn(self, proven: bytes) -> None:
        """As :class:`solver.engine.driver.Engine`: lower bounds of splits and branches.

        A shard that is at the duals hardly searches, and does not read those of branches.
        """
        if not self._is_divided:
            return
        numbers = np.frombuffer(bytearray(zlib.decompress(proven)), np.int64)
        progress, *sizes = numbers[:3].tolist()
        duals, splits, records = np.split(numbers[3:], np.cumsum(sizes))
        self._hear_of_duals(progress, duals)
        self._hear_of_splits(splits)
        if not self._is_at_duals:
            self._absorb(records)

    @property
    def _is_at_duals(self) -> bool:
        """Whether others wait for its duals: it has worked at these more than at the search.

        With 16 shards it took twice as long to read what they told meanwhile as to find the duals
        (diabetes, λ = 0.01). What one other tells is read soon.
        """
        status = self.program.status
        waits = self._improves_duals and self.shard.number > 2 and status[DUE] < INFINITE
        return waits and bool(status[WORK] > status[SEARCH])

    def _absorb(self, records: Ints) -> None:
        """Raise the bounds of branches to those that others have told."""
        at, before = 0, int(self.memo.used[NODES])
        while True:
            at = absorb(self.space, self._told, records, at)
            if at == len(records) or not self.grow(self.most_bytes):
                break
        self._learned += int(self.memo.used[NODES]) - before
        self.refresh_recent()
        self.propagate_bounds()
        ao_star.look_again(self.space)

    def learned(self) -> bytes:
        """As :class:`solver.engine.driver.Engine`: all bounds that were raised."""
        if not self._is_divided:
            return b""
        progress, duals = self._new_duals()
        splits = self._new_splits()
        head = np.array([progress, len(duals), len(splits)])
        parts = [np.concatenate([head, duals, splits]).tobytes()]
        while sum(map(len, parts)) < _MOST_TOLD and (
            size := gather(self.space, self._told, self._records)
        ):
            parts.append(self._records[:size].tobytes())
        told = b"".join(parts)
        return zlib.compress(told, 1) if len(told) > _NOTHING else b""

    def _new_duals(self) -> tuple[int, Ints]:
        """How far the duals are, and these if they are new."""
        duals, progress = np.zeros_like(self._told_duals), _NO_DUALS
        if not self.params.row_duals or self._own is None:
            return _NO_DUALS, duals[:0]
        if self.program.status[DUE] >= INFINITE:
            progress = _FINAL
        elif self._improves_duals:
            progress = _IMPROVING
        if tell_duals(self.space, duals) <= int(self._told_duals.sum()):
            return progress, duals[:0]
        self._told_duals = duals
        return progress, duals

    def _new_splits(self) -> Ints:
        """The splits of the root whose bounds were raised, and these bounds.

        Not all of them follow from the bounds of branches: some come from branches of similar rows.
        """
        lower = self.stack.split_lower[0]
        new = np.flatnonzero(lower > self._told_splits)
        self._told_splits[new] = lower[new]
        return np.concatenate([new, lower[new]])

    def _hear_of_splits(self, splits: Ints) -> None:
        features, bounds = splits.reshape(2, -1)
        if self._own is not None:
            for known in self.stack.split_lower[0], self._told_splits:
                known[features] = np.maximum(known[features], bounds)

    def _hear_of_duals(self, progress: int, duals: Ints) -> None:
        """Take duals if they are better, and leave the linear program to the shard that is at it.

        If nothing is heard of it for much more work than was done, this one goes on with it. After
        as much work as was done, searches of many shards did it twice, as the first one tells only
        after each part of it.
        """
        if not self.params.row_duals or self._own is None:
            return
        if len(duals) > 0 and take_duals(self.space, duals):
            self._told_duals[:] = duals
        if progress != _NO_DUALS:
            status = self.program.status
            later = INFINITE if progress == _FINAL else _PATIENCE * int(status[SEARCH])
            status[DUE] = max(later, int(status[DUE]))

    # When its own part is proven

    def help(self, iterations: int) -> int:
        """As :class:`solver.engine.driver.Engine`: one feature of another shard at a time.

        It takes the one of greatest bound, and the other shard that of least bound.
        """
        if self._own is None:
            return PROVEN
        # Depth first, or it would go the way of the shard whose feature it is.
        self.params = self.params._replace(slack=INFINITE // 2)
        if self._helping < 0:
            self._helping = self._next_feature()
            if self._helping < 0 or not self._make_spare():
                return PROVEN
            # From here on all shards prove: the first one hears that the duals are final. To go on
            # with them took a fifth more seconds on diabetes.
            self.program.status[DUE] = INFINITE
            begin_with(self.space, 0, self._helping, self._spare, self.upper_bound - 1)
        outcome = self.advance(iterations, -1, -1)
        if outcome == FULL and not self.grow(self.most_bytes):
            return PROVEN
        cost, root = int(self.memo.node_upper[self._spare, 0]), self.memo.node_upper[0]
        best = int(self.memo.node_best[self._spare, 0])
        if best != SMALL and cost < root[0]:
            root[0], self.memo.node_best[0, 0] = cost, best
        if outcome == PROVEN:
            self._helping = -1
        return RUNNING

    def _next_feature(self) -> int:
        lower, goal = self.stack.split_lower[0], self.upper_bound
        for features in self._others:
            left = [feature for feature in features if lower[feature] < goal]
            if left:
                return max(left, key=lambda feature: int(lower[feature]))
        return -1

    def _make_spare(self) -> bool:
        """Have a node that is no branch; whether there is room for it."""
        if self._spare >= 0:
            return True
        while self.memo.used[NODES] + 1 > len(self.memo.node_hash):
            if not self.grow(self.most_bytes):
                return False
        self._spare = int(self.memo.used[NODES])
        self.memo.used[NODES] += 1
        self.memo.node_rows[self._spare] = NO_ROWS
        self.memo.node_literals[self._spare] = 0
        self.memo.node_hash[self._spare] = 0
        return True

    def settle_ties(self, iterations: int) -> int:
        """As :class:`solver.engine.driver.Engine`: the tree whose features come first in preorder.

        It does not depend on what the search knows, nor on the number of shards. Only the trees
        that begin with the own features are of interest, and none if there is one with a feature of
        an earlier shard.
        """
        if self._ties is None:
            self._ties = self._find_first()
        self._slice = iterations
        try:
            next(self._ties)
        except StopIteration:
            return PROVEN
        return RUNNING

    def _find_first(self) -> Iterator[None]:
        goal, rows = self.upper_bound, np.arange(len(self.table.labels))
        if not self._is_divided:
            return
        if self._leaf_cost(rows) == goal:
            self._settled, self._first = True, -1
            return
        yield from self._open_root()
        if self._own is None or not self._make_spare():
            return
        root = self._known_root(goal)
        features = [f for f in self._own if root is None or f <= root]
        if root is not None and self._own and root < self._own[0]:
            features = []
        preorder, frame, node, todo = list[int](), 0, 0, list[_Child]()
        while True:
            feature = -1
            for feature in features:
                begin_with(self.space, frame, feature, self._spare, goal)
                yield from self._look_for(frame, feature, goal)
                if self.memo.node_upper[self._spare, 0] <= goal:
                    break
            else:
                self._settled = frame == 0
                return
            children = self._costs_of(frame, node, feature, rows)
            preorder.append(feature)
            todo += reversed(children)
            while todo and self._leaf_cost(todo[-1].rows) == todo[-1].cost:
                preorder.append(-1)
                todo.pop()
            if not todo:
                break
            child = todo.pop()
            if not self._open(child):
                return
            frame, goal, rows = child.frame + 1, child.cost, child.rows
            node = int(self.stack.child_node[child.frame, child.value])
            count = int(self.stack.head[frame, stack_frame.N_CANDIDATES])
            features = self.stack.candidates[frame, :count].tolist()
        self._settled, self._first = True, shape_from(preorder, self.arities)

    def _open_root(self) -> Iterator[None]:
        """Deal out the features, if a given tree was proven to be optimal before that."""
        while self._own is None:
            outcome = self.step(1, -1)
            if outcome == PROVEN or (outcome == FULL and not self.grow(self.most_bytes)):
                return
            yield

    def _look_for(self, frame: int, feature: int, goal: int) -> Iterator[None]:
        """Search until there is a tree of a cost that begins with the feature, or none."""
        while self.memo.node_upper[self._spare, 0] > goal >= self.stack.split_lower[frame, feature]:
            outcome = self.advance(self._slice, goal, -1)
            if outcome == FULL and not self.grow(self.most_bytes):
                return
            if outcome == PROVEN:
                return
            yield

    def _costs_of(self, frame: int, node: int, feature: int, rows: Ints) -> list[_Child]:
        """The children of a split, whose costs are known."""
        codes = np.asarray(self.problem.codes[self.table.sources[rows], feature], np.int64)
        first, end = (int(value) for value in self.table.values[feature : feature + 2])
        costs = self.stack.child_upper[frame, first:end, 0].tolist()
        return [
            _Child(frame, node, feature, first + code, cost, rows[codes == code])
            for code, cost in enumerate(costs)
        ]

    def _open(self, child: _Child) -> bool:
        """Make and open the frame of a child; whether there is room for it."""
        place = child.frame, child.feature, child.value, child.node
        while make_child(self.space, *place) == FULL:
            if not self.grow(self.most_bytes):
                return False
        ao_star.step(self.space, 1, -1, -1)
        return True

    def _leaf_cost(self, rows: Ints) -> int:
        weights = np.zeros(self.n_classes, np.int64)
        np.add.at(weights, self.table.labels[rows], self.table.weights[rows])
        return self.params.error * int(weights.sum() - weights.max())

    def _known_root(self, goal: int) -> int | None:
        """The first feature at the root of a known tree of this cost."""
        roots: list[Any] = []
        if self.given is not None and self.given[0] == goal and self.given[1] != -1:
            roots.append(self.given[1][0])  # type: ignore[index]
        if self.memo.node_upper[0, 0] == goal:
            roots.append(int(self.memo.node_best[0, 0]))
        return min((r for r in roots if type(r) is int and r >= 0), default=None)

    @property
    def found(self) -> bool:
        """Whether the best tree is one of the shard's own."""
        if not self._is_divided:
            return self.shard.index == 0
        if self._settled:
            return self._first is not None
        return self.given is None or int(self.memo.node_upper[0, 0]) <= self.given[0]

    def shape(self) -> Shape:
        if self._first is not None:
            return self._first
        if self.given is not None and self.given[0] < self.memo.node_upper[0, 0]:
            return self.given[1]
        return super().shape()
