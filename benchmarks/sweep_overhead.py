"""How fast the engine is: very many tiny tasks, and two workers against one.

``python benchmarks/sweep_overhead.py --tasks N`` sweeps N tasks that take a fraction of a
millisecond each and ends with the line ``tasks=N seconds=… ms_per_task=… peak_mb=…``: seconds are
those of the whole run, workers' start and rows in Parquet included; peak_mb is the most memory that
driver and scheduler (one process) had. With ``--resume``, one per cent of the rows is then removed
and the sweep resumed; the line before the last says when its first task started. ``--pair``
compares two workers with one on tasks of about a second.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import psutil
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet

from sweep.clusters import Local
from sweep.events import Silent
from sweep.graph.engine import run_sweep
from sweep.spec.spec import parse_spec
from sweep.store.part_files import Parts
from sweep.store.read_results import read_results
from sweep.store.task_key_index import COLUMNS as INDEX
from sweep.store.task_key_index import Index

TINY = """
name: tiny
datasets: [monks-1, monks-2, monks-3]
encodings: [onehot, categorical]
lambdas: {{from: 0.9, to: 0.3, count: {count}}}
solvers: [branches]
validation: {{kind: kfold, folds: {folds}}}
"""

SECOND = """
name: second
datasets: [{dataset}]
encodings: [{encoding}]
lambdas: {{from: {high}, to: {low}, count: {count}}}
solvers: [branches]
"""


def tiny_spec(n_tasks: int) -> str:
    """A sweep of ``tasks`` tiny tasks: three datasets, two encodings, folds, λ."""
    folds = 5 if n_tasks < 100_000 else 50
    count, rest = divmod(n_tasks, 6 * folds)
    if rest or count < 2:
        raise SystemExit(f"--tasks must be a multiple of {6 * folds}, and at least twice that")
    return TINY.format(count=count, folds=folds)


class Memory:
    """The largest resident memory of this process while it is open."""

    def __enter__(self) -> Memory:
        self.peak, self._done = 0, threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        process = psutil.Process()
        while not self._done.wait(0.1):
            self.peak = max(self.peak, process.memory_info().rss)


def tiny(n_tasks: int, folder: Path, workers: int) -> str:
    """Sweep many tiny tasks."""
    sweep = parse_spec(tiny_spec(n_tasks), name="tiny.yaml")
    began = time.perf_counter()
    first = FirstRow()
    with Memory() as memory:
        outcome = run_sweep(sweep, folder / "tiny", Local(workers=workers), listener=first)
    seconds = time.perf_counter() - began
    assert first.at is not None
    stored = Parts(folder / "tiny").read(["key", "status", "seconds"])
    assert len(stored) == pc.count_distinct(stored["key"]).as_py() == outcome.total == n_tasks
    assert pc.all(pc.equal(stored["status"], "optimal")).as_py()
    parts = Parts(folder / "tiny")
    size = sum(parts.folder.size(name) for name in parts.names())
    print(
        f"{workers} workers, {n_tasks} rows in {len(parts.names())} files of "
        f"{size / 2**20:.0f} MiB; the first row came after {first.at - began:.1f} s, and the "
        f"searches alone took {pc.sum(stored['seconds']).as_py():.1f} s"
    )
    return (
        f"tasks={n_tasks} seconds={seconds:.1f} ms_per_task={1e3 * seconds / n_tasks:.3f} "
        f"peak_mb={memory.peak / 1e6:.0f}"
    )


class FirstRow(Silent):
    """When the first row came."""

    def __init__(self) -> None:
        self.at: float | None = None

    def finished(self, rows: pa.RecordBatch) -> None:
        """Remember the first time."""
        self.at = self.at or time.perf_counter()


def resume(folder: Path, workers: int) -> str:
    """Remove one row in a hundred and resume."""
    parts = Parts(folder / "tiny")
    removed = 0
    for name in parts.names():
        path = folder / "tiny" / name
        table = pa.parquet.read_table(path)
        kept = table.filter(pa.array([i % 100 != 50 for i in range(len(table))]))
        removed += len(table) - len(kept)
        pa.parquet.write_table(kept, path, compression="zstd", write_page_checksum=True)
    sweep, first = (
        parse_spec(tiny_spec(len(Index(parts.read(INDEX))) + removed), name="t"),
        FirstRow(),
    )
    began = time.perf_counter()
    with Memory() as memory:
        outcome = run_sweep(sweep, folder / "tiny", Local(workers=workers), listener=first)
    assert outcome.ran == removed
    assert first.at is not None
    return (
        f"resumed={outcome.answered} left={removed} first_row_after={first.at - began:.1f} "
        f"seconds={time.perf_counter() - began:.1f} peak_mb={memory.peak / 1e6:.0f}"
    )


class CpuMeter(Silent):
    """The workers' CPU seconds whenever rows are finished."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.rows = [0]

    def finished(self, rows: pa.RecordBatch) -> None:
        """Read the clocks of all processes below this one."""
        times = [child.cpu_times() for child in psutil.Process().children(recursive=True)]
        self.seconds.append(sum(t.user + t.system for t in times))
        self.rows.append(self.rows[-1] + len(rows))

    @property
    def per_task(self) -> float:
        """CPU seconds a task, between the first row and the last."""
        return (self.seconds[-1] - self.seconds[0]) / (self.rows[-1] - self.rows[1])


def pair(rounds: int, folder: Path) -> tuple[list[str], list[list[str]]]:
    """Throughput of two workers against one, on tasks of about a second.

    The measured ratio needs two cores that nobody else uses. The last column does not: it is what
    the ratio would be then, from the share of time that workers are busy and the CPU a task takes.
    """
    text = SECOND.format(dataset="nursery", encoding="onehot", high="0.007", low="0.006", count=40)
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
    parser.add_argument(
        "--tasks", type=int, default=10_020, help="a multiple of 30; 300 from 10^5 on"
    )
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--pair", action="store_true")
    parser.add_argument("--rounds", type=int, default=2)
    options = parser.parse_args(arguments)
    folder = Path(tempfile.mkdtemp(prefix="treesweep-engine-"))
    print(f"{psutil.cpu_count(logical=True)} cores, load {psutil.getloadavg()[0]:.1f} before")
    try:
        if options.pair:
            show("Two workers against one", *pair(options.rounds, folder))
            return 0
        line = tiny(options.tasks, folder, options.workers)
        if options.resume:
            print(resume(folder, options.workers))
        print(line)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
