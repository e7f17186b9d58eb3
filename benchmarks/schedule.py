"""How well Dask fills the workers, and what a killed worker costs; on tasks that only sleep.

Usage: python benchmarks/schedule.py [--mixed] [--kill] [--every 5] [--workers 4] [--rounds 3]

Tasks sleep and so need few cores: the schedule is measured, if the machine has time for the rest.

``--mixed``: eight tasks of 20 s and 4,000 of 10 ms, the long ones at the least λ, where they are
expected, and once more at λ in the middle, where nobody expects them. The makespan is from the
first start to the last end of a task; the lower bound is the longest task or all work over the
workers.

``--kill``: 10,020 tasks of 10 ms while a worker is killed every few seconds. A task has run again
for each start beyond its first. A worker takes seconds to start: on two cores, no worker lives long
enough to work if one of four is killed every second.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar

import dask
import psutil
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # Where `benchmarks` is.

import treesweep
from benchmarks.sweep_overhead import show
from solver.base import Capabilities, Solver
from solver.limits import Limits
from solver.monitor import Monitor
from solver.objective.exact_objective import objective
from solver.problem.problem import Problem
from solver.solution import Solution, Status
from solver.trees.tree import Tree
from sweep.clusters import Local
from sweep.graph.engine import run_sweep
from sweep.spec.spec import parse_spec
from sweep.store.read_results import read_results

STARTS = "TREESWEEP_BENCHMARK_STARTS"
"""Names a file to which each start of a task adds a byte."""

LONG, SHORT = 20.0, 0.01
N_LONG, N_SHORT = 8, 4_000
N_KILLED = 10_020
_LEAST = 5 * 10**7  # Tasks at λ above one over the number of rows are run in the order of λ.

SPEC = (
    "name: {name}\ndatasets: [monks-1]\nencodings: [onehot]\nsolvers: [sleeper]\nlambdas: {lams}\n"
)


class Sleeper(Solver):
    """Sleeps, and gives the tree without a split."""

    name: ClassVar[str] = "sleeper"
    version: ClassVar[str] = "1"
    summary: ClassVar[str] = "for benchmarks"
    capabilities: ClassVar[Capabilities] = Capabilities(frozenset({"binary", "categorical"}))

    def _solve(
        self,
        problem: Problem,
        lam: Fraction,
        limits: Limits,
        initial_tree: Tree | None,
        monitor: Monitor,
        state: Mapping[str, NDArray[Any]] | None,
    ) -> Solution:
        if STARTS in os.environ:
            with open(os.environ[STARTS], "ab") as starts:
                starts.write(b".")
        seconds = LONG if is_long(lam) else SHORT
        time.sleep(seconds)
        tree = problem.grow(-1)
        return Solution(
            tree=tree,
            status=Status.HEURISTIC,
            lam=lam,
            objective=objective(tree.errors, 0, problem.total_weight, lam),
            lower_bound=None,
            errors=tree.errors,
            total_weight=problem.total_weight,
            seconds=seconds,
            solver=self.name,
            version=self.version,
        )


def is_long(lam: Fraction) -> bool:
    """Whether a task at this λ takes long: its λ is odd in units of 10⁻⁹."""
    return (lam * 10**9).numerator % 2 == 1


def dask_setup(worker: Any) -> None:
    """Called by Dask in each worker, which loads this module as ``distributed.worker.preload``."""
    treesweep.SOLVERS.setdefault(Sleeper.name, Sleeper)


def spec(name: str, n_short: int, long_at: float) -> str:
    """A sweep of short tasks and of the long ones, which begin at a share of the λ."""
    units = [2 * (_LEAST + i) for i in range(n_short)]
    place = round(long_at * n_short)
    units += [2 * (_LEAST + place + i) + 1 for i in range(N_LONG if long_at >= 0 else 0)]
    return SPEC.format(name=name, lams=[f"{unit}e-9" for unit in units])


def mixed(rounds: int, workers: int, folder: Path) -> list[list[str]]:
    """Makespans against the lower bound, the long tasks where they are expected and where not."""
    bound = max(LONG, (N_LONG * LONG + N_SHORT * SHORT) / workers)
    lines = []
    for number in range(rounds):
        for words, place in (("least λ", 0.0), ("amid the others", 0.5)):
            out = folder / f"mixed-{number}-{place}"
            run_sweep(parse_spec(spec("mixed", N_SHORT, place)), out, Local(workers=workers))
            rows = read_results(out)
            assert len(rows) == N_LONG + N_SHORT == (rows["status"] == "heuristic").sum()
            span = (rows["finished"].max() - rows["started"].min()).total_seconds()
            figures = f"{span:.1f}", f"{bound:.1f}", f"{span / bound:.2f}"
            lines.append([words, str(number + 1), str(workers), *figures])
    return lines


class Killer(threading.Thread):
    """Kills a worker every so many seconds."""

    def __init__(self, every: float) -> None:
        super().__init__(daemon=True)
        self.every, self.done, self.killed = every, threading.Event(), 0

    def run(self) -> None:
        """Kill until it is done; which worker is drawn at random."""
        draw, marks = random.Random(0), Path(os.environ[STARTS])
        while not marks.stat().st_size:  # workers start slowly, and are not to be killed in that
            time.sleep(0.1)
        while not self.done.wait(self.every):
            found = _workers()
            if found:
                with suppress(psutil.NoSuchProcess):
                    draw.choice(found).kill()
                    self.killed += 1


def _workers() -> list[psutil.Process]:
    """The workers of this process, which are forked from one of its children."""
    found = []
    for child in psutil.Process().children():
        with suppress(psutil.Error):
            if "multiprocessing.forkserver" in " ".join(child.cmdline()):
                found += child.children()
    return found


def kill(rounds: int, workers: int, every: float, folder: Path) -> list[list[str]]:
    """How many tasks run again while workers are killed."""
    lines = []
    sweep = parse_spec(spec("kill", N_KILLED, -1))
    for number in range(rounds):
        for strikes in (False, True):
            out, starts = folder / f"kill-{number}-{strikes}", folder / "starts"
            starts.write_bytes(b"")
            os.environ[STARTS] = str(starts)
            killer = Killer(every)
            if strikes:
                killer.start()
            began = time.perf_counter()
            outcome = run_sweep(sweep, out, Local(workers=workers))
            seconds = time.perf_counter() - began
            killer.done.set()
            assert outcome.ran == N_KILLED == read_results(out)["key"].nunique()
            assert bool(killer.killed) == strikes
            again = starts.stat().st_size - N_KILLED
            per_kill = f"{again / killer.killed:.1f}" if killer.killed else ""
            lines.append([
                str(number + 1), str(workers), f"{seconds:.1f}", str(killer.killed),
                str(outcome.failed), str(again), per_kill,
            ])  # fmt: skip
    return lines


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--mixed", action="store_true")
    parser.add_argument("--kill", action="store_true")
    parser.add_argument("--every", type=float, default=5.0)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args(arguments)
    root = Path(__file__).resolve().parents[1]
    os.environ["PYTHONPATH"] = os.pathsep.join([str(root), os.environ.get("PYTHONPATH", "")])
    dask.config.set({"distributed.worker.preload": ["benchmarks.schedule"]})
    treesweep.SOLVERS.setdefault(Sleeper.name, Sleeper)
    print(f"{psutil.cpu_count(logical=True)} cores, load {psutil.getloadavg()[0]:.1f} before")
    folder = Path(tempfile.mkdtemp(prefix="treesweep-schedule-"))
    try:
        if asked.mixed:
            header = ("long tasks", "round", "workers", "makespan s", "bound s", "ratio")
            show("Mixed lengths", header, mixed(asked.rounds, asked.workers, folder))
        if asked.kill:
            header = "round", "workers", "seconds", "killed", "failed", "run again", "a kill"
            lines = kill(asked.rounds, asked.workers, asked.every, folder)
            show(f"A worker killed every {asked.every:g} s", header, lines)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
