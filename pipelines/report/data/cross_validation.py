"""Cross-validation over exact λ-paths: which λ of all, not which of a grid.

The trees of a fold change only at its path's breakpoints. So the mean test loss over the folds is
constant between the breakpoints of all folds together, and its least value is found exactly.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple


class Fold(NamedTuple):
    """A fold's path: where each step begins, and the test loss of its tree.

    Parameters
    ----------
    starts : sequence of Fraction
        From the smallest λ up. A step holds from its start to just before the next one's; the
        last goes on for ever.
    losses : sequence of Fraction
        Share of the held-out rows that each step's tree gets wrong.
    """

    starts: Sequence[Fraction]
    losses: Sequence[Fraction]


class Interval(NamedTuple):
    """λ from ``start`` to just below ``end`` (None: no end), where no path has a breakpoint.

    ``steps`` are the numbers of the steps that hold there, one a path.
    """

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
    """Cut λ at the breakpoints of all paths.

    Parameters
    ----------
    paths : sequence of sequences of Fraction
        Where the steps of each path begin, rising. The result begins where all paths have begun.

    Returns
    -------
    list of Interval
        From the smallest λ up.
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
    """The mean of the folds' losses and its standard error, which comes from the sample's spread.

    Both are exact; the error as its square, which is a fraction.
    """
    folds = len(losses)
    mean = sum(losses, Fraction(0)) / folds
    if folds == 1:
        return Score(mean, None)
    squares = sum(((loss - mean) ** 2 for loss in losses), Fraction(0))
    return Score(mean, squares / ((folds - 1) * folds))


def cross_validate(folds: Sequence[Fold]) -> tuple[list[Interval], list[Score]]:
    """The intervals of all folds together, from the smallest λ up, and what each is worth."""
    intervals = merge([fold.starts for fold in folds])
    scores = [
        score([fold.losses[step] for fold, step in zip(folds, interval.steps, strict=True)])
        for interval in intervals
    ]
    return intervals, scores


def choose(scores: Sequence[Score]) -> Choice:
    """The interval of least mean test loss, and the last one within one standard error of it.

    At a tie the larger λ, that is the smaller tree, wins. One fold alone has no standard error.
    """
    last = len(scores) - 1
    minimum = min(range(len(scores)), key=lambda i: (scores[i].mean, -i))
    least, error_squared = scores[minimum]
    if error_squared is None:
        return Choice(minimum, None)
    for i in range(last, minimum, -1):
        if (scores[i].mean - least) ** 2 <= error_squared:
            return Choice(minimum, i)
    return Choice(minimum, minimum)
