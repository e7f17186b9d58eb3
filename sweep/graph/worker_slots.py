"""The workers, and what was handed to each."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any

from distributed import Future

from sweep.plan.plan import Node, Task


@dataclass(frozen=True, eq=False)
class Bundle:
    """Some tasks of one node, on their way.

    Parameters
    ----------
    number : int
        Unlike that of any other bundle of the run.
    node : Node
    tasks : list of Task
        In the order in which they are done.
    alone : bool
        Whether it is a single task that is suspected of killing workers.
    """

    number: int
    node: Node
    tasks: list[Task]
    alone: bool


@dataclass(eq=False)
class Seat:
    """A worker, and what was handed to it.

    Parameters
    ----------
    address, host : str
    bundles : dict
        In the order in which they are done.
    tables : dict
        The datasets that it has read, by their hash.
    prepared : OrderedDict
        What it has encoded, by the node's number, the least recently used first.
    reserved : Task or None
        A task that will be run alone here, once its data are prepared.
    leaving : bool
        Whether its time is about to end: it gets nothing more.
    """

    address: str
    host: str
    bundles: dict[Future[Any], Bundle] = field(default_factory=dict)
    tables: dict[str, Future[Any]] = field(default_factory=dict)
    prepared: OrderedDict[int, Future[Any]] = field(default_factory=OrderedDict)
    reserved: Task | None = None
    leaving: bool = False

    @property
    def is_alone(self) -> bool:
        """Whether it is there for a task that must be alone."""
        return bool(self.reserved) or any(bundle.alone for bundle in self.bundles.values())

    @property
    def n_tasks(self) -> int:
        """Tasks that were handed to it."""
        return sum(len(bundle.tasks) for bundle in self.bundles.values()) + bool(self.reserved)

    @property
    def tasks(self) -> list[Task]:
        """These tasks."""
        handed = [task for bundle in self.bundles.values() for task in bundle.tasks]
        return handed if self.reserved is None else [*handed, self.reserved]

    @property
    def nodes(self) -> set[int]:
        """The nodes it is at."""
        return {bundle.node.number for bundle in self.bundles.values()}

    @property
    def futures(self) -> list[Future[Any]]:
        """All that it was asked for."""
        return [*self.bundles, *self.prepared.values(), *self.tables.values()]
