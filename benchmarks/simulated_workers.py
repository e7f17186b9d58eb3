"""BRANCHES in shards on simulated workers: when the last of N would end, by the processor's time.

Usage: python benchmarks/simulated_workers.py DATA [--sets NAME ...] [--workers 2 4 8] [--longer]

DATA is a folder as for ``benchmarks/branches_in_shards.py``, whose problems these are. All shards
run here in turns. Each has a clock of its own, the processor's seconds that it has used, and the
turn goes to the shard whose clock is least. What a shard tells reaches the others ``--delay``
seconds later by their clocks. So one core, even a busy one, shows what a cluster of free cores
would do, but for what the driver, the scheduler and the network take.

"span" is when the last shard ends, "gain" the undivided search's seconds over it, "nodes" those of
all shards over those of the undivided search. All numbers of workers must give the objective of the
undivided search, or the exit code is 1.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import threading
import time
import types
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # Where `benchmarks` is.

import solver
from benchmarks.branches_in_shards import LONGER, SETS, read
from benchmarks.sweep_overhead import show
from solver import Limits, Problem, Solution
from solver.branches.solver import Branches
from solver.engine import driver
from solver.monitor import Monitor, News, Peers
from solver.search_shards import Shard, merge

COLUMNS = ("set", "λ", "undivided, s", "workers", "span, s", "gain", "nodes")


class Workers:
    """Some workers of which one runs at a time: the one whose clock is least."""

    def __init__(self, number: int, delay: float) -> None:
        self.number, self.delay = number, delay
        self._clocks = dict.fromkeys(range(number), 0.0)
        self._unread: list[list[tuple[float, News]]] = [[] for _ in range(number)]
        self._turn, self._began = threading.Condition(), dict[int, float]()
        self.ended = dict[int, tuple[Solution, float]]()

    def run(self, problem: Problem, lam: Fraction) -> tuple[Solution, float]:
        """The solution of all shards, and when the last one ended."""
        threads = [
            threading.Thread(target=self._work, args=(i, problem, lam)) for i in range(self.number)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return merge([self.ended[i][0] for i in range(self.number)]), self._span

    @property
    def _span(self) -> float:
        return max(end for _, end in self.ended.values())

    def _now(self, i: int) -> float:
        return time.thread_time() - self._began[i]

    def _work(self, i: int, problem: Problem, lam: Fraction) -> None:
        with self._turn:
            self._wait(i)
        self._began[i] = time.thread_time()
        peers = Peers(lambda news: self._tell(i, news), lambda: self._hear(i))
        part = Branches().part(Shard(i, self.number))
        solution = part.solve(problem, lam, Limits(), monitor=Monitor(peers=peers))
        with self._turn:
            self.ended[i] = solution, self._now(i)
            del self._clocks[i]
            self._turn.notify_all()

    def _wait(self, i: int) -> None:
        self._turn.wait_for(lambda: min(self._clocks, key=self._clocks.__getitem__) == i)

    def _tell(self, i: int, news: News) -> None:
        for other, unread in enumerate(self._unread):
            if other != i:
                unread.append((self._now(i) + self.delay, news))

    def _hear(self, i: int) -> list[News]:
        """Give the turn away, and read what has arrived when it comes back."""
        with self._turn:
            self._clocks[i] = self._now(i)
            self._turn.notify_all()
            self._wait(i)
        now, unread = self._now(i), self._unread[i]
        self._unread[i] = [(due, news) for due, news in unread if due > now]
        return [news for due, news in unread if due <= now]


def main(arguments: Sequence[str] | None = None) -> int:
    """Simulate what is asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("--sets", nargs="+", choices=LONGER, help="default: all")
    parser.add_argument("--workers", type=int, nargs="+", default=[2, 4, 8])
    parser.add_argument("--delay", type=float, default=0.02, help="seconds that news takes")
    parser.add_argument("--longer", action="store_true", help="searches of many seconds")
    asked = parser.parse_args(arguments)
    Branches.warm_up()
    driver.time = types.SimpleNamespace(perf_counter=time.thread_time)  # type: ignore[assignment]
    known, lines, is_right = LONGER if asked.longer else SETS, list[list[str]](), True
    gains = {number: list[float]() for number in asked.workers}
    for name in [name for name in asked.sets or known if name in known]:
        place, lam = known[name]
        problem, began = read(asked.data, place), time.thread_time()
        whole = solver.solve(problem, lam)
        seconds = time.thread_time() - began - whole.compile_seconds
        for number in asked.workers:
            found, span = Workers(number, asked.delay).run(problem, Fraction(lam))
            gains[number].append(seconds / span)
            is_right &= found.objective == whole.objective
            figures = f"{span:.2f}", f"{seconds / span:.2f}", f"{found.nodes / whole.nodes:.2f}"
            lines.append([name, lam, f"{seconds:.2f}", str(number), *figures])
    show("Simulated workers", COLUMNS, lines)
    for number, ratios in gains.items():
        print(
            f"{number} workers: geometric mean of the gain {statistics.geometric_mean(ratios):.2f}"
        )
    if not is_right:
        print("not all have the same objective", file=sys.stderr)
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
