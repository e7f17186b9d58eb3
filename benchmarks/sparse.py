"""Ours against GOSDT, STreeD and our paper mode: proven optimal trees, pair by pair.

Usage:
    python benchmarks/sparse.py FILE.parquet ... --lam 0.02 0.01 --out results/sparse
    python benchmarks/sparse.py --published DATA --out results/published

For each file and λ all solvers run one after the other, each in a fresh process on one core with
hard limits on time and memory. Results: OUT/results.parquet (written after each solve),
OUT/results.md, OUT/profile.png and OUT/profile.svg. Exit code 1: two solvers contradict each other.
What a sweep (``treesweep reproduce branches-table2``) cannot do: solvers in turns on one pinned
core, so that a busy minute hits all of them, and times from the matrix of codes to the tree.
The peers: pip install '.[peers]'. How the numbers are made: docs/behind/benchmarks/sparse.md.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # Where `benchmarks` is.

from benchmarks.compare_rows import by_cell, contradictions
from benchmarks.draw_profiles import draw
from benchmarks.harness import Job, choose_core, interruptible, run
from benchmarks.markdown_report import markdown, seconds_text, solvers_of, summary
from benchmarks.peers import ADAPTERS, Adapter
from benchmarks.problem_tables import AS_IT_IS, Table, read_table
from benchmarks.row_store import Row, Store, make_row, settings
from solver.errors import InputError
from solver.objective.exact_objective import as_lambda

SOLVERS = ("branches", "paper", "gosdt", "streed", "streed-told")
_STREED_DEEPEST = 20


@dataclass(frozen=True)
class Plan:
    """What is to be run.

    Parameters
    ----------
    problems : tuple of (Path, Fraction)
    memory, peer_memory : int
        Bytes a process, ours and a peer's.
    """

    problems: tuple[tuple[Path, Fraction], ...]
    solvers: tuple[str, ...]
    repeats: int
    seconds: float
    memory: int
    peer_memory: int
    target: str | None = None
    encoding: str = AS_IT_IS

    def job(self, file: Path, lam: Fraction, adapter: Adapter, depth: int | None) -> Job:
        """One solve of the plan."""
        memory = self.memory if adapter.ours else self.peer_memory
        return Job(file, self.target, self.encoding, lam, adapter.name, self.seconds, memory, depth)


def proven_depth(store: Store, table: Table, lam: Fraction) -> int | None:
    """The depth of the tree that ours proved, if it did."""
    key = (table.name, str(lam), "branches", "optimal")
    for row in store.rows:
        if (row["file"], row["lam_exact"], row["solver"], row["status"]) == key:
            return int(row["depth"])
    return None


def solve_one(
    plan: Plan,
    store: Store,
    table: Table,
    file: Path,
    lam: Fraction,
    name: str,
    repeat: int,
    core: int,
) -> Row | None:
    """Run a solver on a cell, unless that is done already.

    Raises
    ------
    InputError
        If it is done, but under other settings.
    """
    adapter = ADAPTERS[name]
    depth = proven_depth(store, table, lam) if adapter.told else adapter.depth
    job = plan.job(file, lam, adapter, depth)
    for row in store.find(table.name, lam, name, repeat):
        if row["settings"] != settings(job):
            raise InputError(
                f"{store.path} has {name} on {table.name} with other settings "
                f"({row['settings']}); take another --out, or the same settings"
            )
        return None
    if not table.binary and not adapter.multiway:
        answer = {"status": "not_applicable", "error": "multiway features"}
    elif adapter.told and depth is None:
        answer = {"status": "not_run", "error": "ours proved no depth"}
    elif adapter.told and depth is not None and depth > _STREED_DEEPEST:
        answer = {"status": "not_applicable", "error": f"depth {depth}"}
    else:
        answer = run(job, core)
    row = make_row(table, job, adapter, repeat, answer)
    store.add(row)
    return row


def run_all(plan: Plan, store: Store, core: int) -> None:
    """Run the plan, cell by cell, and say what comes of each solve."""
    table: Table | None = None
    last: Path | None = None
    total = len(plan.problems) * plan.repeats * len(plan.solvers)
    for number, (file, lam, repeat, name) in enumerate(_order(plan)):
        if table is None or file != last:
            table, last = read_table(file, plan.target, plan.encoding), file
        row = solve_one(plan, store, table, file, lam, name, repeat, core)
        if row is None:
            continue
        spent = "" if row["seconds"] is None else f" {seconds_text(row['seconds'])} s"
        gap = "" if not row["gap_lams"] else f", gap {row['gap_lams']:.3g} λ"
        error = f" ({row['error']})" if row["error"] else ""
        print(
            f"[{number + 1}/{total}] {table.name} λ = {float(lam):g} {name}: "
            f"{row['status']}{spent}{gap}{error}",
            flush=True,
        )


def _order(plan: Plan) -> Iterator[tuple[Path, Fraction, int, str]]:
    for file, lam in plan.problems:
        for repeat in range(plan.repeats):
            for name in plan.solvers:
                yield file, lam, repeat, name


def write_report(store: Store, folder: Path) -> list[str]:
    """Write the Markdown and the picture; the contradictions are returned."""
    rows = store.rows
    if not rows:
        return []
    asked = [(row["solver"], json.loads(row["settings"])) for row in rows]
    seconds = sorted({a["seconds"] for _, a in asked})
    own = sorted({a["memory"] for s, a in asked if ADAPTERS[s].ours})
    theirs = sorted({a["memory"] for s, a in asked if not ADAPTERS[s].ours})

    def gib(sizes: Sequence[int]) -> str:
        return " and ".join(f"{size / 2**30:g}" for size in sizes) + " GiB"

    limits = f"Limits: {' and '.join(f'{s:g}' for s in seconds)} s a solve, one core"
    limits += f"; ours {gib(own)}" if own else ""
    limits += f", peers {gib(theirs)} of process memory." if theirs else "."
    (folder / "results.md").write_text(markdown(rows, store.about, limits), encoding="utf-8")
    shared = {
        cell: results
        for cell, results in by_cell(rows).items()
        if all(
            ADAPTERS[name].told or result.row["status"] != "not_applicable"
            for name, result in results.items()
        )
    }
    if shared:
        draw(shared, solvers_of(rows), folder / "profile")
    return contradictions(rows)


def published(folder: Path) -> list[tuple[Path, Fraction]]:
    """The rows of ``published-branches.csv``, each with its own λ."""
    rows = pd.read_csv(folder / "published-branches.csv", dtype={"lambda": str})
    named = zip(rows["dataset"], rows["encoding"], rows["lambda"], strict=True)
    return [
        (folder / "encoded" / f"{dataset}-{encoding}.parquet", as_lambda(lam))
        for dataset, encoding, lam in named
    ]


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("files", nargs="*", type=Path, help="Parquet files, features first and the target last")
    add("--lam", nargs="+", default=[], metavar="LAMBDA", help="prices of a split, e.g. 0.01 1/958")
    add("--published", type=Path, metavar="DATA", help="the 32 rows of DATA/published-branches.csv")
    add("--target", help="name of the target column, if it is not the last")
    add("--encoding", default=AS_IT_IS, help="for files that are not binary, e.g. thresholds")
    add("--solvers", nargs="+", choices=list(ADAPTERS), default=list(SOLVERS))
    add("--repeat", type=int, default=1, help="times that each cell is solved (default 1)")
    add("--seconds", type=float, default=60.0, help="limit of each solve (default 60)")
    add("--memory", type=float, default=2.0, help="GiB for a process of ours (default 2)")
    add("--peer-memory", type=float, default=8.0, help="GiB for a process of a peer (default 8)")
    add("--core", type=int, help="the core to pin solves to (default: the last)")
    add("--out", type=Path, default=Path("results/sparse"))
    add("--resume", action="store_true", help="keep the rows in OUT and run what is missing")
    return parser.parse_args(arguments)


def make_plan(given: argparse.Namespace) -> Plan:
    """Check the command line.

    Raises
    ------
    InputError
        If something is missing or cannot be.
    """
    problems = [(file, as_lambda(lam)) for file in given.files for lam in given.lam]
    if given.files and not given.lam:
        raise InputError("give at least one price of a split with --lam")
    if given.published:
        problems += published(given.published)
    if not problems and not given.resume:
        raise InputError("give Parquet files and --lam, or --published DATA")
    for file, _ in problems:
        if not file.is_file():
            raise InputError(f"there is no file {file}")
    missing = [name for name in given.solvers if not ADAPTERS[name].available()]
    if missing:
        raise InputError(
            f"not installed: {', '.join(ADAPTERS[name].package for name in missing)}; "
            "pip install '.[peers]', or leave them out with --solvers"
        )
    if given.seconds <= 0 or given.repeat < 1 or min(given.memory, given.peer_memory) <= 0:
        raise InputError("--seconds, --memory, --peer-memory and --repeat must be above 0")
    # The one that is told a depth comes after the one that finds it.
    order = [name for name in ADAPTERS if name in given.solvers]
    return Plan(
        problems=tuple(dict.fromkeys(problems)),
        solvers=tuple(order),
        repeats=given.repeat,
        seconds=given.seconds,
        memory=int(given.memory * 2**30),
        peer_memory=int(given.peer_memory * 2**30),
        target=given.target,
        encoding=given.encoding,
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what is asked for."""
    given = parse(arguments)
    interrupted = False
    try:
        plan = make_plan(given)
        store = Store(given.out, given.resume)
        with interruptible():
            try:
                run_all(plan, store, choose_core(given.core))
            except KeyboardInterrupt:
                interrupted = True
            disagree = write_report(store, given.out)
    except (InputError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    cells = by_cell(store.rows)
    print("\n" + "\n".join(summary(cells, solvers_of(store.rows))))
    if store.rows:
        print(f"\n{given.out / 'results.md'}")
    for line in disagree:
        print(line, file=sys.stderr)
    if interrupted:
        print("interrupted; go on with --resume", file=sys.stderr)
        return 130
    return 1 if disagree else 0


if __name__ == "__main__":
    sys.exit(main())
