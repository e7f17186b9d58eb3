"""The tasks that wait, longest expected first."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_INTERLEAVED = 4


@dataclass
class _Stretch:
    """Tasks of one node that are expected to be about equally long."""

    node: int
    bucket: int
    tasks: NDArray[np.int64]


class Backlog:
    """Tasks that wait.

    Tasks are sorted into buckets of about equal expected cost (a factor of 4), the longest first.
    In a bucket, those of one node follow each other, and up to four nodes take turns, so that
    workers can encode different nodes at the same time.

    Parameters
    ----------
    tasks : array of int64
        Their numbers in the plan.
    nodes : array of int
        Number of each one's node.
    costs : array of float
        Expected cost of each, in any unit.
    """

    def __init__(
        self, tasks: NDArray[np.int64], nodes: NDArray[np.int64], costs: NDArray[np.float64]
    ) -> None:
        self._waiting = len(tasks)
        buckets = np.floor(np.log2(np.maximum(costs, 1e-9)) / 2).astype(np.int64)
        order = np.lexsort((-costs, nodes, -buckets))  # where these are equal, as given
        tasks, nodes, buckets = tasks[order], nodes[order], buckets[order]
        changes = np.flatnonzero(np.diff(nodes) | np.diff(buckets)) + 1
        starts = [0, *changes.tolist()] if len(tasks) else []
        self._stretches: deque[_Stretch] = deque(
            _Stretch(int(nodes[start]), int(buckets[start]), part)
            for start, part in zip(starts, np.split(tasks, changes), strict=False)
        )

    def __len__(self) -> int:
        return self._waiting

    @property
    def head(self) -> int | None:
        """The number of the next task; None if nothing waits."""
        return int(self._stretches[0].tasks[0]) if self._stretches else None

    def take(self, size_of: Callable[[int], int]) -> list[int]:
        """The next tasks, all of one node.

        Parameters
        ----------
        size_of : callable
            How many tasks of a node travel together.
        """
        stretch = self._stretches.popleft()
        taken, stretch.tasks = np.split(stretch.tasks, [size_of(stretch.node)])
        self._waiting -= len(taken)
        if len(stretch.tasks):
            others = itertools.islice(self._stretches, _INTERLEAVED - 1)
            equal = itertools.takewhile(lambda other: other.bucket == stretch.bucket, others)
            self._stretches.insert(len([*equal]), stretch)
        return [*taken.tolist()]

    def give_back(self, node: int, tasks: Iterable[int]) -> None:
        """Put tasks of a node in front again."""
        numbers = np.array([*tasks], dtype=np.int64)
        if len(numbers):
            bucket = self._stretches[0].bucket if self._stretches else 0
            self._stretches.appendleft(_Stretch(node, bucket, numbers))
            self._waiting += len(numbers)

    def remove_node(self, node: int) -> list[int]:
        """Take out all tasks of a node."""
        gone = [s for s in self._stretches if s.node == node]
        self._stretches = deque(s for s in self._stretches if s.node != node)
        tasks = [task for s in gone for task in s.tasks.tolist()]
        self._waiting -= len(tasks)
        return tasks
