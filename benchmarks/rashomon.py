"""All trees within 5 % of the optimum: treesweep beside tree-praxis, case by case in turns.

Usage: python benchmarks/rashomon.py DATA [--cases compas-binary:35:6 ...] [--seconds 120] [--peer]

DATA is a folder with ``binary/`` and ``encoded/``. A case is a table, λ·n and a limit on depth, or
``-`` for none. The tolerance is a share of the objective with a price for each leaf, as
tree-praxis has it, and its counts are those of trees whose leaves predict a majority class.
``--peer`` runs tree-praxis (``pip install tree-praxis``) after each case, in the mode that is
exact. Times are seconds of CPU without compilation; ours include the search for the optimum.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # Where `benchmarks` is.

import solver
from benchmarks.harness import choose_core
from benchmarks.problem_tables import Table, read_table

CASES = (
    "compas-binary:35:4", "compas-binary:35:6", "tic-tac-toe-f:10:4", "tic-tac-toe-f:10:6",
    "nursery-f:130:4", "nursery-f:130:6", "heart-cleveland:6:4", "heart-cleveland:6:6",
    "mushroom-f:162:4", "mushroom-f:162:6", "compas-binary:14:6",
)  # fmt: skip
_SHARE = Fraction(105, 100)
_PEER = """
import sys, time, numpy, praxis
table = numpy.load(sys.argv[1])
model, began = praxis.PRAXIS(), time.process_time()
depth = int(sys.argv[3])
model.fit(table["codes"], table["labels"], lambda_reg=float(sys.argv[2]), depth_budget=depth,
          rashomon_mult=0.05, lookahead_k=depth - 1, majority_leaf_only=True)
print("counted", model.count_trees(), time.process_time() - began)
"""


def load(data: Path, name: str) -> Table:
    """A table of binary features."""
    folder = data / ("encoded" if name.endswith(("-f", "-full", "-l", "-o")) else "binary")
    return read_table(folder / f"{name}.parquet")


def ours(problem: solver.Problem, whole: int, limits: solver.Limits) -> tuple[str, float]:
    """The number of trees, or why it is not known; and seconds of CPU."""
    n = problem.total_weight
    lam, began = Fraction(whole, n), time.process_time()
    try:
        best = solver.rashomon_set(problem, lam, 0, limits=limits).optimum + lam
        most = Fraction(int(best * n * _SHARE + Fraction(1, 2)), n)  # as tree-praxis rounds
        began = time.process_time()
        found = solver.rashomon_set(problem, lam, most - best, "objective", limits=limits)
    except solver.InputError as error:
        return str(error), time.process_time() - began
    return str(found.n_trees), time.process_time() - began


def peer(table: Table, whole: int, depth: str, seconds: float) -> tuple[str, float]:
    """The same of tree-praxis, in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.npz"
        np.savez(path, codes=table.codes.astype(np.uint8), labels=table.labels)
        price = str(whole / table.n_rows)
        command = [sys.executable, "-c", _PEER, str(path), price, depth]
        try:
            out = subprocess.run(
                command, capture_output=True, text=True, timeout=seconds, check=True
            )
        except subprocess.TimeoutExpired:
            return f"over {seconds:g} s", seconds
    _, trees, took = next(line.split() for line in out.stdout.splitlines() if "counted" in line)
    return trees, float(took)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("data", type=Path)
    add("--cases", nargs="+", default=CASES, metavar="TABLE:λ·n:DEPTH")
    add("--seconds", type=float, default=120.0, help="for each case (default 120)")
    add("--peer", action="store_true", help="run tree-praxis as well")
    add("--core", type=int, help="the core to pin the work to (default: the last)")
    given = parser.parse_args(arguments)
    os.sched_setaffinity(0, {choose_core(given.core)})
    small = solver.Problem.from_codes([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0])
    solver.rashomon_set(small, "0.01")  # compiles
    print("| case | good trees | s | MiB so far | tree-praxis | s |\n|" + " --- |" * 6)
    for case in given.cases:
        name, whole, depth = case.split(":")
        table = load(given.data, name)
        problem = solver.Problem.from_codes(table.codes, table.labels)
        limits = solver.Limits(depth=None if depth == "-" else int(depth), seconds=given.seconds)
        trees, took = ours(problem, int(whole), limits)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 2**10
        other = ("", "")
        if given.peer and depth != "-":
            theirs, seconds = peer(table, int(whole), depth, given.seconds)
            other = theirs, f"{seconds:.2f}"
        print(f"| {case} | {trees} | {took:.2f} | {peak} | {other[0]} | {other[1]} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
