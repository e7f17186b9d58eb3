"""How many tasks travel together: as many as take about half a second.

A task that is sent by itself costs some milliseconds, which does not matter if it takes a second,
and is nearly all of it if it takes a fraction of a millisecond. What tasks take is not known
before, so batches begin with one task and grow while they turn out to be short. A worker ends a
batch after its time in any case and leaves the rest.
"""

from __future__ import annotations

from sweep.plan.plan import Node

LARGEST = 1024
"""Tasks that travel together at most."""

_GROWTH = 4


class Batching:
    """Sizes of batches, by what those before have taken.

    Parameters
    ----------
    seconds : float
        What a batch should take.

    Attributes
    ----------
    last_seconds : float
        What the last batch took; 0 before.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self.last_seconds = 0.0
        self._most: dict[tuple[str, str, str], int] = {}

    def size(self, node: Node) -> int:
        """How many tasks of a node should travel together."""
        return self._most.get(_family(node), 1)

    def took(self, node: Node, sent: int, done: int, seconds: float) -> None:
        """Learn what a batch has taken.

        Parameters
        ----------
        node : Node
        sent, done : int
            Tasks that were in it, and those that there was time for.
        seconds : float
        """
        self.last_seconds = seconds
        most = self.size(node)
        if seconds > 2 * self._seconds:
            most = max(1, done // 2)
        elif 0 < done < sent:
            most = done
        elif done >= most and seconds < self._seconds / (2 * _GROWTH):
            most = _GROWTH * most
        elif done >= most and seconds < self._seconds / 2:
            most = 2 * most
        self._most[_family(node)] = min(most, LARGEST)


def _family(node: Node) -> tuple[str, str, str]:
    """Nodes whose tasks take about as long: the folds of a dataset and an encoding."""
    return node.info.data_hash, node.info.encoding, node.info.encoding_options
