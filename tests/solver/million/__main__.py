"""Solve random problems in all modes, and compare every answer with an oracle.

Usage: python -m tests.solver.million [SEEDS] [--first SEED] [--only MODE]

A problem is a small table, a price of a split, limits on the tree, and a way to solve it; those of
a seed have the same table. The oracle looks at all trees. Every wrong answer is told with its
seed, so that it can be repeated alone, with ``1 --first SEED``; the exit code is then 1. Ctrl-C
ends it with the counts so far.
"""

from __future__ import annotations

import argparse
import gc
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from random import Random
from typing import NamedTuple

from tests.solver.million.modes import MODES, Mode, Run, early_bounds
from tests.solver.million.random_problems import Question, draw, draw_table

QUESTIONS = 5
"""Problems of a seed: they have the same table."""

_TOLD_EVERY = 10_000


class Outcome(NamedTuple):
    """What came of a seed; ``wrong`` is empty if all is well."""

    seed: int
    mode: str
    question: Question | None
    solves: int
    seconds: float
    wrong: str


def ask(seed: int, modes: tuple[Mode, ...] = MODES) -> Iterator[Outcome]:
    """Solve the problems of a seed, in a mode that it draws, and check what is found."""
    chance = Random(seed)
    mode = chance.choices(modes, [mode.share for mode in modes])[0]
    table = draw_table(chance.choice(mode.shapes), chance, mode.harder)
    for number in range(QUESTIONS):
        began, question, run, wrong = time.process_time(), None, None, ""
        try:
            question = mode.fits(draw(seed, table, chance), chance)
            run = Run(question, chance, mode.solver, mode.options(chance))
            if mode.solver == "branches" and run.options and chance.random() < 0.7:
                with early_bounds(chance):
                    mode.run(run)
            else:
                mode.run(run)
        except Exception as error:  # whatever it is, the others are to be asked too
            wrong = f"question {number}: {type(error).__name__}: {error}"
        seconds, solves = time.process_time() - began, run.solves if run else 0
        yield Outcome(seed, mode.name, question, solves, seconds, wrong)


def ask_all(seeds: Iterable[int], modes: tuple[Mode, ...] = MODES) -> Iterator[Outcome]:
    """Solve the problems of many seeds."""
    for seed in seeds:
        yield from ask(seed, modes)


class Counts:
    """How many problems and solves of each mode, and what was wrong."""

    def __init__(self) -> None:
        self.problems, self.solves, self.seconds = Counter[str](), Counter[str](), Counter[str]()
        self.with_splits, self.wrong = Counter[str](), Counter[str]()
        self.different, self.tables = set[int](), set[int]()

    def add(self, outcome: Outcome) -> None:
        """Count an outcome."""
        mode, question = outcome.mode, outcome.question
        self.problems[mode] += 1
        self.solves[mode] += outcome.solves
        self.seconds[mode] += outcome.seconds  # type: ignore[assignment]
        self.wrong[mode] += bool(outcome.wrong)
        if question is not None:
            self.with_splits[mode] += question.best[1] > 0
            self.different.add(question.digest)
            self.tables.add(question.table.digest)

    def __str__(self) -> str:
        lines = [
            f"{'mode':32}{'problems':>10}{'solves':>10}{'splits > 0':>12}{'wrong':>7}{'CPU s':>9}"
        ]
        for mode in [*(mode.name for mode in MODES if mode.name in self.problems), ""]:
            numbers = (
                sum(counter.values()) if not mode else counter[mode]
                for counter in (self.problems, self.solves, self.with_splits, self.wrong)
            )  # fmt: skip
            seconds = sum(self.seconds.values()) if not mode else self.seconds[mode]
            problems, solves, splits, wrong = numbers
            name = mode or "all"
            lines.append(f"{name:32}{problems:10}{solves:10}{splits:12}{wrong:7}{seconds:9.1f}")
        return "\n".join(lines)


def main() -> int:
    """Ask what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("seeds", nargs="?", type=int, default=2_000)
    parser.add_argument("--first", type=int, default=0, metavar="SEED")
    parser.add_argument("--only", default="", metavar="MODE", help="modes whose name begins so")
    given = parser.parse_args()
    modes = tuple(mode for mode in MODES if mode.name.startswith(given.only))
    if not modes:
        parser.error(f"no mode begins with {given.only!r}; there are {[m.name for m in MODES]}")
    counts, last = Counts(), given.first
    gc.freeze()  # nothing that was imported is garbage
    signal.signal(signal.SIGINT, signal.default_int_handler)  # in the background, too
    try:
        for outcome in ask_all(range(given.first, given.first + given.seeds), modes):
            counts.add(outcome)
            last = outcome.seed
            if outcome.wrong:
                print(f"seed {last} ({outcome.mode}), {outcome.wrong}", flush=True)
            if (number := sum(counts.problems.values())) % _TOLD_EVERY == 0:
                wrong, cpu = sum(counts.wrong.values()), time.process_time()
                print(f"{number} problems, {wrong} wrong, {cpu:.0f} s of CPU", flush=True)
    except KeyboardInterrupt:
        print(f"stopped in seed {last}")
    print(counts)
    print(
        f"seeds {given.first} to {last}: {sum(counts.problems.values())} problems "
        f"({len(counts.different)} different, of {len(counts.tables)} different tables), "
        f"{sum(counts.wrong.values())} wrong, {time.process_time():.0f} s of CPU"
    )
    return int(any(counts.wrong.values()))


if __name__ == "__main__":
    sys.exit(main())
