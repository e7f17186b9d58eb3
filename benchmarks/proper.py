"""Proper decision trees: seconds to the proof for each family of rules, and what a memo is worth.

Usage: python benchmarks/proper.py [--cases asked more memo paper] [--seconds 300] [--noise 0.5]

Points are drawn from a normal distribution, three decimals; the class is whether the first and the
last coordinate have the same sign, and a share of the labels (``--noise``) is wrong; 0.5 is labels
without any structure, the hardest case. Compilation and imports are apart. λ is 0, so that the
fewest splits of the fewest errors are looked for.

``asked`` are the sizes that the solver was built for, "asked s" the seconds it was given; ``more``
are ten times as many points; ``memo`` remembers regions and counts how often that helps (section
4.7.2 of the paper); ``paper`` is the published algorithm beside the search, on the same points.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # Where `benchmarks` is.

import numpy as np
import pandas as pd

from benchmarks.regression import head, show
from solver.catalogue import get_solver
from solver.limits import Limits
from solver.problem.problem import Problem
from solver.solution import Solution
from solver.solve_problem import solve


class Case(NamedTuple):
    """A size of problem: what is asked of it in seconds, or None."""

    rules: str
    rows: int
    features: int
    splits: int
    asked: float | None = None


ASKED = (
    Case("hyperplane", 200, 2, 2, 60),
    Case("hyperplane", 100, 2, 3, 300),
    Case("axis", 1000, 5, 3, 60),
    Case("polynomial", 60, 2, 1, 60),
)
MORE = (
    Case("hyperplane", 2000, 2, 2, 60),
    Case("hyperplane", 1000, 2, 3, 300),
    Case("axis", 10_000, 5, 3, 60),
    Case("polynomial", 80, 2, 1),
    Case("hyperplane", 100, 3, 2),
)
MEMO = (
    Case("axis", 200, 3, 4),
    Case("hyperplane", 40, 2, 4),
    Case("polynomial", 14, 2, 3),
)
PAPER = (Case("axis", 20, 2, 2), Case("hyperplane", 10, 2, 2), Case("axis", 10, 2, 3))
COLUMNS = (
    "rules", "rows", "features", "splits", "noise", "different rules", "evaluated", "CART",
    "errors", "seconds", "status", "asked s",
)  # fmt: skip
HITS = ("rules", "rows", "splits", "noise", "lookups", "hits", "share", "seconds", "without")
PAIRS = (
    "rules", "rows", "splits", "noise", "errors", "combinations", "evaluated", "paper s",
    "search s", "ratio",
)  # fmt: skip


def points(case: Case, noise: float) -> Problem:
    """The points of a case."""
    random = np.random.default_rng(0)
    x = random.normal(size=(case.rows, case.features)).round(3)
    y = (x[:, 0] * x[:, -1] > 0) ^ (random.random(case.rows) < noise)
    frame = pd.DataFrame(x, columns=[f"x{i}" for i in range(case.features)]).assign(y=y)
    return Problem.from_table(frame, "y", "continuous")


def search(case: Case, problem: Problem, seconds: float, **options: Any) -> Solution:
    """The solver on a case."""
    limits = Limits(seconds=seconds, splits=case.splits)
    return solve(problem, 0, "proper", limits, rules=case.rules, **options)


def timed(cases: tuple[Case, ...], noises: list[float], seconds: float) -> None:
    """Seconds to the proof."""
    head(COLUMNS)
    for case, noise, problem in _each(cases, noises):
        found = search(case, problem, max(seconds, case.asked or 0))
        greedy = solve(problem, 0, "cart", Limits(splits=case.splits))
        show(
            COLUMNS,
            {
                **_size(case, noise),
                "features": case.features,
                "different rules": found.extra["rules"],
                "evaluated": found.nodes,
                "CART": greedy.errors,
                "errors": found.errors,
                "seconds": found.seconds,
                "status": found.status.value,
                "asked s": case.asked or "",
            },
        )


def memo(noises: list[float], seconds: float) -> None:
    """How often a region was looked at before."""
    head(HITS)
    for case, noise, problem in _each(MEMO, noises):
        plain = search(case, problem, seconds)
        found = search(case, problem, seconds, memo=True)
        lookups, hits = found.extra["memo_lookups"], found.extra["memo_hits"]
        row = {"lookups": lookups, "hits": hits, "share": f"{hits / max(lookups, 1):.1%}"}
        times = {"seconds": found.seconds, "without": f"{plain.seconds:.4f}"}
        show(HITS, {**_size(case, noise), **row, **times})


def paper(noises: list[float], seconds: float) -> None:
    """The published algorithm beside the search; both must prove the same optimum."""
    head(PAIRS)
    for case, noise, problem in _each(PAPER, noises):
        slow = search(case, problem, seconds, mode="paper")
        fast = search(case, problem, seconds)
        if slow.gap == fast.gap == 0 and slow.objective != fast.objective:
            sys.exit(f"mode paper proves {slow.objective}, the search {fast.objective}: {case}")
        row = {
            "errors": fast.errors,
            "combinations": slow.extra["combinations"],
            "evaluated": fast.nodes,
            "paper s": f"{slow.seconds:.4f}",
            "search s": f"{fast.seconds:.4f}",
            "ratio": slow.seconds / fast.seconds,
        }
        show(PAIRS, {**_size(case, noise), **row})


def _each(cases: tuple[Case, ...], noises: list[float]) -> Iterator[tuple[Case, float, Problem]]:
    for case in cases:
        for noise in noises:
            yield case, noise, points(case, noise)


def _size(case: Case, noise: float) -> dict[str, Any]:
    return {"rules": case.rules, "rows": case.rows, "splits": case.splits, "noise": noise}


def main() -> None:
    """Print Markdown tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    names = ("asked", "more", "memo", "paper")
    parser.add_argument("--cases", nargs="+", choices=names, default=list(names))
    parser.add_argument("--noise", type=float, nargs="+", default=[0.15, 0.5])
    parser.add_argument("--seconds", type=float, default=60.0, help="limit where none is asked")
    given = parser.parse_args()
    get_solver("proper").warm_up()
    for name in given.cases:
        print(f"\n### {name}\n")
        if name in ("asked", "more"):
            timed(ASKED if name == "asked" else MORE, given.noise, given.seconds)
        else:
            (memo if name == "memo" else paper)(given.noise, given.seconds)


if __name__ == "__main__":
    main()
