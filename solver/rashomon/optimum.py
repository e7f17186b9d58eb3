"""One optimal tree, from which the search for all good ones begins."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

from solver.branches.solver import Branches
from solver.limits import Limits
from solver.monitor import Monitor
from solver.objective.exact_objective import objective
from solver.problem.problem import Problem
from solver.rashomon.build_graph import LimitError
from solver.solution import Solution, Status


def find_optimum(problem: Problem, lam: Fraction, limits: Limits, monitor: Monitor) -> Solution:
    """One optimal tree.

    Raises
    ------
    LimitError
        If a limit is reached before it is proven.
    """
    found = Branches().solve(problem, lam, limits, monitor=replace(monitor, peers=None))
    if found.status is not Status.OPTIMAL:
        raise LimitError(
            found.status,
            f"the optimum is not proven: the search ended with {found.status}; raise the limit, or "
            "take a larger λ or a limit on depth",
        )
    return found


class Price(NamedTuple):
    """The price of a split at which good trees are searched for.

    Where the limit on splits is ``k``, a tree that costs ``c`` at λ costs ``c + (price − λ)·k`` at
    most at a larger price. So a search without that limit, at this price and with a larger
    tolerance, finds all good trees, and others (Lagrangian relaxation).

    Parameters
    ----------
    lam : Fraction
    above : Fraction
        What the price adds at most to the objective of a good tree.
    seconds : float
        What it took to find the price.
    """

    lam: Fraction
    above: Fraction = Fraction(0)
    seconds: float = 0.0


def price_for(problem: Problem, best: Solution, limits: Limits, monitor: Monitor) -> Price:
    """A price at which few trees have too many splits.

    The optimum without a limit on splits is a concave function of the price. Where it is that of a
    tree with fewer splits than the limit, and of one with as many or more, the tolerance is least.

    Parameters
    ----------
    problem : Problem
    best : Solution
        The best tree within the limit.
    limits : Limits
        With one on splits, of at least 1.
    monitor : Monitor

    Raises
    ------
    LimitError
        If a limit is reached before the price is found.
    """
    most, weight, seconds = limits.splits or 0, problem.total_weight, 0.0
    # Where splits are free, such a price distinguishes no trees of different errors.
    least = best.lam or Fraction(1, weight * (most + 1))

    def solve(lam: Fraction) -> Solution:
        nonlocal seconds
        left = None if limits.seconds is None else max(0, limits.seconds - best.seconds - seconds)
        own = replace(limits, splits=None, seconds=left)
        found = find_optimum(problem, lam, own, monitor)
        seconds += found.seconds
        return found

    lam, low = least, (problem.leaf_errors, 0)
    high = best if best.splits == most else solve(least)
    while high.splits >= most:
        fewer = (low[0] - high.errors) / Fraction(weight * (high.splits - low[1]))
        lam = max(least, fewer)
        found = solve(lam)
        if lam == least or found.objective == objective(*low, weight, lam):
            break
        if found.splits > most:
            high = found
        else:
            low = found.errors, found.splits
    return Price(lam, (lam - best.lam) * most, seconds)
