"""BRANCHES in shards: what N workers do in all, and how much each of them, by counts and by clock.

Usage: python benchmarks/branches_in_shards.py DATA [--sets NAME ...] [--shards 2 8] [--slice 64]
       python benchmarks/branches_in_shards.py DATA --clock [--longer] [--rounds 2]
       python benchmarks/branches_in_shards.py DATA --schedule 64 1024 [--sets NAME ...]

DATA is a folder with ``encoded/`` and ``binary/``, see ``benchmarks/branches.py``. All shards run
here, in turns of ``--slice`` iterations, and hear of each other after each turn. On workers they
hear of each other later; a larger slice shows what that costs. "work" is the iterations of all
shards over those of the undivided search, "gain" those of the undivided search over those of the
shard that has most: how much faster N workers end if an iteration takes as long on each, and news
takes no time. "ties" is the part of the work that chooses among equally good trees. "told, kB" is
what the shards have told.

``--clock`` runs sweeps of one task instead, undivided on one worker and in two shards on two
workers, in turns. "task s" is from the start of the first shard to the end of the last one. With
``--longer`` the same is asked of smaller λ and harder sets, whose searches take many seconds.

``--schedule`` asks how far so many workers could get at all. It records the processor's seconds of
each subproblem of the undivided search: of all that it does below a split at the root (level 1),
below a child of the root and a split of this child (level 2), and so on. The linear program of
``row_duals`` is a subproblem of its own at all levels, and so is what the search does above the
level. A list schedule gives these subproblems, the longest first, to whoever is free. "gain" is the
time of all over that of the schedule: more than workers can reach, as nobody waits for what others
find, or does anything that the undivided search need not do.

All numbers of shards must give the objective of the undivided search, and one tree, or the exit
code is 1.
"""

from __future__ import annotations

import argparse
import heapq
import math
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # Where `benchmarks` is.

import pandas as pd

import solver
from benchmarks.shards import run
from benchmarks.sweep_overhead import show
from solver import Limits, Problem
from solver.branches.engine import ThresholdEngine
from solver.branches.kernels import stack_frame
from solver.branches.kernels.state import FRAMES, WORK
from solver.branches.shard_engine import ShardEngine
from solver.branches.solver import Branches
from solver.engine.driver import cost_scale_of
from solver.engine.rollouts import Rollouts
from solver.engine.tree_constraints import TreeConstraints
from solver.kernels.constants import FULL, PROVEN, RUNNING
from solver.search_shards import Shard

Sets = Mapping[str, tuple[str, str]]  # the file of a set, and λ
SETS: Sets = {
    "lymphography-full": ("encoded/lymphography-full", "0.01"),
    "lymphography-f": ("encoded/lymphography-f", "0.01"),
    "balance-scale-full": ("encoded/balance-scale-full", "0.005"),
    "kr-vs-kp": ("encoded/kr-vs-kp-full", "0.005"),
    "diabetes": ("binary/diabetes", "0.02"),
}
LONGER: Sets = {
    "lymphography-full": ("encoded/lymphography-full", "0.005"),
    "lymphography-f": ("encoded/lymphography-f", "0.006"),
    "balance-scale-full": ("encoded/balance-scale-full", "0.001"),
    "kr-vs-kp": ("encoded/kr-vs-kp-full", "0.002"),
    "diabetes": ("binary/diabetes", "0.01"),
    "yeast": ("binary/yeast", "0.01"),
    "anneal": ("binary/anneal", "0.002"),
    "mushroom": ("binary/mushroom", "0.002"),
    "ionosphere": ("binary/ionosphere", "0.01"),
}
SPEC = """
name: clock
datasets: [{{name: {name}, path: {path}, target: target}}]
encodings: [categorical]
lambdas: [{lam}]
solvers: [{{solver: branches, shards: {shards}}}]
limits: {{seconds: 3600}}
"""
CLOCK = ("set", "λ", "round", "task s, one", "task s, two", "one / two", "whole run", "nodes")
LEVELS = (1, 2, 3)
PROGRAM = ("linear program",)
SCHEDULED = ("set", "λ", "level", "subproblems", "all, s", "longest, s", "of it the program, s")
COLUMNS = ("set", "λ", "undivided", "shards", "work", "ties", "gain", "told, kB")


class Divided(NamedTuple):
    """What shards have done and found.

    Parameters
    ----------
    iterations : list of int
        Of each shard.
    ties : int
        Iterations that choose among equally good trees.
    told : int
        Bytes that were told.
    tree : object
        The tree of the first shard that found the best one, and its cost.
    """

    iterations: list[int]
    ties: int
    told: int
    tree: tuple[int, object]


def divide(problem: Problem, lam: Fraction, number: int, turn: int) -> Divided:
    """Run shards in turns of so many iterations, in this process."""
    cost_scale = cost_scale_of(problem, lam, max(len(problem.codes) - 1, 0))
    constraints, options = TreeConstraints.of(problem, lam, Limits()), Branches().settings
    engines = [
        ShardEngine(problem, cost_scale, constraints, options, Shard(i, number), None)  # type: ignore[arg-type]
        for i in range(number)
    ]
    rollouts = Rollouts(problem, cost_scale, constraints)
    phases, ties, told, best_cost = [0] * number, 0, 0, math.inf
    while min(phases) < 3:
        for i, engine in enumerate(engines):
            end, settling = engine.iterations + turn, phases[i] == 2
            begun = engine.iterations
            while phases[i] < 3 and (left := end - engine.iterations) > 0:
                if phases[i] == 0:
                    is_done = engine.lower_bound >= engine.upper_bound
                    if not is_done and engine.step(left, -1) == FULL:
                        engine.grow(None)
                else:
                    work = engine.help if phases[i] == 1 else engine.settle_ties
                    is_done = work(left) == PROVEN
                phases[i] += is_done
            ties += engine.iterations - begun if settling else 0
        if rollouts.improve(engines[-1].rollout_work, lambda: False):
            cost, shape = rollouts.best
            if cost < best_cost:
                best_cost = cost
                for known in engines:
                    known.use(cost, problem.grow(shape), True)
        for i, engine in enumerate(engines):
            if engine.found and engine.upper_bound < best_cost:
                tree = problem.grow(engine.shape())  # it may cost less than the engine knows
                best_cost = min(best_cost, cost_scale.cost(tree.errors, tree.splits))
                for known in engines:
                    known.use(best_cost, tree, True)
            proven = engine.learned()
            told += len(proven)
            for other in engines[:i] + engines[i + 1 :]:
                if proven:
                    other.learn(proven)
    best = min(engines, key=lambda engine: (engine.upper_bound, not engine.found))
    answer = best.upper_bound, best.shape()
    return Divided([engine.iterations for engine in engines], ties, told, answer)


def record(problem: Problem, lam: Fraction) -> tuple[list[dict[tuple[object, ...], float]], int]:
    """Seconds of the subproblems of the undivided search, by level; and the best cost."""
    cost_scale = cost_scale_of(problem, lam, max(len(problem.codes) - 1, 0))
    constraints = TreeConstraints.of(problem, lam, Limits())
    engine = ThresholdEngine(problem, cost_scale, constraints, Branches().settings)  # type: ignore[arg-type]
    engine.compile_late()
    seconds = [defaultdict[tuple[object, ...], float](float) for _ in LEVELS]
    outcome = RUNNING
    while outcome != PROVEN:
        worked, began = int(engine.program.status[WORK]), time.process_time()
        outcome = engine.step(1, -1)
        if outcome == FULL:
            engine.grow(None)
        took = time.process_time() - began
        is_program = engine.program.status[WORK] > worked
        for known, level in zip(seconds, LEVELS, strict=True):
            known[PROGRAM if is_program else path(engine, level)] += took
    return [dict(known) for known in seconds], engine.upper_bound


def path(engine: ThresholdEngine, level: int) -> tuple[int, ...]:
    """The splits and children that the search is below, as many as there are at the level."""
    head, above = engine.stack.head, int(engine.memo.used[FRAMES]) - 1
    children = head[: min(level, above), stack_frame.CHILD].tolist()
    # A child tells its split; of the last split both children are one subproblem.
    last = [int(head[level - 1, stack_frame.CURRENT])] if above >= level else []
    return *children[: level - 1], *last


def list_schedule(seconds: Sequence[float], workers: int) -> float:
    """When the last worker ends, if each takes the longest subproblem that is left."""
    free = [0.0] * workers
    for took in sorted(seconds, reverse=True):
        heapq.heapreplace(free, free[0] + took)
    return max(free)


def by_schedule(data: Path, sets: Sets, workers: Sequence[int]) -> bool:
    """Show what list schedules give; whether the recorded searches found the optimum."""
    lines, is_right = list[list[str]](), True
    for name, (place, lam) in sets.items():
        problem = read(data, place)
        levels, cost = record(problem, Fraction(lam))
        tree = solver.solve(problem, lam)
        scale = cost_scale_of(problem, Fraction(lam), max(len(problem.codes) - 1, 0))
        is_right &= scale.cost(tree.errors, tree.splits) == cost
        for level, found in zip(LEVELS, levels, strict=True):
            seconds, program = [*found.values()], found.get(PROGRAM, 0.0)
            ends = [list_schedule(seconds, number) for number in workers]
            figures = sum(seconds), max(seconds), program
            shown = [f"{value:.2f}" for value in figures]
            shown += [f"{end:.2f} ({sum(seconds) / end:.1f})" for end in ends]
            lines.append([name, lam, str(level), str(len(seconds)), *shown])
    columns = *SCHEDULED, *(f"{number} workers, s (gain)" for number in workers)
    show("List schedules", columns, lines)
    return is_right


def read(data: Path, place: str) -> Problem:
    """The problem of a file."""
    table = pd.read_parquet(data / f"{place}.parquet")
    return Problem.from_codes(table.drop(columns="target"), table["target"])


def by_counts(data: Path, sets: Sets, numbers: Sequence[int], turn: int) -> bool:
    """Show what shards do in turns of so many iterations; whether all find the same tree."""
    lines, is_right = list[list[str]](), True
    ratios = {number: list[tuple[float, float]]() for number in numbers}
    for name, (place, lam) in sets.items():
        problem = read(data, place)
        whole = solver.solve(problem, lam)
        trees = set()
        for number in numbers:
            found = divide(problem, Fraction(lam), number, turn)
            tree = problem.grow(found.tree[1])  # type: ignore[arg-type]
            trees.add(str(found.tree[1]))
            is_right &= (tree.errors, tree.splits) == (whole.errors, whole.splits)
            most, total = max(found.iterations), sum(found.iterations)
            work, gain = total / whole.iterations, whole.iterations / most
            ratios[number].append((work, gain))
            shown = f"{work:.2f}", f"{found.ties / whole.iterations:.3f}", f"{gain:.2f}"
            told = str(found.told // 1024)
            lines.append([name, lam, str(whole.iterations), str(number), *shown, told])
        is_right &= len(trees) == 1
    show(f"Turns of {turn} iterations", COLUMNS, lines)
    for number, found_ratios in ratios.items():
        work, gain = map(statistics.geometric_mean, zip(*found_ratios, strict=True))
        print(f"{number} shards, geometric means: work {work:.2f}, gain {gain:.2f}")
    return is_right


def by_clock(specs: Sequence[tuple[str, str, str]], rounds: int) -> bool:
    """Show sweeps on one and two workers; whether both have the same objective and bound.

    ``specs`` are the set, its λ, and the sweep with ``{shards}`` for their number.
    """
    lines, is_right, faster = list[list[str]](), True, list[float]()
    with tempfile.TemporaryDirectory(prefix="treesweep-shards-") as name:
        for which, lam, text in specs:
            for number in range(rounds):
                order = (1, 2) if number % 2 == 0 else (2, 1)
                texts = {shards: text.replace("{shards}", str(shards)) for shards in order}
                found = {shards: run(texts[shards], Path(name), shards) for shards in order}
                one, two = found[1], found[2]
                is_right &= one.answer == two.answer
                faster.append(one.task / two.task)
                figures = (
                    one.task,
                    two.task,
                    faster[-1],
                    one.whole / two.whole,
                    two.nodes / one.nodes,
                )
                lines.append([which, lam, str(number + 1), *(f"{value:.2f}" for value in figures)])
    print(f"geometric mean of one / two: {statistics.geometric_mean(faster):.2f}")
    show("One worker against two", CLOCK, lines)
    return is_right


def spec_of(data: Path, name: str, place: str, lam: str) -> tuple[str, str, str]:
    """What :func:`by_clock` takes of a set."""
    path = (data / f"{place}.parquet").resolve()
    return name, lam, SPEC.format(name=name, path=path, lam=lam, shards="{shards}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("--sets", nargs="+", choices=LONGER, help="default: all")
    parser.add_argument("--shards", type=int, nargs="+", default=[2, 8])
    parser.add_argument("--slice", type=int, default=64, help="iterations of a turn (default 64)")
    parser.add_argument("--schedule", type=int, nargs="+", help="workers of list schedules")
    parser.add_argument("--clock", action="store_true", help="sweeps on one and on two workers")
    parser.add_argument("--rounds", type=int, default=2, help="pairs of sweeps (default 2)")
    parser.add_argument("--longer", action="store_true", help="searches of many seconds")
    asked = parser.parse_args(arguments)
    known = LONGER if asked.longer else SETS
    sets = {name: known[name] for name in asked.sets or known if name in known}
    if asked.clock:
        specs = [spec_of(asked.data, name, *sets[name]) for name in sets]
        return 0 if by_clock(specs, asked.rounds) else 1
    if asked.schedule:
        return 0 if by_schedule(asked.data, sets, asked.schedule) else 1
    is_right = by_counts(asked.data, sets, asked.shards, asked.slice)
    if not is_right:
        print("not all have the same tree", file=sys.stderr)
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
