"""Certificates of the 32 rows published with BRANCHES: what they cost to write and to check.

Usage: python benchmarks/proofs.py DATA [--only car-full ...] [--mutations 20] [--out OUT]

DATA is a folder with ``published-branches.csv`` and ``encoded/<dataset>-<encoding>.parquet``. For
every row: seconds of the search, of writing the certificate (a second search that knows the
optimum) and of checking it with :mod:`solver.checker`; rows and bytes of the certificate (Parquet,
zstd) beside the branches and bytes of the search's memo; memory of the process at the end, which
is the most of any row so far. The bound that the checker proves must be the objective. Then bounds
of random rows of the certificate are raised by one unit each, and the checker must refuse every
such certificate at that row. Writes OUT/proofs.parquet and OUT/proofs.md.
"""

from __future__ import annotations

import argparse
import os
import resource
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

import solver
from benchmarks.harness import choose_core
from solver.certificate import Certificate, Claim
from solver.checker import Refused, check

COLUMNS = {
    "row": "row",
    "search": "search s",
    "writing": "writing s",
    "checking": "checking s",
    "rows": "rows",
    "nodes": "branches in the memo",
    "bytes": "certificate KiB",
    "memo_bytes": "search's arrays KiB",
    "peak": "peak MiB",
    "proven": "proven",
    "refused": "mutations refused",
}


def stored_bytes(certificate: Certificate) -> int:
    """Size of the certificate as a Parquet file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "certificate.parquet"
        pd.DataFrame(certificate.columns()).to_parquet(path, compression="zstd")
        return path.stat().st_size


def mutate(
    problem: solver.Problem, certificate: Certificate, count: int, seconds: float
) -> tuple[int, int]:
    """How many certificates with one bound too high are refused at that bound, and of how many."""
    rng, refused, tried, began = np.random.default_rng(0), 0, 0, time.perf_counter()
    for row in rng.permutation(len(certificate))[:count].tolist():
        columns = certificate.columns()
        columns["bound"] = certificate.bound.copy()
        columns["bound"][row] += 1
        tried += 1
        try:
            check(problem.codes, problem.arities, problem.counts, columns, certificate.meta)
        except Refused as error:
            refused += error.row == row
        if time.perf_counter() - began > seconds:
            break
    return refused, tried


def measure(row: Any, data: Path, given: argparse.Namespace) -> dict[str, Any]:
    """One line of the table."""
    table = pd.read_parquet(data / "encoded" / f"{row.dataset}-{row.encoding}.parquet")
    problem = solver.Problem.from_codes(table.drop(columns="target"), table["target"])
    lam = Fraction(row.lam)
    solution = solver.solve(problem, lam)
    began = time.perf_counter()
    claim = Claim(lam, solution.errors, solution.splits)
    certificate = solver.get_solver("branches")().certify(problem, [claim])
    written = time.perf_counter()
    proven = check(
        problem.codes, problem.arities, problem.counts, certificate.columns(), certificate.meta
    )
    checked = time.perf_counter()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
    refused, tried = mutate(problem, certificate, given.mutations, given.seconds)
    return {
        "row": f"{row.dataset}-{row.encoding}",
        "lam": row.lam,
        "search": solution.seconds,
        "writing": written - began,
        "checking": checked - written,
        "rows": len(certificate),
        "nodes": solution.nodes,
        "bytes": stored_bytes(certificate),
        "memo_bytes": solution.peak_bytes,
        "peak": peak,
        "proven": proven == {lam: solution.objective},
        "refused": refused,
        "tried": tried,
    }


def show(line: dict[str, Any]) -> str:
    """A line of Markdown."""
    shown = {
        **line,
        "bytes": f"{line['bytes'] / 1024:.0f}",
        "memo_bytes": f"{line['memo_bytes'] / 1024:.0f}",
        "peak": f"{line['peak']:.0f}",
        "proven": "yes" if line["proven"] else "NO",
        "refused": f"{line['refused']} of {line['tried']}",
    }
    for name in ("search", "writing", "checking"):
        shown[name] = f"{line[name]:.3f}"
    return "| " + " | ".join(str(shown[name]) for name in COLUMNS) + " |"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("data", type=Path)
    add("--only", nargs="+", default=[], metavar="ROW", help="e.g. car-full")
    add("--mutations", type=int, default=20, help="for each row (default 20)")
    add("--seconds", type=float, default=20.0, help="for the mutations of a row (default 20)")
    add("--core", type=int, help="the core to pin the work to (default: the last)")
    add("--out", type=Path, default=Path("results/proofs"))
    given = parser.parse_args(arguments)
    os.sched_setaffinity(0, {choose_core(given.core)})
    published = pd.read_csv(given.data / "published-branches.csv", dtype={"lambda": str})
    solver.get_solver("branches").warm_up()
    text = ["| " + " | ".join(COLUMNS.values()) + " |", "|" + " --- |" * len(COLUMNS)]
    print("\n".join(text))
    lines = []
    for row in published.rename(columns={"lambda": "lam"}).itertuples():
        if given.only and f"{row.dataset}-{row.encoding}" not in given.only:
            continue
        lines.append(measure(row, given.data, given))
        text.append(show(lines[-1]))
        print(text[-1], flush=True)
    accepted = sum(line["proven"] for line in lines)
    refused, tried = (sum(line[name] for line in lines) for name in ("refused", "tried"))
    text += ["", f"{accepted} of {len(lines)} accepted; {refused} of {tried} mutations refused."]
    print("\n".join(text[-2:]))
    given.out.mkdir(parents=True, exist_ok=True)
    pd.DataFrame(lines).to_parquet(given.out / "proofs.parquet")
    (given.out / "proofs.md").write_text("\n".join(text) + "\n", encoding="utf-8")
    return 0 if accepted == len(lines) and refused == tried else 1


if __name__ == "__main__":
    sys.exit(main())
