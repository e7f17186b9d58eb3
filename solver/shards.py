"""One solve in several parts that need not know of each other, and the merging of their answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from solver.solution import Solution, Status

FOUND = "found"
"""In ``Solution.extra`` of a part: whether the tree is the part's own, and not one given to it."""

RULES = "rules"
"""In ``Solution.extra``: how many rules there are, which every part finds for itself."""

_WORST_FIRST = Status.STOPPED, Status.MEMORY_LIMIT, Status.TIME_LIMIT, Status.NODE_LIMIT


@dataclass(frozen=True)
class Shard:
    """One part of a solve: all parts together have every tree, and each tree is in one of them.

    Parameters
    ----------
    index : int
        From 0.
    number : int
        Of parts.
    """

    index: int
    number: int


def merge(solutions: Sequence[Solution]) -> Solution:
    """The answer of the whole solve, from the answers of all its parts in their order.

    The tree is the best of them, with fewest splits, of the first part that found such a one
    itself: the one that the solve would find undivided. The bound is the least of their bounds,
    for the optimum is in one of the parts. Seconds, iterations, nodes, bytes and counts of the
    searches add up; the trace is of the part with the tree.

    Raises
    ------
    ValueError
        If there are no parts, or they are not of one solve.
    """
    if not solutions or len({(s.lam, s.total_weight, s.solver) for s in solutions}) > 1:
        raise ValueError("these are not the parts of one solve")
    best = min(solutions, key=lambda s: (s.objective, s.splits, not s.extra.get(FOUND, True)))
    bounds = [s.lower_bound for s in solutions if s.lower_bound is not None]
    bound = min(min(bounds), best.objective) if len(bounds) == len(solutions) else None
    status = Status.OPTIMAL
    if bound is None or best.objective - bound > best.tolerance:
        ended = [s.status for s in solutions]
        status = next((s for s in _WORST_FIRST if s in ended), Status.HEURISTIC)
    return replace(
        best,
        status=status,
        lower_bound=bound,
        seconds=sum(s.seconds for s in solutions),
        compile_seconds=sum(s.compile_seconds for s in solutions),
        iterations=sum(s.iterations for s in solutions),
        nodes=sum(s.nodes for s in solutions),
        peak_bytes=max(s.peak_bytes for s in solutions),
        extra={**best.extra, **_sums(solutions), "shards": len(solutions)},
    )


def _sums(solutions: Sequence[Solution]) -> dict[str, int]:
    """Counts that all parts report, added up, but for what each finds anew."""
    counts = {name: value for name, value in solutions[0].extra.items() if type(value) is int}
    names = counts.keys() - {RULES}
    every = [n for n in names if all(type(s.extra.get(n)) is int for s in solutions)]
    return {name: sum(s.extra[name] for s in solutions) for name in every}
