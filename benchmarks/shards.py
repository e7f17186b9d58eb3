"""One task in shards: is a search twice as fast on two workers as on one?

Usage: python benchmarks/shards.py [--points 100] [--splits 3] [--rules hyperplane] [--shards 16]

A table of so many points in the plane with two classes that no small tree parts (a wave, and one
label in ten is wrong; made here, the same each time) becomes a sweep of one task. Each round runs
it on one worker and on two, in turns; the ratio of a round is of these two runs. All runs must end
with the same tree, objective and bound, or the exit code is 1.

- "run s" is the whole run: cluster, reading, search, rows on the disk. "task s" is from the start
  of the first shard to the end of the last one.
- "search s" is the sum of the shards' seconds of search, and "implied s" how long a task of these
  very shards takes on as many workers, each taking the next shard when it is free: what is left is
  the sweep's own part. These are by the clock on the wall: other work on the machine is in them.
- "cpu s" is what the workers' processors were at it, which other work does not change as much.
  "free s" is the implied time by this: on cores that nobody else uses.
"""

from __future__ import annotations

import argparse
import heapq
import json
import shutil
import statistics
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import psutil

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # Where `benchmarks` is.

from benchmarks.engine import show
from sweep.clusters import Local
from sweep.engine import run_sweep
from sweep.events import Progress, Silent
from sweep.results import read_results
from sweep.spec import parse_spec

SPEC = """
name: shards
datasets: [{{name: points, path: points.csv, target: class}}]
encodings: [continuous]
lambdas: [{lam}]
solvers: [{{solver: proper, shards: {shards}, options: {{rules: {rules}, splits: {splits}}}}}]
"""

COLUMNS = (
    "round", "workers", "run s", "task s", "search s", "implied s", "cpu s", "free s", "longest s",
)  # fmt: skip
RATIOS = ("round", "run", "task", "implied", "free")


class CpuMeter(Silent):
    """The CPU seconds of the workers while a task is on one of them."""

    def __init__(self) -> None:
        self._first: float | None = None
        self.seconds = 0.0

    def progress(self, progress: Progress) -> None:
        """Read the clocks of all processes below this one."""
        total = 0.0
        for child in psutil.Process().children(recursive=True):
            try:
                times = child.cpu_times()
            except psutil.NoSuchProcess:
                continue
            total += times.user + times.system
        if progress.workers and self._first is None:
            self._first = total
        if self._first is not None:
            self.seconds = max(self.seconds, total - self._first)


@dataclass(frozen=True)
class Run:
    """What a run of the sweep took, in seconds.

    Parameters
    ----------
    workers : int
    whole : float
        All of it.
    task : float
        From the first shard's start to the last one's end.
    shards : tuple of float
        The search of each, in the order in which they were handed out.
    cpu : float
        Of the workers.
    answer : tuple of str
        Tree, objective and bound.
    """

    workers: int
    whole: float
    task: float
    shards: tuple[float, ...]
    cpu: float
    answer: tuple[str, ...]

    @property
    def implied(self) -> float:
        """How long the shards take on so many workers without anything between them."""
        return makespan(self.shards, self.workers)

    @property
    def free(self) -> float:
        """The same by the processors' time, as far as it was spent on searching."""
        return self.implied * min(1.0, self.cpu / sum(self.shards))

    def cells(self) -> list[str]:
        """In the order of the table's columns."""
        total, longest = sum(self.shards), max(self.shards)
        shown = self.whole, self.task, total, self.implied, self.cpu, self.free, longest
        return [str(self.workers), *(f"{value:.2f}" for value in shown)]


def makespan(seconds: Sequence[float], workers: int) -> float:
    """When the last of some pieces of work ends, each begun by the worker that is free first."""
    free = [0.0] * workers
    for one in seconds:
        heapq.heapreplace(free, free[0] + one)
    return max(free)


def points(number: int) -> pd.DataFrame:
    """Points in the plane whose class changes at a wave, one label in ten wrong."""
    draw = np.random.default_rng(8)
    x, y = draw.uniform(0, 10, (2, number)).round(3)
    above = y > 5 + 3 * np.sin(x)
    wrong = draw.random(number) < 0.1
    return pd.DataFrame({"x": x, "y": y, "class": np.where(above ^ wrong, "above", "below")})


def run(text: str, folder: Path, workers: int) -> Run:
    """One run of the sweep on a cluster of its own."""
    meter = CpuMeter()
    out = folder / "out"
    shutil.rmtree(out, ignore_errors=True)
    sweep = parse_spec(text, folder, "shards.yaml")
    outcome = run_sweep(sweep, out, Local(workers=workers), listener=meter)
    (row,) = read_results(out).to_dict("records")
    if row["status"] != "optimal":
        raise SystemExit(f"the task ended as {row['status']}: {row['error']}")
    shards = json.loads(row["extra"] or "{}").get("shard_seconds", [row["seconds"]])
    span = (row["finished"] - row["started"]).total_seconds()
    answer = tuple(row[name] for name in ("tree", "objective_exact", "lower_bound_exact"))
    return Run(workers, outcome.seconds, span, tuple(shards), meter.seconds, answer)


def ratios(one: Run, two: Run) -> list[float]:
    """How many times as fast the second run is, by each clock."""
    return [
        one.whole / two.whole,
        one.task / two.task,
        one.implied / two.implied,
        one.free / two.free,
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--points", type=int, default=100)
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--rules", default="hyperplane")
    parser.add_argument("--shards", type=int, default=16)
    parser.add_argument("--lam", default="0", help="the price of a split (default 0)")
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args(arguments)
    folder = Path(tempfile.mkdtemp(prefix="treesweep-shards-"))
    terms = {name: getattr(asked, name) for name in ("lam", "shards", "rules", "splits")}
    print(f"{psutil.cpu_count(logical=True)} cores, load {psutil.getloadavg()[0]:.1f} before")
    lines, found, answers = [], [], set()
    try:
        points(asked.points).to_csv(folder / "points.csv", index=False)
        for number in range(asked.rounds):
            order = (1, 2) if number % 2 == 0 else (2, 1)
            runs = {n: run(SPEC.format(**terms), folder, n) for n in order}
            lines += [[str(number + 1), *runs[n].cells()] for n in (1, 2)]
            found.append(ratios(runs[1], runs[2]))
            answers |= {one.answer for one in runs.values()}
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    show(f"{asked.points} points, {asked.splits} splits, {asked.shards} shards", COLUMNS, lines)
    medians = [statistics.median(column) for column in zip(*found, strict=True)]
    shown = [[str(i + 1), *(f"{v:.2f}" for v in line)] for i, line in enumerate(found)]
    shown.append(["median", *(f"{v:.2f}" for v in medians)])
    show("One worker's seconds over those of two", RATIOS, shown)
    if len(answers) > 1:
        print("the runs do not have the same tree, objective and bound", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
