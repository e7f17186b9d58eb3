"""What the rows of a benchmark say together: who proved what, how fast, who contradicts whom."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from benchmarks.peers import FLOAT_ROUNDING
from benchmarks.row_store import NOT_RUN, Row

Cell = tuple[str, str]
"""File and exact λ."""


class Result(NamedTuple):
    """The repeats of one solver on one cell, as one."""

    row: Row
    """The repeat of median time; the worst status of all."""
    seconds: float | None
    """Median of the counted seconds."""
    proven: bool


def by_cell(rows: Iterable[Row]) -> dict[Cell, dict[str, Result]]:
    """For each file and λ, in order of appearance, each solver's result."""
    groups: dict[Cell, dict[str, list[Row]]] = {}
    for row in rows:
        solvers = groups.setdefault((row["file"], row["lam_exact"]), {})
        solvers.setdefault(row["solver"], []).append(row)
    return {
        cell: {solver: _as_one(repeats) for solver, repeats in solvers.items()}
        for cell, solvers in groups.items()
    }


def _as_one(repeats: Sequence[Row]) -> Result:
    run = [row for row in repeats if row["status"] not in NOT_RUN]
    if not run:
        return Result(repeats[0], None, False)
    unproven = [row for row in run if row["status"] != "optimal"]
    ordered = sorted(unproven or run, key=lambda row: row["counted_seconds"])
    seconds = statistics.median(row["counted_seconds"] for row in run)
    return Result(ordered[len(ordered) // 2], seconds, not unproven)


def contradictions(rows: Iterable[Row]) -> list[str]:
    """A line for each proven bound that another solver's tree undercuts, naming both.

    Two different "optimal" objectives are such a case, and so is a tree, proven or not, that is
    better than what a third solver says is possible. A solver that was told a depth is only held to
    trees of that depth, and a bound in floats only to its precision.
    """
    groups: dict[Cell, list[Row]] = {}
    for row in rows:
        if row["objective_exact"] is not None and row["status"] != "error":
            groups.setdefault((row["file"], row["lam_exact"]), []).append(row)
    lines: list[str] = []
    for (file, lam), found in groups.items():
        for prover in found:
            if prover["lower_bound"] is None:
                continue
            if prover["lower_bound_exact"] is not None:
                bound = Fraction(prover["lower_bound_exact"])
            else:
                bound = Fraction(prover["lower_bound"] - FLOAT_ROUNDING)
            depth = json.loads(prover["settings"])["depth"]
            for other in found:
                within = depth is None or other["depth"] <= depth
                if within and Fraction(other["objective_exact"]) < bound:
                    lines.append(
                        f"DISAGREEMENT on {file}, λ = {lam}: {prover['solver']} "
                        f"({prover['status']}) proves at least {float(bound):.8g}, the tree of "
                        f"{other['solver']} ({other['status']}) has {other['objective_exact']} "
                        f"= {other['objective']:.8g}"
                    )
    return list(dict.fromkeys(lines))


class Total(NamedTuple):
    """A solver over all cells."""

    cells: int
    """Cells on which it was run."""
    proven: int
    ratio: float | None
    """Geometric mean of its time over ours, limits counted as the limit."""
    compared: int
    """Cells of that mean."""
    ours_slower: int


def totals(cells: dict[Cell, dict[str, Result]], solvers: Sequence[str], ours: str) -> list[Total]:
    """The summary's rows, in the order of ``solvers``."""
    result = []
    for solver in solvers:
        mine = [results[solver] for results in cells.values() if solver in results]
        run = [found for found in mine if found.seconds is not None]
        pairs = [
            (results[solver].seconds, results[ours].seconds)
            for results in cells.values()
            if solver in results and ours in results
        ]
        both = [(a, b) for a, b in pairs if a is not None and b is not None]
        ratios = [theirs / own for theirs, own in both]
        mean = statistics.geometric_mean(ratios) if ratios else None
        proven = sum(found.proven for found in run)
        slower = sum(own > theirs for theirs, own in both)
        result.append(Total(len(run), proven, mean, len(both), slower))
    return result


def profile(
    cells: dict[Cell, dict[str, Result]], solvers: Sequence[str]
) -> dict[str, list[tuple[float, float]]]:
    """The performance profile of Dolan and Moré.

    Returns
    -------
    dict
        For each solver the points (τ, share of the cells proven within τ times the time of the
        fastest solver), τ ascending. A cell that nobody proved counts in the share's denominator.
    """
    best: dict[Cell, float] = {}
    for cell, results in cells.items():
        times = [results[s].seconds for s in solvers if s in results and results[s].proven]
        if times:
            best[cell] = min(t for t in times if t is not None)
    curves = {}
    for solver in solvers:
        ratios = sorted(
            _time(results[solver]) / best[cell]
            for cell, results in cells.items()
            if solver in results and results[solver].proven
        )
        curves[solver] = [(ratio, (k + 1) / len(cells)) for k, ratio in enumerate(ratios)]
    return curves


def cactus(
    cells: dict[Cell, dict[str, Result]], solvers: Sequence[str]
) -> dict[str, list[tuple[float, int]]]:
    """For each solver the points (seconds, cells proven within so many seconds each)."""
    curves = {}
    for solver in solvers:
        times = sorted(_time(r[solver]) for r in cells.values() if solver in r and r[solver].proven)
        curves[solver] = [(seconds, k + 1) for k, seconds in enumerate(times)]
    return curves


def _time(result: Result) -> float:
    assert result.seconds is not None
    return result.seconds


def least_objective(results: Iterable[Any]) -> Fraction | None:
    """The best objective that any solver has a tree for."""
    known = [
        Fraction(result.row["objective_exact"])
        for result in results
        if result.row["objective_exact"] is not None and result.row["status"] != "error"
    ]
    return min(known, default=None)
