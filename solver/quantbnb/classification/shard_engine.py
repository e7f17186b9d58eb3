"""The engine of a shard: some of the thresholds of every feature at the root."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solver.kernels.constants import FULL, PROVEN, RUNNING, Ints
from solver.kernels.jit import ensure_compiled, is_compiled
from solver.objective.exact_objective import INFINITE
from solver.quantbnb.classification import state
from solver.quantbnb.classification.given_tree import GivenTreeEngine
from solver.quantbnb.classification.root_thresholds import (
    FEATURE,
    NOWHERE,
    begin_anew,
    cut_intervals,
    evaluated,
    give_way,
    is_cut,
    pack,
    record_length,
    unpack,
)
from solver.quantbnb.classification.sorted_table import new_table
from solver.quantbnb.classification.state import (
    AT,
    CHILD,
    LIMIT,
    PHASE,
    POINTS,
    Levels,
    new_levels,
    new_parts,
    padded_length,
)
from solver.quantbnb.lookahead_work import last_shard_work
from solver.quantbnb.own_thresholds import own_thresholds
from solver.search_shards import Shard
from solver.trees.tree import Tree


class QuantShardEngine(GivenTreeEngine):
    """The search for trees that begin with some of the thresholds.

    They are dealt out by :func:`solver.quantbnb.own_thresholds.own_thresholds`. Every shard finds
    the best tree of less depth itself. It looks for nothing that costs as much as a tree from
    another shard, and cuts its intervals at thresholds that others have evaluated. All cut an
    interval where the undivided search would: the shard whose threshold that is, or one that has
    nothing better to do.
    When its own thresholds are done, a shard evaluates those of others (:meth:`help`).

    Shards tell which threshold they are at. If two are at the same one, that of the greater index
    gives way. This only saves work: who hears nothing, or hears of a shard that died, proves the
    same.

    ``most_bytes`` is the limit on memory. See :class:`QuantEngine` for the others.
    """

    proves_fewest_splits = True  # else, at λ = 0, a tree's size would depend on who finds one first

    def __init__(self, *parts: Any, shard: Shard, most_bytes: int | None = None) -> None:
        self.shard, self.most_bytes = shard, most_bytes
        self._told = np.zeros(0, np.bool_)
        self._known: list[Ints] = []
        self._untold: list[Ints] = []
        self._unread: deque[tuple[Ints, int]] = deque()
        self._later: list[Ints] = []  # in the interval that was being cut at point ``_at``
        self._at = 0
        self._helps = False
        self._places = dict[int, tuple[int, int]]()  # where other shards are
        self._told_place = NOWHERE
        super().__init__(*parts)

    def _compile(self) -> float:
        seconds = super()._compile()
        if is_compiled(cut_intervals):
            return seconds
        small = [1, padded_length(1), 1, 1]
        table, parts = new_table([max(self.arities)], small), new_parts(small, 1)
        levels, told = new_levels(1, 1, 1), np.zeros((0, record_length(1)), np.int64)
        return (
            seconds
            + ensure_compiled(give_way, levels, self.top)
            + ensure_compiled(begin_anew, self.params, levels, self.top)
            + ensure_compiled(cut_intervals, table, self.params, parts, levels, told, 0)
        )

    def _first_levels(self, number: int, points: int) -> Levels:
        levels = super()._first_levels(number, points)
        for feature in range(len(self.arities)):
            levels.own[0, feature] = self._range(feature)
        levels.frame[0, state.EXCHANGES] = self._exchanges and self.shard.number > 1
        return levels

    def _range(self, feature: int) -> tuple[int, int]:
        """The first and the last code of the own thresholds; 0 and INFINITE: there is no other
        shard's beyond. No threshold lies between 1 and 0."""
        weights = np.zeros(self.arities[feature] + 1, np.int64)
        np.add.at(weights, self.codes[self.rows, feature] + 1, self.weights)
        below: Ints = np.cumsum(weights)
        own = own_thresholds(below[1:-1], int(below[-1]), feature, self.shard) + 1
        if not len(own):
            return 1, 0
        ends = int(own[0]), int(own[-1])
        return ends[0] if ends[0] > 1 else 0, ends[1] if ends[1] < len(below) - 2 else INFINITE

    def use(self, cost: float, tree: Tree, given: bool) -> None:
        """As :class:`solver.engine.driver.Engine`; it looks for nothing that costs as much."""
        if self.shard.number > 1:  # the state of an undivided search would need the tree
            super().use(cost, tree, given)

    @property
    def rollout_work(self) -> int:
        """As :class:`solver.engine.driver.Engine`: in the last shard, for all others, too."""
        return last_shard_work(self.shard, self.work)

    def state(self) -> dict[str, NDArray[Any]] | None:  # type: ignore[override]
        """None of one shard of several, which begins again with what the others know."""
        return super().state() if self.shard.number == 1 else None

    # What shards tell each other

    @property
    def _exchanges(self) -> bool:
        """Whether thresholds are told: see ``root_thresholds``."""
        return self.depth > 1 and self.params.min_leaf == 1 and not self.is_limited

    def learned(self) -> bytes:
        """As :class:`solver.engine.driver.Engine`: thresholds that were evaluated at the root, and
        the one that it is at."""
        if not self._exchanges:
            return b""
        self._note_evaluated()
        if not self._untold and self._place == self._told_place:
            return b""
        self._told_place = self._place
        message = pack(self.shard.index, self._told_place, self._untold)
        self._untold.clear()
        return message

    @property
    def _place(self) -> tuple[int, int]:
        """Feature and code of the threshold at the root that it is at."""
        frame = self.levels.frame[0]
        if frame[PHASE] != CHILD or self.shard.number == 1:
            return NOWHERE
        return int(frame[state.FEATURE]), int(self.levels.code[0, frame[AT]])

    def learn(self, proven: bytes) -> None:
        """As :class:`solver.engine.driver.Engine`: thresholds that another shard has evaluated."""
        if not self._exchanges:
            return
        shard, place, told = unpack(proven, len(self.arities))
        self._places[shard] = place
        self.others = np.array([at for at in self._places.values() if at != NOWHERE], np.int64)
        self.others = self.others.reshape(-1, 2)
        if place == self._place != NOWHERE and shard < self.shard.index:
            self._make_room()
            self._told[self.levels.frame[0, AT]] = True  # it will never be evaluated
            self._at = -1
            give_way(self.levels, self.top)
        self._known.append(told)
        self._unread.append((told.copy(), 0))

    def step(self, iterations: int, target_cost: int) -> int:
        if self._later and self.levels.frame[0, AT] != self._at:
            self._unread.extend((told, 0) for told in self._later)
            self._later.clear()
        if self._unread and not self._hear():
            return FULL
        return super().step(iterations, target_cost)

    def _hear(self) -> bool:
        """Cut intervals at the thresholds that were told; False: there is no room for all.

        The arrays of the rows must be filled, and the outermost thresholds evaluated.
        """
        if self.table is None or self._filled < len(self.arities) or not is_cut(self.levels):
            return True
        while self._unread:
            told, begin = self._unread.popleft()
            self._make_room()
            before = int(self.levels.frame[0, POINTS])
            end = cut_intervals(self.table, self.params, self.parts, self.levels, told, begin)
            self._told[before : self.levels.frame[0, POINTS]] = True
            if end < len(told):
                self._unread.appendleft((told, end))
                return False
            if (told[:, FEATURE] >= 0).any():
                self._later.append(told[told[:, FEATURE] >= 0])
                self._at = int(self.levels.frame[0, AT])
        return True

    def _note_evaluated(self) -> None:
        """Remember what was evaluated at the root since, until it is told and for :meth:`help`."""
        self._make_room()
        new = evaluated(self.levels, self._told)
        if len(new):
            self._known.append(new)
            self._untold.append(new)

    def _make_room(self) -> None:
        """Remember of each threshold at the root whether it was told."""
        self._told.resize(self.levels.code.shape[1], refcheck=False)

    # When its own thresholds are done

    def help(self, iterations: int) -> int:
        """As :class:`solver.engine.driver.Engine`: it evaluates thresholds of all shards.

        It begins anew, with all that was told.
        """
        if not self._exchanges or self.table is None or not is_cut(self.levels):
            return PROVEN
        if not self._helps:
            self._note_evaluated()
            self._helps = True
            self._progress[4] = False
            self.levels.own[0] = 0, INFINITE
            self.levels.frame[0, LIMIT] = self.upper_bound
            begin_anew(self.params, self.levels, self.top)
            self._told[:] = False
            self._later.clear()
            self._unread = deque((told.copy(), 0) for told in self._known)
        outcome = self.step(iterations, -1)
        if outcome == FULL and not self.grow(self.most_bytes):
            return PROVEN
        return PROVEN if outcome == PROVEN else RUNNING

    def propagate_bounds(self) -> None:
        """As in :class:`QuantEngine`, of its own thresholds."""
        if not self._helps:
            super().propagate_bounds()
