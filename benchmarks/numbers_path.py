"""The λ-path of Quant-BnB with what each λ carries to the next, and without, on sets of numbers.

Usage: python benchmarks/numbers_path.py DATA [--sets NAME ...] [--cells 2:1/1000 3:1/200]
                                         [--repeat 5]

DATA is a folder with ``continuous/class/<set>.parquet``; a cell is a depth and a λ. For every set
and cell: the single solve at λ; the path from there on, whose solves carry bounds, trees and the
sorted rows; and the path of solves that know nothing of each other. CPU times are the medians of
the repeats, taken in turns, compilation apart. If two paths have other breakpoints, errors or
splits, the exit code is 1.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # Where `benchmarks` is.

import solver
from benchmarks.quantbnb_in_shards import read_problem
from benchmarks.sweep_overhead import show
from solver import Limits, Problem
from solver.lambda_series import Series
from solver.path.path_search import find_path
from solver.quantbnb import QuantBnB

COLUMNS = (
    "set", "depth", "λ", "solves", "iterations: solve", "path, carrying", "path, without",
    "ms: solve", "path, carrying", "path, without", "carrying / solve", "without / solve",
)  # fmt: skip
SETS = [
    "avila", "bank", "bean", "bidding", "fault", "htru", "magic", "occupancy", "raisin", "room",
    "segment",
]  # fmt: skip


def measure(
    problem: Problem, lam: Fraction, depth: int, repeats: int
) -> tuple[list[Any], list[float]]:
    """The solve, the path, and the path without carrying; and the median CPU seconds of each."""
    limits, own = Limits(depth=depth), QuantBnB()
    ways: list[Callable[[], Any]] = [
        lambda: own.solve(problem, lam, limits),
        lambda: find_path(problem, lam, own.series(problem), limits),
        lambda: find_path(problem, lam, Series(own, problem), limits),
    ]
    seconds: list[list[float]] = [[] for _ in ways]
    for _ in range(repeats):
        found = []
        for way, taken in zip(ways, seconds, strict=True):
            began = time.process_time()
            found.append(way())
            taken.append(time.process_time() - began)
    return found, [statistics.median(taken) for taken in seconds]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("--sets", nargs="+", default=SETS, metavar="NAME")
    parser.add_argument("--cells", nargs="+", default=["2:1/1000", "3:1/200"], metavar="DEPTH:λ")
    parser.add_argument("--repeat", type=int, default=5)
    asked = parser.parse_args(arguments)
    solver.get_solver("quantbnb").warm_up()
    is_right = True
    for cell in asked.cells:
        depth, lam = cell.split(":")
        lines, ratios = list[list[str]](), list[list[float]]()
        for name in asked.sets:
            problem = read_problem(asked.data, name, False)
            found, seconds = measure(problem, Fraction(lam), int(depth), asked.repeat)
            paths = [
                [(step.start, step.errors, step.splits, step.proven) for step in path.steps]
                for path in found[1:]
            ]
            is_right &= paths[0] == paths[1]
            ratios.append([taken / seconds[0] for taken in seconds[1:]])
            lines.append(
                [name, depth, lam, str(found[1].solves)]
                + [f"{one.iterations:,}" for one in found]
                + [f"{1000 * taken:.1f}" for taken in seconds]
                + [f"{ratio:.2f}" for ratio in ratios[-1]]
            )
        means = [statistics.geometric_mean(column) for column in zip(*ratios, strict=True)]
        lines.append(["geometric mean", *[""] * 9, *(f"{mean:.2f}" for mean in means)])
        show(f"λ-paths at depth {depth} from λ = {lam} on", COLUMNS, lines)
    if not is_right:
        print("not all paths are the same", file=sys.stderr)
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
