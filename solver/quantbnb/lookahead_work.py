"""How much a search may look for good trees."""

from __future__ import annotations

from solver.search_shards import Shard

LEAST_DEPTH = 4
"""Searches for fewer levels end soon, or find good trees early."""
_FROM, _SOON = 2**26, 2**31  # a tenth of a second, and two seconds, on the usual machine


def lookahead_work(work: int) -> int:
    """Work allowed to a search that has done so much.

    As much as its own at first, later a quarter. Short searches end before it is worth its time.
    """
    return 0 if work < _FROM else min(work, work // 4 + _SOON)


def last_shard_work(shard: Shard, work: int) -> int:
    """The same for a shard that has done so much: the last one does it for all."""
    if shard.index < shard.number - 1:
        return 0
    return lookahead_work(work * shard.number)
