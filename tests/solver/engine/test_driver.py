"""The driver of a search, with an engine that the test steers."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from solver.engine.driver import Engine, Search
from solver.kernels.constants import PROVEN, RUNNING
from solver.limits import Limits
from solver.monitor import Monitor, News, Peers
from solver.problem.problem import Problem
from solver.trees.tree import Shape, Tree, shape_of

PROBLEM = Problem.from_codes([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 0, 1, 0])
LAM = Fraction(1, 100)
TWO_SPLITS = PROBLEM.grow((0, (-1, (1, (-1, -1)))))


class Reader(Engine):
    """It reads a tree of two splits at each step, and knows of no tree but a leaf until it is
    told."""

    iterations = nodes = bytes = 0
    lower_bound: float = 0
    upper_bound: float = 10**9

    def __init__(self) -> None:
        self.used: list[Shape] = []

    def use(self, cost: float, tree: Tree, given: bool) -> None:
        assert given
        self.upper_bound = min(self.upper_bound, cost)
        self.used.append(shape_of(tree))

    def step(self, iterations: int, target_cost: int) -> int:
        self.iterations += 1
        if self.iterations < 4:
            return RUNNING
        self.lower_bound = self.upper_bound
        return PROVEN

    def grow(self, limit: int | None) -> bool:
        return True

    def shape(self) -> Shape:
        return shape_of(TWO_SPLITS)


def tell(heard: Sequence[Tree]) -> tuple[list[Tree], Reader]:
    """The trees that a shard tells if it has heard of some; and its engine."""
    told, engine, unread = list[Tree](), Reader(), [News(tree, b"") for tree in heard]

    def take(news: News) -> None:
        assert news.tree is not None
        told.append(news.tree)

    def hear() -> list[News]:
        found, unread[:] = unread[:], []
        return found

    search = Search(PROBLEM, LAM, Limits(), lambda *_: engine, None)
    search.run(Monitor(peers=Peers(take, hear)))
    return told, engine


def test_a_shard_uses_the_tree_that_it_tells() -> None:
    told, engine = tell([])
    assert told == [TWO_SPLITS]
    assert engine.used == [shape_of(TWO_SPLITS)]


def test_a_tree_that_others_know_is_not_told() -> None:
    told, engine = tell([TWO_SPLITS])
    assert told == []
    assert engine.used == [shape_of(TWO_SPLITS)]
