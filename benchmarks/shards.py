"""One task in shards: is a search twice as fast on two workers as undivided on one?

Usage: python benchmarks/shards.py [--points 400] [--splits 3] [--rules hyperplane] [--shards 2]

A table of so many points in the plane with two classes that no small tree parts (a wave, and one
label in ten is wrong; made here, the same each time).

*On free cores*: every shard is solved here, one after the other, and the time that the processor
was at it is counted, which other work on the machine hardly changes. From these follows when the
last shard ends on one worker and on two, if nothing else takes time: each begins when a worker is
free, with the best tree of those that have ended by then. "undivided" is the search without shards.
Here running shards do not hear of each other.

*Measured*: sweeps of one task, undivided on one worker and in shards on two, in turns, by the
clock on the wall. "run s" is the whole run: cluster, reading, search, rows on the disk. "task s" is
from the start of the first shard to the end of the last one, what a new worker loads included.
"search s" is the sum of the shards' seconds of search. Other work on the machine is in all of them,
but not in the nodes: these are the work.

*Both cores*: two undivided searches at once, of the same points in another order, each on a worker
of its own. How much longer a node takes then is what the machine itself costs, and two workers
cannot be more than 2 divided by that as fast as one.

All must end with the same objective, splits and bound, or the exit code is 1.
"""

from __future__ import annotations

import argparse
import heapq
import json
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import psutil

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # Where `benchmarks` is.

from benchmarks.sweep_overhead import show
from solver import Problem
from solver.base import Solver
from solver.catalogue import get_solver
from solver.limits import Limits
from solver.search_shards import Shard, merge
from solver.solution import Solution
from solver.trees.tree import Tree
from sweep.clusters import Local
from sweep.graph.engine import run_sweep
from sweep.spec.spec import parse_spec
from sweep.store.read_results import read_results

SPEC = """
name: shards
datasets: [{{name: points, path: points.csv, target: class}}]
encodings: [continuous]
lambdas: [{lam}]
solvers: [{{solver: proper, shards: {shards}, options: {{rules: {rules}}}}}]
limits: {{seconds: 3600, splits: {splits}}}
"""
BOTH = """
name: both
datasets:
  - {{name: points, path: points.csv, target: class}}
  - {{name: turned, path: turned.csv, target: class}}
encodings: [continuous]
lambdas: [{lam}]
solvers: [{{solver: proper, options: {{rules: {rules}}}}}]
limits: {{seconds: 3600, splits: {splits}}}
"""

FREE = ("shards", "rounds", "search s", "one worker s", "two s", "one / two", "undivided / two")
MEASURED = ("shards", "round", "workers", "run s", "task s", "search s", "longest s", "nodes")
TWO = ("round", "ms a node, one search", "two at once", "ratio", "two workers at most")
RATIOS = ("shards", "round", "run", "task", "nodes of both / undivided")

Answer = tuple[str, ...]


@dataclass(frozen=True)
class Run:
    """What a run of the sweep took, in seconds.

    Parameters
    ----------
    whole : float
        All of it.
    task : float
        From the first shard's start to the last one's end.
    shards : tuple of float
        The search of each, in their order.
    nodes : int
        Of all shards together.
    answer : tuple of str
        Splits, objective and bound.
    """

    whole: float
    task: float
    shards: tuple[float, ...]
    nodes: int
    answer: Answer


@dataclass(frozen=True)
class Ended:
    """A shard that has ended."""

    at: float
    solution: Solution


def schedule(
    solve: Callable[[int, Tree | None], tuple[Solution, float]], shards: int, workers: int
) -> tuple[list[Solution], list[float], float]:
    """Solve shards as so many workers would, each on a core of its own.

    Parameters
    ----------
    solve : callable
        Of a shard's number and the tree that it begins with: its solution, and the seconds taken.

    Returns
    -------
    solutions, seconds : list
        Of each shard.
    end : float
        When the last one ends.
    """
    free, ended, seconds = [0.0] * workers, list[Ended](), list[float]()
    for index in range(shards):
        known = [one.solution for one in ended if one.at <= free[0]]
        best = min(known, key=lambda s: (s.objective, s.splits), default=None)
        solution, took = solve(index, None if best is None else best.tree)
        ended.append(Ended(free[0] + took, solution))
        seconds.append(took)
        heapq.heapreplace(free, free[0] + took)
    return [one.solution for one in ended], seconds, max(free)


class FreeCores:
    """Searches in this process, by the processor's time.

    Parameters
    ----------
    table : DataFrame
    lam : str
    rules : str
        What a split may be.
    splits : int
        Most splits of a tree.
    """

    def __init__(self, table: pd.DataFrame, lam: str, rules: str, splits: int) -> None:
        self.problem = Problem.from_table(table, "class", "continuous")
        self.lam, self.limits = Fraction(lam), Limits(splits=splits)
        self.solver = get_solver("proper")(rules=rules)
        self.solver.warm_up()
        self.answers: set[Answer] = set()

    def _solve(self, solver: Solver, initial_tree: Tree | None) -> tuple[Solution, float]:
        began = time.process_time()
        solution = solver.solve(self.problem, self.lam, self.limits, initial_tree=initial_tree)
        return solution, time.process_time() - began

    def undivided(self) -> float:
        """Seconds of the whole search."""
        solution, seconds = self._solve(self.solver, None)
        self._see(solution)
        return seconds

    def divided(self, shards: int, workers: int) -> tuple[float, float]:
        """Seconds of all shards together, and until the last one ends."""

        def solve(index: int, initial_tree: Tree | None) -> tuple[Solution, float]:
            return self._solve(self.solver.part(Shard(index, shards)), initial_tree)

        solutions, seconds, end = schedule(solve, shards, workers)
        self._see(merge(solutions))
        return sum(seconds), end

    def _see(self, found: Solution) -> None:
        self.answers.add((str(found.splits), str(found.objective), str(found.lower_bound)))

    def compare(self, numbers: Sequence[int], rounds: int) -> list[list[str]]:
        """A line for each number of shards: the medians of some rounds."""
        lines = []
        for shards in numbers:
            found = []
            for _ in range(rounds):
                whole = self.undivided()
                _, one = self.divided(shards, 1)
                total, two = self.divided(shards, 2)
                found.append((total, one, two, one / two, whole / two))
            medians = (statistics.median(column) for column in zip(*found, strict=True))
            lines.append([str(shards), str(rounds), *(f"{value:.2f}" for value in medians)])
        return lines


def points(number: int) -> pd.DataFrame:
    """Points in the plane whose class changes at a wave, one label in ten wrong."""
    draw = np.random.default_rng(8)
    x, y = draw.uniform(0, 10, (2, number)).round(3)
    above = y > 5 + 3 * np.sin(x)
    wrong = draw.random(number) < 0.1
    return pd.DataFrame({"x": x, "y": y, "class": np.where(above ^ wrong, "above", "below")})


def run(text: str, folder: Path, workers: int) -> Run:
    """One run of the sweep on a cluster of its own."""
    out = folder / "out"
    shutil.rmtree(out, ignore_errors=True)
    outcome = run_sweep(parse_spec(text, folder, "shards.yaml"), out, Local(workers=workers))
    (row,) = read_results(out).to_dict("records")
    if row["status"] != "optimal":
        raise SystemExit(f"the task ended as {row['status']}: {row['error']}")
    extra = json.loads(row["extra"]) if isinstance(row["extra"], str) else {}
    shards = extra.get("shard_seconds", [row["seconds"]])
    span = (row["finished"] - row["started"]).total_seconds()
    answer = tuple(str(row[name]) for name in ("splits", "objective_exact", "lower_bound_exact"))
    return Run(outcome.seconds, span, tuple(shards), row["nodes"], answer)


def measure(
    terms: dict[str, Any], folder: Path, rounds: int
) -> tuple[list[list[str]], list[list[str]], set[Answer]]:
    """Runs undivided on one worker and divided on two, in turns: lines, ratios, and answers."""
    lines, ratios, answers = [], [], set()
    for number in range(rounds):
        order = (1, 2) if number % 2 == 0 else (2, 1)
        texts = {1: SPEC.format(**{**terms, "shards": 1}), 2: SPEC.format(**terms)}
        runs = {workers: run(texts[workers], folder, workers) for workers in order}
        named = [str(terms["shards"]), str(number + 1)]
        for workers in (1, 2):
            one = runs[workers]
            shown = one.whole, one.task, sum(one.shards), max(one.shards)
            figures = [f"{value:.2f}" for value in shown]
            lines.append([*named, str(workers), *figures, str(one.nodes)])
        faster = runs[1].whole / runs[2].whole, runs[1].task / runs[2].task
        faster = *faster, runs[2].nodes / runs[1].nodes
        ratios.append([*named, *(f"{value:.2f}" for value in faster)])
        answers |= {one.answer for one in runs.values()}
    return lines, ratios, answers


def both_cores(terms: dict[str, Any], folder: Path, rounds: int) -> list[list[str]]:
    """What a node takes if one search runs, and if two run at once."""
    lines, one = list[list[str]](), folder / "one"
    for number in range(rounds):
        found = []
        for text in (SPEC.format(**{**terms, "shards": 1}), BOTH.format(**terms)):
            shutil.rmtree(one, ignore_errors=True)
            run_sweep(parse_spec(text, folder, "both.yaml"), one, Local(workers=2))
            rows = read_results(one)
            found.append(1e3 * rows["seconds"].sum() / rows["nodes"].sum())
        ratio = found[1] / found[0]
        figures = *(f"{value:.3f}" for value in found), f"{ratio:.2f}", f"{2 / ratio:.2f}"
        lines.append([str(number + 1), *figures])
    return lines


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--points", type=int, default=400)
    add("--splits", type=int, default=3)
    add("--rules", default="hyperplane")
    add("--shards", type=int, nargs="+", default=[2], help="numbers of shards")
    add("--lam", default="0", help="the price of a split (default 0)")
    add("--rounds", type=int, default=3)
    add("--free-only", action="store_true", help="leave the sweeps out")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what is asked for."""
    asked = parse(arguments)
    table = points(asked.points)
    print(f"{psutil.cpu_count(logical=True)} cores, load {psutil.getloadavg()[0]:.1f} before")
    print(f"{asked.points} points, {asked.rules}, {asked.splits} splits")
    free = FreeCores(table, asked.lam, asked.rules, asked.splits)
    show("On free cores", FREE, free.compare(asked.shards, asked.rounds))
    answers = free.answers
    if not asked.free_only:
        folder = Path(tempfile.mkdtemp(prefix="treesweep-shards-"))
        lines, ratios = list[list[str]](), list[list[str]]()
        both = list[list[str]]()
        try:
            table.to_csv(folder / "points.csv", index=False)
            table[::-1].to_csv(folder / "turned.csv", index=False)
            for shards in asked.shards:
                terms = {
                    "rules": asked.rules, "splits": asked.splits, "lam": asked.lam,
                    "shards": shards,
                }  # fmt: skip
                more, faster, given = measure(terms, folder, asked.rounds)
                lines, ratios, answers = lines + more, ratios + faster, answers | given
                both = both or both_cores(terms, folder, asked.rounds)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        show("Measured", MEASURED, lines)
        show("Undivided over divided on two workers", RATIOS, ratios)
        show("Both cores", TWO, both)
    if len(answers) > 1:
        print("not all have the same objective, splits and bound", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
