"""Narrows boxes by their bounds: Propositions 4.1 and C.1."""

from __future__ import annotations

import math

import numpy as np

from solver.quantbnb.paper.state import Answers, Boxes, Costs, Flags, spaced


def narrowed(
    boxes: Boxes, answers: Answers, pieces: int, most: float, which: Flags
) -> tuple[Boxes, Costs, Costs]:
    """The parts of boxes that may hold a tree of a cost up to ``most``, with bounds of each part.

    ``which`` says which boxes to look at. A box of at most ``pieces + 1`` cuts (the paper's s + 1)
    stays whole.

    Returns
    -------
    boxes : Boxes
        Each with its lower bound; their children split on the features kept (14), (15).
    lefts, rights : array of shape (boxes, features)
        The lower bounds by feature of either child.
    """
    s, features = pieces, boxes.left.shape[1]
    cuts = spaced(boxes.low, boxes.high, s)
    lows, highs = cuts[:, :-1].copy(), cuts[:, 1:].copy()
    small = boxes.high - boxes.low <= s
    lows[small, 0], highs[small, 0] = boxes.low[small], boxes.high[small]
    lefts = answers.left.reshape(-1, features)
    rights = answers.right.reshape(-1, features)
    left = (lefts <= most) & np.isfinite(lefts)
    right = (rights <= most) & np.isfinite(rights)
    kept = np.flatnonzero(left.any(axis=1) & right.any(axis=1) & np.repeat(which, s))
    parts = Boxes(
        feature=np.repeat(boxes.feature, s)[kept],
        low=lows.ravel()[kept].astype(np.int32),
        high=highs.ravel()[kept].astype(np.int32),
        left=left[kept],
        right=right[kept],
        bound=lefts[kept].min(axis=1, initial=math.inf),
    )
    return parts, lefts[kept], rights[kept]


def pruned(boxes: Boxes, lefts: Costs, rights: Costs, most: float) -> Boxes:
    """The boxes that may hold a tree of at most some cost, by what :func:`narrowed` gave them.

    With the costs of (48) and (49) these are the sets Φ1,j and Φ2,j.
    """
    left, right = lefts <= most, rights <= most
    left &= np.isfinite(lefts)
    right &= np.isfinite(rights)
    boxes = boxes._replace(left=left, right=right)
    return boxes.take(np.flatnonzero(left.any(axis=1) & right.any(axis=1)))


def least_after(bounds: list[float]) -> list[float]:
    """For each of some bounds the least of those that come after it."""
    least, found = math.inf, []
    for bound in reversed(bounds):
        found.append(least)
        least = min(least, bound)
    return found[::-1]
