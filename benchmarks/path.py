"""The exact λ-path against grids of single solves, on the 32 rows published with BRANCHES.

Usage: python benchmarks/path.py DATA [--grids 10 100 1000] [--seconds 60] [--repeat 3] [--out OUT]

DATA is a folder with ``published-branches.csv`` and ``encoded/<dataset>-<encoding>.parquet``. For
every row: the single solve at the row's λ; the whole path from that λ on; and, for each size of
grid, so many single solves at λ spaced evenly on a logarithmic scale from there to the loss of the
tree without a split, beyond which nothing happens. All are timed by the clock on one pinned core,
compilation apart, one after the other; of single solve and path the best of the repeats counts. A
grid that has used up its seconds is cut short: its time is then that of the part, times the share
that was left out, and marked ≥ for smaller λ take longer and come first. At every λ of the largest
grid the path's objective is held against the single solve's, and the lines that a grid finds
against those of the path. Writes OUT/path.parquet and OUT/path.md.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # Where `benchmarks` is.

import solver
from benchmarks.harness import choose_core
from benchmarks.published import published_rows
from benchmarks.row_store import describe_machine

Result = TypeVar("Result")


def timed(what: Callable[[], Result], repeats: int) -> tuple[float, Result]:
    """Least seconds by the clock, and the last result."""
    seconds = []
    for _ in range(repeats):
        began = time.perf_counter()
        result = what()
        seconds.append(time.perf_counter() - began)
    return min(seconds), result


def grid(first: Fraction, last: Fraction, count: int) -> list[Fraction]:
    """λ on a logarithmic scale, the smallest first, as short decimals."""
    values = np.geomspace(float(first), float(max(last, first * 2)), count)
    return [first, *(Fraction(f"{value:.6g}") for value in values[1:])]


def walk(
    problem: solver.Problem, lams: list[Fraction], seconds: float
) -> tuple[float, list[tuple[Fraction, solver.Solution]]]:
    """Single solves at the λ of a grid, as many as there is time for."""
    began, found = time.perf_counter(), []
    for lam in lams:
        found.append((lam, solver.solve(problem, lam)))
        if time.perf_counter() - began > seconds:
            break
    return time.perf_counter() - began, found


def measure(
    name: str, text: str, problem: solver.Problem, given: argparse.Namespace
) -> dict[str, Any]:
    """One line of the table; ``text`` is λ as published."""
    lam = Fraction(text)
    single, solution = timed(lambda: solver.solve(problem, lam), 1)
    repeats = given.repeat if single < 1 else 1
    if repeats > 1:
        single, solution = timed(lambda: solver.solve(problem, lam), repeats)
    seconds, path = timed(lambda: solver.regularization_path(problem, lam), repeats)
    line = {
        "row": name,
        "lam": text,
        "single": single,
        "path": seconds,
        "ratio": seconds / single,
        "steps": len(path.steps),
        "solves": path.solves,
        "status": path.status.value,
        "iterations": path.iterations / max(solution.iterations, 1),
        "nodes": path.nodes / max(solution.nodes, 1),
    }
    wrong = checked = 0
    for count in given.grids:
        lams = grid(lam, path.lams[-1] * 2, count)
        took, found = walk(problem, lams, given.seconds)
        whole = len(found) == len(lams)
        line[f"grid {count}"] = took if whole else took * count / len(found)
        line[f"grid {count} whole"] = whole
        lines = {(s.errors, s.splits) for _, s in found}
        known = {(step.errors, step.splits) for step in path.steps}
        line[f"grid {count} steps"] = len(lines & known)
        checked += len(found)
        wrong += sum(path.objective_at(at) != s.objective for at, s in found)
    return {**line, "checked": checked, "wrong": wrong}


def show(line: dict[str, Any], grids: Sequence[int]) -> str:
    """A line of Markdown."""
    texts = [line["row"], line["lam"], f"{line['single'] * 1e3:.2f}", f"{line['path'] * 1e3:.2f}"]
    texts += [f"{line['ratio']:.2f}", str(line["steps"]), str(line["solves"])]
    for count in grids:
        mark = "" if line[f"grid {count} whole"] else "≥ "
        ratio = line[f"grid {count}"] / line["path"]
        texts.append(f"{mark}{ratio:.1f} ({line[f'grid {count} steps']})")
    return "| " + " | ".join([*texts, f"{line['wrong']} of {line['checked']}"]) + " |"


def summary(lines: list[dict[str, Any]]) -> str:
    """What the table comes to."""
    mean = statistics.geometric_mean(line["ratio"] for line in lines)
    work = statistics.geometric_mean(max(line["iterations"], 1.0) for line in lines)
    proven = sum(line["status"] == "optimal" for line in lines)
    total = sum(line["path"] for line in lines) / sum(line["single"] for line in lines)
    wrong, checked = (sum(line[name] for line in lines) for name in ("wrong", "checked"))
    return (
        f"{proven} of {len(lines)} paths proven. Path / single solve: geometric mean {mean:.2f}, "
        f"largest {max(line['ratio'] for line in lines):.2f}, of the sums {total:.2f}; of their "
        f"iterations {work:.2f}. "
        f"Objectives of {checked} grid points that differ from the path's: {wrong}."
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("data", type=Path)
    add("--grids", type=int, nargs="+", default=[10, 100, 1000], metavar="COUNT")
    add("--seconds", type=float, default=60.0, help="for each grid (default 60)")
    add("--repeat", type=int, default=3)
    add("--only", nargs="+", default=[], metavar="ROW", help="e.g. car-full")
    add("--core", type=int, help="the core to pin the work to (default: the last)")
    add("--out", type=Path, default=Path("results/path"))
    given = parser.parse_args(arguments)
    os.sched_setaffinity(0, {choose_core(given.core)})
    solver.get_solver("branches").warm_up()
    columns = ["row", "λ", "single ms", "path ms", "path / single", "steps", "solves"]
    columns += [f"grid {count} / path (steps)" for count in given.grids] + ["wrong"]
    text = ["| " + " | ".join(columns) + " |", "|" + " --- |" * len(columns)]
    print("\n".join(text))
    lines = []
    for name, row, problem in published_rows(given.data, given.only):
        lines.append(measure(name, row.lam, problem, given))
        text.append(show(lines[-1], given.grids))
        print(text[-1], flush=True)
    machine = ", ".join(f"{name} {value}" for name, value in describe_machine().items())
    text += ["", summary(lines), "", machine]
    print("\n".join(text[-4:]))
    given.out.mkdir(parents=True, exist_ok=True)
    pd.DataFrame(lines).to_parquet(given.out / "path.parquet")
    (given.out / "path.md").write_text("\n".join(text) + "\n", encoding="utf-8")
    return 1 if any(line["wrong"] for line in lines) else 0


if __name__ == "__main__":
    sys.exit(main())
