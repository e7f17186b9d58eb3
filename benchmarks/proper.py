"""Proper decision trees: seconds to the proof for each family of rules, and what a memo is worth.

Usage: python benchmarks/proper.py [--cases asked more memo paper] [--seconds 300] [--noise 0.5]
       python benchmarks/proper.py --cases regression --data DATA

Points are drawn from a normal distribution, three decimals; the class is whether the first and the
last coordinate have the same sign, and a share of the labels (``--noise``) is wrong; 0.5 is labels
without any structure, the hardest case. Compilation and imports are apart. λ is 0, so that the
fewest splits of the fewest errors are looked for.

``asked`` are the sizes that the solver was built for, "asked s" the seconds it was given; ``more``
are ten times as many points; ``memo`` remembers regions and counts how often that helps (section
4.7.2 of the paper); ``paper`` is the published algorithm beside the search, on the same points.
``regression`` fits the training rows of DATA/continuous/regress/<set>.parquet, or the first rows
and columns of them: with ``quantbnb`` beside it where a limit on depth makes the trees the same,
and the published algorithm where there are few rows. Its seconds are the processor's.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # Where `benchmarks` is.

import numpy as np
import pandas as pd

from benchmarks.regression import head, read, show
from solver.catalogue import get_solver
from solver.limits import Limits
from solver.problem.problem import Problem
from solver.solution import Solution, Status
from solver.solve_problem import solve


class Case(NamedTuple):
    """A size of problem: what is asked of it in seconds, or None."""

    rules: str
    rows: int
    features: int
    splits: int
    asked: float | None = None


class Squares(NamedTuple):
    """A regression: the first rows and features of a set, or all of them."""

    name: str
    rules: str
    splits: int
    depth: int | None = None
    rows: int | None = None
    features: int | None = None
    paper: bool = False


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
SQUARES = (
    Squares("concrete", "axis", 2),
    Squares("concrete", "axis", 3, depth=2),
    Squares("concrete", "axis", 3),
    Squares("qsar", "axis", 2),
    Squares("qsar", "axis", 3, depth=2),
    Squares("qsar", "axis", 3),
    Squares("carbon", "axis", 3, depth=2),
    Squares("qsar", "hyperplane", 1, rows=100, features=2),
    Squares("qsar", "hyperplane", 2, rows=100, features=2),
    Squares("qsar", "axis", 2, rows=20, features=2, paper=True),
    Squares("qsar", "hyperplane", 2, rows=9, features=2, paper=True),
)
COLUMNS = (
    "rules", "rows", "features", "splits", "noise", "different rules", "evaluated", "CART",
    "errors", "seconds", "status", "asked s",
)  # fmt: skip
HITS = ("rules", "rows", "splits", "noise", "lookups", "hits", "share", "seconds", "without")
PAIRS = (
    "rules", "rows", "splits", "noise", "errors", "combinations", "evaluated", "paper s",
    "search s", "ratio",
)  # fmt: skip


FITS = (
    "set", "rows", "features", "outputs", "rules", "splits", "depth", "CART", "squared error",
    "evaluated", "seconds", "status", "quantbnb s", "paper s",
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


def regression(data: Path, seconds: float) -> None:
    """Optimal regression trees, and the same optimum by other means."""
    get_solver("quantbnb").warm_up()
    head(FITS)
    for case in SQUARES:
        x, y = read(data, case.name)
        x, y = x[: case.rows, : case.features], y[: case.rows]
        frame = pd.DataFrame(x, columns=[f"x{i}" for i in range(x.shape[1])])
        names = [f"y{i}" for i in range(y.shape[1])]
        table = frame.join(pd.DataFrame(y, columns=names))
        problem = Problem.from_table(table, names, "continuous", task="regression")
        limits = Limits(seconds=seconds, splits=case.splits, depth=case.depth)
        greedy = solve(problem, 0, "cart", limits)
        found, own = _clocked(problem, "proper", limits, rules=case.rules)
        row = {
            **case._asdict(),
            "set": case.name,
            "rows": len(x),
            "features": x.shape[1],
            "outputs": y.shape[1],
            "depth": "" if case.depth is None else case.depth,
            "CART": f"{float(greedy.errors):.6f}",
            "squared error": float(found.errors),
            "evaluated": found.nodes,
            "seconds": own,
            "status": found.status.value,
        }
        others = []
        if case.depth is not None:
            others.append(("quantbnb", Limits(seconds=seconds, depth=case.depth), {}))
        if case.paper:
            others.append(("proper", limits, {"rules": case.rules, "mode": "paper"}))
        for name, same, options in others:
            other, took = _clocked(problem, name, same, **options)
            off = abs(other.objective - found.objective)
            if other.status is found.status is Status.OPTIMAL and off > problem.tolerance:
                sys.exit(f"{float(other.errors)} by {name} {options}: {case}")
            row[f"{options.get('mode', name)} s"] = f"{took:.4f}"
        show(FITS, row)


def _clocked(problem: Problem, name: str, limits: Limits, **options: Any) -> tuple[Solution, float]:
    """A solution, and the processor's seconds."""
    began = time.process_time()
    found = solve(problem, 0, name, limits, **options)
    return found, time.process_time() - began


def _each(cases: tuple[Case, ...], noises: list[float]) -> Iterator[tuple[Case, float, Problem]]:
    for case in cases:
        for noise in noises:
            yield case, noise, points(case, noise)


def _size(case: Case, noise: float) -> dict[str, Any]:
    return {"rules": case.rules, "rows": case.rows, "splits": case.splits, "noise": noise}


def main() -> None:
    """Print Markdown tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    names = ("asked", "more", "memo", "paper", "regression")
    parser.add_argument("--cases", nargs="+", choices=names, default=list(names[:4]))
    parser.add_argument("--data", type=Path, help="folder of the sets, for the case regression")
    parser.add_argument("--noise", type=float, nargs="+", default=[0.15, 0.5])
    parser.add_argument("--seconds", type=float, default=60.0, help="limit where none is asked")
    given = parser.parse_args()
    if "regression" in given.cases and given.data is None:
        parser.error("the case regression needs --data")
    get_solver("proper").warm_up()
    for name in given.cases:
        print(f"\n### {name}\n")
        if name == "regression":
            regression(given.data, given.seconds)
        elif name in ("asked", "more"):
            timed(ASKED if name == "asked" else MORE, given.noise, given.seconds)
        else:
            (memo if name == "memo" else paper)(given.noise, given.seconds)


if __name__ == "__main__":
    main()
