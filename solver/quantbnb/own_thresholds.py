"""Which thresholds at the root belong to which shard."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from solver.search_shards import Shard


def own_thresholds(
    below: NDArray[Any], total: float, feature: int, shard: Shard
) -> NDArray[np.int64]:
    """The places of a shard's own thresholds among those of a feature, next to each other.

    The thresholds of a feature are dealt out in ranges of about equal weight. The lowest range of
    the next feature belongs to the next shard, so no shard has the middle of all features.

    Parameters
    ----------
    below : (thresholds,)
        The weight of the rows on the left of each.
    total : float
        The weight of all rows.
    feature : int
    shard : Shard
    """
    ranges = np.minimum((below / total * shard.number).astype(np.int64), shard.number - 1)
    return np.flatnonzero((ranges + feature) % shard.number == shard.index)
