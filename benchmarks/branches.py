"""BRANCHES on the 32 rows published with it: objective, proof, iterations and seconds.

Usage: python benchmarks/branches.py DATA [--mode full|paper] [--seconds 60] [--off OPTION ...]

DATA is a folder with ``published-branches.csv`` and ``encoded/<dataset>-<encoding>.parquet``, the
integer matrices of the BRANCHES experiments. ``--off`` switches ideas of mode full off. The
published seconds are those of the paper's Python program on its authors' machine; ours are of one
core of this one, compilation apart.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # Where `benchmarks` is.

import solver
from benchmarks.published import published_rows

COLUMNS = (
    "row", "λ", "status", "H_λ", "published", "iterations", "ratio", "expansions", "seconds",
    "speed-up",
)  # fmt: skip


def run(
    name: str, row: Any, problem: solver.Problem, seconds: float, options: dict[str, Any]
) -> dict[str, Any]:
    """Solve one published row."""
    limits = solver.Limits(seconds=seconds, bytes=8 * 2**30)
    solution = solver.solve(problem, row.lam, limits=limits, **options)
    return {
        "row": name,
        "λ": row.lam,
        "status": solution.status.value,
        "H_λ": f"{float(1 - solution.objective):.6f}",
        "published": f"{row.h_lambda:.6f}{'' if row.proven_optimal == 'yes' else ' (not proven)'}",
        "iterations": solution.iterations,
        "ratio": solution.iterations / row.iterations,
        "expansions": solution.extra.get("expansions", ""),
        "seconds": solution.seconds,
        "speed-up": row.seconds / solution.seconds,
        "slow": row.seconds > 1,
        "was proven": row.proven_optimal == "yes",
    }


def main() -> None:
    """Print a Markdown table and the figures that sum it up."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--mode", choices=("full", "paper"), default="full")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--off", nargs="*", default=[], help="options of mode full")
    given = parser.parse_args()
    solver.get_solver("branches").warm_up()
    options = {"mode": given.mode, **dict.fromkeys(given.off, False)}
    rows = []
    print("| " + " | ".join(COLUMNS) + " |")
    print("|" + " --- |" * len(COLUMNS))
    for name, row, problem in published_rows(given.data):
        found = run(name, row, problem, given.seconds, options)
        rows.append(found)
        shown = {**found, "ratio": f"{found['ratio']:.2f}", "seconds": f"{found['seconds']:.3f}"}
        shown["speed-up"] = f"{found['speed-up']:.0f}"
        print("| " + " | ".join(str(shown[name]) for name in COLUMNS) + " |", flush=True)
    proven = sum(found["status"] == "optimal" for found in rows)
    slow = [f["speed-up"] for f in rows if f["slow"] and f["status"] == "optimal"]
    ratios = [found["ratio"] for found in rows if found["was proven"]]
    print(f"\nproven: {proven} of {len(rows)}, {sum(f['seconds'] for f in rows):.1f} s in all")
    print(
        f"speed-up on {len(slow)} proven rows that take the reference over 1 s: least "
        f"{min(slow):.0f}, "
        f"geometric mean {statistics.geometric_mean(slow):.0f}"
    )
    print(f"iterations / published, proven rows: {min(ratios):.2f} to {max(ratios):.2f}")


if __name__ == "__main__":
    main()
