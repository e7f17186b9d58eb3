"""OSDT: on published rows beside BRANCHES, and what each of its bounds and policies is worth.

Usage: python benchmarks/osdt.py DATA [--rows] [--bounds] [--policies] [--seconds 60] [--out OUT]

Without one of the three, all of them. DATA is a folder with ``published-branches.csv``,
``encoded/<dataset>-<encoding>.parquet`` and ``binary/<name>.parquet``, targets last.

``--rows``: the rows published with BRANCHES that are binary, and those of its paper's Table 2 for
OSDT: OSDT and BRANCHES in turn. ``--bounds``: each bound off, one at a time, on compas-binary at
λ = 0.005, beside the thesis's Table 6.2; once with all others on and once without the two that are
not the thesis's. ``--policies``: the seven orders of the queue, there as well.

What is compared is solved in turn, pair by pair or all variants of a table, in rounds; a solve that
took less than a second takes part in the next round, and times are medians. Counts of trees depend
on the machine only where the limit of time ended a search. Writes OUT/<table>.md and .parquet.
The exit code is 1 if two results contradict each other.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # Where `benchmarks` is.

import solver
from benchmarks.harness import choose_core
from benchmarks.published import published_rows
from solver.osdt.engine import BOUNDS
from solver.osdt.scheduling_policies import POLICIES

LAM = "0.005"
OURS = ("dominance", "two_steps")
Options = Mapping[str, Any]
ROWS = (
    "row",
    "n",
    "q",
    "K",
    "λ",
    "H_λ",
    "printed for OSDT",
    "status",
    "s",
    "s to best",
    "trees evaluated",
    "trees to best",
    "MB",
    "BRANCHES H_λ",
    "BRANCHES s",
    "OSDT s / BRANCHES s",
)
WITHOUT = (
    "variant",
    "status",
    "s",
    "slow-down",
    "slow-down printed",
    "s to optimum",
    "trees evaluated",
    "ratio",
    "ratio printed",
    "trees to optimum",
    "trees to optimum printed",
    "MB",
    "GB printed",
)
ORDERS = (
    "policy",
    "status",
    "s",
    "slow-down",
    "s to optimum",
    "trees evaluated",
    "ratio",
    "trees to optimum",
    "MB",
)


@dataclass(frozen=True)
class Printed:
    """A line of the thesis's Table 6.2.

    Parameters
    ----------
    seconds, evaluated : float
        Until the end; least figures where it ran out of memory.
    to_optimum : float or None
        Trees evaluated until the optimum was found.
    gigabytes : str
    ended : bool
        Whether the queue was empty in the end.
    """

    seconds: float
    evaluated: int
    to_optimum: int | None
    gigabytes: str
    ended: bool = True


TABLE_6_2 = {
    "all": Printed(14.75, 241_306, 18_195, ".08"),
    "support": Printed(16.69, 278_868, 21_232, ".08"),
    "incremental_accuracy": Printed(29.42, 548_618, 24_682, ".08"),
    "accuracy": Printed(31.72, 482_013, 23_075, ".09"),
    "lookahead": Printed(31_479, 283_712_499, 3_078_445, "10"),
    "equivalent_points": Printed(8_226, 41_000_000, None, "> 64", ended=False),
}

# OSDT's column of Table 2 of the BRANCHES paper, by our names of its tables, and λ of its Table 5.
# Balance is without the class B there: the files' first class.
BALANCE = "balance-scale-f"
TABLE_2 = {
    "monks-1-l": ("0.01", 0.93),
    "monks-1-f": ("0.001", 0.97),
    "monks-2-l": ("0.001", 0.95),
    "monks-2-f": ("0.001", 0.90),
    "monks-3-l": ("0.001", 0.979),
    "monks-3-f": ("0.001", 0.975),
    "tic-tac-toe-f": ("0.005", 0.765),
    "mushroom-f": ("0.01", 0.945),
    "kr-vs-kp-full": ("0.01", 0.900),
    f"{BALANCE} (L, R)": ("0.01", 0.693),
}


def read(path: Path, least: int = 0) -> solver.Problem:
    """A table of codes whose last column is the target; rows of classes below one are left out."""
    table = pd.read_parquet(path)
    target = str(table.columns[-1])
    table = table[table[target] >= least]
    return solver.Problem.from_codes(table.drop(columns=target), table[target] - least)


def rows_of(data: Path, only: Sequence[str]) -> Iterator[tuple[str, str, solver.Problem]]:
    """Name, λ and problem of every binary row that was published with either solver."""
    seen = set()
    for name, row, problem in published_rows(data, only):
        if problem.feature_kind == "binary":
            seen.add(name)
            yield name, row.lam, problem
    for name, (lam, _) in TABLE_2.items():
        two = name.startswith(BALANCE)
        path = data / "encoded" / f"{BALANCE if two else name}.parquet"
        if name not in seen and (name in only or not only) and path.exists():
            yield name, lam, read(path, least=int(two))


def solve_in_turn(
    problem: solver.Problem,
    lam: str,
    contestants: Mapping[str, tuple[str, Options]],
    limits: solver.Limits,
    repeat: int,
) -> dict[str, dict[str, Any]]:
    """Solve by every contestant, in turn, again while that takes less than a second.

    Parameters
    ----------
    contestants : mapping
        Solver and options of each, by its name.

    Returns
    -------
    dict
        By contestant: ``solution`` of the last round, and medians of ``seconds`` and
        ``to_optimum``, the seconds until the best tree was found.
    """
    rounds: dict[str, list[solver.Solution]] = {name: [] for name in contestants}
    for _ in range(repeat):
        for name, (by, options) in contestants.items():
            found = rounds[name]
            if not found or found[-1].seconds < 1:
                found.append(solver.solve(problem, lam, by, limits, **options))
    return {
        name: {
            "solution": found[-1],
            "seconds": statistics.median(one.seconds for one in found),
            "to_optimum": statistics.median(map(seconds_to_best, found)),
        }
        for name, found in rounds.items()
    }


def seconds_to_best(solution: solver.Solution) -> float:
    """When the tree of the solution was first known."""
    best = float(solution.objective)
    return next(point.seconds for point in solution.trace if point.objective <= best)


def agree(solutions: Sequence[solver.Solution]) -> bool:
    """Whether no bound is above another's tree, and what is proven is the same."""
    proven = {one.objective for one in solutions if one.status == "optimal"}
    bound = max(one.lower_bound or Fraction(0) for one in solutions)
    return len(proven) < 2 and bound <= min(one.objective for one in solutions)


class Report:
    """One table: Markdown as it comes, and all its figures for a file.

    Parameters
    ----------
    name : str
        Of the files.
    columns : sequence of str
    """

    def __init__(self, name: str, columns: Sequence[str]) -> None:
        self.name, self.columns = name, tuple(columns)
        self.lines: list[str] = []
        self.figures: list[dict[str, Any]] = []
        self.sound = True

    def say(self, text: str) -> None:
        """A line of Markdown."""
        self.lines.append(text)
        print(text, flush=True)

    def head(self, title: str) -> None:
        """Begin a table."""
        self.say(f"\n{title}\n")
        self.say("| " + " | ".join(self.columns) + " |")
        self.say("|" + " --- |" * len(self.columns))

    def add(self, shown: Sequence[str], figures: dict[str, Any], sound: bool = True) -> None:
        """Add a line; ``sound`` if it contradicts nothing."""
        self.say("| " + " | ".join(shown) + " |")
        self.figures.append({**figures, "sound": sound})
        if not sound:
            self.sound = False
            self.say(f"\nDISAGREEMENT: {figures}\n")

    def write(self, folder: Path) -> None:
        """Write both files."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{self.name}.md").write_text("\n".join(self.lines) + "\n", encoding="utf-8")
        pd.DataFrame(self.figures).to_parquet(folder / f"{self.name}.parquet")


def figures_of(found: Mapping[str, Any]) -> dict[str, Any]:
    """What a file keeps of a contestant's solves."""
    solution = found["solution"]
    extra = solution.extra
    return {
        "status": solution.status.value,
        "objective": float(solution.objective),
        "lower_bound": float(solution.lower_bound),
        "seconds": found["seconds"],
        "seconds_to_optimum": found["to_optimum"],
        "evaluated": extra.get("trees_evaluated"),
        "evaluated_to_optimum": extra.get("trees_evaluated_to_optimum"),
        "nodes": solution.nodes,
        "iterations": solution.iterations,
        "peak_bytes": solution.peak_bytes,
    }


def compare_rows(given: argparse.Namespace) -> Report:
    """Published rows, OSDT beside BRANCHES."""
    report = Report("rows", ROWS)
    report.head(f"Published rows, limit {given.seconds:g} s and {given.bytes / 1e9:g} GB")
    contestants: dict[str, tuple[str, Options]] = {
        "osdt": ("osdt", {}),
        "branches": ("branches", {}),
    }
    for name, lam, problem in rows_of(given.data, given.only):
        found = solve_in_turn(problem, lam, contestants, limits_of(given), given.repeat)
        mine, other = (found[one]["solution"] for one in contestants)
        seconds, theirs = (found[one]["seconds"] for one in contestants)
        printed = TABLE_2[name][1] if TABLE_2.get(name, ("", 0))[0] == lam else None
        better = printed is None or float(1 - mine.objective) >= printed - 1e-9
        report.add(
            [
                name,
                *map(str, (problem.n_rows, problem.n_features, problem.n_classes)),
                lam,
                f"{float(1 - mine.objective):.6f}",
                "" if printed is None else f"{printed:.3f}",
                mine.status.value,
                f"{seconds:.4f}",
                f"{found['osdt']['to_optimum']:.4f}",
                f"{mine.extra['trees_evaluated']:,}",
                f"{mine.extra['trees_evaluated_to_optimum']:,}",
                f"{mine.peak_bytes / 1e6:.1f}",
                f"{float(1 - other.objective):.6f}" + ("" if other.gap == 0 else " (not proven)"),
                f"{theirs:.4f}",
                f"{'' if mine.gap == 0 else '≥ '}{seconds / theirs:.2f}",
            ],
            {
                "row": name,
                "lam": lam,
                "printed": printed,
                **figures_of(found["osdt"]),
                **{f"branches_{k}": v for k, v in figures_of(found["branches"]).items()},
            },
            agree([mine, other]) and better,
        )
    proven = [line for line in report.figures if line["status"] == "optimal"]
    report.say(f"\nproven: {len(proven)} of {len(report.figures)}")
    return report


Line = Callable[[str, dict[str, Any], dict[str, Any]], list[str]]


def ablate(
    given: argparse.Namespace,
    report: Report,
    title: str,
    variants: Mapping[str, Options],
    line: Line,
) -> dict[str, Any]:
    """A table whose first line is what the others are compared with; its figures."""
    problem = read(given.data / "binary" / "compas-binary.parquet")
    best = solver.solve(problem, LAM)
    report.head(f"{title}, limit {given.seconds:g} s and {given.bytes / 1e9:g} GB")
    contestants: dict[str, tuple[str, Options]] = {n: ("osdt", o) for n, o in variants.items()}
    first: dict[str, Any] = {}
    found = solve_in_turn(problem, LAM, contestants, limits_of(given), given.repeat)
    for name, its in found.items():
        figures = figures_of(its)
        first = first or figures
        report.add(
            line(name, figures, first),
            {"set": title, "variant": name, **figures},
            agree([its["solution"], best]),
        )
    return first


def show_times(figures: dict[str, Any], first: dict[str, Any]) -> list[str]:
    """Status, times and ratio of times."""
    least = "" if figures["status"] == "optimal" else "≥ "
    return [
        figures["status"],
        f"{figures['seconds']:.4f}",
        f"{least}{figures['seconds'] / first['seconds']:.2f}",
        f"{figures['seconds_to_optimum']:.4f}",
    ]


def show_counts(figures: dict[str, Any], first: dict[str, Any]) -> list[str]:
    """Trees evaluated, and their ratio."""
    least = "" if figures["status"] == "optimal" else "≥ "
    return [
        f"{figures['evaluated']:,}",
        f"{least}{figures['evaluated'] / first['evaluated']:.2f}",
    ]


def bound_line(name: str, figures: dict[str, Any], first: dict[str, Any]) -> list[str]:
    """A line of the table of bounds, with what the thesis printed."""
    printed, whole = TABLE_6_2.get(name), TABLE_6_2["all"]
    slower = more = there = memory = ""
    if printed is not None:
        least = "" if printed.ended else "> "
        slower = f"{least}{printed.seconds / whole.seconds:.2f}"
        more = f"{least}{printed.evaluated / whole.evaluated:.2f}"
        there = "" if printed.to_optimum is None else f"{printed.to_optimum:,}"
        memory = printed.gigabytes
    status, seconds, ratio, to_optimum = show_times(figures, first)
    evaluated, times = show_counts(figures, first)
    named = "all bounds" if name == "all" else f"without `{name}`"
    if name == "similar_support":
        named = "with `similar_support`"
    return [
        *(named, status, seconds, ratio, slower, to_optimum, evaluated, times, more),
        *(f"{figures['evaluated_to_optimum']:,}", there),
        *(f"{figures['peak_bytes'] / 1e6:.1f}", memory),
    ]


def compare_bounds(given: argparse.Namespace) -> Report:
    """Each bound off, with ours and without."""
    report = Report("bounds", WITHOUT)
    for title, base in sets().items():
        variants: dict[str, Options] = {"all": base}
        for name in BOUNDS:
            if name not in base:
                variants[name] = {**base, name: name == "similar_support"}
        first = ablate(given, report, title, variants, bound_line)
        report.say(
            f"\nall bounds: {TABLE_6_2['all'].seconds / first['seconds']:,.0f} times faster than "
            f"the thesis's {TABLE_6_2['all'].seconds} s, "
            f"{1.09 / first['seconds_to_optimum']:,.0f} times faster than its 1.09 s to the optimum"
        )
    return report


def policy_line(name: str, figures: dict[str, Any], first: dict[str, Any]) -> list[str]:
    """A line of the table of policies."""
    return [
        f"`{name}`",
        *show_times(figures, first),
        *show_counts(figures, first),
        f"{figures['evaluated_to_optimum']:,}",
        f"{figures['peak_bytes'] / 1e6:.2f}",
    ]


def compare_policies(given: argparse.Namespace) -> Report:
    """The orders of the queue, with our bounds and without."""
    report = Report("policies", ORDERS)
    for title, base in sets().items():
        variants = {policy: {**base, "policy": policy} for policy in POLICIES}
        ablate(given, report, title, variants, policy_line)
    return report


def sets() -> dict[str, dict[str, bool]]:
    """The bounds that all variants of a table share, by its title."""
    return {
        f"compas-binary, λ = {LAM}, all bounds": {},
        f"compas-binary, λ = {LAM}, the thesis's bounds": dict.fromkeys(OURS, False),
    }


def limits_of(given: argparse.Namespace) -> solver.Limits:
    """What each solve may spend."""
    return solver.Limits(seconds=given.seconds, bytes=int(given.bytes))


TABLES = {"rows": compare_rows, "bounds": compare_bounds, "policies": compare_policies}


def main(arguments: Sequence[str] | None = None) -> int:
    """Print and write the tables that are asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("data", type=Path)
    for name, table in TABLES.items():
        add(f"--{name}", action="store_true", help=str(table.__doc__))
    add("--only", nargs="+", default=[], metavar="ROW", help="of --rows, e.g. monks-1-l")
    add("--seconds", type=float, default=60.0, help="limit of each solve (default 60)")
    add("--bytes", type=float, default=4e9, help="limit of each solve's arrays (default 4e9)")
    add("--repeat", type=int, default=9, help="rounds of short solves (default 9)")
    add("--core", type=int, help="the core to pin the work to (default: the last)")
    add("--out", type=Path, default=Path("results/osdt"))
    given = parser.parse_args(arguments)
    os.sched_setaffinity(0, {choose_core(given.core)})
    for name in ("osdt", "branches"):
        solver.get_solver(name).warm_up()
    asked = [name for name in TABLES if getattr(given, name)]
    sound = True
    for name in asked or TABLES:
        report = TABLES[name](given)
        report.write(given.out)
        sound &= report.sound
    return 0 if sound else 1


if __name__ == "__main__":
    sys.exit(main())
