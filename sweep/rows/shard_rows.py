"""From the rows of all shards of a task to the row of the task."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from solver.search_shards import FOUND, Shard, merge
from solver.solution import Solution, Status, TracePoint
from solver.trees.tree import Tree
from sweep.rows.result_rows import claims_and_effort

Row = dict[str, Any]

SECONDS = "shard_seconds"
"""In the row's ``extra``: the seconds of search of each shard."""


BEFORE = "seconds_before"
"""In the row's ``extra``: the seconds of search before the task was divided into these shards, and
of shards that were stopped and done again."""


@dataclass
class Effort:
    """What searches have taken together."""

    seconds: float = 0.0
    iterations: int = 0
    nodes: int = 0

    def add(self, row: Row) -> None:
        """Count a row's search."""
        self.seconds += row["seconds"]
        self.iterations += row["iterations"]
        self.nodes += row["nodes"]


def merge_rows(
    rows: Sequence[Row],
    before: Sequence[Row] = (),
    floor: Fraction | None = None,
    lost: Effort | None = None,
) -> Row:
    """The row of a task, from the rows of all its shards in their order.

    All that is said of the tree is of the shard that it is from, which has scored it; where and by
    what that was done is of this shard, too. ``before`` is what was stopped to make these shards;
    its trees and its effort count, and the bound ``floor`` that it has proven of the whole. The
    effort ``lost`` of shards that were stopped, and done again, counts as well.

    Raises
    ------
    ValueError
        If the rows are not those of one task.
    """
    solutions = [solution_of(row) for row in rows]
    others = [solution_of(row) for row in before]
    merged = merge(solutions, floor, others)
    pairs = zip([*rows, *before], [*solutions, *others], strict=True)
    best = next(row for row, solution in pairs if solution.tree is merged.tree)
    extra = {name: value for name, value in merged.extra.items() if name != FOUND}
    extra[SECONDS] = [round(solution.seconds, 6) for solution in solutions]
    earlier = Effort() if lost is None else replace(lost)
    for row in before:
        earlier.add(row)
    if before or earlier.seconds:
        extra[BEFORE] = round(earlier.seconds, 6)
        merged = replace(
            merged,
            seconds=merged.seconds + earlier.seconds,
            iterations=merged.iterations + earlier.iterations,
            nodes=merged.nodes + earlier.nodes,
        )
    return {
        **best,
        **claims_and_effort(replace(merged, extra=extra)),
        "attempt": max(row["attempt"] for row in rows),
        "started": min(row["started"] for row in [*before, *rows]),
        "finished": max(row["finished"] for row in rows),
    }


def solution_of(row: Mapping[str, Any]) -> Solution:
    """The solution that a row tells of."""
    tree, bound = Tree.from_json(row["tree"]), row["lower_bound_exact"]
    return Solution(
        tree=tree,
        status=Status(row["status"]),
        lam=Fraction(row["lam_exact"]),
        objective=Fraction(row["objective_exact"]),
        lower_bound=None if bound is None else Fraction(bound),
        errors=tree.errors,
        total_weight=row["total_weight"],
        seconds=row["seconds"],
        solver=row["solver"],
        version=row["solver_version"],
        compile_seconds=row["compile_seconds"],
        iterations=row["iterations"],
        nodes=row["nodes"],
        peak_bytes=row["peak_bytes"],
        trace=tuple(TracePoint(**point) for point in row["trace"]),
        extra=json.loads(row["extra"] or "{}"),
        tolerance=Fraction(row["tolerance"]),
    )


def of_shard(error: str, shard: Shard) -> str:
    """What went wrong, and in which shard."""
    return f"{error.rstrip()} (in shard {shard.index} of 0 … {shard.number - 1})"
