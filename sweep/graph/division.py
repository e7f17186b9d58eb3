"""Which running search is divided among workers that are idle, and into how many shards."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import NamedTuple

LONG = 5.0
"""Seconds that a search runs before it is divided, and until it is divided anew.

Most searches end sooner, and shards prepare what the search had prepared once more.
"""


class Search(NamedTuple):
    """What workers are at of a task: into how many shards it is divided, and how many run."""

    parts: int
    running: int


class Division:
    """Chooses the searches that are divided (``shards: auto``)."""

    def __init__(self) -> None:
        self._since: dict[str, float] = {}

    def choose(
        self, searches: Mapping[str, Search], idle: int, most: int
    ) -> tuple[str, int, float] | None:
        """The search that has run for longest, if the idle workers at least double its shards.

        So a task of which few shards are left is not divided again and again.

        Parameters
        ----------
        searches : mapping of str to Search
            Those that may be divided, by the keys of their tasks.
        idle, most : int
            The number of idle workers, and the greatest number of shards.

        Returns
        -------
        key : str
        number : int
            Of its shards.
        seconds : float
            How long it has run, since it was divided if it was.
        """
        now = time.monotonic()
        self._since = {key: self._since.get(key, now) for key in searches}
        for key, since in sorted(self._since.items(), key=lambda item: item[1]):
            number = min(searches[key].running + idle, most)
            if now - since >= LONG and number >= 2 * searches[key].parts:
                self._since[key] = now
                return key, number, now - since
        return None
