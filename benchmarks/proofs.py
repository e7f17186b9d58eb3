"""Certificates of the 32 rows published with BRANCHES: what they cost to write and to check.

Usage: python benchmarks/proofs.py DATA [--only car-full ...] [--mutations 20] [--out OUT]

DATA is a folder with ``published-branches.csv`` and ``encoded/<dataset>-<encoding>.parquet``. For
every row: CPU seconds of the search, of writing the certificate (a second search that knows the
optimum) and of checking it with :mod:`solver.verify.certificate_checker`; rows and bytes of the
certificate (Parquet, zstd) beside the branches and bytes of the search's memo; memory of the
process at the end, which is the most of any row so far. The bound that the checker proves must be
the objective. Then the bound of a random row of the certificate is raised by one unit, many times.
A bound that is false by that must be refused at its row; one that is still true, as an exact search
for the branch alone tells, may pass where the checker can prove more than was claimed. Writes
OUT/proofs.parquet and OUT/proofs.md.
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
from threadpoolctl import threadpool_limits

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # Where `benchmarks` is.

import solver
from benchmarks.harness import choose_core
from benchmarks.published import published_rows
from solver.verify.certificate import Certificate, Claim
from solver.verify.certificate_checker import Refused, check

COLUMNS = {
    "row": "row",
    "search": "search CPU s",
    "writing": "writing CPU s",
    "checking": "checking CPU s",
    "rows": "rows",
    "nodes": "branches in the memo",
    "bytes": "certificate KiB",
    "memo_bytes": "search's arrays KiB",
    "peak": "peak MiB",
    "proven": "proven",
    "refused": "mutations refused",
    "true": "accepted, true",
    "false": "accepted, false",
}


def stored_bytes(certificate: Certificate) -> int:
    """Size of the certificate as a Parquet file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "certificate.parquet"
        pd.DataFrame(certificate.columns()).to_parquet(path, compression="zstd")
        return path.stat().st_size


def branch_of(problem: solver.Problem, certificate: Certificate, row: int) -> solver.Problem:
    """The problem of a row's branch alone."""
    inside = np.ones(len(problem.codes), bool)
    level = int(certificate.level[row])
    while level > 0:
        inside &= problem.codes[:, certificate.feature[row]] == certificate.code[row]
        level -= 1
        while certificate.level[row] != level:
            row -= 1
    points, labels = np.nonzero(problem.counts[inside])
    return solver.Problem.from_codes(
        problem.codes[inside][points],
        labels,
        weights=problem.counts[inside][points, labels],
        arities=problem.arities,
    )


def is_true(problem: solver.Problem, certificate: Certificate, row: int, bound: int) -> bool:
    """Whether no tree for a row's branch costs less than a bound."""
    lam, branch = Fraction(certificate.lam[row]), branch_of(problem, certificate, row)
    error, split = lam.denominator, lam.numerator * certificate.total_weight
    best = solver.solve(branch, Fraction(split, error * branch.total_weight))
    return error * best.errors + split * best.splits >= bound


def mutate(
    problem: solver.Problem, certificate: Certificate, count: int, seconds: float
) -> dict[str, int]:
    """What becomes of certificates with one bound raised by one unit."""
    rng, began = np.random.default_rng(0), time.process_time()
    ends = {"refused": 0, "true": 0, "false": 0}
    for row in rng.permutation(len(certificate))[:count].tolist():
        columns = certificate.columns()
        columns["bound"] = certificate.bound.copy()
        columns["bound"][row] += 1
        try:
            check(problem.codes, problem.arities, problem.counts, columns, certificate.meta)
        except Refused as error:
            ends["refused" if error.row == row else "false"] += 1
        else:
            true = is_true(problem, certificate, row, int(columns["bound"][row]))
            ends["true" if true else "false"] += 1
        if time.process_time() - began > seconds:
            break
    return ends


def measure(
    name: str, text: str, problem: solver.Problem, given: argparse.Namespace
) -> dict[str, Any]:
    """One line of the table; ``text`` is λ as published."""
    lam = Fraction(text)
    began = time.process_time()
    solution = solver.solve(problem, lam)
    solved = time.process_time()
    claim = Claim(lam, solution.errors, solution.splits)
    certificate = solver.get_solver("branches")().certify(problem, [claim])
    written = time.process_time()
    proven = check(
        problem.codes, problem.arities, problem.counts, certificate.columns(), certificate.meta
    )
    checked = time.process_time()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
    return {
        "row": name,
        "lam": text,
        "search": solved - began,
        "writing": written - solved,
        "checking": checked - written,
        "rows": len(certificate),
        "nodes": solution.nodes,
        "bytes": stored_bytes(certificate),
        "memo_bytes": solution.peak_bytes,
        "peak": peak,
        "proven": proven == {lam: solution.objective},
        **mutate(problem, certificate, given.mutations, given.seconds),
    }


def show(line: dict[str, Any]) -> str:
    """A line of Markdown."""
    shown = {
        **line,
        "bytes": f"{line['bytes'] / 1024:.0f}",
        "memo_bytes": f"{line['memo_bytes'] / 1024:.0f}",
        "peak": f"{line['peak']:.0f}",
        "proven": "yes" if line["proven"] else "NO",
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
    threadpool_limits(1)  # threads wait for each other at each of many small products
    solver.get_solver("branches").warm_up()
    text = ["| " + " | ".join(COLUMNS.values()) + " |", "|" + " --- |" * len(COLUMNS)]
    print("\n".join(text))
    lines = []
    for name, row, problem in published_rows(given.data, given.only):
        lines.append(measure(name, row.lam, problem, given))
        text.append(show(lines[-1]))
        print(text[-1], flush=True)
    accepted = sum(line["proven"] for line in lines)
    refused, true, false = (sum(x[name] for x in lines) for name in ("refused", "true", "false"))
    text += [
        "",
        f"{accepted} of {len(lines)} accepted. Of {refused + true + false} mutations {refused} "
        f"were refused, {true} were accepted and are true, {false} were accepted and are false.",
    ]
    print("\n".join(text[-2:]))
    given.out.mkdir(parents=True, exist_ok=True)
    pd.DataFrame(lines).to_parquet(given.out / "proofs.parquet")
    (given.out / "proofs.md").write_text("\n".join(text) + "\n", encoding="utf-8")
    return 0 if accepted == len(lines) and not false else 1


if __name__ == "__main__":
    sys.exit(main())
