"""The best tree after 1 s and after 10 s: ours, STreeD's and CART's.

Usage: python benchmarks/anytime.py FILE.parquet ... --lam 0.01 [--after 1 10] --out results/anytime
       python benchmarks/anytime.py FILE.parquet ... --lam 0 --depth 4 5 [--after 10]

Each solver is run once for each time limit, in a fresh process on one core; the tree that it
returns is scored anew. CART is a full greedy tree, pruned to the subtree of least objective; it
takes the time it takes. With ``--depth`` all trees are of limited depth. Results:
OUT/results.parquet (written after each solve) and OUT/anytime.md. A sweep whose solvers have
several limits of seconds finds the same trees, and its report draws objective against time; what it
cannot do is run the solvers in turns on one pinned core. Exit code 1: ours is worse than another
one somewhere.
"""

from __future__ import annotations

import argparse
import itertools
import json
import statistics
import sys
from collections.abc import Iterable, Sequence
from fractions import Fraction
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # Where `benchmarks` is.

from benchmarks.harness import Job, choose_core, interruptible, run
from benchmarks.markdown_report import lambda_text, seconds_text
from benchmarks.peers import ADAPTERS
from benchmarks.problem_tables import AS_IT_IS, read_table
from benchmarks.row_store import Row, Store, make_row, settings
from solver.errors import InputError
from solver.objective.exact_objective import as_lambda

SOLVERS = ("branches", "streed", "cart")
Moment = tuple[str, str, int | None, float]
"""File, exact λ, limit on the depth of all solvers, seconds."""


def run_all(given: argparse.Namespace, store: Store, core: int) -> None:
    """Solve what is not in the store yet, pair by pair."""
    for file in given.files:
        table = read_table(file, given.target, given.encoding)
        for lam in map(as_lambda, given.lam):
            for depth, seconds in itertools.product(given.depth, given.after):
                for name in given.solvers:
                    adapter = ADAPTERS[name]
                    memory = int((given.memory if adapter.ours else given.peer_memory) * 2**30)
                    job = Job(
                        file,
                        given.target,
                        given.encoding,
                        lam,
                        name,
                        seconds,
                        memory,
                        adapter.depth if depth is None else depth,
                    )
                    done = store.find(table.name, lam, name, 0)
                    if any(row["settings"] == settings(job) for row in done):
                        continue
                    answer = run(job, core)
                    row = make_row(table, job, adapter, 0, answer)
                    store.add(row)
                    print(
                        f"{table.name} λ = {float(lam):g}{at_depth(depth)}, {seconds:g} s, {name}: "
                        f"{row['status']}, {row['objective_exact']}",
                        flush=True,
                    )


def at_depth(depth: int | None) -> str:
    """The limit on the depth, in words."""
    return "" if depth is None else f", depth {depth}"


def by_moment(rows: Iterable[Row]) -> dict[Moment, dict[str, Row]]:
    """For each file, λ, limit on the depth and time limit, each solver's row."""
    moments: dict[Moment, dict[str, Row]] = {}
    for row in rows:
        told = json.loads(row["settings"])
        depth = None if told["depth"] == ADAPTERS[row["solver"]].depth else told["depth"]
        key = row["file"], row["lam_exact"], depth, told["seconds"]
        moments.setdefault(key, {})[row["solver"]] = row
    return moments


def value(row: Row | None) -> Fraction | None:
    """The objective of a row's tree, if it has one."""
    usable = row is not None and row["status"] != "error" and row["objective_exact"]
    return Fraction(row["objective_exact"]) if row is not None and usable else None


def losses(moments: dict[Moment, dict[str, Row]], ours: str = "branches") -> list[str]:
    """A line for each moment at which ours is worse than another solver."""
    lines = []
    for (file, lam, depth, seconds), rows in moments.items():
        own = value(rows.get(ours))
        for name, row in rows.items():
            theirs = value(row)
            if theirs is not None and (own is None or theirs < own):
                excess = ""
                if own is not None:
                    unit, sign = (Fraction(lam), " λ") if Fraction(lam) else (Fraction(1), "")
                    excess = f" by {float((own - theirs) / unit):.3g}{sign}"
                lines.append(
                    f"ours is worse than {name}{excess} on {file}, λ = {lambda_text(lam)}"
                    f"{at_depth(depth)}, after {seconds:g} s"
                )
    return lines


def markdown(rows: Sequence[Row], about: dict[str, str]) -> str:
    """A line a file, λ and time; a column a solver with its objective, the best ones in bold."""
    moments = by_moment(rows)
    solvers = [name for name in ADAPTERS if any(name in found for found in moments.values())]
    is_told = all(depth is not None for _, _, depth, _ in moments)
    labels = [name if is_told else ADAPTERS[name].label for name in solvers]
    header = ["file", "λ", "limit", *labels]
    lines = [
        "# The best tree so far",
        "",
        f"{about['processor']}; {about['versions']}; revision {about['revision']}; "
        f"{about['started']}. Each cell: the objective of the tree that the solver returned under "
        "the time limit, and the seconds it took; *proven* if it is optimal; the least in bold.",
        "",
        "| " + " | ".join(header) + " |",
        "|" + " --- |" * len(header),
    ]
    for (file, lam, depth, seconds), found in moments.items():
        values = {name: value(found.get(name)) for name in solvers}
        least = min((v for v in values.values() if v is not None), default=None)
        texts = []
        for name in solvers:
            objective, row = values[name], found.get(name)
            if objective is None or row is None:
                texts.append("–" if row is None else row["status"])
                continue
            text = f"{float(objective):.6f}"
            text = f"**{text}**" if objective == least else text
            proven = ", *proven*" if row["status"] == "optimal" else ""
            texts.append(f"{text} ({seconds_text(row['seconds'])} s{proven})")
        where = f"{lambda_text(lam)}{at_depth(depth)}"
        lines.append("| " + " | ".join([file, where, f"{seconds:g} s", *texts]) + " |")
    worse = losses(moments)
    lines += ["", f"Of {len(moments)} comparisons ours is worse in {len(worse)}."]
    lines += [f"- {line}" for line in worse]
    lines += ["", *(speed(moments, name) for name in solvers if is_peer(name))]
    return "\n".join(lines) + "\n"


def is_peer(name: str) -> bool:
    """Whether it is another's solver that proves its trees."""
    return ADAPTERS[name].proves and not ADAPTERS[name].ours


def speed(moments: dict[Moment, dict[str, Row]], name: str, ours: str = "branches") -> str:
    """How many times as long a solver takes to its proofs, and what only one of both proves."""
    pairs = [(rows[ours], rows[name]) for rows in moments.values() if ours in rows and name in rows]
    proven = [[row["status"] == "optimal" for row in pair] for pair in pairs]
    ratios = [
        theirs["seconds"] / own["seconds"]
        for (own, theirs), both in zip(pairs, proven, strict=True)
        if all(both)
    ]
    mean = f"{statistics.geometric_mean(ratios):.2g}" if ratios else "–"
    alone = [both.count(True) == 1 and both[0] for both in proven].count(True)
    other = [both.count(True) == 1 and both[1] for both in proven].count(True)
    return (
        f"Proven by both: {len(ratios)}; {name} takes {mean} times as long there, in the "
        f"geometric mean. Proven by ours alone: {alone}, by {name} alone: {other}."
    )


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("files", nargs="+", type=Path)
    add("--lam", nargs="+", required=True, metavar="LAMBDA")
    add("--depth", nargs="+", type=int, default=[None], help="limits on the depth, for all solvers")
    add("--after", nargs="+", type=float, default=[1.0, 10.0], metavar="SECONDS")
    add("--target", help="name of the target column, if it is not the last")
    add("--encoding", default=AS_IT_IS, help="for files that are not binary, e.g. thresholds")
    add("--solvers", nargs="+", choices=list(ADAPTERS), default=list(SOLVERS))
    add("--memory", type=float, default=2.0, help="GiB for a process of ours (default 2)")
    add("--peer-memory", type=float, default=8.0, help="GiB for a process of a peer (default 8)")
    add("--core", type=int, help="the core to pin solves to (default: the last)")
    add("--out", type=Path, default=Path("results/anytime"))
    add("--resume", action="store_true", help="keep the rows in OUT and run what is missing")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what is asked for."""
    given = parse(arguments)
    try:
        for file in given.files:
            if not read_table(file, given.target, given.encoding).binary:
                raise InputError(f"{file} is not binary, as the others need it; see --encoding")
        store = Store(given.out, given.resume)
        with interruptible():
            run_all(given, store, choose_core(given.core))
    except KeyboardInterrupt:
        print("interrupted; go on with --resume", file=sys.stderr)
        return 130
    except (InputError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    page = given.out / "anytime.md"
    page.write_text(markdown(store.rows, store.about), encoding="utf-8")
    worse = losses(by_moment(store.rows))
    print("\n".join([*worse, str(page)]))
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
