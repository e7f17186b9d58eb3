"""What looks for good trees beside a search."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator
from typing import Any

from solver.trees.tree import Shape


class GoodTrees(ABC):
    """A search for good trees that goes on for as long as it may.

    Its work is counted and not timed, so it finds the same trees on all machines.
    """

    compile_seconds: float = 0.0
    _steps: Generator[None, None, Any]

    @property
    @abstractmethod
    def best(self) -> tuple[float, Shape]:
        """The least cost so far, and a tree that has it."""

    @property
    @abstractmethod
    def work(self) -> int:
        """The work so far, in operations on words."""

    @property
    @abstractmethod
    def bytes(self) -> int:
        """Memory of all arrays and results."""

    @property
    @abstractmethod
    def most_bytes(self) -> int:
        """As much memory as it may come to take."""

    @abstractmethod
    def close(self) -> None:
        """Give the memory back; there is nothing more to look for."""

    def improve(self, work: int, is_over: Callable[[], bool]) -> bool:
        """Go on until so much work is done in all; whether there is a better tree then.

        ``is_over`` is asked after each step. Most take about a millisecond; the longest of tables
        with hundreds of codes and classes takes some 0.1 s.
        """
        before = self.best[0]
        while self.work < work and not is_over():
            try:
                next(self._steps)
            except StopIteration:
                break
        return self.best[0] < before
