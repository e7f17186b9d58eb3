"""Quant-BnB in shards: what N workers do in all, and how much each of them, by counts.

Usage: python benchmarks/quantbnb_in_shards.py DATA [--sets NAME ...] [--depth 3] [--shards 2 8]
       python benchmarks/quantbnb_in_shards.py DATA --clock [--sets NAME ...] [--rounds 2]

DATA is a folder with ``continuous/class/<set>.parquet``, and with ``--regression``
``continuous/regress/<set>.parquet``; λ is 0. All shards run here, in turns of
``--slice`` iterations, and hear after each turn of better trees and of what was evaluated at the
root. A shard that is done helps the others. An iteration evaluates a threshold; in regression some
thresholds, and shards hear of better trees only. "work" is the iterations of all shards over those
of the undivided search, "gain" those of the undivided search over those of the shard that has most.
If a number of shards gives another cost than the undivided search, the exit code is 1.

``--clock`` runs sweeps of one task instead, as ``benchmarks/branches_in_shards.py`` does.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # Where `benchmarks` is.

import numpy as np
import pyarrow.parquet as pq

from benchmarks import continuous, regression
from benchmarks.branches_in_shards import by_clock
from benchmarks.sweep_overhead import show
from solver import Limits, Problem
from solver.engine.driver import Engine, cost_scale_of
from solver.engine.tree_constraints import TreeConstraints
from solver.kernels.constants import FULL, PROVEN
from solver.quantbnb.classification.engine import QuantEngine
from solver.quantbnb.classification.shard_engine import QuantShardEngine
from solver.quantbnb.regression.engine import SquaresEngine
from solver.quantbnb.regression.shard_engine import SquaresShardEngine
from solver.search_shards import Shard

SPEC = """
name: clock
datasets: [{{name: {name}, path: {path}, task: {task}, target: {target}, columns: {{split: drop}}}}]
encodings: [continuous]
lambdas: [0]
solvers: [{{solver: quantbnb, shards: {{shards}}}}]
limits: {{depth: {depth}, seconds: 3600}}
"""
COLUMNS = "set", "depth", "iterations, undivided", "shards", "work", "gain"
CLASSIFICATION = ["avila", "htru", "magic", "raisin"]
REGRESSION = ["carbon", "casp", "grid"]


def engines_of(problem: Problem, depth: int, number: int) -> list[Any]:
    """An engine for each shard; 1 is the undivided search."""
    lam = Fraction(0)
    cost_scale: Any = cost_scale_of(problem, lam, max(len(problem.codes) - 1, 0))
    constraints = TreeConstraints.of(problem, lam, Limits(depth=depth))
    whole: Callable[..., Engine] = QuantEngine
    part: Callable[..., Engine] = QuantShardEngine
    parts: tuple[Any, ...] = (
        problem.codes, problem.counts, problem.arities, cost_scale, constraints
    )  # fmt: skip
    if problem.values is not None:
        whole, part = SquaresEngine, SquaresShardEngine
        parts = (
            problem.codes, problem.arities, problem.counts[:, 0], problem.values,
            constraints.depth, cost_scale.split, constraints.min_leaf, cost_scale.slack,
        )  # fmt: skip
    if number == 1:
        return [whole(*parts)]
    return [part(*parts, shard=Shard(i, number)) for i in range(number)]


def divide(problem: Problem, depth: int, number: int, turn: int) -> tuple[list[int], float]:
    """The iterations of each shard, and the cost of the best tree; 1 is the undivided search."""
    engines = engines_of(problem, depth, number)
    best, open_ = min(engine.upper_bound for engine in engines), [*engines]
    while open_:
        open_ = [engine for engine in open_ if not take_turn(engine, turn)]
        for teller in engines:
            told, others = teller.learned(), [other for other in engines if other is not teller]
            if teller.found and teller.upper_bound < best:
                best = teller.upper_bound
                for other in others:
                    other.use(best, problem.grow(teller.shape()), True)
            for other in others if told else ():
                other.learn(told)
    return [engine.iterations for engine in engines], best


def take_turn(engine: Engine, turn: int) -> bool:
    """Let a search go on for so many iterations, then help; whether nothing is left to do."""
    end, is_done = engine.iterations + turn, False
    while not is_done and (left := end - engine.iterations) > 0:
        if engine.lower_bound >= engine.upper_bound:
            is_done = engine.help(left) == PROVEN
        elif engine.step(left, -1) == FULL:
            engine.grow(None)
        engine.propagate_bounds()
    return is_done


def read_problem(data: Path, name: str, is_regression: bool) -> Problem:
    """The problem of a set, whose features are ranks."""
    x, y = (regression.read if is_regression else continuous.read)(data, name)
    codes = np.column_stack([np.unique(column, return_inverse=True)[1] for column in x.T])
    if is_regression:
        return Problem.from_codes(codes, y, task="regression", ordered=True)
    return Problem.from_codes(codes, y, ordered=True)


def spec_of(data: Path, name: str, asked: argparse.Namespace) -> str:
    """The sweep of a set, with ``{shards}`` for their number."""
    task, folder = ("regression", "regress") if asked.regression else ("classification", "class")
    path = (data / f"continuous/{folder}/{name}.parquet").resolve()
    columns = pq.read_schema(path).names
    targets = [column for column in columns if column.startswith("target")]
    target = targets if asked.regression else targets[0]
    return SPEC.format(name=name, path=path, task=task, target=target, depth=asked.depth)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("--regression", action="store_true", help="sets whose targets are numbers")
    parser.add_argument("--sets", nargs="+", help=f"default: {CLASSIFICATION}, {REGRESSION}")
    parser.add_argument("--depth", type=int, default=3)
    parser.add_argument("--shards", type=int, nargs="+", default=[2, 8])
    parser.add_argument("--slice", type=int, default=64, help="iterations of a turn (default 64)")
    parser.add_argument("--clock", action="store_true", help="sweeps on one and on two workers")
    parser.add_argument("--rounds", type=int, default=2, help="pairs of sweeps (default 2)")
    asked = parser.parse_args(arguments)
    sets = asked.sets or (REGRESSION if asked.regression else CLASSIFICATION)
    if asked.clock:
        specs = [(name, "0", spec_of(asked.data, name, asked)) for name in sets]
        return 0 if by_clock(specs, asked.rounds) else 1
    lines, is_right = list[list[str]](), True
    for name in sets:
        problem = read_problem(asked.data, name, asked.regression)
        (whole,), cost = divide(problem, asked.depth, 1, asked.slice)
        same = float(problem.tolerance * problem.total_weight)
        for number in asked.shards:
            counts, found = divide(problem, asked.depth, number, asked.slice)
            is_right &= abs(found - cost) <= same
            figures = f"{sum(counts) / whole:.2f}", f"{whole / max(counts):.2f}"
            lines.append([name, str(asked.depth), f"{whole:,}", str(number), *figures])
    show(f"Turns of {asked.slice} iterations", COLUMNS, lines)
    if not is_right:
        print("not all have the same cost", file=sys.stderr)
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
