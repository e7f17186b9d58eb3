"""The shards of one solve in one process."""

from __future__ import annotations

import itertools
import math
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

    def monitor(self, index: int) -> Monitor:
        """That of a shard."""

        def tell(news: News) -> None:
            for other, unread in enumerate(self._unread):
                if other != index:
                    unread.append(news)

        def hear() -> list[News]:
            heard, self._unread[index] = self._unread[index], []
            return heard

        return Monitor(peers=Peers(tell, hear))


def solve_together(
    own: Solver, problem: Problem, lam: Fraction, limits: Limits, number: int, at_once: bool
) -> list[Solution]:
    """Shards that hear of each other after each step, at once or one after the other."""
    party = Party(number)

    def solve(index: int) -> Solution:
        part = own.part(Shard(index, number))
        return part.solve(problem, lam, limits, monitor=party.monitor(index))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(driver, "_SLICE_SECONDS", 0.0)  # slices of one step
        patch.setattr(driver, "_NEWS_SECONDS", 0.0)
        with ThreadPoolExecutor(number if at_once else 1) as pool:
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
