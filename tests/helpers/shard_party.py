"""The shards of one solve in one process."""

from __future__ import annotations

import itertools
import math
import threading
from collections import deque
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import pytest

from solver.base import Solver
from solver.engine import driver
from solver.limits import Limits
from solver.monitor import Monitor, News, Peers
from solver.problem.problem import Problem
from solver.search_shards import Shard
from solver.solution import Solution
from solver.trees.tree import Tree


class Party:
    """The shards of one solve, which hear of each other at once."""

    def __init__(self, number: int) -> None:
        self._unread: list[list[News]] = [[] for _ in range(number)]

    def monitor(self, index: int, turns: Turns | None = None) -> Monitor:
        """That of a shard, which waits for its turn before each step."""

        def tell(news: News) -> None:
            for other, unread in enumerate(self._unread):
                if other != index:
                    unread.append(news)

        def hear() -> list[News]:
            heard, self._unread[index] = self._unread[index], []
            return heard

        def stop() -> bool:
            if turns is not None:
                turns.pass_on()
                turns.wait_for(index)
            return False

        return Monitor(stop, peers=Peers(tell, hear))


class Turns:
    """Lets threads go on one at a time, so that what they find does not depend on the machine."""

    def __init__(self, number: int) -> None:
        self._changed, self._order = threading.Condition(), deque(range(number))

    def wait_for(self, index: int) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._order[0] == index)

    def pass_on(self) -> None:
        """End the turn of whose turn it is."""
        with self._changed:
            self._order.rotate(-1)
            self._changed.notify_all()

    def leave(self) -> None:
        """End the last turn of whose turn it is."""
        with self._changed:
            self._order.popleft()
            self._changed.notify_all()


def solve_together(
    own: Solver, problem: Problem, lam: Fraction, limits: Limits, number: int, in_turns: bool
) -> list[Solution]:
    """Shards that hear of each other after each step, step by step in turns or one by one."""
    party, turns = Party(number), Turns(number)

    def solve(index: int) -> Solution:
        part = own.part(Shard(index, number))
        turns.wait_for(index)
        try:
            monitor = party.monitor(index, turns if in_turns else None)
            return part.solve(problem, lam, limits, monitor=monitor)
        finally:
            turns.leave()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(driver, "_SLICE_SECONDS", 0.0)  # slices of one step
        patch.setattr(driver, "_NEWS_SECONDS", 0.0)
        with ThreadPoolExecutor(number) as pool:
            return [*pool.map(solve, range(number))]


def solve_and_divide(
    own: Solver, problem: Problem, lam: Fraction, limits: Limits, stages: Sequence[tuple[int, int]]
) -> list[Solution]:
    """The shards of a solve that is divided anew while it runs.

    Parameters
    ----------
    stages : sequence of (int, int)
        A number of shards, and after how many of its steps each of them is stopped. The last ones
        are not stopped.
    """
    told, halted = list[News](), set[Shard]()

    def solve(shard: Shard, most: float, tree: Tree | None) -> Solution:
        steps, unread = itertools.count(), [*told]

        def stop() -> bool:
            if next(steps) >= most:
                halted.add(shard)
            return shard in halted

        def hear() -> list[News]:
            heard = [*unread]
            unread.clear()
            return heard

        monitor = Monitor(stop, peers=Peers(told.append, hear))
        part = own.part(shard)
        return part.solve(problem, lam, limits, initial_tree=tree, monitor=monitor)

    tree, parts = None, list[Solution]()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(driver, "_SLICE_SECONDS", 0.0)
        patch.setattr(driver, "_NEWS_SECONDS", 0.0)
        for stage, (number, steps) in enumerate(stages, start=1):
            most = steps if stage < len(stages) else math.inf
            parts = [solve(Shard(index, number), most, tree) for index in range(number)]
            if number == 1 and Shard(0, 1) not in halted:
                break
            tree = min(parts, key=lambda part: (part.objective, part.splits)).tree
    return parts
