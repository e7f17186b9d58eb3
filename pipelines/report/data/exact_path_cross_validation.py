"""Cross-validation over exact λ-paths: the best of all λ, not of a grid.

The trees of a fold change only at its breakpoints. So the mean test loss is constant between the
breakpoints of all folds together, and its least value is found exactly.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple


class FoldLosses(NamedTuple):
    """The start of each step of a fold's path, from the smallest λ up, and the test loss of its
    tree. A step ends where the next one starts; the last one does not end."""

    starts: Sequence[Fraction]
    losses: Sequence[Fraction]


class Interval(NamedTuple):
    """λ from ``start`` to just below ``end`` (None: no end) without a breakpoint in between;
    ``steps`` has the number of each path's step there."""

    start: Fraction
    end: Fraction | None
    steps: tuple[int, ...]


class Score(NamedTuple):
    """Mean test loss over the folds, and the square of its standard error (None for one fold)."""

    mean: Fraction
    error_squared: Fraction | None


class Choice(NamedTuple):
    """Numbers of the intervals of least mean, and of the one-standard-error rule."""

    minimum: int
    one_se: int | None


def merge(paths: Sequence[Sequence[Fraction]]) -> list[Interval]:
    """Cut λ at the breakpoints of all paths, given by the starts of their steps in rising order.

    The first interval starts at the largest of the paths' first λ.
    """
    if not paths:
        return []
    first = max(starts[0] for starts in paths)
    cuts = sorted({first} | {start for starts in paths for start in starts if start > first})
    ends: list[Fraction | None] = [*cuts[1:], None]
    return [
        Interval(cut, end, tuple(bisect_right(starts, cut) - 1 for starts in paths))
        for cut, end in zip(cuts, ends, strict=True)
    ]


def score(losses: Sequence[Fraction]) -> Score:
    """The mean of the folds' losses and the square of its standard error, both exact."""
    folds = len(losses)
    mean = sum(losses, Fraction(0)) / folds
    if folds == 1:
        return Score(mean, None)
    squares = sum(((loss - mean) ** 2 for loss in losses), Fraction(0))
    return Score(mean, squares / ((folds - 1) * folds))


def cross_validate(folds: Sequence[FoldLosses]) -> tuple[list[Interval], list[Score]]:
    """The intervals of all folds together, from the smallest λ up, and their scores."""
    intervals = merge([fold.starts for fold in folds])
    scores = [
        score([fold.losses[step] for fold, step in zip(folds, interval.steps, strict=True)])
        for interval in intervals
    ]
    return intervals, scores


def choose(scores: Sequence[Score]) -> Choice:
    """The interval of least mean test loss, and the last one within one standard error of it. In a
    tie the larger λ wins, which has the smaller tree."""
    last = len(scores) - 1
    minimum = min(range(len(scores)), key=lambda i: (scores[i].mean, -i))
    least, error_squared = scores[minimum]
    if error_squared is None:
        return Choice(minimum, None)
    for i in range(last, minimum, -1):
        if (scores[i].mean - least) ** 2 <= error_squared:
            return Choice(minimum, i)
    return Choice(minimum, minimum)
