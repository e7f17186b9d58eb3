"""Shards of one solve, and the solution of the solve from those of its shards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from solver.solution import Solution, Status, TracePoint

FOUND = "found"
"""In ``Solution.extra`` of a shard: whether it found the tree itself."""

RULES = "rules"
"""In ``Solution.extra``: the number of rules, which every shard counts itself."""

_WORST_FIRST = Status.STOPPED, Status.MEMORY_LIMIT, Status.TIME_LIMIT, Status.NODE_LIMIT


@dataclass(frozen=True)
class Shard:
    """Part ``index`` (from 0) of ``number`` parts of a solve; each tree belongs to one part."""

    index: int
    number: int


def merge(
    solutions: Sequence[Solution],
    floor: Fraction | None = None,
    others: Sequence[Solution] = (),
) -> Solution:
    """The solution of the whole solve from those of all its shards, in order.

    The tree is the best one, then the one of fewest splits, then that of the first shard that
    found it itself. The bound is the least bound, because the optimum is in one of the shards, or
    ``floor``, which was proven of the whole before, if that is greater. Seconds, iterations, nodes
    and counts add up, bytes are the largest; the trace is that of a worker that searches the shards
    one after the other. ``others`` are solutions of the same solve, of which only the tree counts.

    Raises
    ------
    ValueError
        If there are no shards, or they belong to different solves.
    """
    if not solutions or len({(s.lam, s.total_weight, s.solver) for s in solutions}) > 1:
        raise ValueError("these are not the parts of one solve")
    best = min(
        [*solutions, *others],
        key=lambda s: (s.objective, s.splits, not s.extra.get(FOUND, True)),
    )
    bounds = [s.lower_bound for s in solutions if s.lower_bound is not None]
    bound = min(bounds) if len(bounds) == len(solutions) else None
    if bound is not None:
        bound = min(bound if floor is None else max(bound, floor), best.objective)
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
        trace=_one_after_the_other(solutions),
        extra={**best.extra, **_sums(solutions), "shards": len(solutions)},
    )


def _one_after_the_other(solutions: Sequence[Solution]) -> tuple[TracePoint, ...]:
    """The progress of all shards. A shard proves bounds of its own part: the least one holds for
    the whole. That of a shard whose turn has not come is the first that it will prove."""
    bounds = [s.trace[0].lower_bound if s.trace else None for s in solutions]
    found: list[TracePoint] = []
    started, objective, bound = 0.0, float("inf"), None
    for place, part in enumerate(solutions):
        for point in part.trace:
            bounds[place] = point.lower_bound
            objective = min(objective, point.objective)
            known = [b for b in bounds if b is not None]
            if len(known) == len(bounds):
                bound = max(min(known), min(known) if bound is None else bound)
            new = TracePoint(started + point.seconds, objective, bound)
            if not found or found[-1][1:] != new[1:]:
                found.append(new)
        started += part.seconds
    return tuple(found)


def _sums(solutions: Sequence[Solution]) -> dict[str, int]:
    """Sums of the counts that all shards report, except what each shard counts anew."""
    counts = {name: value for name, value in solutions[0].extra.items() if type(value) is int}
    names = counts.keys() - {RULES}
    every = [n for n in names if all(type(s.extra.get(n)) is int for s in solutions)]
    return {name: sum(s.extra[name] for s in solutions) for name in every}
