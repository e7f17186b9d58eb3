"""Many rows: a file replicated to a million rows against the file itself.

Usage: python benchmarks/many_rows.py FILE.parquet ... --lam 0.01 [--rows 1000000] [--repeat 3]

Equal rows are one row of greater weight to the solver, so the replicated table should take what the
original takes plus one pass over the data. For both, the time is building the problem from the
codes plus solving it; "one pass" is the time to look at every code of the replicated table once, in
numpy (a hash of each row), as a measure of what no program can save; "read N" is the time to read
it from a Parquet file, which no user is spared. Each file is measured in its own process on one
core; the best of the repeats counts. Prints a Markdown table and writes OUT/rows.parquet and
OUT/rows.md.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # Where `benchmarks` is.

from benchmarks.harness import ONE_THREAD, choose_core
from benchmarks.markdown_report import lambda_text
from benchmarks.problem_tables import read_table
from benchmarks.row_store import describe_machine
from solver import Limits, Problem, get_solver, solve
from solver.errors import InputError
from solver.objective.exact_objective import as_lambda

COLUMNS = {
    "file": "file",
    "lam": "λ",
    "n_rows": "n",
    "replicated_rows": "N",
    "original_build": "build n",
    "original_solve": "solve n",
    "replicated_build": "build N",
    "replicated_solve": "solve N",
    "one_pass": "one pass",
    "reading": "read N",
    "extra": "N − n",
    "passes": "N − n, in passes",
    "peak_gib": "peak GiB",
    "status": "status",
    "same": "same tree cost",
}


def timed(codes: Any, labels: Any, lam: Fraction, seconds: float) -> tuple[float, float, Any]:
    """Seconds to build a problem, seconds to solve it, and the solution."""
    began = time.perf_counter()
    problem = Problem.from_codes(codes, labels)
    built = time.perf_counter()
    solution = solve(problem, lam, limits=Limits(seconds=seconds))
    return built - began, time.perf_counter() - built - solution.compile_seconds, solution


def one_pass(codes: Any, labels: Any) -> float:
    """Seconds to look at each code and each label once and do something with it."""
    began = time.perf_counter()
    # Factors of the codes' own type: another one would have numpy copy the table first.
    hashes = codes @ np.arange(1, codes.shape[1] + 1).astype(codes.dtype)
    int((hashes + labels).sum())
    return time.perf_counter() - began


def reading(codes: Any, labels: Any) -> float:
    """Seconds to read the table back from a Parquet file."""
    frame = pd.DataFrame(codes, columns=[f"x{j}" for j in range(codes.shape[1])])
    frame["target"] = labels
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "replicated.parquet"
        frame.to_parquet(path, compression="zstd")
        del frame
        began = time.perf_counter()
        pd.read_parquet(path)
        return time.perf_counter() - began


def measure(path: Path, lam: Fraction, n_rows: int, repeats: int, seconds: float) -> dict[str, Any]:
    """One line of the table."""
    table = read_table(path)
    get_solver("branches").warm_up()
    # The last repetition is cut off, so that the number of rows is exactly the one asked for.
    chosen = np.arange(n_rows) % table.n_rows
    narrow = np.min_scalar_type(int(table.codes.max(initial=0)))  # As the file has them.
    original = table.codes.astype(narrow)
    codes, labels = original[chosen], table.labels[chosen]
    smalls, larges, passes = [], [], []
    for _ in range(repeats):  # pair by pair
        smalls.append(timed(original, table.labels, lam, seconds))
        larges.append(timed(codes, labels, lam, seconds))
        passes.append(one_pass(codes, labels))
    small, large = (min(runs, key=lambda run: run[0] + run[1]) for runs in (smalls, larges))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    extra = large[0] + large[1] - small[0] - small[1]
    whole = n_rows % table.n_rows == 0
    return {
        "file": table.name,
        "lam": str(lam),
        "n_rows": table.n_rows,
        "replicated_rows": n_rows,
        "original_build": small[0],
        "original_solve": small[1],
        "replicated_build": large[0],
        "replicated_solve": large[1],
        "one_pass": min(passes),
        "extra": extra,
        "passes": extra / min(passes),
        "peak_gib": peak,
        "reading": reading(codes, labels),
        "status": f"{small[2].status.value}, {large[2].status.value}",
        # With the last repetition cut off the two problems differ a little.
        "same": str(small[2].objective == large[2].objective) if whole else "not comparable",
        "original_objective": str(small[2].objective),
        "replicated_objective": str(large[2].objective),
    }


def show(line: dict[str, Any]) -> str:
    """A line of Markdown."""
    texts = []
    for name in COLUMNS:
        value = line[name]
        if name == "lam":
            value = lambda_text(value)
        digits = 2 if name in ("passes", "peak_gib") else 4
        texts.append(f"{value:.{digits}f}" if isinstance(value, float) else str(value))
    return "| " + " | ".join(texts) + " |"


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("files", nargs="+", type=Path)
    add("--lam", required=True, metavar="LAMBDA")
    add("--rows", type=int, default=10**6, help="rows after replication (default 1000000)")
    add("--repeat", type=int, default=3)
    add("--seconds", type=float, default=60.0, help="limit of each solve (default 60)")
    add("--core", type=int, help="the core to pin the work to (default: the last)")
    add("--out", type=Path, default=Path("results/rows"))
    add("--here", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def apart(given: argparse.Namespace, file: Path, core: int) -> dict[str, Any]:
    """Measure one file in a process of its own.

    Raises
    ------
    InputError
        If it fails.
    """
    command = [sys.executable, __file__, str(file), "--lam", given.lam, "--here"]
    command += ["--rows", str(given.rows), "--repeat", str(given.repeat)]
    command += ["--seconds", str(given.seconds), "--core", str(core)]
    env = {**os.environ, **ONE_THREAD}
    done = subprocess.run(command, env=env, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise InputError(f"{file} could not be measured (exit code {done.returncode})")
    return dict(json.loads(done.stdout))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what is asked for."""
    given = parse(arguments)
    try:
        lam = as_lambda(given.lam)
        if given.rows < 1 or given.repeat < 1:
            raise InputError("--rows and --repeat must be above 0")
        if given.here:
            os.sched_setaffinity(0, {given.core})
            print(json.dumps(measure(given.files[0], lam, given.rows, given.repeat, given.seconds)))
            return 0
        core = choose_core(given.core)
        text = [
            "| " + " | ".join(COLUMNS.values()) + " |",
            "|" + " --- |" * len(COLUMNS),
        ]
        print("\n".join(text))
        lines = []
        for file in given.files:
            os.sched_setaffinity(0, {core})  # For the child to have from its start.
            lines.append(apart(given, file, core))
            text.append(show(lines[-1]))
            print(text[-1], flush=True)
    except (InputError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    about = describe_machine()
    given.out.mkdir(parents=True, exist_ok=True)
    pd.DataFrame(lines).to_parquet(given.out / "rows.parquet")
    foot = f"{about['processor']}; {about['versions']}; revision {about['revision']}. Seconds."
    page = given.out / "rows.md"
    page.write_text("\n".join(["# Many rows", "", *text, "", foot]) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
