"""Which task is next: longest expected first, and where its data are already."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_LOOK_AHEAD = 64


@dataclass
class _Stretch:
    """Tasks of one node that are expected to be about equally long."""

    node: int
    bucket: int
    tasks: NDArray[np.int64]
    at: int = 0


class Backlog:
    """Tasks that wait.

    Tasks are sorted into buckets of about equal expected cost (a factor of 4), the dearest first;
    in a bucket, those of one node follow each other, so that a worker encodes it once.

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
        self._stretches = (
            deque(
                _Stretch(int(nodes[start]), int(buckets[start]), part)
                for start, part in zip(starts, np.split(tasks, changes), strict=True)
            )
            if len(tasks)
            else deque[_Stretch]()
        )

    def __len__(self) -> int:
        return self._waiting

    def head(self, here: Collection[int], elsewhere: Collection[int]) -> int | None:
        """The node that a worker should go on with; None if nothing waits.

        Parameters
        ----------
        here : collection of int
            Nodes that the worker has encoded.
        elsewhere : collection of int
            Nodes that other workers are at.
        """
        stretch = self._choose(here, elsewhere)
        return None if stretch is None else stretch.node

    def take(self, here: Collection[int], elsewhere: Collection[int], most: int) -> list[int]:
        """Up to so many tasks of the node that :meth:`head` names."""
        stretch = self._choose(here, elsewhere)
        if stretch is None:
            return []
        taken: list[int] = stretch.tasks[stretch.at : stretch.at + most].tolist()
        stretch.at += len(taken)
        self._waiting -= len(taken)
        if stretch.at >= len(stretch.tasks):
            self._stretches.remove(stretch)
        return taken

    def give_back(self, node: int, tasks: list[int]) -> None:
        """Put tasks in front again."""
        if tasks:
            bucket = self._stretches[0].bucket if self._stretches else 0
            self._stretches.appendleft(_Stretch(node, bucket, np.array(tasks, dtype=np.int64)))
            self._waiting += len(tasks)

    def remove_node(self, node: int) -> list[int]:
        """Take out all tasks of a node."""
        gone = [s for s in self._stretches if s.node == node]
        for stretch in gone:
            self._stretches.remove(stretch)
        tasks = [task for s in gone for task in s.tasks[s.at :].tolist()]
        self._waiting -= len(tasks)
        return tasks

    def _choose(self, here: Collection[int], elsewhere: Collection[int]) -> _Stretch | None:
        if not self._stretches:
            return None
        fresh = None
        for stretch in self._front():
            if stretch.node in here:
                return stretch
            if fresh is None and stretch.node not in elsewhere:
                fresh = stretch
        return fresh or self._stretches[0]

    def _front(self) -> Iterator[_Stretch]:
        bucket = self._stretches[0].bucket
        for i, stretch in enumerate(self._stretches):
            if i >= _LOOK_AHEAD or stretch.bucket != bucket:
                return
            yield stretch
