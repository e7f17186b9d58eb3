"""How fast the engine is: many tiny tasks, and two workers against one.

Run it with ``python benchmarks/engine.py``; it prints two tables and takes about three minutes.
Options: ``--tasks N``, ``--rounds N``, ``--only tiny|pair``.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psutil

from sweep.clusters import Local
from sweep.engine import run_sweep
from sweep.events import Silent
from sweep.results import read_results
from sweep.spec import parse_spec

TINY = """
name: tiny
datasets: [monks-1]
encodings: [onehot]
lambdas: {{from: 0.5, to: 0.001, count: {count}}}
solvers: [cart]
validation: {{kind: kfold, folds: 5}}
"""

SECOND = """
name: second
datasets: [{dataset}]
encodings: [{encoding}]
lambdas: {{from: {high}, to: {low}, count: {count}}}
solvers: [branches]
"""


def tiny(n_tasks: int, folder: Path) -> tuple[list[str], list[list[str]]]:
    """Seconds for many tasks of about a millisecond, Parquet included."""
    sweep = parse_spec(TINY.format(count=n_tasks // 5), name="tiny.yaml")
    began = time.perf_counter()
    outcome = run_sweep(sweep, folder / "tiny", Local(workers=2))
    seconds = time.perf_counter() - began
    rows = read_results(folder / "tiny")
    assert len(rows) == outcome.total == n_tasks, (len(rows), outcome)
    searched = rows["seconds"].sum()
    line = [f"{n_tasks}", f"{seconds:.1f}", f"{1e3 * seconds / n_tasks:.2f}", f"{searched:.1f}"]
    return ["tasks", "seconds", "ms a task", "of it search (s, 2 workers)"], [line]


class CpuMeter(Silent):
    """The workers' CPU seconds at each finished row."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    def finished(self, row: dict[str, Any]) -> None:
        """Read the clocks of all processes below this one."""
        times = [child.cpu_times() for child in psutil.Process().children(recursive=True)]
        self.seconds.append(sum(t.user + t.system for t in times))

    @property
    def per_task(self) -> float:
        """CPU seconds a task, between the first row and the last."""
        return (self.seconds[-1] - self.seconds[0]) / (len(self.seconds) - 1)


def pair(rounds: int, folder: Path) -> tuple[list[str], list[list[str]]]:
    """Throughput of two workers against one, on tasks of about a second.

    The measured ratio needs two cores that nobody else uses. The last column does not: it is what
    the ratio would be then, from the share of time that workers are busy and the CPU a task takes.
    """
    text = SECOND.format(dataset="nursery", encoding="onehot", high="0.012", low="0.008", count=24)
    sweep = parse_spec(text, name="second.yaml")
    lines = []
    for number in range(rounds):
        rates, busy, cpu = [], [], []
        for workers in (1, 2):
            out, meter = folder / f"pair-{number}-{workers}", CpuMeter()
            run_sweep(sweep, out, Local(workers=workers), listener=meter)
            rows = read_results(out)
            # From the first start to the last end: without the start of the workers.
            span = (rows["finished"].max() - rows["started"].min()).total_seconds()
            own = (rows["finished"] - rows["started"]).dt.total_seconds().sum()
            rates.append(len(rows) / span)
            busy.append(own / (span * workers))
            cpu.append(meter.per_task)
        expected = 2 * busy[1] / busy[0] * cpu[0] / cpu[1]
        shown = [*cpu, *busy, *rates, rates[1] / rates[0], expected]
        lines.append([str(number + 1), *(f"{value:.2f}" for value in shown)])
    header = ["round", "CPU s a task, 1", "2", "busy, 1", "2", "tasks/s, 1", "2", "ratio"]
    return [*header, "ratio on free cores"], lines


def show(title: str, header: Sequence[str], lines: Sequence[Sequence[str]]) -> None:
    """Print a Markdown table."""
    print(f"\n{title}\n")
    print("| " + " | ".join(header) + " |")
    print("|" + "---|" * len(header))
    for line in lines:
        print("| " + " | ".join(line) + " |", flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--only", choices=["tiny", "pair"])
    options = parser.parse_args(arguments)
    folder = Path(tempfile.mkdtemp(prefix="treesweep-engine-"))
    print(f"{psutil.cpu_count(logical=True)} cores, load {psutil.getloadavg()[0]:.1f} before")
    try:
        if options.only != "pair":
            show("Tiny tasks on two workers", *tiny(options.tasks, folder))
        if options.only != "tiny":
            show("Two workers against one", *pair(options.rounds, folder))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
